"""challenge.toml: one challenge's published rules as typed, frozen settings; mistakes are named by key and line."""

import re
import tomllib
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError, field_validator

from podium.errors import ConfigurationError
from podium.platform.privacy import PerCase
from podium.platform.sealing import decoded_key
from podium.platform.submission import SubmissionShape
from podium.validation_errors import ValidationProblem, all_problems

Positive = Annotated[float, Field(strict=True, allow_inf_nan=False, gt=0)]
NonNegative = Annotated[float, Field(strict=True, allow_inf_nan=False, ge=0)]
Name = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_-]+$")]  # no dot: it would split a leaderboard path
Text = Annotated[str, StringConstraints(min_length=1, strip_whitespace=True)]
CASES = "cases"
SEALED = "sealed"
GROUP = "group"  # the named part of `groups` that becomes the group's name


class Settings(BaseModel):
    """Base of every table of challenge.toml: unknown keys are mistakes, values never change after reading."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Common(Settings):
    """The keys every challenge has.

    `per_case` has no default on purpose: the platform shows all of metrics.json to participants, so whoever holds a
    hidden test set has to decide what a row may say.

    submission      which shape of submission the phase takes; "any" goes by whether there is a predictions.json
    expected_cases  how many references there must be, for whoever would notice a forgotten one too late
    """

    kind: Text
    title: Text
    version: Text
    per_case: PerCase
    submission: SubmissionShape = "any"
    expected_cases: Annotated[int, Field(strict=True, gt=0)] | None = None


class CasesSettings(Settings):
    """The `[cases]` table.

    input        the input whose image or file name is the case [the published one]
    ignore_case  compare case names without regard to upper and lower case [as published]
    groups       a pattern over case names with a part named `group`; figures are then also given per group
    """

    input: Text | None = None
    ignore_case: bool | None = None
    groups: str | None = None

    @field_validator("groups")
    @classmethod
    def _is_a_pattern(cls, pattern: str | None) -> str | None:
        if pattern is not None:
            try:
                names = re.compile(pattern).groupindex
            except re.error as error:
                raise ValueError(f"it is no regular expression: {error}") from None
            if GROUP not in names:
                raise ValueError(f"the pattern must name a part: (?P<{GROUP}>...)")
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


SettingsType = TypeVar("SettingsType", bound=Settings)


@dataclass(frozen=True)
class Mistake:
    """One thing that is wrong with challenge.toml: its key, and a sentence that names key and line."""

    key: tuple[str | int, ...]
    sentence: str


class ChallengeFile:
    """A challenge.toml that was read but not yet understood: which kind it is decides what else it may say."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self._text = path.read_text(encoding="utf-8-sig")  # Windows editors put a byte order mark first
            self._content = tomllib.loads(self._text)
        except OSError as error:
            raise ConfigurationError(f"{path.name} cannot be read: {error.strerror}.", detail=str(path)) from None
        except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
            raise ConfigurationError(f"{path.name} is not valid TOML: {error}.", detail=str(path)) from None

    @property
    def kind(self) -> str:
        """Which code scores the challenge, before anything else is checked."""
        kind = self._content.get("kind")
        if "challenge" in self._content:
            raise self.refuse(
                ("challenge",),
                f'is no longer a key: write kind = "{self._content["challenge"]}"; '
                "the name of a challenge is that of its folder",
            )
        if not isinstance(kind, str):
            raise ConfigurationError(f"{self.path.name}: the key 'kind' is missing.", detail=str(self.path))
        return kind

    def known_kind(self, known: Collection[str]) -> str:
        """The kind, which must be one of these."""
        if self.kind not in known:
            raise self.refuse(("kind",), f"is '{self.kind}'; the kinds are: {', '.join(sorted(known))}")
        return self.kind

    def common(self) -> Common:
        """Everything but the tables."""
        return self._parse(Common, self._without(CASES, SEALED, self.kind), ())

    def cases(self) -> CasesSettings:
        """The table `[cases]`."""
        return self._parse(CasesSettings, self.table(CASES), (CASES,))

    def sealed(self) -> SealedSettings:
        """The table `[sealed]`."""
        return self._parse(SealedSettings, self.table(SEALED), (SEALED,))

    def own(self, model: type[SettingsType]) -> SettingsType:
        """The kind's own table, such as `[lesions]`."""
        return self._parse(model, self.table(self.kind), (self.kind,))

    def table(self, name: str) -> Any:
        """A table as it was written, empty where there is none."""
        return self._content.get(name, {})

    def mistakes(self, own_tables: Mapping[str, type[Settings]]) -> list[Mistake]:
        """Everything that is wrong, not only the first; `own_tables` are those of the known kinds."""
        found: list[Mistake] = []
        try:
            kind = self.known_kind(own_tables)
        except ConfigurationError as error:
            found.append(Mistake(("kind",), str(error)))
            problems = _problems(Common, self._without(CASES, SEALED, "challenge", *own_tables), ())
            problems = [problem for problem in problems if problem.key != ("kind",)]
        else:
            problems = _problems(Common, self._without(CASES, SEALED, kind), ())
            problems += _problems(own_tables[kind], self.table(kind), (kind,))
        problems += _problems(CasesSettings, self.table(CASES), (CASES,))
        problems += _problems(SealedSettings, self.table(SEALED), (SEALED,))
        return found + [Mistake(each.key, str(self.refuse(each.key, each.words))) for each in problems]

    def refuse(self, key: tuple[str | int, ...], problem: str) -> ConfigurationError:
        """The error for a key that is well-formed but wrong."""
        line = line_of(self._text, key)
        where = f", line {line}" if line else ""
        return ConfigurationError(f"{self.path.name}{where}: '{_dotted(key)}' {problem}.", detail=str(self.path))

    def _parse(self, model: type[SettingsType], content: Any, prefix: tuple[str, ...]) -> SettingsType:
        if problems := _problems(model, content, prefix):
            raise self.refuse(problems[0].key, problems[0].words)
        return model.model_validate(content)

    def _without(self, *tables: str) -> dict[str, Any]:
        return {key: value for key, value in self._content.items() if key not in tables}


def _problems(model: type[Settings], content: Any, prefix: tuple[str, ...]) -> list[ValidationProblem]:
    try:
        model.model_validate(content)
    except ValidationError as error:
        return all_problems(error, prefix=prefix)
    return []


def _dotted(key: tuple[str | int, ...]) -> str:
    return ".".join(str(part) for part in key)


_HEADER = re.compile(r"^\s*\[\[?\s*([^\]]+?)\s*\]\]?\s*(?:#.*)?$")
_ASSIGNMENT = re.compile(
    r"""^\s*((?:[A-Za-z0-9_-]+|"[^"]*"|'[^']*')(?:\s*\.\s*(?:[A-Za-z0-9_-]+|"[^"]*"|'[^']*'))*)\s*="""
)


def line_of(text: str, key: tuple[str | int, ...]) -> int | None:
    """The line where `key` is set, or that of its nearest parent: a missing key is reported at its table.

    tomllib keeps no positions, so this reads headers and assignments itself; inline tables resolve to their line.
    """
    wanted = tuple(str(part) for part in key)
    best: tuple[int, int] | None = None  # depth of the match, line
    table: tuple[str, ...] = ()
    for number, line in enumerate(text.splitlines(), start=1):
        if header := _HEADER.match(line):
            table = _split_key(header[1])
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
