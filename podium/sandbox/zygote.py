"""The process that decoders are forked from. It reads no submitted file itself.

It is a separate program, not a fork of the main process: nothing that the main process ever held is in its memory,
and it is small. Forking copies the tables of all memory in use, which takes 10 times as long where torch is loaded.

A request is the name of a library with three descriptors: the decoder's end of its channel, the file, and the reading
end of a leash: a pipe that nobody writes to, whose other end the worker holds. When the worker closes it or dies, the
decoder is killed, whatever it is doing. A name without descriptors is advance notice: the library is loaded while the
main process still does other things.

A zygote may be killed, as where memory runs out. So it has spares: processes forked from it, which wait for a lock that
the kernel takes from the zygote when it ends. One of them takes its place at the same socket, and has spares in turn.
"""

import ctypes
import fcntl
import gc
import os
import select
import signal
import socket
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import NoReturn

from podium.errors import preload_readers
from podium.kernel import Limits, die_with, set_oom_score, unblock_signals
from podium.sandbox.lock import OPENED, Lock
from podium.sandbox.wire import send

NO_LIBRARY = b"none"
"""Requests a decoder that reports its lock and reads nothing."""

_LONGEST_NAME = 20
_CHANNEL = _CONTROL = 3
_TURN, _LIFE = 4, 5
_SPARES = 2  # one alone may be killed before it has a spare
_FIRST_KILLED = 1000  # where memory runs out
_LOOK_AGAIN_MS = 20  # whether what was killed has ended
_ABOVE = 64  # descriptors are put here before they take their low numbers
_ALL_DESCRIPTORS = 1 << 20
_interpreter_calls = ctypes.PyDLL(None)  # calls that do not release the interpreter's lock


def begin(control: int, main: int, layers: Sequence[str], limits: Mapping[str, int]) -> None:
    """The whole life of a zygote, in its own process."""
    die_with(main)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    unblock_signals()
    _keep_only([control, os.memfd_create("turn")])
    fcntl.lockf(_TURN, fcntl.LOCK_EX)  # a process that is forked does not have the lock of its parent
    set_oom_score(_FIRST_KILLED)
    gc.disable()  # a collection in a decoder would touch, and so copy, every page
    _serve(Prepared(layers, Limits(**limits)))


class Prepared:
    """What decoders share: the libraries loaded so far, and their lock."""

    def __init__(self, layers: Sequence[str], limits: Limits) -> None:
        self._layers, self._limits = layers, limits
        self._loaded = {NO_LIBRARY}
        self.lock = Lock(layers, limits)

    def load(self, library: bytes) -> None:
        if library in self._loaded:
            return
        from podium.sandbox.decoder import rehearse

        preload_readers([library.decode("ascii")])
        rehearse(library)
        self._loaded.add(library)
        self.lock = Lock(self._layers, self._limits)  # limits are counted from what is in use
        gc.freeze()


def _serve(prepared: Prepared) -> None:
    """Serve requests until the main process and all workers have closed their end of the socket."""
    zygote = os.getpid()
    control = socket.socket(fileno=_CONTROL)
    spares: dict[int, int] = {}  # descriptor -> the process at its other end
    leashes: dict[int, int] = {}  # the same for decoders
    ending: set[int] = set()
    poll = select.poll()
    poll.register(_CONTROL, select.POLLIN)
    while True:
        while len(spares) < _SPARES and not _is_over():
            descriptor, pid = _start_spare(prepared)
            spares[descriptor] = pid
            poll.register(descriptor, 0)  # only that the other end was closed
        for descriptor, _ in poll.poll(_LOOK_AGAIN_MS if ending else None):
            if descriptor in spares:
                poll.unregister(descriptor)
                os.close(descriptor)
                os.waitpid(spares.pop(descriptor), 0)
                continue
            if descriptor != _CONTROL:
                pid = leashes.pop(descriptor)
                poll.unregister(descriptor)
                os.close(descriptor)
                os.kill(pid, signal.SIGKILL)  # not reaped yet, so the number is still its own
                ending.add(pid)
                continue
            library, descriptors, _, _ = socket.recv_fds(control, _LONGEST_NAME, 3)
            if not library:
                return
            prepared.load(library)
            if not descriptors:
                continue
            channel, file, leash = descriptors
            pid = _fork()
            if pid == 0:
                _run_and_exit(partial(_become_decoder, library, channel, file, zygote, prepared.lock))
            os.close(channel)
            os.close(file)
            leashes[leash] = pid
            poll.register(leash, 0)
        ending = {pid for pid in ending if os.waitpid(pid, os.WNOHANG) == (0, 0)}


def _fork() -> int:
    """As `os.fork`, without the hooks that modules register for random numbers, logs and threads: decoders use none of
    these, and each hook would copy some 200 pages. It is safe here: this process has one thread."""
    pid = int(_interpreter_calls.fork())
    if pid < 0:
        raise OSError("no process could be forked")
    return pid


def _is_over() -> bool:
    """Whether all others have closed their end of the socket."""
    poll = select.poll()
    poll.register(_CONTROL, select.POLLRDHUP)
    return bool(poll.poll(0))


def _start_spare(prepared: Prepared) -> tuple[int, int]:
    """A process that waits to take this one's place: a descriptor whose other end it holds, and its number."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        _run_and_exit(partial(_stand_by, writing, prepared))
    os.close(writing)
    return reading, pid


def _stand_by(life: int, prepared: Prepared) -> None:
    _keep_only([_CONTROL, _TURN, life])
    fcntl.lockf(_TURN, fcntl.LOCK_EX)
    os.close(_LIFE)
    _serve(prepared)


def _become_decoder(library: bytes, channel: int, file: int, zygote: int, lock: Lock) -> None:
    die_with(zygote)
    _keep_only([channel, file])
    for number in OPENED[1:]:
        opened = os.open(f"/proc/self/fd/{OPENED[0]}", os.O_RDONLY | os.O_CLOEXEC)
        assert opened == number, "descriptors are numbered from the lowest free one on"
    worker = socket.socket(fileno=_CHANNEL)
    send(worker, {"locked": lock.put_in_force(OPENED[0])})
    if library != NO_LIBRARY:
        from podium.sandbox.decoder import decode

        decode(worker, lock)


def _keep_only(descriptors: list[int]) -> None:
    """Give `descriptors` the numbers from 3 on and close all others; the standard streams lead nowhere."""
    high = [fcntl.fcntl(each, fcntl.F_DUPFD, _ABOVE) for each in descriptors]
    nowhere = os.open(os.devnull, os.O_RDWR)
    for number, descriptor in enumerate([nowhere, nowhere, nowhere, *high]):
        os.dup2(descriptor, number, inheritable=False)
    os.closerange(3 + len(high), _ALL_DESCRIPTORS)


def _run_and_exit(work: Callable[[], None]) -> NoReturn:
    """Run `work` in a forked process, and end it without the handlers, clean-up and output that it inherited."""
    status = 1
    with suppress(BaseException):
        work()
        status = 0
    os._exit(status)
