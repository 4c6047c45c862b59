"""`podium judge`: submissions and references in, metrics.json with RadFact out."""

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from pydantic import ValidationError

from podium.challenges import load_challenge
from podium.challenges.reports import REPORTS
from podium.challenges.reports.format import JudgeSettings, ReportsSettings, read_report
from podium.challenges.reports.judge.answers import AnswerCache
from podium.challenges.reports.judge.asking import Asker, JudgeStopped
from podium.challenges.reports.judge.dry_run import CostEstimate, DryRunAsker
from podium.challenges.reports.judge.engine import PINNED_VERSION, Engine, check_installed
from podium.challenges.reports.judge.figures import (
    CONFIDENTIAL,
    CaseFigures,
    case_figures,
    failure_share,
    final_figures,
    final_lower_bound,
    radfact_aggregates,
)
from podium.challenges.reports.judge.judging import JudgedPair, ReportPair, judge_pairs
from podium.challenges.reports.judge.meter import Meter, Totals, by_count
from podium.challenges.reports.judge.outcome import TeamVerdict, count_doubts
from podium.challenges.reports.judge.provenance import provenance
from podium.challenges.reports.judge.teams import TeamReports, TeamSubmission, find_teams, open_references, read_team
from podium.errors import OrganiserError, SubmissionError, UsageError, first_problem
from podium.evaluation import prepare
from podium.execution.executor import Executor
from podium.platform.metrics_file import METRICS_FILE, CaseResult, read_metrics, write_metrics
from podium.platform.privacy import PerCase, published_results
from podium.task import Task

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

    def pairs(self) -> dict[Key, ReportPair]:
        """Every case of every team; a missing or failed report is an empty one."""
        socket = self.settings.sockets.report
        references = {case: read_report(self.task.references[case], socket=socket) for case in self.task.cases}
        return {
            (team.team.name, case): ReportPair(candidate=team.texts.get(case, ""), reference=reference)
            for team in self.teams
            for case, reference in references.items()
        }


def judge(request: Request) -> list[TeamVerdict]:
    """Judge every team and write its metrics.json; nothing is asked before everything is checked."""
    check_installed()
    teams = find_teams(request.targets, submissions=request.submissions)
    for team in teams:
        _check_target(request, team)
    with open_references(request.references) as folder:
        prepared = _prepare(request, teams, _task(request, folder))
        meter = _meter(prepared.judge)
        judged, host = _ask(request, prepared, meter)
        print(meter.summary(), flush=True)
        _check_answered(meter.totals)
        written = [_finish(request, prepared, team, judged, host) for team in prepared.teams]
    return [*written, *prepared.unusable]


def estimate(request: Request) -> CostEstimate:
    """The questions a run would ask, as far as they can be known before the answers; no server is needed."""
    check_installed()
    teams = find_teams(request.targets, submissions=request.submissions)
    with open_references(request.references) as folder:
        prepared = _prepare(request, teams, _task(request, folder))
        cache = _cache(request, prepared.judge.model or "") if request.cache.exists() else None
        asker, meter = DryRunAsker(cache), _meter(prepared.judge)
        _judge_pairs(prepared, asker, meter)
        if cache:
            cache.close()
        found = asker.estimate
        found.cost = meter.cost(prompt_tokens=found.prompt_tokens, answer_tokens=found.answer_tokens)
        return found


def _meter(settings: JudgeSettings) -> Meter:
    return Meter(
        prompt_price=settings.price_per_million_prompt_tokens, answer_price=settings.price_per_million_answer_tokens
    )


def _task(request: Request, folder: Any) -> Task:
    return prepare(folder, load_challenge(folder), request.executor)


def _prepare(request: Request, teams: Sequence[TeamSubmission], task: Task) -> _PreparedRun:
    settings = _with_overrides(task.challenge.settings, request.overrides)
    per_case = request.per_case or task.folder.common.per_case
    if request.keep_evidence and per_case != "full":
        raise UsageError(
            f"--keep-evidence writes what references say into the rows, which are to be '{per_case}'; "
            "add --per-case full if the file stays with the organisers."
        )
    readable: list[TeamReports] = []
    unusable: list[TeamVerdict] = []
    for team in teams:
        try:
            readable.append(read_team(team, task, request.executor))
        except SubmissionError as error:
            unusable.append(TeamVerdict(team=team.name, problem=error))
    return _PreparedRun(task, settings, per_case, readable, unusable)


def _with_overrides(settings: ReportsSettings, overrides: Mapping[str, Any]) -> ReportsSettings:
    try:
        merged = {**dict(settings.judge), **overrides}
        return settings.model_copy(update={"judge": JudgeSettings.model_validate(merged)})
    except ValidationError as error:
        raise UsageError(f"The judge's setting {first_problem(error)}.") from None


def _ask(request: Request, prepared: _PreparedRun, meter: Meter) -> tuple[dict[Key, JudgedPair], str]:
    import openai

    from podium.challenges.reports.judge.server import Judge, RetryPolicy

    settings = prepared.judge
    if settings.model is None:
        raise UsageError(
            "Name the judge's model with --model, PODIUM_JUDGE_MODEL or [reports.judge] in challenge.toml."
        )
    if request.api_key is None and settings.base_url is None:
        raise UsageError("Set OPENAI_API_KEY, or name a server that needs no key with --base-url.")
    client = openai.OpenAI(
        api_key=request.api_key or "none",
        base_url=settings.base_url,
        timeout=settings.timeout_seconds,
        max_retries=0,  # ours are counted, shown, and honour Retry-After
    )
    patience = RetryPolicy(attempts=settings.attempts, backoff_seconds=settings.backoff_seconds)
    cache = _cache(request, settings.model)
    asker = Judge(client, model=settings.model, cache=cache, meter=meter, patience=patience)
    try:
        return _judge_pairs(prepared, asker, meter), urlsplit(str(client.base_url)).hostname or ""
    finally:
        asker.stop()
        client.close()
        cache.close()


def _check_answered(totals: Totals) -> None:
    """A run of few questions may end before the server counts as gone; without any answer nothing is written."""
    reasons = by_count(totals.reasons)
    if totals.failures and not totals.calls and not totals.hits:
        raise JudgeStopped(f"The judge's server answered none of the {totals.failures} questions ({reasons}).")
    if totals.failures:
        print(f"Questions that failed: {reasons}.", flush=True)


def _cache(request: Request, model: str) -> AnswerCache:
    return AnswerCache(request.cache, model=model, engine_version=PINNED_VERSION)


def _judge_pairs(prepared: _PreparedRun, asker: Asker, meter: Meter) -> dict[Key, JudgedPair]:
    settings = prepared.judge
    engine = Engine(asker, report_type=settings.report_type, remove_normal_findings=settings.remove_normal_findings)
    return judge_pairs(
        prepared.pairs(),
        engine=engine,
        meter=meter,
        concurrency=settings.concurrency,
        max_characters=settings.max_report_characters,
    )


def _check_target(request: Request, team: TeamSubmission) -> None:
    """Nothing is overwritten unless asked; a file that this command left without aggregates may be replaced."""
    target = request.output / team.name / METRICS_FILE
    existing = next(folder for folder in target.absolute().parents if folder.exists())
    if not os.access(existing, os.W_OK):  # found out before a single answer is paid for
        raise UsageError(f"{existing} cannot be written to; give another --output.")
    if not target.exists() or request.overwrite:
        return
    with suppress(UsageError):
        existing_file = read_metrics(target)
        if "judge" in existing_file.provenance and not existing_file.aggregates["radfact_known"]:
            return
    raise UsageError(f"{target} exists; give another --output, or --overwrite.")


def _finish(
    request: Request, prepared: _PreparedRun, reports: TeamReports, judged: Mapping[Key, JudgedPair], host: str
) -> TeamVerdict:
    name, evaluation = reports.team.name, reports.evaluation
    cases = {result.case: case_figures(judged[name, result.case]) for result in evaluation.results}
    counted = list(cases.values())
    share = failure_share(counted)
    complete = share <= prepared.judge.failure_threshold
    aggregates = dict(evaluation.aggregates)
    if complete:
        aggregates |= _final_aggregates(prepared.settings, counted, captioning=aggregates["captioning"])
    rows = published_results(
        [
            _with_radfact(result, cases[result.case], keep_evidence=request.keep_evidence)
            for result in evaluation.results
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
                aggregates, evaluation.results, per_case=prepared.per_case, decimals=common.published_decimals
            ),
            "settings": {**evaluation.settings, REPORTS.name: prepared.settings.model_dump(mode="json")},
            "provenance": {"judge": provenance(prepared.settings, counted, host=host)},
            "results": rows,
        }
    )
    written = write_metrics(judged_file, request.output / name)
    doubts = count_doubts(counted)
    if complete:
        return TeamVerdict(
            team=name,
            written=written,
            score_final=aggregates["score_final"],
            lower_bound=aggregates["score_final_lower_bound"],
            doubts=doubts,
        )
    problem = OrganiserError(
        f"{share:.1%} of the verdicts on '{name}' failed, more than {prepared.judge.failure_threshold:.1%}: "
        "no aggregate was written. Run it again to ask only what failed."
    )
    return TeamVerdict(team=name, written=written, doubts=doubts, problem=problem)


def _final_aggregates(settings: ReportsSettings, cases: Sequence[CaseFigures], *, captioning: float) -> dict[str, Any]:
    radfact = radfact_aggregates(cases)
    rule, weights = settings.clinical, settings.weights
    lower = final_lower_bound(radfact, captioning=captioning, rule=rule, weights=weights)
    figures = final_figures(radfact, captioning=captioning, rule=rule, weights=weights)
    return {**figures, "score_final_lower_bound": lower}


def _with_radfact(result: CaseResult, figures: CaseFigures, *, keep_evidence: bool) -> CaseResult:
    return result.model_copy(
        update={
            "metrics": {**result.metrics, "radfact": figures.row(keep_evidence=keep_evidence)},
            "warnings": tuple(dict.fromkeys((*result.warnings, *figures.warnings()))),
        }
    )
