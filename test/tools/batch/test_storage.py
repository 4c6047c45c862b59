"""Submissions, references and results behind s3:// URLs give the bytes of local folders."""

import argparse
import shutil
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from places import ROOT
from tools.batch.challenge_of_reports import (
    after_each_case,
    all_metrics,
    new_cases,
    processes,
    run_teams,
    write_ground_truth,
    write_teams,
)
from tools.batch.local_cluster import LocalCluster, skip_without_mounts
from tools.batch.object_store import CREDENTIALS, ObjectStore

from podium.cli import main
from podium.errors import GroundTruthError, StorageError, SubmissionError, UsageError
from podium.readers.files import list_files
from podium.tools.batch.dask import Dask
from podium.tools.batch.kept import KeptScores
from podium.tools.batch.run import TeamOutcome, find_teams
from podium.tools.batch.storage import Copies, Url, location

pytestmark = pytest.mark.slow

S3FileSystem = pytest.importorskip("s3fs").S3FileSystem
pytest.importorskip("moto")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ObjectStore]:
    server = ObjectStore(tmp_path_factory.mktemp("store"))
    yield server
    server.stop()


@pytest.fixture
def store(server: ObjectStore, monkeypatch: pytest.MonkeyPatch) -> Iterator[ObjectStore]:
    """The server with an empty bucket, and what s3fs reads from the environment."""
    use(server, monkeypatch)
    server.call("create_bucket")
    yield server
    server.url("").files.rm(server.bucket, recursive=True)


def use(server: ObjectStore, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in server.environment.items():
        monkeypatch.setenv(name, value)
    S3FileSystem.clear_instance_cache()
    monkeypatch.setattr("podium.tools.batch.kept._asked_again_at", [0.0])


@pytest.fixture
def batch(store: ObjectStore, tmp_path: Path) -> Callable[..., dict[str, TeamOutcome]]:
    return partial(run_teams, *map(store.url, ("teams", "truth", "out")), cache=tmp_path / "cache")


@pytest.fixture
def reports(store: ObjectStore, tmp_path: Path) -> Path:
    """Three teams with four reports each, in the bucket and here."""
    store.put_folder("truth", write_ground_truth(tmp_path / "truth", cases=4))
    store.put_folder("teams", write_teams(tmp_path / "teams", teams=3, cases=4))
    return tmp_path


def local_metrics(folder: Path) -> dict[str, bytes]:
    run_teams(folder / "teams", folder / "truth", folder / "local")
    return all_metrics(folder / "local")


def metrics_in(store: ObjectStore) -> dict[str, bytes]:
    return {name.split("/")[0]: content for name, content in store.objects("out/teams").items()}


def copied(folder: Path) -> dict[Path, int]:
    """The time of every file in the cache that is a copy."""
    copies = folder / "cache" / "copies"
    return {path: path.stat().st_mtime_ns for path in copies.glob("*/[!.]*/**/*") if path.is_file()}


def test_the_command_gives_the_bytes_of_local_files(
    store: ObjectStore, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    truth, teams = ROOT / "ground-truth" / "carotid", tmp_path / "carotid"
    shutil.copytree(ROOT / "test/submissions/carotid", teams)
    shutil.make_archive(str(teams / "packed"), "zip", teams / "carina")
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
    fetched = copied(tmp_path)
    capsys.readouterr()
    assert main(["batch", *there]) == 0
    assert capsys.readouterr().err.endswith("; 0 cases were scored in this run.\n")
    assert copied(tmp_path) == fetched
    assert store.objects("ground-truth") == before
    assert not store.objects("out/unpacked")


def test_only_what_has_changed_is_fetched_and_scored_again(batch: Any, store: ObjectStore, reports: Path) -> None:
    assert new_cases(batch()) == [4, 4, 4]
    assert len(store.objects("out/kept")) == 12
    fetched = copied(reports)
    store.put("truth/references/case_001.txt", b"tooth root canal filling")
    store.put("teams/team_02/case_003.txt", b"crown")
    assert new_cases(batch()) == [1, 1, 2]
    changed = dict(copied(reports).items() - fetched.items())
    assert sorted(path.name for path in changed) == ["case_001.txt", "case_003.txt"]
    shutil.rmtree(reports / "cache")
    assert new_cases(batch()) == [0, 0, 0]


def test_workers_with_files_of_their_own_fetch_what_they_need(batch: Any, store: ObjectStore, reports: Path) -> None:
    skip_without_mounts()
    shutil.make_archive(str(reports / "teams" / "packed"), "zip", reports / "teams" / "team_01")
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
    assert metrics_in(store) == local_metrics(reports)
    assert not store.objects("out/unpacked")


# Failures


def test_an_object_that_is_gone_costs_its_case(batch: Any, store: ObjectStore, reports: Path) -> None:
    def delete(_: int) -> None:
        """When the first case is scored, a file of another case disappears here and there."""
        store.call("delete_object", Key="teams/team_01/case_002.txt")
        for path in (reports / "cache/copies").glob("*/team_01/case_002.txt"):
            path.unlink()

    outcome = batch(progress=after_each_case(delete))["team_01"]
    assert outcome.counts is None, "it is not the team's fault"
    assert outcome.error == (
        "The files of 1 cases could not be fetched; run it again. "
        "s3://challenge/teams/team_01/case_002.txt does not exist."
    )
    store.put("teams/team_01/case_002.txt", (reports / "teams/team_01/case_002.txt").read_bytes())
    assert new_cases(batch()) == [0, 1, 0]
    assert metrics_in(store) == local_metrics(reports)


def test_a_server_that_dies_costs_the_teams_after_it(
    batch: Any, store: ObjectStore, reports: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mortal = ObjectStore(tmp_path)
    use(mortal, monkeypatch)
    mortal.call("create_bucket")
    for name in ("truth", "teams"):
        mortal.put_folder(name, reports / name)
    written: list[str] = []

    def kill(done: int) -> None:
        if done == 6:  # in the middle of the second team
            written.extend(metrics_in(mortal))
            mortal.stop()

    outcomes = batch(progress=after_each_case(kill), teams_per_task=1)
    assert written == ["team_00"]
    assert outcomes["team_00"].error is None
    for team in ("team_01", "team_02"):
        assert outcomes[team].error.startswith(f"s3://challenge/out/teams/{team}/metrics.json could not be reached")
    assert outcomes["team_01"].counts.scored == 4
    use(store, monkeypatch)


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ("s3://nobody/teams", "s3://nobody/teams does not exist."),
        ("s3://challenge/nothing", "s3://challenge/nothing does not exist."),
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
    assert capsys.readouterr().err == "s3://nobody/out/.podium does not exist.\n"


def test_a_stranger_is_told_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    closed = ObjectStore(tmp_path, INITIAL_NO_AUTH_ACTION_COUNT="0")
    try:
        use(closed, monkeypatch)
        with pytest.raises(StorageError, match=r"^s3://challenge/x may not be used with these credentials\.$"):
            closed.url("x").entries()
        for name in CREDENTIALS:
            monkeypatch.delenv(name)
        monkeypatch.setenv("HOME", str(tmp_path))
        S3FileSystem.clear_instance_cache()
        with pytest.raises(StorageError, match=r"^There are no credentials for s3://challenge/x in the environment\.$"):
            closed.url("x").entries()
    finally:
        closed.stop()
        S3FileSystem.clear_instance_cache()


@pytest.mark.parametrize(
    ("key", "sentence"),
    [
        ("../../../escaped.txt", "holds '../../../escaped.txt', which leads out of the folder."),
        ("/etc/passwd", "holds the absolute path '/etc/passwd'."),
        ("a//b", "holds 'a//b', which is not the name of a file."),
        ("./case_000.txt", "holds './case_000.txt', which is not the name of a file."),
        ("case_000.txt/more", "uses the path of 'case_000.txt/more' for both a file and a folder."),
    ],
)
def test_hostile_names_are_refused(store: ObjectStore, tmp_path: Path, key: str, sentence: str) -> None:
    for name in ("case_000.txt", key):
        store.put(f"teams/team_01/{name}", b"x")
    with pytest.raises(SubmissionError) as caught:
        Copies(tmp_path / "cache").local(store.url("teams/team_01"))
    assert sentence in str(caught.value)
    assert str(caught.value).startswith("'s3://challenge/teams/team_01' ")
    assert not (tmp_path / "cache").exists()


def test_a_name_that_cannot_be_shown_is_refused_as_in_a_local_folder(store: ObjectStore, tmp_path: Path) -> None:
    store.put("teams/a/b\tc.txt", b"x")
    listing = list_files(Copies(tmp_path / "cache").local(store.url("teams/a")))
    assert listing.refused == (("b\\tc.txt", "'b\\tc.txt' has unprintable characters in its name; rename it."),)


def test_too_many_objects_and_too_many_bytes(
    store: ObjectStore, reports: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url, copies = store.url("teams/team_01"), Copies(reports / "cache")
    with pytest.raises(SubmissionError, match=r"^'s3://challenge/teams/team_01' holds more than 100 bytes\.$"):
        copies.local(url, max_bytes=100)
    monkeypatch.setattr("podium.tools.batch.storage.MAX_ENTRIES", 3)
    with pytest.raises(SubmissionError, match=r"^'s3://challenge/teams/team_01' holds more than 3 files\.$"):
        copies.local(url)
    assert not (reports / "cache").exists()  # nothing was fetched


@pytest.mark.usefixtures("reports")
def test_a_hostile_name_in_the_ground_truth_is_the_organisers(batch: Any, store: ObjectStore) -> None:
    store.put("truth/references/../x", b"")
    with pytest.raises(GroundTruthError, match="leads out of the folder"):
        batch()


def test_a_cache_that_cannot_be_written_to(store: ObjectStore, reports: Path) -> None:
    (reports / "cache").write_text("a file")
    with pytest.raises(StorageError, match=r"The cache cannot be written to: .*; name another folder with --cache\."):
        Copies(reports / "cache").local(store.url("truth"))


@pytest.mark.usefixtures("reports")
def test_processes_that_are_forked_keep_their_scores(batch: Any, store: ObjectStore) -> None:
    assert new_cases(batch(processes)) == [4, 4, 4]
    assert len(store.objects("out/kept")) == 12
    assert new_cases(batch()) == [0, 0, 0]


def test_an_unreachable_store_is_not_asked_for_every_score(
    store: ObjectStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mortal = ObjectStore(tmp_path)
    mortal.stop()
    use(mortal, monkeypatch)
    kept = KeptScores(folder=mortal.url("kept"), basis="")
    assert kept.find("aa") is None
    monkeypatch.setattr(S3FileSystem, "cat_file", None)  # would fail if it were called
    assert all(kept.find(f"{number:02x}") is None for number in range(256))
    use(store, monkeypatch)


def test_urls_on_the_command_line() -> None:
    assert location("s3://bucket/a/b/") == Url("s3", "bucket/a/b")
    assert location("file:///a/b") == Path("/a/b")
    assert location("a/b") == Path("a/b")
    for wrong in ("s3://", "s3:///a", "S3 ://a"):
        with pytest.raises(argparse.ArgumentTypeError):
            location(wrong)


def test_a_copy_follows_what_the_url_has(store: ObjectStore, tmp_path: Path) -> None:
    """Files that are gone, that became folders and the other way round; the empty objects of consoles are none."""

    def copy() -> dict[str, bytes]:
        root = Copies(tmp_path / "cache").local(store.url("teams/a"))
        return {path.relative_to(root).as_posix(): path.read_bytes() for path in root.rglob("*") if path.is_file()}

    for key, content in {"gone.txt": b"1", "x": b"2", "y/z": b"3", "folder/": b"", ".hidden": b"4"}.items():
        store.put(f"teams/a/{key}", content)
    assert copy() == {"gone.txt": b"1", "x": b"2", "y/z": b"3", ".hidden": b"4"}
    for key in ("gone.txt", "x", "y/z"):
        store.call("delete_object", Key=f"teams/a/{key}")
    store.put("teams/a/x/inner", b"5")
    store.put("teams/a/y", b"6")
    assert copy() == {"x/inner": b"5", "y": b"6", ".hidden": b"4"}
    assert find_teams(store.url("teams"))[0] == {"a": store.url("teams/a")}
    assert Copies(tmp_path / "cache").local(store.url("teams/a/y")).read_bytes() == b"6"


def test_too_many_teams(store: ObjectStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("podium.tools.batch.run._MOST_TEAMS", 1)
    for name in "ab":
        store.put(f"teams/{name}.zip", b"")
    with pytest.raises(UsageError, match=r"^s3://challenge/teams holds more than 1 submissions\.$"):
        find_teams(store.url("teams"))
