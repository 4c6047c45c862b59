"""A folder behind a URL. fsspec finds the file system for it, and the credentials come from the environment.

Requests are tried again by the file system itself (s3fs: several times, over about ten seconds). What still fails is a
StorageError in plain words.
"""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from podium.errors import StorageError, UsageError, require
from podium.readers.files import escape_for_display
from podium.storage.location import Url

_VERSIONS = ("ETag", "etag", "md5", "md5Hash", "LastModified", "last_modified", "mtime", "created")
_NO_CREDENTIALS = ("NoCredentialsError", "PartialCredentialsError", "CredentialRetrievalError")  # of botocore


@dataclass(frozen=True, order=True)
class RemoteEntry:
    """An object below a folder: its name there, its bytes, and what tells one version of it from the next."""

    name: str
    size: int
    version: str
    is_folder: bool = False


@dataclass(frozen=True)
class RemoteFolder:
    """What lies below a URL; it can be sent to other processes and machines."""

    url: Url

    def entries(self, *, deep: bool) -> Iterator[RemoteEntry]:
        """Everything below, one page after the other, so that the caller can stop: there may be any number of them.

        Not `deep`: what lies directly here, folders included.
        """
        with _in_plain_words(self.url):
            found = _list_s3(self.url, deep=deep) if self.url.protocol in ("s3", "s3a") else _list(self.url, deep=deep)
            yield from found

    def entry(self, name: str) -> RemoteEntry:
        """One object."""
        url = self.url / name
        with _in_plain_words(url):
            info = file_system(url.protocol).info(url.path) if self.url.path else {}
            if info.get("type") != "file":
                raise StorageError(f"There is nothing at {escape_for_display(str(url))}.")
            return RemoteEntry(name, info["size"], _version(url, info))

    def read(self, name: str) -> bytes:
        """The content of an object; FileNotFoundError where there is none."""
        url = self.url / name
        with _in_plain_words(url, absent=FileNotFoundError):
            content: bytes = file_system(self.url.protocol).cat_file(url.path)
        return content

    def write(self, name: str, content: bytes) -> None:
        url = self.url / name
        with _in_plain_words(url):
            file_system(self.url.protocol).pipe_file(url.path, content)

    def upload(self, name: str, source: Path) -> None:
        url = self.url / name
        with _in_plain_words(url):
            file_system(self.url.protocol).put_file(str(source), url.path)

    def fetch(self, name: str, target: Path) -> None:
        """Copy an object to a file of this machine."""
        url = self.url / name
        with _in_plain_words(url):
            file_system(self.url.protocol).get_file(url.path, str(target))

    def delete(self, *names: str) -> None:
        """Delete objects; those that are not there count as deleted."""
        for name in names:
            url = self.url / name
            with suppress(FileNotFoundError), _in_plain_words(url, absent=FileNotFoundError):
                file_system(url.protocol).rm_file(url.path)


def file_system(protocol: str) -> Any:
    """The file system of a protocol: one per process, since connections do not survive a fork."""
    return _file_system(protocol, os.getpid())


@cache
def _file_system(protocol: str, _process: int) -> Any:
    require("fsspec", *(("s3fs",) if protocol in ("s3", "s3a") else ()), extra="storage")
    import fsspec

    try:
        return fsspec.filesystem(protocol, use_listings_cache=False, skip_instance_cache=True)
    except ImportError as error:
        raise UsageError(f"URLs with {protocol}:// need another package: {error}.") from None
    except ValueError:
        raise UsageError(f"{protocol}:// is no kind of URL that fsspec knows.") from None


@contextmanager
def _in_plain_words(url: Url, *, absent: type[Exception] = StorageError) -> Iterator[None]:
    """Every failure as a StorageError, except that something is `absent`."""
    shown = escape_for_display(str(url))
    try:
        yield
    except (StorageError, UsageError):
        raise
    except FileNotFoundError as error:
        reason = str(error).strip().removesuffix(".")
        raise absent(f"{shown} does not exist: {reason}.") from None
    except PermissionError as error:
        raise StorageError(f"{shown} may not be used with these credentials.", detail=str(error)) from None
    except Exception as error:  # fsspec's file systems raise whatever their libraries do
        if type(error).__name__ in _NO_CREDENTIALS:
            raise StorageError(f"There are no credentials for {shown} in the environment.", detail=str(error)) from None
        raise StorageError(
            f"{shown} could not be reached; it was tried several times.", detail=f"{type(error).__name__}: {error}"
        ) from None


def _list_s3(url: Url, *, deep: bool) -> Iterator[RemoteEntry]:
    bucket, _, folder = url.path.partition("/")
    prefix = f"{folder}/" if folder else ""
    request = {"Bucket": bucket, "Prefix": prefix, "Delimiter": "" if deep else "/"}
    while True:
        page = file_system(url.protocol).call_s3("list_objects_v2", **request)
        for each in page.get("CommonPrefixes", ()):
            yield RemoteEntry(each["Prefix"][len(prefix) : -1], 0, "", is_folder=True)
        for each in page.get("Contents", ()):
            name = each["Key"][len(prefix) :]
            if name and not (name.endswith("/") and each["Size"] == 0):  # consoles mark folders like this
                yield RemoteEntry(name, each["Size"], each["ETag"])
        if not page.get("IsTruncated"):
            return
        request["ContinuationToken"] = page["NextContinuationToken"]


def _list(url: Url, *, deep: bool) -> Iterator[RemoteEntry]:
    files = file_system(url.protocol)
    root = files._strip_protocol(str(url)).rstrip("/")
    found = files.find(root, detail=True).values() if deep else files.ls(root, detail=True)
    for each in found:
        name = each["name"].rstrip("/").removeprefix(f"{root}/")
        if each["type"] == "directory":
            yield RemoteEntry(name, 0, "", is_folder=True)
        elif each["type"] == "file":
            yield RemoteEntry(name, each["size"], _version(url, each))


def _version(url: Url, info: Mapping[str, Any]) -> str:
    version = next((str(info[key]) for key in _VERSIONS if info.get(key) is not None), None)
    if version is None:
        raise UsageError(f"{url.protocol}:// does not tell whether a file has changed, so it cannot be used.")
    return version
