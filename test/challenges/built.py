"""Challenges under given settings, without a ground truth on disk."""

from typing import Any

from podium.challenges.base import AnyChallenge
from podium.challenges.carotid import CAROTID
from podium.challenges.freehand import FREEHAND
from podium.challenges.lesions import LESIONS
from podium.challenges.reports import REPORTS
from podium.challenges.settings import CasesSettings


def carotid(settings: Any = None, **cases: Any) -> AnyChallenge:
    return CAROTID.build(
        "carotid", CasesSettings(**cases), settings or CAROTID.settings_model(time={"baseline_seconds": 90.0})
    )


def lesions(settings: Any = None, **cases: Any) -> AnyChallenge:
    return LESIONS.build("lesions", CasesSettings(**cases), settings or LESIONS.settings_model())


def freehand(settings: Any = None, **cases: Any) -> AnyChallenge:
    return FREEHAND.build("freehand", CasesSettings(**cases), settings or FREEHAND.settings_model())


def reports(settings: Any = None, **cases: Any) -> AnyChallenge:
    return REPORTS.build("reports", CasesSettings(**cases), settings or REPORTS.settings_model())
