"""The largest errors: those of an all-zero prediction, the same for every submission.

They may be stored with the ground truth (`podium freehand prepare`), each beside a hash of everything it was computed
from: a scan whose hash no longer fits is computed again.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from podium.challenges.freehand.errors import Field, frame_errors
from podium.challenges.freehand.reference import Truth
from podium.errors import GroundTruthError, Refused
from podium.metrics.averages import mean_of
from podium.metrics.field_errors import PixelGrid
from podium.metrics.reconstruction import ERRORS, landmark_displacements, mean_distance
from podium.readers.files import SafeFile
from podium.readers.formats.json import read_json

IDENTITY_FILE = "identity_errors.json"
SCHEMA = "podium-identity-errors-1"
_LIMIT_BYTES = 50_000_000


@dataclass(frozen=True)
class IdentityErrors:
    """GPE, GLE, LPE and LLE in mm of a prediction that moves nothing, and the hash of the scan they belong to."""

    digest: str
    errors: Mapping[str, float]


def truth_digest(truth: Truth, grid: PixelGrid) -> str:
    """SHA-256 over everything the errors depend on."""
    digest = hashlib.sha256(f"{grid.height}x{grid.width}".encode())
    for part in (truth.tool_to_camera, truth.image_to_tool, truth.pixel_to_mm, truth.landmarks):
        digest.update(f"{part.dtype.str}{part.shape}".encode())
        digest.update(np.ascontiguousarray(part).tobytes())
    return digest.hexdigest()


def compute_identity(truth: Truth, grid: PixelGrid, *, threads: int) -> IdentityErrors:
    """The errors of nothing at all."""
    fields = [Field(np.zeros_like(field), field) for field in (truth.global_field, truth.local_field)]
    gpe, lpe = (mean_of(means.tolist()) for means in frame_errors(fields, grid, threads=threads))
    gle, lle = (
        mean_distance(prediction=np.zeros((3, len(truth.landmarks))), reference=vectors)
        for vectors in (
            landmark_displacements(truth.global_field, truth.landmarks),
            landmark_displacements(truth.local_field, truth.landmarks),
        )
    )
    return IdentityErrors(truth_digest(truth, grid), {"gpe": gpe, "gle": gle, "lpe": lpe, "lle": lle})


def read_identity(folder: Path) -> Mapping[str, IdentityErrors]:
    """What `podium freehand prepare` stored, by case; nothing where it was never run."""
    if not (folder / IDENTITY_FILE).is_file():
        return {}
    try:
        content = read_json(SafeFile.inside(folder, IDENTITY_FILE), limit_bytes=_LIMIT_BYTES)
        if content["schema"] != SCHEMA:
            raise ValueError
        return {case: _entry(entry) for case, entry in content["scans"].items()}
    except (Refused, KeyError, TypeError, ValueError, AttributeError):
        raise GroundTruthError(
            f"{IDENTITY_FILE} is damaged; delete it, or write it again with 'podium freehand prepare'."
        ) from None


def _entry(entry: Mapping[str, Any]) -> IdentityErrors:
    errors = {name: float(entry[name]) for name in ERRORS}
    if min(errors.values()) < 0:
        raise ValueError
    return IdentityErrors(str(entry["reference"]), errors)


def write_identity(folder: Path, identity: Mapping[str, IdentityErrors]) -> Path:
    """Store the errors with the references; the same bytes for the same references."""
    scans = {case: {"reference": each.digest, **each.errors} for case, each in identity.items()}
    path = folder / IDENTITY_FILE
    text = json.dumps({"schema": SCHEMA, "scans": scans}, indent=2, sort_keys=True, allow_nan=False)
    path.write_text(text + "\n", encoding="utf-8")
    return path
