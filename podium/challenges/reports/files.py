"""Settings and files of reports: one text per case, in a separate file, in one table, or in a JSON socket."""

import math
import re
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import Field, StrictBool, StrictInt, model_validator

from podium.challenges.settings import NonNegative, Positive, Settings, Slug, Tables, Text
from podium.errors import Refused
from podium.pairing import Entry, Source
from podium.platform.jobs import Job
from podium.readers.files import SafeFile, escape_for_display
from podium.readers.text import read_csv_rows, read_json, read_text

EMPTY_REPORT = "The report is empty and scores 0."
ALL_IN_JSON, ALL_IN_CSV = "reports.json", "reports.csv"
_REPORT_KEY = "report"
_CASE_COLUMNS = ("case", "case_id", "caseid", "id", "name", "image", "file", "filename")
_REPORT_COLUMNS = ("report", "text", "prediction", "findings")

# The length of a thousand pages. Escaped in JSON, a character takes up to six bytes.
_MAX_REPORT_CHARACTERS = 4_000_000
MAX_REPORT_BYTES = 4 * _MAX_REPORT_CHARACTERS
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

    retired: ClassVar = {
        "remove_normal_findings": "write it in [reports]",
        "backoff_seconds": "delete it, since the wait before the next attempt is the client library's",
    }

    model: Text | None = None
    report_type: ReportType = "general"
    max_report_characters: Count = 20_000

    failure_threshold: Annotated[float, Field(strict=True, ge=0, lt=1, exclude=True)] = 0.01
    base_url: Annotated[Text | None, Field(exclude=True)] = None
    concurrency: Annotated[Count, Field(exclude=True)] = 8
    attempts: Annotated[Count, Field(exclude=True)] = 6
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
    bleu        of all cases as one corpus, as the organisers' script aggregates, or the mean of the cases
    clinical    the documents do not say whether the harmonic mean is taken of the mean precision and the mean recall
                (`f1_of_means`, as radfact-lite aggregates) or per case (`mean_of_f1`)
    remove_normal_findings
                whether RadFact is over abnormal findings alone, false in the organisers' script; without a default,
                because radfact-lite's README has the opposite. Only `podium judge` needs it
    """

    sockets: ReportsSockets = ReportsSockets()
    captioning: Literal["leaderboard", "offline"] = "leaderboard"
    bleu: Literal["corpus", "cases"] = "corpus"
    clinical: ClinicalRule = "f1_of_means"
    remove_normal_findings: StrictBool | None = None
    weights: FinalWeights = FinalWeights()
    judge: JudgeSettings = JudgeSettings()


class ReportsTables(Tables):
    """The tables of a challenge of reports."""

    reports: ReportsSettings = ReportsSettings()


def read_report(source: Source, *, socket: str) -> str:
    """The report as text, without a byte order mark; raises Refused if it is not text."""
    match source:
        case Job():
            return _as_text(source.output_json(socket), f"{source.label}: {socket}")
        case Entry():
            return _as_text(source.value, source.label)
    if source.name.lower().endswith(".json"):
        return _as_text(read_json(source, limit_bytes=MAX_REPORT_BYTES), source.name)
    return _as_text(read_text(source, limit_bytes=MAX_REPORT_BYTES), source.name)


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


def table_entries(file: SafeFile) -> Iterator[tuple[str, Entry]]:
    """Every (name, report) of a `reports.json` or `reports.csv`, names as written."""
    is_table = PurePosixPath(file.name).name.lower() == ALL_IN_CSV
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
