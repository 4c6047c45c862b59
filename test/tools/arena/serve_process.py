"""`podium arena serve` as a process of its own, on a free port of this machine."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx

ROOT = Path(__file__).resolve().parents[3]
_PODIUM = "import sys; from podium.cli import main; sys.exit(main())"


class ServeProcess:
    """A server that answers once this is made, and is gone when the context ends."""

    def __init__(self, folder: Path, *options: str | Path, port: int = 0, program: str = _PODIUM) -> None:
        command = [sys.executable, "-c", program, "arena", "serve", folder, "--port", str(port), *options]
        environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONWARNINGS": "error"}
        self.process = subprocess.Popen(
            command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        assert self.process.stdout is not None
        found = re.match(
            r"The arena listens on (https?://\S+:(\d+)) \(links point to http://", self.process.stdout.readline()
        )
        assert found, self.stop()
        self.address, self.port = found[1], int(found[2])
        assert self.process.stdout.readline() == "Press Ctrl-C to stop it; every confirmed vote is on disk.\n"
        # It listens before it heeds signals: SIGTERM would end it without a word until it has answered.
        assert httpx.get(self.address, timeout=60, verify=False).status_code == 401

    def __enter__(self) -> "ServeProcess":
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.communicate()

    def stop(self) -> str:
        """As a service manager would; what the server had to complain about."""
        self.process.terminate()
        return self.process.communicate(timeout=60)[1]


@contextmanager
def serving(folder: Path) -> Iterator[str]:
    """The address of a server that must have nothing to complain about."""
    server = ServeProcess(folder)
    try:
        yield server.address
    finally:
        complaints = server.stop()
    assert complaints == "Stopped.\n", complaints
