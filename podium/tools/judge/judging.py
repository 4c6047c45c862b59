"""From pairs of reports to verdicts, and from verdicts to RadFact's figures.

Two stages: split all distinct reports into findings, then ask for every finding whether the other report entails it.
Every distinct question is asked once: a reference is split once for all teams, and teams with the same findings share
the verdicts. A failed question affects only the verdicts that need it.

P = entailed candidate findings / candidate findings, R = entailed reference findings / reference findings, 0/0 = 0.
A failed verdict counts in neither numerator nor denominator. A case without a single verdict in a direction that needs
one has no figures (null); it is left out of the means, and counted.
"""

import re
import time
import traceback
from collections import deque
from collections.abc import Callable, Hashable, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from functools import partial
from queue import SimpleQueue
from threading import Thread
from typing import Any, TypeVar

from podium.challenges.reports.files import EMPTY_REPORT, ClinicalRule, FinalWeights
from podium.errors import PodiumError
from podium.execution.executor import ProgressFactory
from podium.metrics.aggregation import harmonic_mean, mean_of
from podium.tools.judge.asking import CallFailed, Meter
from podium.tools.judge.engine import MOST_FINDINGS, Engine, Findings, FindingVerdict, clean

# Per-case figures that reveal the reference's content: left out of anonymous rows.
CONFIDENTIAL = tuple(
    f"radfact.{name}"
    for name in (
        *("candidate_findings", "candidate_entailed", "reference_findings", "reference_entailed"),
        *("suspicious_reference_findings", "candidate_verdicts", "reference_verdicts"),
    )
)
_SECONDS_TO_FINISH = 2.0  # for questions in progress when a stage stops: most are answered and close their connection

Item = TypeVar("Item", bound=Hashable)
Value = TypeVar("Value")


@dataclass(frozen=True, kw_only=True)
class JudgedPair:
    """Findings are None for a report that could not be split; `skipped` is the reason if the judge was not asked."""

    candidate: Findings | None = None
    reference: Findings | None = None
    candidate_verdicts: tuple[FindingVerdict, ...] = ()
    reference_verdicts: tuple[FindingVerdict, ...] = ()
    skipped: str | None = None


def judge_pairs(  # noqa: PLR0913  (a run has these parts)
    pairs: Mapping[Item, tuple[str, str]],
    *,
    engine: Engine,
    meter: Meter,
    progress: ProgressFactory,
    concurrency: int,
    max_characters: int,
) -> dict[Item, JudgedPair]:
    """Judge every pair of a report and its reference.

    A failed question makes its verdicts fail; JudgeStopped or any other error ends the run. The caller must
    then stop the engine's asker, or questions in progress are waited for.
    """
    too_long = f"The report is longer than {max_characters:,} characters: it was not judged and scores 0."
    skipped: dict[Item, str] = {}
    asked: dict[Item, tuple[str, str]] = {}
    for key, pair in pairs.items():
        if len(pair[0]) > max_characters:
            skipped[key] = too_long
            continue
        candidate, reference = map(clean, pair)
        if not re.search(r"\w", candidate):  # empty reports score 0 without asking the judge
            skipped[key] = EMPTY_REPORT
        elif not re.search(r"\w", reference):
            skipped[key] = "The reference is empty: this report was not judged and scores 0."
        else:
            asked[key] = candidate, reference

    run_stage = partial(_run_stage, meter=meter, progress=progress, concurrency=concurrency)
    reports = [text for texts in asked.values() for text in texts]
    findings = run_stage("splitting reports", reports, engine.split)
    questions = [
        question
        for candidate, reference in asked.values()
        for mine, other in ((candidate, reference), (reference, candidate))
        for question in _questions(findings[mine], findings[other])
    ]
    verdicts = run_stage("judging findings", questions, lambda question: engine.judge(*question))

    def verdicts_on(mine: Findings | None, other: Findings | None) -> tuple[FindingVerdict, ...]:
        return tuple(
            verdicts[question] or FindingVerdict(finding=question[0], status="failed")
            for question in _questions(mine, other)
        )

    judged = {key: JudgedPair(skipped=why) for key, why in skipped.items()}
    for key, (candidate, reference) in asked.items():
        mine, theirs = findings[candidate], findings[reference]
        judged[key] = JudgedPair(
            candidate=mine,
            reference=theirs,
            candidate_verdicts=verdicts_on(mine, theirs),
            reference_verdicts=verdicts_on(theirs, mine),
        )
    return {key: judged[key] for key in pairs}


def _questions(mine: Findings | None, other: Findings | None) -> list[tuple[str, Findings]]:
    """A report's findings, each with the other report to compare it with; none where either could not be split."""
    return [] if mine is None or other is None else [(phrase, other) for phrase in mine.phrases]


def _run_stage(  # noqa: PLR0913
    label: str,
    items: Sequence[Item],
    work: Callable[[Item], Value],
    *,
    meter: Meter,
    progress: ProgressFactory,
    concurrency: int,
) -> dict[Item, Value | None]:
    """`work` of every distinct item, None where its question failed."""
    waiting = deque(dict.fromkeys(items))
    total = len(waiting)
    done: SimpleQueue[tuple[Item, Value | None, BaseException | None]] = SimpleQueue()

    def attempt(item: Item) -> Value | None:
        try:
            return work(item)
        except CallFailed:
            return None
        except PodiumError:
            raise
        except Exception as error:  # only this question fails, and is counted; the log has the details
            meter.failed(f"unexpected {type(error).__name__}")
            print(traceback.format_exc(), flush=True)
            return None

    def serve() -> None:
        with suppress(IndexError):  # nothing is left to do
            while True:
                item = waiting.popleft()
                try:
                    done.put((item, attempt(item), None))
                except BaseException as error:  # raised again below, where it stops the stage
                    done.put((item, None, error))

    # Daemon threads rather than a pool of the standard library, which waits for its threads even when the run is to
    # stop: a question in progress may take minutes.
    threads = [Thread(target=serve, daemon=True) for _ in range(min(concurrency, total))]
    for thread in threads:
        thread.start()
    found: dict[Item, Value | None] = {}
    with closing(progress(label, total)) as shown:
        try:
            while len(found) < total:
                item, value, error = done.get()
                if error is not None:
                    raise error
                found[item] = value
                shown.advance()
            return found
        finally:
            waiting.clear()
            deadline = time.monotonic() + _SECONDS_TO_FINISH
            for thread in threads:
                thread.join(timeout=max(0.0, deadline - time.monotonic()))


# RadFact's figures: a row per case, and the aggregates.


@dataclass(frozen=True, kw_only=True)
class VerdictCounts:
    """Counts of the verdicts on one report's findings; `unasked` are those beyond the first 100."""

    findings: int
    unasked: int
    entailed: int
    failed: int
    suspicious: int
    sound: int  # entailed, and nothing about it is suspicious

    @property
    def share(self) -> float | None:
        """Share of entailed among the verdicts given; None if all failed."""
        given = self.findings - self.failed
        if given:
            return self.entailed / given
        return None if self.findings else 0.0

    @property
    def lower_bound(self) -> float:
        """The share if all failed or suspicious verdicts were "not entailed"."""
        return self.sound / self.findings if self.findings else 0.0


def _count(verdicts: Sequence[FindingVerdict], findings: Findings | None, *, marked: frozenset[str]) -> VerdictCounts:
    """`marked` are suspicious findings: their verdicts count, except in the lower bound."""
    unasked = findings.beyond if findings else 0
    entailed = [verdict for verdict in verdicts if verdict.status == "entailed"]
    return VerdictCounts(
        findings=len(verdicts) + unasked,
        unasked=unasked,
        entailed=len(entailed),
        failed=sum(verdict.status == "failed" for verdict in verdicts),
        suspicious=sum(verdict.suspicious for verdict in entailed),
        sound=sum(not verdict.suspicious and verdict.finding not in marked for verdict in entailed),
    )


@dataclass(frozen=True, kw_only=True)
class CaseFigures:
    """One judged case and its figures."""

    judged: JudgedPair
    candidate: VerdictCounts
    reference: VerdictCounts

    @property
    def unsplit(self) -> int:
        """How many of the two reports could not be split into findings."""
        return 0 if self.judged.skipped else (self.judged.candidate, self.judged.reference).count(None)

    @property
    def failed(self) -> int:
        """Failed verdicts. An unsplit report counts as one, plus all verdicts on the other report's findings."""
        unjudged = sum(
            len(findings.phrases)
            for findings in (self.judged.candidate, self.judged.reference)
            if findings is not None and self.unsplit
        )
        return self.candidate.failed + self.reference.failed + self.unsplit + unjudged

    @property
    def verdicts(self) -> int:
        """All verdicts, given or failed."""
        given = sum(each.findings - each.unasked - each.failed for each in (self.candidate, self.reference))
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
        """What people should review."""
        warnings = [self.judged.skipped] if self.judged.skipped else []
        if self.suspicious_findings:
            warnings.append(f"{self.suspicious_findings} of the judge's findings do not occur in the report.")
        if self.suspicious_verdicts:
            warnings.append(f"{self.suspicious_verdicts} verdicts cite no finding that supports them.")
        if self.failed:
            warnings.append(f"{self.failed} verdicts failed.")
        if unasked := self.candidate.unasked:
            warnings.append(f"{unasked} findings beyond the first {MOST_FINDINGS} count as not entailed.")
        return tuple(warnings)

    def row(self, *, keep_evidence: bool) -> dict[str, Any]:
        """The content of `radfact` in the case's row."""
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
            for side in ("candidate_verdicts", "reference_verdicts"):
                row[side] = [
                    {
                        "finding": verdict.finding,
                        "verdict": verdict.status,
                        "evidence": list(verdict.evidence),
                        "suspicious": verdict.suspicious,
                    }
                    for verdict in getattr(self.judged, side)
                ]
        return row


def case_figures(judged: JudgedPair) -> CaseFigures:
    """The figures of one case."""
    marked = judged.candidate.marked if judged.candidate else frozenset()
    return CaseFigures(
        judged=judged,
        candidate=_count(judged.candidate_verdicts, judged.candidate, marked=marked),
        reference=_count(judged.reference_verdicts, judged.reference, marked=frozenset()),
    )


@dataclass(frozen=True, kw_only=True)
class Doubts:
    """Counts over a team's cases."""

    verdicts: int
    failed: int
    suspicious_verdicts: int
    suspicious_findings: int

    @property
    def failure_share(self) -> float:
        """Share of failed verdicts."""
        return self.failed / self.verdicts if self.verdicts else 0.0

    def __str__(self) -> str:
        return (
            f"{self.suspicious_verdicts:,} suspicious and {self.failed:,} failed of {self.verdicts:,} verdicts, "
            f"{self.suspicious_findings:,} suspicious findings"
        )


def count_doubts(cases: Sequence[CaseFigures]) -> Doubts:
    names = ("verdicts", "failed", "suspicious_verdicts", "suspicious_findings")
    return Doubts(**{name: sum(getattr(case, name) for case in cases) for name in names})


def radfact_aggregates(cases: Sequence[CaseFigures]) -> dict[str, float]:
    """Everything under `aggregates.radfact`; the means are over the cases that have figures."""
    doubts = count_doubts(cases)
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
        # The means leave out cases without figures, the bounds do not, and could otherwise be higher.
        "lower_bound": min(lower, f1_of_means),
        "mean_of_f1_lower_bound": min(lower_of_f1, mean_of_f1),
        "cases": len(known),
        "verdicts": doubts.verdicts,
        "failed_verdicts": doubts.failed,
        "suspicious_findings": doubts.suspicious_findings,
        "suspicious_verdicts": doubts.suspicious_verdicts,
    }


def final_figures(
    radfact: Mapping[str, float], *, captioning: float, rule: ClinicalRule, weights: FinalWeights
) -> dict[str, Any]:
    """`radfact`, `clinical` by the chosen rule, and score_final, the weighted sum of clinical and captioning; its lower
    bound is what it would be if every failed or suspicious verdict were "not entailed"."""
    bound = radfact["lower_bound" if rule == "f1_of_means" else "mean_of_f1_lower_bound"]
    return {
        "radfact": dict(radfact),
        "radfact_known": 1,
        "clinical": radfact[rule],
        "captioning": captioning,
        "score_final": weights.clinical * radfact[rule] + weights.captioning * captioning,
        "score_final_lower_bound": weights.clinical * bound + weights.captioning * captioning,
    }
