"""TUS-REC: trackerless 3-D freehand ultrasound reconstruction (GPE, GLE, LPE, LLE and their scores).

One case is one scan; see docs/freehand.md for the rules, the files and contradictions between the documents.
"""

from functools import partial

from podium.challenges.base import Challenge, Kind
from podium.challenges.freehand.format import FreehandFormat, FreehandSettings
from podium.challenges.freehand.reading import FreehandPrediction, FreehandReference
from podium.challenges.freehand.scoring import FreehandScorer, given_figures, ranking_rule, scoreboard
from podium.challenges.settings import CasesSettings


def build(
    name: str, cases: CasesSettings, settings: FreehandSettings
) -> Challenge[FreehandSettings, FreehandPrediction, FreehandReference]:
    """The challenge with its settings."""
    return Challenge(
        name=name,
        kind=FREEHAND.name,
        cases=cases,
        settings=settings,
        format=FreehandFormat(cases, settings),
        scorer=FreehandScorer(settings),
        scoreboard=scoreboard(settings),
        ranking=ranking_rule(settings),
        # `largest` and `by_frame` reveal the reference's motion: it is the error of a prediction of zeros.
        # The participant controls the runtime, and could use it to mark which scan an anonymous row belongs to.
        confidential=("largest", "by_frame", "runtime_seconds"),
        given=partial(given_figures, settings),
    )


FREEHAND = Kind(name="freehand", settings_model=FreehandSettings, build=build, format_settings={"edition": "2024"})
