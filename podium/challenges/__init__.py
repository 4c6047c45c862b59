"""One file a challenge; this page lists them."""

from typing import Any

from podium.challenges.carotid import Carotid
from podium.challenges.challenge import Challenge
from podium.challenges.freehand import Freehand
from podium.challenges.lesions import LesionSegmentation
from podium.challenges.reports import Reports

CHALLENGES: dict[str, type[Challenge[Any, Any]]] = {
    challenge.name: challenge for challenge in (Carotid, Freehand, LesionSegmentation, Reports)
}
