"""`[figures]`, `[case_figures]`, `[leaderboard]` and `[ranking]` of challenge.toml: what is made of the metrics.

Every kind of challenge takes these tables. `complete_board` adds them to what the kind itself declares. `podium rank`
applies the resulting `RankingRule` and knows no challenge.
"""

import math
import operator
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, get_args

import numpy as np

from podium.challenges.settings import FigureSettings, RankingMethod, RankingSettings, Tables
from podium.errors import ValidationProblem, did_you_mean, listed
from podium.figures import Figures, get, holds
from podium.formulas import (
    FormulaError,
    Known,
    Node,
    Operation,
    compute,
    evaluated,
    expanded,
    known_of,
    names_in,
    parse,
    titled,
    weighted_sum,
)
from podium.metrics import Floats
from podium.metrics.aggregation import formula_value
from podium.metrics.declaration import (
    CaseMetric,
    Direction,
    FigureNames,
    Formula,
    Gate,
    Metric,
    NamedFigure,
    Scoreboard,
    Undefined,
    Values,
)

_BETTER: Mapping[Direction, int] = {"higher": 1, "lower": -1}
_MEAN = ".mean"
_METHODS = " or ".join(f'"{each}"' for each in get_args(RankingMethod))
_MOST_HEADLINE = 6
_ABBREVIATION = re.compile(
    r"\b(?:ap|assd|auc|auroc|ccc|ct|dsc|f1|fn|fp|froc|hd|hd95|icc|iou|map|mad|mae|masd|mcc|mri|mse|nsd|pet|pq|psnr|rmse|"
    r"rq|sd|sq|ssim|tp|tre)\b"
)
_COMPARISONS = {">=": operator.ge, "<=": operator.le, ">": operator.gt, "<": operator.lt}
Key = tuple[str | int, ...]


# How teams are ranked.


@dataclass(frozen=True, kw_only=True)
class Criterion:
    """One figure below `aggregates` that teams are compared by.

    decimals        compare after rounding to this many; None compares exact values
    known_path      a figure below `aggregates` that is 0 where this one is unknown: unknown ranks behind all known
    if_absent       a sentence: what an organiser has to do where a file lacks the figure
    absent_is_last  a team without the figure ranks behind all others: an undefined figure is not published
    part            criteria of one part give one position together
    """

    path: str
    title: str
    direction: Direction
    weight: float = 1.0
    decimals: int | None = None
    known_path: str | None = None
    if_absent: str | None = None
    absent_is_last: bool = False
    part: int = 0


@dataclass(frozen=True, kw_only=True)
class RankingRule:
    """One criterion ranks by its value; several rank by the weighted mean of the positions in each.

    words         the rule in one sentence, for tables, reports and papers
    tie_breaks    applied in turn to teams that the criteria leave equal; teams equal in these too share the position
    case_metrics  the declared per-case metrics that the general schemes rank by
    method        of `[ranking]`, with the level `alpha` of its tests
    division      a setting whose values are ranked separately, such as a regime: files may differ in it
    lower_bound   a figure below `aggregates`: the only criterion without its doubtful part; where it gives another
                  order, the ranking says so first
    terms         what the score adds up, with weights and titles, where its formula is such a sum
    doubts        figures below `aggregates` that count what is doubtful, each with its name in a sentence
    limits        figures below `aggregates` that are 1 for a team beyond a limit, and absent where that is not known,
                  each with the limit's name in a sentence; the ranking names these teams
    finalists     how many of the best go on to the arena, whose ratings then decide among them
    """

    words: str
    criteria: tuple[Criterion, ...]
    case_metrics: tuple[str, ...]
    tie_breaks: tuple[Criterion, ...] = ()
    method: RankingMethod | None = None
    alpha: float = 0.05
    division: str | None = None
    finalists: int | None = None
    lower_bound: str | None = None
    terms: tuple[Criterion, ...] = ()
    doubts: tuple[tuple[str, str], ...] = ()
    limits: Mapping[str, str] = field(default_factory=dict)

    @property
    def by_case(self) -> bool:
        """Whether the criteria are not compared themselves, but the cases of `case_metrics`."""
        return self.method not in (None, "mean_of_positions")

    @property
    def is_nested(self) -> bool:
        """Whether positions are combined in two steps."""
        return 1 < len({each.part for each in self.criteria}) < len(self.criteria)

    @property
    def not_live(self) -> str:
        """Why the order of the platform's leaderboard, which knows columns alone, is not that of the rule; "" where it
        is, but for rounding and tie-breaks."""
        if self.by_case:
            return f"teams are ranked by single cases ({self.method})"
        if self.is_nested:
            return "positions are combined in two steps"
        if len({criterion.weight for criterion in self.criteria}) > 1:
            return "the positions in its columns have different weights"
        return ""


NO_RULE = RankingRule(words="", criteria=(), case_metrics=())
"""For a kind that leaves the ranking to challenge.toml."""


# What a kind declares, with the four tables added.


def complete_board(
    declared: Scoreboard[Any], ranking: RankingRule, tables: Tables, *, confidential: Sequence[str]
) -> tuple[Scoreboard[Any], RankingRule, Sequence[str], Sequence[ValidationProblem]]:
    """The kind's scoreboard and rule (NO_RULE where there is none) with the tables added, the paths in a row that give
    a reference away (what the kind hides, and the case figures made of it), and all that is wrong with the tables,
    which is left out."""
    known = FigureNames(titles={}, groupings=declared.groupings)
    names = _Names(known=known, tables=tables, confidential=list(confidential))
    for figure in (*declared.cohort_metrics, *declared.given):
        known.add(figure)
    metrics = []
    for metric in declared.metrics:  # conditions may name the figures of metrics before them
        metrics.append(metric if metric.gate is None else replace(metric, gate=_gate(metric.gate, metric, names)))
        known.add_metric(metrics[-1])
    for formula in declared.formulas:
        known.add(formula)
    metrics += _case_figures(names)
    formulas = [*declared.formulas, *_figures(names)]
    given = tables.leaderboard.titles
    found = {name: names.figure(("leaderboard", "titles"), name) for name in given}
    titles = {figure.path: given[name] for name, figure in found.items() if figure is not None}
    changes: dict[str, Any] = {
        kind: tuple(replace(each, title=titles.get(each.path, each.title)) for each in figures)
        for kind, figures in (
            ("cohort_metrics", declared.cohort_metrics),
            ("given", declared.given),
            ("formulas", formulas),
        )
    }
    metrics = [replace(each, title=titles.get(each.mean_path, each.title)) for each in metrics]
    board = replace(declared, titles=titles, metrics=tuple(metrics), **changes)
    board = replace(board, quantiles=tuple(sorted(known.quantiles)))
    names.known = board.names
    rule = _rule(ranking, board, names)
    board = replace(board, **_leaderboard(board, rule, names), quantiles=tuple(sorted(names.known.quantiles)))
    return board, rule, names.confidential, names.problems


@dataclass(kw_only=True)
class _Names:
    """The figures that the tables may name so far, and what is wrong with the tables.

    unavailable_names  figures that are wrong themselves, which is reported once: those that name them are left out too
    """

    known: FigureNames
    tables: Tables
    confidential: list[str]
    problems: list[ValidationProblem] = field(default_factory=list)
    unavailable_names: set[str] = field(default_factory=set)

    def refuse(self, key: Key, words: str) -> None:
        """Something is wrong at a key of the tables."""
        self.problems.append(ValidationProblem(key=key, words=words))
        if key[0] in ("figures", "case_figures"):
            self.unavailable_names.add(str(key[1]))

    def figure(self, key: Key, name: str) -> NamedFigure | None:
        """The figure of all cases that a name at a key means; where there is none, that is a problem."""
        found = self.known.find(name)
        if found is None:
            self._unknown(key, name, of_case=False)
        return found

    def metric(self, key: Key, name: str) -> Metric | None:
        """The figure of single cases that a name at a key means; where there is none, that is a problem."""
        found = self.known.find_metric(name)
        if found is None:
            self._unknown(key, name, of_case=True)
        return found

    def matching(self, key: Key, names: Iterable[str], *, of_case: bool) -> list[str]:
        """The names at a key, one with `*` replaced by those that it stands for; where there are none, that is a
        problem."""
        found: list[str] = []
        for name in names:
            several = self.known.matching(name, of_case=of_case) if "*" in name else [name]
            if not several:
                self._unknown(key, name, of_case=of_case)
            found += several
        return found

    def expanded(self, key: Key, node: Node, *, of_case: bool) -> Node | None:
        """A formula at a key without `*`; where that is impossible, that is a problem."""
        is_known = True

        def matching(name: str) -> Sequence[str]:
            nonlocal is_known
            found = self.matching(key, [name], of_case=of_case)
            is_known = is_known and bool(found)
            return found

        try:
            found = expanded(node, matching)
        except FormulaError as error:
            self.refuse(key, f"is wrong: the formula {error}")
            return None
        return found if is_known else None

    def _unknown(self, key: Key, name: str, *, of_case: bool) -> None:
        if name.split(".", maxsplit=1)[0] in self.unavailable_names:
            self.unavailable_names.add(str(key[1]))
            return
        words = f"names '{name}', which does not exist"
        if of_case and self.known.find(name) is not None:
            words = f"names '{name}', which is a figure of all cases together: here it must be one of single cases"
        advice = did_you_mean(name, self.known.suggestions(of_case=of_case))
        if name in self.tables.figures and key[0] == "figures":
            advice = "; a figure can only name those before it"
        self.refuse(key, words + advice)

    def hide(self, name: str, terms: Iterable[str]) -> None:
        """A figure is confidential if one that it is made of is."""
        hidden = tuple(f"{path}." for path in self.confidential)
        if any(f"{term}.".startswith(hidden) for term in terms):
            self.confidential.append(name)


def _gate(gate: Gate, metric: Metric, names: _Names) -> Gate:
    """The gate with its condition resolved; where that is wrong, the problems say so."""
    left, *compared = re.split(r"(>=|<=|>|<)", gate.where)
    if len(compared) != 2:
        names.refuse(gate.key, "is not a condition such as 'dice.liver >= 0.2'")
        return gate
    sign, right = compared
    try:
        limits = parse(left), parse(right)
    except FormulaError as error:
        names.refuse(gate.key, str(error))
        return gate
    if gate.otherwise is not None and not metric.lowest <= gate.otherwise <= metric.highest:
        words = f"has otherwise = {gate.otherwise:g}, outside {metric.lowest:g} to {metric.highest:g}"
        names.refuse(gate.key, words)
    difference = Operation("-", limits)
    found = {name: names.metric(gate.key, name) for name in dict.fromkeys(names_in(difference))}
    terms = {name: term.name for name, term in found.items() if term is not None}
    names.hide(metric.name, terms.values())

    def applied(row: Figures, figure: float | None) -> float | None:
        figures = {name: np.asarray(get(row, at), np.float64) for name, at in terms.items()}
        value = float(compute(difference, figures)[0])
        if figure is None or math.isnan(value):  # nothing decides: there is no figure
            return None
        return figure if _COMPARISONS[sign](value, 0) else gate.otherwise

    return replace(gate, applied=applied, terms=tuple(terms.values()), of=_values_of(found.values()))


def _values_of(metrics: Iterable[Metric | None]) -> frozenset[str]:
    return frozenset[str]().union(*(each.uses for each in metrics if each is not None))


def _case_figures(names: _Names) -> Iterable[CaseMetric[Any]]:
    for name, settings in names.tables.case_figures.items():
        key = ("case_figures", name)
        taken = name in names.known.metrics or any(each.startswith(f"{name}.") for each in names.known.metrics)
        formula = _formula(key, settings, names, names.metric)
        if taken:
            names.refuse(key, f"is already the name of a metric; choose another than '{name}'")
        elif name in names.confidential:
            names.refuse(key, "is reserved: result rows already use this name; choose another")
        elif formula is not None:
            metric = replace(_of_cases(formula), of=_values_of(map(names.known.find_metric, formula.terms)))
            if (gate := settings.gate(key)) is not None:
                metric = replace(metric, gate=_gate(gate, metric, names))
            names.hide(name, formula.terms)
            names.known.add_metric(metric)
            yield metric


def _figures(names: _Names) -> Iterable[Formula]:
    for name, settings in names.tables.figures.items():
        key = ("figures", name)
        if settings.where is not None:
            names.refuse((*key, "where"), "is a condition on single cases: it belongs to [case_figures]")
            continue
        taken = name in names.known.figures or any(each.startswith(f"{name}.") for each in names.known.figures)
        formula = _formula(key, settings, names, names.figure)
        if taken:
            names.refuse(key, f"is already the name of a figure; choose another than '{name}'")
        elif formula is not None:
            names.known.add(formula)
            yield formula


def _formula(
    key: tuple[str, str],
    settings: FigureSettings,
    names: _Names,
    find: Callable[[Key, str], NamedFigure | Metric | None],
) -> Formula | None:
    """The formula of a figure, checked; None where it is wrong, which the problems then say."""
    place, is_of_case = settings.key(*key), key[0] == "case_figures"
    node = names.expanded(place, settings.formula.node, of_case=is_of_case)
    found = {name: find(place, name) for name in dict.fromkeys(() if node is None else names_in(node))}
    terms = {name: each for name, each in found.items() if each is not None}
    if node is None or len(terms) < len(found):
        return None
    known_terms = {name: _known(each) for name, each in terms.items()}
    known = known_of(node, known_terms)
    wrong, undefined_when = _without_terms(settings, known_terms)
    derived = next((each for each, sign in _BETTER.items() if sign == known.better), None)
    direction = settings.direction or derived
    if wrong:
        names.refuse((*key, "undefined"), wrong)
        return None
    if direction is None:
        words = "needs a direction: its terms do not say whether higher or lower is better; write "
        names.refuse(place, f'{words}{key[-1]} = {{ formula = "...", direction = "lower" }}')
        return None
    if derived not in (None, direction):
        words = f'is "{direction}", but by its terms {derived} is better: "{settings.formula.text}"'
        names.refuse((*key, "direction"), words)
        return None
    if settings.range is not None:
        lowest, highest = settings.range
        if not lowest < highest:
            names.refuse((*key, "range"), "must be [lowest, highest]")
            return None
        known = Known(lowest=lowest, highest=highest)
    paths = {name: each.name if isinstance(each, Metric) else each.path for name, each in terms.items()}

    def compute(values: Values, undefined: Undefined | None = settings.undefined) -> Floats:
        given = {name: values[path] for name, path in paths.items()}
        if undefined == "worst":
            given = {name: np.where(np.isnan(each), known_terms[name].worst, each) for name, each in given.items()}
        return evaluated(node, given, exclude=undefined == "exclude")

    return Formula(
        path=key[-1],
        title=settings.title or title_of(key[-1]),
        direction=direction,
        lowest=known.lowest,
        highest=known.highest,
        unit=settings.unit,
        undefined_when=undefined_when,
        compute=compute,
        compute_defined=partial(compute, undefined="exclude"),
        terms=tuple(paths.values()),
    )


def _rule(ranking: RankingRule, board: Scoreboard[Any], names: _Names) -> RankingRule:
    """The rule of `[ranking]`; the kind's own, `ranking`, where there is none, or where it is wrong."""
    settings = names.tables.ranking
    if settings is None:
        return ranking
    by_case = settings.method not in (None, "mean_of_positions")
    parts = [names.matching(("ranking", "by"), each, of_case=by_case) for each in settings.parts]
    if all(len(each) == 1 for each in settings.parts):  # a pattern stands for figures of equal rank
        parts = [[name] for each in parts for name in each]
    by = [name for each in parts for name in each]
    criteria = _criteria(("ranking", "by"), by, names.metric if by_case else names.figure)
    tie_break = names.matching(("ranking", "tie_break"), settings.tie_break, of_case=False)
    ties = _criteria(("ranking", "tie_break"), tie_break, names.figure)
    if len(by) > 1 and settings.method is None:
        names.refuse(
            ("ranking", "method"),
            f"is missing: with several figures say how positions are combined, {_METHODS}",
        )
    if len(by) == 1 and settings.method == "mean_of_positions":
        names.refuse(("ranking", "method"), "combines the positions in several figures, but 'by' names one")
    if len(parts) < len(by) and settings.method in ("positions_by_case", "permutation"):
        names.refuse(("ranking", "by"), f"has a list among its figures, which {settings.method} does not combine")
    if settings.weights is not None and (by_case or len(settings.weights) != len(parts)):
        names.refuse(("ranking", "weights"), "must be one number for each entry of 'by', with mean_of_positions")
    if (settings.alpha is None) == (settings.method == "significant_wins"):
        names.refuse(("ranking", "alpha"), "is the level of the tests of significant_wins, and needed with it alone")
    if criteria is None or ties is None:
        return ranking
    weights = settings.weights if settings.weights and len(settings.weights) == len(parts) else (1.0,) * len(parts)
    part_of = [number for number, each in enumerate(parts) for _ in each]
    described = []
    terms: tuple[Criterion, ...] = ()
    for each in criteria:
        words, terms = _described(each.path, names)
        described.append(f"{each.title} = {words}" if words else each.title)
    return RankingRule(
        words=_words(_in_parts(described, part_of), settings)
        + (f"; {listed([each.title for each in ties])} decides among equal teams" if ties else ""),
        terms=terms if len(criteria) == 1 and not by_case else (),
        criteria=tuple(
            replace(each, weight=weights[part], decimals=settings.round, part=part)
            for each, part in zip(criteria, part_of, strict=True)
        ),
        tie_breaks=tuple(ties),
        case_metrics=tuple(metric.name for name in by if (metric := names.known.find_metric(name)) is not None)
        if by_case
        else _case_metrics(board, list(names.tables.case_figures)),
        method=settings.method,
        alpha=settings.alpha or RankingRule.alpha,
        finalists=ranking.finalists,
        division=ranking.division,
        limits=ranking.limits,
    )


def _criteria(
    key: Key, given: Sequence[str], find: Callable[[Key, str], NamedFigure | Metric | None]
) -> Sequence[Criterion] | None:
    """By figures of all cases, or by those of every case; None where one of them does not exist."""
    found = [find(key, name) for name in given]
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
    return criteria if len(criteria) == len(given) else None


def _leaderboard(board: Scoreboard[Any], ranking: RankingRule, names: _Names) -> dict[str, Any]:
    """What the tables change of the leaderboard: its columns, the short table, and the columns that are ranked."""
    tables, settings = names.tables, names.tables.leaderboard
    if settings.columns is not None:
        key: Key = ("leaderboard", "columns")
        found = [names.figure(key, name) for name in names.matching(key, settings.columns, of_case=False)]
        paths = [figure.path for figure in found if figure is not None]
        # The platform orders teams by its first column, which must not contradict the ranking.
        first = ranking.criteria[:1] if len(ranking.criteria) == 1 and not ranking.by_case else ()
        paths = [*(each.path for each in first), *paths]
    elif tables.ranking is not None or tables.figures:
        ranked = [each.path for each in (*ranking.criteria, *ranking.tie_breaks) if not ranking.by_case]
        figures = [figure.path for figure in reversed(board.formulas) if figure.title]
        paths = [*ranked, *figures, *board.leaderboard]
    else:
        return {}
    criteria = tuple(criterion.path for criterion in ranking.criteria)
    # A short table has what teams are ranked by, and the figures that its formulas name, while these fit.
    terms = [term for formula in board.formulas if formula.path in criteria for term in formula.terms]
    short = tuple(dict.fromkeys((*criteria, *terms)))
    short = short if len(short) <= _MOST_HEADLINE else criteria
    return {
        "leaderboard": tuple(dict.fromkeys(paths)) or board.leaderboard,
        "headline": short if tables.ranking is not None else board.headline,
        "ranked": criteria if len(criteria) > 1 and not ranking.by_case else board.ranked,
    }


def _described(path: str, names: _Names) -> tuple[str, tuple[Criterion, ...]]:
    """The formula of a figure with titles instead of names, and its terms where it is a sum with weights."""
    if path not in names.tables.figures:
        return "", ()
    formula = names.tables.figures[path].formula
    found = {name: each for name in names_in(formula.node) if (each := names.known.find(name))}
    weights = weighted_sum(formula.node)
    if not weights:
        return titled(formula.text, {name: each.title for name, each in found.items()}), ()
    terms = tuple(
        Criterion(path=each.path, title=each.title, direction=each.direction, weight=weights[name])
        for name, each in found.items()
    )
    return " + ".join(f"{each.weight:g} {each.title}" for each in terms), terms


def _words(titles: Sequence[str], settings: RankingSettings) -> str:
    if settings.method == "significant_wins":
        beaten = "other teams beaten in one-sided paired Wilcoxon signed-rank tests over cases, at a level of "
        holm = f"{beaten}{settings.alpha or 0:g} after Holm's adjustment over all ordered pairs"
        return f"teams are ranked by the mean of their positions in {listed(titles)}, each by the share of {holm}"
    if settings.method in ("positions_by_case", "permutation"):
        return f"teams are ranked by the mean of their positions in every case by {listed(titles)}"
    if len(titles) > 1:
        weighted = "weighted mean" if settings.weights else "mean"
        return f"teams are ranked by the {weighted} of their positions in {listed(titles)}"
    return f"teams are ranked by {titles[0]}"


def _in_parts(titles: Sequence[str], part_of: Sequence[int]) -> Sequence[str]:
    """The titles of figures, those of one part together."""
    parts = [[title for title, own in zip(titles, part_of, strict=True) if own == part] for part in sorted({*part_of})]
    return [part[0] if len(part) == 1 else f"({listed(part)} together)" for part in parts]


def _of_cases(formula: Formula) -> CaseMetric[Any]:
    """A formula of `[case_figures]` on the figures of every case; arithmetic without a result is as in `[figures]`."""

    def compute_from_row(row: Figures) -> float | None:
        value = float(
            formula_value(formula, {path: np.asarray(get(row, path), dtype=np.float64) for path in formula.terms})
        )
        return value if math.isfinite(value) else None

    return CaseMetric(
        name=formula.path,
        title=formula.title,
        **formula.scale,
        worst=formula.worst,
        compute_from_row=compute_from_row,
        terms=formula.terms,
        median=f"{formula.path}.median",
        count=f"{formula.path}.n",
        undefined_when=formula.undefined_when,
    )


def _without_terms(settings: FigureSettings, terms: Mapping[str, Known]) -> tuple[str, str]:
    """What is wrong with how a formula treats terms that can lack a value, and when it then has none itself."""
    lacking = {name: term for name, term in terms.items() if term.undefined_when}
    if settings.undefined == "worst":
        without = [each for each, term in lacking.items() if not math.isfinite(term.worst)]
        return (f"is \"worst\", but '{without[0]}' has no finite worst value" if without else ""), ""
    is_defined = _is_defined_without(lacking, settings, exclude=settings.undefined == "exclude")
    return "", "" if is_defined else next(term.undefined_when for term in lacking.values())


def _is_defined_without(lacking: Collection[str], settings: FigureSettings, *, exclude: bool) -> bool:
    """Whether a formula has a value where these terms have none."""
    node = settings.formula.node
    values = {name: np.asarray(math.nan if name in lacking else 1.0) for name in names_in(node)}
    return bool(compute(node, values, exclude=exclude)[1])


def undecided_formulas(
    figures: Mapping[str, FigureSettings], board: Scoreboard[Any], aggregates: Figures
) -> Iterator[ValidationProblem]:
    """The formulas of `[figures]` with a term that these references leave without a value, as `aggregates` of a perfect
    submission show, and without `undefined`. The advice names what acts on the formula."""
    undecided: set[str] = set()
    for formula in board.formulas:  # after its terms
        settings = figures.get(formula.path)
        if settings is None or settings.undefined is not None:
            continue
        names = dict(zip(dict.fromkeys(names_in(settings.formula.node)), formula.terms, strict=True))
        lacking = {name: board.names.find(name) for name, path in names.items() if not holds(aggregates, path)}
        undecided |= {formula.path} if lacking else set()
        found = {
            name: term for name, term in lacking.items() if term and term.undefined_when and term.path not in undecided
        }
        if not found:
            continue
        advice = []
        if _is_defined_without(found, settings, exclude=True):
            advice.append('write undefined = "exclude" (mean, min, max and harmonic leave it out)')
        if all(math.isfinite(term.worst) for term in found.values()):
            advice.append('write undefined = "worst" (it counts as its worst value)')
        words = f"has a term without a value for these references, '{next(iter(found))}': "
        words += " or ".join(advice) or "no setting gives the formula a value, so change it"
        yield ValidationProblem(key=settings.key("figures", formula.path), words=words)


def _known(figure: NamedFigure | Metric) -> Known:
    """What is known of a figure before anything is scored."""
    judges = figure.judges if isinstance(figure, NamedFigure) else True
    return Known(
        lowest=figure.lowest,
        highest=figure.highest,
        better=_BETTER[figure.direction] if judges else 0,
        worst=figure.worst,
        undefined_when=figure.undefined_when,
    )


def _case_metrics(board: Scoreboard[Any], case_figures: Sequence[str]) -> tuple[str, ...]:
    """The per-case metrics that represent a challenge in the general schemes: the case figures and the metrics without
    a mean, else means over regions, else all."""
    if case_figures:
        return (*case_figures, *(metric.name for metric in board.metrics if not metric.mean_path))
    combined = [metric.name for metric in board.metrics if metric.compute_from_row is not None]
    inner = {name.removesuffix(_MEAN) for name in combined}
    alone = [
        metric.name
        for metric in board.metrics
        if metric.compute_from_row is None and metric.name.rpartition(".")[0] not in inner and metric.name not in inner
    ]
    return (*combined, *alone)


def title_of(name: str) -> str:
    """`segmentation_score` as a title; abbreviations of the field as it writes them."""
    words = name.replace("_", " ")
    words = _ABBREVIATION.sub(lambda found: found[0].upper(), words[:1].lower() + words[1:])
    return (words[:1].upper() + words[1:]).replace("MAP", "mAP").replace("IOU", "IoU")
