"""How long the report of a large ranking takes and how large it is: 50 teams, 1,000 cases, 10 metrics, made up.

    python bench/report_pages.py

The ratio is to writing the same ranking as ranking.json in the same run, so that it means the same on any machine.
"""

import sys
import time
from collections.abc import Callable
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(REPOSITORY), str(REPOSITORY / "test")]

from tools.report.made_rankings import large_ranking  # noqa: E402  (the line above makes them importable)

from podium.tools.ranking.result import ranking_to_json  # noqa: E402
from podium.tools.report.ranking_report import ranking_report  # noqa: E402

RUNS = 3


def fastest(work: Callable[[], str]) -> tuple[float, str]:
    """CPU seconds of the fastest run, and what it wrote."""
    seconds = []
    for _ in range(RUNS):
        start = time.process_time()
        written = work()
        seconds.append(time.process_time() - start)
    return min(seconds), written


def main() -> None:
    ranking = large_ranking(teams=50, cases=1000, metrics=10)
    json_seconds, document = fastest(lambda: ranking_to_json(ranking))
    page_seconds, page = fastest(lambda: ranking_report(ranking).page)
    print(f"ranking.json  {len(document.encode()) / 1e6:5.2f} MB  {json_seconds:5.2f} s")
    print(
        f"report.html   {len(page.encode()) / 1e6:5.2f} MB  {page_seconds:5.2f} s  {page_seconds / json_seconds:.1f} x"
    )


if __name__ == "__main__":
    main()
