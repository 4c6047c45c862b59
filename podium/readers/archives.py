"""Archives that hold a whole submission: zip, tar and gzipped tar, recognised by their content.

Every name is checked, every byte is counted, and nothing is overwritten. Whatever is wrong with the archive makes the
whole submission unusable, so everything here is a SubmissionError; only links, special files and names that cannot be
shown are left out one by one. Archives inside archives are unpacked as files and never opened.
"""

import errno
import io
import os
import re
import stat
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, ClassVar

from podium.errors import PodiumError, SubmissionError
from podium.readers.files import MAX_DEPTH, MAX_ENTRIES, SafeFile, escape_for_display
from podium.readers.inflate import BLOCK, RAW, BadStreamError, BlockReader, inflate, pieces, unpacked, unpacked_start

MAX_BYTES = 8 * 1024**3
MAX_FILES = 50_000
MAX_NAME_BYTES = 1024
MAX_PART_BYTES = 255

MAX_RATIO = 1_100
"""Deflate shrinks data at most 1,032 times, and empty masks approach that: only an archive that uses its bytes twice
exceeds this bound. Honest but huge archives are stopped by their total size."""

RATIO_FREE_BYTES = 64 * 1024 * 1024  # up to this size the ratio is not checked

STORED, DEFLATED = zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED
ENCRYPTED_FLAGS = 0x1 | 0x40 | 0x2000
UTF8_FLAG = 0x800
LOCAL_HEADER = struct.Struct("<4sHHHHHIIIHH")
DIRECTORY_ENTRY = b"PK\x01\x02"
MAX_DIRECTORY_BYTES = 64 * 1024 * 1024

SECOND_BYTE = re.compile(rb"(?<=[\x80-\xff])\\")  # a backslash that is half of a Chinese or Japanese character
BLOCK_BYTES = tarfile.BLOCKSIZE
MAX_EXTENDED_BYTES = 16 * 1024
MAX_EXTENDED_BYTES_IN_ALL = 64 * 1024 * 1024
MAX_EXTENDED_HEADERS = 3
MAX_PADDING_BYTES = 1024 * 1024

REGULAR = (tarfile.REGTYPE, tarfile.AREGTYPE, tarfile.CONTTYPE)
LONG_NAMES = (tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK)
EXTENDED = (tarfile.XHDTYPE, tarfile.SOLARIS_XHDTYPE, tarfile.XGLTYPE, *LONG_NAMES)


def extract_archive(
    file: SafeFile, destination: Path, *, max_bytes: int = MAX_BYTES, max_files: int = MAX_FILES
) -> tuple[tuple[str, str], ...]:
    """Unpack `file` into the new or empty folder `destination`: regular files (mode 0600) and folders, nothing else.

    At most `max_bytes` are written, and at most `MAX_RATIO` times the size of the archive. Links, special files and
    names that cannot be shown are left out and returned as (name, reason): packing one is a common mistake and must
    not cost the other cases.
    """
    destination.mkdir(mode=0o700, parents=True, exist_ok=True)
    by_ratio = max(RATIO_FREE_BYTES, MAX_RATIO * file.size)
    members = Members(file.name, min(max_bytes, by_ratio), max_files, destination)
    _read_members(file, members)
    return tuple(members.refused)


def archive_names(file: SafeFile, *, max_bytes: int = MAX_BYTES, max_files: int = MAX_FILES) -> tuple[str, ...]:
    """Names of the files in an archive, in its order; checked as for unpacking, but nothing is written."""
    members = Members(file.name, max_bytes, max_files)
    _read_members(file, members)
    return tuple("/".join(parts) for parts, kind in members.kinds.items() if kind == "file")


def _read_members(file: SafeFile, target: "Members") -> None:
    start = file.first_bytes(BLOCK_BYTES)
    if is_zip(start):
        read_zip(file, target)
    elif is_tar(start):
        read_tar(file, target, gzipped=False)
    else:
        with file.open() as stream:
            start = unpacked_start(stream, count=BLOCK_BYTES)
        if not is_tar(start):
            raise SubmissionError(f"'{file.name}' is not a zip, tar or gzipped tar archive.")
        read_tar(file, target, gzipped=True)


@dataclass
class Members:
    """The members of one archive: each name is checked and counted, and each member written below `destination`, if
    there is one."""

    kind: ClassVar[str] = "archive"
    has: ClassVar[str] = "unpacks to"

    archive: str
    max_bytes: int
    max_files: int
    destination: Path | None = None
    total_bytes: int = 0
    members: int = 0
    kinds: dict[tuple[str, ...], str] = field(default_factory=dict)  # 'file' or 'folder' for every path so far
    refused: list[tuple[str, str]] = field(default_factory=list)
    """(name, reason) of links, special files and names that cannot be shown; only these are left out."""

    def refuse(self, name: str, reason: str) -> None:
        """Note a member that is not unpacked; its name is checked like any other."""
        self._checked_parts(name)
        self.refused.append((escape_for_display(name), reason))

    def add_folder(self, name: str) -> None:
        if (parts := self._accepted_parts(name)) is not None:
            self._add_folders(parts, name)

    def add_file(self, name: str, blocks: Iterable[bytes | memoryview], *, size: int) -> None:
        """Take one member of `size` bytes, refused before the first block when they would be too much.

        The caller makes sure that the blocks are not longer than that.
        """
        parts = self._accepted_parts(name)
        if parts is None:
            return
        if not parts:
            raise SubmissionError(f"'{self.archive}' holds a file without a name.")
        self.total_bytes += size
        if self.total_bytes > self.max_bytes:
            raise SubmissionError(f"'{self.archive}' {self.has} more than {self.max_bytes:,} bytes.")
        self._add_folders(parts[:-1], name)
        if parts in self.kinds:
            raise SubmissionError(f"'{self.archive}' holds more than one member named '{escape_for_display(name)}'.")
        self._add(parts, "file", blocks)

    def _add_folders(self, parts: tuple[str, ...], name: str) -> None:
        for depth in range(1, len(parts) + 1):
            folder = parts[:depth]
            if self.kinds.get(folder) == "file":
                raise SubmissionError(
                    f"'{self.archive}' uses the path of '{escape_for_display(name)}' for both a file and a folder."
                )
            if folder not in self.kinds:
                self._add(folder, "folder")

    def _add(self, parts: tuple[str, ...], kind: str, blocks: Iterable[bytes | memoryview] = ()) -> None:
        """Folders are counted too: one name may create fifteen of them."""
        if len(self.kinds) == MAX_ENTRIES:
            raise SubmissionError(f"'{self.archive}' holds more than {MAX_ENTRIES:,} files and folders.")
        self.kinds[parts] = kind
        if self.destination is None:
            return
        path = self.destination.joinpath(*parts)
        try:
            if kind == "folder":
                path.mkdir(mode=0o700, exist_ok=True)
                return
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
            with os.fdopen(descriptor, "wb") as stream:
                for block in blocks:
                    stream.write(block)
        except OSError as fault:
            if fault.errno == errno.ENOSPC:
                raise SubmissionError(f"'{self.archive}' unpacks to more than the evaluation can store.") from None
            shown = escape_for_display("/".join(parts))
            raise SubmissionError(f"'{shown}' in '{self.archive}' cannot be unpacked.") from None

    def _checked_parts(self, name: str) -> tuple[str, ...]:
        """The components of a member's name, which is counted; anything that could lead elsewhere is refused, not
        corrected."""
        if "\\" in name or name[1:2] == ":":
            raise SubmissionError(
                f"'{self.archive}' holds '{escape_for_display(name)}', a Windows path; use forward slashes."
            )
        if name.startswith("/"):
            raise SubmissionError(f"'{self.archive}' holds the absolute path '{escape_for_display(name)}'.")
        parts = tuple(part for part in name.split("/") if part not in ("", "."))
        if ".." in parts:
            raise SubmissionError(
                f"'{self.archive}' holds '{escape_for_display(name)}', which leads out of the {self.kind}."
            )
        if len(os.fsencode(name)) > MAX_NAME_BYTES or any(len(os.fsencode(part)) > MAX_PART_BYTES for part in parts):
            raise SubmissionError(f"'{self.archive}' holds a name that is too long: '{escape_for_display(name)}'.")
        if len(parts) > MAX_DEPTH:
            raise SubmissionError(
                f"'{self.archive}' nests '{escape_for_display(name)}' deeper than {MAX_DEPTH} folders."
            )
        self.members += 1
        if self.members > self.max_files:
            raise SubmissionError(f"'{self.archive}' holds more than {self.max_files:,} files.")
        return parts

    def _accepted_parts(self, name: str) -> tuple[str, ...] | None:
        """The components of a member's name; None where it cannot be shown: 'Icon\\r' is common on macOS."""
        if not name.isprintable():
            shown = escape_for_display(name)
            self.refuse(name, f"'{shown}' in '{self.archive}' has unprintable characters in its name; rename it.")
            return None
        return self._checked_parts(name)


# Zip archives. The standard library reads the directory; members are unpacked here, so that every byte is counted.
#
# The directory and the header before each member may contradict each other, members may share bytes, and a member may
# unpack to more than declared; other tools notice none of this.


@dataclass(frozen=True)
class ZipMember:
    """One member and the bytes it occupies."""

    info: zipfile.ZipInfo
    name: str
    data_start: int


def is_zip(start: bytes) -> bool:
    return start.startswith((b"PK\x03\x04", b"PK\x05\x06"))


def read_zip(file: SafeFile, target: Members) -> None:
    """Hand all members to `target`; nothing is written before all of them were checked."""
    with file.open() as plain:
        for member in zip_members(file, plain, max_files=target.max_files, max_bytes=target.max_bytes):
            kind = stat.S_IFMT(member.info.external_attr >> 16)
            if kind not in (0, stat.S_IFREG, stat.S_IFDIR):
                target.refuse(member.name, _reason(file, member.name, is_link=kind == stat.S_IFLNK))
            elif member.info.is_dir():
                target.add_folder(member.name)
            else:
                target.add_file(member.name, member_content(file, plain, member), size=member.info.file_size)


def zip_members(file: SafeFile, plain: BinaryIO, *, max_files: int, max_bytes: int) -> list[ZipMember]:
    """All members, each compared with the header before it; together within the bounds, none overlapping another."""
    infos = _directory(file, max_files=max_files)
    if sum(info.file_size for info in infos) > max_bytes:
        raise SubmissionError(f"'{file.name}' unpacks to more than {max_bytes:,} bytes.")
    members = [_checked_member(file, plain, info) for info in infos]
    end = 0
    for member in sorted(members, key=lambda member: member.info.header_offset):
        if member.info.header_offset < end:
            raise SubmissionError(
                f"'{file.name}' holds members that overlap, such as '{escape_for_display(member.name)}'."
            )
        end = member.data_start + member.info.compress_size
    if end > file.size:
        raise _damaged(file)
    return members


def _directory(file: SafeFile, *, max_files: int) -> list[zipfile.ZipInfo]:
    try:
        with (
            file.open() as plain,
            zipfile.ZipFile(_BoundedReader(plain, name=file.name, max_files=max_files)) as archive,
        ):
            return archive.infolist()
    except PodiumError:
        raise
    except Exception:  # the library reports damage by many kinds of exceptions
        raise _damaged(file) from None


class _BoundedReader(io.BufferedReader):
    """Refuses a large directory: the standard library reads it at once and needs ten times its size in memory.

    Entries are counted here by their signature. The number that the archive declares is not trusted.
    """

    def __init__(self, plain: BinaryIO, *, name: str, max_files: int) -> None:
        super().__init__(io.FileIO(plain.fileno(), closefd=False))
        self._archive, self._max_files = name, max_files

    def read(self, size: int | None = -1, /) -> bytes:
        if size is not None and size > MAX_DIRECTORY_BYTES:
            raise zipfile.BadZipFile
        content = super().read(size)
        if content.count(DIRECTORY_ENTRY) > self._max_files:
            raise SubmissionError(f"'{self._archive}' holds more than {self._max_files:,} files.")
        return content


def _checked_member(file: SafeFile, plain: BinaryIO, info: zipfile.ZipInfo) -> ZipMember:
    name = _name(info)
    if info.flag_bits & ENCRYPTED_FLAGS:
        raise SubmissionError(f"'{file.name}' is encrypted; send it without a password.")
    if info.compress_type not in (STORED, DEFLATED):
        raise SubmissionError(
            f"'{file.name}' compresses '{escape_for_display(name)}' with an unsupported method; use deflate."
        )
    if not 0 <= info.header_offset < file.size:
        raise _damaged(file)
    plain.seek(info.header_offset)
    header = plain.read(LOCAL_HEADER.size)
    if len(header) < LOCAL_HEADER.size:
        raise _damaged(file)
    signature, _, flags, method, _, _, _, _, _, name_bytes, extra_bytes = LOCAL_HEADER.unpack(header)
    local_name = plain.read(name_bytes)
    same = method == info.compress_type and local_name == _raw_name(info) and not flags & ENCRYPTED_FLAGS
    if signature != b"PK\x03\x04" or not same:
        raise SubmissionError(f"'{file.name}' contradicts itself about '{escape_for_display(name)}'; pack it again.")
    return ZipMember(info, name, info.header_offset + LOCAL_HEADER.size + name_bytes + extra_bytes)


def _reason(file: SafeFile, name: str, *, is_link: bool) -> str:
    """Why a member is left out."""
    if is_link:
        return f"'{escape_for_display(name)}' is a link in '{file.name}'; put the file itself into the archive."
    return f"'{escape_for_display(name)}' in '{file.name}' is not a regular file."


def _raw_name(info: zipfile.ZipInfo) -> bytes:
    return info.orig_filename.encode("utf-8" if info.flag_bits & UTF8_FLAG else "cp437")


def _name(info: zipfile.ZipInfo) -> str:
    """The member's name; many tools write UTF-8 without saying so, which the library takes for an old code page.

    With another code page (old Windows), characters that are not ASCII come out wrong. Cases are named in ASCII and
    are still found.
    """
    raw = _raw_name(info)
    try:
        return raw.decode("utf-8")
    except UnicodeError:
        return SECOND_BYTE.sub(b"_", raw).decode("cp437")


def member_content(file: SafeFile, plain: BinaryIO, member: ZipMember) -> Iterator[bytes]:
    """The unpacked bytes; refused as soon as they are more than declared, and at the end if size or
    checksum is wrong."""
    info = member.info
    plain.seek(member.data_start)
    packed = _exactly(file, plain, info.compress_size)
    blocks = packed if info.compress_type == STORED else inflate(packed, wrapping=RAW)
    size = checksum = 0
    try:
        for block in blocks:
            size += len(block)
            checksum = zlib.crc32(block, checksum)
            if size > info.file_size:
                declared = f"{info.file_size:,} bytes declared"
                raise SubmissionError(
                    f"'{escape_for_display(member.name)}' in '{file.name}' unpacks to more than the {declared}."
                )
            yield block
    except BadStreamError as fault:
        raise SubmissionError(f"'{escape_for_display(member.name)}' in '{file.name}' {fault}; pack it again.") from None
    if size != info.file_size or checksum != info.CRC:
        raise SubmissionError(f"'{escape_for_display(member.name)}' in '{file.name}' is damaged; pack it again.")


def _exactly(file: SafeFile, plain: BinaryIO, count: int) -> Iterator[bytes]:
    while count:
        block = plain.read(min(count, BLOCK))
        if not block:
            raise _damaged(file)
        count -= len(block)
        yield block


def _damaged(file: SafeFile) -> SubmissionError:
    return SubmissionError(f"'{file.name}' is a damaged or incomplete zip archive; pack it again.")


# Tar archives, plain or gzipped, read as a stream.
#
# The standard library reads extended headers of any size into memory. So the stream is read here, and the library
# only decodes single header blocks.


def is_tar(start: bytes) -> bool:
    """By content: a first block whose checksum fits."""
    try:
        tarfile.TarInfo.frombuf(start[:BLOCK_BYTES], "utf-8", "surrogateescape")
    except (tarfile.HeaderError, ValueError):
        return False
    return True


def read_tar(file: SafeFile, target: Members, *, gzipped: bool) -> None:
    """Hand all members to `target`, in their order."""
    with file.open() as stream:
        source = _TarStream(unpacked(stream) if gzipped else pieces(stream))
        try:
            while (found := _next_member(file, source)) is not None:
                _hand_over(file, source, *found, target)
            padding = 0  # nothing else may follow; reading on also lets gzip verify its checksum
            for block in source.rest():
                padding += len(block)
                if block.strip(b"\0") or padding > MAX_PADDING_BYTES:
                    raise SubmissionError(f"'{file.name}' has data after its end; pack it again as one archive.")
        except BadStreamError as fault:
            raise SubmissionError(f"'{file.name}' {fault}; pack it again.") from None


class _TarStream(BlockReader):
    """An archive, read by exact counts of bytes."""

    extended_bytes = 0  # of all extended headers so far: they produce no file, so nothing else limits them

    def parts(self, count: int) -> Iterator[memoryview]:
        for part in super().parts(count):
            count -= len(part)
            yield part
        if count:
            raise BadStreamError("ends too early")

    def padded(self, count: int) -> Iterator[memoryview]:
        """`count` bytes, and then past the zeros that fill the last block."""
        yield from self.parts(count)
        self.read(-count % BLOCK_BYTES)


def _hand_over(
    file: SafeFile, source: _TarStream, member: tarfile.TarInfo, extended: dict[str, str], target: Members
) -> None:
    """Hand one member to `target`. Sparse files and links with data end the reading: what follows is unclear."""
    name = extended.get("path", member.name)
    if member.isdir():
        target.add_folder(name)
    elif member.type in REGULAR:
        size = member.size
        if (text := extended.get("size")) is not None:  # too large for the eleven digits of the plain header
            if not (text.isascii() and text.isdigit() and len(text) <= 18):
                raise SubmissionError(f"'{file.name}' declares a member whose size is not a number.")
            size = int(text)
        content = source.padded(size)
        target.add_file(name, content, size=size)
        for _ in content:
            pass  # a target that only takes names leaves the content here
    elif member.type == tarfile.GNUTYPE_SPARSE:
        raise SubmissionError(
            f"'{file.name}' holds the sparse file '{escape_for_display(name)}'; pack it without --sparse."
        )
    elif member.size:
        raise SubmissionError(f"'{file.name}' holds '{escape_for_display(name)}', which is not a regular file.")
    else:
        target.refuse(name, _reason(file, name, is_link=member.islnk() or member.issym()))


def _next_member(file: SafeFile, source: _TarStream) -> tuple[tarfile.TarInfo, dict[str, str]] | None:
    """The next member, and what the extended headers before it say about it; None at the end."""
    extended: dict[str, str] = {}
    for _ in range(MAX_EXTENDED_HEADERS + 1):
        block = source.read(BLOCK_BYTES)
        if not any(block):
            return None
        try:
            member = tarfile.TarInfo.frombuf(block, "utf-8", "surrogateescape")
        except (tarfile.HeaderError, ValueError):
            raise SubmissionError(f"'{file.name}' is a damaged tar archive; pack it again.") from None
        if member.size < 0:
            raise SubmissionError(f"'{file.name}' declares a member of negative size.")
        if member.type not in EXTENDED:
            return member, extended
        extended |= _read_extended(file, source, member)
    raise SubmissionError(f"'{file.name}' holds too many extended headers for one member.")


def _read_extended(file: SafeFile, source: _TarStream, member: tarfile.TarInfo) -> dict[str, str]:
    """What one extended header says about the next member."""
    source.extended_bytes += member.size
    if member.size > MAX_EXTENDED_BYTES or source.extended_bytes > MAX_EXTENDED_BYTES_IN_ALL:
        raise SubmissionError(f"'{file.name}' holds an extended header that is too long.")
    content = b"".join(source.padded(member.size))
    if member.type in LONG_NAMES:  # of what a long name links to, nothing is needed: the member is a link, and refused
        path = content.rstrip(b"\0").decode("utf-8", "surrogateescape")
        return {"path": path} if member.type == tarfile.GNUTYPE_LONGNAME else {}
    records = _pax_records(file, content)
    if any(key.startswith("GNU.sparse") for key in records):
        raise SubmissionError(f"'{file.name}' holds a sparse file; pack it without --sparse.")
    if member.type != tarfile.XGLTYPE:
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
