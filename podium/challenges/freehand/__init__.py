"""TUS-REC: trackerless 3-D freehand ultrasound reconstruction (GPE, GLE, LPE, LLE and their scores).

One case is one scan; see docs/freehand.md for the rules, the files and where the documents contradict each other.
"""

from podium.challenges.base import Challenge, Kind
from podium.challenges.freehand.format import FreehandFormat, FreehandSettings
from podium.challenges.freehand.reading import FreehandPrediction, FreehandReference
from podium.challenges.freehand.scoring import RANKING, FreehandScorer, given_figures, scoreboard
from podium.challenges.settings import CasesSettings


def build(
    name: str, cases: CasesSettings, settings: FreehandSettings
) -> Challenge[FreehandSettings, FreehandPrediction, FreehandReference]:
    """The challenge under its settings."""
    files = FreehandFormat(cases, settings)
    return Challenge(
        name=name,
        kind=FREEHAND.name,
        cases=cases,
        settings=settings,
        format=files,
        scorer=FreehandScorer(files, clip=settings.clip),
        scoreboard=scoreboard(settings),
        ranking=RANKING,
        # The error of a prediction that does not move is the reference's own motion, frame by frame in the second.
        # The runtime is a number the participant chose: it would tell, at no cost, which scan hides behind a row.
        confidential=("largest", "by_frame", "runtime_seconds"),
        given=given_figures,
    )


FREEHAND = Kind(name="freehand", settings_model=FreehandSettings, build=build)
