"""Algorithms to interact with: a container, a program or a Python function, all asked in the platform's own way.

Called once per step: `/input` holds `images/ct/<case>.mha`, `images/pet/<case>.mha` and `lesion-clicks.json`; the
prediction is the one image in `/output/images/tumor-lesion-segmentation`.
"""

import importlib
import os
import shlex
import signal
import subprocess
import uuid
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from pathlib import Path

from podium.errors import PodiumError, UsageError
from podium.readers.names import escape_for_display

OUTPUT_FOLDER = "images/tumor-lesion-segmentation"

# What the platform runs an algorithm with: no network, no privileges, bounded memory without swap, bounded processes.
_PLATFORM_LIMITS = (
    "--network=none",
    "--cap-drop=all",
    "--security-opt=no-new-privileges",
    "--memory=16g",
    "--memory-swap=16g",
    "--pids-limit=512",
    "--shm-size=128m",
)
_FORMS = "docker:IMAGE, command:PROGRAM ARGS (with {input} and {output}) or python:MODULE:FUNCTION"


class StepFailedError(PodiumError):
    """The algorithm gave no prediction; the step is recorded as failed and the case goes on."""


class Algorithm(ABC):
    """Something that reads an input folder and fills an output folder."""

    @abstractmethod
    def run(self, *, input_folder: Path, output_folder: Path, timeout_seconds: float) -> None:
        """Raises StepFailedError when it fails or takes too long."""


def find_algorithm(spec: str) -> Algorithm:
    """The algorithm a command line names, checked as far as that is possible without running it."""
    kind, _, rest = spec.partition(":")
    if kind == "docker" and rest:
        return Container(rest)
    if kind == "command" and rest.strip():
        try:
            return Program(shlex.split(rest))
        except ValueError as error:
            raise UsageError(f"The command of --algorithm cannot be split into words: {error}.") from None
    if kind == "python" and rest.count(":") == 1:
        return Function(_load(*rest.split(":")))
    raise UsageError(f"--algorithm '{spec}' is none of {_FORMS}.")


class Container(Algorithm):
    """An image of an algorithm, run as the platform runs it."""

    def __init__(self, image: str) -> None:
        self.image = image
        try:
            known = _docker("image", "inspect", image).returncode == 0
        except OSError:
            raise UsageError("docker is not installed; an algorithm in a container needs a Docker engine.") from None
        if not known:
            raise UsageError(f"There is no image '{image}' here, or no Docker engine answers.")

    def run(self, *, input_folder: Path, output_folder: Path, timeout_seconds: float) -> None:
        name = f"podium-simulate-{uuid.uuid4().hex}"
        folders = (f"--volume={input_folder}:/input:ro", f"--volume={output_folder}:/output")
        try:
            done = _docker("run", f"--name={name}", *_PLATFORM_LIMITS, *folders, self.image, timeout=timeout_seconds)
        except subprocess.TimeoutExpired:
            raise StepFailedError(_too_long(timeout_seconds)) from None
        finally:
            _docker("rm", "--force", name)  # a container outlives its client
        if done.returncode != 0:
            raise StepFailedError(_ended(done.returncode, done.stderr))


class Program(Algorithm):
    """A local program; `{input}` and `{output}` in its arguments become the two folders."""

    def __init__(self, words: Sequence[str]) -> None:
        self.words = tuple(words)

    def run(self, *, input_folder: Path, output_folder: Path, timeout_seconds: float) -> None:
        command = [
            word.replace("{input}", str(input_folder)).replace("{output}", str(output_folder)) for word in self.words
        ]
        try:
            process = subprocess.Popen(  # noqa: S603  (whoever calls names the program)
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                text=True,
                errors="replace",
                start_new_session=True,
            )
        except OSError as error:
            raise UsageError(f"The program '{self.words[0]}' cannot be started: {error.strerror}.") from None
        with process:
            try:
                _, errors = process.communicate(timeout=timeout_seconds)
            except BaseException as error:
                # With whatever it started itself. A session of its own keeps Ctrl-C from it, so that is our part, too.
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
                if isinstance(error, subprocess.TimeoutExpired):
                    raise StepFailedError(_too_long(timeout_seconds)) from None
                raise
        if process.returncode != 0:
            raise StepFailedError(_ended(process.returncode, errors))


class Function(Algorithm):
    """A Python function of two folders, in this process: it cannot be stopped when it takes too long."""

    def __init__(self, function: Callable[[Path, Path], object]) -> None:
        self.function = function

    def run(self, *, input_folder: Path, output_folder: Path, timeout_seconds: float) -> None:  # noqa: ARG002
        try:
            self.function(input_folder, output_folder)
        except Exception as error:  # whatever went wrong, it costs this step only
            raise StepFailedError(
                f"The function raised {type(error).__name__}: {escape_for_display(str(error))}."
            ) from error


def _load(module: str, name: str) -> Callable[[Path, Path], object]:
    try:
        function = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise UsageError(f"The function '{module}:{name}' cannot be loaded: {error}.") from None
    if not callable(function):
        raise UsageError(f"'{module}:{name}' is not a function.")
    found: Callable[[Path, Path], object] = function
    return found


def _docker(*arguments: str, timeout: float | None = None) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(  # noqa: S603
        ["docker", *arguments],  # noqa: S607
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=timeout,
        check=False,
    )


def _too_long(seconds: float) -> str:
    return f"The algorithm took longer than {seconds:g} seconds."


def _ended(code: int, errors: str) -> str:
    """What the platform would show its author: the last line of stderr."""
    lines = [line.strip() for line in errors.splitlines() if line.strip()]
    last = f": {escape_for_display(lines[-1]).rstrip('.')}" if lines else ""
    return f"The algorithm ended with exit code {code}{last}."
