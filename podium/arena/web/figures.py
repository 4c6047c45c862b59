"""The organiser's figures, computed in a process of their own: a thousand bootstraps must not keep a rater waiting."""

import asyncio
import os
import signal
import threading
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from multiprocessing import get_context, parent_process

from podium.arena.raters.rater_figures import RaterFigures, rater_figures
from podium.arena.ratings.ballots import Ballot
from podium.arena.ratings.result import ArenaResult, arena_result
from podium.arena.settings import ArenaSettings


@dataclass(frozen=True, kw_only=True)
class OrganiserFigures:
    """`result` is what arena.json would say now."""

    result: ArenaResult
    raters: tuple[RaterFigures, ...]


def compute(
    ballots: Sequence[Ballot], closed: bool, methods: Sequence[str], settings: ArenaSettings, notes: Sequence[str]
) -> OrganiserFigures:
    return OrganiserFigures(
        result=arena_result(ballots, methods, settings, notes=notes, by="elo-averaged", closed=closed),
        raters=rater_figures(ballots, methods),
    )


class FiguresBeside:
    """A process that computes the figures, one request at a time; they are kept until something changes."""

    def __init__(self, methods: Sequence[str], settings: ArenaSettings, notes: Sequence[str]) -> None:
        self._given = methods, settings, notes
        self._process: ProcessPoolExecutor | None = None
        self._turn = asyncio.Lock()
        self._known: tuple[int, OrganiserFigures] | None = None

    async def of(self, ballots: Sequence[Ballot], *, change: int, closed: bool) -> OrganiserFigures:
        """`change` is the number of the last change of the arena when the ballots were read, or before."""
        async with self._turn:
            if self._known is None or self._known[0] != change:
                self._known = change, await self._compute(ballots, closed)
            return self._known[1]

    def start(self) -> ProcessPoolExecutor:
        """Begin the process, unless it runs: it takes longer to start than to compute."""
        if self._process is None:
            self._process = ProcessPoolExecutor(1, mp_context=get_context("spawn"), initializer=_stand_back)
            self._process.submit(int)  # the first work starts the process
        return self._process

    async def _compute(self, ballots: Sequence[Ballot], closed: bool) -> OrganiserFigures:
        try:
            return await asyncio.get_running_loop().run_in_executor(
                self.start(), compute, ballots, closed, *self._given
            )
        except BrokenProcessPool:
            self._process = None  # it was killed; the next request starts another
            raise

    def close(self) -> None:
        if self._process is not None:
            self._process.shutdown(cancel_futures=True)


def _end_with_the_server() -> None:
    """A server that was killed could not tell this process to end."""
    server = parent_process()
    assert server is not None
    server.join()
    os._exit(1)


def _stand_back() -> None:
    """Raters come first; Ctrl-C is handled by the server, which ends this process."""
    os.nice(10)
    threading.Thread(target=_end_with_the_server, daemon=True).start()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
