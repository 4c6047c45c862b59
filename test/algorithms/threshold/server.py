"""The algorithm of process.py as a web server, and faulty ones: GET /health, POST /invoke on port 4743.

python server.py [FAULT]
"""

import os
import socket
import sys
import time
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

from process import main

FAULT = sys.argv[1] if len(sys.argv) > 1 else None


class Handler(BaseHTTPRequestHandler):
    invocations = 0

    def do_GET(self) -> None:
        self.answer(503 if FAULT == "unhealthy" else 200 if self.path == "/health" else 404)

    def do_POST(self) -> None:
        Handler.invocations += 1
        if FAULT == "refuses":
            print("out of luck", file=sys.stderr, flush=True)
            self.answer(500)
            return
        if FAULT == "fills":
            Path("/output/x").write_bytes(bytes(60_000_000))
            time.sleep(600)
        if FAULT == "hangs":
            time.sleep(600)
        if FAULT == "dies" and Handler.invocations == 2:
            print("out of memory", file=sys.stderr, flush=True)
            os._exit(3)
        if FAULT == "silent":
            return
        if FAULT == "online":
            socket.create_connection(("1.1.1.1", 53), timeout=5)
        main(Path("/input"), Path("/output"))
        self.answer(201 if self.path == "/invoke" else 404)

    def answer(self, status: int) -> None:
        self.send_response(status)
        self.end_headers()

    def log_message(self, *arguments: object) -> None:
        """Nothing: what is last on stderr should be the fault's own words."""


if __name__ == "__main__":
    if FAULT == "broken":
        sys.exit("no weights")
    HTTPServer(("0.0.0.0", 4743), Handler).serve_forever()
