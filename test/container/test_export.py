"""export.sh, run on a copy of the tree, so that neither dist/ nor the tags of this machine are touched."""

import gzip
import json
import os
import re
import shutil
import subprocess
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from container.engine import docker, evaluate, python
from jsonschema import Draft7Validator
from places import ROOT
from referencing import Registry, Resource

import podium

pytestmark = pytest.mark.container

COMPRESSED_LIMIT = 380 * 10**6
PHASE = "carotid-final"  # a phase is a folder of its own; `kind` says which code scores it
VERSION = f"{podium.__version__}.exported{os.getpid()}"
TAG = f"podium-evaluation-{PHASE}:{VERSION}"
NAME = f"podium-evaluation-{PHASE}_{VERSION}"


@dataclass(frozen=True)
class Export:
    tree: Path
    image: Path
    sbom: Path
    ground_truth: Path
    said: str

    @property
    def digest(self) -> str:
        line = next(line for line in self.said.splitlines() if line.startswith("Image digest, "))
        return line.split()[-1]


def export(tree: Path, *arguments: str) -> Export:
    """Runs export.sh; the image is then in the file alone, and the layers that no other image has are gone."""
    done = subprocess.run(
        [tree / "export.sh", PHASE, *arguments],
        capture_output=True,
        text=True,
        timeout=1200,
        stdin=subprocess.DEVNULL,
        env=os.environ | {"SOURCE_DATE_EPOCH": "1767225600"},
        check=False,
    )
    docker("image", "rm", TAG, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    paths = [tree / "dist" / f"{NAME}{ending}" for ending in (".tar.gz", ".cdx.json", "_ground-truth.tar.gz")]
    assert sorted((tree / "dist").iterdir()) == sorted(paths)
    image, sbom, ground_truth = paths
    return Export(tree=tree, image=image, sbom=sbom, ground_truth=ground_truth, said=done.stdout)


@pytest.fixture(scope="module")
def exported(engine: None, image: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Export]:  # noqa: ARG001
    """The export of a phase of carotid from a tree with another challenge. `image` keeps the layers they share."""
    tree = tmp_path_factory.mktemp("tree")
    for name in ("Dockerfile", ".dockerignore", "build.sh", "export.sh", "evaluate.py"):
        shutil.copy2(ROOT / name, tree / name)
    folders = {name: name for name in ("podium", "image", "scripts")}
    for name, copy in {**folders, "ground-truth/carotid": f"ground-truth/{PHASE}"}.items():
        shutil.copytree(ROOT / name, tree / copy, ignore=shutil.ignore_patterns("__pycache__"))
    other = tree / "ground-truth/other"
    other.mkdir()
    (other / "challenge.toml").write_text('kind = "other"\n')
    (tree / "ground-truth" / PHASE / "challenge.toml").chmod(0o600)
    (tree / "podium/__init__.py").write_text(f'__version__ = "{VERSION}"\n')
    export_ = export(tree)
    loaded = docker("load", f"--input={export_.image}").stdout
    assert loaded.splitlines()[-1] == f"Loaded image: {TAG}"
    yield export_
    docker("image", "rm", TAG, check=False)
    shutil.rmtree(tree)


def test_the_image_is_a_gzip_file_of_bearable_size(exported: Export) -> None:
    assert exported.image.stat().st_size <= COMPRESSED_LIMIT
    with gzip.open(exported.image) as stream:
        assert stream.read(1) != b""


def test_names_sizes_and_checksums_are_printed(exported: Export) -> None:
    for path in (exported.image, exported.sbom, exported.ground_truth):
        checksum = subprocess.run(["sha256sum", path], capture_output=True, text=True, check=True).stdout.split()[0]
        assert f"dist/{path.name}" in exported.said
        assert checksum in exported.said


def test_the_loaded_image_scores_alike_with_the_exported_ground_truth_and_the_baked_one(
    exported: Export, carotid_metrics: bytes, carotid_submission: Path, tmp_path: Path
) -> None:
    uploaded = tmp_path / "ground_truth"
    with tarfile.open(exported.ground_truth) as archive:
        archive.extractall(uploaded, filter="data")
    baked = evaluate(TAG, carotid_submission, tmp_path / "baked")
    apart = evaluate(TAG, carotid_submission, tmp_path / "apart", ground_truth=uploaded)
    assert baked.metrics == apart.metrics
    expected = {**json.loads(carotid_metrics), "challenge": PHASE}
    assert json.loads(baked.metrics) == expected, "the same figures under the phase's own name"


def test_the_other_challenge_is_neither_in_the_image_nor_in_the_upload(exported: Export) -> None:
    assert python(TAG, "import os; print(*os.listdir('ground-truth'))").split() == [PHASE]
    assert python(TAG, "import os; print(os.environ['PODIUM_CHALLENGE'])") == f"{PHASE}\n"
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


def test_the_ground_truth_archive_is_never_the_same_unless_that_is_wanted(exported: Export) -> None:
    """The platform refuses an archive that it has seen before."""
    with tarfile.open(exported.ground_truth) as archive:
        file = archive.extractfile("build.txt")
        assert file is not None
        name, version, date = file.read().decode().splitlines()
    assert (name, version) == (f"name: podium-evaluation-{PHASE}", f"version: {VERSION}")
    assert re.fullmatch(r"date: 20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}Z", date)


def test_every_time_in_the_image_is_the_commits(exported: Export) -> None:
    configuration = json.loads(docker("image", "inspect", TAG).stdout)[0]
    assert configuration["Id"] == exported.digest
    assert configuration["Created"] == "2026-01-01T00:00:00Z"
    times = "{int(path.lstat().st_mtime) for top in ('/opt', '/usr') for path in Path(top).rglob('*')}"
    code = f"from pathlib import Path; print({times})"
    assert python(TAG, code) == "{1767225600}\n"


def test_a_second_export_gives_the_same_image(exported: Export) -> None:
    """Built again in its last layers, from files with other times and modes, an hour of the clock apart or a second."""
    for path in (exported.tree / "podium").rglob("*.py"):
        os.utime(path, (1, 1))
        path.chmod(0o600)
    first = exported.image.read_bytes(), exported.sbom.read_bytes()
    docker("image", "rm", "--force", TAG)
    second = export(exported.tree, "--reproducible")
    assert second.digest == exported.digest
    assert (second.image.read_bytes(), second.sbom.read_bytes()) == first
    with tarfile.open(second.ground_truth) as archive:
        assert "build.txt" not in archive.getnames()


def test_the_sbom_is_valid_and_names_what_is_in_the_image(exported: Export) -> None:
    document = json.loads(exported.sbom.read_text())
    schemas = files("cyclonedx.schema._res")
    registry: Registry[Any] = Registry()
    for name in ("spdx", "jsf-0.82"):
        schema = json.loads((schemas / f"{name}.SNAPSHOT.schema.json").read_text())
        address = f"http://cyclonedx.org/schema/{name}.SNAPSHOT.schema.json"  # as the main schema names it
        registry = registry.with_resource(address, Resource.from_contents(schema))
    schema = json.loads((schemas / "bom-1.6.SNAPSHOT.schema.json").read_text())
    Draft7Validator(schema, registry=registry).validate(document)

    assert document["metadata"]["component"]["version"] == VERSION
    components = {component["name"]: component for component in document["components"]}
    lock = (ROOT / "scripts/requirements.lock").read_text()
    torch = components["torch"]
    assert f"torch=={torch['version']} " in lock
    assert f"--hash=sha256:{torch['hashes'][0]['content']}" in lock
    assert components["numpy"]["licenses"] != []
    assert components["libc6"]["purl"].startswith("pkg:deb/debian/libc6@")
    assert components["python:3.11"]["version"].startswith("sha256:")
    assert {"pip", "apt", "dpkg", "perl-base", "bash"} & set(components) == set()
