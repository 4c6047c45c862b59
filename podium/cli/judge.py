"""`podium judge` on the command line: flags before PODIUM_JUDGE_* variables before challenge.toml."""

import argparse
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from podium.cli.arguments import Verbs, add_verb, chosen_executor
from podium.errors import PodiumError, UsageError

KEY_VARIABLE = "OPENAI_API_KEY"
SETTING_PREFIX = "PODIUM_JUDGE_"
_TEXTS = ("model", "base_url", "report_type")


def add_verbs(verbs: Verbs) -> None:
    parser = add_verb(verbs, "judge", _judge, "have an LLM judge add RadFact to a reports submission")
    parser.add_argument(
        "targets", type=Path, nargs="+", metavar="METRICS_OR_SUBMISSION", help="submissions, or their metrics.json"
    )
    parser.add_argument(
        "--references",
        type=Path,
        required=True,
        metavar="DIR",
        help="the challenge's folder, or a folder of <case>.txt",
    )
    parser.add_argument(
        "--submissions",
        type=Path,
        metavar="DIR",
        help="the submissions of the teams, as DIR/<team>",
    )
    parser.add_argument("--model", metavar="NAME", help="the model that judges")
    parser.add_argument("--base-url", metavar="URL", help="an OpenAI-compatible server [OpenAI's own]")
    parser.add_argument(
        "--report-type", choices=("general", "toothfairy", "bite2text"), help="which prompts to use [general]"
    )
    parser.add_argument(
        "--remove-normal-findings", action="store_const", const=True, help="judge only abnormal findings"
    )
    parser.add_argument("--concurrency", type=int, metavar="N", help="questions asked at the same time [8]")
    parser.add_argument(
        "--failure-threshold", type=float, metavar="SHARE", help="share of failed verdicts that is tolerated [0.01]"
    )
    parser.add_argument(
        "--output", type=Path, default=Path("judged"), metavar="DIR", help="where to write <team>/metrics.json [judged]"
    )
    parser.add_argument("--overwrite", action="store_true", help="replace an existing metrics.json")
    parser.add_argument(
        "--cache",
        type=Path,
        default=Path("judge-answers.sqlite"),
        metavar="FILE",
        help="where answers are stored and reused [%(default)s]",
    )
    parser.add_argument(
        "--keep-evidence", action="store_true", help="write findings, verdicts and evidence into the per-case results"
    )
    parser.add_argument(
        "--per-case",
        choices=("full", "anonymous", "none"),
        help="what the per-case results contain [as in challenge.toml]",
    )
    parser.add_argument(
        "--dry-run", action="store_true", help="only print how many calls a run would make, and their cost"
    )


def _judge(options: argparse.Namespace) -> int:
    """Print one line per team; raise the first team's problem once all are done."""
    from podium.challenges.reports.judge.outcome import order_warning
    from podium.challenges.reports.judge.run import Request, estimate, judge

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
    """Settings from variables, and over them those from flags."""
    from podium.challenges.reports.format import JudgeSettings

    chosen: dict[str, Any] = {}
    for name in JudgeSettings.model_fields:
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
