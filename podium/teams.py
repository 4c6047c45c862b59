"""Who has submitted: the folders and archives of all teams, on this machine or behind a URL."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from podium.errors import UsageError
from podium.platform.submission import ARCHIVE_ENDINGS
from podium.readers.files import escape_for_display
from podium.storage.location import Location, Url
from podium.storage.remote import RemoteFolder

_MOST_TEAMS = 10_000
_LONGEST_NAME = 255  # bytes: it becomes the name of a folder


def find_teams(submissions: Location) -> Mapping[str, Location]:
    """The folders and archives of a folder by the names of their teams, which are theirs without the ending."""
    found: dict[str, Location] = {}
    for name, is_folder in sorted(_members(submissions)):
        ending = next((each for each in ARCHIVE_ENDINGS if name.lower().endswith(each)), "")
        if name.startswith(".") or not (is_folder or ending):
            continue
        team, path = name if is_folder else name[: -len(ending)], submissions / name
        if isinstance(path, Url) and not (team and team.isprintable() and len(team.encode()) <= _LONGEST_NAME):
            raise UsageError(f"'{escape_for_display(name)}' in {submissions} cannot be the name of a team.")
        if team in found:
            raise UsageError(f"{found[team]} and {path} are both of the team '{escape_for_display(team)}'.")
        found[team] = path
    if not found:
        raise UsageError(f"{submissions} holds no submission: neither a folder nor an archive.")
    return found


def _members(submissions: Location) -> Iterator[tuple[str, bool]]:
    """The names in a folder, and whether each is a folder itself; only folders and files."""
    if isinstance(submissions, Path):
        if not submissions.is_dir():
            raise UsageError(f"{submissions} is not a folder with one submission per team.")
        yield from ((path.name, path.is_dir()) for path in submissions.iterdir() if path.is_dir() or path.is_file())
        return
    for number, entry in enumerate(RemoteFolder(submissions).entries(deep=False)):
        if number == _MOST_TEAMS:
            raise UsageError(f"{submissions} holds more than {_MOST_TEAMS:,} submissions.")
        yield entry.name, entry.is_folder
