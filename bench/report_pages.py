"""How long the page of a large ranking takes to make and to load, and how large it is: 40 teams, 26 metrics, 100 cases.

    python bench/report_pages.py

The ratio is to writing the same ranking as ranking.json in the same run, so that it means the same on any machine. The
time to load needs Chromium: until all is parsed and laid out, and until the charts in the window are live.
"""

import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(REPOSITORY), str(REPOSITORY / "test")]

from tools.arena.browsing import open_browser, why_no_browser  # noqa: E402  (the line above makes them importable)
from tools.report.made_rankings import large_ranking  # noqa: E402

from podium.tools.ranking.result import ranking_to_json  # noqa: E402
from podium.tools.report.ranking_report import ranking_report  # noqa: E402

RUNS = 3
LOADS = 5


def fastest(work: Callable[[], str]) -> tuple[float, str]:
    """CPU seconds of the fastest run, and what it wrote."""
    seconds = []
    for _ in range(RUNS):
        start = time.process_time()
        written = work()
        seconds.append(time.process_time() - start)
    return min(seconds), written


def load_seconds(page: str) -> tuple[float, float]:
    """Medians: until the load event has ended, and until the charts in the window are live."""
    loaded, live = [], []
    with tempfile.TemporaryDirectory() as folder, open_browser() as browser:
        path = Path(folder) / "report.html"
        path.write_text(page, encoding="utf-8")
        for _ in range(LOADS):
            tab = browser.new_page(viewport={"width": 1280, "height": 900})
            tab.goto(path.as_uri())
            while not tab.evaluate("'ready' in document.documentElement.dataset"):
                time.sleep(0.01)
            live.append(tab.evaluate("performance.now() / 1000"))
            loaded.append(tab.evaluate("performance.getEntriesByType('navigation')[0].loadEventEnd / 1000"))
            tab.close()
    return statistics.median(loaded), statistics.median(live)


def main() -> None:
    ranking = large_ranking(teams=40, cases=100, metrics=26)
    json_seconds, document = fastest(lambda: ranking_to_json(ranking))
    page_seconds, page = fastest(lambda: ranking_report(ranking).page)
    print(f"ranking.json  {len(document.encode()) / 1e6:5.2f} MB  {json_seconds:5.2f} s")
    ratio = page_seconds / json_seconds
    print(f"report.html   {len(page.encode()) / 1e6:5.2f} MB  {page_seconds:5.2f} s  {ratio:.1f} x")
    if problem := why_no_browser():
        print(problem)
    else:
        loaded, live = load_seconds(page)
        print(f"loaded in {loaded:.2f} s, charts in the window live after {live:.2f} s")


if __name__ == "__main__":
    main()
