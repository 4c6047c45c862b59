"""Error bars of the live leaderboard: half of the bootstrap interval of every ranked figure."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from challenges.label_attacks import challenge, exact, names, published, rows
from evaluating import evaluate
from places import ROOT
from tools.ranking.files import carotid_document, settings

from podium.challenges import challenge_from_settings
from podium.figures import Figures, get, leaves
from podium.metrics.declaration import HALF_WIDTH
from podium.metrics.resampling import expanded_tail
from podium.platform.jobs import Runtime
from podium.platform.metrics_file import CaseResult, MetricsFile

SAMPLE = ROOT / "test/submissions/carotid/aorta"
TRUTH = ROOT / "ground-truth/carotid"
DICE = {
    "values": {
        "v": {
            "kind": "labels",
            "labels": {"background": 0, "liver": 1},
            "file": "{case}.png",
            "reference": "{case}.png",
        }
    },
    "metrics": [{"kind": "dice"}],
    "ranking": {"by": "twice"},
    "figures": {"twice": {"formula": "2 * dice.liver"}},
}


def of_dice(values: list[float | None], *, per_case: Any = "full") -> Figures:
    """The published aggregates of cases with these Dice figures."""
    challenge = challenge_from_settings("x", "declared", DICE)
    results = [
        CaseResult(case=f"c{number:02}", status="scored", metrics={"dice": {"liver": value}})
        for number, value in enumerate(values)
    ]
    figures = challenge.aggregate(results, Runtime(), seed=11)
    decimals = None if per_case == "full" else 4
    return challenge.published(figures, results, per_case=per_case, decimals=decimals, key=b"key")


def bars(figures: Figures) -> dict[str, float]:
    return {path.removesuffix(HALF_WIDTH): value for path, value in leaves(figures) if path.endswith(HALF_WIDTH)}


def test_they_are_half_of_the_expanded_interval_of_a_thousand_resamples() -> None:
    values = np.random.default_rng(5).random(12)
    generator = np.random.Generator(np.random.PCG64(11))
    means = [2 * values[generator.integers(0, 12, 12)].mean() for _ in range(1000)]
    low, high = np.quantile(means, [expanded_tail(0.95, 12), 1 - expanded_tail(0.95, 12)])
    assert bars(of_dice(values.tolist())) == {"twice": pytest.approx((high - low) / 2, rel=1e-12)}


def test_of_a_mean_they_are_its_t_interval() -> None:
    """t of 11 degrees of freedom at 0.975 is 2.201."""
    values = np.random.default_rng(6).normal(0.5, 0.1, 12)
    expected = 2 * 2.201 * values.std(ddof=1) / math.sqrt(12)
    assert bars(of_dice(values.tolist()))["twice"] == pytest.approx(expected, rel=0.08)


def test_equal_cases_have_none_to_show_and_undefined_ones_do_not_count() -> None:
    assert bars(of_dice([0.5] * 12)) == {"twice": 0.0}
    assert bars(of_dice([0.5, None, 0.5])) == {"twice": 0.0}
    assert bars(of_dice([None, None])) == {}


def test_the_time_is_a_given_figure_and_moves_no_bar() -> None:
    slow, fast = (carotid_with_bars(seconds) for seconds in (150.0, 20.0))
    assert slow["score"] != fast["score"]
    assert bars(slow) == {"score": pytest.approx(bars(fast)["score"], rel=1e-9)}


def carotid_with_bars(seconds: float) -> Figures:
    tables = settings("fixed")
    document = MetricsFile.model_validate(carotid_document([0.9, 0.8, 0.85, 0.95, 0.7, 0.9], configuration=tables))
    challenge = challenge_from_settings("carotid", "declared", tables)
    return challenge.aggregate(document.results, Runtime(total_seconds=seconds), seed=1)


def test_a_figure_that_no_case_moves_has_none() -> None:
    tables = settings("fixed") | {"ranking": {"by": "score", "tie_break": ["total_seconds"]}}
    columns = {each.path: each.error_path for each in challenge_from_settings("c", "declared", tables).phase_columns()}
    assert columns["score"] == f"score{HALF_WIDTH}"
    assert columns["total_seconds"] is None


@pytest.mark.parametrize(("cases", "is_shown"), [(9, False), (10, True)])
def test_where_cases_are_hidden_ten_of_them_are_needed_as_for_a_spread(cases: int, *, is_shown: bool) -> None:
    values: list[float | None] = [0.1 * number for number in range(cases)]
    assert bool(bars(of_dice(values, per_case="none"))) is is_shown
    assert bool(bars(of_dice([*values, None], per_case="anonymous"))) is is_shown, "undefined ones are not counted"
    assert bars(of_dice(values))
    columns = challenge_from_settings("x", "declared", DICE).phase_columns(hidden=names(cases))
    assert (columns[0].error_path == f"twice{HALF_WIDTH}") is is_shown


def test_they_have_no_more_digits_than_their_figure() -> None:
    shown = bars(of_dice([0.1 * number / 3 for number in range(12)], per_case="none"))["twice"]
    assert shown == round(shown, 4)
    challenged, labels = challenge(["accuracy"]), np.arange(300) % 2
    results = rows(challenged, names(300), labels, labels[::-1] * (np.arange(300) % 3 > 0))
    unit = 0.02  # 4 / n of the range, which is more than one case can tell
    found = get(published(challenged, results), f"accuracy{HALF_WIDTH}")
    assert found == pytest.approx(unit * round(found / unit))
    assert found != get(exact(challenged, results), f"accuracy{HALF_WIDTH}")


@pytest.mark.usefixtures("in_process")
def test_two_runs_give_the_same_bytes_and_the_interval_of_the_ranking(tmp_path: Path) -> None:
    found = evaluate(SAMPLE, TRUTH, tmp_path / "one", "--workers", "1")
    evaluate(SAMPLE, TRUTH, tmp_path / "two", "--workers", "2")
    assert (tmp_path / "one/metrics.json").read_bytes() == (tmp_path / "two/metrics.json").read_bytes()
    assert get(found, f"aggregates.score{HALF_WIDTH}") == pytest.approx(7.3, abs=0.3)  # 80.93 to 95.59: docs/ranking.md
