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
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from places import ROOT
from tools.report.page_check import Page

REPORTS = ROOT / "test" / "submissions" / "reports"

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
    *("torch", "SimpleITK", "h5py", "sklearn", "monai", "grand_challenge_metrics", "cc3d", "isal"),
    *("skimage", "networkx", "matplotlib", "starlette", "uvicorn", "evalica", "pandas", "PIL"),
    *("radfact_lite", "openai", "distributed", "fsspec", "s3fs", "altair", "vl_convert"),
)


def podium(*arguments: str | Path, missing: tuple[str, ...] = EXTRA_PACKAGES) -> "subprocess.CompletedProcess[str]":
    words = [sys.executable, "-c", PROGRAM, ",".join(missing), *map(str, arguments)]
    return subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False, timeout=300)


def pins(requirements: list[str]) -> dict[str, str]:
    """Package -> version; every requirement has one pin."""
    found = [re.fullmatch(r"([A-Za-z0-9_.-]+)==([0-9.]+)", requirement) for requirement in requirements]
    assert all(found), requirements
    return {match[1]: match[2] for match in found if match}


def test_every_pin_is_the_same_wherever_it_stands() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    lines = (ROOT / "requirements.txt").read_text().splitlines()
    image = pins([line for line in lines if line and not line.startswith("#")])
    assert pins([*project["dependencies"], *extras["score"]]) == image
    for name in ("simulate", "arena", "volumes", "judge", "cluster", "storage"):
        for package, version in pins(extras[name]).items():
            assert image.get(package, version) == version, package


def locked(name: str) -> dict[str, str]:
    """Package -> version of a lock; every package has hashes."""
    content = (ROOT / name).read_text()
    found = re.findall(r"^([a-z0-9-]+)==(\S+)((?: \\\n    --hash=sha256:[0-9a-f]{64})+)$", content, re.MULTILINE)
    assert len(found) == len(re.findall(r"^[^#\s]", content, re.MULTILINE)), f"{name}: a package without hashes"
    return {package: version.removesuffix("+cpu") for package, version, _ in found}


def test_the_image_has_every_module_that_another_platform_needs(tmp_path: Path) -> None:
    """The Dockerfile removes tools; the rest must be complete."""
    (removed,) = re.findall(r"^RUN rm -rf ((?:podium/tools/[\w.]+ )+)", (ROOT / "Dockerfile").read_text(), re.MULTILINE)
    shutil.copytree(ROOT / "podium", tmp_path / "podium", ignore=shutil.ignore_patterns("__pycache__"))
    for name in removed.split():
        path = tmp_path / name
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    code = "import podium.tools.platforms.bundle, podium.tools.platforms.results; print(podium.__file__)"
    done = subprocess.run(
        [sys.executable, "-P", "-c", code],
        env={"PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
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
def test_the_locks_hold_the_pins(lock: str, extras: tuple[str, ...]) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    named = [*project["dependencies"], *(pin for extra in extras for pin in project["optional-dependencies"][extra])]
    while included := next((pin for pin in named if pin.startswith("podium[")), None):
        named.remove(included)
        for extra in included.removeprefix("podium[").removesuffix("]").split(","):
            named += project["optional-dependencies"][extra]
    versions = locked(lock)
    for pin in named:
        package, version = re.sub(r"\[.*\]", "", pin).split("==")
        assert versions.get(normalized(package)) == version, f"{lock} does not hold {pin}: run scripts/lock.sh"


@pytest.mark.parametrize("lock", ["scripts/requirements.lock", "podium/tools/arena/deploy/requirements.lock"])
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
    for lock in (
        "scripts/requirements.lock",
        "scripts/requirements-dev.lock",
        "podium/tools/arena/deploy/requirements.lock",
    ):
        assert not re.search(r"://|--(extra-)?index|--find-links", (ROOT / lock).read_text())


def test_ranking_and_reports_need_the_base_install_only(tmp_path: Path) -> None:
    done = podium(
        *("evaluate", "--input", REPORTS / "molar", "--output", tmp_path / "molar"),
        *("--ground-truth", ROOT / "ground-truth" / "reports"),
    )
    assert done.returncode == 0, done.stderr
    shutil.copytree(tmp_path / "molar", tmp_path / "twin")
    done = podium(
        "rank",
        tmp_path / "molar",
        tmp_path / "twin",
        "--output",
        tmp_path / "ranking",
        "--scheme",
        "platform",
        "--bootstraps",
        "10",
    )
    assert done.returncode == 0, done.stdout + done.stderr
    for file in (tmp_path / "ranking" / "ranking.json", tmp_path / "molar" / "metrics.json"):
        done = podium("report", file, "--output", tmp_path / "page.html")
        assert done.returncode == 0, done.stdout + done.stderr
        page = Page((tmp_path / "page.html").read_text(encoding="utf-8"))
        assert "This page has tables only. A page with charts needs vl-convert-python: run" in page.all_words
        assert "pip install '.[report]'" in page.all_words
        assert page.plots == []
        assert len(page.scripts) == 1, "tables sort and filter, and the library for charts is left out"
        assert len(page.tables) > len(page.figures) > 0, "every chart's figures are a table"
        assert "figures/" not in page.text


def test_a_challenge_is_begun_with_the_base_install_only(tmp_path: Path) -> None:
    done = podium("new", "liver", "--output", tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    "arguments",
    [("validate", REPORTS / "cuspid"), ("leaderboard", "lesions"), ("arena", "--help"), ("simulate", "--help")],
    ids=lambda arguments: arguments[0],
)
def test_these_commands_need_the_base_install_only(arguments: tuple[str | Path, ...]) -> None:
    done = podium(*arguments)
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
        (("arena", "serve", "."), "starlette, uvicorn", "arena"),
        (("judge", REPORTS / "molar", "--references", ROOT / "ground-truth/reports"), "radfact-lite", "judge"),
        (
            ("batch", REPORTS, "--output", "/dev/null", "--scheduler", "tcp://localhost:1"),
            "distributed",
            "score,cluster",
        ),
    ],
    ids=["validate", "manifest", "validate-images", "simulate", "arena", "judge", "batch"],
)
def test_what_is_missing_is_said_with_the_command_to_run(
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


@pytest.mark.parametrize("other", [(), (f"sha256:{1:064x}",)], ids=["one hash", "two hashes"])
def test_torch_comes_from_the_index_that_is_named(python: Path, other: tuple[str, ...], tmp_path: Path) -> None:
    wheel = make_wheel(tmp_path / "cpu")
    done = install(python, *other, hash_of(wheel), torch_index=(tmp_path / "cpu").as_uri())
    assert done.returncode == 0, done.stderr
    assert has_torch(python)


def test_torch_comes_from_a_folder_where_the_index_is_out_of_reach(python: Path, tmp_path: Path) -> None:
    wheel = make_wheel(tmp_path / "cpu")
    done = install(python, hash_of(wheel), find_links=str(wheel.parent))
    assert done.returncode == 0, done.stderr
    assert has_torch(python)


def test_torch_never_comes_from_pips_usual_index(python: Path, tmp_path: Path) -> None:
    wheel = make_wheel(tmp_path / "usual")
    done = install(python, hash_of(wheel), pip_index=(tmp_path / "usual").as_uri())
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == (
        f"install-torch: there is no {PIN} at {NOBODY_LISTENS}: make it reachable, set TORCH_INDEX to a mirror of it, "
        "or point PIP_FIND_LINKS to a folder with that file."
    )
    assert not has_torch(python)


def test_another_file_of_the_same_version_is_refused(python: Path, tmp_path: Path) -> None:
    make_wheel(tmp_path / "cpu", content="print('taken over')")
    index = (tmp_path / "cpu").as_uri()
    done = install(python, hash_of(make_wheel(tmp_path / "locked")), torch_index=index)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == (
        f"install-torch: the file of {PIN} at {index} has another hash than requirements.lock. If you trust it, add "
        f"the hash that pip got, as one more --hash line below {PIN} in requirements.lock and requirements-dev.lock."
    )
    assert not has_torch(python)


def test_a_cuda_build_is_no_cpu_build(python: Path, tmp_path: Path) -> None:
    wheel = make_wheel(tmp_path / "cuda", version="9.8.7")
    done = install(python, hash_of(wheel), torch_index=(tmp_path / "cuda").as_uri())
    assert done.returncode == 1
    assert f"there is no {PIN} at " in done.stderr.splitlines()[-1]
    assert not has_torch(python)
