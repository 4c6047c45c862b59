"""The area under a curve of equally spaced values: how soon a figure rises, not only how high it gets."""

import math
from collections.abc import Sequence
from itertools import pairwise


def trapezoid_area(values: Sequence[float]) -> float:
    """Trapezoidal rule with unit spacing, not divided by anything: six perfect steps give 5. One value has no area."""
    return math.fsum((left + right) / 2 for left, right in pairwise(values))


def mean_height(values: Sequence[float]) -> float:
    """The area divided by its width, n - 1; the value itself where there is only one: comparable for any length."""
    return trapezoid_area(values) / (len(values) - 1) if len(values) > 1 else values[0]
