"""`podium judge`, `podium judge calibrate` and `podium judge compare`.

Settings of the judge come from flags first, then from PODIUM_JUDGE_* variables, then from challenge.toml.
"""

import argparse
import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from podium.cli.arguments import (
    Group,
    Parser,
    Verbs,
    add_verb,
    chosen_executor,
    console,
    count,
    inner_share,
    positive_int,
    say,
    table,
)
from podium.errors import PodiumError, UsageError

if TYPE_CHECKING:
    from podium.tools.ranking.result import Calibration

GROUP: Group = "review"
KEY_VARIABLE = "OPENAI_API_KEY"
SETTING_PREFIX = "PODIUM_JUDGE_"
_TEXTS = ("model", "base_url", "report_type")


def add_verbs(verbs: Verbs) -> None:
    add_judge(verbs)
    add_calibrate(verbs)
    add_compare(verbs)


def add_judge(verbs: Verbs) -> None:
    parser = add_verb(verbs, "judge", _judge, "have an LLM judge add RadFact to a reports submission")
    parser.add_value("targets", "METRICS_OR_SUBMISSION", "submissions, or their metrics.json", type=Path, nargs="+")
    parser.add_value("--references", "DIR", "the challenge's folder, or a folder of <case>.txt", required=True)
    parser.add_value("--submissions", "DIR", "the submissions of the teams, as DIR/<team>")
    parser.add_value("--model", "NAME", "the model that judges")
    parser.add_value("--base-url", "URL", "an OpenAI-compatible server [OpenAI's own]")
    parser.add_value("--report-type", ("general", "toothfairy", "bite2text"), "which prompts to use [general]")
    parser.add_argument(
        "--remove-normal-findings",
        action=argparse.BooleanOptionalAction,
        help="judge only abnormal findings, or all; must be given here or in challenge.toml",
    )
    parser.add_value("--concurrency", "N", "questions asked at the same time [8]", type=int)
    parser.add_value("--failure-threshold", "SHARE", "share of failed verdicts that is tolerated [0.01]", type=float)
    parser.add_value("--output", "DIR", "where to write <team>/metrics.json", default=Path("judged"))
    parser.add_flag("--overwrite", "replace an existing metrics.json")
    parser.add_value("--cache", "FILE", "where answers are stored and reused", default=Path("judge-answers.sqlite"))
    parser.add_flag("--keep-evidence", "write findings, verdicts and evidence into the per-case results")
    parser.add_value(
        "--per-case", ("full", "anonymous", "none"), "what the per-case results contain [as in challenge.toml]"
    )
    parser.add_flag("--dry-run", "only print how many calls a run would make, and their cost")


def _judge(options: argparse.Namespace) -> int:
    """Print one line per team; raise the first team's problem once all are done."""
    from podium.tools.judge.run import Request, estimate, judge, order_warning

    request = Request(
        targets=options.targets,
        references=options.references,
        submissions=options.submissions,
        output=options.output,
        overwrite=options.overwrite,
        cache=options.cache,
        overrides=_overrides(options, os.environ),
        per_case=options.per_case,
        keep_evidence=options.keep_evidence,
        api_key=os.environ.get(KEY_VARIABLE) or None,
        executor=chosen_executor(options),
    )
    if options.dry_run:
        found = estimate(request)
        print(
            f"About {found.calls:,} calls with {found.prompt_tokens:,} prompt and {found.answer_tokens:,} answer "
            f"tokens; {found.cached:,} answers are in the cache."
            + ("" if found.cost is None else f" The calls would cost about {found.cost:.2f}.")
        )
        return 0
    outcomes = judge(request)
    warning = order_warning(outcomes)
    if warning:
        print(warning)
    for outcome in outcomes:
        print(outcome)
    problems: list[PodiumError] = [outcome.problem for outcome in outcomes if outcome.problem is not None]
    if problems:
        raise problems[0]
    return 0


def _overrides(options: argparse.Namespace, environment: Mapping[str, str]) -> dict[str, Any]:
    """Settings from variables, overridden by those from flags."""
    from podium.challenges.reports.format import JudgeSettings

    chosen: dict[str, Any] = {}
    for name in (*JudgeSettings.model_fields, "remove_normal_findings"):
        text = environment.get(f"{SETTING_PREFIX}{name.upper()}")
        if text:
            chosen[name] = text if name in _TEXTS else _value(name, text)
        flag = getattr(options, name, None)
        if flag is not None:
            chosen[name] = flag
    return chosen


def _value(name: str, text: str) -> Any:
    try:
        return json.loads(text.lower())
    except ValueError:
        raise UsageError(f"{SETTING_PREFIX}{name.upper()} must be a number, true or false, not '{text}'.") from None


# `podium judge calibrate`: the judge compared with the clinicians' votes.


def add_calibrate(verbs: Verbs) -> None:
    parser = add_verb(verbs, "judge calibrate", _calibrate, "compare the judge with the clinicians' votes")
    parser.add_value("--arena", "DIR", "the arena's folder", required=True)
    parser.add_value(
        "--judged",
        "DIR",
        "what 'podium judge' wrote: DIR/<team>/metrics.json of every team of the arena, with named cases",
        required=True,
    )
    parser.add_value(
        "--judged-again",
        "DIR",
        "a second run of the judge with another --cache: how often does it prefer the same report?",
    )
    parser.add_value(
        "--output", "FILE", "the file to write, for 'podium rank --calibration'", default=Path("calibration.json")
    )
    _add_bootstrap(parser)


def _add_bootstrap(parser: Parser) -> None:
    parser.add_value("--confidence", "C", "confidence level of every interval", type=inner_share, default=0.95)
    parser.add_value("--replicates", "N", "number of bootstrap replicates over cases", type=positive_int, default=1000)
    parser.add_value("--seed", "N", "random seed for the bootstrap", type=count, default=0)


def _calibrate(options: argparse.Namespace) -> int:
    from podium.tools.arena.archive import write_whole
    from podium.tools.arena.calibration import CalibrationOptions, calibrate
    from podium.tools.ranking.result import json_text

    found = calibrate(
        options.arena,
        options.judged,
        CalibrationOptions(
            judged_again=options.judged_again,
            confidence=options.confidence,
            replicates=options.replicates,
            seed=options.seed,
        ),
    )
    write_whole(options.output, json_text(found, indent=2))
    _print(found)
    for note in found.notes:
        say(note)
    say(f"Written to {options.output}.")
    return 0


def _print(found: "Calibration") -> None:
    from podium.tools.ranking.output import figure_rows, team_rows

    confidence = f"{found.confidence * 100:g} %"
    title = f"The judge {found.judge} and {found.votes:,} votes of {found.raters} clinicians"
    _print_table(title, "Question", "Value", f"{confidence} interval", "Of", rows=figure_rows(found))
    head = ("Team", "By votes", "By the judge", "By both", "Votes", "Worth")
    _print_table("Comparisons won, of 100", *head, rows=team_rows(found))
    print(
        f"\nBrackets show {confidence} intervals. 'By both' is the prediction-powered estimate; its interval is as "
        "narrow as that of as many votes as 'Worth' says."
    )


# `podium judge compare`: the same submissions by several judges.


def add_compare(verbs: Verbs) -> None:
    parser = add_verb(verbs, "judge compare", _compare, "compare judges that scored the same submissions")
    parser.add_value(
        "judged",
        "JUDGED",
        "what 'podium judge' wrote, one for every judge: its folder, or the metrics.json of one team",
        type=Path,
        nargs="+",
    )
    parser.add_value("--output", "FILE", "write the comparison as JSON")
    _add_bootstrap(parser)


def _compare(options: argparse.Namespace) -> int:
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
