"""Missing is never better: leaving out predictions improves no figure that teams can be ranked by.

Over all metrics of the catalogue and over formulas of them, on random cases in memory. `WRONG_IS_WORSE` are the metrics
whose published definition counts a wrong answer worse than none, and why: of these only right answers are left out, and
of those in `FROM_PERFECT` only from perfect submissions. docs/metrics.md names the same.
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
from podium.challenges.declared.values import Compared, ContinuousImage, LabelImage, SurvivalTime
from podium.challenges.loading import load_tables
from podium.errors import ConfigurationError
from podium.figures import get, holds
from podium.platform.jobs import Runtime
from podium.platform.metrics_file import CaseResult
from podium.readers.annotations import Annotations

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
FALSE_POSITIVES = {"lesions": ".fp."}  # of these only their numbers of false positives: EMPTY
FROM_PERFECT = ("kappa", "mcc", "pearson", "spearman", "icc", "ccc", "bias")


@dataclass(frozen=True, kw_only=True)
class Side:
    """How a kind of value looks in challenge.toml, and what is true and predicted in a case."""

    value: Mapping[str, Any]
    reference: st.SearchStrategy[Any]
    prediction: st.SearchStrategy[Any]


def pictures(cell: st.SearchStrategy[Any], kind: Any) -> st.SearchStrategy[Any]:
    return st.lists(cell, min_size=12, max_size=12).map(lambda each: np.array(each, kind).reshape(3, 4))


def large_image(seed: int) -> ContinuousImage:
    """Large enough for the five scales of MS-SSIM."""
    return ContinuousImage(np.random.default_rng(seed).random((176, 176)), None)


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


LABELS = pictures(st.integers(0, 2), np.uint8).map(lambda each: LabelImage(each, None))
TABLE = {"table": "p.csv", "column": "v"}
SHARE = st.integers(0, 8).map(lambda eighths: eighths / 8)
TEXT = st.lists(st.sampled_from("abcd"), min_size=1, max_size=6).map(" ".join)
FINDINGS = pictures(st.sampled_from([0, 0, 0, 1]), np.float32).map(lambda each: ContinuousImage(each, None))
CONFIDENCES = pictures(st.sampled_from([0, 0, 0.3, 0.8]), np.float32).map(lambda each: ContinuousImage(each, None))
SIDES: dict[str, Side] = {
    "labels": Side(value={"file": "{case}.mha", "labels": {"one": 1, "two": 2}}, reference=LABELS, prediction=LABELS),
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
NEEDED: dict[str, dict[str, Any]] = {
    "nsd": {"tolerance_mm": 1.0},
    "log_loss": {"clip": 0.01},
    "lesions": {"match": "iou", "pairing": "greedy", "threshold": 0.3, "miss_mm": 10.0},
    "points": {"radius_mm": 1.1},
    "boxes": {"threshold": 0.3},
}


@cache
def challenge_of(kind: str, value: str, formula: str = "") -> AnyChallenge:
    """A challenge with one value and one metric, ranked by nothing in particular."""
    value_kind = "probability" if value == "binary" else value
    metric = {"kind": kind, **NEEDED.get(kind, {}), **NEEDED.get(value, {})}
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
        if number in left_out:
            row = challenge.score_missing({"v": reference})
        else:
            case = DeclaredCase(values={"v": Compared(prediction=prediction, reference=reference)})
            row = {**challenge.scoreboard.row(case), **challenge.facts(case)}
        results.append(CaseResult(case=str(number), status="scored", metrics=dict(row)))
    return challenge.aggregate(results, Runtime())


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


KINDS = sorted(
    {(kind.name, value) for kind in metric_kinds() for value in kind.compares}
    | {(kind.name, "binary") for kind in metric_kinds(["probability"]) if "probability" in kind.compares}
)


@pytest.mark.parametrize(("kind", "value"), KINDS)
@settings(max_examples=15, deadline=None)
@given(data=st.data())
def test_leaving_out_predictions_improves_no_figure_of_the_catalogue(
    kind: str, value: str, data: st.DataObject
) -> None:
    challenge, side = challenge_of(kind, value), SIDES[value]
    cases = [(data.draw(side.reference), data.draw(side.prediction)) for _ in range(CASES)]
    left_out = set(data.draw(st.lists(st.integers(0, CASES - 1), min_size=1, max_size=CASES - 1, unique=True)))
    if kind in WRONG_IS_WORSE:
        (perfect,) = challenge.values.values()
        everything = set(range(CASES)) if kind in FROM_PERFECT else left_out
        cases = [
            (reference, perfect.answers(reference)[0] if number in everything else prediction)
            for number, (reference, prediction) in enumerate(cases)
        ]
    before = published(challenge, cases, set())
    found = improved(challenge, before, published(challenge, cases, left_out))
    assert [each for each in found if kind not in FALSE_POSITIVES or FALSE_POSITIVES[kind] not in each] == []


def test_the_exceptions_are_documented() -> None:
    text = " ".join((ROOT / "docs/metrics.md").read_text(encoding="utf-8").split())
    exceptions = text.partition("There are exceptions")[2].partition("one case has no worst value")[0]
    assert {*re.findall(r"`(\w+)`", exceptions)} == {*WRONG_IS_WORSE, *FALSE_POSITIVES}


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
