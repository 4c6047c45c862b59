"""The worked example of the freehand rules as organisers and participants would write it to disk."""

import json
import shutil
import zipfile
from collections.abc import Mapping
from io import BytesIO
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from metrics import made as golden
from numpy.typing import NDArray

SCAN = "sub050__LH_Par_L_DtP"
CONFIGURATION = """\
kind = "freehand"
title = "Test"
version = "1.0"
per_case = "full"

[freehand]
edition = "2024"
frame_size = [4, 5]
"""


def reference_sets(dtype: Any = np.float64) -> dict[str, NDArray[Any]]:
    """The perfect answer."""
    sets = {"GP": golden.GP, "GL": golden.GL, "LP": golden.LP, "LL": golden.LL}
    return {name: values.astype(dtype) for name, values in sets.items()}


def off_by_5_mm(dtype: Any = np.float64) -> dict[str, NDArray[Any]]:
    return {name: (values + golden.OFFSET).astype(dtype) for name, values in reference_sets().items()}


def write_ground_truth(
    folder: Path,
    *,
    scans: Mapping[str, Any] | None = None,
    landmarks: Any = golden.LANDMARKS,
    extra: str = "",
    edition: str = "2024",
    keys: bool = True,
) -> Path:
    """One scan (or some: case -> tforms), all with the same landmarks."""
    references = folder / "references"
    shutil.rmtree(folder, ignore_errors=True)
    references.mkdir(parents=True)
    (folder / "challenge.toml").write_text(CONFIGURATION.replace("2024", edition) + extra)
    scans = {SCAN: golden.TOOL_TO_CAMERA} if scans is None else scans
    for case, poses in scans.items():
        subject, scan = case.removeprefix("sub").split("__", 1)
        write_h5(references / "transfs" / subject / f"{scan}.h5", {"tforms": poses})
        write_h5(references / "landmark" / f"landmark_{subject}.h5", {scan: landmarks}, mode="a")
    if keys:
        write_h5(references / "dataset_keys.h5", dict.fromkeys(scans, np.array(0)))
    write_calibration(references / "calib_matrix.csv")
    return folder


def write_calibration(path: Path) -> None:
    rows = [["scale,,,"], *golden.PIXEL_TO_MM.tolist(), ["calibration,,,"], *golden.IMAGE_TO_TOOL.tolist()]
    path.write_text("".join(",".join(str(value) for value in row) + "\n" for row in rows))


def write_h5(path: Path, arrays: Mapping[str, Any], *, mode: str = "w", **options: Any) -> Path:
    """`options` go to the datasets with three axes."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with h5py.File(path, mode) as file:
        for name, values in arrays.items():
            file.create_dataset(name, data=values, **(options if np.ndim(values) == 3 else {}))
    return path


def write_npy(folder: Path, arrays: Mapping[str, Any]) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name, values in arrays.items():
        np.save(folder / f"{name}.npy", values)
    return folder


def write_npz(path: Path, arrays: Mapping[str, Any], *, deflated: bool = True, prefix: str = "") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    method = zipfile.ZIP_DEFLATED if deflated else zipfile.ZIP_STORED
    with zipfile.ZipFile(path, "w", method) as archive:
        for name, values in arrays.items():
            content = BytesIO()
            np.save(content, values)
            archive.writestr(f"{prefix}{name}.npy", content.getvalue())
    return path


def write_job(
    folder: Path, *, pk: str, inputs: list[str], output: str, seconds: str | None = "PT12S"
) -> dict[str, Any]:
    """A job's entry of predictions.json; its output file is the caller's."""
    (folder / pk / "output").mkdir(parents=True, exist_ok=True)
    return {
        "pk": pk,
        "inputs": [
            {"socket": {"slug": f"input-{number}", "relative_path": name}, "file": {"name": name}}
            for number, name in enumerate(inputs)
        ],
        "outputs": [
            {"socket": {"slug": "displacement-fields", "relative_path": output}, "file": {"name": output}},
        ],
        "exec_duration": seconds,
        "invoke_duration": None,
    }


def write_predictions(folder: Path, jobs: list[dict[str, Any]]) -> None:
    (folder / "predictions.json").write_text(json.dumps(jobs))
