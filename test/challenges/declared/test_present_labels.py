"""Which values a label image holds, however that is found out."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray

from podium.challenges.declared.values import _present_labels

IMAGES = arrays(
    st.sampled_from(["uint8", "int16", "uint16", "int32", "uint64"]),
    st.lists(st.integers(1, 9), min_size=2, max_size=3).map(tuple),
    elements=st.sampled_from([0, 0, 0, 1, 2, 3, 9, 127]),
)


@pytest.mark.parametrize("at_once", [5, 1 << 18])
@settings(max_examples=100, deadline=None)
@given(labels=IMAGES, likely=st.sets(st.sampled_from([0, 1, 2, 3, 9, 70_000]), max_size=6))
def test_all_values_and_no_others_are_found(labels: NDArray[Any], likely: set[int], at_once: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("podium.challenges.declared.values._COUNTED_AT_ONCE", at_once)
        assert _present_labels(labels, likely) == {int(value) for value in labels.flat}
