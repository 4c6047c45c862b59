"""The curves of a submission, out of its result rows."""

from collections.abc import Sequence
from typing import Any

from podium.figures import Figures
from podium.metrics.declaration import Curve
from podium.metrics.displacement import stretched

_LONGEST = 1_000_000  # a file that announces more is not believed


def curve_of(figures: Figures, curve: Curve) -> Sequence[float | None] | None:
    """The values along one case: a list at the curve's path, or one value of every object in a list on the way.

    None where the row does not have it, as anonymous rows may not.
    """
    values = _follow(figures, curve.name.split("."))
    if not isinstance(values, list) or not values:
        return None
    if not all(value is None or (isinstance(value, int | float) and not isinstance(value, bool)) for value in values):
        return None
    length = _follow(figures, curve.length.split(".")) if curve.length else None
    return stretched(values, length=length) if isinstance(length, int) and 0 < length <= _LONGEST else values


def _follow(value: Any, path: Sequence[str]) -> Any:
    for number, part in enumerate(path):
        if isinstance(value, list):
            return [_follow(each, path[number:]) for each in value]
        if not isinstance(value, dict) or part not in value:
            return None
        value = value[part]
    return value
