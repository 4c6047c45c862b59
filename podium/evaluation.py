"""The main job: one submission in, metrics.json out.

`evaluate` finds the challenge, checks its references (`prepare`), pairs the predictions with the cases
(`open_predictions`), scores every case, and writes metrics.json (`write_evaluation`).

Reading a reference takes a good part of the time of a case. So the content that the check has read is kept for scoring,
compressed, where it is small: masks take a few kilobytes. Large references are read again, which costs about
as much as unpacking them.
"""

import hashlib
import logging
import os
import pickle
import re
import time
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import cached_property, partial
from importlib.metadata import version
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from podium import __version__
from podium.challenges import load_challenge, published_settings
from podium.challenges.challenge import AnyChallenge
from podium.challenges.ground_truth import (
    CHALLENGE_FILE,
    ChallengeFolder,
    Collected,
    Geometries,
    ReferenceProblem,
    Shapes,
    ValuesByCase,
    challenge_paths,
    read_challenge_folder,
    refuse_references,
)
from podium.challenges.pictures import Diagram
from podium.errors import GroundTruthError, OrganiserError, Refused, SubmissionError, UsageError, listed
from podium.execution.executor import SCORING, CaseOutcome, Executor, available_workers
from podium.execution.processes import Processes
from podium.figures import get
from podium.metrics import Floats
from podium.metrics.declaration import GROUPS
from podium.metrics.engines import OWN
from podium.packages import preload_readers
from podium.platform.jobs import Runtime
from podium.platform.metrics_file import (
    SCHEMA_NAME,
    CaseResult,
    CaseScore,
    Counts,
    MetricsFile,
    Status,
    prepare_output,
    summarise_warnings,
    write_metrics,
)
from podium.platform.privacy import pseudonym, published_results
from podium.platform.sealing import seal
from podium.platform.submission import open_submission, submission_digest
from podium.sandbox.client import Isolation, decoders

AnyPath = str | os.PathLike[str]
LOG = logging.getLogger(__name__)  # the organiser's log: commands print it, use from Python stays silent
MISSING = "There is no prediction for this case."
OUT_OF_TIME = "The time limit was reached before this case started."
_GROUP_NAME = re.compile(r"[A-Za-z0-9_-]+", re.ASCII)  # it becomes part of a leaderboard path
_KEPT_BYTES = 256 * 1024**2  # for all references together: each has an equal share
_LARGEST_BYTES = 16 * 1024**2  # of one reference, before it is compressed


@dataclass(frozen=True, kw_only=True)
class CheckedReference:
    """What is known of a reference once it is checked; `packed` is its content where that is kept."""

    shapes: Shapes
    geometries: Geometries
    digest: bytes
    packed: bytes | None = None


@dataclass(frozen=True, kw_only=True)
class Task:
    """A challenge with its ground truth checked, ready to score any submission."""

    folder: ChallengeFolder
    challenge: AnyChallenge
    references: Mapping[str, Any]
    checked: Mapping[str, CheckedReference]

    @property
    def cases(self) -> Sequence[str]:
        return sorted(self.references)

    @cached_property
    def digest(self) -> bytes:
        """Of the content of all references: the identity of the ground truth."""
        facts = [(case, sorted(row.items())) for case in self.cases if (row := self.challenge.cases.facts_of(case))]
        digests = [self.checked[case].digest for case in self.cases]
        return hashlib.sha256(b"".join([*digests, repr(facts).encode() if facts else b""])).digest()

    def expected(self, case: str) -> Any:
        """The content of a case's reference: what the check kept of it, else the file is read again."""
        packed = self.checked[case].packed
        if packed is None:
            return self.challenge.read_reference(self.references[case])
        return pickle.loads(zlib.decompress(packed))  # noqa: S301  (of our own worker)


def evaluate(  # noqa: PLR0913  (what `podium evaluate` is given)
    submission: AnyPath,
    *,
    ground_truth: AnyPath,
    challenge: str | None = None,
    output: AnyPath | None = None,
    executor: Executor | None = None,
    isolation: Isolation = "best",
) -> MetricsFile:
    """Score a submission: everything that metrics.json holds, with all rows and all digits whatever `per_case` says.

    Args:
        submission: a folder or an archive.
        ground_truth: a challenge's folder, or a folder of several.
        challenge: which challenge of several.
        output: a folder for metrics.json, which is not written without it.
        executor: what works on the cases; by default as many processes as there are cores.
        isolation: "full" refuses to run where the system lacks a layer around the readers of submitted files.

    Raises:
        SubmissionError: the submission cannot be scored. If not a single case could be, metrics.json is written first.
        OrganiserError: the ground truth is wrong.
    """
    executor = executor or Processes(workers=available_workers())
    folder = find_challenge(Path(ground_truth), challenge)
    loaded = load_challenge(folder)
    libraries = loaded.libraries
    with decoders(isolation, libraries=libraries, meanwhile=partial(preload_readers, libraries)):
        task = prepare(folder, loaded, executor, meanwhile=partial(_try_to_import, loaded))
        if output is not None:
            prepare_output(Path(output))
        with open_predictions(task, Path(submission)) as collected:
            results = score_cases(task, collected, executor)
        return write_evaluation(task, collected, results, None if output is None else Path(output))


@dataclass(frozen=True, kw_only=True, repr=False)
class OpenChallenge:
    """A challenge whose references are read: it scores predictions that are in memory."""

    task: Task

    def __repr__(self) -> str:
        return f"<challenge '{self.task.challenge.name}' with {len(self.cases)} cases>"

    @property
    def cases(self) -> Sequence[str]:
        return self.task.cases

    def score(
        self, predictions: ValuesByCase, *, seconds: float | None = None, executor: Executor | None = None
    ) -> MetricsFile:
        """Return what `evaluate` returns for files with these values.

        Values are checked as those of files are; spacing is the reference's. Cases without a prediction are missing.

        Args:
            predictions: values by case and by their names in challenge.toml.
            seconds: what all cases took, for challenges that score the time.
            executor: what works on the cases; by default as many processes as there are cores.
        """
        collected = self.task.challenge.pair_values(predictions, self.task.references.keys())
        collected = replace(collected, runtime=Runtime(total_seconds=seconds))
        _refuse_strangers(collected)
        results = score_cases(self.task, collected, executor or Processes(workers=available_workers()))
        return write_evaluation(self.task, collected, results, None)

    def curves(self, result: MetricsFile) -> Mapping[str, Mapping[str, Floats]]:
        """ROC, precision and recall, calibration and FROC of a result: `[point, axis]` by title and class."""
        found = self.task.challenge.pictures([row.metrics for row in result.results], result.aggregates)
        return {
            each.title: {name: np.array(line) for name, line in each.lines.items()}
            for each in found
            if isinstance(each, Diagram) and each.lines
        }


def open_challenge(
    ground_truth: AnyPath, *, challenge: str | None = None, executor: Executor | None = None
) -> OpenChallenge:
    """Read and check a challenge's references once, to score predictions in memory.

    Args:
        ground_truth: a challenge's folder, or a folder of several.
        challenge: which challenge of several.
        executor: what reads the references; by default as many processes as there are cores.
    """
    folder = find_challenge(Path(ground_truth), challenge)
    return OpenChallenge(
        task=prepare(folder, load_challenge(folder), executor or Processes(workers=available_workers()))
    )


# The challenge and its references.


def find_challenge(ground_truth: Path, named: str | None) -> ChallengeFolder:
    """The named challenge below a ground truth folder, or in the folder that `named` is a path of, else the only one:
    which rules score a submission is never the submission's choice. No other challenge there is read."""
    if named is not None and (os.sep in named or (not ground_truth.is_dir() and Path(named).is_dir())):
        ground_truth, named = Path(named), None
    paths = challenge_paths(ground_truth, named=named)
    if named is not None and named not in paths and (Path(named) / CHALLENGE_FILE).is_file():
        return read_challenge_folder(Path(named), name=named)
    choices = ", ".join(sorted(paths))
    if named is not None and named not in paths:
        raise UsageError(f"There is no ground truth for the challenge '{named}'. Available: {choices}.")
    if named is None and len(paths) > 1:
        raise UsageError(
            f"There are several challenges here ({choices}); name one with --challenge or the "
            "variable PODIUM_CHALLENGE."
        )
    name = named or next(iter(paths))
    return read_challenge_folder(paths[name], name=name)


def import_packages(ground_truth: Path, *, challenge: str | None) -> None:
    """Load what evaluations of this challenge will import, for a process that waits for submissions."""
    import scipy.special  # noqa: F401  (error bars)

    loaded = load_challenge(find_challenge(ground_truth, challenge))
    preload_readers(loaded.libraries)
    loaded.import_packages()


def _try_to_import(challenge: AnyChallenge) -> None:
    """Import what scoring needs; where something is missing, scoring says so, and a broken reference comes first."""
    with suppress(ImportError, UsageError):
        challenge.import_packages()


def prepare(
    folder: ChallengeFolder,
    challenge: AnyChallenge,
    executor: Executor,
    *,
    fetch: Callable[[Iterable[Path]], None] = lambda _: None,
    meanwhile: Callable[[], None] | None = None,
) -> Task:
    """Read every reference before anything is scored: a broken ground truth must abort the run rather than skew its
    results.

    `fetch` ensures local copies of files, on whichever machine reads them. `meanwhile` is done while references are
    read.
    """
    if not folder.references.is_dir():
        raise GroundTruthError("The ground truth has no folder 'references'.", detail=str(folder.path))
    references = challenge.find_references(folder.references)
    if not references:
        raise GroundTruthError("The ground truth holds no reference.", detail=str(folder.references))
    refuse_references(problems_of_cases(challenge, references, expected=folder.common.expected_cases))
    preload_readers(challenge.libraries)
    challenge.share_cores(workers=executor.workers, cases=len(references))

    def check(case: str) -> CheckedReference:
        fetch(file.path for file in challenge.reference_files(references[case]))
        content = challenge.read_reference(references[case])
        return CheckedReference(
            shapes=challenge.shapes(content),
            geometries=challenge.geometries(content),
            digest=challenge.reference_digest(references[case]),
            packed=_packed(content, most_bytes=_KEPT_BYTES // len(references)),
        )

    outcomes = executor.run(sorted(references), check, label="checking references", meanwhile=meanwhile)
    unread = [(case, outcome) for case, outcome in outcomes.items() if outcome.value is None]
    if unread:
        detail = "\n".join(f"reference of {case}: {outcome.error} {outcome.detail or ''}" for case, outcome in unread)
        broken = sum(not outcome.was_killed for _, outcome in unread)
        if not broken:
            raise OrganiserError(
                "A worker was killed while the references were checked. The organisers can find details in the log.",
                detail=detail,
            )
        raise GroundTruthError(
            f"{broken} of {len(references)} references are broken. The organisers can find details in the log.",
            detail=detail,
        )
    checked = {case: outcome.value for case, outcome in outcomes.items() if outcome.value is not None}
    return Task(folder=folder, challenge=challenge, references=references, checked=checked)


def _packed(content: object, *, most_bytes: int) -> bytes | None:
    arrays: list[pickle.PickleBuffer] = []
    try:
        pickle.dumps(content, protocol=5, buffer_callback=arrays.append)  # no copy: only how large it would be
        if sum(array.raw().nbytes for array in arrays) > _LARGEST_BYTES:
            return None
        packed = zlib.compress(pickle.dumps(content, protocol=5), 1)
    except (pickle.PicklingError, TypeError, AttributeError, BufferError):  # content that cannot be pickled
        return None
    return packed if len(packed) <= most_bytes else None


def problems_of_cases(
    challenge: AnyChallenge, cases: Collection[str], *, expected: int | None
) -> Sequence[ReferenceProblem]:
    """Where the number and the groups of the expected cases contradict challenge.toml."""
    problems = []
    if expected is not None and expected != len(cases):
        what = f"The ground truth has {len(cases)} references, but 'expected_cases' in challenge.toml is {expected}."
        problems.append(ReferenceProblem(what=what, where="references"))
    groups = {case: challenge.cases.groups_of(case) for case in cases}
    patients = {case: challenge.cases.patient_of(case) for case in cases}
    invalid = {
        "valid group under 'groups' of challenge.toml": [
            case for case, own in groups.items() if not all(map(_GROUP_NAME.fullmatch, own))
        ],
        "patient under 'patient' of challenge.toml": [case for case, patient in patients.items() if patient == ""],
    }
    if challenge.cases.table is not None:
        unknown = [case for case in cases if not challenge.cases.is_named(case)]
        invalid[f"row in {challenge.cases.table}"] = unknown
        named = {*challenge.cases.named_cases}.difference(map(challenge.cases.spelled, cases))
        invalid["reference"] = sorted(named)
    for lacking, outside in invalid.items():
        if outside:
            have = "case has" if len(outside) == 1 else "cases have"
            what = f"{len(outside)} {have} no {lacking}. The organisers can find them in the log."
            problems.append(ReferenceProblem(what=what, where=", ".join(sorted(outside))))
    for path in challenge.figures_in_use:
        first, _, rest = path.partition(".")
        if first == GROUPS and rest.partition(".")[0] not in {*chain.from_iterable(groups.values())}:
            problems.append(ReferenceProblem(what="A figure is of a group that no case is in.", where=path))
    return problems


# The predictions and their rows.


@contextmanager
def open_predictions(task: Task, submission: Path, *, unpack_in: Path | None = None) -> Iterator[Collected[Any]]:
    """The predictions of a submission by case; an archive is unpacked below `unpack_in` until the context ends.

    Raises SubmissionError where there is no prediction for any expected case.
    """
    limit = task.challenge.submission_bytes([checked.shapes for checked in task.checked.values()])
    shape = task.folder.common.submission
    with open_submission(submission, max_bytes=limit, shape=shape, unpack_in=unpack_in) as opened:
        collected = task.challenge.pair(opened, task.references.keys())
        if task.challenge.tables.sealed.public_key is not None:
            collected = replace(collected, digest=submission_digest(submission))
        # Details for the organiser. Participants who run the image at home read them too: they name only their files.
        for unmatched in collected.unmatched:
            LOG.info("unmatched: %s: %s", unmatched.name, unmatched.reason)
        for cases, reason in once_per_cause(collected.refused.items()):
            LOG.info("refused: %s: %s", cases, reason)
        for sentence in (collected.runtime.problem, collected.runtime.warning):
            if sentence:
                LOG.info("runtime: %s", sentence)
        for note in collected.notes:
            LOG.info("note: %s", note)
        _refuse_strangers(collected)
        yield collected


def _refuse_strangers(collected: Collected[Any]) -> None:
    """Raises SubmissionError where there is no prediction for any expected case."""
    if collected.predictions or collected.refused:
        return
    if not collected.unmatched:
        raise SubmissionError("The submission holds no prediction for any expected case.")
    first = collected.unmatched[0]
    raise SubmissionError(
        f"None of the {len(collected.unmatched)} submitted predictions belongs to an expected case; "
        f"the first is {first.name}: {first.reason.removesuffix('.')}."
    )


def score_cases(task: Task, collected: Collected[Any], executor: Executor) -> list[CaseResult]:
    """The rows of all expected cases, those without a usable prediction with the worst figures."""
    challenge = task.challenge

    def score(case: str) -> CaseScore:
        if executor.score_until is not None and time.monotonic() > executor.score_until:
            raise Refused(OUT_OF_TIME)
        return challenge.score(collected.predictions[case], task.expected(case))

    challenge.import_packages()
    challenge.share_cores(workers=executor.workers, cases=len(collected.predictions))
    scored = executor.run(sorted(collected.predictions), score, label=SCORING)
    errors = dict(collected.refused)
    failed = {case: outcome for case, outcome in scored.items() if outcome.error is not None}
    errors |= {case: str(outcome.error) for case, outcome in failed.items()}
    lines = ((case, f"{outcome.error} {outcome.detail or ''}") for case, outcome in failed.items())
    for cases, line in once_per_cause(lines):
        LOG.info("failed: %s: %s", cases, line)
    check_own_metrics(scored.values())
    unscored = [case for case in task.cases if case in errors or case not in scored]
    worst = executor.run(
        unscored, lambda case: challenge.score_missing(task.expected(case)), label="filling in worst values"
    )
    results = results_of(task, collected, scored, errors, worst)
    for cases, line in once_per_cause((row.case, row.trouble or "") for row in results if row.status == "partial"):
        LOG.info("partial: %s: %s", cases, line)
    return results


def once_per_cause(problems: Iterable[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """Problems by case, each once with its cases as `case01 and 5 more`: a wrong name of a column is one line."""
    cases: dict[str, list[str]] = {}
    for case, problem in problems:
        cases.setdefault(problem, []).append(case)
    for problem, found in cases.items():
        yield listed(found, most=1), problem


def check_own_metrics(outcomes: Collection[CaseOutcome[CaseScore]]) -> None:
    """Raises OrganiserError where no case has a score and an organiser's own metric is the reason."""
    failure = next((each.own_metric for each in outcomes if each.own_metric is not None), None)
    if failure is not None and all(each.value is None for each in outcomes):
        raise OrganiserError(
            f"{failure} on every case that it was given. The organisers have to fix it; they can find details in the "
            "log."
        )


def results_of(
    task: Task,
    collected: Collected[Any],
    scored: Mapping[str, CaseOutcome[CaseScore]],
    errors: Mapping[str, str],
    worst: Mapping[str, CaseOutcome[CaseScore]],
) -> list[CaseResult]:
    """The rows of all cases; `worst` has the figures of those that are missing or in `errors`."""
    rows = []
    cases = task.challenge.cases
    for case in task.cases:
        score = (worst[case] if case in worst else scored[case]).value
        if score is None:
            raise GroundTruthError("A reference could not be read again.", detail=f"{case}: {worst[case].error}")
        if case in worst:
            status: Status = "failed" if case in errors else "missing"
            row = score.result(case, status=status, error=errors.get(case, MISSING))
        else:
            row = score.result(case)
        patient = cases.patient_of(case)
        hidden = patient and pseudonym(patient, key=task.digest, what="patient")
        rows.append(row.model_copy(update={"groups": cases.groups_of(case), "patient": hidden}))
    if not (values := collected.unanswered):
        return rows
    unscored = []
    for row in rows:
        metrics, undefined = task.challenge.scoreboard.without(row.metrics, row.undefined, values)
        unscored.append(row.model_copy(update={"metrics": metrics, "undefined": undefined}))
    return unscored


# metrics.json.


def write_evaluation(
    task: Task,
    collected: Collected[Any],
    results: Sequence[CaseResult],
    output: Path | None,
    *,
    whole: Path | None = None,
) -> MetricsFile:
    """Aggregate all rows and write what is published of them to metrics.json, if there is an output folder. The result
    has every row and every digit; it is written below `whole` for the organiser.

    Raises SubmissionError (after writing) when nothing of a single case could be scored.
    """
    common, computed_by = task.folder.common, task.challenge.packages(results)
    versions = {package: version(package) for package in {*computed_by.values()} - {OWN}}
    for line in summarise_warnings({result.case: result.warnings for result in results}):
        LOG.info("warning: %s", line)
    evaluation = MetricsFile(
        schema=SCHEMA_NAME,
        challenge=task.challenge.name,
        kind=task.challenge.kind,
        title=common.title,
        version=common.version,
        settings=published_settings(task.challenge),
        aggregates=task.challenge.aggregate(results, collected.runtime, seed=int.from_bytes(task.digest[:8])),
        counts=Counts.of(results, unmatched=len(collected.unmatched)),
        computed_by={
            metric: f"{package} {versions.get(package, __version__)}" for metric, package in computed_by.items()
        },
        results=results,
    )
    if output is not None:
        published = _published(task, evaluation, submission=collected.digest)
        write_metrics(published, output)
        score = task.challenge.columns()[0]
        with suppress(KeyError, TypeError):  # a figure that is not published
            title, value = score.title.partition(" (")[0], get(published.aggregates, score.path)
            evaluation._published_score = f"{title} {value:.4g}"
    if whole is not None:
        write_metrics(evaluation, whole)
    if not any(row.has_answers for row in results):
        raise SubmissionError(_nothing_scored(results, collected))
    return evaluation


def _published(task: Task, evaluation: MetricsFile, *, submission: str) -> MetricsFile:
    """What participants may see of an evaluation; with a public key in `[sealed]`, all of it for the organiser too."""
    common, challenge = task.folder.common, task.challenge
    rows = published_results(
        evaluation.results, per_case=common.per_case, key=task.digest, confidential=challenge.confidential
    )
    aggregates = challenge.published(
        evaluation.aggregates,
        evaluation.results,
        per_case=common.per_case,
        decimals=common.published_decimals,
        key=task.digest,
    )
    sealed = None
    if (public_key := challenge.tables.sealed.public_key) is not None:
        sealed = seal(
            evaluation, published=aggregates, ground_truth=task.digest, submission=submission, public_key=public_key
        )
    return evaluation.model_copy(update={"aggregates": aggregates, "results": rows, "sealed": sealed})


def _nothing_scored(results: Sequence[CaseResult], collected: Collected[Any]) -> str:
    first = next(result.error for result in results if result.status == "failed")
    failed = sum(result.status == "failed" for result in results)
    sentence = f"None of the {failed} submitted predictions could be scored; the first: {first}"
    if not (unmatched := collected.unmatched):
        return sentence
    reason = unmatched[0].reason.removesuffix(".")
    return f"{sentence} Of {len(unmatched)} that belong to no case, the first is {unmatched[0].name}: {reason}."
