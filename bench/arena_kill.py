"""Kills `podium arena serve` five times within a minute while 20 raters vote, and checks every confirmed vote.

    python bench/arena_kill.py

The suite does the same within seconds (test/tools/arena/test_kill.py). It ends with an error where a confirmed vote is
lost or counts twice.
"""

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

sys.path[0] = str(Path(__file__).parents[1] / "test")  # in place of this folder, whose arena.py would be found first

from tools.arena.test_kill import vote_while_the_server_is_killed  # noqa: E402


def main() -> None:
    with TemporaryDirectory(prefix="podium-bench-", dir=Path.cwd()) as name:
        votes = vote_while_the_server_is_killed(Path(name), shortest_seconds=8, longest_seconds=16, matchups=1200)
    print(f"{votes} votes confirmed by a server that was killed five times: none lost, none twice.")


if __name__ == "__main__":
    main()
