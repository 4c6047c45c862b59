"""`[figures]`, `[case_figures]`, `[leaderboard]` and `[ranking]` of challenge.toml: what is made of the metrics.

Every kind of challenge takes these tables. `ExtendedBoard` adds them to what the kind itself declares. `podium rank`
applies the resulting `RankingRule` and knows no challenge.
"""

import math
import operator
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, Literal, Self

import numpy as np
from pydantic import AfterValidator, Field, model_validator

from podium.challenges.settings import FigureName, Finite, Positive, Settings, Text, problems_of, without_problems
from podium.errors import ValidationProblem, did_you_mean
from podium.figures import Figures, get
from podium.formulas import FormulaError, Known, Node, evaluated, parse
from podium.metrics import Floats
from podium.metrics.aggregation import evaluated as value_of
from podium.metrics.declaration import (
    CaseMetric,
    Direction,
    Formula,
    Gate,
    Metric,
    NamedFigure,
    Scoreboard,
    Undefined,
    Values,
)

BOARD_TABLES = ("figures", "case_figures", "leaderboard", "ranking")
_BETTER: Mapping[Direction, int] = {"higher": 1, "lower": -1}
_MEAN = ".mean"
_MOST_HEADLINE = 6
_ABBREVIATION = re.compile(
    r"\b(?:ap|assd|auc|auroc|ccc|ct|dsc|f1|fn|fp|froc|hd|hd95|icc|iou|map|mad|mae|masd|mcc|mri|mse|nsd|pet|pq|psnr|rmse|"
    r"rq|sd|sq|ssim|tp|tre)\b"
)
_COMPARISONS = {">=": operator.ge, "<=": operator.le, ">": operator.gt, "<": operator.lt}
Bound = Annotated[float, Field(strict=True)]  # may be infinite

# The four tables as settings.


def _is_a_formula(text: str) -> str:
    try:
        parse(text)
    except FormulaError as error:
        raise ValueError(f"the formula {error}") from None
    return text


FormulaText = Annotated[Text, AfterValidator(_is_a_formula)]


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
    """A figure with more than its formula.

    direction  needed where the terms do not decide it
    range      lowest and highest value [derived from the terms]
    undefined  what terms without a value do: mean, min, max and harmonic leave them out, or they count as their worst
               value; needed in `[figures]` where the references can leave a term without a value
    """

    formula: FormulaText
    title: Text | None = None
    direction: Direction | None = None
    range: tuple[Bound, Bound] | None = None
    unit: str = ""
    undefined: Undefined | None = None


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
    tie_break  figures that decide, in turn, among teams that are equal
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

    figures: Mapping[FigureName, FormulaText | FigureSettings] = {}
    case_figures: Mapping[FigureName, FormulaText | FigureSettings] = {}
    leaderboard: LeaderboardSettings = LeaderboardSettings()
    ranking: RankingSettings | None = None


def examine_board(tables: Mapping[str, Any]) -> tuple[BoardSettings, Sequence[ValidationProblem], frozenset[str]]:
    """The four tables without what is wrong, everything that is wrong, and the names that are missing for that
    reason: those of figures, or `ranking`."""
    content = {table: tables[table] for table in BOARD_TABLES if table in tables}
    problems = problems_of(BoardSettings, content, ())
    formulas: dict[str, Any] = {
        table: without_problems(content[table], [each for each in problems if each.key[0] == table], depth=1)
        for table in ("figures", "case_figures")
        if table in content
    }
    right = {**without_problems(content, problems, depth=0), **formulas}
    missing = {str(each.key[-1] if len(each.key) < 2 else each.key[1]) for each in problems if each.key[0] in formulas}
    missing |= {"ranking"} if "ranking" in content and "ranking" not in right else set()
    return BoardSettings.model_validate(right), problems, frozenset(missing)


# How teams are ranked.


@dataclass(frozen=True, kw_only=True)
class Criterion:
    """One figure below `aggregates` that teams are compared by.

    decimals        compare after rounding to this many; None compares exact values
    known_path      a figure below `aggregates` that is 0 where this one is unknown: unknown ranks behind all known
    if_absent       a sentence: what an organiser has to do where a file lacks the figure
    absent_is_last  a team without the figure ranks behind all others: an undefined figure is not published
    """

    path: str
    title: str
    direction: Direction
    weight: float = 1.0
    decimals: int | None = None
    known_path: str | None = None
    if_absent: str | None = None
    absent_is_last: bool = False


@dataclass(frozen=True, kw_only=True)
class RankingRule:
    """One criterion ranks by its value; several rank by the weighted mean of the positions in each.

    words         the rule in one sentence, for tables, reports and papers
    tie_breaks    applied in turn to teams that the criteria leave equal; teams equal in these too share the position
    case_metrics  the declared per-case metrics that the general schemes rank by
    by_case       the criteria are not compared themselves: teams have a position in every case by each of
                  `case_metrics`, and the mean of all these positions decides
    division      a setting whose values are ranked separately, such as a regime: files may differ in it
    lower_bound   a figure below `aggregates`: the only criterion without its doubtful part; where it gives another
                  order, the ranking says so first
    doubts        figures below `aggregates` that count what is doubtful, each with its name in a sentence
    limits        figures below `aggregates` that are 1 for a team beyond a limit, and absent where that is not known,
                  each with the limit's name in a sentence; the ranking names these teams
    finalists     how many of the best go on to the arena, whose ratings then decide among them
    """

    words: str
    criteria: tuple[Criterion, ...]
    case_metrics: tuple[str, ...]
    tie_breaks: tuple[Criterion, ...] = ()
    by_case: bool = False
    division: str | None = None
    finalists: int | None = None
    lower_bound: str | None = None
    doubts: tuple[tuple[str, str], ...] = ()
    limits: Mapping[str, str] = field(default_factory=dict)

    @property
    def not_live(self) -> str:
        """Why the order of the platform's leaderboard, which knows columns alone, is not that of the rule; "" where it
        is, but for rounding and tie-breaks."""
        if self.by_case:
            return "teams are ranked by their positions in every case (positions_by_case)"
        if len({criterion.weight for criterion in self.criteria}) > 1:
            return "the positions in its columns have different weights"
        return ""


NO_RULE = RankingRule(words="", criteria=(), case_metrics=())
"""For a kind that leaves the ranking to challenge.toml."""


# What a kind declares, with the four tables added.


class ExtendedBoard:
    """A kind's scoreboard and ranking rule with the four tables added.

    confidential  paths in a row that give a reference away: what the kind hides, and the case figures that are made of
                  it
    problems      what is wrong with the tables. Figures that are named but absent only because their metric is wrong
                  (`excused`) are no second problem
    """

    def __init__(
        self,
        board: Scoreboard[Any],
        ranking: RankingRule,
        settings: BoardSettings,
        *,
        confidential: Sequence[str] = (),
        excused: Collection[str] = (),
    ) -> None:
        self.board, self._settings = board, settings
        self.confidential = list(confidential)
        self.problems: list[ValidationProblem] = []
        self._excused = set(excused)
        self._add_gates()
        self._add_case_figures()
        self._add_figures()
        self._add_titles()
        self.ranking = self._rule(ranking)
        self._add_leaderboard()

    def _problem(self, key: tuple[str | int, ...], words: str) -> None:
        """Something is wrong at a key of the tables; using a figure that is wrong is no second problem."""
        self.problems.append(ValidationProblem(key=key, words=words))
        if key[0] in ("figures", "case_figures"):
            self._excused.add(str(key[1]))

    def _unknown(self, key: tuple[str | int, ...], name: str, board: Scoreboard[Any], *, of_case: bool) -> None:
        """A name at a key means no figure of all cases, or none of single cases."""
        if name.split(".", maxsplit=1)[0] in self._excused:
            self._excused.add(str(key[1]))
            return
        words = f"names '{name}', which does not exist"
        if of_case and board.find(name) is not None:
            words = f"names '{name}', which is a figure of all cases together: here it must be one of single cases"
        advice = did_you_mean(name, board.names(of_case=of_case))
        if name in self._settings.figures and key[0] == "figures":
            advice = "; a figure can only name those before it"
        self._problem(key, words + advice)

    def _add_gates(self) -> None:
        """Resolve the conditions of metrics, which may name the figures of metrics before them."""
        for number, metric in enumerate(self.board.metrics):
            if metric.gate is not None:
                before = replace(self.board, metrics=self.board.metrics[:number])
                gated = replace(metric, gate=self._gate(metric.gate, metric, before))
                self.board = replace(self.board, metrics=(*before.metrics, gated, *self.board.metrics[number + 1 :]))

    def _gate(self, gate: Gate, metric: Metric, before: Scoreboard[Any]) -> Gate:
        """The gate with its condition resolved; where that is wrong, the problems say so."""
        left, *compared = re.split(r"(>=|<=|>|<)", gate.where)
        if len(compared) != 2:
            self._problem(gate.key, "is not a condition such as 'dice.liver >= 0.2'")
            return gate
        sign, right = compared
        try:
            difference = parse(f"({left}) - ({right})")
        except FormulaError as error:
            self._problem(gate.key, str(error))
            return gate
        if gate.otherwise is not None and not metric.lowest <= gate.otherwise <= metric.highest:
            words = f"has otherwise = {gate.otherwise:g}, outside {metric.lowest:g} to {metric.highest:g}"
            self._problem(gate.key, words)
        found = {name: self._found_metric(gate.key, name, before) for name in difference.names()}
        terms = {name: term.name for name, term in found.items() if term is not None}
        self._hide(metric.name, terms.values())

        def applied(row: Figures, figure: float | None) -> float | None:
            value = float(difference.value({name: np.asarray(get(row, at), np.float64) for name, at in terms.items()}))
            if figure is None or math.isnan(value):  # nothing decides: there is no figure
                return None
            return figure if _COMPARISONS[sign](value, 0) else gate.otherwise

        return replace(gate, applied=applied)

    def _hide(self, name: str, terms: Iterable[str]) -> None:
        """A figure is confidential if one that it is made of is."""
        hidden = tuple(f"{path}." for path in self.confidential)
        if any(f"{term}.".startswith(hidden) for term in terms):
            self.confidential.append(name)

    def _add_case_figures(self) -> None:
        for name, given in self._settings.case_figures.items():
            key = ("case_figures", name)
            terms = {metric.name for metric in self.board.metrics}
            prepared = self._prepared(key, given, of_case=True)
            if name in terms or any(term.startswith(f"{name}.") for term in terms):
                self._problem(key, f"is already the name of a metric; choose another than '{name}'")
            elif prepared is not None:
                metric = _of_cases(prepared)
                if isinstance(given, FigureSettings) and (gate := given.gate(key)) is not None:
                    metric = replace(metric, gate=self._gate(gate, metric, self.board))
                self.board = replace(self.board, metrics=(*self.board.metrics, metric))
                self._hide(name, prepared.terms)

    def _add_figures(self) -> None:
        for name, given in self._settings.figures.items():
            key = ("figures", name)
            if isinstance(given, FigureSettings) and given.where is not None:
                self._problem((*key, "where"), "is a condition on single cases: it belongs to [case_figures]")
                continue
            terms = self.board.named
            prepared = self._prepared(key, given, of_case=False)
            if name in terms or any(term.startswith(f"{name}.") for term in terms):
                self._problem(key, f"is already the name of a figure; choose another than '{name}'")
            elif prepared is not None:
                self.board = replace(self.board, formulas=(*self.board.formulas, prepared))

    def _prepared(self, key: tuple[str, ...], given: str | FigureSettings, *, of_case: bool) -> Formula | None:
        """The formula, checked; None where it is wrong, which the problems then say."""
        settings = FigureSettings(formula=given) if isinstance(given, str) else given
        place = key if isinstance(given, str) else (*key, "formula")
        node = parse(settings.formula)
        terms: dict[str, NamedFigure | Metric] = {}
        for name in dict.fromkeys(node.names()):
            found = self._found_metric(place, name) if of_case else self._found(place, name)
            if found is not None:
                terms[name] = found
        if len(terms) < len(set(node.names())):
            return None
        known_terms = {name: _known(each) for name, each in terms.items()}
        known = node.known(known_terms)
        undefined, no_value_if = _without_terms(key, settings, node, known_terms)
        derived = next((each for each, sign in _BETTER.items() if sign == known.better), None)
        direction = settings.direction or derived
        if undefined:
            self._problem(place if settings.undefined is None else (*key, "undefined"), undefined)
        elif direction is None:
            self._problem(
                place,
                "needs a direction: its terms do not say whether higher or lower is better; write "
                f'{key[-1]} = {{ formula = "...", direction = "lower" }}',
            )
        elif derived not in (None, direction):
            words = f'is "{direction}", but by its terms {derived} is better: "{settings.formula}"'
            self._problem((*key, "direction"), words)
        if undefined or direction is None or derived not in (None, direction):
            return None
        if settings.range is not None:
            lowest, highest = settings.range
            if not lowest < highest:
                self._problem((*key, "range"), "must be [lowest, highest]")
                return None
            known = Known(lowest=lowest, highest=highest)
        paths = {name: each.name if isinstance(each, Metric) else each.path for name, each in terms.items()}

        def of(values: Values) -> Floats:
            found = {name: values[path] for name, path in paths.items()}
            if settings.undefined == "worst":
                found = {name: np.where(np.isnan(each), known_terms[name].worst, each) for name, each in found.items()}
            return evaluated(node, found, exclude=settings.undefined == "exclude")

        return Formula(
            path=key[-1],
            title=settings.title or title_of(key[-1]),
            direction=direction,
            lowest=known.lowest,
            highest=known.highest,
            unit=settings.unit,
            no_value_if=no_value_if,
            of=of,
            terms=tuple(paths.values()),
            undefined=settings.undefined,
        )

    def _add_titles(self) -> None:
        given = self._settings.leaderboard.titles
        found = {name: self._found(("leaderboard", "titles"), name) for name in given}
        self.board = _retitled(
            self.board, {figure.path: given[name] for name, figure in found.items() if figure is not None}
        )

    def _rule(self, ranking: RankingRule) -> RankingRule:
        """The rule of `[ranking]`; the kind's own, `ranking`, where there is none, or where it is wrong."""
        settings = self._settings.ranking
        if settings is None:
            if ranking is NO_RULE and "ranking" not in self._excused:
                self._problem(("ranking",), 'is missing: say what teams are ranked by, as in [ranking] by = "score"')
            return ranking
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
            return ranking
        weights = settings.weights if settings.weights and len(settings.weights) == len(names) else (1.0,) * len(names)
        weighted = [replace(each, weight=weight) for each, weight in zip(criteria, weights, strict=True)]
        rounded = [replace(each, decimals=settings.round) for each in weighted]
        return RankingRule(
            words=_words([self._in_words(each) for each in criteria], settings),
            criteria=tuple(rounded),
            tie_breaks=tuple(ties),
            case_metrics=tuple(metric.name for name in names if (metric := self.board.find_metric(name)) is not None)
            if by_case
            else _case_metrics(self.board, list(self._settings.case_figures)),
            by_case=by_case,
            finalists=ranking.finalists,
            division=ranking.division,
            limits=ranking.limits,
        )

    def _in_words(self, criterion: Criterion) -> str:
        """A figure's title and, if it is made of others, its formula."""
        given = self._settings.figures.get(criterion.path)
        formula = given if isinstance(given, str) or given is None else given.formula
        return criterion.title if formula is None else f"{criterion.title} = {formula}"

    def _criteria(self, key: tuple[str, ...], names: Sequence[str], *, by_case: bool) -> Sequence[Criterion] | None:
        """By the figures of all cases, or by those of every case."""
        found: list[NamedFigure | Metric | None] = [
            self._found_metric(key, name) if by_case else self._found(key, name) for name in names
        ]
        criteria = [
            Criterion(
                path=each.mean_path if isinstance(each, Metric) else each.path,
                title=each.title,
                direction=each.direction,
                known_path=None if isinstance(each, Metric) else each.known or None,
                absent_is_last=True,
            )
            for each in found
            if each is not None
        ]
        return criteria if len(criteria) == len(names) else None

    def _found(self, key: tuple[str, ...], name: str) -> NamedFigure | None:
        """The figure of all cases that a name at a key means; where there is none, that is a problem."""
        found = self.board.find(name)
        if found is None:
            self._unknown(key, name, self.board, of_case=False)
        return found

    def _found_metric(
        self, key: tuple[str | int, ...], name: str, board: Scoreboard[Any] | None = None
    ) -> Metric | None:
        """The same of single cases; `board` has those that may be named [all]."""
        found = (board or self.board).find_metric(name)
        if found is None:
            self._unknown(key, name, board or self.board, of_case=True)
        return found

    def _add_leaderboard(self) -> None:
        settings, ranking = self._settings.leaderboard, self.ranking
        if settings.columns is not None:
            found = [self._found(("leaderboard", "columns"), name) for name in settings.columns]
            paths = [figure.path for figure in found if figure is not None]
            # The platform orders teams by its first column, which must not contradict the ranking.
            first = ranking.criteria[:1] if len(ranking.criteria) == 1 and not ranking.by_case else ()
            paths = [*(each.path for each in first), *paths]
        elif self._settings.ranking is not None or self._settings.figures:
            ranked = [each.path for each in (*ranking.criteria, *ranking.tie_breaks) if not ranking.by_case]
            figures = [figure.path for figure in reversed(self.board.formulas) if figure.title]
            paths = [*ranked, *figures, *self.board.leaderboard]
        else:
            return
        criteria = tuple(criterion.path for criterion in ranking.criteria)
        self.board = replace(
            self.board,
            leaderboard=tuple(dict.fromkeys(paths)) or self.board.leaderboard,
            headline=self._headline(criteria) if self._settings.ranking is not None else self.board.headline,
            ranked=criteria if len(criteria) > 1 and not ranking.by_case else self.board.ranked,
        )

    def _headline(self, criteria: Sequence[str]) -> tuple[str, ...]:
        """What teams are ranked by, and the figures that its formulas name, while these fit into a short table."""
        terms = [term for formula in self.board.formulas if formula.path in criteria for term in formula.terms]
        paths = tuple(dict.fromkeys((*criteria, *terms)))
        return paths if len(paths) <= _MOST_HEADLINE else tuple(criteria)


def _words(titles: Sequence[str], settings: RankingSettings) -> str:
    listed = f"{', '.join(titles[:-1])} and {titles[-1]}" if len(titles) > 1 else titles[0]
    if settings.method == "positions_by_case":
        return f"teams are ranked by the mean of their positions in every case by {listed}"
    if len(titles) > 1:
        weighted = "weighted mean" if settings.weights else "mean"
        return f"teams are ranked by the {weighted} of their positions in {listed}"
    return f"teams are ranked by {listed}"


def _of_cases(formula: Formula) -> CaseMetric[Any]:
    """A formula of `[case_figures]` on the figures of every case; arithmetic without a result is as in `[figures]`."""

    def of_row(row: Figures) -> float | None:
        value = float(value_of(formula, {path: np.asarray(get(row, path), dtype=np.float64) for path in formula.terms}))
        return value if math.isfinite(value) else None

    return CaseMetric(
        name=formula.path,
        title=formula.title,
        **formula.scale,
        worst=formula.worst,
        of_row=of_row,
        median=f"{formula.path}.median",
        count=f"{formula.path}.n",
        no_value_if=formula.no_value_if,
    )


def _without_terms(
    key: tuple[str, ...], settings: FigureSettings, node: Node, terms: Mapping[str, Known]
) -> tuple[str, str]:
    """What is wrong with how a formula treats terms that can lack a value, and when it then has none itself."""
    lacking = {name: term for name, term in terms.items() if term.no_value_if}
    if not lacking:
        return "", ""
    name, term = next(iter(lacking.items()))
    if settings.undefined == "worst":
        without = [each for each, term in lacking.items() if not math.isfinite(term.worst)]
        return (f"is \"worst\", but '{without[0]}' has no finite worst value" if without else ""), ""
    if settings.undefined is None and key[0] == "figures":
        return (
            f"needs to say what happens where '{name}' has no value ({term.no_value_if}): write {key[-1]} = "
            '{ formula = "...", undefined = "exclude" }, which leaves it out of mean, min, max and harmonic, or '
            'undefined = "worst"',
            "",
        )
    values = {each: np.asarray(math.nan if term.no_value_if else 1.0) for each, term in terms.items()}
    return "", "" if node.defined(values, exclude=settings.undefined == "exclude") else term.no_value_if


def _known(figure: NamedFigure | Metric) -> Known:
    """What is known of a figure before anything is scored."""
    judges = figure.judges if isinstance(figure, NamedFigure) else True
    return Known(
        lowest=figure.lowest,
        highest=figure.highest,
        better=_BETTER[figure.direction] if judges else 0,
        worst=figure.worst,
        no_value_if=figure.no_value_if,
    )


def _retitled(board: Scoreboard[Any], titles: Mapping[str, str]) -> Scoreboard[Any]:
    """The scoreboard with other titles, by path."""

    def renamed(figures: Sequence[Any]) -> tuple[Any, ...]:
        return tuple(replace(each, title=titles.get(each.path, each.title)) for each in figures)

    return replace(
        board,
        titles=titles,
        metrics=tuple(replace(each, title=titles.get(each.mean_path, each.title)) for each in board.metrics),
        cohort_metrics=renamed(board.cohort_metrics),
        given=renamed(board.given),
        formulas=renamed(board.formulas),
    )


def _case_metrics(board: Scoreboard[Any], case_figures: Sequence[str]) -> tuple[str, ...]:
    """The per-case metrics that represent a challenge in the general schemes: the case figures and the metrics without
    a mean, else means over regions, else all."""
    if case_figures:
        return (*case_figures, *(metric.name for metric in board.metrics if not metric.mean_path))
    combined = [metric.name for metric in board.metrics if metric.of_row is not None]
    inner = {name.removesuffix(_MEAN) for name in combined}
    alone = [
        metric.name
        for metric in board.metrics
        if metric.of_row is None and metric.name.rpartition(".")[0] not in inner and metric.name not in inner
    ]
    return (*combined, *alone)


def title_of(name: str) -> str:
    """`segmentation_score` as a title; abbreviations of the field as it writes them."""
    words = name.replace("_", " ")
    words = _ABBREVIATION.sub(lambda found: found[0].upper(), words[:1].lower() + words[1:])
    return (words[:1].upper() + words[1:]).replace("MAP", "mAP").replace("IOU", "IoU")
