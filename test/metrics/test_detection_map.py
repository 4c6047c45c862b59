"""Detection maps: worked maps, and picai_eval on random ones."""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import ndimage

from podium.metrics.detection import average_precision, case_auroc, match_detection_map
from podium.metrics.resampling import Resamples


def line(*values: float) -> NDArray[np.float64]:
    return np.array([values], dtype=np.float64)


def matched(prediction: NDArray[Any], reference: NDArray[Any], **options: Any) -> dict[str, Any]:
    return match_detection_map(prediction=prediction, reference=reference, **options)


def test_worked_map() -> None:
    """Candidates 0.3..0.8, 0.6 and 0.2; the second of the findings is missed."""
    facts = matched(line(0.3, 0.8, 0, 0.6, 0, 0.2, 0, 0, 0), line(1, 1, 0, 0, 0, 0, 0, 2, 0))
    assert facts == {"references": 2, "probabilities": [0.8, 0.6, 0.2], "hits": [1, 0, 0], "highest": 0.8}


def test_a_candidate_on_a_matched_finding_is_neither_right_nor_wrong() -> None:
    """IoU 2/5 and 1/5: the first is matched. Were only the first enough, the second would be wrong."""
    prediction, reference = line(0.4, 0.4, 0, 0.9, 0, 0.1), line(1, 1, 1, 1, 1, 0)
    facts = matched(prediction, reference)
    assert facts == {"references": 1, "probabilities": [0.4, 0.1], "hits": [1, 0], "highest": 0.9}
    assert matched(prediction, reference, iou_threshold=0.3)["hits"] == [0, 1, 0]


def test_the_matching_prefers_many_matches_to_good_ones() -> None:
    """The large component fits the first finding best (IoU 7/11), but only so do both find one (1/9 and 1/16)."""
    prediction, reference = line(0.5, 0, *[0.5] * 9, *[0] * 7), line(*[1] * 9, 0, *[1] * 8)
    facts = matched(prediction, reference, iou_threshold=0.05)
    assert (facts["references"], facts["hits"]) == (2, [1, 1])
    assert matched(prediction, reference)["hits"] == [1]


def test_the_threshold_is_included() -> None:
    assert matched(line(1, 0, 0, 0), line(1, 1, 1, 1), iou_threshold=0.25)["hits"] == [1]
    assert matched(line(1, 0, 0, 0), line(1, 1, 1, 1), iou_threshold=0.2500001)["hits"] == [0]


def test_without_overlap_nothing_is_found_at_any_threshold() -> None:
    assert matched(line(1, 0, 0), line(0, 0, 1), iou_threshold=0.0)["hits"] == [0]


def test_findings_are_components_whatever_their_labels() -> None:
    assert matched(line(0, 0, 0, 0), line(1, 2, 0, 1))["references"] == 2


def test_connectivity() -> None:
    diagonal = np.eye(3) * 0.5
    empty = np.zeros((3, 3))
    assert len(matched(diagonal, empty, connectivity=8)["hits"]) == 1
    assert len(matched(diagonal, empty, connectivity=4)["hits"]) == 3
    steps = np.zeros((2, 2, 2))
    steps[0, 0, 0] = steps[1, 1, 1] = 0.5
    assert len(matched(steps, np.zeros((2, 2, 2)))["hits"]) == 1
    assert len(matched(steps, np.zeros((2, 2, 2)), connectivity=18)["hits"]) == 2


def test_only_the_most_confident_candidates_count() -> None:
    facts = matched(line(0.1, 0, 0.3, 0, 0.2, 0, 0.3), line(1, 0, 0, 0, 0, 0, 1), max_candidates=2)
    assert (facts["probabilities"], facts["hits"]) == ([0.3, 0.3], [0, 1])


def test_a_map_full_of_specks_or_without_background_is_still_a_map() -> None:
    specks = np.zeros((6, 60, 60), np.float32)
    specks[::2, ::2, ::2] = 0.5
    assert len(matched(specks, np.zeros(specks.shape, np.uint8))["hits"]) == 1000
    full = matched(np.full((5, 1000, 1000), 0.25, np.float32), np.ones((5, 1000, 1000), np.uint8))
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
    ours = [matched(prediction, reference) for prediction, reference in cases]
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
