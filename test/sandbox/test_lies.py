"""What a decoder may answer: only what was asked for. Anything else costs its file, in a clear sentence."""

import json
import mmap
import os
import socket
import struct
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import SimpleITK as sitk
from sandbox.hijacking import decoders_with

from podium.errors import Refused
from podium.kernel import Limits
from podium.readers.files import SafeFile, decoded_by
from podium.readers.hdf5 import open_hdf5
from podium.readers.images import read_image
from podium.readers.volumes import read_label_volume, read_mask_volume
from podium.sandbox.decoders import Decoders, checked_place, decoders, started
from podium.sandbox.wire import INLINE_BYTES, EndedError, Expected, ProtocolError, receive_descriptors

SHAPE = (4, 6)
LARGE = (2 * INLINE_BYTES,)
FLAT = [[1.0, 1.0], [0.0, 0.0], [1.0, 0.0, 0.0, 1.0]]
HONEST = {"value": FLAT, "array": {"shape": list(SHAPE), "dtype": "|u1"}}
CONTRADICTS = "gave an answer that contradicts itself"


def packed(message: Any) -> bytes:
    content = json.dumps(message).encode()
    return struct.pack("!I", len(content)) + content


def announced(**changes: Any) -> bytes:
    return packed({**HONEST, "array": {**HONEST["array"], **changes}}) + bytes(24)  # type: ignore[dict-item]


@pytest.fixture
def file(tmp_path: Path) -> SafeFile:
    sitk.WriteImage(sitk.GetImageFromArray(np.arange(24, dtype=np.uint8).reshape(SHAPE)), tmp_path / "a.png")
    return SafeFile.inside(tmp_path, "a.png")


def answering(answer: Callable[[socket.socket], None]) -> AbstractContextManager[None]:
    return decoders_with(__name__, _answer=lambda channel, *_: answer(channel))


def echo(channel: socket.socket, opened: Any, *_: object) -> None:
    """Answers with what is in the file."""
    with opened.file.open() as stream:
        channel.sendall(stream.read())


@pytest.fixture(scope="module")
def echoes() -> Iterator[Decoders]:
    """Decoders whose answer is the content of their file: the same processes for many lies."""
    with ExitStack() as stack:
        with decoders_with(__name__, _answer=echo):
            found = stack.enter_context(started(Limits(), libraries=("SimpleITK",)))
        yield found


@pytest.fixture
def echoing(echoes: Decoders) -> Iterator[None]:
    with decoded_by(echoes):
        yield


def test_the_truth_is_believed(file: SafeFile) -> None:
    with answering(lambda channel: channel.sendall(packed(HONEST) + bytes(range(24)))), decoders():
        image = read_image(file, shape=SHAPE)
    assert image.array.tolist() == np.arange(24).reshape(SHAPE).tolist()
    assert (image.spacing, image.origin) == ((1.0, 1.0), (0.0, 0.0))


@pytest.mark.usefixtures("echoing")
@pytest.mark.parametrize(
    "lie",
    {
        "another shape": announced(shape=[6, 4]),
        "fewer axes": announced(shape=[24]),
        "a negative length": announced(shape=[-4, -6]),
        "a length that is no number": announced(shape=[4, "6"]),
        "a length that is true": announced(shape=[24, True]),
        "no shape": announced(shape=None),
        "more axes than there can be": announced(shape=[1] * 4000),
        "objects": announced(dtype="|O"),
        "text": announced(dtype="<U1"),
        "records": announced(dtype=[["a", "<u1"]]),
        "large numbers": announced(dtype="<f16"),
        "a foreign byte order": announced(dtype=">u2"),
        "no array": packed({"value": FLAT}),
        "no value": packed({"array": HONEST["array"]}),
        "no geometry": packed({**HONEST, "value": None}) + bytes(24),
        "half a geometry": packed({**HONEST, "value": FLAT[:2]}) + bytes(24),
        "a geometry of text": packed({**HONEST, "value": [["a", "b"], *FLAT[1:]]}) + bytes(24),
        "a list": packed([HONEST]),
        "garbage": struct.pack("!I", 8) + b"\x80\x04garbage",
        "a pickle": struct.pack("!I", 15) + b"cos\nsystem\n(S'x'",
        "endless nesting": struct.pack("!I", 200_000) + b"[" * 200_000,
        "a message of gigabytes": struct.pack("!I", 2**32 - 1),
    }.items(),
    ids=lambda lie: lie[0],
)
def test_a_lie_costs_the_file(file: SafeFile, lie: tuple[str, bytes]) -> None:
    file.path.write_bytes(lie[1])
    with pytest.raises(Refused, match=CONTRADICTS) as caught:
        read_image(file, shape=SHAPE)
    assert str(caught.value).startswith("Reading 'a.png'")


def test_fewer_bytes_than_announced_cost_the_file(file: SafeFile) -> None:
    def cut_short(channel: socket.socket) -> None:
        channel.sendall(packed(HONEST) + bytes(23))
        os._exit(0)

    with answering(cut_short), decoders(), pytest.raises(Refused, match="ended its process 2 times"):
        read_image(file, shape=SHAPE)


def test_more_bytes_than_announced_are_not_part_of_the_next_answer(file: SafeFile) -> None:
    expected = Expected(shape=SHAPE, max_bytes=24)
    with answering(lambda channel: channel.sendall(packed(HONEST) + bytes(24 + 7))), decoders() as found:
        assert found is not None
        with found.session(file) as session:
            session.ask("image", expected=expected)
            with pytest.raises(Refused, match=CONTRADICTS):
                session.ask("image", expected=expected)
        assert read_image(file, shape=SHAPE).array.shape == SHAPE  # another decoder's


def test_large_memory_must_be_given_up_before_it_is_used(file: SafeFile) -> None:
    """Otherwise the values could change between a check and their use."""
    kept: list[mmap.mmap] = []

    def keep(channel: socket.socket) -> None:
        channel.sendall(packed({"value": None, "array": {"shape": list(LARGE), "dtype": "|u1"}}))
        (memory,) = receive_descriptors(channel, 1)
        kept.append(mmap.mmap(memory, LARGE[0]))
        channel.sendall(packed({"written": True}))

    with answering(keep), decoders() as found:
        assert found is not None
        with found.session(file) as session, pytest.raises(Refused, match=CONTRADICTS):
            session.ask("image", expected=Expected(shape=LARGE, max_bytes=LARGE[0]))


def test_large_memory_cannot_be_resized(file: SafeFile, monkeypatch: pytest.MonkeyPatch) -> None:
    def resize(channel: socket.socket) -> None:
        channel.sendall(packed({"value": None, "array": {"shape": list(LARGE), "dtype": "|u1"}}))
        (memory,) = receive_descriptors(channel, 1)
        try:
            os.ftruncate(memory, 1)
        except OSError:
            channel.sendall(packed({"written": True}))

    monkeypatch.setattr("podium.sandbox.decoders.available_layers", tuple)  # the seals alone
    with answering(resize), decoders() as found:
        assert found is not None
        with found.session(file) as session:
            answer = session.ask("image", expected=Expected(shape=LARGE, max_bytes=LARGE[0]))
    assert answer.array is not None
    assert answer.array.sum() == 0


def test_the_words_of_a_refusal_are_bounded_and_on_one_line(file: SafeFile) -> None:
    forged = {"refused": "bad\nScored 300 of 300 cases.\x1b[2J" + "x" * 100_000}
    with answering(lambda channel: channel.sendall(packed(forged))), decoders(), pytest.raises(Refused) as caught:
        read_image(file, shape=SHAPE)
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 3000


def test_a_decoder_cannot_stop_the_run_by_an_error_of_the_organiser(file: SafeFile) -> None:
    forged = {"unexpected": "UsageError", "detail": "x"}
    with (
        answering(lambda channel: channel.sendall(packed(forged))),
        decoders(),
        pytest.raises(Refused, match="because of an unexpected UsageError"),
    ):
        read_image(file, shape=SHAPE)


VOLUME = [[1.0] * 3, [0.0] * 3, [0.0] * 9, [2, 3, 4]]


def voxels(*places: int, value: Any = VOLUME) -> bytes:
    """An answer of the voxels of a mask."""
    numbers = np.array(places, "<u4")
    return packed({"value": value, "array": {"shape": [len(numbers)], "dtype": "<u4"}}) + numbers.tobytes()


def labelled_voxels(*places_and_labels: tuple[int, int]) -> bytes:
    """An answer of voxels, each with its label."""
    numbers = np.array([place << 32 | label for place, label in places_and_labels], "<u8")
    return packed({"value": VOLUME, "array": {"shape": [len(numbers)], "dtype": "<u8"}}) + numbers.tobytes()


@pytest.fixture
def volume_file(tmp_path: Path) -> SafeFile:
    (tmp_path / "a.mha").touch()
    return SafeFile.inside(tmp_path, "a.mha")


def test_honest_voxels_are_taken(volume_file: SafeFile) -> None:
    with answering(lambda channel: channel.sendall(voxels(0, 23))), decoders():
        found = read_mask_volume(volume_file, shape=(2, 3, 4)).labels
    assert np.flatnonzero(found).tolist() == [0, 23]
    with answering(lambda channel: channel.sendall(labelled_voxels((0, 7), (23, 300)))), decoders():
        found = read_label_volume(volume_file, shape=(2, 3, 4), as_voxels=True).labels
    assert found.reshape(-1)[[0, 1, 23]].tolist() == [7, 0, 300]


@pytest.mark.usefixtures("echoing")
@pytest.mark.parametrize(
    "lie",
    {
        "2 in a mask": packed({"value": VOLUME, "array": {"shape": [2, 3, 4], "dtype": "|u1"}}) + bytes(23) + b"\2",
        "labels in a mask": labelled_voxels((0, 1), (1, 2)),
        "a voxel beyond the end": voxels(0, 24),
        "voxels in no order": voxels(3, 2),
        "a voxel twice": voxels(3, 3),
        "voxels of another type": packed({"value": VOLUME, "array": {"shape": [2], "dtype": "<f4"}}) + bytes(8),
        "another shape": voxels(0, value=[*VOLUME[:3], [4, 3, 2]]),
        "no shape": voxels(0, value=VOLUME[:3]),
        "a shape that is none": voxels(0, value=[*VOLUME[:3], [2, 3, -4]]),
        "no geometry": voxels(0, value=[None, *VOLUME[1:]]),
        "labels of another shape": packed({"value": VOLUME, "array": {"shape": [4, 3, 2], "dtype": "|u1"}}) + bytes(24),
        "nothing": packed({"value": None}),
    }.items(),
    ids=lambda lie: lie[0],
)
def test_a_lie_about_a_volume_costs_the_file(volume_file: SafeFile, lie: tuple[str, bytes]) -> None:
    volume_file.path.write_bytes(lie[1])
    with pytest.raises(Refused, match=CONTRADICTS):
        read_mask_volume(volume_file, shape=(2, 3, 4))


@pytest.mark.usefixtures("echoing")
@pytest.mark.parametrize(
    "lie",
    {
        "a voxel of the background": labelled_voxels((0, 1), (1, 0)),
        "a voxel beyond the end": labelled_voxels((0, 1), (24, 1)),
        "voxels in no order": labelled_voxels((3, 1), (2, 1)),
        "a voxel twice": labelled_voxels((3, 1), (3, 2)),
        "no labels": voxels(0, 1),
    }.items(),
    ids=lambda lie: lie[0],
)
def test_a_lie_about_labelled_voxels_costs_the_file(volume_file: SafeFile, lie: tuple[str, bytes]) -> None:
    volume_file.path.write_bytes(lie[1])
    with pytest.raises(Refused, match=CONTRADICTS):
        read_label_volume(volume_file, shape=(2, 3, 4), as_voxels=True)


def test_voxels_are_an_answer_only_where_they_were_asked_for(volume_file: SafeFile) -> None:
    with (
        answering(lambda channel: channel.sendall(labelled_voxels((0, 1)))),
        decoders(),
        pytest.raises(Refused, match=CONTRADICTS),
    ):
        read_label_volume(volume_file, shape=(2, 3, 4))


def test_more_places_than_a_file_may_have_cost_the_file(volume_file: SafeFile) -> None:
    with (
        answering(lambda channel: channel.sendall(voxels(0, value=[*VOLUME[:3], [2**20] * 3]))),
        decoders(),
        pytest.raises(Refused, match=CONTRADICTS),
    ):
        read_mask_volume(volume_file)


def test_booleans_are_true_or_false(tmp_path: Path) -> None:
    (tmp_path / "a.h5").touch()
    message = {"value": None, "array": {"shape": [4], "dtype": "|b1"}}
    with (
        answering(lambda channel: channel.sendall(packed(message) + b"\0\1\2\3")),
        decoders(),
        open_hdf5(SafeFile.inside(tmp_path, "a.h5")) as source,
        pytest.raises(Refused, match=CONTRADICTS),
    ):
        source.read("mask", shape=(4,))


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
