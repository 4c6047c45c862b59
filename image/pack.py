"""Makes an archive of `docker save` independent of when and where the image was built, and prints the image's digest.

    python3 pack.py SAVED PACKED SECONDS

Every time in PACKED is SECONDS after 1970; what describes the build instead of the image is left out. So the same
content gives the same digest, which `docker load` shows as the image's ID.
"""

import hashlib
import io
import json
import sys
import tarfile
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any

CHUNK = 1 << 20


def main(saved: Path, packed: Path, seconds: int) -> str:
    with tarfile.open(saved) as archive, tarfile.open(packed, "w", format=tarfile.PAX_FORMAT) as result:
        (manifest,) = json.load(read(archive, "manifest.json"))
        configuration = json.load(read(archive, manifest["Config"]))
        names: list[str] = []
        for layer in manifest["Layers"]:
            with tempfile.TemporaryFile(dir=packed.parent) as file:
                rewrite_layer(read(archive, layer), file, seconds)
                digest = sha256(file)
                name = f"{digest}/layer.tar"
                if name not in names:  # two empty layers are alike
                    add(result, name, file, seconds)
                names.append(name)
        content = json.dumps(describe(configuration, names, seconds), sort_keys=True).encode()
        digest = hashlib.sha256(content).hexdigest()
        index = [{"Config": f"{digest}.json", "RepoTags": manifest["RepoTags"], "Layers": names}]
        add(result, f"{digest}.json", io.BytesIO(content), seconds)
        add(result, "manifest.json", io.BytesIO(json.dumps(index).encode()), seconds)
    return f"sha256:{digest}"


def read(archive: tarfile.TarFile, name: str) -> IO[bytes]:
    member = archive.getmember(name)
    if member.issym():  # older engines write a layer that occurs twice as a link to the first
        member = archive.getmember(str(Path(name).parent.parent / member.linkname.removeprefix("../")))
    stream = archive.extractfile(member)
    assert stream is not None
    return stream


def rewrite_layer(layer: IO[bytes], file: IO[bytes], seconds: int) -> None:
    with (
        tarfile.open(fileobj=layer) as source,
        tarfile.open(fileobj=file, mode="w", format=tarfile.PAX_FORMAT) as target,
    ):
        for member in source:
            member.mtime = seconds
            member.uname = member.gname = ""
            member.pax_headers = {}  # access times, and names that tarfile writes again where they are needed
            target.addfile(member, source.extractfile(member) if member.isreg() else None)


def describe(configuration: dict[str, Any], layers: list[str], seconds: int) -> dict[str, Any]:
    created = datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    settings = {key: value for key, value in configuration["config"].items() if key not in ("Image", "Hostname")}
    return {
        "architecture": configuration["architecture"],
        "os": configuration["os"],
        "created": created,
        "config": settings,
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{name.split('/', maxsplit=1)[0]}" for name in layers]},
        "history": [{**entry, "created": created} for entry in configuration["history"]],
    }


def sha256(file: IO[bytes]) -> str:
    file.seek(0)
    digest = hashlib.sha256()
    while chunk := file.read(CHUNK):
        digest.update(chunk)
    return digest.hexdigest()


def add(archive: tarfile.TarFile, name: str, file: IO[bytes], seconds: int) -> None:
    member = tarfile.TarInfo(name)
    member.size = file.seek(0, io.SEEK_END)
    member.mtime = seconds
    file.seek(0)
    archive.addfile(member, file)


if __name__ == "__main__":
    print(main(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3])))
