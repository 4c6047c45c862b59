"""What the judge gave every team in every case, from the metrics.json files that `podium judge` wrote."""

import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from podium.challenges.reports import REPORTS
from podium.errors import UsageError
from podium.figures import get, holds
from podium.platform.metrics_file import METRICS_FILE, MetricsFile, read_metrics
from podium.platform.privacy import are_anonymous

_FIGURE = "radfact.f1"
_SAME_JUDGE = ("package_version", "model", "prompt_hash", "remove_normal_findings", "max_report_characters")


@dataclass(frozen=True, kw_only=True)
class JudgedScores:
    """`scores[team][case]` are RadFact's F1 of single cases, None where the judge gave no verdict; all teams have the
    same cases, by the names that `case_key` makes of them."""

    judge: str
    cases: tuple[str, ...]
    scores: Mapping[str, Mapping[str, float | None]]


def case_key(name: str) -> str:
    """Cases are compared as the challenge compares them: without regard to upper and lower case."""
    return unicodedata.normalize("NFC", name).casefold()


def read_judged(folder: Path, teams: Sequence[str]) -> JudgedScores:
    """Raises UsageError, naming the team, where a file is missing, was not judged, was judged by another judge or has
    other cases."""
    if not folder.is_dir():
        raise UsageError(f"There is no folder {folder} with the files that 'podium judge' wrote.")
    files = {team: _read(folder, team) for team in teams}
    scores = {team: _scores(team, file) for team, file in files.items()}
    first = teams[0]
    for team in teams[1:]:
        for key in _SAME_JUDGE:
            ours, theirs = (files[each].provenance["judge"].get(key) for each in (team, first))
            if ours != theirs:
                raise UsageError(
                    f"'{team}' was judged with {key} = {ours}, but '{first}' with {theirs}: judge both in the same way."
                )
        if scores[team].keys() != scores[first].keys():
            case = min(scores[team].keys() ^ scores[first].keys())
            has, has_not = (team, first) if case in scores[team] else (first, team)
            raise UsageError(f"The judge rated the case '{case}' of '{has}', but not of '{has_not}'.")
    model = str(files[first].provenance["judge"].get("model", ""))
    return JudgedScores(judge=model, cases=tuple(sorted(scores[first])), scores=scores)


def _read(folder: Path, team: str) -> MetricsFile:
    places = (folder / team / METRICS_FILE, folder / f"{team}.json")
    path = next((place for place in places if place.is_file()), None)
    if path is None:
        raise UsageError(f"The arena's team '{team}' has no metrics.json in {folder}.")
    file = read_metrics(path)
    if file.kind != REPORTS.name:
        raise UsageError(f"{path} is of the kind '{file.kind}'; a judge rates '{REPORTS.name}' alone.")
    if not isinstance(file.provenance.get("judge"), Mapping):
        raise UsageError(f"{path} has not been judged; run 'podium judge' on it first.")
    if not file.results or are_anonymous([row.case for row in file.results]):
        raise UsageError(
            f"{path} does not name its cases, so votes and verdicts cannot be paired. Run 'podium judge' again with "
            "--per-case full and another --output: the answers are in its cache, so nothing is asked again."
        )
    return file


def _scores(team: str, file: MetricsFile) -> dict[str, float | None]:
    scores: dict[str, float | None] = {}
    for row in file.results:
        value = get(row.metrics, _FIGURE) if holds(row.metrics, _FIGURE) else None
        if value is not None and not (isinstance(value, int | float) and 0 <= value <= 1):
            raise UsageError(f"The score of '{team}' in the case '{row.case}' is not between 0 and 1.")
        scores[case_key(row.case)] = None if value is None else float(value)
    return scores
