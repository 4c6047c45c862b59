"""RadFact's figures from verdicts: a row per case, and the aggregates.

P = entailed candidate findings / candidate findings, R = entailed reference findings / reference findings, 0/0 = 0.
A failed verdict is neither entailed nor not: it leaves numerator and denominator. A case without a single verdict in a
direction that needed one has no figures (null) and is left out of the means; how many are is counted.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from podium.challenges.reports.format import ClinicalRule, FinalWeights
from podium.challenges.reports.judge.engine import FindingVerdict
from podium.challenges.reports.judge.judging import JudgedPair
from podium.metrics.aggregation import mean_of


def harmonic_mean(precision: float, recall: float) -> float:
    """2PR / (P + R), 0 where both are 0."""
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0


@dataclass(frozen=True, kw_only=True)
class Direction:
    """The verdicts on one report's findings, counted."""

    findings: int
    entailed: int
    failed: int
    suspicious: int
    sound: int  # entailed, and nothing about it is suspicious

    @property
    def share(self) -> float | None:
        """Entailed among the verdicts that were given; None where there should be some, but all failed."""
        given = self.findings - self.failed
        if given:
            return self.entailed / given
        return None if self.findings else 0.0

    @property
    def lower_bound(self) -> float:
        """The same if all that failed or is suspicious were not entailed."""
        return self.sound / self.findings if self.findings else 0.0


def count(verdicts: Sequence[FindingVerdict], *, marked: frozenset[str]) -> Direction:
    """`marked` are suspicious findings: their verdicts count in full, but not in the lower bound."""
    entailed = [verdict for verdict in verdicts if verdict.status == "entailed"]
    return Direction(
        findings=len(verdicts),
        entailed=len(entailed),
        failed=sum(verdict.status == "failed" for verdict in verdicts),
        suspicious=sum(verdict.suspicious for verdict in entailed),
        sound=sum(not verdict.suspicious and verdict.finding not in marked for verdict in entailed),
    )


@dataclass(frozen=True, kw_only=True)
class CaseFigures:
    """One case judged, and the figures of it."""

    judged: JudgedPair
    candidate: Direction
    reference: Direction

    @property
    def unsplit(self) -> int:
        """How many of the two reports could not be split into findings."""
        return 0 if self.judged.skipped else (self.judged.candidate, self.judged.reference).count(None)

    @property
    def failed(self) -> int:
        """Failed verdicts. An unsplit report costs one, and all the verdicts it keeps the other's findings from."""
        lost = sum(
            len(findings.phrases)
            for findings in (self.judged.candidate, self.judged.reference)
            if findings is not None and self.unsplit
        )
        return self.candidate.failed + self.reference.failed + self.unsplit + lost

    @property
    def verdicts(self) -> int:
        """Verdicts given or failed."""
        given = self.candidate.findings - self.candidate.failed + self.reference.findings - self.reference.failed
        return given + self.failed

    @property
    def precision(self) -> float | None:
        return None if self.unsplit else self.candidate.share

    @property
    def recall(self) -> float | None:
        return None if self.unsplit else self.reference.share

    @property
    def f1(self) -> float | None:
        if self.precision is None or self.recall is None:
            return None
        return harmonic_mean(self.precision, self.recall)

    @property
    def suspicious_findings(self) -> int:
        findings = self.judged.candidate
        return sum(phrase in findings.marked for phrase in findings.phrases) if findings else 0

    @property
    def suspicious_verdicts(self) -> int:
        return self.candidate.suspicious + self.reference.suspicious

    def warnings(self) -> tuple[str, ...]:
        """What a person should look at."""
        said = [self.judged.skipped] if self.judged.skipped else []
        if self.judged.addresses_judge:
            said.append("The report seems to address the judge.")
        if self.suspicious_findings:
            said.append(f"{self.suspicious_findings} findings of the judge's do not occur in the report or address it.")
        if self.suspicious_verdicts:
            said.append(f"{self.suspicious_verdicts} verdicts rest on no evidence that is a finding.")
        if self.failed:
            said.append(f"{self.failed} verdicts failed.")
        return tuple(said)

    def row(self, *, keep_evidence: bool) -> dict[str, Any]:
        """What stands under `radfact` in the case's row."""
        reference = self.judged.reference
        row: dict[str, Any] = {
            "precision": self.precision,
            "recall": self.recall,
            "f1": self.f1,
            "candidate_findings": self.candidate.findings,
            "candidate_entailed": self.candidate.entailed,
            "reference_findings": self.reference.findings,
            "reference_entailed": self.reference.entailed,
            "failed_verdicts": self.failed,
            "suspicious_findings": self.suspicious_findings,
            "suspicious_reference_findings": sum(p in reference.marked for p in reference.phrases) if reference else 0,
            "suspicious_verdicts": self.suspicious_verdicts,
        }
        if keep_evidence:
            row["candidate_verdicts"] = [_spelt_out(verdict) for verdict in self.judged.candidate_verdicts]
            row["reference_verdicts"] = [_spelt_out(verdict) for verdict in self.judged.reference_verdicts]
        return row


# Per-case figures that tell of the reference's content: left out of anonymous rows.
CONFIDENTIAL = tuple(
    f"radfact.{name}"
    for name in (
        *("candidate_findings", "candidate_entailed", "reference_findings", "reference_entailed"),
        *("suspicious_reference_findings", "candidate_verdicts", "reference_verdicts"),
    )
)


def _spelt_out(verdict: FindingVerdict) -> dict[str, Any]:
    return {
        "finding": verdict.finding,
        "verdict": verdict.status,
        "evidence": list(verdict.evidence),
        "suspicious": verdict.suspicious,
    }


def case_figures(judged: JudgedPair) -> CaseFigures:
    """The figures of one case."""
    marked = judged.candidate.marked if judged.candidate else frozenset()
    return CaseFigures(
        judged=judged,
        candidate=count(judged.candidate_verdicts, marked=marked),
        reference=count(judged.reference_verdicts, marked=frozenset()),
    )


def failure_share(cases: Sequence[CaseFigures]) -> float:
    """Failed verdicts among all."""
    verdicts = sum(case.verdicts for case in cases)
    return sum(case.failed for case in cases) / verdicts if verdicts else 0.0


def radfact_aggregates(cases: Sequence[CaseFigures]) -> dict[str, float]:
    """Everything under `aggregates.radfact`; the means are over the cases that have figures."""
    known = [case for case in cases if case.f1 is not None]
    precision = mean_of([case.precision or 0.0 for case in known])
    recall = mean_of([case.recall or 0.0 for case in known])
    f1_of_means = harmonic_mean(precision, recall)
    mean_of_f1 = mean_of([case.f1 or 0.0 for case in known])
    lower = harmonic_mean(
        mean_of([case.candidate.lower_bound for case in cases]), mean_of([case.reference.lower_bound for case in cases])
    )
    lower_of_f1 = mean_of([harmonic_mean(case.candidate.lower_bound, case.reference.lower_bound) for case in cases])
    return {
        "precision": precision,
        "recall": recall,
        "f1_of_means": f1_of_means,
        "mean_of_f1": mean_of_f1,
        # A case without figures is left out of the means, but not of the bounds: these could be higher then.
        "lower_bound": min(lower, f1_of_means),
        "mean_of_f1_lower_bound": min(lower_of_f1, mean_of_f1),
        "cases": len(known),
        "verdicts": sum(case.verdicts for case in cases),
        "failed_verdicts": sum(case.failed for case in cases),
        "suspicious_findings": sum(case.suspicious_findings for case in cases),
        "suspicious_verdicts": sum(case.suspicious_verdicts for case in cases),
    }


def final_figures(
    radfact: Mapping[str, float], *, captioning: float, rule: ClinicalRule, weights: FinalWeights
) -> dict[str, Any]:
    """`radfact`, `clinical` by the chosen rule, and score_final = 0.8 clinical + 0.2 captioning."""
    clinical = radfact[rule]
    return {
        "radfact": dict(radfact),
        "radfact_known": 1,
        "clinical": clinical,
        "captioning": captioning,
        "score_final": weights.clinical * clinical + weights.captioning * captioning,
    }


def final_lower_bound(
    radfact: Mapping[str, float], *, captioning: float, rule: ClinicalRule, weights: FinalWeights
) -> float:
    """score_final if every failed or suspicious verdict were "not entailed"."""
    clinical = radfact["lower_bound" if rule == "f1_of_means" else "mean_of_f1_lower_bound"]
    return weights.clinical * clinical + weights.captioning * captioning
