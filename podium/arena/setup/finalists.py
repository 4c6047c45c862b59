"""The finalists: the best teams of a ranking, and the files of their submissions."""

from pathlib import Path

from podium.errors import UsageError
from podium.ranking.ranking_file import ranking_from_json
from podium.ranking.result import Ranking

BEST = 7  # as the rules of the reports challenge say


def read_ranking(path: Path) -> Ranking:
    """The ranking in a ranking.json."""
    try:
        return ranking_from_json(path.read_bytes(), name=str(path))
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}.") from None


def choose_finalists(ranking: Ranking, top: int | None) -> list[str]:
    """Teams in the order of the ranking: those of rank `top` or better; by default those the ranking marks as
    finalists, else the best seven. Teams that share the last rank all come in."""
    marked = [team.name for team in ranking.teams if team.finalist]
    if top is None and marked:
        chosen = marked
    else:
        chosen = [team.name for team in ranking.teams if team.rank is not None and team.rank <= (top or BEST)]
    if len(chosen) < 2:
        raise UsageError(f"An arena compares at least two teams; the ranking gives {len(chosen)}.")
    return chosen


def find_submission(submissions: Path, team: str) -> Path:
    """The folder `<team>`, or an archive such as `<team>.zip`."""
    try:
        found = sorted(path for path in submissions.iterdir() if team in (path.name, path.name.split(".", 1)[0]))
    except OSError as error:
        raise UsageError(f"The submissions in {submissions} cannot be read: {error.strerror}.") from None
    exact = [path for path in found if path.name == team]
    if len(exact or found) > 1:
        names = " and ".join(path.name for path in found)
        raise UsageError(f"{submissions} contains several submissions of '{team}': {names}. Keep only one of them.")
    if not found:
        raise UsageError(f"There is no submission of '{team}' in {submissions}.")
    return (exact or found)[0]
