"""What is to be judged: each team's reports, and how they scored in the container."""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from podium.challenges import KINDS
from podium.challenges.format import CHALLENGE_FILE, REFERENCES, ChallengeFolder, only_of_kind, read_challenge_folders
from podium.challenges.reports import REPORTS
from podium.challenges.reports.format import read_report
from podium.errors import Refused, UsageError
from podium.evaluation import evaluate
from podium.execution.executor import Executor
from podium.platform.metrics_file import METRICS_FILE, MetricsFile, read_metrics
from podium.platform.submission import open_submission
from podium.task import Task

_BARE_CHALLENGE = f'kind = "{REPORTS.name}"\ntitle = "Reports"\nversion = "unversioned"\nper_case = "full"\n'
_SAME_FIGURES = 1e-9


@dataclass(frozen=True, kw_only=True)
class TeamSubmission:
    """`metrics` is the metrics.json it was named by, if it was."""

    name: str
    submission: Path
    metrics: Path | None = None


@dataclass(frozen=True, kw_only=True)
class TeamReports:
    """A team's evaluation as the container makes it, and the text of every report it could score."""

    team: TeamSubmission
    evaluation: MetricsFile
    texts: Mapping[str, str]


def find_teams(targets: Sequence[Path], *, submissions: Path | None) -> list[TeamSubmission]:
    """A target is a submission, or a metrics.json whose submission is `submissions`/<team> (or `submissions` itself).

    A team's name is its folder's, as in `podium rank`.
    """
    teams = [_team(target, submissions, alone=len(targets) == 1) for target in targets]
    names = [team.name for team in teams]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise UsageError(f"Two of the submissions are called '{twice[0]}'; rename one, the results go by these names.")
    return teams


def _team(target: Path, submissions: Path | None, *, alone: bool) -> TeamSubmission:
    if not target.exists():
        raise UsageError(f"{target} does not exist.")
    if target.is_dir() or target.suffix != ".json" or not _is_metrics(target):
        name = target.resolve().name
        return TeamSubmission(name=name if target.is_dir() else name.split(".", 1)[0], submission=target)
    name = target.resolve().parent.name if target.name == METRICS_FILE else target.stem
    if submissions is None:
        raise UsageError(f"{target} holds no reports; name the folder that does with --submissions.")
    submission = submissions / name
    if not submission.exists():
        if not alone:
            raise UsageError(f"There is no submission of '{name}' in {submissions}.")
        submission = submissions
    return TeamSubmission(name=name, submission=submission, metrics=target)


def _is_metrics(path: Path) -> bool:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return isinstance(content, dict) and "aggregates" in content and "schema" in content


@contextmanager
def open_references(folder: Path) -> Iterator[ChallengeFolder]:
    """The challenge whose references `folder` holds: a ground truth, its `references`, or just a folder of texts."""
    if not folder.is_dir():
        raise UsageError(f"There is no folder {folder} with references.")
    if folder.resolve().name == REFERENCES and (folder.resolve().parent / CHALLENGE_FILE).is_file():
        folder = folder.resolve().parent
    if (folder / CHALLENGE_FILE).is_file() or any(folder.glob(f"*/{CHALLENGE_FILE}")):
        yield only_of_kind(read_challenge_folders(folder, known=KINDS), REPORTS.name)
        return
    with TemporaryDirectory(prefix="podium-") as workspace:
        root = Path(workspace)
        (root / CHALLENGE_FILE).write_text(_BARE_CHALLENGE, encoding="utf-8")
        (root / REFERENCES).symlink_to(folder.resolve(), target_is_directory=True)
        yield only_of_kind(read_challenge_folders(root, known=KINDS, named=REPORTS.name), REPORTS.name)


def read_team(team: TeamSubmission, task: Task, executor: Executor) -> TeamReports:
    """Score the submission as the container does, compare that with the team's metrics.json, and keep the texts."""
    with TemporaryDirectory(prefix="podium-") as workspace:
        evaluation = evaluate(
            submission=team.submission,
            output=Path(workspace),
            ground_truth=task.folder.path,
            challenge=task.folder.name,
            executor=executor,
        )
    if team.metrics is not None:
        _check_same(team.metrics, evaluation)
    scored = {result.case for result in evaluation.results if result.status == "scored"}
    texts: dict[str, str] = {}
    limit = task.challenge.format.submission_bytes(list(task.shapes.values()))
    with open_submission(team.submission, max_bytes=limit, shape=task.folder.common.submission) as opened:
        collected = task.challenge.format.collect(opened, task.references.keys())
        for case in scored:
            try:
                texts[case] = read_report(collected.predictions[case], socket=task.challenge.settings.sockets.report)
            except Refused as refusal:
                raise UsageError(f"A report of '{team.name}' changed while it was read: {refusal}") from None
    return TeamReports(team=team, evaluation=evaluation, texts=texts)


def _check_same(metrics: Path, evaluation: MetricsFile) -> None:
    """A metrics.json of another submission, or of other references, must not get this one's verdicts."""
    theirs, ours = read_metrics(metrics).aggregates, evaluation.aggregates
    for name in ("bleu_4", "meteor"):
        figure = theirs.get(name)
        if not isinstance(figure, int | float) or abs(figure - ours[name]) > _SAME_FIGURES:
            raise UsageError(f"{metrics} was not made from this submission and these references: '{name}' differs.")
