"""Reports' rules: BLEU and METEOR, computed here, RadFact, computed by `podium judge`, and the score of both."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from podium.challenges.board import Criterion, RankingRule
from podium.challenges.reports.files import ReportsSettings
from podium.figures import Figures
from podium.metrics import Floats
from podium.metrics.declaration import CaseMetric, CohortMetric, Formula, GivenFigure, Scoreboard
from podium.metrics.resampling import Resamples
from podium.metrics.text import (
    NgramCounts,
    bleu_4,
    bleu_13a,
    corpus_bleu,
    count_ngrams,
    meteor,
    meteor_synonyms,
    tokens_13a,
    tokens_of,
)
from podium.readers.wordnet import WordNet, find_wordnet

FINALISTS = 7  # the number of methods that go on to the arena
_FINDINGS = {None: "", True: "; RadFact is over abnormal findings alone", False: "; RadFact is over all findings"}
CAPTIONING = {"leaderboard": ("bleu_4", "meteor"), "offline": ("bleu_13a", "meteor_wordnet")}
"""By the setting `captioning`, the two figures whose mean is the captioning score."""


@dataclass(frozen=True)
class ReportsCase:
    """The tokens of one case's two texts, and the n-gram counts for BLEU."""

    candidate: Sequence[str]
    reference: Sequence[str]
    counts: NgramCounts
    counts_13a: NgramCounts

    @classmethod
    def of(cls, *, candidate: str, reference: str) -> Self:
        mine, theirs = tokens_of(candidate), tokens_of(reference)
        counts_13a = count_ngrams(candidate=tokens_13a(candidate), reference=tokens_13a(reference), least_total=0)
        return cls(mine, theirs, count_ngrams(candidate=mine, reference=theirs), counts_13a)


def ngram_facts(counts: NgramCounts, suffix: str) -> Figures:
    """The counts from which corpus BLEU can be recomputed."""
    return {
        f"ngrams{suffix}": {"matches": _by_order(counts.matches), "totals": _by_order(counts.totals)},
        f"tokens{suffix}": {"candidate": counts.candidate_tokens, "reference": counts.reference_tokens},
    }


def _by_order(counts: Sequence[int]) -> dict[str, int]:
    return {str(order): count for order, count in enumerate(counts, start=1)}


def scoreboard(settings: ReportsSettings) -> Scoreboard[ReportsCase]:
    """All figures of reports; METEOR with synonyms only if WordNet is installed, or was where the rows were scored."""
    wordnet, weights = find_wordnet(), settings.weights
    bleu_name, meteor_name = CAPTIONING[settings.captioning]
    bleu_path = f"{bleu_name}_case_mean" if settings.bleu == "cases" else bleu_name
    mean_13a = "bleu_13a_case_mean" if settings.bleu == "cases" else ""
    with_synonyms = wordnet is not None or settings.captioning == "offline"
    return Scoreboard(
        metrics=(
            _metric(
                "bleu_4",
                "BLEU-4",
                compute=lambda case: bleu_4(case.counts),
                mean="bleu_4_case_mean",
                std="bleu_4_case_std",
                mean_title="BLEU-4 (mean of cases)",
            ),
            _metric(
                "meteor",
                "METEOR",
                compute=lambda case: meteor(candidate=case.candidate, reference=case.reference),
                mean="meteor",
                std="meteor_std",
            ),
            _metric("bleu_13a", "BLEU-13a", compute=lambda case: bleu_13a(case.counts_13a), mean=mean_13a),
            *([_synonyms_metric(wordnet)] if with_synonyms else []),
            _metric(
                "captioning",
                "Captioning",
                compute_from_row=lambda row: (row[bleu_name] + row[meteor_name]) / 2,
                mean="",
            ),
        ),
        offline_metrics=(_metric("radfact.f1", "RadFact F1", mean=""),),
        cohort_metrics=(
            CohortMetric(path="bleu_4", title="BLEU-4 (corpus)", compute=_corpus(bleu_4, "")),
            CohortMetric(path="bleu_13a", title="BLEU-13a (corpus)", compute=_corpus(bleu_13a, "_13a")),
            CohortMetric(
                path="empty_reports",
                title="Empty reports",
                direction="lower",
                compute=lambda rows, resamples: resamples.total([row["tokens"]["candidate"] == 0 for row in rows]),
                whole=True,
            ),
        ),
        given=(GivenFigure(path="radfact_known"),),
        formulas=(
            Formula(
                path="captioning",
                compute=lambda values: (values[bleu_path] + values[meteor_name]) / 2,
                terms=(bleu_path, meteor_name),
            ),
            Formula(
                path="score",
                title="Score (captioning)",
                compute=lambda values: values["captioning"],
                terms=("captioning",),
            ),
        ),
        leaderboard=(
            *("score", "bleu_4", "meteor", "bleu_4_case_mean", "bleu_13a"),
            *(["meteor_wordnet"] if with_synonyms else []),
            "empty_reports",
        ),
        headline=("score", bleu_path, meteor_name, "score_final", "clinical"),
        offline=(
            Formula(
                path="score_final",
                title="Final score",
                compute=lambda values: (
                    weights.clinical * values["clinical"] + weights.captioning * values["captioning"]
                ),
            ),
            CohortMetric(path="clinical", title="Clinical", compute=_clinical(settings)),
            GivenFigure(path="radfact.precision", title="RadFact precision"),
            GivenFigure(path="radfact.recall", title="RadFact recall"),
            GivenFigure(path="score_final_lower_bound", title="Final score (lower bound)"),
            GivenFigure(path="radfact.suspicious_verdicts", title="Suspicious verdicts", direction="lower"),
            GivenFigure(path="radfact.failed_verdicts", title="Failed verdicts", direction="lower"),
        ),
    )


def _metric(name: str, title: str, **declared: Any) -> CaseMetric[ReportsCase]:
    return CaseMetric(name=name, title=title, direction="higher", lowest=0.0, highest=1.0, worst=0.0, **declared)


def _synonyms_metric(wordnet: WordNet | None) -> CaseMetric[ReportsCase]:
    """Without WordNet, the metric exists only for rows that were scored elsewhere."""

    def compute(case: ReportsCase) -> float:
        assert wordnet is not None
        return meteor_synonyms(candidate=case.candidate, reference=case.reference, synonyms=wordnet.synonyms)

    return _metric(
        "meteor_wordnet",
        "METEOR (WordNet)",
        compute=None if wordnet is None else compute,
        mean="meteor_wordnet",
        std="meteor_wordnet_std",
    )


def _corpus(bleu: Callable[[NgramCounts], float], suffix: str) -> Callable[[Sequence[Figures], Resamples], Floats]:
    """BLEU of all reports, from the counts that their rows keep."""

    def compute(rows: Sequence[Figures], resamples: Resamples) -> Floats:
        ngrams, tokens = f"ngrams{suffix}", f"tokens{suffix}"
        orders = sorted(rows[0][ngrams]["matches"], key=int)
        sides, kinds = ("candidate", "reference"), ("matches", "totals")
        counted = [
            [*(row[ngrams][kind][order] for kind in kinds for order in orders), *(row[tokens][side] for side in sides)]
            for row in rows
        ]
        return corpus_bleu(bleu, counted, resamples)

    return compute


def _clinical(settings: ReportsSettings) -> Callable[[Sequence[Figures], Resamples], Floats]:
    """By the chosen rule, over the drawn cases that have figures by the judge; 0 without any, as in `podium judge`."""

    def compute(rows: Sequence[Figures], resamples: Resamples) -> Floats:
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

    return compute


def ranking_rule(settings: ReportsSettings) -> RankingRule:
    """0.8 clinical + 0.2 captioning; the best go on to the arena."""
    weights = settings.weights
    return RankingRule(
        words=f"teams are ranked by {weights.clinical:g} clinical score + {weights.captioning:g} captioning score"
        + (" (BLEU-13a and METEOR with WordNet)" if settings.captioning == "offline" else "")
        + (", BLEU being the mean of the cases" if settings.bleu == "cases" else "")
        + _FINDINGS[settings.remove_normal_findings],
        criteria=(
            Criterion(
                path="score_final",
                title="Final score",
                direction="higher",
                if_absent="Run 'podium judge' on it first; '--scheme platform' ranks by what the container knows.",
            ),
        ),
        case_metrics=("radfact.f1", "captioning"),
        finalists=FINALISTS,
        lower_bound="score_final_lower_bound",
        doubts=(
            ("radfact.suspicious_verdicts", "suspicious verdicts"),
            ("radfact.suspicious_findings", "suspicious findings"),
            ("radfact.failed_verdicts", "failed verdicts"),
        ),
    )
