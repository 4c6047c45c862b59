"""What build.sh refuses, in words."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from places import ROOT

pytestmark = pytest.mark.container

NOBODY_LISTENS = "http://127.0.0.1:9/"


def run(*command: str | Path, **environment: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        command, capture_output=True, text=True, timeout=300, env={**os.environ, **environment}, check=False
    )


def test_build_names_the_challenges_there_are() -> None:
    done = run(ROOT / "build.sh", "cartoid")
    available = " ".join(sorted(path.parent.name for path in ROOT.glob("ground-truth/*/challenge.toml")))
    assert done.returncode == 2
    assert done.stderr == f"build.sh: there is no challenge 'cartoid' in ground-truth/; available: {available}\n"


@pytest.mark.parametrize(("script", "more"), [("build.sh", ""), ("export.sh", " [--reproducible]")])
def test_help_is_printed_without_building(script: str, more: str) -> None:
    done = run(ROOT / script, "--help")
    assert done.returncode == 0
    assert done.stdout.startswith(f"usage: ./{script} [CHALLENGE] [--api exec|invoke] [--with report]{more}\n")


def test_build_knows_two_ways_to_run_an_image() -> None:
    done = run(ROOT / "build.sh", "carotid", "--api", "lambda")
    assert (done.returncode, done.stderr) == (2, "build.sh: --api is exec or invoke, not 'lambda'.\n")
    for arguments in (("--api",), ("carotid", "lesions"), ("--apis", "exec")):
        done = run(ROOT / "build.sh", *arguments)
        assert (done.returncode, done.stderr.splitlines()[0]) == (
            2,
            "usage: ./build.sh [CHALLENGE] [--api exec|invoke] [--with report]",
        )


def test_build_refuses_a_report_that_the_image_could_not_draw(tmp_path: Path) -> None:
    done = run(ROOT / "build.sh", "carotid", "--with", "figures")
    assert (done.returncode, done.stderr) == (2, "build.sh: --with is report, not 'figures'.\n")
    shutil.copy(ROOT / "build.sh", tmp_path)
    (tmp_path / "ground-truth/liver").mkdir(parents=True)
    (tmp_path / "ground-truth/liver/challenge.toml").write_text('[outputs]\n"report.pdf" = "report"\n')
    done = run(tmp_path / "build.sh", "liver")
    assert (done.returncode, done.stderr) == (
        2,
        "build.sh: [outputs] of liver has a report: build with --with report.\n",
    )


def test_build_without_docker_says_so(tmp_path: Path) -> None:
    for name in ("bash", "basename", "dirname", "env"):
        (tmp_path / name).symlink_to(str(shutil.which(name)))
    done = run(ROOT / "build.sh", PATH=str(tmp_path))
    assert done.returncode == 2
    assert done.stderr == "build.sh: docker is not installed; the image needs a Docker engine.\n"


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """What build.sh needs, with one challenge and a docker that builds nothing."""
    tree = tmp_path / "tree"
    for name in ("podium", "image", "scripts", "ground-truth/carotid"):
        shutil.copytree(ROOT / name, tree / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("Dockerfile", ".dockerignore", "build.sh", "evaluate.py"):
        shutil.copy2(ROOT / name, tree / name)
    write_program(tmp_path / "bin/docker", '[ "$1" = version ] && echo amd64 || echo "docker $1"')
    return tree


def write_program(path: Path, content: str) -> None:
    path.parent.mkdir(parents=True)
    path.write_text(f"#!/bin/sh\n{content}\n")
    path.chmod(0o755)


def build(tree: Path, *arguments: str, **environment: str) -> "subprocess.CompletedProcess[str]":
    path = f"{tree.parent / 'bin'}:/usr/bin:/bin"
    return run(tree / "build.sh", *arguments, **{"PATH": path, "PODIUM_SKIP_CHECK": "", **environment})


@pytest.fixture
def checked_tree(tree: Path) -> Path:
    write_program(tree / ".venv/bin/python", f'exec "{sys.executable}" "$@"')
    return tree


@pytest.mark.parametrize("challenge", [(), ("carotid",)])
def test_build_checks_the_ground_truth_first(challenge: tuple[str, ...], checked_tree: Path) -> None:
    done = build(checked_tree, *challenge)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[:2] == ["carotid", "  cases: 12"]
    assert "docker build\n" in done.stdout


def test_build_stops_on_errors_and_says_how_to_skip_the_check(checked_tree: Path) -> None:
    (checked_tree / "ground-truth/carotid/references/odd.h5").touch()
    done = build(checked_tree, "carotid")
    assert done.returncode == 2
    assert "error: references/odd.h5: A reference is not named <case>_label.h5." in done.stdout
    assert done.stderr.splitlines()[-1] == (
        "build.sh: podium check found errors; nothing is built. "
        "PODIUM_SKIP_CHECK=1 ./build.sh carotid builds without the check."
    )
    assert "docker build" not in done.stdout
    skipped = build(checked_tree, "carotid", PODIUM_SKIP_CHECK="1")
    assert skipped.returncode == 0
    assert skipped.stdout.startswith("The ground truth is not checked: PODIUM_SKIP_CHECK=1.\ndocker build\n")


def test_build_without_podium_says_that_nothing_is_checked(tree: Path) -> None:
    done = build(tree, "carotid")
    assert done.returncode == 0
    assert done.stdout.startswith(
        "The ground truth is not checked: there is neither .venv (scripts/setup-venv.sh makes it)"
    )
    assert "docker build\n" in done.stdout


@pytest.mark.parametrize("skip", ["", "1"])
def test_build_refuses_the_links_that_the_evaluation_refuses(skip: str, checked_tree: Path) -> None:
    """The copy in the image would be a file: without this, an image would score what a checkout refuses."""
    references = checked_tree / "ground-truth/carotid/references"
    (references / "z_label.h5").symlink_to("csv_0007_label.h5")
    done = build(checked_tree, PODIUM_SKIP_CHECK=skip)
    assert done.returncode == 2
    assert done.stderr == (
        "build.sh: ground-truth/carotid/references/z_label.h5 is a symbolic link, which the evaluation refuses; "
        "put the file itself there.\n"
    )


def test_a_folder_of_references_may_be_a_link(checked_tree: Path) -> None:
    references = checked_tree / "ground-truth/carotid/references"
    references.rename(checked_tree.parent / "elsewhere")
    references.symlink_to(checked_tree.parent / "elsewhere")
    done = build(checked_tree)
    assert done.returncode == 0, done.stderr


def test_build_without_an_engine_says_so(engine: None) -> None:  # noqa: ARG001  (the docker command has to be there)
    done = run(ROOT / "build.sh", DOCKER_HOST=f"tcp://{NOBODY_LISTENS.removeprefix('http://').rstrip('/')}")
    assert done.returncode == 2
    assert done.stderr == "build.sh: no Docker engine answers; start one and try again.\n"
