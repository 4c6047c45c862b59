"""`podium judge`: submissions and references in, metrics.json with RadFact out."""

import hashlib
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import urlsplit

from pydantic import ValidationError

from podium.challenges import load_challenge
from podium.challenges.ground_truth import (
    CHALLENGE_FILE,
    REFERENCES,
    ChallengeFolder,
    only_of_kind,
    read_challenge_folders,
)
from podium.challenges.reports.files import JudgeSettings, ReportsSettings, read_report
from podium.errors import OrganiserError, PodiumError, Refused, SubmissionError, UsageError, first_problem
from podium.evaluation import Task, open_predictions, prepare, score_cases, write_evaluation
from podium.execution.executor import Executor, ProgressFactory, no_progress, show_progress
from podium.platform.metrics_file import METRICS_FILE, MetricsFile, read_metrics, write_metrics
from podium.platform.privacy import PerCase, published_results
from podium.readers.files import escape_for_display
from podium.sandbox.client import decoders
from podium.tools.judge.asking import AnswerCache, Asker, DryRunAsker, JudgeStopped, Meter, by_count
from podium.tools.judge.engine import PACKAGE, PINNED_VERSION, Engine, check_installed, prompt_hash
from podium.tools.judge.judging import (
    CONFIDENTIAL,
    CaseFigures,
    Doubts,
    JudgedPair,
    case_figures,
    count_doubts,
    final_figures,
    judge_pairs,
    radfact_aggregates,
)

_BARE_CHALLENGE = 'kind = "reports"\ntitle = "Reports"\nversion = "unversioned"\nper_case = "full"\n'
_SAME_FIGURES = 1e-9

Key = tuple[str, str]  # team, case


@dataclass(frozen=True, kw_only=True)
class Request:
    """What to judge and where the results go. `overrides` take precedence over challenge.toml."""

    targets: Sequence[Path]
    references: Path
    submissions: Path | None
    output: Path
    overwrite: bool
    cache: Path
    overrides: Mapping[str, Any]
    per_case: PerCase | None
    keep_evidence: bool
    api_key: str | None
    executor: Executor


@dataclass(frozen=True, kw_only=True)
class TeamSubmission:
    """A team's submission; `metrics` is the metrics.json given for it, if any."""

    name: str
    submission: Path
    metrics: Path | None = None


@dataclass(frozen=True, kw_only=True)
class TeamReports:
    """A team's evaluation as the container computes it, and the text of every scored report."""

    team: TeamSubmission
    evaluation: MetricsFile
    texts: Mapping[str, str]


@dataclass(frozen=True, kw_only=True)
class TeamVerdict:
    """The result of one team: the file written, the final score and its lower bound, or the problem."""

    team: str
    written: Path | None = None
    score_final: float | None = None
    lower_bound: float | None = None
    doubts: Doubts | None = None
    problem: PodiumError | None = None

    def __str__(self) -> str:
        parts = [str(self.problem)] if self.problem else []
        if self.score_final is not None:
            parts.append(f"{self.score_final:.4f}, lower bound {self.lower_bound:.4f}")
        if self.doubts:
            parts.append(str(self.doubts))
        if self.score_final is not None:
            parts.append(f"in {self.written}")
        return f"{escape_for_display(self.team)}: {'; '.join(parts)}"


@dataclass(frozen=True)
class _PreparedRun:
    task: Task
    settings: ReportsSettings
    per_case: PerCase
    teams: Sequence[TeamReports]
    unusable: Sequence[TeamVerdict]

    @property
    def judge(self) -> JudgeSettings:
        return self.settings.judge

    def pairs(self) -> dict[Key, tuple[str, str]]:
        """Report and reference of every case of every team; a missing or failed report counts as empty."""
        socket = self.settings.sockets.report
        references = {case: read_report(self.task.references[case], socket=socket) for case in self.task.cases}
        return {
            (team.team.name, case): (team.texts.get(case, ""), reference)
            for team in self.teams
            for case, reference in references.items()
        }


def judge(request: Request) -> list[TeamVerdict]:
    """Judge every team and write its metrics.json."""
    check_installed()
    teams = find_teams(request.targets, submissions=request.submissions)
    for team in teams:
        _check_target(request, team)
    with open_references(request.references) as folder:
        prepared = _prepare(request, teams, folder)
        meter = _meter(prepared.judge)
        judged, host = _ask(request, prepared, meter)
        print(meter.summary(), flush=True)
        reasons = by_count(meter.reasons)
        if meter.failures and not meter.calls and not meter.hits:  # too few questions for the server to be given up
            raise JudgeStopped(f"The judge's server answered none of the {meter.failures} questions ({reasons}).")
        if meter.failures:
            print(f"Questions that failed: {reasons}.", flush=True)
        written = [_finish(request, prepared, team, judged, host) for team in prepared.teams]
    return [*written, *prepared.unusable]


def estimate(request: Request) -> Meter:
    """What a run would ask, as far as that is known without the answers. No server is needed."""
    check_installed()
    teams = find_teams(request.targets, submissions=request.submissions)
    with open_references(request.references) as folder:
        prepared = _prepare(request, teams, folder)
        cache = _cache(request, prepared.judge.model or "") if request.cache.exists() else None
        meter = _meter(prepared.judge)
        _judge_pairs(prepared, DryRunAsker(cache, meter), meter, no_progress)
        if cache:
            cache.close()
        return meter


# Preparing: nothing is asked before everything is checked.


def find_teams(targets: Sequence[Path], *, submissions: Path | None) -> list[TeamSubmission]:
    """A target is a submission, or a metrics.json whose submission is `submissions`/<team> (or `submissions` itself).

    A team's name is its folder's, as in `podium rank`.
    """
    teams = [_team(target, submissions, alone=len(targets) == 1) for target in targets]
    names = [team.name for team in teams]
    if twice := [name for name in names if names.count(name) > 1]:
        raise UsageError(f"Two of the submissions are called '{min(twice)}'; rename one, since results go by name.")
    return teams


def _team(target: Path, submissions: Path | None, *, alone: bool) -> TeamSubmission:
    if not target.exists():
        raise UsageError(f"{target} does not exist.")
    if target.is_dir() or target.suffix != ".json" or not _is_metrics(target):
        name = target.resolve().name
        return TeamSubmission(name=name if target.is_dir() else name.split(".", 1)[0], submission=target)
    name = target.resolve().parent.name if target.name == METRICS_FILE else target.stem
    if submissions is None:
        raise UsageError(f"{target} holds no reports; name the folder of the submissions with --submissions.")
    submission = submissions / name
    if not submission.exists():
        if not alone:
            raise UsageError(f"There is no submission of '{name}' in {submissions}.")
        submission = submissions
    return TeamSubmission(name=name, submission=submission, metrics=target)


def _is_metrics(path: Path) -> bool:
    with suppress(OSError, ValueError):
        content = json.loads(path.read_text(encoding="utf-8"))
        return isinstance(content, dict) and "aggregates" in content and "schema" in content
    return False


@contextmanager
def open_references(folder: Path) -> Iterator[ChallengeFolder]:
    """The challenge whose references `folder` holds: a ground truth, its `references`, or just a folder of texts."""
    if not folder.is_dir():
        raise UsageError(f"There is no folder {folder} with references.")
    if folder.resolve().name == REFERENCES and (folder.resolve().parent / CHALLENGE_FILE).is_file():
        folder = folder.resolve().parent
    if (folder / CHALLENGE_FILE).is_file() or any(folder.glob(f"*/{CHALLENGE_FILE}")):
        yield only_of_kind(read_challenge_folders(folder), "reports")
        return
    with TemporaryDirectory(prefix="podium-") as workspace:
        root = Path(workspace)
        (root / CHALLENGE_FILE).write_text(_BARE_CHALLENGE, encoding="utf-8")
        (root / REFERENCES).symlink_to(folder.resolve(), target_is_directory=True)
        yield only_of_kind(read_challenge_folders(root, named="reports"), "reports")


def read_team(team: TeamSubmission, task: Task, executor: Executor) -> TeamReports:
    """Score the submission as the container does, compare this with the team's metrics.json, and keep the texts."""
    with open_predictions(task, team.submission) as collected:
        evaluation = write_evaluation(task, collected, score_cases(task, collected, executor), None)
        if team.metrics is not None:
            given = read_metrics(team.metrics).aggregates
            for name in ("bleu_4", "meteor"):
                figure = given.get(name)
                if not isinstance(figure, int | float) or abs(figure - evaluation.aggregates[name]) > _SAME_FIGURES:
                    raise UsageError(
                        f"{team.metrics} was not made from this submission and these references: '{name}' differs."
                    )
        scored = [result.case for result in evaluation.results if result.status == "scored"]
        socket = task.challenge.settings.sockets.report
        try:
            texts = {case: read_report(collected.predictions[case], socket=socket) for case in scored}
        except Refused as refusal:
            raise UsageError(f"A report of '{team.name}' changed while it was read: {refusal}") from None
    return TeamReports(team=team, evaluation=evaluation, texts=texts)


def _check_target(request: Request, team: TeamSubmission) -> None:
    """Refuse to overwrite a result, unless asked to or if it is an incomplete result of this command."""
    target = request.output / team.name / METRICS_FILE
    existing = next(folder for folder in target.absolute().parents if folder.exists())
    if not os.access(existing, os.W_OK):  # before any answer is paid for
        raise UsageError(f"{existing} cannot be written to; give another --output.")
    if not target.exists() or request.overwrite:
        return
    with suppress(UsageError):
        existing_file = read_metrics(target)
        if "judge" in existing_file.provenance and not existing_file.aggregates["radfact_known"]:
            return
    raise UsageError(f"{target} exists; give another --output, or --overwrite.")


def _prepare(request: Request, teams: Sequence[TeamSubmission], folder: ChallengeFolder) -> _PreparedRun:
    task = prepare(folder, load_challenge(folder), request.executor)
    settings = _with_overrides(task.challenge.settings, request.overrides)
    per_case = request.per_case or task.folder.common.per_case
    if request.keep_evidence and per_case != "full":
        raise UsageError(
            f"--keep-evidence writes the content of references into the rows, which are '{per_case}'; "
            "add --per-case full if the file stays with the organisers."
        )
    readable: list[TeamReports] = []
    unusable: list[TeamVerdict] = []
    with decoders(libraries=task.challenge.libraries):
        for team in teams:
            try:
                readable.append(read_team(team, task, request.executor))
            except SubmissionError as error:
                unusable.append(TeamVerdict(team=team.name, problem=error))
    return _PreparedRun(task, settings, per_case, readable, unusable)


def _with_overrides(settings: ReportsSettings, overrides: Mapping[str, Any]) -> ReportsSettings:
    own = {name: value for name, value in overrides.items() if name in ReportsSettings.model_fields}
    merged = {**dict(settings.judge), **{name: value for name, value in overrides.items() if name not in own}}
    try:
        chosen = {**dict(settings), **own, "judge": JudgeSettings.model_validate(merged)}
        found = ReportsSettings.model_validate(chosen)
    except ValidationError as error:
        raise UsageError(f"The judge's setting {first_problem(error)}.") from None
    if found.remove_normal_findings is None:
        raise UsageError(
            "Say whether normal findings are removed before judging, since the rules leave it open: give "
            "--remove-normal-findings or --no-remove-normal-findings, or set remove_normal_findings in [reports] of "
            "challenge.toml."
        )
    return found


# Asking


def _ask(request: Request, prepared: _PreparedRun, meter: Meter) -> tuple[dict[Key, JudgedPair], str]:
    from podium.tools.judge.server import Judge, bounded_client

    settings = prepared.judge
    if settings.model is None:
        raise UsageError(
            "Name the judge's model with --model, PODIUM_JUDGE_MODEL or [reports.judge] in challenge.toml."
        )
    if request.api_key is None and settings.base_url is None:
        raise UsageError("Set OPENAI_API_KEY, or name a server that needs no key with --base-url.")
    client = bounded_client(
        api_key=request.api_key or "none",
        base_url=settings.base_url,
        timeout=settings.timeout_seconds,
        max_retries=settings.attempts - 1,
    )
    cache = _cache(request, settings.model)
    asker = Judge(client, model=settings.model, cache=cache, meter=meter, attempts=settings.attempts)
    try:
        return _judge_pairs(prepared, asker, meter, show_progress), urlsplit(str(client.base_url)).hostname or ""
    finally:
        asker.stop()
        client.close()
        cache.close()


def _judge_pairs(
    prepared: _PreparedRun, asker: Asker, meter: Meter, progress: ProgressFactory
) -> dict[Key, JudgedPair]:
    settings = prepared.judge
    removes = bool(prepared.settings.remove_normal_findings)
    engine = Engine(asker, report_type=settings.report_type, remove_normal_findings=removes)
    return judge_pairs(
        prepared.pairs(),
        engine=engine,
        meter=meter,
        progress=progress,
        concurrency=settings.concurrency,
        max_characters=settings.max_report_characters,
    )


def _meter(settings: JudgeSettings) -> Meter:
    return Meter(
        prompt_price=settings.price_per_million_prompt_tokens, answer_price=settings.price_per_million_answer_tokens
    )


def _cache(request: Request, model: str) -> AnswerCache:
    return AnswerCache(request.cache, model=model, engine_version=PINNED_VERSION)


# Writing


def _finish(
    request: Request, prepared: _PreparedRun, reports: TeamReports, judged: Mapping[Key, JudgedPair], host: str
) -> TeamVerdict:
    name, evaluation = reports.team.name, reports.evaluation
    cases = [case_figures(judged[name, result.case]) for result in evaluation.results]
    doubts = count_doubts(cases)
    is_complete = doubts.failure_share <= prepared.judge.failure_threshold
    final: dict[str, Any] = {}
    if is_complete:
        final = final_figures(
            radfact_aggregates(cases),
            captioning=evaluation.aggregates["captioning"],
            rule=prepared.settings.clinical,
            weights=prepared.settings.weights,
        )
    rows = published_results(
        [
            result.model_copy(
                update={
                    "metrics": {**result.metrics, "radfact": case.row(keep_evidence=request.keep_evidence)},
                    "warnings": tuple(dict.fromkeys((*result.warnings, *case.warnings()))),
                }
            )
            for result, case in zip(evaluation.results, cases, strict=True)
        ],
        per_case=prepared.per_case,
        key=prepared.task.digest,
        confidential=(*prepared.task.challenge.confidential, *CONFIDENTIAL),
    )
    common = prepared.task.folder.common.model_copy(update={"per_case": prepared.per_case})
    (request.output / name).mkdir(parents=True, exist_ok=True)
    judged_file = evaluation.model_copy(
        update={
            "aggregates": prepared.task.challenge.published(
                {**evaluation.aggregates, **final},
                evaluation.results,
                per_case=prepared.per_case,
                decimals=common.published_decimals,
                key=prepared.task.digest,
            ),
            "settings": {**evaluation.settings, "reports": prepared.settings.model_dump(mode="json")},
            "provenance": {"judge": _provenance(prepared.settings, cases, doubts, host=host)},
            "results": rows,
        }
    )
    too_many_failed = (
        f"{doubts.failure_share:.1%} of the verdicts on '{name}' failed, "
        f"more than {prepared.judge.failure_threshold:.1%}: no aggregate was written. "
        "Run it again to ask only what failed."
    )
    return TeamVerdict(
        team=name,
        written=write_metrics(judged_file, request.output / name),
        score_final=final.get("score_final"),
        lower_bound=final.get("score_final_lower_bound"),
        doubts=doubts,
        problem=None if is_complete else OrganiserError(too_many_failed),
    )


def _provenance(
    settings: ReportsSettings, cases: Sequence[CaseFigures], doubts: Doubts, *, host: str
) -> dict[str, Any]:
    """How the figures were computed. The date is that of the newest answer used, so a second run gives the same."""
    judge = settings.judge
    pairs = [case.judged for case in cases]
    used = [(each.candidate, each.reference, *each.candidate_verdicts, *each.reference_verdicts) for each in pairs]
    return {
        "package": PACKAGE,
        "package_version": PINNED_VERSION,
        "model": judge.model,
        "server": hashlib.sha256(host.encode()).hexdigest()[:16],
        "report_type": judge.report_type,
        "remove_normal_findings": settings.remove_normal_findings,
        "prompt_hash": prompt_hash(judge.report_type),
        "clinical": settings.clinical,
        "max_report_characters": judge.max_report_characters,
        "date": max((item.day for items in used for item in items if item is not None), default=""),
        "verdicts": doubts.verdicts,
        "failure_threshold": judge.failure_threshold,
        "failed_verdicts": doubts.failed,
    }


def order_warning(outcomes: Sequence[TeamVerdict]) -> str | None:
    """A warning if the order of the teams by lower bound differs from that by score; teams may share a place."""
    by_score = _order({each.team: each.score_final for each in outcomes if each.score_final is not None})
    by_bound = _order({each.team: each.lower_bound for each in outcomes if each.lower_bound is not None})
    if by_score == by_bound:
        return None
    return (
        "Warning: the order of the teams depends on suspicious or failed verdicts. "
        f"By score: {by_score}. By lower bound: {by_bound}."
    )


def _order(scores: Mapping[str, float]) -> str:
    places = sorted((1 + sum(other > score for other in scores.values()), team) for team, score in scores.items())
    return ", ".join(f"{place} {escape_for_display(team)}" for place, team in places)
