"""Where the ground truth lies and which challenges it holds."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

from podium.challenges.settings import ChallengeFile, Common
from podium.errors import ConfigurationError, GroundTruthError
from podium.readers.files import SafeFile, list_files

UPLOADED = Path("/opt/ml/input/data/ground_truth")
CHALLENGE_FILE = "challenge.toml"
REFERENCES = "references"


@dataclass(frozen=True)
class ChallengeFolder:
    """One challenge's ground truth: its configuration and the folder of its references."""

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


def read_challenge_folders(root: Path, *, known: Collection[str]) -> Mapping[str, ChallengeFolder]:
    """The challenges below `root` by name: `root` itself if it has a challenge.toml, else its sub-folders that do.

    `known` are the names a challenge.toml may give. An upload that was packed one folder too deep reads the same as
    one that was not.
    """
    if not root.is_dir():
        raise GroundTruthError("There is no ground truth: its folder does not exist.", detail=str(root))
    if (root / CHALLENGE_FILE).is_file():
        paths = [root]
    else:
        paths = sorted(path for path in root.iterdir() if (path / CHALLENGE_FILE).is_file())
    if not paths:
        inner = [path for path in root.iterdir() if path.is_dir()]
        if len(inner) == 1:
            return read_challenge_folders(inner[0], known=known)
        raise GroundTruthError(
            f"The ground truth holds no {CHALLENGE_FILE}, neither itself nor in a sub-folder.", detail=str(root)
        )
    folders: dict[str, ChallengeFolder] = {}
    for path in paths:
        file = ChallengeFile(path / CHALLENGE_FILE)
        if file.challenge not in known:
            choices = ", ".join(sorted(known))
            raise file.refuse(("challenge",), f"is '{file.challenge}'; the challenges are: {choices}")
        folder = ChallengeFolder(path=path, file=file, common=file.common())
        if file.challenge in folders:
            raise ConfigurationError(
                f"Two folders of the ground truth are both the challenge '{file.challenge}'.",
                detail=f"{folders[file.challenge].path} and {path}",
            )
        folders[file.challenge] = folder
    return folders


def list_references(folder: Path) -> tuple[SafeFile, ...]:
    """The files in the folder of references; a link or a special file among them is a broken ground truth."""
    listing = list_files(folder)
    if listing.refused:
        name, reason = listing.refused[0]
        raise GroundTruthError("A reference is not a regular file.", detail=f"references/{name}: {reason}")
    return listing.files
