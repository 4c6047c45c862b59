"""What the operators and functions of formulas compute, on numbers or on arrays of replicates."""

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def _harmonic(*values: Floats) -> Floats:
    """Harmonic mean of values that are not negative: 0 where one of them is 0."""
    stacked = np.stack(np.broadcast_arrays(*values))
    mean = len(values) / np.sum(1 / stacked, axis=0)
    return np.where((stacked == 0).any(axis=0), 0.0, mean)


def _clip(value: Floats, lowest: Floats, highest: Floats) -> Floats:
    return np.asarray(np.minimum(np.maximum(value, lowest), highest))


def _stacked(reduce: Callable[..., Floats]) -> Callable[..., Floats]:
    return lambda *values: reduce(np.stack(np.broadcast_arrays(*values)), axis=0)


ARITHMETIC: Mapping[str, Callable[..., Floats]] = {
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    "/": np.true_divide,
    "**": lambda base, power: np.power(np.asarray(base, dtype=np.float64), power),
    "negative": np.negative,
    "mean": _stacked(np.mean),
    "min": _stacked(np.min),
    "max": _stacked(np.max),
    "clip": _clip,
    "sqrt": np.sqrt,
    "exp": np.exp,
    "log": np.log,
    "abs": np.abs,
    "harmonic": _harmonic,
}
