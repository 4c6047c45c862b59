"""What the commands of `podium arena` share."""

import argparse
import sys
from pathlib import Path

from podium.readers.files import escape_for_display

_LONGEST_SENTENCE = 1000


def add_known_folder(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "folder", type=Path, nargs="?", default=Path(), metavar="DIR", help="the arena's folder [the working folder]"
    )


def say(sentence: str) -> None:
    """Names of teams and cases come from others' files, so a line is kept to what can be printed."""
    print(escape_for_display(" ".join(sentence.split()), longest=_LONGEST_SENTENCE), file=sys.stderr, flush=True)
