"""Decoders that wait for the next file of their case, and end with it: what took one over reaches no other case."""

import os
import socket
from dataclasses import dataclass


@dataclass
class RunningDecoder:
    """A decoder, as its worker sees it."""

    channel: socket.socket
    leash: int
    has_read_others: bool = False
    """Whether it has read other files than the one it is asked for."""

    def end(self) -> None:
        """Whatever it is doing."""
        self.channel.close()
        os.close(self.leash)


class CaseDecoders:
    """Those of one case that wait."""

    def __init__(self) -> None:
        self._waiting: list[tuple[bytes, RunningDecoder]] = []
        self._is_over = False

    def take(self, library: bytes) -> RunningDecoder | None:
        """One that has `library` loaded."""
        for each in list(self._waiting):
            if each[0] == library:
                self._waiting.remove(each)
                return each[1]
        return None

    def keep(self, library: bytes, decoder: RunningDecoder) -> None:
        """For the next file."""
        if self._is_over:
            decoder.end()
            return
        decoder.has_read_others = True
        self._waiting.append((library, decoder))

    def end(self) -> None:
        """The case is over."""
        self._is_over = True
        for _, decoder in self._waiting:
            decoder.end()
        self._waiting.clear()
