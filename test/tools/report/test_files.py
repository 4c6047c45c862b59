"""Figures as files, SVG and PDF of the same drawing; and the table for LaTeX."""

import re
import resource
from pathlib import Path
from xml.etree import ElementTree

import pytest
from tools.report.made_rankings import golden_ranking, large_ranking

from podium.errors import UsageError
from podium.tools.ranking.output import ranking_latex
from podium.tools.ranking.result import ranking_from_json, ranking_to_json
from podium.tools.ranking.wording import latex_escape
from podium.tools.report.page import write_report
from podium.tools.report.ranking_report import ranking_report


@pytest.mark.parametrize("teams", [4, 14])
def test_every_figure_is_written_twice_and_linked(tmp_path: Path, teams: int) -> None:
    report = ranking_report(golden_ranking() if teams == 4 else large_ranking(teams=teams, cases=120, metrics=3))
    write_report(report, tmp_path / "report.html")
    linked = set(re.findall(r'href="figures/([^"]+)"', report.page))
    assert linked == {path.name for path in (tmp_path / "figures").iterdir()}
    assert len(linked) == 2 * report.page.count("<figure")
    for path in (tmp_path / "figures").iterdir():
        if path.suffix == ".svg":
            root = ElementTree.fromstring(path.read_bytes())
            assert root.tag == "{http://www.w3.org/2000/svg}svg"
        else:
            assert path.read_bytes().startswith(b"%PDF-1")


def test_a_full_disk_leaves_the_former_page(tmp_path: Path) -> None:
    """A page of 0 bytes would look like a report, and the former one would be lost."""
    report = ranking_report(golden_ranking())
    page = tmp_path / "report.html"
    page.write_text("the former page")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, before[1]))
    try:
        with pytest.raises(UsageError, match=r"The report cannot be written to .*report\.html: File too large\."):
            write_report(report, page)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert [path.name for path in tmp_path.iterdir()] == ["report.html"]
    assert page.read_text() == "the former page"


def test_the_same_ranking_gives_the_same_files_from_memory_and_from_a_file(tmp_path: Path) -> None:
    contents = []
    for name, ranking in (("one", golden_ranking()), ("two", ranking_from_json(ranking_to_json(golden_ranking())))):
        write_report(ranking_report(ranking), tmp_path / name / "report.html")
        contents.append({path.name: path.read_bytes() for path in (tmp_path / name).rglob("*.*")})
    assert contents[0] == contents[1]


# LaTeX


def test_the_table_for_a_paper() -> None:
    names = ("B & C_1", "100 %", r"\input{x}", "D")
    lines = ranking_latex(golden_ranking(names)).splitlines()
    assert lines[6] == r"Rank & Team & Mean Dice & Rank 95 \% & 1st & Group & Scored \\"
    assert lines[8] == r"1 & B \& C\_1 & 0.8688 [0.6100, 0.8900] & 1--3 [tests: 1, 4] & 50 \% & 1 & 8/8 \\"
    assert r"\textbackslash{}input\{x\}" in lines[10]
    assert lines[11].endswith(r"4 [tests: 1, 4] & \textless{} 1 \% (n = 8 cases) & 2 & 7/8 \\")
    rows = lines[6:7] + lines[8:12]
    assert {row.count(" & ") for row in rows} == {6}


def test_escapes_of_latex() -> None:
    assert latex_escape("a~b^c#{}$") == r"a\textasciitilde{}b\textasciicircum{}c\#\{\}\$"
