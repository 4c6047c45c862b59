"""Lesion by lesion: hand-made figures, literal readings of the rules, and panoptica."""

import contextlib
import io
import math
import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from literal import lesion_matching as literal
from metrics.label_images import spaced_pairs
from metrics.masks import Mask

from podium.metrics.components import as_connectivity
from podium.metrics.lesions import LesionMatches, MatchingRule, Pairing, match_components
from podium.metrics.surfaces import measure_surfaces

Spaced = tuple[Mask, Mask, tuple[float, ...]]
WIDTH = 30


def line(*stretches: tuple[int, int]) -> Mask:
    """Voxels from..to (included) of one row."""
    mask = np.zeros((1, 1, WIDTH), np.bool_)
    for first, last in stretches:
        mask[0, 0, first : last + 1] = True
    return mask


def matched(prediction: Mask, reference: Mask, **rule: Any) -> LesionMatches:
    spacing = (1.0,) * reference.ndim
    return match_components(prediction=prediction, reference=reference, spacing_mm=spacing, rule=MatchingRule(**rule))


REFERENCE = line((0, 3), (10, 11), (20, 29))
PREDICTION = line((1, 3), (13, 13), (20, 23), (25, 29))


def test_figures_of_a_worked_example() -> None:
    """Lesion 1: IoU 3/4, Dice 6/7. Lesion 2: missed, and a component beside it. Lesion 3: IoU 4/10 and 5/10."""
    found = matched(PREDICTION, REFERENCE, threshold=0.5)
    assert (found.counts.tp, found.counts.fp, found.counts.fn) == (2, 2, 1)
    assert found.counts.f1 == found.rq == pytest.approx(4 / 7)
    assert found.counts.precision == 2 / 4
    assert found.counts.recall == pytest.approx(2 / 3)
    assert found.sq == pytest.approx((0.75 + 0.5) / 2)
    assert found.pq == pytest.approx(0.625 * 4 / 7)
    assert found.lesion_dice == pytest.approx((6 / 7 + 10 / 15) / 5)
    assert found.lesion_hd95(percentile=100, miss_mm=374.0) == pytest.approx((1 + 5 + 3 * 374) / 5)
    assert found.fpv_ml == 0.001
    assert found.fnv_ml == 0.002


def test_any_joins_all_components_that_match_a_lesion() -> None:
    found = matched(PREDICTION, REFERENCE, threshold=0.4, pairing="any")
    assert (found.counts.tp, found.counts.fp, found.counts.fn) == (2, 1, 1)
    assert found.lesion_dice == pytest.approx((6 / 7 + 18 / 19) / 4)
    assert found.sq == pytest.approx((0.75 + 0.9) / 2)


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ({"match": "dice", "threshold": 0.6}, (2, 2, 1)),
        ({"match": "overlap", "threshold": 0.0}, (2, 2, 1)),
        ({"match": "overlap", "threshold": 0.0, "pairing": "any"}, (2, 1, 1)),
        ({"match": "overlap", "threshold": 0.0, "pairing": "any", "dilate": 2}, (3, 0, 0)),
        ({"match": "centroid", "threshold": 2.5}, (3, 1, 0)),
        ({"match": "centroid", "threshold": 2.4}, (1, 3, 2)),
        ({"min_voxels": 3}, (2, 1, 0)),
        ({"min_voxels": 3, "min_predicted_voxels": 1}, (2, 2, 0)),
    ],
)
def test_rules_on_the_worked_example(rule: dict[str, Any], expected: tuple[int, int, int]) -> None:
    counts = matched(PREDICTION, REFERENCE, **rule).counts
    assert (counts.tp, counts.fp, counts.fn) == expected


def test_a_component_on_a_lesion_that_is_too_small_is_no_false_positive() -> None:
    found = matched(line((0, 3), (10, 13)), line((0, 3), (11, 12)), min_voxels=3)
    assert (found.counts.tp, found.counts.fp, found.counts.fn) == (1, 0, 0)
    assert found.lesion_dice == 1.0


def test_lesions_are_merged_where_they_touch_when_grown() -> None:
    assert matched(line((0, 0)), line((0, 3), (5, 8)), dilate=0).counts.fn == 2
    assert matched(line((0, 0)), line((0, 3), (5, 8)), dilate=1).counts.fn == 1
    assert matched(line((0, 0)), line((0, 3), (7, 8)), dilate=1).counts.fn == 2


def test_optimal_finds_more_than_greedy() -> None:
    """Greedy gives the component in the middle to the lesion it fits best, and the other lesion stays without one."""
    reference, prediction = line((0, 9), (11, 18)), line((4, 15), (17, 18))
    rule: dict[str, Any] = {"match": "overlap", "threshold": 0.2}
    assert matched(prediction, reference, **rule, pairing="greedy").counts.tp == 1
    assert matched(prediction, reference, **rule, pairing="optimal").counts.tp == 2


def test_optimal_takes_the_largest_sum_not_the_most_pairs() -> None:
    """Shares of 0.8 for one pair, or of 0.1 for each of two."""
    reference, prediction = line((0, 9), (11, 20)), line((0, 0), (2, 11))
    found = matched(prediction, reference, match="overlap", threshold=0.1)
    assert (found.counts.tp, found.lesion_dice) == (1, pytest.approx(16 / 20 / 3))


def test_optimal_pairs_as_many_centroids_as_it_can() -> None:
    """At 3, lesions 0 and 4 (distances 3, 1): component 3 is nearer to lesion 4, which component 7 can have too."""
    reference, prediction = line((0, 0), (4, 4)), line((3, 3), (7, 7))
    counts = [
        matched(prediction, reference, match="centroid", threshold=3.0, pairing=pairing).counts.tp
        for pairing in ("greedy", "optimal")
    ]
    assert counts == [1, 2]


@pytest.mark.parametrize("dilate", [0, 1])
def test_nothing_on_a_side(dilate: int) -> None:
    empty, some = line(), line((2, 4))
    nothing = matched(empty, empty, dilate=dilate)
    assert nothing.counts.f1 is nothing.sq is nothing.rq is nothing.pq is nothing.lesion_dice is None
    assert nothing.counts.precision is nothing.counts.recall is nothing.lesion_hd95(miss_mm=374.0) is None
    missed, invented = matched(empty, some, dilate=dilate), matched(some, empty, dilate=dilate)
    for lost in (missed, invented):
        assert lost.counts.f1 == lost.pq == lost.lesion_dice == 0.0
        assert lost.lesion_hd95(miss_mm=374.0) == 374.0
        assert lost.sq is None
    assert (missed.fnv_ml, missed.fpv_ml, invented.fnv_ml, invented.fpv_ml) == (0.003, 0.0, 0.0, 0.003)
    assert missed.counts.precision is None
    assert invented.counts.recall is None


def test_connectivity_by_axes_and_by_neighbours() -> None:
    assert [as_connectivity(value) for value in (1, 2, 3, 6, 18, 26, 4, 8)] == [6, 18, 26, 6, 18, 26, 6, 26]
    with pytest.raises(ValueError, match="connectivity is one of"):
        as_connectivity(5)


@settings(max_examples=120, deadline=None)
@given(spaced_pairs(empty=True), st.integers(0, 2), st.integers(0, 4))
def test_agrees_with_the_literal_reading_of_brats(pair: Spaced, dilate: int, larger_than: int) -> None:
    prediction, reference, _ = pair
    found = matched(
        prediction,
        reference,
        match="overlap",
        threshold=0.0,
        pairing="any",
        dilate=dilate,
        min_voxels=larger_than + 1,
        min_predicted_voxels=1,
    )
    expected, *counts = literal.brats(prediction, reference, dilate=dilate, larger_than=larger_than)
    assert found.lesion_dice == (None if expected is None else pytest.approx(expected, abs=1e-12))
    assert [found.counts.tp, found.counts.fp, found.counts.fn] == counts


@settings(max_examples=120, deadline=None)
@given(spaced_pairs(empty=True), st.sampled_from([6, 18, 26]), st.sampled_from([0.01, 0.2, 0.5]))
def test_agrees_with_the_literal_reading_of_any(pair: Spaced, connectivity: int, threshold: float) -> None:
    prediction, reference, _ = pair
    predicted = literal.components(prediction, connectivity)
    expected = literal.components(reference, connectivity)
    hits = [[literal.iou(one, lesion) >= threshold for one in predicted] for lesion in expected]
    rule = {"connectivity": connectivity, "threshold": threshold, "pairing": "any"}
    found = matched(prediction, reference, **rule)
    assert found.counts.tp == sum(map(any, hits))
    assert found.counts.fn == len(expected) - found.counts.tp
    assert found.counts.fp == len(predicted) - sum(
        any(line[number] for line in hits) for number in range(len(predicted))
    )
    lonely = sum(int(one.sum()) for one in predicted if not (one & reference).any())
    assert found.fpv_ml == pytest.approx(lonely / 1000)
    missed = sum(int(lesion.sum()) for lesion in expected if not (lesion & prediction).any())
    assert found.fnv_ml == pytest.approx(missed / 1000)


def hd95_of_pairs(prediction: Mask, reference: Mask, spacing: tuple[float, ...], miss_mm: float) -> float | None:
    """The mean HD95 of every lesion with the components that share a voxel with it; misses and false positives miss."""
    predicted, values = literal.components(prediction, 26), []
    for lesion in literal.components(reference, 26):
        hits = [one for one in predicted if (one & lesion).any()]
        value: float | None = miss_mm
        if hits:
            union = np.any(hits, axis=0)
            distances = measure_surfaces(prediction=union, reference=lesion, spacing=spacing)
            value = max(distances.prediction.percentile(95), distances.reference.percentile(95))
        values.append(value)
    values.extend(miss_mm for one in predicted if not (one & reference).any())
    return math.fsum(values) / len(values) if values else None


@settings(max_examples=60, deadline=None)
@given(spaced_pairs(empty=True))
def test_hd95_is_that_of_every_lesion_with_its_components(pair: Spaced) -> None:
    prediction, reference, spacing = pair
    rule = MatchingRule(match="overlap", threshold=0.0, pairing="any")
    found = match_components(prediction=prediction, reference=reference, spacing_mm=spacing, rule=rule)
    expected = hd95_of_pairs(prediction, reference, spacing, 50.0)
    assert found.lesion_hd95(miss_mm=50.0) == (None if expected is None else pytest.approx(expected, abs=1e-9))


@settings(max_examples=100, deadline=None)
@given(spaced_pairs())
def test_one_to_one_pairings_agree_with_the_literal_reading(pair: Spaced) -> None:
    prediction, reference, _ = pair
    predicted, expected = (literal.components(mask, 26)[:5] for mask in (prediction, reference))
    prediction, reference = (np.any(parts, axis=0) for parts in (predicted, expected))
    table = [[literal.iou(one, lesion) for one in predicted] for lesion in expected]
    optimal = matched(prediction, reference, threshold=0.001, pairing="optimal")
    assert (optimal.sq or 0.0) * optimal.counts.tp == pytest.approx(literal.best_sum(table), abs=1e-9)
    ties = [value for row in table for value in row if value]
    if len(set(ties)) == len(ties):
        pairs = literal.greedy(table)
        greedy = matched(prediction, reference, threshold=0.001, pairing="greedy")
        assert greedy.counts.tp == len(pairs)
        total = sum(table[row][column] for row, column in pairs)
        assert (greedy.sq or 0.0) * len(pairs) == pytest.approx(total, abs=1e-9)


def panoptica_result(prediction: Mask, reference: Mask, pairing: Pairing) -> Any:
    """panoptica's own figures; it prints and warns, which is no concern of ours."""
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        import panoptica

        evaluator = panoptica.Panoptica_Evaluator(
            expected_input=panoptica.InputType.SEMANTIC,
            instance_approximator=panoptica.ConnectedComponentsInstanceApproximator(),
            instance_matcher=(
                panoptica.NaiveThresholdMatching(matching_threshold=0.5)
                if pairing == "greedy"
                else panoptica.MaxBipartiteMatching(matching_threshold=0.5)
            ),
        )
        result = evaluator.evaluate(prediction.astype(np.uint8), reference.astype(np.uint8), verbose=False)
        return next(iter(result.values()))


@settings(max_examples=30, deadline=None)
@given(
    spaced_pairs().filter(lambda pair: pair[0].ndim == 3),
    st.sampled_from(["greedy", "optimal"]),
)
def test_agrees_with_panoptica(pair: Spaced, pairing: Pairing) -> None:
    prediction, reference, _ = pair
    theirs = panoptica_result(prediction, reference, pairing)
    found = matched(prediction, reference, threshold=0.5, pairing=pairing)
    assert (found.counts.tp, found.counts.fp, found.counts.fn) == (theirs.tp, theirs.fp, theirs.fn)
    assert found.rq == found.counts.f1 == pytest.approx(theirs.rq, abs=1e-9)
    assert found.sq == (pytest.approx(theirs.sq, abs=1e-9) if theirs.tp else None)
    assert found.pq == pytest.approx(theirs.pq, abs=1e-9)
