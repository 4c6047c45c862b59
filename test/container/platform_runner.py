"""Grand Challenge's runner, as far as an evaluation can notice it: runs inside the image, as the container's first
process, and starts the image's own entrypoint as a child: for every task (exec), or once as a web server (invoke).

    platform_runner.py exec|invoke TASKS RESULTS ENTRYPOINT...

TASKS has one folder per task with what the platform puts into /input. For every task it fills a folder that /input
links to, empties /output, and starts the entrypoint without the variables it keeps to itself, with a limit on data of
7 GB, or posts /invoke. Of a run that failed nothing of /output is kept. RESULTS/<task>.json tells what the platform
would show. `code` is the exit code or, of a web server, the answer.
"""

import json
import os
import resource
import shutil
import subprocess
import sys
import time
from contextlib import suppress
from http.client import HTTPConnection
from pathlib import Path
from typing import IO

KEPT_LINES = 500
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


def stage(task: Path) -> None:
    staged = Path("/tmp/staged-input")
    emptied(staged)
    shutil.copytree(task, staged, dirs_exist_ok=True, symlinks=True)
    (staged / "inputs.json").write_text("[]")
    INPUT.unlink(missing_ok=True) if INPUT.is_symlink() else shutil.rmtree(INPUT, ignore_errors=True)
    INPUT.symlink_to(staged)
    emptied(OUTPUT)


def start(entrypoint: list[str], stdout: IO[str], stderr: IO[str]) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        entrypoint,
        env=child_environment(),
        user=USER,
        group=USER,
        extra_groups=[],
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_DATA, (DATA_BYTES, DATA_BYTES)),  # noqa: PLW1509
        stdout=stdout,
        stderr=stderr,
        text=True,
    )


def post() -> int:
    connection = HTTPConnection("127.0.0.1", 4743)
    connection.request("POST", "/invoke")
    return connection.getresponse().status


def wait_until_healthy(server: "subprocess.Popen[str]") -> None:
    while server.poll() is None:
        with suppress(OSError):
            connection = HTTPConnection("127.0.0.1", 4743)
            connection.request("GET", "/health")
            if connection.getresponse().status == 200:
                return
        time.sleep(0.1)
    sys.exit("The server has ended.")


def result(code: int, stdout: str, stderr: str) -> str:
    streams = {"stdout": stdout.splitlines(), "stderr": stderr.splitlines()}
    uploaded = (OUTPUT / "metrics.json").read_text() if code in {0, 201} else None
    emptied(OUTPUT)
    return json.dumps(
        {
            "code": code,
            "lines": {name: len(lines) for name, lines in streams.items()},
            **{name: lines[-KEPT_LINES:] for name, lines in streams.items()},
            "metrics": uploaded,
        }
    )


def main(method: str, tasks: Path, results: Path, entrypoint: list[str]) -> None:
    os.environ["GRAND_CHALLENGE_MAX_WORKERS"] = "1"
    os.environ["LD_LIBRARY_PATH"] = "/nowhere"
    files = [Path("/tmp/stdout"), Path("/tmp/stderr")]
    with files[0].open("a") as out, files[1].open("a") as err, files[0].open() as said, files[1].open() as shown:
        server = start(entrypoint, out, err) if method == "invoke" else None
        if server is not None:
            wait_until_healthy(server)
            said.read(), shown.read()
        for task in sorted(tasks.iterdir()):
            stage(task)
            code = start(entrypoint, out, err).wait() if server is None else post()
            (results / f"{task.name}.json").write_text(result(code, said.read(), shown.read()))
        if server is not None:
            server.terminate()
            server.wait()


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]), sys.argv[4:])
