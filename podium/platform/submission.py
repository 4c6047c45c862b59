"""What was submitted: the jobs of an algorithm, or a participant's own files, perhaps still in one archive."""

import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal

from podium.errors import Refused, SubmissionError, UsageError
from podium.kernel import signals_blocked
from podium.platform.jobs import PREDICTIONS_FILE, Job, read_jobs
from podium.readers.archives import archive_names, extract_archive
from podium.readers.files import SafeFile, list_files

SubmissionShape = Literal["algorithm", "predictions", "any"]  # jobs, own files, or whichever it is

# What platforms put beside every submission: Grand Challenge its list of the evaluation's own inputs, Codabench the
# exit code of a step before.
_PLATFORM_FILES = ("inputs.json", "metadata")
ARCHIVE_ENDINGS = (".zip", ".tar", ".tar.gz", ".tgz")


@dataclass(frozen=True)
class Submission:
    """Either `jobs` (algorithm submission) or `files` (prediction submission); the other is empty.

    `refused` are the names of files that are never opened, such as links, devices and FIFOs, each with the reason.
    """

    is_algorithm: bool
    jobs: tuple[Job, ...] = ()
    files: tuple[SafeFile, ...] = ()
    refused: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class SubmissionNames:
    """The names in a submission: enough to tell which challenge it was made for."""

    output_sockets: frozenset[str]
    files: tuple[str, ...]


@contextmanager
def open_submission(
    root: Path, *, max_bytes: int, shape: SubmissionShape = "any", unpack_in: Path | None = None
) -> Iterator[Submission]:
    """The submission in `root`; an archive is unpacked, to at most `max_bytes`, until the context ends.

    `shape` is what the phase takes: in a phase for predictions, predictions.json is a file like any other. `unpack_in`
    is an existing folder for the unpacked files, for runs on several machines [the system's temporary folder].
    """
    root = Path(os.path.realpath(root))  # the platform's /input is a link; no link below it is followed
    if _is_algorithm_submission(root, shape):
        yield Submission(is_algorithm=True, jobs=read_jobs(root))
        return
    files, refused, archive = _loose_files(root)
    if archive is None:
        yield Submission(is_algorithm=False, files=files, refused=refused)
        return
    with _workspace(unpack_in) as workspace:
        try:
            left_out = extract_archive(archive, Path(workspace), max_bytes=max_bytes)
            unpacked = list_files(Path(workspace)).files
        except SubmissionError as fault:
            if not files:
                raise
            # The files beside the archive do not depend on it; nothing of the archive itself is used.
            left_out, unpacked = ((archive.name, str(fault)),), ()
        yield Submission(is_algorithm=False, files=(*files, *unpacked), refused=(*refused, *left_out))


@contextmanager
def _workspace(folder: Path | None) -> Iterator[str]:
    """A temporary folder; a request to end waits until it is deleted."""
    try:
        with signals_blocked():
            workspace = TemporaryDirectory(prefix="podium-", dir=folder)
    except OSError as error:
        raise UsageError(
            "There is no folder for temporary files that can be written to; archives are unpacked there.",
            detail=str(error),
        ) from None
    try:
        yield workspace.name
    finally:
        with signals_blocked():
            workspace.cleanup()


def submission_digest(root: Path) -> str:
    """A digest of the names and bytes of everything that was submitted, an archive as it is.

    It is the SHA-256 of the lines that `sha256sum` prints of all files, in the order of their names.
    """
    root = Path(os.path.realpath(root))
    files = list_files(root).files if root.is_dir() else [SafeFile.inside(root.parent, root.name)]
    digest = hashlib.sha256()
    for file in files:
        with suppress(Refused, OSError), file.open() as stream:  # such a file fails its case
            if file.name not in _PLATFORM_FILES:
                digest.update(f"{hashlib.file_digest(stream, 'sha256').hexdigest()}  {file.name}\n".encode())
    return digest.hexdigest()


def submission_names(root: Path) -> SubmissionNames:
    """The names in the submission in `root`; nothing is unpacked."""
    root = Path(os.path.realpath(root))
    if _is_algorithm_submission(root, "any"):
        slugs = (slug for job in read_jobs(root) for slug in job.outputs)
        return SubmissionNames(output_sockets=frozenset(slugs), files=())
    files, _, archive = _loose_files(root)
    names = [file.name for file in files]
    if archive is not None:
        names.extend(archive_names(archive))
    return SubmissionNames(output_sockets=frozenset(), files=tuple(names))


def _is_algorithm_submission(root: Path, shape: SubmissionShape) -> bool:
    try:
        has_jobs = (root / PREDICTIONS_FILE).is_file()
    except OSError:
        raise SubmissionError("The input folder cannot be opened; check its permissions.") from None
    if shape == "algorithm" and not has_jobs:
        raise SubmissionError(
            f"This phase takes algorithms, and the submission has no {PREDICTIONS_FILE}: submit an algorithm instead "
            "of files with predictions."
        )
    return has_jobs and shape != "predictions"


def _loose_files(root: Path) -> tuple[tuple[SafeFile, ...], tuple[tuple[str, str], ...], SafeFile | None]:
    """Everything below `root` (or `root` itself, if that is one file): files, refused files, and the one archive."""
    refused: tuple[tuple[str, str], ...] = ()
    if root.is_file():
        files = [SafeFile.inside(root.parent, root.name)]
    elif root.is_dir():
        found = list_files(root)
        files = [file for file in found.files if file.name not in _PLATFORM_FILES]
        refused = tuple(each for each in found.refused if each[0] not in _PLATFORM_FILES)
    else:
        raise SubmissionError("There is no submission: the input folder does not exist.")
    if not files and not refused:
        raise SubmissionError("The submission is empty; it must hold a prediction for every case.")
    archives = [file for file in files if file.name.lower().endswith(ARCHIVE_ENDINGS)]
    if len(archives) > 1:
        names = ", ".join(archive.name for archive in archives[:5])
        raise SubmissionError(f"The submission holds {len(archives)} archives ({names}); send one, or the files.")
    return tuple(file for file in files if file not in archives), refused, next(iter(archives), None)
