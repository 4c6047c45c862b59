"""What is in the image, and what must not be."""

import json
import re

from container.engine import REPOSITORY, docker, shell

import podium


def configuration(image: str) -> dict[str, object]:
    content: dict[str, object] = json.loads(docker("image", "inspect", image).stdout)[0]["Config"]
    return content


def test_tags_and_labels_carry_the_version(image: str, carotid_image: str) -> None:
    assert image == f"podium-evaluation:{podium.__version__}"
    assert carotid_image == f"podium-evaluation-carotid:{podium.__version__}"
    labels = configuration(carotid_image)["Labels"]
    assert isinstance(labels, dict)
    assert labels["org.opencontainers.image.title"] == "Podium evaluation"
    assert labels["org.opencontainers.image.version"] == podium.__version__
    assert labels["org.opencontainers.image.licenses"] == "Apache-2.0"


def test_it_starts_evaluate_py_as_an_ordinary_user(image: str) -> None:
    content = configuration(image)
    assert content["User"] == "podium"
    assert content["Entrypoint"] == ["python", "/opt/app/evaluate.py"]
    assert content["WorkingDir"] == "/opt/app"
    assert shell(image, "id -u") == "1000\n"


def test_the_label_says_how_the_platform_runs_the_image(carotid_image: str, invoke_image: str) -> None:
    assert invoke_image == f"podium-evaluation-carotid:{podium.__version__}-invoke"
    for image, method in ((carotid_image, "exec"), (invoke_image, "invoke")):
        labels = configuration(image)["Labels"]
        assert isinstance(labels, dict)
        assert labels["org.grand-challenge.api-method"] == method
    assert configuration(invoke_image)["Entrypoint"] == ["python", "/opt/app/evaluate.py"]


def test_torch_is_a_cpu_build_and_nothing_of_cuda_is_installed(image: str) -> None:
    script = "python -c 'import torch; print(torch.__version__, torch.version.cuda)'"
    version, cuda = shell(image, script).split()
    pinned = re.search(r"^torch==(\S+)$", (REPOSITORY / "requirements.txt").read_text(), re.MULTILINE)
    assert pinned is not None
    assert version.split("+")[0] == pinned[1]
    assert cuda == "None"
    packages = "from importlib.metadata import distributions as d; print(*{p.name.lower() for p in d()})"
    installed = shell(image, f"python -c '{packages}'").split()
    assert "torch" in installed
    assert [name for name in installed if re.search("nvidia|cuda|triton", name)] == []


def test_every_runtime_pin_is_what_is_installed(image: str) -> None:
    pins = re.findall(r"^([A-Za-z0-9_-]+)==(\S+)$", (REPOSITORY / "requirements.txt").read_text(), re.MULTILINE)
    names = ",".join(f'"{name}"' for name, _ in pins)
    script = f"python -c 'from importlib.metadata import version\nfor n in ({names}): print(version(n))'"
    found = [version.split("+")[0] for version in shell(image, script).split()]
    assert found == [version for _, version in pins]


def test_no_compiler_no_pip_cache_no_installer_in_the_environment(image: str) -> None:
    assert shell(image, "for name in gcc g++ cc c++ clang ld as make; do command -v $name || true; done") == ""
    assert shell(image, "find / -xdev -path '*/.cache/pip*' 2>/dev/null || true", user="root") == ""
    assert shell(image, "ls /opt/venv/lib/python3.11/site-packages | grep -E '^(pip|setuptools)$' || true") == ""


def test_nothing_but_code_and_ground_truth_is_in_the_application(image: str) -> None:
    assert shell(image, "ls -A /opt/app").split() == ["evaluate.py", "ground-truth", "podium"]
    assert shell(image, "find /opt/app ! -perm -o+r") == ""
    assert shell(image, "find /opt/app -perm /o+w") == ""


def test_the_code_is_compiled_so_that_a_read_only_root_starts_fast(image: str) -> None:
    sources = shell(image, "cd /opt/app/podium; find . -name '*.py' | wc -l")
    compiled = shell(image, "cd /opt/app/podium; find . -name '*.cpython-311.pyc' | wc -l")
    assert sources == compiled != "0\n"


def test_the_podium_command_is_on_the_path_and_reads_the_baked_code(image: str) -> None:
    shell(image, "cd /; podium --help | grep -q evaluate")
    origin = shell(image, "mkdir /tmp/podium; cd /tmp; python -P -c 'import podium; print(podium.__file__)'")
    assert origin == "/opt/app/podium/__init__.py\n"


def test_wordnet_is_installed_and_the_judges_packages_are_not(image: str) -> None:
    script = 'from podium.readers.wordnet import find_wordnet; print(*sorted(find_wordnet().synonyms("overbite")))'
    assert shell(image, f"python -c '{script}'") == "overbite\n"
    packages = "from importlib.metadata import distributions as d; print(*{p.name.lower() for p in d()})"
    installed = shell(image, f"python -c '{packages}'").split()
    assert {"openai", "radfact-lite", "nltk"} & set(installed) == set()
