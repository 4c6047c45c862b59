"""Figures over cases drawn with replacement: a whole bootstrap at once, with exact sums.

A draw is kept as how often it holds each case. A case drawn twice then counts twice in every figure, which is what
drawing with replacement means, and whatever is linear in the cases becomes one matrix product.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from podium.metrics import Floats

_LONG_ROW = 32  # numbers: a call per row is worth it from here on
_BLOCK = 2**18  # entries of `counts` worked on at once: tables of 2 MB, which a processor keeps at hand


@dataclass(frozen=True)
class Resamples:
    """`counts[replicate, case]`: how often each replicate holds each case; `patients[case]`: whose case it is, numbered
    from 0, where patients are drawn with all their cases."""

    counts: NDArray[np.int32]
    patients: NDArray[np.int64] | None = None

    @classmethod
    def whole(cls, cases: int, *, patients: NDArray[np.int64] | None = None) -> "Resamples":
        """The one replicate that holds every case once: the data as they are."""
        return cls(np.ones((1, cases), dtype=np.int32), patients)

    @classmethod
    def draw(cls, *, cases: int, replicates: int, seed: int, patients: NDArray[np.int64] | None = None) -> "Resamples":
        """Each replicate draws as many cases, or patients, as there are, by numpy's PCG64 generator under `seed`."""
        if patients is not None:
            of_patients = cls.draw(cases=int(patients.max()) + 1, replicates=replicates, seed=seed)
            return cls(np.ascontiguousarray(of_patients.counts[:, patients]), patients)
        generator = np.random.Generator(np.random.PCG64(seed))
        drawn = generator.integers(0, cases, size=(replicates, cases))
        drawn += cases * np.arange(replicates)[:, None]
        counts = np.bincount(drawn.ravel(), minlength=replicates * cases)
        return cls(counts.reshape(replicates, cases).astype(np.int32))

    @property
    def replicates(self) -> int:
        return int(self.counts.shape[0])

    @property
    def cases(self) -> int:
        return int(self.counts.shape[1])

    @property
    def sizes(self) -> NDArray[np.int64]:
        """How many cases each replicate holds, those drawn twice counted twice."""
        return np.asarray(self.counts.sum(axis=1, dtype=np.int64))

    def only(self, kept: NDArray[np.bool_]) -> "Resamples":
        """These draws restricted to the kept cases, for a figure that the others do not have."""
        if kept.all():
            return self
        patients = None if self.patients is None else self.patients[kept]
        return Resamples(np.ascontiguousarray(self.counts[:, kept]), patients)

    def by_patient(self, values: Floats) -> tuple[Floats, "Resamples"]:
        """`values[..., case]` as means over the cases of each patient, for tests, and the draws of patients: cases of
        one patient are not independent. As they are where patients are not known."""
        if self.patients is None:
            return values, self
        _, first, own = np.unique(self.patients, return_index=True, return_inverse=True)
        return per_patient(values, own) / np.bincount(own), Resamples(np.ascontiguousarray(self.counts[:, first]))

    def blocks(self) -> Iterator[NDArray[np.int32]]:
        """`counts` in blocks of whole replicates, in order: for what needs several tables as large as `counts`."""
        rows = max(1, _BLOCK // max(1, self.cases))
        for start in range(0, self.replicates, rows):
            yield self.counts[start : start + rows]

    def total(self, values: ArrayLike) -> Floats:
        """The sum over each replicate's cases of `values[case, ...]`, as `[replicate, ...]`.

        The sums are exact before one last rounding, as with `math.fsum`: equal data give equal sums in any
        order. Values are cut into whole numbers of few enough bits that no partial sum exceeds the 53 bits in which
        doubles are exact; a matrix product of those is exact in any order of summation.
        """
        table = np.asarray(values, dtype=np.float64)
        flat = table.reshape(self.cases, math.prod(table.shape[1:]))
        sums = _exact_product(self.counts.astype(np.float64), np.where(np.isfinite(flat), flat, 0.0))
        for infinity in (np.inf, -np.inf):
            if (flat == infinity).any():
                sums[self.counts @ (flat == infinity).astype(np.int64) > 0] = infinity
        return sums.reshape(self.replicates, *table.shape[1:])

    def mean(self, values: ArrayLike) -> Floats:
        """The mean over each replicate's cases of `values[case, ...]`; NaN where a replicate holds none."""
        totals = self.total(values)
        with np.errstate(invalid="ignore", divide="ignore"):
            means: Floats = totals / self.sizes.reshape(-1, *[1] * (totals.ndim - 1))
        return means

    def quantiles(self, values: Floats, shares: Sequence[float]) -> Floats:
        """Quantiles of `values[case]` as `[share, replicate]`, linear between neighbours; NaN where one is empty.

        Position (n - 1) q in the sorted sample, as numpy's and R's defaults (type 7) have it.
        """
        order = np.argsort(values, kind="stable")
        ordered = values[order]
        sizes = self.sizes
        some = sizes > 0
        running = running_sums(self._by_case[order])
        result = np.full((len(shares), self.replicates), np.nan)
        if not self.cases:
            return result
        for number, share in enumerate(shares):
            place = np.maximum(sizes - 1, 0) * share
            below = np.floor(place).astype(np.int64)
            lower, upper = (
                ordered[np.minimum(_cases_up_to(running, rank), ordered.size - 1)]
                for rank in (below, np.minimum(below + 1, sizes - 1))
            )
            result[number, some] = _between(lower, upper, place - below)[some]
        return result

    @cached_property
    def _by_case(self) -> NDArray[np.integer]:
        """`counts` turned to `[case, replicate]`, in the smallest type that holds a running sum: half of the time goes
        into moving these."""
        kind = np.int16 if max(self.cases, self.sizes.max(initial=0)) < 2**15 else np.int32
        return np.ascontiguousarray(self.counts.T).astype(kind)


def per_patient(values: Floats, patients: NDArray[np.int64]) -> Floats:
    """`values[..., case]` summed over the cases of each patient."""
    return np.stack([values[..., patients == each].sum(axis=-1) for each in range(int(patients.max()) + 1)], axis=-1)


def expanded_tail(confidence: float, n: int) -> float:
    """The tail a' of an expanded percentile interval over n resampled cases: its ends are the quantiles a' and 1 - a'.

    a' = Phi(-sqrt(n / (n - 1)) t), with the t quantile of n - 1 degrees of freedom at 1 - a/2 for a = 1 - confidence.
    A plain percentile interval of a mean is too short by sqrt((n - 1) / n) and by the ratio of the normal to the t
    quantile. Source: T. Hesterberg, What teachers should know about the bootstrap, The American Statistician 69, 2015.
    With fewer than two cases there is nothing to correct: a/2.
    """
    from scipy.special import ndtr, stdtrit

    if n < 2:
        return (1 - confidence) / 2
    return float(ndtr(-math.sqrt(n / (n - 1)) * stdtrit(n - 1, (1 + confidence) / 2)))


def percentile_interval(replicates: Floats, *, confidence: float, cases: int) -> tuple[float, float] | None:
    """The expanded percentile interval (`expanded_tail`) of a figure over this many resampled cases, linearly
    interpolated; None where there are no replicates or an end is infinite.

    Replicates without a value (no case of a group was drawn) are left out.
    """
    defined = replicates[~np.isnan(replicates)]
    if not defined.size:
        return None
    tail = expanded_tail(confidence, cases)
    if np.isinf(defined).any():  # nothing can be interpolated between a number and infinity
        low, high = np.quantile(defined, tail, method="lower"), np.quantile(defined, 1 - tail, method="higher")
    else:
        low, high = np.quantile(defined, [tail, 1 - tail])
    return (float(low), float(high)) if np.isfinite([low, high]).all() else None


def quotient(part: ArrayLike, whole: ArrayLike, *, undefined: float = math.nan) -> Floats:
    """`part` / `whole`, as numpy broadcasts them; `undefined` where the whole is 0."""
    parts, wholes = np.broadcast_arrays(part, whole)
    return np.asarray(np.divide(parts, wholes, out=np.full(parts.shape, undefined), where=wholes != 0))


Numbers = TypeVar("Numbers", bound=np.generic)


def running_sums(table: NDArray[Numbers]) -> NDArray[Numbers]:
    """The sum of every row and all before it: `numpy.cumsum` along the first axis, of long rows in a third of its
    time."""
    if table.ndim == 2 and table.shape[1] < _LONG_ROW:
        return np.asarray(np.cumsum(table, axis=0, dtype=table.dtype))
    sums = table.copy()
    for before, row in pairwise(sums):
        np.add(before, row, out=row)
    return sums


def running_counts(draws: NDArray[np.integer]) -> NDArray[np.int64]:
    """`[replicate, n]`: how many of the draws are among the first n cases."""
    sums = np.zeros((draws.shape[0], draws.shape[1] + 1), dtype=np.int64)
    np.cumsum(draws, axis=1, out=sums[:, 1:])
    return sums


def _cases_up_to(running: NDArray[np.integer], rank: NDArray[np.int64]) -> NDArray[np.integer]:
    """The index of the case that holds the draw of this rank (from 0), in every replicate."""
    passed = (running <= rank.astype(running.dtype)).view(np.uint8)
    return np.asarray(passed.sum(axis=0, dtype=running.dtype))


def _between(lower: Floats, upper: Floats, part: Floats) -> Floats:
    """`part` of the way; exactly halfway is the mean of the two, and between equals (infinities too) is their value."""
    with np.errstate(invalid="ignore"):
        inner = np.where(part == 0.5, (lower + upper) / 2, lower + (upper - lower) * part)
    return np.where((lower == upper) | (part == 0), lower, inner)


def _exact_product(counts: Floats, values: Floats) -> Floats:
    """`counts @ values` for whole, non-negative counts and finite values, rounded once."""
    exponent = int(np.frexp(np.abs(values).max(initial=0.0))[1])
    bits = 52 - int(np.ceil(np.log2(max(2.0, counts.sum(axis=1).max()))))
    parts = []
    remainder = values
    while remainder.any():
        exponent -= bits
        digit = np.trunc(np.ldexp(remainder, -exponent))
        remainder = remainder - np.ldexp(digit, exponent)
        parts.append(np.ldexp(counts @ digit, exponent))
    shape = (counts.shape[0], values.shape[1])
    if len(parts) <= 2:  # the sum of two numbers is rounded once
        return sum(parts, np.zeros(shape))
    sums = [math.fsum(each) for each in zip(*(part.ravel().tolist() for part in parts), strict=True)]
    return np.array(sums).reshape(shape)
