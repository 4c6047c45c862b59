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

from podium.challenges.reports.format import ReportType
from podium.errors import UsageError, missing_packages
from podium.tools.judge.asking import Asker, JudgeReply, Message, ResponseFormat

PACKAGE = "radfact-lite"
# Another version has other prompts, and its figures are not comparable.
PINNED_VERSION = "0.2.0"

Status = Literal["entailed", "not_entailed", "failed"]

# Marks of chat templates: on a server that interprets them, a report could pose as another speaker.
_ROLE_MARK = r"(?:<\|[^|<>]{0,40}\|>|</?s>|\[/?INST\]|<</?SYS>>|</?(?:start|end)_of_turn>)"
_ANY_MARK = re.compile(_ROLE_MARK, re.IGNORECASE)
_MARK_AT_END = re.compile(_ROLE_MARK + r"\Z", re.IGNORECASE)
_MARK_ENDS = ">]"
_LONGEST_MARK = 44

# Words of the judge's task, which no radiology report needs.
_ADDRESSES_JUDGE = re.compile(
    r"\b(?:not[_ ])?entail(?:s|ed|ment)?\b|\bhypothes[ei]s\b|\bpremises?\b"
    r"|\b(?:ignore|disregard|forget|override)\b.{0,60}\b(?:instruction|prompt|rule|above|previous|prior)"
    r"|\b(?:system|user|assistant) ?(?:prompt|message|role)\b|\bas an ai\b|\blanguage model\b|\bjson\b"
    r"|\b(?:the|dear|as a|you are a) (?:judge|evaluator|grader)\b"
    r"|\b(?:all|every) (?:findings?|phrases?|statements?) (?:is|are|must be) (?:true|correct|supported|present)\b",
    re.IGNORECASE | re.DOTALL,
)

_WORD = re.compile(r"\w+")

# The same in the other languages of reports, and orders without these words: requests to whoever reads, chat roles,
# examples of answers, markup, and statements about whatever else is stated. A report addresses nobody as "you".
_ADDRESSES_READER = re.compile(
    r"<!--|-->|```|</?[a-z][^<>]{0,200}>|^#+ |\bq\s*:.{0,80}\ba\s*:"
    r"|\b(?:system|user|assistant|human|hypothesis|premise|answer|output|example \d+)\s*:"
    r"|\b(?:graders?|evaluators?|reviewers?|llm|chatbot|verdicts?|decode|rot13|base64)\b"
    r"|(?<!thank )\byou(?:r|rs|rself)?\b(?! for)"
    r"|\b(?:say|answer|reply|respond|agree)\b.{0,20}\b(?:yes|positively|everything)\b"
    r"|\b(?:full|top|best|high) (?:marks?|scores?)\b|\b(?:every|each|any|all|remaining) (?:questions?|quer(?:y|ies))\b"
    r"|\b(?:please|kindly)\b.{0,40}\b(?:mark|count|rate|score|treat|accept|regard|consider|grant|confirm|agree|answer)"
    r"|\b(?:treat|count|mark|rate|score|accept|regard|consider) (?:this|all|every|any|each|it|them|the following)\b"
    r"|\b(?:any|every|each|all|whatever)\b.{0,30}\b(?:mentioned|stated|listed|described|asked|ask|named)\b"
    r".{0,30}\b(?:also|elsewhere|true|seen|present|here|too|observed|found|other)\b"
    r"|\b(?:means|includes|covers|implies|contains) (?:every|any|all|each)|\beverything\b|\bthe reference\b"
    r"|\b(?:approved?|lenient|permissive|generous)\b|\[(?:system|user|assistant)\]"
    r"|\b(?:vergiss|dimentica|olvida|oubliez|conferma tutto|aprueba|approuvez)\b"
    r"|\b(?:der|die|la|de la|della) r[eé]f[eé]ren"
    r"|\bignorier\w*|\b(?:beachten|bewerten|bestätigen|antworten|betrachten|stufen|werten) sie\b"
    r"|\b(?:alle|sämtliche|jede) (?:befunde|aussagen?)\b.{0,40}"
    r"\b(?:richtig|korrekt|wahr|zutreffend|bestätigt|enthalten|belegt)"
    r"|\b(?:gutachter|bewerter)\b|\b(?:du (?:sollst|bist|musst)|antwort(?:e|en) (?:immer|stets)|mit ja\b)"
    r"|\bignora(?:re|te|r)?\b|\brispond(?:i|ere|ete)\b|\bvalutatore\b|\btutt[ei] (?:i reperti|le affermazioni)\b"
    r"|\b(?:segna|considera)\b.{0,20}\b(?:come|ver[oi])\b|\bsei un|\bsempre (?:ragione|sì)|\bqualunque reperto\b"
    r"|\bignore[nsz]?\b|\b(?:responda|contesta|conteste|marque|califique)\b|\bevaluador\b|\bsiempre que sí"
    r"|\btod[oa]s l[oa]s (?:hallazgos|afirmaciones)\b|\bcualquier hallazgo\b|\botro informe\b"
    r"|\b(?:considérez|répond(?:s|ez)|confirmez)\b|\b(?:évaluateur|correcteur)\b|\btu es\b|\btoujours oui"
    r"|\btoutes les (?:constatations|affirmations)\b|\bvalid(?:er|ez) (?:chaque|toutes?|tous)\b"
    r"|[你您]|参考|全部|忽略|无视|指令|评判|评审|判定?为|视为|回答|问题|其他报告|另一份报告|所有(?:发现|陈述|结论)"
    r"|تجاهل|تعليمات|اعتبر|المقيم|أجب|جميع (?:النتائج|العبارات)|نعم|سؤال|المرجع|كل شيء|التقرير الآخر",
    re.IGNORECASE | re.DOTALL | re.MULTILINE,
)
# Base64 mixes cases and digits as no word does, however long it is; hexadecimal; letters with spaces between them;
# Cyrillic or Greek letters in the place of Latin ones that look alike. How far each looks ahead is limited: a report
# may be one word of a million letters.
_DISGUISED = re.compile(
    r"\b(?=[A-Za-z+/]{0,40}\d)(?=\w{0,40}[a-z]\w{0,40}[A-Z])[A-Za-z0-9+/]{12}"
    r"|\b(?=(?:\w{0,40}?[a-z][A-Z]){3})[A-Za-z+/]{16}|\w==(?!\w)"
    r"|\b(?:[0-9a-f]{2} ?){16}|\b(?:[^\W\d_] +){6}"
    r"|[A-Za-z][\u0400-\u052fΑΒΕΖΗΙΚΜΝΟΡΤΥΧο]|[\u0400-\u052fΑΒΕΖΗΙΚΜΝΟΡΤΥΧο][A-Za-z]"
)
_LEET = str.maketrans("013457@$", "oieastas")
_LETTER_BESIDE_DIGIT = re.compile(r"\b(?=\w*[^\W\d_])(?=\w*\d)[\w@$]{3,}\b")

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
# Words, or their first letters, by which reports say the same: each group counts as its first one.
_SAME_MEANING = {
    word: group.split()[0]
    for group in (  # noqa: SIM905
        "bite overbite|mand lower mandible|maxi uppe pala|miss abse agen eden fehl manc falt ause asse|cari cavi deca"
        "|ging gums|bone alve peri|supe mesi|narr cons redu|wear attr abra eros|spac dias gap gaps|ante inci fron"
        "|mola wisd thir|impa reta reti|larg enla cardiomegaly|opac infi|mild slig mino smal|chan unch stab"
    ).split("|")
    for word in group.split()
}

# What a finding and its evidence may not differ in: sides, jaws, classes and degrees, each set one word of a text.
_OPPOSITES = tuple(
    tuple(frozenset(words.split()) for words in line.split("|"))
    for line in (
        "left links linke linken sinistra sinistro izquierda izquierdo gauche"
        "|right rechts rechte rechten destra destro derecha derecho droite droit|bilateral bilaterally both beidseits",
        "upper maxillary maxilla oberkiefer superiore superior supérieur supérieure"
        "|lower mandibular mandible unterkiefer inferiore inferior inférieur inférieure|both",
        "i|ii|iii",
        "mild slight minimal leicht lieve leve léger légère|moderate mäßig moderato moderado modéré"
        "|severe marked schwer grave sévère",
        "increased deep accentuated large enlarged|reduced decreased shallow small narrow",
    )
)
_TOOTH = re.compile(r"\b[1-4][1-8]\b(?!\s*(?:mm|cm|%|°|[.,]\d))")

_NUMBER_RANGE = re.compile(r"\d\s*(?:-|–|—|to|through|/)\s*\d")
_KEPT_CONTROLS = "\n\t"


@dataclass(frozen=True, kw_only=True)
class Findings:
    """The findings of one report; `marked` are those that look invented."""

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
    return _without_marks("".join(kept)).strip()


def _without_marks(text: str) -> str:
    """The text with every role mark replaced by a space, including marks that form when another is removed.

    One pass is enough: a mark is complete when its last character is added, and is then at the end of `kept`.
    """
    if not _ANY_MARK.search(text):
        return text
    kept: list[str] = []
    for character in text:
        kept.append(character)
        if character in _MARK_ENDS and (mark := _MARK_AT_END.search("".join(kept[-_LONGEST_MARK:]))):
            kept[len(kept) - len(mark.group()) :] = " "
    return "".join(kept)


def addresses_judge(text: str) -> bool:
    """Whether the text is about the judge's task instead of a patient."""
    plain = unicodedata.normalize("NFKC", text)
    spelled = _LETTER_BESIDE_DIGIT.sub(lambda word: word.group().translate(_LEET), plain)
    orders = (_ADDRESSES_JUDGE, _ADDRESSES_READER)
    return _DISGUISED.search(plain) is not None or any(
        order.search(each) for order in orders for each in dict.fromkeys((plain, spelled))
    )


def suspicious_findings(split: Mapping[str, Any], report: str) -> frozenset[str]:
    """The findings of a split report that do not occur in it, that address the judge, or that contradict each other.

    The engine's prompts make the judge reword ("crossbite of 16-15" becomes two findings). A finding therefore occurs
    if its words do, in sequence, or if its stated source sentence does and contains at least half of its words and all
    of its numbers (which a range such as "13 to 23" need not spell out).
    """
    text = _words(report)
    marked: set[str] = set()
    for sentence in split["sentence_list"]:
        origin = sentence["orig"]
        for phrase in sentence["new"]:
            occurs = _contains(text, _words(phrase)) or (
                _contains(text, _words(origin)) and _could_come_from(phrase, origin)
            )
            if not occurs or addresses_judge(phrase) or addresses_judge(origin):
                marked.add(phrase.strip())
    phrases = [phrase for sentence in split["sentence_list"] for phrase in sentence["new"]]
    return frozenset(marked) | {phrase.strip() for phrase in _contradicting(phrases)}


def suspicious_evidence(
    evidence: Sequence[str], premises: Sequence[str], *, finding: str, marked: Collection[str]
) -> bool:
    """Whether "entailed" is unsupported: no evidence is a premise that is not marked, shares a word with `finding` and
    does not contradict it.

    Words are compared by their first four letters, and by meaning for some that reports use for one another; those
    that every sentence may have do not count.
    """
    sound = {tuple(_words(premise)) for premise in premises if premise not in marked}
    wanted = _content(finding)
    return not any(
        tuple(_words(each)) in sound and wanted & _content(each) and not _contradicts(finding, each)
        for each in evidence
    )


def _contradicts(finding: str, evidence: str) -> bool:
    """Whether the two speak of other teeth, sides, jaws, classes or degrees: a judge that obeys a report cites what
    is nearest to the finding."""
    named, cited = set(_TOOTH.findall(finding)), set(_TOOTH.findall(evidence))
    if named and cited and not named & cited and not _NUMBER_RANGE.search(evidence):
        return True
    mine, other = set(_words(finding)), set(_words(evidence))
    for choices in _OPPOSITES:
        wanted, found = ({words for words in choices if words & text} for text in (mine, other))
        if wanted and found and not wanted & found:
            return True
    return False


def _content(text: str) -> frozenset[str]:
    """What a text is about: its numbers, and the beginnings of its words."""
    words = (word for word in _words(text) if word not in _EMPTY_WORDS)
    starts = (
        (word, word if word.isdigit() else word[:_SAME_START]) for word in words if len(word) > 2 or word.isdigit()
    )
    return frozenset(_SAME_MEANING.get(word) or _SAME_MEANING.get(start, start) for word, start in starts)


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


def _could_come_from(phrase: str, origin: str) -> bool:
    words, known = _words(phrase), set(_words(origin))
    shared = sum(word in known for word in words)
    numbers_known = all(word in known for word in words if word.isdigit()) or _NUMBER_RANGE.search(origin)
    return bool(words) and 2 * shared >= len(words) and bool(numbers_known)
