"""The process that decoders are forked from. It is started before any reference is read and reads no file itself.

A request is one byte with three descriptors: the decoder's end of its channel, the file, and the reading end of a
leash: a pipe that nobody writes to, whose other end the worker holds. When the worker closes it or dies, the decoder is
killed, whatever it is doing.

A zygote that is killed, as where memory runs out, cannot be started again: by then the main process has read
references. So it has spares: processes forked from it, which wait for a lock that the kernel takes from the zygote when
it ends. One of them takes its place at the same socket, and has spares in turn.
"""

import fcntl
import gc
import os
import select
import signal
import socket
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import NoReturn

from podium.forking import heed_requests, requests_held_back
from podium.sandbox.decoder import decode
from podium.sandbox.limits import Limits, die_with, offer_to_the_out_of_memory_killer
from podium.sandbox.lock import Lock
from podium.sandbox.paths import OPENED

_CHANNEL = _CONTROL = 3
_TURN, _LIFE = 4, 5
_SPARES = 2  # one alone may be killed before it has a spare
_FIRST_KILLED = 1000  # where memory runs out
_LOOK_AGAIN_MS = 20  # whether what was killed has ended
_ABOVE = 64  # descriptors are put here before they take their low numbers
_ALL_DESCRIPTORS = 1 << 20


def start_zygote(layers: list[str], limits: Limits) -> tuple[int, socket.socket]:
    """Fork the zygote from this process; its process id and the socket for requests."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    main = os.getpid()
    with requests_held_back():
        pid = os.fork()
        if pid == 0:
            _in_a_process_of_its_own(partial(_begin, theirs.fileno(), main, layers, limits))
    theirs.close()
    return pid, ours


def _begin(control_descriptor: int, main: int, layers: list[str], limits: Limits) -> None:
    die_with(main)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    heed_requests()
    _keep_only([control_descriptor, os.memfd_create("turn")])
    fcntl.lockf(_TURN, fcntl.LOCK_EX)  # a process that is forked does not have the lock of its parent
    offer_to_the_out_of_memory_killer(_FIRST_KILLED)
    lock = Lock(layers, limits)
    gc.collect()
    gc.disable()  # a collection in a decoder would touch, and so copy, every page
    gc.freeze()
    _serve(lock)


def _serve(lock: Lock) -> None:
    """Until the main process and all workers have closed their end of the socket."""
    zygote = os.getpid()
    control = socket.socket(fileno=_CONTROL)
    spares: dict[int, int] = {}  # descriptor -> the process at its other end
    leashes: dict[int, int] = {}  # the same for decoders
    ending: set[int] = set()
    poll = select.poll()
    poll.register(_CONTROL, select.POLLIN)
    while True:
        while len(spares) < _SPARES and not _is_over():
            descriptor, pid = _start_spare(lock)
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
            request, descriptors, _, _ = socket.recv_fds(control, 1, 3)
            if not request:
                return
            channel, file, leash = descriptors
            pid = os.fork()
            if pid == 0:
                _in_a_process_of_its_own(partial(_become_decoder, channel, file, zygote, lock))
            os.close(channel)
            os.close(file)
            leashes[leash] = pid
            poll.register(leash, 0)
        ending = {pid for pid in ending if os.waitpid(pid, os.WNOHANG) == (0, 0)}


def _is_over() -> bool:
    """Whether all others have closed their end of the socket."""
    poll = select.poll()
    poll.register(_CONTROL, select.POLLRDHUP)
    return bool(poll.poll(0))


def _start_spare(lock: Lock) -> tuple[int, int]:
    """A process that waits to take this one's place: a descriptor whose other end it holds, and its number."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        _in_a_process_of_its_own(partial(_stand_by, writing, lock))
    os.close(writing)
    return reading, pid


def _stand_by(life: int, lock: Lock) -> None:
    _keep_only([_CONTROL, _TURN, life])
    fcntl.lockf(_TURN, fcntl.LOCK_EX)
    os.close(_LIFE)
    _serve(lock)


def _become_decoder(channel: int, file: int, zygote: int, lock: Lock) -> None:
    _keep_only([channel, file])
    for number in OPENED[1:]:
        opened = os.open(f"/proc/self/fd/{OPENED[0]}", os.O_RDONLY | os.O_CLOEXEC)
        assert opened == number, "descriptors are numbered from the lowest free one on"
    decode(socket.socket(fileno=_CHANNEL), zygote=zygote, lock=lock)


def _keep_only(descriptors: list[int]) -> None:
    """Give `descriptors` the numbers from 3 on and close all others; the standard streams lead nowhere."""
    high = [fcntl.fcntl(each, fcntl.F_DUPFD, _ABOVE) for each in descriptors]
    nowhere = os.open(os.devnull, os.O_RDWR)
    for number, descriptor in enumerate([nowhere, nowhere, nowhere, *high]):
        os.dup2(descriptor, number, inheritable=False)
    os.closerange(3 + len(high), _ALL_DESCRIPTORS)


def _in_a_process_of_its_own(work: Callable[[], None]) -> NoReturn:
    """Nothing of the process this one was forked from goes on: no handler, no clean-up, no output."""
    status = 1
    with suppress(BaseException):
        work()
        status = 0
    os._exit(status)
