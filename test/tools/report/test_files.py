"""Figures as files: SVG with its own stylesheet, PDF of the same drawing, and the table for LaTeX."""

import dataclasses
import re
import zlib
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from tools.report.made_rankings import golden_ranking, large_ranking

from podium.metrics.declaration import Metric
from podium.tools.ranking.output import latex_escape, ranking_latex
from podium.tools.report.files import pdf_file, runs, style_of, svg_file, write_report
from podium.tools.report.metric_section import case_values, grid_of, metric_exhibits
from podium.tools.report.plots.podium import podium_plot
from podium.tools.report.plots.ranks import tau_violin
from podium.tools.report.plots.values import box_and_dots
from podium.tools.report.ranking_report import ranking_report
from podium.tools.report.svg import BrokenScale, Scale, circle, dots, line, picture, rectangle, scale_with_break, text

HD95 = Metric(name="hd95", title="HD95", direction="lower", lowest=0.0, highest=500.0, worst=500.0, unit="mm")
DICE = Metric(name="dice", title="Dice", direction="higher", lowest=0.0, highest=1.0, worst=0.0)


def content(pdf: bytes) -> str:
    """The drawing commands of a PDF."""
    start = pdf.index(b"stream\n") + len(b"stream\n")
    return zlib.decompress(pdf[start : pdf.index(b"\nendstream")]).decode("ascii")


def test_every_figure_is_written_twice_and_linked(tmp_path: Path) -> None:
    report = ranking_report(golden_ranking())
    write_report(report, tmp_path / "report.html")
    linked = set(re.findall(r'href="figures/([^"]+)"', report.page))
    assert linked == {path.name for path in (tmp_path / "figures").iterdir()}
    assert len(linked) == 2 * report.page.count("<figure")
    for path in (tmp_path / "figures").iterdir():
        if path.suffix == ".svg":
            root = ElementTree.fromstring(path.read_bytes())
            assert root.tag == "{http://www.w3.org/2000/svg}svg"
        else:
            assert path.read_bytes().startswith(b"%PDF-1.4")


def test_the_links_of_a_pdf_lead_to_its_objects() -> None:
    pdf = pdf_file(picture(width=100, height=50, title="t", description="d", parts=[line(0, 0, 9, 9, "grid")]))
    start = int(pdf.rsplit(b"startxref\n", 1)[1].split(b"\n")[0])
    assert pdf[start:].startswith(b"xref\n0 5\n")
    for number, place in enumerate(re.findall(rb"(\d{10}) 00000 n", pdf[start:]), start=1):
        assert pdf[int(place) :].startswith(b"%d 0 obj\n" % number)
    assert b"/MediaBox [0 0 75.00 37.50]" in pdf


def test_shapes_and_their_styles() -> None:
    parts = [
        rectangle(1, 2, 30, 40, "cell-yes"),
        rectangle(1, 2, 30, 40, "fill-gold", rounded=6),
        circle(5, 6, 2, "blob"),
        dots([(7, 8)], "dots"),
        line(0, 1, 2, 3, "line line-series-2"),
    ]
    commands = content(pdf_file(picture(width=100, height=50, title="t", description="d", parts=parts)))
    assert "1 2 30 40 re\nB" in commands, "filled and stroked"
    assert "7 8 m\n7 8 l\nS" in commands, "a dot is a line without length and with round ends"
    assert "[9 4] 0 d" in commands
    assert "0.769 0.333 0.000 RG 2.6 w" in commands, "#c45500"
    assert len(re.findall(r" c\b", commands)) == 8, "four quarter circles each"


@pytest.mark.parametrize(("anchor", "x"), [("start", 50.0), ("middle", 42.216), ("end", 34.432)])
def test_words_stand_at_their_anchor(anchor: str, x: float) -> None:
    """`ab`: both letters are 556 thousandths of the size wide, which at 14 pixels are 15.568 together."""
    drawing = picture(width=100, height=50, title="t", description="d", parts=[text(50, 20, "ab", anchor=anchor)])
    place = re.search(r"1.0000 0.0000 0.0000 -1.0000 (\S+) (\S+) Tm", content(pdf_file(drawing)))
    assert place is not None
    assert float(place[1]) == pytest.approx(x, abs=0.01)
    assert float(place[2]) == pytest.approx(20 + 0.35 * 14, abs=0.01), "the middle of the words is at y"


def test_letters_that_the_fonts_lack() -> None:
    assert [(run.is_symbol, run.codes) for run in runs("τ ≤ é", bold=False)] == [
        (True, b"\x74"),
        (False, b" "),
        (True, b"\xa3"),
        (False, b" \xe9"),
    ]
    assert runs("ő水", bold=False)[0].codes == b"o?"


def test_the_stylesheet_of_a_file_has_light_colours() -> None:
    assert style_of("path", ["line", "line-series-1"])["stroke"] == "#0072b2"
    assert style_of("text", ["tick"])["fill"] == "#55606d"
    assert "var(" not in svg_file(picture(width=1, height=1, title="t", description="d", parts=[]))


def test_the_same_ranking_gives_the_same_files() -> None:
    first, second = (ranking_report(golden_ranking()).exhibits for _ in range(2))
    assert [pdf_file(each.svg) for each in first] == [pdf_file(each.svg) for each in second]


# LaTeX


def test_the_table_for_a_paper() -> None:
    names = ("B & C_1", "100 %", r"\input{x}", "D")
    lines = ranking_latex(golden_ranking(names)).splitlines()
    assert lines[6] == r"Rank & Team & Mean Dice & Rank 95 \% & 1st & Group & Scored \\"
    assert lines[8] == r"1 & B \& C\_1 & 0.8688 [0.6100, 0.8900] & 1--3 & 50 \% & 1 & 8/8 \\"
    assert r"\textbackslash{}input\{x\}" in lines[10]
    assert lines[11].endswith(r"4 & \textless{} 1 \% (n = 8 cases) & 2 & 7/8 \\")
    rows = lines[6:7] + lines[8:12]
    assert {row.count(" & ") for row in rows} == {6}


def test_escapes_of_latex() -> None:
    assert latex_escape("a~b^c#{}$") == r"a\textasciitilde{}b\textasciicircum{}c\#\{\}\$"


# What the pictures must and must not show


def test_no_violin_where_all_values_are_equal() -> None:
    exhibit = tau_violin(["flat", "wide"], [np.ones(9), np.linspace(0, 1, 9)], replicates=9)
    assert exhibit.svg.count('class="violin"') == 1


def test_the_podium_plot_has_a_legend() -> None:
    exhibit = podium_plot(DICE, ["Aorta", "Bulb"], np.array([[0.9, 0.8], [0.7, 0.9]]))
    for words in ("1 Aorta", "2 Bulb"):
        assert words in exhibit.svg


def test_lost_cases_do_not_press_the_others_into_a_corner() -> None:
    values = [np.array([2.0, 3.0, 4.0, 500.0]), np.array([1.0, 2.0, 5.0, 6.0])]
    exhibit = box_and_dots(HD95, ["a", "b"], values)
    assert exhibit.svg.count('class="axis-break"') == 4
    assert "The axis is cut before the worst value, 500;" in exhibit.caption
    assert ">500<" in exhibit.svg
    whole = box_and_dots(HD95, ["a"], [np.array([2.0, 300.0, 500.0])])
    assert "axis-break" not in whole.svg
    assert "cut" not in whole.caption


@pytest.mark.parametrize(("worst", "others"), [(500.0, (1.0, 6.0)), (0.0, (0.8, 0.9))])
def test_a_broken_scale_keeps_the_order(worst: float, others: tuple[float, float]) -> None:
    bounds = {"lowest": 0.0, "highest": 500.0}
    scale = scale_with_break([*others, worst], worst=worst, start=10, end=200, **bounds)
    assert isinstance(scale, BrokenScale)
    places = [scale(value) for value in np.linspace(0, 500, 2001)]
    assert places == sorted(places)
    assert 10 <= places[0] <= places[-1] <= 200
    assert scale(worst) in (10, 200)


def test_a_scale_without_a_worst_value_or_with_nothing_else_is_whole() -> None:
    bounds = {"lowest": 0.0, "highest": 500.0}
    for values in ([1.0, 2.0], [500.0, 500.0], [1.0, 500.0], []):
        assert isinstance(scale_with_break(values, worst=500.0, start=0, end=100, **bounds), Scale)


# Many metrics


def test_families_and_labels() -> None:
    grid = grid_of([f"{family}.region{number}" for family in ("dice", "nsd") for number in range(3)])
    assert grid is not None
    assert list(grid.families) == ["dice", "nsd"]
    assert list(grid.labels) == ["region0", "region1", "region2"]
    assert grid.places["nsd", "region1"] == 4
    assert grid_of(["dice.a", "dice.b", "nsd.a"]) is None
    assert grid_of(["dice", "nsd"]) is None


def test_maps_of_labels_have_titles_that_read_like_words() -> None:
    ranking = large_ranking(teams=3, cases=4, metrics=14)
    labels = ("mean", "liver", "right_kidney", "spleen", "pancreas", "aorta", "left_kidney")
    names = [(family, label) for family in ("dice", "nsd") for label in labels]
    titles = {("dice", "mean"): "DSC", ("nsd", "mean"): "NSD"}
    metrics = tuple(
        dataclasses.replace(
            metric,
            name=f"{family}.{label}",
            title=titles.get((family, label), f"{'Dice' if family == 'dice' else 'NSD'} {label.replace('_', ' ')}"),
        )
        for metric, (family, label) in zip(ranking.metrics, names, strict=True)
    )
    ranking = dataclasses.replace(ranking, metrics=metrics)
    found = metric_exhibits(ranking, case_values(ranking))
    assert [each.title for each in found[:3]] == ["Labels by metric", "Means by label: Dice", "Means by label: NSD"]
    assert found[1].table.head == ("Team", "mean of labels", *(label.replace("_", " ") for label in labels[1:]))
    assert found[0].table.head == ("Label", "Dice", "NSD")
    assert "(" in found[0].table.rows[0][1], "the lowest and the highest team"


def test_many_metrics_are_maps_instead_of_panels() -> None:
    ranking = large_ranking(teams=6, cases=8, metrics=39)
    metrics = tuple(
        dataclasses.replace(metric, name=f"{('dice', 'nsd', 'hd')[number % 3]}.r{number // 3}", in_schemes=False)
        for number, metric in enumerate(ranking.metrics)
    )
    ranking = dataclasses.replace(ranking, metrics=metrics)
    found = metric_exhibits(ranking, case_values(ranking))
    assert [each.title for each in found] == [
        *("Labels by metric", "Means by label: Dice", "Means by label: NSD", "Means by label: HD95"),
    ]
    svg = found[1].svg
    low, high = (metrics[0].mean_intervals or ((0.0, 0.0),))[0] or (0.0, 0.0)
    assert f">{low:.3f}–{high:.3f}<" in svg, "the interval stands below the mean"
    first = found[1].table.rows[0]
    mean, interval = metrics[0].means[0], (metrics[0].mean_intervals or ())[0]
    assert interval is not None
    assert first[1] == f"{mean:.4f} ({interval[0]:.4f} to {interval[1]:.4f})"
