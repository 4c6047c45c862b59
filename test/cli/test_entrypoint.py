"""The container's entrypoint under the platform's runner: streams, children and what ends it.

test/container/test_platform_runner.py does the same with the image.
"""

import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from challenges.declared.declaring import HEAD, metrics, value, write_challenge, write_predictions
from container.platform_runner import LONGEST_LINE, Run
from places import ROOT

pytestmark = pytest.mark.slow

TOML = value("age", "number", table="ages.csv", column="age") + metrics("difference")
CODE = """\
import ctypes, os, sys, time, warnings
from pathlib import Path
from podium.own_metrics import metric

{}

@metric(compares="number", direction="lower", lowest=0.0, highest=100.0)
def difference(*, prediction, reference):
    {}
    return abs(prediction - reference)
"""
NOISE = (
    r"ctypes.CDLL(None).dprintf(2, b'native \xff\n'), ctypes.CDLL(None).dprintf(1, b'native \xff\n'), "
    r"os.write(1, b'\xfe\n'), warnings.warn('a warning', stacklevel=1), print('not for participants', file=sys.stderr)"
)
CASES = [f"c{number}" for number in range(4)]
AGES = "case,age\n" + "".join(f"{case},7\n" for case in CASES)


class Scene:
    """A challenge whose metrics.py runs `imported` when it is loaded, and `called` in every case."""

    def __init__(self, folder: Path, *, imported: str = "", called: str = "", head: str = HEAD) -> None:
        self.folder = folder
        write_challenge(folder / "truth", TOML, {"ages.csv": AGES}, head=head)
        (folder / "truth/metrics.py").write_text(CODE.format(imported, called or "pass"))
        write_predictions(folder / "input", {"ages.csv": AGES})

    def start(self, *arguments: str) -> Run:
        return Run([*self.command, *arguments], cwd=self.folder)

    @property
    def command(self) -> list[str]:
        paths = {"--input": "input", "--output": "output", "--ground-truth": "truth"}
        words = [word for option, name in paths.items() for word in (option, str(self.folder / name))]
        return [sys.executable, str(ROOT / "evaluate.py"), *words]

    def wait_for_a_case(self, process: "subprocess.Popen[bytes]") -> None:
        while not (self.folder / "begun").exists():
            assert process.poll() is None
            time.sleep(0.02)


def test_only_podium_writes_to_the_streams(tmp_path: Path) -> None:
    run = Scene(tmp_path, imported=NOISE, called=NOISE).start("--workers", "2")
    assert run.end() == 0
    assert run.problems == []
    assert run.shown == f"Difference 0 (4 of 4 cases) -> {tmp_path}/output/metrics.json"
    assert [line for line in run.streams["stderr"] if re.search("native|warn|participants", line)] == [
        "not for participants"  # printed by metrics.py as it is loaded; in workers, it goes to the log
    ]
    assert sum("UserWarning: a warning" in line for line in run.streams["stdout"]) >= 2
    assert not any(line.startswith("native") for line in run.streams["stdout"])


def test_no_line_is_so_long_that_the_platform_drops_it(tmp_path: Path) -> None:
    run = Scene(tmp_path, called=f"raise ValueError('x' * {LONGEST_LINE})").start()
    run.end()
    assert any("raises ValueError: xxxx" in line for line in run.streams["stdout"])
    scene = Scene(tmp_path / "groups", head=HEAD + "[cases]\ngroups = '^(?P<group>d)'\n")
    cases = "".join(f"{number:0180}-long-name-{number % 2},7\n" for number in range(LONGEST_LINE // 200))
    (scene.folder / "truth/references/ages.csv").write_text("case,age\n" + cases)
    run = scene.start()
    assert run.end() == 2
    assert any("-long-name-0, 000" in line for line in run.streams["stdout"])


@pytest.mark.parametrize("broken", ["challenge.toml", "metrics.py", "references/ages.csv"])
def test_stderr_names_no_path_of_the_container(tmp_path: Path, broken: str) -> None:
    scene = Scene(tmp_path)
    (scene.folder / "truth" / broken).write_text("= \x00 def")
    run = scene.start()
    assert run.end() == 2
    assert run.shown.endswith(".")
    assert not any(str(tmp_path) in line or "Traceback" in line for line in run.streams["stderr"])


def members(session: int) -> list[str]:
    """The processes of a session that have not ended."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            status = (folder / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(status[3]) == session and status[0] != "Z":
            found.append((folder / "cmdline").read_text().replace("\0", " "))
    return found


BUSY = "Path('begun').touch(); any(iter(int, 1))"  # for ever, without a system call


@pytest.mark.parametrize(
    ("sent", "code"),
    [
        (signal.SIGKILL, -signal.SIGKILL),
        (signal.SIGSEGV, -signal.SIGSEGV),
        (signal.SIGTERM, 130),
        (signal.SIGINT, 130),
        (signal.SIGHUP, 130),
    ],
)
def test_no_child_holds_the_streams_whatever_ends_the_main_process(tmp_path: Path, sent: int, code: int) -> None:
    """The runner waits until both pipes are closed: `end` returns only then."""
    scene = Scene(tmp_path, called=BUSY)
    run = scene.start("--workers", "2")
    scene.wait_for_a_case(run.process)
    run.process.send_signal(sent)
    assert run.end() == code
    assert run.problems == []
    if code > 0:
        assert run.shown == "Stopped on request."
    while members(run.process.pid):  # the kernel may need a moment to end them
        time.sleep(0.02)


def test_a_time_limit_of_the_platform_leaves_nothing_behind(tmp_path: Path) -> None:
    scene = Scene(tmp_path, called=BUSY)
    run = scene.start("--workers", "2")
    scene.wait_for_a_case(run.process)
    assert run.end(seconds=0) == 130
    assert members(run.process.pid) == []


def test_a_runner_that_goes_away_ends_the_run(tmp_path: Path) -> None:
    scene = Scene(tmp_path, called="Path('begun').touch(); time.sleep(1)")
    pipe = subprocess.PIPE
    with subprocess.Popen(scene.command, stdout=pipe, stderr=pipe, start_new_session=True, cwd=tmp_path) as process:
        scene.wait_for_a_case(process)
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        process.stderr.close()
        assert process.wait() == 128 + signal.SIGPIPE
    while members(process.pid):
        time.sleep(0.02)
