"""Pairing: balanced at any moment, whoever arrives when."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from properties import examples
from tools.arena.arena_folders import make_arena, next_matchup, open_arena, rater_id, vote
from tools.arena.arena_server import running, visited

from podium.errors import UsageError
from podium.tools.arena import voting
from podium.tools.arena.raters import invite
from podium.tools.arena.ratings import count_pairs, counted, online_elo
from podium.tools.arena.settings import ArenaSettings
from podium.tools.arena.store import OpenArena, close_arena, read_ballots, read_raters, read_votes
from podium.tools.arena.voting import MIN_PLACES_BETWEEN, MatchupPlanner, Planned

SHARE = 0.05


def pair(planned: Planned) -> tuple[int, int]:
    return min(planned.left, planned.right), max(planned.left, planned.right)


def fresh(lists: Iterable[Sequence[Planned]]) -> list[Planned]:
    return [each for listed in lists for each in listed if each.repeat_of is None]


def spread(counted: Counter[tuple[int, int]], methods: int) -> int:
    counts = [counted[low, high] for low in range(methods) for high in range(low + 1, methods)]
    return max(counts) - min(counts)


def plan_one_by_one(planner: MatchupPlanner, counts: Sequence[int]) -> list[list[Planned]]:
    lists: list[list[Planned]] = []
    for rater, count in enumerate(counts):
        lists.append(planner.plan(count, rater=rater, others=fresh(lists)))
    return lists


@st.composite
def arenas(draw: st.DrawFn) -> tuple[MatchupPlanner, list[int]]:
    """Several raters of different diligence, none of whom can run out of cases for a pair."""
    methods = draw(st.integers(2, 7))
    pairs = methods * (methods - 1) // 2
    counts = draw(st.lists(st.integers(1, 80), min_size=1, max_size=8))
    cases = max(counts) // pairs + 2
    planner = MatchupPlanner(
        methods=methods, cases=draw(st.integers(cases, cases + 30)), repeat_share=SHARE, seed=draw(st.integers(0, 99))
    )
    return planner, counts


@given(arenas())
@examples(50)
def test_pairs_and_sides_are_balanced_at_any_moment_and_only_repeats_come_twice(
    arena: tuple[MatchupPlanner, list[int]],
) -> None:
    planner, counts = arena
    lists = plan_one_by_one(planner, counts)
    planned = fresh(lists)
    assert [len(listed) for listed in lists] == counts
    for number in range(1, len(lists) + 1):
        assert spread(Counter(map(pair, fresh(lists[:number]))), planner.methods) <= 1
    for listed in lists:
        for end in range(len(listed)):
            assert spread(Counter(map(pair, fresh([listed[:end]]))), planner.methods) <= 2
    # The sides of every pair are balanced.
    lower_left = Counter(pair(each) for each in planned if each.left < each.right)
    for each, count in Counter(map(pair, planned)).items():
        assert abs(2 * lower_left[each] - count) <= 1
    # No matchup comes twice, but for repeats with swapped sides.
    for listed, count in zip(lists, counts, strict=True):
        shown = Counter((pair(each), each.case) for each in listed if each.repeat_of is None)
        assert set(shown.values()) <= {1}
        repeats = [(place, each) for place, each in enumerate(listed) if each.repeat_of is not None]
        for place, each in repeats:
            assert each.repeat_of is not None
            first = listed[each.repeat_of]
            assert (first.case, first.left, first.right) == (each.case, each.right, each.left)
            assert first.repeat_of is None
            assert place - each.repeat_of >= MIN_PLACES_BETWEEN
        assert len({each.repeat_of for _, each in repeats}) == len(repeats)
        assert len(repeats) == round(SHARE * count)


@pytest.mark.parametrize("share", [0.0, 0.1, 0.3, 0.49])
@pytest.mark.parametrize("count", [1, 5, 6, 7, 30])
def test_repeats_keep_their_distance_in_short_lists_and_with_large_shares(share: float, count: int) -> None:
    listed = MatchupPlanner(methods=3, cases=40, repeat_share=share, seed=1).plan(count, rater=0)
    assert len(listed) == count
    repeats = [(place, each.repeat_of) for place, each in enumerate(listed) if each.repeat_of is not None]
    assert all(first is not None and place - first >= MIN_PLACES_BETWEEN for place, first in repeats)
    assert len(repeats) <= share * count + 1
    if count <= 5:
        assert not repeats  # nothing is five places back


def test_repeats_are_spread_over_the_list() -> None:
    listed = MatchupPlanner(methods=7, cases=50, repeat_share=SHARE, seed=3).plan(60, rater=0)
    places = [place for place, each in enumerate(listed) if each.repeat_of is not None]
    assert [place // 20 for place in places] == [0, 1, 2]


def test_what_a_revoked_rater_left_is_made_up_for_by_the_next() -> None:
    planner = MatchupPlanner(methods=5, cases=30, repeat_share=SHARE, seed=4)
    lists = plan_one_by_one(planner, [40, 40, 40])
    lists[1] = lists[1][:7]  # the rest no longer counts
    assert spread(Counter(map(pair, fresh(lists))), 5) <= 2
    lists.append(planner.plan(40, rater=3, others=fresh(lists)))
    assert spread(Counter(map(pair, fresh(lists))), 5) <= 1


def test_a_list_that_grows_stays_balanced_and_repeats_nothing() -> None:
    planner = MatchupPlanner(methods=4, cases=30, repeat_share=SHARE, seed=4)
    first = planner.plan(40, rater=0)
    other = planner.plan(25, rater=1, others=fresh([first]))
    grown = first + planner.plan(40, rater=0, mine=first, others=fresh([other]))
    assert len(grown) == 80
    assert spread(Counter(map(pair, fresh([grown, other]))), 4) <= 1
    assert set(Counter((pair(each), each.case) for each in fresh([grown])).values()) == {1}
    assert sum(each.repeat_of is not None for each in grown) == 4


def test_the_seed_and_the_order_of_invitations_decide_and_nothing_else() -> None:
    def lists(seed: int) -> list[list[Planned]]:
        return plan_one_by_one(MatchupPlanner(methods=6, cases=20, repeat_share=SHARE, seed=seed), [30, 40])

    assert lists(1) == lists(1)
    assert lists(1) != lists(2)
    assert lists(1)[0] != lists(1)[1][:30]


def test_a_list_ends_where_the_matchups_do() -> None:
    listed = MatchupPlanner(methods=3, cases=10, repeat_share=SHARE, seed=0).plan(10**9, rater=0)
    assert len(fresh([listed])) == 30
    assert len(set(map(pair, listed))) == 3
    assert len(listed) - 30 == round(SHARE * len(listed)) == 2
    assert MatchupPlanner(methods=3, cases=10, repeat_share=SHARE, seed=0).plan(5, rater=0, mine=listed) == []


def test_no_matchup_is_planned_again_while_another_was_never_planned() -> None:
    lists = plan_one_by_one(MatchupPlanner(methods=3, cases=12, repeat_share=SHARE, seed=0), [12, 12, 12])
    matchups = Counter((pair(each), each.case) for each in fresh(lists))
    assert max(matchups.values()) == 1


def test_cases_are_shared_out_evenly_over_all_and_to_each() -> None:
    def unevenness(planned: Iterable[Planned]) -> int:
        counts = Counter(each.case for each in planned)
        return max(counts.values()) - min(counts[case] for case in range(12))

    of_each = []
    for seed in range(10):
        lists = plan_one_by_one(MatchupPlanner(methods=4, cases=12, repeat_share=SHARE, seed=seed), [7, 20, 13, 20])
        assert unevenness(fresh(lists)) <= 1
        of_each.append(max(unevenness(fresh([listed])) for listed in lists))
    assert max(of_each) <= 2  # pairs and all cases come first, so that it cannot always be 1
    assert of_each.count(1) >= 8


def test_a_coin_decides_the_side_of_a_pairs_first_showing() -> None:
    listed = MatchupPlanner(methods=7, cases=10, repeat_share=0.0, seed=0).plan(21, rater=0)
    assert len(set(map(pair, listed))) == 21
    assert 5 <= sum(each.left < each.right for each in listed) <= 16


# Five answers, reasons, practice, the end: what counts, and what is kept.


def test_both_are_ties_and_cannot_judge_counts_nowhere(tmp_path: Path) -> None:
    with open_arena(tmp_path) as (opened, rater):
        vote(opened, rater, "both-good", "both-bad", "cannot-judge")
        ballots = read_ballots(opened.store)
        assert len(ballots) == 3
        assert len(counted(ballots)) == 2
        assert count_pairs(ballots, opened.methods).ties.sum() == 4
        assert set(online_elo(ballots, opened.methods, k_factor=4).values()) == {1000.0}


def test_answer_reasons_and_comment_come_back_with_an_undone_vote(tmp_path: Path) -> None:
    with visited(tmp_path) as guest:
        first = guest.page()
        assert 'aria-pressed="true"' not in first
        given = {"answer": "both-bad", "comment": "Both <b>miss</b> it.", "reason1": "missed finding"}
        assert guest.client.post("/vote", data={**guest.form("/vote", first), **given}).status_code == 303
        assert guest.undo().headers["location"] == "/?notice=undone"
        page = guest.page()
        assert re.findall(r'value="([\w-]+)"[^>]* aria-pressed="true"', page) == ["both-bad"]
        assert "Both &lt;b&gt;miss&lt;/b&gt; it.</textarea>" in page
        assert 'value="missed finding" checked>' in page
        assert page.count(" checked>") == 1
    with closing(OpenArena(tmp_path)) as opened:
        ((vote,), standing) = read_votes(opened.store), read_ballots(opened.store)
        assert (vote.reasons, vote.is_undone, standing) == (("missed finding",), True, [])


def test_a_reason_that_the_organiser_did_not_define_is_refused(tmp_path: Path) -> None:
    with visited(tmp_path) as guest:
        refused = guest.client.post("/vote", data={**guest.form("/vote"), "answer": "left", "reason1": "ugly"})
        assert refused.status_code == 400
        assert "There is no such reason. Nothing was saved." in refused.text
    with closing(OpenArena(tmp_path)) as opened:
        assert read_votes(opened.store) == []


class TestPractice:
    def test_it_comes_first_and_counts_nowhere(self, tmp_path: Path) -> None:
        made = make_arena(tmp_path, practice=3, raters=("Anna",), cases=("A1", "A2", "A3", "A4", "A5"))
        with running(made) as server:
            guest = server.rater()
            welcome = guest.page(f"/enter/{made.tokens['Anna']}")
            assert "Practice comes first: 3 comparisons that do not count." in welcome
            for number in (1, 2, 3):
                page = guest.page()
                assert f"Practice {number} of 3: this answer does not count." in page
                assert "<span>0 of 10</span>" in page
                assert guest.vote("left", page=page).status_code == 303
            page = guest.page()
            assert "Practice" not in page
            guest.vote("right", page=page)
        with closing(OpenArena(tmp_path)) as opened:
            assert [ballot.answer for ballot in read_ballots(opened.store)] == ["right"]
            assert [vote.is_practice for vote in read_votes(opened.store)] == [True] * 3 + [False]
            (line,) = read_raters(opened.store)
            assert (line.done, line.total) == (1, 10)

    def test_no_matchup_of_the_list_is_practised_and_none_is_planned_later(self, tmp_path: Path) -> None:
        make_arena(tmp_path, practice=3, raters=("Anna",), cases=("A1", "A2", "A3", "A4", "A5"))
        with closing(OpenArena(tmp_path)) as opened:
            invite(opened.store, opened.settings, "Anna", matchups=15)
            rows = opened.store.rows(
                'SELECT min("left", "right"), max("left", "right"), "case", position < 0 FROM matchups '
                "WHERE repeat_of IS NULL"
            )
        practised = {row[:3] for row in rows if row[3]}
        assert len(practised) == 3
        assert practised.isdisjoint(row[:3] for row in rows if not row[3])
        assert len(rows) == 15  # 3 pairs x 5 cases: the list has what practice left over

    def test_no_report_of_it_is_empty(self, tmp_path: Path) -> None:
        cases = [f"A{number}" for number in range(9)]
        texts = {
            method: {case: "" if (place + number) % 3 == 0 else "Sound." for place, case in enumerate(cases)}
            for number, method in enumerate(("alpha", "beta", "gamma"))
        }
        made = make_arena(tmp_path, practice=5, raters=[f"R{n}" for n in range(6)], cases=cases, reports=texts)
        with running(made) as server:
            for name in made.tokens:
                guest = server.rater(name)
                while "Practice" in (page := guest.page()):
                    assert "This report is empty." not in page
                    guest.vote("left", page=page)

    def test_where_the_list_takes_everything_there_is_none(self, tmp_path: Path) -> None:
        make_arena(tmp_path, practice=3, raters=("Anna",), methods=("alpha", "beta"))
        with closing(OpenArena(tmp_path)) as opened:
            assert opened.store.rows("SELECT count(*) FROM matchups WHERE position < 0") == [(0,)]


class TestClosed:
    def test_nothing_counts_after_it(self, tmp_path: Path) -> None:
        made = make_arena(tmp_path)
        with running(made) as server:
            guest = server.rater()
            guest.vote("left")
            page = guest.page()
            with closing(OpenArena(tmp_path)) as opened:
                close_arena(opened.store)
            assert guest.vote("right", page=page).status_code == 303
            assert guest.undo(page=page).headers["location"] == "/?notice=kept"
            shown = guest.page()
            assert "The comparison is closed" in shown
            assert "1 of your answers are saved" in shown
            assert "<form" not in shown
            assert guest.page(f"/enter/{made.tokens['Anna']}") == shown  # the link promises nothing to do
        with closing(OpenArena(tmp_path)) as opened:
            assert [ballot.answer for ballot in read_ballots(opened.store)] == ["left"]
            with pytest.raises(UsageError, match=r"The arena is closed: nobody else can be invited."):
                invite(opened.store, opened.settings, "Ben")
            with pytest.raises(UsageError, match="already closed"):
                close_arena(opened.store)

    @pytest.mark.parametrize(
        "statement",
        [
            "INSERT INTO votes (rater, matchup, answer, reasons, comment, cast_at) VALUES (1, 1, 'left', '[]', '', 0)",
            "UPDATE arena SET closed_at = NULL",
        ],
    )
    def test_the_database_refuses_it_too(self, tmp_path: Path, statement: str) -> None:
        make_arena(tmp_path)
        with closing(OpenArena(tmp_path)) as opened:
            close_arena(opened.store)
            with pytest.raises(Exception, match="the arena is closed"), opened.store.writing() as connection:
                connection.execute(statement)


def test_the_time_that_is_left_follows_the_raters_own_pace(tmp_path: Path) -> None:
    made = make_arena(tmp_path)
    with closing(OpenArena(tmp_path)) as opened:
        rater = rater_id(opened, made.tokens["Anna"])
        assert voting.progress(opened.store, rater).seconds_left is None
        with opened.store.writing() as connection:
            # A pause of two hours is a break. 20, 40 and 60 seconds: 40 at the median, for the 5 that are left.
            for number, moment in enumerate((0, 20, 60, 7260, 7320), start=1):
                connection.execute(
                    "INSERT INTO votes (rater, matchup, answer, reasons, comment, cast_at) "
                    "VALUES (?, ?, 'left', '[]', '', ?)",
                    (rater, number, moment),
                )
        assert voting.progress(opened.store, rater).seconds_left == 200
    with running(made) as server:
        assert "about 3 min left" in server.rater().page()


def test_a_clock_that_is_set_back_leaves_no_negative_time(tmp_path: Path) -> None:
    made = make_arena(tmp_path)
    with closing(OpenArena(tmp_path)) as opened:
        rater = rater_id(opened, made.tokens["Anna"])
        with opened.store.writing() as connection:
            for number, moment in enumerate((3600, 10, 8, 6, 4), start=1):
                connection.execute(
                    "INSERT INTO votes (rater, matchup, answer, reasons, comment, cast_at) "
                    "VALUES (?, ?, 'left', '[]', '', ?)",
                    (rater, number, moment),
                )
        assert voting.progress(opened.store, rater).seconds_left is None


# Undoing, skipping, and what a rater sees.


def test_votes_are_undone_from_the_last_one_back_and_each_only_once(tmp_path: Path) -> None:
    with open_arena(tmp_path) as (opened, anna):
        keys = vote(opened, anna, "left", "left", "left", comment="sure" + " " * 2000 + "cut")
        assert not voting.undo(opened.store, anna, matchup=keys[1])
        assert voting.undo(opened.store, anna, matchup=keys[2])
        assert not voting.undo(opened.store, anna, matchup=keys[2])
        assert voting.progress(opened.store, anna).undoable == keys[1]
        again = next_matchup(opened, anna)
        assert (again.position, again.answer, again.comment) == (3, "left", "sure")
        assert again.key != keys[2]
        assert (voting.progress(opened.store, anna).done, voting.progress(opened.store, anna).total) == (2, 10)
        assert [(line.done, line.total) for line in read_raters(opened.store)] == [(2, 10)]
        assert voting.cast(opened.store, anna, matchup=keys[2], answer="right") == "already"
        assert voting.cast(opened.store, anna, matchup=again.key, answer="right") == "cast"
        assert [ballot.answer for ballot in read_ballots(opened.store)] == ["left", "left", "right"]
        assert [vote.comment for vote in read_votes(opened.store) if not vote.is_undone] == ["sure", "sure", ""]
        for key in (again.key, keys[1], keys[0]):  # several steps, back to the start
            assert voting.progress(opened.store, anna).undoable == key
            assert voting.undo(opened.store, anna, matchup=key)
        assert voting.progress(opened.store, anna).undoable is None
        assert read_ballots(opened.store) == []
        assert next_matchup(opened, anna).position == 1


def test_a_skipped_matchup_comes_back_at_the_end(tmp_path: Path) -> None:
    made = make_arena(tmp_path, raters=("Anna", "Bo"), practice=1)
    with running(made) as server, closing(OpenArena(tmp_path)) as opened:
        guest = server.rater()
        anna = rater_id(opened, made.tokens["Anna"])
        practice = next_matchup(opened, anna)
        assert practice.is_practice
        assert 'action="/skip"' not in guest.page()
        assert not voting.skip(opened.store, anna, matchup=practice.key)  # it would count
        guest.vote("left")
        skipped = next_matchup(opened, anna)
        stale = guest.page()
        assert guest.skip().headers["location"] == "/?notice=skipped"
        assert guest.skip(page=stale).headers["location"] == "/?notice=stays"
        assert guest.vote("left", page=stale).headers["location"] == "/?notice=skipped"
        assert "moved to the end of your list; it has no answer yet." in guest.page("/?notice=skipped")
        assert "<span>0 of 10</span>" in guest.page()
        assert not voting.skip(opened.store, rater_id(opened, made.tokens["Bo"]), matchup=skipped.key)
        for _ in range(9):
            assert guest.vote("right").headers["location"] == "/"
        last = next_matchup(opened, anna)
        assert (last.left_report, last.right_report) == (skipped.left_report, skipped.right_report)
        assert last.pictures == skipped.pictures
        assert 'action="/skip"' not in guest.page()  # there is nothing to go on with
        guest.vote("both-good")
        assert [ballot.answer for ballot in read_ballots(opened.store)] == ["right"] * 9 + ["both-good"]
        assert "All 10 comparisons are done" in guest.page()


def test_nobody_fills_the_disk_by_undoing_and_skipping(tmp_path: Path) -> None:
    with open_arena(tmp_path) as (opened, anna):
        moves = 0
        while (matchup := voting.next_matchup(opened, anna)) and voting.skip(opened.store, anna, matchup=matchup.key):
            moves += 1
        assert moves == 30  # three times the list
        assert matchup is not None
        assert voting.cast(opened.store, anna, matchup=matchup.key, answer="left") == "cast"
        assert not voting.undo(opened.store, anna, matchup=matchup.key)


def test_the_instructions_are_one_click_away(tmp_path: Path) -> None:
    settings = ArenaSettings(matchups_per_rater=10, instructions="Judge what a dentist needs.\n\nBe <kind>.")
    with visited(tmp_path, settings=settings) as guest:
        found = re.search(r'<details class="help">(.*?)</details>', guest.page(), re.DOTALL)
        assert found
        assert "Judge what a dentist needs." in found[1]
        assert "Be &lt;kind&gt;." in found[1]


def test_pictures_are_found_by_their_own_names_alone(tmp_path: Path) -> None:
    with open_arena(tmp_path, cases=("A1", "A2"), volumes=("A2",)) as (opened, anna):
        (plain,), (volume,) = opened.pictures.values()
        for picture, name in ((plain, "0.png"), (volume, "0.png"), (volume, "11.png"), (volume, "volume.u16.gz")):
            path = opened.picture_file(picture.key, name)
            assert path is not None
            assert path.is_file()
            assert opened.may_see(anna, picture.key)
        bad = [
            "volume.u16.gz",
            "1.png",
            "00.png",
            "0.png\n",
            "../0.png",
            "",
            "-1.png",
            "٠.png",
            "0.PNG",
            "arena.sqlite",
        ]
        assert [opened.picture_file(plain.key, name) for name in bad] == [None] * len(bad)
        assert [opened.picture_file(key, "0.png") for key in ("0" * 32, "..")] == [None, None]
        assert not opened.may_see(anna, "0" * 32)
