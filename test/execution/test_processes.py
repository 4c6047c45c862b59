"""Both executors give the same outcomes; in processes, a case that crashes or never ends costs that case only."""

import ctypes
import faulthandler
import mmap
import os
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

from podium.errors import MachineError, ReaderDied, Refused, UsageError
from podium.execution.executor import CaseOutcome, Executor, Serial, show_progress
from podium.execution.processes import Processes

CASES = [f"case{number}" for number in range(8)]
DIED = "Scoring this case ended its process every time, by a crash or because memory ran out."


def run(
    work: object, *, workers: int = 2, timeout_seconds: float = 60, cases: list[str] = CASES
) -> dict[str, CaseOutcome[object]]:
    executor = Processes(workers=workers, case_timeout_seconds=timeout_seconds)
    return dict(executor.run(cases, work, label="testing"))  # type: ignore[arg-type]


@pytest.mark.parametrize("workers", [1, 2, 5, 50])
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


def test_work_runs_in_other_processes() -> None:
    outcomes = run(lambda _: os.getpid())
    assert os.getpid() not in {outcome.value for outcome in outcomes.values()}


def test_serial_work_runs_in_this_process_in_order() -> None:
    seen: list[str] = []
    outcomes = Serial().run(CASES, seen.append, label="testing")
    assert (list(outcomes), seen, Serial().workers) == (CASES, CASES, 1)


def test_a_refusal_keeps_its_words(executor: Executor) -> None:
    def work(case: str) -> str:
        if case == "case3":
            raise Refused("'a.h5' is broken.")
        return case

    outcomes = executor.run(CASES, work, label="testing")
    assert outcomes["case3"] == CaseOutcome(error="'a.h5' is broken.")
    assert sum(outcome.error is None for outcome in outcomes.values()) == len(CASES) - 1


def test_what_no_case_can_do_better_ends_the_run(executor: Executor) -> None:
    def work(case: str) -> str:
        if case == "case3":
            raise UsageError("This command needs h5py.")
        return case

    with pytest.raises(UsageError, match=r"This command needs h5py\."):
        executor.run(CASES, work, label="testing")


def test_memory_that_runs_out_is_said(executor: Executor) -> None:
    def work(_: str) -> str:
        raise MemoryError

    outcome = executor.run(["a"], work, label="testing")["a"]
    assert outcome.error == "Scoring this case needed more memory than is available."


def test_an_unexpected_error_tells_the_author_little_and_the_log_everything(executor: Executor) -> None:
    def work(case: str) -> float:
        return 1 / (case != "case3")

    outcome = executor.run(CASES, work, label="testing")["case3"]
    assert outcome.error == "This case could not be scored because of an unexpected ZeroDivisionError."
    assert "Traceback" in (outcome.detail or "")
    assert "1 / (case" in (outcome.detail or "")


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
    tries = 6 if death == "kill" else 2  # a signal from outside may be an accident
    assert (tmp_path / "tries").read_text() == "x" * tries
    assert [case for case, outcome in outcomes.items() if outcome.error] == ["case3"]
    expected = {"segfault": "SIGSEGV", "kill": "SIGKILL", "exit": "exit code 7"}
    assert expected[death] in (outcomes["case3"].detail or "")


def test_a_case_that_crashes_once_is_scored_at_the_second_try(tmp_path: Path) -> None:
    def work(case: str) -> str:
        marker = tmp_path / "crashed"
        if case == "case3" and not marker.exists():
            marker.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return case

    assert run(work)["case3"] == CaseOutcome(value="case3")


def test_the_second_try_runs_alone(tmp_path: Path) -> None:
    """The victim dies whenever another case runs at the same time; the others would wait for its second try."""
    tries, running = tmp_path / "tries", tmp_path / "running"

    def work(case: str) -> str:
        if case == "case0":
            with tries.open("a") as stream:
                stream.write("x")
            while tries.read_text() == "x" and not running.exists():
                time.sleep(0.01)
            if running.exists():
                os.kill(os.getpid(), signal.SIGKILL)
        elif case == "case1":
            running.touch()
            for _ in range(50):
                if tries.exists() and tries.read_text() == "xx":
                    time.sleep(0.2)
                    break
                time.sleep(0.01)
            running.unlink()
        return case

    outcomes = Processes(workers=2).run(["case0", "case1"], work, label="scoring")
    assert outcomes["case0"] == CaseOutcome(value="case0")


def is_running(pid: str) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] != "Z"
    except OSError:  # it is gone altogether
        return False


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
            while is_running(idle.read_text()):
                time.sleep(0.01)
            os.kill(os.getpid(), signal.SIGKILL)
        return case

    outcomes = Processes(workers=2).run(["case0", "case1"], work, label="scoring")
    assert [(outcome.value, outcome.error) for outcome in outcomes.values()] == [("case0", None), ("case1", None)]


def test_a_worker_that_dies_before_it_begins_is_charged_to_no_case(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of these would be one too many: a crash is given up at the second try."""
    deaths = mmap.mmap(-1, 1)

    def die_at_first() -> None:
        if deaths[0] < 40:
            deaths[0] += 1
            os._exit(7)

    monkeypatch.setattr("podium.execution.processes._use_one_thread", die_at_first)
    assert run(str.upper, workers=1, cases=["a", "b"]) == {"a": CaseOutcome(value="A"), "b": CaseOutcome(value="B")}


def test_workers_that_never_begin_end_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("podium.execution.processes._use_one_thread", lambda: os._exit(7))
    with pytest.raises(MachineError, match=r"^The workers stop before they start their cases, possibly because memory"):
        run(str.upper)


def test_all_cases_together_have_a_budget_of_further_tries(tmp_path: Path) -> None:
    """12 cases that are killed whenever they are tried: two tries each, and 20 more in all."""

    def work(case: str) -> None:
        (tmp_path / f"{case}-{os.getpid()}").touch()
        os.kill(os.getpid(), signal.SIGKILL)

    outcomes = run(work, cases=[str(number) for number in range(12)])
    assert {outcome.error for outcome in outcomes.values()} == {DIED}
    assert len(list(tmp_path.iterdir())) == 12 * 2 + 20


def test_a_reader_that_dies_is_tried_again_as_a_worker_is(tmp_path: Path) -> None:
    def work(case: str) -> str:
        with (tmp_path / case).open("a") as stream:
            stream.write("x")
        if case == "poison" or (tmp_path / case).read_text() in ("x", "xx"):
            raise ReaderDied("Reading 'a.h5' ended its process 2 times.")
        return case

    outcomes = run(work, cases=["unlucky", "poison"])
    assert outcomes["unlucky"] == CaseOutcome(value="unlucky")
    assert outcomes["poison"].error == "Reading 'a.h5' ended its process 2 times."
    assert (tmp_path / "poison").read_text() == "xxxxxx"


REQUESTED_DURING_A_FORK = """
import os, signal
from podium.execution.processes import Processes

def end(number, frame):
    raise KeyboardInterrupt

signal.signal(signal.SIGTERM, end)
os.register_at_fork(after_in_parent=lambda: os.kill(os.getpid(), signal.SIGTERM))
try:
    Processes(workers=2).run(["a", "b"], str.upper, label="testing")
except KeyboardInterrupt:
    print("heard")
"""


def test_a_request_to_end_during_a_fork_is_heard() -> None:
    command = [sys.executable, "-c", REQUESTED_DURING_A_FORK]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    assert (done.stdout, done.stderr) == ("heard\n", "")


def test_every_case_crashing_ends() -> None:
    outcomes = run(lambda _: os._exit(1))
    assert all(outcome.error == DIED for outcome in outcomes.values())


def test_a_case_that_never_ends_is_ended() -> None:
    def work(case: str) -> str:
        if case == "case3":
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            while True:
                time.sleep(1)
        return case

    outcomes = run(work, timeout_seconds=0.5)
    assert outcomes["case3"].error == "Scoring this case took longer than 0.5 seconds."
    assert not outcomes["case3"].was_killed
    assert sum(outcome.error is None for outcome in outcomes.values()) == len(CASES) - 1


def test_a_worker_that_is_stopped_runs_into_its_time_limit() -> None:
    def work(case: str) -> str:
        if case == "case3":
            os.kill(os.getpid(), signal.SIGSTOP)
        return case

    outcomes = run(work, timeout_seconds=5)
    assert outcomes["case3"].error == "Scoring this case took longer than 5 seconds."
    assert outcomes["case3"].was_killed, "the case is not to blame"
    assert sum(outcome.error is None for outcome in outcomes.values()) == len(CASES) - 1


UNDER_A_LIMIT = """
import resource
from podium.execution.processes import Processes

resource.setrlimit(resource.RLIMIT_DATA, (2_000_000_000, 2_000_000_000))

def work(case):
    import numpy as np
    return float(np.ones(4_000_000_000 if case == "large" else 4)[0])

outcomes = Processes(workers=2).run(["a", "large", "b"], work, label="testing")
print([(case, outcome.value, outcome.error) for case, outcome in outcomes.items()])
"""


def test_memory_past_the_data_limit_costs_its_case_only() -> None:
    """The platform limits memory by RLIMIT_DATA: what asks for more gets a MemoryError, and no process is killed."""
    done = subprocess.run([sys.executable, "-c", UNDER_A_LIMIT], capture_output=True, text=True, check=True, timeout=60)
    words = "Scoring this case needed more memory than is available."
    assert done.stdout == f"{[('a', 1.0, None), ('large', None, words), ('b', 1.0, None)]}\n"


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


def test_no_worker_outlives_the_run() -> None:
    pids = {outcome.value for outcome in run(lambda _: os.getpid()).values()}
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
def test_progress_is_told_of_every_case_and_closed(kind: Callable[..., Executor]) -> None:
    told: list[object] = []

    class Recorder:
        def __init__(self, label: str, total: int) -> None:
            told.extend((label, total))

        def advance(self) -> None:
            told.append("advance")

        def close(self) -> None:
            told.append("close")

    kind(progress=Recorder).run(["a", "b"], str.upper, label="testing")
    assert told == ["testing", 2, "advance", "advance", "close"]


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


def test_progress_is_a_plain_line_now_and_then_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr("podium.execution.executor.time.monotonic", lambda: now[0])
    stream = StringIO()
    progress = show_progress("scoring", 9, stream=stream)
    for _ in range(3):
        now[0] += 2.5
        progress.advance()
    assert stream.getvalue() == "scoring: 2 of 9, 0.4 per second, 0:00:18 left\n"


def test_progress_of_a_day_is_a_few_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr("podium.execution.executor.time.monotonic", lambda: now[0])
    stream = StringIO()
    progress = show_progress("scoring", 86_400, stream=stream)
    for _ in range(86_400):
        now[0] += 1
        progress.advance()
    assert stream.getvalue().startswith("scoring: 5 of 86400, 1 per second, 23:59:55 left\nscoring: 10 of")
    assert 30 < stream.getvalue().count("\n") <= 42
