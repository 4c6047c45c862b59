"""`podium simulate` against a real container, run as the platform runs algorithms, and its predictions scored."""

import json
import shutil
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import pytest
from challenges.lesions_folders import run
from container.engine import docker
from places import ROOT
from tools.batch.local_cluster import LocalCluster, wait_until

from podium.cli.main import main
from podium.errors import UsageError
from podium.tools.simulation import algorithms
from podium.tools.simulation.algorithms import Algorithm, ExecContainer, InvokeContainer, find_container

pytestmark = pytest.mark.container

ALGORITHM = ROOT / "test/algorithms/threshold"
CASES = ("fdg_ukt_001.nii.gz", "fdg_ukt_002.nii.gz", "psma_ukt_011.mha")  # five lesions, none, an instance map of four


@contextmanager
def built(tag: str, folder: Path, *more: str) -> Iterator[str]:
    docker("build", "--tag", tag, *more, str(folder))
    try:
        yield tag
    finally:
        docker("image", "rm", "--force", tag)


@pytest.fixture(scope="module")
def algorithm(engine: None) -> Iterator[str]:  # noqa: ARG001
    with built("podium-test-threshold-algorithm", ALGORITHM) as tag:
        yield tag


@pytest.fixture(scope="module")
def server(engine: None) -> Iterator[str]:  # noqa: ARG001
    with built("podium-test-threshold-server", ALGORITHM, "--file", str(ALGORITHM / "Dockerfile.invoke")) as tag:
        yield tag


def derived(tag: str, folder: Path, content: str) -> AbstractContextManager[str]:
    folder.mkdir(exist_ok=True)
    (folder / "Dockerfile").write_text(content)
    return built(tag, folder)


@pytest.fixture(autouse=True)
def _small_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(algorithms, "MOST_OUTPUT_BYTES", 50_000_000)


def networks() -> set[str]:
    """Of simulations, those of others on this machine among them."""
    names = docker("network", "ls", "--format={{.Name}}").stdout.split()
    return {name for name in names if name.startswith("podium-simulate-")}


def steps_of(case: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads((case / "steps.json").read_text())["steps"]
    return found


@pytest.fixture
def ground_truth(tmp_path: Path) -> Path:
    folder = tmp_path / "ground-truth"
    (folder / "references").mkdir(parents=True)
    shutil.copy(ROOT / "ground-truth/lesions/challenge.toml", folder)
    for case in CASES:
        shutil.copy(ROOT / "ground-truth/lesions/references" / case, folder / "references")
    return folder


@pytest.fixture
def one_case(ground_truth: Path) -> Path:
    for case in CASES[1:]:
        (ground_truth / "references" / case).unlink()
    return ground_truth


def simulate(spec: str, ground_truth: Path, output: Path, *more: str) -> int:
    folders = ["--images", str(ROOT / "test/images/lesions"), "--references", str(ground_truth / "references")]
    return main(["simulate", "--algorithm", spec, *folders, "--output", str(output), *more])


def assert_as_the_program(found: Path, ground_truth: Path, output: Path, *, steps: int) -> None:
    """Every prediction and scribble is that of the algorithm without a container."""
    program = f"command:{sys.executable} {ALGORITHM / 'process.py'} {{input}} {{output}}"
    assert simulate(program, ground_truth, output, "--steps", str(steps)) == 0
    expected = sorted(output.glob("*/iter_*"))
    assert len(expected) == 3 * steps * 2
    for path in expected:
        assert (found / path.relative_to(output)).read_bytes() == path.read_bytes()


def test_a_container_is_driven_to_better_scores(algorithm: str, ground_truth: Path, tmp_path: Path) -> None:
    assert simulate(f"docker:{algorithm}", ground_truth, tmp_path / "container") == 0
    found = run(tmp_path / "container", ground_truth, tmp_path / "scores")
    assert found["counts"] == {"expected": 3, "scored": 3, "partial": 0, "failed": 0, "missing": 0, "unmatched": 0}
    for case in ("fdg_ukt_001", "psma_ukt_011"):
        dice = [step["dice"] for step in found["results"][case]["metrics"]["steps"]]
        assert len(dice) == 6
        assert dice == sorted(dice)
        assert dice[-1] > dice[0] + 0.3
        assert found["results"][case]["warnings"] == []
    assert_as_the_program(tmp_path / "container", ground_truth, tmp_path / "program", steps=6)


def test_a_worker_that_is_killed_leaves_no_container_and_changes_no_byte(
    server: str, ground_truth: Path, tmp_path: Path
) -> None:
    """On a Dask cluster, where a case runs again after its worker was killed: from the first missing step on."""
    cluster = LocalCluster(tmp_path)
    cluster.wait_for_workers()

    def kill_one() -> None:
        wait_until(lambda: list((tmp_path / "cluster").glob("*/steps.json")))
        cluster.workers[0].kill()

    killing = threading.Thread(target=kill_one)
    killing.start()
    try:
        more = ("--steps", "4", "--scheduler", cluster.address)
        assert simulate(f"docker:{server}", ground_truth, tmp_path / "cluster", *more) == 0
    finally:
        killing.join()
        cluster.stop()
    wait_until(lambda: docker("ps", "--all", "--filter", f"ancestor={server}", "--quiet").stdout == "")
    assert_as_the_program(tmp_path / "cluster", ground_truth, tmp_path / "program", steps=4)


@pytest.mark.usefixtures("engine")
def test_a_container_that_fails_or_hangs_costs_its_step(one_case: Path, tmp_path: Path) -> None:
    for name, command, words in (
        ("fails", ["sh", "-c", "echo out of luck >&2; exit 3"], "exit code 3: out of luck"),
        ("hangs", ["sleep", "60"], "took longer than 3 seconds"),
        ("offline", ["python", "-c", "import socket; socket.create_connection(('1.1.1.1', 53), 5)"], "exit code 1"),
        ("writes", ["sh", "-c", "touch /input/x"], "Read-only file system"),
        ("elsewhere", ["sh", "-c", "touch /tmp/x && touch /root/x"], "cannot touch '/root/x': Read-only file system"),
        ("endless", ["sh", "-c", "head -c 60M /dev/zero >/output/x; sleep 60"], "wrote more than 50,000,000 bytes"),
    ):
        content = f"FROM python:3.11-slim\nENTRYPOINT {json.dumps(command)}\n"
        with derived(f"podium-test-{name}", tmp_path / f"build-{name}", content) as tag:
            more = ("--steps", "1", "--step-timeout", "3" if name == "hangs" else "60")
            assert simulate(f"docker:{tag}", one_case, tmp_path / name, *more) == 0
            assert docker("ps", "--all", "--filter", f"ancestor={tag}", "--quiet").stdout == ""
        [step] = steps_of(tmp_path / name / "fdg_ukt_001")
        assert (step["status"], words in step["error"]) == ("failed", True), step["error"]


CACHING = """
import os, shutil, sys
from pathlib import Path
sys.path.insert(0, "/opt/app")

def step(source, target):
    [pet] = (source / "images/pet").glob("*.mha")
    seen = sorted(os.listdir("/cache"))
    if seen != [f"{pet.stem}-{number}" for number in range(len(seen))]:
        sys.exit(f"/cache holds {seen}")
    Path(f"/cache/{pet.stem}-{len(seen)}").touch()
    if len(seen) == 1:
        sys.exit(f"failed with {len(seen)}")  # a server is started again after this
    original(source, target)

import process
original, process.main = process.main, step
"""


@pytest.mark.parametrize("method", ["exec", "invoke"])
def test_a_container_has_a_cache_for_the_steps_of_a_case(
    method: str, algorithm: str, server: str, ground_truth: Path, tmp_path: Path
) -> None:
    """By another user than ours, in new containers: step 1 fails, step 2 finds what both left, no case another's."""
    (ground_truth / "references" / CASES[1]).unlink()  # without lesions: asked once
    (tmp_path / "build").mkdir()
    (tmp_path / "build/caching.py").write_text(
        CACHING
        + (
            "process.main(Path('/input'), Path('/output'))"
            if method == "exec"
            else "import server\nserver.HTTPServer(('0.0.0.0', 4743), server.Handler).serve_forever()"
        )
    )
    base = algorithm if method == "exec" else server
    content = f'FROM {base}\nCOPY caching.py /opt/app/\nENTRYPOINT ["python", "/opt/app/caching.py"]\n'
    with derived(f"podium-test-caching-{method}", tmp_path / "build", content) as tag:
        assert simulate(f"docker:{tag}", ground_truth, tmp_path / "out", "--steps", "3") == 0
    for case in ("fdg_ukt_001", "psma_ukt_011"):
        steps = steps_of(tmp_path / "out" / case)
        assert [step["status"] for step in steps] == ["done", "failed", "done"], [step["error"] for step in steps]


def test_a_server_is_started_once_per_case_and_invoked_for_every_step(
    server: str, ground_truth: Path, tmp_path: Path
) -> None:
    """Three cases of four steps; the case without lesions is asked once."""
    before, begun = networks(), int(time.time())
    assert simulate(f"docker:{server}", ground_truth, tmp_path / "server", "--steps", "4") == 0
    until = int(time.time()) + 1
    events = ("--filter", f"image={server}", "--filter", "event=start", f"--since={begun}", f"--until={until}")
    assert len(docker("events", *events).stdout.splitlines()) == 3
    assert docker("ps", "--all", "--filter", f"ancestor={server}", "--quiet").stdout == ""
    assert networks() == before
    assert_as_the_program(tmp_path / "server", ground_truth, tmp_path / "program", steps=4)
    for step in steps_of(tmp_path / "server/fdg_ukt_001"):
        assert 0 < step["invoke_seconds"] <= step["seconds"]
    assert {step["invoke_seconds"] for step in steps_of(tmp_path / "program/fdg_ukt_001")} == {None}


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ("broken", ["The algorithm's server ended with exit code 1: no weights."]),
        (
            "unhealthy",
            [
                "The algorithm's server did not answer GET /health on port 4743 with 200 within 3 seconds: the last "
                "answer is 503. It must listen on all interfaces (0.0.0.0)."
            ],
        ),
        ("refuses", ["The algorithm's server answered POST /invoke with 500 instead of 201: out of luck."]),
        ("silent", ["The algorithm's server gave no answer to POST /invoke."]),
        ("fills", ["The algorithm wrote more than 50,000,000 bytes."]),
        ("hangs", ["The algorithm took longer than 3 seconds."]),
        # The second step of every server: the third step has a new one.
        ("dies", [None, "The algorithm's server ended with exit code 3: out of memory.", None]),
    ],
)
def test_a_server_that_fails_costs_its_step(
    fault: str, words: list[str | None], server: str, one_case: Path, tmp_path: Path
) -> None:
    before = networks()
    content = f'FROM {server}\nENTRYPOINT ["python", "/opt/app/server.py", "{fault}"]\n'
    with derived(f"podium-test-server-{fault}", tmp_path / "build", content) as tag:
        more = ("--steps", str(len(words)), "--step-timeout", "3" if fault in {"unhealthy", "hangs"} else "60")
        assert simulate(f"docker:{tag}", one_case, tmp_path / "out", *more) == 0
        assert docker("ps", "--all", "--filter", f"ancestor={tag}", "--quiet").stdout == ""
    assert [step["error"] for step in steps_of(tmp_path / "out/fdg_ukt_001")] == words
    assert networks() == before


def test_a_server_has_no_way_out(server: str, one_case: Path, tmp_path: Path) -> None:
    content = f'FROM {server}\nENTRYPOINT ["python", "/opt/app/server.py", "online"]\n'
    with derived("podium-test-server-online", tmp_path / "build", content) as tag:
        assert simulate(f"docker:{tag}", one_case, tmp_path / "out", "--steps", "1") == 0
    [step] = steps_of(tmp_path / "out/fdg_ukt_001")
    assert step["status"] == "failed"
    assert "gave no answer to POST /invoke" in step["error"]


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize(("label", "kind"), [(" Invoke ", InvokeContainer), ("exec", ExecContainer), ("lambda", None)])
def test_the_label_says_how_an_image_is_run(label: str, kind: type[Algorithm] | None, tmp_path: Path) -> None:
    content = f'FROM python:3.11-slim\nLABEL org.grand-challenge.api-method="{label}"\n'
    with derived("podium-test-label", tmp_path / "build", content) as tag:
        if kind is not None:
            assert isinstance(find_container(tag), kind)
            return
        with pytest.raises(UsageError, match="is 'lambda'; there are exec"):
            find_container(tag)


@pytest.mark.usefixtures("engine")
def test_an_image_that_is_not_there(ground_truth: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert simulate("docker:podium-test-no-such-image", ground_truth, tmp_path / "out") == 2
    assert "There is no local image 'podium-test-no-such-image'" in capsys.readouterr().err
