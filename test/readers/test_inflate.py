"""ISA-L against zlib, stream by stream: what passes is the content, with either of them."""

import subprocess
import sys
import zlib
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from properties import examples

from podium.readers.inflate import (
    BLOCK,
    GZIP,
    ISAL_LIBRARY,
    RAW,
    ZLIB,
    ZLIB_LIBRARY,
    ZLIB_OR_GZIP,
    BadStreamError,
    Library,
    inflate,
)

READERS = Path(__file__).resolve().parent
BOTH = pytest.mark.parametrize("library", [ZLIB_LIBRARY, ISAL_LIBRARY], ids=["zlib", "isal"])
WRAPPINGS = pytest.mark.parametrize("wrapping", [GZIP, ZLIB, RAW, ZLIB_OR_GZIP])
contents = st.one_of(
    st.binary(max_size=300),
    st.builds(lambda piece, times: piece * times, st.binary(min_size=1, max_size=40), st.integers(1, 3000)),
)


def deflated(content: bytes, wrapping: int, *, level: int = 6) -> bytes:
    machine = zlib.compressobj(level, zlib.DEFLATED, GZIP if wrapping == ZLIB_OR_GZIP else wrapping)
    return machine.compress(content) + machine.flush()


def unpacked(stream: bytes, wrapping: int, library: Library | None, *, piece: int = BLOCK) -> bytes:
    assert library is not None
    blocks = []
    pieces = [stream[start : start + piece] for start in range(0, len(stream), piece)]
    for block in inflate(pieces, wrapping=wrapping, many_members=wrapping == GZIP, library=library):
        assert 0 < len(block) <= BLOCK
        blocks.append(block)
    return b"".join(blocks)


def outcome(stream: bytes, wrapping: int, library: Library | None, piece: int) -> bytes | str:
    try:
        return unpacked(stream, wrapping, library, piece=piece)
    except BadStreamError as fault:
        return str(fault)


@WRAPPINGS
@examples(40)
@given(
    content=contents, level=st.sampled_from([0, 1, 9]), piece=st.sampled_from([1, 7, 100, BLOCK]), cut=st.floats(0, 1)
)
def test_whole_and_cut_streams(content: bytes, wrapping: int, level: int, piece: int, cut: float) -> None:
    stream = deflated(content, wrapping, level=level)
    shorter = stream[: int(cut * len(stream))]
    for library in (ZLIB_LIBRARY, ISAL_LIBRARY):
        assert outcome(stream, wrapping, library, piece) == content
        if len(shorter) < len(stream):
            assert outcome(shorter, wrapping, library, piece) == "ends too early"


@WRAPPINGS
@examples(60)
@given(
    content=contents,
    flips=st.lists(st.tuples(st.floats(0, 1, exclude_max=True), st.integers(0, 7)), min_size=1, max_size=3),
    piece=st.sampled_from([1, 7, BLOCK]),
)
# Reserved flags of gzip, a window that zlib does not have, a method that is not deflate.
@example(content=b"abc", flips=[(3 / 23, 5)], piece=BLOCK)
@example(content=b"abc", flips=[(0.0, 7)], piece=1)
@example(content=b"abc", flips=[(2 / 23, 1)], piece=1)
def test_flipped_bits(content: bytes, wrapping: int, flips: list[tuple[float, int]], piece: int) -> None:
    stream = bytearray(deflated(content, wrapping))
    for place, bit in flips:
        stream[int(place * len(stream))] ^= 1 << bit
    by_zlib = outcome(bytes(stream), wrapping, ZLIB_LIBRARY, piece)
    by_isal = outcome(bytes(stream), wrapping, ISAL_LIBRARY, piece)
    if isinstance(by_zlib, bytes):
        assert by_isal == by_zlib
    elif wrapping != RAW:  # raw streams have no checksum of their own: zip has it
        # ISA-L tolerates unused places in code tables. The checksum is right then, and so is the content.
        assert isinstance(by_isal, str) or by_isal == content


@BOTH
@WRAPPINGS
@pytest.mark.parametrize("extra", [b"x", b"\0", bytes(7), b"more than a register holds"])
@pytest.mark.parametrize("piece", [1, 5, BLOCK])
def test_what_follows_a_stream_is_noticed(library: Library, wrapping: int, extra: bytes, piece: int) -> None:
    for content in (b"", b"abc", bytes(5000), bytes(range(256)) * 20):
        stream = deflated(content, wrapping) + extra
        if wrapping == GZIP:  # zeros may follow; anything else must be a gzip stream
            found = outcome(stream, wrapping, library, piece)
            assert found == (content if not extra.strip(b"\0") else "is corrupt") or found == "ends too early"
        else:
            assert outcome(stream, wrapping, library, piece) == "is followed by more data"


@BOTH
@pytest.mark.parametrize("padding", [b"", bytes(3)])
def test_gzip_members_in_a_row(library: Library, padding: bytes) -> None:
    contents = [b"abc", b"", bytes(3_000_000), b"x" * 70_000]
    stream = padding.join(deflated(content, GZIP) for content in contents)
    for piece in (997, BLOCK):
        assert unpacked(stream, GZIP, library, piece=piece) == b"".join(contents)


@BOTH
@WRAPPINGS
def test_a_bomb_comes_out_in_blocks(library: Library, wrapping: int) -> None:
    """20 MB from 20 KB: the caller sees one block after the other and may stop."""
    stream = deflated(bytes(20_000_000), wrapping)
    blocks = inflate([stream], wrapping=wrapping, library=library)
    assert len(next(blocks)) == BLOCK
    assert sum(len(block) for block in blocks) == 20_000_000 - BLOCK


def test_both_kinds_of_wrapping_are_told_apart() -> None:
    for wrapping in (GZIP, ZLIB):
        assert unpacked(deflated(b"abc", wrapping), ZLIB_OR_GZIP, ISAL_LIBRARY, piece=1) == b"abc"


def test_the_readers_without_isal() -> None:
    """Every reader of compressed files, bombs included, where only zlib is installed."""
    files = ["archives", "nifti", "metaimage", "frames", "hdf5", "volumes"]
    compressed = "bomb or gzip or compress or chunk or unpack or damaged or truncated or refused_in_words"
    program = "import sys; sys.modules['isal'] = None; import pytest; sys.exit(pytest.main(sys.argv[1:]))"
    tests = [str(READERS / f"test_{name}.py") for name in files]
    words = [sys.executable, "-c", program, "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "-k", compressed, *tests]
    done = subprocess.run(words, cwd=READERS.parent.parent, capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == 0, done.stdout[-3000:]
