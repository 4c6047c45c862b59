"""A decoder may reply with what was asked for and nothing else. Any other reply costs its file, in a clear sentence."""

import json
import math
import mmap
import os
import socket
import struct
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sandbox.hijacking import decoders_with

from podium.errors import ReaderDied, Refused
from podium.kernel import Limits
from podium.readers.decoding import decoded_by
from podium.readers.files import SafeFile
from podium.readers.hdf5 import open_hdf5
from podium.readers.images import read_image
from podium.readers.volumes import read_mask_volume, read_volume
from podium.sandbox.client import Decoders, checked_place, decoders, started
from podium.sandbox.wire import INLINE_BYTES, EndedError, Expected, ProtocolError, receive_descriptors

pytestmark = pytest.mark.slow

SHAPE = (4, 6)
LARGE = (2 * INLINE_BYTES,)
FLAT = [[1.0, 1.0], [0.0, 0.0], [1.0, 0.0, 0.0, 1.0]]
HONEST = {"value": FLAT, "array": {"shape": list(SHAPE), "dtype": "|u1"}}
VOLUME = [[1.0] * 3, [0.0] * 3, [0.0] * 9, [2, 3, 4]]
INCONSISTENT = "'a.png' could not be decoded consistently; re-save the file."


def packed(message: Any) -> bytes:
    content = json.dumps(message).encode()
    return struct.pack("!I", len(content)) + content


def announced(**changes: Any) -> bytes:
    return packed({**HONEST, "array": {**HONEST["array"], **changes}}) + bytes(24)  # type: ignore[dict-item]


def volume(shape: list[int], dtype: str, content: bytes = bytes(24)) -> bytes:
    return packed({"value": VOLUME, "array": {"shape": shape, "dtype": dtype}}) + content


def voxels(*places: int, value: Any = VOLUME) -> bytes:
    """The voxels of a mask."""
    numbers = np.array(places, "<u4")
    return packed({"value": value, "array": {"shape": [len(numbers)], "dtype": "<u4"}}) + numbers.tobytes()


def labelled_voxels(*places_and_labels: tuple[int, int]) -> bytes:
    """Voxels, each with its label."""
    numbers = np.array([place << 32 | label for place, label in places_and_labels], "<u8")
    return volume([len(numbers)], "<u8", numbers.tobytes())


def echo(channel: socket.socket, opened: Any, *_: object) -> None:
    """Reply with the bytes of the file."""
    with opened.file.open() as stream:
        channel.sendall(stream.read())


@pytest.fixture(scope="module")
def echoes() -> Iterator[Decoders]:
    """Decoders that reply with the bytes of their file: the same processes serve many lies."""
    with ExitStack() as stack:
        with decoders_with(__name__, _reply=echo):
            found = stack.enter_context(started(Limits(), libraries=("SimpleITK",)))
        yield found


@pytest.fixture
def echoing(echoes: Decoders) -> Iterator[Decoders]:
    with decoded_by(echoes):
        yield echoes


@pytest.fixture
def file(tmp_path: Path) -> SafeFile:
    (tmp_path / "a.png").touch()
    return SafeFile.inside(tmp_path, "a.png")


def replying(reply: Callable[[socket.socket], None]) -> AbstractContextManager[None]:
    return decoders_with(__name__, _reply=lambda channel, *_: reply(channel))


IMAGE = partial(read_image, shape=SHAPE)
MASK = partial(read_mask_volume, shape=(2, 3, 4))
LABELS = partial(read_volume, shape=(2, 3, 4))
LABELLED_VOXELS = partial(LABELS, as_voxels=True)


@pytest.mark.usefixtures("echoing")
def test_an_honest_reply_is_used(file: SafeFile) -> None:
    file.path.write_bytes(packed(HONEST) + bytes(range(24)))
    image = IMAGE(file)
    assert image.array.tolist() == np.arange(24).reshape(SHAPE).tolist()
    assert (image.geometry.spacing, image.geometry.origin) == ((1.0, 1.0), (0.0, 0.0))
    file.path.write_bytes(voxels(0, 23))
    assert np.flatnonzero(MASK(file).labels).tolist() == [0, 23]
    file.path.write_bytes(labelled_voxels((0, 7), (23, 300)))
    assert LABELLED_VOXELS(file).labels.reshape(-1)[[0, 1, 23]].tolist() == [7, 0, 300]


LIES: dict[str, tuple[Callable[[SafeFile], Any], bytes]] = {
    "another shape": (IMAGE, announced(shape=[6, 4])),
    "fewer axes": (IMAGE, announced(shape=[24])),
    "a negative length": (IMAGE, announced(shape=[-4, -6])),
    "a length that is no number": (IMAGE, announced(shape=[4, "6"])),
    "a length that is true": (IMAGE, announced(shape=[24, True])),
    "no shape": (IMAGE, announced(shape=None)),
    "more axes than there can be": (IMAGE, announced(shape=[1] * 4000)),
    "objects": (IMAGE, announced(dtype="|O")),
    "text": (IMAGE, announced(dtype="<U1")),
    "records": (IMAGE, announced(dtype=[["a", "<u1"]])),
    "large numbers": (IMAGE, announced(dtype="<f16")),
    "a foreign byte order": (IMAGE, announced(dtype=">u2")),
    "no array": (IMAGE, packed({"value": FLAT})),
    "no value": (IMAGE, packed({"array": HONEST["array"]})),
    "no geometry": (IMAGE, packed({**HONEST, "value": None}) + bytes(24)),
    "half a geometry": (IMAGE, packed({**HONEST, "value": FLAT[:2]}) + bytes(24)),
    "half of a place": (IMAGE, packed({**HONEST, "value": [FLAT[0], FLAT[1], []]}) + bytes(24)),
    "a geometry without end": (IMAGE, packed({**HONEST, "value": [FLAT[0], [0.0, math.inf], FLAT[2]]}) + bytes(24)),
    "a geometry of text": (IMAGE, packed({**HONEST, "value": [["a", "b"], *FLAT[1:]]}) + bytes(24)),
    "a list": (IMAGE, packed([HONEST])),
    "garbage": (IMAGE, struct.pack("!I", 8) + b"\x80\x04garbage"),
    "a pickle": (IMAGE, struct.pack("!I", 15) + b"cos\nsystem\n(S'x'"),
    "endless nesting": (IMAGE, struct.pack("!I", 200_000) + b"[" * 200_000),
    "a message of gigabytes": (IMAGE, struct.pack("!I", 2**32 - 1)),
    "2 in a mask": (MASK, volume([2, 3, 4], "|u1", bytes(23) + b"\2")),
    "labels in a mask": (MASK, labelled_voxels((0, 1), (1, 2))),
    "a voxel beyond the end": (MASK, voxels(0, 24)),
    "voxels in no order": (MASK, voxels(3, 2)),
    "a voxel twice": (MASK, voxels(3, 3)),
    "voxels of another type": (MASK, volume([2], "<f4", bytes(8))),
    "a volume of another shape": (MASK, voxels(0, value=[*VOLUME[:3], [4, 3, 2]])),
    "a volume without a shape": (MASK, voxels(0, value=VOLUME[:3])),
    "a volume of a negative shape": (MASK, voxels(0, value=[*VOLUME[:3], [2, 3, -4]])),
    "a volume without a geometry": (MASK, voxels(0, value=[None, *VOLUME[1:]])),
    "labels of another shape": (MASK, volume([4, 3, 2], "|u1")),
    "nothing": (MASK, packed({"value": None})),
    "more voxels than a file may have": (read_mask_volume, voxels(0, value=[*VOLUME[:3], [2**20] * 3])),
    "voxels that were not asked for": (LABELS, labelled_voxels((0, 1))),
    "a voxel of the background": (LABELLED_VOXELS, labelled_voxels((0, 1), (1, 0))),
    "a labelled voxel beyond the end": (LABELLED_VOXELS, labelled_voxels((0, 1), (24, 1))),
    "labelled voxels in no order": (LABELLED_VOXELS, labelled_voxels((3, 1), (2, 1))),
    "a labelled voxel twice": (LABELLED_VOXELS, labelled_voxels((3, 1), (3, 2))),
    "voxels without labels": (LABELLED_VOXELS, voxels(0, 1)),
}


@pytest.mark.usefixtures("echoing")
@pytest.mark.parametrize(("read", "lie"), LIES.values(), ids=LIES.keys())
def test_a_lie_costs_the_file(file: SafeFile, read: Callable[[SafeFile], Any], lie: bytes) -> None:
    file.path.write_bytes(lie)
    with pytest.raises(Refused) as caught:
        read(file)
    assert str(caught.value) == INCONSISTENT


@pytest.mark.usefixtures("echoing")
def test_booleans_are_true_or_false(file: SafeFile) -> None:
    message = {"value": None, "array": {"shape": [4], "dtype": "|b1"}}
    file.path.write_bytes(packed(message) + b"\0\1\2\3")
    with open_hdf5(file) as source, pytest.raises(Refused, match=INCONSISTENT):
        source.read("mask", shape=(4,))


def test_fewer_bytes_than_announced_cost_the_file(file: SafeFile) -> None:
    def cut_short(channel: socket.socket) -> None:
        channel.sendall(packed(HONEST) + bytes(23))
        os._exit(0)

    with replying(cut_short), decoders(), pytest.raises(ReaderDied):
        IMAGE(file)


def test_more_bytes_than_announced_are_not_part_of_the_next_reply(file: SafeFile, echoing: Decoders) -> None:
    expected = Expected(shape=SHAPE, max_bytes=24)
    file.path.write_bytes(packed(HONEST) + bytes(24 + 7))
    with echoing.session(file) as session:
        session.ask("image", expected=expected)
        with pytest.raises(Refused, match=INCONSISTENT):
            session.ask("image", expected=expected)
    assert IMAGE(file).array.shape == SHAPE  # another decoder's


def test_large_memory_must_be_given_up_before_it_is_used(file: SafeFile) -> None:
    """Otherwise the values could change between a check and their use."""
    kept: list[mmap.mmap] = []

    def keep(channel: socket.socket) -> None:
        channel.sendall(packed({"value": None, "array": {"shape": list(LARGE), "dtype": "|u1"}}))
        (memory,) = receive_descriptors(channel, 1)
        kept.append(mmap.mmap(memory, LARGE[0]))
        channel.sendall(packed({"written": True}))

    with replying(keep), decoders() as found:
        assert found is not None
        with found.session(file) as session, pytest.raises(Refused, match=INCONSISTENT):
            session.ask("image", expected=Expected(shape=LARGE, max_bytes=LARGE[0]))


def test_large_memory_cannot_be_resized(file: SafeFile, monkeypatch: pytest.MonkeyPatch) -> None:
    def resize(channel: socket.socket) -> None:
        channel.sendall(packed({"value": None, "array": {"shape": list(LARGE), "dtype": "|u1"}}))
        (memory,) = receive_descriptors(channel, 1)
        try:
            os.ftruncate(memory, 1)
        except OSError:
            channel.sendall(packed({"written": True}))

    monkeypatch.setattr("podium.sandbox.client.available_layers", tuple)  # the seals alone
    with replying(resize), decoders() as found:
        assert found is not None
        with found.session(file) as session:
            reply = session.ask("image", expected=Expected(shape=LARGE, max_bytes=LARGE[0]))
    assert reply.array is not None
    assert reply.array.sum() == 0


@pytest.mark.usefixtures("echoing")
def test_the_words_of_a_refusal_are_bounded_and_on_one_line(file: SafeFile) -> None:
    file.path.write_bytes(packed({"refused": "bad\nScored 300 of 300 cases.\x1b[2J" + "x" * 100_000}))
    with pytest.raises(Refused) as caught:
        IMAGE(file)
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 3000


@pytest.mark.usefixtures("echoing")
def test_a_decoder_cannot_stop_the_run_by_an_error_of_the_organiser(file: SafeFile) -> None:
    file.path.write_bytes(packed({"unexpected": "UsageError", "detail": "x"}))
    with pytest.raises(Refused, match="because of an unexpected UsageError"):
        IMAGE(file)


PLACE = {"dtype": "<f4", "chunk": [1, 3, 8], "filters": [1], "fill": "00000000"}


def test_an_honest_table_of_chunks_is_taken() -> None:
    place = checked_place(PLACE, np.array([[0, 0, 0, 100, 50, 0]]), file_bytes=1000)
    assert place.table is not None
    assert place.table.chunk == (1, 3, 8)


@pytest.mark.parametrize(
    ("place", "row"),
    [
        ({**PLACE, "chunk": [0, 3, 8]}, None),
        ({**PLACE, "chunk": [1, 3]}, None),
        ({**PLACE, "chunk": [1, 3, 2**70]}, None),
        ({**PLACE, "filters": [32000]}, None),
        ({**PLACE, "filters": None}, None),
        ({**PLACE, "fill": "00"}, None),
        ({**PLACE, "fill": "zzzzzzzz"}, None),
        ({**PLACE, "dtype": "|b1"}, None),
        ({**PLACE, "dtype": "|O"}, None),
        (PLACE, [0, 0, 0, -1, 50, 0]),
        (PLACE, [0, 0, 0, 2**62, 50, 0]),
        (PLACE, [0, 0, 0, 100, 2**62, 0]),
        (PLACE, [0, 0, 0, 100, -1, 0]),
        (PLACE, [0, 0, 0, 100]),
        ({"dtype": "<f4", "offset": -1}, None),
        ({"dtype": "<f4", "offset": 1.5}, None),
        ([], None),
    ],
)
def test_a_table_of_chunks_that_lies_is_refused(place: Any, row: list[int] | None) -> None:
    with pytest.raises(ProtocolError):
        checked_place(place, None if row is None else np.array([row], np.int64), file_bytes=1000)


def test_a_channel_that_ends_is_noticed() -> None:
    ours, theirs = socket.socketpair()
    theirs.close()
    with ours, pytest.raises(EndedError):
        receive_descriptors(ours, 1)
