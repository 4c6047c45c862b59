"""Simulated scribbles: hand calculations, properties, and a literal reading."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from literal import scribbles as literal
from numpy.typing import NDArray
from properties import examples
from scipy.ndimage import binary_opening

from podium.errors import UsageError
from podium.tools.simulation.scribbles import (
    STRATEGIES,
    Scribbles,
    correct,
    largest_component,
    read_scribbles,
    scribble,
    strategy_of,
    write_scribbles,
)

pytestmark = pytest.mark.slow

Mask = NDArray[np.bool_]


def bar(length: int) -> Mask:
    """A bar along x at y = 2, z = 1."""
    mask = np.zeros((length + 4, 5, 3), bool)
    mask[2 : 2 + length, 2, 1] = True
    return mask


@st.composite
def masks(draw: st.DrawFn, shape: tuple[int, int, int]) -> Mask:
    noise = draw(arrays(np.uint8, shape, elements=st.integers(0, 9)))
    mask = noise < draw(st.integers(0, 10))
    if draw(st.booleans()):
        mask = np.stack([binary_opening(mask[:, :, z], np.ones((2, 2))) for z in range(shape[2])], axis=2)
    return np.asarray(mask, bool)


@st.composite
def pairs(draw: st.DrawFn) -> tuple[Mask, Mask]:
    shape = draw(st.tuples(st.integers(1, 16), st.integers(1, 14), st.integers(1, 3)))
    return draw(masks(shape)), draw(masks(shape))


@pytest.mark.parametrize(
    ("strategy", "length", "kept"),
    [
        ("random", 10, (0, 2)),  # Random(42) draws 1 and 0 of 0..9
        # A bar is all boundary; from its second pixel max(2, int(0.2 * 10)) = 2 moves: back first, then stuck.
        ("boundary", 10, (0, 2)),
        # A bar is its own skeleton; [int(0.1 n) : int(0.9 n)] of it is kept where n > 10.
        *[("centerline", 10, (0, 10)), ("centerline", 11, (1, 9)), ("centerline", 20, (2, 18))],
        *((strategy, 1, (0, 1)) for strategy in STRATEGIES),
        *((strategy, 0, (0, 0)) for strategy in STRATEGIES),
    ],
)
def test_the_scribble_on_a_bar_by_hand(strategy: str, length: int, kept: tuple[int, int]) -> None:
    assert scribble(bar(length), strategy) == tuple((2 + x, 2, 1) for x in range(*kept))


def test_the_largest_component_of_any_slice_wins_and_the_first_of_equals() -> None:
    error = np.zeros((9, 9, 4), bool)
    error[0, 0:4, 1] = True
    error[5, 0:4, 1] = True
    error[0, 0:4, 3] = True
    component, z = largest_component(error) or (None, None)
    assert z == 1
    assert np.argwhere(component).tolist() == [[0, 0], [0, 1], [0, 2], [0, 3]]
    error[8, 2:7, 2] = True
    assert (largest_component(error) or (None, None))[1] == 2


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_equal_components_in_one_slice_are_taken_in_the_order_y_x(strategy: str) -> None:
    """The worked example: the slice is read along x within y, as the organisers' arrays lie in memory."""
    error = np.zeros((4, 4, 1), bool)
    error[0, 2, 0] = error[2, 0, 0] = True
    assert scribble(error, strategy) == ((2, 0, 0),)
    assert literal.scribble(error, strategy) == [(2, 0, 0)]


def test_pixels_that_touch_at_a_corner_are_one_component() -> None:
    error = np.zeros((4, 4, 1), bool)
    error[0, 0, 0] = error[1, 1, 0] = error[2, 2, 0] = True
    assert scribble(error, "centerline") == ((0, 0, 0), (1, 1, 0), (2, 2, 0))


def test_the_longer_scribble_is_used_and_tumor_on_a_tie() -> None:
    reference, prediction = np.zeros((30, 9, 2), bool), np.zeros((30, 9, 2), bool)
    reference[0:10, 1, 0] = prediction[0:10, 7, 0] = True
    assert correct(prediction=prediction, reference=reference, strategy="centerline")[0] == "tumor"
    prediction[0:20, 7, 0] = True
    name, points = correct(prediction=prediction, reference=reference, strategy="centerline")
    assert (name, len(points)) == ("background", 16)


@examples(200)
@given(pairs(), st.sampled_from(STRATEGIES))
def test_agrees_with_the_literal_reading_and_every_point_lies_in_the_error_it_corrects(
    pair: tuple[Mask, Mask], strategy: str
) -> None:
    prediction, reference = pair
    name, points = correct(prediction=prediction, reference=reference, strategy=strategy)
    assert (name, list(points)) == literal.correction(prediction, reference, strategy)
    error = reference & ~prediction if name == "tumor" else prediction & ~reference
    assert all(error[point] for point in points)
    assert len(set(points)) == len(points)
    assert bool(points) == bool((prediction != reference).any())


@examples(150)
@given(pairs(), st.sampled_from(STRATEGIES))
def test_a_scribble_stays_inside_one_component_of_one_slice(pair: tuple[Mask, Mask], strategy: str) -> None:
    error = pair[0]
    points = scribble(error, strategy)
    if not points:
        return
    assert len({z for _, _, z in points}) == 1
    z = points[0][2]
    inside = [piece for piece in literal.pieces(error[:, :, z]) if (points[0][0], points[0][1]) in piece]
    assert {(x, y) for x, y, _ in points} <= inside[0]


def test_strategies_are_dealt_by_thirds() -> None:
    assert [strategy_of(number) for number in range(7)] == ["centerline", "random", "boundary"] * 2 + ["centerline"]


def test_scribbles_in_the_platforms_form(tmp_path: Path) -> None:
    scribbles = Scribbles().with_points("background", [(1, 2, 3)]).with_points("tumor", [(4, 5, 6), (7, 8, 9)])
    write_scribbles(scribbles, tmp_path / "s.json")
    assert read_scribbles(tmp_path / "s.json") == scribbles
    assert scribbles.document() == {
        "version": {"major": 1, "minor": 0},
        "type": "Multiple points",
        "points": [
            {"point": [4, 5, 6], "name": "tumor"},
            {"point": [7, 8, 9], "name": "tumor"},
            {"point": [1, 2, 3], "name": "background"},
        ],
    }
    (tmp_path / "s.json").write_text('{"points": [{"point": [1, 2], "name": "tumor"}]}')
    with pytest.raises(UsageError, match="holds no scribbles"):
        read_scribbles(tmp_path / "s.json")
