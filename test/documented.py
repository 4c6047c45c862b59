"""The code blocks of a page, and a copy of the project in which they can be run as they stand."""

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import h5py
import numpy as np
import SimpleITK as sitk
from places import ROOT

_BLOCK = re.compile(r"^( *)```(\w*)\n(.*?)^\1```$", re.MULTILINE | re.DOTALL)
_SUBMISSION = "ln -s test/submissions/carotid/aorta my-submission"
_CASES = "podium manifest --ground-truth ground-truth/carotid --output cases.json"
_TEAM = "test/submissions/carotid/{team} --output results/{team}"
_SCORED = f"podium evaluate --ground-truth ground-truth/carotid --input {_TEAM}"

AT_HAND = {
    "README.md": [_SUBMISSION, _CASES],
    "docs/first-phase.md": ["python test/platform_files.py pancreas-challenge-pack.zip evaluations.json"],
    "docs/organisers.md": [
        _SUBMISSION,
        *(_SCORED.format(team=team) for team in ("aorta", "carina")),
        "ln -s test/submissions/carotid/carina sample",
        "ln -s test/images/lesions images",
    ],
    "docs/participants.md": [_SUBMISSION, _CASES, "cp -r ground-truth/carotid my-ground-truth"],
    "docs/declared.md": [],
}
"""The pages whose blocks are run, and how a reader came to the files that the page calls their own."""

NOT_RUN = {
    "./demo.sh": "installs packages and scores all samples, which takes a minute",
    "./test.sh": "would run this test, which would run it again",
}
"""Programs that are left out whatever their arguments, and why. Every other line of a `bash` block is run."""

WALK = "docs/first-phase.md"
NEEDS_DOCKER = re.compile(r"^(\./build\.sh|\./try\.sh|\./export\.sh|docker )|\bdist/")


@dataclass(frozen=True)
class Block:
    """One fenced block: its language, its text, and the line of the page where it starts."""

    language: str
    text: str
    line: int


def blocks(page: Path) -> list[Block]:
    text = page.read_text(encoding="utf-8")
    return [Block(found[2], found[3], text.count("\n", 0, found.start()) + 1) for found in _BLOCK.finditer(text)]


def commands(block: Block) -> list[str]:
    """The commands of a block, those over several lines as one, without the comments behind them."""
    lines = block.text.replace("\\\n", " ").splitlines()
    found = [re.sub(r"(^|\s+)#(\s.*)?$", "", line).strip() for line in lines]
    return [command for command in found if command]


def first_toml(page: str) -> str:
    """The first TOML block of a page: a challenge.toml."""
    return next(block.text for block in blocks(ROOT / page) if block.language == "toml")


def project_copy(folder: Path) -> Path:
    """The project as someone has it who has installed it, and has the references of the example of declared.md."""
    tree = folder / "podium"
    tree.mkdir()
    for name in ("podium", "ground-truth", "scripts", "image"):
        shutil.copytree(ROOT / name, tree / name)
    for name in ("bench", "docs", "fuzz", "gallery", "test"):
        (tree / name).symlink_to(ROOT / name)
    for path in ROOT.iterdir():
        if path.is_file():
            shutil.copy(path, tree)
    _install(tree)
    write_kidneys(tree / "ground-truth/kidney", first_toml("docs/declared.md"))
    return tree


def _install(tree: Path) -> None:
    """.venv of the tests themselves, stamped as setup-venv.sh does, which then has nothing to install."""
    (tree / ".venv").mkdir()
    for path in Path(sys.prefix).iterdir():
        if path.name != ".pins":
            (tree / ".venv" / path.name).symlink_to(path)
    files = "scripts/requirements-dev.lock pyproject.toml scripts/install-torch.sh scripts/setup-venv.sh"
    subprocess.run(["bash", "-c", f"cat {files} <(pwd) | sha256sum > .venv/.pins"], cwd=tree, check=True)


def write_kidneys(challenge: Path, toml: str) -> None:
    """Two cases with the regions and classes of the examples, in HDF5 or as images."""
    (challenge / "references").mkdir(parents=True)
    (challenge / "challenge.toml").write_text(toml, encoding="utf-8")
    for number in range(2):
        volume = np.zeros((4, 6, 8), np.uint8)
        volume[1:3, 1:4, 1 + number : 6], volume[1, 2, 3] = 1, 2
        if ".h5" in toml:
            with h5py.File(challenge / f"references/case0{number}.h5", "w") as file:
                file["left_mask"], file["right_mask"], file["grade"] = volume, volume[::-1], number
        else:
            image = sitk.GetImageFromArray(volume)
            image.SetSpacing((0.8, 0.8, 3.0))
            sitk.WriteImage(image, challenge / f"references/case0{number}.nii.gz")


def run_page(tree: Path, page: str, *, with_docker: bool) -> None:
    """Run the commands of a page in their order, in one shell that stops at the first error.

    With Docker: of pages other than the walk, only the installation and the blocks that need it.
    """
    script = ["set -euo pipefail", ". .venv/bin/activate", *AT_HAND[page]]
    if any("/activate" in block.text for block in blocks(ROOT / page)):  # else the page says that it is activated
        script.append("deactivate")
    for block in blocks(ROOT / page):
        is_needed = page == WALK or "activate" in block.text or any(map(NEEDS_DOCKER.search, commands(block)))
        for command in commands(block) if block.language == "bash" and (is_needed or not with_docker) else ():
            if command.split()[0] not in NOT_RUN and (with_docker or not NEEDS_DOCKER.search(command)):
                script += [f"echo '== {page}, block at line {block.line}' >&2", command]
    environment = {**os.environ, "PYTHONPATH": str(tree)}
    done = subprocess.run(
        ["bash", "-c", "\n".join(script)], cwd=tree, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
