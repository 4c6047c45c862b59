"""Points and boxes against a literal reading of the matching, and against evalutils' successor."""

from typing import Any

import numpy as np
import pytest
from grand_challenge_metrics.scorers import score_detection
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from podium.metrics.detection import Repeats, box_iou, match_boxes, match_points

COORDINATE = st.integers(0, 6)
POINTS = st.lists(st.tuples(COORDINATE, COORDINATE, COORDINATE), max_size=8)
PROBABILITY = st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0])
CANDIDATES = st.lists(st.tuples(st.tuples(COORDINATE, COORDINATE, COORDINATE), PROBABILITY), max_size=8)
REPEATS = st.sampled_from(["false_positive", "ignore"])


def points(values: Any, axes: int = 3) -> NDArray[np.float64]:
    return np.array(values, dtype=np.float64).reshape(-1, axes)


def boxes(values: Any, axes: int = 2) -> NDArray[np.float64]:
    return np.array(values, dtype=np.float64).reshape(-1, 2, axes)


def matched(prediction: Any, reference: Any, probabilities: Any, **options: Any) -> dict[str, Any]:
    known = None if probabilities is None else np.array(probabilities, dtype=np.float64)
    return match_points(prediction=prediction, reference=reference, probabilities=known, **options)


def test_worked_example() -> None:
    """References at 0 and 4 mm. 0.9 at 1 takes 0; 0.8 at 1.5 reaches 4 as well and takes it; 0.7 at 9 reaches none."""
    facts = matched(
        points([[9, 0, 0], [1.5, 0, 0], [1, 0, 0]]), points([[0, 0, 0], [4, 0, 0]]), [0.7, 0.8, 0.9], radius_mm=2.5
    )
    assert facts == {"references": 2, "probabilities": [0.9, 0.8, 0.7], "hits": [1, 1, 0], "highest": 0.9}


def test_the_radius_is_included() -> None:
    reference = points([[0, 0, 0]])
    assert matched(points([[3, 4, 0]]), reference, [0.5], radius_mm=5.0)["hits"] == [1]
    assert matched(points([[3, 4, 0]]), reference, [0.5], radius_mm=4.999)["hits"] == [0]


@given(st.tuples(*[st.floats(0.01, 100)] * 3))
def test_the_radius_is_included_to_the_last_bit(place: tuple[float, float, float]) -> None:
    radius = float(np.linalg.norm([place], axis=1)[0])
    assert matched(points([place]), points([[0, 0, 0]]), [0.5], radius_mm=radius)["hits"] == [1]


def test_equal_probabilities_come_in_the_order_of_the_file() -> None:
    """Were the second first, it would take the only reference that the first reaches."""
    facts = matched(points([[0, 0, 0], [1, 0, 0]]), points([[1, 0, 0], [2, 0, 0]]), [0.5, 0.5], radius_mm=1.0)
    assert facts["hits"] == [1, 1]


def test_a_second_candidate_on_a_finding_is_wrong_or_ignored() -> None:
    prediction, reference = points([[0, 0, 0], [0, 0, 1], [9, 9, 9]]), points([[0, 0, 0]])
    once = matched(prediction, reference, [0.5, 0.6, 0.9], radius_mm=2.0)
    assert once == {"references": 1, "probabilities": [0.9, 0.6, 0.5], "hits": [0, 1, 0], "highest": 0.9}
    ignored = matched(prediction, reference, [0.5, 0.6, 0.1], radius_mm=2.0, repeats="ignore")
    assert ignored == {"references": 1, "probabilities": [0.6, 0.1], "hits": [1, 0], "highest": 0.6}


def test_without_probabilities_only_hits_are_known() -> None:
    facts = matched(points([[0, 0, 0], [9, 9, 9]]), points([[0, 0, 0]]), None, radius_mm=1.0)
    assert facts == {"references": 1, "probabilities": None, "hits": [1, 0], "highest": None}
    nothing = matched(points([]), points([[0, 0, 0]]), None, radius_mm=1.0)
    assert nothing == {"references": 1, "probabilities": [], "hits": [], "highest": 0.0}


def test_z_is_left_out_where_one_side_has_none() -> None:
    assert matched(points([[1, 2, 50]]), points([[1, 2]], axes=2), [0.5], radius_mm=1.0)["hits"] == [1]
    flat = boxes([[0, 0], [2, 2]])
    solid = boxes([[0, 0, 7], [2, 2, 7]], axes=3)
    facts = match_boxes(prediction=solid, reference=flat, probabilities=np.array([0.5]), iou_threshold=0.9)
    assert facts["hits"] == [1]


@given(CANDIDATES, POINTS, st.integers(0, 5), REPEATS)
def test_points_agree_with_the_literal_reading(
    candidates: list[tuple[tuple[int, int, int], float]],
    reference: list[tuple[int, int, int]],
    radius: int,
    repeats: Repeats,
) -> None:
    expected = []
    free = set(range(len(reference)))
    for place, probability in sorted(candidates, key=lambda each: -each[1]):
        distances = {
            number: sum((a - b) ** 2 for a, b in zip(place, reference[number], strict=True))
            for number in range(len(reference))
        }
        within = [number for number in distances if distances[number] <= radius**2]
        takes = min(
            (number for number in within if number in free),
            key=lambda number: (distances[number], number),
            default=None,
        )
        free.discard(-1 if takes is None else takes)
        if takes is not None or not within or repeats == "false_positive":
            expected.append((probability, int(takes is not None)))
    facts = matched(
        points([place for place, _ in candidates]),
        points(reference),
        [probability for _, probability in candidates],
        radius_mm=float(radius),
        repeats=repeats,
    )
    assert list(zip(facts["probabilities"], facts["hits"], strict=True)) == expected
    assert facts["highest"] == max((probability for _, probability in candidates), default=0.0)


@pytest.mark.parametrize("seed", range(5))
def test_counts_agree_with_evalutils_where_findings_lie_apart(seed: int) -> None:
    """evalutils goes from finding to finding, we from candidate to candidate: no matter where none reaches two."""
    random = np.random.default_rng(seed)
    reference = random.choice(1000, size=40, replace=False)[:, None] * np.array([[10.0, 0.0, 0.0]])
    near = reference[random.integers(0, 40, size=60)] + random.normal(scale=2.0, size=(60, 3))
    prediction = np.concatenate([near, random.uniform(0, 10_000, size=(20, 3))])
    score = score_detection(
        ground_truth=list(map(tuple, reference)), predictions=list(map(tuple, prediction)), radius=4.0
    )
    for probabilities in (None, random.random(80)):
        facts = matched(prediction, reference, probabilities, radius_mm=4.0)
        tp = sum(facts["hits"])
        assert (tp, len(facts["hits"]) - tp, 40 - tp) == (
            score.true_positives,
            score.false_positives,
            score.false_negatives,
        )


@pytest.mark.parametrize(
    ("box", "other", "iou"),
    [
        ([[0, 0], [2, 2]], [[1, 0], [3, 2]], 2 / 6),
        ([[0, 0], [2, 2]], [[2, 0], [3, 2]], 0.0),
        ([[0, 0], [2, 2]], [[5, 5], [6, 6]], 0.0),
        ([[0, 0, 0], [2, 2, 2]], [[1, 1, 1], [3, 3, 3]], 1 / 15),
        ([[0, 0, 0.5], [2, 2, 0.5]], [[1, 0, 0.5], [3, 2, 0.5]], 2 / 6),  # flat, one plane
        ([[0, 0, 0.5], [2, 2, 0.5]], [[0, 0, 1.5], [2, 2, 1.5]], 0.0),  # flat, two planes
        ([[0, 0, 1], [2, 2, 1]], [[0, 0, 0], [2, 2, 2]], 0.0),  # flat and solid
        ([[1, 0, 0], [1, 2, 2]], [[0, 0, 0], [2, 2, 2]], 0.0),
        ([[1, 1], [1, 1]], [[1, 1], [1, 1]], 1.0),
    ],
)
def test_iou_of_boxes(box: list[list[float]], other: list[list[float]], iou: float) -> None:
    one, two = np.array(box, dtype=np.float64), np.array(other, dtype=np.float64)
    assert box_iou(one, two[None]) == pytest.approx([iou])
    assert box_iou(two, one[None]) == pytest.approx([iou])


@given(
    st.lists(st.tuples(COORDINATE, COORDINATE, st.integers(1, 4), st.integers(1, 4), PROBABILITY), max_size=6),
    st.lists(st.tuples(COORDINATE, COORDINATE, st.integers(1, 4), st.integers(1, 4)), max_size=6),
    st.sampled_from([0.0, 0.1, 0.5, 1.0]),
)
def test_boxes_agree_with_counting_pixels(
    candidates: list[tuple[int, int, int, int, float]], reference: list[tuple[int, int, int, int]], threshold: float
) -> None:
    def pixels(x: int, y: int, width: int, height: int) -> set[tuple[int, int]]:
        return {(x + i, y + j) for i in range(width) for j in range(height)}

    expected = []
    free = set(range(len(reference)))
    for *place, probability in sorted(candidates, key=lambda each: -each[4]):
        mine = pixels(*place)
        iou = {
            number: len(mine & pixels(*reference[number])) / len(mine | pixels(*reference[number])) for number in free
        }
        best = max(iou, key=lambda number: (iou[number], -number), default=None)
        hit = best is not None and iou[best] > 0 and iou[best] >= threshold
        free.discard(best if hit and best is not None else -1)
        expected.append((probability, int(hit)))
    facts: dict[str, Any] = match_boxes(
        prediction=boxes([[[x, y], [x + w, y + h]] for x, y, w, h, _ in candidates]),
        reference=boxes([[[x, y], [x + w, y + h]] for x, y, w, h in reference]),
        probabilities=np.array([each[4] for each in candidates], dtype=np.float64),
        iou_threshold=threshold,
    )
    assert list(zip(facts["probabilities"], facts["hits"], strict=True)) == expected
