"""Commands that score cases in the test's own process: without forks a small evaluation takes milliseconds."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest

from podium.execution.processes import CaseOutcome, _attempt


def score_in_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """For tests of what is made of scores, not of how they are computed."""

    def run(cases: Sequence[str], work: Callable[[str], Any], **_: Any) -> Mapping[str, CaseOutcome[Any]]:
        return {case: _attempt(work, case) for case in cases}

    monkeypatch.setattr("podium.evaluation.run_cases", run)
