"""Where the ground truth lies and which challenges it holds."""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from podium.challenges.settings import ChallengeFile, Common
from podium.errors import ConfigurationError, GroundTruthError, UsageError
from podium.readers.files import escape_for_display

UPLOADED = Path("/opt/ml/input/data/ground_truth")
CHALLENGE_FILE = "challenge.toml"
METRICS_CODE = "metrics.py"  # an organiser's own metrics
REFERENCES = "references"
_NAME = re.compile(r"[a-z0-9]+(?:[._-]+[a-z0-9]+)*", re.ASCII)  # what Docker allows in an image's name


@dataclass(frozen=True)
class ChallengeFolder:
    """One challenge's ground truth: its name, its configuration and the folder of its references."""

    name: str
    path: Path
    file: ChallengeFile
    common: Common

    @property
    def references(self) -> Path:
        return self.path / REFERENCES


def locate_ground_truth(given: Path | None, *, beside: Path) -> Path:
    """The folder named on the command line, else what the platform uploaded, else `beside` (baked into the image)."""
    if given is not None:
        return given
    if UPLOADED.is_dir() and any(UPLOADED.iterdir()):
        return UPLOADED
    return beside


def read_challenge_folders(
    root: Path, *, known: Collection[str], named: str | None = None
) -> Mapping[str, ChallengeFolder]:
    """The challenges below `root` by name: `root` itself if it has a challenge.toml, else its sub-folders that do.

    `known` are the kinds that a challenge.toml may give. A challenge's name is its folder's; where `root` itself is the
    challenge, as an upload may be, it is `named` if that is given. An upload that was packed one folder too deep reads
    the same as one that was not.
    """
    paths = challenge_paths(root)
    if named is not None and root in paths.values():
        paths = {named: root}
    return {name: _read_folder(path, known, name=name) for name, path in paths.items()}


def challenge_paths(root: Path) -> Mapping[str, Path]:
    """The folders of challenges below `root` by name, nothing read yet."""
    if not root.is_dir():
        raise GroundTruthError("There is no ground truth: its folder does not exist.", detail=str(root))
    if (root / CHALLENGE_FILE).is_file():
        # The platform's folder says nothing: an upload without its own folder is named after its kind.
        name = ChallengeFile(root / CHALLENGE_FILE).kind if root == UPLOADED else root.resolve().name
        return {name: root}
    paths = sorted(path for path in root.iterdir() if (path / CHALLENGE_FILE).is_file())
    if paths:
        return {path.name: path for path in paths}
    inner = [path for path in root.iterdir() if path.is_dir()]
    if len(inner) == 1:
        return challenge_paths(inner[0])
    raise GroundTruthError(
        f"The ground truth holds no {CHALLENGE_FILE}, neither itself nor in a sub-folder.", detail=str(root)
    )


def only_of_kind(folders: Mapping[str, ChallengeFolder], kind: str) -> ChallengeFolder:
    """The one challenge of a kind, for tools that serve that kind alone."""
    fitting = [folder for folder in folders.values() if folder.common.kind == kind]
    if len(fitting) == 1:
        return fitting[0]
    names = ", ".join(folder.name for folder in fitting or folders.values())
    many = "several challenges" if fitting else "no challenge"
    raise UsageError(f"The ground truth holds {many} of the kind '{kind}' ({names}); name the folder of one.")


def _read_folder(path: Path, known: Collection[str], *, name: str) -> ChallengeFolder:
    file = ChallengeFile(path / CHALLENGE_FILE)
    file.known_kind(known)
    check_name(name, path)
    return ChallengeFolder(name=name, path=path, file=file, common=file.common())


def check_name(name: str, path: Path) -> None:
    """Raises ConfigurationError where a challenge cannot have this name."""
    if not _NAME.fullmatch(name):
        raise ConfigurationError(
            "The name of a challenge's folder has small letters, digits, '.', '_' and '-' only: it becomes the image's "
            f"name, and '{escape_for_display(name)}' cannot.",
            detail=str(path),
        )


@dataclass(frozen=True, kw_only=True)
class ReferenceProblem:
    """What is wrong with the references: a sentence without names, which participants may read, and where."""

    what: str
    where: str


def refuse_references(problems: Sequence[ReferenceProblem]) -> None:
    """Raises GroundTruthError where there are problems: the first in its message, all of them in the log."""
    if problems:
        raise GroundTruthError(problems[0].what, detail="\n".join(f"{each.where}: {each.what}" for each in problems))
