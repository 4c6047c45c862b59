"""The catalogue of texts: BLEU-4 of all cases together, METEOR of every case; see docs/reports.md for their rules."""

from collections.abc import Sequence

from podium.challenges.declared.catalogue.base import CaseValueMetric, CohortValueMetric, DeclaredCase, MetricSettings
from podium.challenges.declared.values import AnyValueKind
from podium.metrics.declaration import Figure
from podium.metrics.text import bleu_4, corpus_bleu, count_ngrams, meteor, rouge_l, tokens_of


def _ngram_counts(case: DeclaredCase, value: AnyValueKind, _: MetricSettings) -> Sequence[int]:
    """Matches and totals of every order, then the numbers of tokens; a missing text has none."""
    compared = case.values[value.name]
    candidate, reference = tokens_of(compared.prediction or ""), tokens_of(compared.reference)
    found = count_ngrams(candidate=candidate, reference=reference)
    return [*found.matches, *found.totals, found.candidate_tokens, found.reference_tokens]


def _meteor(case: DeclaredCase, value: AnyValueKind, _: MetricSettings) -> float:
    compared = case.values[value.name]
    return meteor(candidate=tokens_of(compared.found), reference=tokens_of(compared.reference))


def _rouge_l(case: DeclaredCase, value: AnyValueKind, _: MetricSettings) -> float:
    compared = case.values[value.name]
    return rouge_l(candidate=tokens_of(compared.found), reference=tokens_of(compared.reference))


METRICS = (
    CohortValueMetric(
        name="bleu_4",
        definition="BLEU with n-grams up to 4, counts summed over all cases",
        compares=("text",),
        figure=Figure(title="BLEU-4", direction="higher", highest=1.0),
        fact=_ngram_counts,
        failed='"empty"',
        compute=lambda cohort: corpus_bleu(bleu_4, cohort.facts, cohort.resamples),
    ),
    CaseValueMetric(
        name="meteor",
        definition="METEOR of exact matches only, without stems and synonyms",
        compares=("text",),
        figure=Figure(title="METEOR", direction="higher", highest=1.0),
        compute=_meteor,
        worst=lambda _, __: 0.0,
    ),
    CaseValueMetric(
        name="rouge_l",
        definition="F1 of the longest common subsequence of tokens: 2 LCS / (tokens of P + tokens of G)",
        compares=("text",),
        figure=Figure(title="ROUGE-L", direction="higher", highest=1.0),
        compute=_rouge_l,
        worst=lambda _, __: 0.0,
    ),
)
