"""radfact-lite's three questions: split a report, drop normal findings, and whether one report entails a finding.

Prompts and schemas are the engine's, unchanged; only the client is ours. Reports are cleaned before they are asked
about, and findings and verdicts that look invented are marked.
"""

import hashlib
import json
import re
import unicodedata
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Literal

from podium.challenges.reports.files import ReportType
from podium.errors import UsageError
from podium.packages import missing_packages
from podium.tools.judge.asking import Asker, JudgeReply, Message, ResponseFormat

PACKAGE = "radfact-lite"
# Another version has other prompts, and its figures are not comparable.
PINNED_VERSION = "0.2.0"

MOST_FINDINGS = 100  # of one report: each costs a question, and ten reports of very short sentences had 23,579
Status = Literal["entailed", "not_entailed", "failed"]

# Marks of chat templates: on a server that interprets them, a report could pose as another speaker.
_ROLE_MARK = re.compile(r"<\||\|>|</?s>|\[/?INST\]|<</?SYS>>|</?(?:start|end)_of_turn>", re.IGNORECASE)
_WORD = re.compile(r"\w+")

_NEGATIONS = frozenset(
    _WORD.findall(
        "no not without absent none never kein keine keinen nicht ohne senza non assente sin ausente sans pas"
    )
)
_EMPTY_WORDS = _NEGATIONS | frozenset(
    _WORD.findall(
        "the and are was were has have with for from this that there which but its present seen noted shows show "
        "finding findings patient report also all any der die das und ist sind mit von des dem den ein eine auf bei "
        "befund zeigt che con del della dei delle nel nella sono una uno gli per presente los las por para est les "
        "une dans avec sur son"
    )
)
_SAME_START = 4  # letters: "rotated" and "rotation"
_NUMBER_RANGE = re.compile(r"\d\s*(?:-|–|—|to|through|/)\s*\d")
_KEPT_CONTROLS = "\n\t"


@dataclass(frozen=True, kw_only=True)
class Findings:
    """The findings of one report; `marked` are those that look invented. `beyond` is how many more there are than are
    asked about: these count as not entailed."""

    phrases: tuple[str, ...]
    beyond: int = 0
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
    """The engine's JSON client; keeps the last answer, of which the engine passes on only a part."""

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
        """The findings of a cleaned report; only abnormal ones if the settings say so."""
        from radfact_lite.finding_filter import remove_normal_findings
        from radfact_lite.phrase_parser import parse_report_to_phrases

        recorder = _Recorder(self._asker)
        phrases = [clean(phrase) for phrase in parse_report_to_phrases(recorder, report, self._type)]
        marked = suspicious_findings(recorder.answer.content, report)
        phrases, beyond = phrases[:MOST_FINDINGS], phrases[MOST_FINDINGS:]
        days = [recorder.answer.day]
        if self._remove_normal_findings and phrases:
            phrases = remove_normal_findings(recorder, phrases, self._type)
            days.append(recorder.answer.day)
        return Findings(
            phrases=tuple(phrase for phrase in phrases if phrase)[:MOST_FINDINGS],
            beyond=len(beyond),
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
            suspicious=entailed
            and suspicious_evidence(decision.evidence, premises.phrases, finding=finding, marked=premises.marked),
            day=recorder.answer.day,
        )


def check_installed() -> None:
    """Raises UsageError if the judge's packages are not installed, or in another version."""
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


# Reports are written by participants, who may address the judge. Nothing below decides a score: a finding or verdict
# that looks invented is marked and counted for people to review, and the lower bound of a score counts it as not
# entailed.


def clean(text: str) -> str:
    """The text without control and format characters (zero-width, bidirectional, tags) and without role marks."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    kept = (c for c in text if c in _KEPT_CONTROLS or unicodedata.category(c) not in ("Cc", "Cf", "Co", "Cs", "Cn"))
    return _ROLE_MARK.sub(" ", "".join(kept)).strip()  # no mark has a space, so none can form from what is left


def suspicious_findings(split: Mapping[str, Any], report: str) -> frozenset[str]:
    """The findings of a split report that do not occur in it or that contradict each other.

    The engine's prompts make the judge reword ("crossbite of 16-15" becomes two findings). A finding therefore occurs
    if its words do, in sequence, or if its stated source sentence does and contains at least half of its words and all
    of its numbers (which a range such as "13 to 23" need not spell out).
    """
    text = _words(report)
    marked: set[str] = set()
    for sentence in split["sentence_list"]:
        origin = sentence["orig"]
        known = _words(origin)
        for phrase in sentence["new"]:
            words = _words(phrase)
            unknown = [word for word in words if word not in known]
            numbers_known = not any(map(str.isdigit, unknown)) or _NUMBER_RANGE.search(origin)
            could_come_from = words and 2 * len(unknown) <= len(words) and numbers_known
            if not _contains(text, words) and not (_contains(text, known) and could_come_from):
                marked.add(phrase.strip())
    phrases = [phrase for sentence in split["sentence_list"] for phrase in sentence["new"]]
    return frozenset(marked) | {phrase.strip() for phrase in _contradicting(phrases)}


def suspicious_evidence(
    evidence: Sequence[str], premises: Sequence[str], *, finding: str, marked: Collection[str]
) -> bool:
    """Whether "entailed" is unsupported: no evidence is a premise that is not marked and shares a word with `finding`.

    An order to the judge seldom has a content word in common with a finding, in whatever language it is. Words are
    compared by their first four letters; those that every sentence may contain do not count.
    """
    sound = {tuple(_words(premise)) for premise in premises if premise not in marked}
    wanted = _content(finding)
    return not any(tuple(_words(each)) in sound and wanted & _content(each) for each in evidence)


def _content(text: str) -> frozenset[str]:
    """The content words of a text: its numbers, and the first letters of its other words."""
    words = [word for word in _words(text) if word not in _EMPTY_WORDS]
    return frozenset(
        word if word.isdigit() else word[:_SAME_START] for word in words if len(word) > 2 or word.isdigit()
    )


def _contradicting(phrases: Sequence[str]) -> frozenset[str]:
    """Findings that are stated and denied in the same words: a list of everything and its opposite is always right."""
    stated: dict[tuple[frozenset[str], bool], list[str]] = {}
    for phrase in phrases:
        is_denied = not _NEGATIONS.isdisjoint(_words(phrase))
        stated.setdefault((_content(phrase), is_denied), []).append(phrase)
    return frozenset(
        phrase
        for (content, is_denied), those in stated.items()
        if content and (content, not is_denied) in stated
        for phrase in those
    )


def _words(text: str) -> list[str]:
    return _WORD.findall(unicodedata.normalize("NFKC", text).casefold())


def _contains(text: Sequence[str], part: Sequence[str]) -> bool:
    """Whether the words of `part` occur in `text` in sequence."""
    return bool(part) and f" {' '.join(part)} " in f" {' '.join(text)} "
