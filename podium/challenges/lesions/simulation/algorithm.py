"""What an algorithm is to the simulation: something that reads an input folder and fills an output folder, per step."""

import os
import select
import shutil
import signal
import subprocess
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from podium.errors import PodiumError
from podium.readers.names import escape_for_display

KEPT_BYTES = 64 * 1024  # of what an algorithm writes to stderr
OUTPUT_FOLDER = "images/tumor-lesion-segmentation"


class StepFailedError(PodiumError):
    """The algorithm gave no prediction; the step is recorded as failed and the case goes on."""


class Folders:
    """The two folders of a step, temporary ones: `output` has the folder of the prediction, which anybody may write."""

    def __init__(self) -> None:
        # What a container leaves may belong to another user; that must not end the run.
        self._temporary = TemporaryDirectory(prefix="podium-simulate-", ignore_cleanup_errors=True)
        root = Path(self._temporary.name)
        root.chmod(0o755)
        self.input, self.output = root / "input", root / "output"
        for folder in (self.input, self.output):
            folder.mkdir()
        self._open_output()

    def empty(self) -> None:
        """Ready for another step, as the same folders: a running container has them mounted.

        Raises OSError where something cannot be deleted because it belongs to the container's user.
        """
        for folder in (self.input, self.output):
            for path in folder.iterdir():
                shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
        self._open_output()

    def remove(self) -> None:
        self._temporary.cleanup()

    def _open_output(self) -> None:
        images = self.output / OUTPUT_FOLDER
        images.mkdir(parents=True)
        for folder in (self.output, images.parent, images):
            folder.chmod(0o777)  # the algorithm's user need not be ours


class Algorithm(ABC):
    """Asked once per step, in the folders that it gives for that step."""

    @contextmanager
    def case(self) -> Iterator[None]:
        """Around the steps of one case: what is started for the case ends with it."""
        yield

    @contextmanager
    def folders(self) -> Iterator[Folders]:
        """Empty folders for one step."""
        folders = Folders()
        try:
            yield folders
        finally:
            folders.remove()

    @abstractmethod
    def run(self, folders: Folders, *, timeout_seconds: float) -> float | None:
        """The `invoke_duration` of the step in seconds, None for what is no web server.

        Raises StepFailedError when it fails or takes too long.
        """


def run_program(command: Sequence[str], *, timeout_seconds: float) -> tuple[int, str]:
    """The exit code and the end of what the program wrote to stderr: it may write without end, so no more is kept.

    Raises OSError where it cannot be started. A program that takes too long is killed with whatever it started.
    """
    deadline = time.monotonic() + timeout_seconds
    with subprocess.Popen(  # noqa: S603  (whoever calls names the program)
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        start_new_session=True,
    ) as process:
        try:
            errors = _read_end(process, deadline)
            process.wait(timeout=max(0.0, deadline - time.monotonic()))
        except BaseException as error:
            # With whatever it started itself. A session of its own keeps Ctrl-C from it, so that is our part, too.
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            if isinstance(error, TimeoutError | subprocess.TimeoutExpired):
                raise StepFailedError(too_long(timeout_seconds)) from None
            raise
    return process.returncode, errors.decode(errors="replace")


def _read_end(process: "subprocess.Popen[bytes]", deadline: float) -> bytes:
    """The last bytes of stderr once all who write to it have ended; TimeoutError where they have not in time."""
    assert process.stderr is not None
    end = b""
    while select.select([process.stderr], [], [], max(0.0, deadline - time.monotonic()))[0]:
        block = os.read(process.stderr.fileno(), KEPT_BYTES)
        if not block:
            return end
        end = (end + block)[-KEPT_BYTES:]
        if time.monotonic() > deadline:
            break
    raise TimeoutError


def too_long(seconds: float) -> str:
    return f"The algorithm took longer than {seconds:g} seconds."


def ended(code: int, errors: str) -> str:
    return f"The algorithm ended with exit code {code}{last_line(errors)}."


def last_line(errors: str) -> str:
    """What the platform would show the algorithm's author, as the end of a sentence: the last line of stderr."""
    lines = [line.strip() for line in errors.splitlines() if line.strip()]
    return f": {escape_for_display(lines[-1]).rstrip('.')}" if lines else ""
