"""Algorithms in containers, run as the platform runs them; the label `org.grand-challenge.api-method` says how."""

import http.client
import json
import select
import subprocess
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from podium.challenges.lesions.simulation.algorithm import (
    SECONDS_BETWEEN_LOOKS,
    Algorithm,
    Folders,
    KeptErrors,
    StepFailedError,
    ended,
    last_line,
    run_program,
    too_long,
)
from podium.errors import UsageError

API_LABEL = "org.grand-challenge.api-method"
PORT = 4743

# What the platform runs an algorithm with: no privileges, bounded memory without swap, bounded processes, nothing
# writable but /output and /tmp, and no log, which would grow on this machine's disk.
_PLATFORM_LIMITS = (
    "--read-only",
    "--tmpfs=/tmp:exec,mode=1777",
    "--env=HOME=/tmp",
    "--log-driver=none",
    "--cap-drop=all",
    "--security-opt=no-new-privileges",
    "--memory=16g",
    "--memory-swap=16g",
    "--pids-limit=512",
    "--shm-size=128m",
)
_SECONDS_BETWEEN_HEALTH_CHECKS = 0.2
_SECONDS_FOR_HEALTH = 10.0
_SECONDS_FOR_LAST_WORDS = 5.0


def find_container(image: str) -> Algorithm:
    """The algorithm in an image that is already here."""
    try:
        found = _docker("image", "inspect", image)
    except OSError:
        raise UsageError("docker is not installed; an algorithm in a container needs a Docker engine.") from None
    if found.returncode != 0:
        raise UsageError(f"There is no image '{image}' here, or no Docker engine answers.")
    method = _api_method(json.loads(found.stdout)[0])
    if method == "exec":
        return ExecContainer(image)
    if method == "invoke":
        return InvokeContainer(image)
    raise UsageError(f"The label {API_LABEL} of '{image}' is '{method}'; there are exec (the default) and invoke.")


def _api_method(description: dict[str, Any]) -> str:
    """As the platform reads it: letter case and surrounding spaces do not count."""
    labels: dict[str, str] = description["Config"]["Labels"] or {}
    methods = [value.strip().lower() for name, value in labels.items() if name.strip().lower() == API_LABEL]
    return methods[0] if methods else "exec"


class ExecContainer(Algorithm):
    """An image whose entrypoint runs once per step and ends."""

    def __init__(self, image: str) -> None:
        self.image = image

    def run(self, folders: Folders, *, timeout_seconds: float) -> None:
        name = _new_name()
        options = (f"--name={name}", "--network=none", *_PLATFORM_LIMITS, *_volumes(folders))
        command = ["docker", "run", *options, self.image]
        try:
            code, errors = run_program(command, folders, timeout_seconds=timeout_seconds)
        finally:
            _docker("rm", "--force", name)  # a container outlives its client
        if code != 0:
            raise StepFailedError(ended(code, errors))


class InvokeContainer(Algorithm):
    """An image whose entrypoint is a web server: started once per case, and again after a step that failed."""

    def __init__(self, image: str) -> None:
        self.image = image
        self._server: _Server | None = None

    @contextmanager
    def case(self) -> Iterator[None]:
        try:
            yield
        finally:
            self._stop()

    @contextmanager
    def folders(self) -> Iterator[Folders]:
        if self._server is not None:
            try:
                self._server.folders.empty()
            except (OSError, RecursionError):
                # The last step's files cannot be deleted, and must not be taken for this step's.
                self._stop()
        if self._server is None:
            self._server = _Server(self.image)
        yield self._server.folders

    def run(self, folders: Folders, *, timeout_seconds: float) -> float:
        server = self._server
        assert server is not None, "a step runs in the folders of the server"
        assert folders is server.folders
        try:
            server.start(timeout_seconds)
            return server.invoke(timeout_seconds)
        except StepFailedError:
            self._stop()
            raise

    def _stop(self) -> None:
        if self._server is not None:
            self._server.stop()
            self._server = None


class _Server:
    """A container with a web server, in a network of its own that has no way out; only this machine reaches it."""

    def __init__(self, image: str) -> None:
        self.image = image
        self.folders = Folders()
        self._name = _new_name()
        self._client: subprocess.Popen[bytes] | None = None  # `docker run`, which passes on what the server writes
        self._kept: KeptErrors | None = None
        self._healthy = False

    def start(self, timeout_seconds: float) -> None:
        """Once: start the container and wait for `GET /health` to answer 200."""
        if self._healthy:
            return
        network = _docker("network", "create", "--internal", self._name)
        if network.returncode != 0:
            raise UsageError(f"Docker cannot create a network for the algorithm{last_line(network.stderr)}.")
        options = (f"--name={self._name}", f"--network={self._name}", *_PLATFORM_LIMITS, *_volumes(self.folders))
        deadline = time.monotonic() + timeout_seconds
        self._client = subprocess.Popen(  # noqa: S603
            ["docker", "run", *options, self.image],  # noqa: S607
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            start_new_session=True,  # Ctrl-C is for us alone: the server is ended in `stop`
        )
        self._kept = KeptErrors(self._client)
        answer = "there is no answer"
        while time.monotonic() < deadline:
            address = self._require_running()
            self.folders.check_output()
            try:
                status = _status_of_health(address, timeout=min(timeout_seconds, _SECONDS_FOR_HEALTH))
            except (OSError, http.client.HTTPException):
                answer = "there is no answer"
            else:
                if status == 200:
                    self._healthy = True
                    return
                answer = f"the last answer is {status}"
            time.sleep(_SECONDS_BETWEEN_HEALTH_CHECKS)
        raise StepFailedError(
            f"The algorithm's server did not answer GET /health on port {PORT} with 200 within {timeout_seconds:g} "
            f"seconds: {answer}. It must listen on all interfaces (0.0.0.0)."
        )

    def invoke(self, timeout_seconds: float) -> float:
        """One `POST /invoke`: the seconds until its answer, which must be 201."""
        connection = http.client.HTTPConnection(self._require_running(), PORT, timeout=timeout_seconds)
        started = time.monotonic()
        try:
            connection.request("POST", "/invoke")
            while not select.select([connection.sock], [], [], SECONDS_BETWEEN_LOOKS)[0]:
                self._require_running()  # a container that is gone may leave the connection open for ever
                self.folders.check_output()
                if time.monotonic() > started + timeout_seconds:
                    raise TimeoutError
            status = connection.getresponse().status
        except (OSError, http.client.HTTPException) as error:
            self._require_running()
            if isinstance(error, TimeoutError):
                raise StepFailedError(too_long(timeout_seconds)) from None
            what = f"The algorithm's server gave no answer to POST /invoke{last_line(self._errors())}."
            raise StepFailedError(what) from None
        finally:
            connection.close()
        seconds = time.monotonic() - started
        if status != 201:
            what = f"The algorithm's server answered POST /invoke with {status} instead of 201"
            raise StepFailedError(f"{what}{last_line(self._errors())}.")
        return seconds

    def stop(self) -> None:
        _docker("rm", "--force", self._name)
        _docker("network", "rm", self._name)
        if self._client is not None:
            self._client.kill()
            self._client.communicate()
        self.folders.remove()

    def _require_running(self) -> str:
        """The address of the server, empty while it is being started; raises StepFailedError where it has ended."""
        form = "{{.State.Running}} {{range .NetworkSettings.Networks}}{{.IPAddress}}{{end}}"
        found = _docker("container", "inspect", f"--format={form}", self._name)
        running, address = [*found.stdout.split(), "", ""][:2]
        assert self._client is not None
        if running == "true" or (not self._healthy and self._client.poll() is None):
            return address
        errors = self._errors()
        raise StepFailedError(f"The algorithm's server ended with exit code {self._client.wait()}{last_line(errors)}.")

    def _errors(self) -> str:
        """The end of what the server wrote to stderr. It ends the server: only then is everything there."""
        assert self._kept is not None
        _docker("kill", self._name)
        self._kept.wait(_SECONDS_FOR_LAST_WORDS)
        return self._kept.text


def _status_of_health(address: str, *, timeout: float) -> int:
    connection = http.client.HTTPConnection(address, PORT, timeout=timeout)
    try:
        connection.request("GET", "/health")
        return connection.getresponse().status
    finally:
        connection.close()


def _new_name() -> str:
    return f"podium-simulate-{uuid.uuid4().hex}"


def _volumes(folders: Folders) -> tuple[str, str]:
    return f"--volume={folders.input}:/input:ro", f"--volume={folders.output}:/output"


def _docker(*arguments: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(  # noqa: S603
        ["docker", *arguments],  # noqa: S607
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )
