"""One package per kind of challenge; this page lists them."""

from typing import Any

from podium.challenges.base import AnyChallenge, Kind
from podium.challenges.carotid import CAROTID
from podium.challenges.freehand import FREEHAND
from podium.challenges.ground_truth import ChallengeFolder
from podium.challenges.lesions import LESIONS
from podium.challenges.reports import REPORTS
from podium.challenges.settings import CASES

KINDS: dict[str, Kind[Any]] = {kind.name: kind for kind in (CAROTID, FREEHAND, LESIONS, REPORTS)}


def load_challenge(folder: ChallengeFolder) -> AnyChallenge:
    """The challenge under the settings of its challenge.toml."""
    kind = KINDS[folder.common.kind]
    return kind.build(folder.name, folder.file.cases(), folder.file.own(kind.settings_model))


def challenge_from_settings(name: str, kind: str, settings: dict[str, Any]) -> AnyChallenge:
    """The challenge under published settings; raises pydantic's ValidationError where they are not known here."""
    tables = (CASES, kind)
    unknown = {key: value for key, value in settings.items() if key not in tables}  # refused with the unknown keys
    return KINDS[kind].challenge(name, cases=settings.get(CASES, {}), own={**settings.get(kind, {}), **unknown})


def challenge_for_format(kind: str) -> AnyChallenge:
    """A challenge that can read predictions where the real settings are not at hand."""
    return KINDS[kind].challenge(kind, cases={}, own=KINDS[kind].format_settings)
