"""How numbers and phrases are written for people: on a page, in a plot, in LaTeX and at the terminal."""

import math
from collections.abc import Iterable

Interval = tuple[float, float]

FEW_CASES = 10  # with fewer cases, no probability is written as certain
NOTHING = "–"  # written where there is no figure
NO_VALUE = "no value"  # written where a team should have a figure and has none
MOST_FALSE = 0.05  # the probability of a false claim above which it is not safe
MARK = "†"  # of an interval of which more than this share of replicates is undefined
MOST_UNDEFINED = 0.05

# Written beside an interval.
INTERVAL_KINDS = {"percentile": "", "binomial": "exact binomial", "defined-terms": "over the terms of each resample"}

_ESCAPES = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "τ": r"$\tau$",
    "≤": r"$\leq$",
    "−": "$-$",
    "†": r"\dag{}",
    **{character: f"\\{character}" for character in "&%$#_{}"},
}

# Figures.


def figure(value: float | None, digits: int = 4) -> str:
    """A figure with `digits` significant digits, whole numbers as they are, with a true minus sign."""
    if value is None or math.isnan(value):
        return NOTHING
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    if value == int(value) and abs(value) < 1e6:
        text = f"{int(value)}"
    elif 1e-4 <= abs(value) < 1e6:
        decimals = max(0, digits - 1 - math.floor(math.log10(abs(value))))
        text = f"{value:.{decimals}f}"
    else:
        text = f"{value:.{digits - 1}e}"
    return text.replace("-", "−")


def fixed(value: float | None, decimals: int) -> str:
    """A figure with a fixed number of decimals, for columns whose figures are compared; zero never has a minus sign."""
    if value is None or not math.isfinite(value) or abs(value) >= 1e9:
        return figure(value)
    text = f"{value:.{decimals}f}"
    return text.replace("-", "−") if float(text) else text.removeprefix("-")


def column_decimals(values: Iterable[float | None]) -> int:
    """The decimals of a column: two to six, as many as its different figures need to look different; none where all are
    whole numbers. Columns whose figures are all below ten have at least four.

    A table whose neighbours look the same but rank differently would look wrong.
    """
    distinct = {value for value in values if value is not None and math.isfinite(value)}
    if all(value == int(value) for value in distinct):
        return 0
    wanted = (n for n in range(2, 6) if len({round(value, n) for value in distinct}) == len(distinct))
    return max(next(wanted, 6), 4 if max(map(abs, distinct)) < 10 else 2)


def even_decimals(values: Iterable[float | None], *, most: int = 4) -> int:
    """The decimals of a table of one kind of figure: `most` for figures up to 1, one less per digit before the point of
    larger ones, at least one; none where all are whole numbers."""
    known = [abs(value) for value in values if value is not None and math.isfinite(value)]
    if all(value == int(value) for value in known):
        return 0
    places = math.floor(math.log10(max(known))) + 1 if max(known) > 1 else 0
    return max(1, most - places)


def interval_words(interval: Interval | None, decimals: int) -> str:
    """`0.81 to 0.86`; empty where there is none."""
    return "" if interval is None else f"{fixed(interval[0], decimals)} to {fixed(interval[1], decimals)}"


def with_interval(value: float | None, interval: Interval | None, decimals: int) -> str:
    """`0.83 (0.81 to 0.86)`."""
    words = interval_words(interval, decimals)
    return f"{fixed(value, decimals)} ({words})" if words else fixed(value, decimals)


def undefined_words(number: int, replicates: int) -> str:
    """`32 of 1,000 resamples undefined`, beside the interval that leaves them out, marked where they are many; empty
    where there are none."""
    if not number:
        return ""
    marked = f" {MARK}" if number > MOST_UNDEFINED * replicates else ""
    return f"{number:,} of {replicates:,} resamples undefined{marked}"


# Shares, chances and p-values.


def percent(share: float | None) -> str:
    """A share as a percentage; only 0 is written as 0 % and only 1 as 100 %."""
    return NOTHING if share is None or math.isnan(share) else chance(share, cases=FEW_CASES)


def chance(share: float, *, cases: int, unit: str = "case") -> str:
    """A probability as a percentage. Only 0 is written as 0 % and only 1 as 100 %; with fewer than ten cases, or
    patients, neither is ever written, and their number is added."""
    few = f" (n = {count(cases, unit)})" if cases < FEW_CASES else ""
    if share < 0.005 and (share > 0 or few):
        return f"< 1 %{few}"
    if share > 0.995 and (share < 1 or few):
        return f"> 99 %{few}"
    return f"{100 * share:.0f} %"


def probability(p: float | None) -> str:
    """A p-value as papers print it."""
    if p is None or math.isnan(p):
        return NOTHING
    return "<0.001" if p < 0.001 else f"{p:.3f}"


def confidence_words(confidence: float) -> str:
    return f"{confidence * 100:g} %"


# Phrases.


def unscored_words(partial: int, failed: int, missing: int) -> str:
    """`2 partial, 5 failed, 1 missing`; empty where all cases are scored."""
    counted = {"partial": partial, "failed": failed, "missing": missing}
    return ", ".join(f"{number} {what}" for what, number in counted.items() if number)


def count(number: int, one: str, many: str | None = None) -> str:
    """`1 case`, `2 cases`, `1,000 cases`."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def on_one_line(text: str, longest: int | None = None) -> str:
    """`text` without control characters, changes of writing direction or line breaks, cut to `longest` characters in
    the middle, because names often differ at their end. It still has to be escaped for markup."""
    printable = "".join(
        c if c.isprintable() else " " if c.isspace() else c.encode("unicode_escape").decode("ascii") for c in text
    )
    line = " ".join(printable.split()) or NOTHING
    if longest is None or len(line) <= longest:
        return line
    end = (longest - 1) // 2
    return f"{line[: longest - 1 - end].rstrip()}…{line[len(line) - end :].lstrip()}"


def latex_escape(text: str) -> str:
    """Text that LaTeX prints literally."""
    return "".join(_ESCAPES.get(character, character) for character in text)
