"""A real Dask cluster on loopback: a scheduler and workers, each a process that can be killed."""

import os
import random
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from places import ROOT


class LocalCluster:
    """A scheduler and two workers of one thread, without nannies: what is killed stays dead."""

    def __init__(self, folder: Path, *, workers: int = 2, **configuration: str) -> None:
        self.folder = folder
        self._environment = {f"DASK_DISTRIBUTED__{name.upper()}": value for name, value in configuration.items()}
        self._port = _quiet_port()
        self.address = f"tcp://127.0.0.1:{self._port}"
        self.scheduler = self.start_scheduler()
        self.workers = [self.add_worker() for _ in range(workers)]

    def start_scheduler(self) -> "subprocess.Popen[bytes]":
        self.scheduler = self._start("scheduler", "--host", "127.0.0.1", "--port", str(self._port), "--no-show")
        return self.scheduler

    def add_worker(self, *more: str, before: Sequence[str] = ()) -> "subprocess.Popen[bytes]":
        """A worker; `more` are words to add to its command, `before` words to put in front of it."""
        return self._start("worker", self.address, "--no-nanny", "--nthreads", "1", *more, before=before)

    def wait_for_workers(self, count: int = 2) -> None:
        from distributed import Client

        with Client(self.address, timeout=60, set_as_default=False) as client:
            client.wait_for_workers(count, timeout=60)

    def stop(self) -> None:
        for process in (*self.workers, self.scheduler):
            process.kill()
            process.wait()

    def _start(self, kind: str, *arguments: str, before: Sequence[str] = ()) -> "subprocess.Popen[bytes]":
        words = [*before, sys.executable, "-m", f"distributed.cli.dask_{kind}", *arguments, "--no-dashboard"]
        paths = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
        log = (self.folder / f"{kind}-{time.monotonic_ns()}.log").open("wb")
        with log:
            return subprocess.Popen(
                words,
                cwd=self.folder,
                stdout=log,
                stderr=log,
                env={**os.environ, **self._environment, "PYTHONPATH": paths},
            )


def _quiet_port() -> int:
    """A free port below those that the kernel gives to outgoing connections: one of these, as that of a client that
    looks for its scheduler, could take the port while the scheduler is restarted."""
    first = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    while True:
        port = random.randrange(first // 2, first)
        with socket.socket() as free:
            try:
                free.bind(("127.0.0.1", port))
            except OSError:
                continue
        return port


def skip_without_mounts() -> None:
    """Skip a test whose worker sees files of its own."""
    if shutil.which("unshare") is None or subprocess.run(["unshare", "-rm", "true"], check=False).returncode:
        pytest.skip("this system allows no mounts of one's own")


def wait_until(condition: Any, *, seconds: float = 120) -> None:
    """Wait for something that has to happen."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it has not happened"
        time.sleep(0.01)
