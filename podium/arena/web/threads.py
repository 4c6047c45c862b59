"""The desk's calls block; they are made in a few threads that live as long as the server."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

DeskReply = TypeVar("DeskReply")


class DeskThreads:
    """The store keeps one connection per thread, so short-lived threads would leave more and more connections open."""

    def __init__(self, threads: int = 16) -> None:
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix="desk")

    async def ask(self, question: Callable[[], DeskReply]) -> DeskReply:
        return await asyncio.get_running_loop().run_in_executor(self._threads, question)

    def close(self) -> None:
        """Wait for what was begun: a vote is either on disk or was not answered."""
        self._threads.shutdown(wait=True)
