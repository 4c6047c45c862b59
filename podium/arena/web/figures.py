"""The organiser's figures, computed beside the server: a thousand bootstraps must not keep a voter waiting."""

import asyncio
import os
import signal
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from multiprocessing import get_context
from typing import Generic, TypeVar

from podium.arena.ballots import Ballot
from podium.arena.rater_figures import RaterFigures, rater_figures
from podium.arena.settings import ArenaSettings
from podium.arena.standing import Standing, standing
from podium.arena.stop_rule import StopRule, stop_rule

Answer = TypeVar("Answer")


@dataclass(frozen=True, kw_only=True)
class Figures:
    standing: Standing
    stop_rule: StopRule
    raters: tuple[RaterFigures, ...]


def compute(ballots: Sequence[Ballot], methods: Sequence[str], settings: ArenaSettings) -> Figures:
    reached = standing(ballots, methods, settings)
    return Figures(
        standing=reached, stop_rule=stop_rule(ballots, reached, settings), raters=rater_figures(ballots, methods)
    )


class Beside(Generic[Answer]):
    """One process that computes one thing at a time and remembers its last answer."""

    def __init__(self) -> None:
        self._process: ProcessPoolExecutor | None = None
        self._turn = asyncio.Lock()
        self._known: tuple[int, Answer] | None = None

    async def answer(self, change: int, question: Callable[..., Answer], *given: object) -> Answer:
        """`change` tells whether the answer is still the last one."""
        async with self._turn:
            if self._known is None or self._known[0] != change:
                self._known = change, await self._compute(question, *given)
            return self._known[1]

    async def _compute(self, question: Callable[..., Answer], *given: object) -> Answer:
        if self._process is None:
            self._process = ProcessPoolExecutor(1, mp_context=get_context("spawn"), initializer=_stand_back)
        try:
            return await asyncio.get_running_loop().run_in_executor(self._process, question, *given)
        except BrokenProcessPool:
            self._process = None  # somebody ended it; the next one to ask gets another
            raise

    def close(self) -> None:
        if self._process is not None:
            self._process.shutdown(wait=False, cancel_futures=True)


def _stand_back() -> None:
    """Voters first; and Ctrl-C is for the server, which ends us."""
    os.nice(10)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
