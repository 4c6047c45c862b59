"""`podium evaluate` from the outside: what goes in, what comes out, and what is said on the way."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np
import pytest
from challenges.carotid_files import (
    CONFIGURATION,
    LONG,
    configured,
    mask,
    write_case,
    write_ground_truth,
    write_job,
    write_predictions,
)
from places import ROOT
from readers.made import zip_bytes

from podium.challenges import load_challenge
from podium.challenges.declared.challenge import DeclaredChallenge
from podium.challenges.ground_truth import read_challenge_folders
from podium.cli.main import main
from podium.errors import GroundTruthError, OrganiserError, Refused, UsageError
from podium.evaluation import Task, evaluate, find_challenge, prepare
from podium.execution.executor import Serial
from podium.execution.processes import Processes
from podium.platform.submission import submission_names
from podium.validation import challenges_at_hand

pytestmark = pytest.mark.usefixtures("in_process")

TEAMS = sorted(path.name for path in (ROOT / "test" / "submissions" / "carotid").iterdir())


# The platform's ways


def test_the_phase_decides_what_predictions_json_is(files: Path, tmp_path: Path, evaluate: Any) -> None:
    """A participant's own file must not turn a phase for predictions into one for jobs, where the time is believed."""
    (files / "predictions.json").write_text(json.dumps([{"pk": "1", "exec_duration": "PT1S"}]))
    configuration = CONFIGURATION.replace("per_case", 'submission = "predictions"\nper_case')
    run = evaluate(files, ground_truth=write_ground_truth(tmp_path / "t", configuration=configuration))
    assert run.metrics["counts"] == {
        "expected": 3,
        "scored": 3,
        "partial": 0,
        "failed": 0,
        "missing": 0,
        "unmatched": 1,
    }


def test_input_and_output_may_be_links(files: Path, tmp_path: Path, evaluate: Any) -> None:
    (tmp_path / "input").symlink_to(files)
    (tmp_path / "task").mkdir()
    (tmp_path / "output").symlink_to(tmp_path / "task")
    assert evaluate(tmp_path / "input").code == 0
    assert json.loads((tmp_path / "task" / "metrics.json").read_text())["counts"]["scored"] == 3
    assert [path.name for path in (tmp_path / "task").iterdir()] == ["metrics.json"]


def test_the_log_is_short_and_ends_with_the_summary(files: Path, evaluate: Any) -> None:
    """The platform keeps about 500 lines of each stream: 400 in all are printed, what matters last."""
    for number in range(1000):
        (files / f"zebra_{number}.bin").touch()
    run = evaluate(files)
    lines = run.out.splitlines()
    assert len(lines) + len(run.err.splitlines()) <= 400
    assert sum(line.startswith("unmatched: zebra_") for line in lines) == 15
    assert (lines[-2], "(3 of 3 cases; 1000 unmatched) -> " in lines[-1]) == ("unmatched: and 985 more", True)
    assert run.last_line == lines[-1]


def test_a_submission_in_which_every_case_fails_by_our_own_error(
    tmp_path: Path, evaluate: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, depth: int = 12) -> None:
        if depth:
            fail(depth=depth - 1)
        raise ValueError(f"broken {uuid4()}")  # equal problems would be one line

    cases = [f"case_{number}" for number in range(60)]
    truth = write_ground_truth(tmp_path / "truth", dict.fromkeys(cases, 0))
    for case in (*cases, *(f"zebra_{number}" for number in range(60))):
        write_case(tmp_path / "s" / f"{case}_pred.h5")
    monkeypatch.setattr("podium.challenges.declared.challenge.DeclaredChallenge.compare", fail)
    run = evaluate(tmp_path / "s", ground_truth=truth)
    lines = run.out.splitlines()
    assert run.code == 1
    assert len(lines) + len(run.err.splitlines()) <= 400
    assert "failed: case_0: This case could not be scored because of an unexpected ValueError." in run.out
    assert sum(line.startswith("ValueError: broken") for line in lines) == 15
    assert lines[-1] == "failed: and 45 more"


def test_the_list_of_broken_references_is_shortened(files: Path, tmp_path: Path, evaluate: Any) -> None:
    truth = write_ground_truth(tmp_path / "truth", {})
    for number in range(500):
        (truth / "references" / f"{number:03}_label.h5").touch()
    run = evaluate(files, ground_truth=truth)
    assert run.last_line.startswith("500 of 500 references are broken")
    lines = run.out.splitlines()
    assert (len(lines), lines[130]) == (260, "... and 241 more lines ...")
    assert (lines[0][:17], lines[-1][:17]) == ("reference of 000:", "reference of 499:")


# Pairing


def test_extra_predictions_are_reported(files: Path, evaluate: Any) -> None:
    write_case(files / "zebra_pred.h5")
    (files / "notes.docx").write_text("x")
    (files / "README.md").write_text("x")
    run = evaluate(files)
    assert run.metrics["counts"] == {
        "expected": 3,
        "scored": 3,
        "partial": 0,
        "failed": 0,
        "missing": 0,
        "unmatched": 2,
    }
    assert "unmatched: zebra_pred.h5: 'zebra' is not an expected case" in run.out
    assert "unmatched: notes.docx: it is not named <case>_pred.h5" in run.out
    assert "(3 of 3 cases; 2 unmatched) -> " in run.last_line


def test_two_jobs_for_one_case_fail_it(tmp_path: Path, evaluate: Any) -> None:
    root = tmp_path / "s"
    run = evaluate(
        write_predictions(root, [write_job(root, pk, case) for pk, case in (("1", "a"), ("2", "a"), ("3", "b"))])
    )
    assert {case: row["status"] for case, row in run.rows.items()} == {"a": "failed", "b": "scored", "c": "missing"}
    assert "('job 1', 'job 2')" in run.rows["a"]["error"]


# Bad cases cost themselves only


@pytest.mark.parametrize("written", ["NaN", "1e999", '"\\ud800"'])
def test_what_json_cannot_mean_costs_its_job_alone(written: str, tmp_path: Path, evaluate: Any) -> None:
    root = tmp_path / "s"
    write_predictions(root, [write_job(root, "1", "a", cls="HERE"), write_job(root, "2", "b")])
    text = (root / "predictions.json").read_text()
    (root / "predictions.json").write_text(text.replace('"HERE"', written))
    run = evaluate(root)
    assert run.rows["a"]["missing"]["risk"].startswith("'job 1: plaque-vulnerability' holds ")
    assert run.rows["b"]["status"] == "scored"


# Unusable submissions


def test_a_broken_archive_does_not_cost_the_files_beside_it(files: Path, evaluate: Any) -> None:
    (files / "c_pred.h5").unlink()
    (files / "preds.zip").write_bytes(zip_bytes({"c_pred.h5": b"x", "../c": b""}))
    run = evaluate(files)
    statuses = {case: row["status"] for case, row in run.rows.items()}
    assert statuses == {"a": "scored", "b": "scored", "c": "missing"}
    assert "unmatched: preds.zip: " in run.out


FOREIGN = "None of the 1 submitted predictions belongs to an expected case; the first is "
BROKEN = "'preds.zip' is a damaged or incomplete zip archive; pack it again."


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ({"README.md": b"x"}, "The submission holds no prediction for any expected case."),
        ({"x_pred.h5": b""}, f"{FOREIGN}x_pred.h5: 'x' is not an expected case."),
        ({"preds.zip": b"PK\x03\x04"}, BROKEN),
        ({"preds.zip": b"PK\x03\x04", "README.md": b"x"}, f"{FOREIGN}preds.zip: {BROKEN}"),
    ],
)
def test_unusable_submissions(content: dict[str, bytes], sentence: str, tmp_path: Path, evaluate: Any) -> None:
    folder = tmp_path / "s"
    folder.mkdir()
    for name, data in content.items():
        (folder / name).write_bytes(data)
    run = evaluate(folder)
    assert (run.code, run.last_line, run.metrics) == (1, sentence, {})


def test_not_a_single_case_could_be_scored(tmp_path: Path, evaluate: Any) -> None:
    """The team is told why at once; who runs it at home finds every case in metrics.json."""
    write_case(tmp_path / "s" / "a_pred.h5", long_mask=..., trans_mask=..., cls=3)
    run = evaluate(tmp_path / "s")
    assert run.code == 1
    assert run.last_line.startswith(
        "None of the 1 submitted predictions could be scored; the first: 'a_pred.h5' has no"
    )
    assert run.last_line.endswith(" 'a_pred.h5: cls' is 3; the classes are 0, 1.")
    assert run.metrics["counts"]["failed"] == 1


def test_an_older_result_does_not_survive_an_unusable_submission(files: Path, tmp_path: Path, evaluate: Any) -> None:
    assert evaluate(files).metrics
    (tmp_path / "empty").mkdir()
    assert not evaluate(tmp_path / "empty").metrics


def test_what_a_job_says_reaches_people_on_one_short_line(tmp_path: Path, evaluate: Any) -> None:
    root = tmp_path / "s"
    job = write_job(root, "1", "a")
    job["inputs"][0]["image"]["name"] = "\x1b[2Jx.mha"
    run = evaluate(write_predictions(root, [job]))
    assert run.code == 1
    assert "\x1b" not in run.err + run.out


def test_an_unprintable_file_in_a_job_costs_its_case_only(tmp_path: Path, evaluate: Any) -> None:
    root = tmp_path / "s"
    jobs = [write_job(root, "1", "a"), write_job(root, "2", "b")]
    folder = root / "1" / "output" / "images" / "carotid-longitudinal-segmentation"
    (folder / os.fsdecode(b"\xff.mha")).touch()
    run = evaluate(write_predictions(root, jobs))
    assert "found: image.mha, \\udcff.mha." in run.rows["a"]["missing"]["long"]
    assert run.rows["b"]["status"] == "scored"


@pytest.mark.parametrize("value", [{"class": 0, "seed": 2**64}, {"class": 0, "x": json.loads("[" * 40 + "]" * 40)}])
def test_an_odd_inline_value_costs_at_most_its_case(value: Any, tmp_path: Path, evaluate: Any) -> None:
    root = tmp_path / "s"
    jobs = [write_job(root, "1", "a", cls=value), write_job(root, "2", "b")]
    assert evaluate(write_predictions(root, jobs)).rows["b"]["status"] == "scored"


def test_sockets_may_carry_both_spellings(tmp_path: Path, evaluate: Any) -> None:
    root = tmp_path / "s"
    job = write_job(root, "1", "a")
    for entry in (*job["inputs"], *job["outputs"]):
        entry["socket"] = None
    assert evaluate(write_predictions(root, [job])).rows["a"]["status"] == "scored"


# The organiser's mistakes


def test_ground_truth_problems(files: Path, tmp_path: Path, evaluate: Any) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    assert evaluate(files, ground_truth=tmp_path / "no").last_line == (
        "There is no ground truth: its folder does not exist."
    )
    assert evaluate(files, ground_truth=empty).last_line == (
        "The ground truth holds no challenge.toml, neither itself nor in a sub-folder."
    )
    (empty / "challenge.toml").write_text(CONFIGURATION)
    assert evaluate(files, ground_truth=empty).last_line == "The ground truth has no folder 'references'."
    (empty / "references").mkdir()
    run = evaluate(files, ground_truth=empty)
    assert (run.code, run.last_line) == (2, "The ground truth holds no reference.")
    (empty / "references" / "odd.h5").touch()
    run = evaluate(files, ground_truth=empty)
    assert (run.code, run.last_line) == (2, "A reference is not named <case>_label.h5.")
    assert "references/odd.h5" in run.out
    (empty / "references" / "odd.h5").unlink()
    write_case(empty / "references" / "sub" / "a_label.h5")
    assert evaluate(files, ground_truth=empty).last_line == "A reference is not named <case>_label.h5."


@pytest.mark.parametrize(
    ("change", "words"),
    [(('rule = "fixed"', 'rule = "quick"'), "'time.rule' is wrong"), (('"declared"', '"heart"'), "'kind' is 'heart'")],
)
def test_configuration_mistakes_are_for_the_organiser(
    change: tuple[str, str], words: str, files: Path, tmp_path: Path, evaluate: Any
) -> None:
    truth = write_ground_truth(tmp_path / "t", configuration=CONFIGURATION.replace(*change))
    run = evaluate(files, ground_truth=truth)
    line = CONFIGURATION[: CONFIGURATION.index(change[0])].count("\n") + 1
    assert run.code == 2
    assert run.last_line.startswith(f"challenge.toml, line {line}: {words}")


def test_which_challenge(files: Path, tmp_path: Path, evaluate: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    parent = tmp_path / "parent"
    write_ground_truth(parent / "carotid")
    assert evaluate(files, ground_truth=parent).code == 0
    assert evaluate(files, "--challenge", "carotid", ground_truth=parent).code == 0
    run = evaluate(files, "--challenge", "heart", ground_truth=parent)
    sentence = "There is no ground truth for the challenge 'heart'. Available: carotid."
    assert (run.code, run.last_line) == (2, sentence)
    monkeypatch.setenv("PODIUM_CHALLENGE", "heart")
    assert evaluate(files, ground_truth=parent).last_line == sentence
    assert evaluate(files, "--challenge", "carotid", ground_truth=parent).code == 0


@pytest.mark.parametrize(("expected", "code"), [(2, 2), (3, 0), (4, 2)])
def test_another_number_of_references(expected: int, code: int, tmp_path: Path, files: Path, evaluate: Any) -> None:
    configuration = CONFIGURATION.replace("per_case", f"expected_cases = {expected}\nper_case")
    truth = write_ground_truth(tmp_path / "t", dict.fromkeys("abc", 0), configuration=configuration)
    run = evaluate(files, ground_truth=truth)
    assert (run.code, "'expected_cases'" in run.last_line) == (code, code == 2)


def test_an_output_that_cannot_be_written(files: Path, tmp_path: Path, evaluate: Any) -> None:
    (tmp_path / "output").write_text("a file where the folder should be")
    run = evaluate(files)
    assert (run.code, run.last_line) == (2, "The output folder cannot be written to: File exists.")


@pytest.mark.parametrize("arguments", [["--workers", "0"], ["--workers", "many"], ["--case-timeout", "-1"], ["--fast"]])
def test_command_line_mistakes(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["evaluate", *arguments])
    assert caught.value.code == 2
    assert "error:" in capsys.readouterr().err.splitlines()[-1]


# What is published


def test_anonymous_rows_give_nothing_away(tmp_path: Path, evaluate: Any) -> None:
    truth = write_ground_truth(
        tmp_path / "t",
        {"hidden-one": 0, "hidden-two": 1, "open": 1},
        configuration=CONFIGURATION.replace('"full"', '"anonymous"'),
    )
    write_case(tmp_path / "s" / "open.h5", cls=1)
    run = evaluate(tmp_path / "s", ground_truth=truth)
    assert "hidden" not in json.dumps(run.metrics)
    assert "hidden" not in run.err
    text = json.dumps({key: value for key, value in run.metrics.items() if key != "settings"})  # these say "reference"
    assert "correct" not in text
    assert 'reference"' not in text
    assert [row["case"] for row in run.metrics["results"]] == sorted(row["case"] for row in run.metrics["results"])
    assert run.metrics["counts"]["expected"] == 3


def test_a_case_figure_made_of_a_hidden_one_is_hidden_too(files: Path, tmp_path: Path, evaluate: Any) -> None:
    both = configured("case_figures", 'right = "risk.correct"\nboth = "(right + dice.mean) / 2"\nplain = "dice.mean"')
    for per_case, shown in (("full", {"right", "both", "plain"}), ("anonymous", {"plain"})):
        truth = write_ground_truth(tmp_path / per_case, configuration=both.replace('"full"', f'"{per_case}"'))
        run = evaluate(files, ground_truth=truth)
        assert {"right", "both", "plain"} & run.metrics["results"][0]["metrics"].keys() == shown
        assert run.metrics["aggregates"]["right"]["mean"] == 1


@pytest.mark.parametrize(
    ("keys", "decimals"),
    [
        ('per_case = "none"', 4),
        ('per_case = "anonymous"', 4),
        ('per_case = "none"\ndecimals = 2', 2),
        ('per_case = "full"\ndecimals = 1', 1),
        ('per_case = "full"', None),
    ],
)
def test_published_aggregates_have_few_digits_where_cases_are_hidden(
    keys: str, decimals: int | None, files: Path, tmp_path: Path
) -> None:
    """The file is rounded, counts stay; who calls from Python gets every digit."""
    write_case(files / "a_pred.h5", long_mask=mask(LONG, seed=1))
    truth = write_ground_truth(tmp_path / "t", configuration=CONFIGURATION.replace('per_case = "full"', keys))
    arguments = {"submission": files, "output": tmp_path / "o", "ground_truth": truth}
    exact = evaluate(**arguments, executor=Serial()).aggregates  # type: ignore[arg-type]
    written = json.loads((tmp_path / "o" / "metrics.json").read_text())["aggregates"]
    assert exact["dice"]["long_plaque"]["mean"] == pytest.approx((2 * 21 / 49 + 2) / 3, abs=1e-12)
    assert exact["dice"]["long_plaque"]["mean"] != round(exact["dice"]["long_plaque"]["mean"], 4)
    assert written["dice"]["long_plaque"]["n"] == 3
    assert ("std" in written["dice"]["long_plaque"]) is ("full" in keys)
    for name in written["dice"]["long_plaque"].keys() - {"n"}:
        figure = exact["dice"]["long_plaque"][name]
        if "none" in keys:  # in steps of an accuracy of three cases
            assert written["dice"]["long_plaque"][name] in (0.5, 1.0)
        else:
            assert written["dice"]["long_plaque"][name] == (figure if decimals is None else round(figure, decimals))
    if "full" in keys:
        assert written["score"] == (exact["score"] if decimals is None else round(exact["score"], decimals))
    else:  # a case of three moves what it is made of by a third: 13 of 100 for the F1, which is 40 %
        assert written["score"] % (50 if "none" in keys else 20) == 0
        assert written["score"] == pytest.approx(exact["score"], abs=38 if "none" in keys else 15)
    assert written["time_known"] == 0


class DyingWorkers:
    """Workers that die on one case."""

    workers = 1

    def run(self, cases: Any, work: Any, *, label: str, **_: Any) -> Any:
        return Processes(workers=1).run(cases, lambda case: os._exit(9) if case == "a" else work(case), label=label)


def test_a_worker_killed_while_references_are_checked_is_not_a_broken_reference(files: Path, tmp_path: Path) -> None:
    truth, output = write_ground_truth(tmp_path / "t"), tmp_path / "o"
    with pytest.raises(OrganiserError, match=r"^A worker was killed while the references were checked\. ") as caught:
        evaluate(submission=files, output=output, ground_truth=truth, executor=DyingWorkers())  # type: ignore[arg-type]
    assert not isinstance(caught.value, GroundTruthError)
    assert not (output / "metrics.json").exists()
    (truth / "references/c_label.h5").write_bytes(b"no HDF5")
    with pytest.raises(GroundTruthError, match=r"^1 of 3 references are broken\. "):
        evaluate(submission=files, output=output, ground_truth=truth, executor=DyingWorkers())  # type: ignore[arg-type]


def test_no_rows_at_all(files: Path, tmp_path: Path, evaluate: Any) -> None:
    truth = write_ground_truth(tmp_path / "t", configuration=CONFIGURATION.replace('"full"', '"none"'))
    run = evaluate(files, ground_truth=truth)
    assert run.metrics["results"] == []
    assert run.metrics["counts"]["scored"] == 3


@pytest.mark.slow
@pytest.mark.usefixtures("processes")
@pytest.mark.parametrize("workers", ["1", "2", "7"])
def test_same_bytes_whatever_the_number_of_workers(workers: str, tmp_path: Path, evaluate: Any) -> None:
    dropout = ROOT / "test" / "submissions" / "carotid" / "dropout"
    truth = ROOT / "ground-truth" / "carotid"
    evaluate(dropout, "--workers", "3", ground_truth=truth)
    first = (tmp_path / "output" / "metrics.json").read_bytes()
    evaluate(dropout, "--workers", workers, ground_truth=truth)
    assert (tmp_path / "output" / "metrics.json").read_bytes() == first


@pytest.mark.slow
@pytest.mark.usefixtures("processes")
def test_cases_that_are_left_when_the_time_is_over_fail(
    files: Path, evaluate: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The limit is in the environment, as in an image, and over before the first case."""
    monkeypatch.setenv("PODIUM_TIME_LIMIT", "0.001")
    run = evaluate(files)
    assert run.code == 1
    assert {row["status"] for row in run.rows.values()} == {"failed"}
    assert run.rows["a"]["error"] == "The time limit was reached before this case started."
    assert run.rows["a"]["metrics"]["segmentation"] == 0
    assert evaluate(files, "--time-limit", "1000").metrics["counts"]["scored"] == 3


@pytest.mark.slow
@pytest.mark.usefixtures("processes")
@pytest.mark.parametrize(
    ("option", "seconds", "error"),
    [
        ("--case-timeout", "2", "Scoring this case took longer than 2 seconds."),
        ("--time-limit", "15", "The time limit was reached while this case was scored."),
    ],
)
def test_a_case_that_never_ends_fails_when_its_time_is_over(  # noqa: PLR0917
    option: str, seconds: str, error: str, files: Path, evaluate: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the platform ends a run, nothing is uploaded: the limit must hold for a case that never ends, too."""
    read = DeclaredChallenge.read

    def never_ends(self: Any, prediction: Any, expected: Any, warnings: list[str]) -> Any:
        if prediction["risk"].name == "a_pred.h5":
            time.sleep(3600)
        return read(self, prediction, expected, warnings)

    monkeypatch.setattr(DeclaredChallenge, "read", never_ends)
    run = evaluate(files, option, seconds, "--workers", "2")
    assert run.code == 0
    assert run.rows["a"]["error"] == error
    assert run.rows["c"]["status"] == "scored"


@pytest.mark.parametrize("limit", ["soon", "-1", "0", "inf"])
def test_invalid_time_limits(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], limit: str) -> None:
    monkeypatch.setenv("PODIUM_TIME_LIMIT", limit)
    with pytest.raises(SystemExit) as caught:
        main(["evaluate"])
    assert caught.value.code == 2
    assert "error: argument --time-limit: " in capsys.readouterr().err.splitlines()[-1]


@pytest.mark.slow
@pytest.mark.usefixtures("processes")
def test_workers_import_nothing_heavy_themselves(files: Path, evaluate: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """What scoring needs is loaded once, before forking: importing it in every worker costs each of them seconds."""
    from podium.challenges.challenge import AnyChallenge, Challenge

    real = Challenge.score

    def score(self: AnyChallenge, *arguments: Any) -> Any:
        before = set(sys.modules)
        found = real(self, *arguments)
        heavy = {name.split(".")[0] for name in set(sys.modules) - before}
        assert not heavy & {"torch", "monai", "sklearn", "scipy", "numpy", "h5py"}, heavy
        return found

    monkeypatch.setattr(Challenge, "score", score)
    assert evaluate(files).metrics["counts"]["scored"] == 3


# The real commands


def test_entrypoint_and_module_agree_byte_for_byte(tmp_path: Path) -> None:
    submission, truth = ROOT / "test/submissions/reports/molar", ROOT / "ground-truth/reports"
    written = []
    for number, command in enumerate(([str(ROOT / "evaluate.py")], ["-m", "podium", "evaluate"])):
        output = tmp_path / f"out{number}"
        done = subprocess.run(
            [sys.executable, *command, "--input", submission, "--output", output, "--ground-truth", truth],
            cwd=ROOT,
            env={**os.environ, "PYTHONWARNINGS": "error"},
            check=True,
            capture_output=True,
            text=True,
        )
        assert "(20 of 20 cases) -> " in done.stderr.splitlines()[-1]
        written.append((output / "metrics.json").read_bytes())
    assert written[0] == written[1]


# What the check of the references has read is kept for scoring where it is small.


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
        assert same(task.expected(case), task.challenge.read_reference(task.references[case]))


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
    found = evaluate(submission, ground_truth=truth, executor=Processes(workers=2))
    assert [row.status for row in found.results] == ["scored", "failed", "missing"]


# Which challenge is meant: for an evaluation by name alone, for a participant's own check also by the files.

SUBMISSIONS = sorted((ROOT / "test" / "submissions").glob("*/*"))
FOLDERS = read_challenge_folders(ROOT / "ground-truth")


@pytest.mark.parametrize("name", sorted(FOLDERS))
def test_a_name_decides(name: str) -> None:
    assert find_challenge(ROOT / "ground-truth", name).name == name


def test_the_only_challenge_needs_no_name() -> None:
    assert find_challenge(ROOT / "ground-truth" / "carotid", None).name == "carotid"


def test_several_challenges_need_a_name() -> None:
    sentence = r"^There are several challenges here \(carotid, .*\); name one with --challenge or the variable PODIUM"
    with pytest.raises(UsageError, match=sentence):
        find_challenge(ROOT / "ground-truth", None)


@pytest.mark.parametrize("submission", SUBMISSIONS, ids=lambda path: f"{path.parent.name}-{path.name}")
def test_every_sample_is_recognised(submission: Path) -> None:
    names = submission_names(submission)
    known = challenges_at_hand(ROOT / "ground-truth")
    assert [name for name, each in known.items() if each.recognises(names)] == [submission.parent.name]
