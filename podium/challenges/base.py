"""What a challenge is to the rest of Podium, in parts that each challenge has as far as it needs them.

Format      which files and jobs it takes, and how they are paired and read (podium/challenges/format.py)
Scorer      the figures of one case
Scoreboard  the declared figures of all cases, and the leaderboard (podium/metrics/declaration.py)
Ranking     the rule that teams are ranked by (podium/challenges/board.py)
Overlays    pictures of a case, for an organiser's report
"""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from podium.challenges.board import BoardSettings, RankingRule
from podium.challenges.format import Format, PredictionT, ReferenceT, Shapes
from podium.challenges.settings import CasesSettings, Settings, problems_of, without_problems
from podium.errors import Refused, ValidationProblem
from podium.figures import LARGEST_FIGURE, Figures, get, numbers, put
from podium.metrics.aggregation import add_groups, aggregate, recombined, row_of
from podium.metrics.declaration import Direction, Scoreboard
from podium.platform.metrics_file import CaseResult, CaseScore
from podium.platform.privacy import (
    Column,
    PerCase,
    aggregates_of_enough_cases,
    column,
    group_columns,
    published_columns,
    rounded_aggregates,
)
from podium.platform.runtime import Runtime
from podium.readers.files import SafeFile, one_case

# What a report draws of one case: an image, and the outlines of prediction and reference on it.


@dataclass(frozen=True, eq=False, kw_only=True)
class Outlined:
    """One structure as predicted and as it is, masks of one shape."""

    prediction: NDArray[np.bool_]
    reference: NDArray[np.bool_]


@dataclass(frozen=True, eq=False, kw_only=True)
class Overlay:
    """One view of a case. `image` is 2-D of any numeric type, None where the organiser has none; `aspect` is the height
    of a pixel over its width."""

    title: str
    image: NDArray[Any] | None
    layers: Mapping[str, Outlined]
    aspect: float = 1.0


# What a report draws of all cases together: data only, so that a challenge knows nothing of pages.

Points = Sequence[tuple[float, float]]


@dataclass(frozen=True, kw_only=True)
class Diagram:
    """Lines and dots over two axes.

    share      both axes run from 0 to 1
    lines      by their names
    dots       one per case
    diagonal   the line on which x = y, for comparison
    levels     horizontal lines by their names
    told       what it shows, in words
    """

    title: str
    x: str
    y: str
    told: str
    share: bool = False
    lines: Mapping[str, Points] = field(default_factory=dict)
    dots: Points = ()
    diagonal: bool = False
    levels: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class FigureGrid:
    """Figures by row and column, None where there is none; directions by column."""

    title: str
    corner: str
    rows: Sequence[str]
    columns: Sequence[str]
    values: Sequence[Sequence[float | None]]
    directions: Sequence[Direction]


Picture = Diagram | FigureGrid


SettingsT = TypeVar("SettingsT", bound=Settings)
ExpectedT = TypeVar("ExpectedT")  # one case's reference, read
CaseT = TypeVar("CaseT")  # one case, compared


class Scorer(ABC, Generic[PredictionT, ReferenceT, ExpectedT, CaseT]):
    """One case. Runs in workers; raises `Refused` for what the prediction's author has to fix."""

    threads: int = 1
    """How many threads one case may use: more than one only where there are fewer cases than cores."""

    def import_packages(self) -> None:
        """Load what scoring needs, once, before workers are forked."""

    @abstractmethod
    def read_reference(self, reference: ReferenceT) -> ExpectedT:
        """A reference, read and prepared once for the predictions of all teams; comparing must not change it."""

    @abstractmethod
    def compare(self, prediction: PredictionT, expected: ExpectedT) -> CaseT:
        """Read a prediction and compare it; the declared metrics are functions of the result."""

    @abstractmethod
    def lost(self, reference: ReferenceT, kept: ExpectedT | None) -> CaseT:
        """A case without a usable prediction; `kept` is its reference, if it need not be read again."""

    def facts(self, case: CaseT) -> Figures:  # noqa: ARG002  (the interface)
        """What a row keeps beside the declared metrics, so that everything can be computed again from the rows."""
        return {}

    def warnings(self, case: CaseT) -> Sequence[str]:  # noqa: ARG002  (the interface)
        """What the prediction's author should know about a case that was scored."""
        return ()


class Overlays(ABC, Generic[PredictionT, ReferenceT]):
    """Pictures for an organiser's report."""

    @abstractmethod
    def draw(
        self, case: str, prediction: PredictionT, reference: ReferenceT, images: Sequence[SafeFile]
    ) -> Sequence[Overlay]:
        """The views of one case with the outlines of prediction and reference; `images` are all files of the folder
        the organiser named."""

    @abstractmethod
    def check_images(self, case: str, shapes: Shapes, images: Sequence[SafeFile]) -> int:
        """How many images of a case there are; Refused where one is unreadable or not of the reference's size."""


@dataclass(frozen=True, kw_only=True)
class Challenge(Generic[SettingsT, PredictionT, ReferenceT]):
    """One challenge under one set of settings.

    name           the name of its folder
    kind           which code scores it
    board          the tables that say what is made of the metrics
    confidential   dotted paths of per-case figures that give a reference value away: only `per_case = "full"` shows
                   them
    given          figures that do not come from the rows, from all results and the runtime
    cohort_given   the given figures of every team, once the aggregates of all teams are known
    pictures       what a report draws of all cases together, from published rows and aggregates
    provisional    the paths of figures that are final only then; so are formulas of these
    """

    name: str
    kind: str
    cases: CasesSettings
    settings: SettingsT
    board: BoardSettings = field(default_factory=BoardSettings)
    format: Format[PredictionT, ReferenceT]
    scorer: Scorer[PredictionT, ReferenceT, Any, Any]
    scoreboard: Scoreboard[Any]
    ranking: RankingRule
    overlays: Overlays[PredictionT, ReferenceT] | None = None
    confidential: Sequence[str] = ()
    given: Callable[[Sequence[CaseResult], Runtime], Mapping[str, float]] | None = None
    cohort_given: Callable[[Mapping[str, Figures]], Mapping[str, Mapping[str, float]]] | None = None
    provisional: Sequence[str] = ()
    pictures: Callable[[Sequence[Figures], Figures], Sequence[Picture]] | None = None

    def share_cores(self, *, workers: int, cases: int) -> None:
        """Divide the cores among the cases; called before workers are forked, so that all of them know."""
        self.scorer.threads = max(1, workers // max(1, cases))

    def score(self, prediction: PredictionT, expected: Any) -> CaseScore:
        """The row of one case; `expected` is what the scorer has read of its reference."""
        with one_case():
            case = self.scorer.compare(prediction, expected)
        row = {**row_of(self.scoreboard.metrics, case, lost=False), **self.scorer.facts(case)}
        if any(abs(number) > LARGEST_FIGURE for number in numbers(row)):
            raise Refused(f"The prediction holds numbers so large that a figure is beyond {LARGEST_FIGURE:g}.")
        return CaseScore(metrics=row, warnings=tuple(self.scorer.warnings(case)))

    def lost(self, reference: ReferenceT, *, kept: Any = None) -> Figures:
        """The row of a missing or failed case; `kept` is its reference, if it need not be read again."""
        case = self.scorer.lost(reference, kept)
        return {**row_of(self.scoreboard.metrics, case, lost=True), **self.scorer.facts(case)}

    def aggregate(self, results: Sequence[CaseResult], runtime: Runtime) -> Figures:
        """Everything below `aggregates`, from the results and the runtime alone: finite numbers only."""
        given = self.given(results, runtime) if self.given else {}
        figures = aggregate(self.scoreboard, [result.metrics for result in results], given)
        for alias, target in self.scoreboard.aliases.items():
            put(figures, alias, dict(get(figures, target)))
        if self.cases.groups is not None:
            members = {name: [each.metrics for each in group] for name, group in self._grouped(results).items()}
            add_groups(self.scoreboard, members, figures)
        # metrics.json has at least one figure, also where none has a value, such as a lone AUROC of one class.
        return figures or {"scored_cases": sum(result.status == "scored" for result in results)}

    def _grouped(self, results: Sequence[CaseResult]) -> dict[str, list[CaseResult]]:
        groups: dict[str, list[CaseResult]] = {}
        for result in sorted(results, key=lambda result: self.cases.group_of(result.case) or ""):
            groups.setdefault(self.cases.group_of(result.case) or "", []).append(result)
        return groups

    def published(
        self, aggregates: Figures, results: Sequence[CaseResult], *, per_case: PerCase, decimals: int | None
    ) -> Figures:
        """The aggregates of these results as participants see them."""
        if per_case != "full":
            groups = self._grouped(results) if self.cases.groups is not None else {}
            aggregates = aggregates_of_enough_cases(
                aggregates, results, groups=groups, board=self.scoreboard, ranked=self._ranked
            )
        return rounded_aggregates(aggregates, decimals=decimals)

    @property
    def _ranked(self) -> set[str]:
        """The paths of the leaderboard's score and of all that teams are ranked by."""
        rule = self.ranking
        return {self.scoreboard.leaderboard[0], *(each.path for each in (*rule.criteria, *rule.tie_breaks))}

    def among(self, aggregates: Mapping[str, Figures]) -> Mapping[str, Figures]:
        """The teams' aggregates again, now that all teams are known: for figures that depend on the others'."""
        given = self.cohort_given(aggregates) if self.cohort_given else {}
        if not given:
            return aggregates
        return {team: recombined(self.scoreboard, figures, given[team]) for team, figures in aggregates.items()}

    def columns(self) -> Sequence[Column]:
        """What the leaderboard shows, the score that teams are ranked by first."""
        return [column(self.scoreboard, path) for path in self.scoreboard.leaderboard]

    def phase_columns(self, *, hidden: Collection[str] = ()) -> Sequence[Column]:
        """What a phase can show: the columns of challenge.toml, or the leaderboard and the figures of every class; with
        groups also the means over them. Where `per_case` hides the cases, `hidden` are their names: what is never
        published of so few is left out.

        A phase knows one team at a time, so the titles of some figures say that they are provisional."""
        board = self.scoreboard
        others = [figure.path for figure in board.cohort_metrics if figure.title]
        others = [] if self.board.leaderboard.columns is not None else others
        paths = list(dict.fromkeys([*board.leaderboard, *others]))
        columns = [column(board, path) for path in paths]
        provisional = set(self.provisional)
        for formula in board.formulas:  # a formula stands after its terms
            provisional |= {formula.path} if provisional.intersection(formula.terms) else set()
        columns = [
            replace(each, title=f"{each.title}, provisional") if each.path in provisional else each for each in columns
        ]
        if self.cases.groups is not None:
            columns += group_columns(board, paths)
        if not hidden:
            return columns
        groups = Counter(group for case in hidden if (group := self.cases.group_of(case)) is not None)
        return published_columns(columns, cases=len(hidden), groups=groups, board=board, ranked=self._ranked)

    def offline_columns(self) -> Sequence[Column]:
        """Figures below `aggregates` that offline tools add."""
        return [column(self.scoreboard, figure.path) for figure in self.scoreboard.offline]


AnyChallenge = Challenge[Any, Any, Any]


# What a kind of challenge is: its own tables of challenge.toml, and the challenge that they describe.


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
