"""CSV 2026: carotid plaque segmentation and vulnerability (Dice, NSD, F1, time).

One case is two views of one plaque, two masks and one class; see docs/carotid.md for the rules and their sources.
"""

from podium.challenges.base import Challenge, Kind
from podium.challenges.carotid.format import CarotidFormat, CarotidPrediction
from podium.challenges.carotid.overlay import CarotidOverlays
from podium.challenges.carotid.scoring import (
    CarotidScorer,
    cohort_times,
    given_figures,
    provisional_figures,
    ranking_rule,
    scoreboard,
)
from podium.challenges.carotid.settings import CarotidSettings
from podium.challenges.settings import CasesSettings
from podium.readers.files import SafeFile


def build(
    name: str, cases: CasesSettings, settings: CarotidSettings
) -> Challenge[CarotidSettings, CarotidPrediction, SafeFile]:
    """The challenge under its settings."""
    files = CarotidFormat(cases, settings)
    return Challenge(
        name=name,
        kind=CAROTID.name,
        cases=cases,
        settings=settings,
        format=files,
        scorer=CarotidScorer(files),
        scoreboard=scoreboard(settings),
        ranking=ranking_rule(settings),
        overlays=CarotidOverlays(files),
        # Right or wrong, together with one's own prediction, is the true class.
        confidential=("class_correct", "true_class", "predicted_class"),
        given=given_figures(settings),
        cohort_given=lambda aggregates: cohort_times(settings, aggregates),
        provisional=provisional_figures(settings),
    )


CAROTID = Kind(
    name="carotid",
    settings_model=CarotidSettings,
    build=build,
    format_settings={"time": {"baseline_seconds": 1.0}},
)
