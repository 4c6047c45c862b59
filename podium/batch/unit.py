"""The unit of work of a batch: one case for several teams."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from podium.errors import StorageError, UsageError
from podium.execution.executor import CaseOutcome, attempt
from podium.kept import KeptScores, digest_or_none, files_of
from podium.platform.metrics_file import CaseScore
from podium.readers.files import SafeFile
from podium.sandbox.decoders import ensure_decoders
from podium.storage.mirror import Mirrors
from podium.storage.remote import RemoteFolder
from podium.task import Task


@dataclass(frozen=True, kw_only=True)
class TeamCaseOutcome:
    """The outcome of one case of one team. `is_new` where it was not kept before; `is_kept` where it is now;
    `was_unreachable` where its files could not be fetched, which is not the team's fault."""

    outcome: CaseOutcome[CaseScore]
    is_new: bool
    is_kept: bool
    was_unreachable: bool = False


@dataclass(frozen=True, kw_only=True)
class CaseUnit:
    """One case for some teams."""

    case: str
    teams: Sequence[str]


def unit_scorer(
    task: Task,
    units: Mapping[str, CaseUnit],
    *,
    predictions: Mapping[str, Mapping[str, Any]],
    kept: KeptScores,
    mirrors: Mirrors,
) -> Callable[[str], Mapping[str, TeamCaseOutcome]]:
    """The function that scores a unit, given its name. What it uses is sent to other machines with it: not the task."""
    challenge, references, digests = task.challenge, task.references, task.digests
    libraries = tuple(challenge.format.libraries)

    def score(name: str) -> Mapping[str, TeamCaseOutcome]:
        ensure_decoders(*libraries)  # on another machine there are none yet
        unit = units[name]
        files = challenge.format.reference_files(references[unit.case])
        try:
            mirrors.fetch(file.path for file in files)
        except StorageError as error:
            return dict.fromkeys(unit.teams, _unreachable(error))
        _check_files(files, kept.folder)
        found: dict[str, TeamCaseOutcome] = {}
        expected: list[Any] = []
        for team in unit.teams:
            prediction = predictions[team][unit.case]
            try:
                mirrors.fetch(files_of(prediction))
            except StorageError as error:
                found[team] = _unreachable(error)
                continue
            content = digest_or_none(prediction)
            key = kept.key(digests[unit.case], content) if content is not None else None
            before = kept.find(key) if key is not None else None
            if before is not None:
                found[team] = TeamCaseOutcome(outcome=before, is_new=False, is_kept=True)
                continue
            if not expected:
                expected.append(challenge.scorer.read_reference(references[unit.case]))

            def one(_: str, prediction: Any = prediction) -> CaseScore:
                return challenge.score(prediction, expected[0])

            outcome = attempt(one, unit.case)
            is_kept = key is not None and kept.keep(key, outcome)
            found[team] = TeamCaseOutcome(outcome=outcome, is_new=True, is_kept=is_kept)
        return found

    return score


def _unreachable(error: StorageError) -> TeamCaseOutcome:
    """Not kept, so the next run tries it again."""
    outcome = CaseOutcome[CaseScore](error=str(error), detail=error.detail or "")
    return TeamCaseOutcome(outcome=outcome, is_new=True, is_kept=False, was_unreachable=True)


def _check_files(references: Sequence[SafeFile], kept: Path | RemoteFolder) -> None:
    """A worker that does not see the files would fail every prediction, and blame its author."""
    is_there = kept.is_dir() if isinstance(kept, Path) else True
    if not is_there or not all(file.path.is_file() for file in references):
        raise UsageError("A worker does not see the references or the output folder: mount them at the same path.")
