"""A small SVG writer: elements as text, everything escaped, coordinates to a tenth of a pixel.

Colours come from the page's stylesheet through classes, so a plot follows the reader's light or dark theme.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from html import escape

from podium.tools.ranking.wording import on_one_line

FONT_PX = 14
_CHARACTER_PX = 0.63 * FONT_PX  # a mean width of wide fonts; labels are cut by it, never measured


def element(tag: str, *children: str, **attributes: object) -> str:
    """`<tag attributes>children</tag>`; children are markup, attribute values are not.

    A trailing underscore is dropped and the others become hyphens: `class_="axis", text_anchor="end"`.
    """
    written = "".join(
        f' {name.rstrip("_").replace("_", "-")}="{escape(_value(value))}"'
        for name, value in attributes.items()
        if value is not None
    )
    return f"<{tag}{written}>{''.join(children)}</{tag}>" if children else f"<{tag}{written}/>"


def _value(value: object) -> str:
    return number(value) if isinstance(value, float) else str(value)


def number(value: float) -> str:
    """A coordinate, short: `12`, `12.3`, never `-0` or `1e-05`."""
    text = f"{value:.1f}"
    text = text.removesuffix(".0")
    return "0" if text == "-0" else text


def picture(*, width: float, height: float, title: str, description: str, parts: Iterable[str]) -> str:
    """A whole plot with its text alternative."""
    return element(
        "svg",
        element("title", escape(on_one_line(title))),
        element("desc", escape(on_one_line(description))),
        *parts,
        viewBox=f"0 0 {number(width)} {number(height)}",
        width=float(width),
        height=float(height),
        role="img",
        class_="plot",
    )


def group(*children: str, class_: str | None = None, transform: str | None = None) -> str:
    return element("g", *children, class_=class_, transform=transform) if children else ""


def text(  # noqa: PLR0913  (what SVG's own element has)
    x: float,
    y: float,
    words: str,
    *,
    anchor: str = "start",
    class_: str | None = None,
    longest: int | None = None,
    rotate: float | None = None,
) -> str:
    """Words at a point, their vertical middle at `y`; where they are cut, the whole stands in a tooltip."""
    whole = on_one_line(words)
    cut = on_one_line(words, longest)
    hint = element("title", escape(whole)) if cut != whole else ""
    return element(
        "text",
        escape(cut, quote=False) + hint,
        x=float(x),
        y=float(y),
        dy="0.35em",
        text_anchor=None if anchor == "start" else anchor,
        class_=class_,
        transform=f"rotate({number(rotate)} {number(x)} {number(y)})" if rotate else None,
    )


def label_width(labels: Iterable[str], *, longest: int) -> float:
    """Room for the longest of the labels, each cut at `longest` characters."""
    return max((len(on_one_line(label, longest)) for label in labels), default=0) * _CHARACTER_PX


def line(x1: float, y1: float, x2: float, y2: float, class_: str) -> str:
    return element("path", d=f"M{number(x1)} {number(y1)}L{number(x2)} {number(y2)}", class_=class_)


def rectangle(  # noqa: PLR0913  (what SVG's own element has)
    x: float, y: float, width: float, height: float, class_: str, *, rounded: float | None = None, hint: str = ""
) -> str:
    return element(
        "rect",
        *([element("title", escape(on_one_line(hint)))] if hint else []),
        x=float(x),
        y=float(y),
        width=float(width),
        height=float(height),
        rx=rounded,
        class_=class_,
    )


def circle(x: float, y: float, radius: float, class_: str, *, hint: str = "") -> str:
    return element(
        "circle",
        *([element("title", escape(on_one_line(hint)))] if hint else []),
        cx=float(x),
        cy=float(y),
        r=float(radius),
        class_=class_,
    )


def polyline(points: Iterable[tuple[float, float]], class_: str, *, closed: bool = False) -> str:
    """A line through the points, or the area they enclose; nothing where there is none."""
    places = [f"{number(x)} {number(y)}" for x, y in points]
    return element("path", d=f"M{'L'.join(places)}{'Z' if closed else ''}", class_=class_) if places else ""


def dots(points: Iterable[tuple[float, float]], class_: str) -> str:
    """Many dots in one element: strokes without length, whose round caps are the dots. Ten bytes per dot, not fifty."""
    places = [f"M{number(x)} {number(y)}h0" for x, y in points]
    return element("path", d="".join(places), class_=class_) if places else ""


MARKERS = 7


def marker(kind: int, x: float, y: float, size: float, class_: str) -> str:
    """One of seven shapes, told apart without colour: disc, square, triangle, diamond, cross, triangle down, plus."""
    s = size
    if kind % MARKERS == 0:
        return circle(x, y, s, class_)
    outlines: dict[int, list[tuple[float, float]]] = {
        1: [(-s, -s), (s, -s), (s, s), (-s, s)],
        2: [(0, -1.2 * s), (1.2 * s, s), (-1.2 * s, s)],
        3: [(0, -1.4 * s), (1.4 * s, 0), (0, 1.4 * s), (-1.4 * s, 0)],
        4: _cross(s, diagonal=True),
        5: [(0, 1.2 * s), (1.2 * s, -s), (-1.2 * s, -s)],
        6: _cross(s, diagonal=False),
    }
    return polyline([(x + dx, y + dy) for dx, dy in outlines[kind % MARKERS]], class_, closed=True)


def _cross(size: float, *, diagonal: bool) -> list[tuple[float, float]]:
    arm, half = 1.35 * size, 0.45 * size
    corners = [
        (-half, -arm),
        (half, -arm),
        (half, -half),
        (arm, -half),
        (arm, half),
        (half, half),
        (half, arm),
        (-half, arm),
        (-half, half),
        (-arm, half),
        (-arm, -half),
        (-half, -half),
    ]
    if not diagonal:
        return corners
    turn = 0.7071
    return [(turn * (x - y), turn * (x + y)) for x, y in corners]


# From figures to pixels, and the round figures an axis is labelled with.


@dataclass(frozen=True)
class Scale:
    """A straight line from [low, high] to [start, end] pixels."""

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        share = (value - self.low) / (self.high - self.low)
        return self.start + min(max(share, 0.0), 1.0) * (self.end - self.start)

    def ticks(self, wanted: int = 5) -> list[float]:
        """Multiples of 1, 2 or 5 times a power of ten inside the range, about `wanted` of them."""
        step = _nice_step((self.high - self.low) / max(1, wanted))
        first, last = math.ceil(self.low / step - 1e-9), math.floor(self.high / step + 1e-9)
        return [round(index * step, 12) for index in range(first, last + 1)]


@dataclass(frozen=True)
class BrokenScale:
    """A scale for all values but the worst one, which lies beyond a break: between the break and the worst value the
    axis is not to scale."""

    main: Scale
    worst: float
    place: float  # of the worst value, in pixels
    gap: float  # where the break is drawn, in pixels

    def __call__(self, value: float) -> float:
        edge, end = (self.main.high, self.main.end) if self.place > self.gap else (self.main.low, self.main.start)
        beyond = (value - edge) / (self.worst - edge)
        return self.main(value) if beyond <= 0 else end + min(beyond, 1.0) * (self.place - end)

    def ticks(self, wanted: int = 5) -> list[float]:
        """Those of the main part, and the worst value."""
        return [*self.main.ticks(wanted), self.worst]

    @property
    def start(self) -> float:
        return min(self.main.start, self.place)

    @property
    def end(self) -> float:
        return max(self.main.end, self.place)


AnyScale = Scale | BrokenScale
_BREAK_ROOM = 46.0
_WORTH_A_BREAK = 2.0


def scale_with_break(  # noqa: PLR0913  (what an axis needs)
    values: Iterable[float], *, worst: float, start: float, end: float, lowest: float, highest: float
) -> AnyScale:
    """`scale_for`, with a break before the worst value where that lies farther from the others than twice their range:
    a few lost cases must not press all others into a corner."""
    finite = [value for value in values if math.isfinite(value)]
    others = [value for value in finite if value != worst]
    if len(others) < 2 or len(others) == len(finite):
        return scale_for(finite, start=start, end=end, lowest=lowest, highest=highest)
    low, high = min(others), max(others)
    distance = max(low - worst, worst - high)
    if high == low or distance <= _WORTH_A_BREAK * (high - low):
        return scale_for(finite, start=start, end=end, lowest=lowest, highest=highest)
    if worst > high:
        main = scale_for(others, start=start, end=end - _BREAK_ROOM, lowest=lowest, highest=highest)
        return BrokenScale(main, worst, end, end - _BREAK_ROOM / 2)
    main = scale_for(others, start=start + _BREAK_ROOM, end=end, lowest=lowest, highest=highest)
    return BrokenScale(main, worst, start, start + _BREAK_ROOM / 2)


def scale_for(
    values: Iterable[float],
    *,
    start: float,
    end: float,
    lowest: float = -math.inf,
    highest: float = math.inf,
) -> Scale:
    """A scale that holds the finite values with round ends, inside the declared range; never of no length.

    A declared bound is kept as the end where the values come near it: a Dice axis that almost reaches 1 shows 1.
    """
    finite = [value for value in values if math.isfinite(value)]
    low, high = (min(finite), max(finite)) if finite else (0.0, 1.0)
    if high - low <= 1e-12 * max(abs(low), abs(high), 1e-12):  # one value, or differences that are rounding
        pad = max(abs(low), abs(high)) * 0.1 or 0.5
        low, high = low - pad, high + pad
    step = _nice_step((high - low) / 5)
    low, high = math.floor(low / step + 1e-9) * step, math.ceil(high / step - 1e-9) * step
    low, high = max(low, lowest), min(high, highest)
    if not low < high:  # all values on a declared bound
        low, high = (low - step, low) if low >= highest else (low, low + step)
    return Scale(low, high, start, end)


def _nice_step(rough: float) -> float:
    power = 10.0 ** math.floor(math.log10(rough))
    return next(factor for factor in (1, 2, 5, 10) if factor * power >= rough * (1 - 1e-9)) * power
