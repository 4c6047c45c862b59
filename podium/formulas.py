"""The formulas of challenge.toml: parsed once, checked against the declared names, evaluated on numbers and, unchanged,
on arrays of bootstrap replicates.

    expression   numbers, dotted names, + - * / **, parentheses
    functions    mean min max clip sqrt exp log abs harmonic
    mean(ap.*)   every figure of that form, in mean, min, max and harmonic

A figure without a value is NaN, and so is a formula that needs it; arithmetic without a result, as 1 / 0, is infinite.

Nothing else is a formula: no text of a challenge.toml is ever run as Python.
"""

import ast
import itertools
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from podium.metrics import Floats

LONGEST = 4000  # characters
DEEPEST = 200  # operations inside each other: nodes call each other; a sum of 200 terms is 199 deep
_ARGUMENTS = {"clip": 3, "sqrt": 1, "exp": 1, "log": 1, "abs": 1}  # the other functions take one or more
_FUNCTIONS = ("mean", "min", "max", "clip", "sqrt", "exp", "log", "abs", "harmonic")
_OPERATORS: Mapping[type[ast.operator], str] = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.Pow: "**"}
_TOKEN = re.compile(
    r"(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)(?![\w.])"
    r"|(?P<name>[A-Za-z_]\w*(?:\.(?:\w+|\*))*)|(?P<sign>[-+*/(),])|(?P<space>\s)|(?P<other>\S+)",
    re.ASCII,
)

# What the operators and functions of formulas compute, on numbers or on arrays of replicates.


Kept = NDArray[np.bool_]  # [argument, ...]: those that count


def _harmonic(values: Floats, kept: Kept) -> Floats:
    """Harmonic mean of values that are not negative: 0 where one of them is 0."""
    mean = np.count_nonzero(kept, axis=0) / np.sum(1 / values, axis=0, where=kept)
    return np.where(((values == 0) & kept).any(axis=0), 0.0, mean)


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
    "clip": lambda value, lowest, highest: np.minimum(np.maximum(value, lowest), highest),  # not np.clip: it keeps -0.0
    "sqrt": np.sqrt,
    "exp": np.exp,
    "log": np.log,
    "abs": np.abs,
}


# Range and direction of a formula, derived from those of its terms before anything is scored.


@dataclass(frozen=True, kw_only=True)
class Known:
    """What is known of a figure before anything is scored."""

    lowest: float = -math.inf
    highest: float = math.inf
    better: int | None = 0  # 1: higher is better, -1: lower is, 0: it says nothing about quality, None: it depends
    worst: float = math.nan  # what it counts as where it has no value and a formula asks for its worst
    undefined_when: str = ""  # when the references leave it without a value, as in "has no value ..."


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
    return Known(lowest=-value.highest, highest=-value.lowest, better=_scaled(value, -1))


def _sign(value: Known) -> int | None:
    return 1 if value.lowest >= 0 else -1 if value.highest <= 0 else None


def _product(one: Known, other: Known) -> Known:
    ends = itertools.product((one.lowest, one.highest), (other.lowest, other.highest))
    corners = [a * b if a and b else 0.0 for a, b in ends]  # 0 times infinity is 0 here
    better = _together(_scaled(one, _sign(other)), _scaled(other, _sign(one)))
    return _between(corners, better)


def _scaled(value: Known, sign: int | None) -> int | None:
    """The direction of `value` times something of this sign."""
    if value.better == 0:
        return 0
    return None if sign is None or value.better is None else sign * value.better


def _inverse(value: Known) -> Known:
    if value.lowest < 0 < value.highest:
        return Known(better=None if value.better else value.better)
    ends = [
        math.copysign(math.inf, value.lowest + value.highest) if end == 0 else 1 / end
        for end in (value.lowest, value.highest)
    ]
    return _between(ends, _scaled(value, -1))


def _power(base: Known, power: Known) -> Known:
    if power.lowest != power.highest or base.lowest < 0:
        better = 0 if base.better == power.better == 0 else None
        return Known(lowest=0.0 if base.lowest >= 0 else -math.inf, better=better)
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
    "exp": _rising(lambda end: math.exp(end) if end < 700 else math.inf),
    "log": _rising(lambda end: math.log(end) if end > 0 else -math.inf),
    "abs": _absolute,
    "harmonic": _all(min, max),
}


# The parts of a parsed formula.


@dataclass(frozen=True)
class Operation:
    """An operator or a function with its arguments."""

    operator: str
    arguments: tuple["Node", ...]


Node = float | str | Operation  # a part of a parsed formula: a number, a figure by its dotted name, or an operation


def compute(node: Node, values: Mapping[str, Floats], *, exclude: bool = False) -> tuple[Floats, Kept]:
    """The value, not finite where the arithmetic has no result; and whether everything that it needs has a value. With
    `exclude`, means, minima and maxima leave out what has none."""
    if not isinstance(node, Operation):
        value = values[node] if isinstance(node, str) else np.asarray(node)
        return value, ~np.isnan(value)
    arguments, defined = zip(*(compute(each, values, exclude=exclude) for each in node.arguments), strict=True)
    kept = np.stack(np.broadcast_arrays(*defined))
    with np.errstate(all="ignore"):
        if node.operator not in REDUCTIONS:
            return np.asarray(ARITHMETIC[node.operator](*arguments)), np.asarray(kept.all(axis=0))
        stacked = np.stack(np.broadcast_arrays(*arguments))
        value = np.asarray(REDUCTIONS[node.operator](stacked, kept if exclude else np.ones_like(kept)))
        return value, np.asarray(kept.any(axis=0) if exclude else kept.all(axis=0))


def known_of(node: Node, terms: Mapping[str, Known]) -> Known:
    """Range and direction, derived from those of the terms."""
    if not isinstance(node, Operation):
        return terms[node] if isinstance(node, str) else Known(lowest=node, highest=node)
    return RANGES[node.operator](*[known_of(each, terms) for each in node.arguments])


def names_in(node: Node) -> Iterator[str]:
    """Every name in a formula, in order, with repetitions."""
    if isinstance(node, str):
        yield node
    for each in node.arguments if isinstance(node, Operation) else ():
        yield from names_in(each)


def expanded(node: Node, matching: Callable[[str], Sequence[str]]) -> Node:
    """The formula with names such as `ap.*` replaced by those that they stand for; raises FormulaError outside of mean,
    min, max and harmonic."""
    if isinstance(node, str) and "*" in node:
        raise FormulaError(f"has '{node}', which stands for several figures: write mean({node}), or min, max, harmonic")
    if not isinstance(node, Operation):
        return node
    arguments: list[Node] = []
    for each in node.arguments:
        is_pattern = isinstance(each, str) and "*" in each and node.operator in REDUCTIONS
        arguments += matching(str(each)) if is_pattern else [expanded(each, matching)]
    return Operation(node.operator, tuple(arguments))


def weighted_sum(node: Node) -> dict[str, float]:
    """The weight of every name in a sum such as `0.4 * dice + 0.6 * nsd`; empty for another formula."""
    match node:
        case str():
            return {node: 1.0}
        case Operation("*", (float(weight), str(name))) | Operation("*", (str(name), float(weight))):
            return {name: weight}
        case Operation("+", (one, other)):
            first, second = weighted_sum(one), weighted_sum(other)
            return first | second if first and second and not first.keys() & second.keys() else {}
    return {}


def titled(text: str, titles: Mapping[str, str]) -> str:
    """A formula with titles instead of names, for people."""
    return _TOKEN.sub(lambda token: titles.get(token[0], token[0]), text)


def evaluated(node: Node, values: Mapping[str, Floats], *, exclude: bool = False) -> Floats:
    """The formula's value on numbers or on replicates: NaN where something that it needs has none, infinite where the
    arithmetic has no result. With `exclude`, means, minima and maxima leave out what has no value."""
    found, defined = compute(node, values, exclude=exclude)
    return np.where(defined, np.where(np.isnan(found), np.inf, found), np.nan)


# From the text of a formula to its nodes. Python's parser gives the structure; nothing is ever compiled or run.


class FormulaError(ValueError):
    """The text is not a valid formula; the message says where."""


def parse(text: str) -> Node:
    """The formula in `text`, by Python's precedence; raises FormulaError where it is not valid.

    Python cannot parse names such as `f1.class` or `groups.2024.mae`. So every name and number is masked by a plain one
    of its length, and read from the text at its position.
    """
    if len(text) > LONGEST:
        raise FormulaError(f"is longer than {LONGEST:,} characters")
    text = re.sub(r"\s", " ", text.strip(), flags=re.ASCII)  # messages quote it in one printable line
    masked = _TOKEN.sub(_masked, text)
    try:
        return _node(ast.parse(masked, mode="eval").body, text)
    except SyntaxError as error:
        rest = text[error.offset - 1 :][:20] if error.offset else ""
        where = f"near '{rest}'" if rest else "at its end"
        raise FormulaError(f"is not valid {where}: {error.msg}") from None
    except (RecursionError, MemoryError):
        raise _too_deep() from None


def _masked(token: re.Match[str]) -> str:
    found = token[0]
    match token.lastgroup:
        case "number" if math.isinf(float(found)):
            raise FormulaError(f"has the number '{found[:20]}', which is too large")
        case "number":
            return "1" * len(found)
        case "name":
            return "x" * len(found)
        case "other":
            raise FormulaError(f"has {found[:20]!r}, which is neither a number, a name nor an operator")
    return found


def _too_deep() -> FormulaError:
    return FormulaError(
        f"has more than {DEEPEST} operations inside each other, or terms in a row; split it into figures"
    )


def _node(found: ast.expr, text: str, depth: int = 0) -> Node:
    """The part of a formula that Python's parser found in its masked text."""
    if depth == DEEPEST:
        raise _too_deep()
    written = text[found.col_offset : found.end_col_offset]
    match found:
        case ast.Constant():
            return float(written)
        case ast.Name():
            return written
        case ast.UnaryOp(op=ast.UAdd()):
            return _node(found.operand, text, depth + 1)
        case ast.UnaryOp(op=ast.USub()):
            return Operation("negative", (_node(found.operand, text, depth + 1),))
        case ast.BinOp() if type(found.op) in _OPERATORS:
            sides = (_node(found.left, text, depth + 1), _node(found.right, text, depth + 1))
            return Operation(_OPERATORS[type(found.op)], sides)
        case ast.Call(func=ast.Name(), keywords=[]):
            arguments = tuple(_node(each, text, depth + 1) for each in found.args)
            return _call(text[found.func.col_offset : found.func.end_col_offset], arguments)
    raise FormulaError(f"has '{written[:20]}', which is neither a number, a name nor an operation")


def _call(function: str, arguments: tuple[Node, ...]) -> Node:
    if function not in _FUNCTIONS:
        raise FormulaError(f"calls '{function}', which is not a function; the functions are: {', '.join(_FUNCTIONS)}")
    wanted = _ARGUMENTS.get(function, max(1, len(arguments)))
    if len(arguments) != wanted:
        raise FormulaError(f"gives {function} {len(arguments)} arguments; it takes {wanted}")
    return Operation(function, arguments)
