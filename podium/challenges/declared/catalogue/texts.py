"""The catalogue of texts: BLEU-4 of all cases together, METEOR of every case; see docs/reports.md for their rules."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from podium.challenges.declared.catalogue.base import DeclaredCase, Figure, MetricSettings
from podium.challenges.declared.catalogue.case_values import CaseValueMetric
from podium.challenges.declared.catalogue.cohort import CohortValueMetric, Compute, Facts
from podium.challenges.declared.values import AnyValueKind, Compared
from podium.metrics.resampling import Floats, Resamples
from podium.metrics.text import MAX_ORDER, NgramCounts, bleu_4, count_ngrams, meteor, tokens_of


def _counts(compared: Compared[str, str], _: Any) -> Sequence[int]:
    """Matches and totals of every order, then the numbers of tokens; a lost text has none."""
    candidate, reference = tokens_of(compared.prediction or ""), tokens_of(compared.reference)
    found = count_ngrams(candidate=candidate, reference=reference)
    return [*found.matches, *found.totals, found.candidate_tokens, found.reference_tokens]


def _bleu(_: str, __: MetricSettings, ___: AnyValueKind) -> Compute:
    def of(facts: Facts, resamples: Resamples) -> Floats:
        totals = resamples.total(np.array(facts, dtype=np.float64))
        return np.array([bleu_4(_as_counts(row)) for row in totals.round().astype(np.int64).tolist()])

    return of


def _as_counts(row: Sequence[int]) -> NgramCounts:
    return NgramCounts(
        matches=tuple(row[:MAX_ORDER]),
        totals=tuple(row[MAX_ORDER : 2 * MAX_ORDER]),
        candidate_tokens=row[-2],
        reference_tokens=row[-1],
    )


def _meteor(case: DeclaredCase, value: AnyValueKind, _: MetricSettings) -> float:
    compared = case.values[value.name]
    return meteor(candidate=tokens_of(compared.found), reference=tokens_of(compared.reference))


TEXT_METRICS = (
    CohortValueMetric(
        name="bleu_4",
        definition="BLEU with n-grams up to 4, counts summed over all cases",
        compares=("text",),
        figure=Figure(title="BLEU-4", direction="higher", highest=1.0),
        fact=_counts,
        compute=_bleu,
    ),
    CaseValueMetric(
        name="meteor",
        definition="METEOR of exact and stem matches",
        compares=("text",),
        figure=Figure(title="METEOR", direction="higher", highest=1.0),
        of=_meteor,
        worst=lambda _, __: 0.0,
    ),
)
