"""The formulas of `[figures]` and `[case_figures]` as declared figures."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from podium.challenges.board.problems import BoardProblems
from podium.challenges.board.settings import FigureSettings
from podium.challenges.figure_names import BETTER, title_of
from podium.figures import Figures, get
from podium.formulas import FormulaError, Known, Node, parse
from podium.metrics.declaration import CaseMetric, Direction, Formula, Values
from podium.metrics.resampling import Floats


@dataclass(frozen=True, kw_only=True)
class PreparedFormula:
    """A formula that was checked; `names` are its terms with the paths they mean."""

    node: Node
    names: Mapping[str, str]
    known: Known
    direction: Direction
    title: str
    unit: str


def prepare_formula(
    key: tuple[str, ...], given: str | FigureSettings, terms: Mapping[str, Known], problems: BoardProblems
) -> PreparedFormula | None:
    """The formula, checked; a figure that is wrong is unknown to those after it without a second complaint."""
    settings = FigureSettings(formula=given) if isinstance(given, str) else given
    place = key if isinstance(given, str) else (*key, "formula")
    try:
        node = parse(settings.formula)
    except FormulaError as error:
        problems.add(place, str(error))
        return None
    names = problems.resolved(place, node.names(), terms)
    if names is None:
        return None
    known = node.known({name: terms[path] for name, path in names.items()})
    direction = settings.direction or next((each for each, sign in BETTER.items() if sign == known.better), None)
    if direction is None:
        problems.add(
            place,
            "needs a direction: its terms do not say whether higher or lower is better; write "
            f'{key[-1]} = {{ formula = "...", direction = "lower" }}',
        )
        return None
    if settings.range is not None:
        lowest, highest = settings.range
        if not lowest < highest:
            problems.add((*key, "range"), "must be [lowest, highest]")
            return None
        known = Known(lowest=lowest, highest=highest, better=known.better)
    return PreparedFormula(
        node=node,
        names=names,
        known=known,
        direction=direction,
        title=settings.title or title_of(key[-1]),
        unit=settings.unit,
    )


def case_figure(name: str, prepared: PreparedFormula) -> CaseMetric[Any]:
    """The metric of a formula in `[case_figures]`."""
    worst = prepared.known.lowest if prepared.direction == "higher" else prepared.known.highest
    return CaseMetric(
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


def figure(name: str, prepared: PreparedFormula) -> Formula:
    """The figure of a formula in `[figures]`."""
    return Formula(
        path=name,
        title=prepared.title,
        direction=prepared.direction,
        lowest=prepared.known.lowest,
        highest=prepared.known.highest,
        unit=prepared.unit,
        of=_of_values(prepared.node, prepared.names),
        terms=tuple(prepared.names.values()),
    )


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
