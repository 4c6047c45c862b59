"""A metric's declaration refuses a worst value it could never have."""

import pytest

from podium.metrics.declaration import Metric


def test_worst_value_must_lie_in_the_range() -> None:
    with pytest.raises(ValueError, match=r"dice: worst value -1 is outside 0 to 1"):
        Metric(name="dice", title="Dice", direction="higher", lowest=0, highest=1, worst=-1)
