"""challenge.toml: one challenge's published rules as typed, frozen settings; mistakes are named by key and line.

`Common` are the keys outside of tables, `Tables` the tables that every kind has; a kind adds its own.
"""

import math
import re
import sys
import tomllib
import unicodedata
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Self, TypeVar, get_args, get_origin

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ModelWrapValidatorHandler,
    PlainSerializer,
    PlainValidator,
    PrivateAttr,
    SerializerFunctionWrapHandler,
    StringConstraints,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_serializer,
    model_validator,
)
from pydantic_core import InitErrorDetails, PydanticCustomError

from podium.errors import (
    UNKNOWN_KEY,
    ConfigurationError,
    Refused,
    UsageError,
    ValidationProblem,
    all_problems,
    did_you_mean,
    read_given,
)
from podium.formulas import FormulaError, Node, parse
from podium.kernel import deadline
from podium.metrics.declaration import Direction, Gate, Undefined
from podium.platform.privacy import PerCase
from podium.platform.sealing import closed_box
from podium.platform.submission import SubmissionShape
from podium.readers.text import parse_csv

Finite = Annotated[float, Field(strict=True, allow_inf_nan=False)]
Positive = Annotated[float, Field(strict=True, allow_inf_nan=False, gt=0)]
NonNegative = Annotated[float, Field(strict=True, allow_inf_nan=False, ge=0)]
Name = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_-]+$")]  # no dot: it would split a leaderboard path
Bound = Annotated[float, Field(strict=True)]  # may be infinite
Text = Annotated[str, StringConstraints(min_length=1, strip_whitespace=True)]

SettingT = TypeVar("SettingT", str, int)


def _least_accepted(threshold: Any, info: ValidationInfo) -> Any:
    """The least number that a threshold accepts: of "> 0.3" the next one in double precision. The threshold of a
    distance is the largest, and no comparison."""
    found = _COMPARISON.fullmatch(threshold) if isinstance(threshold, str) else None
    if found is None or info.data.get("match") == "centroid":
        return threshold
    return math.nextafter(float(found[2]), math.inf) if found[1] == ">" else float(found[2])


LeastAccepted = BeforeValidator(_least_accepted)
Threshold = Annotated[Finite, LeastAccepted, Field(ge=0, le=1)]


def _is_a_name(text: str) -> str:
    if not _FIGURE_NAME.fullmatch(text):
        raise ValueError("a name has letters, digits and _, and no digit first")
    return text


FigureName = Annotated[str, AfterValidator(_is_a_name)]  # what a formula can name


def _is_a_slug(text: str) -> str:
    if not _SLUG.fullmatch(text):
        like = re.sub(r"[^a-z0-9_]+", "-", text.lower()).strip("-") or "organ-segmentation"
        raise ValueError(f"a socket goes by its slug, of lower-case letters, digits and hyphens, such as '{like}'")
    return text


Slug = Annotated[Text, AfterValidator(_is_a_slug)]
KIND_NAMES = ("declared", "freehand", "lesions", "reports")  # one package each
CASES = "cases"
DEFAULT_DECIMALS = 4  # of aggregates where single cases are hidden: more would reveal single cases
RankingMethod = Literal["mean_of_positions", "positions_by_case", "permutation", "significant_wins"]
BOARD_TABLES = ("figures", "case_figures", "leaderboard", "ranking")
ENGINE = "engine"  # a key outside of tables that is a setting of the kind: it decides how figures are computed
_PATTERN_SECONDS = 5.0  # of one case name: some patterns never end
CASE = "case"  # the column of the table with the case's name
GROUP, PATIENT = "group", "patient"  # the named parts of patterns
_NAMED_PART = "(?P<"
_FIGURE_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
_SLUG = re.compile(r"[a-z0-9_]+(?:-[a-z0-9_]+)*")
_COMPARISON = re.compile(r"(>=?)\s*(\d*\.?\d+)")
_DEEPEST = 20  # tables and arrays inside each other
_HEADER = re.compile(r"^\s*\[\[?\s*([^\]]+?)\s*\]\]?\s*(?:#.*)?$")
_ASSIGNMENT = re.compile(
    r"""^\s*((?:[A-Za-z0-9_-]+|"[^"]*"|'[^']*')(?:\s*\.\s*(?:[A-Za-z0-9_-]+|"[^"]*"|'[^']*'))*)\s*="""
)


def as_tuple(value: SettingT | tuple[SettingT, ...] | None) -> tuple[SettingT, ...]:
    """One text or number or several, as several."""
    return () if value is None else value if isinstance(value, tuple) else (value,)


class Settings(BaseModel):
    """Base of every table of challenge.toml: unknown keys are mistakes, values never change after reading.

    retired    keys of former versions, with what to write instead
    misplaced  keys that belong elsewhere, with words that say so
    """

    model_config = ConfigDict(extra="forbid", frozen=True)
    retired: ClassVar[Mapping[str, str]] = {}
    misplaced: ClassVar[Mapping[str, str]] = {}

    @classmethod
    def read(cls, content: Mapping[str, Any]) -> tuple[Self | None, Sequence[ValidationProblem]]:
        """What the keys of a challenge.toml or of metrics.json say, and everything that is wrong with them."""
        try:
            return cls.model_validate(content), ()
        except ValidationError as error:
            return None, all_problems(error, content=content)

    @model_validator(mode="wrap")
    @classmethod
    def _guess_what_was_meant(cls, content: Any, validate: ModelWrapValidatorHandler[Self]) -> Self:
        """An unknown key says which known one is close, a missing one what there is to choose from."""
        try:
            return validate(content)
        except ValidationError as error:
            # An unknown key may be the reason why another is missing: it comes first.
            found = sorted(error.errors(), key=lambda each: each["type"] != "extra_forbidden")
            problems = [cls._renamed(each) for each in found]
            raise ValidationError.from_exception_data(error.title, problems) from None

    @classmethod
    def _renamed(cls, problem: Any) -> InitErrorDetails:
        kind, message, location, known = problem["type"], problem["msg"], problem["loc"], cls.model_fields
        if kind == "extra_forbidden" and len(location) == 1:
            instead = cls.retired.get(location[0])
            kind = UNKNOWN_KEY
            words = f"is no longer a key: {instead}" if instead else unknown_key(location[0], known)
            message = cls.misplaced.get(location[0], words)
        elif kind == "missing" and len(location) == 1 and location[0] in known:
            wanted = known[location[0]]
            is_choice = get_origin(wanted.annotation) is Literal
            choices = " or ".join(f'"{choice}"' for choice in get_args(wanted.annotation)) if is_choice else ""
            message += f": write {choices}" if choices else ""
            if wanted.description:
                message += f" ({wanted.description})" if choices else f": {wanted.description}"
        return InitErrorDetails(type=PydanticCustomError(kind, message), loc=location, input=problem["input"])


def problem_at(key: str, words: str, *, is_missing: bool = False) -> ValidationError:
    """What a validator of a table raises where a key of it is wrong."""
    error = (
        PydanticCustomError("missing", "Field required" + words)
        if is_missing
        else PydanticCustomError(UNKNOWN_KEY, words)
    )
    return ValidationError.from_exception_data("table", [InitErrorDetails(type=error, loc=(key,), input=None)])


def unknown_key(key: str, known: Collection[str]) -> str:
    """What is wrong with a key that does not exist."""
    return f"is not a known key{did_you_mean(key, known)}"


class Common(Settings):
    """The keys every challenge has.

    `per_case` has no default on purpose: the platform shows all of metrics.json to participants, so the organiser of a
    hidden test set has to decide what a row may say.

    submission      which shape of submission the phase takes; "any" goes by whether there is a predictions.json
    expected_cases  how many references there must be: a forgotten one is then an error
    decimals        published aggregates are rounded to this many [4; exact where per_case is "full"]
    """

    kind: Text
    title: Text
    version: Text
    per_case: PerCase
    submission: SubmissionShape = "any"
    expected_cases: Annotated[int, Field(strict=True, gt=0)] | None = None
    decimals: Annotated[int, Field(strict=True, ge=0, le=15)] | None = None

    @property
    def published_decimals(self) -> int | None:
        """How many decimals of aggregates are published; None publishes them as they are."""
        return self.decimals if self.decimals is not None or self.per_case == "full" else DEFAULT_DECIMALS


def said(settings: Mapping[str, Any]) -> str:
    """Settings for people: `unit = ml; labels: liver = 1, spleen = 2`. What is not set is left out."""
    parts = []
    for key, value in settings.items():
        spellings = value if isinstance(value, list | tuple) and value and isinstance(value[0], Mapping) else [value]
        if value is not None and value not in ({}, []):
            sign = ": " if isinstance(spellings[0], Mapping) else " = "
            parts.append(f"{key}{sign}{' or '.join(map(_listed, spellings))}")
    return "; ".join(parts)


def _listed(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{key} = {_listed(each)}" for key, each in value.items())
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_listed, value))}]"
    return f"{value:g}" if isinstance(value, float) else str(value).lower() if isinstance(value, bool) else str(value)


class CasesSettings(Settings):
    """The `[cases]` table.

    input        the input whose image or file name is the case, or one for every interface of the phase, of which the
                 first that a job has counts [the published one]
    ignore_case  compare case names without regard to upper and lower case [as published]
    table        a CSV file beside challenge.toml with facts about cases, by the column `case`
    groups       columns of the table, or a pattern over case names with a part named `group`; figures are then also
                 given per group
    patient      a column of the table, or a pattern over case names with a part named `patient`: cases of one patient
                 are not independent
    """

    input: Slug | Annotated[tuple[Slug, ...], Field(min_length=1)] | None = None
    ignore_case: bool | None = None
    table: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_-]+\.csv$")] | None = None
    groups: Annotated[str, Field(max_length=1000)] | Annotated[tuple[Text, ...], Field(min_length=1)] | None = None
    patient: Annotated[str, Field(min_length=1, max_length=1000)] | None = None
    _facts: Mapping[str, Mapping[str, str]] = PrivateAttr(default_factory=dict)

    @field_validator("groups", "patient")
    @classmethod
    def _is_a_pattern(cls, given: str | tuple[str, ...] | None, info: ValidationInfo) -> str | tuple[str, ...] | None:
        part = GROUP if info.field_name == "groups" else PATIENT
        if isinstance(given, str) and (part == GROUP or _NAMED_PART in given):
            try:
                names = re.compile(given).groupindex
            except (re.error, OverflowError, RecursionError) as error:
                raise ValueError(f"it is not a regular expression: {error}") from None
            if part not in names:
                raise ValueError(f"the pattern must have a named group: (?P<{part}>...)")
        if info.data.get("table", "wrong") is None and _columns_in(given):
            raise ValueError("it names a column, so 'table' must name the file that has it")
        return given

    @property
    def inputs(self) -> tuple[str, ...]:
        """The inputs that may name a case; none where the published ones do."""
        return (self.input,) if isinstance(self.input, str) else self.input or ()

    @property
    def named_cases(self) -> Collection[str]:
        """The cases that the table has."""
        return self._facts.keys()

    @property
    def groupings(self) -> int:
        """In how many ways the cases are grouped."""
        return len(self.groups) if isinstance(self.groups, tuple) else int(self.groups is not None)

    def read_facts(self, folder: Path) -> Sequence[ValidationProblem]:
        """Read the table from the challenge's folder; what is wrong with it."""
        if self.table is None:
            return ()
        try:
            (_, head), *rows = [*parse_csv(read_given(folder / self.table), name=self.table)] or [(0, [])]
        except (Refused, UsageError) as problem:
            return [ValidationProblem(key=(CASES, "table"), words=f"cannot be read: {problem}")]
        columns = [cell.strip() for cell in head]
        wanted = [("table", CASE), *(("groups", each) for each in _columns_in(self.groups))]
        wanted += [("patient", each) for each in _columns_in(self.patient)]
        problems = [
            ValidationProblem(key=(CASES, key), words=words)
            for key, name in wanted
            if (words := _not_one_column(name, columns, self.table))
        ]
        facts: dict[str, Mapping[str, str]] = {}
        for number, cells in () if problems else rows:
            row = dict(zip(columns, (cell.strip() for cell in cells), strict=False))
            case = self.spelled(row.pop(CASE, ""))
            wrong = f"has {len(cells)} cells, but the header has {len(columns)}" if len(cells) != len(columns) else ""
            wrong = wrong or ("names no case" if not case else "names a case again" if case in facts else "")
            if wrong:
                problems.append(ValidationProblem(key=(CASES, "table"), words=f"has a row {number} that {wrong}"))
            facts[case] = row
        self._facts = facts
        return problems

    def spelled(self, case: str) -> str:
        """The case's name as `named_cases` has it."""
        case = unicodedata.normalize("NFC", case).strip()
        return case.casefold() if self.ignore_case else case

    def is_named(self, case: str) -> bool:
        """Whether the table has the case."""
        return self.spelled(case) in self._facts

    def facts_of(self, case: str) -> Mapping[str, str]:
        """The case's row of the table."""
        return self._facts.get(self.spelled(case), {})

    def groups_of(self, case: str) -> tuple[str, ...]:
        """The groups of a case, one for each grouping: "" where it has none."""
        if isinstance(self.groups, tuple):
            facts = self.facts_of(case)
            return tuple(f"{column}_{facts[column]}" if facts.get(column) else "" for column in self.groups)
        return () if self.groups is None else (self._part(case, "groups", self.groups, GROUP),)

    def patient_of(self, case: str) -> str | None:
        """The patient of a case, "" where it has none; None where patients are not known."""
        if self.patient is None or _NAMED_PART not in self.patient:
            return self.patient and self.facts_of(case).get(self.patient, "")
        return self._part(case, "patient", self.patient, PATIENT)

    @staticmethod
    def _part(case: str, key: str, pattern: str, part: str) -> str:
        try:
            with deadline(_PATTERN_SECONDS):
                match = re.search(pattern, case)
        except TimeoutError:
            raise ConfigurationError(
                f"The pattern 'cases.{key}' takes more than {_PATTERN_SECONDS:g} seconds for the name of a single "
                "case: write it more simply.",
                detail=case,
            ) from None
        return (match[part] or "") if match else ""


def _columns_in(given: str | tuple[str, ...] | None) -> tuple[str, ...]:
    """The columns of the table that `groups` or `patient` names: a text with a named part is a pattern."""
    return given if isinstance(given, tuple) else () if given is None or _NAMED_PART in given else (given,)


def _not_one_column(name: str, columns: Sequence[str], table: str) -> str:
    """What is wrong where a table has a column of this name not exactly once; else ""."""
    if name in columns:
        return f"has the column '{name}' twice" if columns.count(name) > 1 else ""
    return f"needs the column '{name}', which {table} does not have{did_you_mean(name, columns)}"


class SealedSettings(Settings):
    """The `[sealed]` table: metrics.json carries all rows, readable only with the secret key of this public key."""

    public_key: Text | None = None

    @field_validator("public_key")
    @classmethod
    def _is_a_key(cls, key: str | None) -> str | None:
        if key is not None:
            closed_box(b"for trial", key)
        return key


OutputKind = Literal["chart", "cases", "report", "sealed"]
_ENDINGS: Mapping[str, str] = {"chart": ".json", "cases": ".csv", "report": ".pdf", "sealed": ".json"}
OutputName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")]  # beside metrics.json


# The tables that every kind has.


@dataclass(frozen=True)
class FormulaText:
    """A formula as it was written, and parsed."""

    text: str
    node: Node


def _parsed(content: Any) -> FormulaText:
    if isinstance(content, FormulaText):
        return content
    if not isinstance(content, str) or not content.strip():
        raise PydanticCustomError("string_type", "a formula is a string")
    try:
        return FormulaText(content.strip(), parse(content))
    except FormulaError as error:
        raise ValueError(f"the formula {error}") from None


class GatedSettings(Settings):
    """`where`: a condition on the figures of a case; where it does not hold, the figure is `otherwise`."""

    where: Text | None = None
    otherwise: Finite | Literal["exclude"] | None = None

    @model_validator(mode="after")
    def _have_both(self) -> Self:
        if (self.where is None) != (self.otherwise is None):
            raise ValueError("'where' is a condition, 'otherwise' the figure where it does not hold: give both")
        return self

    def gate(self, key: tuple[str | int, ...]) -> Gate | None:
        """Of the figure whose table in challenge.toml has this key."""
        otherwise = None if isinstance(self.otherwise, str) else self.otherwise
        return None if self.where is None else Gate(where=self.where, otherwise=otherwise, key=(*key, "where"))


class FigureSettings(GatedSettings):
    """A figure: its formula alone, or a table with more.

    direction  needed where the terms do not decide it
    range      lowest and highest value [derived from the terms]
    undefined  what terms without a value do: mean, min, max and harmonic leave them out, or they count as their worst
               value; `podium check` asks for it where the references leave a term of `[figures]` without a value
    """

    formula: Annotated[FormulaText, PlainValidator(_parsed), PlainSerializer(lambda formula: formula.text)]
    title: Text | None = None
    direction: Direction | None = None
    range: tuple[Bound, Bound] | None = None
    unit: str = ""
    undefined: Undefined | None = None
    _is_text: bool = PrivateAttr(default=False)

    @model_validator(mode="wrap")
    @classmethod
    def _from_text(cls, content: Any, validate: ModelWrapValidatorHandler[Self]) -> Self:
        figure = validate({"formula": content} if isinstance(content, str) else content)
        figure._is_text = isinstance(content, str)
        return figure

    @model_serializer(mode="wrap")
    def _as_written(self, dump: SerializerFunctionWrapHandler) -> Any:
        return self.formula.text if self._is_text else dump(self)

    def key(self, table: str, name: str) -> tuple[str, ...]:
        """Where challenge.toml has the formula of the figure with this name."""
        return (table, name) if self._is_text else (table, name, "formula")


class LeaderboardSettings(Settings):
    """Which figures the leaderboard shows, in this order, and their titles [ranked figures first, then metrics]."""

    columns: Annotated[tuple[Text, ...], Field(min_length=1)] | None = None
    titles: Mapping[str, Text] = {}


class RankingSettings(Settings):
    """What teams are ranked by.

    by         a figure, or several whose positions are combined; a list among them is one position, by the mean of the
               positions in its figures
    method     mean_of_positions: a position in each figure, then their weighted mean; positions_by_case: a position in
               each case and metric, then the mean of all; permutation: the same, with groups of teams that permutation
               tests do not separate; significant_wins: a position in each metric, by the share of other teams beaten
    alpha      the level of the tests of significant_wins
    weights    of the positions [equal]
    round      decimals that count [all]
    tie_break  figures that decide, in turn, among teams that are equal
    """

    by: Text | Annotated[tuple[Text | Annotated[tuple[Text, ...], Field(min_length=1)], ...], Field(min_length=1)]
    method: RankingMethod | None = None
    alpha: Annotated[float, Field(strict=True, gt=0, lt=0.5)] | None = None
    weights: Annotated[tuple[Positive, ...], Field(min_length=1)] | None = None
    round: Annotated[int, Field(strict=True, ge=0, le=12)] | None = None
    tie_break: tuple[Text, ...] = ()

    @property
    def parts(self) -> tuple[tuple[str, ...], ...]:
        """The figures of every position that is combined."""
        given = (self.by,) if isinstance(self.by, str) else self.by
        return tuple((each,) if isinstance(each, str) else each for each in given)


class Tables(Settings):
    """The tables that every kind has; a kind adds its own."""

    misplaced: ClassVar = {ENGINE: "is not a key of this kind: none of its figures is computed by an engine"}

    cases: CasesSettings = CasesSettings()
    sealed: Annotated[SealedSettings, Field(exclude=True)] = SealedSettings()
    outputs: Annotated[Mapping[OutputName, OutputKind], Field(exclude=True)] = {}
    figures: Mapping[FigureName, FigureSettings] = {}
    case_figures: Mapping[FigureName, FigureSettings] = {}
    leaderboard: LeaderboardSettings = LeaderboardSettings()
    ranking: RankingSettings | None = None

    @field_validator("outputs")
    @classmethod
    def _can_be_written(cls, outputs: Mapping[str, str], info: ValidationInfo) -> Mapping[str, str]:
        for name, kind in outputs.items():
            if not name.endswith(_ENDINGS[kind]) or name == "metrics.json":
                raise ValueError(f"'{name}' is no name for \"{kind}\": it ends with {_ENDINGS[kind]}")
        sealed = info.data.get("sealed")
        if "sealed" in outputs.values() and isinstance(sealed, SealedSettings) and sealed.public_key is None:
            raise ValueError('"sealed" needs public_key in [sealed]')
        return outputs

    @classmethod
    def own_code(cls, path: Path) -> Mapping[str, Any]:  # noqa: ARG003  (only declared challenges have it)
        """The tables that an organiser's code, which may be at this path, adds to those of challenge.toml."""
        return {}

    def problems(self, submission: SubmissionShape | None) -> Sequence[ValidationProblem]:  # noqa: ARG002
        """What is wrong with tables that are well-formed; `submission` is what the phase takes, None where that is not
        known."""
        return ()

    def published(self) -> dict[str, Any]:
        """The tables as metrics.json holds them: defaults filled in, without common tables that are not used."""
        content = self.model_dump(mode="json")
        used = self.model_dump(include=set(BOARD_TABLES), exclude_defaults=True)
        own = {name: content[name] for name in content if name not in (CASES, *BOARD_TABLES)}
        return {CASES: content[CASES], **own, **{name: content[name] for name in BOARD_TABLES if name in used}}


class ChallengeFile:
    """A challenge.toml, parsed but not yet validated: its kind decides which other keys are allowed."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self._text = path.read_text(encoding="utf-8-sig")  # Windows editors put a byte order mark first
            self._content = tomllib.loads(self._text)
        except OSError as error:
            raise ConfigurationError(f"{path.name} cannot be read: {error.strerror}.", detail=str(path)) from None
        except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
            raise ConfigurationError(f"{path.name} is not valid TOML: {error}.", detail=str(path)) from None
        except ValueError:  # Python's own limit
            most = f"{sys.get_int_max_str_digits():,}"
            raise ConfigurationError(
                f"{path.name} has an integer of more than {most} digits.", detail=str(path)
            ) from None
        except RecursionError:
            raise self._too_deep() from None
        self._check_values()

    def _check_values(self) -> None:
        """TOML's integers have 64 bits; arrays and indexes are no larger."""
        left: list[tuple[tuple[str | int, ...], Any]] = [((), self._content)]
        while left:
            key, value = left.pop()
            if len(key) > _DEEPEST:
                raise self._too_deep()
            if isinstance(value, int) and not -(2**63) <= value < 2**63:
                raise self.refuse(key, "is an integer beyond 64 bits")
            if isinstance(value, dict | list):
                members = value.items() if isinstance(value, dict) else enumerate(value)
                left.extend(((*key, name), member) for name, member in members)

    def _too_deep(self) -> ConfigurationError:
        return ConfigurationError(f"{self.path.name} is nested too deeply.", detail=str(self.path))

    @property
    def kind(self) -> str:
        """Which code scores the challenge; nothing else is checked."""
        kind = self._content.get("kind")
        if "challenge" in self._content:  # of version 0.1
            old = str(self._content["challenge"])
            kind = "declared" if old == "carotid" else old
            raise self.refuse(
                ("challenge",),
                f'is no longer a key: write kind = "{kind}"; the name of a challenge is that of its folder',
            )
        if not isinstance(kind, str):
            raise ConfigurationError(f"{self.path.name}: the key 'kind' is missing.", detail=str(self.path))
        return kind

    def known_kind(self) -> str:
        """The kind, which must be known."""
        if self.kind not in KIND_NAMES:
            raise self.refuse(("kind",), f"is '{self.kind}'; the kinds are: {', '.join(KIND_NAMES)}")
        return self.kind

    @cached_property
    def tables(self) -> Mapping[str, Any]:
        """The tables as they were written, by name, and the engine."""
        return {key: value for key, value in self._content.items() if isinstance(value, dict | list) or key == ENGINE}

    def common(self) -> Common:
        """The keys outside of tables."""
        common, problems = self.read_common()
        if common is None:
            raise self.refusal(problems)
        return common

    def read_common(self) -> tuple[Common | None, Sequence[ValidationProblem]]:
        """The keys outside of tables, and everything that is wrong with them."""
        return Common.read({key: value for key, value in self._content.items() if key not in self.tables})

    def refusal(self, problems: Sequence[ValidationProblem]) -> ConfigurationError:
        """The first problem as an error, with all of them in its detail, for the log."""
        error = self.refuse(problems[0].key, problems[0].words)
        if len(problems) > 1:
            error.detail = "\n".join([str(self.path), *(str(self.refuse(each.key, each.words)) for each in problems)])
        return error

    def refuse(self, key: tuple[str | int, ...], problem: str) -> ConfigurationError:
        """The error for a key that is well-formed but wrong."""
        line = line_of(self._text, key)
        where = f", line {line}" if line else ""
        end = "" if problem.endswith("?") else "."
        found = ValidationProblem(key=key, words=problem)
        return ConfigurationError(f"{self.path.name}{where}: {found}{end}", detail=str(self.path))


def line_of(text: str, key: tuple[str | int, ...]) -> int | None:
    """The line where `key` is set, or that of its nearest parent: a missing key is reported at its table.

    tomllib keeps no positions, so this reads headers and assignments itself; inline tables resolve to their line. The
    tables of an array (`[[metrics]]`) are numbered from 0.
    """
    wanted = tuple(str(part) for part in key)
    best: tuple[int, int] | None = None  # depth of the match, line
    table: tuple[str, ...] = ()
    arrays: Counter[tuple[str, ...]] = Counter()
    for number, line in enumerate(text.splitlines(), start=1):
        if header := _HEADER.match(line):
            table = _split_key(header[1])
            if line.lstrip().startswith("[["):
                arrays[table] += 1
                table = (*table, str(arrays[table] - 1))
            found = table
        elif assignment := _ASSIGNMENT.match(line):
            found = table + _split_key(assignment[1])
        else:
            continue
        shared = min(len(found), len(wanted))
        if found[:shared] == wanted[:shared] and (best is None or shared > best[0]):
            best = (shared, number)
    return best[1] if best else None


def _split_key(dotted: str) -> tuple[str, ...]:
    parts: list[str] = re.findall(r"""[A-Za-z0-9_-]+|"[^"]*"|'[^']*'""", dotted)
    return tuple(part.strip("\"'") for part in parts)
