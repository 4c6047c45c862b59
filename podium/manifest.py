"""The public list of cases: what participants may know beforehand, and what `podium validate` checks against."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from podium.challenges import KINDS, challenge_from_settings, published_settings
from podium.challenges.base import AnyChallenge
from podium.errors import UsageError, first_problem
from podium.platform.metrics_file import sorted_outside
from podium.platform.submission import SubmissionShape
from podium.task import Task


class Manifest(BaseModel):
    """A challenge's published rules, and the names and array shapes of its cases. No reference value is in it."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    schema_name: Literal["podium-manifest-2"] = "podium-manifest-2"
    challenge: str
    kind: str
    title: str
    version: str
    submission: SubmissionShape = "any"
    settings: Mapping[str, Any]
    cases: Mapping[str, Mapping[str, tuple[int, ...]]]

    def load_challenge(self) -> AnyChallenge:
        """The challenge under the manifest's settings."""
        return challenge_from_settings(self.challenge, self.kind, dict(self.settings))


def make_manifest(task: Task) -> Manifest:
    """The manifest of a challenge whose ground truth was read."""
    return Manifest(
        challenge=task.challenge.name,
        kind=task.challenge.kind,
        title=task.folder.common.title,
        version=task.folder.common.version,
        submission=task.folder.common.submission,
        settings=published_settings(task.challenge),
        cases={case: task.shapes[case] for case in task.cases},
    )


def write_manifest(manifest: Manifest, path: Path) -> None:
    """As JSON, the same bytes for the same manifest."""
    content = sorted_outside(manifest.model_dump(mode="json"))
    path.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")


def read_manifest(path: Path) -> Manifest:
    """Raises UsageError where the file is no manifest of a challenge known here."""
    try:
        manifest = Manifest.model_validate_json(path.read_bytes())
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}.") from None
    except ValidationError as error:
        raise UsageError(f"{path} is not a case list made by 'podium manifest': {first_problem(error)}.") from None
    if manifest.kind not in KINDS:
        raise UsageError(f"{path} is for a challenge of the kind '{manifest.kind}', which is not known here.")
    return manifest
