"""Archives built from names and contents."""

import gzip
import io
import tarfile
import zipfile
from collections.abc import Mapping


def tar_bytes(files: Mapping[str, bytes], kind: int = tarfile.GNU_FORMAT) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=kind) as archive:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return buffer.getvalue()


def tgz_bytes(files: Mapping[str, bytes]) -> bytes:
    return gzip.compress(tar_bytes(files))


def zip_bytes(files: Mapping[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return buffer.getvalue()
