"""The `podium` command: it parses the arguments, runs a command, and ends with its exit code."""

import argparse
import gc
import os
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from typing import Any, get_type_hints

from podium import __version__
from podium.cli.arguments import EXIT_CODES, CommandParser, fill, one_of, refuse_unknown_option
from podium.cli.output import end, end_log, printed_log, say
from podium.errors import PodiumError, did_you_mean
from podium.execution.executor import ONE_THREAD
from podium.kernel import REQUESTS_TO_END, request_to_end
from podium.packages import missing_packages

_OBJECTS_BETWEEN_COLLECTIONS = 50_000
_SECONDS_TO_CLEAN_UP = 5.0
_READER_GONE = 128 + signal.SIGPIPE


SECTIONS: Mapping[str, Mapping[str, tuple[str, str]]] = {
    "score": {
        "evaluate": ("score", "score a submission and write metrics.json"),
        "validate": ("score", "check a submission before sending it, without ground truth"),
        "invoke": ("score", "evaluate on request over HTTP: GET /health, POST /invoke"),
    },
    "prepare": {
        "new": ("prepare", "write a commented challenge folder to fill in"),
        "check": ("prepare", "check a challenge's settings and references before a build"),
        "figures": ("prepare", "list the figures of a challenge and where each may be used"),
        "sockets": ("prepare", "list the sockets that a phase with algorithms needs"),
        "describe": ("prepare", "print the participants' page of a challenge, in Markdown"),
        "sample": ("prepare", "make perfect, noisy and broken submissions from the references"),
        "manifest": ("prepare", "write the public case list for 'podium validate'"),
        "leaderboard": ("prepare", "print the phase settings to paste into Grand Challenge"),
        "bundle codabench": ("prepare", "write a competition bundle for Codabench"),
        "keys new": ("prepare", "make a key pair for sealed rows; print the public key"),
        "doctor": ("prepare", "show what an evaluation would have on this machine"),
        "completion": ("prepare", "print the script that completes commands in your shell"),
    },
    "rank": {
        "rank": ("rank", "rank the teams and say how certain the ranking is"),
        "report": ("rank", "make a web page of a metrics.json or a ranking.json"),
    },
    "review": {
        "judge": ("judge", "have an LLM judge add RadFact to a reports submission"),
        "judge calibrate": ("judge", "compare the judge with the clinicians' votes"),
        "judge compare": ("judge", "compare judges that scored the same submissions"),
        "arena init": ("arena", "create an arena from finalists' reports and case images"),
        "arena invite": ("arena", "print a personal link, which is shown only once"),
        "arena revoke": ("arena", "revoke a rater's link; the votes are kept"),
        "arena serve": ("arena", "serve the arena until it is stopped"),
        "arena status": ("arena", "show ratings, raters and what the stop rule still requires"),
        "arena close": ("arena", "end the voting for good"),
        "arena result": ("arena", "write the ratings for 'podium rank --arena'"),
        "arena export": ("arena", "write all votes as CSV, or the whole arena as JSON lines"),
        "arena import": ("arena", "restore an arena from the JSON lines of 'export'"),
        "arena viewer": ("arena", "fetch NiiVue, which shows volumes and meshes, and the typeface of report pages"),
        "arena simulate": ("arena", "test the stop rule on arenas with known strengths"),
    },
    "run": {
        "batch": ("run", "score the submissions of all teams, and rank them"),
        "simulate": ("run", "drive an algorithm with simulated scribbles"),
        "scribbles": ("run", "draw the scribbles of a simulation"),
        "freehand pack": ("run", "convert .npy fields to the smaller HDF5 file to upload"),
        "freehand plot": ("run", "draw a scan's trajectories and errors as PNG"),
    },
}
"""All commands, in the order and the sections of `podium --help`, each with the module of this package that has its
function, which is called like the command, and its summary."""
COMMANDS = {name: command for section in SECTIONS.values() for name, command in section.items()}
FAMILIES = {
    "": "evaluate submissions to medical-imaging challenges by the challenges' own rules",
    "arena": "let clinicians compare anonymous reports, and rate the teams by their votes",
    "bundle": "write the files of a competition for another platform",
    "freehand": "pack and plot scans of the freehand challenge",
    "keys": "make the organiser's key for sealed rows",
}
"""What the commands have in common that begin with this word."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; the last line on stderr is a message for the user.

    Handlers and variables that a command needs are put back when it ends.
    """
    _open_closed_streams()
    with _signals(), _tuned_process(), printed_log():
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
    if arguments is None and "_ARGCOMPLETE" in os.environ:
        _complete()
    words = list(sys.argv[1:] if arguments is None else arguments)
    if name := _named(words):
        return carry_out(lambda: _run_command(name, words[len(name.split()) :]))
    family = words[0] if words and words[0] in FAMILIES else ""
    parser = overview(family)
    if not words:
        parser.exit(2, parser.format_help())
    rest = words[1:2] if family else words[:1]
    refuse_unknown_option(parser, rest, known=["--help", "--version"])
    parser.parse_args(rest)
    raise AssertionError("the parser refuses whatever is not a command")


def _named(words: Sequence[str]) -> str:
    """The command that these words begin with, if any."""
    return next((name for name in (" ".join(words[:2]), *words[:1]) if name in COMMANDS), "")


def _next_words(before: str = "") -> list[str]:
    """The words that may follow in the name of a command."""
    prefix = f"{before} " if before else ""
    return list(dict.fromkeys(name[len(prefix) :].split()[0] for name in COMMANDS if name.startswith(prefix)))


def _run_command(name: str, words: Sequence[str]) -> int:
    function, parser = load_command(name)
    if words and not os.path.exists(words[0]):  # noqa: PTH110  (Path raises without permission)
        meant = did_you_mean(words[0], _next_words(name))  # 'judge' takes paths; 'judge calibrate' is another command
        if meant:
            parser.error(f"there is no '{words[0]}'{meant}")
    return function(parser.read(words))


def load_command(name: str) -> tuple[Callable[[Any], int], CommandParser]:
    """The function of a command, and the parser of the options that it takes."""
    module, summary = COMMANDS[name]
    function = getattr(import_module(f"podium.cli.{module}"), name.replace(" ", "_"))
    return function, CommandParser(f"podium {name}", next(iter(get_type_hints(function).values())), summary)


def overview(family: str = "") -> argparse.ArgumentParser:
    """Lists the commands in its help, and refuses everything else."""
    listed = ""
    for section, commands in SECTIONS.items():
        lines = [f"  {name:<16}  {summary}\n" for name, (_, summary) in commands.items() if name.startswith(family)]
        listed += f"{section}:\n{''.join(lines)}\n" if lines else ""
    prog = f"podium {family}".strip()
    parser = argparse.ArgumentParser(
        prog=prog,
        usage=f"{prog} [-h] {'' if family else '[--version] '}COMMAND ...",
        description=f"{FAMILIES[family].capitalize()}.",
        epilog=listed + fill(EXIT_CODES),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    if not family:
        parser.add_argument("--version", action="version", version=f"podium {__version__}")
    known = _next_words(family)
    parser.add_argument("command", metavar="COMMAND", choices=known, type=one_of(known), help=argparse.SUPPRESS)
    return parser


def _complete() -> None:
    """Print what the last word of the line may become, and end the process: the script of `podium completion` asks."""
    import argcomplete

    *before, _ = os.environ["COMP_LINE"][: int(os.environ["COMP_POINT"])].split(" ")
    words = [word for word in before[1:] if word]
    parser: argparse.ArgumentParser = overview()
    if name := _named(words):
        _, parser = load_command(name)
        if len(words) == 1 and parser.first_argument and (second := _next_words(name)):
            parser.first_argument.completer = lambda **_: second  # type: ignore[attr-defined]
    elif words and words[0] in FAMILIES:
        name, parser = words[0], overview(words[0])
    os.environ["_ARGCOMPLETE"] = str(1 + len(name.split()))
    argcomplete.autocomplete(parser, always_complete_options=False)


def carry_out(command: Callable[[], int]) -> int:
    """Run a command and return its exit code; errors end it with a sentence."""
    try:
        return command()
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
def _tuned_process() -> Iterator[None]:
    """One thread per numeric library, set before any is loaded: the workers fill the cores. Rare garbage collection:
    importing makes many objects and no garbage, and looking for it took a seventh of the time until scoring started."""
    ours = {variable: value for variable, value in ONE_THREAD.items() if variable not in os.environ}
    collected_after = gc.get_threshold()
    os.environ.update(ours)
    gc.set_threshold(_OBJECTS_BETWEEN_COLLECTIONS)
    try:
        yield
    finally:
        gc.set_threshold(*collected_after)
        for variable in ours:
            os.environ.pop(variable, None)


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
