"""The folder an archive is unpacked into: every name checked, every byte counted, nothing written over anything."""

import errno
import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

from podium.errors import SubmissionError
from podium.readers.files import MAX_ENTRIES
from podium.readers.names import escape_for_display, is_printable

MAX_DEPTH = 16
MAX_NAME_BYTES = 1024
MAX_PART_BYTES = 255

RATIO_FREE_BYTES = 64 * 1024 * 1024
"""Up to this size the ratio is not checked."""


@dataclass
class MemberNames:
    """The members of one archive, each name checked and counted, nothing unpacked."""

    kind: ClassVar[str] = "archive"
    has: ClassVar[str] = "unpacks to"

    archive: str
    max_bytes: int
    max_files: int
    total_bytes: int = 0
    members: int = 0
    kinds: dict[tuple[str, ...], str] = field(default_factory=dict)
    """'file' or 'folder' for every path so far."""
    refused: list[tuple[str, str]] = field(default_factory=list)
    """(name, reason) of links, special files and names that cannot be shown; only these are left out."""

    def refuse(self, name: str, reason: str) -> None:
        """Note a member that is not unpacked; its name is checked like any other."""
        self._checked_parts(name)
        self._count_member()
        self.refused.append((escape_for_display(name), reason))

    def add_folder(self, name: str) -> None:
        parts = self._checked_parts(name)
        if not is_printable(name):
            self._refuse_unprintable(name)
            return
        self._count_member()
        self._add_folders(parts, name)

    def add_file(self, name: str, blocks: Iterable[bytes | memoryview], *, announced: int) -> None:
        """Take one member of `announced` bytes, refused before the first block when they would be too much.

        The caller makes sure that the blocks are not longer than that.
        """
        parts = self._checked_parts(name)
        if not parts:
            raise SubmissionError(f"'{self.archive}' holds a file without a name.")
        if not is_printable(name):
            self._refuse_unprintable(name)
            return
        self._count_member()
        self.total_bytes += announced
        if self.total_bytes > self.max_bytes:
            raise SubmissionError(f"'{self.archive}' {self.has} more than {self.max_bytes:,} bytes.")
        self._add_folders(parts[:-1], name)
        if parts in self.kinds:
            raise SubmissionError(
                f"'{self.archive}' holds '{escape_for_display(name)}' over another member of that name."
            )
        self._add(parts, "file")
        self._keep_file(parts, blocks)

    def files(self) -> tuple[str, ...]:
        """Names of the files so far, in the order of the archive."""
        return tuple("/".join(parts) for parts, kind in self.kinds.items() if kind == "file")

    def _keep_file(self, parts: tuple[str, ...], blocks: Iterable[bytes | memoryview]) -> None:
        """Nothing to do for a name alone."""

    def _keep_folder(self, parts: tuple[str, ...]) -> None:
        """Nothing to do for a name alone."""

    def _add_folders(self, parts: tuple[str, ...], name: str) -> None:
        for depth in range(1, len(parts) + 1):
            folder = parts[:depth]
            if self.kinds.get(folder) == "file":
                raise SubmissionError(
                    f"'{self.archive}' holds '{escape_for_display(name)}' below or over a file of that name."
                )
            if folder not in self.kinds:
                self._add(folder, "folder")
                self._keep_folder(folder)

    def _add(self, parts: tuple[str, ...], kind: str) -> None:
        """Folders are counted too: one name may create fifteen of them."""
        if len(self.kinds) == MAX_ENTRIES:
            raise SubmissionError(f"'{self.archive}' holds more than {MAX_ENTRIES:,} files and folders.")
        self.kinds[parts] = kind

    def _checked_parts(self, name: str) -> tuple[str, ...]:
        """The components of a member's name; anything that could lead elsewhere is refused, not corrected."""
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
        if _length(name) > MAX_NAME_BYTES or any(_length(part) > MAX_PART_BYTES for part in parts):
            raise SubmissionError(f"'{self.archive}' holds a name that is too long: '{escape_for_display(name)}'.")
        if len(parts) > MAX_DEPTH:
            raise SubmissionError(
                f"'{self.archive}' nests '{escape_for_display(name)}' deeper than {MAX_DEPTH} folders."
            )
        return parts

    def _refuse_unprintable(self, name: str) -> None:
        """Such a name cannot be shown; 'Icon\\r' is a common one on macOS."""
        reason = f"'{escape_for_display(name)}' in '{self.archive}' has unprintable characters in its name; rename it."
        self.refuse(name, reason)

    def _count_member(self) -> None:
        self.members += 1
        if self.members > self.max_files:
            raise SubmissionError(f"'{self.archive}' holds more than {self.max_files:,} files.")


def _length(name: str) -> int:
    return len(name.encode("utf-8", "surrogateescape"))


@dataclass
class ArchiveTarget(MemberNames):
    """The same, and every member written below `destination`."""

    destination: Path = field(kw_only=True)

    def _keep_folder(self, parts: tuple[str, ...]) -> None:
        try:
            self.destination.joinpath(*parts).mkdir(mode=0o700, exist_ok=True)
        except OSError as fault:
            raise self._not_unpacked(parts, fault) from None

    def _keep_file(self, parts: tuple[str, ...], blocks: Iterable[bytes | memoryview]) -> None:
        path = self.destination.joinpath(*parts)
        try:
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
            with os.fdopen(descriptor, "wb") as stream:
                for block in blocks:
                    stream.write(block)
        except OSError as fault:
            raise self._not_unpacked(parts, fault) from None

    def _not_unpacked(self, parts: tuple[str, ...], fault: OSError) -> SubmissionError:
        if fault.errno == errno.ENOSPC:
            return SubmissionError(f"'{self.archive}' unpacks to more than the evaluation can store.")
        return SubmissionError(f"'{escape_for_display('/'.join(parts))}' in '{self.archive}' cannot be unpacked.")
