"""`podium batch`: finds the teams, then opens, scores and writes one group of them after the other.

The unit of work is one case for the teams of a group. It runs on any executor, also on other machines.
"""

import json
import logging
import shutil
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, TypeAlias

from podium.challenges import load_challenge, published_settings
from podium.challenges.ground_truth import Collected
from podium.errors import GroundTruthError, MachineError, PodiumError, StorageError, SubmissionError, UsageError
from podium.evaluation import (
    Task,
    check_own_metrics,
    find_challenge,
    open_predictions,
    prepare,
    results_of,
    write_evaluation,
)
from podium.execution.children import FORK, fork, how_it_ended
from podium.execution.executor import (
    CaseOutcome,
    Executor,
    OverallProgress,
    Progress,
    ProgressFactory,
    attempt,
    no_progress,
)
from podium.execution.processes import Processes
from podium.kernel import TEAMS_OOM_SCORE
from podium.platform.metrics_file import METRICS_FILE, CaseScore, Counts, prepare_output
from podium.platform.submission import ARCHIVE_ENDINGS
from podium.readers.archives import MAX_BYTES
from podium.readers.files import escape_for_display
from podium.sandbox.client import decoders, ensure_decoders
from podium.tools.batch.kept import KeptScores, code_version, content_digest
from podium.tools.batch.storage import DEFAULT_CACHE, Copies, Location, Output

LOG = logging.getLogger(__name__)
TEAMS_FOLDER = "teams"
ORGANISER_FOLDER = "organiser"
_KEPT_FOLDER, _UNPACKED_FOLDER = "kept", "unpacked"
_PROBE = ".podium"
_MOST_TEAMS = 10_000
_TRIES_ALONE = 3  # of a team whose process dies
_LONGEST_NAME = 255  # bytes: it becomes the name of a folder


@dataclass(frozen=True, kw_only=True)
class TeamOutcome:
    """What became of one team: its counts, or why it could not be evaluated; `new` cases were scored in this run."""

    team: str
    counts: Counts | None = None
    new: int = 0
    error: str | None = None


@dataclass(frozen=True, kw_only=True)
class TeamCaseOutcome:
    """The outcome of one case of one team."""

    outcome: CaseOutcome[CaseScore]
    is_new: bool  # scored in this run rather than found among the kept scores
    is_kept: bool  # the next run will find it there
    was_unreachable: bool = False  # its files could not be fetched, which is not the team's fault


CaseUnit: TypeAlias = tuple[str, Sequence[str]]
"""The unit of work: one case for some teams, whose reference is read once."""


def run_batch(  # noqa: PLR0913  (what `podium batch` is given)
    *,
    submissions: Location,
    output: Location,
    ground_truth: Location,
    challenge: str | None,
    executor: Callable[[ProgressFactory], Executor],
    progress: ProgressFactory = no_progress,
    teams_per_task: int = 8,
    cache: Path = DEFAULT_CACHE,
) -> Sequence[TeamOutcome]:
    """Evaluate every team and write `output`/teams/<team>/metrics.json, and the same with all rows and digits below
    `output`/organiser; a team that fails does not affect the others.

    `teams_per_task` teams share one reading of a reference; `cache` is for copies of what is behind URLs.
    """
    cache = cache.resolve()
    results, copies = Output.at(output, cache=cache), Copies(cache)
    if results.url is not None:  # fail now rather than after an hour of scoring
        (results.url / _PROBE).write_bytes(b"")
        (results.url / _PROBE).delete()
    teams, refused = find_teams(submissions)
    try:
        truth = copies.local(ground_truth)
    except SubmissionError as error:
        raise GroundTruthError(str(error)) from None
    folder = find_challenge(truth, challenge)
    loaded = load_challenge(folder)
    with decoders(libraries=loaded.libraries):
        task = prepare(folder, loaded, executor(progress), fetch=copies.fetch)
        for name in (TEAMS_FOLDER, ORGANISER_FOLDER, _KEPT_FOLDER):
            prepare_output(results.folder / name)
        shutil.rmtree(results.folder / _UNPACKED_FOLDER, ignore_errors=True)  # of a run that was killed
        names = sorted(teams)
        groups = [names[first : first + teams_per_task] for first in range(0, len(names), teams_per_task)]
        overall = OverallProgress(
            progress(
                f"scoring {len(names)} teams, {min(len(names), teams_per_task)} at a time",
                len(groups) * len(task.cases),
            )
        )
        batch = _Batch(
            task=task,
            output=results,
            copies=copies,
            overall=overall,
            executor=executor(overall.start),
            quiet=executor(no_progress),
        )
        outcomes = [TeamOutcome(team=name, error=reason) for name, reason in refused.items()]
        try:
            for group in groups:
                outcomes += batch.evaluate_apart({team: teams[team] for team in group})
        finally:
            overall.finish()
            shutil.rmtree(results.folder / _UNPACKED_FOLDER, ignore_errors=True)
        return outcomes


@dataclass(frozen=True)
class PipeProgress(Progress):
    """The progress of a child process, sent to its parent."""

    parent: Connection

    def advance(self) -> None:
        self.parent.send(None)


@dataclass
class _Batch:
    task: Task
    output: Output
    copies: Copies  # of the ground truth
    overall: OverallProgress
    executor: Executor  # shows the progress on all cases
    quiet: Executor  # for what comes after a failure
    worst: dict[str, CaseOutcome[CaseScore]] = field(default_factory=dict)  # the same for every team

    def __post_init__(self) -> None:
        challenge = self.task.challenge
        # Some figures depend on what is installed beside Podium, such as WordNet.
        figures = [metric.name for metric in challenge.scoreboard.metrics]
        basis = json.dumps([code_version(), challenge.kind, published_settings(challenge), figures])
        self.kept = KeptScores(folder=(self.output.url or self.output.folder) / _KEPT_FOLDER, basis=basis)
        self.task.challenge.import_packages()

    def evaluate_apart(self, teams: Mapping[str, Location], tries: int = _TRIES_ALONE) -> list[TeamOutcome]:
        """A few teams in a child process: what one of them does to it, such as filling the memory, costs no other team.

        If it dies, the teams are evaluated again one by one, several times each, which costs little: their scores are
        kept. Only for local processes: the client of a Dask cluster has threads, so it cannot be forked.
        """
        if not isinstance(self.executor, Processes):
            return self.evaluate(teams)
        ours, theirs = FORK.Pipe(duplex=False)
        child = fork(partial(self._in_child, theirs, teams), oom_score=TEAMS_OOM_SCORE)
        theirs.close()
        found: tuple[list[TeamOutcome], dict[str, CaseOutcome[CaseScore]]] | PodiumError | None = None
        try:
            while (found := ours.recv()) is None:
                self.overall.advance()
        except EOFError:
            pass
        except BaseException:
            child.terminate()
            raise
        finally:
            child.join()
        if isinstance(found, PodiumError):
            raise found
        if found is not None:
            outcomes, self.worst = found
            return outcomes
        shutil.rmtree(self.output.folder / _UNPACKED_FOLDER, ignore_errors=True)
        quiet = replace(self, executor=self.quiet)
        if len(teams) > 1:
            return [each for team, given in teams.items() for each in quiet.evaluate_apart({team: given})]
        if tries > 1:
            return quiet.evaluate_apart(teams, tries - 1)
        how = how_it_ended(child.exitcode or 0)
        error = f"The process that evaluated this team ended {how}, perhaps because memory ran out."
        return [TeamOutcome(team=team, error=error) for team in teams]

    def _in_child(self, connection: Connection, teams: Mapping[str, Location]) -> None:
        self.overall.shown = PipeProgress(connection)
        try:
            # A team that is alone gets decoders of its own: those of the batch may have been what died.
            libraries = self.task.challenge.libraries
            with decoders(libraries=libraries, logged=False) if len(teams) == 1 else nullcontext():
                outcomes = self.evaluate(teams)
            connection.send((outcomes, self.worst))
        except KeyboardInterrupt:
            raise SystemExit(1) from None
        except Exception as error:
            if not isinstance(error, PodiumError) or isinstance(error, MachineError):  # such as workers that all die
                LOG.info("failed: %s: %s", ", ".join(teams), traceback.format_exc())
                raise SystemExit(1) from None
            connection.send(error)

    def evaluate(self, teams: Mapping[str, Location]) -> list[TeamOutcome]:
        """A few teams together."""
        outcomes: dict[str, TeamOutcome] = {}
        copies = Copies(self.copies.cache, list(self.copies.opened))
        with ExitStack() as opened:
            collected: dict[str, Collected[Any]] = {}
            for team, given in teams.items():
                try:
                    for name in (TEAMS_FOLDER, ORGANISER_FOLDER):
                        prepare_output(self.output.folder / name / team)
                        if self.output.url is not None:
                            (self.output.url / name / team / METRICS_FILE).delete()
                    collected[team] = self._open(team, given, copies, opened)
                except (SubmissionError, StorageError) as error:
                    outcomes[team] = TeamOutcome(team=team, error=str(error))
            found = self._score({team: each.predictions for team, each in collected.items()}, copies)
        self._fill_in(collected, found)
        for team, each in collected.items():
            outcomes[team] = self._write(team, each, found[team])
        return [outcomes[team] for team in teams]

    def _open(self, team: str, given: Location, copies: Copies, opened: ExitStack) -> Collected[Any]:
        """The predictions of a team, fetched and unpacked; workers on other machines can fetch them too."""
        shapes = [checked.shapes for checked in self.task.checked.values()]
        limit = max(MAX_BYTES, self.task.challenge.submission_bytes(shapes))
        path = copies.local(given, max_bytes=limit)
        unpacked = self.output.folder / _UNPACKED_FOLDER / team
        unpacked.mkdir(parents=True, exist_ok=True)
        collected = opened.enter_context(open_predictions(self.task, path, unpack_in=unpacked))
        if self.output.url is not None and not self.executor.is_local and any(unpacked.iterdir()):
            url = self.output.url / _UNPACKED_FOLDER / team
            opened.callback(url.delete)
            copies.add_uploaded(url, unpacked)
        return collected

    def _score(
        self, predictions: Mapping[str, Mapping[str, Any]], copies: Copies
    ) -> Mapping[str, dict[str, TeamCaseOutcome]]:
        """Every case of every team. A unit that fails as a whole (a crash, its time limit) is repeated per team."""
        found: dict[str, dict[str, TeamCaseOutcome]] = {team: {} for team in predictions}
        units = [(case, [team for team in predictions if case in predictions[team]]) for case in self.task.cases]
        together = self._run(units, predictions, copies, self.executor)
        singles: list[CaseUnit] = []
        for (case, teams), outcome in zip(units, together, strict=True):
            if outcome.value is None:
                singles += [(case, [team]) for team in teams]
            for team, each in (outcome.value or {}).items():
                found[team][case] = each
        for (case, (team,)), outcome in zip(singles, self._run(singles, predictions, copies, self.quiet), strict=True):
            failed = CaseOutcome[CaseScore](error=outcome.error, detail=outcome.detail)
            one = outcome.value or {team: TeamCaseOutcome(outcome=failed, is_new=True, is_kept=False)}
            found[team][case] = one[team]
        return found

    def _run(
        self,
        units: Sequence[CaseUnit],
        predictions: Mapping[str, Mapping[str, Any]],
        copies: Copies,
        executor: Executor,
    ) -> Sequence[CaseOutcome[Mapping[str, TeamCaseOutcome]]]:
        """The units on the executor."""
        named = {f"{case}/{number}": (case, teams) for number, (case, teams) in enumerate(units)}
        score = unit_scorer(self.task, named, predictions=predictions, kept=self.kept, copies=copies)
        return list(executor.run(list(named), score, label="scoring").values())

    def _fill_in(
        self, collected: Mapping[str, Collected[Any]], found: Mapping[str, Mapping[str, TeamCaseOutcome]]
    ) -> None:
        """The worst values of every case without a score from some team: they depend on the reference alone."""
        challenge, references, copies = self.task.challenge, self.task.references, self.copies

        def score_missing(case: str) -> CaseScore:
            copies.fetch(file.path for file in challenge.reference_files(references[case]))
            return challenge.score_missing(challenge.read_reference(references[case]))

        scored = [{case for case, each in found[team].items() if each.outcome.value is not None} for team in collected]
        lacking = [
            case for case in self.task.cases if case not in self.worst and not all(case in each for each in scored)
        ]
        self.worst.update(self.quiet.run(lacking, score_missing, label="filling in worst values"))

    def _write(self, team: str, collected: Collected[Any], found: Mapping[str, TeamCaseOutcome]) -> TeamOutcome:
        scored = {case: each.outcome for case, each in found.items()}
        errors = dict(collected.refused)
        for case, outcome in sorted(scored.items()):
            if outcome.error is not None:
                errors[case] = outcome.error
                LOG.info("failed: %s: %s: %s %s", team, case, outcome.error, outcome.detail or "")
        check_own_metrics(scored.values())
        lacking = {case: self.worst[case] for case in self.task.cases if case in errors or case not in scored}
        results = results_of(self.task, collected, scored, errors, lacking)
        new = sum(each.is_new for each in found.values())
        lost = sum(each.outcome.value is not None and not each.is_kept for each in found.values())
        if lost:
            LOG.info("not kept: %s: %d scores could not be written; the next run computes them again", team, lost)
        if unreachable := [each.outcome.error for each in found.values() if each.was_unreachable]:
            sentence = f"The files of {len(unreachable)} cases could not be fetched; run it again."
            return TeamOutcome(team=team, new=new, error=f"{sentence} {unreachable[0]}")
        counts, error = Counts.of(results, unmatched=len(collected.unmatched)), None
        folder = self.output.folder / ORGANISER_FOLDER / team
        try:
            write_evaluation(self.task, collected, results, self.output.folder / TEAMS_FOLDER / team, whole=folder)
        except SubmissionError as fault:  # metrics.json is written: not a single case could be scored
            error = str(fault)
        try:
            for name in (TEAMS_FOLDER, ORGANISER_FOLDER):
                self.output.send(f"{name}/{team}/{METRICS_FILE}")
        except StorageError as fault:
            error = str(fault)
        return TeamOutcome(team=team, counts=counts, new=new, error=error)


def unit_scorer(
    task: Task,
    units: Mapping[str, CaseUnit],
    *,
    predictions: Mapping[str, Mapping[str, Any]],
    kept: KeptScores,
    copies: Copies,
) -> Callable[[str], Mapping[str, TeamCaseOutcome]]:
    """The function that scores a unit, given its name. It is sent to other machines with all that it uses."""
    challenge, references = task.challenge, task.references
    digests = {case: checked.digest for case, checked in task.checked.items()}
    libraries = tuple(challenge.libraries)

    def score(name: str) -> Mapping[str, TeamCaseOutcome]:
        ensure_decoders(*libraries)  # on another machine there are none yet
        case, teams = units[name]
        files = challenge.reference_files(references[case])
        try:
            copies.fetch(file.path for file in files)
        except StorageError as error:
            return dict.fromkeys(teams, _unreachable(error))
        # A worker without access to the files would fail every prediction, as if that were its author's fault.
        has_output = not isinstance(kept.folder, Path) or kept.folder.is_dir()
        if not has_output or not all(file.path.is_file() for file in files):
            raise UsageError("A worker cannot access the references or the output folder: mount them at the same path.")
        found: dict[str, TeamCaseOutcome] = {}
        expected: list[Any] = []
        for team in teams:
            prediction = predictions[team][case]
            try:
                content = content_digest(prediction, copies.fetch)
            except StorageError as error:
                found[team] = _unreachable(error)
                continue
            key = kept.key(digests[case], content) if content is not None else None
            before = kept.find(key) if key is not None else None
            if before is not None:
                found[team] = TeamCaseOutcome(outcome=before, is_new=False, is_kept=True)
                continue
            if not expected:
                expected.append(challenge.read_reference(references[case]))

            def one(_: str, prediction: Any = prediction) -> CaseScore:
                return challenge.score(prediction, expected[0])

            outcome = attempt(one, case)
            # A file that changed meanwhile has another key.
            is_kept = key is not None and content_digest(prediction) == content and kept.keep(key, outcome)
            found[team] = TeamCaseOutcome(outcome=outcome, is_new=True, is_kept=is_kept)
        return found

    return score


def _unreachable(error: StorageError) -> TeamCaseOutcome:
    """Not kept, so the next run tries it again."""
    outcome = CaseOutcome[CaseScore](error=str(error), detail=error.detail or "")
    return TeamCaseOutcome(outcome=outcome, is_new=True, is_kept=False, was_unreachable=True)


# The teams: one folder or archive each, on this machine or behind a URL.


def find_teams(submissions: Location) -> tuple[Mapping[str, Location], Mapping[str, str]]:
    """The submissions by team: the name of a folder, or of an archive without its ending.

    Then what could be a team but is not scored, by its name as it may be printed, with the reason.
    """
    found: dict[str, Location] = {}
    refused: dict[str, str] = {}
    for name, is_folder, is_link in sorted(_members(submissions)):
        ending = next((each for each in ARCHIVE_ENDINGS if name.lower().endswith(each)), "")
        team, path, shown = name if is_folder else name[: -len(ending)], submissions / name, escape_for_display(name)
        if name in ("", ".", "..") or "/" in name:  # only of a URL; it would lead out of the output folder
            refused[shown] = f"'{shown}' is not the name of a team."
        elif name.startswith("."):
            LOG.info("left out: '%s' starts with a dot; rename it if it is a team", shown)
        elif not (is_folder or ending or is_link):
            LOG.info("left out: '%s' is neither a folder nor an archive (%s)", shown, ", ".join(ARCHIVE_ENDINGS))
        elif is_link:
            refused[shown] = f"'{shown}' is a symbolic link; put the folder or archive itself there."
        elif not name.isprintable():
            refused[shown] = f"'{shown}' has unprintable characters in its name; rename it."
        elif len(team.encode()) > _LONGEST_NAME:
            refused[shown] = f"'{shown}' is too long for the name of a team."
        elif team in found:
            raise UsageError(f"{found[team]} and {path} are both of the team '{team}'.")
        else:
            found[team] = path
    if not found and not refused:
        raise UsageError(f"{submissions} holds no submission: neither a folder nor an archive.")
    return found, refused


def _members(submissions: Location) -> Iterator[tuple[str, bool, bool]]:
    """The names in a folder, whether each is a folder itself, and whether it is a link; only folders, files, links."""
    if isinstance(submissions, Path):
        if not submissions.is_dir():
            raise UsageError(f"{submissions} is not a folder with one submission per team.")
        for path in submissions.iterdir():
            if path.is_dir() or path.is_file() or path.is_symlink():
                yield path.name, path.is_dir(), path.is_symlink()
        return
    members = submissions.members()
    if len(members) > _MOST_TEAMS:
        raise UsageError(f"{submissions} holds more than {_MOST_TEAMS:,} submissions.")
    yield from ((name, is_folder, False) for name, is_folder in members.items())
