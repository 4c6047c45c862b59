"""Where files are: a folder of this machine, or a URL such as s3://bucket/folder."""

import argparse
import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

DEFAULT_CACHE = Path(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "podium")  # noqa: PTH111
"""For copies of what lies behind URLs. A user without a home folder has to name another."""

_URL = re.compile(r"([a-z][a-z0-9+.-]*)://(.+)", re.ASCII | re.DOTALL)


@dataclass(frozen=True)
class Url:
    """A folder or an object, as fsspec names it."""

    protocol: str
    path: str  # never with a slash at its end

    def __str__(self) -> str:
        return f"{self.protocol}://{self.path}"

    def __truediv__(self, name: str) -> "Url":
        return Url(self.protocol, f"{self.path}/{name}")

    @property
    def parent(self) -> "Url":
        return Url(self.protocol, self.path.rpartition("/")[0])

    @property
    def name(self) -> str:
        return self.path.rpartition("/")[2]


Location: TypeAlias = Path | Url


def location(text: str) -> Location:
    """A path or a URL from the command line; `file://` is a path."""
    match = _URL.fullmatch(text)
    if match is None:
        if "://" in text:
            raise argparse.ArgumentTypeError(f"{text} is neither a path nor a URL such as s3://bucket/folder")
        return Path(text)
    protocol, path = match[1], match[2].rstrip("/")
    if protocol == "file":
        return Path(f"/{path.lstrip('/')}")
    if not path.strip("/") or path.startswith("/"):
        raise argparse.ArgumentTypeError(f"{text} names no bucket")
    return Url(protocol, path)
