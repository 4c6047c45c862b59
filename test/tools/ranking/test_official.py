"""A challenge's own rule: one criterion or several, rounding, tie-breaks, unknown figures, and the arena."""

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from challenges.built import carotid, freehand, lesions, reports
from tools.ranking.files import settings
from tools.ranking.replicates import resampled

from podium.challenges.board import Criterion, RankingRule
from podium.challenges.freehand.scoring import FreehandSettings
from podium.challenges.reports.files import ReportsSettings
from podium.errors import UsageError
from podium.metrics.declaration import Direction
from podium.metrics.resampling import Resamples
from podium.tools.ranking.facts import figure_at
from podium.tools.ranking.official import apply_rule, platform_ranking, read_arena, rule_figures
from podium.tools.ranking.schemes import PlatformMethod

SCORE = Criterion(path="score", title="Score", direction="higher")


def rule(*criteria: Criterion, tie_breaks: tuple[Criterion, ...] = ()) -> RankingRule:
    return RankingRule(words="as tested", criteria=criteria, tie_breaks=tie_breaks, case_metrics=())


def ranks(wanted: RankingRule, *aggregates: dict[str, Any]) -> list[int]:
    labels = [f"team {number}" for number in range(len(aggregates))]
    return apply_rule(wanted, rule_figures(wanted, aggregates, labels)).ranks[0].tolist()


def test_one_criterion_ranks_by_its_value_and_equals_share_the_smaller_position() -> None:
    assert ranks(rule(SCORE), {"score": 2}, {"score": 3}, {"score": 2}, {"score": 1}) == [2, 1, 2, 4]
    lower = Criterion(path="deep.error", title="Error", direction="lower")
    assert ranks(rule(lower), {"deep": {"error": 2.0}}, {"deep": {"error": 1.0}}) == [2, 1]


def test_equal_to_three_decimals_then_the_smaller_runtime() -> None:
    """0.8124 and 0.8116 are both 0.812; 0.8115 is 0.811 or 0.812 by its binary value, which lies above the half."""
    score = Criterion(path="score", title="Score", direction="higher", decimals=3)
    runtime = Criterion(path="seconds", title="Runtime", direction="lower", known_path="known")
    wanted = rule(score, tie_breaks=(runtime,))
    teams = [
        {"score": 0.8124, "seconds": 9.0, "known": 1},
        {"score": 0.8116, "seconds": 3.0, "known": 1},
        {"score": 0.8121, "seconds": 0.0, "known": 0},  # unknown is not fast
        {"score": 0.8131, "seconds": 99.0, "known": 1},
        {"score": 0.8116, "seconds": 3.0, "known": 1},
    ]
    assert ranks(wanted, *teams) == [4, 2, 5, 1, 2]


def test_rounding_is_of_the_exact_value() -> None:
    """2.675 is stored as 2.67499999...: scaling it first gives 267.5 and rounds to 2.68, which it is not."""
    score = Criterion(path="score", title="Score", direction="higher", decimals=2)
    assert ranks(rule(score), {"score": 2.675}, {"score": 2.67}) == [1, 1]


def test_several_criteria_rank_by_the_weighted_mean_of_positions() -> None:
    # Positions by a 1, 2, 3 and by b 3, 1, 2: halves give 2, 1.5, 2.5; weights 3 to 1 give 1.5, 1.75, 2.75.
    teams = [{"a": 3, "b": 1}, {"a": 2, "b": 3}, {"a": 1, "b": 2}]
    a, b = (Criterion(path=name, title=name, direction="higher", weight=0.5) for name in "ab")
    assert ranks(rule(a, b), *teams) == [2, 1, 3]
    heavy = Criterion(path="a", title="a", direction="higher", weight=1.5)
    assert ranks(rule(heavy, b), *teams) == [1, 2, 3]


def test_equal_means_of_positions_tie() -> None:
    a, b = (Criterion(path=name, title=name, direction="higher", weight=0.5) for name in "ab")
    outcome_teams = [{"a": 2, "b": 1}, {"a": 1, "b": 2}]
    assert ranks(rule(a, b), *outcome_teams) == [1, 1]
    # Thirds do not add up exactly: 1/3 * (1 + 2 + 3) in whatever order.
    thirds = tuple(Criterion(path=name, title=name, direction="higher", weight=0.1) for name in "abc")
    teams = [{"a": 3, "b": 2, "c": 1}, {"a": 2, "b": 1, "c": 3}, {"a": 1, "b": 3, "c": 2}]
    assert ranks(rule(*thirds), *teams) == [1, 1, 1]


def test_every_replicate_is_ranked_alone_and_a_constant_tie_break_serves_all() -> None:
    wanted = rule(SCORE, tie_breaks=(Criterion(path="seconds", title="Runtime", direction="lower"),))
    figures = {"score": np.array([[1.0, 1.0, 2.0], [3.0, 2.0, 1.0]]), "seconds": np.array([[5.0, 4.0, 1.0]])}
    assert apply_rule(wanted, figures).ranks.tolist() == [[3, 2, 1], [1, 2, 3]]


@pytest.mark.parametrize("value", [None, True, "0.5", {}, float("nan"), 10**400])
def test_what_is_no_number_is_no_figure(value: Any) -> None:
    assert figure_at({"a": {"b": value}}, "a.b") is None
    assert figure_at({"a": 0}, "a.b") is None
    assert figure_at({}, "a.b") is None


def test_a_lacking_figure_is_named_with_its_file_and_the_advice() -> None:
    wanted = rule(Criterion(path="score_final", title="x", direction="higher", if_absent="Run 'podium judge' first."))
    with pytest.raises(UsageError) as refused:
        ranks(wanted, {"score_final": 1.0}, {"score": 1.0})
    assert str(refused.value) == (
        "team 1 has no aggregates.score_final, which teams are ranked by. Run 'podium judge' first."
    )


def test_ratings_are_of_the_best_and_of_nobody_else(tmp_path: Path) -> None:
    path = tmp_path / "arena.json"
    path.write_text('{"ratings": {"a": 1010, "b": 990.5}, "votes": 12}')
    for ranks in ({"b": 1, "a": 2}, {"b": 1, "a": 2, "c": 3, "d": 4}, {"b": 1, "a": 2, "c": 2}):
        assert read_arena(path, ranks=ranks, places=3).ratings == {"a": 1010.0, "b": 990.5}
    for ranks, words in (
        ({"a": 1, "c": 2, "b": 3}, f"{path} has no rating for the finalist 'c'."),
        ({"a": 1, "c": 2, "d": 3, "b": 4}, f"{path} rates 'b', which is not among the finalists."),
        ({"a": 1}, f"{path} rates 'b', which is not among the finalists."),
    ):
        with pytest.raises(UsageError) as refused:
            read_arena(path, ranks=ranks, places=3)
        assert str(refused.value) == words


TEAM = {"name": "c", "group": 1, "interval": None, "bradley_terry": 1, "votes": 1, "wins": 1, "losses": 0, "ties": 0}
NO_ARENA = "is not an arena.json written by Podium"


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (None, "cannot be read: No such file"),
        *((content, NO_ARENA) for content in ("[]", "{}", '{"ratings": {"a": "high"}}', '{"ratings": {"a": NaN}}')),
        (json.dumps({"ratings": {"a": 1}, "teams": [TEAM]}), "'teams' and 'ratings' name different teams"),
        ('{"ratings": {}}', "has no rating for any team"),
    ],
)
def test_what_is_no_arena_result(tmp_path: Path, content: str | None, words: str) -> None:
    if content is not None:
        (tmp_path / "arena.json").write_text(content)
    with pytest.raises(UsageError, match=re.escape(words)):
        read_arena(tmp_path / "arena.json", ranks={"a": 1}, places=7)


@pytest.mark.parametrize(
    ("challenge", "row"),
    [
        (carotid(settings()), {"risk": {"reference": "low_risk", "prediction": "low_risk"}}),
        (freehand(FreehandSettings(edition="2024")), {"gpe": 1.0}),
        (lesions(), {"auc_dice": 1.0}),
        (reports(ReportsSettings()), {"meteor": 1.0}),
    ],
)
def test_rows_that_lack_a_part_of_the_score_cannot_be_drawn_anew(challenge: Any, row: dict[str, Any]) -> None:
    with pytest.raises((KeyError, TypeError, ValueError)):  # which the ranking takes as a no
        resampled(challenge, [row, row], {}, Resamples.whole(2))


# The live leaderboard's ranking: the published table, and who is left out.

SUBMISSIONS = [
    (0.0, 0.0),
    (0.5, 0.2),
    (1.0, 0.3),
    (0.7, 0.4),
    (0.5, 0.5),
    (1.0, None),
    (None, 0.3),
]
UNRANKED = [None, None]

TABLE: list[tuple[tuple[PlatformMethod, ...], tuple[Direction, Direction], list[int], list[float]]] = [
    (("absolute",), ("higher", "higher"), [5, 3, 1, 2, 3], [5, 3, 1, 2, 3]),
    (("mean", "median"), ("higher", "higher"), [5, 4, 1, 1, 1], [5, 3.5, 2, 2, 2]),
    (("mean", "median"), ("higher", "lower"), [3, 2, 1, 3, 5], [3, 2.5, 2, 3, 4]),
    (("absolute",), ("lower", "lower"), [1, 2, 5, 4, 2], [1, 2, 5, 4, 2]),
    (("mean", "median"), ("lower", "higher"), [2, 2, 5, 2, 1], [3, 3, 4, 3, 1.5]),
    (("mean", "median"), ("lower", "lower"), [1, 2, 4, 4, 3], [1, 2, 4, 4, 3.5]),
]


@pytest.mark.parametrize(
    ("method", "directions", "ranks", "scores"),
    [(method, *row) for methods, *row in TABLE for method in methods],
)
def test_the_published_table(
    method: PlatformMethod, directions: tuple[Direction, Direction], ranks: list[int], scores: list[float]
) -> None:
    found = platform_ranking(SUBMISSIONS, directions, method)
    assert found == ((*ranks, *UNRANKED), (*scores, *UNRANKED))


def test_mean_and_median_differ_over_three_columns() -> None:
    # Positions: a 1, 1, 3; b 2, 2, 1; c 3, 3, 2. Means 5/3, 5/3, 8/3; medians 1, 2, 3.
    submissions = [(3.0, 3.0, 1.0), (2.0, 2.0, 3.0), (1.0, 1.0, 2.0)]
    directions: list[Direction] = ["higher"] * 3
    assert platform_ranking(submissions, directions, "mean")[0] == (1, 1, 3)
    assert platform_ranking(submissions, directions, "median")[0] == (1, 2, 3)


def test_nobody_can_be_ranked() -> None:
    assert platform_ranking([(None,)], ["higher"], "mean") == ((None,), (None,))
