"""Votes with 20 threads until it is killed, and says of each vote and undo that it was acknowledged, once it was.

Usage: voting_child.py ARENA TOKEN...
"""

import os
import sys
import threading
from pathlib import Path

from podium.tools.arena import voting
from podium.tools.arena.raters import find_visitor, open_session
from podium.tools.arena.store import OpenArena


def vote(opened: OpenArena, rater: int) -> None:
    number = 0
    while (matchup := voting.next_matchup(opened, rater)) is not None:
        number += 1
        if voting.cast(opened.store, rater, matchup=matchup.key, answer="left", comment=f"number {number}") == "cast":
            os.write(1, f"cast {matchup.key}\n".encode())  # one write, so that lines of several threads stay whole
        if number % 7 == 0 and voting.undo(opened.store, rater, matchup=matchup.key):
            os.write(1, f"undone {matchup.key}\n".encode())


def main() -> None:
    opened = OpenArena(Path(sys.argv[1]))
    cookies = [open_session(opened.store, token) for token in sys.argv[2:]]
    visitors = [find_visitor(opened.store, cookie) for cookie in cookies if cookie is not None]
    threads = [threading.Thread(target=vote, args=(opened, each.id)) for each in visitors if each is not None]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    os.write(1, b"end\n")


main()
