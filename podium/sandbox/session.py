"""A worker's side of one submitted file: a decoder, asked and not believed."""

import math
import os
import socket
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from threading import Lock
from typing import Any

from numpy.typing import NDArray

from podium.errors import MachineError, ReaderDied, Refused
from podium.readers.files import SafeFile, escape_for_display
from podium.sandbox.lock import OPENED
from podium.sandbox.wire import (
    INLINE_BYTES,
    EndedError,
    Expected,
    ProtocolError,
    SharedArray,
    receive,
    receive_small_array,
    send,
)

# Decoders that wait for the next file of their case, and end with it: what took one over reaches no other case.


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


_TRIES = 2  # memory may have run out because of another case
_LONGEST_SENTENCE = 2000
_LONGEST_DETAIL = 4000
_NAME_OF_A_FAULT = 60


@dataclass(frozen=True)
class Answer:
    """A JSON value that still has to be checked, and an array that was, where one was asked for."""

    value: Any
    array: NDArray[Any] | None = None


class Session:
    """Asks for what is in `file`. A decoder that dies is replaced once; whatever else goes wrong costs the file.

    With `case` the decoder may have read other files of the same case, and may read more of them.
    """

    def __init__(
        self,
        controls: Sequence[socket.socket],
        library: bytes,
        file: SafeFile,
        *,
        layers: Sequence[str],
        case: CaseDecoders | None = None,
    ) -> None:
        self.file = file
        self._case = case
        self._layers = layers  # without which no file is read
        self._library = library
        self._controls = controls  # of the zygotes that can start a decoder, the best one first
        self._decoder: RunningDecoder | None = None
        self._is_asking = False
        self._one_at_a_time = Lock()  # threads of one case share the decoder

    def __enter__(self) -> "Session":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Ends the decoder, whatever it is doing; one that waits is kept for the next file of the case."""
        decoder, self._decoder = self._decoder, None
        if decoder is None:
            return
        if self._case is not None and not self._is_asking:
            self._case.keep(self._library, decoder)
        else:
            decoder.end()

    def ask(self, reader: str, *, expected: Expected | None = None, **options: Any) -> Answer:
        """What `reader` finds; with `expected` an array may come with it. Refused where there is no usable answer."""
        with self._one_at_a_time:
            tries = 0
            while tries < _TRIES:
                self._is_asking = True
                try:
                    if self._decoder is None:
                        self._take_waiting()
                    answer = self._ask(reader, expected, options)
                    self._is_asking = False
                    return answer
                except EndedError:
                    if self._decoder is None or not self._decoder.has_read_others:  # these may be the cause
                        tries += 1
                    self.close()
                except ProtocolError as lie:
                    self.close()
                    raise self.refusal(f"the decoder sent {lie}") from None
        raise ReaderDied(
            f"Reading '{self.file.name}' ended its process {_TRIES} times, by a crash or because memory ran out."
        )

    def _take_waiting(self) -> None:
        """Hand the file to a decoder that waits for it, where there is one."""
        waiting = self._case.take(self._library) if self._case is not None else None
        if waiting is None:
            return
        self._decoder = waiting
        with ExitStack() as stack:
            descriptors = [stack.enter_context(self.file.open()).fileno() for _ in OPENED]
            send(waiting.channel, {"next": True})
            send(waiting.channel, {}, descriptors=descriptors)

    def refusal(self, detail: str) -> Refused:
        """For an answer that cannot be true."""
        return Refused(
            f"Reading '{self.file.name}' gave an answer that contradicts itself; save the file again.", detail=detail
        )

    def _ask(self, reader: str, expected: Expected | None, options: dict[str, Any]) -> Answer:
        if self._decoder is None and self.start() != self._layers:
            raise EndedError
        assert self._decoder is not None
        channel = self._decoder.channel
        request = {"reader": reader, "root": str(self.file.root), "name": self.file.name, "options": options}
        send(channel, request)
        answer = receive(channel)
        self._raise_fault(answer)
        if "value" not in answer:
            raise ProtocolError("an answer without a value")
        if "array" not in answer:
            return Answer(answer["value"])
        if expected is None:
            raise ProtocolError("an array that nobody asked for")
        shape, dtype = expected.check(answer["array"])
        if math.prod(shape) * dtype.itemsize <= INLINE_BYTES:
            return Answer(answer["value"], receive_small_array(channel, shape, dtype))
        shared = SharedArray(shape, dtype)
        try:
            send(channel, {}, descriptors=[shared.descriptor])
            if receive(channel) != {"written": True}:
                raise ProtocolError("something else than that the array is written")
            return Answer(answer["value"], shared.sealed())
        finally:
            shared.close()

    def _raise_fault(self, answer: dict[str, Any]) -> None:
        """What the decoder says went wrong. The words are as hostile as the file: one line, bounded, printable."""
        self._is_asking = not answer.keys() & {"refused", "memory", "unexpected"}  # after one of these it waits
        if "refused" in answer:
            raise Refused(escape_for_display(str(answer["refused"]), longest=_LONGEST_SENTENCE))
        if "memory" in answer:
            raise MemoryError
        if "unexpected" in answer:
            kind = escape_for_display(str(answer["unexpected"]), longest=_NAME_OF_A_FAULT)
            raise Refused(
                f"'{self.file.name}' could not be read because of an unexpected {kind}.",
                detail=escape_for_display(str(answer.get("detail")), longest=_LONGEST_DETAIL),
            )

    def start(self) -> Sequence[str]:
        """Start a decoder; the layers of its lock, which it is in before it is told anything."""
        with self.file.open() as stream:
            ours, theirs = socket.socketpair()
            reading, leash = os.pipe()
            self._decoder = RunningDecoder(ours, leash)
            try:
                self._request([theirs.fileno(), stream.fileno(), reading])
            finally:
                theirs.close()
                os.close(reading)
        locked = receive(ours).get("locked")
        return locked if isinstance(locked, list) else ()

    def _request(self, descriptors: Sequence[int]) -> None:
        for control in self._controls:
            with suppress(OSError):  # this zygote and its spares were killed at the same time
                socket.send_fds(control, [self._library], descriptors)
                return
        raise MachineError("The processes that read submitted files were killed, perhaps because memory ran out.")
