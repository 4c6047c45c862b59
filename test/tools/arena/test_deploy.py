"""The server's host: what it needs and what it does without."""

import subprocess
import sys
import tomllib
from pathlib import Path

from packaging.requirements import Requirement
from places import ROOT
from tools.arena.arena_folders import make_arena

DEPLOY = ROOT / "podium/tools/arena/deploy"

# Runs a command where only the packages of the server are there.
PROGRAM = """
import sys
from importlib.abc import MetaPathFinder

class Missing(MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in "torch monai scipy SimpleITK sklearn h5py PIL matplotlib skimage".split():
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Missing())
from podium.tools.arena.store import OpenArena, read_ballots
from podium.tools.arena.web.app import make_app
import podium.tools.arena.web.app
from podium.tools.arena.web.pages import compute
from pathlib import Path
opened = OpenArena(Path(sys.argv[1]))
make_app(opened)
print(compute(read_ballots(opened.store), False, opened.methods, opened.settings, ()).result.votes)
opened.close()
"""


def test_the_pins_are_within_the_projects_ranges() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    known = map(Requirement, [*project["dependencies"], *project["optional-dependencies"]["arena"]])
    ranges = {each.name: each.specifier for each in known}
    lines = [line for line in (DEPLOY / "requirements.txt").read_text().splitlines() if not line.startswith("#")]
    pins = dict(line.split("==") for line in lines)
    assert pins
    assert [name for name, version in pins.items() if name not in ranges or version not in ranges[name]] == []


def test_the_server_needs_no_package_beyond_them(tmp_path: Path) -> None:
    make_arena(tmp_path)
    command = [sys.executable, "-c", PROGRAM, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT, timeout=120)
    assert (done.stdout, done.stderr) == ("0\n", "")


def test_the_files_name_what_is_there() -> None:
    docker = (DEPLOY / "Dockerfile").read_text()
    for source in ("podium/tools/arena/deploy/requirements.lock", "podium"):
        assert f"COPY {source}" in docker
        assert (ROOT / source).exists()
    compose = (DEPLOY / "compose.yaml").read_text()
    assert (DEPLOY / "../../../..").resolve() == ROOT
    assert "context: ../../../.." in compose
    assert "dockerfile: podium/tools/arena/deploy/Dockerfile" in compose
