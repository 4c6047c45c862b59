"""Loads `podium arena serve`: 20 voters at once, each reading the page and voting as fast as the server answers.

    python bench/arena.py [--voters 20] [--matchups 300] [--rate VOTES_A_SECOND]

With --rate they vote at that rate, all together: the time of a page then shows how much capacity is left.
The server is a process of its own on a loopback port, the database on this machine's disk. Both share the cores.
"""

import argparse
import asyncio
import random
import re
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import urlencode

import numpy as np
from rich import box
from rich.console import Console
from rich.table import Table

from podium.tools.arena.raters import invite, invite_organiser
from podium.tools.arena.settings import ArenaSettings, write_settings
from podium.tools.arena.store import OpenArena, read_ballots, write_contents

METHODS = [f"team-{number}" for number in range(7)]
CASES = [f"case-{number:03d}" for number in range(100)]
REPORT = "The condyles are symmetric with preserved cortical outline. " * 30


@dataclass
class Times:
    """Seconds from the first byte sent to the last received, by what was asked."""

    of: dict[str, list[float]] = field(default_factory=dict)

    def add(self, name: str, seconds: float) -> None:
        self.of.setdefault(name, []).append(seconds)


class Voter:
    """One connection that is kept open, as a browser does."""

    def __init__(self, port: int, times: Times) -> None:
        self._port = port
        self._times = times
        self._cookie = ""

    async def come_in(self, token: str) -> None:
        self._reader, self._writer = await asyncio.open_connection("127.0.0.1", self._port)
        head, _ = await self._ask("enter", f"GET /enter/{token} HTTP/1.1")
        self._cookie = re.search(r"set-cookie: (arena_[0-9a-f]+=[^;]+)", head)[1]  # type: ignore[index]

    async def vote_to_the_end(self, *, pause: float) -> int:
        """`pause` is from one vote to the next, in seconds; who is late does not wait."""
        votes, due = 0, time.perf_counter() + pause * random.random()
        while True:
            await asyncio.sleep(max(0, due - time.perf_counter()))
            due += pause
            _, page = await self._ask("page", "GET / HTTP/1.1")
            form = re.search(
                r'action="/vote">.*?name="csrf" value="(\w+)".*?name="matchup" value="(\w+)"', page, re.DOTALL
            )
            if form is None:
                return votes
            body = urlencode({"csrf": form[1], "matchup": form[2], "answer": ("left", "right", "both-good")[votes % 3]})
            head, _ = await self._ask("vote", "POST /vote HTTP/1.1", body)
            assert head.startswith("HTTP/1.1 303"), head
            votes += 1

    async def watch(self, path: str, done: asyncio.Event) -> None:
        while not done.is_set():
            await self._ask(path, f"GET {path} HTTP/1.1")

    async def leave(self) -> None:
        self._writer.close()
        await self._writer.wait_closed()

    async def _ask(self, name: str, line: str, body: str = "") -> tuple[str, str]:
        kind = "Content-Type: application/x-www-form-urlencoded\r\n" if body else ""
        asked = (
            f"{line}\r\nHost: localhost\r\nCookie: {self._cookie}\r\n{kind}Content-Length: {len(body)}\r\n\r\n{body}"
        )
        start = time.perf_counter()
        self._writer.write(asked.encode())
        head = (await self._reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        length = re.search(r"content-length: (\d+)", head)
        content = await self._reader.readexactly(int(length[1]) if length else 0)
        self._times.add(name, time.perf_counter() - start)
        return head, content.decode()


async def load(port: int, tokens: list[str], organiser: str, *, rate: float | None) -> tuple[Times, int, float]:
    times, done = Times(), asyncio.Event()
    voters = [Voter(port, times) for _ in tokens]
    watcher = Voter(port, times)
    for voter, token in zip([*voters, watcher], [*tokens, organiser], strict=True):
        await voter.come_in(token)
    watching = asyncio.create_task(watcher.watch("/organiser", done))
    pause = len(voters) / rate if rate else 0
    start = time.perf_counter()
    votes = sum(await asyncio.gather(*(voter.vote_to_the_end(pause=pause) for voter in voters)))
    seconds = time.perf_counter() - start
    done.set()
    await watching
    for voter in (*voters, watcher):
        await voter.leave()
    return times, votes, seconds


def loaded(*, voters: int, matchups: int, rate: float | None) -> tuple[Times, int, float]:
    """A new arena and its server, loaded until every voter has no matchup left."""
    with TemporaryDirectory(prefix="podium-bench-", dir=Path.cwd()) as name:
        folder = Path(name)
        settings = ArenaSettings(matchups_per_rater=matchups, practice_matchups=0, votes_per_minute=1_000_000)
        write_settings(folder, settings)
        reports = {method: dict.fromkeys(CASES, REPORT) for method in METHODS}
        write_contents(folder, METHODS, {case: [] for case in CASES}, reports)
        opened = OpenArena(folder)
        tokens = [invite(opened.store, settings, f"voter {number}").token for number in range(voters)]
        organiser = invite_organiser(opened.store, settings).token
        command = [sys.executable, "-m", "podium", "arena", "serve", str(folder), "--port", "0"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
            assert server.stdout is not None
            port = int(re.search(r"127\.0\.0\.1:(\d+)", server.stdout.readline())[1])  # type: ignore[index]
            try:
                times, votes, seconds = asyncio.run(load(port, tokens, organiser, rate=rate))
            finally:
                server.terminate()
        assert len(read_ballots(opened.store)) == votes
        opened.close()
    return times, votes, seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--voters", type=int, default=20)
    parser.add_argument("--matchups", type=int, default=300)
    parser.add_argument("--rate", type=float, help="votes per second [as fast as the server answers]")
    options = parser.parse_args()
    times, votes, seconds = loaded(voters=options.voters, matchups=options.matchups, rate=options.rate)
    Console().print(table(times, votes, seconds, options.voters))


def table(times: Times, votes: int, seconds: float, voters: int) -> Table:
    title = f"{voters} voters, {votes} votes in {seconds:.1f} s: {votes / seconds:.0f} votes/s, an organiser watching"
    made = Table(title=title, box=box.SIMPLE_HEAD)
    for column in ("asked", "times", "median ms", "95 % ms", "99 % ms", "slowest ms"):
        made.add_column(column, justify="right")
    for name, taken in times.of.items():
        quantiles = 1000 * np.quantile(taken, [0.5, 0.95, 0.99, 1])
        made.add_row(name, str(len(taken)), *(f"{value:.1f}" for value in quantiles))
    return made


if __name__ == "__main__":
    main()
