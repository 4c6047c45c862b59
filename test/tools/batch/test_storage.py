"""Submissions, references and results behind s3:// URLs give the bytes of local folders."""

import argparse
import shutil
import subprocess
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from places import ROOT
from tools.batch.challenge_of_reports import all_metrics, write_ground_truth, write_teams
from tools.batch.local_cluster import LocalCluster
from tools.batch.object_store import CREDENTIALS, ObjectStore

from podium.cli import main
from podium.errors import GroundTruthError, StorageError, SubmissionError, UsageError
from podium.execution.executor import Executor, Progress, ProgressFactory, Serial
from podium.execution.processes import Processes
from podium.readers.files import list_files
from podium.tools.batch import storage as remote
from podium.tools.batch.dask import Dask
from podium.tools.batch.kept import KeptScores
from podium.tools.batch.run import TeamOutcome, find_teams, run_batch
from podium.tools.batch.storage import Mirrors, RemoteFolder, Url, location

pytest.importorskip("s3fs")
pytest.importorskip("moto")


SAMPLES = ROOT / "test" / "submissions"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ObjectStore]:
    server = ObjectStore(tmp_path_factory.mktemp("store"))
    yield server
    server.stop()


@pytest.fixture
def store(server: ObjectStore, monkeypatch: pytest.MonkeyPatch) -> Iterator[ObjectStore]:
    """The server with an empty bucket, and what s3fs reads from the environment."""
    use(server, monkeypatch)
    remote.file_system("s3").call_s3("create_bucket", Bucket=server.bucket)
    yield server
    remote.file_system("s3").rm(server.bucket, recursive=True)


def use(server: ObjectStore, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in server.environment.items():
        monkeypatch.setenv(name, value)
    remote._file_system.cache_clear()
    monkeypatch.setattr("podium.tools.batch.kept._asked_again_at", [0.0])


@pytest.fixture
def batch(store: ObjectStore, tmp_path: Path) -> Callable[..., dict[str, TeamOutcome]]:
    def run(executor: Callable[[ProgressFactory], Executor] | None = None, **more: Any) -> dict[str, TeamOutcome]:
        outcomes = run_batch(
            submissions=store.url("teams"),
            output=store.url("out"),
            ground_truth=store.url("truth"),
            challenge=None,
            executor=executor or (lambda progress: Serial(progress=progress)),
            cache=tmp_path / "cache",
            **more,
        )
        return {each.team: each for each in outcomes}

    return run


@pytest.fixture
def reports(store: ObjectStore, tmp_path: Path) -> Path:
    """Three teams with four reports each, in the bucket and here."""
    write_ground_truth(tmp_path / "truth", cases=4)
    write_teams(tmp_path / "teams", teams=3, cases=4)
    store.put_folder("truth", tmp_path / "truth")
    store.put_folder("teams", tmp_path / "teams")
    return tmp_path


def local_metrics(folder: Path, truth: Path, teams: Path) -> dict[str, bytes]:
    run_batch(
        submissions=teams,
        output=folder / "local",
        ground_truth=truth,
        challenge="truth",
        executor=lambda progress: Serial(progress=progress),
    )
    return all_metrics(folder / "local")


def metrics_in(store: ObjectStore) -> dict[str, bytes]:
    return {name.split("/")[0]: content for name, content in store.objects("out/teams").items()}


def new_cases(outcomes: dict[str, TeamOutcome]) -> list[int]:
    return [outcomes[team].new for team in sorted(outcomes)]


def test_the_command_gives_the_bytes_of_local_files(
    store: ObjectStore, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    truth, teams = ROOT / "ground-truth" / "carotid", tmp_path / "carotid"
    shutil.copytree(SAMPLES / "carotid", teams)
    first = teams / "carina"
    with zipfile.ZipFile(teams / "packed.zip", "w") as archive:
        for path in first.rglob("*"):
            archive.write(path, path.relative_to(first).as_posix())
    store.put_folder("ground-truth/carotid", truth)
    store.put_folder("teams", teams)
    before = store.objects("ground-truth")
    paths = [f"s3://{store.bucket}/teams", "--ground-truth", f"s3://{store.bucket}/ground-truth/"]
    more = ["--workers", "2", "--bootstraps", "10"]
    there = [*paths, "--output", f"s3://{store.bucket}/out", "--cache", str(tmp_path / "cache"), *more]
    assert main(["batch", *there]) == 0
    here = ["batch", str(teams), "--ground-truth", str(truth), "--output", str(tmp_path / "local"), *more]
    assert main(here) == 0
    assert metrics_in(store) == all_metrics(tmp_path / "local")
    ranking = (tmp_path / "local/ranking/ranking.json").read_bytes()
    assert store.objects("out/ranking")["ranking.json"] == ranking
    fetched = {path: path.stat().st_mtime_ns for path in (tmp_path / "cache/objects").rglob("*")}
    capsys.readouterr()
    assert main(["batch", *there]) == 0
    assert capsys.readouterr().err.endswith("; 0 cases were scored in this run.\n")
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "cache/objects").rglob("*")} == fetched
    assert store.objects("ground-truth") == before
    assert not store.objects("out/unpacked")


def test_only_what_has_changed_is_fetched_and_scored_again(batch: Any, store: ObjectStore, reports: Path) -> None:
    assert new_cases(batch()) == [4, 4, 4]
    assert len(store.objects("out/kept")) == 12
    fetched = set((reports / "cache/objects").rglob("*"))
    store.put("truth/references/case_001.txt", b"tooth root canal filling")
    store.put("teams/team_02/case_003.txt", b"crown")
    assert new_cases(batch()) == [1, 1, 2]
    assert len([path for path in set((reports / "cache/objects").rglob("*")) - fetched if path.is_file()]) == 2
    shutil.rmtree(reports / "cache")
    assert new_cases(batch()) == [0, 0, 0]


def test_workers_with_files_of_their_own_fetch_what_they_need(batch: Any, store: ObjectStore, reports: Path) -> None:
    if shutil.which("unshare") is None or subprocess.run(["unshare", "-rm", "true"], check=False).returncode:
        pytest.skip("this system allows no mounts of one's own")
    with zipfile.ZipFile(reports / "teams" / "packed.zip", "w") as archive:
        for path in sorted((reports / "teams" / "team_01").iterdir()):
            archive.write(path, path.name)
    store.put("teams/packed.zip", (reports / "teams" / "packed.zip").read_bytes())
    (reports / "cache").mkdir()
    elsewhere = f'mount -t tmpfs none {reports / "cache"} && exec "$@"'
    cluster = LocalCluster(reports, workers=0)
    try:
        cluster.workers.append(cluster.add_worker(before=["unshare", "-rm", "sh", "-c", elsewhere, "sh"]))
        outcomes = batch(lambda progress: Dask(address=cluster.address, progress=progress))
    finally:
        cluster.stop()
    assert sorted(new_cases(outcomes)) == [0, 4, 4, 4]  # one of two equal teams finds the scores of the other
    assert metrics_in(store) == local_metrics(reports, reports / "truth", reports / "teams")
    assert not store.objects("out/unpacked")


# Failures


def test_an_object_that_is_gone_costs_its_case(batch: Any, store: ObjectStore, reports: Path) -> None:
    class Deleting(Progress):
        """When the first case is scored, a file of another case disappears here and there."""

        def __init__(self, label: str, _: int) -> None:
            self._is_scoring = label.startswith("scoring")

        def advance(self) -> None:
            if self._is_scoring:
                store.call("delete_object", Key="teams/team_01/case_002.txt")
                for path in (reports / "cache/trees").glob("*/team_01/case_002.txt"):
                    path.unlink()
                for path in (reports / "cache/objects").glob("*/*"):
                    if path.read_bytes() == (reports / "teams/team_01/case_002.txt").read_bytes():
                        path.unlink()

        def close(self) -> None:
            pass

    outcome = batch(progress=Deleting)["team_01"]
    assert (outcome.counts.scored, outcome.counts.failed) == (3, 1)
    assert outcome.error == (
        "1 cases failed because their files could not be fetched; run it again. "
        "s3://challenge/teams/team_01/case_002.txt does not exist: The specified key does not exist."
    )
    store.put("teams/team_01/case_002.txt", (reports / "teams/team_01/case_002.txt").read_bytes())
    assert new_cases(batch()) == [0, 1, 0]
    assert metrics_in(store) == local_metrics(reports, reports / "truth", reports / "teams")


def test_a_server_that_dies_costs_the_teams_after_it(
    batch: Any, store: ObjectStore, reports: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mortal = ObjectStore(tmp_path)
    use(mortal, monkeypatch)
    remote.file_system("s3").call_s3("create_bucket", Bucket=mortal.bucket)
    mortal.put_folder("truth", reports / "truth")
    mortal.put_folder("teams", reports / "teams")
    written: list[str] = []

    class Killing(Progress):
        def __init__(self, label: str, _: int) -> None:
            self._is_scoring, self._done = label.startswith("scoring"), 0

        def advance(self) -> None:
            self._done += self._is_scoring
            if self._done == 6:  # in the middle of the second team
                written.extend(metrics_in(mortal))
                mortal.stop()

        def close(self) -> None:
            pass

    outcomes = batch(progress=Killing, teams_per_task=1)
    assert written == ["team_00"]
    assert outcomes["team_00"].error is None
    for team in ("team_01", "team_02"):
        assert outcomes[team].error == (
            f"s3://challenge/out/teams/{team}/metrics.json could not be reached; it was tried several times."
        )
    assert outcomes["team_01"].counts.scored == 4
    use(store, monkeypatch)


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ("s3://nobody/teams", "s3://nobody/teams does not exist: The specified bucket does not exist."),
        ("s3://challenge/nothing", "s3://challenge/nothing holds no submission: neither a folder nor an archive."),
        ("nowhere://x/y", "nowhere:// is not a kind of URL that fsspec supports."),
    ],
)
@pytest.mark.usefixtures("store")
def test_submissions_that_are_not_there(given: str, sentence: str) -> None:
    with pytest.raises((StorageError, UsageError)) as caught:
        find_teams(location(given))
    assert str(caught.value) == sentence


def test_nothing_is_done_where_the_output_cannot_be_written_to(
    reports: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    paths = ["--ground-truth", str(reports / "truth"), "--cache", str(reports / "cache")]
    assert main(["batch", str(reports / "teams"), *paths, "--output", "s3://nobody/out"]) == 2
    assert capsys.readouterr().err == ("s3://nobody/out/.podium does not exist: The specified bucket does not exist.\n")


def test_a_stranger_is_told_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    closed = ObjectStore(tmp_path, INITIAL_NO_AUTH_ACTION_COUNT="0")
    try:
        use(closed, monkeypatch)
        with pytest.raises(StorageError, match=r"^s3://challenge/x may not be used with these credentials\.$"):
            list(RemoteFolder(closed.url("x")).entries(deep=True))
        for name in CREDENTIALS:
            monkeypatch.delenv(name)
        monkeypatch.setenv("HOME", str(tmp_path))
        remote._file_system.cache_clear()
        with pytest.raises(StorageError, match=r"^There are no credentials for s3://challenge/x in the environment\.$"):
            list(RemoteFolder(closed.url("x")).entries(deep=True))
    finally:
        closed.stop()
        remote._file_system.cache_clear()


@pytest.mark.parametrize(
    ("key", "sentence"),
    [
        ("../../../escaped.txt", "holds '../../../escaped.txt', which leads out of the folder."),
        ("/etc/passwd", "holds the absolute path '/etc/passwd'."),
        ("a//b", "holds 'a//b', which is not the name of a file."),
        ("./case_000.txt", "holds './case_000.txt', which is not the name of a file."),
        ("C:\\x", "a Windows path; use forward slashes."),
        ("case_000.txt/more", "uses the path of 'case_000.txt/more' for both a file and a folder."),
        ("/".join("abcdefghijklmnopq"), "deeper than 16 folders."),
        ("n" * 300, "holds a name that is too long: "),
    ],
)
def test_hostile_names_are_refused(store: ObjectStore, tmp_path: Path, key: str, sentence: str) -> None:
    for name in ("case_000.txt", key):
        store.put(f"teams/team_01/{name}", b"x")
    with pytest.raises(SubmissionError) as caught:
        Mirrors(tmp_path / "cache").local(store.url("teams/team_01"))
    assert sentence in str(caught.value)
    assert str(caught.value).startswith("'s3://challenge/teams/team_01' ")
    assert not (tmp_path / "cache").exists()


@pytest.mark.usefixtures("reports")
def test_a_hostile_name_costs_its_team(batch: Any, store: ObjectStore) -> None:
    store.put("teams/team_01/../../../escaped.txt", b"x")
    outcomes = batch()
    assert "leads out of the folder" in str(outcomes["team_01"].error)
    assert [outcomes[team].error for team in ("team_00", "team_02")] == [None, None]


def test_a_name_that_cannot_be_shown_is_refused_as_in_a_local_folder(store: ObjectStore, tmp_path: Path) -> None:
    store.put("teams/a/b\tc.txt", b"x")
    listing = list_files(Mirrors(tmp_path / "cache").local(store.url("teams/a")))
    assert listing.refused == (("b\\tc.txt", "'b\\tc.txt' has unprintable characters in its name; rename it."),)


def test_too_many_objects_and_too_many_bytes(
    store: ObjectStore, reports: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url, mirrors = store.url("teams/team_01"), Mirrors(reports / "cache")
    with pytest.raises(SubmissionError, match=r"^'s3://challenge/teams/team_01' holds more than 100 bytes\.$"):
        mirrors.local(url, max_bytes=100)
    monkeypatch.setattr("podium.tools.batch.storage.MAX_ENTRIES", 3)
    with pytest.raises(SubmissionError, match=r"^'s3://challenge/teams/team_01' holds more than 3 files\.$"):
        mirrors.local(url)
    assert not (reports / "cache").exists()  # nothing was fetched


@pytest.mark.usefixtures("reports")
def test_a_hostile_name_in_the_ground_truth_is_the_organisers(batch: Any, store: ObjectStore) -> None:
    store.put("truth/references/../x", b"")
    with pytest.raises(GroundTruthError, match="leads out of the folder"):
        batch()


def test_a_cache_that_cannot_be_written_to(store: ObjectStore, reports: Path) -> None:
    (reports / "cache").write_text("a file")
    with pytest.raises(UsageError, match=r"The cache cannot be written to: .*; name another folder with --cache\."):
        Mirrors(reports / "cache").local(store.url("truth"))


@pytest.mark.usefixtures("reports")
def test_processes_that_are_forked_keep_their_scores(batch: Any, store: ObjectStore) -> None:
    assert new_cases(batch(lambda progress: Processes(workers=2, progress=progress))) == [4, 4, 4]
    assert len(store.objects("out/kept")) == 12
    assert new_cases(batch()) == [0, 0, 0]


def test_an_unreachable_store_is_not_asked_for_every_score(
    store: ObjectStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mortal = ObjectStore(tmp_path)
    mortal.stop()
    use(mortal, monkeypatch)
    kept = KeptScores(folder=RemoteFolder(mortal.url("kept")), basis="")
    assert kept.find("aa") is None
    use_again = remote.file_system("s3")
    monkeypatch.setattr(use_again, "cat_file", None)  # would fail if it were called
    assert all(kept.find(f"{number:02x}") is None for number in range(256))
    use(store, monkeypatch)


def test_urls_on_the_command_line() -> None:
    assert location("s3://bucket/a/b/") == Url("s3", "bucket/a/b")
    assert location("file:///a/b") == Path("/a/b")
    assert location("a/b") == Path("a/b")
    for wrong in ("s3://", "s3:///a", "S3 ://a"):
        with pytest.raises(argparse.ArgumentTypeError):
            location(wrong)
