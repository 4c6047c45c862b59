"""The final score of reports when cases are drawn anew: corpus BLEU, METEOR and RadFact from the rows alone."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from podium.challenges.reports.settings import ReportsSettings
from podium.metrics.resampling import Floats, Resamples
from podium.metrics.text import NgramCounts, bleu_4
from podium.platform.results import Figures

_NEEDED = ("ngrams", "tokens", "meteor", "radfact")


def resampled_final_score(rows: Sequence[Figures], resamples: Resamples, settings: ReportsSettings) -> Floats | None:
    """`score_final` in every replicate; None for rows that lack a part of it (anonymous ones have no counts)."""
    if not all(part in row for row in rows for part in _NEEDED):
        return None
    meteor = resamples.mean([row["meteor"] for row in rows])
    captioning = (_corpus_bleu(rows, resamples) + meteor) / 2
    weights = settings.weights
    return weights.clinical * _clinical(rows, resamples, settings) + weights.captioning * captioning


def _corpus_bleu(rows: Sequence[Figures], resamples: Resamples) -> Floats:
    """BLEU-4 of each replicate as one corpus: counts are summed first, a report drawn twice counted twice."""
    orders = sorted(rows[0]["ngrams"]["matches"], key=int)
    matches, totals = (
        _whole(resamples.total([[row["ngrams"][kind][order] for order in orders] for row in rows]))
        for kind in ("matches", "totals")
    )
    candidate, reference = (
        _whole(resamples.total([row["tokens"][side] for row in rows])) for side in ("candidate", "reference")
    )
    return np.array(
        [
            bleu_4(
                NgramCounts(
                    matches=tuple(matches[replicate].tolist()),
                    totals=tuple(totals[replicate].tolist()),
                    candidate_tokens=int(candidate[replicate]),
                    reference_tokens=int(reference[replicate]),
                )
            )
            for replicate in range(resamples.replicates)
        ]
    )


def _clinical(rows: Sequence[Figures], resamples: Resamples, settings: ReportsSettings) -> Floats:
    """By the chosen rule, over the drawn cases the judge has figures of; 0 where there is none, as the judge says."""
    known = np.array([row["radfact"]["f1"] is not None for row in rows])
    drawn = resamples.only(known)

    def mean(name: str) -> Floats:
        values = [row["radfact"][name] for row, is_known in zip(rows, known, strict=True) if is_known]
        return np.nan_to_num(drawn.mean(values), nan=0.0)

    if settings.clinical == "mean_of_f1":
        return mean("f1")
    precision, recall = mean("precision"), mean("recall")
    both = precision + recall
    return np.divide(2 * precision * recall, both, out=np.zeros_like(both), where=both > 0)


def _whole(sums: Floats) -> NDArray[np.int64]:
    return sums.astype(np.int64)
