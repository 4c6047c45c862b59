"""Links: given out, renewed, ended; and what becomes of the lists behind them."""

import csv
import hashlib
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from tools.arena.arena_folders import make_arena, next_matchup, rater_id, vote

from podium.cli.main import main
from podium.errors import UsageError
from podium.tools.arena import voting
from podium.tools.arena.raters import find_visitor, invite, invite_organiser, open_session, revoke
from podium.tools.arena.settings import ArenaSettings
from podium.tools.arena.store import OpenArena, last_change, read_ballots, read_raters

SETTINGS = ArenaSettings(matchups_per_rater=24, practice_matchups=0, url="https://arena.example.org/")
CASES = tuple(f"c{number}" for number in range(30))


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[OpenArena]:
    make_arena(tmp_path, methods=("a", "b", "c", "d"), cases=CASES, raters=(), settings=SETTINGS)
    opened = OpenArena(tmp_path)
    yield opened
    opened.close()


def pair_counts(opened: OpenArena) -> list[int]:
    """How often every pair is planned, without what raters with a revoked link left unanswered."""
    rows = opened.store.rows(
        'SELECT min("left", "right"), max("left", "right") FROM matchups AS m JOIN raters AS r ON r.id = m.rater '
        "WHERE repeat_of IS NULL AND m.id NOT IN (SELECT replaces FROM matchups WHERE replaces IS NOT NULL) "
        "AND (revoked_at IS NULL OR EXISTS (SELECT 1 FROM votes WHERE matchup = m.id))"
    )
    counted = Counter(rows)
    return [counted[low, high] for low in range(4) for high in range(low + 1, 4)]


def test_a_link_is_random_and_only_its_hash_is_kept(opened: OpenArena) -> None:
    made = invite(opened.store, SETTINGS, " Anna  Rossi ")
    assert made.name == "Anna Rossi"
    assert re.fullmatch(r"https://arena\.example\.org/enter/[A-Za-z0-9_-]{43}", made.link)
    assert made.total == 24
    assert made.remarks == ()
    cookie = open_session(opened.store, made.token)
    assert cookie is not None
    visitor = find_visitor(opened.store, cookie)
    assert visitor is not None
    assert (visitor.name, visitor.is_organiser) == ("Anna Rossi", False)
    assert visitor.link == hashlib.sha256(made.token.encode()).hexdigest()
    opened.close()
    kept = b"".join(path.read_bytes() for path in opened.store.folder.glob("arena.sqlite*"))
    assert made.token.encode() not in kept
    assert cookie.encode() not in kept
    assert hashlib.sha256(made.token.encode()).hexdigest().encode() in kept


@pytest.mark.parametrize("token", ["", "x", "\ud800", "A" * 43, "' OR 1=1 --"])
def test_no_other_token_lets_anybody_in(opened: OpenArena, token: str) -> None:
    invite(opened.store, SETTINGS, "Anna")
    assert open_session(opened.store, token) is None
    assert find_visitor(opened.store, token) is None


def test_a_new_link_ends_the_old_one_and_its_sessions_but_no_vote(opened: OpenArena) -> None:
    first = invite(opened.store, SETTINGS, "Anna")
    cookie = open_session(opened.store, first.token)
    assert cookie is not None
    anna = rater_id(opened, first.token)
    vote(opened, anna, *["left"] * 5)
    upcoming = voting.next_matchup(opened, anna)
    second = invite(opened.store, SETTINGS, "Anna")
    assert second.remarks == ("Anna was invited before: the older link is revoked, the votes are kept.",)
    assert open_session(opened.store, first.token) is None
    assert find_visitor(opened.store, cookie) is None
    assert rater_id(opened, second.token) == anna
    assert voting.next_matchup(opened, anna) == upcoming
    assert (voting.progress(opened.store, anna).done, voting.progress(opened.store, anna).total) == (5, 24)


def test_a_list_grows_and_never_shrinks(opened: OpenArena) -> None:
    invite(opened.store, SETTINGS, "Anna")
    invite(opened.store, SETTINGS, "Ben")
    grown = invite(opened.store, SETTINGS, "Anna", matchups=60)
    assert grown.total == 60
    anna = rater_id(opened, grown.token)
    positions = []
    while (matchup := voting.next_matchup(opened, anna)) is not None:
        positions.append(matchup.position)
        voting.cast(opened.store, anna, matchup=matchup.key, answer="both-good", comment="")
    assert positions == list(range(1, 61))
    assert sum(ballot.repeat for ballot in read_ballots(opened.store)) == 3
    assert max(pair_counts(opened)) - min(pair_counts(opened)) <= 1
    same = invite(opened.store, SETTINGS, "Anna", matchups=10)
    assert same.total == 60
    assert "Anna has 60 matchups already; a list can only grow." in same.remarks
    assert invite(opened.store, SETTINGS, "Anna").total == 60


def test_more_matchups_than_there_are(opened: OpenArena) -> None:
    made = invite(opened.store, SETTINGS, "Anna", matchups=1000)
    assert made.total == 190  # six pairs on thirty cases, and ten of them (5 % of the list) repeated
    sentence = "There are only 190 matchups for one rater, so Anna gets 190, not 1000."
    assert made.remarks == (sentence,)


def test_an_ended_link_ends_everything_but_the_votes(opened: OpenArena) -> None:
    made = invite(opened.store, SETTINGS, "Anna")
    cookie = open_session(opened.store, made.token)
    assert cookie is not None
    anna = rater_id(opened, made.token)
    vote(opened, anna, *["left"] * 3)
    last = voting.progress(opened.store, anna).undoable
    assert last is not None
    upcoming = next_matchup(opened, anna)
    assert revoke(opened.store, " Anna ") == "Anna"
    assert open_session(opened.store, made.token) is None
    assert find_visitor(opened.store, cookie) is None
    assert voting.cast(opened.store, anna, matchup=upcoming.key, answer="left", comment="") == "refused"
    assert not voting.undo(opened.store, anna, matchup=last)
    assert len(read_ballots(opened.store)) == 3
    (line,) = read_raters(opened.store)
    assert (line.name, line.done, line.total, line.revoked) == ("Anna", 3, 24, True)
    with pytest.raises(UsageError, match=r"^The link of 'Anna' is already revoked\.$"):
        revoke(opened.store, "Anna")


def test_nobody_of_that_name(opened: OpenArena) -> None:
    with pytest.raises(UsageError, match=r"^There is no rater 'Anna'; nobody was invited yet\.$"):
        revoke(opened.store, "Anna")
    invite(opened.store, SETTINGS, "Ben")
    invite(opened.store, SETTINGS, "Carla")
    with pytest.raises(UsageError, match=r"^There is no rater 'Anna'; there is: Ben, Carla\.$"):
        revoke(opened.store, "Anna")
    with pytest.raises(UsageError, match="There is no rater 'Organiser'"):
        revoke(opened.store, "Organiser")


@pytest.mark.parametrize("name", ["", " \u200b\n", "x" * 101])
def test_a_rater_needs_a_name(opened: OpenArena, name: str) -> None:
    with pytest.raises(UsageError, match=r"^A rater's name must have 1 to 100 characters\.$"):
        invite(opened.store, SETTINGS, name)
    assert read_raters(opened.store) == []


def test_what_a_rater_left_goes_to_the_next_and_who_comes_back_is_planned_again(opened: OpenArena) -> None:
    anna = rater_id(opened, invite(opened.store, SETTINGS, "Anna").token)
    ben = rater_id(opened, invite(opened.store, SETTINGS, "Ben").token)
    vote(opened, anna, *["left"] * 7)
    undone = voting.progress(opened.store, anna).undoable
    assert undone is not None
    assert voting.undo(opened.store, anna, matchup=undone)
    seen = next_matchup(opened, anna)
    revoke(opened.store, "Anna")
    invite(opened.store, SETTINGS, "Carla")
    assert max(pair_counts(opened)) - min(pair_counts(opened)) <= 1
    back = invite(opened.store, SETTINGS, "Anna")
    assert back.total == 24
    assert max(pair_counts(opened)) - min(pair_counts(opened)) <= 1
    assert rater_id(opened, back.token) == anna
    first = next_matchup(opened, anna)
    assert first.key == seen.key  # it was answered and undone, so it comes first
    assert voting.skip(opened.store, anna, matchup=first.key)
    revoke(opened.store, "Anna")
    back = invite(opened.store, SETTINGS, "Anna")
    assert back.total == 24
    vote(opened, anna, *["left"] * 18)
    assert voting.next_matchup(opened, anna) is None
    mine = [ballot for ballot in read_ballots(opened.store) if ballot.rater == "Anna"]
    assert len(mine) == 24
    shown = Counter((ballot.case, *sorted((ballot.left, ballot.right))) for ballot in mine if not ballot.repeat)
    assert set(shown.values()) == {1}
    assert voting.progress(opened.store, ben).done == 0


def test_an_undone_vote_does_not_change_what_is_planned_next(tmp_path: Path) -> None:
    planned = []
    for name, undoes in (("with", True), ("without", False)):
        made = make_arena(tmp_path / name, methods=("a", "b", "c", "d"), cases=CASES, settings=SETTINGS)
        opened = OpenArena(tmp_path / name)
        anna = rater_id(opened, made.tokens["Anna"])
        for _ in range(5 if undoes else 0):
            vote(opened, anna, "left")
            assert voting.undo(opened.store, anna, matchup=voting.progress(opened.store, anna).undoable or "")
        invite(opened.store, SETTINGS, "Ben")
        question = 'SELECT "case", "left", "right" FROM matchups JOIN raters ON raters.id = rater WHERE name = \'Ben\''
        planned.append(opened.store.rows(question))
        opened.close()
    assert planned[0] == planned[1]
    assert len(planned[0]) == 24


def test_the_organiser_has_one_link_and_may_share_a_name_with_a_rater(opened: OpenArena) -> None:
    first = invite_organiser(opened.store, SETTINGS)
    second = invite_organiser(opened.store, SETTINGS)
    rater = invite(opened.store, SETTINGS, "Organiser")
    assert open_session(opened.store, first.token) is None
    found = [
        find_visitor(opened.store, open_session(opened.store, token) or "") for token in (second.token, rater.token)
    ]
    assert [visitor and visitor.is_organiser for visitor in found] == [True, False]
    assert [line.name for line in read_raters(opened.store)] == ["Organiser"]


def test_every_change_is_noticed(opened: OpenArena) -> None:
    seen = [last_change(opened.store)]
    anna = rater_id(opened, invite(opened.store, SETTINGS, "Anna").token)
    for change in (
        lambda: None,  # the invitation
        lambda: vote(opened, anna, "left"),
        lambda: voting.undo(opened.store, anna, matchup=voting.progress(opened.store, anna).undoable or ""),
        lambda: invite(opened.store, SETTINGS, "Anna"),
        lambda: revoke(opened.store, "Anna"),
    ):
        change()
        seen.append(last_change(opened.store))
    assert seen == sorted(set(seen))
    voting.next_matchup(opened, anna)
    assert last_change(opened.store) == seen[-1]


# Many invitations from a CSV file.


def invite_list(tmp_path: Path, text: str, *more: str) -> int:
    raters = tmp_path / "raters.csv"
    raters.write_text(text, encoding="utf-8")
    return main(["arena", "invite", "--from", str(raters), *more, str(tmp_path / "arena")])


@pytest.fixture
def arena(tmp_path: Path) -> Path:
    return make_arena(tmp_path / "arena", raters=()).folder


@pytest.mark.usefixtures("arena")
def test_links_with_names(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert invite_list(tmp_path, "\ufeffname,e-mail,language\nDr Rossi,r@x.example,it\n\n  Anna  Bø ,,\n") == 0
    rows = list(csv.DictReader(capfd.readouterr().out.splitlines()))
    people = [(row["name"], row["e-mail"], row["language"]) for row in rows]
    assert people == [("Dr Rossi", "r@x.example", "it"), ("Anna Bø", "", "")]
    assert all(row["link"].startswith("http://localhost:8000/enter/") for row in rows)


@pytest.mark.usefixtures("arena")
def test_the_file_of_links_is_the_owners(tmp_path: Path) -> None:
    links = tmp_path / "links.csv"
    assert invite_list(tmp_path, "name;language\nRossi;it\n", "--output", str(links)) == 0
    assert links.stat().st_mode & 0o777 == 0o600
    assert links.read_text().startswith("name,e-mail,language,link\nRossi,,it,http")


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "the first line must name the columns: name, e-mail, language."),
        ("who\nRossi\n", "the first line must name the columns: name, e-mail, language."),
        ("name\n", "lists no raters."),
        ("name,language\nRossi,it\nBianchi,xx\n", "line 3: the language must be one of en, it, de, fr, es, zh."),
        ("name,language\nRossi\n", "line 2: 1 fields instead of 2."),
        ("name\nRossi\nRossi \n", "line 3: 'Rossi' is listed twice."),
        ("name,language\n,it\n", "A rater's name must have 1 to 100 characters."),
    ],
)
def test_one_wrong_line_and_nobody_is_invited(
    text: str, sentence: str, arena: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert invite_list(tmp_path, text) == 2
    assert capfd.readouterr().err.splitlines()[-1].endswith(sentence)
    assert main(["arena", "revoke", str(arena), "Rossi"]) == 2
    assert "nobody was invited yet" in capfd.readouterr().err
