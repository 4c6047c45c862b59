"""The base install is light: what rank, report and checks of text need, and one sentence where more is missing."""

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tomllib
import venv
import zipfile
from importlib.metadata import distribution
from itertools import chain
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from places import ROOT
from tools.report.page_check import Page

pytestmark = pytest.mark.slow

REPORTS = ROOT / "test" / "submissions" / "reports"
ARENA_LOCK = "podium/tools/arena/deploy/requirements.lock"

# Runs a command as where only the base dependencies are installed.
PROGRAM = """
import sys
from importlib.abc import MetaPathFinder

class Missing(MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in sys.argv[1].split(","):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Missing())
import importlib.util
real = importlib.util.find_spec
importlib.util.find_spec = lambda name, *more: None if name in sys.argv[1].split(",") else real(name, *more)
from podium.cli import main
sys.exit(main(sys.argv[2:]))
"""
# What the extras bring, as it is imported.
EXTRA_PACKAGES = (
    *("torch", "SimpleITK", "h5py", "sklearn", "monai", "cc3d", "isal"),
    *("skimage", "networkx", "matplotlib", "starlette", "hypercorn", "evalica", "pandas", "PIL"),
    *("radfact_lite", "openai", "distributed", "fsspec", "s3fs", "altair", "vl_convert"),
)


def podium(*arguments: str | Path, missing: tuple[str, ...] = EXTRA_PACKAGES) -> "subprocess.CompletedProcess[str]":
    words = [sys.executable, "-c", PROGRAM, ",".join(missing), *map(str, arguments)]
    return subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False, timeout=300)


PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXTRAS = PROJECT["optional-dependencies"]


def test_the_image_pins_what_the_project_asks_for() -> None:
    """Ranges in pyproject.toml, one exact version of each in requirements.txt."""
    lines = [line for line in (ROOT / "requirements.txt").read_text().splitlines() if not line.startswith("#")]
    pins = dict(line.split("==") for line in lines)
    asked = {each.name: each.specifier for each in map(Requirement, [*PROJECT["dependencies"], *EXTRAS["score"]])}
    assert {*pins} == {*asked}
    assert [name for name, version in pins.items() if version not in asked[name]] == []


def test_the_project_installs_beside_other_packages() -> None:
    """No exact version in pyproject.toml, and no upper bound on Python."""
    asked = [Requirement(text) for text in (*PROJECT["dependencies"], *chain.from_iterable(EXTRAS.values()))]
    assert [str(each) for each in asked if "==" in str(each.specifier)] == []
    assert PROJECT["requires-python"] == ">=3.11"


def locked(name: str) -> dict[str, str]:
    """Package -> version of a lock; every package has hashes."""
    content = (ROOT / name).read_text()
    found = re.findall(r"^([a-z0-9-]+)==(\S+)((?: \\\n    --hash=sha256:[0-9a-f]{64})+)$", content, re.MULTILINE)
    assert len(found) == len(re.findall(r"^[^#\s]", content, re.MULTILINE)), f"{name}: a package without hashes"
    return {package: version.removesuffix("+cpu") for package, version, _ in found}


def test_the_image_has_every_module_that_outputs_and_other_platforms_need(tmp_path: Path) -> None:
    """The Dockerfile removes tools; the rest must be complete."""
    (removed,) = re.findall(r"^RUN rm -rf ((?:podium/tools/[\w.]+ )+)", (ROOT / "Dockerfile").read_text(), re.MULTILINE)
    shutil.copytree(ROOT / "podium", tmp_path / "podium", ignore=shutil.ignore_patterns("__pycache__"))
    for name in removed.split():
        path = tmp_path / name
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    needed = "podium.tools.other_platforms.bundle, podium.tools.other_platforms.results, podium.tools.report.outputs"
    code = f"import {needed}; print(podium.__file__)"
    command = [sys.executable, "-P", "-c", code]
    done = subprocess.run(command, env={"PYTHONPATH": str(tmp_path)}, capture_output=True, text=True, check=False)
    assert done.stdout == f"{tmp_path}/podium/__init__.py\n", done.stderr


def normalized(package: str) -> str:
    return re.sub(r"[-_.]+", "-", package).lower()


@pytest.mark.parametrize(
    ("lock", "extras"),
    [
        ("scripts/requirements.lock", ("score",)),
        ("scripts/requirements-dev.lock", ("score", "dev", "judge", "arena", "volumes")),
    ],
)
def test_the_locks_are_within_the_ranges(lock: str, extras: tuple[str, ...]) -> None:
    named = [*map(Requirement, (*PROJECT["dependencies"], *chain.from_iterable(EXTRAS[extra] for extra in extras)))]
    versions = locked(lock)
    for each in named:
        if each.name == "podium":  # more of our own extras
            named += [Requirement(text) for extra in each.extras for text in EXTRAS[extra]]
        else:
            version = versions.get(normalized(each.name), "")
            assert version, f"{lock} does not hold {each.name}: run scripts/lock.sh"
            assert each.specifier.contains(version), f"{lock} holds {each.name} {version}: run scripts/lock.sh"


@pytest.mark.parametrize("lock", ["scripts/requirements.lock", ARENA_LOCK])
def test_the_locks_hold_what_the_packages_need(lock: str) -> None:
    """They are installed without asking for dependencies, so one that is missing would be missing in the image."""
    versions = locked(lock)
    assert versions.items() <= locked("scripts/requirements-dev.lock").items()
    for package in versions:
        for text in distribution(package).requires or ():
            needed = Requirement(text)
            if needed.marker is None or needed.marker.evaluate({"extra": ""}):
                version = versions.get(normalized(needed.name), "")
                assert version, f"{package} needs {text}: run scripts/lock.sh"
                assert needed.specifier.contains(version, prereleases=True), (package, text, version)


def test_the_locks_name_no_address() -> None:
    for lock in ("scripts/requirements.lock", "scripts/requirements-dev.lock", ARENA_LOCK):
        assert not re.search(r"://|--(extra-)?index|--find-links", (ROOT / lock).read_text())


def test_ranking_and_reports_need_the_base_install_only(tmp_path: Path) -> None:
    done = podium(
        *("evaluate", "--input", REPORTS / "molar", "--output", tmp_path / "molar"),
        *("--ground-truth", ROOT / "ground-truth" / "reports"),
    )
    assert done.returncode == 0, done.stderr
    shutil.copytree(tmp_path / "molar", tmp_path / "twin")
    done = podium(
        *("rank", tmp_path / "molar", tmp_path / "twin", "--output", tmp_path / "ranking"),
        *("--scheme", "platform", "--bootstraps", "10"),
    )
    assert done.returncode == 0, done.stdout + done.stderr
    for file in (tmp_path / "ranking" / "ranking.json", tmp_path / "molar" / "metrics.json"):
        done = podium("report", file, "--output", tmp_path / "page.html")
        assert done.returncode == 0, done.stdout + done.stderr
        page = Page((tmp_path / "page.html").read_text(encoding="utf-8"))
        assert "This page has tables only. A page with charts needs vl-convert-python: run" in page.all_words
        assert "pip install '.[report]'" in page.all_words
        assert page.plots == []
        assert len(page.scripts) == 2, "a line before anything is laid out and tables that sort: no library for charts"
        assert len(page.tables) > len(page.figures) > 0, "every chart's figures are a table"
        assert "figures/" not in page.text


@pytest.mark.parametrize(
    "arguments",
    [
        *(("validate", REPORTS / "cuspid"), ("leaderboard", "lesions"), ("new", "liver", "--output", "{folder}")),
        *(("arena", "--help"), ("simulate", "--help")),
    ],
    ids=lambda arguments: arguments[0],
)
def test_these_commands_need_the_base_install_only(arguments: tuple[str | Path, ...], tmp_path: Path) -> None:
    done = podium(*(tmp_path if word == "{folder}" else word for word in arguments))
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("arguments", "packages", "extra"),
    [
        (("validate", ROOT / "test/submissions/carotid/carina"), "h5py", "score"),
        (("manifest", "--ground-truth", ROOT / "ground-truth/carotid", "--output", "/dev/null"), "h5py", "score"),
        (("validate", ROOT / "test/submissions/lesions/ember"), "SimpleITK", "score"),
        (
            ("simulate", "--algorithm", "command:x", "--images", ".", "--references", ".", "--output", "."),
            "skimage, networkx, matplotlib",
            "score,simulate",
        ),
        (("arena", "serve", "."), "starlette, hypercorn", "arena"),
        (("judge", REPORTS / "molar", "--references", ROOT / "ground-truth/reports"), "radfact-lite", "judge"),
        (
            ("batch", REPORTS, "--output", "/dev/null", "--scheduler", "tcp://localhost:1"),
            "distributed",
            "score,cluster",
        ),
    ],
    ids=["validate", "manifest", "validate-images", "simulate", "arena", "judge", "batch"],
)
def test_a_missing_package_is_named_with_the_command_to_run(
    arguments: tuple[str | Path, ...], packages: str, extra: str
) -> None:
    done = podium(*arguments)
    assert done.returncode == 2
    assert done.stderr == (
        f"This command needs {packages}: run \"pip install '.[{extra}]'\" in the folder of Podium's source.\n"
    )


def test_messages_name_the_installs_of_the_readme() -> None:
    """The table "Install" of the README; every extra in the code stands in a call with `extra=`."""
    listed = set(re.findall(r"pip install '\.\[([a-z,]+)\]'", (ROOT / "README.md").read_text(encoding="utf-8")))
    listed |= {"arena,volumes", "viewer"}  # in the words of the row of the arena
    code = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "podium").rglob("*.py"))
    named = set(re.findall(r'\bextra="([a-z,]+)"', code)) - {"forbid", "ignore"}
    assert len(named) > 5
    assert named - listed == set()


def test_a_package_that_scoring_misses_is_named(tmp_path: Path) -> None:
    done = podium(
        *("evaluate", "--input", ROOT / "test/submissions/lesions/ember", "--output", tmp_path),
        *("--ground-truth", ROOT / "ground-truth/lesions"),
        missing=("cc3d",),
    )
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1].startswith("This command needs cc3d: run ")


# scripts/install-torch.sh: the file that requirements.lock names, from a place that is named, and nothing else.

SCRIPT = ROOT / "scripts/install-torch.sh"
NOBODY_LISTENS = "http://127.0.0.1:9/"
PIN = "torch==9.8.7+cpu"


@pytest.fixture(scope="module")
def environment_with_pip(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A new virtual environment, which takes seconds to make; it is copied, never changed."""
    folder = tmp_path_factory.mktemp("environment") / "venv"
    venv.create(folder, with_pip=True, symlinks=True)
    return folder


@pytest.fixture
def python(environment_with_pip: Path, tmp_path: Path) -> Path:
    """The python of a virtual environment that has pip and setuptools alone."""
    shutil.copytree(environment_with_pip, tmp_path / "venv", symlinks=True)
    return tmp_path / "venv/bin/python"


def make_wheel(index: Path, *, version: str = "9.8.7+cpu", content: str = "") -> Path:
    """A torch, in name at least, in a package index of its own, which is also a folder of files."""
    wheel = index / "torch" / f"torch-{version}-py3-none-any.whl"
    wheel.parent.mkdir(parents=True)
    info = f"torch-{version}.dist-info"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("torch/__init__.py", content)
        archive.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: torch\nVersion: {version}\n")
        archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{info}/RECORD", "")
    (wheel.parent / "index.html").write_text(f'<!DOCTYPE html><html><body><a href="{wheel.name}">t</a></body></html>')
    return wheel


def hash_of(wheel: Path) -> str:
    return f"sha256:{hashlib.sha256(wheel.read_bytes()).hexdigest()}"


def install(
    python: Path, *hashes: str, torch_index: str = NOBODY_LISTENS, pip_index: str = NOBODY_LISTENS, find_links: str = ""
) -> "subprocess.CompletedProcess[str]":
    """The script beside a lock that allows `hashes`; pip knows these places and no other of this machine."""
    tree = python.parents[2] / "tree"
    tree.mkdir()
    shutil.copy2(SCRIPT, tree)
    lines = " \\\n".join(f"    --hash={value}" for value in hashes)
    (tree / "requirements.lock").write_text(
        f"sympy==1.0 \\\n    --hash=sha256:{0:064x}\n{PIN} \\\n{lines}\n    # via monai\nzipp==1.0\n"
    )
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PIP_")}
    environment |= {"PIP_CONFIG_FILE": os.devnull, "PIP_INDEX_URL": pip_index, "TORCH_INDEX": torch_index}
    if find_links:
        environment["PIP_FIND_LINKS"] = find_links
    return subprocess.run(
        [tree / SCRIPT.name, python], capture_output=True, text=True, timeout=300, env=environment, check=False
    )


def has_torch(python: Path) -> bool:
    return subprocess.run([python, "-c", "import torch"], capture_output=True, check=False).returncode == 0


@pytest.mark.parametrize("place", ["torch_index", "find_links"])
@pytest.mark.parametrize("other", [(), (f"sha256:{1:064x}",)], ids=["one hash", "two hashes"])
def test_torch_comes_from_the_place_that_is_named(
    place: str, other: tuple[str, ...], python: Path, tmp_path: Path
) -> None:
    wheel = make_wheel(tmp_path / "cpu")
    place_of = {"torch_index": (tmp_path / "cpu").as_uri(), "find_links": str(wheel.parent)}
    done = install(python, *other, hash_of(wheel), **{place: place_of[place]})
    assert done.returncode == 0, done.stderr
    assert has_torch(python)


def test_another_file_of_the_same_version_is_refused(python: Path, tmp_path: Path) -> None:
    make_wheel(tmp_path / "cpu", content="print('taken over')")
    index = (tmp_path / "cpu").as_uri()
    done = install(python, hash_of(make_wheel(tmp_path / "locked")), torch_index=index)
    assert done.returncode == 1
    assert f"the file of {PIN} at {index} has another hash than requirements.lock" in done.stderr.splitlines()[-1]
    assert not has_torch(python)


@pytest.mark.parametrize(
    ("version", "index"),
    [("9.8.7", "torch_index"), ("9.8.7+cpu", "pip_index")],
    ids=["a CUDA build", "pip's usual index"],
)
def test_torch_is_a_cpu_build_from_the_named_index_alone(
    version: str, index: str, python: Path, tmp_path: Path
) -> None:
    wheel = make_wheel(tmp_path / "index", version=version)
    done = install(python, hash_of(wheel), **{index: (tmp_path / "index").as_uri()})
    assert done.returncode == 1
    assert f"there is no {PIN} at " in done.stderr.splitlines()[-1]
    assert not has_torch(python)
