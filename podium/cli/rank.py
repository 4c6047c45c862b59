"""`podium rank`: the ranking of a challenge."""

import argparse
from pathlib import Path

from podium.cli.arguments import Verbs, add_verb, count
from podium.execution.cores import available_workers

_SCHEMES = {
    "official": "the challenge's own rule",
    "aggregate-then-rank": "by a statistic over cases (--statistic)",
    "rank-then-aggregate": "by a statistic over the ranks in every case (--statistic)",
    "test-then-rank": "by significant wins in paired tests (--holm)",
    "platform": "as the live leaderboard ranks (--platform-method)",
}


def add_verbs(verbs: Verbs) -> None:
    parser = add_verb(verbs, "rank", _rank, "rank the teams of a challenge and say how sure the ranking is")
    parser.add_argument(
        "paths",
        type=Path,
        nargs="+",
        metavar="TEAM",
        help="a team's folder or metrics.json, or a folder of teams or <team>.json",
    )
    parser.add_argument(
        "--output",
        type=Path,
        default=Path("ranking"),
        metavar="DIR",
        help="where to write ranking.json and ranking.csv; one folder per regime where regimes are separate [ranking]",
    )
    parser.add_argument(
        "--scheme",
        choices=list(_SCHEMES),
        default="official",
        help="how to rank: " + "; ".join(f"{name}: {words}" for name, words in _SCHEMES.items()),
    )
    parser.add_argument(
        "--statistic",
        choices=("mean", "median", "quantile"),
        help="with aggregate-then-rank or rank-then-aggregate [mean]",
    )
    parser.add_argument(
        "--quantile",
        type=_share,
        metavar="Q",
        help="with --statistic quantile: which quantile, from the worse end [0.05]",
    )
    parser.add_argument(
        "--holm", action="store_true", help="with test-then-rank: adjust p values over all ordered pairs"
    )
    parser.add_argument(
        "--platform-method",
        choices=("absolute", "mean", "median"),
        help="with the scheme platform [as in the challenge's phase settings]",
    )
    parser.add_argument(
        "--metric",
        dest="metrics",
        action="append",
        default=[],
        metavar="NAME",
        help="a per-case metric for the general schemes; may be repeated [those the challenge declares]",
    )
    parser.add_argument("--arena", type=Path, metavar="FILE", help="the arena's ratings, which order the finalists")
    parser.add_argument(
        "--bootstraps",
        type=count,
        default=1000,
        metavar="N",
        help="number of bootstrap replicates over cases, 0 for none [%(default)s]",
    )
    parser.add_argument(
        "--seed", type=count, default=0, metavar="N", help="random seed for the bootstrap [%(default)s]"
    )


def _rank(options: argparse.Namespace) -> int:
    from rich.console import Console

    from podium.ranking.documents import read_cohorts
    from podium.ranking.options import RankingOptions
    from podium.ranking.output import print_ranking, write_ranking
    from podium.ranking.rank import rank
    from podium.report.page import write_page
    from podium.report.ranking_report import REPORT_FILE, ranking_report

    wanted = RankingOptions(
        scheme=_scheme(options),
        metrics=tuple(dict.fromkeys(options.metrics)),
        bootstraps=options.bootstraps,
        seed=options.seed,
        quantile=options.quantile if options.quantile is not None else RankingOptions.quantile,
        platform_method=options.platform_method,
        arena=options.arena,
        workers=available_workers(),
    )
    cohorts = read_cohorts(options.paths)
    for cohort in cohorts:
        ranking = rank(cohort, wanted)
        folder = options.output if len(cohorts) == 1 else options.output.joinpath(*cohort.division.values())
        write_ranking(ranking, folder)
        write_page(ranking_report(ranking), folder / REPORT_FILE)
        console = Console()
        print_ranking(ranking, console)
        console.print(f"Written to {folder}.", highlight=False, markup=False)
    return 0


def _scheme(options: argparse.Namespace) -> str:
    """The scheme's full name. An option that the scheme does not use is an error."""
    from podium.errors import UsageError

    readers = {
        "statistic": ("aggregate-then-rank", "rank-then-aggregate"),
        "holm": ("test-then-rank",),
        "platform_method": ("platform",),
        "arena": ("official",),
    }
    for option, schemes in readers.items():
        if getattr(options, option) and options.scheme not in schemes:
            raise UsageError(f"--{option.replace('_', '-')} belongs to --scheme {' or '.join(schemes)}.")
    if options.quantile is not None and options.statistic != "quantile":
        raise UsageError("--quantile belongs to --statistic quantile.")
    statistic = options.statistic or "mean"
    match options.scheme:
        case "aggregate-then-rank":
            return f"{statistic}-then-rank"
        case "rank-then-aggregate":
            if statistic == "quantile":
                raise UsageError("--scheme rank-then-aggregate takes --statistic mean or median.")
            return f"rank-then-{statistic}"
        case "test-then-rank":
            return "test-then-rank-holm" if options.holm else "test-then-rank"
    return str(options.scheme)


def _share(text: str) -> float:
    value = float(text)
    if not 0 <= value <= 1:
        raise argparse.ArgumentTypeError(f"{text} does not lie between 0 and 1")
    return value
