"""kill -9 at any moment: whatever was acknowledged is in the database, and nothing twice."""

import contextlib
import random
import sqlite3
import threading
import time
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from urllib.parse import urlencode

import pytest
from tools.arena.arena_folders import make_arena
from tools.arena.arena_server import hidden_fields
from tools.arena.serve_process import ServeProcess

from podium.tools.arena.settings import ArenaSettings

pytestmark = pytest.mark.system

VOTERS, ROUNDS = 20, 5
ANSWERS = ("left", "right", "both-good")


class Voter:
    """Votes as fast as the server answers, and writes down what was answered. A form whose answer was lost when the
    server died is sent again, as by somebody who reloads the page, but with another answer."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.cookie = ""
        self.acknowledged: dict[str, set[str]] = {}  # the answers that may have been saved: one, unless some were lost
        self.undone: set[str] = set()
        self.unanswered: dict[str, set[str]] = {}  # sent, and nothing heard
        self._form: dict[str, str] | None = None
        self._clicks = 0
        self.failures: list[str] = []

    def enter(self, port: int, token: str) -> None:
        with contextlib.closing(HTTPConnection("127.0.0.1", port)) as connection:
            connection.request("GET", f"/enter/{token}")
            response = connection.getresponse()
            response.read()
            self.cookie = (response.getheader("Set-Cookie") or "").partition(";")[0]

    def vote(self, port: int) -> None:
        """Until the server is gone."""
        with contextlib.suppress(OSError, HTTPException):
            self._vote(port)

    def _vote(self, port: int) -> None:
        with contextlib.closing(HTTPConnection("127.0.0.1", port, timeout=30)) as connection:
            while not self.failures:
                if self._form is None:
                    connection.request("GET", "/", headers={"Cookie": self.cookie})
                    page = connection.getresponse().read().decode()
                    self._form = hidden_fields(page, "/vote")
                key = self._form["matchup"]
                self._clicks += 1
                answer = ANSWERS[self._clicks % 3]
                before = set(self.unanswered.get(key, ()))
                self.unanswered[key] = before | {answer}
                location = self._post(connection, "/vote", {**self._form, "answer": answer})
                if location == "/":
                    self.acknowledged[key] = {answer}
                elif location == "/?notice=answered" and before:
                    self.acknowledged[key] = before  # one of these had been saved, though nobody was told
                else:
                    self.failures.append(f"{location} for {key}, {answer} after {before}")
                del self.unanswered[key]
                form, self._form = self._form, None
                if self._clicks % 7 == 0:
                    location = self._post(connection, "/undo", form)
                    if location == "/?notice=undone":
                        self.undone.add(key)
                    else:
                        self.failures.append(f"{location} for the undo of {key}")

    def _post(self, connection: HTTPConnection, path: str, fields: dict[str, str]) -> str:
        headers = {"Cookie": self.cookie, "Content-Type": "application/x-www-form-urlencoded"}
        connection.request("POST", path, urlencode(fields), headers)
        response = connection.getresponse()
        text = response.read()
        assert response.status == 303, text
        return response.getheader("Location") or ""


def test_every_vote_answered_with_success_survives_kill_9_exactly_once(tmp_path: Path) -> None:
    made = make_arena(
        tmp_path,
        methods=[f"m{number}" for number in range(7)],
        cases=[f"c{number}" for number in range(60)],
        raters=[f"rater {number}" for number in range(VOTERS)],
        settings=ArenaSettings(matchups_per_rater=600),
    )
    voters = [Voter(name) for name in made.tokens]
    moments = random.Random(7)
    for number in range(ROUNDS):
        with ServeProcess(tmp_path) as server:
            if number == 0:
                for voter in voters:
                    voter.enter(server.port, made.tokens[voter.name])
            before = sum(len(voter.acknowledged) for voter in voters)
            threads = [threading.Thread(target=voter.vote, args=(server.port,)) for voter in voters]
            for thread in threads:
                thread.start()
            # On any machine: something was answered in every round, and an undo in the last one at the latest.
            while (
                sum(len(voter.acknowledged) for voter in voters) == before
                or (number == ROUNDS - 1 and not any(voter.undone for voter in voters))
            ) and any(map(threading.Thread.is_alive, threads)):
                time.sleep(0.01)
            time.sleep(moments.uniform(0.1, 0.6))
            assert server.process.poll() is None
        for thread in threads:
            thread.join()
        assert [failure for voter in voters for failure in voter.failures] == []
        assert sum(len(voter.acknowledged) for voter in voters) > before

    acknowledged = {key: answer for voter in voters for key, answer in voter.acknowledged.items()}
    undone = {key for voter in voters for key in voter.undone}
    unanswered = {key: answer for voter in voters for key, answer in voter.unanswered.items()}
    assert undone
    with contextlib.closing(sqlite3.connect(tmp_path / "arena.sqlite")) as database:
        assert database.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert database.execute("PRAGMA foreign_key_check").fetchall() == []
        rows = database.execute("SELECT key, answer FROM votes JOIN matchups ON matchups.id = matchup").fetchall()
        taken_back = database.execute(
            "SELECT key FROM undos JOIN votes ON votes.id = vote JOIN matchups ON matchups.id = matchup"
        ).fetchall()
        standing = database.execute(
            "SELECT max(n) FROM (SELECT count(*) AS n FROM votes JOIN matchups ON matchups.id = matchup "
            "WHERE votes.id NOT IN (SELECT vote FROM undos) GROUP BY votes.rater, position)"
        ).fetchone()
    saved = dict(rows)
    assert len(rows) == len(saved)
    assert [key for key, answers in acknowledged.items() if saved.get(key) not in answers] == []
    sent = acknowledged | unanswered
    assert [key for key, answer in saved.items() if answer not in sent[key]] == []  # nothing that nobody sent
    assert undone <= {key for (key,) in taken_back}
    assert len(taken_back) == len(set(taken_back))
    assert standing == (1,)
