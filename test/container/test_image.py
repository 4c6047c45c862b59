"""What is in the image, and what must not be."""

import json
import re
import stat
from typing import Any

import pytest
from container.engine import docker, python
from places import ROOT

import podium

pytestmark = pytest.mark.container


def configuration(image: str) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(docker("image", "inspect", image).stdout)[0]["Config"]
    return content


def test_tags_and_labels_carry_the_version(image: str, carotid_image: str) -> None:
    assert image == f"podium-evaluation:{podium.__version__}"
    assert carotid_image == f"podium-evaluation-carotid:{podium.__version__}"
    labels = configuration(carotid_image)["Labels"]
    assert labels["org.opencontainers.image.title"] == "Podium evaluation"
    assert labels["org.opencontainers.image.version"] == podium.__version__
    assert labels["org.opencontainers.image.licenses"] == "Apache-2.0"


def test_it_has_no_tool_that_an_evaluation_does_not_need(image: str) -> None:
    found = python(image, "import os; print(*sorted(os.listdir('/opt/app/podium/tools')))")
    assert found.split() == ["__init__.py", "__pycache__", "other_platforms", "ranking", "report"]
    refused = docker("run", "--rm", "--entrypoint=podium", image, "arena", "status", "/tmp", check=False)
    assert refused.returncode == 2
    assert refused.stderr.splitlines()[-1] == (
        "This command is not part of the evaluation image; run it where Podium is installed."
    )


def test_it_starts_evaluate_py_as_an_ordinary_user(image: str) -> None:
    content = configuration(image)
    assert content["User"] == "podium"
    assert content["Entrypoint"] == ["python", "/opt/app/evaluate.py"]
    assert content["WorkingDir"] == "/opt/app"
    assert python(image, "import os; print(os.getuid())") == "1000\n"


def test_the_label_says_how_the_platform_runs_the_image(carotid_image: str, invoke_image: str) -> None:
    assert invoke_image == f"podium-evaluation-carotid:{podium.__version__}-invoke"
    for image, method in ((carotid_image, "exec"), (invoke_image, "invoke")):
        assert configuration(image)["Labels"]["org.grand-challenge.api-method"] == method
    assert configuration(invoke_image)["Entrypoint"] == ["python", "/opt/app/evaluate.py"]


def run_json(image: str, code: str) -> Any:
    """What an expression is inside the image, as root: nothing is hidden from it."""
    imports = "import json, os, stat\nfrom importlib.metadata import version, distributions\nfrom pathlib import Path\n"
    return json.loads(python(image, f"{imports}print(json.dumps({code}))", user="root"))


def files(image: str) -> dict[str, tuple[int, int]]:
    """Path -> mode and size of everything in the image."""
    code = (
        "{str(p): (p.lstat().st_mode, p.lstat().st_size) for p in Path('/').rglob('*')"
        " if p.parts[1] not in ('proc', 'sys', 'dev')}"
    )
    found: dict[str, list[int]] = run_json(image, code)
    return {path: (mode, size) for path, (mode, size) in found.items()}


def test_torch_is_a_cpu_build_and_nothing_of_cuda_is_installed(image: str) -> None:
    installed, cuda = python(image, "import torch; print(torch.__version__, torch.version.cuda)").split()
    pinned = re.search(r"^torch==(\S+) ", (ROOT / "scripts/requirements.lock").read_text(), re.MULTILINE)
    assert pinned is not None
    assert (installed, cuda) == (pinned[1], "None")
    names = run_json(image, "[p.name.lower() for p in distributions()]")
    assert "torch" in names
    assert [name for name in names if re.search("nvidia|cuda|triton", name)] == []


def test_every_runtime_pin_is_what_is_installed(image: str) -> None:
    pins = dict(re.findall(r"^([A-Za-z0-9_-]+)==(\S+)$", (ROOT / "requirements.txt").read_text(), re.MULTILINE))
    found = run_json(image, f"{{name: version(name).split('+')[0] for name in {list(pins)}}}")
    assert found == pins


def test_no_shell_no_installer_and_no_other_program_is_in_the_image(image: str) -> None:
    everything = files(image)
    programs = [
        path
        for path, (mode, _) in everything.items()
        if stat.S_ISREG(mode) and mode & 0o111 and "bin" in path.split("/")
    ]
    assert [
        path for path in programs if not re.fullmatch(r"/(usr(/local)?|opt/venv)/bin/(python3\.11|podium)", path)
    ] == ["/opt/venv/lib/python3.11/site-packages/torch/bin/torch_shm_manager"]
    assert [path for path, (mode, _) in everything.items() if mode & 0o6000] == []
    packages = ("pip", "setuptools", "ensurepip")
    assert [path for path in everything if path.rsplit("/", 1)[-1] in packages] == []
    assert [path for path in everything if "/.cache/" in path] == []


def test_nothing_but_code_and_ground_truth_is_in_the_application(image: str) -> None:
    assert run_json(image, "sorted(os.listdir('/opt/app'))") == ["evaluate.py", "ground-truth", "podium"]
    modes = {path: mode for path, (mode, _) in files(image).items() if path.startswith("/opt/app/")}
    assert [path for path, mode in modes.items() if not mode & 0o004 or mode & 0o002] == []


def test_all_code_is_compiled_so_that_a_read_only_root_starts_fast(image: str) -> None:
    """By content, not by time: an exported image has one time for all files, and would else compile at every start."""
    code = """
import os
from pathlib import Path

def is_compiled(source):
    bytecode = source.parent / "__pycache__" / f"{source.stem}.cpython-311.pyc"
    return bytecode.exists() and bytecode.read_bytes()[4:8] == bytes([1, 0, 0, 0])

places = ("/opt/app/podium", "/opt/venv/lib/python3.11/site-packages/monai", os.path.dirname(os.__file__))
sources = [source for place in places for source in Path(place).rglob("*.py")]
print(len(sources) > 1000, [source for source in sources if not is_compiled(source)])
"""
    assert python(image, code) == "True []\n"


def test_the_podium_command_is_on_the_path_and_reads_the_baked_code(image: str) -> None:
    done = docker("run", "--rm", "--network=none", "--workdir=/", "--entrypoint=podium", image, "--help")
    assert "evaluate" in done.stdout
    origin = python(
        image, "import os; os.mkdir('/tmp/podium'); os.chdir('/tmp'); import podium; print(podium.__file__)"
    )
    assert origin == "/opt/app/podium/__init__.py\n"


def test_wordnet_is_installed_and_the_judges_packages_are_not(image: str) -> None:
    code = "from podium.readers.wordnet import find_wordnet; print(*sorted(find_wordnet().synonyms('overbite')))"
    assert python(image, code) == "overbite\n"
    names = run_json(image, "[p.name.lower() for p in distributions()]")
    assert {"openai", "radfact-lite", "nltk"} & set(names) == set()


def test_the_image_is_small(image: str) -> None:
    size = int(docker("image", "inspect", "--format={{.Size}}", image).stdout)
    assert size <= 1.3e9


def test_the_base_image_is_named_with_its_digest(image: str) -> None:
    labels = configuration(image)["Labels"]
    base = json.loads(docker("image", "inspect", "python:3.11").stdout)[0]
    digests = [base["Id"], *(digest.split("@")[1] for digest in base["RepoDigests"])]
    assert labels["org.opencontainers.image.base.name"] == "python:3.11"
    assert labels["org.opencontainers.image.base.digest"] in digests
