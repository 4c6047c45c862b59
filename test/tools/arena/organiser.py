"""An organiser's folder before the arena: a ranking by `podium rank`, submissions and the cases' images."""

import json
import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from evaluating import Ended, run_podium
from PIL import Image
from tools.ranking.test_reports_rule import document

from podium.cli.main import main

CASES = ("B000", "B001")


class Organiser:
    """Teams are team1 (best) to team<n>; each has a report on both cases that does not name it."""

    def __init__(self, root: Path, capfd: pytest.CaptureFixture[str], *, teams: int = 3) -> None:
        self.root, self.capfd = root, capfd
        self.arena = root / "arena"
        self.metrics, self.submissions, self.images = root / "metrics", root / "submissions", root / "images"
        for folder in (self.metrics, self.submissions, self.images):
            folder.mkdir()
        self.teams = [f"team{number}" for number in range(1, teams + 1)]
        for number, team in enumerate(self.teams, start=1):
            value = 1 - number / 20
            (self.metrics / f"{team}.json").write_text(json.dumps(document(((value, value), (value, value)))))
            self.write_reports(team, {case: f"Finding {number} of {case}." for case in CASES})
        shades = np.arange(48 * 64, dtype=np.uint8).reshape(48, 64)
        for case in CASES:
            Image.fromarray(shades).save(self.images / f"{case}.png")
        assert self.rank() == 0

    @property
    def ranking(self) -> Path:
        return self.root / "ranking/ranking.json"

    def rank(self, *more: str) -> int:
        return main(["rank", str(self.metrics), "--output", str(self.root / "ranking"), "--bootstraps", "0", *more])

    def write_reports(self, team: str, texts: Mapping[str, str]) -> Path:
        folder = self.submissions / team
        folder.mkdir(exist_ok=True)
        (folder / "reports.json").write_text(json.dumps(texts))
        return folder

    def init_words(self, *more: str) -> list[str]:
        sources = ["--ranking", self.ranking, "--submissions", self.submissions, "--cases", self.images]
        return ["arena", "init", *map(str, (self.arena, *sources)), *more]

    def init(self, *more: str) -> Ended:
        return run_podium(self.capfd, *self.init_words(*more))

    def refusal(self, *more: str) -> str:
        """Why there is no arena."""
        ended = self.init(*more)
        assert ended.code == 2
        return ended.last_line

    def notes(self) -> list[str]:
        """What is said while an arena is made."""
        ended = self.init()
        assert ended.code == 0
        return [line.removeprefix("Note: ") for line in ended.err.splitlines() if line.startswith("Note: ")]

    def run(self, verb: str, *more: str) -> int:
        return main(["arena", verb, str(self.arena), *more])

    def query(self, question: str) -> Sequence[tuple[object, ...]]:
        with closing(sqlite3.connect(self.arena / "arena.sqlite")) as database:
            return database.execute(question).fetchall()
