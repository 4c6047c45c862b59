"""The public list of cases: what participants may know beforehand, and what `podium validate` checks against."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from podium.challenges import CHALLENGES
from podium.challenges.base import Challenge
from podium.errors import UsageError
from podium.evaluation import Task
from podium.validation_errors import first_problem


class Manifest(BaseModel):
    """A challenge's published rules, and the names and array shapes of its cases. No reference value is in it."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    schema_name: Literal["podium-manifest-1"] = "podium-manifest-1"
    challenge: str
    title: str
    version: str
    settings: Mapping[str, Any]
    cases: Mapping[str, Mapping[str, tuple[int, ...]]]

    def load_challenge(self) -> Challenge[Any, Any]:
        """The challenge under the manifest's settings."""
        challenge_type = CHALLENGES[self.challenge]
        return challenge_type(challenge_type.settings_model.model_validate(self.settings))


def make_manifest(task: Task) -> Manifest:
    """The manifest of a challenge whose ground truth was read."""
    return Manifest(
        challenge=task.challenge.name,
        title=task.folder.common.title,
        version=task.folder.common.version,
        settings=task.challenge.settings.model_dump(mode="json"),
        cases={case: task.shapes[case] for case in task.cases},
    )


def write_manifest(manifest: Manifest, path: Path) -> None:
    """As JSON, the same bytes for the same manifest."""
    path.write_text(json.dumps(manifest.model_dump(mode="json"), indent=2, sort_keys=True) + "\n", encoding="utf-8")


def read_manifest(path: Path) -> Manifest:
    """Raises UsageError where the file is no manifest of a challenge known here."""
    try:
        manifest = Manifest.model_validate_json(path.read_bytes())
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}.") from None
    except ValidationError as error:
        raise UsageError(f"{path} is not a case list made by 'podium manifest': {first_problem(error)}.") from None
    if manifest.challenge not in CHALLENGES:
        raise UsageError(f"{path} is for the challenge '{manifest.challenge}', which is not known here.")
    return manifest
