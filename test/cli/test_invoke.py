"""`podium invoke`: evaluations over real HTTP, one at a time, each in its own process, in the words of `evaluate`."""

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.client import HTTPConnection
from pathlib import Path
from threading import Event, Thread

import pytest
from places import ROOT

from podium.cli import invoke
from podium.cli.invoke import EvaluationServer, Prefork
from podium.cli.main import main

pytestmark = pytest.mark.slow

COUNTER = [0]


def ask(port: int, method: str, path: str, body: bytes | None = None) -> tuple[int, str]:
    connection = HTTPConnection("127.0.0.1", port, timeout=60)
    try:
        connection.request(method, path, body)
        answer = connection.getresponse()
        return answer.status, answer.read().decode()
    finally:
        connection.close()


@contextmanager
def prefork(job: Callable[[], int], warm_up: Callable[[], None] = lambda: None) -> Iterator[Prefork]:
    process = Prefork(warm_up=warm_up, job=job)
    try:
        process.wait_until_warm()
        yield process
    finally:
        process.stop()


@contextmanager
def server_in_a_thread() -> Iterator[EvaluationServer]:
    with EvaluationServer(("127.0.0.1", 0)) as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


@contextmanager
def serving(evaluate: Callable[[], int]) -> Iterator[int]:
    """The port of a server that is ready."""
    with server_in_a_thread() as server:
        server.evaluate = evaluate
        server.is_ready.set()
        yield server.server_address[1]


def count() -> int:
    COUNTER[0] += 1
    return COUNTER[0]


def test_jobs_share_what_was_warmed_up_and_nothing_else() -> None:
    with prefork(count, warm_up=lambda: COUNTER.__setitem__(0, 40)) as process:
        assert [process.run(), process.run()] == [41, 41]
    assert COUNTER == [0]


def test_a_job_that_is_killed_leaves_the_next_one_in_peace(tmp_path: Path) -> None:
    def job() -> int:
        if not (tmp_path / "seen").exists():
            (tmp_path / "seen").touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return 0

    with prefork(job) as process:
        assert [process.run(), process.run()] == [-signal.SIGKILL, 0]


def run_until_the_end(process: Prefork) -> None:
    with suppress(EOFError, OSError):
        process.run()


def test_a_job_that_runs_ends_with_the_process(tmp_path: Path) -> None:
    def job() -> int:
        try:
            (tmp_path / "pid.part").write_text(str(os.getpid()))
            (tmp_path / "pid.part").rename(tmp_path / "pid")
            time.sleep(600)
        except KeyboardInterrupt:  # as on Ctrl-C: it can delete its temporary files
            (tmp_path / "deleted").touch()
        return 0

    with prefork(job) as process:
        thread = Thread(target=run_until_the_end, args=(process,))
        thread.start()
        while not (tmp_path / "pid").is_file():
            time.sleep(0.01)
        process.stop()
        thread.join()
    assert (tmp_path / "deleted").exists()
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)


def test_the_end_of_the_forking_process_is_noticed() -> None:
    def end_parent() -> int:
        os.kill(os.getppid(), signal.SIGKILL)
        return 0

    with prefork(end_parent) as process:
        with pytest.raises(EOFError):
            process.run()
        process.join()


def test_answers_are_held_until_the_server_is_ready() -> None:
    answers: dict[str, int] = {}

    def question(method: str, path: str) -> None:
        answers[path] = ask(server.server_address[1], method, path)[0]

    with server_in_a_thread() as server:
        threads = [Thread(target=question, args=each) for each in (("GET", "/health"), ("POST", "/invoke"))]
        for thread in threads:
            thread.start()
        ask(server.server_address[1], "GET", "/nowhere")  # is answered at once
        assert answers == {}
        server.evaluate = lambda: 0
        server.is_ready.set()
        for thread in threads:
            thread.join()
    assert answers == {"/health": 200, "/invoke": 201}


def test_the_platform_is_never_made_to_wait_ten_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its question has a time limit of 10 s, and any other answer than 200 costs it 10 s."""
    assert invoke._SECONDS_OF_AN_ANSWER < 10
    monkeypatch.setattr(invoke, "_SECONDS_OF_AN_ANSWER", 0.01)
    with server_in_a_thread() as server:
        assert ask(server.server_address[1], "GET", "/health")[0] == 200


@pytest.mark.parametrize(("code", "status"), [(0, 201), (1, 422), (2, 500), (130, 500), (-9, 500)])
def test_the_exit_code_decides_the_answer(code: int, status: int, capsys: pytest.CaptureFixture[str]) -> None:
    with serving(lambda: code) as port:
        assert ask(port, "POST", "/invoke", b"x" * 999_999) == (
            status,
            f"The evaluation ended with exit code {code}; see stdout and stderr.\n",
        )
    killed = "The evaluation was ended by signal SIGKILL, perhaps because memory ran out.\n"
    assert capsys.readouterr().err == (killed if code == -9 else "")


def test_a_second_evaluation_is_refused_while_one_runs() -> None:
    begun, go_on = Event(), Event()

    def evaluate() -> int:
        begun.set()
        assert go_on.wait(60)
        return 0

    with serving(evaluate) as port:
        first: list[int] = []
        thread = Thread(target=lambda: first.append(ask(port, "POST", "/invoke")[0]))
        thread.start()
        assert begun.wait(60)
        assert ask(port, "POST", "/invoke") == (409, "An evaluation is running; only one can run at a time.\n")
        assert ask(port, "GET", "/health")[0] == 200
        go_on.set()
        thread.join()
        assert first == [201]
        assert ask(port, "POST", "/invoke")[0] == 201


def test_an_evaluator_that_has_gone() -> None:
    with prefork(count) as process, serving(process.run) as port:
        process.stop()
        assert ask(port, "POST", "/invoke") == (500, "The process that starts the evaluations has ended.\n")


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [("GET", "/", 404), ("GET", "/invoke", 404), ("POST", "/health", 404), ("PUT", "/invoke", 501)],
)
def test_other_requests_are_refused_in_silence(
    method: str, path: str, status: int, capsys: pytest.CaptureFixture[str]
) -> None:
    with serving(count) as port:
        assert ask(port, method, path)[0] == status
    assert capsys.readouterr() == ("", "")
    assert COUNTER == [0]


@pytest.mark.parametrize("length", ["-1", "1000000", "9" * 5000, "x"])
def test_a_body_that_is_too_large_is_not_read(length: str) -> None:
    with serving(count) as port:
        connection = HTTPConnection("127.0.0.1", port, timeout=60)
        connection.putrequest("POST", "/invoke")
        connection.putheader("Content-Length", length)
        connection.endheaders()
        assert connection.getresponse().status == 413
        connection.close()


class Command:
    """`podium invoke` as a process of its own, on a free port; its input is a link to one submission at a time."""

    def __init__(self, folder: Path, challenge: str) -> None:
        self.folder, self.input, self.output = folder, folder / "input", folder / "output"
        self.options = ("--input", str(self.input), "--output", str(self.output), "--ground-truth", challenge)
        self.files = [folder / name for name in ("stdout", "stderr")]
        self.process = self.start("invoke", "--port", "0")
        self.streams = [file.open() for file in self.files]

    def start(self, *words: str) -> "subprocess.Popen[str]":
        command = [sys.executable, "-m", "podium", *words, *self.options]
        with self.files[0].open("a") as out, self.files[1].open("a") as err:
            return subprocess.Popen(command, stdout=out, stderr=err, text=True, cwd=ROOT)

    def __enter__(self) -> "Command":
        while not (first := self.printed()[0]):
            assert self.process.poll() is None, self.printed()[1]
            time.sleep(0.05)
        self.port = int(re.fullmatch(r"Ready: POST /invoke on port (\d+) starts an evaluation.\n", first)[1])  # type: ignore[index]
        return self

    def __exit__(self, *error: object) -> None:
        self.process.kill()
        self.process.wait()
        for stream in self.streams:
            stream.close()

    def printed(self) -> list[str]:
        """What was printed to stdout and stderr since the last time."""
        return [stream.read() for stream in self.streams]

    def give(self, submission: Path) -> None:
        self.input.unlink(missing_ok=True)
        self.input.symlink_to(submission)
        shutil.rmtree(self.output, ignore_errors=True)

    def metrics(self) -> bytes | None:
        file = self.output / "metrics.json"
        return file.read_bytes() if file.is_file() else None


def test_every_evaluation_is_what_evaluate_makes_of_it(tmp_path: Path) -> None:
    """Files, words and log: after another submission, after a failed one, and with the ground truth named wrongly."""
    broken = tmp_path / "broken"
    broken.mkdir()
    (broken / "preds.zip").write_bytes(b"PK no zip")
    samples = ROOT / "test/submissions/reports"
    with Command(tmp_path, "ground-truth/reports") as command:
        answers = []
        for submission in (samples / "molar", broken, samples / "cuspid"):
            command.give(submission)
            answers.append(ask(command.port, "POST", "/invoke")[0])
            invoked = command.printed(), command.metrics()
            command.give(submission)
            code = command.start("evaluate").wait()
            assert invoked == (command.printed(), command.metrics())
            assert answers[-1] == {0: 201, 1: 422}[code]
        assert answers == [201, 422, 201]
        command.process.send_signal(signal.SIGTERM)
        assert command.process.wait() == 130
        assert command.printed() == ["", "Stopped on request.\n"]


def test_an_error_of_the_ground_truth_is_reported_by_every_evaluation(tmp_path: Path) -> None:
    with Command(tmp_path, str(tmp_path / "nowhere")) as command:
        for _ in range(2):
            assert ask(command.port, "GET", "/health")[0] == 200
            assert ask(command.port, "POST", "/invoke")[0] == 500
            assert command.printed()[1] == "There is no ground truth: its folder does not exist.\n"


def test_a_port_that_is_taken(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    with serving(count) as port:
        assert main(["invoke", "--port", str(port), "--ground-truth", str(tmp_path)]) == 2
    assert capfd.readouterr().err == f"The server cannot listen on port {port}: [Errno 98] Address already in use.\n"


@pytest.mark.parametrize("challenge", ["carotid", "lesions", "freehand"])
def test_what_scoring_imports_is_imported_before_the_first_evaluation(challenge: str, tmp_path: Path) -> None:
    team = sorted((ROOT / "test/submissions" / challenge).iterdir())[0]
    program = f"""
import sys
from pathlib import Path
from podium.evaluation import evaluate, import_packages
from podium.execution.executor import Serial

ground_truth = Path("ground-truth/{challenge}")
import_packages(ground_truth, challenge=None)
before = set(sys.modules)
evaluate(
    submission=Path("{team}"), output=Path("{tmp_path}"), ground_truth=ground_truth, challenge=None, executor=Serial()
)
print(*sorted({{name.split(".")[0] for name in set(sys.modules) - before}}))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=ROOT)
    assert not set(done.stdout.split()) & {"torch", "monai", "SimpleITK", "h5py", "cc3d", "sklearn", "scipy", "numpy"}
