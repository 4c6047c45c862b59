"""The desk from a rater's and an organiser's side."""

from pathlib import Path

import pytest
from arena.arena_folders import make_arena, rater_id

from podium.tools.arena.desk import Desk


def test_a_rater_votes_through_the_list(tmp_path: Path) -> None:
    made = make_arena(tmp_path, volumes=("A2",))
    desk = Desk(tmp_path)
    anna = rater_id(desk, made.tokens["Anna"])
    for position in range(1, 11):
        matchup = desk.current(anna)
        assert matchup is not None
        assert matchup.position == position
        assert {len(matchup.key)} == {32}
        progress = desk.progress(anna)
        assert (progress.done, progress.total) == (position - 1, 10)
        assert desk.cast(anna, matchup=matchup.key, answer="left", comment="") == "cast"
        assert desk.cast(anna, matchup=matchup.key, answer="right", comment="") == "already"
        assert desk.progress(anna).undoable == matchup.key
    assert desk.current(anna) is None
    assert [ballot.answer for ballot in desk.ballots()] == ["left"] * 10
    desk.close()


def test_only_the_last_vote_can_be_undone_and_only_once(tmp_path: Path) -> None:
    made = make_arena(tmp_path)
    desk = Desk(tmp_path)
    anna = rater_id(desk, made.tokens["Anna"])
    keys = []
    for _ in range(3):
        matchup = desk.current(anna)
        assert matchup is not None
        keys.append(matchup.key)
        desk.cast(anna, matchup=matchup.key, answer="left", comment="sure")
    assert not desk.undo(anna, matchup=keys[1])
    assert desk.undo(anna, matchup=keys[2])
    assert not desk.undo(anna, matchup=keys[2])
    assert not desk.undo(anna, matchup=keys[1])
    assert desk.progress(anna).undoable is None
    again = desk.current(anna)
    assert again is not None
    assert again.position == 3
    assert again.key != keys[2]
    assert (desk.progress(anna).done, desk.progress(anna).total) == (2, 10)
    assert [(line.done, line.total) for line in desk.raters()] == [(2, 10)]
    assert desk.cast(anna, matchup=keys[2], answer="right", comment="") == "already"
    assert desk.cast(anna, matchup=again.key, answer="right", comment="") == "cast"
    assert [ballot.answer for ballot in desk.ballots()] == ["left", "left", "right"]
    assert [line.comment for line in desk.comments()] == ["sure", "sure"]
    desk.close()


def test_pictures_are_found_by_their_own_names_alone(tmp_path: Path) -> None:
    made = make_arena(tmp_path, cases=("A1", "A2"), volumes=("A2",))
    desk = Desk(tmp_path)
    anna = rater_id(desk, made.tokens["Anna"])
    seen = {}
    while (matchup := desk.current(anna)) is not None:
        (picture,) = matchup.pictures
        seen[picture.is_volume] = picture
        desk.cast(anna, matchup=matchup.key, answer="both-good", comment="")
    plain, volume = seen[False], seen[True]
    good = [(plain, "0.png"), (volume, "0.png"), (volume, "11.png"), (volume, "11.u16.gz")]
    for picture, name in good:
        path = desk.picture_file(picture.key, name)
        assert path is not None
        assert path.is_file()
        assert desk.may_see(anna, picture.key)
    bad = ["0.u16.gz", "1.png", "00.png", "0.png\n", "../0.png", "", "-1.png", "٠.png", "0.PNG", "arena.sqlite"]
    assert [desk.picture_file(plain.key, name) for name in bad] == [None] * len(bad)
    assert desk.picture_file("0" * 32, "0.png") is None
    assert desk.picture_file("..", "0.png") is None
    assert not desk.may_see(anna, "0" * 32)
    assert not desk.may_see(rater_id(desk, made.organiser), plain.key)
    desk.close()


@pytest.mark.parametrize("kind", ["another's", "unknown"])
def test_a_matchup_of_somebody_else_is_refused(tmp_path: Path, kind: str) -> None:
    made = make_arena(tmp_path, raters=("Anna", "Ben"))
    desk = Desk(tmp_path)
    anna, ben = (rater_id(desk, made.tokens[name]) for name in ("Anna", "Ben"))
    theirs = desk.current(ben)
    assert theirs is not None
    key = theirs.key if kind == "another's" else "f" * 32
    assert desk.cast(anna, matchup=key, answer="left", comment="") == "refused"
    assert not desk.undo(anna, matchup=key)
    assert desk.ballots() == []
    desk.close()
