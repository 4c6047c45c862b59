"""From the text of a formula to its nodes."""

import re
from collections.abc import Callable, Iterator

from podium.formulas.nodes import Constant, Name, Node, Operation

LONGEST = 4000  # characters
DEEPEST = 50  # brackets and signs inside each other: the parser recurses
_ARGUMENTS = {"clip": 3, "sqrt": 1, "exp": 1, "log": 1, "abs": 1}  # the other functions take one or more
_FUNCTIONS = ("mean", "min", "max", "clip", "sqrt", "exp", "log", "abs", "harmonic")

_TOKEN = re.compile(
    r"\s*(?:(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)(?![\w.])"
    r"|(?P<name>[A-Za-z_]\w*(?:\.\w+)*)|(?P<sign>\*\*|[-+*/(),]))",
    re.ASCII,
)


class FormulaError(ValueError):
    """The text is no formula; the message says where."""


def parse(text: str) -> Node:
    """The formula in `text`; FormulaError where it is none."""
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
            raise FormulaError(f"has '{self._next}' where it should end or go on with an operator")
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
            found = "it ends" if self._next is None else f"it has '{self._next}'"
            raise FormulaError(f"should have '{sign}' where {found}")
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
            return Constant(float(text))
        if kind == "name":
            return self._call(text) if self._next == "(" else Name(text)
        if text == "(":
            node = self._sum()
            self._expect(")")
            return node
        raise FormulaError(f"has '{text}' where a number or a name should be")

    def _call(self, function: str) -> Node:
        if function not in _FUNCTIONS:
            raise FormulaError(f"calls '{function}', which is no function; there are: {', '.join(_FUNCTIONS)}")
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
