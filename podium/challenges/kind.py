"""What a kind of challenge is: its own tables of challenge.toml, and the challenge that they describe."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic

from podium.challenges.base import Challenge, SettingsT
from podium.challenges.settings import CasesSettings, problems_of, without_problems
from podium.errors import ValidationProblem


@dataclass(frozen=True, kw_only=True)
class Examined(Generic[SettingsT]):
    """A kind's settings, defaults in place of wrong ones, and everything that is wrong; no settings where too little is
    right. `excused` are names of figures that do not exist for that reason alone."""

    settings: SettingsT | None
    problems: Sequence[ValidationProblem]
    excused: frozenset[str] = frozenset()


@dataclass(frozen=True, kw_only=True)
class Kind(Generic[SettingsT]):
    """A kind of challenge: its own tables of challenge.toml, and the challenge that they describe.

    tables           the tables that are its settings [one, named as the kind]
    examine          finds everything that is wrong with the tables, where the model alone cannot
    own_code         reads an organiser's code in the challenge's folder: the tables that it adds
    code_tables      those tables, which challenge.toml cannot have
    fits_submission  what is wrong with settings under a shape of submission, where values have places in each
    format_settings  enough to read predictions where the real settings are not at hand; None where nothing is
    """

    name: str
    settings_model: type[SettingsT]
    build: Callable[[str, CasesSettings, SettingsT], Challenge[SettingsT, Any, Any]]
    tables: tuple[str, ...] = ()
    examine: Callable[[Any], Examined[SettingsT]] | None = None
    own_code: Callable[[Path], Mapping[str, Any]] | None = None
    code_tables: tuple[str, ...] = ()
    fits_submission: Callable[[CasesSettings, SettingsT, str], Sequence[ValidationProblem]] | None = None
    format_settings: Mapping[str, Any] | None = field(default_factory=dict)

    @property
    def own_tables(self) -> tuple[str, ...]:
        return self.tables or (self.name,)

    def own(self, tables: Mapping[str, Any]) -> Any:
        """The kind's settings among the tables of a challenge.toml."""
        if not self.tables:
            return tables.get(self.name, {})
        return {name: tables[name] for name in self.tables if name in tables}

    def examined(self, tables: Mapping[str, Any]) -> Examined[SettingsT]:
        """The kind's settings among the tables, and everything that is wrong with them."""
        own = self.own(tables)
        if self.examine is not None:
            return self.examine(own)
        problems = problems_of(self.settings_model, own, () if self.tables else (self.name,))
        right = without_problems(own, problems, depth=0 if self.tables else 1)
        for content in (right, {**(self.format_settings or {}), **right}, self.format_settings):
            if content is not None and not problems_of(self.settings_model, content, ()):
                return Examined(settings=self.settings_model.model_validate(content), problems=problems)
        return Examined(settings=None, problems=problems)

    def published(self, settings: SettingsT) -> dict[str, Any]:
        """The settings as the tables of a challenge.toml, defaults filled in."""
        content = settings.model_dump(mode="json")
        return content if self.tables else {self.name: content}

    def challenge(self, name: str, *, cases: Any, own: Any) -> Challenge[SettingsT, Any, Any]:
        """The challenge of this name; raises pydantic's ValidationError where the settings are wrong."""
        return self.build(name, CasesSettings.model_validate(cases), self.settings_model.model_validate(own))
