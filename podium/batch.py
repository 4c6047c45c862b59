"""All teams of a challenge: each gets the metrics.json that `podium evaluate` would give it.

The unit of work is one case for several teams: its reference is read once for all of them. Every score is kept as soon
as it is there, so a run that was stopped, or one after a change, does what is missing and nothing else.
"""

import json
import logging
import shutil
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from podium.challenges import published_settings
from podium.challenges.base import Collected
from podium.errors import SubmissionError, UsageError
from podium.evaluation import Task, find_challenge, open_predictions, prepare, result_of, write_evaluation
from podium.execution.executor import CaseOutcome, Executor, attempt
from podium.execution.progress import Progress, ProgressFactory, no_progress
from podium.execution.version import code_version
from podium.figures import Figures
from podium.kept import KeptScores, digest_or_none
from podium.platform.metrics_file import Counts, prepare_output
from podium.platform.results import CaseScore
from podium.platform.submission import ARCHIVE_ENDINGS
from podium.readers.names import escape_for_display

LOG = logging.getLogger(__name__)
TEAMS_FOLDER = "teams"
_KEPT_FOLDER, _UNPACKED_FOLDER = "kept", "unpacked"
TEAMS_PER_TASK = 8
"""How many teams share one reading of a reference, and how many submissions are unpacked at the same time."""


@dataclass(frozen=True, kw_only=True)
class TeamOutcome:
    """What became of one team: its counts, or why it could not be evaluated; `new` cases were scored in this run."""

    team: str
    counts: Counts | None = None
    new: int = 0
    error: str | None = None


@dataclass(frozen=True, kw_only=True)
class _Found:
    """The outcome of one case of one team. `is_new` where it was not kept before; `is_kept` where it is now."""

    outcome: CaseOutcome[CaseScore]
    is_new: bool
    is_kept: bool


@dataclass(frozen=True, kw_only=True)
class _Unit:
    """One case for some teams."""

    case: str
    teams: Sequence[str]


def find_teams(submissions: Path) -> Mapping[str, Path]:
    """The folders and archives of a folder by the names of their teams, which are theirs without the ending."""
    if not submissions.is_dir():
        raise UsageError(f"{submissions} is not a folder with one submission per team.")
    found: dict[str, Path] = {}
    for path in sorted(submissions.iterdir()):
        ending = next((each for each in ARCHIVE_ENDINGS if path.name.lower().endswith(each)), "")
        if path.name.startswith(".") or not (path.is_dir() or (path.is_file() and ending)):
            continue
        team = path.name if path.is_dir() else path.name[: -len(ending)]
        if team in found:
            raise UsageError(f"{found[team]} and {path} are both of the team '{escape_for_display(team)}'.")
        found[team] = path
    if not found:
        raise UsageError(f"{submissions} holds no submission: neither a folder nor an archive.")
    return found


def run_batch(  # noqa: PLR0913  (what `podium batch` is given)
    *,
    submissions: Path,
    output: Path,
    ground_truth: Path,
    challenge: str | None,
    executor: Callable[[ProgressFactory], Executor],
    progress: ProgressFactory = no_progress,
    teams_per_task: int = TEAMS_PER_TASK,
) -> Sequence[TeamOutcome]:
    """Evaluate every team and write `output`/teams/<team>/metrics.json; a team that fails costs no other anything."""
    teams = find_teams(submissions)
    task = prepare(find_challenge(ground_truth, challenge), executor(progress))
    for name in (TEAMS_FOLDER, _KEPT_FOLDER):
        prepare_output(output / name)
    shutil.rmtree(output / _UNPACKED_FOLDER, ignore_errors=True)  # of a run that was killed
    names = sorted(teams)
    groups = [names[first : first + teams_per_task] for first in range(0, len(names), teams_per_task)]
    overall = _Overall(
        progress(f"scoring {len(names)} teams, {len(groups[0])} at a time", len(groups) * len(task.cases))
    )
    batch = _Batch(task=task, output=output.resolve(), executor=executor(overall.start), quiet=executor(no_progress))
    outcomes: list[TeamOutcome] = []
    try:
        for group in groups:
            outcomes += batch.evaluate({team: teams[team] for team in group})
    finally:
        overall.finish()
        shutil.rmtree(output / _UNPACKED_FOLDER, ignore_errors=True)
    return outcomes


@dataclass
class _Batch:
    task: Task
    output: Path
    executor: Executor  # shows the progress on all cases
    quiet: Executor  # for what comes after a failure
    worst: dict[str, CaseOutcome[Figures]] = field(default_factory=dict)  # the same for every team

    def __post_init__(self) -> None:
        challenge = self.task.challenge
        # Some figures depend on what is installed beside Podium, such as WordNet.
        figures = [metric.name for metric in challenge.scoreboard.metrics]
        basis = json.dumps([code_version(), challenge.kind, published_settings(challenge), figures])
        self.kept = KeptScores(folder=self.output / _KEPT_FOLDER, basis=basis)
        self.task.challenge.scorer.import_packages()

    def evaluate(self, teams: Mapping[str, Path]) -> list[TeamOutcome]:
        """A few teams together."""
        outcomes: dict[str, TeamOutcome] = {}
        unpacked = self.output / _UNPACKED_FOLDER
        unpacked.mkdir(exist_ok=True)
        with ExitStack() as opened:
            collected: dict[str, Collected[Any]] = {}
            for team, path in teams.items():
                try:
                    prepare_output(self.output / TEAMS_FOLDER / team)
                    collected[team] = opened.enter_context(open_predictions(self.task, path, unpack_in=unpacked))
                except SubmissionError as error:
                    outcomes[team] = TeamOutcome(team=team, error=str(error))
            found = self._score({team: each.predictions for team, each in collected.items()})
        self._fill_in(collected, found)
        for team, each in collected.items():
            outcomes[team] = self._write(team, each, found[team])
        return [outcomes[team] for team in teams]

    def _score(self, predictions: Mapping[str, Mapping[str, Any]]) -> Mapping[str, dict[str, _Found]]:
        """Every case of every team. Where a unit fails as a whole, by a crash or its time, its teams are told apart."""
        found: dict[str, dict[str, _Found]] = {team: {} for team in predictions}
        units = [
            _Unit(case=case, teams=[team for team in predictions if case in predictions[team]])
            for case in self.task.cases
        ]
        together = self._run(units, predictions, self.executor)
        singles = []
        for unit, outcome in zip(units, together, strict=True):
            if outcome.value is None:
                singles += [_Unit(case=unit.case, teams=[team]) for team in unit.teams]
                continue
            for team, each in outcome.value.items():
                found[team][unit.case] = each
        for unit, outcome in zip(singles, self._run(singles, predictions, self.quiet), strict=True):
            (team,) = unit.teams
            failed = CaseOutcome[CaseScore](error=outcome.error, detail=outcome.detail)
            one = outcome.value or {team: _Found(outcome=failed, is_new=True, is_kept=False)}
            found[team][unit.case] = one[team]
        return found

    def _run(
        self, units: Sequence[_Unit], predictions: Mapping[str, Mapping[str, Any]], executor: Executor
    ) -> Sequence[CaseOutcome[Mapping[str, _Found]]]:
        """The units on the executor. What the function below uses is sent to other machines with it."""
        challenge, references, digests = self.task.challenge, self.task.references, self.task.digests
        kept = self.kept
        named = {f"{unit.case}/{number}": unit for number, unit in enumerate(units)}

        def score(name: str) -> Mapping[str, _Found]:
            unit = named[name]
            _check_files(challenge.format.reference_files(references[unit.case]), kept.folder)
            found: dict[str, _Found] = {}
            expected: list[Any] = []
            for team in unit.teams:
                prediction = predictions[team][unit.case]
                content = digest_or_none(prediction)
                key = kept.key(digests[unit.case], content) if content is not None else None
                before = kept.find(key) if key is not None else None
                if before is not None:
                    found[team] = _Found(outcome=before, is_new=False, is_kept=True)
                    continue
                if not expected:
                    expected.append(challenge.scorer.read_reference(references[unit.case]))

                def one(_: str, prediction: Any = prediction) -> CaseScore:
                    return challenge.score(prediction, expected[0])

                outcome = attempt(one, unit.case)
                is_kept = key is not None and kept.keep(key, outcome)
                found[team] = _Found(outcome=outcome, is_new=True, is_kept=is_kept)
            return found

        return list(executor.run(list(named), score, label="scoring").values())

    def _fill_in(self, collected: Mapping[str, Collected[Any]], found: Mapping[str, Mapping[str, _Found]]) -> None:
        """The worst values of every case that some team has not: they depend on the reference alone."""
        challenge, references = self.task.challenge, self.task.references

        def lost(case: str) -> Figures:
            return challenge.lost(references[case])

        lacking = [
            case
            for case in self.task.cases
            if case not in self.worst and not all(_is_scored(found[team].get(case)) for team in collected)
        ]
        self.worst.update(self.quiet.run(lacking, lost, label="filling in worst values"))

    def _write(self, team: str, collected: Collected[Any], found: Mapping[str, _Found]) -> TeamOutcome:
        scored = {case: each.outcome for case, each in found.items()}
        errors = dict(collected.refused)
        for case, outcome in sorted(scored.items()):
            if outcome.error is not None:
                errors[case] = outcome.error
                LOG.info("failed: %s: %s: %s %s", team, case, outcome.error, outcome.detail or "")
        lacking = {case: self.worst[case] for case in self.task.cases if case in errors or case not in scored}
        results = [result_of(case, scored, errors, lacking) for case in self.task.cases]
        new = sum(each.is_new for each in found.values())
        lost = sum(each.outcome.value is not None and not each.is_kept for each in found.values())
        if lost:
            LOG.info("not kept: %s: %d scores could not be written; the next run computes them again", team, lost)
        counts = Counts.of(results, unmatched=len(collected.unmatched))
        try:
            write_evaluation(self.task, collected, results, self.output / TEAMS_FOLDER / team)
        except SubmissionError as error:  # metrics.json is written: not a single case could be scored
            return TeamOutcome(team=team, counts=counts, new=new, error=str(error))
        return TeamOutcome(team=team, counts=counts, new=new)


def _is_scored(found: _Found | None) -> bool:
    return found is not None and found.outcome.value is not None


def _check_files(references: Sequence[Any], kept: Path) -> None:
    """A worker that does not see the files would fail every prediction, and blame its author."""
    if not kept.is_dir() or not all(file.path.is_file() for file in references):
        raise UsageError("A worker does not see the references or the output folder: mount them at the same path.")


class _Overall:
    """One progress for the runs of all groups of teams."""

    def __init__(self, shown: Progress) -> None:
        self._shown = shown

    def start(self, label: str, total: int) -> Progress:  # noqa: ARG002  (a ProgressFactory)
        return self

    def advance(self) -> None:
        self._shown.advance()

    def close(self) -> None:
        """The next group of teams goes on with it."""

    def finish(self) -> None:
        self._shown.close()
