"""Writes the lesions samples: references, PET/CT images, and two teams' six steps per case, as jobs and as files."""

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import SimpleITK
from numpy.typing import NDArray

from samples.algorithm_submission import JobFolder, random_id, socket
from samples.lesions_cases import SEED, Plan, cases
from samples.lesions_teams import MISSING, NOT_A_NUMBER, PROBABILITIES, STEPS, TRUNCATED, WRONG_SIZE, teams
from samples.same_bytes import write_json

REFERENCES = Path("ground-truth/lesions/references")
IMAGES = Path("test/images/lesions")
SUBMISSIONS = Path("test/submissions/lesions")
FOLDERS = (REFERENCES, IMAGES, SUBMISSIONS)
NUMBERED_CASES = ("fdg_ukt_001", "fdg_ukt_002")  # cases whose jobs name their step; the second never gets a scribble


def write_samples(root: Path) -> None:
    """Everything below `root`, which is laid out like the repository; what stood there before is removed."""
    for folder in FOLDERS:
        shutil.rmtree(root / folder, ignore_errors=True)
    for case in cases():
        write_volume(root / REFERENCES / f"{case.name}{case.plan.ending}", case.reference, case.plan)
        write_volume(root / IMAGES / f"{case.name}_0000.nii.gz", case.ct, case.plan)
        write_volume(root / IMAGES / f"{case.name}_0001.nii.gz", case.pet, case.plan)
    write_ember(root / SUBMISSIONS / "ember")
    write_glow(root / SUBMISSIONS / "glow")


def write_volume(path: Path, values: NDArray[Any], plan: Plan, *, spacing: tuple[float, ...] | None = None) -> None:
    """With the case's geometry; the format follows the extension."""
    path.parent.mkdir(parents=True, exist_ok=True)
    image = SimpleITK.GetImageFromArray(values)
    image.SetSpacing(spacing or plan.spacing)
    image.SetDirection(plan.direction)
    SimpleITK.WriteImage(image, str(path), useCompression=True, compressionLevel=9)


def write_ember(folder: Path) -> None:
    """An algorithm submission: one job per step, in random order; scribbles or a socket identify the step."""
    rng = np.random.default_rng([SEED, 9000])
    jobs = []
    for case in cases():
        for step, mask in enumerate(teams()["ember"].answers[case.name]):
            job = JobFolder(folder, random_id(rng), rng)
            suffix = "_0000" if case.name.startswith("psma") else ""
            clicks = scribbles(0 if case.name == "fdg_ukt_002" else 4 * step)
            inputs = [
                job.input_image("ct", f"{case.name}{suffix}.mha"),
                job.input_image("pet", f"{case.name}{suffix}.mha"),
                job.entry(socket("lesion-clicks", "Multiple points", "File"), value=clicks),
            ]
            if case.name in NUMBERED_CASES:
                inputs.append(job.entry(socket("interaction-step", "Integer", "Value"), value=step))
            output = job.output / "images/tumor-lesion-segmentation" / f"{random_id(rng)}.mha"
            write_volume(output, mask, case.plan)
            outputs = [job.image_entry("tumor-lesion-segmentation", output)]
            jobs.append(job.job(inputs=inputs, outputs=outputs, exec_duration="PT12S"))
    write_json(folder / "predictions.json", [jobs[place] for place in rng.permutation(len(jobs))])


def scribbles(count: int) -> dict[str, Any]:
    points = [{"point": [number, 5, 7], "name": "tumor"} for number in range(count)]
    return {"version": {"major": 1, "minor": 0}, "type": "Multiple points", "points": points}


def write_glow(folder: Path) -> None:
    """Loose files, folders with and without a channel suffix, several types, some broken, two that match nothing."""
    team = teams()["glow"]
    for number, case in enumerate(cases()):
        name = f"{case.name}_0000" if number % 2 else case.name
        for step, mask in enumerate(team.answers[case.name]):
            ending = ".mha" if (number + step) % 3 == 0 else ".nii.gz"
            stored = mask.astype((np.uint8, np.float32, np.int16)[(number + step) % 3])
            fault = team.faults.get((case.name, step))
            path = folder / "predictions" / name / f"iter_{step}{ending}"
            spacing = (1.0, 1.0, 1.0) if (case.name, step) in team.warned else None
            write_broken(path, stored, case.plan, fault, spacing)
            if fault is None and step > 0:
                write_json(path.with_name(f"iter_{step}_scribbles.json"), scribbles(4 * step))
    plan = cases()[0].plan
    write_volume(folder / "predictions/fdg_zzz_999/iter_0.nii.gz", np.zeros(plan.shape, np.uint8), plan)
    extra = folder / f"predictions/fdg_lmu_003/iter_{STEPS}.nii.gz"
    write_volume(extra, cases()[0].mask, plan)


def write_broken(
    path: Path, mask: NDArray[Any], plan: Plan, fault: str | None, spacing: tuple[float, ...] | None
) -> None:
    """The file with that fault; a sound file where there is none."""
    if fault == MISSING:
        return
    if fault == WRONG_SIZE:
        mask = mask[:-1]
    if fault == PROBABILITIES:
        mask = mask.astype(np.float32) * np.float32(0.75)
    if fault == NOT_A_NUMBER:
        mask = mask.astype(np.float32)
        mask[3, 2, 1] = np.nan
    write_volume(path, mask, plan, spacing=spacing)
    if fault == TRUNCATED:
        whole = path.read_bytes()
        path.write_bytes(whole[: len(whole) * 3 // 5])
