"""Votes with 20 threads until it is killed, and says of each vote and undo that it was acknowledged, once it was.

Usage: voting_child.py ARENA TOKEN...
"""

import os
import sys
import threading
from pathlib import Path

from podium.tools.arena.desk import Desk


def vote(desk: Desk, rater: int) -> None:
    number = 0
    while (matchup := desk.current(rater)) is not None:
        number += 1
        if desk.cast(rater, matchup=matchup.key, answer="left", comment=f"number {number}") == "cast":
            os.write(1, f"cast {matchup.key}\n".encode())  # one write, so that lines of several threads stay whole
        if number % 7 == 0 and desk.undo(rater, matchup=matchup.key):
            os.write(1, f"undone {matchup.key}\n".encode())


def main() -> None:
    desk = Desk(Path(sys.argv[1]))
    cookies = [desk.enter(token) for token in sys.argv[2:]]
    visitors = [desk.visitor(cookie) for cookie in cookies if cookie is not None]
    threads = [threading.Thread(target=vote, args=(desk, each.id)) for each in visitors if each is not None]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    os.write(1, b"end\n")


main()
