"""The jobs of predictions.json, names of cases, and how long jobs took."""

import json
from pathlib import Path
from typing import Any

import pytest
from readers.made import refusal

from podium.errors import SubmissionError
from podium.platform.jobs import CLOCKS, Clock, Job, Runtime, case_of, duration_seconds, job_runtime, read_jobs

OUTPUT = {"socket": {"slug": "mask", "relative_path": "images/mask"}}
NO_LIST = "the inputs and outputs of job 1 of predictions.json must be lists of objects."
NO_SLUG = "job 1 of predictions.json has an input or output without a slug."


def submitted(folder: Path, content: Any) -> tuple[Job, ...]:
    (folder / "predictions.json").write_text(json.dumps(content))
    return read_jobs(folder)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ({}, "predictions.json must be a list of jobs."),
        *(
            ([{"pk": pk}], "job 1 of predictions.json has no usable pk.")
            for pk in (None, "", "../1", "/etc", "p" * 3000, "a\nb", "\x1b")
        ),
        ([{"pk": "1"}, {"pk": 1}], "predictions.json names the same job twice."),
        ([{"pk": "1", "inputs": {}}], NO_LIST),
        ([{"pk": "1", "outputs": [{"socket": {}}]}], NO_SLUG),
        ([{"pk": "1", "outputs": [OUTPUT] * 2}], "job 1 of predictions.json has the socket 'mask' twice."),
    ],
)
def test_jobs_that_cannot_be_read_cost_the_submission(content: Any, words: str, tmp_path: Path) -> None:
    assert refusal(submitted, tmp_path, content) == words


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("../../truth", "'../../truth' is not a path inside the job's output."),
        ("/truth", "'/truth' is not a path inside the job's output."),
        ("x", "'1/output/x' is a symbolic link or is reached through one; send the file itself."),
    ],
)
def test_no_output_leads_outside(path: str, words: str, tmp_path: Path) -> None:
    (tmp_path / "elsewhere/output/x").mkdir(parents=True)
    (tmp_path / "1").symlink_to(tmp_path / "elsewhere")
    (job,) = submitted(tmp_path, [{"pk": "1", "outputs": [{"socket": {"slug": "mask", "relative_path": path}}]}])
    assert refusal(job.output_image, "mask") == words


# Durations as the platform writes them: ISO 8601, or as its database does.


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("PT1M3.5S", 63.5),
        ("PT6.5S", 6.5),
        ("P0DT00H00M06.000000S", 6.0),
        ("P1DT2H", 93_600.0),
        ("P2W", 1_209_600.0),
        ("PT0S", 0.0),
        ("PT1,5S", 1.5),
        ("00:01:03.500000", 63.5),
        ("01:00:00", 3600.0),
        ("2 03:00:01", 183_601.0),
    ],
)
def test_duration(text: str, seconds: float) -> None:
    assert duration_seconds(text) == seconds


@pytest.mark.parametrize(
    "text",
    [
        "",
        "P",
        "PT",
        "1M3S",
        "P1Y",
        "P1M",
        "-PT5S",
        "PT-5S",
        "PT5S ",
        "PTS",
        "٣S",
        "63.5",
        "1:03",
        "00:60:00",
        "-1 00:00:01",
    ],
)
def test_not_a_duration(text: str) -> None:
    assert duration_seconds(text) is None


# Case names from file names.


@pytest.mark.parametrize(
    ("name", "case"),
    [
        ("A003.nii.gz", "A003"),
        ("csv_0007.mha", "csv_0007"),
        ("folder/csv_0007.MHA", "csv_0007"),
        ("1.2.840.7", "1.2.840.7"),
        ("1.2.840.7.mha", "1.2.840.7"),
        ("sub050__LH_Par_L_DtP.hdf5", "sub050__LH_Par_L_DtP"),
        ("plain", "plain"),
        (".mha", ".mha"),
        ("mu\u0308ller.mha", "m\u00fcller"),
    ],
)
def test_case_of(name: str, case: str) -> None:
    assert case_of(name) == case


# Times of cases and jobs, and the two clocks.


def job(pk: str, **durations: float) -> Job:
    seconds: dict[Clock, float] = {clock: durations[clock] for clock in CLOCKS if clock in durations}
    return Job(root=Path("/submission"), pk=pk, inputs={}, outputs={}, durations=seconds)


def test_a_gap_makes_the_sum_unknown_only_where_it_counts() -> None:
    runtime = job_runtime({"a": [job("1", exec=2.0)], "b": [job("2")], "c": [job("3", exec=3.0), job("4", exec=4.0)]})
    assert runtime.by_case == {"a": 2.0, "c": 7.0}
    assert (runtime.seconds_of(["a", "c"]), runtime.seconds_of(["a", "b"]), runtime.seconds_of([])) == (9.0, None, 0.0)
    assert runtime.problem == "1 of 4 jobs have no duration that can be read: the time of their cases is unknown."
    assert runtime.warning is None
    assert (Runtime(total_seconds=5.0).seconds_of(["a"]), Runtime().seconds_of(["a"])) == (5.0, None)


def test_clocks_are_counted_and_long_lists_of_names_cut() -> None:
    jobs = {f"{pk}": [job(f"{pk}", **{"invoke" if pk < 7 else "exec": 1.0})] for pk in range(15)}
    runtime = job_runtime(jobs)
    assert runtime.clock_figures() == {"jobs.exec_duration": 8, "jobs.invoke_duration": 7}
    names = "job 0, job 1, job 2, job 3, job 4 and 2 more"
    assert runtime.warning is not None
    assert runtime.warning.startswith(f"7 of 15 measured jobs have invoke_duration ({names}), the others exec_duration")
    with pytest.raises(SubmissionError, match=r"7 of 15 jobs were measured by invoke_duration \(job 0, .* and 2 more"):
        job_runtime(jobs, clock="exec")
    assert job_runtime({"a": [job("1", exec=1.0)]}, clock="exec").warning is None


@pytest.mark.parametrize(("clock", "seconds", "counted"), [("exec", 9.0, (2, 0)), ("invoke", 3.0, (0, 2))])
def test_of_jobs_with_both_durations_the_clock_decides_without_a_warning(
    clock: Clock, seconds: float, counted: tuple[int, int]
) -> None:
    jobs = {"a": [job("1", exec=5.0, invoke=2.0)], "b": [job("2", exec=4.0, invoke=1.0)]}
    runtime = job_runtime(jobs, clock=clock)
    assert runtime.seconds_of(["a", "b"]) == seconds
    assert tuple(runtime.clock_figures().values()) == counted
    assert (runtime.problem, runtime.warning) == (None, None)


def test_without_a_rule_one_clock_counts_for_all_jobs_if_it_measured_them() -> None:
    both, one = job("1", exec=5.0, invoke=2.0), job("2", invoke=1.0)
    assert job_runtime({"a": [both]}).by_case == {"a": 5.0}
    mixed = job_runtime({"a": [both], "b": [one]})
    assert (mixed.by_case, mixed.warning) == ({"a": 2.0, "b": 1.0}, None)
    assert job_runtime({"a": [job("1")], "b": [one]}, clock="invoke").seconds_of(["a", "b"]) is None


def test_a_task_of_batch_mode_is_a_job(tmp_path: Path) -> None:
    """One job runs many tasks: each comes with the image instead of a URL, and may have both durations."""
    task = {
        "pk": "1",
        "algorithm_image": "https://example.org/api/v1/algorithms/images/1/",
        "inputs": [{"socket": {"slug": "ct"}, "image": {"name": "a.mha"}}],
        "outputs": [{"socket": {"slug": "risk"}, "value": 0.5}],
        "status": "Succeeded",
        "exec_duration": "0 00:00:09.500000",
        "invoke_duration": "PT7S",
    }
    (job,) = submitted(tmp_path, [task])
    assert job.durations == {"exec": 9.5, "invoke": 7.0}
    assert (job.inputs["ct"].name, job.output_json("risk")) == ("a.mha", 0.5)


def test_a_duration_that_cannot_be_read_is_unknown_with_a_warning(tmp_path: Path) -> None:
    jobs = submitted(tmp_path, [{"pk": "1", "exec_duration": "63 seconds", "invoke_duration": None}])
    assert jobs[0].durations == {}
    assert job_runtime({"a": jobs}).problem is not None
