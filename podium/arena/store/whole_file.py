"""Writes a file completely or not at all."""

import os
from collections.abc import Iterable
from pathlib import Path

from podium.errors import UsageError


def write_whole(path: Path, text: str | Iterable[str], *, private: bool = False) -> None:
    """`text` in one piece or in several; `private` files can be read by their owner alone."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        handle = os.open(temporary, os.O_CREAT | os.O_TRUNC | os.O_WRONLY, 0o600 if private else 0o666)
        with open(handle, "w", encoding="utf-8", newline="") as file:  # noqa: PTH123
            file.writelines([text] if isinstance(text, str) else text)
        temporary.replace(path)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise UsageError(f"{path} cannot be written: {error.strerror}.") from None
