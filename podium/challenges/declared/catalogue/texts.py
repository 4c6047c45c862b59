"""The catalogue of texts: BLEU-4 of all cases together, METEOR of every case; see docs/reports.md for their rules."""

from collections.abc import Callable, Sequence

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


def _token_metric(compute: Callable[..., float], title: str, definition: str) -> CaseValueMetric:
    """A metric of the tokens of every case, named like its function."""

    def of_case(case: DeclaredCase, value: AnyValueKind, _: MetricSettings) -> float:
        compared = case.values[value.name]
        return compute(candidate=tokens_of(compared.found), reference=tokens_of(compared.reference))

    return CaseValueMetric(
        name=compute.__name__,
        definition=definition,
        compares=("text",),
        figure=Figure(title=title, direction="higher", highest=1.0),
        compute=of_case,
        worst=lambda _, __: 0.0,
    )


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
    _token_metric(meteor, "METEOR", "METEOR of exact matches only, without stems and synonyms"),
    _token_metric(
        rouge_l, "ROUGE-L", "F1 of the longest common subsequence of tokens: 2 LCS / (tokens of P + tokens of G)"
    ),
)
