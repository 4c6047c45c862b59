"""Grand Challenge's runner (0.8.3), as far as an evaluation can notice it: runs inside the image, as the container's
first process, and starts the image's own entrypoint as a child: for every task (exec), or once as a web server
(invoke).

    platform_runner.py exec|invoke TASKS RESULTS ENTRYPOINT...

TASKS has one folder per task with what the platform puts into /input. For every task it fills a folder that /input
links to, empties /output, and starts the entrypoint without the variables it keeps to itself, with a limit on data of
7 GB, or posts /invoke. Of a run that failed nothing of /output is kept. RESULTS/<task>.json tells what the platform
would show. `code` is the exit code or, of a web server, the answer; `waits` how often the web server was not healthy
when it was asked, which costs 10 seconds each.

The entrypoint's streams are pipes. The runner waits until both are closed, drops lines of more than 64 KiB, and fails
on a byte that is not UTF-8. At a time limit it sends SIGTERM to the process group, and SIGKILL five seconds later.
"""

import fcntl
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import termios
import time
from contextlib import suppress
from http.client import HTTPConnection
from pathlib import Path
from threading import Thread
from typing import Any

KEPT_LINES = {"stdout": 500, "stderr": 100}
LONGEST_LINE = 64 * 1024
SECONDS_TO_END = 5
SECONDS_BETWEEN_QUESTIONS = 10
SECONDS_BEFORE_THE_FIRST_QUESTION = 1
DATA_BYTES = 7 * 10**9
INPUT, OUTPUT = Path("/input"), Path("/output")
USER = 1000


def emptied(folder: Path) -> None:
    folder.mkdir(exist_ok=True)
    for path in folder.iterdir():
        shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
    os.chown(folder, USER, USER)


def child_environment() -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.upper().startswith("GRAND_CHALLENGE_")}
    kept.pop("LD_LIBRARY_PATH", None)
    return {**kept, "HOME": "/tmp"}


def without_common_folder(archive: Path) -> Path:
    """The folder that all files of a prediction archive are in."""
    inside = [path for path in archive.iterdir() if path.name not in ("__MACOSX", ".DS_Store", "desktop.ini")]
    return without_common_folder(inside[0]) if len(inside) == 1 and inside[0].is_dir() else archive


def stage(task: Path) -> None:
    staged = Path("/tmp/staged-input")
    emptied(staged)
    ignored = shutil.ignore_patterns("__MACOSX", ".DS_Store", "desktop.ini")
    shutil.copytree(without_common_folder(task), staged, dirs_exist_ok=True, symlinks=True, ignore=ignored)
    (staged / "inputs.json").write_text("[]")
    INPUT.unlink(missing_ok=True) if INPUT.is_symlink() else shutil.rmtree(INPUT, ignore_errors=True)
    INPUT.symlink_to(staged)
    emptied(OUTPUT)


class Run:
    """The entrypoint as a process of its own group; `options` are those of Popen."""

    def __init__(self, entrypoint: list[str], **options: Any) -> None:
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(entrypoint, stdout=pipe, stderr=pipe, start_new_session=True, **options)
        self.streams: dict[str, list[str]] = {"stdout": [], "stderr": []}
        self.problems: list[str] = []
        pipes = {"stdout": self.process.stdout, "stderr": self.process.stderr}
        self._threads = [Thread(target=self._follow, args=each) for each in pipes.items()]
        for thread in self._threads:
            thread.start()

    def _follow(self, name: str, pipe: Any) -> None:
        with pipe:
            for line in pipe:
                try:
                    text = line.decode().rstrip("\n")
                except UnicodeDecodeError:
                    self.problems.append(f"{name} has a byte that is not UTF-8: {line!r}")
                    continue
                self.streams[name] += [text] if len(line) <= LONGEST_LINE else []

    def end(self, *, seconds: float | None = None) -> int:
        """The exit code, once both streams are closed."""
        before = None if seconds is None else time.monotonic() + seconds
        for send in (None, signal.SIGTERM, signal.SIGKILL):
            if send is not None:
                os.killpg(self.process.pid, send)
                before = time.monotonic() + SECONDS_TO_END if send == signal.SIGTERM else None
            for thread in self._threads:
                thread.join(None if before is None else max(0, before - time.monotonic()))
            if not any(thread.is_alive() for thread in self._threads):
                break
        return self.process.wait()

    def settle(self) -> None:
        """Of a server, wait until everything is read that was written."""
        while self.process.poll() is None and any(
            int.from_bytes(fcntl.ioctl(pipe, termios.FIONREAD, bytes(4)), sys.byteorder)
            for pipe in (self.process.stdout, self.process.stderr)
            if pipe is not None
        ):
            time.sleep(0.01)
        time.sleep(0.1)

    @property
    def shown(self) -> str:
        """What the participant is shown of a run that failed."""
        return [line for line in self.streams["stderr"][-KEPT_LINES["stderr"] :] if line.strip()][-1]


def start(entrypoint: list[str]) -> Run:
    return Run(
        entrypoint,
        env=child_environment(),
        user=USER,
        group=USER,
        extra_groups=[],
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_DATA, (DATA_BYTES, DATA_BYTES)),
    )


def post() -> int:
    connection = HTTPConnection("127.0.0.1", 4743)
    connection.request("POST", "/invoke")
    return connection.getresponse().status


def wait_until_healthy(server: Run) -> int:
    """How often that took a wait. The first question comes when a server that listens at once would answer."""
    time.sleep(SECONDS_BEFORE_THE_FIRST_QUESTION)
    waits = 0
    while server.process.poll() is None:
        with suppress(OSError):
            connection = HTTPConnection("127.0.0.1", 4743, timeout=SECONDS_BETWEEN_QUESTIONS)
            connection.request("GET", "/health")
            if connection.getresponse().status == 200:
                return waits
        waits += 1
        time.sleep(SECONDS_BETWEEN_QUESTIONS)
    sys.exit("The server has ended.")


def result(code: int, run: Run, waits: int) -> str:
    streams = {name: list(lines) for name, lines in run.streams.items()}
    for lines in run.streams.values():
        lines.clear()
    is_kept = code in {0, 201} and not run.problems
    uploaded = (OUTPUT / "metrics.json").read_text() if is_kept else None
    others = sorted(path.name for path in OUTPUT.iterdir() if path.name != "metrics.json") if is_kept else []
    emptied(OUTPUT)
    return json.dumps(
        {
            "code": code,
            "lines": {name: len(lines) for name, lines in streams.items()},
            **{name: lines[-KEPT_LINES[name] :] for name, lines in streams.items()},
            "metrics": uploaded,
            "other_outputs": others,
            "problems": run.problems,
            "waits": waits,
        }
    )


def main(method: str, tasks: Path, results: Path, entrypoint: list[str]) -> None:
    os.environ["GRAND_CHALLENGE_MAX_WORKERS"] = "1"
    os.environ["LD_LIBRARY_PATH"] = "/nowhere"
    server, waits = (start(entrypoint), 0) if method == "invoke" else (None, 0)
    if server is not None:
        waits = wait_until_healthy(server)
        while not server.streams["stdout"]:  # "Ready", which may follow the answer
            time.sleep(0.01)
        server.streams["stdout"].clear()
    for task in sorted(tasks.iterdir()):
        stage(task)
        run = server or start(entrypoint)
        code = run.end() if server is None else post()
        run.settle()
        (results / f"{task.name}.json").write_text(result(code, run, waits))
    if server is not None:
        server.end(seconds=0)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]), sys.argv[4:])
