"""Algorithms to interact with: a container, a program or a Python function, all asked in the platform's own way.

Called once per step: `/input` holds `images/ct/<case>.mha`, `images/pet/<case>.mha` and `lesion-clicks.json`; the
prediction is the one image in `/output/images/tumor-lesion-segmentation`.
"""

import importlib
import shlex
from collections.abc import Callable, Sequence
from pathlib import Path

from podium.challenges.lesions.simulation.algorithm import Algorithm, Folders, StepFailedError, ended, run_program
from podium.challenges.lesions.simulation.containers import find_container
from podium.errors import UsageError
from podium.readers.files import escape_for_display

_FORMS = "docker:IMAGE, command:PROGRAM ARGS (with {input} and {output}) or python:MODULE:FUNCTION"


def find_algorithm(spec: str) -> Algorithm:
    """The algorithm a command line names, checked as far as that is possible without running it."""
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


class Program(Algorithm):
    """A local program; `{input}` and `{output}` in its arguments become the two folders."""

    def __init__(self, words: Sequence[str]) -> None:
        self.words = tuple(words)

    def run(self, folders: Folders, *, timeout_seconds: float) -> None:
        command = [
            word.replace("{input}", str(folders.input)).replace("{output}", str(folders.output)) for word in self.words
        ]
        try:
            code, errors = run_program(command, folders, timeout_seconds=timeout_seconds)
        except OSError as error:
            raise UsageError(f"The program '{self.words[0]}' cannot be started: {error.strerror}.") from None
        if code != 0:
            raise StepFailedError(ended(code, errors))


class Function(Algorithm):
    """A Python function of two folders, in this process: it cannot be stopped when it takes too long."""

    def __init__(self, function: Callable[[Path, Path], object]) -> None:
        self.function = function

    def run(self, folders: Folders, *, timeout_seconds: float) -> None:  # noqa: ARG002
        try:
            self.function(folders.input, folders.output)
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
