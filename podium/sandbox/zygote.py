"""The process that decoders are forked from. It has a reader package loaded, and reads no submitted file itself.

The danger: code in a submitted file that takes over a decoder finds in its memory whatever its parent had there. So the
zygote is a separate program, not a fork of the main process: nothing that the main process ever held is in its memory.
It is also small: forking copies the tables of all memory in use, which takes 10 times as long where torch is loaded.

A request is the name of a package with three descriptors: the decoder's end of its channel, the file, and the reading
end of a leash: a pipe that nobody writes to, whose other end the worker holds. When the worker closes it or dies, the
decoder is killed, whatever it is doing. A name without descriptors is advance notice: the package is loaded while the
main process still does other things.

Where memory runs out, the kernel kills decoders first: each costs at most one file. A zygote that is killed all the
same is not replaced; the next request to it ends the run.
"""

import ctypes
import fcntl
import gc
import os
import select
import signal
import socket
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import NoReturn

from podium.kernel import DECODER_OOM_SCORE, Limits, die_with, set_oom_score, unblock_signals
from podium.packages import preload_readers
from podium.sandbox.lock import OPENED, Lock
from podium.sandbox.wire import send

NO_PACKAGE = b"none"  # requests a decoder that reports its lock and reads nothing
_LONGEST_NAME = 20
_CHANNEL = _CONTROL = 3
_LOOK_AGAIN_MS = 20  # whether a killed decoder has ended
_ABOVE = 64  # descriptors are put here before they take their low numbers
_ALL_DESCRIPTORS = 1 << 20
_interpreter_calls = ctypes.PyDLL(None)  # calls that do not release the interpreter's lock


def begin(control: int, main: int, layers: Sequence[str], limits: Mapping[str, int]) -> None:
    """The whole life of a zygote, in its own process."""
    die_with(main)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    unblock_signals()
    _keep_only([control])
    gc.disable()  # a collection in a decoder would touch, and so copy, every page
    _serve(Prepared(layers, Limits(**limits)))


class Prepared:
    """What decoders share: the packages loaded so far, and their lock."""

    def __init__(self, layers: Sequence[str], limits: Limits) -> None:
        self._layers, self._limits = layers, limits
        self._loaded = {NO_PACKAGE}
        self.lock = Lock(layers, limits)

    def load(self, package: bytes) -> None:
        if package in self._loaded:
            return
        from podium.sandbox.server import rehearse

        preload_readers([package.decode("ascii")])
        rehearse(package)
        self._loaded.add(package)
        self.lock = Lock(self._layers, self._limits)  # limits are counted from what is in use
        gc.freeze()


def _serve(prepared: Prepared) -> None:
    """Serve requests until the main process and all workers have closed their end of the socket."""
    zygote = os.getpid()
    control = socket.socket(fileno=_CONTROL)
    leashes: dict[int, int] = {}  # descriptor -> the decoder that is killed when its other end is closed
    killed: set[int] = set()
    poll = select.poll()
    poll.register(_CONTROL, select.POLLIN)
    while True:
        for descriptor, _ in poll.poll(_LOOK_AGAIN_MS if killed else None):
            if descriptor != _CONTROL:
                pid = leashes.pop(descriptor)
                poll.unregister(descriptor)
                os.close(descriptor)
                os.kill(pid, signal.SIGKILL)  # not reaped yet, so the number is still its own
                killed.add(pid)
                continue
            package, descriptors, _, _ = socket.recv_fds(control, _LONGEST_NAME, 3)
            if not package:
                return
            prepared.load(package)
            if not descriptors:
                continue
            channel, file, leash = descriptors
            pid = _fork()
            if pid == 0:
                _become_decoder(package, channel, file, zygote, prepared.lock)
            os.close(channel)
            os.close(file)
            leashes[leash] = pid
            poll.register(leash, 0)  # only that the other end was closed
        killed = {pid for pid in killed if os.waitpid(pid, os.WNOHANG) == (0, 0)}


def _fork() -> int:
    """As `os.fork`, without the hooks that modules register for random numbers, logs and threads: decoders use none of
    these, and each hook would copy some 200 pages. It is safe here: this process has one thread."""
    pid = int(_interpreter_calls.fork())
    if pid < 0:
        raise OSError("no process could be forked")
    return pid


def _become_decoder(package: bytes, channel: int, file: int, zygote: int, lock: Lock) -> NoReturn:
    """Decode in a forked process, and end it without the handlers, clean-up and output that it inherited."""
    status = 1
    with suppress(BaseException):
        die_with(zygote)
        set_oom_score(DECODER_OOM_SCORE)
        _keep_only([channel, file])
        for number in OPENED[1:]:
            opened = os.open(f"/proc/self/fd/{OPENED[0]}", os.O_RDONLY | os.O_CLOEXEC)
            assert opened == number, "descriptors are numbered from the lowest free one on"
        worker = socket.socket(fileno=_CHANNEL)
        send(worker, {"locked": lock.apply(OPENED[0])})
        if package != NO_PACKAGE:
            from podium.sandbox.server import decode

            decode(worker, lock)
        status = 0
    os._exit(status)


def _keep_only(descriptors: list[int]) -> None:
    """Give `descriptors` the numbers from 3 on and close all others; the standard streams are discarded."""
    high = [fcntl.fcntl(each, fcntl.F_DUPFD, _ABOVE) for each in descriptors]
    null = os.open(os.devnull, os.O_RDWR)
    for number, descriptor in enumerate([null, null, null, *high]):
        os.dup2(descriptor, number, inheritable=False)
    os.closerange(3 + len(high), _ALL_DESCRIPTORS)
