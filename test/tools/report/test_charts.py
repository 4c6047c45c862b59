"""The charts of the reports: the figures behind them, by hand and by the worked example of the ranking rules; valid
specifications; names that are data; the same bytes every time."""

import io
import math
import re
from dataclasses import replace
from xml.etree import ElementTree

import altair
import numpy as np
import pytest
from hypothesis import given
from hypothesis.extra import numpy as arrays
from PIL import Image
from tools.report.made_rankings import GOLDEN_VALUES, golden_ranking, large_ranking

from podium.challenges.pictures import Diagram
from podium.metrics.declaration import Curve, Metric
from podium.tools.report.exhibits import (
    CaseValues,
    box_and_dots,
    case_values,
    defined,
    is_yes_or_no,
    metric_exhibits,
    places_in_case,
    podium_plot,
    rank_heatmap,
    share_bars,
    spread,
    summarise,
)
from podium.tools.report.overlays import fill_path, outline_path
from podium.tools.report.page import Drawings, Exhibit
from podium.tools.report.png import grey_levels, grey_window, png_file, reduced
from podium.tools.report.ranking_report import (
    blob_plot,
    density,
    rank_lines,
    ranking_report,
    significance_map,
    tau_violin,
)
from podium.tools.report.submission_report import curve_of, curves, diagram, distribution
from podium.tools.report.tables import worst_captions
from podium.tools.report.vega import SERIES, Teams, plain_colours

DICE = Metric(name="dice", title="Dice", direction="higher", lowest=0, highest=1, worst=0)
HD = Metric(name="hd", title="HD95", direction="lower", lowest=0, highest=math.inf, worst=math.inf, unit="mm")
HD_500 = Metric(name="hd95", title="HD95", direction="lower", lowest=0.0, highest=500.0, worst=500.0, unit="mm")
STEPS = Curve(name="steps.dice", title="Dice", along="Step", direction="higher", lowest=0, highest=1)
HOSTILE = """</text></script><script>alert(1)</script>" onload='x' & <b> + datum.x"""


def values_of(metric: Metric, rows: list[list[float]]) -> CaseValues:
    filled = np.array(rows, dtype=float)
    ranks = 1 + places_in_case(filled, higher_is_better=metric.direction == "higher")
    return CaseValues(metric, filled, np.isnan(filled), ranks, True, (None,) * len(rows), None)


def teams_of(*names: str) -> Teams:
    return Teams(names, list(range(1, len(names) + 1)))


def rows_of(exhibit: Exhibit, dataset: str = "rows") -> list[dict[str, object]]:
    found: list[dict[str, object]] = exhibit.chart["datasets"][dataset]
    return found


def texts(svg: str) -> list[str]:
    return [each.text or "" for each in ElementTree.fromstring(svg).iter() if each.tag.endswith("text")]


def test_a_summary_by_hand() -> None:
    summary = summarise(defined([4, 1, None, 3, 2, math.inf, 100]))
    assert (summary["n"], summary["mean"], summary["minimum"], summary["maximum"]) == (5, 22, 1, 100)
    assert (summary["first"], summary["median"], summary["third"]) == (2, 3, 4)
    assert (summary["lower"], summary["upper"]) == (1, 4), "100 lies beyond 4 + 1.5 * 2"
    assert summary["sd"] == pytest.approx(math.sqrt((441 + 400 + 361 + 324 + 6084) / 4))
    assert summarise(defined([])) is None


def test_dots_spread_over_their_row() -> None:
    offsets = [spread(number) for number in range(100)]
    assert min(offsets) >= -1
    assert max(offsets) <= 1
    assert np.std(offsets) > 0.5


def test_ranks_of_the_worked_example_are_counted_and_printed() -> None:
    """A 1,1,1,1,1,1,1,4; B 3,3,3,2,2,2,2,1; C 2,2,1,3,4,3,3,2; D 4,4,4,4,2,4,4,3, here in the order B, C, A, D."""
    (each,) = case_values(golden_ranking())
    exhibit = rank_heatmap(each, teams_of("B", "C", "A", "D"))
    counts = [[1, 4, 3, 0], [1, 3, 3, 1], [7, 0, 0, 1], [0, 1, 1, 6]]
    assert [[int(cell) for cell in row[1:]] for row in exhibit.table.rows] == counts
    cells = {(row["n"], row["rank"]): row["cases"] for row in rows_of(exhibit)}
    assert cells == {(n, rank + 1): c for n, row in enumerate(counts) for rank, c in enumerate(row) if c}
    drawn = Drawings().add(exhibit).svg
    assert sorted(text for text in texts(drawn) if text in ("6", "7")) == ["6", "7"]


def test_the_podium_plot_gives_every_place_once() -> None:
    """As the worked example has it, the ties of c3 (A, C) and c5 (B, D) broken by the order B, C, A, D."""
    values = np.array(GOLDEN_VALUES, dtype=float)
    places = places_in_case(values, higher_is_better=True)
    assert sorted(places[:, 2].tolist()) == [0, 1, 2, 3]
    assert places[:, 2].tolist() == [2, 0, 1, 3]
    assert places[:, 4].tolist() == [1, 3, 0, 2]
    exhibit = podium_plot(values_of(DICE, np.nan_to_num(values).tolist()), teams_of("B", "C", "A", "D"), [], column=2)
    assert exhibit.table.rows[2] == ("A", "6", "1", "0", "1")
    assert "A has rank 1 most often, in 6 cases." in exhibit.chart["description"]
    drawn = next(each for each in ranking_report(golden_ranking()).exhibits if each.title == "Podium plot: Dice")
    assert len(rows_of(drawn, "cases")) == 4 * 8
    assert {"1  B", "2  C", "3  A", "4  D"} <= {re.sub("[\u2068\u2069]", "", text) for text in texts(drawn.svg)}, (
        "a legend"
    )


def test_boxes_and_their_table() -> None:
    exhibit = box_and_dots(values_of(HD, [[1.0, 2, 3, 4, np.inf], [np.nan] * 5]), teams_of("a", "b"), [], column=2)
    assert exhibit.table.rows[0][:4] == ("a", "5", "1", "2.500")
    assert exhibit.table.rows[1] == ("b", "5", "5", *["–"] * 7)
    assert [row["n"] for row in rows_of(exhibit)] == [0]
    assert "Lower is better" in exhibit.caption
    assert "The best median is 2.500 mm, of a." in exhibit.chart["description"]


def test_lost_cases_do_not_press_the_others_into_a_corner() -> None:
    values = values_of(HD_500, [[2.0, 3.0, 4.0, 500.0], [1.0, 2.0, 5.0, 6.0]])
    exhibit = box_and_dots(values, teams_of("a", "b"), [], column=2)
    assert "The axis is cut before the worst value, 500:" in exhibit.caption
    scale = exhibit.chart["layer"][0]["encoding"]["x"]["scale"]
    assert scale["domain"] == [1.0, 6.25]
    assert scale["clamp"], "the dot beyond is drawn at the end of the axis"
    low = box_and_dots(values_of(DICE, [[0.0, 0.8, 0.85, 0.9]]), teams_of("a"), [], column=2)
    assert low.chart["layer"][0]["encoding"]["x"]["scale"]["domain"] == [pytest.approx(0.795), 0.9]
    for rows in ([2.0, 300.0, 500.0], [1.0, 2.0], [500.0, 500.0], [1.0, 500.0]):
        whole = box_and_dots(values_of(HD_500, [rows]), teams_of("a"), [], column=2)
        assert "domain" not in whole.chart["layer"][0]["encoding"]["x"]["scale"]
        assert "cut" not in whole.caption


def test_yes_or_no_is_shown_as_a_share() -> None:
    values = values_of(DICE, [[1.0, 0, 1, 1], [0.0, np.nan, 1, 0]])
    assert is_yes_or_no(DICE, values.filled)
    assert not is_yes_or_no(DICE, np.array([0.5]))
    assert not is_yes_or_no(HD, values.filled)
    exhibit = share_bars(values, teams_of("a", "b"))
    assert exhibit.table.rows == [("a", "4", "3", "75 %"), ("b", "3", "1", "33 %")]
    assert [row["share"] for row in rows_of(exhibit)] == [0.75, pytest.approx(1 / 3)]


def test_the_area_of_a_blob_is_its_share() -> None:
    shares = {"rank_frequencies": ((0.8, 0.2), (0.2, 0.8)), "rank_intervals": ((1, 2), (1, 2))}
    stability = replace(golden_ranking().deciding.stability, **shares)
    exhibit = blob_plot(teams_of("a", "b"), stability, [1, None], confidence=0.95)
    assert exhibit.table.rows == [("a", "1", "1 to 2", "80 %", "20 %"), ("b", "–", "1 to 2", "20 %", "80 %")]
    svg = Drawings().add(exhibit).svg
    radii = [float(r) for r in re.findall(r'd="M(\d+\.?\d*),0A', svg)]
    areas = sorted(radius**2 for radius in radii if radius > 1)
    assert areas[-1] / areas[0] == pytest.approx(4, rel=0.05)
    assert len(rows_of(exhibit, "spans")) == 2


def test_lines_across_schemes_tell_who_moves() -> None:
    ranks = np.array([[1.0, 1, 1], [2, 2, 3], [3, 2, 2], [np.nan, 4, 4]])
    exhibit = rank_lines(teams_of("a", "b", "c", "d"), ["official", "mean then rank", "test"], ranks)
    assert exhibit.table.rows == [("a", *"111"), ("b", *"223"), ("c", *"322"), ("d", *"–44")]
    assert "b moves most, from rank 2 to 3." in exhibit.caption
    assert "2 teams of 4 keep the same rank" in exhibit.caption
    ends = rows_of(exhibit, "ends")
    assert len(ends) == 8
    assert len({(each["align"], each["slot"]) for each in ends}) == 8, "labels of teams that tie must not overlap"


def test_the_significance_map_of_the_worked_example() -> None:
    holm, raw = ((None, 0.0222542), (1.0, None)), ((None, 0.0111271), (0.9929623, None))
    exhibit = significance_map("Dice", "by Holm's method", teams_of("B", "D"), holm, alpha=0.05, raw=raw)
    assert exhibit.table.rows == [("B", "–", "0.022 (0.011)"), ("D", "1.000 (0.993)", "–")]
    assert "1 ordered pair of 2 differ at 0.05" in exhibit.caption
    assert [(row["n"], row["other"], row["step"]) for row in rows_of(exhibit)] == [(0, 1, 2), (1, 0, 3)]
    steps = next(each["value"] for each in exhibit.chart["params"] if each["name"] == "steps")
    assert steps == ["p < 0.001", "p < 0.01", "p ≤ 0.05", "not better, or not significantly"]
    strict = significance_map("Dice", "", teams_of("B", "D"), holm, alpha=0.01)
    assert {row["step"] for row in rows_of(strict)} == {2}, "of two levels"


def test_the_map_of_the_official_score_says_only_who_is_better() -> None:
    """Its p-values are two-sided: the team with the lower score is not better, however small they are."""
    exhibit = next(
        each for each in ranking_report(golden_ranking()).exhibits if each.title.startswith("Who beats whom")
    )
    assert exhibit.title == "Who beats whom: by Mean Dice"
    assert all(row["p"] == 1 for row in rows_of(exhibit) if row["n"] > row["other"])
    assert {row["n"] for row in rows_of(exhibit) if row["step"] < 3} <= {0, 1, 2}


def test_violins_have_their_mode_where_the_values_are() -> None:
    places = np.linspace(-1, 1, 201)
    heights = density(np.array([0.5] * 90 + [-0.5] * 10), places)
    assert places[int(heights.argmax())] == pytest.approx(0.5, abs=0.02)
    assert heights.max() == 1
    exhibit = tau_violin(["mean", "none"], [np.array([0.2, 0.4, 0.6]), np.array([])])
    assert exhibit.table.rows == [("mean", "3", "0.400", "0.300", "0.400", "0.500", "0.200"), ("none", "0", *["–"] * 5)]


def test_no_violin_where_all_values_are_equal() -> None:
    exhibit = tau_violin(["flat", "wide"], [np.ones(9), np.linspace(0, 1, 9)])
    assert {row["number"] for row in rows_of(exhibit)} == {1}
    assert {row["number"] for row in rows_of(exhibit, "quartiles")} == {0, 1}


def test_a_distribution_counts_every_case_once() -> None:
    values = [0.0, 0.05, 0.5, 0.5, 1.0, None]
    cases = [(f"c{n}", "failed" if n == 0 else "scored", value) for n, value in enumerate(values)]
    exhibit = distribution(DICE, cases, column=2)  # type: ignore[arg-type]
    assert sum(int(row[2]) for row in exhibit.table.rows) == 5
    assert "Median 0.5000, mean 0.4100 over 5 cases." in exhibit.caption
    assert "1 unscored or partial case included." in exhibit.caption
    assert "1 case without a value left out." in exhibit.caption
    assert len(rows_of(exhibit)) == len(exhibit.table.rows)
    assert len(rows_of(exhibit, "cases")) == 5


@pytest.mark.parametrize("values", [[], [None], [0.5], [1.0, 1.0], [math.inf]])
def test_a_distribution_of_little_is_still_a_chart(values: list[float | None]) -> None:
    exhibit = distribution(HD, [(f"c{n}", "scored", value) for n, value in enumerate(values)], column=2)
    ElementTree.fromstring(Drawings().add(exhibit).svg)


def test_equal_values_are_one_bar_around_the_value() -> None:
    """Not one from the value to the end of the axis."""
    exhibit = distribution(HD, [("a", "scored", 3.0), ("b", "scored", 3.0)], column=2)
    (bar,) = rows_of(exhibit)
    assert bar["cases"] == 2
    assert (bar["low"] + bar["high"]) / 2 == pytest.approx(3.0)
    low, high = exhibit.chart["layer"][0]["encoding"]["x"]["scale"]["domain"]
    assert bar["high"] - bar["low"] < 0.1 * (high - low)


def test_ranks_at_the_ends_of_lines_stay_beside_names_from_right_to_left() -> None:
    exhibit = rank_lines(Teams(["فريق"]), ["one", "two"], np.array([[1.0, 1.0]]))
    assert [row["text"] for row in rows_of(exhibit, "ends")] == ["\u2068فريق\u2069  1", "1  \u2068فريق\u2069"]


def test_the_worst_cases_are_scored_defined_and_not_perfect() -> None:
    values = [0.4, None, 1.0, math.nan, 0.2, 0.9, 0.3, 0.5, 0.0]
    statuses = ["scored"] * 8 + ["failed"]
    found = worst_captions([f"c{number}" for number in range(9)], statuses, values, DICE)
    assert found == {"c4": "Dice 0.2000", "c6": "Dice 0.3000", "c0": "Dice 0.4000", "c7": "Dice 0.5000"}


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
    assert len(rows_of(exhibit)) == 160
    many = curves(frames, {f"scan {n}": [1.0] * 500 for n in range(100)})
    assert "60 of 100 cases are drawn." in many.caption
    assert sum(map(len, many.chart["datasets"].values())) <= 1_500, "a chart of more rows is not drawn in advance"


def test_a_diagram_has_its_lines_dots_and_levels() -> None:
    data = Diagram(
        title="ROC",
        x="1 - specificity",
        y="Sensitivity",
        caption="AUC 0.9.",
        share=True,
        lines={"a": ((0.0, 0.0), (0.5, 1.0)), "b": ((0.0, 0.0), (1.0, 1.0))},
        dots=((0.2, 0.3),),
        diagonal=True,
        levels={"bias": 0.4},
    )
    exhibit = diagram(data)
    assert ("bias", "", "0.4000") in exhibit.table.rows
    assert ("case", "0.2000", "0.3000") in exhibit.table.rows
    assert rows_of(exhibit, "diagonal") == [{"x": 0.0, "y": 0.0}, {"x": 1.0, "y": 1.0}]
    assert {"a", "b", "bias 0.4000"} <= set(texts(Drawings().add(exhibit).svg))


def test_curves_are_found_in_lists_and_through_lists() -> None:
    plain = Curve(name="errors.gpe", title="GPE", along="Frame", direction="lower", lowest=0, highest=1)
    assert curve_of({"errors": {"gpe": [1, 2.5]}}, plain) == [1, 2.5]
    assert curve_of({"steps": [{"dice": 0.5}, {"dice": None}, {}]}, STEPS) == [0.5, None, None]
    assert curve_of({"steps": []}, STEPS) is None
    assert curve_of({}, STEPS) is None
    assert curve_of({"steps": [{"dice": "high"}]}, STEPS) is None


# Every chart


@pytest.fixture(scope="module")
def hostile_exhibits() -> list[Exhibit]:
    """One of every chart, with hostile names of teams, cases and metrics."""
    names = first, second = HOSTILE, "b"
    ranking = large_ranking(teams=2, cases=3, metrics=14)
    hostile = replace(
        ranking,
        cases=(first, second, "c"),
        claims=None,
        differences=(),
        teams=tuple(replace(team, name=name) for team, name in zip(ranking.teams, names, strict=True)),
        metrics=tuple(replace(each, title=f"{first} {each.title}") for each in ranking.metrics),
    )
    yes = values_of(replace(DICE, title=first), [[1.0, 0.0], [0.0, 0.0]])
    curve = replace(STEPS, title=first, along=first)
    shown = Diagram(
        title=first, x=first, y=first, caption=first, lines={first: ((0, 0), (1, 1)), second: ((0, 1), (1, 1))}
    )
    drawings = Drawings()
    drawings.add_all(
        [
            share_bars(yes, teams_of(*names)),
            curves(curve, {first: [0.1, 0.2], second: [0.3]}),
            diagram(shown),
            distribution(yes.metric, [(first, "scored", 0.5), (second, "scored", 0.7)], column=2),
        ]
    )
    return [*ranking_report(hostile).exhibits, *drawings.exhibits]


@pytest.mark.slow
def test_every_chart_is_valid_vega_lite(hostile_exhibits: list[Exhibit]) -> None:
    kinds = set()
    for exhibit in hostile_exhibits:
        chart = {name: part for name, part in exhibit.chart.items() if name != "usermeta"}
        found = altair.Chart.from_dict(chart)
        found.to_dict(validate=True)
        kinds.add(exhibit.title.split(":")[0])
    assert len(hostile_exhibits) > 14
    assert {"Who beats whom", "Podium plot", "Ranking heat map", "Ranks under every scheme"} <= kinds


def test_names_are_data_in_drawings(hostile_exhibits: list[Exhibit]) -> None:
    for exhibit in hostile_exhibits:
        if exhibit.drawn:
            assert "<script" not in exhibit.svg
            tags = {each.tag.rpartition("}")[2] for each in ElementTree.fromstring(exhibit.svg).iter()}
            assert tags <= {"svg", "g", "path", "rect", "line", "text", "tspan", "defs", "clipPath"}, exhibit.title


def test_names_are_never_parts_of_expressions_or_field_names(hostile_exhibits: list[Exhibit]) -> None:
    """Where names stand: in rows, in the values of parameters, in titles and in domains of scales."""

    def walk(part: object, key: str = "") -> None:
        if key in ("value", "title", "domain", "description", "datasets", "sort"):
            return
        if isinstance(part, dict):
            for name, inner in part.items():
                assert "alert" not in name
                walk(inner, name)
        elif isinstance(part, list):
            for inner in part:
                walk(inner)
        elif isinstance(part, str):
            assert "alert" not in part

    for exhibit in hostile_exhibits:
        walk(exhibit.chart)


def test_a_drawing_has_a_description_and_ids_of_its_own(hostile_exhibits: list[Exhibit]) -> None:
    ids: list[str] = []
    for exhibit in hostile_exhibits:
        if exhibit.drawn:
            root = ElementTree.fromstring(exhibit.svg)
            assert root.get("role") == "img"
            assert root.get("aria-label") == exhibit.chart["description"]
            ids += [each.attrib["id"] for each in root.iter() if "id" in each.attrib]
    assert len(ids) == len(set(ids))


def test_files_have_light_colours_on_paper() -> None:
    svg = plain_colours(Drawings().add(tau_violin(["a"], [np.linspace(0, 1, 9)])).svg)
    assert "var(" not in svg
    assert "#0072b2" in svg
    assert '<rect width="100%" height="100%" fill="#ffffff"/>' in svg


def test_long_names_are_cut_in_the_middle_and_carry_their_rank() -> None:
    names = [f"The {n} team of a university with a rather long name, group {n}" for n in (1, 2)]
    labels = Teams(names, [1, None]).labels
    assert labels == ["1  \u2068The 1 team o…me, group 1\u2069", "–  \u2068The 2 team o…me, group 2\u2069"]


def test_the_first_teams_have_colours_dashes_and_markers_of_their_own() -> None:
    exhibit = rank_lines(teams_of(*"abcdefghi"), ["x", "y"], np.arange(1.0, 19).reshape(9, 2) % 9 + 1)
    line, dot = (layer["encoding"] for layer in exhibit.chart["layer"][:2])
    for channel in (line["color"], line["strokeDash"], dot["shape"]):
        given = [str(each) for each in channel["scale"]["range"]]
        assert len(set(given[:SERIES])) == SERIES
        assert len(given) == 9


# Many metrics


def test_of_many_metrics_all_can_be_chosen_and_the_first_are_drawn_in_advance() -> None:
    ranking = large_ranking(teams=6, cases=8, metrics=39)
    found = metric_exhibits(ranking, teams_of(*(team.name for team in ranking.teams)), case_values(ranking))
    assert [each.drawn for each in found] == [True] * 4 + [False] * 35


# Overlays and PNG.


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
    assert (np.asarray(Image.open(io.BytesIO(png_file(image)))) == image).all()


def test_large_images_are_reduced_by_means_and_grey_levels_are_spread() -> None:
    image = np.array([[0, 10, 200], [20, 30, 100]], np.uint8)
    assert reduced(image, longest=2).tolist() == [[15, 150]]
    assert reduced(image, longest=3) is image
    assert grey_levels(np.array([[5.0, 10.0]]), (5, 10)).tolist() == [[0, 255]]
    assert grey_levels(np.full((2, 2), 7), grey_window(np.full((2, 2), 7))).tolist() == [[0, 0], [0, 0]]
    assert grey_window(np.arange(101.0)[None]) == (2, 98)
    assert grey_levels(np.array([[np.nan, 0.0, 1.0]]), (0, 1)).tolist() == [[0, 0, 255]]
