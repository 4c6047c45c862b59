"""One file a challenge; this page lists them."""

from typing import Any

from podium.challenges.base import Challenge
from podium.challenges.carotid.challenge import Carotid
from podium.challenges.freehand.challenge import Freehand
from podium.challenges.lesions.challenge import LesionSegmentation
from podium.challenges.reports.challenge import Reports

CHALLENGES: dict[str, type[Challenge[Any, Any]]] = {
    challenge.name: challenge for challenge in (Carotid, Freehand, LesionSegmentation, Reports)
}
