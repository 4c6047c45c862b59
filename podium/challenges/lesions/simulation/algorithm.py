"""What an algorithm is to the simulation: something that reads an input folder and fills an output folder, per step."""

import shutil
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from podium.errors import PodiumError
from podium.readers.names import escape_for_display

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


def too_long(seconds: float) -> str:
    return f"The algorithm took longer than {seconds:g} seconds."


def ended(code: int, errors: str) -> str:
    return f"The algorithm ended with exit code {code}{last_line(errors)}."


def last_line(errors: str) -> str:
    """What the platform would show the algorithm's author, as the end of a sentence: the last line of stderr."""
    lines = [line.strip() for line in errors.splitlines() if line.strip()]
    return f": {escape_for_display(lines[-1]).rstrip('.')}" if lines else ""
