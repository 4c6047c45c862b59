"""Writes the carotid samples: references, images, and four teams' submissions, each packed in its own way."""

import shutil
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from literal.carotid import Answer
from numpy.typing import NDArray

from samples.algorithm_submission import JobFolder, random_id
from samples.carotid_cases import SEED, cases, in_grey
from samples.carotid_teams import (
    AORTA_SECONDS,
    BIFURCATION_TOTAL_SECONDS,
    DROPOUT_SECONDS,
    DROPOUT_STRAY_CASE,
    MISSING,
    NOT_A_NUMBER,
    TRUNCATED,
    UNKNOWN_CLASS,
    UNKNOWN_LABEL,
    WRONG_SHAPE,
    teams,
)
from samples.same_bytes import write_hdf5, write_image, write_json, write_tar_gz

REFERENCES = Path("ground-truth/carotid/references")
IMAGES = Path("test/images/carotid")
SUBMISSIONS = Path("test/submissions/carotid")
FOLDERS = (REFERENCES, IMAGES, SUBMISSIONS)


def write_samples(root: Path) -> None:
    """Everything below `root`, which is laid out like the repository; what stood there before is removed."""
    for folder in FOLDERS:
        shutil.rmtree(root / folder, ignore_errors=True)
    for case in cases():
        write_hdf5(root / REFERENCES / f"{case.name}_label.h5", case.stored_reference())
        for name, view in case.views.items():
            write_image(root / IMAGES / f"{case.name}_{name}.png", view.image)
    write_aorta(root / SUBMISSIONS / "aorta")
    write_bifurcation(root / SUBMISSIONS / "bifurcation")
    write_carina(root / SUBMISSIONS / "carina")
    write_dropout(root / SUBMISSIONS / "dropout")


def write_aorta(folder: Path) -> None:
    """An algorithm submission: random pks, shuffled jobs, classes half inline and half as files."""
    rng = np.random.default_rng([SEED, 9000])
    jobs = []
    for number, (case, answer) in enumerate(teams()["aorta"].answers.items()):
        job = JobFolder(folder, random_id(rng), rng)
        inline = number % 2 == 0
        # Each way of sending the class comes in both spellings: the bare integer and the object.
        spelt = answer.cls if number % 4 in (0, 1) else {"class": answer.cls}
        outputs = [
            job.output_image("carotid-longitudinal-segmentation", answer.masks["long"]),
            job.output_image("carotid-transverse-segmentation", answer.masks["trans"]),
            (job.output_value if inline else job.output_json_file)("plaque-vulnerability", spelt),
        ]
        inputs = [
            job.input_image("carotid-transverse-ultrasound", f"{case}.mha"),
            job.input_image("carotid-longitudinal-ultrasound", f"{case}.mha"),
        ]
        if number % 3 == 0:  # the order of sockets means nothing
            outputs.reverse()
            inputs.reverse()
        exec_duration, invoke_duration = aorta_durations(case)
        jobs.append(
            job.job(inputs=inputs, outputs=outputs, exec_duration=exec_duration, invoke_duration=invoke_duration)
        )
    write_json(folder / "predictions.json", [jobs[place] for place in rng.permutation(len(jobs))])


def aorta_durations(case: str) -> tuple[str | None, str | None]:
    """One job has no exec_duration, one has both (the invoke_duration is then not to be used), most have one."""
    spelt = f"PT{AORTA_SECONDS[case]:g}S"
    if case == "csv_0058":
        return None, spelt
    if case == "csv_0090":
        return spelt, "PT1M3.5S"
    if case == "csv_0128":
        return f"P0DT00H00M{AORTA_SECONDS[case]:09.6f}S", None
    return spelt, None


def write_bifurcation(folder: Path) -> None:
    """A prediction submission that is still packed: one preds.tar.gz with a folder and the total time."""
    with tempfile.TemporaryDirectory() as temporary:
        packed = Path(temporary) / "preds"
        for case, answer in teams()["bifurcation"].answers.items():
            write_hdf5(packed / f"{case}_pred.h5", stored(answer))
        write_json(packed / "timing.json", {"total_seconds": BIFURCATION_TOTAL_SECONDS})
        write_tar_gz(folder / "preds.tar.gz", packed)


def write_carina(folder: Path) -> None:
    """Loose files, one folder too deep, masks in grey values, no times."""
    for case, answer in teams()["carina"].answers.items():
        content = stored(answer)
        content["long_mask"], content["trans_mask"] = in_grey(answer.masks["long"]), in_grey(answer.masks["trans"])
        write_hdf5(folder / "predictions" / f"{case}_pred.h5", content)


def write_dropout(folder: Path) -> None:
    """Loose files, half of which are broken, each in its own way, and one for a case that does not exist."""
    team = teams()["dropout"]
    for case, answer in team.answers.items():
        write_broken(folder / f"{case}_pred.h5", stored(answer), team.faults.get(case))
    write_hdf5(folder / f"{DROPOUT_STRAY_CASE}_pred.h5", stored(team.answers["csv_0042"]))
    write_json(folder / "timing.json", {"cases": DROPOUT_SECONDS})


def stored(answer: Answer) -> dict[str, NDArray[Any]]:
    return {"long_mask": answer.masks["long"], "trans_mask": answer.masks["trans"], "cls": np.array([answer.cls])}


def write_broken(path: Path, content: dict[str, NDArray[Any]], fault: str | None) -> None:
    """The file with that fault; a sound file where there is none."""
    if fault == MISSING:
        return
    if fault == WRONG_SHAPE:
        content["long_mask"] = content["long_mask"][:-2, :-4]
    if fault == UNKNOWN_LABEL:
        content["trans_mask"] = np.where(content["trans_mask"] == 1, 7, content["trans_mask"]).astype(np.uint8)
    if fault == NOT_A_NUMBER:
        content["long_mask"] = content["long_mask"].astype(np.float32)
        content["long_mask"][10, 20] = np.nan
    if fault == UNKNOWN_CLASS:
        content["cls"] = np.array([3])
    write_hdf5(path, content)
    if fault == TRUNCATED:
        whole = path.read_bytes()
        path.write_bytes(whole[: len(whole) * 3 // 5])
