"""From pairs of reports to verdicts: every distinct question once, several at a time, failures contained.

Two stages: split all distinct reports into findings, then ask for every finding whether the other report entails it.
A reference is split once however many teams are judged, and teams that say the same share the verdicts.
"""

import re
import time
import traceback
from collections import deque
from collections.abc import Callable, Hashable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from queue import SimpleQueue
from threading import Thread
from typing import Any, TypeVar

from podium.challenges.reports.format import ClinicalRule, FinalWeights
from podium.challenges.reports.scoring import EMPTY_REPORT
from podium.errors import PodiumError
from podium.metrics.aggregation import mean_of
from podium.tools.judge.asking import CallFailed, Meter
from podium.tools.judge.engine import Engine, Findings, FindingVerdict, addresses_judge, clean

# For questions under way when a stage is stopped: most have their answer by then and can put their connection away.
_SECONDS_TO_FINISH = 2.0

_TOO_LONG = "The report is longer than {:,} characters: it was not judged and scores 0."

Item = TypeVar("Item", bound=Hashable)
Value = TypeVar("Value")


@dataclass(frozen=True, kw_only=True)
class ReportPair:
    """One case of one team: two texts as they were read."""

    candidate: str
    reference: str


@dataclass(frozen=True, kw_only=True)
class JudgedPair:
    """`None` findings: that report could not be split. `skipped` says why the judge was not asked, where it was not."""

    candidate: Findings | None = None
    reference: Findings | None = None
    candidate_verdicts: tuple[FindingVerdict, ...] = ()
    reference_verdicts: tuple[FindingVerdict, ...] = ()
    addresses_judge: bool = False
    skipped: str | None = None


def judge_pairs(
    pairs: Mapping[Item, ReportPair], *, engine: Engine, meter: Meter, concurrency: int, max_characters: int
) -> dict[Item, JudgedPair]:
    """Every pair judged. A question that fails costs its verdicts; JudgeStopped ends it all, as does any other error.

    The caller has to stop the engine's asker then, or questions under way are waited for.
    """
    skipped = {
        key: _TOO_LONG.format(max_characters) for key, pair in pairs.items() if len(pair.candidate) > max_characters
    }
    cleaned = {key: (clean(pair.candidate), clean(pair.reference)) for key, pair in pairs.items() if key not in skipped}
    skipped |= {key: why for key, texts in cleaned.items() if (why := _reason_to_skip(*texts))}
    asked = {key: texts for key, texts in cleaned.items() if key not in skipped}

    stage = _Stage(meter, concurrency)
    findings = stage.run("splitting reports", [text for texts in asked.values() for text in texts], engine.split)
    questions = [
        question
        for candidate, reference in asked.values()
        for mine, other in ((candidate, reference), (reference, candidate))
        for question in _questions(findings[mine], findings[other])
    ]
    verdicts = stage.run("judging findings", questions, lambda question: engine.judge(*question))

    def settled(mine: Findings | None, other: Findings | None) -> tuple[FindingVerdict, ...]:
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
            candidate_verdicts=settled(mine, theirs),
            reference_verdicts=settled(theirs, mine),
            addresses_judge=addresses_judge(candidate),
        )
    return {key: judged[key] for key in pairs}


def _reason_to_skip(candidate: str, reference: str) -> str | None:
    """Empty reports score 0 and are not put to the judge."""
    if not re.search(r"\w", candidate):
        return EMPTY_REPORT
    if not re.search(r"\w", reference):
        return "The reference is empty: this report was not judged and scores 0."
    return None


def _questions(mine: Findings | None, other: Findings | None) -> list[tuple[str, Findings]]:
    """A report's findings, each with the other report to compare it with; none where either could not be split."""
    return [] if mine is None or other is None else [(phrase, other) for phrase in mine.phrases]


class _Stage:
    def __init__(self, meter: Meter, concurrency: int) -> None:
        self._meter = meter
        self._concurrency = concurrency

    def run(self, label: str, items: Sequence[Item], work: Callable[[Item], Value]) -> dict[Item, Value | None]:
        """`work` of every distinct item, None where its question failed."""
        distinct = list(dict.fromkeys(items))
        self._meter.start(label, len(distinct))

        def attempt(item: Item) -> Value | None:
            try:
                return work(item)
            except CallFailed:
                return None
            except PodiumError:
                raise
            except Exception as error:  # it costs this question and is counted; the log has the details
                self._meter.failed(f"unexpected {type(error).__name__}")
                print(traceback.format_exc(), flush=True)
                return None
            finally:
                self._meter.advance()

        waiting = deque(distinct)
        settled: SimpleQueue[tuple[Item, Value | None, BaseException | None]] = SimpleQueue()

        def serve() -> None:
            with suppress(IndexError):  # nothing is left to do
                while True:
                    item = waiting.popleft()
                    try:
                        settled.put((item, attempt(item), None))
                    except BaseException as error:  # raised again below, where it stops the stage
                        settled.put((item, None, error))

        # Daemons, and not a pool of the standard library's: that one waits for its threads even when we are asked to
        # stop, and a question under way may take minutes.
        threads = [Thread(target=serve, daemon=True) for _ in range(min(self._concurrency, len(distinct)))]
        for thread in threads:
            thread.start()
        found: dict[Item, Value | None] = {}
        try:
            while len(found) < len(distinct):
                item, value, error = settled.get()
                if error is not None:
                    raise error
                found[item] = value
            return found
        finally:
            waiting.clear()
            deadline = time.monotonic() + _SECONDS_TO_FINISH
            for thread in threads:
                thread.join(timeout=max(0.0, deadline - time.monotonic()))
            self._meter.close()


# RadFact's figures from verdicts: a row per case, and the aggregates.
#
# P = entailed candidate findings / candidate findings, R = entailed reference findings / reference findings, 0/0 = 0.
# A failed verdict is neither entailed nor not: it leaves numerator and denominator. A case without a single verdict
# in a direction that needed one has no figures (null) and is left out of the means; how many are is counted.


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
