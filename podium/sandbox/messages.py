"""Short JSON messages between processes that do not trust each other. No object is ever unpickled.

Apart from arrays (`wire.py`): a zygote that was not asked for anything yet has no NumPy loaded.
"""

import json
import socket
import struct
from collections.abc import Sequence
from typing import Any

LONGEST_MESSAGE_BYTES = 4 * 1024 * 1024

_LENGTH = struct.Struct("!I")


class EndedError(Exception):
    """The other side has ended."""


class LyingError(Exception):
    """What came back is not what was asked for."""


def send(channel: socket.socket, message: dict[str, Any], *, descriptors: Sequence[int] = ()) -> None:
    """One message, with descriptors that the other side may use from then on."""
    content = json.dumps(message).encode()
    try:
        if not descriptors:
            channel.sendall(_LENGTH.pack(len(content)) + content)
        else:
            socket.send_fds(channel, [_LENGTH.pack(len(content))], descriptors)
            channel.sendall(content)
    except OSError as fault:
        raise EndedError from fault


def receive(channel: socket.socket) -> dict[str, Any]:
    """The next message. Descriptors that come with it are closed by the kernel."""
    (length,) = _LENGTH.unpack(_exactly(channel, _LENGTH.size))
    return _message(channel, length)


def receive_descriptors(channel: socket.socket, count: int) -> Sequence[int]:
    """The `count` descriptors that come with the next message, which says nothing else."""
    start, descriptors, _, _ = socket.recv_fds(channel, _LENGTH.size, count)
    if len(start) < _LENGTH.size or len(descriptors) != count:
        raise EndedError
    _message(channel, _LENGTH.unpack(start)[0])
    return descriptors


def _message(channel: socket.socket, length: int) -> dict[str, Any]:
    if length > LONGEST_MESSAGE_BYTES:
        raise LyingError(f"a message of {length:,} bytes")
    content = _exactly(channel, length)
    try:
        message = json.loads(content)
    except (ValueError, RecursionError):
        raise LyingError("a message that is not JSON") from None
    if not isinstance(message, dict):
        raise LyingError("a message that is no object")
    return message


def _exactly(channel: socket.socket, count: int) -> bytes:
    content = bytearray()
    while len(content) < count:
        try:
            part = channel.recv(count - len(content))
        except OSError as fault:
            raise EndedError from fault
        if not part:
            raise EndedError
        content += part
    return bytes(content)
