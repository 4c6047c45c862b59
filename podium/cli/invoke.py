"""`podium invoke`: what a container runs that was built with `--api invoke`, one evaluation per `POST /invoke`."""

import re
import signal
import sys
import traceback
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from http.server import BaseHTTPRequestHandler
from multiprocessing.connection import Connection
from socketserver import ThreadingTCPServer
from threading import Event, Lock, Thread
from typing import Any

from podium.cli.output import end
from podium.cli.score import InvokeOptions, evaluate_on
from podium.errors import UsageError
from podium.execution.children import FORK, fork, how_it_ended, reap
from podium.kernel import signals_blocked

_SECONDS_TO_END = 10.0
_SECONDS_OF_AN_ANSWER = 8.0
_BODY_LENGTH = re.compile("[0-9]{1,6}")


def serve_evaluations(options: InvokeOptions) -> int:
    """Serve until the process that starts the evaluations ends."""
    from podium.cli.main import carry_out  # that module lists this command

    def warm_up() -> None:
        """Import packages before the first evaluation, which then starts faster."""
        server.server_close()  # the copy of this process: only one listens
        from podium.evaluation import import_packages

        with suppress(Exception):  # whatever is wrong, every evaluation reports it as it would without a server
            import_packages(options.ground_truth_folder, challenge=options.challenge)

    try:
        server = EvaluationServer(("0.0.0.0", options.port))  # noqa: S104  (the platform calls from outside)
    except (OSError, OverflowError) as error:
        raise UsageError(f"The server cannot listen on port {options.port}: {error}.") from None
    with server:
        evaluator = Prefork(warm_up=warm_up, job=lambda: carry_out(lambda: evaluate_on(options)))
        Thread(target=server.serve_forever, daemon=True).start()
        try:
            evaluator.wait_until_warm()
            server.evaluate = evaluator.run
            server.is_ready.set()
            print(f"Ready: POST /invoke on port {server.server_address[1]} starts an evaluation.", flush=True)
            evaluator.join()
        except EOFError:
            pass  # reported below
        finally:
            server.shutdown()
            evaluator.stop()
    return end("The process that starts the evaluations has ended, perhaps because memory ran out.", 2)


class EvaluationServer(ThreadingTCPServer):
    """`POST /invoke` runs `evaluate` and answers by its exit code: 201 for 0, 422 for 1 (the submission is unusable),
    500 for others; 409 while another evaluation runs, since both would read the same `/input`.

    As long as `evaluate` is None both wait. The platform asks `GET /health` with a time limit of 10 s, and waits 10 s
    after any answer but 200: so that one answers 200 before its time is up, and `POST /invoke` waits for the rest.
    """

    allow_reuse_address = True
    daemon_threads = True

    def __init__(self, address: tuple[str, int]) -> None:
        super().__init__(address, _Handler)
        self.evaluate: Callable[[], int] | None = None
        self.is_ready = Event()
        self._running = Lock()

    def invoke(self) -> tuple[int, str]:
        """Status and text of the answer to `POST /invoke`."""
        if not self._running.acquire(blocking=False):
            return 409, "An evaluation is running; only one can run at a time."
        try:
            self.is_ready.wait()
            assert self.evaluate is not None
            code = self.evaluate()
        except (EOFError, OSError):
            return 500, "The process that starts the evaluations has ended."
        finally:
            self._running.release()
        if code < 0:
            end(f"The evaluation was ended {how_it_ended(code)}, perhaps because memory ran out.")
        status = {0: 201, 1: 422}.get(code, 500)
        return status, f"The evaluation ended with exit code {code}; see stdout and stderr."

    def handle_error(self, request: Any, client_address: Any) -> None:  # noqa: ARG002
        """Ignore clients that have gone; print other errors to stdout: the last line of stderr is for participants."""
        if not isinstance(sys.exception(), OSError):
            traceback.print_exc(file=sys.stdout)


class _Handler(BaseHTTPRequestHandler):
    server: EvaluationServer
    timeout = 60.0  # for the request; an evaluation may take as long as it takes

    def do_GET(self) -> None:
        if self.path != "/health":
            self._answer(404, "There are GET /health and POST /invoke.")
        else:
            self.server.is_ready.wait(_SECONDS_OF_AN_ANSWER)
            self._answer(200, "Ready.")

    def do_POST(self) -> None:
        length = self.headers.get("Content-Length", "0")
        if not _BODY_LENGTH.fullmatch(length):
            self._answer(413, "The body is ignored; it must be smaller than a megabyte.")
            return
        self.rfile.read(int(length))  # a connection that is closed on unread bytes takes the answer with it
        if self.path != "/invoke":
            self._answer(404, "There are GET /health and POST /invoke.")
            return
        self._answer(*self.server.invoke())

    def _answer(self, status: int, text: str) -> None:
        body = f"{text}\n".encode()
        self.send_response(status)
        self.send_header("Content-Type", "text/plain; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments: object) -> None:
        """Log nothing: the log is that of the evaluations."""


class Prefork:
    """A process that runs `warm_up` once, then forks a child for every `job`: jobs start at once and share no state.

    The process has one thread, so that a fork never copies a lock that another thread holds: a server with threads
    therefore asks it from outside. Make it before the first thread is started.
    """

    def __init__(self, *, warm_up: Callable[[], None], job: Callable[[], int]) -> None:
        self._connection, theirs = FORK.Pipe()
        serve = partial(_serve, theirs, self._connection, warm_up, job)
        self._process = fork(serve, handlers={signal.SIGTERM: signal.default_int_handler})  # jobs inherit it
        theirs.close()

    def wait_until_warm(self) -> None:
        """Raises EOFError if the process ended instead."""
        self._connection.recv()

    def run(self) -> int:
        """The exit code of one job, negative for a signal; one job at a time. Raises EOFError or OSError if the process
        has ended."""
        self._connection.send(None)
        code: int = self._connection.recv()
        return code

    def join(self) -> None:
        """Wait until the process ends, which it does by itself only if something is wrong."""
        self._process.join()

    def stop(self) -> None:
        """End the process and the job that runs, each as SIGTERM ends it."""
        self._process.terminate()
        reap(self._process, within_seconds=_SECONDS_TO_END)
        self._connection.close()


def _serve(connection: Connection, other: Connection, warm_up: Callable[[], None], job: Callable[[], int]) -> None:
    other.close()  # or the end of the asking process would not be noticed
    with suppress(EOFError, OSError):
        warm_up()
        connection.send(None)
        while True:
            connection.recv()
            connection.send(_run(connection, job))


def _run(connection: Connection, job: Callable[[], int]) -> int:
    def exit_with_code() -> None:
        connection.close()
        raise SystemExit(job())

    child = None
    try:
        with signals_blocked():  # until `child` is known
            child = fork(exit_with_code)
        child.join()
    finally:  # also where we are to stop
        if child is not None:
            child.terminate()
            child.join()
    assert child.exitcode is not None, "the child has ended"
    return child.exitcode
