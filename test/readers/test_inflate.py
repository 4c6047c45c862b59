"""Compressed streams: what comes out is the content, block by block, or the stream is refused."""

import io
import subprocess
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from properties import examples

from podium.readers.inflate import BLOCK, GZIP, RAW, ZLIB, BadStreamError, inflate, unpacked

READERS = Path(__file__).resolve().parent
WRAPPINGS = pytest.mark.parametrize("wrapping", [GZIP, ZLIB, RAW])
contents = st.one_of(
    st.binary(max_size=300),
    st.builds(lambda piece, times: piece * times, st.binary(min_size=1, max_size=40), st.integers(1, 3000)),
)


def deflated(content: bytes, wrapping: int, *, level: int = 6) -> bytes:
    machine = zlib.compressobj(level, zlib.DEFLATED, wrapping)
    return machine.compress(content) + machine.flush()


def blocks_of(stream: bytes, wrapping: int, piece: int) -> Iterator[bytes]:
    if wrapping == GZIP:
        return unpacked(io.BufferedReader(io.BytesIO(stream)))  # type: ignore[arg-type]
    return inflate([stream[start : start + piece] for start in range(0, len(stream), piece)], wrapping=wrapping)


def outcome(stream: bytes, wrapping: int, piece: int = BLOCK) -> bytes | str:
    blocks = []
    try:
        for block in blocks_of(stream, wrapping, piece):
            assert 0 < len(block) <= BLOCK
            blocks.append(block)
    except BadStreamError as fault:
        return str(fault)
    return b"".join(blocks)


@WRAPPINGS
@examples(40)
@given(
    content=contents, level=st.sampled_from([0, 1, 9]), piece=st.sampled_from([1, 7, 100, BLOCK]), cut=st.floats(0, 1)
)
def test_whole_and_cut_streams(content: bytes, wrapping: int, level: int, piece: int, cut: float) -> None:
    stream = deflated(content, wrapping, level=level)
    shorter = stream[: int(cut * len(stream))]
    assert outcome(stream, wrapping, piece) == content
    if len(shorter) < len(stream):
        assert outcome(shorter, wrapping, piece) == "ends too early"


@pytest.mark.parametrize("wrapping", [GZIP, ZLIB])  # raw streams have no checksum of their own: zip has it
@examples(60)
@given(
    content=contents,
    flips=st.lists(st.tuples(st.floats(0, 1, exclude_max=True), st.integers(0, 7)), min_size=1, max_size=3),
)
def test_flipped_bits(content: bytes, wrapping: int, flips: list[tuple[float, int]]) -> None:
    """Bits that do not matter, of a time for example, may be flipped."""
    stream = bytearray(deflated(content, wrapping))
    for place, bit in flips:
        stream[int(place * len(stream))] ^= 1 << bit
    assert outcome(bytes(stream), wrapping) in (content, "is corrupt", "ends too early")


@pytest.mark.parametrize("padding", [b"", bytes(3)])
def test_gzip_members_in_a_row(padding: bytes) -> None:
    contents = [b"abc", b"", bytes(3_000_000), b"x" * 70_000]
    stream = padding.join(deflated(content, GZIP) for content in contents)
    assert outcome(stream + padding, GZIP) == b"".join(contents)
    assert outcome(stream + padding + b"x", GZIP) in ("is corrupt", "ends too early")


def test_gzip_and_zlib_are_recognised_by_their_first_bytes() -> None:
    for wrapping in (GZIP, ZLIB):
        assert outcome(deflated(b"abc", wrapping), GZIP) == b"abc"


@WRAPPINGS
def test_a_bomb_comes_out_in_blocks(wrapping: int) -> None:
    """20 MB from 20 KB: the caller sees one block after the other and may stop."""
    blocks = blocks_of(deflated(bytes(20_000_000), wrapping), wrapping, BLOCK)
    assert len(next(blocks)) == BLOCK
    assert sum(len(block) for block in blocks) == 20_000_000 - BLOCK


@pytest.mark.slow
def test_the_readers_without_isal() -> None:
    """Every reader of compressed files, bombs included, where only zlib is installed."""
    files = ["archives", "nifti", "metaimage", "frames", "arrays", "hdf5", "volumes"]
    compressed = "bomb or gzip or compress or chunk or unpack or damaged or truncated or refused_in_words or tiles"
    program = "import sys; sys.modules['isal'] = None; import pytest; sys.exit(pytest.main(sys.argv[1:]))"
    tests = [str(READERS / f"test_{name}.py") for name in files]
    words = [sys.executable, "-c", program, "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "-k", compressed, *tests]
    done = subprocess.run(words, cwd=READERS.parent.parent, capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == 0, done.stdout[-3000:]
