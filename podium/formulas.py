"""The formulas of challenge.toml: parsed once, checked against the declared names, evaluated on numbers and, unchanged,
on arrays of bootstrap replicates.

    expression   numbers, dotted names, + - * / **, parentheses
    functions    mean min max clip sqrt exp log abs harmonic

A figure without a value is NaN, and so is a formula that needs it; arithmetic without a result, as 1 / 0, is infinite.

Nothing else is a formula: no text of a challenge.toml is ever run as Python.
"""

import math
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from podium.metrics import Floats

LONGEST = 4000  # characters
DEEPEST = 50  # brackets and signs inside each other: the parser recurses
_ARGUMENTS = {"clip": 3, "sqrt": 1, "exp": 1, "log": 1, "abs": 1}  # the other functions take one or more
_FUNCTIONS = ("mean", "min", "max", "clip", "sqrt", "exp", "log", "abs", "harmonic")
_TOKEN = re.compile(
    r"\s*(?:(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)(?![\w.])"
    r"|(?P<name>[A-Za-z_]\w*(?:\.\w+)*)|(?P<sign>\*\*|[-+*/(),]))",
    re.ASCII,
)

# What the operators and functions of formulas compute, on numbers or on arrays of replicates.


Kept = NDArray[np.bool_]  # [argument, ...]: those that count


def _harmonic(values: Floats, kept: Kept) -> Floats:
    """Harmonic mean of values that are not negative: 0 where one of them is 0."""
    mean = np.count_nonzero(kept, axis=0) / np.sum(1 / values, axis=0, where=kept)
    return np.where(((values == 0) & kept).any(axis=0), 0.0, mean)


def _clip(value: Floats, lowest: Floats, highest: Floats) -> Floats:
    return np.asarray(np.minimum(np.maximum(value, lowest), highest))


REDUCTIONS: Mapping[str, Callable[[Floats, Kept], Floats]] = {
    "mean": lambda values, kept: np.sum(np.where(kept, values, 0.0), axis=0) / np.count_nonzero(kept, axis=0),
    "min": lambda values, kept: np.min(values, axis=0, where=kept, initial=np.inf),
    "max": lambda values, kept: np.max(values, axis=0, where=kept, initial=-np.inf),
    "harmonic": _harmonic,
}
"""What can leave out terms without a value."""

ARITHMETIC: Mapping[str, Callable[..., Floats]] = {
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    "/": np.true_divide,
    "**": lambda base, power: np.power(np.asarray(base, dtype=np.float64), power),
    "negative": np.negative,
    "clip": _clip,
    "sqrt": np.sqrt,
    "exp": np.exp,
    "log": np.log,
    "abs": np.abs,
}


# Range and direction of a formula, derived from those of its terms before anything is scored.


@dataclass(frozen=True, kw_only=True)
class Known:
    """What is known of a figure before anything is scored.

    better       1: higher is better, -1: lower is better, 0: it says nothing about quality, None: it depends
    worst        what it counts as where it has no value and a formula asks for its worst
    no_value_if  when the references leave it without a value, as in "has no value ..."
    """

    lowest: float = -math.inf
    highest: float = math.inf
    better: int | None = 0
    worst: float = math.nan
    no_value_if: str = ""

    @property
    def is_positive(self) -> bool:
        return self.lowest >= 0

    @property
    def is_negative(self) -> bool:
        return self.highest <= 0

    def rising_with(self, sign: int) -> int | None:
        """`better` of something that rises (1) or falls (-1) with this."""
        return None if self.better is None else sign * self.better


def _together(*qualities: int | None) -> int | None:
    """The direction of something that depends on several: theirs, where they agree."""
    found = {quality for quality in qualities if quality != 0}
    if not found:
        return 0
    return found.pop() if len(found) == 1 else None


def _between(values: Sequence[float], better: int | None) -> Known:
    if any(math.isnan(value) for value in values):
        return Known(better=better)
    return Known(lowest=min(values), highest=max(values), better=better)


def _add(one: Known, other: Known) -> Known:
    return _between([one.lowest + other.lowest, one.highest + other.highest], _together(one.better, other.better))


def _negative(value: Known) -> Known:
    return Known(lowest=-value.highest, highest=-value.lowest, better=value.rising_with(-1))


def _sign(value: Known) -> int | None:
    return 1 if value.is_positive else -1 if value.is_negative else None


def _product(one: Known, other: Known) -> Known:
    corners = [_times(a, b) for a in (one.lowest, one.highest) for b in (other.lowest, other.highest)]
    better = _together(_scaled(one, _sign(other)), _scaled(other, _sign(one)))
    return _between(corners, better)


def _scaled(value: Known, sign: int | None) -> int | None:
    """The direction of `value` times something of this sign."""
    if value.better == 0:
        return 0
    return None if sign is None else value.rising_with(sign)


def _times(one: float, other: float) -> float:
    return 0.0 if one == 0 or other == 0 else one * other


def _inverse(value: Known) -> Known:
    if value.lowest < 0 < value.highest:
        return Known(better=None if value.better else value.better)
    ends = [
        math.copysign(math.inf, value.lowest + value.highest) if end == 0 else 1 / end
        for end in (value.lowest, value.highest)
    ]
    return _between(ends, value.rising_with(-1))


def _power(base: Known, power: Known) -> Known:
    if power.lowest != power.highest or not base.is_positive:
        better = 0 if base.better == power.better == 0 else None
        return Known(lowest=0.0 if base.is_positive else -math.inf, better=better)
    number = power.lowest
    if number < 0:
        return _power(_inverse(base), Known(lowest=-number, highest=-number))
    return _between([_raised(end, number) for end in (base.lowest, base.highest)], base.better if number else 0)


def _raised(base: float, power: float) -> float:
    try:
        return math.pow(base, power)  # as `**`, but always a float
    except OverflowError:
        return math.inf


def _mean(ends: Sequence[float]) -> float:
    return sum(ends) / len(ends)


Reduce = Callable[[Sequence[float]], float]


def _all(lowest: Reduce, highest: Reduce) -> Callable[..., Known]:
    """What is known of a function of all values, by what it makes of their ends."""

    def known(*values: Known) -> Known:
        ends = [lowest([value.lowest for value in values]), highest([value.highest for value in values])]
        return _between(ends, _together(*(value.better for value in values)))

    return known


def _clipped(value: Known, lowest: Known, highest: Known) -> Known:
    return Known(
        lowest=min(max(value.lowest, lowest.lowest), highest.lowest),
        highest=min(max(value.highest, lowest.highest), highest.highest),
        better=_together(value.better, lowest.better, highest.better),
    )


def _rising(function: Callable[[float], float]) -> Callable[[Known], Known]:
    def known(value: Known) -> Known:
        return _between([function(end) for end in (value.lowest, value.highest)], value.better)

    return known


def _exp(value: float) -> float:
    return math.exp(value) if value < 700 else math.inf


def _log(value: float) -> float:
    return math.log(value) if value > 0 else -math.inf


def _absolute(value: Known) -> Known:
    sign = _sign(value)
    if sign is not None:
        return value if sign == 1 else _negative(value)
    return Known(lowest=0.0, highest=max(-value.lowest, value.highest), better=0 if value.better == 0 else None)


RANGES: Mapping[str, Callable[..., Known]] = {
    "+": _add,
    "-": lambda one, other: _add(one, _negative(other)),
    "*": _product,
    "/": lambda one, other: _product(one, _inverse(other)),
    "**": _power,
    "negative": _negative,
    "mean": _all(_mean, _mean),
    "min": _all(min, min),
    "max": _all(max, max),
    "clip": _clipped,
    "sqrt": _rising(lambda end: math.sqrt(max(end, 0.0))),
    "exp": _rising(_exp),
    "log": _rising(_log),
    "abs": _absolute,
    "harmonic": _all(min, max),
}


# The parts of a parsed formula.


class Node(ABC):
    """A part of a parsed formula."""

    @abstractmethod
    def value(self, values: Mapping[str, Floats], *, exclude: bool = False) -> Floats:
        """On numbers or on replicates; not finite where the arithmetic has no result. With `exclude`, means, minima and
        maxima leave out what is not defined."""

    @abstractmethod
    def defined(self, values: Mapping[str, Floats], *, exclude: bool = False) -> Kept:
        """Whether everything that it needs has a value."""

    @abstractmethod
    def known(self, terms: Mapping[str, Known]) -> Known:
        """Range and direction, derived from those of the terms."""

    def names(self) -> Iterator[str]:
        """Every name in it, in order, with repetitions."""
        yield from ()


@dataclass(frozen=True)
class Constant(Node):
    """A number."""

    number: float

    def value(self, values: Mapping[str, Floats], *, exclude: bool = False) -> Floats:  # noqa: ARG002  (the interface)
        return np.asarray(self.number)

    def defined(self, values: Mapping[str, Floats], *, exclude: bool = False) -> Kept:  # noqa: ARG002  (the interface)
        return np.asarray(True)

    def known(self, terms: Mapping[str, Known]) -> Known:  # noqa: ARG002  (the interface)
        return Known(lowest=self.number, highest=self.number)


@dataclass(frozen=True)
class Name(Node):
    """A figure by its dotted name."""

    name: str

    def value(self, values: Mapping[str, Floats], *, exclude: bool = False) -> Floats:  # noqa: ARG002  (the interface)
        return values[self.name]

    def defined(self, values: Mapping[str, Floats], *, exclude: bool = False) -> Kept:  # noqa: ARG002  (the interface)
        return ~np.isnan(values[self.name])

    def known(self, terms: Mapping[str, Known]) -> Known:
        return terms[self.name]

    def names(self) -> Iterator[str]:
        yield self.name


@dataclass(frozen=True)
class Operation(Node):
    """An operator or a function with its arguments."""

    operator: str
    arguments: tuple[Node, ...]

    def value(self, values: Mapping[str, Floats], *, exclude: bool = False) -> Floats:
        found = [each.value(values, exclude=exclude) for each in self.arguments]
        with np.errstate(all="ignore"):
            if self.operator not in REDUCTIONS:
                return np.asarray(ARITHMETIC[self.operator](*found))
            stacked = np.stack(np.broadcast_arrays(*found))
            kept = self._defined(values, exclude=True) if exclude else np.asarray(True)
            return np.asarray(REDUCTIONS[self.operator](stacked, np.broadcast_to(kept, stacked.shape)))

    def defined(self, values: Mapping[str, Floats], *, exclude: bool = False) -> Kept:
        some = exclude and self.operator in REDUCTIONS
        return np.asarray((np.any if some else np.all)(self._defined(values, exclude=exclude), axis=0))

    def _defined(self, values: Mapping[str, Floats], *, exclude: bool) -> Kept:
        return np.stack(np.broadcast_arrays(*(each.defined(values, exclude=exclude) for each in self.arguments)))

    def known(self, terms: Mapping[str, Known]) -> Known:
        return RANGES[self.operator](*[each.known(terms) for each in self.arguments])

    def names(self) -> Iterator[str]:
        for each in self.arguments:
            yield from each.names()


def evaluated(node: Node, values: Mapping[str, Floats], *, exclude: bool = False) -> Floats:
    """The formula's value, NaN where something that it needs has none, infinite where the arithmetic has no result."""
    found, defined = node.value(values, exclude=exclude), node.defined(values, exclude=exclude)
    return np.where(defined, np.where(np.isnan(found), np.inf, found), np.nan)


# From the text of a formula to its nodes.


class FormulaError(ValueError):
    """The text is not a valid formula; the message says where."""


def parse(text: str) -> Node:
    """The formula in `text`; raises FormulaError where it is not valid."""
    if len(text) > LONGEST:
        raise FormulaError(f"is longer than {LONGEST:,} characters")
    return _Parser(text).whole()


class _Parser:
    """By precedence, as in Python: `-a ** b` is -(a ** b), and `a ** b ** c` is a ** (b ** c)."""

    def __init__(self, text: str) -> None:
        self._tokens = list(_tokens(text))
        self._place = 0
        self._depth = 0

    def whole(self) -> Node:
        node = self._sum()
        if self._next is not None:
            raise FormulaError(f"has '{self._next}' where an operator or the end is expected")
        return node

    @property
    def _next(self) -> str | None:
        return self._tokens[self._place][1] if self._place < len(self._tokens) else None

    def _take(self) -> tuple[str, str]:
        if self._place == len(self._tokens):
            raise FormulaError("ends too early")
        self._place += 1
        return self._tokens[self._place - 1]

    def _expect(self, sign: str) -> None:
        if self._next != sign:
            found = "ends" if self._next is None else f"has '{self._next}'"
            raise FormulaError(f"{found} where '{sign}' is expected")
        self._place += 1

    def _sum(self) -> Node:
        return self._chain(self._product, ("+", "-"))

    def _product(self) -> Node:
        return self._chain(self._signed, ("*", "/"))

    def _chain(self, part: Callable[[], Node], operators: tuple[str, ...]) -> Node:
        node = part()
        while self._next in operators:
            node = Operation(self._take()[1], (node, part()))
        return node

    def _signed(self) -> Node:
        self._depth += 1
        if self._depth > DEEPEST:
            raise FormulaError(f"is nested deeper than {DEEPEST} levels")
        if self._next in ("-", "+"):
            sign = self._take()[1]
            node = self._signed()
            node = Operation("negative", (node,)) if sign == "-" else node
        else:
            node = self._atom()
            if self._next == "**":
                self._take()
                node = Operation("**", (node, self._signed()))
        self._depth -= 1
        return node

    def _atom(self) -> Node:
        kind, text = self._take()
        if kind == "number":
            if math.isinf(float(text)):
                raise FormulaError(f"has the number '{text[:20]}', which is too large")
            return Constant(float(text))
        if kind == "name":
            return self._call(text) if self._next == "(" else Name(text)
        if text == "(":
            node = self._sum()
            self._expect(")")
            return node
        raise FormulaError(f"has '{text}' where a number or a name is expected")

    def _call(self, function: str) -> Node:
        if function not in _FUNCTIONS:
            raise FormulaError(
                f"calls '{function}', which is not a function; the functions are: {', '.join(_FUNCTIONS)}"
            )
        self._expect("(")
        arguments = [self._sum()]
        while self._next == ",":
            self._take()
            arguments.append(self._sum())
        self._expect(")")
        wanted = _ARGUMENTS.get(function)
        if wanted is not None and len(arguments) != wanted:
            raise FormulaError(f"gives {function} {len(arguments)} arguments; it takes {wanted}")
        return Operation(function, tuple(arguments))


def _tokens(text: str) -> Iterator[tuple[str, str]]:
    place = 0
    text = text.rstrip()
    while place < len(text):
        match = _TOKEN.match(text, place)
        if match is None:
            found = text[place:].split()[0][:20]
            raise FormulaError(f"has {found!r}, which is neither a number, a name nor an operator")
        assert match.lastgroup is not None
        yield match.lastgroup, match[match.lastgroup]
        place = match.end()
