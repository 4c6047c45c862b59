"""The web server of `podium invoke`."""

import re
import signal
import sys
import traceback
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler
from socketserver import ThreadingTCPServer
from threading import Lock
from typing import Any

from podium.cli.arguments import end

_BODY_LENGTH = re.compile("[0-9]{1,6}")


class EvaluationServer(ThreadingTCPServer):
    """`POST /invoke` runs `evaluate` and answers by its exit code: 201 for 0, 422 for 1 (the submission is unusable),
    500 for others; 409 while another evaluation runs, since both would read the same `/input`.

    As long as `evaluate` is None this and `GET /health` answer 503.
    """

    allow_reuse_address = True
    daemon_threads = True

    def __init__(self, address: tuple[str, int]) -> None:
        super().__init__(address, _Handler)
        self.evaluate: Callable[[], int] | None = None
        self._running = Lock()

    def invoke(self) -> tuple[int, str]:
        """Status and text of the answer to `POST /invoke`."""
        if self.evaluate is None:
            return 503, "Not ready yet; GET /health says when."
        if not self._running.acquire(blocking=False):
            return 409, "An evaluation is running; only one can run at a time."
        try:
            code = self.evaluate()
        except (EOFError, OSError):
            return 500, "The process that starts the evaluations has ended."
        finally:
            self._running.release()
        if code < 0:
            name = signal.Signals(-code).name
            end(f"The evaluation was ended by signal {name}, perhaps because memory ran out.")
        status = {0: 201, 1: 422}.get(code, 500)
        return status, f"The evaluation ended with exit code {code}; stdout and stderr tell more."

    def handle_error(self, request: Any, client_address: Any) -> None:  # noqa: ARG002
        """A client that has gone is nobody's error; the last line of stderr is for participants."""
        if not isinstance(sys.exception(), OSError):
            traceback.print_exc(file=sys.stdout)


class _Handler(BaseHTTPRequestHandler):
    server: EvaluationServer
    timeout = 60.0  # for the request; an evaluation may take as long as it takes

    def do_GET(self) -> None:
        if self.path != "/health":
            self._answer(404, "There are GET /health and POST /invoke.")
        elif self.server.evaluate is not None:
            self._answer(200, "Ready.")
        else:
            self._answer(503, "Not ready yet.")

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
        """Nothing: the log is that of the evaluations."""
