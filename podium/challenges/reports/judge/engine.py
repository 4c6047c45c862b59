"""radfact-lite's three questions, put to our asker: split a report, drop normal findings, does this entail that.

Prompts, schemas and wording are the engine's own, unchanged; only the client that asks is ours.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Literal

from podium.challenges.reports.format import ReportType
from podium.challenges.reports.judge.asking import Asker, JudgeReply, Message, ResponseFormat
from podium.challenges.reports.judge.suspicion import clean, suspicious_evidence, suspicious_findings
from podium.errors import UsageError, missing_packages

PACKAGE = "radfact-lite"
# Another version has other prompts, and its figures are not comparable.
PINNED_VERSION = "0.2.0"

Status = Literal["entailed", "not_entailed", "failed"]


@dataclass(frozen=True, kw_only=True)
class Findings:
    """What one report says, finding by finding; `marked` are those that look made up. None was found: `()`."""

    phrases: tuple[str, ...]
    marked: frozenset[str] = frozenset()
    day: str = ""


@dataclass(frozen=True, kw_only=True)
class FindingVerdict:
    """Whether the other report entails a finding, with the evidence given."""

    finding: str
    status: Status
    evidence: tuple[str, ...] = ()
    suspicious: bool = False
    day: str = ""


class _Recorder:
    """The engine's JSON-client protocol for a single question; keeps the answer, which the engine passes on in part."""

    def __init__(self, asker: Asker) -> None:
        self._asker = asker
        self.answer = JudgeReply(content={}, day="")

    def complete_json(self, messages: Sequence[Message], response_format: ResponseFormat) -> Mapping[str, Any]:
        self.answer = self._asker.ask(messages, response_format)
        return self.answer.content


class Engine:
    """The questions about reports of one type."""

    def __init__(self, asker: Asker, *, report_type: ReportType, remove_normal_findings: bool) -> None:
        from radfact_lite import ReportType as TheirReportType

        self._asker = asker
        self._type = TheirReportType(report_type)
        self._remove_normal_findings = remove_normal_findings

    def split(self, report: str) -> Findings:
        """The findings of a cleaned report, the abnormal ones alone where the settings say so."""
        from radfact_lite.finding_filter import remove_normal_findings
        from radfact_lite.phrase_parser import parse_report_to_phrases

        recorder = _Recorder(self._asker)
        phrases = [clean(phrase) for phrase in parse_report_to_phrases(recorder, report, self._type)]
        marked = suspicious_findings(recorder.answer.content, report)
        days = [recorder.answer.day]
        if self._remove_normal_findings and phrases:
            phrases = remove_normal_findings(recorder, phrases, self._type)
            days.append(recorder.answer.day)
        return Findings(
            phrases=tuple(phrase for phrase in phrases if phrase),
            marked=frozenset(clean(phrase) for phrase in marked),
            day=max(days),
        )

    def judge(self, finding: str, premises: Findings) -> FindingVerdict:
        """Whether the premises entail the finding. Without premises nothing is entailed, and the judge is not asked."""
        from radfact_lite.entailment import assess_entailment

        if not premises.phrases:
            return FindingVerdict(finding=finding, status="not_entailed")
        recorder = _Recorder(self._asker)
        decision = assess_entailment(recorder, list(premises.phrases), finding, self._type)
        entailed = decision.status == "entailment"
        return FindingVerdict(
            finding=finding,
            status="entailed" if entailed else "not_entailed",
            evidence=tuple(decision.evidence),
            suspicious=entailed and suspicious_evidence(decision.evidence, premises.phrases, marked=premises.marked),
            day=recorder.answer.day,
        )


def check_installed() -> None:
    """Raises UsageError where the judge's packages are not installed, or in another version."""
    try:
        found = version(PACKAGE)
        import openai  # noqa: F401
    except (PackageNotFoundError, ImportError):
        raise UsageError(missing_packages(PACKAGE, extra="judge")) from None
    if found != PINNED_VERSION:
        raise UsageError(f"{PACKAGE} {found} is installed; its figures are comparable only in {PINNED_VERSION}.")


def prompt_hash(report_type: ReportType) -> str:
    """Identifies the prompts and schemas of a report type."""
    from radfact_lite import ReportType as TheirReportType
    from radfact_lite import entailment, finding_filter, phrase_parser
    from radfact_lite.prompts import load_few_shot_json, load_system_prompt

    theirs = TheirReportType(report_type)
    content = [
        [load_system_prompt(task, theirs), load_few_shot_json(task, theirs)]
        for task in ("report_to_phrases", "finding_filter", "entailment")
    ]
    schemas = [phrase_parser._PARSE_SCHEMA, finding_filter._FILTER_SCHEMA, entailment._ENTAILMENT_SCHEMA]
    return hashlib.sha256(json.dumps([content, schemas], sort_keys=True).encode()).hexdigest()
