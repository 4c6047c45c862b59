"""How text and figures are shown on a page and in a plot."""

import math
from collections.abc import Callable, Iterable
from functools import partial

from podium.ranking.decimals import column_decimals
from podium.ranking.result import Interval

NOTHING = "–"  # what stands where there is no figure


def on_one_line(text: str, longest: int | None = None) -> str:
    """`text` without control characters, changes of writing direction or line breaks; its end cut where too long.

    It still has to be escaped: this is about what a reader sees, not about markup.
    """
    printable = "".join(c if c.isprintable() else _escaped(c) for c in text)
    line = " ".join(printable.split()) or NOTHING
    if longest is None or len(line) <= longest:
        return line
    return f"{line[: longest - 1].rstrip()}…"


def _escaped(character: str) -> str:
    """A space for what breaks lines, the escape of anything else that would not show or would turn the text around."""
    return " " if character.isspace() else character.encode("unicode_escape").decode("ascii")


def figure(value: float | None, digits: int = 4) -> str:
    """A figure with `digits` significant digits, whole numbers as they are, a true minus sign."""
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


def tick(value: float) -> str:
    """A figure on an axis, without trailing zeros."""
    return f"{value:g}".replace("-", "−")


def telling(values: Iterable[float | None]) -> Callable[[float | None], str]:
    """How to print a column: with as many decimals as it takes to tell its different figures apart, two to six.

    A table whose neighbours read the same but rank differently would look wrong.
    """
    return partial(fixed, decimals=column_decimals(values))


def fixed(value: float | None, decimals: int) -> str:
    """A figure with a fixed number of decimals: for columns whose figures are compared."""
    if value is None or not math.isfinite(value) or abs(value) >= 1e9:
        return figure(value)
    text = f"{value:.{decimals}f}"
    return text.replace("-", "−") if float(text) else text.removeprefix("-")


def interval_words(interval: Interval | None, decimals: int) -> str:
    """`0.81 to 0.86`; nothing where there is none."""
    return "" if interval is None else f"{fixed(interval[0], decimals)} to {fixed(interval[1], decimals)}"


def with_interval(value: float | None, interval: Interval | None, decimals: int) -> str:
    """`0.83 (0.81 to 0.86)`."""
    words = interval_words(interval, decimals)
    return f"{fixed(value, decimals)} ({words})" if words else fixed(value, decimals)


def percent(share: float | None) -> str:
    """A share as a percentage; a share above 0 is never printed as 0 %, one below 1 never as 100 %."""
    if share is None or math.isnan(share):
        return NOTHING
    if 0 < share < 0.005:
        return "<1 %"
    if 0.995 < share < 1:
        return ">99 %"
    return f"{100 * share:.0f} %"


def probability(p: float | None) -> str:
    """A p value as papers print it."""
    if p is None or math.isnan(p):
        return NOTHING
    if p < 0.001:
        return "<0.001"
    return f"{p:.3f}"


def sentence(words: str) -> str:
    """Words with a capital at the start and a full stop at the end."""
    words = words.strip()
    return words[:1].upper() + words[1:] + ("" if words.endswith((".", "!", "?")) else ".")


def count(number: int, one: str, many: str | None = None) -> str:
    """`1 case`, `2 cases`, `1,000 cases`."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def listed(words: list[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    if len(words) < 2:
        return "".join(words)
    return f"{', '.join(words[:-1])} and {words[-1]}"
