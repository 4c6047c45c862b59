"""challenge.toml: one challenge's published rules as typed, frozen settings; mistakes are named by key and line."""

import re
import sys
import tomllib
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Self, get_args, get_origin

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    ModelWrapValidatorHandler,
    StringConstraints,
    ValidationError,
    field_validator,
    model_validator,
)
from pydantic.fields import FieldInfo
from pydantic_core import InitErrorDetails, PydanticCustomError

from podium.errors import UNKNOWN_KEY, ConfigurationError, ValidationProblem, all_problems, did_you_mean
from podium.platform.privacy import PerCase
from podium.platform.sealing import decoded_key
from podium.platform.submission import SubmissionShape

Finite = Annotated[float, Field(strict=True, allow_inf_nan=False)]
Positive = Annotated[float, Field(strict=True, allow_inf_nan=False, gt=0)]
NonNegative = Annotated[float, Field(strict=True, allow_inf_nan=False, ge=0)]
Name = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_-]+$")]  # no dot: it would split a leaderboard path
FigureName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]  # what a formula can name
Text = Annotated[str, StringConstraints(min_length=1, strip_whitespace=True)]


def _is_a_slug(text: str) -> str:
    if not _SLUG.fullmatch(text):
        like = re.sub(r"[^a-z0-9_]+", "-", text.lower()).strip("-") or "organ-segmentation"
        raise ValueError(f"a socket goes by its slug, of lower-case letters, digits and hyphens, such as '{like}'")
    return text


Slug = Annotated[Text, AfterValidator(_is_a_slug)]
KIND_NAMES = ("declared", "freehand", "lesions", "reports")  # one package each; see KINDS in podium/challenges/base.py
CASES = "cases"
DEFAULT_DECIMALS = 4  # of aggregates where single cases are hidden: more would reveal single cases
SEALED = "sealed"
ENGINE = "engine"  # a key outside of tables that is a setting of the kind: it decides how figures are computed
GROUP = "group"  # the named part of `groups` that becomes the group's name
_SLUG = re.compile(r"[a-z0-9_]+(?:-[a-z0-9_]+)*")
_DEEPEST = 20  # tables and arrays inside each other
_HEADER = re.compile(r"^\s*\[\[?\s*([^\]]+?)\s*\]\]?\s*(?:#.*)?$")
_ASSIGNMENT = re.compile(
    r"""^\s*((?:[A-Za-z0-9_-]+|"[^"]*"|'[^']*')(?:\s*\.\s*(?:[A-Za-z0-9_-]+|"[^"]*"|'[^']*'))*)\s*="""
)


class Settings(BaseModel):
    """Base of every table of challenge.toml: unknown keys are mistakes, values never change after reading.

    retired  keys of former versions, with what to write instead
    """

    model_config = ConfigDict(extra="forbid", frozen=True)
    retired: ClassVar[Mapping[str, str]] = {}

    @model_validator(mode="wrap")
    @classmethod
    def _guess_what_was_meant(cls, content: Any, validate: ModelWrapValidatorHandler[Self]) -> Self:
        """An unknown key says which known one is close, a missing one what there is to choose from."""
        try:
            return validate(content)
        except ValidationError as error:
            found = sorted(error.errors(), key=lambda each: each["loc"][-1:] not in [(key,) for key in cls.retired])
            problems = [_renamed(each, cls.model_fields, cls.retired) for each in found]
            raise ValidationError.from_exception_data(error.title, problems) from None


def _renamed(problem: Any, known: Mapping[str, FieldInfo], retired: Mapping[str, str]) -> InitErrorDetails:
    kind, message, location = problem["type"], problem["msg"], problem["loc"]
    if kind == "extra_forbidden" and len(location) == 1:
        instead = retired.get(location[0])
        kind = UNKNOWN_KEY
        message = f"is no longer a key: {instead}" if instead else unknown_key(location[0], known)
    elif kind == "missing" and len(location) == 1 and get_origin(known[location[0]].annotation) is Literal:
        choices = " or ".join(f'"{choice}"' for choice in get_args(known[location[0]].annotation))
        message += f": write {choices}" + (f" ({meaning})" if (meaning := known[location[0]].description) else "")
    return InitErrorDetails(type=PydanticCustomError(kind, message), loc=location, input=problem["input"])


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


class CasesSettings(Settings):
    """The `[cases]` table.

    input        the input whose image or file name is the case [the published one]
    ignore_case  compare case names without regard to upper and lower case [as published]
    groups       a pattern over case names with a part named `group`; figures are then also given per group
    """

    input: Slug | None = None
    ignore_case: bool | None = None
    groups: str | None = None

    @field_validator("groups")
    @classmethod
    def _is_a_pattern(cls, pattern: str | None) -> str | None:
        if pattern is not None:
            try:
                names = re.compile(pattern).groupindex
            except re.error as error:
                raise ValueError(f"it is not a regular expression: {error}") from None
            if GROUP not in names:
                raise ValueError(f"the pattern must have a named group: (?P<{GROUP}>...)")
        return pattern

    def group_of(self, case: str) -> str | None:
        """The group of a case, None where there are no groups or the pattern does not fit."""
        match = re.search(self.groups, case) if self.groups is not None else None
        return match[GROUP] if match else None


class SealedSettings(Settings):
    """The `[sealed]` table: metrics.json carries all rows, readable only with the secret key of this public key."""

    public_key: Text | None = None

    @field_validator("public_key")
    @classmethod
    def _is_a_key(cls, key: str | None) -> str | None:
        if key is not None:
            decoded_key(key)
        return key


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

    def common(self) -> Common:
        """The keys outside of tables."""
        problems = self.common_problems()
        if problems:
            raise self.refusal(problems)
        return Common.model_validate(self._without_tables())

    def common_problems(self) -> list[ValidationProblem]:
        """What is wrong outside of the tables."""
        return problems_of(Common, self._without_tables(), ())

    @property
    def submission(self) -> str:
        """Which shape of submission the phase takes, whatever else is wrong."""
        return str(self._content.get("submission", Common.model_fields["submission"].default))

    @property
    def per_case(self) -> str:
        """What is published of single cases, whatever else is wrong."""
        return str(self._content.get("per_case"))

    def sealed(self) -> SealedSettings:
        """The table `[sealed]`."""
        content = self.tables().get(SEALED, {})
        if problems := problems_of(SealedSettings, content, (SEALED,)):
            raise self.refusal(problems)
        return SealedSettings.model_validate(content)

    def tables(self) -> dict[str, Any]:
        """The tables as they were written, by name, and the engine."""
        return {key: value for key, value in self._content.items() if isinstance(value, dict | list) or key == ENGINE}

    def _without_tables(self) -> dict[str, Any]:
        return {key: value for key, value in self._content.items() if key not in self.tables()}

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


def problems_of(model: type[Settings], content: Any, prefix: tuple[str, ...]) -> list[ValidationProblem]:
    """What is wrong with a table; `prefix` is its key in the file."""
    try:
        model.model_validate(content)
    except ValidationError as error:
        return all_problems(error, prefix=prefix, content=content)
    return []


def without_problems(content: Any, problems: Sequence[ValidationProblem], *, depth: int) -> dict[str, Any]:
    """A table without the keys that have a problem: part number `depth` of each problem's key."""
    wrong = {problem.key[depth] for problem in problems if len(problem.key) > depth}
    return {key: value for key, value in content.items() if key not in wrong} if isinstance(content, dict) else {}


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
