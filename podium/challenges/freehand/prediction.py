"""One scan's prediction: four sets of displacements, given as they are or as transforms.

    GP, LP  (N-1, 3, H W)   pixels of every frame but the first, to the first frame / to the frame before, mm
    GL, LL  (3, n)          landmarks
    global_transforms, local_transforms  (N-1, 4, 4)   in image mm, frame -> first frame / frame before

What is given explicitly wins. Transforms stand in for all sets that are not given; one kind of transforms gives the
other (a running product, or its inverse).
"""

import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

import numpy as np
from numpy.typing import NDArray

from podium.challenges.freehand.reference import check_invertible, checked_transforms
from podium.errors import Refused
from podium.metrics.displacement import Coefficients, chained, field_coefficients, landmark_displacements, unchained
from podium.platform.jobs import Job
from podium.readers.archives import is_zip
from podium.readers.files import SafeFile, escape_for_display
from podium.readers.formats.arrays import NpyFiles, open_npz
from podium.readers.frames import ArraySource, FieldShape, FrameStream, check_shape
from podium.readers.hdf5 import SIGNATURE, open_hdf5

PIXEL_SETS = {"global": "GP", "local": "LP"}
LANDMARK_SETS = {"global": "GL", "local": "LL"}
TRANSFORM_SETS = {"global": "global_transforms", "local": "local_transforms"}
ARRAYS = (*PIXEL_SETS.values(), *LANDMARK_SETS.values(), *TRANSFORM_SETS.values())

_SLACK_BYTES = 64 * 1024 * 1024  # headers, chunk indices, landmarks, transforms
_LARGEST_FILE_BYTES = 1 << 40  # where no shape is known beforehand


@dataclass(frozen=True)
class FreehandPrediction:
    """Where one scan's prediction lies: one file, .npy files by the names of their arrays, or a job's output socket."""

    source: SafeFile | Mapping[str, SafeFile] | Job
    runtime_seconds: float | None = None
    socket: str = ""

    @property
    def label(self) -> str:
        """How the scan's file or folder is called in messages."""
        if isinstance(self.source, Job):
            return self.source.label
        if isinstance(self.source, SafeFile):
            return self.source.name
        return f"{PurePosixPath(next(iter(self.source.values())).name).parent}/"


@dataclass(frozen=True)
class ExpectedSizes:
    """How large the sets must be; `landmarks` None: any number."""

    frames: int
    pixels: int
    landmarks: int | None

    def field(self) -> FieldShape:
        return self.frames, 3, self.pixels

    @classmethod
    def of(cls, shapes: Mapping[str, tuple[int, ...]]) -> "ExpectedSizes":
        frames, _, pixels = shapes["GP"]
        return cls(frames, pixels, shapes["GL"][1])

    def max_bytes(self) -> int:
        """Of an honest file: both fields in float64, uncompressed."""
        return 2 * 8 * math.prod(self.field()) + _SLACK_BYTES


@dataclass(frozen=True)
class ScanPrediction:
    """What was predicted, by level ("global", "local"): everything small is read, the fields are still streams."""

    fields: Mapping[str, FrameStream]
    landmarks: Mapping[str, NDArray[np.float64]]
    transforms: Mapping[str, NDArray[np.float64]]

    def pixels(self, level: str, pixel_to_mm: NDArray[np.float64]) -> FrameStream | Coefficients:
        """The predicted field of a level."""
        if level in self.fields:
            return self.fields[level]
        return field_coefficients(self.transforms[level], pixel_to_mm)

    def at_landmarks(
        self, level: str, landmarks: NDArray[np.int64], pixel_to_mm: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """The predicted displacements (3, n) of a level's landmarks."""
        if level in self.landmarks:
            return self.landmarks[level]
        return landmark_displacements(field_coefficients(self.transforms[level], pixel_to_mm), landmarks)


@contextmanager
def open_arrays(prediction: FreehandPrediction, expected: ExpectedSizes | None) -> Iterator[ArraySource]:
    """The arrays of a prediction, whatever they are packed in; the content decides, not the name."""
    source = prediction.source
    if isinstance(source, Job):
        source = source.output_file(prediction.socket, endings=(".h5", ".zip", ".npz"))
    if not isinstance(source, SafeFile):
        yield NpyFiles(source)
        return
    start = source.first_bytes(len(SIGNATURE))
    limit = expected.max_bytes() if expected else _LARGEST_FILE_BYTES
    if start == SIGNATURE:
        with open_hdf5(source, max_bytes=limit) as opened:
            yield opened
    elif is_zip(start):
        with open_npz(source, max_bytes=limit) as packed:
            yield packed
    else:
        raise Refused(f"The content of '{source.name}' is neither HDF5 nor a zip of .npy arrays (.npz).")


def read_scan_prediction(source: ArraySource, expected: ExpectedSizes | None, *, name: str) -> ScanPrediction:
    """All sets found and checked; `name` is how the scan's folder or file is called."""
    found = [array for array in ARRAYS if source.has(array)]
    _check_complete(found, source, name)
    expected = expected or _announced(source, found)
    transforms = _transforms(source, found, expected)
    fields = {
        level: source.frames(array, shape=expected.field()) for level, array in PIXEL_SETS.items() if array in found
    }
    landmarks = {
        level: _landmarks(source, array, expected.landmarks) for level, array in LANDMARK_SETS.items() if array in found
    }
    return ScanPrediction(fields, landmarks, transforms)


def _check_complete(found: list[str], source: ArraySource, name: str) -> None:
    if any(array in found for array in TRANSFORM_SETS.values()):
        return
    needed = (*PIXEL_SETS.values(), *LANDMARK_SETS.values())
    missing = [array for array in needed if array not in found]
    if not missing:
        return
    has = ", ".join(found or [escape_for_display(each) for each in source.names()[:10]]) or "no array"
    raise Refused(
        f"'{name}' holds {has}, but not {', '.join(missing)}; send GP, GL, LP and LL, "
        "or global_transforms or local_transforms."
    )


def _announced(source: ArraySource, found: list[str]) -> ExpectedSizes:
    """Without expected sizes, the first set decides for the others."""
    frames = [source.shape(array)[:1] for array in found if array not in LANDMARK_SETS.values()]
    pixels = [source.shape(array)[2:3] for array in found if array in PIXEL_SETS.values()]
    (count,), (size,) = frames[0] or (1,), (pixels[0] if pixels else ()) or (1,)
    return ExpectedSizes(count, size, landmarks=None)


def _transforms(source: ArraySource, found: list[str], expected: ExpectedSizes) -> dict[str, NDArray[np.float64]]:
    """Those that are given, and those that follow from them where something still depends on these."""
    given: dict[str, NDArray[np.float64]] = {}
    for level, array in TRANSFORM_SETS.items():
        if array in found:
            label = source.label(array)
            check_shape(label, source.shape(array), (expected.frames, 4, 4))
            given[level] = checked_transforms(source.read(array, shape=(expected.frames, 4, 4)), label)
    for level, other in (("global", "local"), ("local", "global")):
        needed = PIXEL_SETS[level] not in found or LANDMARK_SETS[level] not in found
        if needed and level not in given:
            given[level] = _derived(level, given[other], source.label(TRANSFORM_SETS[other]))
    return given


def _derived(level: str, transforms: NDArray[np.float64], label: str) -> NDArray[np.float64]:
    """Global transforms from local ones, or the other way round."""
    if level == "local":
        check_invertible(transforms, label)
    with np.errstate(all="ignore"):
        derived = chained(transforms) if level == "global" else unchained(transforms)
    if not np.isfinite(derived).all():
        raise Refused(f"The {level} transforms that follow from {label} are too large to be computed.")
    return derived


def _landmarks(source: ArraySource, array: str, count: int | None) -> NDArray[np.float64]:
    label, shape = source.label(array), source.shape(array)
    check_shape(label, shape, (3, count if count is not None else (shape[1] if len(shape) == 2 else 1)))
    values: NDArray[Any] = source.read(array, shape=shape)
    if values.dtype.kind not in "fiu":
        raise Refused(f"{label} holds no numbers.")
    if not np.isfinite(values).all():
        component, landmark = (int(index) for index in np.argwhere(~np.isfinite(values))[0])
        what = "NaN" if np.isnan(values[component, landmark]) else "an infinite value"
        raise Refused(f"{label} holds {what}, first at [{component}, {landmark}].")
    return values.astype(np.float64)
