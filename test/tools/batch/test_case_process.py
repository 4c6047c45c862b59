"""The process in which a Dask worker runs its cases."""

import os
import pickle

import pytest

from podium.errors import UsageError
from podium.execution.executor import CaseOutcome
from podium.tools.batch.case_process import borrowed_process

pytestmark = pytest.mark.slow


def test_cases_share_a_process_until_one_ends_it() -> None:
    upper, end = pickle.dumps(str.upper), pickle.dumps(os._exit)
    with borrowed_process() as process:
        assert process.run("upper", upper, "a", limit_seconds=60) == CaseOutcome(value="A")
    with borrowed_process() as again:
        assert again is process
        assert again.run("exit", end, 7, limit_seconds=60) == "with exit code 7"  # type: ignore[arg-type]
    with borrowed_process() as another:
        assert another is not process
        another.kill()


def test_work_that_cannot_be_loaded_is_no_fault_of_the_case() -> None:
    with borrowed_process() as process, pytest.raises(UsageError, match="install the same packages there"):
        process.run("unknown", b"cmissing_package\nwork\n.", "a", limit_seconds=60)
    process.kill()
