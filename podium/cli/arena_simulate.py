"""The command `podium arena simulate`: how well the stop rule works when the true order is known."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from podium.cli.arguments import Verbs, add_verb, add_workers, count, positive_int

if TYPE_CHECKING:
    from podium.arena.simulation import Played, Scenario, SimulationSummary

_GAPS = (25.0, 50.0, 100.0, 200.0)


def add_simulate(verbs: Verbs) -> None:
    parser = add_verb(
        verbs, "simulate", _simulate, "simulate arenas with known strengths to see how well the stop rule works"
    )
    parser.add_argument(
        "--gap",
        dest="gaps",
        type=_positive,
        action="append",
        metavar="POINTS",
        help="points between neighbouring teams, 400 being odds of 10 to 1; repeat for more rows [25, 50, 100, 200]",
    )
    parser.add_argument("--teams", type=_teams, default=7, metavar="N", help="[%(default)s]")
    parser.add_argument("--raters", type=positive_int, default=10, metavar="N", help="[%(default)s]")
    parser.add_argument("--cases", type=positive_int, default=40, metavar="N", help="[%(default)s]")
    parser.add_argument(
        "--ties", type=_share, default=0.2, metavar="SHARE", help="share of ties among the votes [%(default)s]"
    )
    parser.add_argument(
        "--case-spread",
        type=_not_negative,
        default=100.0,
        metavar="POINTS",
        help="standard deviation of a team's strength from case to case [%(default)g]",
    )
    parser.add_argument("--arena", type=Path, metavar="DIR", help="use the settings of this arena [the published ones]")
    parser.add_argument("--runs", type=positive_int, default=200, metavar="N", help="arenas per row [%(default)s]")
    parser.add_argument("--seed", type=count, default=0, metavar="N", help="random seed [%(default)s]")
    add_workers(parser)


def _simulate(options: argparse.Namespace) -> int:
    from podium.arena.settings import ArenaSettings, read_settings
    from podium.arena.simulation import Scenario, summarise

    settings = read_settings(options.arena) if options.arena else ArenaSettings()
    scenarios = [
        Scenario(
            gap_points=gap,
            teams=options.teams,
            raters=options.raters,
            cases=options.cases,
            tie_share=options.ties,
            case_spread_points=options.case_spread,
            settings=settings,
        )
        for gap in options.gaps or _GAPS
    ]
    played = _play_all(scenarios, runs=options.runs, seed=options.seed, workers=options.workers)
    summaries = [
        summarise(scenario.gap_points, played[row * options.runs : (row + 1) * options.runs])
        for row, scenario in enumerate(scenarios)
    ]
    _print_table(summaries)
    arenas = f"{len(played)} arenas of {options.teams} teams, {options.raters} raters and {options.cases} cases"
    print(f"Played {arenas}; seed {options.seed}.", file=sys.stderr)
    return 0


def _play_all(scenarios: Sequence["Scenario"], *, runs: int, seed: int, workers: int) -> list["Played"]:
    """Every scenario `runs` times, in that order; which process plays which makes no difference."""
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context

    from podium.arena.simulation import play
    from podium.execution.executor import show_progress

    every = [scenario for scenario in scenarios for _ in range(runs)]
    seeds = [(seed, run) for _ in scenarios for run in range(runs)]
    progress = show_progress("arenas", len(every))
    played = []
    with ProcessPoolExecutor(workers, mp_context=get_context("fork")) as pool:
        for one in pool.map(play, every, seeds):
            played.append(one)
            progress.advance()
    progress.close()
    return played


def _print_table(summaries: Sequence["SimulationSummary"]) -> None:
    """As Markdown, which people can read too."""
    columns = (
        *("gap", "best is first", "by Elo", "by Bradley-Terry", "best has rank 1", "best in first group"),
        *("votes: median", "90 %", "budget ended it", "never ended", "Kendall's tau"),
    )
    print(f"| {' | '.join(columns)} |")
    print(f"|{'---|' * len(columns)}")
    for row in summaries:
        shown = (
            f"{row.gap_points:g}",
            *(f"{row.first[by]:.0%}" for by in ("elo-averaged", "elo", "bradley-terry")),
            f"{row.with_rank_1:.0%} (of {row.mean_teams_of_rank_1:.1f})",
            f"{row.in_first_group:.0%} (of {row.mean_first_group:.1f})",
            *(f"{row.median_votes:.0f}", f"{row.votes_90:.0f}", f"{row.ended_by_budget:.0%}", f"{row.unfinished:.0%}"),
            f"{row.mean_tau:.2f}",
        )
        print(f"| {' | '.join(shown)} |")


def _teams(text: str) -> int:
    value = int(text)
    if value < 2:
        raise argparse.ArgumentTypeError(f"{text} is less than two teams")
    return value


def _positive(text: str) -> float:
    value = float(text)
    if not 0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"{text} is not a positive number")
    return value


def _not_negative(text: str) -> float:
    value = float(text)
    if not 0 <= value < float("inf"):
        raise argparse.ArgumentTypeError(f"{text} is not a number from 0 on")
    return value


def _share(text: str) -> float:
    value = float(text)
    if not 0 <= value < 1:
        raise argparse.ArgumentTypeError(f"{text} does not lie between 0 and 1")
    return value
