"""The database: what it refuses whoever asks, and what it says when it cannot work."""

import contextlib
import multiprocessing
import os
import re
import resource
import shutil
import sqlite3
import stat
import tempfile
import threading
import unicodedata
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tools.arena.arena_folders import make_arena, open_arena, rater_id, vote

from podium.errors import OrganiserError, UsageError
from podium.tools.arena import store as store_module
from podium.tools.arena import voting
from podium.tools.arena.settings import ArenaSettings
from podium.tools.arena.setup import blind_report, cut_report, mixed_script_words
from podium.tools.arena.store import OpenArena, Store, clean_name, clean_text, read_ballots

NOBODY = 65534
SIXTY = {"cases": [f"c{n}" for n in range(99)], "settings": ArenaSettings(matchups_per_rater=60)}


@pytest.fixture
def voted(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    """A plain connection, without any of our settings, to an arena with three votes; the third was undone."""
    with open_arena(tmp_path) as (opened, anna):
        voting.undo(opened.store, anna, matchup=vote(opened, anna, "left", "left", "left")[-1])
    with contextlib.closing(sqlite3.connect(tmp_path / "arena.sqlite")) as connection:
        yield connection


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """That of an arena with two raters."""
    make_arena(tmp_path, raters=("Anna", "Ben"))
    with contextlib.closing(Store(tmp_path)) as store:
        yield store


VOTE = "INTO votes (id, rater, matchup, answer, comment, cast_at, reasons) VALUES"


@pytest.mark.parametrize(
    ("statement", "refusal"),
    [
        ("UPDATE votes SET answer = 'right'", "votes are only ever added"),
        ("DELETE FROM votes", "votes are only ever added"),
        (f"INSERT {VOTE} (NULL, 1, 1, 'right', '', 0, '[]')", "a vote is cast once"),
        (f"INSERT OR REPLACE {VOTE} (NULL, 1, 1, 'right', '', 0, '[]')", "a vote is cast once"),
        (f"INSERT OR REPLACE {VOTE} (1, 1, 9, 'right', '', 0, '[]')", "a vote is cast once"),
        (f"INSERT OR IGNORE {VOTE} (NULL, 1, 1, 'right', '', 0, '[]')", "a vote is cast once"),
        (f"INSERT {VOTE} (NULL, 1, 9, 'both', '', 0, '[]')", "CHECK constraint failed"),
        (f"INSERT {VOTE} (NULL, 1, 9, NULL, '', 0, '[]')", "NOT NULL constraint failed"),
        (
            f"INSERT {VOTE} (NULL, 'one', 9, 'left', '', 0, '[]')",
            "cannot store TEXT value in INTEGER column votes.rater",
        ),
        ("UPDATE undos SET vote = 1", "undos are only ever added"),
        ("DELETE FROM undos", "undos are only ever added"),
        ("INSERT INTO undos VALUES (3, 0)", "a vote is undone once"),
        ("INSERT OR REPLACE INTO undos VALUES (3, 0)", "a vote is undone once"),
        ('UPDATE matchups SET "left" = "right", "right" = "left"', "a matchup does not change"),
        ("DELETE FROM matchups WHERE id = 1", "an answered matchup stays"),
        ("UPDATE reports SET text = ''", "a report does not change"),
        (
            'INSERT INTO matchups (key, rater, position, "case", "left", "right", replaces) '
            "VALUES ('k', 1, 3, 0, 0, 1, 3)",
            "UNIQUE constraint failed: matchups.replaces",
        ),
        (
            'INSERT INTO matchups (key, rater, position, "case", "left", "right") VALUES (\'k\', 1, 3, 0, 0, 1)',
            "UNIQUE constraint failed: matchups.rater, matchups.position",
        ),
    ],
)
def test_raw_sql_cannot_change_what_was_voted(voted: sqlite3.Connection, statement: str, refusal: str) -> None:
    before = list(voted.iterdump())
    with pytest.raises(sqlite3.IntegrityError, match=refusal):
        voted.execute(statement)
    voted.rollback()
    assert list(voted.iterdump()) == before


def test_one_vote_a_matchup_also_without_the_trigger(voted: sqlite3.Connection) -> None:
    voted.execute("DROP TRIGGER votes_stay_single")
    with pytest.raises(sqlite3.IntegrityError, match=r"UNIQUE constraint failed: votes.rater, votes.matchup"):
        voted.execute(f"INSERT {VOTE} (NULL, 1, 1, 'right', '', 0, '[]')")


def test_a_vote_on_another_raters_matchup_is_refused_by_the_database_too(store: Store) -> None:
    with pytest.raises(sqlite3.IntegrityError, match="FOREIGN KEY constraint"), store.writing() as connection:
        connection.execute(f"INSERT {VOTE} (NULL, 2, 1, 'left', '', 0, '[]')")
    assert store.rows("SELECT * FROM votes") == []


def test_the_database_is_set_up_to_keep_what_it_acknowledged(store: Store) -> None:
    with store.writing() as connection:
        found = {name: connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("journal_mode", "synchronous")}
        modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in store.folder.glob("arena.sqlite*")}
    assert found == {"journal_mode": "wal", "synchronous": 2}  # 2 is FULL
    assert modes == dict.fromkeys(("arena.sqlite", "arena.sqlite-wal", "arena.sqlite-shm"), 0o600)
    with pytest.raises(OrganiserError, match="is read-only"):
        store.rows("INSERT INTO notes (text) VALUES ('readers do not write')")


def test_a_block_that_raises_leaves_nothing_and_lets_the_next_one_write(store: Store) -> None:
    with pytest.raises(sqlite3.IntegrityError, match="NOT NULL"), store.writing() as connection:
        connection.executemany("INSERT INTO notes (text) VALUES (?)", [("half",), (None,)])
    with store.writing() as connection:
        connection.execute("INSERT INTO notes (text) VALUES ('whole')")
    assert store.rows("SELECT text FROM notes") == [("whole",)]


def test_a_folder_that_is_no_arena(tmp_path: Path) -> None:
    sentence = f"{tmp_path} is not an arena: it has no arena.sqlite. Create one with 'podium arena init'."
    with pytest.raises(UsageError, match=f"^{re.escape(sentence)}$"):
        Store(tmp_path)


@pytest.mark.parametrize("mark", ["user_version = 1", "application_id = 7"])
def test_an_arena_of_another_version(tmp_path: Path, mark: str) -> None:
    make_arena(tmp_path)
    with contextlib.closing(sqlite3.connect(tmp_path / "arena.sqlite")) as database:
        database.execute(f"PRAGMA {mark}")
    sentence = r"arena\.sqlite was created by another version of Podium and can only be used with that version\.$"
    with pytest.raises(UsageError, match=sentence):
        Store(tmp_path)


def test_a_damaged_database(tmp_path: Path) -> None:
    (tmp_path / "arena.sqlite").write_bytes(b"this was a database once" * 100)
    with pytest.raises(OrganiserError, match=r"^The arena's database is damaged\.$"):
        Store(tmp_path)


def cast_until_refused(opened: OpenArena, rater: int) -> tuple[int, str]:
    """How many votes were acknowledged, and what stopped them."""
    done = 0
    while (matchup := voting.next_matchup(opened, rater)) is not None:
        try:
            cast = voting.cast(opened.store, rater, matchup=matchup.key, answer="both-good", comment="x" * 2000)
            assert cast == "cast"
        except OrganiserError as error:
            return done, str(error)
        done += 1
    return done, ""


def test_a_full_disk_refuses_votes_and_loses_none(tmp_path: Path) -> None:
    with open_arena(tmp_path, **SIXTY) as (opened, anna):
        with opened.store.writing() as connection:
            pages = connection.execute("PRAGMA page_count").fetchone()[0]
        set_limit = opened.store._writer.execute  # SQLite answers this limit as it does a full disk
        set_limit(f"PRAGMA max_page_count = {pages + 5}")
        done, sentence = cast_until_refused(opened, anna)
        assert sentence == "The arena's database cannot grow: the disk is full."
        assert 0 < done < 60
        assert len(read_ballots(opened.store)) == done == voting.progress(opened.store, anna).done
        set_limit("PRAGMA max_page_count = 100000")
        assert cast_until_refused(opened, anna) == (60 - done, "")
        assert len(read_ballots(opened.store)) == 60


def in_a_process(work: Callable[[], object]) -> object:
    """What `work` gives in a forked process, whose limits and user may be lowered for good."""
    ours, theirs = multiprocessing.Pipe()

    def run() -> None:
        try:
            theirs.send(work())
        except BaseException as error:
            theirs.send(repr(error))

    process = multiprocessing.get_context("fork").Process(target=run)
    process.start()
    theirs.close()  # so that a process that dies without an answer is noticed
    found = ours.recv()
    ours.close()
    process.join()
    return found


def test_a_disk_that_fails_refuses_votes_and_loses_none(tmp_path: Path) -> None:
    made = make_arena(tmp_path, **SIXTY)

    def vote_on() -> object:
        opened = OpenArena(tmp_path)
        anna = rater_id(opened, made.tokens["Anna"])
        wal = (tmp_path / "arena.sqlite-wal").stat().st_size
        resource.setrlimit(resource.RLIMIT_FSIZE, (wal + 200_000, resource.RLIM_INFINITY))
        return cast_until_refused(opened, anna)

    found = in_a_process(vote_on)
    assert isinstance(found, tuple), found
    done, sentence = found
    assert sentence == "The arena's database cannot be read or written: the disk reports an error."
    assert 0 < done < 60
    with contextlib.closing(OpenArena(tmp_path)) as opened:
        assert len(read_ballots(opened.store)) == done
        assert cast_until_refused(opened, rater_id(opened, made.tokens["Anna"])) == (60 - done, "")


def test_a_locked_database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store_module, "_PATIENCE_SECONDS", 0.2)
    with open_arena(tmp_path) as (opened, anna):
        with contextlib.closing(sqlite3.connect(tmp_path / "arena.sqlite", isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            done, sentence = cast_until_refused(opened, anna)
            assert voting.progress(opened.store, anna).done == 0  # readers wait for nobody
            other.execute("ROLLBACK")
        assert (done, sentence) == (
            0,
            "The arena's database is locked: another program has been writing to it for too long.",
        )
        assert cast_until_refused(opened, anna) == (10, "")


@pytest.mark.parametrize(
    ("rights", "sentence"),
    [
        (0, "The arena's database cannot be opened by this user."),
        (4, "The arena's database is read-only for this user."),
    ],
)
def test_a_database_of_somebody_else(rights: int, sentence: str) -> None:
    folder = Path(tempfile.mkdtemp(prefix="podium-arena-"))  # not tmp_path: its parents are closed to others
    try:
        make_arena(folder)
        folder.chmod(0o755)
        keeper = OpenArena(folder)  # as a server would, it keeps the log in place
        for path in folder.glob("arena.sqlite*"):
            path.chmod(0o600 | rights * 0o11 if os.geteuid() == 0 else rights << 6)  # root may do anything: be nobody

        def invite_somebody() -> object:
            if os.geteuid() == 0:
                os.setgroups([])
                os.setuid(NOBODY)
            try:
                store = Store(folder)
                with store.writing() as connection:
                    connection.execute("INSERT INTO notes (text) VALUES ('hello')")
            except OrganiserError as error:
                return str(error)
            return "written"

        assert in_a_process(invite_somebody) == sentence
        keeper.close()
    finally:
        shutil.rmtree(folder)


def test_many_threads_share_one_arena(tmp_path: Path) -> None:
    """Twenty tabs of one rater that race for every matchup: each is answered once."""
    with open_arena(tmp_path, settings=ArenaSettings(matchups_per_rater=12)) as (opened, anna):
        outcomes: list[str] = []

        def vote_on() -> None:
            while (matchup := voting.next_matchup(opened, anna)) is not None:
                outcomes.append(voting.cast(opened.store, anna, matchup=matchup.key, answer="left", comment=""))

        threads = [threading.Thread(target=vote_on) for _ in range(20)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert outcomes.count("cast") == 12
        assert set(outcomes) <= {"cast", "already"}
        assert len(read_ballots(opened.store)) == 12


# What nobody can see is not shown: a hidden mark would let a team be recognised.


@pytest.mark.parametrize(
    ("sent", "shown"),
    [
        ("one\r\ntwo\rthree\u2028four\vfive", "one\ntwo\nthree\nfour\nfive"),
        ("tooth\t46", "tooth 46"),
        ("a\u200bb\u200dc\ufeffd\u2060e\u00adf", "abcdef"),
        ("\u202eevil\u202c \u2066word\u2069", "evil word"),
        ("bell\a null\0 escape\x1b[31m", "bell null escape[31m"),
        ("wide\u2003and\u00a0unbroken\u3000spaces", "wide and unbroken spaces"),
        ("a\ufe0fb\u034fc\u3164d\u2800e\U000e0101f", "abcdef"),
        ("tag\U000e0041\U000e0042", "tag"),
        ("private\ue000 lone\ud800", "private lone"),
        ("trailing  \n\u00a0\nlines \t", "trailing\n\nlines"),
        ("\n\n  indented\n\n", "  indented"),
        ("Zähne: 46 ≥ 2 mm – è così", "Zähne: 46 ≥ 2 mm – è così"),
        (" \n\t\n", ""),
        ("", ""),
    ],
)
def test_texts_are_cleaned(sent: str, shown: str) -> None:
    assert clean_text(sent) == shown


@given(st.text())
def test_cleaned_texts_are_clean(sent: str) -> None:
    shown = clean_text(sent)
    assert clean_text(shown) == shown
    assert not [each for each in shown if each != "\n" and unicodedata.category(each).startswith("C")]


def test_a_report_that_nobody_would_read_on_is_cut_visibly() -> None:
    assert cut_report("x" * 50_000) == "x" * 50_000
    assert cut_report("x" * 50_001) == "x" * 50_000 + "\n[The report is longer; it was cut here.]"


def test_names() -> None:
    assert clean_name(" Anna\n Rossi\u200b ") == "Anna Rossi"
    assert clean_name("Jose\u0301") == "José"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("ﬁssure at １６", "fissure at 16"),
        ("Two  spaces   here", "Two spaces here"),
        ("a" + "\u0301\u0300\u0302\u0303\u0304" * 9, "\u00e1\u0300\u0302\u0303"),
        ("e\u200b\u0301", "\u00e9"),
        ("mm²", "mm2"),
        ("مينا  سليمة", "مينا سليمة"),
        ("牙釉质", "牙釉质"),
        ("One.\n\n\nTwo.\n \n  Three.", "One.\nTwo.\nThree."),
        ("“Deep” bite — ‘mild’…", "\"Deep\" bite - 'mild'..."),
        ("• one\n▪ two\n* three\n☐ four\n-- five\n# six", "- one\n- two\n- three\n- four\n- five\n- six"),
        ("Deep bite .\n> 5 mm , mild", "Deep bite.\n> 5 mm, mild"),
    ],
)
def test_all_teams_write_in_one_typography(text: str, shown: str) -> None:
    assert blind_report(text) == shown


@given(st.text())
def test_blinding_again_changes_nothing(text: str) -> None:
    assert blind_report(blind_report(text)) == blind_report(text)


def test_look_alike_letters_are_found() -> None:
    """A Cyrillic "es" or "a" in a Latin word; a word of one alphabet, a unit and a Greek letter of its own are none."""
    text = "The \u0441aries of 20 \u03bcm, \u03b2-lactam, \u043a\u0430\u0440, c\u0430ries"
    assert mixed_script_words(text) == ["\u0441aries", "c\u0430ries"]
