"""A challenge from its challenge.toml alone: values, metrics, time; figures, leaderboard and ranking are common to all.

See docs/declared.md for the format and docs/metrics.md for the catalogue.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from podium.challenges.base import Challenge
from podium.challenges.declared.format import DeclaredFormat, Sources
from podium.challenges.declared.overlay import DeclaredOverlays
from podium.challenges.declared.own_code import load_own_metrics
from podium.challenges.declared.pictures import pictures_of
from podium.challenges.declared.scoring import DeclaredScorer, confidential, declare, scoreboard
from podium.challenges.declared.settings import OWN_METRICS, DeclaredSettings, examine, fits_submission
from podium.challenges.ground_truth import METRICS_CODE
from podium.challenges.kind import Kind
from podium.challenges.ranking_rule import NO_RULE
from podium.challenges.settings import CasesSettings
from podium.challenges.time_rule import cohort_times, time_given


def build(name: str, cases: CasesSettings, settings: DeclaredSettings) -> Challenge[DeclaredSettings, Sources, Sources]:
    """The challenge under its settings."""
    files = DeclaredFormat(cases, settings)
    declared = declare(settings)
    time = settings.time
    return Challenge(
        name=name,
        kind=DECLARED.name,
        cases=cases,
        settings=settings,
        format=files,
        scorer=DeclaredScorer(files, declared),
        scoreboard=scoreboard(settings, declared),
        ranking=NO_RULE,
        overlays=DeclaredOverlays(files),
        confidential=confidential(settings, declared),
        given=time_given(time) if time is not None else None,
        pictures=pictures_of(settings),
        provisional=("time_score",) if time is not None and time.rule == "cohort" else (),
        cohort_given=(lambda aggregates: cohort_times(time, aggregates)) if time is not None else None,
    )


def load_own_code(folder: Path) -> Mapping[str, Any]:
    """The table that metrics.py in a challenge's folder adds, if there is one."""
    path = folder / METRICS_CODE
    return {OWN_METRICS: load_own_metrics(path)} if path.is_file() else {}


DECLARED: Kind[Any] = Kind(
    name="declared",
    settings_model=DeclaredSettings,
    build=build,
    tables=("values", "metrics", "time", OWN_METRICS),
    own_code=load_own_code,
    code_tables=(OWN_METRICS,),
    examine=examine,
    fits_submission=fits_submission,
    format_settings=None,
)
