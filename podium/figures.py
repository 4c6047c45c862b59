"""Nested figures and the dotted paths into them (`dice.long_plaque.mean`), and which numbers count as figures.

A row and `aggregates` are nested figures.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

Figures = Mapping[str, Any]  # nested objects whose leaves are numbers, or null where a per-case figure is undefined

LARGEST_FIGURE = 1e50  # of a single case: squares of larger numbers, and their sums, would no longer be finite
LARGEST = 1e200  # no figure is larger, and thousands of them still have a finite sum
_TOLERANCE = 1e-6  # relative above 1: files may have been written by another version of a numeric library
_FEWEST_DECIMALS = 2  # that published figures are rounded to


def numbers(value: Any) -> Iterator[float]:
    """All numbers in nested figures and lists of them."""
    if isinstance(value, Mapping):
        value = list(value.values())
    if isinstance(value, list | tuple):
        for each in value:
            yield from numbers(each)
    elif isinstance(value, int | float):
        yield value


def leaves(figures: Figures, before: str = "") -> Iterator[tuple[str, Any]]:
    """Every value in nested figures with its dotted path."""
    for key, value in figures.items():
        if isinstance(value, Mapping):
            yield from leaves(value, f"{before}{key}.")
        else:
            yield f"{before}{key}", value


def put(figures: dict[str, Any], path: str, value: Any) -> None:
    """Set a dotted path in nested objects."""
    *parents, last = path.split(".")
    for parent in parents:
        figures = figures.setdefault(parent, {})
    figures[last] = value


def get(figures: Figures, path: str) -> Any:
    """The value at a dotted path; KeyError where there is none."""
    value: Any = figures
    for part in path.split("."):
        value = value[part]
    return value


def holds(figures: Figures, path: str) -> bool:
    """Whether there is anything at a dotted path."""
    try:
        get(figures, path)
    except (KeyError, TypeError):
        return False
    return True


def without(figures: Figures, paths: Sequence[str]) -> dict[str, Any]:
    """A copy of nested figures without the dotted paths; a path through a list means each of its objects."""
    kept: dict[str, Any] = {}
    for key, value in figures.items():
        if key in paths:
            continue
        inner = [path.split(".", 1)[1] for path in paths if path.startswith(f"{key}.")]
        if inner and isinstance(value, list):
            kept[key] = [without(each, inner) for each in value]
        else:
            kept[key] = without(value, inner) if inner else value
    return kept


def finite_number(value: Any) -> float | None:
    """A JSON number as a float; None for anything else: texts, true and false, NaN, and numbers too large to add up."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if abs(number) <= LARGEST else None


def agrees(published: float, exact: float) -> bool:
    """Whether a published figure is the exact one, possibly rounded to the decimals that it shows."""
    _, _, decimals = repr(published).partition(".")
    shown = len(decimals) if "e" not in decimals else 16
    rounding = 0.5 * 10.0 ** -max(_FEWEST_DECIMALS, shown)
    return abs(published - exact) <= max(_TOLERANCE * max(1.0, abs(exact)), rounding * (1 + 1e-9))
