"""Dask workers give the outcomes of local processes, whatever happens to workers and scheduler."""

import ctypes
import gc
import json
import os
import shutil
import signal
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from places import ROOT
from sandbox.hijacking import decoders_with
from tools.batch.challenge_of_reports import (
    after_each_case,
    all_metrics,
    kept_scores,
    new_cases,
    processes,
    run_teams,
    serial,
    write_ground_truth,
    write_teams,
)
from tools.batch.local_cluster import LocalCluster, skip_without_mounts, wait_until

from podium.cli import main
from podium.errors import Refused, UsageError
from podium.execution.executor import Executor, Progress, ProgressFactory
from podium.execution.processes import Processes
from podium.readers.decoding import is_decoder_installed
from podium.sandbox import server
from podium.sandbox.client import decoders, ensure_decoders
from podium.tools.batch.dask import Dask

pytestmark = pytest.mark.system

pytest.importorskip("distributed")


TEAMS, CASES = 20, 100
StartCluster = Callable[..., LocalCluster]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalCluster]:
    """For tests that leave it as it was."""
    cluster = LocalCluster(tmp_path_factory.mktemp("cluster"))
    yield cluster
    cluster.stop()


@pytest.fixture
def start_cluster(tmp_path: Path) -> Iterator[StartCluster]:
    """For tests that harm it."""
    started: list[LocalCluster] = []

    def start(**options: Any) -> LocalCluster:
        started.append(LocalCluster(tmp_path, **options))
        return started[-1]

    yield start
    for cluster in started:
        cluster.stop()
    # A client whose scheduler was killed leaves connections behind; in a later test their end would be a failure.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        gc.collect()


# The executor


def test_outcomes_are_those_of_local_processes(cluster: LocalCluster, tmp_path: Path) -> None:
    def work(case: str) -> str:
        match case:
            case "refused":
                raise Refused("It is broken.")
            case "ours":
                raise ValueError
            case "poison":
                os.kill(os.getpid(), signal.SIGKILL)
            case "exit":
                os._exit(3)
            case "forever":
                time.sleep(600)
            case "once":
                first = tmp_path / f"tried by {os.environ['EXECUTOR']}"
                if not first.exists():
                    first.touch()
                    os.kill(os.getpid(), signal.SIGKILL)
        return case.upper()

    def by(name: str) -> Callable[[str], str]:
        def named(case: str) -> str:
            os.environ["EXECUTOR"] = name
            return work(case)

        return named

    cases = ["a", "refused", "poison", "b", "exit", "forever", "once", "ours", "c"]
    ours = Dask(address=cluster.address, case_timeout_seconds=3.0).run(cases, by("dask"), label="testing")
    local = Processes(workers=2, case_timeout_seconds=3.0).run(cases, by("processes"), label="testing")
    assert list(ours) == cases
    assert {case: (each.value, each.error) for case, each in ours.items()} == {
        case: (each.value, each.error) for case, each in local.items()
    }
    assert ours["exit"].detail == local["exit"].detail


def test_a_crash_among_many_short_cases_costs_none_of_them(cluster: LocalCluster) -> None:
    def work(case: str) -> str:
        if case == "200":
            os.kill(os.getpid(), signal.SIGKILL)
        return case.upper()

    outcomes = Dask(address=cluster.address).run([str(number) for number in range(300)], work, label="testing")
    assert [case for case, each in outcomes.items() if each.error is not None] == ["200"]
    assert list(outcomes) == [str(number) for number in range(300)]
    assert Dask(address=cluster.address).run([], str.upper, label="testing") == {}


def test_a_usage_error_ends_the_run(cluster: LocalCluster) -> None:
    def work(case: str) -> str:
        raise UsageError(f"No case can do it, not even {case}.")

    with pytest.raises(UsageError, match="No case can do it"):
        Dask(address=cluster.address).run(["a", "b"], work, label="testing")


def test_only_a_few_cases_are_submitted_at_a_time(cluster: LocalCluster) -> None:
    from distributed import Client

    seen: list[int] = []
    is_over = threading.Event()

    def count_tasks(dask_scheduler: Any) -> int:
        return len(dask_scheduler.tasks)

    def watch() -> None:
        with Client(cluster.address, set_as_default=False) as client:
            while not is_over.is_set():
                seen.append(client.run_on_scheduler(count_tasks))

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        Dask(address=cluster.address).run([str(number) for number in range(300)], str.upper, label="testing")
    finally:
        is_over.set()
        watcher.join()
    assert 2 < max(seen) < 30  # 4 for each of the two threads, the work, and what is not yet forgotten


def test_a_worker_with_other_code_is_refused(cluster: LocalCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("podium.tools.batch.dask.code_version", lambda: "0.1.0+old")
    with pytest.raises(UsageError, match=r"runs Podium .*, and this is 0\.1\.0\+old"):
        Dask(address=cluster.address).run(["a"], str.upper, label="testing")


def test_a_cluster_that_is_not_there(start_cluster: StartCluster) -> None:
    with pytest.raises(UsageError, match="There is no Dask scheduler at tcp://127"):
        Dask(address="tcp://127.0.0.1:1", patience_seconds=0.2).run(["a"], str.upper, label="testing")
    lonely = start_cluster(workers=0)
    wait_until(lambda: _is_listening(lonely))
    with pytest.raises(UsageError, match="No worker has joined"):
        Dask(address=lonely.address, patience_seconds=1.0).run(["a"], str.upper, label="testing")


def _is_listening(cluster: LocalCluster) -> bool:
    from distributed import Client

    Client(cluster.address, timeout=60, set_as_default=False).close()
    return True


def test_a_worker_that_joins_late_gets_cases(tmp_path: Path, start_cluster: StartCluster) -> None:
    seen = tmp_path / "seen"
    seen.mkdir()

    def work(_: str) -> int:
        (seen / str(os.getppid())).touch()
        while len(list(seen.iterdir())) < 2:  # until two workers have had a case
            time.sleep(0.01)
        return os.getppid()

    cluster = start_cluster(workers=1)
    late = threading.Thread(
        target=lambda: (wait_until(lambda: list(seen.iterdir())), cluster.workers.append(cluster.add_worker()))
    )
    late.start()
    outcomes = Dask(address=cluster.address).run([str(number) for number in range(20)], work, label="testing")
    late.join()
    assert {each.value for each in outcomes.values()} == {worker.pid for worker in cluster.workers}


def test_a_case_that_takes_dask_workers_with_it_is_failed(start_cluster: StartCluster) -> None:
    def work(case: str) -> str:
        if case == "poison":
            os.kill(os.getppid(), signal.SIGKILL)
            time.sleep(600)
        return case.upper()

    cluster = start_cluster(workers=3, scheduler__allowed_failures="0")
    cluster.wait_for_workers(3)
    executor = Dask(address=cluster.address)
    outcome = executor.run(["poison"], work, label="testing")["poison"]
    assert (outcome.error or "").startswith("Scoring this case crashed")
    assert outcome.detail == "the worker died 2 times, last together with its Dask worker"
    assert executor.run(["a"], work, label="testing")["a"].value == "A"


def test_a_stopped_worker_costs_no_case(start_cluster: StartCluster) -> None:
    """It keeps its connection; the scheduler moves its tasks after a while without a heartbeat."""
    cluster = start_cluster(scheduler__worker_ttl="10 s")
    cluster.wait_for_workers(2)

    def work(case: str) -> str:
        time.sleep(0.2)
        return case.upper()

    def stop(_: str, __: int) -> Progress:
        cluster.workers[0].send_signal(signal.SIGSTOP)
        return Progress()

    cases = [f"case {number}" for number in range(20)]
    outcomes = Dask(address=cluster.address, progress=stop).run(cases, work, label="testing")
    assert [each.value for each in outcomes.values()] == [case.upper() for case in cases]


def test_a_run_whose_workers_are_all_stopped_ends(start_cluster: StartCluster) -> None:
    cluster = start_cluster(workers=1)
    cluster.wait_for_workers(1)

    def stop(_: str, __: int) -> Progress:
        threading.Timer(2.0, cluster.workers[0].send_signal, [signal.SIGSTOP]).start()
        return Progress()

    executor = Dask(address=cluster.address, case_timeout_seconds=1.0, patience_seconds=5.0, progress=stop)
    with pytest.raises(UsageError, match=r"^No Dask worker has returned a result for 1[6-7] seconds\."):
        executor.run([str(number) for number in range(9)], lambda _: time.sleep(600), label="testing")


# Whole challenges


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """20 teams x 100 cases, and what they score in this process."""
    folder = tmp_path_factory.mktemp("many")
    write_ground_truth(folder / "truth", cases=CASES)
    write_teams(folder / "teams", teams=TEAMS, cases=CASES)
    batch(folder, folder / "serial")
    return folder


def batch(folder: Path, output: Path, executor: Callable[[ProgressFactory], Executor] = serial, **more: Any) -> int:
    """The number of cases that were scored."""
    return sum(new_cases(run_teams(folder / "teams", folder / "truth", output, executor, teams_per_task=5, **more)))


def on(cluster: LocalCluster) -> Callable[[ProgressFactory], Executor]:
    return lambda progress: Dask(address=cluster.address, progress=progress)


def run_and_harm(many: Path, output: Path, cluster: LocalCluster, harm: Callable[[], None]) -> None:
    """The batch on the cluster, with some harm done in the middle of the second group of teams; no byte may change."""
    harmed_at: list[int] = []

    def watch(done: int) -> None:
        if done == CASES * 3 // 2:
            harm()
            harmed_at.append(kept_scores(output))

    cluster.wait_for_workers()
    batch(many, output, on(cluster), progress=after_each_case(watch))
    assert 0 < harmed_at[0] < TEAMS * CASES
    assert all_metrics(output) == all_metrics(many / "serial")
    assert batch(many, output) == 0


def test_killing_one_of_two_workers_changes_no_byte(many: Path, tmp_path: Path, start_cluster: StartCluster) -> None:
    cluster = start_cluster()
    run_and_harm(many, tmp_path / "out", cluster, cluster.workers[0].kill)


def test_a_restarted_scheduler_goes_on_with_what_is_kept(
    many: Path, tmp_path: Path, start_cluster: StartCluster, caplog: pytest.LogCaptureFixture
) -> None:
    """The client finds the new scheduler before we look: its tasks are gone although its connection is well."""
    cluster = start_cluster()

    def restart() -> None:
        cluster.stop()  # workers end when they lose their scheduler: what starts it starts them too
        cluster.start_scheduler()
        cluster.workers[:] = [cluster.add_worker(), cluster.add_worker()]
        cluster.wait_for_workers()

    with caplog.at_level("INFO", logger="podium.tools.batch.dask"):
        run_and_harm(many, tmp_path / "out", cluster, restart)
    assert caplog.messages.count("scheduler: the connection was lost; what is not kept starts again") == 1


def test_a_task_that_the_client_has_forgotten_is_submitted_again(
    start_cluster: StartCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was submitted while the client cancelled its tasks never ends, and nobody says so."""
    from distributed import Client

    forgotten: list[str] = []
    real = Client.submit

    def submit(self: Client, function: Any, *arguments: Any, **options: Any) -> Any:
        future = real(self, function, *arguments, **options)
        if arguments[-1] == ["a"] and not forgotten:
            forgotten.append(future.key)
            cluster.stop()
            wait_until(lambda: self.status == "connecting")
            future._state.__init__(future.key)  # pending again, as one that was submitted a moment later
            cluster.start_scheduler()
            cluster.workers[:] = [cluster.add_worker()]
        return future

    monkeypatch.setattr(Client, "submit", submit)
    cluster = start_cluster(workers=1)
    assert Dask(address=cluster.address).run(["a"], str.upper, label="testing")["a"].value == "A"
    assert forgotten


def test_a_full_disk_on_one_worker_changes_no_byte(many: Path, tmp_path: Path, start_cluster: StartCluster) -> None:
    skip_without_mounts()
    cluster, output = start_cluster(workers=1), tmp_path / "out"
    (output / "kept").mkdir(parents=True)
    full = f'mount -t tmpfs -o size=4k,nr_inodes=1 full {output / "kept"} && exec "$@"'
    cluster.workers.append(cluster.add_worker(before=["unshare", "-rm", "sh", "-c", full, "sh"]))
    cluster.wait_for_workers()
    batch(many, output, on(cluster))
    assert all_metrics(output) == all_metrics(many / "serial")
    kept = kept_scores(output)
    assert 0 < kept < TEAMS * CASES  # the other worker kept its own
    assert batch(many, output) == TEAMS * CASES - kept


def test_images_score_the_same_on_a_cluster(
    cluster: LocalCluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    submissions, truth = ROOT / "test/submissions/carotid", ROOT / "ground-truth/carotid"
    paths = (str(submissions), "--ground-truth", str(truth), "--bootstraps", "0", "--output")
    assert main(["batch", *paths, str(tmp_path / "dask"), "--scheduler", cluster.address]) == 0
    assert main(["batch", *paths, str(tmp_path / "local")]) == 0
    assert all_metrics(tmp_path / "dask") == all_metrics(tmp_path / "local")
    assert main(["batch", *paths, str(tmp_path / "dask"), "--scheduler", cluster.address]) == 0
    assert capsys.readouterr().err.endswith("0 cases were scored in this run.\n")


# Submissions of a batch are decoded as those of an evaluation are: in processes of their own.


def test_a_reader_that_crashes_costs_its_case_alone(tmp_path: Path) -> None:
    real = server.READERS["hdf5.read"]

    def crash(opened: server.OpenFile, **options: Any) -> server.Content:
        if "csv_0042" in opened.file.name:
            ctypes.string_at(0)
        return real(opened, **options)

    teams = tmp_path / "teams"
    shutil.copytree(ROOT / "test/submissions/carotid/carina", teams / "carina")
    with decoders_with(__name__, READERS={**server.READERS, "hdf5.read": crash}):
        run_teams(teams, ROOT / "ground-truth/carotid", tmp_path / "output", processes)
    rows = json.loads((tmp_path / "output/teams/carina/metrics.json").read_bytes())["results"]
    assert [row["case"] for row in rows if row["status"] != "scored"] == ["csv_0042"]


def test_a_process_on_another_machine_has_decoders_of_its_own() -> None:
    with decoders():  # that others were in place before changes nothing
        ensure_decoders("h5py")

    def before_and_after(_: str) -> tuple[bool, bool]:
        before = is_decoder_installed()
        ensure_decoders("h5py")
        return before, is_decoder_installed()

    (outcome,) = Processes(workers=1).run(["a"], before_and_after, label="scoring").values()
    assert outcome.value == (False, True)
