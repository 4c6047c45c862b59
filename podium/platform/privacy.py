"""What `per_case` lets participants learn about single cases.

A row is published in full, under a pseudonym, or not at all. Aggregates of few cases reveal single ones too, the more
digits they have.
"""

import hashlib
import hmac
import math
import re
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import cached_property
from statistics import NormalDist
from typing import Any, Literal, TypeVar

import numpy as np

from podium.errors import listed
from podium.figures import Figures, get, holds, leaves, put, without
from podium.metrics import Floats
from podium.metrics.aggregation import CohortValues
from podium.metrics.declaration import GROUP_MEAN, GROUPS, HALF_WIDTH, INTERVAL, Curve, Metric, Scoreboard
from podium.metrics.resampling import Resamples
from podium.platform.leaderboard import Column
from podium.platform.metrics_file import CaseResult

PerCase = Literal["full", "anonymous", "none"]
GroupT = TypeVar("GroupT", str, tuple[str, ...])
FEWEST_FOR_SPREAD = 10  # scored cases: a mean and a standard deviation of two cases reveal both
FEWEST_IN_GROUP = 10  # cases, of means of per-case figures
FEWEST_FOR_COHORT = 30  # cases of a group, of figures of all its cases together
_REPLICATES = 200  # enough for the magnitude of a standard error
_EXACT = 15  # decimals
_PSEUDONYM = re.compile(r"case-[0-9a-f]{16}")

# What is published of single cases.


def published_results(
    results: Sequence[CaseResult], *, per_case: PerCase, key: bytes, confidential: Sequence[str]
) -> list[CaseResult]:
    """The rows as the organiser chose to publish them, sorted by their published names.

    `anonymous` sorts by pseudonym, since the true order would reveal the cases, and drops the confidential figures.
    Errors and warnings stay: they name the participant's own files, which links those pseudonyms to their cases. Rows
    keep their groups where enough others have the same ones.
    """
    match per_case:
        case "none":
            return []
        case "full":
            return sorted(results, key=lambda result: result.case)
    kept = published_groups(Counter(each.groups for each in results), fewest=FEWEST_IN_GROUP)
    hidden = [
        result.model_copy(
            update={
                "case": pseudonym(result.case, key=key),
                "groups": result.groups if result.groups in kept else (),
                "metrics": without(result.metrics, confidential),
                "undefined": without(result.undefined, confidential),
            }
        )
        for result in results
    ]
    return sorted(hidden, key=lambda result: result.case)


def rounded_aggregates(aggregates: Figures, *, decimals: int | None) -> Figures:
    """The aggregates rounded to `decimals`, or as they are (None); counts are whole numbers and stay."""
    return aggregates if decimals is None else {key: _rounded(value, decimals) for key, value in aggregates.items()}


@dataclass(frozen=True, kw_only=True)
class Disclosure:
    """Decides which aggregates are published where `per_case` hides the cases, and with how many decimals.

    A figure is *revealing* if it is made of what rows hide (`confidential`) or of facts of all cases together: a
    participant can choose predictions so that its digits spell the labels. So can one of means of figures such as Dice,
    since a region may be absent from a reference: where no row is published (`hides_rows`), these are rounded too.
    What teams are `ranked` by is always published: there would be no leaderboard without it. `groups` has the groups of
    every case, one for each way in which cases are grouped; `results`, where there are any, say how many cases have a
    reference of a figure.
    """

    board: Scoreboard[Any]
    confidential: Sequence[str]
    ranked: Collection[str]
    cases: int
    results: Sequence[CaseResult] = ()
    groups: Sequence[tuple[str, ...]] = ()
    hides_rows: bool = True

    @cached_property
    def revealing(self) -> set[str]:
        """The paths of revealing figures of all cases, formulas of them included."""
        board, hidden = self.board, tuple(f"{path}." for path in self.confidential)
        found = {path for each in board.cohort_metrics for path in (each.path, each.defined) if path} | {*board.tables}
        return self._with_formulas(found | self._statistics(lambda metric: f"{metric.name}.".startswith(hidden)))

    @cached_property
    def rounded(self) -> set[str]:
        """The paths of all figures of all cases that have the decimals that their standard error justifies."""
        hidden = self._statistics(lambda _: True) | {each.mean for each in self.board.curves if each.mean}
        found = self._with_formulas(self.revealing | (hidden if self.hides_rows else set()))
        return found - {each.defined for each in self.board.cohort_metrics}

    def _statistics(self, is_hidden: Callable[[Metric], bool]) -> set[str]:
        found: set[str] = set()
        for each in filter(is_hidden, self.board.metrics):
            found |= {each.mean_path, each.std_path, each.median, each.count, *self.board.quantiles_of(each)} - {""}
        return found

    def _with_formulas(self, paths: set[str]) -> set[str]:
        for formula in self.board.formulas:  # a formula comes after its terms
            paths = paths | ({formula.path} if paths.intersection(map(self._of_all_cases, formula.terms)) else set())
        return paths

    def kept_groups(self, *, revealing: bool) -> set[str]:
        """The groups whose figures are published: from 10 cases on; of revealing figures from 30 and 7 sqrt(cases) on,
        so that all groups together tell no more labels than the accuracy of all cases does."""
        kept: set[str] = set()
        for names in (groupings := [*zip(*self.groups, strict=True)]):
            # More ways of grouping tell more.
            enough = max(FEWEST_FOR_COHORT, 7 * len(groupings) * math.sqrt(self.cases))
            fewest = 0 if len({*names}) == 1 else enough if revealing else FEWEST_IN_GROUP  # 0: all cases
            kept |= published_groups(Counter(names), fewest=fewest)
        return kept

    @cached_property
    def _sizes(self) -> Counter[str]:
        """How many cases each group has."""
        return Counter(name for own in self.groups for name in own)

    def aggregates(
        self, exact: Figures, results: Sequence[CaseResult], *, decimals: int | None, key: bytes
    ) -> dict[str, Any]:
        """What is published of the exact aggregates of these results; `key` is secret."""
        shown = self._of_enough_cases(exact, results)
        if GROUPS in shown:
            groups, full = {}, self.kept_groups(revealing=True)
            for name in sorted(self.kept_groups(revealing=False)):
                rows = [row for row, own in zip(results, self.groups, strict=True) if name in own]
                hidden = [*self.board.tables, *(() if name in full else self.revealing)]
                found = without(replace(self, ranked=())._of_enough_cases(shown[GROUPS][name], rows), hidden)
                groups[name] = {path: each for path, each in found.items() if each != {}}
            shown = without(shown, [GROUPS]) | ({GROUPS: groups} if groups else {})
            for path in self.ranked:
                if path.startswith(f"{GROUPS}.") and holds(exact, path):
                    put(shown, path, get(exact, path))
        published = deepcopy(dict(rounded_aggregates(shown, decimals=decimals)))
        given = {each.path: get(exact, each.path) for each in self.board.given if holds(exact, each.path)}
        resamples = Resamples.draw(cases=len(results), replicates=_REPLICATES, seed=0)
        drawn = CohortValues(self.board, [row.metrics for row in results], resamples, given, self.groups)
        least = 0.0 if decimals is None else 10.0**-decimals
        known = replace(self, results=results)
        for path, value in leaves(shown):
            figure = path.removesuffix(HALF_WIDTH)
            if (metric := self._of_all_cases(figure)) in self.rounded:
                is_fine = figure in self._in_ranking or metric not in self.revealing
                error = known._error(figure, exact, drawn)
                error *= 1 if figure == path else 4  # a case can move an interval by 2 / n of the range: half of this
                unit = max(_unit(error, (1, 2, 5) if is_fine else (1,)), least)
                put(published, path, rounded_up_or_down(value, unit, secret=key + path.encode()))
        return published

    def columns(self, columns: Sequence[Column]) -> list[Column]:
        """The columns of a leaderboard without figures that are never published for these numbers of cases."""
        hidden = self._withheld(lambda _: self.cases)
        hidden |= {path.removesuffix(INTERVAL) + HALF_WIDTH for path in hidden if path.endswith(INTERVAL)}
        hidden |= {each.path for each in columns if self._is_of_hidden_group(each.path)}.difference(self.ranked)
        return [
            replace(each, error_path=None) if each.error_path in hidden else each
            for each in columns
            if each.path not in hidden
        ]

    def sentences(self) -> Sequence[str]:
        """What is withheld or rounded and why, and what submissions tell all the same, for the organiser."""
        withheld = sorted(self._withheld(lambda _: self.cases))
        lines = [f"withheld, since too few cases would be behind them: {listed(withheld)}"] if withheld else []
        for revealing, what in ((False, "all figures"), (True, "figures that reveal labels")):
            few = sorted({*self._sizes}.difference(self.kept_groups(revealing=revealing)))
            if few and (not revealing or self.revealing):
                lines.append(f"withheld, {what} of groups with too few cases: {listed(few)}")
        if not self.rounded:
            return lines
        shown = listed(sorted(self.rounded))
        lines.append(f"rounded as their standard error justifies, since digits reveal labels: {shown}")
        told = ", ".join(f"{share_told(asked, self.cases):.0%} after {asked}" for asked in (5, 20, 100))
        lines.append(f"share of right guesses that a published accuracy allows (50% knowing nothing): {told} "
                     "submissions; the submission limit of the phase decides")  # fmt: skip
        return lines

    def _of_enough_cases(self, figures: Figures, results: Sequence[CaseResult]) -> dict[str, Any]:
        """Only scored values count: that of a missing one is known, so it hides nothing."""
        scored = [result.metrics for result in results if result.status == "scored"]
        shown = without(figures, list(self._withheld(lambda metric: _defined(metric, results))))
        for curve in self.board.curves:
            if curve.mean in shown:
                enough = {
                    str(place) for place, values in curve.by_place(scored).items() if len(values) >= FEWEST_FOR_SPREAD
                }
                kept = {place: mean for place, mean in shown.pop(curve.mean).items() if place in enough}
                shown |= {curve.mean: kept} if kept else {}
        return shown

    def _withheld(self, defined: Callable[[Metric], int]) -> set[str]:
        """The paths of the spread of metrics that are `defined` in too few cases, of means over groups that reveal a
        hidden one, and of every formula of these or of a hidden group's figures."""
        board = self.board
        few = {
            path
            for metric in board.metrics
            if metric.mean_path and defined(metric) < FEWEST_FOR_SPREAD
            for path in (metric.std_path, metric.median, *board.quantiles_of(metric))
            if path
        }
        for name, path in board.names.group_means.items():
            if self.kept_groups(revealing=path in self.revealing) != {*self._sizes}:
                few.add(name + GROUP_MEAN)
        thin = {metric.mean_path for metric in board.metrics if defined(metric) < FEWEST_FOR_SPREAD}
        for formula in board.formulas:
            thin |= {formula.path} if thin.intersection(formula.terms) else set()
        too_few = self.cases < FEWEST_FOR_SPREAD
        few |= {path + INTERVAL for path in self.ranked if too_few or path in thin}
        few.difference_update(self.ranked)
        for formula in board.formulas:  # a formula comes after its terms
            lost = any(term in few or self._is_of_hidden_group(term) for term in formula.terms)
            few |= {formula.path} if lost and formula.path not in self.ranked else set()
        return few

    def _is_of_hidden_group(self, path: str) -> bool:
        first, _, rest = path.partition(".")
        revealing = self._of_all_cases(path) in self.revealing
        return first == GROUPS and rest.partition(".")[0] not in self.kept_groups(revealing=revealing)

    def _of_all_cases(self, path: str) -> str:
        """The path of the same figure of all cases; of an entry of a table or curve, that of the whole."""
        path = path.split(".", 2)[2] if path.startswith(f"{GROUPS}.") else path
        if path.endswith(GROUP_MEAN):
            path = self.board.names.group_means[path.removesuffix(GROUP_MEAN)]
        wholes = (*self.board.tables, *(each.mean for each in self.board.curves if each.mean))
        return next((whole for whole in wholes if path.startswith(f"{whole}.")), path)

    @cached_property
    def _in_ranking(self) -> set[str]:
        """What teams are ranked by, and all that formulas make it of."""
        found = set(self.ranked)
        for formula in reversed(self.board.formulas):
            found |= {*formula.terms} if formula.path in found else set()
        return found

    def _error(self, path: str, exact: Figures, drawn: Mapping[str, Floats]) -> float:
        """What the last place of a rounded figure is not below; 0 for another figure.

        It is the standard error e: that of the bootstrap, and at least what chance leaves of n cases whatever they are:
        range / (2 sqrt n), without finite range value / (2 sqrt n), of a table's entries sqrt(n) / 2. A participant
        would otherwise choose predictions of which all but a few contribute nothing to e. What teams are ranked by, and
        means of figures that do not reveal labels themselves, have the steps of an accuracy: 2e / sqrt n, which is
        range / n, unless the effect of one case has no bound.
        A correlation rests on a single case where all other predictions are equal: that is +-1 / sqrt n, so that its
        place is not below 4 / sqrt n. A formula follows its terms: the sum of what their errors change in it.
        """
        board, metric = self.board, self._of_all_cases(path)
        if metric not in self.rounded or not holds(exact, path):
            return 0.0
        sizes, cases, before = self._sizes, self._behind(metric), ""
        if path.startswith(f"{GROUPS}."):
            before = ".".join([*path.split(".")[:2], ""])
            cases = self._behind(metric, path.split(".")[1])
        elif path.endswith(GROUP_MEAN):
            cases = len(sizes) * min(self._behind(metric, each) for each in sizes)
        if metric in board.tables:
            return math.sqrt(cases) / 2
        if (formula := next((each for each in board.formulas if each.path == metric), None)) is not None:
            found = {
                each: get(exact, before + each) if holds(exact, before + each) else math.nan for each in formula.terms
            }
            values = {each: np.asarray(value, dtype=np.float64) for each, value in found.items()}
            errors = {each: self._error(before + each, exact, drawn) for each in formula.terms}
            moved = [formula.compute({**values, each: values[each] + error}) for each, error in errors.items()]
            error = float(sum(abs(each - formula.compute(values)) for each in moved))
            if math.isfinite(error):
                return error
        figure = next((each for each in board.curves if each.mean == metric), None) or board.names.figures[metric]
        value, is_curve = get(exact, path), isinstance(figure, Curve)
        is_bounded = math.isfinite(spread := figure.highest - figure.lowest)
        at_least = 0.0 if isinstance(value, int) else (spread if is_bounded else abs(value)) / (2 * math.sqrt(cases))
        replicates = np.zeros(1) if is_curve else drawn[path][~np.isnan(drawn[path])]
        error = max(at_least, float(np.std(replicates)) if replicates.size else 0.0)
        is_mean = is_curve or metric in {each.mean_path for each in board.metrics}
        is_plain = metric not in self.revealing and not before
        if is_plain or (path in self._in_ranking and (is_bounded or is_mean)):
            return error * 2 / math.sqrt(cases)
        return max(error, 4 / math.sqrt(cases)) if is_bounded and figure.lowest < 0 else error

    @cached_property
    def _in_rows(self) -> Mapping[str, str]:
        """Where rows have what a figure of all cases is computed from."""
        found = {each.path: each.facts for each in self.board.cohort_metrics if each.facts}
        return found | {
            path: each.name for each in self.board.metrics for path in (each.mean_path, each.median) if path
        }

    @cached_property
    def _counted(self) -> dict[tuple[str, str], int]:
        return {}

    def _behind(self, path: str, group: str = "") -> int:
        """How many cases, of a group, have a reference of what the figure is computed from; 1 at least."""
        if (path, group) not in self._counted:
            at = self._in_rows.get(path, "")
            rows = [row.metrics for number, row in enumerate(self.results) if not group or group in self.groups[number]]
            absent = [row for row in rows if at and holds(row, at) and get(row, at) in (None, {})]
            self._counted[path, group] = max(1, (self._sizes[group] if group else self.cases) - len(absent))
        return self._counted[path, group]


def published_groups(sizes: Mapping[GroupT, int], *, fewest: float) -> set[GroupT]:
    """The groups that are published: those of `fewest` cases and more, unless all others together have fewer.

    The figures of the others together follow from those of all cases and of the published groups. So the smallest are
    hidden until no case is left out, or `fewest` at least.
    """
    ascending = sorted(sizes, key=lambda name: (sizes[name], name))
    hidden = 0
    while ascending and (sizes[ascending[0]] < fewest or 0 < hidden < fewest):
        hidden += sizes[ascending.pop(0)]
    return set(ascending)


def rounded_up_or_down(value: float, unit: float, *, secret: bytes) -> float:
    """The value as a multiple of the unit. From which part of the unit on it is rounded up, between 1/4 and 3/4,
    follows from the secret: otherwise a participant could place a figure so that one label decides."""
    if not unit:
        return value
    threshold = 0.25 + int.from_bytes(hashlib.sha256(secret).digest()[:6]) / 2**49
    units = value / unit
    below = math.floor(units + 1e-9)
    rounded = round((below + (units - below > threshold)) * unit, _EXACT) + 0.0
    return int(rounded) if isinstance(value, int) else rounded


def _unit(error: float, steps: Sequence[int]) -> float:
    """The smallest of these multiples of powers of ten that is not below the error."""
    if not error > 0:
        return 0.0
    power = 10.0 ** math.floor(math.log10(error) - 1e-9)
    return next(unit for unit in (*(step * power for step in steps), 10 * power) if unit >= error * (1 - 1e-9))


def share_told(asked: int, cases: int) -> float:
    """The share of labels that least squares guess right from the accuracies of random submissions: Phi of
    sqrt(asked / (cases - asked))."""
    return NormalDist().cdf(math.sqrt(asked / (cases - asked))) if asked < cases else 1.0


def _defined(metric: Metric, rows: Sequence[CaseResult]) -> int:
    """How many rows have a value that was not given for a missing one."""
    scored = [row.metrics for row in rows if not row.lacks(metric.uses)]
    return sum(holds(row, metric.name) and get(row, metric.name) is not None for row in scored)


def _rounded(value: Any, decimals: int) -> Any:
    if isinstance(value, Mapping):
        return {key: _rounded(each, decimals) for key, each in value.items()}
    return round(value, decimals) + 0.0 if isinstance(value, float) else value  # + 0.0: never -0.0


def pseudonym(case: str, *, key: bytes, what: Literal["case", "patient"] = "case") -> str:
    """A keyed hash: the same case has the same pseudonym in every submission, and names cannot be found by guessing."""
    return f"{what}-" + hmac.new(key, case.encode(), hashlib.sha256).hexdigest()[:16]


def are_anonymous(cases: Collection[str]) -> bool:
    """Whether these are the names of anonymous rows; False for no names."""
    return bool(cases) and all(_PSEUDONYM.fullmatch(case) for case in cases)
