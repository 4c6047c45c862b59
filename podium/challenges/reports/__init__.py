"""ODIN 2026: radiology report generation (BLEU and METEOR here; RadFact by `podium judge`, offline).

One case is one free-text report; see docs/reports.md for the rules and their sources.
"""

from podium.challenges.base import Challenge, Kind
from podium.challenges.reports.format import ReportsFormat, ReportsSettings
from podium.challenges.reports.scoring import ReportsScorer, ranking_rule, scoreboard
from podium.challenges.settings import CasesSettings
from podium.pairing import Source
from podium.readers.files import SafeFile


def build(name: str, cases: CasesSettings, settings: ReportsSettings) -> Challenge[ReportsSettings, Source, SafeFile]:
    """The challenge with its settings."""
    files = ReportsFormat(cases, settings)
    return Challenge(
        name=name,
        kind=REPORTS.name,
        cases=cases,
        settings=settings,
        format=files,
        scorer=ReportsScorer(files, settings),
        scoreboard=scoreboard(settings),
        ranking=ranking_rule(settings),
        # Matches reveal which words of a word list are in a reference; lengths reveal the reference's and so the case.
        confidential=("ngrams", "tokens", "ngrams_13a", "tokens_13a"),
        given=lambda _results, _runtime: {"radfact_known": 0},
    )


REPORTS = Kind(name="reports", settings_model=ReportsSettings, build=build)
