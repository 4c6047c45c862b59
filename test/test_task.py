"""What the check of the references has read is kept for scoring where it is small."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from challenges.carotid_files import write_case, write_ground_truth

from podium.challenges import load_challenge
from podium.errors import Refused
from podium.evaluation import Task, evaluate, find_challenge, prepare
from podium.execution.executor import Serial
from podium.execution.processes import Processes

ROOT = Path(__file__).resolve().parents[1]


def same(first: Any, second: Any) -> bool:
    """Also for arrays, and for what holds them."""
    if isinstance(first, np.ndarray):
        return first.dtype == second.dtype and np.array_equal(first, second)
    if isinstance(first, dict):
        return first.keys() == second.keys() and all(same(first[key], second[key]) for key in first)
    if isinstance(first, list | tuple):
        return len(first) == len(second) and all(map(same, first, second))
    if hasattr(first, "__dict__"):
        return type(first) is type(second) and same(vars(first), vars(second))
    return bool(first == second)


def prepared(kind: str) -> Task:
    folder = find_challenge(ROOT / "ground-truth" / kind, None)
    return prepare(folder, load_challenge(folder), Serial())


@pytest.mark.parametrize("kind", ["carotid", "freehand", "lesions", "reports"])
def test_what_is_kept_is_what_would_be_read(kind: str) -> None:
    task = prepared(kind)
    for case in task.cases:
        assert task.checked[case].packed is not None
        assert same(task.expected(case), task.challenge.format.read_reference(task.references[case]))


@pytest.mark.parametrize("limit", ["_KEPT_BYTES", "_LARGEST_BYTES"])
def test_what_takes_too_much_memory_is_read_again(limit: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    truth = write_ground_truth(tmp_path / "truth")
    monkeypatch.setattr(f"podium.evaluation.{limit}", 100)
    folder = find_challenge(truth, None)
    task = prepare(folder, load_challenge(folder), Serial())
    assert task.checked["a"].packed is None
    assert task.expected("a") is not None
    (truth / "references/a_label.h5").unlink()
    with pytest.raises(Refused):
        task.expected("a")


def test_no_reference_is_opened_again_for_scored_failed_and_missing_cases(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The references are gone once they are checked."""
    truth, submission = write_ground_truth(tmp_path / "truth"), tmp_path / "submission"
    write_case(submission / "a_pred.h5")
    (submission / "b_pred.h5").write_bytes(b"broken")

    def without_references(*arguments: Any, **options: Any) -> Task:
        task = prepare(*arguments, **options)
        for file in (truth / "references").iterdir():
            file.unlink()
        return task

    monkeypatch.setattr("podium.evaluation.prepare", without_references)
    found = evaluate(
        submission=submission,
        output=tmp_path / "output",
        ground_truth=truth,
        challenge=None,
        executor=Processes(workers=2),
    )
    assert [row.status for row in found.results] == ["scored", "failed", "missing"]
