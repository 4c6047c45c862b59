"""scripts/install-torch.sh: the file that requirements.lock names, from a place that is named, and nothing else."""

import hashlib
import os
import shutil
import subprocess
import venv
import zipfile
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parent.parent / "scripts/install-torch.sh"
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
