"""The base install is light: what rank, report and checks of text need, and one sentence where more is missing."""

import re
import shutil
import subprocess
import sys
import tomllib
from importlib.metadata import distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement

PROJECT = Path(__file__).resolve().parent.parent
REPORTS = PROJECT / "test" / "submissions" / "reports"

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
    *("radfact_lite", "openai", "distributed", "fsspec", "s3fs"),
)


def podium(*arguments: str | Path, missing: tuple[str, ...] = EXTRA_PACKAGES) -> "subprocess.CompletedProcess[str]":
    words = [sys.executable, "-c", PROGRAM, ",".join(missing), *map(str, arguments)]
    return subprocess.run(words, cwd=PROJECT, capture_output=True, text=True, check=False, timeout=300)


def pins(requirements: list[str]) -> dict[str, str]:
    """Package -> version; every requirement has one pin."""
    found = [re.fullmatch(r"([A-Za-z0-9_.-]+)==([0-9.]+)", requirement) for requirement in requirements]
    assert all(found), requirements
    return {match[1]: match[2] for match in found if match}


def test_every_pin_is_the_same_wherever_it_stands() -> None:
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    lines = (PROJECT / "requirements.txt").read_text().splitlines()
    image = pins([line for line in lines if line and not line.startswith("#")])
    assert pins([*project["dependencies"], *extras["score"]]) == image
    for name in ("simulate", "arena", "volumes", "judge", "cluster", "storage"):
        for package, version in pins(extras[name]).items():
            assert image.get(package, version) == version, package


def locked(name: str) -> dict[str, str]:
    """Package -> version of a lock; every package has hashes."""
    content = (PROJECT / name).read_text()
    found = re.findall(r"^([a-z0-9-]+)==(\S+)((?: \\\n    --hash=sha256:[0-9a-f]{64})+)$", content, re.MULTILINE)
    assert len(found) == len(re.findall(r"^[^#\s]", content, re.MULTILINE)), f"{name}: a package without hashes"
    return {package: version.removesuffix("+cpu") for package, version, _ in found}


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
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"]
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
        assert not re.search(r"://|--(extra-)?index|--find-links", (PROJECT / lock).read_text())


def test_ranking_and_reports_need_the_base_install_only(tmp_path: Path) -> None:
    done = podium(
        *("evaluate", "--input", REPORTS / "molar", "--output", tmp_path / "molar"),
        *("--ground-truth", PROJECT / "ground-truth" / "reports"),
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
        (("validate", PROJECT / "test/submissions/carotid/carina"), "h5py", "score"),
        (("manifest", "--ground-truth", PROJECT / "ground-truth/carotid", "--output", "/dev/null"), "h5py", "score"),
        (("validate", PROJECT / "test/submissions/lesions/ember"), "SimpleITK", "score"),
        (
            ("simulate", "--algorithm", "command:x", "--images", ".", "--references", ".", "--output", "."),
            "skimage, networkx, matplotlib",
            "simulate",
        ),
        (("arena", "serve", "."), "starlette, uvicorn", "arena"),
        (("judge", REPORTS / "molar", "--references", PROJECT / "ground-truth/reports"), "radfact-lite", "judge"),
        (("batch", REPORTS, "--output", "/dev/null", "--scheduler", "tcp://localhost:1"), "distributed", "cluster"),
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


def test_a_package_that_scoring_misses_is_named(tmp_path: Path) -> None:
    done = podium(
        *("evaluate", "--input", PROJECT / "test/submissions/lesions/ember", "--output", tmp_path),
        *("--ground-truth", PROJECT / "ground-truth/lesions"),
        missing=("cc3d",),
    )
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1].startswith("This command needs cc3d: run ")
