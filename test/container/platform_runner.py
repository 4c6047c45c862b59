"""Grand Challenge's runner, as far as an evaluation can notice it: runs inside the image, as the container's first
process, and starts the image's own entrypoint as a child for every task.

    platform_runner.py TASKS RESULTS ENTRYPOINT...

TASKS has one folder per task with what the platform puts into /input. For every task it fills a folder that /input
links to, empties /output, and starts the entrypoint without the variables it keeps to itself, with a limit on data of
7 GB. Of a run that failed nothing of /output is kept. RESULTS/<task>.json tells what the platform would show.
"""

import json
import os
import resource
import shutil
import subprocess
import sys
from pathlib import Path

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


def run(task: Path, entrypoint: list[str]) -> dict[str, object]:
    staged = Path("/tmp/staged-input")
    emptied(staged)
    shutil.copytree(task, staged, dirs_exist_ok=True, symlinks=True)
    (staged / "inputs.json").write_text("[]")
    INPUT.unlink(missing_ok=True) if INPUT.is_symlink() else shutil.rmtree(INPUT, ignore_errors=True)
    INPUT.symlink_to(staged)
    emptied(OUTPUT)
    done = subprocess.run(
        entrypoint,
        env=child_environment(),
        user=USER,
        group=USER,
        extra_groups=[],
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_DATA, (DATA_BYTES, DATA_BYTES)),
        capture_output=True,
        text=True,
        check=False,
    )
    streams = {"stdout": done.stdout.splitlines(), "stderr": done.stderr.splitlines()}
    uploaded = (OUTPUT / "metrics.json").read_text() if done.returncode == 0 else None
    emptied(OUTPUT)
    return {
        "code": done.returncode,
        "lines": {name: len(lines) for name, lines in streams.items()},
        **{name: lines[-KEPT_LINES:] for name, lines in streams.items()},
        "metrics": uploaded,
    }


def main(tasks: Path, results: Path, entrypoint: list[str]) -> None:
    os.environ["GRAND_CHALLENGE_MAX_WORKERS"] = "1"
    os.environ["LD_LIBRARY_PATH"] = "/nowhere"
    for task in sorted(tasks.iterdir()):
        (results / f"{task.name}.json").write_text(json.dumps(run(task, entrypoint)))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3:])
