"""Detection: points, boxes and maps of confidences, matched one to one case by case, and figures over all cases.

Matching turns a case into facts, which its row keeps as plain JSON values. All figures over cases are derived from
these, on the cases as they are and on bootstrap replicates:

    references     number of findings in the reference
    probabilities  of the candidates, falling; null where the prediction has none
    hits           1 for a candidate that found a reference, 0 for a false positive; in the same order
    highest        the case's own probability: the highest of its candidates, 0 without a candidate, null where the
                   prediction has no probabilities

Candidates that count as neither right nor wrong are in no list, but take part in `highest`.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from podium.figures import Figures
from podium.metrics import Floats
from podium.metrics.classification import auroc
from podium.metrics.components import (
    Components,
    Connectivity,
    Overlap,
    count_overlap,
    find_lesions,
    instances_of,
    label_components,
)
from podium.metrics.resampling import Resamples, quotient

Repeats = Literal["false_positive", "ignore"]
"""What a candidate is that reaches only references that others have taken: a false positive (evalutils, MIDOG), or
neither right nor wrong (LUNA16)."""
CountedFigure = Literal["tp", "fp", "fn", "f1", "precision", "recall"]
FROC_RATES = (1 / 8, 1 / 4, 1 / 2, 1.0, 2.0, 4.0, 8.0)  # false positives per case at which LUNA16 reads the sensitivity
MAX_CANDIDATES = 1000  # a map full of specks must not fill metrics.json
SAME_PLACE = 1e-3  # two flat boxes are in one plane if they are at most this far apart, in the unit of the coordinates
_ROUNDED = 1 + 1e-12  # 100 x 0.29 is a little less than 29
_AT_A_TIME = 1024  # candidates whose neighbours are kept at once
_SLAB_VOXELS = 1 << 22
_BLOCK = 1 << 22  # numbers held at once (candidates x replicates)


def case_facts(
    *, probabilities: Sequence[float] | None, hits: Sequence[bool], references: int, highest: float | None
) -> dict[str, object]:
    """The facts of one case as plain JSON values; candidates in order of falling probability."""
    return {
        "references": references,
        "probabilities": None if probabilities is None else [float(value) for value in probabilities],
        "hits": [int(hit) for hit in hits],
        "highest": None if highest is None else float(highest),
    }


def missing_facts(*, references: int) -> dict[str, object]:
    """A case without a usable prediction: all findings are missed, there is no false positive, and the case's
    probability is the worst one: 0 where there is something to find, else 1."""
    return case_facts(probabilities=[], hits=[], references=references, highest=0.0 if references else 1.0)


# Points and boxes


def match_points(
    *,
    prediction: Floats,
    reference: Floats,
    probabilities: Floats | None,
    radius_mm: float,
    repeats: Repeats = "false_positive",
) -> dict[str, object]:
    """The facts of a case whose points are `[point, axis]` in mm.

    Candidates come in the order of `falling`. Each takes the nearest reference that is free and not further than
    `radius_mm` (that distance included); of two equally near, the first of the file. Where one side has z and the other
    has not, z is left out.
    """
    axes = min(prediction.shape[1], reference.shape[1])
    order = falling(probabilities, prediction)
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
    order = falling(probabilities, prediction)
    reached = _overlapping(prediction[order, :, :axes], reference[:, :, :axes], iou_threshold)
    return _match(order, reached, references=len(reference), probabilities=probabilities, repeats=repeats)


def box_iou(box: Floats, others: Floats) -> Floats:
    """IoU = |A ∩ B| / |A ∪ B| of one box with each of the others.

    The platform's 2-D boxes are flat: z is the same in all corners. An axis along which both boxes are flat is left out
    where they are in one plane, and the IoU is 0 where they are not.
    """
    lower, upper = np.maximum(box[0], others[:, 0]), np.minimum(box[1], others[:, 1])
    mine, theirs = np.broadcast_to(box[1] - box[0], lower.shape), others[:, 1] - others[:, 0]
    both_flat = (mine == 0) & (theirs == 0)
    shared = np.where(both_flat, np.abs(upper - lower) <= SAME_PLACE, np.maximum(upper - lower, 0))
    intersection = shared.prod(axis=1)
    union = np.where(both_flat, 1, mine).prod(axis=1) + np.where(both_flat, 1, theirs).prod(axis=1) - intersection
    return np.asarray(np.divide(intersection, union, out=np.zeros_like(intersection), where=union > 0))


def falling(probabilities: Floats | None, places: Floats) -> NDArray[np.int64]:
    """The candidates in order of falling probability, equal ones and those without in that of their places (x, then y,
    then z), so that their order in the file does not matter."""
    places = places.reshape(len(places), int(np.prod(places.shape[1:])))
    first = np.zeros(len(places)) if probabilities is None else -probabilities
    return np.lexsort((*places.T[::-1], first))


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
    # Without candidates no probability is missing.
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


# Detection maps: images of confidences whose connected components are the candidates. Source: picai_eval.


def match_detection_map(  # noqa: PLR0913  (both sides and all rules of the metric)
    *,
    prediction: NDArray[Any],
    reference: NDArray[Any],
    iou_threshold: float = 0.1,
    connectivity: Connectivity = 26,
    max_candidates: int = MAX_CANDIDATES,
    reference_instances: bool = False,
) -> dict[str, object]:
    """The facts of a case: confidences (2-D or 3-D, finite) against a label image of the same shape.

    Every connected component above 0 is a candidate, its highest value its confidence; the `max_candidates` most
    confident count, of equal ones the first in the volume. The findings are the connected components of the
    reference where it is not 0, or with `reference_instances` its labels, touching or not. In 2-D a connectivity of
    6 means 4 neighbours, 18 and 26 mean 8.

    Matching is one to one among the pairs with IoU >= `iou_threshold`, such that the sum of 1 + IoU over the pairs is
    the highest. As in picai_eval, a candidate that overlaps a finding enough but was not matched is neither right nor
    wrong: it is in no list. `highest` is the highest confidence of all.
    """
    if prediction.ndim == 2:
        prediction, reference = prediction[None], reference[None]
    components = label_components(prediction > 0, connectivity=connectivity)
    by_label = reference_instances
    lesions = instances_of(reference) if by_label else find_lesions(reference != 0, connectivity=connectivity)
    confidence = _highest_values(components, prediction)
    kept = np.sort(np.argsort(-confidence, kind="stable")[:max_candidates])
    enough = _sufficient_iou(count_overlap(components, lesions), kept, iou_threshold)
    hit = np.zeros(len(kept), np.bool_)
    hit[_best_pairs(enough)] = True
    order = np.argsort(-confidence[kept], kind="stable")
    counted = order[(hit | ~enough.any(axis=0))[order]]
    return case_facts(
        probabilities=confidence[kept][counted].tolist(),
        hits=hit[counted].tolist(),
        references=lesions.count,
        highest=float(confidence.max(initial=0.0)),
    )


def _highest_values(components: Components, values: NDArray[Any]) -> NDArray[np.float64]:
    """The highest value of every component, the first component first; in slabs, since a map may have no background."""
    flat = np.ascontiguousarray(values).reshape(-1)
    highest = np.zeros(components.count + 1)
    for start in range(0, flat.size, _SLAB_VOXELS):
        places = start + np.flatnonzero(flat[start : start + _SLAB_VOXELS] > 0)
        np.maximum.at(highest, components.labels_at(places), flat[places])
    return highest[1:]


def _sufficient_iou(overlap: Overlap, kept: NDArray[np.int64], threshold: float) -> NDArray[np.float64]:
    """`[lesion, kept component]`: the IoU where it is sufficient, else 0."""
    column = np.full(overlap.component_count, -1)
    column[kept] = np.arange(len(kept))
    columns = column[overlap.component - 1]
    enough = (overlap.iou >= threshold) & (columns >= 0)
    table = np.zeros((overlap.lesions.count, len(kept)))
    table[overlap.lesion[enough] - 1, columns[enough]] = overlap.iou[enough]
    return table


def _best_pairs(iou: NDArray[np.float64]) -> NDArray[np.int64]:
    """The components that an optimal one-to-one matching gives a lesion."""
    from scipy.optimize import linear_sum_assignment

    # picai_eval adds 1 to prefer many matches to good ones; the two agree on ties only with the same matrix.
    rows, columns = linear_sum_assignment(np.where(iou > 0, iou + 1, 0), maximize=True)
    return np.asarray(columns[iou[rows, columns] > 0])


# Figures over all cases. Each takes the facts of the cases and returns its value in every bootstrap replicate, NaN
# where it has none. A replicate that holds a case twice counts its candidates and findings twice.


@dataclass(frozen=True, eq=False)
class Candidates:
    """The candidates of all cases in order of falling probability; those of equal probability count together."""

    case: NDArray[np.int64]
    hit: NDArray[np.bool_]
    probability: Floats  # NaN where a prediction has none
    references: NDArray[np.int64]  # number of findings of every case

    @classmethod
    def of(cls, cases: Sequence[Figures]) -> "Candidates":
        """Pool the facts of all cases."""
        case = np.repeat(np.arange(len(cases)), [len(facts["hits"]) for facts in cases])
        hit = np.array([hit for facts in cases for hit in facts["hits"]], dtype=np.bool_)
        probability = np.array([value for facts in cases for value in _probabilities(facts)], dtype=np.float64)
        references = np.array([facts["references"] for facts in cases], dtype=np.int64)
        order = np.argsort(-probability, kind="stable")
        return cls(case[order], hit[order], probability[order], references)

    @property
    def have_probabilities(self) -> bool:
        return not np.isnan(self.probability).any()

    @property
    def ends(self) -> NDArray[np.int64]:
        """The last candidate of every probability: the possible thresholds."""
        return np.flatnonzero(np.append(np.diff(self.probability) != 0, True)[: len(self.probability)])

    def above(self, threshold: float) -> "Candidates":
        """Only candidates of probability > `threshold`."""
        kept = self.probability > threshold
        return Candidates(self.case[kept], self.hit[kept], self.probability[kept], self.references)


def _probabilities(facts: Figures) -> Sequence[float]:
    known: Sequence[float] | None = facts["probabilities"]
    return [np.nan] * len(facts["hits"]) if known is None else known


def counted(
    figure: CountedFigure, cases: Sequence[Figures], resamples: Resamples, *, threshold: float | None = None
) -> Floats:
    """TP, FP, FN, or a quotient of their sums over all cases, of the candidates with probability >= `threshold`.

    F1 = 2TP / (2TP + FP + FN), precision = TP / (TP + FP), recall = TP / (TP + FN): NaN for 0/0. Without a threshold,
    and where a prediction has no probabilities, every candidate counts.
    """
    candidates = Candidates.of(cases)
    used = ~(candidates.probability < (-np.inf if threshold is None else threshold))
    by_case = [
        np.bincount(candidates.case[used & kind], minlength=len(cases)) for kind in (candidates.hit, ~candidates.hit)
    ]
    tp, fp = (resamples.total(count) for count in by_case)
    fn = resamples.total(candidates.references) - tp
    quotients = {"f1": (2 * tp, 2 * tp + fp + fn), "precision": (tp, tp + fp), "recall": (tp, tp + fn)}
    if figure not in quotients:
        return {"tp": tp, "fp": fp, "fn": fn}[figure]
    return quotient(*quotients[figure])


@dataclass(frozen=True, kw_only=True)
class FrocRule:
    """How sensitivities are read from the curve.

    levels  false positives per case, or per unit of `per`, the sum over cases of each one's number of it
    steps   between two points the lower one counts, not the line between them
    """

    levels: Sequence[float] = FROC_RATES
    per: Sequence[float] | None = None
    steps: bool = False


def froc(cases: Sequence[Figures], resamples: Resamples, *, rate: float, rule: FrocRule | None = None) -> Floats:
    """Sensitivity (found / all findings) at `rate` false positives per case; NaN without a finding.

    LUNA16's definition: the threshold falls from candidate to candidate, those of equal probability come together; each
    step is a point (false positives / cases, found / findings), from (0, 0) on. Between points the curve is linear,
    where it is vertical its upper end counts, and beyond the last point it stays level.
    """
    return _sensitivities(cases, resamples, replace(rule or FrocRule(), levels=(rate,)))[:, 0]


def cpm(cases: Sequence[Figures], resamples: Resamples, *, rule: FrocRule | None = None) -> Floats:
    """The mean sensitivity at all levels: by default LUNA16's competition performance metric."""
    return np.asarray(_sensitivities(cases, resamples, rule or FrocRule()).mean(axis=1))


def average_precision(cases: Sequence[Figures], resamples: Resamples) -> Floats:
    """AP = sum over thresholds of (recall - recall before) x precision: picai_eval's area; NaN without a finding.

    Findings that no candidate matches keep the recall below 1. As in picai_eval, a candidate of probability 0 is none.
    """
    candidates = Candidates.of(cases)
    if not candidates.have_probabilities:
        return np.full(resamples.replicates, np.nan)
    candidates = candidates.above(0.0)
    area = np.zeros(resamples.replicates)
    for part, tp, fp in _along(resamples, candidates.case, candidates.hit, candidates.ends):
        precision = np.divide(tp, tp + fp, out=np.zeros(tp.shape), where=tp + fp > 0)
        area[part] = (np.diff(tp, axis=1, prepend=0) * precision).sum(axis=1)
    return quotient(area, resamples.total(candidates.references))


def case_auroc(cases: Sequence[Figures], resamples: Resamples) -> Floats:
    """Area under the ROC curve of the cases: `highest` against whether there is anything to find.

    The share of pairs (case with, case without a finding) in which the first has the higher probability; equal ones
    count half. NaN where a replicate has only one of the two kinds.
    """
    highest = np.array([facts["highest"] for facts in cases], dtype=np.float64)
    if np.isnan(highest).any():
        return np.full(resamples.replicates, np.nan)
    positive = np.array([facts["references"] > 0 for facts in cases], dtype=np.bool_)
    return auroc(prediction=highest, reference=positive, resamples=resamples)


def _sensitivities(cases: Sequence[Figures], resamples: Resamples, rule: FrocRule) -> Floats:
    """`[replicate, level]`"""
    candidates = Candidates.of(cases)
    found = np.full((resamples.replicates, len(rule.levels)), np.nan)
    if not candidates.have_probabilities:
        return found
    units = resamples.sizes if rule.per is None else resamples.total(rule.per)
    allowed = units[:, None] * np.asarray(rule.levels)
    for part, tp, fp in _along(resamples, candidates.case, candidates.hit, candidates.ends):
        for replicate, hits, misses in zip(range(part.start, part.stop), tp, fp, strict=True):
            at, curve = np.append(0, misses), np.append(0, hits)
            if rule.steps:
                found[replicate] = curve[np.searchsorted(at, allowed[replicate] * _ROUNDED, side="right") - 1]
            else:
                found[replicate] = np.interp(allowed[replicate], at, curve)
    return quotient(found, resamples.total(candidates.references)[:, None])


def _along(
    resamples: Resamples, case: NDArray[np.int64], kind: NDArray[np.bool_], ends: NDArray[np.int64]
) -> Iterator[tuple[slice, NDArray[np.int64], NDArray[np.int64]]]:
    """How many of a kind and of the other have come up to each of `ends`, as `[replicate, end]`, block by block.

    `case` is the case of everything that is counted, in the order of the curve.
    """
    replicates = max(1, _BLOCK // max(1, len(case)))
    for start in range(0, resamples.replicates, replicates):
        part = slice(start, min(start + replicates, resamples.replicates))
        drawn = resamples.counts[part][:, case]
        of_kind = np.cumsum(drawn * kind, axis=1, dtype=np.int64)
        everything = np.cumsum(drawn, axis=1, dtype=np.int64)
        yield part, of_kind[:, ends], (everything - of_kind)[:, ends]
