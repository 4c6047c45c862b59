"""kill -9 at any moment: whatever was acknowledged is in the database, and nothing twice."""

import contextlib
import os
import random
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

from arena.arena_folders import make_arena

from podium.tools.arena.settings import ArenaSettings

CHILD = Path(__file__).parent / "voting_child.py"
ROOT = Path(__file__).resolve().parents[2]


def test_acknowledged_votes_survive_kill_9(tmp_path: Path) -> None:
    made = make_arena(
        tmp_path,
        methods=[f"m{number}" for number in range(7)],
        cases=[f"c{number}" for number in range(30)],
        raters=[f"rater {number}" for number in range(30)],
        settings=ArenaSettings(matchups_per_rater=300),
    )
    moments = random.Random(5)
    acknowledged: dict[str, set[str]] = {"cast": set(), "undone": set()}
    command = [sys.executable, str(CHILD), str(tmp_path), *made.tokens.values()]
    killed = 0
    for _ in range(5):
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment) as child:
            assert child.stdout is not None
            lines = [child.stdout.readline()]  # it votes
            time.sleep(moments.uniform(0.05, 0.3))
            child.kill()
            lines += child.stdout.readlines()
        killed += child.returncode == -9
        for line in lines:
            if line.endswith(b"\n") and line != b"end\n":
                kind, key = line.decode().split()
                acknowledged[kind].add(key)
    assert killed == 5, "the child had nothing left to vote on"
    assert len(acknowledged["cast"]) > 100
    assert acknowledged["undone"]
    with contextlib.closing(sqlite3.connect(tmp_path / "arena.sqlite")) as database:
        assert database.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert database.execute("PRAGMA foreign_key_check").fetchall() == []
        voted = [key for (key,) in database.execute("SELECT key FROM votes JOIN matchups ON matchups.id = matchup")]
        undone = [
            key
            for (key,) in database.execute(
                "SELECT key FROM undos JOIN votes ON votes.id = vote JOIN matchups ON matchups.id = matchup"
            )
        ]
        standing = database.execute(
            "SELECT max(n) FROM (SELECT count(*) AS n FROM votes JOIN matchups ON matchups.id = matchup "
            "WHERE votes.id NOT IN (SELECT vote FROM undos) GROUP BY votes.rater, position)"
        ).fetchone()
    assert acknowledged["cast"] <= set(voted)
    assert acknowledged["undone"] <= set(undone)
    assert len(voted) == len(set(voted))
    assert len(undone) == len(set(undone))
    assert standing == (1,)
