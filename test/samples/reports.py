"""Writes the reports samples: references, and three teams' submissions, each packed in its own way."""

import shutil
from pathlib import Path

import numpy as np

from samples.algorithm_submission import JobFolder, random_id
from samples.reports_cases import CASES
from samples.reports_teams import MISSING, WISDOM_STRAY_CASE, teams
from samples.same_bytes import write_json

SEED = 20260612
REFERENCES = Path("ground-truth/reports/references")
SUBMISSIONS = Path("test/submissions/reports")
FOLDERS = (REFERENCES, SUBMISSIONS)
SOCKET = "diagnostic-imaging-report"


def write_samples(root: Path) -> None:
    """Everything below `root`, which is laid out like the repository; what stood there before is removed."""
    for folder in FOLDERS:
        shutil.rmtree(root / folder, ignore_errors=True)
    for case, texts in CASES.items():
        write_text(root / REFERENCES / f"{case}.txt", texts.reference + "\n")
    write_molar(root / SUBMISSIONS / "molar")
    write_cuspid(root / SUBMISSIONS / "cuspid")
    write_wisdom(root / SUBMISSIONS / "wisdom")


def write_text(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode())


def write_molar(folder: Path) -> None:
    """An algorithm submission: random pks, shuffled jobs, reports half inline and half as files.

    CBCT cases are named by their image; the others by a scan, or, twice, by the pk alone. Extensions and the case of
    letters vary.
    """
    rng = np.random.default_rng([SEED, 1])
    jobs = []
    for number, (case, text) in enumerate(teams()["molar"].answers.items()):
        named_by_pk = case in ("B005", "B006")
        job = JobFolder(folder, f"job-{case.lower()}" if named_by_pk else random_id(rng), rng)
        send = job.output_value if number % 2 else job.output_json_file
        name = "upper.stl" if named_by_pk else f"{case.lower() if number % 3 == 0 else case}.nii.gz"
        slug = "cbct-image" if case.startswith("T") else "intra-oral-scan"
        inputs, outputs = [job.input_image(slug, name)], [send(SOCKET, {"report": text})]
        jobs.append(job.job(inputs=inputs, outputs=outputs, exec_duration="PT4S"))
    write_json(folder / "predictions.json", [jobs[place] for place in rng.permutation(len(jobs))])


def write_cuspid(folder: Path) -> None:
    """A folder of texts, one folder too deep, some as .json, one with a byte order mark, and a readme beside them."""
    for number, (case, text) in enumerate(teams()["cuspid"].answers.items()):
        if number % 5 == 4:
            write_json(folder / "texts" / f"{case.lower()}.json", {"report": text})
        else:
            mark = "\ufeff" if number == 0 else ""
            write_text(folder / "texts" / f"{case}.txt", mark + text)
    write_text(folder / "README.txt", "One template for all; only the teeth differ.\n")


def write_wisdom(folder: Path) -> None:
    """One reports.json: empty strings, a number, a missing case, a case that does not exist, and an injection."""
    team = teams()["wisdom"]
    reports = {case: team.value(case) for case in CASES if team.faults.get(case) != MISSING}
    write_json(folder / "reports.json", {**reports, WISDOM_STRAY_CASE: "Nothing to see."})
