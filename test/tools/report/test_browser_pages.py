"""The pages in a real browser: nothing is clipped, what is wider than its place says so, axe-core is content on a
desktop, on a phone and in the dark; charts are live, linked and obey the page's policy; tables sort and filter; and one
gets from a team to its case to the picture and back.
"""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from axe_playwright_python.sync_playwright import Axe
from places import ROOT
from playwright.sync_api import Browser
from playwright.sync_api import Page as BrowserPage
from tools.arena.browsing import PHONE, open_browser
from tools.report.made_rankings import golden_ranking, large_ranking
from tools.report.page_check import write_page

from podium.challenges.pictures import Outlined, Overlay
from podium.tools.ranking.calibration import Calibration, TeamEstimate
from podium.tools.ranking.result import Consensus
from podium.tools.report.overlays import CasePictures, OverlayPicture, with_views
from podium.tools.report.page import write_report
from podium.tools.report.ranking_report import consensus_report, ranking_report

pytestmark = [pytest.mark.browser, pytest.mark.usefixtures("close_pages")]

DESKTOP = {"viewport": {"width": 1280, "height": 900}}
LOOKS: dict[str, dict[str, Any]] = {
    "desktop": DESKTOP,
    "dark": {**DESKTOP, "color_scheme": "dark"},
    "phone": PHONE,
}
# The frames that scroll sideways and those that say so, of all that are visible.
FRAMES = """[...document.querySelectorAll('.scroll')].filter(one => one.checkVisibility()).map(one => ({
    label: one.getAttribute('aria-label'),
    scrolls: one.scrollWidth > one.clientWidth + 1,
    says: getComputedStyle(one, '::before').display === 'block'}))"""
ALL_DRAWN = (
    "[...document.querySelectorAll('figure:not([hidden])')].every(one => one.matches('.drawn,:not(:has(.live))'))"
)
HOSTILE = ("</script><script>alert(1)</script>", '<img src=x onerror="alert(1)">', "فريق الأشعة", "x" * 60)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with open_browser() as opened:
        yield opened


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    mask = np.eye(8, dtype=bool)
    overlay = Overlay(title="View", image=None, layers={"plaque": Outlined(prediction=mask, reference=mask)})
    picture = with_views(OverlayPicture(row="c8", title="c8", caption="Dice 0.3"), [overlay])
    many = large_ranking(teams=20, cases=30, metrics=14)
    rankings = {
        "golden": ranking_report(golden_ranking(), CasePictures(by_team={"A": [picture]})),
        "large": ranking_report(large_ranking(teams=20, cases=30, metrics=4)),
        "many": ranking_report(many),
        "hostile": ranking_report(
            replace(golden_ranking(HOSTILE), cases=(*HOSTILE, *"abcd")),
            CasePictures(
                by_team={HOSTILE[0]: [replace(picture, row=HOSTILE[1], title=HOSTILE[1], caption=HOSTILE[0])]}
            ),
        ),
    }
    estimate = {"votes": 9, "voted_cases": 3, "weight": 0.5, "worth": 12.0}
    shares = {f"by_{name}": 0.6 for name in ("votes", "judge", "both")}
    ends = {f"{name}_interval": (0.4, 0.8) for name in shares}
    judged = Calibration(
        **{"podium_version": "1", "judge": "model", "votes": 9, "raters": 2, "voted_cases": 3, "cases": 8},
        **{"confidence": 0.95, "replicates": 100, "seed": 0, "figures": (), "notes": ()},
        teams=tuple(TeamEstimate(name=name, **estimate, **shares, **ends) for name in "BCAD"),
    )
    rankings["judged"] = ranking_report(replace(golden_ranking(), calibration=judged))
    agreed = Consensus(
        **{
            "title": "Two tasks",
            "tasks": ("Liver & spleen", HOSTILE[0]),
            "teams": (HOSTILE[0], *HOSTILE[2:]),
        },
        **{"consensus_ranks": (1, 1, 3), "mean_ranks": (1.5, 1.5, 3.0), "mean_rank_intervals": None},
        **{"ranks": ((1, 2, 3), (2, 1, 3)), "task_taus": (0.8, None), "kemeny": None, "kemeny_disagreements": None},
        **{"stability": None, "confidence": 0.95, "cases": 8, "sentences": ("Teams were ranked.",)},
    )
    rankings["consensus"] = consensus_report(agreed, ["liver & spleen", "other"])
    found = {}
    for name, report in rankings.items():
        found[name] = tmp_path_factory.mktemp(name) / "report.html"
        write_report(report, found[name])
    write_report(rankings["golden"], found["consensus"].parent / "liver & spleen/report.html")
    return found


def until(page: BrowserPage, expression: str) -> None:
    """Ask again and again: `wait_for_function` would need the eval that the page forbids."""
    for _ in range(600):
        if page.evaluate(expression):
            return
        page.wait_for_timeout(50)
    raise AssertionError(f"{expression} never held")


def go_to(page: BrowserPage, tab: str) -> None:
    page.locator(f".tabs a[href='#{tab}']").click()
    page.locator(f"#{tab}").wait_for()


def each_tab(page: BrowserPage) -> Iterator[str]:
    for link in page.locator(".tabs a").all():
        link.click()
        yield link.inner_text()


def open_page(browser: Browser, path: Path, look: str = "desktop") -> tuple[BrowserPage, list[str]]:
    """The page with all its charts drawn, and what the browser complained of."""
    page = browser.new_page(**LOOKS[look])
    said: list[str] = []
    page.on("console", lambda message: said.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: said.append(str(error)))
    page.goto(path.as_uri())
    page.evaluate("document.documentElement.style.scrollBehavior = 'auto'")
    until(page, ALL_DRAWN)
    return page, said


@pytest.mark.parametrize("look", LOOKS)
@pytest.mark.parametrize("name", ["golden", "large"])
def test_nothing_is_clipped_without_a_hint(browser: Browser, pages: dict[str, Path], name: str, look: str) -> None:
    page, _ = open_page(browser, pages[name], look)
    page.evaluate("document.querySelectorAll('article details').forEach(one => { one.open = true })")
    frames = []
    for tab in each_tab(page):
        page.wait_for_timeout(300)
        width = page.evaluate("[document.documentElement.scrollWidth, document.documentElement.clientWidth]")
        assert width[0] == width[1], f"the page itself never scrolls sideways: {tab}"
        until(page, f"({FRAMES}).every(one => !one.scrolls || one.says)")
        frames += page.evaluate(FRAMES)
    assert len(frames) > 5
    if look == "desktop" and name == "golden":
        assert not any(frame["scrolls"] for frame in frames)
    if look == "desktop":
        assert not any(frame["scrolls"] for frame in frames if "strengths and weaknesses" in frame["label"])


@pytest.mark.parametrize("look", LOOKS)
def test_axe_finds_no_fault(browser: Browser, pages: dict[str, Path], look: str) -> None:
    page, _ = open_page(browser, pages["golden"], look)
    page.select_option("#pick", index=2)
    faults = []
    for tab in each_tab(page):
        found = Axe().run(page).response["violations"]
        faults += [f"{tab}: {one['id']}: {one['help']} {node['html'][:200]}" for one in found for node in one["nodes"]]
    assert faults == []


@pytest.mark.parametrize("name", ["golden", "hostile", "many"])
def test_charts_are_live_under_a_policy_without_eval(browser: Browser, pages: dict[str, Path], name: str) -> None:
    page, said = open_page(browser, pages[name])
    assert said == []
    assert page.locator(".live svg").count() > 7
    assert page.locator(".still svg:visible").count() == 0, "drawings in advance make room"
    assert page.locator("img, .live script").count() == 0, "names are data"


def test_a_team_is_highlighted_in_all_charts_and_in_the_table(browser: Browser, pages: dict[str, Path]) -> None:
    page, _ = open_page(browser, pages["golden"])
    faint = ".live [opacity='0.18']"
    assert page.locator(faint).count() == 0
    page.select_option("#pick", index=2)
    until(page, "document.querySelectorAll(\".live [opacity='0.18']\").length > 20")
    assert page.locator(f"figure:has({faint})").count() == 8, "all charts but the violins, which have no teams"
    assert page.locator(".final tr.at th").inner_text().startswith("C")
    page.select_option("#pick", index=0)
    until(page, "!document.querySelector(\".live [opacity='0.18']\")")
    go_to(page, "certainty")
    page.locator("#figure-scores-mean-dice .live .mark-symbol path").nth(1).click()
    until(page, "document.querySelector('#pick').value === '1'")
    go_to(page, "cases")
    page.locator("#figure-podium-plot-dice .live .role-legend-label text").first.click()
    until(page, "document.querySelector('#pick').value === '0'")


def test_a_dot_says_what_it_is_and_leads_to_its_row(browser: Browser, pages: dict[str, Path]) -> None:
    page, _ = open_page(browser, pages["golden"])
    go_to(page, "metrics")
    dots = page.locator("#figure-dice .live .layer_0_marks path")
    assert dots.count() == 32
    box = [dot.bounding_box() or {"x": 0} for dot in dots.all()]
    worst = min(range(32), key=lambda number: box[number]["x"])
    dots.nth(worst).hover()
    page.wait_for_selector("#vg-tooltip-element.visible")
    words = page.locator("#vg-tooltip-element").inner_text().split()
    assert words == ["Team", "D", "Case", "c3", "Value", "0", "Rank", "4", "Status", "missing"]
    dots.nth(worst).click()
    until(page, "location.hash === '#team-4-3'")
    until(page, "document.querySelector('tr:target')?.innerText.startsWith('c3')")  # laid out when it is near


def test_from_the_ranking_to_a_team_to_a_case_to_its_picture_and_back(browser: Browser, pages: dict[str, Path]) -> None:
    page, _ = open_page(browser, pages["golden"])
    page.locator(".final .team a", has_text="A").click()
    page.locator("#team-3-8 a", has_text="picture").click()
    assert page.locator("figure:target svg").count() >= 1
    page.locator("figure:target a", has_text="Its row in the table").click()
    until(page, "document.querySelector('tr:target')?.innerText.startsWith('c8')")  # laid out when it is near
    page.locator("article", has=page.locator("tr:target")).get_by_text("Back to the ranking").click()
    assert page.evaluate("location.hash") == "#ranking"


def test_tables_of_cases_sort_and_filter(browser: Browser, pages: dict[str, Path]) -> None:
    page, _ = open_page(browser, pages["golden"])
    go_to(page, "teams")
    article = page.locator("#team-4")
    article.scroll_into_view_if_needed()
    until(page, "document.querySelector('#team-4 .cases bdi').innerText !== ''")
    names = article.locator(".cases tbody th:visible bdi")
    assert names.first.inner_text() == "c3", "the missing case"
    article.locator(".cases thead button", has_text="Case").click()
    assert names.all_inner_texts() == [f"c{number}" for number in range(1, 9)]
    article.locator(".cases thead button", has_text="Dice").first.click()
    assert names.first.inner_text() == "c5", "the best"
    assert article.locator(".cases th[aria-sort]").get_attribute("aria-sort") == "descending"
    article.locator("button", has_text="Unscored first").click()
    assert names.first.inner_text() == "c3"
    article.locator("input").fill("missing")
    assert names.all_inner_texts() == ["c3"]
    assert article.locator("[role=status]").inner_text() == "1 of 8 cases shown"
    go_to(page, "ranking")
    page.locator(".final thead button", has_text="Team").click()
    assert [name[0] for name in page.locator(".final tbody th").all_inner_texts()] == ["A", "B", "C", "D"]


def test_the_first_click_on_a_heading_sorts_the_best_first(browser: Browser, pages: dict[str, Path]) -> None:
    page, _ = open_page(browser, pages["large"])
    for title, best in (("Dice", max), ("HD95", min)):
        head = page.locator(".final thead th.m", has_text=title).first
        head.locator("button").click()
        column = head.evaluate("head => head.cellIndex")
        cells = page.locator(f".final tbody tr > :nth-child({column + 1})").all_inner_texts()
        values = [float(cell.split()[0]) for cell in cells]
        assert values[0] == best(values)
        head.locator("button").click()
        assert page.locator(f".final tbody tr > :nth-child({column + 1})").last.inner_text() == cells[0]


def test_teams_and_metrics_are_chosen(browser: Browser, pages: dict[str, Path]) -> None:
    page, _ = open_page(browser, pages["many"])
    go_to(page, "metrics")
    shown = page.locator("figure[data-metric]:visible")
    page.select_option("#metric", "HD95 5")
    assert shown.count() == 1
    shown.scroll_into_view_if_needed()
    until(page, "document.querySelector('figure[data-metric]:not([hidden])').matches('.drawn')")
    labels = shown.locator(".live .role-axis-label text")
    before = labels.count()
    page.locator("#tools summary").click()
    page.locator("#tools button", has_text="None").click()
    page.locator("#tools input").nth(3).check()
    assert page.locator("#shown").inner_text() == "1 of 20 shown"
    page.keyboard.press("Escape")
    until(
        page,
        f"document.querySelectorAll('figure[data-metric]:not([hidden]) .role-axis-label text').length < {before - 15}",
    )
    go_to(page, "ranking")
    assert page.locator(".final tbody tr:visible").count() == 1


def test_the_table_comes_first_and_its_rows_are_low(browser: Browser, pages: dict[str, Path]) -> None:
    page, _ = open_page(browser, pages["large"])
    rows = [row.bounding_box() or {"y": 0.0, "height": 0.0} for row in page.locator(".final tbody tr").all()]
    assert rows[0]["y"] <= 320
    assert max(row["height"] for row in rows) <= 36
    assert sum(row["y"] + row["height"] <= 900 for row in rows) >= 12
    head = page.locator(".final thead th").first.bounding_box()
    page.locator(".region").evaluate("region => region.scrollBy(200, 300)")
    assert page.locator(".final thead th").first.bounding_box() == head, "head and team stay"


def test_teams_are_found_and_columns_chosen(browser: Browser, pages: dict[str, Path]) -> None:
    page, _ = open_page(browser, pages["many"])
    page.fill("#search", "gentle")
    shown = page.locator(".final tbody tr:visible .team").all_inner_texts()
    assert shown
    assert all(name.startswith("Gentle") for name in shown)
    assert page.locator("#found").inner_text() == f"{len(shown)} of 20 teams"
    page.fill("#search", "")
    heads = page.locator(".final thead th.m:visible")
    assert heads.count() == 8
    page.locator("#columns summary").click()
    page.locator("#columns button", has_text="All").click()
    assert heads.count() == 14
    assert page.locator("#columns summary").inner_text().endswith("14 of 14")
    page.locator("#columns button", has_text="None").click()
    assert heads.count() == 0


def test_one_tab_is_shown_and_old_links_lead_to_theirs(browser: Browser, pages: dict[str, Path]) -> None:
    page, _ = open_page(browser, pages["golden"])
    assert [section.get_attribute("id") for section in page.locator("section:visible").all()] == ["ranking"]
    for link, tab in (("stability", "certainty"), ("team-3-8", "teams"), ("figure-dice", "metrics")):
        page.goto(f"{pages['golden'].as_uri()}#{link}")
        assert [section.get_attribute("id") for section in page.locator("section:visible").all()] == [tab]
        assert page.locator(".tabs [aria-current]").get_attribute("href") == f"#{tab}"


def test_intervals_are_bars_or_figures_and_colours_can_go(browser: Browser, pages: dict[str, Path]) -> None:
    page, _ = open_page(browser, pages["golden"])
    assert page.locator(".final .forest:visible").count() == 4
    page.select_option("#intervals", "plus")
    assert page.locator(".final .forest:visible").count() == 0
    assert page.locator(".final small:visible").first.inner_text().strip() == "± 0.1400"
    page.locator("#heat").uncheck()
    assert page.locator(".final.heat").count() == 0


def test_without_javascript_everything_is_there(browser: Browser, pages: dict[str, Path]) -> None:
    page = browser.new_page(**DESKTOP, java_script_enabled=False)
    page.goto(pages["golden"].as_uri())
    assert page.locator(".still svg:visible").count() == 9
    assert page.locator("section:visible").count() == page.locator("section").count() == 6
    assert page.locator(".cases tbody tr:visible").count() == 32
    assert page.locator("#tools:visible, thead button, .tools:visible").count() == 0
    assert page.locator(".chart:visible:has(.still:empty)").count() == 0, "a blank chart says nothing: its table does"
    page.goto(pages["many"].as_uri())
    assert page.locator(".chart:visible:has(.still:empty)").count() == 0
    assert page.locator("figure:visible").count() == page.locator("figure").count()
    assert (
        page.locator("figure:has(.still:empty) table:visible").count()
        == page.locator("figure:has(.still:empty)").count()
    )


@pytest.mark.parametrize("name", ["golden", "hostile", "many", "judged", "consensus"])
def test_printed_pages_fit_their_paper(browser: Browser, pages: dict[str, Path], name: str) -> None:
    """A browser prints a page smaller where anything is wider than the paper: 182 mm between the margins of A4."""
    page = browser.new_page(viewport={"width": 688, "height": 970})
    page.goto(pages[name].as_uri())
    until(page, ALL_DRAWN)  # nobody scrolls: what is printed later is drawn all the same
    page.emulate_media(media="print")
    assert page.evaluate("document.documentElement.scrollWidth") <= 688
    wide = "[...document.querySelectorAll('main *')].filter(one => one.getBoundingClientRect().right > 689)"
    assert page.evaluate(f"{wide}.map(one => one.outerHTML.slice(0, 90))") == []


def test_three_intervals_of_a_team_stand_close_together(browser: Browser, pages: dict[str, Path]) -> None:
    page, _ = open_page(browser, pages["judged"])
    box = page.locator("#figure-comparisons-won .live svg").bounding_box()
    assert box
    assert box["height"] < 4 * 100


def test_a_consensus_leads_to_its_tasks(browser: Browser, pages: dict[str, Path]) -> None:
    page, said = open_page(browser, pages["consensus"])
    assert said == []
    assert page.locator(".final tbody td.rank").all_inner_texts() == ["1=", "1=", "3"]
    names = [cell.get_attribute("title") for cell in page.locator(".final tbody th").all()]
    assert names == [HOSTILE[0], *HOSTILE[2:]]
    page.get_by_role("link", name="Liver & spleen").click()
    assert page.get_by_role("heading", level=1).inner_text().startswith("Four teams, eight cases")


def test_printed_pages_are_light_and_have_no_tools(browser: Browser, pages: dict[str, Path]) -> None:
    page, _ = open_page(browser, pages["golden"], "dark")
    page.emulate_media(media="print")
    assert page.evaluate("getComputedStyle(document.documentElement).backgroundColor") == "rgb(255, 255, 255)"
    assert page.locator("#tools:visible, nav:visible, .tools:visible, .downloads:visible").count() == 0


# Overlays: enlarged by a click and by the keyboard, without a script.


@pytest.fixture(scope="module")
def overlay_report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folders = (ROOT / "test/submissions/lesions/ember", ROOT / "ground-truth/lesions")
    return write_page(*folders, tmp_path_factory.mktemp("overlays"), "--images", ROOT / "test/images/lesions")


@pytest.fixture
def overlays(browser: Browser, overlay_report: Path) -> BrowserPage:
    page = browser.new_page(**DESKTOP)
    page.goto(f"{overlay_report.as_uri()}#cases")
    return page


def width(overlays: BrowserPage, number: int) -> float:
    box = overlays.locator(".panel svg").nth(number).bounding_box()
    assert box
    return box["width"]


def test_a_click_enlarges_a_picture_and_another_one_does_not(overlays: BrowserPage) -> None:
    small = width(overlays, 0)
    overlays.locator(".panel").first.click()
    assert width(overlays, 0) > 1.8 * small
    overlays.locator(".panel").first.click()
    assert width(overlays, 0) == small


def test_a_step_of_the_row_is_enlarged_by_the_keyboard(overlays: BrowserPage) -> None:
    small = width(overlays, 3)
    assert small < width(overlays, 0) / 2
    overlays.locator(".panel input").nth(3).press("Space")
    assert width(overlays, 3) > 4 * small
    overlays.locator(".panel input").nth(3).press("Space")


def test_overlays_have_no_accessibility_faults(overlays: BrowserPage) -> None:
    found = Axe().run(overlays, context=".overlays")
    assert found.violations_count == 0, found.generate_report()
