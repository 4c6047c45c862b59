"""Predicted points and boxes against those of the reference, one to one, the most probable candidate first."""

from collections.abc import Iterator, Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from podium.metrics.detection_facts import case_facts
from podium.metrics.resampling import Floats

Repeats = Literal["false_positive", "ignore"]
"""What a candidate is that reaches only references that others have taken: a false positive (evalutils, MIDOG), or
neither right nor wrong (LUNA16)."""

SAME_PLACE = 1e-3
"""Two flat boxes lie in one plane if that is not further apart, in the unit of the coordinates."""

_AT_A_TIME = 1024  # candidates whose neighbours are kept at once


def match_points(
    *,
    prediction: Floats,
    reference: Floats,
    probabilities: Floats | None,
    radius_mm: float,
    repeats: Repeats = "false_positive",
) -> dict[str, object]:
    """The facts of a case whose points are `[point, axis]` in mm.

    Candidates come in order of falling probability, equal ones in the order of the file. Each takes the nearest
    reference that is free and not further than `radius_mm` (that distance included); of two equally near, the first of
    the file. Without probabilities the order of the file decides. Where one side has z and the other has not, z is left
    out.
    """
    axes = min(prediction.shape[1], reference.shape[1])
    order = _falling(probabilities, len(prediction))
    reached = _near(prediction[order, :axes], reference[:, :axes], radius_mm)
    return _match(order, reached, references=len(reference), probabilities=probabilities, repeats=repeats)


def match_boxes(
    *,
    prediction: Floats,
    reference: Floats,
    probabilities: Floats | None,
    iou_threshold: float,
    repeats: Repeats = "false_positive",
) -> dict[str, object]:
    """The facts of a case whose boxes are `[box, (lower corner, upper corner), axis]`, parallel to the axes.

    As with points, but each candidate takes the free reference of the highest IoU, which must be >= `iou_threshold` and
    above 0.
    """
    axes = min(prediction.shape[2], reference.shape[2])
    order = _falling(probabilities, len(prediction))
    reached = _overlapping(prediction[order, :, :axes], reference[:, :, :axes], iou_threshold)
    return _match(order, reached, references=len(reference), probabilities=probabilities, repeats=repeats)


def box_iou(box: Floats, others: Floats) -> Floats:
    """IoU = |A ∩ B| / |A ∪ B| of one box with each of the others.

    The platform's 2-D boxes are flat: z is the same in all corners. An axis along which both boxes are flat is left out
    where they lie in one plane, and the IoU is 0 where they do not.
    """
    lower, upper = np.maximum(box[0], others[:, 0]), np.minimum(box[1], others[:, 1])
    mine, theirs = np.broadcast_to(box[1] - box[0], lower.shape), others[:, 1] - others[:, 0]
    both_flat = (mine == 0) & (theirs == 0)
    shared = np.where(both_flat, np.abs(upper - lower) <= SAME_PLACE, np.maximum(upper - lower, 0))
    intersection = shared.prod(axis=1)
    union = np.where(both_flat, 1, mine).prod(axis=1) + np.where(both_flat, 1, theirs).prod(axis=1) - intersection
    return np.asarray(np.divide(intersection, union, out=np.zeros_like(intersection), where=union > 0))


def _falling(probabilities: Floats | None, count: int) -> NDArray[np.int64]:
    return np.arange(count) if probabilities is None else np.argsort(-probabilities, kind="stable")


def _match(
    order: NDArray[np.int64],
    reached: Iterator[Sequence[int]],
    *,
    references: int,
    probabilities: Floats | None,
    repeats: Repeats,
) -> dict[str, object]:
    """`reached` has for every candidate the references that it may take, the best first."""
    free = [True] * references
    counted: list[int] = []
    hits: list[bool] = []
    for candidate, within in zip(order.tolist(), reached, strict=True):
        taken = next((number for number in within if free[number]), None)
        if taken is not None:
            free[taken] = False
        if taken is not None or repeats == "false_positive" or not within:
            counted.append(candidate)
            hits.append(taken is not None)
    if probabilities is None and len(order) > 0:
        return case_facts(probabilities=None, hits=hits, references=references, highest=None)
    # Without a candidate there is nothing that could lack a probability.
    known = np.zeros(0) if probabilities is None else probabilities
    return case_facts(
        probabilities=known[counted].tolist(), hits=hits, references=references, highest=known.max(initial=0.0)
    )


def _near(candidates: Floats, references: Floats, radius: float) -> Iterator[Sequence[int]]:
    """For every candidate the references within the radius, the nearest first."""
    if len(references) == 0:
        yield from ([] for _ in candidates)
        return
    from scipy.spatial import KDTree

    tree = KDTree(references)
    for start in range(0, len(candidates), _AT_A_TIME):
        some = candidates[start : start + _AT_A_TIME]
        # The tree compares squares: what it finds is a little more than asked for, and measured again.
        for place, found in zip(
            some, tree.query_ball_point(some, radius * (1 + 1e-9), return_sorted=True), strict=True
        ):
            distance = np.linalg.norm(references[found] - place, axis=1)
            yield [found[near] for near in np.argsort(distance, kind="stable") if distance[near] <= radius]


def _overlapping(candidates: Floats, references: Floats, threshold: float) -> Iterator[Sequence[int]]:
    """For every candidate the references of sufficient IoU, the best first."""
    lower, upper = references[:, 0] - SAME_PLACE, references[:, 1] + SAME_PLACE
    for box in candidates:
        touched = np.flatnonzero(((box[1] >= lower) & (box[0] <= upper)).all(axis=1))
        iou = box_iou(box, references[touched])
        order = np.argsort(-iou, kind="stable")
        yield touched[order[(iou >= threshold)[order] & (iou > 0)[order]]].tolist()
