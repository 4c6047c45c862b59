"""What an algorithm is to the simulation: something that reads an input folder and fills an output folder, per step."""

import os
import shutil
import signal
import subprocess
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Thread

from podium.errors import PodiumError
from podium.readers.files import escape_for_display

KEPT_BYTES = 64 * 1024  # of what an algorithm writes to stderr
MOST_OUTPUT_BYTES = 4 * 1024**3  # of a step: the largest volume as float32, four times
MOST_OUTPUT_FILES = 1000
SECONDS_BETWEEN_LOOKS = 0.5
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
        try:
            self._temporary.cleanup()
        except RecursionError:  # Python cannot delete a thousand folders inside each other
            subprocess.run(["rm", "-rf", self._temporary.name], check=False)  # noqa: S603, S607

    def check_output(self) -> None:
        """Raises StepFailedError where the algorithm has written more than any prediction needs."""
        too_many = StepFailedError(f"The algorithm wrote more than {MOST_OUTPUT_FILES:,} files and folders.")
        written = files = 0
        try:
            for folder, folders, names in os.walk(self.output):
                files += len(folders) + len(names)
                if files > MOST_OUTPUT_FILES:
                    raise too_many
                for name in names:
                    with suppress(OSError):  # gone again
                        written += os.lstat(os.path.join(folder, name)).st_blocks * 512  # noqa: PTH118  (quicker)
        except RecursionError:  # folders inside each other
            raise too_many from None
        if written > MOST_OUTPUT_BYTES:
            raise StepFailedError(f"The algorithm wrote more than {MOST_OUTPUT_BYTES:,} bytes.")

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


def run_program(command: Sequence[str], folders: Folders, *, timeout_seconds: float) -> tuple[int, str]:
    """The exit code and the end of what the program wrote to stderr: it may write without end, so no more is kept.

    Raises OSError where it cannot be started. A program that takes too long or fills the disk is killed with whatever
    it started.
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
            errors = KeptErrors(process)
            while not errors.wait(SECONDS_BETWEEN_LOOKS):
                folders.check_output()
                if time.monotonic() > deadline:
                    raise StepFailedError(too_long(timeout_seconds))
            process.wait(timeout=max(0.0, deadline - time.monotonic()))
        except BaseException as error:
            # With whatever it started itself. A session of its own keeps Ctrl-C from it, so that is our part, too.
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            if isinstance(error, subprocess.TimeoutExpired):
                raise StepFailedError(too_long(timeout_seconds)) from None
            raise
    folders.check_output()
    return process.returncode, errors.text


class KeptErrors:
    """The last bytes of a process's stderr, read while it runs: a pipe that nobody reads would stop it."""

    def __init__(self, process: "subprocess.Popen[bytes]") -> None:
        assert process.stderr is not None
        self._stream, self._end = process.stderr, b""
        self._thread = Thread(target=self._read, daemon=True)
        self._thread.start()

    def wait(self, seconds: float) -> bool:
        """Whether all who write to it have ended within this time."""
        self._thread.join(seconds)
        return not self._thread.is_alive()

    @property
    def text(self) -> str:
        return self._end.decode(errors="replace")

    def _read(self) -> None:
        while block := os.read(self._stream.fileno(), KEPT_BYTES):
            self._end = (self._end + block)[-KEPT_BYTES:]


def too_long(seconds: float) -> str:
    return f"The algorithm took longer than {seconds:g} seconds."


def ended(code: int, errors: str) -> str:
    return f"The algorithm ended with exit code {code}{last_line(errors)}."


def last_line(errors: str) -> str:
    """What the platform would show the algorithm's author, as the end of a sentence: the last line of stderr."""
    lines = [line.strip() for line in errors.splitlines() if line.strip()]
    return f": {escape_for_display(lines[-1]).rstrip('.')}" if lines else ""
