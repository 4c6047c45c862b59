"""ODIN 2026: radiology report generation (BLEU-4 and METEOR here; RadFact by `podium judge`, offline).

One case is one free-text report; see docs/reports.md for the rules and their sources.
"""

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any, ClassVar

from podium.challenges.base import Challenge, Collected, Shapes
from podium.challenges.ground_truth import list_references
from podium.challenges.ranking_rule import Criterion, RankingRule
from podium.challenges.reports.pairing import check_distinct, collect_files, collect_jobs
from podium.challenges.reports.ranking import resampled_final_score
from podium.challenges.reports.settings import ReportsSettings
from podium.challenges.reports.sources import (
    ALL_IN_CSV,
    ALL_IN_JSON,
    REPORT_LIMIT_BYTES,
    REPORT_SOCKET,
    Source,
    read_report,
)
from podium.challenges.settings import Settings
from podium.errors import GroundTruthError
from podium.metrics.averages import mean_and_std
from podium.metrics.declaration import Metric
from podium.metrics.meteor_synonyms import meteor_synonyms
from podium.metrics.policy import POLICIES
from podium.metrics.resampling import Floats, Resamples
from podium.metrics.text import NgramCounts, bleu_4, count_ngrams, meteor, sum_counts, tokens_of
from podium.platform.leaderboard import Column
from podium.platform.results import CaseResult, CaseScore, Figures
from podium.platform.runtime import Timing
from podium.platform.submission import Submission, SubmissionNames
from podium.readers.files import SafeFile
from podium.readers.wordnet import find_wordnet

FINALISTS = 7  # the best so many methods go on to the arena
EMPTY_REPORT = "The report is empty and scores 0."
_TITLES = {"bleu_4": "BLEU-4", "meteor": "METEOR", "meteor_wordnet": "METEOR (WordNet)"}


def _metric(name: str, title: str, worst: float) -> Metric:
    return Metric(name=name, title=title, direction="higher", lowest=0.0, highest=1.0, worst=worst)


class Reports(Challenge[Source, SafeFile]):
    """Radiology report generation."""

    name: ClassVar[str] = "reports"
    settings_model: ClassVar[type[Settings]] = ReportsSettings
    output_sockets: ClassVar[frozenset[str]] = frozenset((REPORT_SOCKET,))
    format_settings: ClassVar[Mapping[str, Any]] = {}

    def __init__(self, settings: ReportsSettings) -> None:
        self.settings = settings

    @classmethod
    def recognises(cls, names: SubmissionNames) -> bool:
        if names.output_sockets & cls.output_sockets:
            return True
        files = [PurePosixPath(name).name.lower() for name in names.files]
        if ALL_IN_JSON in files or ALL_IN_CSV in files:
            return True
        return any(name.endswith(".txt") for name in files) and all(name.endswith((".txt", ".json")) for name in files)

    @property
    def metrics(self) -> Sequence[Metric]:
        computed = [name for name in _TITLES if name != "meteor_wordnet" or find_wordnet() is not None]
        return (
            *(_metric(name, _TITLES[name], POLICIES[name].failed) for name in computed),
            _metric("captioning", "Captioning", 0.0),
        )

    @property
    def confidential_figures(self) -> Sequence[str]:
        # Matches tell which words of a word list are in a reference; lengths tell the reference's, and whose row it is.
        return ("ngrams", "tokens")

    @classmethod
    def columns(cls) -> Sequence[Column]:
        return (
            Column(path="score", title="Score (captioning)", direction="higher", headline=True),
            Column(path="bleu_4", title="BLEU-4 (corpus)", direction="higher", headline=True),
            Column(path="meteor", title="METEOR", direction="higher", error_path="meteor_std", headline=True),
            Column(
                path="bleu_4_case_mean",
                title="BLEU-4 (mean of cases)",
                direction="higher",
                error_path="bleu_4_case_std",
            ),
            Column(
                path="meteor_wordnet", title="METEOR (WordNet)", direction="higher", error_path="meteor_wordnet_std"
            ),
            Column(path="empty_reports", title="Empty reports", direction="lower"),
        )

    def import_heavy_packages(self) -> None:
        find_wordnet()

    # Finding and reading

    def find_references(self, folder: Path) -> Mapping[str, SafeFile]:
        references: dict[str, SafeFile] = {}
        for file in list_references(folder):
            path = PurePosixPath(file.name)
            if path.suffix != ".txt" or len(path.parts) != 1:
                raise GroundTruthError("A reference is not named <case>.txt.", detail=f"references/{file.name}")
            references[path.stem] = file
        check_distinct(references)
        return references

    def reference_files(self, reference: SafeFile) -> Sequence[SafeFile]:
        return (reference,)

    def check_reference(self, reference: SafeFile) -> Shapes:
        read_report(reference)
        return {}

    def submission_bytes(self, shapes: Sequence[Shapes]) -> int:
        return len(shapes) * REPORT_LIMIT_BYTES + REPORT_LIMIT_BYTES

    def collect(self, submission: Submission, cases: Collection[str] | None) -> Collected[Source]:
        return (collect_jobs if submission.is_algorithm else collect_files)(submission, cases)

    def check_prediction(self, prediction: Source, shapes: Shapes | None) -> None:  # noqa: ARG002  (text has none)
        read_report(prediction)

    # Scoring

    def score(self, prediction: Source, reference: SafeFile) -> CaseScore:
        candidate = tokens_of(read_report(prediction))
        figures = _figures(candidate, tokens_of(read_report(reference)))
        return CaseScore(metrics=figures, warnings=() if candidate else (EMPTY_REPORT,))

    def unanswered(self, reference: SafeFile) -> Figures:
        return {**_figures([], tokens_of(read_report(reference))), **self.worst_figures()}

    # Adding up

    def aggregate(self, results: Sequence[CaseResult], timing: Timing) -> Figures:  # noqa: ARG002  (time is not scored)
        rows = [result.metrics for result in results]
        figures: dict[str, Any] = {}
        figures["bleu_4"] = bleu_4(sum_counts(_counts(row) for row in rows))
        figures["bleu_4_case_mean"], figures["bleu_4_case_std"] = mean_and_std([row["bleu_4"] for row in rows])
        for name in ("meteor", "meteor_wordnet"):
            if all(name in row for row in rows):
                figures[name], figures[f"{name}_std"] = mean_and_std([row[name] for row in rows])
        figures["captioning"] = figures["score"] = (figures["bleu_4"] + figures["meteor"]) / 2
        figures["radfact_known"] = 0
        figures["empty_reports"] = sum(row["tokens"]["candidate"] == 0 for row in rows)
        return figures

    # Ranking

    @property
    def offline_metrics(self) -> Sequence[Metric]:
        return (_metric("radfact.f1", "RadFact F1", 0.0),)

    @classmethod
    def offline_columns(cls) -> Sequence[Column]:
        return (
            Column(path="score_final", title="Final score", direction="higher", headline=True),
            Column(path="clinical", title="Clinical", direction="higher", headline=True),
            Column(path="radfact.precision", title="RadFact precision", direction="higher"),
            Column(path="radfact.recall", title="RadFact recall", direction="higher"),
        )

    def ranking_rule(self) -> RankingRule:
        weights = self.settings.weights
        return RankingRule(
            words=f"teams are ranked by {weights.clinical:g} clinical score + {weights.captioning:g} captioning score",
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
        )

    def resampled_figures(
        self,
        rows: Sequence[Figures],
        aggregates: Figures,  # noqa: ARG002  (all that is ranked comes from the cases)
        resamples: Resamples,
    ) -> Mapping[str, Floats] | None:
        score = resampled_final_score(rows, resamples, self.settings)
        return None if score is None else {"score_final": score}


def _figures(candidate: Sequence[str], reference: Sequence[str]) -> dict[str, Any]:
    """One case's figures, and the counts from which the corpus BLEU can be computed again."""
    counts = count_ngrams(candidate=candidate, reference=reference)
    figures: dict[str, Any] = {
        "bleu_4": bleu_4(counts),
        "meteor": meteor(candidate=candidate, reference=reference),
        "ngrams": {"matches": _by_order(counts.matches), "totals": _by_order(counts.totals)},
        "tokens": {"candidate": counts.candidate_tokens, "reference": counts.reference_tokens},
    }
    figures["captioning"] = (figures["bleu_4"] + figures["meteor"]) / 2
    wordnet = find_wordnet()
    if wordnet is not None:
        figures["meteor_wordnet"] = meteor_synonyms(candidate=candidate, reference=reference, synonyms=wordnet.synonyms)
    return figures


def _by_order(counts: Sequence[int]) -> dict[str, int]:
    return {str(order): count for order, count in enumerate(counts, start=1)}


def _counts(row: Figures) -> NgramCounts:
    return NgramCounts(
        matches=tuple(row["ngrams"]["matches"].values()),
        totals=tuple(row["ngrams"]["totals"].values()),
        candidate_tokens=row["tokens"]["candidate"],
        reference_tokens=row["tokens"]["reference"],
    )
