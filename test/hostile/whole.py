"""Attacks on a whole submission, each of which needs a run of its own: archives, predictions.json, garbage."""

import gzip
import io
import json
import tarfile
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hostile.attacks import BOMB, JSON, LINKS, TWO
from hostile.scene import HIDDEN, HONEST, NUMBER, TABLE, table, write_honest
from readers.made import mha, tar_bytes, zip_bytes

ARCHIVE = "archive with a symbolic or hard link, `..`, an absolute path, a device"
OVERLAP = "overlapping zip members, members that contradict the directory"
TAR = "endless or huge tar headers"
JOB_PATH = "`..` or an absolute path in `predictions.json` (pk, `relative_path`)"
NOTHING = "files that are no predictions at all"
DEEP = "deep or very many folders"


@dataclass(frozen=True)
class WholeAttack:
    """`words` are the last line of stderr, which the participant sees; the exit code is 1 and nothing is written."""

    row: str
    words: str
    files: Callable[[], dict[str, bytes]]


def with_name(name: str) -> Callable[[], dict[str, bytes]]:
    return lambda: {"s.zip": zip_bytes({name: b"x", f"{HONEST}.json": b"{}"})}


def twice() -> dict[str, bytes]:
    return {"s.zip": zip_bytes({"a": b"x", "b": b"x"}).replace(b"b", b"a")}


def long_header() -> dict[str, bytes]:
    member = tarfile.TarInfo("x")
    member.type, member.size = tarfile.GNUTYPE_LONGNAME, 2_000_000
    return {"s.tar": member.tobuf(tarfile.GNU_FORMAT) + b"n" * 2_000_000}


def jobs(*entries: Any) -> Callable[[], dict[str, bytes]]:
    return lambda: {"predictions.json": json.dumps(entries).encode()}


WHOLE_ATTACKS = {
    "leads_out": WholeAttack(ARCHIVE, "'../x', which leads out of the archive.", with_name("../x")),
    "absolute": WholeAttack(
        ARCHIVE, "holds the absolute path '/output/metrics.json'.", with_name("/output/metrics.json")
    ),
    "windows_path": WholeAttack(ARCHIVE, "a Windows path; use forward slashes.", with_name("..\\x")),
    "member_twice": WholeAttack(OVERLAP, "holds more than one member named", twice),
    "bomb": WholeAttack(
        BOMB,
        "unpacks to more than",
        lambda: {"s.tar.gz": gzip.compress(tar_bytes({f"{HONEST}.mha": bytes(300_000_000)}), 9)},
    ),
    "long_header": WholeAttack(TAR, "holds an extended header that is too long.", long_header),
    "deep_folders": WholeAttack(
        DEEP, "is nested deeper than 16 folders; send a flatter folder.", lambda: {"d/" * 20 + "x": b"", "y": b""}
    ),
    "no_archive": WholeAttack(
        ARCHIVE, "is not a zip, tar or gzipped tar archive.", lambda: {"s.tgz": b"\x1f\x8b\x08\0 none"}
    ),
    "no_prediction": WholeAttack(NOTHING, "belongs to an expected case", lambda: {"holiday.jpg": b"\xff\xd8\xff\xe0"}),
    "no_jobs": WholeAttack(JSON, "is not valid JSON", lambda: {"predictions.json": b"{not json"}),
    "job_outside": WholeAttack(JOB_PATH, "job 1 of predictions.json has no usable pk.", jobs({"pk": "../../x"})),
    "job_absolute": WholeAttack(JOB_PATH, "job 1 of predictions.json has no usable pk.", jobs({"pk": "/etc"})),
    "job_twice": WholeAttack(JOB_PATH, "names the same job twice.", jobs({"pk": "a"}, {"pk": "a"})),
    "deep_jobs": WholeAttack(JSON, "is nested deeper than 200 levels.", lambda: {"predictions.json": b"[" * 100_000}),
}


def write_whole(attack: WholeAttack, folder: Path) -> Path:
    for name, content in attack.files().items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return folder


def job(case: str, *, path: str = "images/mask") -> dict[str, Any]:
    return {
        "pk": f"job-{case}",
        "status": "Succeeded",
        "inputs": [{"socket": {"slug": "scan"}, "image": {"name": f"{case}.mha"}}],
        "outputs": [{"socket": {"slug": "mask", "relative_path": path}, "image": {"name": "out.mha"}}],
        "exec_duration": "PT10S",
    }


JOB_CASES = {
    "leads_out": (JOB_PATH, "'../../references' is not a path inside the job's output."),
    "absolute": (JOB_PATH, "is not a path inside the job's output."),
    "linked_folder": (LINKS, "is a symbolic link or is reached through one; send the file itself."),
    "linked_image": (LINKS, "is a symbolic link or is reached through one; send the file itself."),
    "two_images": (TWO, "must hold exactly one .mha or .tif image in 'images/mask', found: a.mha, b.mha."),
    "two_jobs": (TWO, "There are 2 predictions for this case"),
}
"""Attacks on one case each, in one submission of jobs: the row of docs/security.md and the words."""


def write_jobs(folder: Path, *, hidden: Path) -> Path:
    """An honest job, and one for every attack of JOB_CASES."""
    paths = {"leads_out": "../../references", "absolute": str(hidden)}
    entries = [job(case, path=paths.get(case, "images/mask")) for case in (HONEST, *JOB_CASES)]
    entries.append(job("two_jobs") | {"pk": "another"})
    for entry in entries:
        output = folder / str(entry["pk"]) / "output/images/mask"
        output.mkdir(parents=True)
        (output / "a.mha").write_bytes(mha(pixels=HIDDEN.tobytes()))
    (folder / "job-two_images/output/images/mask/b.mha").write_bytes(b"")
    image = folder / "job-linked_image/output/images/mask/a.mha"
    image.unlink()
    image.symlink_to(hidden / "linked_image.mha")
    images = folder / "job-linked_folder/output/images/mask"
    (images / "a.mha").unlink()
    images.rmdir()
    images.symlink_to(hidden)
    (folder / "predictions.json").write_text(json.dumps(entries))
    return folder


def archive_with_a_link(folder: Path, *, hidden: Path) -> bytes:
    """An honest case, and one whose image is a link to its reference: that case alone is lost."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for path in sorted(write_honest(folder, [HONEST, "linked"]).iterdir()):
            if path.name != "linked.mha":
                archive.write(path, path.name)
        archive.writestr(TABLE, table({HONEST: [NUMBER], "linked": [NUMBER]}))
        member = zipfile.ZipInfo("linked.mha")
        member.create_system, member.external_attr = 3, 0o120777 << 16
        archive.writestr(member, str(hidden / "linked.mha"))
    return buffer.getvalue()
