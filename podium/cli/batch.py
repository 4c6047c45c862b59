"""`podium batch`: every team of a challenge, on this machine or on a cluster, and the ranking."""

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from podium.cli.arguments import (
    BAKED_GROUND_TRUTH,
    Verbs,
    add_case_timeout,
    add_challenge,
    add_ground_truth,
    add_scheduler,
    add_verb,
    add_workers,
    chosen_challenge,
    count,
    dask_executor,
    end,
    positive_int,
)
from podium.cli.rank import rank_teams
from podium.errors import UsageError
from podium.execution.executor import ProgressFactory, available_workers, show_progress
from podium.execution.processes import Processes
from podium.storage.location import DEFAULT_CACHE, Url, location
from podium.storage.output import Output

if TYPE_CHECKING:
    from podium.batch.run import TeamOutcome
    from podium.execution.executor import Executor

_RANKING = "ranking"


def add_verbs(verbs: Verbs) -> None:
    parser = add_verb(verbs, "batch", _batch, "score the submissions of all teams, and rank them")
    parser.add_argument("submissions", type=location, metavar="SUBMISSIONS", help="a folder or one archive per team")
    parser.add_argument(
        "--output",
        type=location,
        required=True,
        metavar="DIR",
        help="where to write teams/<team>/metrics.json and ranking/; scores are kept there for the next run",
    )
    add_ground_truth(parser, kind=location)
    add_challenge(parser)
    add_workers(parser)
    add_case_timeout(parser)
    add_scheduler(parser)
    parser.add_argument(
        "--teams-per-task",
        type=positive_int,
        default=8,
        metavar="N",
        help="how many teams share one reading of a reference, and are unpacked at the same time [%(default)s]",
    )
    parser.add_argument(
        "--cache",
        type=Path,
        default=DEFAULT_CACHE,
        metavar="DIR",
        help="for copies of what is given as a URL such as s3://bucket/folder [%(default)s]",
    )
    parser.add_argument(
        "--bootstraps",
        type=count,
        default=1000,
        metavar="N",
        help="number of bootstrap replicates of the ranking, 0 for none [%(default)s]",
    )


def _batch(options: argparse.Namespace) -> int:
    from podium.batch.run import TEAMS_FOLDER, run_batch
    from podium.challenges.format import locate_ground_truth
    from podium.ranking.options import RankingOptions

    given = options.ground_truth
    outcomes = run_batch(
        submissions=options.submissions,
        output=options.output,
        ground_truth=given if isinstance(given, Url) else locate_ground_truth(given, beside=BAKED_GROUND_TRUTH),
        challenge=chosen_challenge(options),
        executor=_executor(options),
        progress=show_progress,
        teams_per_task=options.teams_per_task,
        cache=options.cache,
    )
    output = Output.at(options.output, cache=options.cache.resolve())
    _print_summary(outcomes)
    written = [output.folder / TEAMS_FOLDER / each.team for each in outcomes if each.counts is not None]
    if written:
        wanted = RankingOptions(bootstraps=options.bootstraps, workers=available_workers())
        try:
            rank_teams(written, output.folder / _RANKING, wanted)
            output.send(_RANKING)
            if output.remote is not None:
                print(f"Sent to {output.remote.url / _RANKING}.")
        except UsageError as error:  # as where reports have not been judged yet: the scores are there all the same
            print(f"There is no ranking: {error}")
    failed = [each.team for each in outcomes if each.error is not None]
    cases = sum(each.new for each in outcomes)
    done = f"{len(outcomes) - len(failed)} of {len(outcomes)} teams have scores; {cases} cases were scored in this run."
    return end(done, 1 if failed else 0)


def _executor(options: argparse.Namespace) -> "Callable[[ProgressFactory], Executor]":
    if options.scheduler is None:
        return lambda progress: Processes(
            workers=options.workers, case_timeout_seconds=options.case_timeout, progress=progress
        )
    return dask_executor(options, case_timeout_seconds=options.case_timeout)


def _print_summary(outcomes: "Sequence[TeamOutcome]") -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(title="Submissions", title_justify="left")
    table.add_column("team", overflow="fold")
    for heading in ("scored", "failed", "missing", "new"):
        table.add_column(heading, justify="right")
    table.add_column("problem", overflow="fold")
    for each in outcomes:
        counts = each.counts
        cells = ["-"] * 3 if counts is None else [str(n) for n in (counts.scored, counts.failed, counts.missing)]
        table.add_row(Text(each.team), *cells, str(each.new), Text(each.error or ""))
    Console().print(table)
