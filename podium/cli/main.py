"""The `podium` command: it parses the arguments, runs a command, and ends with its exit code."""

import argparse
import gc
import os
import signal
import sys
import threading
import time
import traceback
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import get_args

from podium import __version__
from podium.cli import arena, judge, prepare, rank, run, score
from podium.cli.arguments import EXIT_CODES, Command, Group, Parser, end, end_log, printed_log, say, summaries
from podium.errors import PodiumError, did_you_mean, missing_packages
from podium.execution.executor import ONE_THREAD
from podium.kernel import REQUESTS_TO_END, request_to_end

_MODULES = (score, prepare, rank, judge, arena, run)
_OBJECTS_BETWEEN_COLLECTIONS = 50_000
_SECONDS_TO_CLEAN_UP = 5.0
_READER_GONE = 128 + signal.SIGPIPE


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; the last line on stderr is a message for the user.

    Handlers and variables that a command needs are put back when it ends.
    """
    _open_closed_streams()
    with _signals(), _one_thread_per_process(), _rare_garbage_collection(), printed_log():
        try:
            try:
                return _run(arguments)
            finally:
                sys.stdout.flush()  # a reader that has gone is noticed here, not while Python ends
        except OSError as fault:
            _discard_output()
            if isinstance(fault, BrokenPipeError):  # as in `podium leaderboard | head`
                return _READER_GONE
            with suppress(OSError):
                say(f"What the command prints cannot be written: {fault.strerror}.")
            return 2
        except KeyboardInterrupt:  # before or after the command itself
            return _end_on_request()


def _run(arguments: Sequence[str] | None) -> int:
    parser, verbs = make_parser()
    words = list(sys.argv[1:] if arguments is None else arguments)
    if not words:
        parser.exit(2, parser.format_help())
    if " ".join(words[:2]) in verbs:  # 'judge calibrate' is a verb of two words; 'judge' itself takes paths
        words[:2] = [" ".join(words[:2])]
    elif len(words) > 1 and not os.path.exists(words[1]):  # noqa: PTH110  (Path raises without permission)
        second = [verb.partition(" ")[2] for verb in verbs if verb.startswith(f"{words[0]} ")]
        if meant := did_you_mean(words[1], second):
            parser.error(f"there is no '{words[1]}'{meant}")
    options = parser.parse_args(words)
    return carry_out(options.command, options)


def carry_out(command: Command, options: argparse.Namespace) -> int:
    """Run a command and return its exit code; errors end it with a sentence."""
    try:
        return command(options)
    except Exception as error:
        # What is raised on request may be raised inside a library, which makes another error of it.
        return _end_on_request() if request_to_end.was_made else _end_by(error)
    except KeyboardInterrupt:
        return _end_on_request()


def _end_on_request() -> int:
    # Python remembers an interrupt inside exec(), which dataclasses use as they are imported, although it was caught
    # since: it would end this process by SIGINT instead of with the exit code. The next exec() makes it forget.
    exec("")  # noqa: S102
    return end("Stopped on request.", 130)


def _end_by(error: Exception) -> int:
    if isinstance(error, PodiumError):
        end_log(error.detail or "")
        return end(str(error), error.exit_code)
    if isinstance(error, ModuleNotFoundError) and error.name:
        if error.name.startswith("podium.tools."):
            return end("This command is not part of the evaluation image; run it where Podium is installed.", 2)
        if not error.name.startswith("podium"):
            return end(missing_packages(error.name, extra="score"), 2)
    # The platform shows the last line of stderr to participants, and a traceback may hold paths and values.
    end_log("".join(traceback.format_exception(error)))
    return end("Podium failed with an internal error. The organisers can find details in the log.", 2)


@contextmanager
def _signals() -> Iterator[None]:
    """SIGTERM and SIGHUP end a command as Ctrl-C does: the first process of a container has no default handler, and a
    terminal that is closed must not leave temporary files. What is ignored, as under nohup, stays ignored."""
    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread may set handlers
        return
    request_to_end.was_made = False
    before = {number: signal.getsignal(number) for number in REQUESTS_TO_END}
    ignored_until = 0.0

    def raise_on_request(_signal: int, _frame: object) -> None:
        """Further requests are ignored for a moment: they would interrupt the deletion of temporary files."""
        nonlocal ignored_until
        request_to_end.was_made = True
        if time.monotonic() >= ignored_until:
            ignored_until = time.monotonic() + _SECONDS_TO_CLEAN_UP
            raise KeyboardInterrupt

    for number, handled in before.items():
        if handled is not signal.SIG_IGN:
            signal.signal(number, raise_on_request)
    try:
        yield
    finally:
        for number, handled in before.items():
            signal.signal(number, handled)
        request_to_end.was_made = False  # or an evaluation from Python after this command would end at once


@contextmanager
def _one_thread_per_process() -> Iterator[None]:
    """Set before any numeric library is loaded: the workers fill the cores."""
    ours = {variable: value for variable, value in ONE_THREAD.items() if variable not in os.environ}
    os.environ.update(ours)
    try:
        yield
    finally:
        for variable in ours:
            os.environ.pop(variable, None)


@contextmanager
def _rare_garbage_collection() -> Iterator[None]:
    """Importing makes many objects and no garbage: looking for it took a seventh of the time until scoring started."""
    before = gc.get_threshold()
    gc.set_threshold(_OBJECTS_BETWEEN_COLLECTIONS)
    try:
        yield
    finally:
        gc.set_threshold(*before)


def _open_closed_streams() -> None:
    """Where descriptor 0, 1 or 2 is closed, the next file to be opened would get its number and what is printed."""
    while (lowest := os.open(os.devnull, os.O_RDWR)) <= 2:
        pass
    os.close(lowest)
    sys.stdout, sys.stderr = (
        open(number, "w", closefd=False) if stream is None else stream  # noqa: SIM115
        for number, stream in ((1, sys.stdout), (2, sys.stderr))
    )


def _discard_output() -> None:
    """Python flushes both streams once more as it ends: what is not read must not become a traceback there."""
    with Path(os.devnull).open("wb") as nowhere:
        for stream in (sys.stdout, sys.stderr):
            try:
                stream.flush()
            except OSError:
                os.dup2(nowhere.fileno(), stream.fileno())


def make_parser() -> tuple[Parser, Collection[str]]:
    """The parser, and the names of its commands."""
    parser = Parser(
        prog="podium",
        usage="podium [-h] [--version] COMMAND ...",
        description="Evaluate submissions to medical-imaging challenges by the challenges' own rules.",
        epilog=EXIT_CODES,
    )
    parser.add_argument("--version", action="version", version=f"podium {__version__}")
    verbs = parser.add_subparsers(prog="podium", metavar="COMMAND", required=True, help=argparse.SUPPRESS)
    sections = {name: parser.add_argument_group(name) for name in get_args(Group)}
    listed = 0
    for module in _MODULES:
        module.add_verbs(verbs)
        for words, summary in list(summaries(verbs))[listed:]:
            line = argparse.Action([], dest=words, metavar=words, help=summary)
            sections[module.GROUP]._group_actions.append(line)
            listed += 1
    return parser, verbs.choices
