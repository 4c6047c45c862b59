"""An object store that lies or hangs harms no other files and does not stop the run; the cache keeps nothing wrong."""

import itertools
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from places import ROOT
from tools.batch.challenge_of_reports import write_ground_truth
from tools.batch.lying_store import Handler, LyingStore, lying_store
from tools.batch.object_store import CREDENTIALS

from podium.errors import StorageError
from podium.tools.batch.run import find_teams
from podium.tools.batch.storage import Copies, Url

pytestmark = pytest.mark.slow

S3FileSystem = pytest.importorskip("s3fs").S3FileSystem
TEAM = Url("s3", "challenge/teams/a")


@pytest.fixture
def store(monkeypatch: pytest.MonkeyPatch) -> Iterator[LyingStore]:
    with lying_store() as store:
        for name, value in {**CREDENTIALS, **store.environment}.items():
            monkeypatch.setenv(name, value)
        S3FileSystem.clear_instance_cache()
        yield store
        S3FileSystem.clear_instance_cache()


@pytest.fixture
def soon(store: LyingStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """Requests have a deadline of seconds rather than minutes; the first one, which loads the client, has minutes."""
    store.put("teams/first/x.txt", b"good", lambda handler: handler.reply(b"good"))
    Url("s3", "challenge/teams/first").entries()
    monkeypatch.setattr("podium.tools.batch.storage._SECONDS", 2.0)


def test_a_prefix_that_leads_elsewhere_is_no_team(store: LyingStore, caplog: pytest.LogCaptureFixture) -> None:
    """The metrics.json of `teams/x/../../../victim` below the output is one outside of it, and was deleted."""
    wrong = ["", ".", "..", "x/../../../victim", "../victim"]
    store.folders = ["teams/good/", *(f"teams/{each}/" for each in wrong)]
    teams, refused = find_teams(Url("s3", "challenge/teams"))
    assert list(teams) == ["good"]
    assert set(refused) == set(wrong)
    assert refused["x/../../../victim"] == "'x/../../../victim' is not the name of a team."
    assert not caplog.messages


def damaged(times: int) -> Callable[[Handler], None]:
    """The right size and the wrong bytes, `times` times."""
    count = itertools.count()
    return lambda handler: handler.reply(b"bad!" if handler.command == "GET" and next(count) < times else b"good")


def test_a_damaged_transfer_is_repeated_once(store: LyingStore, tmp_path: Path) -> None:
    """It stayed in the cache for ever: its size is right."""
    store.put("teams/a/x.txt", b"good", damaged(1))
    assert (Copies(tmp_path).local(TEAM) / "x.txt").read_bytes() == b"good"


def test_what_arrives_damaged_again_is_not_kept(store: LyingStore, tmp_path: Path) -> None:
    store.put("teams/a/x.txt", b"good", damaged(2))
    with pytest.raises(StorageError, match=r"^s3://challenge/teams/a/x\.txt arrived changed or damaged\.$"):
        Copies(tmp_path).local(TEAM)
    assert not list(tmp_path.rglob("x.txt"))
    assert (Copies(tmp_path).local(TEAM) / "x.txt").read_bytes() == b"good"


def test_the_tag_of_an_encrypted_object_is_no_digest(store: LyingStore, tmp_path: Path) -> None:
    tag = {"x-amz-server-side-encryption": "aws:kms"}
    store.put("teams/a/x.txt", b"good", lambda handler: handler.reply(b"here", **tag))
    assert (Copies(tmp_path).local(TEAM) / "x.txt").read_bytes() == b"here"
    store.listed["teams/a/x.txt"] = (4, "0123456789abcdef0123456789abcdef-2")  # uploaded in parts
    store.bodies["teams/a/x.txt"] = lambda handler: handler.reply(b"part")
    assert (Copies(tmp_path).local(TEAM) / "x.txt").read_bytes() == b"part"


@pytest.mark.usefixtures("soon")
def test_pages_without_end_have_a_deadline(store: LyingStore) -> None:
    store.is_endless = True
    with pytest.raises(StorageError, match=r"^s3://challenge/teams/a took too long to answer\.$"):
        TEAM.entries()
    with pytest.raises(StorageError, match=r"took too long to answer\.$"):
        find_teams(TEAM)


def drops() -> Iterator[bytes]:
    for _ in range(60):
        time.sleep(0.2)
        yield b"."


@pytest.mark.usefixtures("soon")
def test_a_slow_body_has_a_deadline(store: LyingStore, tmp_path: Path) -> None:
    store.put("teams/a/x.txt", b"." * 60, lambda handler: handler.chunks(drops()))
    with pytest.raises(StorageError, match=r"^s3://challenge/teams/a/x\.txt took too long to answer\.$"):
        Copies(tmp_path).local(TEAM)


@pytest.mark.parametrize("body", ["announced", "endless"])
def test_a_longer_body_ends_at_its_listed_size(store: LyingStore, tmp_path: Path, body: str) -> None:
    """It would fill the disk."""
    sent = [0]

    def blocks() -> Iterator[bytes]:
        while sent[0] < 1 << 30:
            sent[0] += 1 << 20
            yield b"." * (1 << 20)

    def announced(handler: Handler) -> None:
        handler.reply(b"." * (1 << 20))

    store.put("teams/a/x.txt", b"x", announced if body == "announced" else lambda handler: handler.chunks(blocks()))
    with pytest.raises(StorageError, match=r"^challenge/teams/a/x\.txt is longer than the server listed\.$"):
        Copies(tmp_path).local(TEAM)
    assert sent[0] < 100 << 20
    assert not list(tmp_path.rglob("x.txt"))


def test_an_interrupt_ends_a_command_that_waits_for_its_store(store: LyingStore, tmp_path: Path) -> None:
    store.is_endless = True
    truth = write_ground_truth(tmp_path / "truth", cases=1)
    words = ["s3://challenge/teams", "--ground-truth", truth, "--output", tmp_path / "out", "--cache", tmp_path]
    command = [sys.executable, "-m", "podium", "batch", *map(str, words)]
    run = subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, text=True)
    while len(store.asked) < 5:
        assert run.poll() is None
        time.sleep(0.1)
    run.send_signal(signal.SIGINT)
    _, said = run.communicate(timeout=20)
    assert (run.returncode, said) == (130, "Stopped on request.\n")
