"""The command line: one command a verb. The verbs themselves are in podium/commands."""

import argparse
import os
import signal
import traceback
from collections.abc import Sequence

from podium import __version__
from podium.cli import arena, evaluate, freehand, judge, rank, report, simulate
from podium.cli.arguments import EXIT_CODES, Command, end
from podium.errors import PodiumError

_SUBJECTS = (evaluate, judge, rank, report, simulate, freehand, arena)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; the last line on stderr is a sentence for whom it concerns."""
    options = _parser().parse_args(arguments)
    command: Command = options.command
    signal.signal(signal.SIGTERM, _end_on_request)  # as a container's first process we have no default handler
    # One thread a process, decided before any numeric library is loaded: the workers fill the cores.
    for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(variable, "1")
    try:
        return command(options)
    except PodiumError as error:
        if error.detail:
            print(error.detail, flush=True)
        return end(str(error), error.exit_code)
    except KeyboardInterrupt:
        return end("Stopped on request.", 130)
    except Exception:
        # The platform shows the last line of stderr to participants, and a traceback may hold paths and values.
        print(traceback.format_exc(), flush=True)
        return end("Podium failed by an error of its own; the organisers find the details in the log.", 2)


def _end_on_request(_signal: int, _frame: object) -> None:
    raise KeyboardInterrupt


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="podium",
        description="Evaluate submissions to medical-imaging challenges by the challenges' own rules.",
        epilog=EXIT_CODES,
    )
    parser.add_argument("--version", action="version", version=f"podium {__version__}")
    verbs = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for subject in _SUBJECTS:
        subject.add_verbs(verbs)
    return parser
