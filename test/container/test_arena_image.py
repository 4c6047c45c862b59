"""The arena's own image, started as its compose file says, and opened over HTTPS."""

import re
import shlex
import ssl
import subprocess
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
import yaml
from container.engine import docker
from places import ROOT
from tools.arena.arena_folders import MadeArena, make_arena

pytestmark = pytest.mark.container

COMPOSE = ROOT / "podium/tools/arena/deploy/compose.yaml"
LARGEST_BYTES = 500e6  # of which Debian and Python are half


@pytest.fixture(scope="module")
def arena_image(engine: None) -> Iterator[str]:  # noqa: ARG001
    tag = f"podium-arena:test-{uuid.uuid4().hex[:8]}"
    built = yaml.safe_load(COMPOSE.read_text())["services"]["arena"]["build"]
    context = (COMPOSE.parent / built["context"]).resolve()
    docker("build", f"--file={context / built['dockerfile']}", f"--tag={tag}", str(context))
    yield tag
    docker("image", "rm", "--force", tag, check=False)


@pytest.fixture
def made(tmp_path: Path) -> MadeArena:
    made = make_arena(tmp_path / "arena")
    for path in (tmp_path / "arena", *(tmp_path / "arena").rglob("*")):
        path.chmod(0o777 if path.is_dir() else 0o666)
    return made


@pytest.fixture
def certificate(tmp_path: Path) -> Path:
    """A folder with a certificate for localhost and its key, as the compose file asks for."""
    folder = tmp_path / "certificate"
    folder.mkdir()
    command = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 1 -subj /CN=localhost"
    command += " -addext subjectAltName=IP:127.0.0.1"
    outputs = ["-keyout", folder / "key.pem", "-out", folder / "certificate.pem"]
    subprocess.run([*command.split(), *outputs], check=True, capture_output=True)
    (folder / "key.pem").chmod(0o644)
    return folder


def options_of(service: dict[str, object], variables: dict[str, str]) -> tuple[list[str], list[str]]:
    """What `docker compose up` passes to the engine: options of `docker run`, and the command. Ports are left out."""

    def filled(text: object) -> str:
        return re.sub(r"\$\{(\w+):([?-])([^}]*)\}", lambda match: variables.get(match[1], match[3]), str(text))

    options = [f"--user={filled(service['user'])}", "--read-only"]
    assert service["read_only"] is True
    for key, option in (("cap_drop", "cap-drop"), ("security_opt", "security-opt"), ("tmpfs", "tmpfs")):
        options += [f"--{option}={filled(value)}" for value in service[key]]  # type: ignore[attr-defined]
    options += [f"--volume={filled(value)}" for value in service["volumes"]]  # type: ignore[attr-defined]
    return options, shlex.split(str(service["command"]))


def test_its_page_opens_over_https_as_the_compose_file_starts_it(
    arena_image: str, made: MadeArena, certificate: Path
) -> None:
    service = yaml.safe_load(COMPOSE.read_text())["services"]["arena"]
    assert service["ports"] == ["443:8443"]
    variables = {"ARENA_DIR": str(made.folder), "ARENA_CERTIFICATE": str(certificate)}
    options, command = options_of(service, variables)
    container = docker("run", "--detach", "--publish=127.0.0.1::8443", *options, arena_image, *command).stdout.strip()
    try:
        port = docker("port", container, "8443").stdout.strip().rsplit(":", 1)[1]
        trusted = ssl.create_default_context(cafile=certificate / "certificate.pem")
        with httpx.Client(base_url=f"https://127.0.0.1:{port}", verify=trusted) as client:
            page = open_page(client, f"/enter/{made.tokens['Anna']}", container)
        assert page.status_code == 200, page.text
        assert "Secure" in page.headers["set-cookie"].split("; ")
    finally:
        logs = docker("logs", container, check=False)
        docker("rm", "--force", container, check=False)
    assert "The arena listens on https://0.0.0.0:8443" in logs.stdout


def open_page(client: httpx.Client, path: str, container: str) -> httpx.Response:
    while True:
        try:
            return client.get(path)
        except httpx.TransportError:
            state = docker("inspect", "--format={{.State.Running}}", container).stdout.strip()
            assert state == "true", docker("logs", container).stderr
            time.sleep(0.1)


def test_it_is_small_and_has_the_viewer(arena_image: str) -> None:
    assert int(docker("image", "inspect", "--format={{.Size}}", arena_image).stdout) <= LARGEST_BYTES
    look = "from podium.tools.arena.web.viewer import LIBRARY; assert LIBRARY.stat().st_size > 100_000"
    docker("run", "--rm", "--network=none", "--entrypoint=python", arena_image, "-c", look)
