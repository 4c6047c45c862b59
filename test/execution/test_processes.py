"""Both executors give the same outcomes; in processes, a case that crashes or never ends costs that case only."""

import ctypes
import faulthandler
import mmap
import os
import resource
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from io import StringIO
from pathlib import Path

import pytest
from sandbox.processes import has_ended

from podium.errors import MachineError, PodiumError, ReaderDied, Refused, UsageError
from podium.execution.executor import CaseOutcome, Executor, Serial, show_progress
from podium.execution.processes import Processes

pytestmark = pytest.mark.slow

CASES = [f"case{number}" for number in range(8)]
DIED = "Scoring this case crashed or ran out of memory on every attempt."


def run(
    work: object, *, workers: int = 2, timeout_seconds: float = 60, cases: list[str] = CASES
) -> dict[str, CaseOutcome[object]]:
    executor = Processes(workers=workers, case_timeout_seconds=timeout_seconds)
    return dict(executor.run(cases, work, label="testing"))  # type: ignore[arg-type]


@pytest.mark.parametrize("workers", [1, 2, 50])
def test_outcomes_are_in_the_order_of_the_cases(workers: int) -> None:
    def work(case: str) -> str:
        time.sleep(0.01 * (hash(case) % 3))
        return case.upper()

    outcomes = run(work, workers=workers)
    assert list(outcomes) == CASES
    assert [outcome.value for outcome in outcomes.values()] == [case.upper() for case in CASES]


@pytest.fixture(params=[Serial(), Processes(workers=2)], ids=["serial", "processes"])
def executor(request: pytest.FixtureRequest) -> Executor:
    chosen: Executor = request.param
    return chosen


def test_no_cases(executor: Executor) -> None:
    assert executor.run([], str.upper, label="testing") == {}


def test_serial_work_runs_in_this_process_in_order() -> None:
    seen: list[str] = []
    assert (list(Serial().run(CASES, seen.append, label="testing")), seen, Serial().workers) == (CASES, CASES, 1)


@pytest.mark.parametrize(
    ("raised", "error", "is_logged"),
    [
        (Refused("'a.h5' is broken."), "'a.h5' is broken.", False),
        (MemoryError(), "Scoring this case needed more memory than is available.", True),
        (ZeroDivisionError("1 / 0"), "This case could not be scored because of an unexpected ZeroDivisionError.", True),
    ],
    ids=["refusal", "memory", "unexpected"],
)
def test_an_error_costs_its_case_only(executor: Executor, raised: Exception, error: str, is_logged: bool) -> None:
    def work(case: str) -> str:
        if case == "case3":
            raise raised
        return case

    outcomes = dict(executor.run(CASES, work, label="testing"))
    failed = outcomes.pop("case3")
    assert (failed.error, failed.was_killed) == (error, False)
    assert ("Traceback" in (failed.detail or "")) == is_logged
    assert [outcome.value for outcome in outcomes.values()] == list(outcomes)


@pytest.mark.parametrize("raised", [UsageError("This command needs h5py."), MachineError("The readers were killed.")])
def test_what_no_case_can_do_better_ends_the_run(executor: Executor, raised: PodiumError) -> None:
    def work(case: str) -> str:
        if case == "case3":
            raise raised
        return case

    with pytest.raises(type(raised), match=str(raised)):
        executor.run(CASES, work, label="testing")


@pytest.mark.parametrize("death", ["segfault", "kill", "exit"])
def test_a_crash_is_tried_again_and_costs_its_case_only(death: str, tmp_path: Path) -> None:
    def work(case: str) -> str:
        if case == "case3":
            with (tmp_path / "tries").open("a") as stream:
                stream.write("x")
            match death:
                case "segfault":
                    faulthandler.disable()  # pytest's would print what is expected here
                    ctypes.string_at(0)
                case "kill":
                    os.kill(os.getpid(), signal.SIGKILL)
                case "exit":
                    os._exit(7)
        return case

    outcomes = run(work)
    assert outcomes["case3"].error == DIED
    assert (tmp_path / "tries").read_text() == "xx"
    assert [case for case, outcome in outcomes.items() if outcome.error] == ["case3"]
    expected = {"segfault": "SIGSEGV", "kill": "SIGKILL", "exit": "exit code 7"}
    assert expected[death] in (outcomes["case3"].detail or "")


@pytest.mark.parametrize("died", ["worker", "reader"])
def test_a_case_whose_process_dies_once_is_scored_at_the_second_try(died: str, tmp_path: Path) -> None:
    def work(case: str) -> str:
        with (tmp_path / case).open("a") as stream:
            stream.write("x")
        if case == "poison" or (tmp_path / case).read_text() == "x":
            if died == "reader":
                raise ReaderDied("Reading 'a.h5' crashed.")
            os.kill(os.getpid(), signal.SIGKILL)
        return case

    outcomes = run(work, cases=["unlucky", "poison"])
    assert outcomes["unlucky"] == CaseOutcome(value="unlucky")
    assert outcomes["poison"].error == (DIED if died == "worker" else "Reading 'a.h5' crashed.")
    assert (tmp_path / "poison").read_text() == "xx"


def test_the_second_try_runs_alone(tmp_path: Path) -> None:
    def work(case: str) -> list[str]:
        running = tmp_path / case
        is_second_try = running.exists()
        running.touch()
        if case == "case0" and not is_second_try:
            os.kill(os.getpid(), signal.SIGKILL)
        time.sleep(0.1)
        found = sorted(path.name for path in tmp_path.iterdir())
        running.unlink()
        return found

    assert run(work)["case0"].value == ["case0"]


def test_an_idle_worker_that_dies_costs_no_case(tmp_path: Path) -> None:
    """The first worker is dead before the other case's second try, which might be given to it."""
    idle, crashed = tmp_path / "idle", tmp_path / "crashed"

    def work(case: str) -> str:
        if case == "case0" and not idle.exists():  # once: on a busy machine it may be killed before it answered
            threading.Timer(1.0, os.kill, (os.getpid(), signal.SIGKILL)).start()
            idle.write_text(str(os.getpid()))
        elif case == "case1" and not crashed.exists():
            crashed.touch()
            while not idle.exists() or not idle.read_text():
                time.sleep(0.01)
            while not has_ended(int(idle.read_text())):
                time.sleep(0.01)
            os.kill(os.getpid(), signal.SIGKILL)
        return case

    outcomes = Processes(workers=2).run(["case0", "case1"], work, label="scoring")
    assert [(outcome.value, outcome.error) for outcome in outcomes.values()] == [("case0", None), ("case1", None)]


@pytest.mark.parametrize("deaths", [40, 255])
def test_a_worker_that_dies_before_it_begins_is_charged_to_no_case(
    deaths: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each of these would be one too many. Where all die, the run ends."""
    left = mmap.mmap(-1, 1)
    left[0] = deaths

    def die_at_first(**_: int) -> None:
        if left[0]:
            left[0] -= 1
            os._exit(7)

    monkeypatch.setattr("podium.execution.processes.threadpoolctl.threadpool_limits", die_at_first)
    if deaths == 40:
        assert [outcome.value for outcome in run(str.upper, workers=1, cases=["a", "b"]).values()] == ["A", "B"]
    else:
        with pytest.raises(MachineError, match=r"^The workers stop before they start their cases, possibly because"):
            run(str.upper)


REQUESTED_DURING_A_FORK = """
import os, signal
from podium.execution.children import fork

def end(number, frame):
    raise KeyboardInterrupt

signal.signal(signal.SIGTERM, end)
os.register_at_fork(after_in_parent=lambda: os.kill(os.getpid(), signal.SIGTERM))
try:
    fork(int)
except KeyboardInterrupt:
    print("received")
"""


def test_a_request_to_end_during_a_fork_is_received() -> None:
    """Python calls functions of its own around a fork, and drops what a handler raises in one of them."""
    command = [sys.executable, "-c", REQUESTED_DURING_A_FORK]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    assert (done.stdout, done.stderr) == ("received\n", "")


@pytest.mark.parametrize("is_stopped", [False, True])
def test_a_case_past_its_time_limit_is_ended(is_stopped: bool) -> None:
    def work(case: str) -> str:
        if case == "case3":
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            while True:
                os.kill(os.getpid(), signal.SIGSTOP if is_stopped else signal.SIGCONT)
                time.sleep(0.1)
        return case

    outcomes = run(work, timeout_seconds=2)
    assert outcomes["case3"].error == "Scoring this case took longer than 2 seconds."
    assert outcomes["case3"].was_killed == is_stopped, "a case whose process was stopped is not to blame"
    assert sum(outcome.error is None for outcome in outcomes.values()) == len(CASES) - 1


def test_memory_past_the_data_limit_costs_its_case_only() -> None:
    """The platform limits memory by RLIMIT_DATA: what asks for more gets a MemoryError, and no process is killed."""

    def work(case: str) -> int:
        resource.setrlimit(resource.RLIMIT_DATA, (2_000_000_000, 2_000_000_000))
        return len(bytearray(4_000_000_000 if case == "case3" else 4))

    outcomes = run(work)
    assert outcomes["case3"].error == "Scoring this case needed more memory than is available."
    assert [outcome.value for case, outcome in outcomes.items() if case != "case3"] == [4] * (len(CASES) - 1)


def test_a_value_that_cannot_be_sent_costs_its_case() -> None:
    outcomes = run(lambda case: (lambda: case) if case == "case3" else case)
    assert outcomes["case3"].error is not None
    assert outcomes["case4"].value == "case4"


def test_workers_use_one_thread() -> None:
    def threads(_: str) -> list[int]:
        import numpy as np
        from threadpoolctl import threadpool_info

        np.ones((2, 2)) @ np.ones((2, 2))
        return [library["num_threads"] for library in threadpool_info()]

    counts = [count for outcome in run(threads).values() for count in outcome.value]  # type: ignore[attr-defined]
    assert set(counts) == {1}


def test_work_runs_in_other_processes_that_end_with_the_run() -> None:
    pids = {outcome.value for outcome in run(lambda _: os.getpid()).values()}
    assert os.getpid() not in pids
    for pid in pids:
        with pytest.raises(ProcessLookupError):
            os.kill(int(str(pid)), 0)


def test_workers_end_when_their_parent_is_killed(tmp_path: Path) -> None:
    """Otherwise they hold its output open, and whoever waits for the end of the output waits for them. Nor may they
    write a traceback: the last line is shown to participants."""
    program = f"""
import os, time
from pathlib import Path
from podium.execution.processes import Processes
def work(case):
    Path({str(tmp_path)!r}, case).write_text(str(os.getpid()))
    if case == "b":
        time.sleep(0.5)
        os.kill(os.getppid(), 9)
        return case
    while True:
        pass
Processes(workers=2).run(["a", "b"], work, label="x")
"""
    started = time.monotonic()
    try:
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=20)
    finally:
        left = [int(each.read_text()) for each in tmp_path.iterdir()]
        for pid in left:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
    assert (done.returncode, done.stdout, done.stderr) == (-signal.SIGKILL, "", "")
    assert len(left) == 2
    assert time.monotonic() - started < 10


@pytest.mark.parametrize("kind", [Serial, lambda **more: Processes(workers=2, **more)])
def test_progress_advances_with_every_case_and_is_closed(kind: Callable[..., Executor]) -> None:
    seen: list[object] = []

    class Recorder:
        def __init__(self, label: str, total: int) -> None:
            seen.extend((label, total))

        def advance(self) -> None:
            seen.append("advance")

        def close(self) -> None:
            seen.append("close")

    kind(progress=Recorder).run(["a", "b"], str.upper, label="testing")
    assert seen == ["testing", 2, "advance", "advance", "close"]


class Terminal(StringIO):
    def isatty(self) -> bool:
        return True


def test_progress_is_a_bar_on_a_terminal() -> None:
    stream = Terminal()
    progress = show_progress("scoring", 2, stream=stream)
    progress.advance()
    progress.advance()
    progress.close()
    assert "scoring" in stream.getvalue()
    assert "\x1b[" in stream.getvalue()


@pytest.mark.parametrize(
    ("total", "steps", "seconds", "first", "least", "most"),
    [
        (9, 3, 2.5, "scoring: 2 of 9, 0:00:18 left\n", 1, 1),
        (86_400, 86_400, 1, "scoring: 5 of 86400, 23:59:55 left\nscoring: 10 of", 31, 42),  # a day
    ],
)
def test_progress_is_a_plain_line_now_and_then_elsewhere(  # noqa: PLR0917
    total: int, steps: int, seconds: float, first: str, least: int, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [100.0]
    monkeypatch.setattr("podium.execution.executor.time.monotonic", lambda: now[0])
    stream = StringIO()
    progress = show_progress("scoring", total, stream=stream)
    for _ in range(steps):
        now[0] += seconds
        progress.advance()
    assert stream.getvalue().startswith(first)
    assert least <= stream.getvalue().count("\n") <= most
