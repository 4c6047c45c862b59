"""A small lesions challenge on disk, to be bent by each test in its own way."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import SimpleITK
from evaluating import read_metrics
from numpy.typing import NDArray
from samples.algorithm_submission import JobFolder, random_id, socket

from podium import evaluate
from podium.execution.executor import Serial

SHAPE = (6, 8, 10)
Volume = NDArray[Any]

CHALLENGE = """
kind = "lesions"
title = "Test"
version = "1"
per_case = "{per_case}"

[lesions]
{settings}
"""


def block(*cuts: slice, dtype: Any = np.uint8, shape: tuple[int, ...] = SHAPE) -> Volume:
    """A volume with one filled block."""
    volume = np.zeros(shape, dtype)
    volume[cuts] = 1
    return volume


LESION = block(slice(1, 4), slice(2, 5), slice(2, 5))  # 27 voxels
HALF = block(slice(1, 4), slice(2, 5), slice(2, 4))  # 18 of them: Dice 2 * 18 / 45 = 0.8
NOTHING = np.zeros(SHAPE, np.uint8)


def write(path: Path, volume: Volume, *, spacing: tuple[float, ...] = (1.0, 1.0, 1.0), **geometry: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    image = SimpleITK.GetImageFromArray(volume)
    image.SetSpacing(spacing)
    if "direction" in geometry:
        image.SetDirection(geometry["direction"])
    if "origin" in geometry:
        image.SetOrigin(geometry["origin"])
    SimpleITK.WriteImage(image, str(path), useCompression=True)


def write_ground_truth(
    root: Path, references: Mapping[str, Volume], *, settings: str = "steps = 3", per_case: str = "full"
) -> Path:
    folder = root / "ground-truth"
    if "empty_reference" not in settings:
        settings = f'empty_reference = "undefined"\n{settings}'
    for name, volume in references.items():
        write(folder / "references" / (name if "." in name else f"{name}.nii.gz"), volume)
    (folder / "challenge.toml").write_text(CHALLENGE.format(settings=settings, per_case=per_case))
    return folder


def write_jobs(folder: Path, jobs: list[dict[str, Any]]) -> Path:
    """Each job: case, mask, points (None leaves the socket out), step (None leaves it out), slug of its image."""
    rng = np.random.default_rng(7)
    entries = []
    for job in jobs:
        made = JobFolder(folder, random_id(rng), rng)
        inputs = [made.input_image(job.get("slug", "ct"), job["case"])]
        if job.get("points") is not None:
            points = [{"point": [n, 1, 1], "name": "tumor"} for n in range(job["points"])]
            value = {"version": {"major": 1, "minor": 0}, "type": "Multiple points", "points": points}
            inputs.append(made.entry(socket("lesion-clicks", "Points", "File"), value=value))
        if job.get("step") is not None:
            inputs.append(made.entry(socket("interaction-step", "Integer", "Value"), value=job["step"]))
        path = made.output / "images/tumor-lesion-segmentation" / f"{random_id(rng)}.mha"
        write(path, job["mask"])
        outputs = [made.image_entry("tumor-lesion-segmentation", path)]
        entries.append(made.job(inputs=inputs, outputs=outputs, exec_duration="PT1S"))
    (folder / "predictions.json").write_text(json.dumps(entries))
    return folder


def run(submission: Path, ground_truth: Path, output: Path) -> dict[str, Any]:
    """metrics.json with its rows by case; errors are raised."""
    evaluate(submission, ground_truth=ground_truth, output=output, executor=Serial())
    return read_metrics(output)
