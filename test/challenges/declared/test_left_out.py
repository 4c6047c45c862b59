"""A case without an answer scores the worst that any answer could have scored on that reference; a figure without a
value says why; leaving out never helps; being right never hurts.

Over all metrics of the catalogue, their policies for empty regions, and formulas, on random cases in memory.
`WRONG_IS_WORSE` are the metrics whose published definition counts a wrong answer worse than none, and why: of these
only right answers are left out, and of those in `FROM_PERFECT` only from perfect submissions. docs/metrics.md names the
same. In those of `OTHERS_COUNT` a right answer changes what other answers count: only all right ones never hurt.
Metrics of the probability of one class are no exceptions: without an answer it is of the wrong class.
"""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from places import ROOT

from podium.challenges import challenge_from_settings
from podium.challenges.challenge import AnyChallenge
from podium.challenges.declared.catalogue import metric_kinds
from podium.challenges.declared.catalogue.base import DeclaredCase
from podium.challenges.declared.values import Compared
from podium.challenges.declared.values.scalars import SurvivalTime
from podium.challenges.loading import load_tables
from podium.challenges.samples import CaseImage
from podium.errors import ConfigurationError
from podium.figures import get, holds
from podium.metrics.declaration import Metric
from podium.platform.jobs import Runtime
from podium.platform.metrics_file import CaseResult, CaseScore
from podium.readers.annotations import Annotations
from podium.tools.ranking.schemes import case_table, positions_in_cases

CASES = 5
CLASSES = ("low", "mid", "high")

EMPTY = "a missing case counts as an empty answer, which has no false positive, and which teams may also send"
WRONG_IS_WORSE = {
    "f1": "a wrong answer is a false positive and a false negative, a missing one only the latter",
    "precision": EMPTY,
    "fp": EMPTY,
    "froc": EMPTY,
    "ap": EMPTY,
    "bleu_4": "a missing text is an empty one; the precision of n-grams counts those that were written",
    "kappa": "a wrong answer agrees with other cases by chance, a missing one with none",
    "mcc": "a wrong answer agrees with other cases by chance, a missing one with none",
    "pearson": "a correlation has no worst value of one case",
    "spearman": "a correlation has no worst value of one case",
    "icc": "a correlation has no worst value of one case",
    "ccc": "a correlation has no worst value of one case",
    "bias": "0 is best: it is ranked by its absolute value",
}
FROM_PERFECT = ("kappa", "mcc", "pearson", "spearman", "icc", "ccc", "bias")
OTHERS_COUNT = (*FROM_PERFECT, "bleu_4", "c_index", "ece")


@dataclass(frozen=True, kw_only=True)
class Side:
    """How a kind of value looks in challenge.toml, and what is true and predicted in a case."""

    value: Mapping[str, Any]
    reference: st.SearchStrategy[Any]
    prediction: st.SearchStrategy[Any]


def pictures(cell: st.SearchStrategy[Any], kind: Any) -> st.SearchStrategy[Any]:
    return st.lists(cell, min_size=12, max_size=12).map(lambda each: np.array(each, kind).reshape(3, 4))


def large_image(seed: int) -> CaseImage:
    """Large enough for the five scales of MS-SSIM."""
    return CaseImage(np.random.default_rng(seed).random((176, 176)), None)


def points(places: list[int]) -> Annotations:
    coordinates = np.array([[place % 4, place // 4] for place in places], dtype=np.float64).reshape(-1, 2)
    return Annotations(coordinates, None, (None,) * len(places))


def boxes(places: list[int]) -> Annotations:
    corners = points(places).coordinates
    return Annotations(np.stack([corners, corners + 1.5], axis=1), None, (None,) * len(places))


def with_probabilities(found: Annotations, probabilities: list[float]) -> Annotations:
    return Annotations(found.coordinates, np.array(probabilities[: len(found)]), found.names)


def detected(of: Any) -> st.SearchStrategy[Annotations]:
    sure = st.lists(st.sampled_from([0.2, 0.5, 0.9]), min_size=4, max_size=4)
    return st.builds(with_probabilities, places().map(of), sure)


def places() -> st.SearchStrategy[list[int]]:
    return st.lists(st.integers(0, 15), max_size=4, unique=True)


def distribution(numbers: list[int]) -> dict[str, float]:
    return {name: number / sum(numbers) for name, number in zip(CLASSES, numbers, strict=True)}


def landmarks(*, least: int) -> st.SearchStrategy[dict[str, Any]]:
    place = st.tuples(st.integers(0, 9), st.integers(0, 9)).map(lambda each: np.array(each, dtype=np.float64))
    return st.dictionaries(st.sampled_from("abc"), place, min_size=least)


LABELS = pictures(st.integers(0, 2), np.uint8).map(lambda each: CaseImage(each, None))
OBJECTS = pictures(st.integers(0, 3), np.uint16).map(lambda each: CaseImage(each, None))
TABLE = {"table": "p.csv", "column": "v"}
SHARE = st.integers(0, 8).map(lambda eighths: eighths / 8)
TEXT = st.lists(st.sampled_from("abcd"), min_size=1, max_size=6).map(" ".join)
FINDINGS = pictures(st.sampled_from([0, 0, 0, 1]), np.float32).map(lambda each: CaseImage(each, None))
CONFIDENCES = pictures(st.sampled_from([0, 0, 0.3, 0.8]), np.float32).map(lambda each: CaseImage(each, None))
SIDES: dict[str, Side] = {
    "labels": Side(value={"file": "{case}.mha", "labels": {"one": 1, "two": 2}}, reference=LABELS, prediction=LABELS),
    "instances": Side(
        value={"file": "{case}.mha", "groups": {"one": "1", "two": "2-3"}}, reference=OBJECTS, prediction=OBJECTS
    ),
    "image": Side(
        value={"file": "{case}.mha", "range": (0.0, 1.0)},
        reference=st.integers(0, 9).map(large_image),
        prediction=st.integers(0, 9).map(large_image),
    ),
    "number": Side(value={**TABLE, "range": (0.0, 8.0)}, reference=st.floats(0, 8), prediction=st.floats(0, 8)),
    "class": Side(
        value={**TABLE, "classes": {name: number for number, name in enumerate(CLASSES)}},
        reference=st.sampled_from(CLASSES),
        prediction=st.sampled_from(CLASSES),
    ),
    "probability": Side(
        value={"file": "{case}.json", "classes": {name: number for number, name in enumerate(CLASSES)}},
        reference=st.sampled_from(CLASSES),
        prediction=st.lists(st.integers(1, 5), min_size=3, max_size=3).map(distribution),
    ),
    "binary": Side(
        value={**TABLE, "positive": "ill"},
        reference=st.sampled_from(["ill", "not_ill"]),
        prediction=SHARE.map(lambda share: {"ill": share, "not_ill": 1 - share}),
    ),
    "findings": Side(
        value={"file": "{case}.json", "columns": ("one", "two")},
        reference=st.fixed_dictionaries({"one": st.integers(0, 1), "two": st.integers(0, 1)}),
        prediction=st.fixed_dictionaries({"one": SHARE, "two": SHARE}),
    ),
    "landmarks": Side(
        value={"file": "{case}.json", "unit": "mm"}, reference=landmarks(least=1), prediction=landmarks(least=0)
    ),
    "points": Side(
        value={"file": "{case}.json", "unit": "mm"}, reference=places().map(points), prediction=detected(points)
    ),
    "boxes": Side(
        value={"file": "{case}.json", "unit": "mm"}, reference=places().map(boxes), prediction=detected(boxes)
    ),
    "detection_map": Side(value={"file": "{case}.mha"}, reference=FINDINGS, prediction=CONFIDENCES),
    "text": Side(value={"file": "{case}.txt"}, reference=TEXT, prediction=TEXT),
    "survival": Side(
        value={**TABLE, "prediction": "risk", "reference_table": "t.csv"},
        reference=st.builds(SurvivalTime, st.integers(1, 6).map(float), st.booleans()),
        prediction=st.integers(0, 4).map(float),
    ),
}
FURTHEST = ([0, 0, 1], [0, 0, 1], [1, 0, 0])
NEEDED: dict[str, dict[str, Any]] = {
    "nsd": {"tolerance_mm": 1.0},
    "log_loss": {"clip": 0.01},
    "lesions": {
        **{"match": "iou", "pairing": "greedy", "threshold": 0.3, "miss_mm": 10.0, "failed": 20},
        "strata_ml": (0.0015,),
    },
    "instances": {"match": "iou", "pairing": "optimal", "threshold": 0.3, "miss_mm": 10.0, "failed": 20},
    "component_error": {"failed": 20},
    "volume_difference_ml": {"failed": 1.0},
    "volume_rmse_ml": {"failed": 1.0},
    "relative_volume_difference": {"failed": 20},
    "fp": {"failed": "empty"},
    "mre": {"failed": 8.0},
    "sdr": {"radii_mm": (1.0, 3.0)},
    "ppv_at_recall": {"at": 0.6},
    "sensitivity_at_specificity": {"at": 0.6},
    "specificity_at_sensitivity": {"at": 0.6},
    "points": {"radius_mm": 1.1},
    "boxes": {"threshold": 0.3},
}


@cache
def challenge_of(kind: str, value: str, formula: str = "", policies: tuple[str, ...] = ()) -> AnyChallenge:
    """A challenge with one value and one metric, ranked by nothing in particular."""
    value_kind = "probability" if value == "binary" else value
    metric = {"kind": kind, **NEEDED.get(kind, {}), **NEEDED.get(value, {})}
    metric |= {key: policy for key, policy in zip(EMPTY_MASKS, policies, strict=False) if policy}
    tables: dict[str, Any] = {
        "engine": "native",
        "values": {"v": {"kind": value_kind, "reference": None, **SIDES[value].value}},
        "metrics": [metric],
    }
    if "file" in SIDES[value].value:
        tables["values"]["v"]["reference"] = SIDES[value].value["file"]
    else:
        del tables["values"]["v"]["reference"]
    if formula:
        tables["figures"] = {"score": {"formula": formula, "undefined": "worst"}}
    board = assembled_board(tables)
    return challenge_from_settings("t", "declared", {**tables, "ranking": {"by": "score" if formula else board}})


def assembled_board(tables: dict[str, Any]) -> str:
    """Any figure, so that the ranking has one."""
    return str(load_tables("t", "declared", {**tables, "ranking": {"by": "?"}}).challenge.scoreboard.leaderboard[0])


def published(challenge: AnyChallenge, cases: list[tuple[Any, Any]], left_out: set[int]) -> Mapping[str, Any]:
    results = []
    for number, (reference, prediction) in enumerate(cases):
        row = scored(challenge, reference, None if number in left_out else prediction)
        results.append(row.result(str(number)))
    return challenge.aggregate(results, Runtime())


def scored(challenge: AnyChallenge, reference: Any, prediction: Any) -> CaseScore:
    """The row of a case; None is no prediction."""
    if prediction is None:
        return challenge.score_missing({"v": reference})
    return challenge.row(DeclaredCase(values={"v": Compared(prediction=prediction, reference=reference)}))


def improved(challenge: AnyChallenge, before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    """The figures that are better after predictions were left out; one that had no value before says nothing."""
    board = challenge.scoreboard
    figures = {metric.mean_path: metric.direction for metric in board.metrics if metric.mean_path}
    figures |= {each.path: each.direction for each in (*board.cohort_metrics, *board.formulas) if each.title}
    found = []
    for path, direction in figures.items():
        if holds(before, path) and holds(after, path):
            of = abs if path == "bias" else float
            gain = (of(get(after, path)) - of(get(before, path))) * (1 if direction == "higher" else -1)
            if gain > 1e-9 and math.isfinite(gain):
                found.append(f"{path}: {get(before, path)} -> {get(after, path)}")
    return found


OF_ONE_CLASS = ("ppv_at_recall", "sensitivity_at_specificity", "specificity_at_sensitivity")
KINDS = sorted(
    {
        (kind.name, value)
        for kind in metric_kinds()
        for value in kind.compares
        if (kind.name in OF_ONE_CLASS) <= (value != "probability")
    }
    | {(kind.name, "binary") for kind in metric_kinds(["probability"]) if "probability" in kind.compares}
)


EMPTY_MASKS = ("both_empty", "reference_empty", "prediction_empty")
PROPERTY = settings(max_examples=8, deadline=None)


def any_challenge(kind: str, value: str, data: st.DataObject) -> AnyChallenge:
    """With any policies that are as good for nothing as for something that is not there, or worse for the latter."""
    policies: tuple[str, ...] = ()
    if value == "labels" and kind not in ("lesions", "volume_rmse_ml"):
        worst = () if kind in NEEDED and "failed" in NEEDED[kind] else ("worst",)
        policies = data.draw(
            st.tuples(*(st.sampled_from(["", "exclude"]), *[st.sampled_from(["", "exclude", *worst])] * 2))
        )
    return challenge_of(kind, value, policies=policies)


def with_right_answers(
    challenge: AnyChallenge, cases: list[tuple[Any, Any]], numbers: set[int]
) -> list[tuple[Any, Any]]:
    (value,) = challenge.values.values()
    return [
        (reference, value.answers(reference)[0] if number in numbers else prediction)
        for number, (reference, prediction) in enumerate(cases)
    ]


def is_worse(metric: Metric, one: float, other: float) -> bool:
    return (one - other) * (-1 if metric.direction == "higher" else 1) > 1e-9


@pytest.mark.parametrize(("kind", "value"), KINDS)
@PROPERTY
@given(data=st.data())
def test_no_answer_of_a_case_is_worse_than_none_and_what_has_no_value_says_why(
    kind: str, value: str, data: st.DataObject
) -> None:
    """Where a missing answer has no value, no wrong answer has one."""
    challenge, side = any_challenge(kind, value, data), SIDES[value]
    reference = data.draw(side.reference)
    missing, answer = scored(challenge, reference, None), scored(challenge, reference, data.draw(side.prediction))
    for row in (missing, answer):
        lacking = {metric.name for metric in challenge.scoreboard.metrics if get(row.metrics, metric.name) is None}
        assert row.undefined.keys() == lacking
    for metric in challenge.scoreboard.metrics:
        least, found = get(missing.metrics, metric.name), get(answer.metrics, metric.name)
        if metric.compute is None:  # a mean over regions, of which more may have a value in an answer
            continue
        if least is None:
            assert missing.undefined[metric.name] == "reference_empty"
            assert found is None or not is_worse(metric, found, metric.highest if metric.direction == "higher" else 0.0)
        elif found is not None:
            assert not is_worse(metric, found, least)


@pytest.mark.parametrize(("kind", "value"), KINDS)
@PROPERTY
@given(data=st.data())
def test_in_every_case_right_answers_are_first_and_missing_ones_last(
    kind: str, value: str, data: st.DataObject
) -> None:
    challenge, side = any_challenge(kind, value, data), SIDES[value]
    cases = [(data.draw(side.reference), data.draw(side.prediction)) for _ in range(CASES)]
    right = [answer for _, answer in with_right_answers(challenge, cases, set(range(CASES)))]
    teams = [right, [answer for _, answer in cases], [None] * CASES]
    rows = [[scored(challenge, case[0], each) for case, each in zip(cases, team, strict=True)] for team in teams]
    for metric in challenge.scoreboard.metrics:
        if metric.mean_path:
            figures = [[get(row.metrics, metric.name) for row in team] for team in rows]
            reasons = [[row.undefined.get(metric.name, "") for row in team] for team in rows]
            table = case_table(metric, figures, reasons)
            first, others, last = positions_in_cases(table)
            assert (first == 1).all()
            # Who is without a value by an own fault is behind all values, also those of missing answers.
            is_own_fault = np.isin(table.reasons[1, table.defined], ("prediction_empty", "too_few"))
            assert (is_own_fault | (others <= last)).all()


@pytest.mark.parametrize(("kind", "value"), KINDS)
@PROPERTY
@given(data=st.data())
def test_being_right_about_more_cases_worsens_no_figure_of_the_catalogue(
    kind: str, value: str, data: st.DataObject
) -> None:
    challenge, side = any_challenge(kind, value, data), SIDES[value]
    cases = [(data.draw(side.reference), data.draw(side.prediction)) for _ in range(CASES)]
    numbers = set(range(CASES)) if kind in OTHERS_COUNT else data.draw(st.sets(st.integers(0, CASES - 1), min_size=1))
    right = with_right_answers(challenge, cases, numbers)
    assert improved(challenge, published(challenge, right, set()), published(challenge, cases, set())) == []


@pytest.mark.parametrize(("kind", "value"), KINDS)
@PROPERTY
@given(data=st.data())
def test_leaving_out_predictions_improves_no_figure_of_the_catalogue(
    kind: str, value: str, data: st.DataObject
) -> None:
    challenge, side = any_challenge(kind, value, data), SIDES[value]
    cases = [(data.draw(side.reference), data.draw(side.prediction)) for _ in range(CASES)]
    left_out = set(data.draw(st.lists(st.integers(0, CASES - 1), min_size=1, max_size=CASES - 1, unique=True)))
    if kind in WRONG_IS_WORSE and value not in ("binary", "findings"):
        cases = with_right_answers(challenge, cases, set(range(CASES)) if kind in FROM_PERFECT else left_out)
    before = published(challenge, cases, set())
    assert improved(challenge, before, published(challenge, cases, left_out)) == []


def test_the_exceptions_are_documented() -> None:
    text = " ".join((ROOT / "docs/metrics.md").read_text(encoding="utf-8").split())
    exceptions = text.partition("There are exceptions")[2].partition("one case has no worst value")[0]
    assert {*re.findall(r"`(\w+)`", exceptions)} == {*WRONG_IS_WORSE}


@pytest.mark.parametrize("engine", ["monai", "native"])
@pytest.mark.parametrize(
    ("truth", "answers"),
    [
        # Each improved with 0 in place of the missing answer, which shares the precision of all cases.
        pytest.param([0, 0, 1, 1], [0.9, 0.8, 0.1, None], id="below the precision of all cases"),
        pytest.param([0, 1, 1, 1], [0.9, 0.5, 0.4, 0.4], id="positive cases that tie below it"),
    ],
)
def test_average_precision_never_rises_without_an_answer(
    engine: str, truth: list[int], answers: list[float | None]
) -> None:
    value = {"kind": "probability", "positive": "ill", "table": "p.csv", "column": "v"}
    tables = {"engine": engine, "values": {"v": value}, "metrics": [{"kind": "average_precision"}]}
    challenge = challenge_from_settings("t", "declared", {**tables, "ranking": {"by": "average_precision"}})
    cases = [
        ("ill" if true else "not_ill", None if share is None else {"ill": share, "not_ill": 1 - share})
        for true, share in zip(truth, answers, strict=True)
    ]
    missing = {number for number, share in enumerate(answers) if share is None}
    before = published(challenge, cases, missing)
    for number, (_, prediction) in enumerate(cases):
        if prediction is not None:
            assert improved(challenge, before, published(challenge, cases, missing | {number})) == []


# Two findings in 40 studies as (positive, answer): TP 1, FP 24, TN 15 and TP 3, FP 20, TN 17. In `WRONG` studies one of
# the two answers is a false positive, the other one right.
FINDINGS_OF_STUDIES = [
    *[((0, 1), (0, 0))] * 10,
    *[((0, 0), (0, 1))] * 3,
    *[((0, 1), (0, 1))] * 14,
    *[((0, 0), (0, 1))] * 3,
    *[((1, 1), (1, 1))],
    *[((0, 0), (1, 1))] * 2,
    *[((0, 0), (0, 0))] * 7,
]
WRONG = set(range(13))


def mean_f1(engine: str, left_out: set[int]) -> float:
    value = {"kind": "probability", "positive": "ill", "table": "p.csv"}
    tables = {
        "engine": engine,
        "values": {"a": {**value, "column": "a"}, "b": {**value, "column": "b"}},
        "metrics": [{"kind": "f1", "threshold": "> 0.3"}],
        "figures": {"mf1": "mean(f1.a.ill, f1.b.ill)"},
        "ranking": {"by": "mf1"},
    }
    challenge = challenge_from_settings("t", "declared", tables)
    results = []
    for number, study in enumerate(FINDINGS_OF_STUDIES):
        facts = {
            name: {
                "reference": "ill" if positive else "not_ill",
                "prediction": None if number in left_out else {"ill": float(answer), "not_ill": 1.0 - answer},
            }
            for name, (positive, answer) in zip("ab", study, strict=True)
        }
        results.append(CaseResult(case=str(number), status="scored", metrics=facts))
    return float(challenge.aggregate(results, Runtime())["mf1"])


@pytest.mark.parametrize("engine", ["monai", "native"])
def test_leaving_out_13_of_40_studies_does_not_raise_the_mean_f1(engine: str) -> None:
    """Where a missing answer is a false positive nowhere, the same raises 0.154 to 0.193."""
    assert mean_f1(engine, set()) == pytest.approx((2 / 26 + 6 / 26) / 2)
    assert round(mean_f1(engine, set()), 3) == 0.154
    assert round((2 * 1 / (2 * 1 + 24 - 10) + 2 * 3 / (2 * 3 + 20 - 3)) / 2, 3) == 0.193
    assert mean_f1(engine, WRONG) == pytest.approx((2 / (2 + 24 + 3) + 6 / (6 + 20 + 10)) / 2)


@given(st.sets(st.integers(0, 39)), st.sets(st.integers(0, 39)))
def test_leaving_out_studies_never_raises_the_mean_f1(left_out: set[int], more: set[int]) -> None:
    assert mean_f1("native", left_out | more) <= mean_f1("native", left_out) + 1e-12


def test_of_several_classes_a_missing_one_is_the_furthest() -> None:
    """Without answers for low, mid and high, the figures are those of the answers (high, high, low)."""
    cases = [(true, distribution([1, 1, 1])) for true in CLASSES]
    for kind in ("f1", "kappa"):
        challenge = challenge_of(kind, "probability")
        furthest = [(true, distribution(answer)) for true, answer in zip(CLASSES, FURTHEST, strict=True)]
        assert published(challenge, cases, {0, 1, 2})[kind] == published(challenge, furthest, set())[kind]


FORMULAS = st.recursive(
    st.sampled_from(["dice.one", "dice.two.median", "1 - dice.one", "dice.mean / 2"]),
    lambda part: st.one_of(
        st.builds("1 - ({})".format, part),
        st.builds("exp(-({}))".format, part),
        st.builds("sqrt(clip({}, 0, 1))".format, part),
        st.builds("3 * ({}) - 1".format, part),
        st.builds("mean({}, {})".format, part, part),
        st.builds("min({0}, 0.5 * ({0}))".format, part),
    ),
    max_leaves=4,
)


@settings(max_examples=60, deadline=None)
@given(formula=FORMULAS, data=st.data())
def test_leaving_out_predictions_improves_no_formula_in_its_own_direction(formula: str, data: st.DataObject) -> None:
    """The direction is derived: `1 - dice` is lower is better. Formulas without one are refused, not ranked by."""
    try:
        challenge = challenge_of("dice", "labels", formula)
    except ConfigurationError as error:
        assert "needs a direction" in str(error)  # noqa: PT017
        return
    cases = [(data.draw(LABELS), data.draw(LABELS)) for _ in range(CASES)]
    left_out = set(data.draw(st.lists(st.integers(0, CASES - 1), min_size=1, max_size=CASES - 1, unique=True)))
    before = published(challenge, cases, set())
    assert improved(challenge, before, published(challenge, cases, left_out)) == []


def test_one_of_many_cases_scores_nothing_under_an_inverted_index() -> None:
    """Who predicts times must say so: `1 - c_index` is lower is better, and cannot be declared otherwise."""
    challenge = challenge_of("c_index", "survival", "1 - c_index")
    assert challenge.ranking.criteria[0].direction == "lower"
    cases = [(SurvivalTime(float(time), event=True), float(-time)) for time in range(120)]
    alone = published(challenge, cases, set(range(1, 120)))
    assert alone["score"] == 1.0
    assert published(challenge, cases, set())["score"] == 0.0


# Of cases with all kinds of values, one value of one case.


@cache
def challenge_of_all() -> AnyChallenge:
    """All metrics of the catalogue on one value of every kind; a metric is called like its value and its kind."""
    values, metrics = {}, []
    for name, side in SIDES.items():
        place = {"reference": side.value["file"]} if "file" in side.value else {}
        kind = "probability" if name == "binary" else name
        own = {key: each.replace("{case}", f"{{case}}_{name}") for key, each in place.items()}
        values[f"v_{name}"] = {"kind": kind, **side.value, **own}
    for kind, name in KINDS:
        metrics.append({"kind": kind, "name": f"{name}_{kind}", "of": f"v_{name}"})
        metrics[-1] |= {**NEEDED.get(kind, {}), **NEEDED.get(name, {})}
    tables = {"engine": "native", "values": values, "metrics": metrics}
    return challenge_from_settings("t", "declared", {**tables, "ranking": {"by": assembled_board(tables)}})


def published_of_all(cases: list[dict[str, tuple[Any, Any]]], away: tuple[int, str] | None) -> Mapping[str, Any]:
    challenge, results = challenge_of_all(), []
    for number, case in enumerate(cases):
        compared = {
            f"v_{name}": Compared(prediction=None if (number, name) == away else found, reference=truth)
            for name, (truth, found) in case.items()
        }
        results.append(challenge.row(DeclaredCase(values=compared)).result(str(number)))
    return challenge.aggregate(results, Runtime())


@pytest.mark.parametrize("taken", SIDES)
@settings(max_examples=3, deadline=None)
@given(data=st.data())
def test_one_value_of_one_case_moves_no_figure_of_another_value_and_none_up(taken: str, data: st.DataObject) -> None:
    challenge = challenge_of_all()
    cases = [
        {name: (data.draw(side.reference), data.draw(side.prediction)) for name, side in SIDES.items()}
        for _ in range(3)
    ]
    for case in cases:  # of right answers, no metric gains by leaving one out
        truth, _ = case[taken]
        case[taken] = truth, challenge.values[f"v_{taken}"].answers(truth)[0]
    before = published_of_all(cases, None)
    after = published_of_all(cases, (data.draw(st.integers(0, 2)), taken))
    own = {f"{name}_{kind}" for kind, name in KINDS if name == taken}
    own |= {"confusion_matrix"} if taken == "class" else set()
    others = before.keys() - own
    assert len(others) > len(own)
    assert {name: before[name] for name in others} == {name: after[name] for name in others}
    assert [each for each in improved(challenge, before, after) if "_bias: " not in each] == []
