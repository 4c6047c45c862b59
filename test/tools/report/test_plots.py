"""The figures behind plots, by hand and by the worked example of the ranking rules."""

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
from tools.report.made_rankings import GOLDEN_VALUES

from podium.metrics.declaration import Curve, Metric
from podium.tools.report.overlays import fill_path, outline_path
from podium.tools.report.plots.axes import defined, spread, summarise, thinned
from podium.tools.report.plots.curves import curves, significance_map
from podium.tools.report.plots.podium import PodiumPlace, places_in_case, podium_plot, podium_steps
from podium.tools.report.plots.ranks import blob_plot, density, rank_counts, rank_heatmap, scheme_lines, tau_violin
from podium.tools.report.plots.values import box_and_dots, distribution, is_yes_or_no, share_bars
from podium.tools.report.png import grey_levels, grey_window, png_data_address, reduced
from podium.tools.report.submission_report import curve_of
from podium.tools.report.svg import MARKERS, Scale, dots, element, marker, number, picture, scale_for, text

DICE = Metric(name="dice", title="Dice", direction="higher", lowest=0, highest=1, worst=0)
HD = Metric(name="hd", title="HD95", direction="lower", lowest=0, highest=math.inf, worst=math.inf, unit="mm")
STEPS = Curve(name="steps.dice", title="Dice", along="Step", direction="higher", lowest=0, highest=1)


def of_class(svg: str, name: str) -> list[ElementTree.Element]:
    return [each for each in ElementTree.fromstring(svg).iter() if name in each.get("class", "").split()]


def test_a_summary_by_hand() -> None:
    summary = summarise(defined([4, 1, None, 3, 2, math.inf, 100]))
    assert summary is not None
    assert (summary.n, summary.mean, summary.minimum, summary.maximum) == (5, 22, 1, 100)
    assert (summary.first_quartile, summary.median, summary.third_quartile) == (2, 3, 4)
    assert (summary.lower_whisker, summary.upper_whisker) == (1, 4), "100 lies beyond 4 + 1.5 * 2"
    assert summary.sd == pytest.approx(math.sqrt((441 + 400 + 361 + 324 + 6084) / 4))
    assert summarise(defined([])) is None


@given(st.lists(st.floats(0, 1), min_size=1, max_size=300), st.integers(2, 50))
def test_thinning_keeps_the_ends_and_the_order(values: list[float], most: int) -> None:
    ordered = defined(values)
    few = thinned(ordered, most)
    assert len(few) == min(len(ordered), most)
    assert (few[0], few[-1]) == (ordered[0], ordered[-1])
    assert (np.diff(few) >= 0).all()
    assert set(few) <= set(ordered)


def test_dots_spread_over_their_row() -> None:
    offsets = spread(100)
    assert min(offsets) >= -1
    assert max(offsets) <= 1
    assert np.std(offsets) > 0.5


def test_ranks_of_the_worked_example_are_counted() -> None:
    """A 1,1,1,1,1,1,1,4; B 3,3,3,2,2,2,2,1; C 2,2,1,3,4,3,3,2; D 4,4,4,4,2,4,4,3, here in the order B, C, A, D."""
    ranks = [
        [3, 3, 3, 2, 2, 2, 2, 1],
        [2, 2, 1, 3, 4, 3, 3, 2],
        [1, 1, 1, 1, 1, 1, 1, 4],
        [4, 4, 4, 4, 2, 4, 4, 3],
    ]
    assert rank_counts(np.array(ranks)).tolist() == [[1, 4, 3, 0], [1, 3, 3, 1], [7, 0, 0, 1], [0, 1, 1, 6]]


def test_the_heat_map_prints_its_counts() -> None:
    exhibit = rank_heatmap("Dice", ["a", "b"], counts=np.array([[3, 1], [1, 3]]))
    assert exhibit.table.rows == [("a", "3", "1"), ("b", "1", "3")]
    assert [each.text for each in of_class(exhibit.svg, "cell")] == ["3", "1", "1", "3"]


def test_the_podium_plot_gives_every_place_once() -> None:
    """As the worked example has it, the ties of c3 (A, C) and c5 (B, D) broken by the order B, C, A, D."""
    values = np.array(GOLDEN_VALUES, dtype=float)
    places = places_in_case(values, higher_is_better=True)
    assert sorted(places[:, 2].tolist()) == [0, 1, 2, 3]
    assert places[:, 2].tolist() == [2, 0, 1, 3]
    assert places[:, 4].tolist() == [1, 3, 0, 2]
    exhibit = podium_plot(DICE, ["B", "C", "A", "D"], np.nan_to_num(values))
    assert exhibit.table.rows[2] == ("A", "6", "1", "0", "1")
    assert "A has rank 1 most often, in 6 cases." in exhibit.svg
    assert len(of_class(exhibit.svg, "case-link")) == 8


def test_ties_share_a_step_of_the_podium() -> None:
    places = [PodiumPlace(rank=rank, team=team, score=team) for rank, team in ((1, "a"), (1, "b"), (3, "c"), (4, "d"))]
    exhibit = podium_steps(places)
    assert [each.text for each in of_class(exhibit.svg, "podium-name")] == ["b", "a", "c"]
    assert [each.text for each in of_class(exhibit.svg, "medal-number")] == ["1=", "1=", "3"]
    gold = of_class(exhibit.svg, "fill-gold")
    assert len({each.get("height") for each in gold}) == 1
    assert len(exhibit.table.rows) == 3


def test_twenty_teams_that_tie_are_counted_not_drawn() -> None:
    exhibit = podium_steps([PodiumPlace(rank=1, team=f"t{n}", score="1") for n in range(20)])
    assert len(of_class(exhibit.svg, "podium-name")) == 5
    assert "15 further teams" in exhibit.caption
    assert len(exhibit.table.rows) == 20


def test_boxes_and_their_table() -> None:
    exhibit = box_and_dots(HD, ["a", "b"], [np.array([1.0, 2, 3, 4, np.inf]), np.array([np.nan] * 5)])
    assert exhibit.table.rows[0][:4] == ("a", "5", "1", "2.500")
    assert exhibit.table.rows[1] == ("b", "5", "5", *["–"] * 7)
    assert len(of_class(exhibit.svg, "box")) == 1
    assert "lower is better" in exhibit.svg
    assert "The best median is 2.500 mm, of a." in exhibit.svg


def test_many_cases_are_thinned_and_the_caption_says_so() -> None:
    exhibit = box_and_dots(DICE, [f"t{n}" for n in range(50)], [np.linspace(0, 1, 1000)] * 50)
    assert "60 dots" in exhibit.caption
    drawn = of_class(exhibit.svg, "dots")
    assert [each.get("d", "").count("h0") for each in drawn] == [60] * 50


def test_yes_or_no_is_shown_as_a_share() -> None:
    values = [np.array([1.0, 0, 1, 1]), np.array([0.0, np.nan, 1, 0])]
    assert is_yes_or_no(DICE, values)
    assert not is_yes_or_no(DICE, [np.array([0.5])])
    assert not is_yes_or_no(HD, values)
    exhibit = share_bars(DICE, ["a", "b"], values)
    assert exhibit.table.rows == [("a", "4", "3", "75 %"), ("b", "3", "1", "33 %")]


def test_the_area_of_a_blob_is_its_share() -> None:
    exhibit = blob_plot(
        ["a", "b"],
        frequency=np.array([[0.8, 0.2], [0.2, 0.8]]),
        intervals=[(1, 2), (1, 2)],
        ranks=[1, None],
        replicates=1000,
        confidence=0.95,
    )
    radii = [float(each.get("r", "0")) for each in of_class(exhibit.svg, "blob")]
    assert (radii[0] / radii[1]) ** 2 == pytest.approx(4, rel=0.05)
    assert exhibit.table.rows == [("a", "1", "1 to 2", "80 %", "20 %"), ("b", "–", "1 to 2", "20 %", "80 %")]
    assert len(of_class(exhibit.svg, "official")) == 1


def test_lines_across_schemes_tell_who_moves() -> None:
    ranks = np.array([[1.0, 1, 1], [2, 2, 3], [3, 2, 2], [np.nan, 4, 4]])
    exhibit = scheme_lines(["a", "b", "c", "d"], ["official", "mean then rank", "test"], ranks=ranks)
    assert exhibit.table.rows == [
        ("a", "1", "1", "1"),
        ("b", "2", "2", "3"),
        ("c", "3", "2", "2"),
        ("d", "–", "4", "4"),
    ]
    assert "b moves most, from rank 2 to 3." in exhibit.caption
    assert "2 teams of 4 keep the same rank" in exhibit.caption
    labels = [each.get("y") for each in of_class(exhibit.svg, "label")]
    assert len(labels) == 8
    assert len(set(labels[:4])) == 4, "labels of teams that tie must not lie upon each other"


def test_the_significance_map_of_the_worked_example() -> None:
    p = np.array([[np.nan, 0.0111271], [0.9929623, np.nan]])
    exhibit = significance_map(
        "Dice",
        ["B", "D"],
        p=p,
        p_holm=np.array([[np.nan, 0.0222542], [1.0, np.nan]]),
        significant=np.array([[False, True], [False, False]]),
        significant_holm=np.array([[False, True], [False, False]]),
        alpha=0.05,
    )
    assert exhibit.table.rows == [("B", "–", "0.011 (Holm 0.022)"), ("D", "0.993 (Holm 1.000)", "–")]
    assert "1 ordered pair of 2 differ at 0.05" in exhibit.caption
    assert len(of_class(exhibit.svg, "sign-yes")) == 2, "one cell and the legend"


def test_violins_have_their_mode_where_the_values_are() -> None:
    places = np.linspace(-1, 1, 201)
    heights = density(np.array([0.5] * 90 + [-0.5] * 10), places)
    assert places[int(heights.argmax())] == pytest.approx(0.5, abs=0.02)
    assert heights.max() == 1
    exhibit = tau_violin(["mean", "none"], [np.array([0.2, 0.4, 0.6]), np.array([])], replicates=3)
    assert exhibit.table.rows == [("mean", "3", "0.400", "0.300", "0.400", "0.500", "0.200"), ("none", "0", *["–"] * 5)]


def test_a_distribution_counts_every_case_once() -> None:
    exhibit = distribution(DICE, [0.0, 0.05, 0.5, 0.5, 1.0, None], lost=1)
    assert sum(int(row[2]) for row in exhibit.table.rows) == 5
    assert "Median 0.5000, mean 0.4100 over 5 cases." in exhibit.caption
    assert "1 failed or missing case included." in exhibit.caption
    assert "1 case without a value left out." in exhibit.caption
    assert len(of_class(exhibit.svg, "bar")) == len(exhibit.table.rows)


@pytest.mark.parametrize("values", [[], [None], [0.5], [1.0, 1.0], [math.inf]])
def test_a_distribution_of_little_is_still_a_plot(values: list[float | None]) -> None:
    ElementTree.fromstring(distribution(HD, values, lost=0).svg)


def test_curves_by_hand() -> None:
    exhibit = curves(STEPS, {"a": [0.2, 0.6, 1.0], "b": [0.4, None], "c": [None, None, None]})
    assert exhibit.table.head == ("Step", "Cases", "Mean", "Lower quartile", "Upper quartile")
    assert exhibit.table.rows == [
        ("0", "2", "0.3000", "0.2500", "0.3500"),
        ("1", "1", "0.6000", "0.6000", "0.6000"),
        ("2", "1", "1", "1", "1"),
    ]
    assert "The mean runs from 0.3000 to 1." in exhibit.caption


def test_long_curves_are_shortened_by_means() -> None:
    frames = Curve(
        name="gpe", title="GPE", along="Frame", direction="lower", lowest=0, highest=math.inf, unit="mm", first=1
    )
    exhibit = curves(frames, {"scan": [float(value) for value in range(1600)]})
    assert len(exhibit.table.rows) <= 24
    assert exhibit.table.rows[0][0] == "1 to 67"
    assert exhibit.table.rows[0][2] == "33"
    assert exhibit.table.rows[-1][0].endswith("to 1600")
    assert len(exhibit.svg) < 20_000


def test_curves_are_found_in_lists_and_through_lists() -> None:
    plain = Curve(name="errors.gpe", title="GPE", along="Frame", direction="lower", lowest=0, highest=1)
    assert curve_of({"errors": {"gpe": [1, 2.5]}}, plain) == [1, 2.5]
    assert curve_of({"steps": [{"dice": 0.5}, {"dice": None}, {}]}, STEPS) == [0.5, None, None]
    assert curve_of({"steps": []}, STEPS) is None
    assert curve_of({}, STEPS) is None
    assert curve_of({"steps": [{"dice": "high"}]}, STEPS) is None


# The SVG writer, scales, outlines and PNG: what plots are made of.

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
    assert outline_path(one) == "M1 1h1M1 2h1M1 1v1M2 1v1"
    assert outline_path(~one) == "M0 0h3M1 1h1M1 2h1M0 3h3M0 0v3M1 1v1M2 1v1M3 0v3"
    assert outline_path(np.zeros((2, 2), bool)) == ""
    assert fill_path(~one) == "M0 0h3v1h-3zM0 1h1v1h-1zM2 1h1v1h-1zM0 2h3v1h-3z"


@given(arrays.arrays(bool, arrays.array_shapes(min_dims=2, max_dims=2, max_side=9)))
def test_filling_the_outline_gives_the_mask_back(mask: np.ndarray) -> None:
    """By the even-odd rule: a pixel is inside where a ray to its left crosses an odd number of upright edges."""
    crossings = np.zeros((mask.shape[0], mask.shape[1] + 1), int)
    for x, y, length in re.findall(r"M(\d+) (\d+)v(\d+)", outline_path(mask)):
        crossings[int(y) : int(y) + int(length), int(x)] += 1
    assert (np.cumsum(crossings, axis=1)[:, :-1] % 2 == mask).all()
    above = np.zeros((mask.shape[0] + 1, mask.shape[1]), int)
    for x, y, length in re.findall(r"M(\d+) (\d+)h(\d+)", outline_path(mask)):
        above[int(y), int(x) : int(x) + int(length)] += 1
    assert (np.cumsum(above, axis=0)[:-1] % 2 == mask).all()
    filled = np.zeros(mask.shape, int)
    for x, y, length in re.findall(r"M(\d+) (\d+)h(\d+)v1h-\3z", fill_path(mask)):
        filled[int(y), int(x) : int(x) + int(length)] += 1
    assert (filled == mask).all()


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
    assert grey_window(np.arange(101.0)[None]) == (1, 99)
    assert grey_levels(np.array([[np.nan, 0.0, 1.0]])).tolist() == [[0, 0, 255]]
