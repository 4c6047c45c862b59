"""`podium judge`, `podium judge calibrate` and `podium judge compare`.

Settings of the judge come from flags first, then from PODIUM_JUDGE_* variables, then from challenge.toml.
"""

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal

from podium.cli.arguments import Count, InnerFraction, PositiveInt, WorkerOptions, argument, choice, flag, option
from podium.cli.output import console, say, table
from podium.errors import PodiumError, UsageError

SETTING_PREFIX = "PODIUM_JUDGE_"
_TEXTS = ("model", "base_url", "report_type")


@dataclass(kw_only=True)
class JudgeOptions:
    example: ClassVar = "teams/* --references ground-truth/reports --model NAME --no-remove-normal-findings"

    targets: Sequence[Path] = argument("METRICS_OR_SUBMISSION", "submissions, or their metrics.json")
    references: Path = option("DIR", "the challenge's folder, or a folder of <case>.txt")
    submissions: Path | None = option("DIR", "the submissions of the teams, as DIR/<team>")
    model: str | None = option("NAME", "the model that judges")
    base_url: str | None = option("URL", "an OpenAI-compatible server [OpenAI's own]")
    report_type: Literal["general", "toothfairy", "bite2text"] | None = choice("which prompts to use [general]")
    remove_normal_findings: bool | None = option(
        "", "judge only abnormal findings, or all; must be given here or in challenge.toml"
    )
    concurrency: int | None = option("N", "questions asked at the same time [8]")
    failure_threshold: float | None = option("SHARE", "share of failed verdicts that is tolerated [0.01]")
    output: Path = option("DIR", "where to write <team>/metrics.json", Path("judged"))
    overwrite: bool = flag("replace an existing metrics.json")
    cache: Path = option("FILE", "where answers are stored and reused", Path("judge-answers.sqlite"))
    keep_evidence: bool = flag("write findings, verdicts and evidence into the per-case results")
    per_case: Literal["full", "anonymous", "none"] | None = choice(
        "what the per-case results contain [as in challenge.toml]"
    )
    dry_run: bool = flag("only print how many calls a run would make, and their cost")


def judge(options: JudgeOptions) -> int:
    """Print one line per team; raise the first team's problem once all are done."""
    from podium.tools.judge import run

    request = run.Request(
        targets=options.targets,
        references=options.references,
        submissions=options.submissions,
        output=options.output,
        overwrite=options.overwrite,
        cache=options.cache,
        overrides=_overrides(options),
        per_case=options.per_case,
        keep_evidence=options.keep_evidence,
        api_key=os.environ.get("OPENAI_API_KEY") or None,
        executor=WorkerOptions().executor(),
    )
    if options.dry_run:
        found = run.estimate(request)
        print(
            f"About {found.calls:,} calls with {found.prompt_tokens:,} prompt and {found.answer_tokens:,} answer "
            f"tokens; {found.hits:,} answers are in the cache."
            + ("" if found.cost is None else f" The calls would cost about {found.cost:.2f}.")
        )
        return 0
    outcomes = run.judge(request)
    warning = run.order_warning(outcomes)
    if warning:
        print(warning)
    for outcome in outcomes:
        print(outcome)
    problems: list[PodiumError] = [outcome.problem for outcome in outcomes if outcome.problem is not None]
    if problems:
        raise problems[0]
    return 0


def _overrides(options: JudgeOptions) -> dict[str, Any]:
    """Settings from variables, overridden by those from flags."""
    from podium.challenges.reports.files import JudgeSettings

    chosen: dict[str, Any] = {}
    for name in (*JudgeSettings.model_fields, "remove_normal_findings"):
        variable = f"{SETTING_PREFIX}{name.upper()}"
        if text := os.environ.get(variable):
            try:
                chosen[name] = text if name in _TEXTS else json.loads(text.lower())
            except ValueError:
                raise UsageError(f"{variable} must be a number, true or false, not '{text}'.") from None
        given = getattr(options, name, None)
        if given is not None:
            chosen[name] = given
    return chosen


# `podium judge calibrate`: the judge compared with the clinicians' votes.


@dataclass(kw_only=True)
class BootstrapOptions:
    confidence: InnerFraction = option("C", "confidence level of every interval", 0.95)
    replicates: PositiveInt = option("N", "number of bootstrap replicates over cases", 1000)
    seed: Count = option("N", "random seed for the bootstrap", 0)


@dataclass(kw_only=True)
class CalibrateOptions(BootstrapOptions):
    arena: Path = option("DIR", "the arena's folder")
    judged: Path = option(
        "DIR", "what 'podium judge' wrote: DIR/<team>/metrics.json of every team of the arena, with named cases"
    )
    judged_again: Path | None = option(
        "DIR", "a second run of the judge with another --cache: how often does it prefer the same report?"
    )
    output: Path = option("FILE", "the file to write, for 'podium rank --calibration'", Path("calibration.json"))


def judge_calibrate(options: CalibrateOptions) -> int:
    from podium.tools.arena.archive import write_whole
    from podium.tools.arena.calibration import calibrate
    from podium.tools.ranking.calibration import figure_rows, team_rows
    from podium.tools.ranking.result import json_text

    found = calibrate(
        options.arena,
        options.judged,
        judged_again=options.judged_again,
        confidence=options.confidence,
        replicates=options.replicates,
        seed=options.seed,
    )
    write_whole(options.output, json_text(found, indent=2))
    confidence = f"{found.confidence * 100:g} %"
    title = f"The judge {found.judge} and {found.votes:,} votes of {found.raters} clinicians"
    _print_table(title, "Question", "Value", f"{confidence} interval", "Of", rows=figure_rows(found))
    head = ("Team", "By votes", "By the judge", "By both", "Votes", "Worth")
    _print_table("Comparisons won, of 100", *head, rows=team_rows(found))
    print(
        f"\nBrackets show {confidence} intervals. 'By both' is the prediction-powered estimate; its interval is as "
        "narrow as that of as many votes as 'Worth' says."
    )
    for note in found.notes:
        say(note)
    say(f"Written to {options.output}.")
    return 0


# `podium judge compare`: the same submissions by several judges.


@dataclass(kw_only=True)
class CompareOptions(BootstrapOptions):
    judged: Sequence[Path] = argument(
        "JUDGED", "what 'podium judge' wrote, one for every judge: its folder, or the metrics.json of one team"
    )
    output: Path | None = option("FILE", "write the comparison as JSON")


def judge_compare(options: CompareOptions) -> int:
    from podium.tools.arena.archive import write_whole
    from podium.tools.judge.compare import compare_judges

    found = compare_judges(
        options.judged, confidence=options.confidence, replicates=options.replicates, seed=options.seed
    )
    if found.warning:
        print(found.warning)
    first, *others = found.judges
    title = f"Final score (rank) by each judge, over {len(found.cases):,} cases that all of them scored"
    scores = [
        (
            team.name,
            *(f"{score:.4f} ({rank})" for score, rank in zip(team.scores, team.ranks, strict=True)),
            *map(str, team.differences),
        )
        for team in found.teams
    ]
    _print_table(title, "Team", first, *others, *(f"{name} less {first}" for name in others), rows=scores)
    taus = [(", ".join(each.judges), str(each)) for each in found.taus]
    _print_table("Agreement of the orders", "Judges", "Kendall's tau-b", rows=taus)
    print(f"\nBrackets show {found.confidence * 100:g} % intervals over cases.")
    for note in found.notes:
        say(note)
    if options.output is not None:
        write_whole(options.output, found.to_json())
        say(f"Written to {options.output}.")
    return 0


def _print_table(title: str, *headings: str, rows: Sequence[Sequence[str]]) -> None:
    """The first column is of words; an interval goes below its value."""
    folded = [[each.replace(" [", "\n[") for each in row] for row in rows]
    console().print(table(title, *headings, texts=headings[:1], rows=folded))
