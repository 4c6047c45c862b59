"""`[figures]`, `[case_figures]`, `[leaderboard]` and `[ranking]` of challenge.toml: what is made of the metrics.

Every kind of challenge takes these tables. They are added to what the kind itself declares.
"""

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field

from podium.challenges.figure_names import (
    BETTER,
    MEAN,
    case_metrics_of,
    known_figures,
    known_of,
    resolve,
    retitled,
    shown,
    title_of,
)
from podium.challenges.ranking_rule import NO_RULE, Criterion, RankingRule
from podium.challenges.settings import FigureName, Positive, Settings, Text, problems_of, without_problems
from podium.figures import Figures, get
from podium.formulas.nodes import Node
from podium.formulas.parser import FormulaError, parse
from podium.formulas.ranges import Known
from podium.metrics.declaration import CaseMetric, Direction, Formula, Scoreboard, Values
from podium.metrics.resampling import Floats
from podium.validation_errors import ValidationProblem, did_you_mean

BOARD_TABLES = ("figures", "case_figures", "leaderboard", "ranking")
_MOST_HEADLINE = 6
Bound = Annotated[float, Field(strict=True)]  # may be infinite


class FigureSettings(Settings):
    """A figure with more than its formula.

    direction  needed where the terms do not decide it
    range      lowest and highest value [derived from the terms]
    """

    formula: Text
    title: Text | None = None
    direction: Direction | None = None
    range: tuple[Bound, Bound] | None = None
    unit: str = ""


class LeaderboardSettings(Settings):
    """Which figures the leaderboard shows, in this order, and their titles [ranked figures first, then metrics]."""

    columns: Annotated[tuple[Text, ...], Field(min_length=1)] | None = None
    titles: Mapping[str, Text] = {}


class RankingSettings(Settings):
    """What teams are ranked by.

    by         a figure, or several whose positions are combined
    method     mean_of_positions: a position in each figure, then their weighted mean; positions_by_case: a position in
               each case and metric, then the mean of all
    weights    of the positions [equal]
    round      decimals that count [all]
    tie_break  figures asked in turn among teams that are equal
    """

    by: Text | Annotated[tuple[Text, ...], Field(min_length=1)]
    method: Literal["mean_of_positions", "positions_by_case"] | None = None
    weights: Annotated[tuple[Positive, ...], Field(min_length=1)] | None = None
    round: Annotated[int, Field(strict=True, ge=0, le=12)] | None = None
    tie_break: tuple[Text, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        return (self.by,) if isinstance(self.by, str) else self.by


class BoardSettings(Settings):
    """The four tables."""

    figures: Mapping[FigureName, Text | FigureSettings] = {}
    case_figures: Mapping[FigureName, Text | FigureSettings] = {}
    leaderboard: LeaderboardSettings = LeaderboardSettings()
    ranking: RankingSettings | None = None


def examine_board(tables: Mapping[str, Any]) -> tuple[BoardSettings, Sequence[ValidationProblem], frozenset[str]]:
    """The four tables without what is wrong, everything that is wrong, and the names that are missing for that
    reason: of figures, or `ranking`."""
    content = {table: tables[table] for table in BOARD_TABLES if table in tables}
    problems = problems_of(BoardSettings, content, ())
    formulas: dict[str, Any] = {
        table: without_problems(content[table], [each for each in problems if each.key[0] == table], depth=1)
        for table in ("figures", "case_figures")
        if table in content
    }
    right = {**without_problems(content, problems, depth=0), **formulas}
    lost = {str(each.key[-1] if len(each.key) < 2 else each.key[1]) for each in problems if each.key[0] in formulas}
    lost |= {"ranking"} if "ranking" in content and "ranking" not in right else set()
    return BoardSettings.model_validate(right), problems, frozenset(lost)


@dataclass(frozen=True, kw_only=True)
class Extended:
    """A scoreboard and a ranking with the tables added, and what is wrong with the tables. `confidential` are paths in
    a row that give a reference away: what the kind hides, and the case figures that are made of it."""

    board: Scoreboard[Any]
    ranking: RankingRule
    confidential: Sequence[str]
    problems: Sequence[ValidationProblem]


def extend(
    board: Scoreboard[Any],
    ranking: RankingRule,
    settings: BoardSettings,
    *,
    confidential: Sequence[str] = (),
    excused: Collection[str] = (),
) -> Extended:
    """Add the tables of challenge.toml to what the kind declares. A kind without a rule of its own needs `[ranking]`.
    Figures that are named but absent only because their metric is wrong (`excused`) are no second problem."""
    return _Extension(board, ranking, settings, confidential, excused).result()


class _Extension:
    def __init__(
        self,
        board: Scoreboard[Any],
        ranking: RankingRule,
        settings: BoardSettings,
        confidential: Sequence[str],
        excused: Collection[str],
    ) -> None:
        self._board, self._settings, self._excused = board, settings, set(excused)
        self._confidential = list(confidential)
        self._ranking = ranking
        self._problems: list[ValidationProblem] = []

    def result(self) -> Extended:
        self._add_case_figures()
        self._add_figures()
        self._add_titles()
        ranking = self._ranked()
        self._add_leaderboard(ranking)
        return Extended(board=self._board, ranking=ranking, confidential=self._confidential, problems=self._problems)

    # Formulas

    def _add_case_figures(self) -> None:
        for name, given in self._settings.case_figures.items():
            key = ("case_figures", name)
            terms = {metric.name: known_of(metric) for metric in self._board.metrics}
            prepared = self._prepared(key, given, terms)
            if name in terms or any(term.startswith(f"{name}.") for term in terms):
                self._problem(key, f"is already the name of a metric; choose another than '{name}'")
            elif prepared is not None:
                worst = prepared.known.lowest if prepared.direction == "higher" else prepared.known.highest
                metric: CaseMetric[Any] = CaseMetric(
                    name=name,
                    title=prepared.title,
                    direction=prepared.direction,
                    lowest=prepared.known.lowest,
                    highest=prepared.known.highest,
                    worst=worst,
                    unit=prepared.unit,
                    of_row=_of_row(prepared.node, prepared.names),
                    median=f"{name}.median",
                    count=f"{name}.n",
                    undefined=worst if math.isfinite(worst) else None,
                )
                self._board = replace(self._board, metrics=(*self._board.metrics, metric))
                hidden = tuple(f"{path}." for path in self._confidential)
                if any(f"{term}.".startswith(hidden) for term in prepared.names.values()):
                    self._confidential.append(name)

    def _add_figures(self) -> None:
        for name, given in self._settings.figures.items():
            key = ("figures", name)
            terms = dict(known_figures(self._board))
            prepared = self._prepared(key, given, terms)
            if name in terms or any(term.startswith(f"{name}.") for term in terms):
                self._problem(key, f"is already the name of a figure; choose another than '{name}'")
            elif prepared is not None:
                formula = Formula(
                    path=name,
                    title=prepared.title,
                    direction=prepared.direction,
                    lowest=prepared.known.lowest,
                    highest=prepared.known.highest,
                    unit=prepared.unit,
                    of=_of_values(prepared.node, prepared.names),
                    terms=tuple(prepared.names.values()),
                )
                self._board = replace(self._board, formulas=(*self._board.formulas, formula))

    def _prepared(
        self, key: tuple[str, ...], given: str | FigureSettings, terms: Mapping[str, Known]
    ) -> "_PreparedFormula | None":
        """The formula, checked; a figure that is wrong is unknown to those after it without a second complaint."""
        settings = FigureSettings(formula=given) if isinstance(given, str) else given
        place = key if isinstance(given, str) else (*key, "formula")
        try:
            node = parse(settings.formula)
        except FormulaError as error:
            self._problem(place, str(error))
            return None
        names = self._resolved(place, node.names(), terms)
        if names is None:
            return None
        known = node.known({name: terms[path] for name, path in names.items()})
        direction = settings.direction or next((each for each, sign in BETTER.items() if sign == known.better), None)
        if direction is None:
            self._problem(
                place,
                "needs a direction: its terms do not say whether higher or lower is better; write "
                f'{key[-1]} = {{ formula = "...", direction = "lower" }}',
            )
            return None
        if settings.range is not None:
            lowest, highest = settings.range
            if not lowest < highest:
                self._problem((*key, "range"), "must be [lowest, highest]")
                return None
            known = Known(lowest=lowest, highest=highest, better=known.better)
        return _PreparedFormula(
            node=node,
            names=names,
            known=known,
            direction=direction,
            title=settings.title or title_of(key[-1]),
            unit=settings.unit,
        )

    def _resolved(
        self, key: tuple[str, ...], names: Iterable[str], known: Mapping[str, Known]
    ) -> Mapping[str, str] | None:
        """Every name with the path it means; None where one means nothing."""
        found = {name: resolve(name, known) for name in dict.fromkeys(names)}
        for name, path in found.items():
            if path is None:
                self._unknown(key, name, known)
        return None if None in found.values() else {name: path for name, path in found.items() if path is not None}

    def _unknown(self, key: tuple[str, ...], name: str, known: Mapping[str, Any]) -> None:
        if name.split(".", maxsplit=1)[0] in self._excused:
            self._excused.add(key[1])
            return
        if name in self._settings.figures and key[0] == "figures":
            advice = "; a figure can only name those before it"
        else:
            means = (path.removesuffix(MEAN) for path in known if path.endswith(MEAN))
            advice = did_you_mean(name, [*known, *means])
        self._problem(key, f"names '{name}', which does not exist{advice}")

    def _problem(self, key: tuple[str, ...], words: str) -> None:
        self._problems.append(ValidationProblem(key=key, words=words))
        if key[0] in ("figures", "case_figures"):
            self._excused.add(key[1])  # who names it is not wrong too

    # Ranking and leaderboard

    def _ranked(self) -> RankingRule:
        settings = self._settings.ranking
        if settings is None:
            if self._ranking is NO_RULE and "ranking" not in self._excused:
                self._problem(("ranking",), 'is missing: say what teams are ranked by, as in [ranking] by = "score"')
            return self._ranking
        names = settings.names
        by_case = settings.method == "positions_by_case"
        criteria = self._criteria(("ranking", "by"), names, by_case=by_case)
        ties = self._criteria(("ranking", "tie_break"), settings.tie_break, by_case=False)
        if len(names) > 1 and settings.method is None:
            self._problem(
                ("ranking", "method"),
                'is missing: with several figures say how positions are combined, "mean_of_positions" or '
                '"positions_by_case"',
            )
        if len(names) == 1 and settings.method == "mean_of_positions":
            self._problem(("ranking", "method"), "combines the positions in several figures, but 'by' names one")
        if settings.weights is not None and (by_case or len(settings.weights) != len(names)):
            self._problem(("ranking", "weights"), "must be one number for each figure of 'by', with mean_of_positions")
        if criteria is None or ties is None:
            return self._ranking
        weights = settings.weights if settings.weights and len(settings.weights) == len(names) else (1.0,) * len(names)
        weighted = [replace(each, weight=weight) for each, weight in zip(criteria, weights, strict=True)]
        rounded = [replace(each, decimals=settings.round) for each in weighted]
        return RankingRule(
            words=_words([self._in_words(each) for each in criteria], settings),
            criteria=tuple(rounded),
            tie_breaks=tuple(ties),
            case_metrics=names if by_case else case_metrics_of(self._board, list(self._settings.case_figures)),
            by_case=by_case,
            finalists=self._ranking.finalists,
            division=self._ranking.division,
        )

    def _in_words(self, criterion: Criterion) -> str:
        """A figure's title and, if it is made of others, its formula."""
        given = self._settings.figures.get(criterion.path)
        formula = given if isinstance(given, str) or given is None else given.formula
        return criterion.title if formula is None else f"{criterion.title} = {formula}"

    def _criteria(self, key: tuple[str, ...], names: Sequence[str], *, by_case: bool) -> Sequence[Criterion] | None:
        known = dict(known_figures(self._board))
        criteria = []
        for name in names:
            path = resolve(name, known)
            if by_case and name not in {metric.name for metric in self._board.metrics}:
                path = None
            if path is None:
                names_known = [metric.name for metric in self._board.metrics] if by_case else known
                self._unknown(key, name, dict.fromkeys(names_known))
                continue
            figure = shown(self._board, path)
            criteria.append(
                Criterion(
                    path=path,
                    title=figure.title,
                    direction=figure.direction,
                    known_path=figure.known or None,
                    absent_is_last=True,
                )
            )
        return criteria if len(criteria) == len(names) else None

    def _add_titles(self) -> None:
        known = dict(known_figures(self._board))
        titles = {}
        for name, title in self._settings.leaderboard.titles.items():
            path = resolve(name, known)
            if path is None:
                self._unknown(("leaderboard", "titles"), name, known)
            else:
                titles[path] = title
        self._board = retitled(self._board, titles)

    def _add_leaderboard(self, ranking: RankingRule) -> None:
        settings = self._settings.leaderboard
        known = dict(known_figures(self._board))
        if settings.columns is not None:
            paths = []
            for name in settings.columns:
                path = resolve(name, known)
                if path is None:
                    self._unknown(("leaderboard", "columns"), name, known)
                else:
                    paths.append(path)
            # The platform orders teams by its first column, which must not contradict the ranking.
            first = ranking.criteria[:1] if len(ranking.criteria) == 1 and not ranking.by_case else ()
            paths = [*(each.path for each in first), *paths]
        elif self._settings.ranking is not None or self._settings.figures:
            ranked = [each.path for each in (*ranking.criteria, *ranking.tie_breaks) if not ranking.by_case]
            figures = [figure.path for figure in reversed(self._board.formulas) if figure.title]
            paths = [*ranked, *figures, *self._board.leaderboard]
        else:
            return
        criteria = tuple(criterion.path for criterion in ranking.criteria)
        self._board = replace(
            self._board,
            leaderboard=tuple(dict.fromkeys(paths)) or self._board.leaderboard,
            headline=self._headline(criteria) if self._settings.ranking is not None else self._board.headline,
            ranked=criteria if len(criteria) > 1 and not ranking.by_case else self._board.ranked,
        )

    def _headline(self, criteria: Sequence[str]) -> tuple[str, ...]:
        """What teams are ranked by, and the figures that its formulas name, while these fit into a short table."""
        terms = [term for formula in self._board.formulas if formula.path in criteria for term in formula.terms]
        paths = tuple(dict.fromkeys((*criteria, *terms)))
        return paths if len(paths) <= _MOST_HEADLINE else tuple(criteria)


@dataclass(frozen=True, kw_only=True)
class _PreparedFormula:
    node: Node
    names: Mapping[str, str]
    known: Known
    direction: Direction
    title: str
    unit: str


def _of_values(node: Node, names: Mapping[str, str]) -> Any:
    def of(values: Values) -> Floats:
        return node.value({name: values[path] for name, path in names.items()})

    return of


def _of_row(node: Node, names: Mapping[str, str]) -> Any:
    def of_row(row: Figures) -> float | None:
        terms = {name: get(row, path) for name, path in names.items()}
        if any(term is None for term in terms.values()):
            return None
        value = float(node.value({name: np.asarray(float(term)) for name, term in terms.items()}))
        return value if math.isfinite(value) else None

    return of_row


def _words(titles: Sequence[str], settings: RankingSettings) -> str:
    listed = f"{', '.join(titles[:-1])} and {titles[-1]}" if len(titles) > 1 else titles[0]
    if settings.method == "positions_by_case":
        return f"teams are ranked by the mean of their positions in every case by {listed}"
    if len(titles) > 1:
        weighted = "weighted mean" if settings.weights else "mean"
        return f"teams are ranked by the {weighted} of their positions in {listed}"
    return f"teams are ranked by {listed}"
