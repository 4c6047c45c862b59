"""Small carotid ground truths and submissions, written to disk as organisers and participants would."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import SimpleITK as sitk
from numpy.typing import NDArray
from places import ROOT

CONFIGURATION = (ROOT / "ground-truth" / "carotid" / "challenge.toml").read_text(encoding="utf-8")


def configured(table: str, line: str) -> str:
    """The bundled carotid with one more line in a table."""
    assert CONFIGURATION.count(f"\n[{table}]\n") == 1
    return CONFIGURATION.replace(f"\n[{table}]\n", f"\n[{table}]\n{line}\n")


LONG, TRANS = (24, 32), (20, 28)


def mask(shape: tuple[int, int], *, seed: int = 0) -> NDArray[np.uint8]:
    """A vessel (2) with a plaque (1) in it; `seed` moves it a little."""
    values = np.zeros(shape, dtype=np.uint8)
    values[4 + seed % 3 : 16, 3:20] = 2
    values[6 + seed % 3 : 10, 5:12] = 1
    return values


def write_case(path: Path, *, long_mask: Any = None, trans_mask: Any = None, cls: Any = 0) -> Path:
    """One .h5 file; None is the standard mask, an absent dataset is spelt `...`."""
    path.parent.mkdir(parents=True, exist_ok=True)
    datasets = {
        "long_mask": mask(LONG) if long_mask is None else long_mask,
        "trans_mask": mask(TRANS) if trans_mask is None else trans_mask,
        "cls": cls,
    }
    with h5py.File(path, "w") as file:
        for name, values in datasets.items():
            if values is not ...:
                file[name] = values
    return path


def write_ground_truth(
    folder: Path, classes: Mapping[str, int] | None = None, *, configuration: str = CONFIGURATION
) -> Path:
    """A challenge folder with one reference for every case in `classes`."""
    classes = {"a": 0, "b": 1, "c": 0} if classes is None else classes
    (folder / "references").mkdir(parents=True)
    (folder / "challenge.toml").write_text(configuration, encoding="utf-8")
    for case, cls in classes.items():
        write_case(folder / "references" / f"{case}_label.h5", cls=cls)
    return folder


def write_job(
    root: Path, pk: str, case: str, *, cls: Any = 0, spelling: str = "interface", **job: Any
) -> dict[str, Any]:
    """One job's output folder; returns its entry for predictions.json."""
    outputs = []
    for slug, shape in (("carotid-longitudinal-segmentation", LONG), ("carotid-transverse-segmentation", TRANS)):
        image = root / pk / "output" / "images" / slug / "image.mha"
        image.parent.mkdir(parents=True)
        sitk.WriteImage(sitk.GetImageFromArray(mask(shape)), image, useCompression=True)
        outputs.append({spelling: {"slug": slug, "relative_path": f"images/{slug}"}, "image": {"pk": "x", "name": "o"}})
    outputs.append(
        {spelling: {"slug": "plaque-vulnerability", "relative_path": "plaque-vulnerability.json"}, "value": cls}
    )
    named = {"image": {"pk": "x", "name": f"{case}.mha"}}
    return {
        "pk": pk,
        "status": "Succeeded",
        "inputs": [{spelling: {"slug": "carotid-longitudinal-ultrasound"}, **named}],
        "outputs": outputs,
        "exec_duration": "PT10S",
        "invoke_duration": None,
        **job,
    }


def write_predictions(root: Path, jobs: list[dict[str, Any]]) -> Path:
    (root / "predictions.json").write_text(json.dumps(jobs), encoding="utf-8")
    return root
