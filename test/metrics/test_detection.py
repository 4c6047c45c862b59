"""Points and boxes against a literal reading of the matching, and against evalutils' successor."""

from typing import Any

import numpy as np
import pytest
from grand_challenge_metrics.scorers import score_detection
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import ndimage
from sklearn.metrics import average_precision_score, roc_auc_score, roc_curve

from podium.metrics import detection as detection_curves
from podium.metrics.detection import (
    FROC_RATES,
    FrocRule,
    Repeats,
    average_precision,
    box_iou,
    case_auroc,
    case_facts,
    counted,
    cpm,
    froc,
    match_boxes,
    match_detection_map,
    match_points,
    missing_facts,
)
from podium.metrics.resampling import Resamples

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


def test_equal_probabilities_come_in_the_order_of_their_places() -> None:
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
    for place, probability in sorted(candidates, key=lambda each: (-each[1], each[0])):
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
    for *place, probability in sorted(candidates, key=lambda each: (-each[4], each)):
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


# Detection maps: worked maps, and picai_eval on random ones.


def line(*values: float) -> NDArray[np.float64]:
    return np.array([values], dtype=np.float64)


def matched_map(prediction: NDArray[Any], reference: NDArray[Any], **options: Any) -> dict[str, Any]:
    return match_detection_map(prediction=prediction, reference=reference, **options)


def test_worked_map() -> None:
    """Candidates 0.3..0.8, 0.6 and 0.2; the second of the findings is missed."""
    facts = matched_map(line(0.3, 0.8, 0, 0.6, 0, 0.2, 0, 0, 0), line(1, 1, 0, 0, 0, 0, 0, 2, 0))
    assert facts == {"references": 2, "probabilities": [0.8, 0.6, 0.2], "hits": [1, 0, 0], "highest": 0.8}


def test_a_candidate_on_a_matched_finding_is_neither_right_nor_wrong() -> None:
    """IoU 2/5 and 1/5: the first is matched. Were only the first enough, the second would be wrong."""
    prediction, reference = line(0.4, 0.4, 0, 0.9, 0, 0.1), line(1, 1, 1, 1, 1, 0)
    facts = matched_map(prediction, reference)
    assert facts == {"references": 1, "probabilities": [0.4, 0.1], "hits": [1, 0], "highest": 0.9}
    assert matched_map(prediction, reference, iou_threshold=0.3)["hits"] == [0, 1, 0]


def test_the_matching_prefers_many_matches_to_good_ones() -> None:
    """The large component fits the first finding best (IoU 7/11), but only so do both find one (1/9 and 1/16)."""
    prediction, reference = line(0.5, 0, *[0.5] * 9, *[0] * 7), line(*[1] * 9, 0, *[1] * 8)
    facts = matched_map(prediction, reference, iou_threshold=0.05)
    assert (facts["references"], facts["hits"]) == (2, [1, 1])
    assert matched_map(prediction, reference)["hits"] == [1]


def test_the_threshold_is_included() -> None:
    assert matched_map(line(1, 0, 0, 0), line(1, 1, 1, 1), iou_threshold=0.25)["hits"] == [1]
    assert matched_map(line(1, 0, 0, 0), line(1, 1, 1, 1), iou_threshold=0.2500001)["hits"] == [0]


def test_without_overlap_nothing_is_found_at_any_threshold() -> None:
    assert matched_map(line(1, 0, 0), line(0, 0, 1), iou_threshold=0.0)["hits"] == [0]


def test_findings_are_components_whatever_their_labels() -> None:
    assert matched_map(line(0, 0, 0, 0), line(1, 2, 0, 1))["references"] == 2


def test_connectivity() -> None:
    diagonal = np.eye(3) * 0.5
    empty = np.zeros((3, 3))
    assert [len(matched_map(diagonal, empty, connectivity=each)["hits"]) for each in (6, 18, 26)] == [3, 1, 1]
    steps = np.zeros((2, 2, 2))
    steps[0, 0, 0] = steps[1, 1, 1] = 0.5
    assert len(matched_map(steps, np.zeros((2, 2, 2)))["hits"]) == 1
    assert len(matched_map(steps, np.zeros((2, 2, 2)), connectivity=18)["hits"]) == 2


def test_only_the_most_confident_candidates_count() -> None:
    facts = matched_map(line(0.1, 0, 0.3, 0, 0.2, 0, 0.3), line(1, 0, 0, 0, 0, 0, 1), max_candidates=2)
    assert (facts["probabilities"], facts["hits"]) == ([0.3, 0.3], [0, 1])


def test_a_map_full_of_specks_or_without_background_is_still_a_map() -> None:
    specks = np.zeros((6, 60, 60), np.float32)
    specks[::2, ::2, ::2] = 0.5
    assert len(matched_map(specks, np.zeros(specks.shape, np.uint8))["hits"]) == 1000
    full = matched_map(np.full((5, 1000, 1000), 0.25, np.float32), np.ones((5, 1000, 1000), np.uint8))
    assert full == {"references": 1, "probabilities": [0.25], "hits": [1], "highest": 0.25}


def random_case(random: np.random.Generator) -> tuple[NDArray[np.float32], NDArray[np.uint8]]:
    """Up to three findings, some predicted in two halves, and up to three blobs anywhere, each of one confidence."""
    reference, mask = np.zeros((6, 16, 16), np.uint8), np.zeros((6, 16, 16), np.bool_)

    def box(largest: int) -> tuple[slice, ...]:
        corner, size = random.integers(0, reference.shape), random.integers(1, largest, 3)
        return tuple(slice(start, start + length) for start, length in zip(corner, size, strict=True))

    for _ in range(random.integers(0, 4) if random.random() < 0.7 else 0):
        finding = box(9)
        reference[finding] = 1
        if random.random() < 0.5:
            mask[finding] = True
            mask[:, (finding[1].start + min(finding[1].stop, 16)) // 2] = False
    for _ in range(random.integers(0, 4)):
        mask[box(5)] = True
    labels, count = ndimage.label(mask, structure=np.ones((3, 3, 3)))
    prediction = np.append(0, random.choice([0.2, 0.4, 0.6, 0.8, 0.9], size=count))[labels]
    return prediction.astype(np.float32), reference


def test_agrees_with_picai_eval() -> None:
    import picai_eval

    random = np.random.default_rng(13)
    cases = [random_case(random) for _ in range(300)]
    ours = [matched_map(prediction, reference) for prediction, reference in cases]
    theirs = picai_eval.evaluate(
        y_det=[prediction for prediction, _ in cases],
        y_true=[reference for _, reference in cases],
        num_parallel_calls=1,
    )
    neither = 0
    for number, facts in enumerate(ours):
        results = theirs.lesion_results[number]
        candidates = sorted((-confidence, hit) for hit, confidence, _ in results if confidence > 0)
        mine = sorted((-value, hit) for value, hit in zip(facts["probabilities"], facts["hits"], strict=True))
        assert mine == candidates
        assert facts["references"] == sum(hit for hit, _, _ in results)
        assert facts["highest"] == pytest.approx(theirs.case_pred[number])
        neither += int(ndimage.label(cases[number][0], structure=np.ones((3, 3, 3)))[1] > len(mine))
    assert neither > 5  # candidates that are neither right nor wrong were really among them
    whole = Resamples.whole(len(cases))
    assert average_precision(ours, whole) == pytest.approx([theirs.AP], abs=1e-9)
    assert case_auroc(ours, whole) == pytest.approx([theirs.auroc], abs=1e-9)


# Counts, FROC, AP and AUROC of detections: worked figures, LUNA16's and scikit-learn's way, and every replicate.

Facts = dict[str, Any]


def facts(references: int, *candidates: tuple[float, int], highest: float | None = None) -> Facts:
    falling = sorted(candidates, key=lambda each: -each[0])
    top = max((probability for probability, _ in candidates), default=0.0)
    return case_facts(
        probabilities=[probability for probability, _ in falling],
        hits=[bool(hit) for _, hit in falling],
        references=references,
        highest=top if highest is None else highest,
    )


@st.composite
def a_case(draw: st.DrawFn) -> Facts:
    missed = draw(st.integers(0, 2))
    probability = st.sampled_from([0.1, 0.2, 0.5, 0.7, 1.0])
    candidates = draw(st.lists(st.tuples(probability, st.integers(0, 1)), max_size=6))
    return facts(missed + sum(hit for _, hit in candidates), *candidates)


CASES = st.lists(a_case(), min_size=1, max_size=8)
TWO = [facts(2, (0.9, 1), (0.6, 0), (0.3, 1)), facts(1, (0.8, 0)), facts(0, (0.6, 0))]


def whole(cases: list[Facts]) -> Resamples:
    return Resamples.whole(len(cases))


def test_worked_counts() -> None:
    """At 0.6: one of three found, three wrong."""
    values = {
        name: float(counted(name, TWO, whole(TWO), threshold=0.6)[0])  # type: ignore[arg-type]
        for name in ("tp", "fp", "fn", "f1", "precision", "recall")
    }
    assert values == {"tp": 1, "fp": 3, "fn": 2, "f1": 2 / 7, "precision": 1 / 4, "recall": 1 / 3}
    assert counted("tp", TWO, whole(TWO)) == [2]


def test_worked_curves() -> None:
    """Points (FP, TP): (0,1) (1,1) (3,1) (3,2) of 3 cases and 3 findings."""
    assert froc(TWO, whole(TWO), rate=1 / 8) == pytest.approx([1 / 3])
    assert froc(TWO, whole(TWO), rate=1.0) == pytest.approx([2 / 3])  # the upper end of a vertical stretch
    assert cpm(TWO, whole(TWO)) == pytest.approx([(3 * 1 / 3 + 4 * 2 / 3) / 7])
    assert average_precision(TWO, whole(TWO)) == pytest.approx([(1 + 2 / 5) / 3])
    assert case_auroc(TWO, whole(TWO)) == [1.0]


def test_between_two_points_the_froc_curve_is_linear() -> None:
    """Equal probabilities come together: from (0, 0) straight to 4 false positives and 1 finding."""
    case = [facts(1, (0.5, 1), (0.5, 0), (0.5, 0), (0.5, 0), (0.5, 0))]
    assert [float(froc(case, whole(case), rate=rate)[0]) for rate in (0.0, 1.0, 2.0, 4.0, 8.0)] == [0, 0.25, 0.5, 1, 1]


def test_where_a_figure_has_no_value() -> None:
    empty = [facts(0), facts(0, (0.5, 0))]
    for value in (
        froc(empty, whole(empty), rate=1.0),
        cpm(empty, whole(empty)),
        average_precision(empty, whole(empty)),
        case_auroc(empty, whole(empty)),
        counted("recall", empty, whole(empty)),
        counted("precision", empty, whole(empty), threshold=0.9),
    ):
        assert np.isnan(value).all()
    silent = [facts(1), facts(0)]
    assert average_precision(silent, whole(silent)) == cpm(silent, whole(silent)) == [0.0]
    assert case_auroc(silent, whole(silent)) == [0.5]


def test_without_probabilities_only_the_counts_exist() -> None:
    cases = [case_facts(probabilities=None, hits=[True, False], references=2, highest=None), facts(1, (0.9, 1))]
    assert counted("tp", cases, whole(cases), threshold=0.95) == [1]
    assert counted("f1", cases, whole(cases)) == pytest.approx([4 / 6])
    for value in (cpm(cases, whole(cases)), average_precision(cases, whole(cases)), case_auroc(cases, whole(cases))):
        assert np.isnan(value).all()


def test_a_lost_case_misses_everything_and_is_worst_as_a_case() -> None:
    cases = [facts(1, (0.9, 1)), missing_facts(references=2), missing_facts(references=0)]
    assert counted("fn", cases, whole(cases)) == [2]
    assert counted("fp", cases, whole(cases)) == [0]
    assert case_auroc(cases, whole(cases)) == [0.0]


def test_a_candidate_of_probability_0_adds_no_precision_as_in_picai_eval() -> None:
    cases = [facts(2, (0.5, 1), (0.0, 1))]
    assert average_precision(cases, whole(cases)) == [0.5]


def luna16(cases: list[Facts], rates: tuple[float, ...]) -> NDArray[np.float64]:
    """LUNA16's way: scikit-learn's ROC curve of the candidates, in false positives per scan, read by interpolation."""
    hits = [hit for case in cases for hit in case["hits"]]
    scores = [score for case in cases for score in case["probabilities"]]
    false_rate, true_rate, _ = roc_curve(hits, scores)
    false_positives = false_rate * (len(hits) - sum(hits)) / len(cases)
    return np.interp(rates, false_positives, true_rate * sum(hits) / sum(case["references"] for case in cases))


@given(CASES)
def test_froc_agrees_with_luna16(cases: list[Facts]) -> None:
    hits = [hit for case in cases for hit in case["hits"]]
    if not 0 < sum(hits) < len(hits):
        return  # scikit-learn has no ROC curve of one kind
    expected = luna16(cases, FROC_RATES)
    assert [float(froc(cases, whole(cases), rate=rate)[0]) for rate in FROC_RATES] == pytest.approx(expected, abs=1e-12)
    assert cpm(cases, whole(cases)) == pytest.approx([expected.mean()], abs=1e-12)


@given(CASES)
def test_areas_agree_with_scikit_learn(cases: list[Facts]) -> None:
    found = [(hit, score) for case in cases for hit, score in zip(case["hits"], case["probabilities"], strict=True)]
    total = sum(case["references"] for case in cases)
    if any(hit for hit, _ in found):
        share = sum(hit for hit, _ in found) / total  # scikit-learn knows only the findings that were found
        expected = share * average_precision_score([hit for hit, _ in found], [score for _, score in found])
        assert average_precision(cases, whole(cases)) == pytest.approx([expected], abs=1e-12)
    positive = [case["references"] > 0 for case in cases]
    if len(set(positive)) == 2:
        auroc = roc_auc_score(positive, [case["highest"] for case in cases])
        assert case_auroc(cases, whole(cases)) == pytest.approx([auroc], abs=1e-12)


@given(CASES, st.integers(0, 1000), st.sampled_from([1, 7, 1 << 22]))
def test_a_replicate_is_the_figure_of_its_cases(cases: list[Facts], seed: int, block: int) -> None:
    resamples = Resamples.draw(cases=len(cases), replicates=5, seed=seed)
    functions = [
        lambda some, drawn: counted("f1", some, drawn, threshold=0.5),
        lambda some, drawn: counted("precision", some, drawn, threshold=0.2),
        cpm,
        average_precision,
        case_auroc,
    ]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(detection_curves, "_BLOCK", block)
        at_once = [function(cases, resamples) for function in functions]
    for number, counts in enumerate(resamples.counts):
        drawn = [case for case, times in zip(cases, counts, strict=True) for _ in range(times)]
        one_by_one = [function(drawn, whole(drawn))[0] for function in functions]
        assert [values[number] for values in at_once] == pytest.approx(one_by_one, abs=1e-12, nan_ok=True)


def by_steps(cases: list[Facts], level: float, units: float) -> float:
    """A literal reading: the highest sensitivity at any threshold with at most this many false positives per unit."""
    pairs = [pair for case in cases for pair in zip(case["probabilities"], case["hits"], strict=True)]
    best = 0
    for threshold in {probability for probability, _ in pairs}:
        counted_hits = [hit for probability, hit in pairs if probability >= threshold]
        if (len(counted_hits) - sum(counted_hits)) / units <= level + 1e-12:
            best = max(best, sum(counted_hits))
    return best / sum(case["references"] for case in cases)


@given(CASES, st.booleans())
def test_froc_at_own_levels_reads_steps_per_case_or_per_area(cases: list[Facts], with_area: bool) -> None:
    if not sum(case["references"] for case in cases):
        return
    areas = [1.5 + number for number in range(len(cases))] if with_area else None
    rule = FrocRule(levels=(0.1, 0.29, 1, 10), per=areas, steps=True)
    found = [float(froc(cases, whole(cases), rate=level, rule=rule)[0]) for level in rule.levels]
    assert found == pytest.approx([by_steps(cases, each, sum(areas or [1] * len(cases))) for each in rule.levels])
    assert cpm(cases, whole(cases), rule=rule) == pytest.approx([sum(found) / 4])


def test_froc_between_two_points_is_linear_or_the_lower_one() -> None:
    """Points (0, 1/2) and (2, 1): at 1 false positive per case 3/4, or 1/2 by steps."""
    cases = [facts(2, (0.9, 1), (0.5, 0), (0.5, 0), (0.5, 1))]
    assert froc(cases, whole(cases), rate=1, rule=FrocRule()) == [0.75]
    assert froc(cases, whole(cases), rate=1, rule=FrocRule(steps=True)) == [0.5]
