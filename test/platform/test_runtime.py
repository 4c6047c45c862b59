"""Times of cases and jobs, and the two clocks."""

from pathlib import Path

import pytest

from podium.errors import SubmissionError
from podium.platform.jobs import Clock, Job, Runtime, job_runtime


def job(pk: str, seconds: float | None, clock: Clock | None = "exec") -> Job:
    return Job(root=Path("/submission"), pk=pk, inputs={}, outputs={}, seconds=seconds, clock=clock)


def test_a_gap_makes_the_sum_unknown_only_where_it_counts() -> None:
    runtime = job_runtime({"a": [job("1", 2.0)], "b": [job("2", None, None)], "c": [job("3", 3.0), job("4", 4.0)]})
    assert runtime.by_case == {"a": 2.0, "c": 7.0}
    assert (runtime.of(["a", "c"]), runtime.of(["a", "b"]), runtime.of([])) == (9.0, None, 0.0)
    assert runtime.problem == "1 of 4 jobs have no duration that can be read: the time of their cases is unknown."
    assert runtime.warning is None


def test_a_total_alone_is_the_time_of_any_cases() -> None:
    assert Runtime(total_seconds=5.0).of(["a"]) == 5.0
    assert Runtime().of(["a"]) is None


def test_clocks_are_counted_and_long_lists_of_names_cut() -> None:
    jobs = {f"{pk}": [job(f"{pk}", 1.0, "invoke" if pk < 7 else "exec")] for pk in range(15)}
    runtime = job_runtime(jobs)
    assert runtime.clock_figures() == {"jobs.exec_duration": 8, "jobs.invoke_duration": 7}
    names = "job 0, job 1, job 2, job 3, job 4 and 2 more"
    assert runtime.warning is not None
    assert runtime.warning.startswith(f"7 of 15 measured jobs have invoke_duration ({names}), the others exec_duration")
    with pytest.raises(SubmissionError, match=r"7 of 15 jobs were measured by invoke_duration \(job 0, .* and 2 more"):
        job_runtime(jobs, clock="exec")
    assert job_runtime({"a": [job("1", 1.0)]}, clock="exec").warning is None
