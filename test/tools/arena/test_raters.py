"""Links: given out, renewed, ended; and what becomes of the lists behind them."""

import csv
import hashlib
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from tools.arena.arena_folders import make_arena, rater_id

from podium.cli.main import main
from podium.errors import UsageError
from podium.tools.arena.desk import Desk
from podium.tools.arena.raters import invite, invite_organiser, revoke
from podium.tools.arena.settings import ArenaSettings

SETTINGS = ArenaSettings(matchups_per_rater=24, practice_matchups=0, url="https://arena.example.org/")
CASES = tuple(f"c{number}" for number in range(30))


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    make_arena(tmp_path, methods=("a", "b", "c", "d"), cases=CASES, raters=(), settings=SETTINGS)
    desk = Desk(tmp_path)
    yield desk
    desk.close()


def vote(desk: Desk, rater: int, count: int) -> None:
    for _ in range(count):
        matchup = desk.current(rater)
        assert matchup is not None
        assert desk.cast(rater, matchup=matchup.key, answer="left", comment="") == "cast"


def pair_counts(desk: Desk) -> list[int]:
    """How often every pair is planned, without what raters with a revoked link left unanswered."""
    rows = desk.store.rows(
        'SELECT min("left", "right"), max("left", "right") FROM matchups AS m JOIN raters AS r ON r.id = m.rater '
        "WHERE repeat_of IS NULL AND m.id NOT IN (SELECT replaces FROM matchups WHERE replaces IS NOT NULL) "
        "AND (revoked_at IS NULL OR EXISTS (SELECT 1 FROM votes WHERE matchup = m.id))"
    )
    counted = Counter(rows)
    return [counted[low, high] for low in range(4) for high in range(low + 1, 4)]


def test_a_link_is_random_and_only_its_hash_is_kept(desk: Desk) -> None:
    made = invite(desk.store, SETTINGS, " Anna  Rossi ")
    assert made.name == "Anna Rossi"
    assert re.fullmatch(r"https://arena\.example\.org/enter/[A-Za-z0-9_-]{43}", made.link)
    assert made.total == 24
    assert made.remarks == ()
    cookie = desk.enter(made.token)
    assert cookie is not None
    visitor = desk.visitor(cookie)
    assert visitor is not None
    assert (visitor.name, visitor.is_organiser) == ("Anna Rossi", False)
    assert visitor.link == hashlib.sha256(made.token.encode()).hexdigest()
    desk.close()
    kept = b"".join(path.read_bytes() for path in desk.store.folder.glob("arena.sqlite*"))
    assert made.token.encode() not in kept
    assert cookie.encode() not in kept
    assert hashlib.sha256(made.token.encode()).hexdigest().encode() in kept


@pytest.mark.parametrize("token", ["", "x", "\ud800", "A" * 43, "' OR 1=1 --"])
def test_no_other_token_lets_anybody_in(desk: Desk, token: str) -> None:
    invite(desk.store, SETTINGS, "Anna")
    assert desk.enter(token) is None
    assert desk.visitor(token) is None


def test_a_new_link_ends_the_old_one_and_its_sessions_but_no_vote(desk: Desk) -> None:
    first = invite(desk.store, SETTINGS, "Anna")
    cookie = desk.enter(first.token)
    assert cookie is not None
    anna = rater_id(desk, first.token)
    vote(desk, anna, 5)
    upcoming = desk.current(anna)
    second = invite(desk.store, SETTINGS, "Anna")
    assert second.remarks == ("Anna was invited before: the older link is revoked, the votes are kept.",)
    assert desk.enter(first.token) is None
    assert desk.visitor(cookie) is None
    assert rater_id(desk, second.token) == anna
    assert desk.current(anna) == upcoming
    assert (desk.progress(anna).done, desk.progress(anna).total) == (5, 24)


def test_a_list_grows_and_never_shrinks(desk: Desk) -> None:
    invite(desk.store, SETTINGS, "Anna")
    invite(desk.store, SETTINGS, "Ben")
    grown = invite(desk.store, SETTINGS, "Anna", matchups=60)
    assert grown.total == 60
    anna = rater_id(desk, grown.token)
    positions = []
    while (matchup := desk.current(anna)) is not None:
        positions.append(matchup.position)
        desk.cast(anna, matchup=matchup.key, answer="both-good", comment="")
    assert positions == list(range(1, 61))
    assert sum(ballot.repeat for ballot in desk.ballots()) == 3
    assert max(pair_counts(desk)) - min(pair_counts(desk)) <= 1
    same = invite(desk.store, SETTINGS, "Anna", matchups=10)
    assert same.total == 60
    assert "Anna has 60 matchups already; a list can only grow." in same.remarks
    assert invite(desk.store, SETTINGS, "Anna").total == 60


def test_more_matchups_than_there_are(desk: Desk) -> None:
    made = invite(desk.store, SETTINGS, "Anna", matchups=1000)
    assert made.total == 190  # six pairs on thirty cases, and ten of them (5 % of the list) repeated
    sentence = "There are only 190 matchups for one rater, so Anna gets 190, not 1000."
    assert made.remarks == (sentence,)


def test_an_ended_link_ends_everything_but_the_votes(desk: Desk) -> None:
    made = invite(desk.store, SETTINGS, "Anna")
    cookie = desk.enter(made.token)
    assert cookie is not None
    anna = rater_id(desk, made.token)
    vote(desk, anna, 3)
    last = desk.progress(anna).undoable
    assert last is not None
    upcoming = desk.current(anna)
    assert upcoming is not None
    assert revoke(desk.store, " Anna ") == "Anna"
    assert desk.enter(made.token) is None
    assert desk.visitor(cookie) is None
    assert desk.cast(anna, matchup=upcoming.key, answer="left", comment="") == "refused"
    assert not desk.undo(anna, matchup=last)
    assert len(desk.ballots()) == 3
    (line,) = desk.raters()
    assert (line.name, line.done, line.total, line.revoked) == ("Anna", 3, 24, True)
    with pytest.raises(UsageError, match=r"^The link of 'Anna' is already revoked\.$"):
        revoke(desk.store, "Anna")


def test_nobody_of_that_name(desk: Desk) -> None:
    with pytest.raises(UsageError, match=r"^There is no rater 'Anna'; nobody was invited yet\.$"):
        revoke(desk.store, "Anna")
    invite(desk.store, SETTINGS, "Ben")
    invite(desk.store, SETTINGS, "Carla")
    with pytest.raises(UsageError, match=r"^There is no rater 'Anna'; there is: Ben, Carla\.$"):
        revoke(desk.store, "Anna")
    with pytest.raises(UsageError, match="There is no rater 'Organiser'"):
        revoke(desk.store, "Organiser")


@pytest.mark.parametrize("name", ["", " \u200b\n", "x" * 101])
def test_a_rater_needs_a_name(desk: Desk, name: str) -> None:
    with pytest.raises(UsageError, match=r"^A rater's name has 1 to 100 characters\.$"):
        invite(desk.store, SETTINGS, name)
    assert desk.raters() == []


def test_what_a_rater_left_goes_to_the_next_and_who_comes_back_is_planned_again(desk: Desk) -> None:
    anna = rater_id(desk, invite(desk.store, SETTINGS, "Anna").token)
    ben = rater_id(desk, invite(desk.store, SETTINGS, "Ben").token)
    vote(desk, anna, 7)
    undone = desk.progress(anna).undoable
    assert undone is not None
    assert desk.undo(anna, matchup=undone)
    seen = desk.current(anna)
    assert seen is not None
    revoke(desk.store, "Anna")
    invite(desk.store, SETTINGS, "Carla")
    assert max(pair_counts(desk)) - min(pair_counts(desk)) <= 1
    back = invite(desk.store, SETTINGS, "Anna")
    assert back.total == 24
    assert max(pair_counts(desk)) - min(pair_counts(desk)) <= 1
    assert rater_id(desk, back.token) == anna
    assert desk.current(anna) == seen  # it was answered and undone, so it comes first
    vote(desk, anna, 18)
    assert desk.current(anna) is None
    mine = [ballot for ballot in desk.ballots() if ballot.rater == "Anna"]
    assert len(mine) == 24
    shown = Counter((ballot.case, *sorted((ballot.left, ballot.right))) for ballot in mine if not ballot.repeat)
    assert set(shown.values()) == {1}
    assert desk.progress(ben).done == 0


def test_an_undone_vote_does_not_change_what_is_planned_next(tmp_path: Path) -> None:
    planned = []
    for name, undoes in (("with", True), ("without", False)):
        made = make_arena(tmp_path / name, methods=("a", "b", "c", "d"), cases=CASES, settings=SETTINGS)
        desk = Desk(tmp_path / name)
        anna = rater_id(desk, made.tokens["Anna"])
        for _ in range(5 if undoes else 0):
            vote(desk, anna, 1)
            assert desk.undo(anna, matchup=desk.progress(anna).undoable or "")
        invite(desk.store, SETTINGS, "Ben")
        question = 'SELECT "case", "left", "right" FROM matchups JOIN raters ON raters.id = rater WHERE name = \'Ben\''
        planned.append(desk.store.rows(question))
        desk.close()
    assert planned[0] == planned[1]
    assert len(planned[0]) == 24


def test_the_organiser_has_one_link_and_may_share_a_name_with_a_rater(desk: Desk) -> None:
    first = invite_organiser(desk.store, SETTINGS)
    second = invite_organiser(desk.store, SETTINGS)
    rater = invite(desk.store, SETTINGS, "Organiser")
    assert desk.enter(first.token) is None
    found = [desk.visitor(desk.enter(token) or "") for token in (second.token, rater.token)]
    assert [visitor and visitor.is_organiser for visitor in found] == [True, False]
    assert [line.name for line in desk.raters()] == ["Organiser"]


def test_every_change_is_noticed(desk: Desk) -> None:
    seen = [desk.last_change()]

    def note() -> None:
        seen.append(desk.last_change())

    anna = rater_id(desk, invite(desk.store, SETTINGS, "Anna").token)
    note()
    vote(desk, anna, 1)
    note()
    desk.undo(anna, matchup=desk.progress(anna).undoable or "")
    note()
    invite(desk.store, SETTINGS, "Anna")
    note()
    revoke(desk.store, "Anna")
    note()
    assert seen == sorted(set(seen))
    desk.current(anna)
    assert desk.last_change() == seen[-1]


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
    assert [(row["name"], row["e-mail"], row["language"]) for row in rows] == [
        ("Dr Rossi", "r@x.example", "it"),
        ("Anna Bø", "", ""),
    ]
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
        ("name\n", "lists nobody."),
        ("name,language\nRossi,it\nBianchi,xx\n", "line 3: the language is one of en, it, de, fr, es, zh."),
        ("name,language\nRossi\n", "line 2: 1 fields instead of 2."),
        ("name\nRossi\nRossi \n", "line 3: 'Rossi' is listed twice."),
        ("name,language\n,it\n", "A rater's name has 1 to 100 characters."),
    ],
)
def test_one_wrong_line_and_nobody_is_invited(
    text: str, sentence: str, arena: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert invite_list(tmp_path, text) == 2
    assert capfd.readouterr().err.splitlines()[-1].endswith(sentence)
    assert main(["arena", "revoke", str(arena), "Rossi"]) == 2
    assert "nobody was invited yet" in capfd.readouterr().err
