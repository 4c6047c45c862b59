"""The ground truth of a challenge: its folder, problems of its references, and the geometry of images."""

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Generic, TypeVar

from podium.challenges.settings import CASES, ChallengeFile, Common, Settings
from podium.errors import ConfigurationError, GroundTruthError, Refused, UsageError, listed
from podium.pairing import Candidate, Pairing, Unmatched
from podium.platform.jobs import Runtime
from podium.readers.files import escape_for_display
from podium.readers.geometry import Geometry

UPLOADED = Path("/opt/ml/input/data/ground_truth")
CHALLENGE_FILE = "challenge.toml"
METRICS_CODE = "metrics.py"  # an organiser's own metrics
REFERENCES = "references"
NOTE = "README.md"  # for people; may be among the references
PredictionT = TypeVar("PredictionT")  # where one case's prediction is, not yet opened
ValuesByCase = Mapping[str, Mapping[str, object]]
Shapes = Mapping[str, tuple[int, ...]]  # of the arrays of one case, by their names: public, it is the images' size
Geometries = Mapping[str, Geometry]  # of those arrays whose files have one: public, it is the images'
_NAME = re.compile(r"[a-z0-9]+(?:[._-]+[a-z0-9]+)*", re.ASCII)  # what Docker allows in an image's name
NAMED = 5  # cases that a line names
_SMALLEST_SPACING_MM = 0.01  # no scanner resolves this; a millimetre written in metres is 0.001

# Where the ground truth is and which challenges it holds.


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

    @property
    def beside(self) -> Sequence[Path]:
        """The files beside challenge.toml that belong to it: own metrics, and the table of facts about cases."""
        cases = self.file.tables.get(CASES)
        table = cases.get("table") if isinstance(cases, dict) else None
        found = [self.path / name for name in (METRICS_CODE, table) if isinstance(name, str)]
        return [path for path in found if path.is_file()]


def locate_ground_truth(given: Path | None, *, beside: Path) -> Path:
    """The folder named on the command line, which may be one of `beside`, else what the platform uploaded, else
    `beside` (baked into the image)."""
    if given is not None:
        is_name = len(given.parts) == 1 and not given.exists()
        return beside / given if is_name and (beside / given).is_dir() else given
    if UPLOADED.is_dir() and any(UPLOADED.iterdir()):
        return UPLOADED
    return beside


def read_challenge_folders(root: Path, *, named: str | None = None) -> Mapping[str, ChallengeFolder]:
    """The challenges below `root` by name, read."""
    return {name: read_challenge_folder(path, name=name) for name, path in challenge_paths(root, named=named).items()}


def challenge_paths(root: Path, *, named: str | None = None) -> Mapping[str, Path]:
    """The folders of challenges below `root` by name: `root` itself if it has a challenge.toml, else its sub-folders
    that do; their content is not read.

    A challenge's name is its folder's; where `root` itself is the challenge, as an upload may be, it is `named` if that
    is given. An upload that was packed one folder too deep is found all the same; so is the folder of a challenge.toml.
    """
    root = root.parent if root.name == CHALLENGE_FILE and root.is_file() else root
    if not root.is_dir():
        raise GroundTruthError("There is no ground truth: its folder does not exist.", detail=str(root))
    if (root / CHALLENGE_FILE).is_file():
        # The name of the platform's folder means nothing: an upload without its own folder is named after its kind.
        own = ChallengeFile(root / CHALLENGE_FILE).kind if root == UPLOADED else root.resolve().name
        return {named or own: root}
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


def read_challenge_folder(path: Path, *, name: str) -> ChallengeFolder:
    """The challenge in a folder, under this name."""
    file = ChallengeFile(path / CHALLENGE_FILE)
    file.known_kind()
    check_name(name, path)
    return ChallengeFolder(name=name, path=path, file=file, common=file.common())


def check_name(name: str, path: Path) -> None:
    """Raises ConfigurationError where a challenge cannot have this name."""
    if not _NAME.fullmatch(name):
        raise ConfigurationError(
            "The name of a challenge's folder may have only lower-case letters, digits, '.', '_' and '-', because it "
            f"becomes the image's name; '{escape_for_display(name)}' is not valid.",
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
        raise GroundTruthError(problems[0].what, detail="\n".join(lines_of(problems)))


def lines_of(problems: Sequence[ReferenceProblem]) -> Sequence[str]:
    """A line for every problem; where many are the same, one for all of them."""
    places: dict[str, list[str]] = {}
    for each in problems:
        places.setdefault(each.what, []).append(each.where)
    few = {what: where if len(where) <= NAMED else [listed(where, most=NAMED)] for what, where in places.items()}
    return [f"{place}: {what}" for what, where in few.items() for place in where]


# Files and jobs.


@dataclass(frozen=True, kw_only=True)
class Collected(Generic[PredictionT]):
    """A submission sorted by case, nothing opened yet.

    refused    by case, why its prediction will not be opened
    unanswered optional values that it has no prediction of in any case: it is not scored by them
    notes      sentences on all cases together, for the submission's author
    digest     of all its files, where rows are sealed with it
    """

    predictions: Mapping[str, PredictionT]
    refused: Mapping[str, str] = field(default_factory=dict)
    unmatched: Sequence[Unmatched] = ()
    unanswered: Collection[str] = ()
    notes: Sequence[str] = ()
    runtime: Runtime = field(default_factory=Runtime)
    digest: str = ""


@dataclass(frozen=True, kw_only=True)
class Description:
    """A summary of one reference, or of one of its values, for the organiser.

    categories   counted over the cases
    figures      summarised over the cases by smallest, median and largest
    doubts       what is allowed but implausible: sentences without the case's name, so that equal ones can be counted
    """

    categories: Mapping[str, str] = field(default_factory=dict)
    figures: Mapping[str, float] = field(default_factory=dict)
    doubts: Sequence[str] = ()


def collect(
    pairing: Pairing, make: Callable[[Sequence[Candidate]], PredictionT], runtime: Runtime | None = None
) -> Collected[PredictionT]:
    """The predictions of a pairing; `make` turns the candidates of one case into its prediction, or raises Refused."""
    predictions: dict[str, PredictionT] = {}
    refused: dict[str, str] = {}
    for case, candidates in pairing.candidates.items():
        try:
            predictions[case] = make(candidates)
        except Refused as refusal:
            refused[case] = str(refusal)
    return Collected(
        predictions=predictions, refused=refused, unmatched=pairing.unmatched, runtime=runtime or Runtime()
    )


def equal_but_for_letter_case(cases: Collection[str]) -> Sequence[Sequence[str]]:
    """Groups of cases whose names differ only in upper and lower case."""
    alike: dict[str, list[str]] = {}
    for case in sorted(cases):
        alike.setdefault(case.casefold(), []).append(case)
    return [names for names in alike.values() if len(names) > 1]


def doubts_about_geometry(name: str, geometry: Geometry | None, settings: Settings) -> list[str]:
    """What is implausible about a volume's spacing, and a recommendation where the settings of its predictions have no
    `geometry`."""
    if geometry is None or len(geometry.spacing) != 3:
        return []
    doubts = []
    if all(length == 1.0 for length in geometry.spacing):
        doubts.append("The spacing is 1 x 1 x 1 mm: it may have been lost in a conversion, and volumes would be wrong.")
    elif min(geometry.spacing) < _SMALLEST_SPACING_MM:
        below = f"The spacing is below {_SMALLEST_SPACING_MM} mm"
        doubts.append(f"{below}: it may be in metres, and volumes would be wrong.")
    if geometry.direction and "geometry" not in settings.model_fields_set and getattr(settings, "is_predicted", True):
        advice = 'geometry = "strict" refuses it; "warn", the default, scores it by array index.'
        doubts.append(f"Nothing says what becomes of a prediction of '{name}' that is in another place: {advice}")
    return doubts
