"""The SVG writer, scales, outlines and PNG: what plots are made of."""

import base64
import io
import math
import re
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from PIL import Image

from podium.tools.report.overlays import outline_path
from podium.tools.report.png import grey_levels, png_data_address, reduced
from podium.tools.report.svg import MARKERS, Scale, dots, element, marker, number, picture, scale_for, text

HOSTILE = """</text><script>alert(1)</script>" onload='x' & <b>"""


def test_whatever_is_written_is_text() -> None:
    svg = picture(
        width=10,
        height=10,
        title=HOSTILE,
        description=HOSTILE,
        parts=[text(1, 2, HOSTILE, longest=10), element("rect", class_=HOSTILE)],
    )
    tree = ElementTree.fromstring(svg)
    assert [child.tag for child in tree] == ["title", "desc", "text", "rect"]
    assert tree[0].text == HOSTILE
    assert tree[2][0].text == HOSTILE, "a label that was cut has the whole as its tooltip"
    assert tree[3].get("class") == HOSTILE


def test_coordinates_are_short() -> None:
    assert [number(value) for value in (12.0, 12.34, -0.04, 1e-9)] == ["12", "12.3", "0", "0"]


def test_dots_are_strokes_without_length() -> None:
    assert dots([(1, 2), (3.26, 4)], "dots") == '<path d="M1 2h0M3.3 4h0" class="dots"/>'
    assert dots([], "dots") == ""


def test_every_marker_has_a_shape_of_its_own() -> None:
    shapes = [marker(kind, 0, 0, 5, "m") for kind in range(MARKERS)]
    assert len(set(shapes)) == MARKERS
    assert marker(MARKERS, 0, 0, 5, "m") == shapes[0]


def test_a_scale_ends_on_round_figures_inside_the_declared_range() -> None:
    scale = scale_for([0.42, 0.97], start=0, end=100, lowest=0, highest=1)
    assert (scale.low, scale.high) == (pytest.approx(0.4), 1)
    assert scale.ticks(5) == [0.4, 0.6, 0.8, 1.0]


@given(st.lists(st.floats(-1e6, 1e6), max_size=20))
def test_every_value_lies_on_its_scale(values: list[float]) -> None:
    scale = scale_for(values, start=10, end=90)
    assert scale.low < scale.high
    for value in values:
        rounding = 1e-6 * (scale.high - scale.low)
        assert scale.low - rounding <= value <= scale.high + rounding
        assert 10 <= scale(value) <= 90
    assert len(scale.ticks()) <= 12


@pytest.mark.parametrize("values", [[1.0, 1.0], [0.0], [], [math.nan, math.inf]])
def test_a_scale_always_has_a_length(values: list[float]) -> None:
    scale = scale_for(values, start=0, end=100, lowest=0, highest=1)
    assert scale.low < scale.high
    assert all(0 <= scale(value) <= 100 for value in (0.0, 1.0))


def test_what_lies_outside_is_drawn_at_the_edge() -> None:
    assert Scale(0, 1, 0, 100)(7) == 100


def test_the_outline_of_one_pixel_and_of_a_ring() -> None:
    one = np.zeros((3, 3), bool)
    one[1, 1] = True
    assert outline_path(one) == "M1 1h1v1h-1v-1z"
    assert outline_path(~one) == "M0 0h3v3h-3v-3zM1 1v1h1v-1h-1z"
    assert outline_path(np.zeros((2, 2), bool)) == ""


def test_pixels_that_touch_at_a_corner_have_outlines_of_their_own() -> None:
    assert outline_path(np.eye(2, dtype=bool)) == "M0 0h1v1h-1v-1zM1 1h1v1h-1v-1z"


@given(arrays.arrays(bool, arrays.array_shapes(min_dims=2, max_dims=2, max_side=9)))
def test_filling_the_outline_gives_the_mask_back(mask: np.ndarray) -> None:
    """By the even-odd rule: a pixel is inside where a ray to its left crosses an odd number of upright edges."""
    crossings = np.zeros((mask.shape[0], mask.shape[1] + 1), int)
    for x0, y0, moves in re.findall(r"M(\d+) (\d+)([^M]*)z", outline_path(mask)):
        x, y = start = int(x0), int(y0)
        for axis, length in re.findall(r"([hv])(-?\d+)", moves):
            steps = int(length)
            if axis == "h":
                x += steps
            else:
                crossings[min(y, y + steps) : max(y, y + steps), x] += 1
                y += steps
        assert (x, y) == start, "an outline is closed"
    assert (np.cumsum(crossings, axis=1)[:, :-1] % 2 == mask).all()


def test_a_png_of_ours_is_read_by_others() -> None:
    image = np.arange(7 * 5, dtype=np.uint8).reshape(7, 5) * 7
    address = png_data_address(image)
    content = base64.b64decode(address.removeprefix("data:image/png;base64,"))
    assert (np.asarray(Image.open(io.BytesIO(content))) == image).all()


def test_large_images_are_reduced_by_means_and_grey_levels_are_spread() -> None:
    image = np.array([[0, 10, 200], [20, 30, 100]], np.uint8)
    assert reduced(image, longest=2).tolist() == [[15, 150]]
    assert reduced(image, longest=3) is image
    assert grey_levels(np.array([[5.0, 10.0]])).tolist() == [[0, 255]]
    assert grey_levels(np.full((2, 2), 7)).tolist() == [[0, 0], [0, 0]]
    assert grey_levels(np.array([[np.nan, 0.0, 1.0]])).tolist() == [[0, 0, 255]]
