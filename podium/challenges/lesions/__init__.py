"""autoPET V: interactive PET/CT lesion segmentation (Dice and DMM over the steps of an interaction).

One case is a sequence of masks, one after every scribble; see docs/lesions.md for the rules and their sources.
"""

from podium.challenges.base import Challenge
from podium.challenges.kind import Kind
from podium.challenges.lesions.declarations import ranking_rule, scoreboard
from podium.challenges.lesions.format import LesionsFormat
from podium.challenges.lesions.overlay import LesionsOverlays
from podium.challenges.lesions.scoring import LesionsScorer
from podium.challenges.lesions.settings import LesionsSettings
from podium.challenges.lesions.steps import LesionsPrediction
from podium.challenges.settings import CasesSettings
from podium.readers.files import SafeFile


def build(
    name: str, cases: CasesSettings, settings: LesionsSettings
) -> Challenge[LesionsSettings, LesionsPrediction, SafeFile]:
    """The challenge under its settings."""
    files = LesionsFormat(cases, settings)
    return Challenge(
        name=name,
        kind=LESIONS.name,
        cases=cases,
        settings=settings,
        format=files,
        scorer=LesionsScorer(files, settings),
        scoreboard=scoreboard(settings),
        ranking=ranking_rule(settings),
        overlays=LesionsOverlays(files),
        # Where the lesions are, how large, and how many there are to find.
        confidential=(
            *("lesions", "final_detections", "final_centroid_hits"),
            *("steps.tp", "steps.fn", "steps.voxels", "steps.pairs"),
        ),
    )


LESIONS = Kind(
    name="lesions",
    settings_model=LesionsSettings,
    build=build,
    format_settings={"regime": "clinician"},  # any number of steps is fine
)
