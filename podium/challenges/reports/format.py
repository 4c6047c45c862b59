"""Settings and files of reports: one text per case, in a separate file, in one table, or in a JSON socket."""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import Field, StrictBool, StrictInt, model_validator

from podium.challenges.format import Description, Format, Geometries, ReferenceProblem, Shapes
from podium.challenges.settings import CasesSettings, NonNegative, Positive, Settings, Slug, Text
from podium.errors import Refused
from podium.metrics.text import tokens_of
from podium.pairing import Candidate, Entry, Layout, Source, Template
from podium.platform.jobs import TIMING_FILE, Job
from podium.platform.submission import SubmissionNames
from podium.readers.files import SafeFile, escape_for_display
from podium.readers.text import read_csv_rows, read_json, read_text

EMPTY_REPORT = "The report is empty and scores 0."
_ALL_IN_JSON, _ALL_IN_CSV = "reports.json", "reports.csv"
_REPORT_KEY = "report"
_CASE_INPUT = "cbct-image"
_CASE_COLUMNS = ("case", "case_id", "caseid", "id", "name", "image", "file", "filename")
_REPORT_COLUMNS = ("report", "text", "prediction", "findings")

# The length of a thousand pages. Escaped in JSON, a character takes up to six bytes.
_MAX_REPORT_CHARACTERS = 4_000_000
_MAX_REPORT_BYTES = 4 * _MAX_REPORT_CHARACTERS
_MAX_TABLE_BYTES = 32_000_000
_MAX_TABLE_REPORTS = 10_000

_LONE_SURROGATE = re.compile("[\ud800-\udfff]")

ReportType = Literal["general", "toothfairy", "bite2text"]
ClinicalRule = Literal["f1_of_means", "mean_of_f1"]
Count = Annotated[StrictInt, Field(ge=1)]


class FinalWeights(Settings):
    """Weights of the two scores in the final score."""

    clinical: NonNegative = 0.8
    captioning: NonNegative = 0.2

    @model_validator(mode="after")
    def _sum_to_one(self) -> Self:
        total = self.clinical + self.captioning
        if not math.isclose(total, 1.0, abs_tol=1e-9):
            raise ValueError(f"the weights must sum to 1, not {total:g}")
        return self


class JudgeSettings(Settings):
    """`[reports.judge]`: the model that `podium judge` asks, and how. The API key is never a setting.

    Settings that cannot change a verdict are not published: teams judged at another speed, at another address of the
    same model, or with another failure threshold may be ranked together.
    """

    retired: ClassVar = {"remove_normal_findings": "write it in [reports]"}

    model: Text | None = None
    report_type: ReportType = "general"
    max_report_characters: Count = 20_000

    failure_threshold: Annotated[float, Field(strict=True, ge=0, lt=1, exclude=True)] = 0.01
    base_url: Annotated[Text | None, Field(exclude=True)] = None
    concurrency: Annotated[Count, Field(exclude=True)] = 8
    attempts: Annotated[Count, Field(exclude=True)] = 6
    backoff_seconds: Annotated[NonNegative, Field(exclude=True)] = 0.5  # doubled with every attempt
    timeout_seconds: Annotated[Positive, Field(exclude=True)] = 120.0
    price_per_million_prompt_tokens: Annotated[NonNegative, Field(exclude=True)] = 0.0
    price_per_million_answer_tokens: Annotated[NonNegative, Field(exclude=True)] = 0.0


class ReportsSockets(Settings):
    """`[reports.sockets]`: the slug of an algorithm's output."""

    report: Slug = "diagnostic-imaging-report"


class ReportsSettings(Settings):
    """The `[reports]` table of challenge.toml; the defaults are the published rules of ODIN 2026.

    captioning  which BLEU and METEOR enter the score: those of the live leaderboard (BLEU-4 and METEOR without
                synonyms), or those of the organisers' offline script (BLEU-13a and METEOR with WordNet)
    clinical    the documents do not say whether the harmonic mean is taken of the mean precision and the mean recall
                (`f1_of_means`, as radfact-lite aggregates) or per case (`mean_of_f1`)
    remove_normal_findings
                whether RadFact is over abnormal findings alone; without a default, because radfact-lite's function and
                its README disagree. Only `podium judge` needs it
    """

    sockets: ReportsSockets = ReportsSockets()
    captioning: Literal["leaderboard", "offline"] = "leaderboard"
    clinical: ClinicalRule = "f1_of_means"
    remove_normal_findings: StrictBool | None = None
    weights: FinalWeights = FinalWeights()
    judge: JudgeSettings = JudgeSettings()


def read_report(source: Source, *, socket: str) -> str:
    """The report as text, without a byte order mark; raises Refused if it is not text."""
    match source:
        case Job():
            return _as_text(source.output_json(socket), f"{source.label}: {socket}")
        case Entry():
            return _as_text(source.value, source.label)
    if source.name.lower().endswith(".json"):
        return _as_text(read_json(source, limit_bytes=_MAX_REPORT_BYTES), source.name)
    return _as_text(read_text(source, limit_bytes=_MAX_REPORT_BYTES), source.name)


def _as_text(content: Any, label: str) -> str:
    if isinstance(content, dict):
        if _REPORT_KEY not in content:
            raise Refused(
                f"""'{escape_for_display(label)}' must be {{"{_REPORT_KEY}": "text"}}, it has no '{_REPORT_KEY}'."""
            )
        content = content[_REPORT_KEY]
    if not isinstance(content, str):
        raise Refused(f"'{escape_for_display(label)}' must hold the report as text, it holds {_kind(content)}.")
    if len(content) > _MAX_REPORT_CHARACTERS:
        raise Refused(f"'{escape_for_display(label)}' is longer than {_MAX_REPORT_CHARACTERS:,} characters.")
    if _LONE_SURROGATE.search(content):
        raise Refused(f"'{escape_for_display(label)}' holds half of a surrogate pair, which is not a valid character.")
    return content.lstrip("\ufeff")


def _kind(content: Any) -> str:
    kinds: Mapping[type, str] = {bool: "true or false", type(None): "null", list: "a list", dict: "an object"}
    return kinds.get(type(content), "a number")


def _entries(file: SafeFile) -> Iterator[tuple[str, Entry]]:
    """Every (name, report) of a `reports.json` or `reports.csv`, names as written."""
    is_table = PurePosixPath(file.name).name.lower() == _ALL_IN_CSV
    for number, (name, value) in enumerate((_csv_entries if is_table else _json_entries)(file)):
        if number == _MAX_TABLE_REPORTS:
            raise Refused(
                f"'{escape_for_display(file.name)}' holds more than {_MAX_TABLE_REPORTS:,} reports; "
                "send only those of the challenge."
            )
        yield name, Entry(label=f"{file.name}: {escape_for_display(name)}", value=value)


def _json_entries(file: SafeFile) -> Iterator[tuple[str, Any]]:
    content = read_json(file, limit_bytes=_MAX_TABLE_BYTES, lenient=True)
    if not isinstance(content, dict):
        raise Refused(f"""'{escape_for_display(file.name)}' must be an object, {{"<case>": "text", ...}}.""")
    yield from content.items()


def _csv_entries(file: SafeFile) -> Iterator[tuple[str, str]]:
    """The columns of case and report, which are the first two if there is no header."""
    columns = (0, 1)
    for number, (line, row) in enumerate(read_csv_rows(file, limit_bytes=_MAX_TABLE_BYTES)):
        if number == 0 and (named := _columns(row)) is not None:
            columns = named
            continue
        if len(row) <= max(columns):
            raise Refused(f"'{escape_for_display(file.name)}', line {line}: a case and its report are required.")
        yield row[columns[0]].strip(), row[columns[1]]


def _columns(header: list[str]) -> tuple[int, int] | None:
    """The indices of case and report if this row is a header."""
    names = [cell.strip().lower() for cell in header]
    case = next((names.index(name) for name in _CASE_COLUMNS if name in names), None)
    report = next((names.index(name) for name in _REPORT_COLUMNS if name in names), None)
    return None if case is None or report is None else (case, report)


class ReportsFormat(Format[Source, SafeFile, str]):
    """One free-text report per case."""

    def __init__(self, cases: CasesSettings, settings: ReportsSettings) -> None:
        self._socket = settings.sockets.report
        self.layout = Layout(
            outputs=(self._socket,),
            inputs=(cases.input or _CASE_INPUT,),
            any_input=cases.input is None,
            files=(Template("{case}.txt"), Template("{case}.json")),
            tables={_ALL_IN_JSON: _entries, _ALL_IN_CSV: _entries},
            beside=(TIMING_FILE,),
            ignored=(".py",),
            ignore_case=cases.ignore_case is not False,
            any_extension=True,
            job_pattern=re.compile(r"job-(?P<case>.+)", re.IGNORECASE),
        )

    def recognises(self, names: SubmissionNames) -> bool:
        """Text files often accompany other predictions, so they count only if there are no other files."""
        files = [PurePosixPath(name).name.lower() for name in names.files]
        only_texts = all(name.endswith((".txt", ".json")) for name in files)
        return (
            super().recognises(names)
            or any(name in self.layout.tables for name in files)
            or (only_texts and any(name.endswith(".txt") for name in files))
        )

    def sort_references(self, files: Sequence[SafeFile], problems: list[ReferenceProblem]) -> Mapping[str, SafeFile]:
        references: dict[str, SafeFile] = {}
        for file in files:
            path = PurePosixPath(file.name)
            if path.suffix != ".txt" or len(path.parts) != 1:
                what = "A reference is not named <case>.txt."
                problems.append(ReferenceProblem(what=what, where=f"references/{file.name}"))
                continue
            references[path.stem] = file
        return references

    def reference_files(self, reference: SafeFile) -> Sequence[SafeFile]:
        return (reference,)

    def prediction(self, candidates: Sequence[Candidate]) -> Source:
        source = candidates[0].source
        assert source is not None
        return source

    def read(self, prediction: Source) -> str:
        """The text of a prediction or of a reference."""
        return read_report(prediction, socket=self._socket)

    def read_reference(self, reference: SafeFile) -> str:
        return self.read(reference)

    def shapes(self, content: str) -> Shapes:  # noqa: ARG002  (text has none)
        return {}

    def describe_reference(self, content: str) -> Description:
        words = len(content.split())
        empty = "The reference report is empty: every team scores 0 in this case, whatever it predicts."
        return Description(shapes={}, figures={"words": words}, doubts=() if words else [empty])

    def check_prediction(self, prediction: Source, shapes: Shapes | None, geometries: Geometries) -> Sequence[str]:  # noqa: ARG002  (text has none)
        return () if tokens_of(self.read(prediction)) else (EMPTY_REPORT,)

    def submission_bytes(self, shapes: Sequence[Shapes]) -> int:
        return len(shapes) * _MAX_REPORT_BYTES + _MAX_REPORT_BYTES
