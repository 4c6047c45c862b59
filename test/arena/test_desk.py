"""An open arena from a rater's and an organiser's side."""

from pathlib import Path

import pytest
from arena.arena_folders import make_arena, rater_id

from podium.tools.arena import voting
from podium.tools.arena.store import OpenArena, read_ballots, read_raters, read_votes, remarks


def test_a_rater_votes_through_the_list(tmp_path: Path) -> None:
    made = make_arena(tmp_path, volumes=("A2",))
    opened = OpenArena(tmp_path)
    anna = rater_id(opened, made.tokens["Anna"])
    for position in range(1, 11):
        matchup = voting.next_matchup(opened, anna)
        assert matchup is not None
        assert matchup.position == position
        assert {len(matchup.key)} == {32}
        progress = voting.progress(opened.store, anna)
        assert (progress.done, progress.total) == (position - 1, 10)
        assert voting.cast(opened.store, anna, matchup=matchup.key, answer="left", comment="") == "cast"
        assert voting.cast(opened.store, anna, matchup=matchup.key, answer="right", comment="") == "already"
        assert voting.progress(opened.store, anna).undoable == matchup.key
    assert voting.next_matchup(opened, anna) is None
    assert [ballot.answer for ballot in read_ballots(opened.store)] == ["left"] * 10
    opened.close()


def test_only_the_last_vote_can_be_undone_and_only_once(tmp_path: Path) -> None:
    made = make_arena(tmp_path)
    opened = OpenArena(tmp_path)
    anna = rater_id(opened, made.tokens["Anna"])
    keys = []
    for _ in range(3):
        matchup = voting.next_matchup(opened, anna)
        assert matchup is not None
        keys.append(matchup.key)
        voting.cast(opened.store, anna, matchup=matchup.key, answer="left", comment="sure")
    assert not voting.undo(opened.store, anna, matchup=keys[1])
    assert voting.undo(opened.store, anna, matchup=keys[2])
    assert not voting.undo(opened.store, anna, matchup=keys[2])
    assert not voting.undo(opened.store, anna, matchup=keys[1])
    assert voting.progress(opened.store, anna).undoable is None
    again = voting.next_matchup(opened, anna)
    assert again is not None
    assert again.position == 3
    assert again.key != keys[2]
    assert (voting.progress(opened.store, anna).done, voting.progress(opened.store, anna).total) == (2, 10)
    assert [(line.done, line.total) for line in read_raters(opened.store)] == [(2, 10)]
    assert voting.cast(opened.store, anna, matchup=keys[2], answer="right", comment="") == "already"
    assert voting.cast(opened.store, anna, matchup=again.key, answer="right", comment="") == "cast"
    assert [ballot.answer for ballot in read_ballots(opened.store)] == ["left", "left", "right"]
    assert [line.comment for line in remarks(read_votes(opened.store))] == ["sure", "sure"]
    opened.close()


def test_pictures_are_found_by_their_own_names_alone(tmp_path: Path) -> None:
    made = make_arena(tmp_path, cases=("A1", "A2"), volumes=("A2",))
    opened = OpenArena(tmp_path)
    anna = rater_id(opened, made.tokens["Anna"])
    seen = {}
    while (matchup := voting.next_matchup(opened, anna)) is not None:
        (picture,) = matchup.pictures
        seen[picture.is_volume] = picture
        voting.cast(opened.store, anna, matchup=matchup.key, answer="both-good", comment="")
    plain, volume = seen[False], seen[True]
    good = [(plain, "0.png"), (volume, "0.png"), (volume, "11.png"), (volume, "11.u16.gz")]
    for picture, name in good:
        path = opened.picture_file(picture.key, name)
        assert path is not None
        assert path.is_file()
        assert opened.may_see(anna, picture.key)
    bad = ["0.u16.gz", "1.png", "00.png", "0.png\n", "../0.png", "", "-1.png", "٠.png", "0.PNG", "arena.sqlite"]
    assert [opened.picture_file(plain.key, name) for name in bad] == [None] * len(bad)
    assert opened.picture_file("0" * 32, "0.png") is None
    assert opened.picture_file("..", "0.png") is None
    assert not opened.may_see(anna, "0" * 32)
    assert not opened.may_see(rater_id(opened, made.organiser), plain.key)
    opened.close()


@pytest.mark.parametrize("kind", ["another's", "unknown"])
def test_a_matchup_of_somebody_else_is_refused(tmp_path: Path, kind: str) -> None:
    made = make_arena(tmp_path, raters=("Anna", "Ben"))
    opened = OpenArena(tmp_path)
    anna, ben = (rater_id(opened, made.tokens[name]) for name in ("Anna", "Ben"))
    theirs = voting.next_matchup(opened, ben)
    assert theirs is not None
    key = theirs.key if kind == "another's" else "f" * 32
    assert voting.cast(opened.store, anna, matchup=key, answer="left", comment="") == "refused"
    assert not voting.undo(opened.store, anna, matchup=key)
    assert read_ballots(opened.store) == []
    opened.close()
