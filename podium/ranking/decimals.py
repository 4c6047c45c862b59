"""How many decimals a column has: the same for all of its figures, and enough to tell different ones apart."""

import math
from collections.abc import Iterable


def column_decimals(values: Iterable[float | None]) -> int:
    """Two to six; none where all are whole numbers. Columns whose figures are all below ten have at least four.

    A table whose neighbours read the same but rank differently would look wrong.
    """
    distinct = {value for value in values if value is not None and math.isfinite(value)}
    if all(value == int(value) for value in distinct):
        return 0
    wanted = (n for n in range(2, 6) if len({fixed(value, n) for value in distinct}) == len(distinct))
    return max(next(wanted, 6), 4 if max(map(abs, distinct)) < 10 else 2)


def fixed(value: float, decimals: int) -> str:
    """A figure with a fixed number of decimals and a true minus sign; what rounds to zero has none."""
    text = f"{value:.{decimals}f}"
    return text.replace("-", "−") if float(text) else text.removeprefix("-")


def even_decimals(values: Iterable[float | None], *, most: int = 4) -> int:
    """Decimals for a table of one kind of figure: `most` for figures up to 1, one less for each place before the point
    of larger ones, at least one; none where all are whole numbers."""
    known = [abs(value) for value in values if value is not None and math.isfinite(value)]
    if all(value == int(value) for value in known):
        return 0
    places = math.floor(math.log10(max(known))) + 1 if max(known) > 1 else 0
    return max(1, most - places)
