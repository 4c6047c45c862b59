"""What a case's row keeps of a detection task: every candidate's probability and whether it hit, and what there was to
find. All figures over cases are derived from these facts, on the cases as they are and on bootstrap replicates.

    references     number of findings in the reference
    probabilities  of the candidates, falling; null where the prediction has none
    hits           1 for a candidate that found a reference, 0 for a false positive; in the same order
    highest        the case's own probability: the highest of its candidates, 0 without a candidate, null where the
                   prediction has no probabilities

Candidates that count as neither right nor wrong (see the matching) stand in no list, but take part in `highest`.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from podium.figures import Figures
from podium.metrics.resampling import Floats


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


def lost_facts(*, references: int) -> dict[str, object]:
    """A case without a usable prediction: everything is missed, nothing is invented, and the case's probability is the
    worst one: 0 where there is something to find, else 1."""
    return case_facts(probabilities=[], hits=[], references=references, highest=0.0 if references else 1.0)


@dataclass(frozen=True, eq=False)
class Candidates:
    """The candidates of all cases in order of falling probability; those of equal probability count together."""

    case: NDArray[np.int64]
    hit: NDArray[np.bool_]
    probability: Floats
    """NaN where a prediction has none."""

    references: NDArray[np.int64]
    """Number of findings of every case."""

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
        """The last candidate of every probability: where a threshold can lie."""
        return np.flatnonzero(np.append(np.diff(self.probability) != 0, True)[: len(self.probability)])

    def above(self, threshold: float) -> "Candidates":
        """Only candidates of probability > `threshold`."""
        kept = self.probability > threshold
        return Candidates(self.case[kept], self.hit[kept], self.probability[kept], self.references)


def _probabilities(facts: Figures) -> Sequence[float]:
    known: Sequence[float] | None = facts["probabilities"]
    return [np.nan] * len(facts["hits"]) if known is None else known
