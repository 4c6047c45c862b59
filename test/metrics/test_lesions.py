"""Components, detections and areas: the organisers' figures, hand calculations, libraries, and a literal reading."""

import contextlib
import io
import math
import warnings
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from literal import lesion_matching
from literal import lesions as literal
from metrics.made import Mask, Volume, discs, spaced_pairs, volume_pairs, volumes
from monai.metrics import compute_dice
from properties import examples
from skimage.measure import label

from podium.challenges.lesions.files import LesionReference, LesionsSettings
from podium.challenges.lesions.scoring import (
    LesionsCase,
    ReadStep,
    failed_step,
    lesions_metrics,
    mean_height,
    score_step,
    trapezoid_area,
)
from podium.metrics.components import (
    SPARSE_VOXELS,
    DenseComponents,
    as_connectivity,
    count_overlap,
    find_lesions,
    label_components,
    label_densely,
)
from podium.metrics.declaration import Scoreboard
from podium.metrics.engines import engine_named
from podium.metrics.lesions import (
    LesionMatches,
    MatchingRule,
    Pairing,
    component_dice,
    match_components,
    match_lesions,
    reported_pairs,
)
from podium.metrics.overlap import bounding_box
from podium.metrics.surfaces import measure_surfaces
from podium.readers.geometry import Geometry
from podium.readers.volumes import Volume as ReadVolume

UNIT = Geometry((1.0, 1.0, 1.0), (0.0, 0.0, 0.0), (1, 0, 0, 0, 1, 0, 0, 0, 1))


def reference_of(reference: Volume) -> LesionReference:
    return LesionReference(find_lesions(reference, connectivity=18), UNIT)


def step_of(prediction: Volume, reference: Volume, **options: Any) -> dict[str, Any]:
    chosen = LesionsSettings(**{"empty_reference": "undefined"} | options)
    truth = LesionReference(find_lesions(reference, connectivity=chosen.connectivity), UNIT)
    components = label_components(prediction > 0, connectivity=chosen.connectivity)
    volume = ReadVolume(prediction.shape, UNIT, prediction > 0)
    return score_step(0, ReadStep(volume, components), truth, chosen, engine_named("monai"))


PUBLISHED = {
    "low overlap": (
        [(30, 30, 12), (80, 30, 10), (55, 90, 14)],
        [(30, 30, 11), (80, 30, 9), (55, 70, 8)],
        {"tp": 2, "fp": 1, "fn": 1, "dmm": 0.666667, "fpv_ml": 0.0, "fnv_ml": 0.0, "dice": 0.581438},
    ),
    "one missed, one invented": (
        [(40, 40, 12), (90, 90, 10), (55, 90, 1)],
        [(40, 40, 11), (90, 90, 9), (20, 100, 8)],
        {"tp": 2, "fp": 1, "fn": 1, "dmm": 0.666667, "fpv_ml": 0.197, "fnv_ml": 0.005, "dice": 0.792453},
    ),
    "no lesion": (
        [],
        [(64, 64, 10)],
        {"tp": 0, "fp": 1, "fn": 0, "dmm": None, "fpv_ml": 0.317, "fnv_ml": None, "dice": None},
    ),
    "two on one": (
        [(50, 50, 18), (100, 90, 10)],
        [(35, 50, 10), (65, 50, 10), (100, 90, 9)],
        {"tp": 2, "fp": 0, "fn": 0, "dmm": 1.0, "dice": 0.582919},
    ),
}


@pytest.mark.parametrize("name", PUBLISHED)
@pytest.mark.parametrize("instances", [True, False], ids=["instance map", "binary"])
def test_the_published_figures(name: str, instances: bool) -> None:
    """The ids of an instance map must not weigh its voxels: both spellings of the reference give the same."""
    lesions, predicted, expected = PUBLISHED[name]
    found = step_of(discs(*predicted, instances=False), discs(*lesions, instances=instances))
    for figure, value in expected.items():
        assert found[figure] == (None if value is None else pytest.approx(value, abs=1e-6)), figure


def test_the_published_overlaps() -> None:
    lesions, predicted, _ = PUBLISHED["low overlap"]
    found = step_of(discs(*predicted, instances=False), discs(*lesions, instances=True))
    assert [(pair["lesion"], pair["iou"]) for pair in found["pairs"]] == [
        (1, pytest.approx(0.854875, abs=1e-6)),
        (2, pytest.approx(0.798107, abs=1e-6)),
        (3, pytest.approx(0.011236, abs=1e-6)),
    ]


def line(*filled: int, length: int = 20) -> Volume:
    volume = np.zeros((1, 1, length), np.uint8)
    volume[0, 0, list(filled)] = 1
    return volume


def test_an_iou_equal_to_the_threshold_is_a_match() -> None:
    """One voxel of a lesion of ten: 1/10."""
    assert step_of(line(3), line(*range(10)))["tp"] == 1
    assert step_of(line(3), line(*range(11)))["tp"] == 0


def test_any_overlap_saves_a_volume_though_it_matches_nothing() -> None:
    found = step_of(line(3), line(*range(12)))
    assert (found["tp"], found["fp"], found["fn"], found["fpv_ml"], found["fnv_ml"]) == (0, 1, 1, 0.0, 0.0)


@pytest.mark.parametrize(("connectivity", "count"), [(6, 3), (18, 2), (26, 1)])
def test_connectivity(connectivity: int, count: int) -> None:
    """Three voxels: the first two share an edge, the last two a corner."""
    volume = np.zeros((3, 3, 3), np.uint8)
    volume[0, 0, 0] = volume[0, 1, 1] = volume[1, 2, 2] = 1
    assert label_components(volume > 0, connectivity=connectivity).count == count
    assert find_lesions(volume, connectivity=connectivity).count == count


def test_an_instance_map_decides_what_a_lesion_is() -> None:
    """Label 7 is in two pieces, 7 and 9 touch, and there is no label in between."""
    reference = np.zeros((1, 1, 12), np.uint16)
    reference[0, 0, [0, 1, 5, 6]] = 7
    reference[0, 0, [2, 3]] = 9
    lesions = find_lesions(reference, connectivity=18)
    assert lesions.ids.tolist() == [7, 9]
    assert lesions.voxels.tolist() == [4, 2]
    assert lesions.centroids().tolist() == [[0, 0, 3.0], [0, 0, 2.5]]


@pytest.mark.parametrize("value", [1, 2, 255, 70000])
def test_one_non_zero_value_is_a_binary_mask(value: int) -> None:
    reference = line(1, 2, 8).astype(np.uint32) * value
    assert find_lesions(reference, connectivity=18).ids.tolist() == [1, 2]


def test_a_reference_of_nothing_may_be_scored_by_choice() -> None:
    nothing = line()
    assert step_of(nothing, nothing)["dice"] is None
    assert step_of(nothing, nothing, empty_reference="score")["dice"] == 1.0
    assert step_of(line(1), nothing, empty_reference="score")["dice"] == 0.0
    assert step_of(line(1), nothing, empty_reference="score")["dmm"] is None
    assert step_of(nothing, line(1))["dice"] == step_of(nothing, line(1))["dmm"] == 0.0


def test_a_failed_step_missed_everything_and_invented_nothing() -> None:
    truth = LesionReference(find_lesions(line(1, 2, 5), connectivity=18), Geometry((2, 3, 4), (0,) * 3, (1,) * 9))
    found = failed_step(3, truth, LesionsSettings(empty_reference="undefined"), status="failed", error="why")
    assert (found["dice"], found["dmm"], found["fpv_ml"]) == (0.0, 0.0, 0.0)
    assert found["fnv_ml"] == pytest.approx(3 * 24 / 1000)
    assert (found["tp"], found["fp"], found["fn"], found["error"], found["step"]) == (0, 0, 2, "why", 3)


@pytest.mark.parametrize(("choice", "dice"), [("undefined", None), ("score", 0.0)])
def test_a_failed_step_without_lesions_agrees_with_nothing(choice: Any, dice: float | None) -> None:
    settings = LesionsSettings(empty_reference=choice)
    found = failed_step(0, reference_of(line()), settings, status="missing", error="why")
    assert (found["dice"], found["dmm"], found["fnv_ml"], found["fpv_ml"]) == (dice, None, None, 0.0)


@examples(300)
@given(volume_pairs(), st.sampled_from([6, 18, 26]), st.sampled_from(["undefined", "score"]))
def test_agrees_with_the_literal_reading(pair: tuple[Volume, Volume], connectivity: int, empty: str) -> None:
    prediction, reference = pair
    found = step_of(prediction, reference, connectivity=connectivity, empty_reference=empty)
    expected = literal.score_step(
        prediction, reference, (1, 1, 1), connectivity=connectivity, empty_reference=empty
    ).metrics()
    for figure, value in expected.items():
        assert found[figure] == (value if not isinstance(value, float) else pytest.approx(value, abs=1e-12)), figure


@pytest.mark.parametrize("label_mask", [label_components, label_densely], ids=["by voxels", "by cc3d"])
@examples(150)
@given(st.data(), st.sampled_from([6, 18, 26]))
def test_components_are_those_of_scikit_image(label_mask: Any, data: st.DataObject, connectivity: int) -> None:
    volume = data.draw(volumes(data.draw(st.tuples(*[st.integers(1, 8)] * 3)))) > 0
    found = label_mask(volume, connectivity=connectivity)
    theirs, count = label(volume, connectivity={6: 1, 18: 2, 26: 3}[connectivity], return_num=True)
    assert found.count == count
    ours = found.labels_at(np.arange(volume.size))
    pairs = {(int(a), int(b)) for a, b in zip(ours, theirs.flat, strict=True)}
    assert len(pairs) == count + (not volume.all())
    assert {0} == {b for a, b in pairs if a == 0} | {0}


@examples(100)
@given(volume_pairs(), st.sampled_from([6, 18, 26]))
def test_dense_and_sparse_masks_are_counted_alike(pair: tuple[Volume, Volume], connectivity: int) -> None:
    """The two numberings differ, so the sizes are compared as a whole."""
    lesions = find_lesions(pair[1], connectivity=connectivity)
    sparse = label_components(pair[0] > 0, connectivity=connectivity)
    dense = label_densely(pair[0] > 0, connectivity=connectivity)
    everyone = np.arange(1, sparse.count + 1)
    assert sparse.count == dense.count
    assert sorted(sparse.sizes(everyone)[0]) == sorted(dense.sizes(everyone)[0])
    one, other = count_overlap(sparse, lesions), count_overlap(dense, lesions)
    assert match_lesions(one, iou_threshold=0.1) == match_lesions(other, iou_threshold=0.1)
    assert sorted(one.iou) == sorted(other.iou)
    assert one.untouched_component_voxels == other.untouched_component_voxels


def test_a_mask_with_many_voxels_is_labelled_densely() -> None:
    mask = np.zeros((200, 200, 200), bool)
    mask[10:190, 10:190, 10:190] = True
    mask[0, 0, 0] = True
    assert mask.sum() > SPARSE_VOXELS
    components = label_components(mask, connectivity=18)
    assert isinstance(components, DenseComponents)
    assert components.count == 2
    assert find_lesions(mask.view(np.uint8), connectivity=18).voxels.tolist() == [1, 180**3]


@examples(100)
@given(volume_pairs())
def test_dice_is_monais(pair: tuple[Volume, Volume]) -> None:
    prediction, reference = (volume > 0 for volume in pair)
    overlap = count_overlap(label_components(prediction, connectivity=18), find_lesions(pair[1], connectivity=18))
    if reference.any():
        theirs = compute_dice(*(torch.from_numpy(mask)[None, None].float() for mask in (prediction, reference)))
        assert overlap.counts.dice() == pytest.approx(float(theirs), abs=1e-6)


@examples(100)
@given(volume_pairs())
def test_the_pairs_alone_give_the_detections(pair: tuple[Volume, Volume]) -> None:
    """TP, FP and FN can be recomputed from the pairs and the two counts, as an organiser would."""
    overlap = count_overlap(label_components(pair[0] > 0, connectivity=18), find_lesions(pair[1], connectivity=18))
    detections = match_lesions(overlap, iou_threshold=0.1)
    matched = [each for each in reported_pairs(overlap, iou_threshold=0.1) if each["iou"] >= 0.1]
    assert len({each["lesion"] for each in matched}) == detections.tp
    assert overlap.component_count - len({each["component"] for each in matched}) == detections.fp
    assert overlap.lesions.count - detections.tp == detections.fn


def test_a_prediction_of_specks_lists_few_pairs() -> None:
    """500 components on one lesion, none of which matches: one pair says so."""
    speckled = np.zeros((1, 1, 1000), np.uint8)
    speckled[0, 0, ::2] = 1
    found = step_of(speckled, np.ones((1, 1, 1000), np.uint8))
    assert (found["components"], found["fp"], len(found["pairs"])) == (500, 500, 1)


@examples(100)
@given(st.data())
def test_the_box_is_tight(data: st.DataObject) -> None:
    volume = data.draw(volumes(data.draw(st.tuples(*[st.integers(1, 8)] * 3))))
    box = bounding_box(volume > 0)
    if box is None:
        assert not volume.any()
        return
    assert volume[box].sum() == volume.sum()
    for axis, cut in enumerate(box):
        assert volume.take(cut.start, axis).any()
        assert volume.take(cut.stop - 1, axis).any()


def test_six_perfect_steps_have_an_area_of_five() -> None:
    assert trapezoid_area([1.0] * 6) == 5.0
    assert mean_height([1.0] * 6) == 1.0


def test_areas_by_hand() -> None:
    """0.2, 0.6, 0.4: (0.2 + 0.6) / 2 + (0.6 + 0.4) / 2 = 0.9; over two intervals 0.45. A single value is itself."""
    assert trapezoid_area([0.2, 0.6, 0.4]) == pytest.approx(0.9)
    assert mean_height([0.2, 0.6, 0.4]) == pytest.approx(0.45)
    assert (trapezoid_area([0.7]), mean_height([0.7])) == (0.0, 0.7)


def test_the_areas_of_a_case_without_lesions_are_undefined() -> None:
    prediction = line(1)
    components = label_components(prediction > 0, connectivity=18)
    reference = reference_of(line())
    mask = ReadVolume(prediction.shape, reference.geometry, prediction > 0)
    case = LesionsCase(reference, [step_of(prediction, line())] * 3, ReadStep(mask, components))
    figures, _ = Scoreboard(
        metrics=lesions_metrics(LesionsSettings(empty_reference="undefined"), engine_named("monai")), leaderboard=()
    ).row(case)
    assert figures["auc_dice"] is None
    assert figures["auc_dmm_normalised"] is None
    assert figures["final_fpv_ml"] == 0.001


def test_what_a_lost_case_has_invented_is_not_known() -> None:
    """Nothing was predicted: 0 ml would be the best volume there is, and the worst has no number."""
    reference = reference_of(line(1, 2))
    steps = [failed_step(0, reference, LesionsSettings(empty_reference="undefined"), status="missing", error="why")]
    figures, _ = Scoreboard(
        metrics=lesions_metrics(LesionsSettings(empty_reference="undefined"), engine_named("monai")), leaderboard=()
    ).row(LesionsCase(reference, steps), lacks=lambda _: True)
    assert figures["final_fpv_ml"] is None
    assert figures["final_fnv_ml"] == 0.002
    assert figures["auc_dice"] == figures["final_dmm"] == 0.0


@examples(50)
@given(st.data())
def test_lesion_centroids(data: st.DataObject) -> None:
    volume = data.draw(volumes(data.draw(st.tuples(*[st.integers(1, 6)] * 3))))
    found = sorted(find_lesions((volume > 0).view(np.uint8), connectivity=18).centroids().tolist())
    expected = sorted(np.mean(sorted(each), axis=0).tolist() for each in literal.components(volume))
    assert np.allclose(found, expected) if expected else found == []


def test_dice_per_component_is_the_mean_over_the_reference() -> None:
    """The first lesion is matched exactly, of the second half is found: (1 + 2/3) / 2."""
    reference, prediction = np.zeros((6, 6, 30), bool), np.zeros((6, 6, 30), bool)
    reference[2:4, 2:4, 2:6] = prediction[2:4, 2:4, 2:6] = True
    reference[2:4, 2:4, 20:24] = True
    prediction[2:4, 2:4, 20:22] = True
    assert component_dice(prediction=prediction, reference=reference) == pytest.approx((1 + 2 / 3) / 2, abs=1e-6)


def test_a_snake_through_the_whole_volume_is_one_component() -> None:
    volume = np.zeros((9, 41, 30), np.bool_)
    volume[::2, ::2] = True
    volume[::2, 1::4, -1] = volume[::2, 3::4, 0] = True  # from row to row, at the end where the last one stopped
    volume[1::4, -1, -1] = volume[3::4, 0, 0] = True  # and from plane to plane
    for mask in (volume, volume[::-1, :, ::-1]):
        assert label_components(mask, connectivity=6).count == label(mask, connectivity=1).max() == 1


@pytest.mark.parametrize("value", [1, 7])
@examples(10)
@given(data=st.data())
def test_lesions_of_dense_and_sparse_references_are_the_same(value: int, data: st.DataObject) -> None:
    reference = (data.draw(volumes((5, 7, 8))) > 0).astype(np.uint8) * np.uint8(value)
    sparse = find_lesions(reference, connectivity=18)
    with pytest.MonkeyPatch.context() as changed:
        changed.setattr("podium.metrics.components.SPARSE_VOXELS", -1)
        dense = find_lesions(reference, connectivity=18)
    assert np.array_equal(dense.places, sparse.places)
    assert np.array_equal(dense.labels, sparse.labels)
    assert np.array_equal(dense.voxels, sparse.voxels)


# Lesion by lesion: hand-made figures, literal readings of the rules, and panoptica.

Spaced = tuple[Mask, Mask, tuple[float, ...]]
WIDTH = 30


def line_of_components(*stretches: tuple[int, int]) -> Mask:
    """Voxels from..to (included) of one row."""
    mask = np.zeros((1, 1, WIDTH), np.bool_)
    for first, last in stretches:
        mask[0, 0, first : last + 1] = True
    return mask


def matched(prediction: Mask, reference: Mask, *, spacing: tuple[float, ...] = (), **rule: Any) -> LesionMatches:
    return match_components(
        prediction=prediction,
        reference=reference,
        spacing_mm=spacing or (1.0,) * reference.ndim,
        rule=MatchingRule(**rule),
    )


def detections(found: LesionMatches) -> tuple[int, int, int]:
    return found.counts.tp, found.counts.fp, found.counts.fn


REFERENCE = line_of_components((0, 3), (10, 11), (20, 29))
PREDICTION = line_of_components((1, 3), (13, 13), (20, 23), (25, 29))


def test_figures_of_a_worked_example() -> None:
    """Lesion 1: IoU 3/4, Dice 6/7. Lesion 2: missed, and a component beside it. Lesion 3: IoU 4/10 and 5/10."""
    found = matched(PREDICTION, REFERENCE, threshold=0.5)
    assert detections(found) == (2, 2, 1)
    assert found.counts.f1 == found.rq == pytest.approx(4 / 7)
    assert found.counts.precision == 2 / 4
    assert found.counts.recall == pytest.approx(2 / 3)
    assert found.sq == pytest.approx((0.75 + 0.5) / 2)
    assert found.pq == pytest.approx(0.625 * 4 / 7)
    assert found.lesion_dice == pytest.approx((6 / 7 + 10 / 15) / 5)
    assert found.lesion_hd95(miss_mm=374.0) == pytest.approx((0.85 + 4.55 + 3 * 374) / 5)
    assert found.fpv_ml == 0.001
    assert found.fnv_ml == 0.002


def test_any_joins_all_components_that_match_a_lesion() -> None:
    found = matched(PREDICTION, REFERENCE, threshold=0.4, pairing="any")
    assert detections(found) == (2, 1, 1)
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
        ({"threshold": 0.3, "pairing": "greedy"}, (2, 2, 1)),  # a lesion is paired once, with several components in it
        ({"threshold": 0.3, "pairing": "optimal"}, (2, 2, 1)),
        ({"min_voxels": 3}, (2, 1, 0)),
        ({"min_voxels": 3, "min_predicted_voxels": 1}, (2, 2, 0)),
    ],
)
def test_rules_on_the_worked_example(rule: dict[str, Any], expected: tuple[int, int, int]) -> None:
    assert detections(matched(PREDICTION, REFERENCE, **rule)) == expected


@pytest.mark.parametrize(("threshold", "found"), [(8.9, 0), (9.0, 1)])
def test_centroids_are_compared_in_mm(threshold: float, found: int) -> None:
    """Two voxels of 3 mm along the last axis and one of 6.7082 mm along the first: sqrt(36 + 45) = 9 mm."""
    prediction, reference = np.zeros((2, 2, 4, 4), np.bool_)
    reference[0, 1, 0] = prediction[1, 1, 2] = True
    spacing = (math.sqrt(45), 5.0, 3.0)
    matches = matched(prediction, reference, spacing=spacing, match="centroid", threshold=threshold)
    assert matches.counts.tp == found


def test_a_component_on_a_lesion_that_is_too_small_is_no_false_positive() -> None:
    found = matched(line_of_components((0, 3), (10, 13)), line_of_components((0, 3), (11, 12)), min_voxels=3)
    assert detections(found) == (1, 0, 0)
    assert found.lesion_dice == 1.0


def test_lesions_are_merged_where_they_touch_when_grown() -> None:
    assert matched(line_of_components((0, 0)), line_of_components((0, 3), (5, 8)), dilate=0).counts.fn == 2
    assert matched(line_of_components((0, 0)), line_of_components((0, 3), (5, 8)), dilate=1).counts.fn == 1
    assert matched(line_of_components((0, 0)), line_of_components((0, 3), (7, 8)), dilate=1).counts.fn == 2


def test_optimal_finds_more_than_greedy() -> None:
    """Greedy gives the component in the middle to the lesion it fits best, and the other lesion stays without one."""
    reference, prediction = line_of_components((0, 9), (11, 18)), line_of_components((4, 15), (17, 18))
    rule: dict[str, Any] = {"match": "overlap", "threshold": 0.2}
    assert matched(prediction, reference, **rule, pairing="greedy").counts.tp == 1
    assert matched(prediction, reference, **rule, pairing="optimal").counts.tp == 2


def test_optimal_takes_the_largest_sum_not_the_most_pairs() -> None:
    """Shares of 0.8 for one pair, or of 0.1 for each of two."""
    reference, prediction = line_of_components((0, 9), (11, 20)), line_of_components((0, 0), (2, 11))
    found = matched(prediction, reference, match="overlap", threshold=0.1)
    assert (found.counts.tp, found.lesion_dice) == (1, pytest.approx(16 / 20 / 3))


def test_optimal_pairs_as_many_centroids_as_it_can() -> None:
    """At 3, lesions 0 and 4 (distances 3, 1): component 3 is nearer to lesion 4, which component 7 can have too."""
    reference, prediction = line_of_components((0, 0), (4, 4)), line_of_components((3, 3), (7, 7))
    counts = [
        matched(prediction, reference, match="centroid", threshold=3.0, pairing=pairing).counts.tp
        for pairing in ("greedy", "optimal")
    ]
    assert counts == [1, 2]


@pytest.mark.parametrize("dilate", [0, 1])
def test_nothing_on_a_side(dilate: int) -> None:
    empty, some = line_of_components(), line_of_components((2, 4))
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


@examples(120)
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
    expected, *counts = lesion_matching.brats(prediction, reference, dilate=dilate, larger_than=larger_than)
    assert found.lesion_dice == (None if expected is None else pytest.approx(expected, abs=1e-12))
    assert list(detections(found)) == counts


@examples(120)
@given(spaced_pairs(empty=True), st.sampled_from([6, 18, 26]), st.sampled_from([0.01, 0.2, 0.5]))
def test_agrees_with_the_literal_reading_of_any(pair: Spaced, connectivity: int, threshold: float) -> None:
    prediction, reference, _ = pair
    predicted = lesion_matching.components(prediction, connectivity)
    expected = lesion_matching.components(reference, connectivity)
    hits = [[lesion_matching.iou(one, lesion) >= threshold for one in predicted] for lesion in expected]
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
    predicted, values = lesion_matching.components(prediction, 26), []
    for lesion in lesion_matching.components(reference, 26):
        hits = [one for one in predicted if (one & lesion).any()]
        value: float | None = miss_mm
        if hits:
            union = np.any(hits, axis=0)
            distances = measure_surfaces(prediction=union, reference=lesion, spacing=spacing)
            value = max(distances.prediction.percentile(95), distances.reference.percentile(95))
        values.append(value)
    values.extend(miss_mm for one in predicted if not (one & reference).any())
    return math.fsum(values) / len(values) if values else None


@examples(60)
@given(spaced_pairs(empty=True))
def test_hd95_is_that_of_every_lesion_with_its_components(pair: Spaced) -> None:
    prediction, reference, spacing = pair
    found = matched(prediction, reference, spacing=spacing, match="overlap", threshold=0.0, pairing="any")
    expected = hd95_of_pairs(prediction, reference, spacing, 50.0)
    assert found.lesion_hd95(miss_mm=50.0) == (None if expected is None else pytest.approx(expected, abs=1e-9))


@examples(100)
@given(spaced_pairs())
def test_one_to_one_pairings_agree_with_the_literal_reading(pair: Spaced) -> None:
    prediction, reference, _ = pair
    predicted, expected = (lesion_matching.components(mask, 26)[:5] for mask in (prediction, reference))
    prediction, reference = (np.any(parts, axis=0) for parts in (predicted, expected))
    table = [[lesion_matching.iou(one, lesion) for one in predicted] for lesion in expected]
    optimal = matched(prediction, reference, threshold=0.001, pairing="optimal")
    assert (optimal.sq or 0.0) * optimal.counts.tp == pytest.approx(lesion_matching.best_sum(table), abs=1e-9)
    ties = [value for row in table for value in row if value]
    if len(set(ties)) == len(ties):
        pairs = lesion_matching.greedy(table)
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


@examples(30)
@given(
    spaced_pairs().filter(lambda pair: pair[0].ndim == 3),
    st.sampled_from(["greedy", "optimal"]),
)
def test_agrees_with_panoptica(pair: Spaced, pairing: Pairing) -> None:
    prediction, reference, _ = pair
    theirs = panoptica_result(prediction, reference, pairing)
    found = matched(prediction, reference, threshold=0.5, pairing=pairing)
    assert detections(found) == (theirs.tp, theirs.fp, theirs.fn)
    assert found.rq == found.counts.f1 == pytest.approx(theirs.rq, abs=1e-9)
    assert found.sq == (pytest.approx(theirs.sq, abs=1e-9) if theirs.tp else None)
    assert found.pq == pytest.approx(theirs.pq, abs=1e-9)


@pytest.mark.parametrize(("settings", "longest"), [({"steps": 4}, 3), ({"regime": "clinician"}, math.inf)])
def test_the_upper_ends_of_the_ranges(settings: dict[str, Any], longest: float) -> None:
    """An area over n steps is at most n - 1; clinicians take as many steps as they take."""
    metrics = {
        each.name: each.highest
        for each in lesions_metrics(
            LesionsSettings(empty_reference="undefined", per_component_dice=True, **settings), engine_named("monai")
        )
    }
    shares = ("auc_{}_normalised", "final_{}")
    assert metrics == {
        **{f"auc_{name}": longest for name in ("dice", "dmm")},
        **{share.format(name): 1.0 for share in shares for name in ("dice", "dmm")},
        **dict.fromkeys(("final_fpv_ml", "final_fnv_ml"), math.inf),
        "final_component_dice": 1.0,
    }
