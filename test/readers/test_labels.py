"""Whole numbers from whatever type they were stored in."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from numpy.typing import NDArray

from podium.errors import Refused
from podium.readers.images import as_integer_labels


@pytest.mark.parametrize("kind", ["?", "u1", "u8", "i1", ">i4", "f2", "f4", "f8"])
def test_whole_numbers_of_any_type_are_labels(kind: str) -> None:
    labels = as_integer_labels(np.array([[0, 1], [1, 0]]).astype(kind), name="m")
    assert labels.tolist() == [[0, 1], [1, 0]]
    assert labels.dtype.kind == "u"


@pytest.mark.parametrize(("largest", "kind"), [(255, np.uint8), (256, np.uint16), (65536, np.uint32)])
def test_floats_become_the_smallest_type(largest: int, kind: type) -> None:
    labels = as_integer_labels(np.array([0.0, largest]), name="m")
    assert labels.dtype == kind
    assert labels.tolist() == [0, largest]


@pytest.mark.parametrize("kind", ["?", "u1", "u2", "i2", "i8"])
def test_integers_are_not_copied(kind: str) -> None:
    values = np.ones((3, 4), kind)
    assert np.shares_memory(as_integer_labels(values, name="m"), values)


@pytest.mark.parametrize(
    ("values", "words"),
    [
        (np.array([0, np.nan]), "'m' holds NaN; every pixel needs a label."),
        (np.array([np.nan, np.inf]), "'m' holds NaN; every pixel needs a label."),
        (np.array([0, np.inf]), "'m' holds infinite values; labels are whole numbers."),
        (np.array([0, -np.inf]), "'m' holds infinite values; labels are whole numbers."),
        (np.array([0, -2]), "'m' holds the negative value -2; labels start at 0."),
        (np.array([0, -0.5]), "'m' holds the negative value -0.5; labels start at 0."),
        (np.array([0, 1, 1.5]), "'m' holds the fractional value 1.5; labels are whole numbers."),
        (np.array([0, 1e30]), "'m' holds the value 1e+30, which is too large for a label."),
        (
            np.linspace(0, 1, 50),
            "'m' holds the fractional value 0.0204082; this looks like a probability map: send labels, "
            "for example by applying a threshold.",
        ),
        (
            np.array([0.5] + [0.0] * 999),
            "'m' holds the fractional value 0.5; labels are whole numbers.",
        ),
        (np.array([1j]), "'m' holds complex values; labels are whole numbers."),
        (np.array(["a"]), "'m' holds values of the type '<U1'; labels are whole numbers."),
        (np.array([None]), "'m' holds values of the type 'object'; labels are whole numbers."),
        (
            np.zeros((64, 64, 3), np.uint8),
            "'m' looks like an RGB image (3 values per pixel); send one label per pixel.",
        ),
        (
            np.zeros((64, 64, 4), np.float32),
            "'m' looks like an RGB image (4 values per pixel); send one label per pixel.",
        ),
    ],
)
def test_anything_else_is_refused_in_words(values: NDArray[Any], words: str) -> None:
    with pytest.raises(Refused) as refusal:
        as_integer_labels(values, name="m")
    assert str(refusal.value) == words


def test_a_small_volume_is_no_rgb_image() -> None:
    assert as_integer_labels(np.zeros((5, 5, 3), np.uint8), name="m").shape == (5, 5, 3)


def test_no_pixels_are_no_labels() -> None:
    assert as_integer_labels(np.zeros((0, 3)), name="m").shape == (0, 3)


@given(arrays.arrays(st.sampled_from([np.float16, np.float32, np.float64, np.int16, np.int64]), st.integers(1, 20)))
def test_labels_equal_their_values_or_are_refused(values: NDArray[Any]) -> None:
    try:
        labels = as_integer_labels(values, name="m")
    except Refused:
        with np.errstate(all="ignore"):
            assert not (np.isfinite(values) & (values >= 0) & (values < 2.0**63) & (values == np.floor(values))).all()
    else:
        assert labels.dtype.kind == "u"
        assert [int(label) for label in labels] == [int(value) for value in values]
