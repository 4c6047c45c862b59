"""Own metrics that see whole cases: several values, own files, facts, parameters; and figures of all cases."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from challenges.declared.declaring import HEAD, errors, score, value, write_challenge, write_file
from evaluating import run_podium

from podium import rank
from podium.errors import OrganiserError
from podium.tools.ranking.schemes import RankingOptions

pytestmark = pytest.mark.usefixtures("in_process")

CODE = """\
from podium.own_metrics import Refused, case_metric, cohort_metric, prepare


@prepare
def volumes(references, spacing_mm):
    return int((references["lung"] > 0).sum()) * float(np.prod(spacing_mm))

import numpy as np

declare = [case_metric(
    values=["airway", "lung"],
    extra={"points": "{case}_points.txt"},
    parameters={"radius_mm": float},
    figures={
        "share": {"direction": "higher", "lowest": 0.0, "highest": 1.0, "title": "Airway share"},
        "miss": {"direction": "lower", "lowest": 0.0, "unit": "mm"},
    },
)]


@declare[0]
def airways(predictions, references, extra, facts, prepared, spacing_mm, radius_mm):
    if predictions["airway"].max() > 1:
        raise Refused("The airway has more than one label.")
    found = float((predictions["airway"] > 0).sum()) * float(np.prod(spacing_mm)) / prepared
    return {"share": found, "miss": float(extra["points"].read_text()) * radius_mm + facts["offset"]}


del airways


def facts_of(predictions, references):
    return [int((predictions["lung"] > 0).sum()), int((references["lung"] > 0).sum())]


@cohort_metric(of_case=facts_of, values="lung", direction="lower", lowest=0.0)
def volume_error(facts):
    known = [(0, 8) if each is None else each for each in facts]
    return abs(sum(found for found, _ in known) - sum(true for _, true in known)) / len(known)
"""
VALUES = "".join(
    value(name, "labels", file=f"{{case}}_{name}.mha", reference=f"{{case}}_{name}.mha", labels={name: 1})
    for name in ("airway", "lung")
).replace("labels = { airway = 1 }", "labels = { airway = 1, other = 2 }")
METRICS = (
    '[[metrics]]\nkind = "airways"\nradius_mm = 2.0\nfailed = 1000\n[[metrics]]\nkind = "volume_error"\n'
    '[ranking]\nby = "volume_error"\n'
)
CASES = '[cases]\ntable = "cases.csv"\n'


def box(width: int, label: int = 1) -> Any:
    found = np.zeros((2, 4, 8), np.uint8)
    found[:, 1:3, :width] = label
    return found


def files(**widths: tuple[int, int]) -> dict[str, Any]:
    return {
        f"{case}_{name}.mha": box(width)
        for case, pair in widths.items()
        for name, width in zip(("airway", "lung"), pair, strict=True)
    }


TRUTH = {**files(a=(1, 2), b=(2, 4)), "a_points.txt": "1.5", "b_points.txt": "0.5"}


def organised(tmp_path: Path, code: str = CODE, cases: str = "case,offset\na,10\nb,20\n") -> None:
    folder = tmp_path / "challenge"
    folder.mkdir(exist_ok=True)
    (folder / "metrics.py").write_text(code)
    (folder / "cases.csv").write_text(cases)


def scored(tmp_path: Path, found: dict[str, Any], **keys: Any) -> dict[str, Any]:
    organised(tmp_path)
    return score(tmp_path, CASES + VALUES + METRICS, TRUTH, found, spacing=(3.0, 1.0, 1.0), **keys)


def test_a_function_sees_the_whole_case(tmp_path: Path) -> None:
    rows = scored(tmp_path, files(a=(1, 2), b=(1, 2)))["results"]
    assert rows["a"]["metrics"]["airways"] == {"share": 0.5, "miss": 1.5 * 2 + 10}
    assert rows["b"]["metrics"]["airways"] == {"share": 0.25, "miss": 0.5 * 2 + 20}


def test_figures_have_their_own_titles_units_and_directions(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    scored(tmp_path, files(a=(1, 2), b=(1, 2)))
    printed = run_podium(capfd, "figures", "challenge", "--ground-truth", tmp_path / "challenge").out
    share, miss = (
        next(line for line in printed.splitlines() if f"airways.{name}.mean" in line) for name in ("share", "miss")
    )
    assert "Airway share" in share
    assert all(word in miss for word in ("lower", "mm"))


def test_a_case_that_lacks_one_of_the_values_has_the_worst_figures(tmp_path: Path) -> None:
    """`failed` is for what has no worst value."""
    found = files(a=(1, 2), b=(1, 2))
    del found["b_lung.mha"]
    row = scored(tmp_path, found)["results"]["b"]
    assert row["status"] == "partial"
    assert row["metrics"]["airways"] == {"share": 0.0, "miss": 1000.0}


def test_a_refusal_is_the_participants_sentence_and_costs_the_values(tmp_path: Path) -> None:
    found = {**files(a=(1, 2), b=(1, 2)), "b_airway.mha": box(1, label=2)}
    row = scored(tmp_path, found)["results"]["b"]
    assert row["status"] == "failed"
    assert row["error"] == "The airway has more than one label."


def test_figures_of_all_cases_are_made_of_what_rows_keep(tmp_path: Path) -> None:
    found = scored(tmp_path, files(a=(1, 3), b=(1, 2)))
    assert found["results"]["a"]["metrics"]["facts"]["volume_error"] == [12, 8]
    assert found["aggregates"]["volume_error"] == abs(20 - 24) / 2
    assert found["settings"]["own_metrics"][0]["parameters"] == {"radius_mm": "float"}


def test_the_bootstrap_recomputes_them_with_the_organisers_code_alone(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    for team, width in (("one", 3), ("two", 1)):
        scored(tmp_path, files(a=(1, width), b=(1, 2)), team=team)
    (ranking,) = rank(tmp_path / "teams", options=RankingOptions(bootstraps=20))
    assert ranking.deciding.stability is None
    options = ("--bootstraps", "20", "--ground-truth", tmp_path / "challenge", "--output", tmp_path / "ranking")
    arguments = ("rank", tmp_path / "teams", *options)
    ended = run_podium(capfd, *arguments)
    assert ended.code == 0
    assert "was run for figures of all cases" in ended.out + ended.err
    (tmp_path / "challenge" / "metrics.py").write_text(CODE + "# changed\n")
    ended = run_podium(capfd, *arguments)
    assert ended.code == 2
    assert "is not the code that scored" in ended.last_line


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        ("radius_mm = 2.0\n", "", "'metrics.0.radius_mm'"),
        ("radius_mm = 2.0\n", 'radius_mm = "wide"\n', "'metrics.0.radius_mm'"),
        ("failed = 1000\n", "", "'metrics.0.failed' is missing"),
        (
            'kind = "airways"\n',
            'kind = "airways"\nof = "lung"\n',
            "'metrics.0.of' is not for a metric",
        ),
        ("[values.lung]", "[values.lungs]", "is a metric of the value 'lung', which does not exist"),
    ],
)
def test_settings_that_do_not_fit_the_declaration(tmp_path: Path, before: str, after: str, words: str) -> None:
    organised(tmp_path)
    toml = (CASES + VALUES + METRICS).replace(before, after)
    found = errors(tmp_path, toml, references=TRUTH)
    assert any(words in error for error in found), found


def test_a_case_without_an_organisers_file_is_an_error_of_check(tmp_path: Path) -> None:
    organised(tmp_path)
    found = errors(tmp_path, CASES + VALUES + METRICS, references={**files(a=(1, 2), b=(2, 4)), "a_points.txt": "1.5"})
    assert any("has no file 'points' for the challenge's own metrics" in error for error in found), found


def test_check_runs_the_code_on_references_and_damaged_copies(tmp_path: Path) -> None:
    organised(tmp_path, CODE.replace('"share": found', '"shares": found'))
    folder = write_challenge(tmp_path / "challenge", CASES + VALUES + METRICS, TRUTH, head=HEAD)
    write_file(folder / "note.txt", "")
    found = errors(tmp_path, CASES + VALUES + METRICS, references=TRUTH)
    assert any("it returns ['miss', 'shares'] instead of ['miss', 'share']" in error for error in found), found


def test_an_error_in_prepare_is_the_organisers(tmp_path: Path) -> None:
    organised(tmp_path, CODE.replace("return int((references", "return int((absent"))
    with pytest.raises((OrganiserError, AssertionError)):
        score(tmp_path, CASES + VALUES + METRICS, TRUTH, files(a=(1, 2)))


def test_a_case_without_a_reference_of_a_value_does_not_count(tmp_path: Path) -> None:
    toml = CASES + VALUES.replace('kind = "labels"', 'kind = "labels"\nexpected = "where_referenced"') + METRICS
    truth = {name: each for name, each in TRUTH.items() if name != "b_lung.mha"}
    organised(tmp_path, CODE.replace('["lung"] > 0).sum()) * float', '.get("lung", np.ones(1)) > 0).sum()) * float'))
    found = score(tmp_path, toml, truth, files(a=(1, 2), b=(1, 2)))
    assert found["results"]["b"]["metrics"]["airways"] == {"share": None, "miss": None}
    assert found["aggregates"]["airways"]["share"]["n"] == 1
    assert found["aggregates"]["volume_error"] == 0.0


def test_a_parameter_cannot_have_the_name_of_a_key_of_every_metric(tmp_path: Path) -> None:
    organised(tmp_path, CODE.replace('"radius_mm": float', '"failed": float'))
    found = errors(tmp_path, CASES + VALUES + METRICS, references=TRUTH)
    assert any("a parameter cannot be called 'failed'" in error for error in found), found
