"""Algorithms to interact with: a container, a program or a Python function, all with the platform's interface.

An algorithm runs once per step: `/input` holds `images/ct/<case>.mha`, `images/pet/<case>.mha` and
`lesion-clicks.json`; the prediction is the one image in `/output/images/tumor-lesion-segmentation`. `/cache` keeps what
a step leaves there for the next steps of the same case.
"""

import http.client
import importlib
import json
import os
import select
import shlex
import shutil
import signal
import subprocess
import time
import uuid
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Thread

from podium.errors import PodiumError, UsageError
from podium.kernel import signals_blocked
from podium.readers.files import escape_for_display

KEPT_BYTES = 64 * 1024  # of an algorithm's stderr
MOST_OUTPUT_BYTES = 4 * 1024**3  # of a step, and of the cache: the largest volume as float32, four times
MOST_OUTPUT_FILES = 1000
OUTPUT_FOLDER = "images/tumor-lesion-segmentation"

_FORMS = "docker:IMAGE, command:PROGRAM ARGS (with {input}, {output} and {cache}) or python:MODULE:FUNCTION"
_API_LABEL = "org.grand-challenge.api-method"
_PORT = 4743
_SECONDS_BETWEEN_CHECKS = 0.5
_SECONDS_BETWEEN_HEALTH_CHECKS = 0.2
_SECONDS_FOR_HEALTH = 10.0
_SECONDS_FOR_LAST_WORDS = 5.0
_SECONDS_FOR_REST = 1.0  # of what a program that has ended wrote

# How the platform runs an algorithm: no privileges, limited memory without swap, limited processes, nothing writable
# but /output, /cache and /tmp, and no log, which would grow on this machine's disk.
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


class StepFailedError(PodiumError):
    """The algorithm gave no prediction; the step is recorded as failed and the case continues."""


class TemporaryFolder:
    """A folder that other users may enter."""

    def __init__(self, *, mode: int = 0o755) -> None:
        # A container's files may belong to another user; this must not end the run.
        with signals_blocked():
            self._temporary = TemporaryDirectory(prefix="podium-simulate-", ignore_cleanup_errors=True)
        self.root = Path(self._temporary.name)
        self.root.chmod(mode)

    def remove(self) -> None:
        with signals_blocked():
            try:
                self._temporary.cleanup()
            except RecursionError:  # Python cannot delete a thousand nested folders
                subprocess.run(["rm", "-rf", self._temporary.name], check=False)  # noqa: S603, S607


class Folders(TemporaryFolder):
    """The two folders of a step: `output` contains the prediction's folder, which anybody may write to. `cache` is that
    of the case."""

    def __init__(self, cache: Path) -> None:
        super().__init__()
        self.input, self.output, self.cache = self.root / "input", self.root / "output", cache
        for folder in (self.input, self.output):
            folder.mkdir()
        self._open_output()

    def empty(self) -> None:
        """Prepare the same folders for another step: a running container has them mounted.

        Raises OSError if something cannot be deleted because it belongs to the container's user.
        """
        for folder in (self.input, self.output):
            for path in folder.iterdir():
                shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
        self._open_output()

    def check_output(self) -> None:
        """Raises StepFailedError if the algorithm has written more than any prediction needs, there or to the cache."""
        _check_size(self.output, "")
        _check_size(self.cache, " to /cache")

    def _open_output(self) -> None:
        images = self.output / OUTPUT_FOLDER
        images.mkdir(parents=True)
        for folder in (self.output, images.parent, images):
            folder.chmod(0o777)  # the algorithm's user need not be ours


def _check_size(root: Path, where: str) -> None:
    too_many = StepFailedError(f"The algorithm wrote more than {MOST_OUTPUT_FILES:,} files and folders{where}.")
    written = files = 0
    try:
        for folder, folders, names in os.walk(root):
            files += len(folders) + len(names)
            if files > MOST_OUTPUT_FILES:
                raise too_many
            for name in names:
                with suppress(OSError):  # deleted meanwhile
                    written += os.lstat(os.path.join(folder, name)).st_blocks * 512  # noqa: PTH118  (quicker)
    except RecursionError:  # nested folders
        raise too_many from None
    if written > MOST_OUTPUT_BYTES:
        raise StepFailedError(f"The algorithm wrote more than {MOST_OUTPUT_BYTES:,} bytes{where}.")


class Algorithm(ABC):
    """Runs once per step, in the folders that it provides for the step."""

    cache: Path

    @contextmanager
    def case(self) -> Iterator[None]:
        """Encloses the steps of one case: its cache and what is started for it end with it."""
        kept = TemporaryFolder(mode=0o777)
        self.cache = kept.root
        try:
            yield
        finally:
            kept.remove()

    def has_cached(self) -> bool:
        """Whether a later step may find something of an earlier one."""
        try:
            return any(self.cache.iterdir())
        except OSError:
            return True

    @contextmanager
    def folders(self) -> Iterator[Folders]:
        """Empty folders for one step."""
        folders = Folders(self.cache)
        try:
            yield folders
        finally:
            folders.remove()

    @abstractmethod
    def run(self, folders: Folders, *, timeout_seconds: float) -> float | None:
        """The `invoke_duration` of the step in seconds; None if the algorithm is not a web server.

        Raises StepFailedError if it fails or takes too long.
        """


def find_algorithm(spec: str) -> Algorithm:
    """The algorithm named on the command line, checked as far as possible without running it."""
    kind, _, rest = spec.partition(":")
    if kind == "docker" and rest:
        return find_container(rest)
    if kind == "command" and rest.strip():
        try:
            return Program(shlex.split(rest))
        except ValueError as error:
            raise UsageError(f"The command of --algorithm cannot be split into words: {error}.") from None
    if kind == "python" and rest.count(":") == 1:
        return Function(_load(*rest.split(":")))
    raise UsageError(f"--algorithm '{spec}' is none of {_FORMS}.")


def _load(module: str, name: str) -> Callable[[Path, Path], object]:
    try:
        function: Callable[[Path, Path], object] = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise UsageError(f"The function '{module}:{name}' cannot be loaded: {error}.") from None
    if not callable(function):
        raise UsageError(f"'{module}:{name}' is not a function.")
    return function


@dataclass
class Program(Algorithm):
    """A local program; `{input}`, `{output}` and `{cache}` in its arguments become the folders."""

    words: Sequence[str]

    def run(self, folders: Folders, *, timeout_seconds: float) -> None:
        command = list(self.words)
        for name in ("input", "output", "cache"):
            command = [word.replace(f"{{{name}}}", str(getattr(folders, name))) for word in command]
        try:
            _run_successfully(command, folders, timeout_seconds=timeout_seconds)
        except OSError as error:
            raise UsageError(f"The program '{self.words[0]}' cannot be started: {error.strerror}.") from None


@dataclass
class Function(Algorithm):
    """A Python function of two folders, in this process: it cannot be stopped when it takes too long."""

    function: Callable[[Path, Path], object]

    def run(self, folders: Folders, *, timeout_seconds: float) -> None:  # noqa: ARG002
        try:
            self.function(folders.input, folders.output)
        except Exception as error:  # any error fails only this step
            raise StepFailedError(
                f"The function raised {type(error).__name__}: {escape_for_display(str(error))}."
            ) from error


# Containers, run as the platform runs them; the label `org.grand-challenge.api-method` says how.


def find_container(image: str) -> Algorithm:
    """The algorithm in a local image."""
    try:
        found = _docker("image", "inspect", image)
    except OSError:
        raise UsageError("docker is not installed; an algorithm in a container needs a Docker engine.") from None
    if found.returncode != 0:
        raise UsageError(f"There is no local image '{image}', or no Docker engine is running.")
    labels: dict[str, str] = json.loads(found.stdout)[0]["Config"]["Labels"] or {}
    # As the platform reads it: case and surrounding spaces are ignored.
    methods = [value.strip().lower() for name, value in labels.items() if name.strip().lower() == _API_LABEL]
    method = methods[0] if methods else "exec"
    if method == "exec":
        return ExecContainer(image)
    if method == "invoke":
        return InvokeContainer(image)
    raise UsageError(f"The label {_API_LABEL} of '{image}' is '{method}'; there are exec (the default) and invoke.")


@dataclass
class ExecContainer(Algorithm):
    """An image whose entrypoint runs once per step and ends."""

    image: str

    def run(self, folders: Folders, *, timeout_seconds: float) -> None:
        name = _new_name()
        options = (f"--name={name}", "--network=none", *_PLATFORM_LIMITS, *_volumes(folders))
        try:
            _run_successfully(["docker", "run", *options, self.image], folders, timeout_seconds=timeout_seconds)
        finally:
            _docker("rm", "--force", name)  # a container outlives its client


class InvokeContainer(Algorithm):
    """An image whose entrypoint is a web server: started once per case, and again after a failed step."""

    def __init__(self, image: str) -> None:
        self.image = image
        self._server: _Server | None = None

    @contextmanager
    def case(self) -> Iterator[None]:
        with super().case():
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
                # Files of the last step cannot be deleted, and must not count as this step's.
                self._stop()
        if self._server is None:
            self._server = _Server(self.image, self.cache)
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
    """A container with a web server in a separate internal network, which only this machine can reach."""

    def __init__(self, image: str, cache: Path) -> None:
        self.image = image
        self.folders = Folders(cache)
        self._name = _new_name()
        self._client: subprocess.Popen[bytes] | None = None  # `docker run`, which forwards the server's output
        self._kept: _KeptErrors | None = None
        self._healthy = False

    def start(self, timeout_seconds: float) -> None:
        """Start the container, if it is not running, and wait for `GET /health` to answer 200."""
        if self._healthy:
            return
        network = _docker("network", "create", "--internal", self._name)
        if network.returncode != 0:
            raise UsageError(f"Docker cannot create a network for the algorithm{_last_line(network.stderr)}.")
        options = (f"--name={self._name}", f"--network={self._name}", *_PLATFORM_LIMITS, *_volumes(self.folders))
        deadline = time.monotonic() + timeout_seconds
        self._client = _start(["docker", "run", *options, self.image])
        self._kept = _KeptErrors(self._client)
        answer = "there is no answer"
        while time.monotonic() < deadline:
            address = self._require_running()
            self.folders.check_output()
            connection = http.client.HTTPConnection(address, _PORT, timeout=min(timeout_seconds, _SECONDS_FOR_HEALTH))
            try:
                with closing(connection):
                    connection.request("GET", "/health")
                    status = connection.getresponse().status
            except (OSError, http.client.HTTPException):
                answer = "there is no answer"
            else:
                if status == 200:
                    self._healthy = True
                    return
                answer = f"the last answer is {status}"
            time.sleep(_SECONDS_BETWEEN_HEALTH_CHECKS)
        raise StepFailedError(
            f"The algorithm's server did not answer GET /health on port {_PORT} with 200 within {timeout_seconds:g} "
            f"seconds: {answer}. It must listen on all interfaces (0.0.0.0)."
        )

    def invoke(self, timeout_seconds: float) -> float:
        """One `POST /invoke`: the seconds until its answer, which must be 201."""
        connection = http.client.HTTPConnection(self._require_running(), _PORT, timeout=timeout_seconds)
        started = time.monotonic()
        try:
            connection.request("POST", "/invoke")
            while not select.select([connection.sock], [], [], _SECONDS_BETWEEN_CHECKS)[0]:
                self._require_running()  # a container that has ended may leave the connection open forever
                self.folders.check_output()
                if time.monotonic() > started + timeout_seconds:
                    raise TimeoutError
            status = connection.getresponse().status
        except (OSError, http.client.HTTPException) as error:
            self._require_running()
            if isinstance(error, TimeoutError):
                raise StepFailedError(_too_long(timeout_seconds)) from None
            what = f"The algorithm's server gave no answer to POST /invoke{_last_line(self._errors())}."
            raise StepFailedError(what) from None
        finally:
            connection.close()
        seconds = time.monotonic() - started
        if status != 201:
            what = f"The algorithm's server answered POST /invoke with {status} instead of 201"
            raise StepFailedError(f"{what}{_last_line(self._errors())}.")
        return seconds

    def stop(self) -> None:
        _docker("rm", "--force", self._name)
        _docker("network", "rm", self._name)
        if self._client is not None:
            self._client.kill()
            self._client.communicate()
        self.folders.remove()

    def _require_running(self) -> str:
        """The address of the server, empty while it starts; raises StepFailedError if it has ended."""
        form = "{{.State.Running}} {{range .NetworkSettings.Networks}}{{.IPAddress}}{{end}}"
        found = _docker("container", "inspect", f"--format={form}", self._name)
        running, address = [*found.stdout.split(), "", ""][:2]
        assert self._client is not None
        if running == "true" or (not self._healthy and self._client.poll() is None):
            return address
        errors = self._errors()
        raise StepFailedError(f"The algorithm's server ended with exit code {self._client.wait()}{_last_line(errors)}.")

    def _errors(self) -> str:
        """The end of the server's stderr. This ends the server, since only then is the output complete."""
        assert self._kept is not None
        _docker("kill", self._name)
        return self._kept.text(_SECONDS_FOR_LAST_WORDS)


def _new_name() -> str:
    return f"podium-simulate-{uuid.uuid4().hex}"


def _volumes(folders: Folders) -> tuple[str, ...]:
    given = ((folders.input, "/input:ro"), (folders.output, "/output"), (folders.cache, "/cache"))
    return tuple(f"--volume={folder}:{place}" for folder, place in given)


def _docker(*arguments: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(  # noqa: S603
        ["docker", *arguments],  # noqa: S607
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )


# Programs


def _run_successfully(command: Sequence[str], folders: Folders, *, timeout_seconds: float) -> None:
    code, errors = run_program(command, folders, timeout_seconds=timeout_seconds)
    if code != 0:
        raise StepFailedError(f"The algorithm ended with exit code {code}{_last_line(errors)}.")


def run_program(command: Sequence[str], folders: Folders, *, timeout_seconds: float) -> tuple[int, str]:
    """The exit code and the end of stderr, of which no more is kept.

    Raises OSError if the program cannot be started. A program that takes too long or fills the disk is killed. Its
    child processes end with it: what it leaves in its process group is killed, and pipes that others hold are not
    waited for.
    """
    deadline = time.monotonic() + timeout_seconds
    with _start(command) as process:
        try:
            errors = _KeptErrors(process)
            while True:
                with suppress(subprocess.TimeoutExpired):
                    process.wait(timeout=_SECONDS_BETWEEN_CHECKS)
                    break
                folders.check_output()
                if time.monotonic() > deadline:
                    raise StepFailedError(_too_long(timeout_seconds))
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        text = errors.text(_SECONDS_FOR_REST)
    folders.check_output()
    return process.returncode, text


def _start(command: Sequence[str]) -> "subprocess.Popen[bytes]":
    """The caller ends it: Ctrl-C does not reach its separate session."""
    return subprocess.Popen(  # noqa: S603  (the user names the program)
        command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, start_new_session=True
    )


class _KeptErrors:
    """The last bytes of a process's stderr, read while it runs: a full pipe would block it."""

    def __init__(self, process: "subprocess.Popen[bytes]") -> None:
        assert process.stderr is not None
        self._stream, self._end = process.stderr, b""
        self._thread = Thread(target=self._read, daemon=True)
        self._thread.start()

    def text(self, seconds: float) -> str:
        """What was written once all writers have ended, or within this time."""
        self._thread.join(seconds)
        return self._end.decode(errors="replace")

    def _read(self) -> None:
        with suppress(ValueError):  # closed by now: somebody else still held the other end
            while block := os.read(self._stream.fileno(), KEPT_BYTES):
                self._end = (self._end + block)[-KEPT_BYTES:]


def _too_long(seconds: float) -> str:
    return f"The algorithm took longer than {seconds:g} seconds."


def _last_line(errors: str) -> str:
    """The last line of stderr as the end of a sentence, as the platform would show it to the algorithm's author."""
    lines = [line.strip() for line in errors.splitlines() if line.strip()]
    return f": {escape_for_display(lines[-1]).rstrip('.')}" if lines else ""
