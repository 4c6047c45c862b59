"""A long run of values in few: the means of equal stretches, for curves in reports."""

import math
from collections.abc import Sequence


def stretch_means(values: Sequence[float], *, most: int = 100) -> list[float]:
    """At most `most` means, each of ceil(n / most) neighbours, the last of the rest; short runs stay as they are."""
    size = max(1, math.ceil(len(values) / most))
    parts = (values[start : start + size] for start in range(0, len(values), size))
    return [math.fsum(part) / len(part) for part in parts]


def stretched(means: Sequence[float | None], *, length: int) -> list[float | None]:
    """Each mean at every place it stands for, `length` in all: what `stretch_means` leaves of the run.

    The size of a stretch follows from the two lengths for runs of up to `most` squared values; beyond that a mean may
    stand a little beside its place.
    """
    size = max(1, math.ceil(length / max(1, len(means))))
    return [mean for mean in means for _ in range(size)][:length]
