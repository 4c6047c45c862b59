"""The page of a ranking: its figures, its promises (one file, nothing loaded, escaped, small) and its odd rankings."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from tools.report.made_rankings import golden_ranking, large_ranking
from tools.report.page_check import Page

from podium.tools.ranking.result import AggregateColumn, Note, Ranking, Taus
from podium.tools.report.final_table import final_table
from podium.tools.report.ranking_report import ranking_report
from podium.tools.report.tables import settings_table


def page_of(ranking: Ranking) -> Page:
    return Page(ranking_report(ranking).page)


HOSTILE = (
    "</title></style><script>alert('x')</script>",
    '" onmouseover="alert(1)" x="',
    "{{ 7 * 7 }}{% raw %}",
    "<svg/onload=alert(1)>&lt;b&gt;\x00\u202eevil\nteam " + "x" * 300,
)


@cache
def golden_page() -> Page:
    return page_of(golden_ranking())


def test_the_table_says_what_the_ranking_says() -> None:
    head = ("Rank", "Team", "Mean Dice", "Rank, 95\u00a0%\ninterval", "Share of\nresamples won", "Cases\nscored")
    rows = golden_page().table(*head)
    assert [row[:4] for row in rows] == [
        ["1A", "B finalist", "0.8688 ± 0.1400", "1–3"],
        ["2A", "C finalist", "0.8625 ± 0.1400", "1–3"],
        ["3A", "A", "0.8200 ± 0.1400", "1–3"],
        ["4B", "D", "0.6500 ± 0.1400", "4"],
    ]
    assert [row[4] for row in rows] == ["50 %", "20 %", "30 %", "< 1 % (n = 8 cases)"]
    assert [row[5] for row in rows] == ["8/8", "8/8", "8/8", "7/8"]
    text = golden_page().text
    assert text.count('title="tests: 1 to 4"') == 4
    assert 'class="warn" title="1 missing"' in text, "a team that lost cases is marked"
    assert 'title="0.6100 to 0.8900; rank 1 of 4"' in text


def test_the_best_of_a_column_is_bold_and_colours_follow_the_rank() -> None:
    values = (0.9, 0.7, None, 0.7)
    column = AggregateColumn(
        **{"path": "nsd", "title": "NSD", "direction": "higher", "headline": True, "errors": None, "intervals": None},
        values=values,
    )
    table = final_table(replace(golden_ranking(), columns=(column,)))
    (cells,) = (each.cells for each in table["columns"] if each.title == "NSD")
    assert [(cell.text, cell.kind) for cell in cells] == [
        *(("0.900", "m best h6"), ("0.700", "m h3"), ("no value", "m none"), ("0.700", "m h3")),
    ]
    assert [row["bracket"] for row in table["rows"]] == ["in from", "in", "in to", ""]


def test_more_than_eight_figures_are_chosen_by_the_reader() -> None:
    table = final_table(large_ranking(teams=3, cases=5, metrics=26))
    metrics = [each for each in table["columns"] if each.kind == "m"]
    assert [each.is_more for each in metrics] == [False] * 8 + [True] * 18


def test_every_chart_has_a_drawing_a_text_alternative_and_a_table() -> None:
    page = golden_page()
    for svg in page.plots:
        assert svg.get("role") == "img"
        assert svg.get("aria-label")
    assert page.figures == [
        "Who beats whom: by Mean Dice",
        "Scores: Mean Dice",
        "Blob plot of bootstrap ranks",
        "Ranks under every scheme",
        "Violin plot of Kendall&#39;s τ",
        "Who beats whom: Dice",
        "Dice",
        "Podium plot: Dice",
        "Ranking heat map: Dice",
    ]
    assert len(page.plots) == len(page.figures), "every chart is drawn in advance"
    assert len(page.specifications) == len(page.figures) + 1, "a specification each, and what they share"
    details = page.text.split("<summary>The figures as a table</summary>")[1:]
    assert len(details) == len(page.figures)
    for detail in details:
        assert "<table>" in detail.split("</details>")[0]


def test_medals_are_in_the_rank_cells_and_ties_are_marked() -> None:
    ranking = golden_ranking()
    ranks = (1, 1, 3, 4)
    tied = tuple(
        replace(team, rank=rank, tied_with=("other",) if rank == 1 else ())
        for team, rank in zip(ranking.teams, ranks, strict=True)
    )
    text = page_of(replace(ranking, teams=tied)).text
    assert text.count('<span class="medal m1">1=</span>') == 2
    assert text.count('<span class="medal m3">3</span>') == 1
    assert text.count('class="medal') == 3


def test_notes_are_one_line_each() -> None:
    note = Note(kind="intervals", line="8 cases: read intervals with care", text="There are only 8.", numbers={})
    page = page_of(replace(golden_ranking(), notes=(note, replace(note, line="Short", text="Short."))))
    assert "<summary>8 cases: read intervals with care</summary><p>There are only 8.</p>" in page.text
    assert "<li>Short</li>" in page.text


def test_every_case_of_every_team_is_a_row_that_links_lead_to() -> None:
    """Failed and missing cases come first, then the worst; D's missing case counts with 0."""
    page = golden_page()
    head = ["Case", "Status", "Dice", "Rank in Dice", "Median Dice of all teams"]
    tables = [[[cell.strip() for cell in row] for row in table] for table in page.tables if table[0] == head]
    assert [len(table) for table in tables] == [9] * 4
    assert tables[3][1] == ["c3There is no prediction for this case.", "missing", "0.0000", "4 of 4", "0.9150"]
    assert tables[2][1] == ["c8", "scored", "0.3000", "4 of 4", "0.7650"], "beside the median of all teams"
    assert tables[2][2][2] == "0.8500"
    assert {f"team-{team}-{case}" for team in range(1, 5) for case in range(1, 9)} <= set(page.ids)
    assert page.text.count('<a class="on-screen" href="#ranking">Back to the ranking</a>') == 4
    assert {"team-1", "team-2", "team-3", "team-4"} <= set(page.anchors)


def test_rows_of_cases_are_in_the_page_once() -> None:
    box = next(each for each in golden_page().specifications if each.get("usermeta") and "layer" in each)
    assert box["usermeta"] == {"column": 2, "higher": True}
    assert "cases" not in box["datasets"]


@pytest.mark.slow
def test_what_is_not_shown_is_said_and_a_large_page_stays_below_five_megabytes() -> None:
    ranking = large_ranking(teams=3, cases=5, metrics=26)
    assert "4 of 26 figures are printed; ranking.csv has all" in page_of(ranking).all_words
    all_decide = replace(
        ranking,
        metrics=tuple(replace(metric, in_schemes=True) for metric in ranking.metrics),
        significance=ranking.significance * 13,
    )
    words = page_of(all_decide).all_words
    assert "4 of 26 metrics are shown" in words
    assert "Who beats whom: 4 of 26 metrics are shown; ranking.json has all." in words
    many = page_of(large_ranking(teams=50, cases=1000, metrics=10))
    assert "180 of 1,000 cases are shown: failed, missing and partial ones, and the worst." in many.all_words
    assert len(many.text.encode()) < 5_000_000


def test_tables_below_plots_hold_the_worked_figures() -> None:
    box = golden_page().table("Team", "Cases", "Undefined")
    assert [(row[0], row[3]) for row in box] == [("B", "0.8688"), ("C", "0.8625"), ("A", "0.8200"), ("D", "0.6500")]
    # medians .87, .865, .89, .715 by the worked example
    assert [row[8] for row in box] == ["0.8700", "0.8650", "0.8900", "0.7150"]
    assert [row[4] for row in box] == ["0.6100 to 0.8900"] * 4


def test_each_team_has_a_summary() -> None:
    words = (
        "Rank 3 of 4. Mean Dice: 0.8200 (0.6100 to 0.8900). 95 % interval: ranks 1 to 3; share of resamples won: 30 %."
    )
    assert words in golden_page().all_words


def test_the_methods_can_be_cited() -> None:
    words = golden_page().all_words
    assert (
        "Teams were ranked by their mean over all cases. Rank uncertainty was estimated by 1,000 bootstrap replicates "
        "over cases (seed 42)."
    ) in words
    settings = dict(golden_page().table("Setting", "Value"))
    assert settings["tolerance_px"] == "3"
    assert settings["classes[1].name"] == "low_risk"
    assert settings["time.rule"] == "cohort"
    assert settings["seed"] == "42"
    assert (settings["Podium"], settings["SciPy"]) == ("9.9.9", "1.17.1")


def test_names_and_messages_are_text_whatever_they_say() -> None:
    ranking = golden_ranking(HOSTILE, error=HOSTILE[0])
    hostile = replace(
        ranking,
        title=HOSTILE[0],
        version=HOSTILE[1],
        notes=(Note(kind="input", line=HOSTILE[0], text=HOSTILE[2], numbers={}),),
        cases=(*HOSTILE, *"abcd"),
    )
    page = page_of(hostile)
    assert len(page.scripts) == 3
    assert page.text.count("<script>") == 1, "ours"
    assert "</title></style><script>alert('x')</script>" in page.all_words
    assert "{{ 7 * 7 }}{% raw %}" in page.all_words
    assert "\x00" not in page.text
    assert "\u202e" not in page.text
    assert page.tags.count("style") == 1


def test_menus_have_names_without_marks_of_direction() -> None:
    page = golden_page()
    assert "\\u2068" not in page.text.partition("<script type")[0]
    assert page.text.count('" dir="auto">') == 4


def test_nothing_is_loaded_and_the_page_forbids_it() -> None:
    page = golden_page()
    text = page.text.replace(page.scripts[1], "").replace('xmlns="http://www.w3.org/2000/svg"', "")
    text = text.replace(page.style, "")
    for scheme in ("http:", "https:", "//cdn", "@import", "url("):
        assert scheme not in text.replace("url(#", "")
    assert page.policy.startswith("default-src 'none'; base-uri 'none'; form-action 'none'; style-src 'sha256-")
    assert page.policy.endswith("; img-src data:")


def with_rank(ranking: Ranking, **changes: object) -> Ranking:
    return replace(ranking, teams=tuple(replace(team, **changes) for team in ranking.teams))  # type: ignore[arg-type]


def test_all_teams_tied() -> None:
    page = page_of(with_rank(golden_ranking(), rank=1, score=0.5, tied_with=("others",)))
    assert [row[0] for row in page.table("Rank", "Team", "Mean Dice")] == ["1=A"] * 3 + ["1=B"]
    assert "Rank 1 of 4, shared with others." in page.all_words


def test_unranked_teams_have_no_place() -> None:
    page = page_of(with_rank(golden_ranking(), rank=None, score=None))
    assert [row[0] for row in page.table("Rank", "Team", "Mean Dice")] == ["–A"] * 3 + ["–B"]
    assert 'class="medal' not in page.text
    assert "Not ranked." in page.all_words


@pytest.mark.parametrize("teams", [1, 2])
@pytest.mark.parametrize("cases", [1, 2])
def test_few_teams_and_few_cases(teams: int, cases: int) -> None:
    page = page_of(large_ranking(teams=teams, cases=cases, metrics=3))
    assert len(page.table("Rank", "Team")) == teams


def test_without_any_order_there_is_no_tau_to_tell() -> None:
    ranking = golden_ranking()
    stability = ranking.schemes[0].stability
    assert stability is not None
    taus = Taus(values=(), undefined=1000, mean=None, median=None, lower_quartile=None, upper_quartile=None)
    scheme = replace(ranking.schemes[0], stability=replace(stability, taus=taus))
    words = page_of(replace(ranking, schemes=(scheme, *ranking.schemes[1:]))).all_words
    assert "None of 1,000 replicates has an order that can be compared with the one above." in words


def test_a_ranking_without_single_cases_says_why_there_is_no_interval() -> None:
    ranking = golden_ranking()
    reason = "The files contain no per-case rows."
    scheme = replace(ranking.schemes[0], stability=None, why_no_stability=reason)
    bare = replace(
        ranking, cases=(), statuses=((),) * 4, metrics=(), schemes=(scheme,), scheme_taus=((1.0,),), significance=()
    )
    bare = replace(bare, claims=None, differences=())
    page = page_of(bare)
    assert reason in page.all_words
    assert page.figures == ["Scores: Mean Dice"]
    assert page.tables[0][0][:4] == ["Rank", "Team", "Mean Dice", "Cases\nscored"]


LOST = (0.1, None, *(0.1,) * 6)


@pytest.mark.parametrize(
    ("errors", "expected"),
    [
        (
            ((2.0,) * 8, (3.0,) * 8, (4.0,) * 8, LOST),
            [["1", "2", "2"], ["2", "3", "2"], ["3", "4", "2"], ["4", "–", "2"]],
        ),
        ((LOST, LOST[::-1], LOST, LOST), [["1", "–", "–"]] * 4),
    ],
)
def test_a_team_is_not_best_in_errors_for_having_lost_its_hard_cases(
    errors: tuple[tuple[float | None, ...], ...], expected: list[list[str]]
) -> None:
    """An error without bound has no worst value to put in: who lacks one has no mean, and comes last."""
    ranking = golden_ranking()
    metric = replace(
        ranking.metrics[0],
        **{"name": "gpe", "title": "GPE", "direction": "lower", "highest": None, "worst": None, "values": errors},
        means=tuple(None if None in row else float(np.mean(np.array(row, dtype=float))) for row in errors),
        mean_intervals=(None,) * 4,
    )
    page = page_of(replace(ranking, metrics=(*ranking.metrics, metric)))
    standing = [row for table in page.tables for row in table if row[0].startswith("GPE") and len(row) == 5]
    assert [[row[1], row[2], row[4]] for row in standing] == expected


def test_the_heat_map_counts_the_ranks_that_rank_then_mean_counts() -> None:
    """A missing value comes after the worst value that another team really had."""
    ranking = golden_ranking()
    values = ((0.9,), (0.0,), (0.5,), (None,))
    metric = replace(ranking.metrics[0], values=values)
    statuses = (("scored",),) * 4
    page = page_of(replace(ranking, cases=("c1",), statuses=statuses, metrics=(metric,)))
    table = page.table("Team", "Rank 1", "Rank 2", "Rank 3", "Rank 4")
    assert ["".join(row[1:]) for row in table] == ["1000", "0010", "0100", "0001"]


def test_a_case_without_a_value_of_anybody_is_left_out() -> None:
    ranking = golden_ranking()
    values = tuple((None, *row[1:]) for row in ranking.metrics[0].values)
    metric = replace(ranking.metrics[0], values=values, undefined_cases=1)
    page = page_of(replace(ranking, metrics=(metric,)))
    assert [row[1:3] for row in page.table("Team", "Cases", "Undefined")] == [["8", "1"]] * 4
    assert (
        sum(int(cell) for row in page.table("Team", "Rank 1", "Rank 2", "Rank 3", "Rank 4") for cell in row[1:]) == 28
    )


def test_many_teams_are_folded_and_few_are_not() -> None:
    folded = "<details><summary>Strengths and weaknesses by metric</summary>"
    for teams, expected in ((12, 0), (13, 13)):
        assert page_of(large_ranking(teams=teams, cases=6, metrics=3)).text.count(folded) == expected


def test_settings_without_a_value_are_left_out_and_many_of_a_kind_are_one_row() -> None:
    tolerances = {"liver": 5, "spleen": 3.5, "aorta": 2, "stomach": 5, "kidney": 3}
    table = settings_table({"cases": {"input": None, "ignore_case": True}, "nsd": {"tolerances_mm": tolerances}})
    assert table.rows == [
        ("cases.ignore_case", "yes"),
        ("nsd.tolerances_mm", "liver 5, spleen 3.5, aorta 2, stomach 5, kidney 3"),
    ]
