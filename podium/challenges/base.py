"""What a challenge is to the rest of Podium, and how the tables of a challenge.toml become one.

A `Challenge` has these parts, as far as it needs them:

Format       which files and jobs it takes, and how they are paired and read (podium/challenges/format.py)
Scorer       compares the prediction and the reference of one case
Scoreboard   the declared figures of one case and of all, and the leaderboard (podium/metrics/declaration.py)
RankingRule  how teams are ranked (podium/challenges/board.py)
Overlays     pictures of a case, for an organiser's report

A `Kind` builds challenges from settings; `KINDS` are all of them, and `load_challenge` reads a challenge.toml.
"""

import math
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace
from importlib import import_module
from pathlib import Path
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from podium.challenges.board import BOARD_TABLES, BoardSettings, ExtendedBoard, RankingRule, examine_board
from podium.challenges.format import ChallengeFolder, ContentT, Format, Geometries, PredictionT, ReferenceT, Shapes
from podium.challenges.settings import (
    CASES,
    ENGINE,
    KIND_NAMES,
    SEALED,
    CasesSettings,
    ChallengeFile,
    SealedSettings,
    Settings,
    problems_of,
    unknown_key,
    without_problems,
)
from podium.errors import ConfigurationError, Refused, ValidationProblem
from podium.figures import LARGEST_FIGURE, Figures, get, holds, numbers, put
from podium.metrics.aggregation import CohortValues, add_groups, aggregate, recombined
from podium.metrics.declaration import GROUP_MEAN, GROUPS, Direction, Scoreboard
from podium.metrics.engines import OWN
from podium.metrics.resampling import Resamples
from podium.platform.jobs import Runtime
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
from podium.readers.files import SafeFile, one_case
from podium.readers.images import Geometry

SettingsT = TypeVar("SettingsT", bound=Settings)
CaseT = TypeVar("CaseT")  # one case, compared
Points = Sequence[tuple[float, float]]
_REPLICATES = 200  # enough for the magnitude of a standard error

# What a report draws of one case: an image, and the outlines of prediction and reference on it.


@dataclass(frozen=True, eq=False, kw_only=True)
class Outlined:
    """One structure in prediction and reference: masks of one shape."""

    prediction: NDArray[np.bool_]
    reference: NDArray[np.bool_]


@dataclass(frozen=True, eq=False, kw_only=True)
class LabelledVolume:
    """All of a 3-D case: arrays of one shape (slices, rows, columns) in the patient's space, `image` None where the
    organiser has none; `regions` are the label values of every structure."""

    title: str
    image: NDArray[Any] | None
    prediction: NDArray[Any]
    reference: NDArray[Any]
    regions: Mapping[str, Sequence[int]]
    geometry: Geometry | None


@dataclass(frozen=True, eq=False, kw_only=True)
class Overlay:
    """One view of a case. `image` is 2-D of any numeric type, None where the organiser has none; `aspect` is the height
    of a pixel over its width, `pixel_mm` its width, None where the format has no unit. `small`: one of a row.
    `volume`: what it is a slice of."""

    title: str
    image: NDArray[Any] | None
    layers: Mapping[str, Outlined]
    aspect: float = 1.0
    pixel_mm: float | None = None
    small: bool = False
    volume: LabelledVolume | None = None


# What a report draws of all cases together: data only, so that a challenge knows nothing of pages.


@dataclass(frozen=True, kw_only=True)
class Diagram:
    """Lines and dots over two axes.

    share      both axes run from 0 to 1
    lines      by their names
    dots       one per case
    diagonal   the line on which x = y, for comparison
    levels     horizontal lines by their names
    told       a sentence on what it shows
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

# A challenge and its parts.


class Scorer(ABC, Generic[PredictionT, ContentT, CaseT]):
    """One case. Runs in workers; raises `Refused` for what the prediction's author has to fix."""

    threads: int = 1
    """How many threads one case may use: more than one only where there are fewer cases than cores."""

    def import_packages(self) -> None:
        """Import what scoring needs, once, before workers are forked."""

    @abstractmethod
    def compare(self, prediction: PredictionT, expected: ContentT) -> CaseT:
        """Read a prediction and compare it with the reference, which other predictions will be compared with too: it
        must not change. The declared metrics are functions of the result."""

    @abstractmethod
    def score_missing(self, expected: ContentT) -> CaseT:
        """A case without a usable prediction."""

    @abstractmethod
    def perfect(self, expected: ContentT) -> CaseT:
        """A case with nothing wrong: what the best possible submission scores can be computed before there is one."""

    def damaged(self, expected: ContentT) -> Sequence[CaseT]:  # noqa: ARG002  (the interface)
        """The reference and copies of it with faults, compared with it: on these metrics can be tried."""
        return ()

    def try_own_metrics(self, references: Iterable[ContentT]) -> Sequence[str]:  # noqa: ARG002  (the interface)
        """What the organiser's own metrics raise on references that are compared with copies of themselves."""
        return ()

    def facts(self, case: CaseT) -> Figures:  # noqa: ARG002  (the interface)
        """What a row keeps besides the declared metrics, so that everything can be computed again from the rows."""
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
    def check_images(
        self, case: str, shapes: Shapes, geometries: Geometries, images: Sequence[SafeFile]
    ) -> Sequence[Sequence[str]]:
        """For every image of a case the parts of its header that differ from the reference's; Refused where one is
        unreadable or not of the reference's size."""


@dataclass(frozen=True, kw_only=True)
class Challenge(Generic[SettingsT, PredictionT, ReferenceT]):
    """One challenge under one set of settings.

    name           the name of its folder
    kind           which code scores it
    board          the tables `[figures]`, `[case_figures]`, `[leaderboard]` and `[ranking]`
    confidential   dotted paths of per-case figures that give a reference value away: only `per_case = "full"` shows
                   them
    given          figures that do not come from the rows, from all results and the runtime
    cohort_given   the given figures of every team that are final only once the aggregates of all teams are known
    provisional    the paths of these figures; formulas of them are provisional too
    pictures       what a report draws of all cases together, from published rows and aggregates
    computed_by    the package that computes each metric
    """

    name: str
    kind: str
    cases: CasesSettings
    settings: SettingsT
    board: BoardSettings = field(default_factory=BoardSettings)
    format: Format[PredictionT, ReferenceT, Any]
    scorer: Scorer[PredictionT, Any, Any]
    scoreboard: Scoreboard[Any]
    ranking: RankingRule
    overlays: Overlays[PredictionT, ReferenceT] | None = None
    confidential: Sequence[str] = ()
    given: Callable[[Sequence[CaseResult], Runtime], Mapping[str, float]] | None = None
    cohort_given: Callable[[Mapping[str, Figures]], Mapping[str, Mapping[str, float]]] | None = None
    provisional: Sequence[str] = ()
    pictures: Callable[[Sequence[Figures], Figures], Sequence[Picture]] | None = None
    computed_by: Mapping[str, str] = field(default_factory=dict)

    def share_cores(self, *, workers: int, cases: int) -> None:
        """Divide the cores among the cases; called before workers are forked, so that all of them know."""
        self.scorer.threads = max(1, workers // max(1, cases))

    def score(self, prediction: PredictionT, expected: Any) -> CaseScore:
        """The row of one case; `expected` is its reference as the format reads it."""
        with one_case():
            case = self.scorer.compare(prediction, expected)
        row = {**self.scoreboard.row(case), **self.scorer.facts(case)}
        if any(abs(number) > LARGEST_FIGURE for number in numbers(row)):
            raise Refused(f"The prediction holds numbers so large that a figure is beyond {LARGEST_FIGURE:g}.")
        return CaseScore(metrics=row, warnings=tuple(self.scorer.warnings(case)))

    def score_missing(self, expected: Any) -> Figures:
        """The row of a missing or failed case."""
        case = self.scorer.score_missing(expected)
        return {**self.scoreboard.row(case, is_missing=True), **self.scorer.facts(case)}

    def aggregate(self, results: Sequence[CaseResult], runtime: Runtime) -> Figures:
        """Everything below `aggregates`, from the results and the runtime alone: finite numbers only."""
        given = self.given(results, runtime) if self.given else {}
        groups = [] if self.cases.groups is None else [self.cases.group_of(each.case) or "" for each in results]
        figures = aggregate(self.scoreboard, [result.metrics for result in results], given, groups)
        for alias, target in self.scoreboard.aliases.items():
            put(figures, alias, dict(get(figures, target)))
        if self.cases.groups is not None:
            members = {name: [each.metrics for each in group] for name, group in self._grouped(results).items()}
            add_groups(self.scoreboard, members, figures)
        # metrics.json has at least one figure, also where none has a value, such as a lone AUROC of one class.
        return figures or {"scored_cases": sum(result.status == "scored" for result in results)}

    def packages(self, results: Sequence[CaseResult]) -> Mapping[str, str]:
        """What computed each metric of these results: Podium where a package has no form for missing answers."""
        rows = [result.metrics for result in results]
        figures = [each for each in self.scoreboard.cohort_metrics if each.exact is not None]
        own = {each.path.partition(".")[0] for each in figures if each.exact and each.exact(rows) is None}
        return {metric: OWN if metric in own else package for metric, package in self.computed_by.items()}

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
        aggregates = rounded_aggregates(aggregates, decimals=decimals)
        return self._without_revealing_digits(aggregates, results) if per_case == "none" else aggregates

    def _without_revealing_digits(self, aggregates: Figures, results: Sequence[CaseResult]) -> Figures:
        """Figures that one case can move far, and formulas of them, with the digits that their standard error leaves:
        the last place is not below it, so that nobody reads single labels from the differences of submissions."""
        board = self.scoreboard
        revealing = [each.path for each in board.cohort_metrics if each.reveals]
        for formula in board.formulas:  # a formula comes after its terms
            terms = {board.resolved(term).removesuffix(GROUP_MEAN) for term in formula.terms}
            if terms.intersection(revealing) or any(term.startswith(f"{GROUPS}.") for term in terms if revealing):
                revealing.append(formula.path)
        if not revealing:
            return aggregates
        coarse = deepcopy(dict(aggregates))
        groups = self._grouped(results) if GROUPS in coarse else {}
        for figures, rows in (
            (coarse, results),
            *((coarse[GROUPS][name], rows) for name, rows in groups.items() if name in coarse[GROUPS]),
        ):
            given = {each.path: get(figures, each.path) for each in board.given if holds(figures, each.path)}
            resamples = Resamples.draw(cases=len(rows), replicates=_REPLICATES, seed=0)
            names = [self.cases.group_of(row.case) or "" for row in rows] if self.cases.groups is not None else ()
            drawn = CohortValues(board, [row.metrics for row in rows], resamples, given, names)
            for path in (path for path in revealing if holds(figures, path)):
                error = float(np.nanstd(drawn[path]))
                if not error > 0:  # all cases alike, or no resample has a value
                    continue
                places = max(0, math.floor(-math.log10(error)))
                for shown in (path, path + GROUP_MEAN):
                    if holds(figures, shown):
                        put(figures, shown, round(get(figures, shown), places))
        return coarse

    @property
    def _ranked(self) -> set[str]:
        """The paths of the leaderboard's score and of all that teams are ranked by."""
        rule = self.ranking
        return {self.scoreboard.leaderboard[0], *(each.path for each in (*rule.criteria, *rule.tie_breaks))}

    @property
    def figures_in_use(self) -> Sequence[str]:
        """The paths of all figures that challenge.toml shows, ranks by or has in a formula."""
        terms = (term for formula in self.scoreboard.formulas for term in formula.terms)
        return list(dict.fromkeys([*self.scoreboard.leaderboard, *terms, *sorted(self._ranked)]))

    def among(self, aggregates: Mapping[str, Figures]) -> Mapping[str, Figures]:
        """The teams' aggregates, with the figures that depend on all teams computed again."""
        given = self.cohort_given(aggregates) if self.cohort_given else {}
        if not given:
            return aggregates
        return {team: recombined(self.scoreboard, figures, given[team]) for team, figures in aggregates.items()}

    def columns(self) -> Sequence[Column]:
        """What the leaderboard shows, the score that teams are ranked by first."""
        return [column(self.scoreboard, path) for path in self.scoreboard.leaderboard]

    def phase_columns(self, *, hidden: Collection[str] = ()) -> Sequence[Column]:
        """What a phase can show: the columns of challenge.toml, or the leaderboard and the figures of every class; with
        groups also the means over them. Where `per_case` hides the cases, `hidden` are their names: figures that are
        never published for so few cases are left out.

        A phase knows one team at a time, so the titles of some figures say that they are provisional."""
        board = self.scoreboard
        others = [figure.path for figure in board.cohort_metrics if figure.title]
        others = [] if self.board.leaderboard.columns is not None else others
        paths = list(dict.fromkeys([*board.leaderboard, *others]))
        columns = [column(board, path) for path in paths]
        provisional = set(self.provisional)
        for formula in board.formulas:  # a formula comes after its terms
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


# A kind of challenge: its own tables of challenge.toml, and the challenge that they describe.


@dataclass(frozen=True, kw_only=True)
class Examined(Generic[SettingsT]):
    """A kind's settings, with defaults in place of wrong ones, and everything that is wrong; no settings where too much
    is wrong. `excused` are names of figures that do not exist for that reason alone."""

    settings: SettingsT | None
    problems: Sequence[ValidationProblem]
    excused: frozenset[str] = frozenset()


@dataclass(frozen=True, kw_only=True)
class Kind(Generic[SettingsT]):
    """A kind of challenge.

    tables           the tables that are its settings [one, with the name of the kind]
    examine          finds everything that is wrong with the tables, where the model alone cannot
    own_code         reads an organiser's code in the challenge's folder and returns the tables that it adds
    code_tables      the names of those tables, which challenge.toml cannot have
    fits_submission  what is wrong with settings under a shape of submission, where values have places in each
    format_settings  enough to read predictions where the real settings are not available; None if that is impossible
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
        return (*(self.tables or (self.name,)), *((ENGINE,) if self.has_engine else ()))

    @property
    def has_engine(self) -> bool:
        """Whether there are figures that an engine computes."""
        return ENGINE in self.settings_model.model_fields

    def own(self, tables: Mapping[str, Any]) -> Any:
        """The kind's settings among the tables of a challenge.toml; the engine is one of them, outside of tables."""
        if self.tables:
            return {name: tables[name] for name in self.own_tables if name in tables}
        own = tables.get(self.name, {})
        if not self.has_engine or not isinstance(own, Mapping):
            return own
        given = {ENGINE: tables[ENGINE]} if ENGINE in tables else {}
        return {**{key: value for key, value in own.items() if key != ENGINE}, **given}

    def engine_problems(self, tables: Mapping[str, Any]) -> Sequence[ValidationProblem]:
        """Where an engine is named that is not used, or in the wrong place."""
        if ENGINE in tables and not self.has_engine:
            words = f"is not a key of the kind '{self.name}': none of its figures is computed by an engine"
            return [ValidationProblem(key=(ENGINE,), words=words)]
        if self.has_engine and not self.tables and ENGINE in (tables.get(self.name) or ()):
            words = "belongs at the top of challenge.toml, above all tables"
            return [ValidationProblem(key=(self.name, ENGINE), words=words)]
        return ()

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
        if self.tables:
            return content
        engine = {ENGINE: content.pop(ENGINE)} if ENGINE in content else {}
        return {**engine, self.name: content}


# Every kind, and how the tables of a challenge.toml become a challenge.


class _Kinds(Mapping[str, Kind[Any]]):
    """Every kind by its name. A kind is imported when it is first used: each import takes a tenth of a second."""

    def __getitem__(self, name: str) -> Kind[Any]:
        if name not in KIND_NAMES:
            raise KeyError(name)
        kind: Kind[Any] = getattr(import_module(f"podium.challenges.{name}"), name.upper())
        return kind

    def __iter__(self) -> Iterator[str]:
        return iter(KIND_NAMES)

    def __len__(self) -> int:
        return len(KIND_NAMES)

    def __contains__(self, name: object) -> bool:
        return name in KIND_NAMES  # a mapping would import the kind to see


KINDS: Mapping[str, Kind[Any]] = _Kinds()


@dataclass(frozen=True, kw_only=True)
class Assembled:
    """The challenge that tables describe, and everything that is wrong with them. Wrong tables are replaced by
    defaults, so that the others can be checked; there is no challenge where that is not possible. `code_error` says why
    the organiser's own code could not be run."""

    challenge: AnyChallenge | None
    problems: Sequence[ValidationProblem]
    code_error: ConfigurationError | None = None


def assemble(name: str, kind_name: str, tables: Mapping[str, Any]) -> Assembled:
    """The challenge of a known kind under the given tables."""
    kind = KINDS[kind_name]
    known = (CASES, SEALED, *BOARD_TABLES, *kind.own_tables)
    unknown = [key for key in tables if key not in (*known, ENGINE)]
    problems = [ValidationProblem(key=(key,), words=unknown_key(key, known)) for key in unknown]
    problems += kind.engine_problems(tables)
    problems += problems_of(SealedSettings, tables.get(SEALED, {}), (SEALED,))
    cases_problems = problems_of(CasesSettings, tables.get(CASES, {}), (CASES,))
    cases = CasesSettings.model_validate(without_problems(tables.get(CASES, {}), cases_problems, depth=1))
    examined = kind.examined(tables)
    board, board_problems, missing = examine_board(tables)
    placed = [replace(each, key=each.key[-1:]) if each.key[1:] == (ENGINE,) else each for each in examined.problems]
    problems += [*cases_problems, *placed, *board_problems]
    if examined.settings is None:
        return Assembled(challenge=None, problems=problems)
    built = kind.build(name, cases, examined.settings)
    extended = ExtendedBoard(
        replace(built.scoreboard, group_of=cases.group_of if cases.groups is not None else None),
        built.ranking,
        board,
        confidential=built.confidential,
        excused=examined.excused | missing,
    )
    challenge = replace(
        built,
        board=board,
        scoreboard=extended.board,
        ranking=extended.ranking,
        confidential=extended.confidential,
    )
    reserved = "is reserved: result rows already use this name; choose another"
    taken = [
        ValidationProblem(key=("case_figures", name), words=reserved)
        for name in board.case_figures
        if name in built.confidential
    ]
    return Assembled(challenge=challenge, problems=[*problems, *extended.problems, *taken])


def load_challenge(folder: ChallengeFolder) -> AnyChallenge:
    """The challenge under the settings of its challenge.toml."""
    assembled = _assemble_file(folder.name, folder.common.kind, folder.file)
    if assembled.code_error is not None:
        raise assembled.code_error
    if assembled.problems or assembled.challenge is None:
        raise folder.file.refusal(assembled.problems)
    return assembled.challenge


def phase_columns(folder: ChallengeFolder) -> Sequence[Column]:
    """What a phase of this challenge can show, given what `per_case` publishes for this number of cases."""
    challenge = load_challenge(folder)
    if folder.common.per_case == "full" or not folder.references.is_dir():
        return challenge.phase_columns()
    references, _ = challenge.format.look_for_references(folder.references)
    return challenge.phase_columns(hidden=references)


def problems_of_file(name: str, file: ChallengeFile) -> Assembled:
    """Everything that is wrong with a challenge.toml; there is no challenge where its kind is not known."""
    try:
        kind = file.known_kind()
    except ConfigurationError:
        others = [problem for problem in file.common_problems() if problem.key not in (("kind",), ("challenge",))]
        return Assembled(challenge=None, problems=others)
    assembled = _assemble_file(name, kind, file)
    return replace(assembled, problems=[*file.common_problems(), *assembled.problems])


def _assemble_file(name: str, kind_name: str, file: ChallengeFile) -> Assembled:
    """The challenge of a challenge.toml, with everything that is wrong with the file's tables."""
    kind, tables = KINDS[kind_name], file.tables()
    problems = [
        ValidationProblem(key=(key,), words="is not a table of challenge.toml: metrics.py provides it")
        for key in kind.code_tables
        if tables.pop(key, None) is not None
    ]
    code_error = None
    if kind.own_code is not None:
        try:
            tables |= kind.own_code(file.path.parent)
        except ConfigurationError as error:
            code_error = error
    assembled = assemble(name, kind_name, tables)
    if assembled.challenge is not None and kind.fits_submission is not None:
        challenge = assembled.challenge
        problems += kind.fits_submission(challenge.cases, challenge.settings, file.submission)
    if assembled.challenge is not None and assembled.challenge.ranking.by_case and file.per_case == "none":
        words = 'is positions_by_case, which needs the rows of single cases; per_case = "none" publishes none'
        problems.append(ValidationProblem(key=("ranking", "method"), words=words))
    others = [each for each in assembled.problems if code_error is None or each.key[-1] != "kind"]
    return replace(assembled, problems=[*others, *problems], code_error=code_error)


def published_settings(challenge: AnyChallenge) -> dict[str, Any]:
    """The settings as metrics.json holds them: the tables of challenge.toml, defaults filled in."""
    tables = challenge.board.model_dump(mode="json")
    board = {name: tables[name] for name in challenge.board.model_dump(exclude_defaults=True)}
    cases = {**challenge.cases.model_dump(mode="json"), "ignore_case": challenge.format.layout.ignore_case}
    return {CASES: cases, **KINDS[challenge.kind].published(challenge.settings), **board}


def challenge_from_settings(name: str, kind: str, settings: Mapping[str, Any]) -> AnyChallenge:
    """The challenge under published settings; raises ConfigurationError where they are not known here."""
    assembled = assemble(name, kind, _with_added_settings(KINDS[kind], settings))
    if assembled.problems or assembled.challenge is None:
        raise ConfigurationError(str(assembled.problems[0]))
    return assembled.challenge


def _with_added_settings(kind: Kind[Any], settings: Mapping[str, Any]) -> Mapping[str, Any]:
    """Offline tools publish further tables, such as the judge's: they are read as settings of the kind."""
    if kind.tables:
        return settings
    added = {key: value for key, value in settings.items() if key not in (CASES, ENGINE, kind.name, *BOARD_TABLES)}
    kept = {key: value for key, value in settings.items() if key not in added}
    return {**kept, kind.name: {**settings.get(kind.name, {}), **added}}


def challenge_for_format(kind: str) -> AnyChallenge:
    """A challenge that can read predictions where the real settings are not available."""
    found = KINDS[kind]
    return found.build(kind, CasesSettings(), found.settings_model.model_validate(found.format_settings))
