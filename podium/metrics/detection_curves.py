"""Figures over the candidates of all cases: counts at a threshold, FROC, average precision, and AUROC of the cases.

Each takes the facts of the cases (`detection_facts`) and returns its value in every bootstrap replicate, NaN where it
has none. A replicate that holds a case twice counts its candidates and its findings twice.
"""

from collections.abc import Iterator, Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from podium.figures import Figures
from podium.metrics.detection_facts import Candidates
from podium.metrics.resampling import Floats, Resamples

FROC_RATES = (1 / 8, 1 / 4, 1 / 2, 1.0, 2.0, 4.0, 8.0)
"""False positives per case at which LUNA16 reads the sensitivity."""

CountedFigure = Literal["tp", "fp", "fn", "f1", "precision", "recall"]

_BLOCK = 1 << 22  # numbers held at once (candidates x replicates)


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
    part, whole = quotients[figure]
    return _quotient(part, whole)


def froc(cases: Sequence[Figures], resamples: Resamples, *, rate: float) -> Floats:
    """Sensitivity (found / all findings) at `rate` false positives per case; NaN without a finding.

    LUNA16's definition: the threshold falls from candidate to candidate, those of equal probability come together; each
    step is a point (false positives / cases, found / findings), from (0, 0) on. Between points the curve is linear,
    where it is vertical its upper end counts, and beyond the last point it stays level.
    """
    return _sensitivities(cases, resamples, (rate,))[:, 0]


def cpm(cases: Sequence[Figures], resamples: Resamples) -> Floats:
    """The competition performance metric of LUNA16: the mean sensitivity at 1/8, 1/4, 1/2, 1, 2, 4 and 8."""
    return np.asarray(_sensitivities(cases, resamples, FROC_RATES).mean(axis=1))


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
    return _quotient(area, resamples.total(candidates.references))


def case_auroc(cases: Sequence[Figures], resamples: Resamples) -> Floats:
    """Area under the ROC curve of the cases: `highest` against whether there is anything to find.

    The share of pairs (case with, case without a finding) in which the first has the higher probability; equal ones
    count half. NaN where a replicate lacks one of the two kinds.
    """
    highest = np.array([facts["highest"] for facts in cases], dtype=np.float64)
    if np.isnan(highest).any():
        return np.full(resamples.replicates, np.nan)
    order = np.argsort(-highest, kind="stable")
    positive = np.array([facts["references"] > 0 for facts in cases], dtype=np.bool_)
    ends = np.flatnonzero(np.append(np.diff(highest[order]) != 0, True)[: len(order)])
    won = np.zeros(resamples.replicates)
    for part, with_finding, without in _along(resamples, order, positive[order], ends):
        here = np.diff(without, axis=1, prepend=0)
        # Each case without a finding is beaten by those that came before it, and by half of those beside it.
        beaten = with_finding - np.diff(with_finding, axis=1, prepend=0) / 2
        won[part] = (here * beaten).sum(axis=1)
    return _quotient(won, resamples.total(positive) * resamples.total(~positive))


def _sensitivities(cases: Sequence[Figures], resamples: Resamples, rates: Sequence[float]) -> Floats:
    """`[replicate, rate]`"""
    candidates = Candidates.of(cases)
    found = np.full((resamples.replicates, len(rates)), np.nan)
    if not candidates.have_probabilities:
        return found
    allowed = resamples.sizes[:, None] * np.asarray(rates)
    for part, tp, fp in _along(resamples, candidates.case, candidates.hit, candidates.ends):
        for replicate, hits, misses in zip(range(part.start, part.stop), tp, fp, strict=True):
            found[replicate] = np.interp(allowed[replicate], np.append(0, misses), np.append(0, hits))
    return _quotient(found, resamples.total(candidates.references)[:, None])


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


def _quotient(part: Floats, whole: Floats) -> Floats:
    part, whole = np.broadcast_arrays(part, whole)
    return np.asarray(np.divide(part, whole, out=np.full(part.shape, np.nan), where=whole > 0))
