"""metrics.py in a challenge's folder: an organiser's own functions, declared as those of the catalogue."""

import json
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from challenges.declared.declaring import HEAD, errors, metrics, score, value, write_challenge, write_predictions
from evaluating import evaluate_command, read_metrics

from podium import rank
from podium.cli import main
from podium.errors import OrganiserError, OwnMetricFailed, Refused
from podium.evaluation import check_own_metrics
from podium.execution.executor import CaseOutcome, attempt
from podium.platform.metrics_file import CaseScore

pytestmark = pytest.mark.usefixtures("in_process")

CODE = '''\
"""The challenge's own metrics."""
from podium.own_metrics import cohort_metric, metric


@metric(compares="labels", direction="lower", lowest=0.0, worst="diagonal", unit="mm", both_empty=0.0)
def first_axis_mm(*, prediction, reference, spacing_mm):
    """Difference of the two masks' lengths along the first axis."""
    lengths = [mask.any(axis=(1, 2)).sum() if mask.any() else 0 for mask in (prediction, reference)]
    return abs(int(lengths[0]) - int(lengths[1])) * spacing_mm[0]


@metric(kind="share", compares=["number"], direction="higher", lowest=0.0, highest=1.0, title="Share")
def smaller_by_larger(*, prediction, reference):
    if prediction == 13:
        raise MemoryError("of a library")
    if prediction == 17:
        return float("nan")
    return min(prediction, reference) / max(prediction, reference) if reference else None


@cohort_metric(compares="number", direction="higher", lowest=0.0, highest=1.0)
def within_one(*, predictions, references):
    pairs = zip(predictions, references)
    return sum(found is not None and abs(found - true) <= 1 for found, true in pairs) / len(references)
'''
ORGAN = value("organ", "labels", file="{case}.mha", reference="{case}.mha", labels={"liver": 1, "spleen": 2})
AGE = value("age", "number", table="ages.csv", column="age", reference_table="ages.csv")
NUMBERS = AGE + metrics("share", "within_one", by="within_one")
TRUTH = {"metrics.py": CODE, "references/ages.csv": "case,age\na,10\nb,20\nc,40\n"}


def challenge(tmp_path: Path, toml: str, files: dict[str, Any], *, head: str = HEAD) -> Path:
    folder = write_challenge(tmp_path / "challenge", toml, {}, head=head)
    return write_predictions(folder, files)


def evaluated(tmp_path: Path, ages: str, *, team: str = "team", head: str = HEAD) -> dict[str, Any]:
    folder = challenge(tmp_path, NUMBERS, TRUTH, head=head)
    submission = write_predictions(tmp_path / "submissions" / team, {"ages.csv": "case,age\n" + ages})
    assert evaluate_command(submission, folder, tmp_path / "teams" / team) == 0
    return read_metrics(tmp_path / "teams" / team)


def box(*, first: int, last: int, label: int = 1) -> Any:
    values = np.zeros((6, 8, 8), np.uint8)
    values[first : last + 1, 2:6, 2:6] = label
    return values


def test_masks_of_regions(tmp_path: Path) -> None:
    toml = ORGAN + metrics("first_axis_mm")
    challenge(tmp_path, toml, {"metrics.py": CODE})
    references = {"a.mha": box(first=1, last=4), "b.mha": box(first=1, last=2)}
    found = score(tmp_path, toml, references, {"a.mha": box(first=2, last=2)}, spacing=(2.0, 1.0, 1.0))
    row = found["results"]["a"]["metrics"]["first_axis_mm"]
    assert row["liver"] == 3 * 2.0
    assert row["spleen"] == 0.0  # both_empty
    diagonal = np.hypot(12, np.hypot(8, 8))  # b has no prediction
    assert found["results"]["b"]["metrics"]["first_axis_mm"]["liver"] == pytest.approx(diagonal)
    assert found["aggregates"]["first_axis_mm"]["liver"]["mean"] == pytest.approx((6 + diagonal) / 2)


def test_values_and_all_cases(tmp_path: Path) -> None:
    found = evaluated(tmp_path, "a,5\nb,21\n")
    assert [row["metrics"]["share"] for row in found["results"].values()] == [0.5, 20 / 21, 0.0]
    assert found["aggregates"]["share"]["mean"] == pytest.approx((0.5 + 20 / 21) / 3)
    assert found["aggregates"]["within_one"] == pytest.approx(1 / 3)


def test_an_error_on_one_case_costs_that_case(tmp_path: Path) -> None:
    found = evaluated(tmp_path, "a,13\nb,20\nc,40\n")
    assert found["results"]["a"]["status"] == "failed"
    assert found["results"]["a"]["error"] == "Scoring this case needed more memory than is available."
    assert found["aggregates"]["share"]["mean"] == pytest.approx(2 / 3)


def test_a_value_outside_of_its_range_costs_the_case(tmp_path: Path) -> None:
    found = evaluated(tmp_path, "a,-10\nb,20\nc,40\n")
    assert found["results"]["a"]["status"] == "failed"
    assert "ValueError" in found["results"]["a"]["error"]


def test_a_division_of_zero_by_zero_is_not_left_out_of_the_mean(tmp_path: Path) -> None:
    """A participant who can bring it about would choose it for every case that is hard."""
    found = evaluated(tmp_path, "a,17\nb,20\nc,40\n")
    assert found["results"]["a"]["status"] == "failed"
    assert found["aggregates"]["share"]["mean"] == pytest.approx(2 / 3)


def test_the_declaration_is_published_and_no_code(tmp_path: Path) -> None:
    own = evaluated(tmp_path, "a,5\nb,21\n")["settings"]["own_metrics"]
    assert [each["kind"] for each in own] == ["first_axis_mm", "share", "within_one"]
    assert {each["code"] for each in own} == {own[0]["code"]}
    assert len(own[0]["code"]) == 64
    assert all("function" not in each for each in own)


@pytest.mark.parametrize("per_case", ["full", "anonymous"])
def test_everything_after_the_evaluation_works_without_the_code(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], per_case: str
) -> None:
    head = HEAD.replace('"full"', f'"{per_case}"')
    evaluated(tmp_path, "a,10\nb,20\nc,1\n", team="better", head=head)
    evaluated(tmp_path, "a,10\nb,30\nc,1\n", team="worse", head=head)
    folder = tmp_path / "challenge"
    cases = tmp_path / "cases.json"
    assert main(["manifest", "--ground-truth", str(folder), "--output", str(cases)]) == 0
    assert main(["leaderboard", "--ground-truth", str(folder)]) == 0
    assert "Within one" in capsys.readouterr().out
    (folder / "metrics.py").unlink()
    (ranking,) = rank(tmp_path / "teams")
    ranks = [1, 2] if per_case == "full" else [1, 1]  # three hidden cases: the figure has steps of 0.5
    assert [team.rank for team in ranking.teams] == ranks
    assert ranking.scheme("official").stability is None
    assert "cannot be recomputed" in (ranking.scheme("official").why_no_stability or "")
    submission = tmp_path / "submissions" / "better"
    assert main(["validate", str(submission), "--cases", str(cases)]) == 0
    page = tmp_path / "report.html"
    assert main(["report", str(tmp_path / "teams/better/metrics.json"), "--output", str(page)]) == 0
    assert "Within one" in page.read_text()


def test_other_code_is_another_rule(tmp_path: Path) -> None:
    evaluated(tmp_path, "a,10\n", team="one")
    evaluated(tmp_path, "a,10\n", team="two")
    changed = CODE.replace("<= 1", "<= 2")
    (tmp_path / "challenge" / "metrics.py").write_text(changed)
    submission = tmp_path / "submissions" / "one"
    assert evaluate_command(submission, tmp_path / "challenge", tmp_path / "teams" / "one") == 0
    assert main(["rank", str(tmp_path / "teams"), "--output", str(tmp_path / "ranking")]) == 2


def test_a_submission_brings_no_code(tmp_path: Path) -> None:
    folder = challenge(tmp_path, NUMBERS, TRUTH)
    files = {"ages.csv": "case,age\na,5\n", "metrics.py": "raise SystemExit('run')\n"}
    submission = write_predictions(tmp_path / "submission", files)
    assert evaluate_command(submission, folder, tmp_path / "out") == 0
    assert read_metrics(tmp_path / "out")["counts"]["unmatched"] == 1


@pytest.mark.parametrize(
    ("code", "sentence"),
    [
        ("def f(:\n", "metrics.py, line 1 is not valid Python: "),
        ("\nimport not_installed\n", "metrics.py, line 2: it raises ModuleNotFoundError: No module named 'not_insta"),
        ("x = 1\n", "metrics.py declares no metric; decorate its functions."),
        ("import sys\nsys.exit(0)\n", "metrics.py, line 2: it raises SystemExit: 0."),
        (
            CODE.replace('"diagonal"', "-1.0"),
            "line 5: a metric is declared wrongly: is wrong: worst is -1, but",
        ),
        (
            CODE.replace('direction="lower"', 'direction="down"'),
            "line 5: a metric is declared wrongly: 'dir",
        ),
        (CODE.replace('kind="share"', 'kind="mae"'), "'own_metrics' declares 'mae', which is a metric of Podium"),
        (CODE.replace('["number"]', '["labels", "number"]'), "labels are compared region by region"),
        (CODE.replace('metric(compares="number"', 'metric(compares="image"'), "rows keep no other values"),
    ],
)
def test_wrong_code_gets_a_sentence(tmp_path: Path, code: str, sentence: str) -> None:
    challenge(tmp_path, NUMBERS, {"metrics.py": code})
    found = errors(tmp_path, NUMBERS)
    assert any(sentence in error for error in found), found


def test_code_that_never_ends_has_a_deadline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("podium.challenges.declared.catalogue.own._IMPORT_SECONDS", 0.2)
    challenge(tmp_path, NUMBERS, {"metrics.py": "import time\nwhile True:\n    time.sleep(1)\n"})
    assert errors(tmp_path, NUMBERS) == ["metrics.py, line 3: it raises TimeoutError: it was not done after 0.2 s."]


@pytest.mark.parametrize("code", ["raise SystemExit(0)\n", CODE.replace("if prediction == 13:", "raise SystemExit(0)")])
def test_code_that_exits_is_the_organisers_error_and_no_success(tmp_path: Path, code: str) -> None:
    """`sys.exit(0)` was once the exit code of the evaluation, which had no result."""
    folder = challenge(
        tmp_path, NUMBERS, TRUTH | {"metrics.py": code.replace('    raise MemoryError("of a library")', "")}
    )
    submission = write_predictions(tmp_path / "submission", {"ages.csv": "case,age\na,5\n"})
    assert evaluate_command(submission, folder, tmp_path / "out") == 2
    assert main(["check", str(folder)]) == 2


def test_a_misspelt_own_metric(tmp_path: Path) -> None:
    challenge(tmp_path, NUMBERS, TRUTH)
    error = errors(tmp_path, NUMBERS.replace('kind = "share"', 'kind = "shares"'))[0]
    assert "did you mean 'share'?" in error


def test_declarations_have_no_place_in_the_toml(tmp_path: Path) -> None:
    challenge(tmp_path, NUMBERS, TRUTH)
    table = '[[own_metrics]]\nkind = "x"\nscope = "case"\ncompares = ["number"]\ndirection = "lower"\n'
    (error,) = errors(tmp_path, NUMBERS + table)
    assert error.endswith("'own_metrics' is not a table of challenge.toml: metrics.py provides it.")


def test_a_cohort_function_that_fails_leaves_its_figure_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = CODE.replace("    pairs =", "    1 / (len(references) - 3)\n    pairs =")
    toml = NUMBERS.replace('by = "within_one"', 'by = "share"')
    folder = challenge(tmp_path, toml, {**TRUTH, "metrics.py": code})
    submission = write_predictions(tmp_path / "submission", {"ages.csv": "case,age\na,10\n"})
    assert evaluate_command(submission, folder, tmp_path / "out") == 0
    aggregates = json.loads((tmp_path / "out" / "metrics.json").read_text())["aggregates"]
    assert "within_one" not in aggregates
    assert aggregates["share"]["mean"] == pytest.approx(1 / 3)
    assert "the metric 'within_one' of metrics.py failed over all cases: ZeroDivisionError" in capsys.readouterr().out


def test_code_that_fails_on_every_case_is_the_organisers_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code = CODE.replace("    if prediction == 13:", "    {}['x']\n    if prediction == 13:")
    folder = challenge(tmp_path, NUMBERS, {**TRUTH, "metrics.py": code})
    submission = write_predictions(tmp_path / "submission", {"ages.csv": "case,age\na,10\nb,20\n"})
    assert evaluate_command(submission, folder, tmp_path / "out") == 2
    printed = capsys.readouterr()
    assert printed.err.splitlines()[-1] == (
        "The challenge's own metric 'share' raised KeyError on every case that it was given. The organisers "
        "have to fix it; they can find details in the log."
    )
    assert "metrics.py, line 14: the metric 'share' raises KeyError: 'x'." in printed.out
    assert not (tmp_path / "out" / "metrics.json").exists()


def test_an_error_is_the_organisers_by_its_type_and_not_by_its_words() -> None:
    failure = "The challenge's own metric 'share' raised KeyError"

    def outcome(error: Refused) -> CaseOutcome[CaseScore]:
        def work(_: str) -> CaseScore:
            raise error

        return attempt(work, "a")

    own = outcome(OwnMetricFailed(failure, detail=""))
    same_words = outcome(Refused(str(own.error)))
    assert same_words.error == own.error
    check_own_metrics([same_words])
    check_own_metrics([own, CaseOutcome(value=CaseScore(metrics={}))])
    with pytest.raises(OrganiserError, match="KeyError on every case that it was given"):
        check_own_metrics([same_words, own])


@pytest.mark.parametrize("error", ["KeyError", "ValueError", "RuntimeError", "StopIteration"])
def test_code_that_fails_on_some_cases_costs_these(
    tmp_path: Path, error: str, capsys: pytest.CaptureFixture[str]
) -> None:
    start = "    if prediction == 13:"
    code = CODE.replace(start, f"    if prediction == 10:\n        raise {error}('x')\n{start}")
    folder = challenge(tmp_path, NUMBERS, {**TRUTH, "metrics.py": code})
    submission = write_predictions(tmp_path / "submission", {"ages.csv": "case,age\na,10\nb,20\n"})
    assert evaluate_command(submission, folder, tmp_path / "out") == 0
    found = read_metrics(tmp_path / "out")["results"]
    assert found["a"]["error"] == (
        f"The challenge's own metric 'share' raised {error} on this case. The organisers can find details in the log."
    )
    assert (found["a"]["metrics"]["share"], found["b"]["metrics"]["share"]) == (0.0, 1.0)
    assert f"metrics.py, line 15: the metric 'share' raises {error}: " in capsys.readouterr().out


@pytest.mark.parametrize(
    ("before", "after", "found"),
    [
        (
            "    if prediction == 13:",
            "    {}['x']\n    if prediction == 13:",
            "line 14: the metric 'share' raises KeyError: 'x'.",
        ),
        (
            "    if prediction == 13:",
            "    assert prediction < 0\n    if prediction == 13:",
            "line 14: the metric 'share' raises AssertionError.",
        ),
        (
            "min(prediction, reference) /",
            "2 *",
            "metrics.py: the metric 'share' raises ValueError: its value is 20.0, outs",
        ),
        ("found is not None and ", "", "line 24: the metric 'within_one' raises TypeError: unsupported operand"),
        ("/ len(references)", "/ 0", "line 24: the metric 'within_one' raises ZeroDivisionError: division by zero."),
        ("    return abs(int", "    return None.x  # abs(int", ""),  # no metric of challenge.toml
    ],
)
def test_check_tries_the_code_on_the_references(tmp_path: Path, before: str, after: str, found: str) -> None:
    code = CODE.replace(before, after)
    assert code != CODE
    challenge(tmp_path, NUMBERS, {**TRUTH, "metrics.py": code})
    raised = errors(tmp_path, NUMBERS)
    assert [error for error in raised if found not in error] == []
    assert bool(raised) == bool(found)


EVERY_KIND = {
    "labels": 'file = "{case}.mha"\nreference = "{case}.mha"\nlabels = { liver = 1 }',
    "image": 'file = "{case}.mha"\nreference = "{case}.mha"',
    "detection_map": 'file = "{case}.mha"\nreference = "{case}.mha"',
    "points": 'file = "{case}.json"\nreference = "{case}.json"\nunit = "mm"',
    "text": 'file = "{case}.txt"\nreference = "{case}.txt"',
    "class": 'table = "p.csv"\ncolumn = "x"\nclasses = { no = 0, yes = 1 }\nreference_table = "p.csv"',
}
EVERY_KIND["probability"] = EVERY_KIND["class"] + '\npositive = "yes"'


@pytest.mark.parametrize("kind", EVERY_KIND)
def test_check_tries_metrics_of_every_kind_of_value(tmp_path: Path, kind: str) -> None:
    code = f"""\
from podium.own_metrics import metric

@metric(compares="{kind}", direction="lower", lowest=0.0, highest=9.0)
def mine(*, prediction, reference, **more):
    raise KeyError(type(prediction).__name__)
"""
    toml = f'[values.v]\nkind = "{kind}"\n{EVERY_KIND[kind]}\n[[metrics]]\nkind = "mine"\n[ranking]\nby = "mine"\n'
    points = {"type": "Multiple points", "points": [{"point": [1, 2, 3]}]}
    files: dict[str, Any] = {"a.mha": box(first=1, last=3), "a.json": points, "a.txt": "x", "p.csv": "case,x\na,1\n"}
    names = [name for name in files if name.rpartition(".")[2] in EVERY_KIND[kind]]
    references = {f"references/{name}": files[name] for name in names}
    challenge(tmp_path, toml, {"metrics.py": code, **references})
    (error,) = errors(tmp_path, toml)
    assert error.startswith("metrics.py, line 5: the metric 'mine' raises KeyError: ")


# Other platforms


def test_the_bundle_for_codabench_holds_the_code(tmp_path: Path) -> None:
    folder = challenge(tmp_path, NUMBERS, TRUTH)
    bundle = tmp_path / "bundle.zip"
    arguments = ("--ground-truth", str(folder), "--output", str(bundle), "--start", "2026-12-31")
    assert main(["bundle", "codabench", "challenge", *arguments]) == 0
    with zipfile.ZipFile(bundle) as content:
        assert content.read("reference_data/challenge/metrics.py").decode() == CODE


def test_medperf_takes_the_code_of_the_image(tmp_path: Path) -> None:
    folder = challenge(tmp_path, NUMBERS, TRUTH)
    submission = write_predictions(tmp_path / "submission", {"ages.csv": "case,age\na,10\n"})
    parameters, results = tmp_path / "parameters.yaml", tmp_path / "results.yaml"
    parameters.write_text("challenge: challenge\n")
    arguments = {
        "--predictions": submission,
        "--labels": folder / "references",
        "--parameters_file": parameters,
        "--output_path": results,
        "--ground-truth": folder,
    }
    words = [str(word) for pair in arguments.items() for word in pair]
    assert main(["evaluate", "--platform", "medperf", *words]) == 0
    assert "within_one" in results.read_text()
