"""Puts the attacks into submissions, and checks what came of them."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hostile.attacks import CASE_ATTACKS
from hostile.scene import HONEST, NUMBER, OF_JOBS, TABLE, table, write_ground_truth, write_honest
from hostile.whole import JOB_CASES, write_jobs

FORGED = {
    "metrics.json": ("a `metrics.json` in the submission", b'{"aggregates": {"dice": {"mean": 1.0}}}'),
    "predictions.json": (
        "a `predictions.json` of the participant's own in a phase for predictions, to choose the times",
        b'[{"pk": "1", "exec_duration": "PT0.001S"}]',
    ),
    "x\nScored 99 of 99 cases.mha": (
        "file names with line breaks or control characters, to forge the log or the last line",
        b"",
    ),
}
"""Beside the predictions, by name: the row of docs/security.md and the content. They belong to no case."""


@dataclass(frozen=True)
class Scene:
    submission: Path
    ground_truth: Path


def write_case_attacks(folder: Path, *, hidden: Path) -> Scene:
    """One submission with an honest case and every attack on a case; references are at `hidden`."""
    truth = write_ground_truth(folder / "truth", [HONEST, *CASE_ATTACKS])
    submission = write_honest(folder / "submission", [HONEST, *CASE_ATTACKS])
    for case, attack in CASE_ATTACKS.items():
        attack.play(submission, case, hidden)
    cells = {HONEST: [NUMBER]} | {case: attack.numbers for case, attack in CASE_ATTACKS.items()}
    (submission / TABLE).write_bytes(table(cells))
    for name, (_, content) in FORGED.items():
        (submission / name).write_bytes(content)
    return Scene(submission, truth)


def check_case_attacks(metrics: dict[str, Any]) -> None:
    """Each attack failed with its words, nothing else was lost, and nothing was said about what is hidden."""
    rows = dict(metrics["results"])
    honest = rows.pop(HONEST)
    assert (honest["status"], honest["metrics"]["dice"]["image_lesion"]) == ("scored", 1.0)
    assert metrics["counts"] == {
        "expected": len(rows) + 1,
        "scored": 1,
        "partial": len(rows),
        "failed": 0,
        "missing": 0,
        "unmatched": len(FORGED),
    }
    errors = {case: " ".join(row["missing"].values()) for case, row in rows.items()}
    assert {case: error for case, error in errors.items() if CASE_ATTACKS[case].words not in error} == {}
    for case, row in rows.items():
        (lost,) = row["missing"]
        dice = {name: row["metrics"]["dice"][f"{name}_lesion"] for name in ("image", "array")}
        assert dice == {name: float(name != lost) for name in dice}
        assert row["metrics"]["mae"] == (1000 if lost == "number" else 0.0)
        assert not [word for word in ("references", "/tmp", "/opt", str(NUMBER)) if word in errors[case]]


def write_job_attacks(folder: Path, *, hidden: Path) -> Scene:
    """One submission of jobs."""
    truth = write_ground_truth(folder / "truth", [HONEST, *JOB_CASES], toml=OF_JOBS, shape="algorithm")
    return Scene(write_jobs(folder / "submission", hidden=hidden), truth)


def check_job_attacks(metrics: dict[str, Any]) -> None:
    """As for cases of files."""
    rows = dict(metrics["results"])
    assert rows.pop(HONEST)["metrics"]["dice"]["lesion"] == 1.0
    wrong = {case: row["error"] for case, row in rows.items() if JOB_CASES[case][1] not in (row["error"] or "")}
    assert wrong == {}
    assert {row["metrics"]["dice"]["lesion"] for row in rows.values()} == {0.0}
