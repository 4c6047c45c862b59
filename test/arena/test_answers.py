"""Five answers, reasons, practice, the end: what counts, and what is kept."""

from contextlib import closing
from pathlib import Path

import pytest
from arena.arena_folders import make_arena, rater_id
from arena.arena_server import running

from podium.errors import UsageError
from podium.tools.arena import voting
from podium.tools.arena.raters import invite
from podium.tools.arena.ratings import count_pairs, counted, online_elo
from podium.tools.arena.store import OpenArena, close_arena, read_ballots, read_raters, read_votes


def test_both_are_ties_and_cannot_judge_counts_nowhere(tmp_path: Path) -> None:
    made = make_arena(tmp_path)
    with closing(OpenArena(tmp_path)) as opened:
        rater = rater_id(opened, made.tokens["Anna"])
        for answer in ("both-good", "both-bad", "cannot-judge"):
            matchup = voting.next_matchup(opened, rater)
            assert matchup is not None
            assert voting.cast(opened.store, rater, matchup=matchup.key, answer=answer, comment="") == "cast"
        ballots = read_ballots(opened.store)
        assert len(ballots) == 3
        assert len(counted(ballots)) == 2
        assert count_pairs(ballots, opened.methods).ties.sum() == 4
        assert set(online_elo(ballots, opened.methods, k_factor=4).values()) == {1000.0}


def test_reasons_and_comment_come_back_with_an_undone_vote(tmp_path: Path) -> None:
    made = make_arena(tmp_path)
    with running(tmp_path) as server:
        guest = server.guest(made.tokens["Anna"])
        fields = {
            **guest.form("/vote"),
            "answer": "both-bad",
            "comment": "Both <b>miss</b> it.",
            "reason1": "missed finding",
        }
        assert guest.client.post("/vote", data=fields).status_code == 303
        assert guest.undo().headers["location"] == "/?notice=undone"
        page = guest.page()
        assert "Both &lt;b&gt;miss&lt;/b&gt; it.</textarea>" in page
        assert 'value="missed finding" checked>' in page
        assert page.count(" checked>") == 1
    with closing(OpenArena(tmp_path)) as opened:
        ((vote,), standing) = read_votes(opened.store), read_ballots(opened.store)
        assert (vote.reasons, vote.is_undone, standing) == (("missed finding",), True, [])


def test_a_reason_that_the_organiser_did_not_define_is_refused(tmp_path: Path) -> None:
    made = make_arena(tmp_path)
    with running(tmp_path) as server:
        guest = server.guest(made.tokens["Anna"])
        refused = guest.client.post("/vote", data={**guest.form("/vote"), "answer": "left", "reason1": "ugly"})
        assert refused.status_code == 400
        assert "There is no such reason. Nothing was saved." in refused.text
    with closing(OpenArena(tmp_path)) as opened:
        assert read_votes(opened.store) == []


class TestPractice:
    def test_it_comes_first_and_counts_nowhere(self, tmp_path: Path) -> None:
        made = make_arena(tmp_path, practice=3, raters=("Anna",), cases=("A1", "A2", "A3", "A4", "A5"))
        with running(tmp_path) as server:
            guest = server.guest(made.tokens["Anna"])
            assert "Practice comes first: 3 comparisons that count nowhere." in guest.page(
                f"/enter/{made.tokens['Anna']}"
            )
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

    def test_where_the_list_takes_everything_there_is_none(self, tmp_path: Path) -> None:
        make_arena(tmp_path, practice=3, raters=("Anna",), methods=("alpha", "beta"))
        with closing(OpenArena(tmp_path)) as opened:
            assert opened.store.rows("SELECT count(*) FROM matchups WHERE position < 0") == [(0,)]


class TestClosed:
    def test_nothing_counts_after_it(self, tmp_path: Path) -> None:
        made = make_arena(tmp_path)
        with running(tmp_path) as server:
            guest = server.guest(made.tokens["Anna"])
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
            with pytest.raises(UsageError, match=r"The arena is closed: nobody can be invited any more."):
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
    with running(tmp_path) as server:
        assert "about 3 min left" in server.guest(made.tokens["Anna"]).page()
