"""The parts of a parsed formula."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from podium.formulas.arithmetic import ARITHMETIC, Floats
from podium.formulas.ranges import RANGES, Known


class Node(ABC):
    """A part of a parsed formula."""

    @abstractmethod
    def value(self, values: Mapping[str, Floats]) -> Floats:
        """On numbers or on replicates; not finite where the arithmetic has no result."""

    @abstractmethod
    def known(self, terms: Mapping[str, Known]) -> Known:
        """Range and direction, derived from those of the terms."""

    def names(self) -> Iterator[str]:
        """Every name in it, in order, repeated where it is."""
        yield from ()


@dataclass(frozen=True)
class Constant(Node):
    """A number."""

    number: float

    def value(self, values: Mapping[str, Floats]) -> Floats:  # noqa: ARG002  (the interface)
        return np.asarray(self.number)

    def known(self, terms: Mapping[str, Known]) -> Known:  # noqa: ARG002  (the interface)
        return Known(lowest=self.number, highest=self.number)


@dataclass(frozen=True)
class Name(Node):
    """A figure by its dotted name."""

    name: str

    def value(self, values: Mapping[str, Floats]) -> Floats:
        return values[self.name]

    def known(self, terms: Mapping[str, Known]) -> Known:
        return terms[self.name]

    def names(self) -> Iterator[str]:
        yield self.name


@dataclass(frozen=True)
class Operation(Node):
    """An operator or a function with its arguments."""

    operator: str
    arguments: tuple[Node, ...]

    def value(self, values: Mapping[str, Floats]) -> Floats:
        with np.errstate(all="ignore"):
            return np.asarray(ARITHMETIC[self.operator](*[each.value(values) for each in self.arguments]))

    def known(self, terms: Mapping[str, Known]) -> Known:
        return RANGES[self.operator](*[each.known(terms) for each in self.arguments])

    def names(self) -> Iterator[str]:
        for each in self.arguments:
            yield from each.names()
