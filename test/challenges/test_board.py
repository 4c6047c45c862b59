"""`[figures]`, `[case_figures]`, `[leaderboard]` and `[ranking]` on a kind in code: what every kind has in common."""

from typing import Any

import pytest

from podium.challenges import challenge_from_settings, published_settings
from podium.challenges.board import title_of, undecided_formulas
from podium.challenges.loading import load_tables
from podium.platform.jobs import Runtime
from podium.platform.metrics_file import CaseResult

UNDEFINED = {"lesions": {"empty_reference": "undefined"}}
SCORED = {"lesions": {"empty_reference": "score"}}  # without it Dice can lack a value, and formulas must say what then
TABLES = {
    **SCORED,
    "case_figures": {"both": "(auc_dice + auc_dmm) / 2"},
    "figures": {
        "total": "100 * mean(auc_dice, auc_dmm)",
        "loss": {"formula": "1 - total / 100", "title": "Loss"},
    },
    "ranking": {"by": "total", "tie_break": ["loss"], "round": 2},
    "leaderboard": {"columns": ["total", "both", "loss"], "titles": {"total": "Total (0-100)"}},
}


def problems(tables: dict[str, Any]) -> list[str]:
    return [str(problem) for problem in load_tables("pet", "lesions", {**SCORED, **tables}).problems]


def test_the_tables_extend_a_kind_in_code() -> None:
    challenge = challenge_from_settings("pet", "lesions", TABLES)
    assert [(column.path, column.title, column.order) for column in challenge.columns()] == [
        ("total", "Total (0-100)", "desc"),
        ("both.mean", "Both", "desc"),
        ("loss", "Loss", "asc"),
    ]
    rule = challenge.ranking
    assert [(each.path, each.decimals) for each in rule.criteria] == [("total", 2)]
    assert [(each.path, each.direction) for each in rule.tie_breaks] == [("loss", "lower")]
    words = "teams are ranked by Total (0-100) = 100 * mean(AUC-Dice, AUC-DMM)"
    assert rule.words == f"{words}; Loss decides among equal teams"
    assert "both" in rule.case_metrics


def test_the_short_table_holds_the_ranked_figure_and_the_terms_of_its_formula() -> None:
    tables = {**TABLES, "leaderboard": {"columns": ["total", "both", "auc_dice", "auc_dmm"]}}
    columns = challenge_from_settings("pet", "lesions", tables).columns()
    assert [column.path for column in columns if column.headline] == ["total", "auc_dice.mean", "auc_dmm.mean"]
    formula = "mean(auc_dice, auc_dmm, final_dice, final_fpv_ml, final_fnv_ml, both)"
    total = {"formula": formula, "direction": "higher"}
    many = {**tables, "figures": {"total": total, "loss": "1 - total"}}
    columns = challenge_from_settings("pet", "lesions", many).columns()
    assert [column.path for column in columns if column.headline] == ["total"]  # six terms are too many


def test_published_settings_make_the_same_challenge_again() -> None:
    settings = published_settings(challenge_from_settings("pet", "lesions", TABLES))
    again = challenge_from_settings("pet", "lesions", settings)
    assert published_settings(again) == settings
    assert [column.path for column in again.columns()] == ["total", "both.mean", "loss"]


FACTS = {
    "steps": [],
    "lesions": 1,
    "final_detections": {"tp": 1, "fp": 0, "fn": 0},
}


def row(dice: float | None) -> CaseResult:
    challenge = challenge_from_settings("pet", "lesions", TABLES)
    metrics: dict[str, Any] = {metric.name: dice for metric in challenge.scoreboard.metrics}
    return CaseResult(case="a", status="scored", metrics=metrics | FACTS)


def test_figures_are_computed_with_the_others() -> None:
    aggregates = challenge_from_settings("pet", "lesions", TABLES).aggregate([row(0.5), row(0.7)], Runtime())
    assert aggregates["total"] == pytest.approx(60)
    assert aggregates["loss"] == pytest.approx(0.4)
    assert aggregates["both"]["mean"] == pytest.approx(0.6)


def test_a_figure_that_is_not_finite_is_the_worst_of_its_range(caplog: pytest.LogCaptureFixture) -> None:
    tables = {**SCORED, "figures": {"odd": {"formula": "auc_dice / 0", "range": [0, 5], "direction": "higher"}}}
    with caplog.at_level("INFO", logger="podium"):
        aggregates = challenge_from_settings("pet", "lesions", tables).aggregate([row(0.5)], Runtime())
    assert aggregates["odd"] == 0
    assert "the figure 'odd' has no finite value: it counts as the worst of its range, 0" in caplog.text


def test_without_a_range_it_is_left_out(caplog: pytest.LogCaptureFixture) -> None:
    tables = {**SCORED, "figures": {"odd": {"formula": "log(0 * auc_dice)", "direction": "higher"}}}
    with caplog.at_level("INFO", logger="podium"):
        aggregates = challenge_from_settings("pet", "lesions", tables).aggregate([row(0.5)], Runtime())
    assert "odd" not in aggregates
    assert "the figure 'odd' has no value for these cases: it is left out" in caplog.text


def test_a_worst_value_of_a_term_must_be_finite() -> None:
    """Where no reference has a lesion, `empty_reference = "undefined"` leaves Dice without a value."""

    def found(figures: dict[str, Any]) -> list[str]:
        return [str(problem) for problem in load_tables("pet", "lesions", {**UNDEFINED, "figures": figures}).problems]

    assert found({"x": {"formula": "auc_dice / 2", "undefined": "worst"}, "y": "x + 1"}) == []
    (problem,) = found({"x": {"formula": "auc_dice.std", "undefined": "worst", "direction": "lower"}})
    assert problem == "'figures.x.undefined' is \"worst\", but 'auc_dice.std' has no finite worst value"


EXCLUDE = 'write undefined = "exclude" (mean, min, max and harmonic leave it out)'
WORST = 'write undefined = "worst" (it counts as its worst value)'
NEITHER = "no setting gives the formula a value, so change it"


@pytest.mark.parametrize(
    ("figures", "expected"),
    [
        ({"x": "mean(auc_dice, -final_fpv_ml)"}, [f"x 'auc_dice': {EXCLUDE} or {WORST}"]),
        ({"x": "auc_dice / 2", "y": "x + 1"}, [f"x 'auc_dice': {WORST}"]),
        ({"x": {"formula": "auc_dice.std + 1", "direction": "lower"}}, [f"x 'auc_dice.std': {NEITHER}"]),
        ({"x": {"formula": "auc_dice / 2", "undefined": "exclude"}, "y": "x + 1"}, [f"y 'x': {WORST}"]),
        ({"x": {"formula": "mean(auc_dice, 1)", "undefined": "exclude"}, "y": "x + 1", "z": "-final_fpv_ml"}, []),
    ],
)
def test_advice_on_a_formula_whose_term_the_references_leave_without_a_value(
    figures: dict[str, Any], expected: list[str]
) -> None:
    """In the aggregates of a perfect submission, only a volume has a value. A follow-on error is not reported."""
    challenge = challenge_from_settings("pet", "lesions", {**UNDEFINED, "figures": figures})
    perfect = row(None)
    results = [perfect.model_copy(update={"metrics": {**perfect.metrics, "final_fpv_ml": 0.0}})]
    aggregates = challenge.aggregate(results, Runtime())
    problems = undecided_formulas(challenge.tables.figures, challenge.scoreboard, aggregates)
    words = "has a term without a value for these references, "
    assert [f"{each.key[1]} {each.words.removeprefix(words)}" for each in problems] == expected


MISTAKES: list[tuple[dict[str, Any], str]] = [
    (
        {"figures": {"x": {"formula": "1 - auc_dice", "direction": "higher"}}},
        '\'figures.x.direction\' is "higher", but by its terms lower is better: "1 - auc_dice"',
    ),
    (
        {"figures": {"x": "auc_dcie"}},
        "'figures.x' names 'auc_dcie', which does not exist; did you mean 'auc_dice'?",
    ),
    ({"figures": {"x": "1 +"}}, "'figures.x' is wrong: the formula is not valid at its end"),
    (
        {"figures": {"x": "y", "y": "auc_dice"}},
        "'figures.x' names 'y', which does not exist; a figure can only name those before it",
    ),
    (
        {"figures": {"auc_dice": "auc_dmm"}},
        "'figures.auc_dice' is already the name of a figure; choose another than 'auc_dice'",
    ),
    ({"figures": {"x": {"formula": "auc_dice", "range": [1, 0]}}}, "'figures.x.range' must be [lowest, highest]"),
    ({"ranking": {"by": "nothing"}}, "'ranking.by' names 'nothing', which does not exist"),
    (
        {"ranking": {"by": ["auc_dice", "auc_dmm"]}},
        "'ranking.method' is missing: with several figures say how positions are combined",
    ),
    (
        {"ranking": {"by": "auc_dice", "weights": [1.0, 2.0]}},
        "'ranking.weights' must be one number for each entry of 'by'",
    ),
    (
        {"leaderboard": {"columns": ["auc_dicee"]}},
        "'leaderboard.columns' names 'auc_dicee', which does not exist; did you mean 'auc_dice'?",
    ),
    ({"nonsense": {}}, "'nonsense' is not a known key"),
]


@pytest.mark.parametrize(("tables", "sentence"), MISTAKES)
def test_mistakes(tables: dict[str, Any], sentence: str) -> None:
    assert problems(tables)[0].startswith(sentence)


def test_a_direction_that_the_terms_do_not_decide_must_be_given() -> None:
    (problem,) = problems({"figures": {"x": "auc_dice + final_fpv_ml"}})
    assert problem.startswith("'figures.x' needs a direction: its terms do not say whether higher or lower is better")


def test_a_figure_made_of_a_wrong_one_is_no_second_problem() -> None:
    found = problems({"figures": {"x": "auc_dcie", "y": "2 * x"}, "ranking": {"by": "y"}})
    assert len(found) == 1, found


@pytest.mark.parametrize(
    ("name", "title"),
    [
        ("segmentation_score", "Segmentation score"),
        ("sd", "SD"),
        ("map", "mAP"),
        ("map_at_50", "mAP at 50"),
        ("mean_iou", "Mean IoU"),
        ("hd95_liver", "HD95 liver"),
        ("mapping", "Mapping"),
    ],
)
def test_titles_write_abbreviations_as_the_field_does(name: str, title: str) -> None:
    assert title_of(name) == title


def test_a_unit_is_not_said_twice() -> None:
    figure = {"formula": "final_fpv_ml", "title": "FPV (ml)", "unit": "ml", "undefined": "exclude"}
    tables = {**SCORED, "figures": {"x": figure}, "leaderboard": {"columns": ["x", "final_fpv_ml"]}}
    titles = [column.title for column in challenge_from_settings("pet", "lesions", tables).columns()]
    assert titles[-2:] == ["FPV (ml)", "Final FPV (ml)"]
