"""Zip archives. The standard library reads the directory; members are unpacked here, so that every byte is counted.

The directory and the header before each member may contradict each other, members may share bytes, and a member may
unpack to more than announced; other tools notice none of this.
"""

import io
import re
import stat
import struct
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO

from podium.errors import PodiumError, SubmissionError
from podium.readers.archives.target import MemberNames
from podium.readers.files import SafeFile
from podium.readers.inflate import BLOCK, RAW, BadStreamError, inflate
from podium.readers.names import escape_for_display

STORED, DEFLATED = zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED
ENCRYPTED_FLAGS = 0x1 | 0x40 | 0x2000
UTF8_FLAG = 0x800

SECOND_BYTE = re.compile(rb"(?<=[\x80-\xff])\\")
"""A backslash that is half of a Chinese or Japanese character, not a separator of Windows."""

LOCAL_HEADER = struct.Struct("<4sHHHHHIIIHH")
DIRECTORY_ENTRY = b"PK\x01\x02"
MAX_DIRECTORY_BYTES = 64 * 1024 * 1024


class _BoundedReader(io.BufferedReader):
    """Refuses a large directory: the standard library reads it at once and needs ten times its size in memory.

    Entries are counted here by their signature. The number that the archive announces is not trusted.
    """

    def __init__(self, plain: BinaryIO, *, name: str, max_files: int) -> None:
        super().__init__(io.FileIO(plain.fileno(), closefd=False))
        self._archive, self._max_files = name, max_files

    def read(self, size: int | None = -1, /) -> bytes:
        if size is not None and size > MAX_DIRECTORY_BYTES:
            raise zipfile.BadZipFile
        content = super().read(size)
        if content.count(DIRECTORY_ENTRY) > self._max_files:
            raise _too_many(self._archive, self._max_files)
        return content


@dataclass(frozen=True)
class ZipMember:
    """One member and the bytes it occupies."""

    info: zipfile.ZipInfo
    name: str
    data_start: int

    @property
    def end(self) -> int:
        return self.data_start + self.info.compress_size


def is_zip(start: bytes) -> bool:
    return start.startswith((b"PK\x03\x04", b"PK\x05\x06"))


def read_zip(file: SafeFile, target: MemberNames) -> None:
    """Hand all members to `target`; nothing is written before all of them were looked at."""
    with file.open() as plain:
        members = zip_members(file, plain, max_files=target.max_files, max_bytes=target.max_bytes)
        for member in members:
            reason = _reason_to_refuse(file, member.info, member.name)
            if reason is not None:
                target.refuse(member.name, reason)
            elif member.info.is_dir():
                target.add_folder(member.name)
            else:
                target.add_file(member.name, member_content(file, plain, member), announced=member.info.file_size)


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
        end = member.end
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


def _checked_member(file: SafeFile, plain: BinaryIO, info: zipfile.ZipInfo) -> ZipMember:
    name = _name(info)
    if info.flag_bits & ENCRYPTED_FLAGS:
        raise SubmissionError(f"'{file.name}' is encrypted; send it without a password.")
    if info.compress_type not in (STORED, DEFLATED):
        raise SubmissionError(
            f"'{file.name}' compresses '{escape_for_display(name)}' in a way that is not read; use deflate."
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


def _reason_to_refuse(file: SafeFile, info: zipfile.ZipInfo, name: str) -> str | None:
    kind = stat.S_IFMT(info.external_attr >> 16)
    if kind == stat.S_IFLNK:
        return f"'{escape_for_display(name)}' is a link in '{file.name}'; put the file itself into the archive."
    if kind not in (0, stat.S_IFREG, stat.S_IFDIR):
        return f"'{escape_for_display(name)}' in '{file.name}' is not a regular file."
    return None


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
    """The unpacked bytes; refused as soon as they are more than announced, and at the end if size or
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
                announced = f"{info.file_size:,} bytes announced"
                raise SubmissionError(
                    f"'{escape_for_display(member.name)}' in '{file.name}' unpacks to more than the {announced}."
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


def _too_many(name: str, max_files: int) -> SubmissionError:
    return SubmissionError(f"'{name}' holds more than {max_files:,} files.")


def _damaged(file: SafeFile) -> SubmissionError:
    return SubmissionError(f"'{file.name}' is a damaged or incomplete zip archive; pack it again.")
