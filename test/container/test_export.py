"""export.sh, run on a copy of the tree, so that neither dist/ nor the tags of this machine are touched."""

import gzip
import json
import os
import shutil
import subprocess
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from container.engine import REPOSITORY, docker, evaluate, shell

import podium

# The platform takes larger files; this keeps an upload bearable and notices a package that crept in.
COMPRESSED_LIMIT = 650 * 10**6
PHASE = "carotid-final"  # a phase is a folder of its own; `kind` says which code scores it
NEEDED = (
    "Dockerfile",
    ".dockerignore",
    "build.sh",
    "export.sh",
    "evaluate.py",
    "install-torch.sh",
    "requirements.lock",
)


@dataclass(frozen=True)
class Export:
    tag: str
    image: Path
    ground_truth: Path
    said: str


@pytest.fixture(scope="module")
def exported(engine: None, image: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Export]:  # noqa: ARG001
    """The export of a phase of carotid from a tree with another challenge. `image` keeps the layers they share."""
    tree = tmp_path_factory.mktemp("tree")
    for name in NEEDED:
        shutil.copy2(REPOSITORY / name, tree / name)
    for name, copy in (("podium", "podium"), ("ground-truth/carotid", f"ground-truth/{PHASE}")):
        shutil.copytree(REPOSITORY / name, tree / copy, ignore=shutil.ignore_patterns("__pycache__"))
    other = tree / "ground-truth/other"
    other.mkdir()
    (other / "challenge.toml").write_text('kind = "other"\n')
    (tree / "ground-truth" / PHASE / "challenge.toml").chmod(0o600)
    version = f"{podium.__version__}.exported{os.getpid()}"
    (tree / "podium/__init__.py").write_text(f'__version__ = "{version}"\n')

    done = subprocess.run(
        [tree / "export.sh", PHASE],
        capture_output=True,
        text=True,
        timeout=1200,
        stdin=subprocess.DEVNULL,
        check=False,
    )
    tag = f"podium-evaluation-{PHASE}:{version}"
    docker("image", "rm", tag, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    name = f"podium-evaluation-{PHASE}_{version}"
    assert sorted(path.name for path in (tree / "dist").iterdir()) == [f"{name}.tar.gz", f"{name}_ground-truth.tar.gz"]
    image_file, ground_truth_file = tree / "dist" / f"{name}.tar.gz", tree / "dist" / f"{name}_ground-truth.tar.gz"
    loaded = docker("load", f"--input={image_file}").stdout
    assert loaded.splitlines()[-1] == f"Loaded image: {tag}"
    yield Export(tag=tag, image=image_file, ground_truth=ground_truth_file, said=done.stdout)
    docker("image", "rm", tag, check=False)


def test_the_image_is_a_gzip_file_of_bearable_size(exported: Export) -> None:
    assert exported.image.stat().st_size <= COMPRESSED_LIMIT
    with gzip.open(exported.image) as stream:
        assert stream.read(1) != b""


def test_names_sizes_and_checksums_are_printed(exported: Export) -> None:
    for path in (exported.image, exported.ground_truth):
        checksum = subprocess.run(["sha256sum", path], capture_output=True, text=True, check=True).stdout.split()[0]
        assert f"dist/{path.name}" in exported.said
        assert checksum in exported.said


def test_the_loaded_image_scores_alike_with_the_exported_ground_truth_and_the_baked_one(
    exported: Export, carotid_metrics: bytes, carotid_submission: Path, tmp_path: Path
) -> None:
    uploaded = tmp_path / "ground_truth"
    with tarfile.open(exported.ground_truth) as archive:
        archive.extractall(uploaded, filter="data")
    baked = evaluate(exported.tag, carotid_submission, tmp_path / "baked")
    apart = evaluate(exported.tag, carotid_submission, tmp_path / "apart", ground_truth=uploaded)
    assert baked.metrics == apart.metrics
    expected = {**json.loads(carotid_metrics), "challenge": PHASE}
    assert json.loads(baked.metrics) == expected, "the same figures under the phase's own name"


def test_the_other_challenge_is_neither_in_the_image_nor_in_the_upload(exported: Export) -> None:
    assert shell(exported.tag, "ls -A /opt/app/ground-truth").split() == [PHASE]
    assert shell(exported.tag, "echo $PODIUM_CHALLENGE") == f"{PHASE}\n"
    with tarfile.open(exported.ground_truth) as archive:
        names = archive.getnames()
    assert f"{PHASE}/challenge.toml" in names
    assert [name for name in names if "other" in name] == []


def test_the_ground_truth_archive_depends_on_its_content_alone(exported: Export) -> None:
    with tarfile.open(exported.ground_truth) as archive:
        members = archive.getmembers()
    assert [member.name for member in members] == sorted(member.name for member in members)
    assert {(member.mtime, member.uid, member.gid, member.uname, member.gname) for member in members} == {
        (0, 0, 0, "", "")
    }
    assert {oct(member.mode) for member in members} <= {"0o644", "0o755"}
    assert exported.ground_truth.read_bytes()[4:8] == bytes(4)  # gzip's own time stamp
