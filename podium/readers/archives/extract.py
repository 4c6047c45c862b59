"""Archives that hold a whole submission: zip, tar and gzipped tar, recognised by their content.

Whatever is wrong with the archive makes the whole submission unusable, so everything here is a SubmissionError; only
links, special files and names that cannot be shown are left out one by one. Archives inside archives are unpacked as
files and never opened.
"""

from pathlib import Path

from podium.errors import SubmissionError
from podium.readers.archives.tar import BLOCK_BYTES, is_tar, read_tar
from podium.readers.archives.target import RATIO_FREE_BYTES, ArchiveTarget, MemberNames
from podium.readers.archives.zip import is_zip, read_zip
from podium.readers.files import SafeFile
from podium.readers.inflate import inflated_start, pieces

MAX_BYTES = 8 * 1024**3
MAX_FILES = 50_000

MAX_RATIO = 1_100
"""Deflate shrinks at most 1,032 times, and empty masks come near that: only an archive that uses its bytes twice
passes this bound. Honest but huge archives are stopped by their total size."""


def extract_archive(
    file: SafeFile,
    destination: Path,
    *,
    max_bytes: int = MAX_BYTES,
    max_files: int = MAX_FILES,
    max_ratio: int = MAX_RATIO,
) -> tuple[tuple[str, str], ...]:
    """Unpack `file` into the new or empty folder `destination`: regular files (mode 0600) and folders, nothing else.

    At most `max_bytes` are written, and at most `max_ratio` times the size of the archive. Links, special files and
    names that cannot be shown are left out and returned as (name, reason): packing one is a common mistake and must
    not cost the other cases.
    """
    destination.mkdir(mode=0o700, parents=True, exist_ok=True)
    by_ratio = max(RATIO_FREE_BYTES, max_ratio * file.size)
    target = ArchiveTarget(file.name, min(max_bytes, by_ratio), max_files, destination=destination)
    _read_members(file, target)
    return tuple(target.refused)


def archive_names(file: SafeFile, *, max_bytes: int = MAX_BYTES, max_files: int = MAX_FILES) -> tuple[str, ...]:
    """Names of the files in an archive, in its order; checked as for unpacking, but nothing is written."""
    names = MemberNames(file.name, max_bytes, max_files)
    _read_members(file, names)
    return names.files()


def _read_members(file: SafeFile, target: MemberNames) -> None:
    start = file.first_bytes(BLOCK_BYTES)
    if is_zip(start):
        read_zip(file, target)
    elif is_tar(start):
        read_tar(file, target, gzipped=False)
    elif is_tar(_gunzipped_start(file)):
        read_tar(file, target, gzipped=True)
    else:
        raise SubmissionError(f"'{file.name}' is not a zip, tar or gzipped tar archive.")


def _gunzipped_start(file: SafeFile) -> bytes:
    with file.open() as stream:
        return inflated_start(pieces(stream), count=BLOCK_BYTES)
