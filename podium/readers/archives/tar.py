"""Tar archives, plain or gzipped, read as a stream.

The standard library reads extended headers of any size into memory. So the stream is read here, and the library only
decodes single header blocks.
"""

import itertools
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass, field

from podium.errors import SubmissionError
from podium.readers.archives.target import MemberNames
from podium.readers.files import SafeFile
from podium.readers.inflate import GZIP, BadStreamError, inflate, pieces
from podium.readers.names import escape_for_display

BLOCK_BYTES = tarfile.BLOCKSIZE
MAX_EXTENDED_BYTES = 16 * 1024
MAX_EXTENDED_BYTES_IN_ALL = 64 * 1024 * 1024
MAX_EXTENDED_HEADERS = 3
MAX_PADDING_BYTES = 1024 * 1024

REGULAR = (tarfile.REGTYPE, tarfile.AREGTYPE, tarfile.CONTTYPE)
LINKS = (tarfile.LNKTYPE, tarfile.SYMTYPE)
SPARSE = tarfile.GNUTYPE_SPARSE
PAX_GLOBAL = tarfile.XGLTYPE
LONG_NAME, LONG_LINK = tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK
EXTENDED = (tarfile.XHDTYPE, tarfile.SOLARIS_XHDTYPE, PAX_GLOBAL, LONG_NAME, LONG_LINK)


def is_tar(start: bytes) -> bool:
    """By content: a first block whose checksum fits."""
    try:
        tarfile.TarInfo.frombuf(start[:BLOCK_BYTES], "utf-8", "surrogateescape")
    except (tarfile.HeaderError, ValueError):
        return False
    return True


def read_tar(file: SafeFile, target: MemberNames, *, gzipped: bool) -> None:
    """Hand all members to `target`, in their order."""
    with file.open() as stream:
        plain = pieces(stream)
        source = _TarStream(inflate(plain, wrapping=GZIP, many_members=True) if gzipped else plain)
        try:
            _hand_over(file, source, target)
        except BadStreamError as fault:
            raise SubmissionError(f"'{file.name}' {fault}; pack it again.") from None


@dataclass
class _TarStream:
    """A stream of blocks, read by exact counts."""

    blocks: Iterator[bytes]
    waiting: memoryview = field(default_factory=lambda: memoryview(b""))
    extended_bytes: int = 0
    """Of all extended headers so far: they produce no file, so nothing else limits them."""

    def parts(self, count: int) -> Iterator[memoryview]:
        """Exactly `count` bytes in pieces of at most 1 MiB."""
        while count:
            if not self.waiting:
                self.waiting = memoryview(next(self.blocks, b""))
                if not self.waiting:
                    raise BadStreamError("ends too early")
            part, self.waiting = self.waiting[:count], self.waiting[count:]
            count -= len(part)
            yield part

    def exactly(self, count: int) -> bytes:
        return b"".join(self.parts(count))

    def padded(self, count: int) -> Iterator[memoryview]:
        """`count` bytes, and then past the zeros that fill the last block."""
        yield from self.parts(count)
        self.exactly(-count % BLOCK_BYTES)


def _hand_over(file: SafeFile, source: _TarStream, target: MemberNames) -> None:
    while True:
        member, extended = _next_member(file, source)
        if member is None:
            _check_end(file, source)
            return
        name = extended.get("path", member.name)
        reason = _reason_to_refuse(file, member, name)
        if reason is not None:
            target.refuse(name, reason)
        elif member.isdir():
            target.add_folder(name)
        else:
            size = _size(file, member, extended)
            content = source.padded(size)
            target.add_file(name, content, announced=size)
            for _ in content:
                pass  # a target that only wants the name leaves it here


def _next_member(file: SafeFile, source: _TarStream) -> tuple[tarfile.TarInfo | None, dict[str, str]]:
    """The next member, None at the end, and what the extended headers before it say about it."""
    extended: dict[str, str] = {}
    for _ in range(MAX_EXTENDED_HEADERS + 1):
        block = source.exactly(BLOCK_BYTES)
        if not any(block):
            return None, extended
        member = _decoded(file, block)
        if member.type not in EXTENDED:
            return member, extended
        extended |= _read_extended(file, source, member)
    raise SubmissionError(f"'{file.name}' holds too many extended headers for one member.")


def _decoded(file: SafeFile, block: bytes) -> tarfile.TarInfo:
    try:
        member = tarfile.TarInfo.frombuf(block, "utf-8", "surrogateescape")
    except (tarfile.HeaderError, ValueError):
        raise SubmissionError(f"'{file.name}' is a damaged tar archive; pack it again.") from None
    if member.size < 0:
        raise SubmissionError(f"'{file.name}' announces a member of a negative size.")
    return member


def _reason_to_refuse(file: SafeFile, member: tarfile.TarInfo, name: str) -> str | None:
    """Why a member is left out. Sparse files and links with data end the reading: what follows is unclear."""
    if member.type in (*REGULAR, tarfile.DIRTYPE):
        return None
    if member.type == SPARSE:
        raise SubmissionError(
            f"'{file.name}' holds the sparse file '{escape_for_display(name)}'; pack it without --sparse."
        )
    if member.size:
        raise SubmissionError(f"'{file.name}' holds '{escape_for_display(name)}', which is not a regular file.")
    if member.type in LINKS:
        return f"'{escape_for_display(name)}' is a link in '{file.name}'; put the file itself into the archive."
    return f"'{escape_for_display(name)}' in '{file.name}' is not a regular file."


def _size(file: SafeFile, member: tarfile.TarInfo, extended: dict[str, str]) -> int:
    """An extended header may give a size too large for the eleven digits of the plain one."""
    text = extended.get("size")
    if text is None:
        return member.size
    if not (text.isascii() and text.isdigit() and len(text) <= 18):
        raise SubmissionError(f"'{file.name}' announces a member whose size is not a number.")
    return int(text)


def _read_extended(file: SafeFile, source: _TarStream, member: tarfile.TarInfo) -> dict[str, str]:
    """What one extended header says about the next member."""
    source.extended_bytes += member.size
    if member.size > MAX_EXTENDED_BYTES or source.extended_bytes > MAX_EXTENDED_BYTES_IN_ALL:
        raise SubmissionError(f"'{file.name}' holds an extended header that is too long.")
    content = b"".join(source.padded(member.size))
    if member.type == LONG_NAME:
        return {"path": content.rstrip(b"\0").decode("utf-8", "surrogateescape")}
    if member.type == LONG_LINK:
        return {}  # the member it belongs to is a link, and refused
    records = _pax_records(file, content)
    if any(key.startswith("GNU.sparse") for key in records):
        raise SubmissionError(f"'{file.name}' holds a sparse file; pack it without --sparse.")
    if member.type != PAX_GLOBAL:
        return records
    if {"path", "size"} & records.keys():
        raise SubmissionError(f"'{file.name}' gives one name or size to all its members; pack it again.")
    return {}


def _pax_records(file: SafeFile, content: bytes) -> dict[str, str]:
    """Records of the form '<length> <key>=<value>' and a line feed, the length counting all of it."""
    records: dict[str, str] = {}
    start = 0
    while start < len(content):
        digits, separator, _ = content[start : start + 12].partition(b" ")
        length = int(digits) if digits.isdigit() else 0
        record = content[start : start + length]
        key, equals, value = record[len(digits) + 1 : -1].partition(b"=")
        if not separator or not equals or not record.endswith(b"\n") or len(record) != length:
            raise SubmissionError(f"'{file.name}' holds an extended header that is damaged; pack it again.")
        records[key.decode("utf-8", "surrogateescape")] = value.decode("utf-8", "surrogateescape")
        start += length
    return records


def _check_end(file: SafeFile, source: _TarStream) -> None:
    """After the end there may be padding, nothing else. Reading on also lets gzip verify its checksum."""
    padding = 0
    for block in itertools.chain([bytes(source.waiting)], source.blocks):
        padding += len(block)
        if block.strip(b"\0") or padding > MAX_PADDING_BYTES:
            raise SubmissionError(f"'{file.name}' goes on after its end; pack it again as one archive.")
