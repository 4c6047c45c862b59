"""The oracle itself is held against the worked figures of the rules and against hand calculations."""

import json

import numpy as np
import pytest

from literal import carotid


def rectangle(rows: tuple[int, int], columns: tuple[int, int], shape: tuple[int, int] = (8, 8)) -> np.ndarray:
    """A filled rectangle; both ends are included, as the rules write them."""
    mask = np.zeros(shape, dtype=bool)
    mask[rows[0] : rows[1] + 1, columns[0] : columns[1] + 1] = True
    return mask


EMPTY = np.zeros((8, 8), dtype=bool)
REFERENCE = rectangle((2, 5), (2, 5))
PREDICTION = rectangle((3, 6), (2, 5))


def test_dice_of_the_worked_squares() -> None:
    assert carotid.dice(PREDICTION, REFERENCE) == 2 * 12 / (16 + 16)


@pytest.mark.parametrize(("tolerance_px", "expected"), [(0, 0.5), (1, 1.0)])
def test_nsd_of_the_worked_squares(tolerance_px: float, expected: float) -> None:
    assert carotid.nsd(PREDICTION, REFERENCE, tolerance_px) == expected


@pytest.mark.parametrize(("tolerance_px", "expected"), [(1.41, 0.0), (1.4142136, 1.0)])
def test_distances_are_euclidean(tolerance_px: float, expected: float) -> None:
    assert carotid.nsd(rectangle((2, 2), (2, 2)), rectangle((3, 3), (3, 3)), tolerance_px) == expected


def test_a_distance_equal_to_the_tolerance_is_near() -> None:
    assert carotid.nsd(rectangle((0, 0), (0, 0)), rectangle((3, 3), (4, 4)), 5) == 1.0


def test_nsd_weighs_both_boundaries_by_their_pixels() -> None:
    """A 1x1 prediction on the first of 1x4: 1 + 1 of 1 + 4 pixels at tolerance 0."""
    assert carotid.nsd(rectangle((2, 2), (2, 2)), rectangle((2, 2), (2, 5)), 0) == 2 / 5


def test_the_image_border_is_boundary() -> None:
    """Of a full 4x4 image only the inner 2x2 pixels are not boundary."""
    everywhere = np.ones((4, 4), dtype=bool)
    assert len(carotid.boundary(everywhere)) == 12
    assert (1, 1) not in carotid.boundary(everywhere)


def test_a_diagonal_neighbour_outside_makes_no_boundary() -> None:
    mask = rectangle((2, 6), (2, 6))
    mask[2, 2] = False
    assert (3, 3) not in carotid.boundary(mask)
    assert (2, 3) in carotid.boundary(mask)


@pytest.mark.parametrize(
    ("prediction", "reference", "expected"),
    [(EMPTY, EMPTY, 1.0), (EMPTY, REFERENCE, 0.0), (PREDICTION, EMPTY, 0.0)],
    ids=["both empty", "prediction empty", "reference empty"],
)
def test_empty_masks(prediction: np.ndarray, reference: np.ndarray, expected: float) -> None:
    assert carotid.dice(prediction, reference) == expected
    assert carotid.nsd(prediction, reference, 3) == expected


@pytest.mark.parametrize(
    ("seconds", "expected"), [(30, 100), (60, 100), (75, 87.5), (90, 75), (120, 50), (180, 0), (500, 0)]
)
def test_fixed_time_rule(seconds: float, expected: float) -> None:
    assert carotid.time_score_fixed(seconds, 90) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(
    ("times", "expected"),
    [
        ([20, 100, 150], [100, 41.666667, 0]),
        ([40, 100, 200], [100, 57.142857, 0]),
        ([20, 100, 200], [100, 53.333333, 0]),
        ([40, 100, 150], [100, 45.454545, 0]),
        ([70, 70], [100, 100]),
        ([10, 20], [100, 100]),
        ([10], [100]),
        ([200, 250], [0, 0]),
        ([180, 250], [0, 0]),
        ([10, 200], [100, 0]),
    ],
)
def test_cohort_time_rule(times: list[float], expected: list[float]) -> None:
    assert carotid.time_scores_cohort(times, 90) == pytest.approx(expected, abs=5e-7)


@pytest.mark.parametrize(("seconds", "expected"), [(10, 100), (30, 100), (105, 50), (180, 0), (999, 0)])
def test_provisional_time_score(seconds: float, expected: float) -> None:
    assert carotid.time_score_provisional(seconds, 90) == pytest.approx(expected, abs=1e-12)


def test_f1_counts_a_missing_answer_as_false_negative_only() -> None:
    """Class 0: TP 1, FP 1, FN 1; class 1: TP 1, FP 0, FN 1."""
    truth, predicted = [0, 0, 1, 1], [0, None, 0, 1]
    assert carotid.f1_of_class(truth, predicted, 0) == 2 / 4
    assert carotid.f1_of_class(truth, predicted, 1) == 2 / 3
    assert carotid.macro_f1(truth, predicted) == pytest.approx(7 / 12)


def test_a_class_that_never_occurs_has_f1_zero_and_still_counts() -> None:
    assert carotid.macro_f1([0, 0], [0, 0]) == 0.5


def two_cases() -> list[carotid.Row]:
    """One case answered perfectly but for the vessel of the long view (the worked squares), one missing."""
    plaque = rectangle((0, 0), (0, 2)).astype(np.uint8)
    trans = plaque + 2 * REFERENCE.astype(np.uint8)
    reference = carotid.Answer({"long": plaque + 2 * REFERENCE.astype(np.uint8), "trans": trans}, 1)
    prediction = carotid.Answer({"long": plaque + 2 * PREDICTION.astype(np.uint8), "trans": trans}, 1)
    return [carotid.score_case(prediction, reference, 0), carotid.worst_case("missing", reference)]


def test_the_case_score_weighs_structures_and_views() -> None:
    """Long vessel (0.75 + 0.5) / 2 = 0.625; long view 0.4 * 0.625 + 0.6 = 0.85; case (0.85 + 1) / 2 = 0.925."""
    scored, missing = two_cases()
    assert scored.segmentation_score == pytest.approx(0.925)
    assert (scored.class_correct, missing.class_correct) == (1, 0)
    assert missing.segmentation_score == 0


def test_aggregates_by_hand() -> None:
    """Class 1: TP 1, FN 1, so F1 2/3; macro 1/3. Segmentation 0.925 / 2.
    Time 15 s, and 90 s for the missing half: 105 s of 90 s, so 62.5."""
    result = carotid.aggregates(two_cases(), total_seconds=15, baseline=90)
    assert result["classification_score"] == pytest.approx(100 / 3)
    assert result["segmentation_score"] == pytest.approx(46.25)
    assert result["time_score"] == pytest.approx(62.5)
    assert result["score"] == pytest.approx(0.4 * 100 / 3 + 0.4 * 46.25 + 0.2 * 62.5)
    assert result["score_without_time"] == pytest.approx((100 / 3 + 46.25) / 2)
    assert result["dice"]["long_vessel"] == {"mean": 0.375, "std": 0.375}
    assert result["nsd"]["long_vessel"] == {"mean": 0.25, "std": 0.25}
    assert result["f1"] == {"low_risk": 0.0, "high_risk": pytest.approx(2 / 3), "macro": pytest.approx(1 / 3)}
    assert result["confusion_matrix"] == {
        "low_risk": {"low_risk": 0, "high_risk": 0, "missing": 0},
        "high_risk": {"low_risk": 0, "high_risk": 1, "missing": 1},
    }
    assert (result["time_known"], result["total_seconds"], result["time_score_is_provisional"]) == (1, 105, 0)
    json.dumps(result, allow_nan=False)


def test_without_times_the_score_uses_zero_and_says_so() -> None:
    result = carotid.aggregates(two_cases(), total_seconds=None, baseline=90)
    assert (result["time_known"], result["total_seconds"], result["time_score"]) == (0, 180, 0)
    assert result["score"] == pytest.approx(0.4 * (100 / 3 + 46.25))
