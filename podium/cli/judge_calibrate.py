"""`podium judge calibrate`: the judge held to the clinicians' votes."""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from podium.cli.arena_words import say
from podium.cli.arguments import Verbs, add_verb, count, positive_int
from podium.cli.rank_values import inner_share

if TYPE_CHECKING:
    from podium.ranking.calibration import Calibration


def add_verbs(verbs: Verbs) -> None:
    parser = add_verb(
        verbs, "judge calibrate", _calibrate, "compare the judge with the clinicians' votes, and estimate by both"
    )
    parser.add_argument("--arena", type=Path, required=True, metavar="DIR", help="the arena's folder")
    parser.add_argument(
        "--judged",
        type=Path,
        required=True,
        metavar="DIR",
        help="what 'podium judge' wrote: DIR/<team>/metrics.json of every team of the arena, with named cases",
    )
    parser.add_argument(
        "--judged-again",
        type=Path,
        metavar="DIR",
        help="a second run of the judge with another --cache: how often does it prefer the same report?",
    )
    parser.add_argument(
        "--output",
        type=Path,
        default=Path("calibration.json"),
        metavar="FILE",
        help="for 'podium rank --calibration' [%(default)s]",
    )
    parser.add_argument(
        "--confidence", type=inner_share, default=0.95, metavar="C", help="of every interval [%(default)s]"
    )
    parser.add_argument(
        "--replicates",
        type=positive_int,
        default=1000,
        metavar="N",
        help="number of bootstrap replicates over cases, for agreement and biases [%(default)s]",
    )
    parser.add_argument(
        "--seed", type=count, default=0, metavar="N", help="random seed for the bootstrap [%(default)s]"
    )


def _calibrate(options: argparse.Namespace) -> int:
    from podium.arena.calibration.calibrating import CalibrationOptions, calibrate
    from podium.arena.store.whole_file import write_whole
    from podium.ranking.calibration import calibration_to_json

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
    write_whole(options.output, calibration_to_json(found))
    _print(found)
    for note in found.notes:
        say(note)
    say(f"Written to {options.output}.")
    return 0


def _print(found: "Calibration") -> None:
    from rich.console import Console

    from podium.ranking.calibration_words import figure_rows, team_rows

    console = Console()
    confidence = f"{found.confidence * 100:g} %"
    title = f"The judge {found.judge} and {found.votes:,} votes of {found.raters} clinicians"
    _table(console, title, ("", "Value", f"{confidence} interval", "Of"), figure_rows(found))
    _table(
        console,
        "Comparisons won, of 100",
        ("Team", "By votes", "By the judge", "By both", "Votes", "Worth"),
        team_rows(found),
    )
    console.print(
        f"In brackets: {confidence} intervals. 'By both' is the prediction-powered estimate; its interval is as "
        "narrow as that of as many votes as 'Worth' says.",
        highlight=False,
    )


def _table(console: object, title: str, head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    from rich import box
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    from podium.readers.files import escape_for_display

    assert isinstance(console, Console)
    table = Table(title=escape(escape_for_display(title)), title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
    for number, heading in enumerate(head):
        table.add_column(heading, justify="right" if number else "left", overflow="fold")
    for row in rows:
        table.add_row(*(escape(escape_for_display(cell)).replace(" [", "\n[") for cell in row))
    console.print(table)
