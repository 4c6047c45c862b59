"""The commands around a running arena, and the whole way from a ranking to the final order."""

import csv
import io
import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from places import ROOT
from pydantic import TypeAdapter
from tools.arena.arena_folders import make_arena, open_arena, rater_id, vote
from tools.arena.organiser import Organiser

from podium.cli.main import main
from podium.tools.arena import voting
from podium.tools.arena.archive import COLUMNS, votes_csv
from podium.tools.arena.raters import open_session
from podium.tools.arena.settings import ArenaSettings
from podium.tools.arena.standing import ArenaResult
from podium.tools.arena.store import Ballot, OpenArena, Store, VoteAnswer, VoteRecord, read_ballots, read_raters
from podium.tools.arena.voting import Matchup
from podium.tools.ranking.result import class_schema, ranking_from_json

FEW_REPLICATES = ArenaSettings(matchups_per_rater=30, bootstraps=50, permutations=50)


def vote_all(folder: Path, token: str, choose: Callable[[Matchup], VoteAnswer]) -> None:
    with closing(OpenArena(folder)) as opened:
        rater = rater_id(opened, token)
        while (matchup := voting.next_matchup(opened, rater)) is not None:
            assert voting.cast(opened.store, rater, matchup=matchup.key, answer=choose(matchup)) == "cast"


def lets_in(folder: Path, token: str) -> bool:
    with closing(Store(folder)) as store:
        return open_session(store, token) is not None


def number_in(report: str) -> int:
    found = re.search(r"(\d+)(?: of|\.)", report)
    assert found is not None
    return int(found[1])


def higher_number(matchup: Matchup) -> VoteAnswer:
    return "left" if number_in(matchup.left_report) > number_in(matchup.right_report) else "right"


def token_of(link: str) -> str:
    return link.strip().rsplit("/", 1)[1]


def test_from_the_ranking_to_the_final_order(podium: Any, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Raters find the higher numbers better: the arena turns the order of the metrics round."""
    organiser = Organiser(tmp_path, capfd, teams=9)
    assert organiser.init().code == 0
    for name in ("Anna", "Ben"):
        link = podium("arena", "invite", organiser.arena, name, "--matchups", "42").out
        vote_all(organiser.arena, token_of(link), higher_number)
    output = tmp_path / "arena.json"
    assert organiser.run("result", "--output", str(output)) == 2  # the arena is open
    assert organiser.run("close") == 0
    assert organiser.run("result", "--output", str(output)) == 0
    assert organiser.rank("--arena", str(output)) == 0
    final = ranking_from_json(organiser.ranking.read_bytes())
    order = ["team7", "team6", "team5", "team4", "team3", "team2", "team1", "team8", "team9"]
    assert [team.name for team in final.teams] == order
    assert [team.rank for team in final.teams] == list(range(1, 10))


class TestInvite:
    def test_the_link_alone_is_on_stdout(self, podium: Any, tmp_path: Path) -> None:
        make_arena(tmp_path, settings=ArenaSettings(matchups_per_rater=9, url="https://a.example.org"))
        code, link, err = podium("arena", "invite", tmp_path, "Ben")
        assert re.fullmatch(r"https://a\.example\.org/enter/.+\n", link)
        assert (code, err) == (0, "The link of Ben to 9 matchups, shown only once:\n")
        assert podium("arena", "invite", tmp_path, "Ben", "--matchups", "99").err.splitlines() == [
            "Ben was invited before: the older link is revoked, the votes are kept.",
            "There are only 13 matchups for one rater, so Ben gets 13, not 99.",
            "The link of Ben to 13 matchups, shown only once:",
        ]
        assert not lets_in(tmp_path, token_of(link))

    def test_the_organisers(self, podium: Any, tmp_path: Path) -> None:
        made = make_arena(tmp_path)
        code, link, err = podium("arena", "invite", tmp_path, "--organiser")
        assert (code, err) == (0, "The organiser's link, shown only once; any older link is revoked:\n")
        assert not lets_in(tmp_path, made.organiser)
        assert lets_in(tmp_path, token_of(link))
        ended = podium("arena", "invite", tmp_path, "--organiser", "--matchups", "3")
        assert (ended.code, ended.err) == (2, "--matchups is for raters; the organiser has none.\n")

    @pytest.mark.parametrize("who", [[], ["arena", "Anna", "Ben"], ["arena", "Anna", "--organiser"]])
    def test_somebody_has_to_be_named(self, podium: Any, who: list[str]) -> None:
        ended = podium("arena", "invite", *who)
        words = "Give the name of one rater: podium arena invite [DIR] NAME, with a name of several words in quotes.\n"
        assert (ended.code, ended.err) == (2, words)


def test_inside_the_folder_its_name_may_be_left_out(
    podium: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_arena(tmp_path)
    monkeypatch.chdir(tmp_path)
    assert podium("arena", "invite", "Dr Ben").last_line.startswith("The link of Dr Ben to ")
    verbs = (["revoke", "Dr Ben"], ["invite", "--organiser"], ["status"], ["export"], ["result", "--provisional"])
    assert [main(["arena", *words]) for words in verbs] == [0] * 5
    assert (tmp_path / "votes.csv").is_file()
    assert (tmp_path / "arena.json").is_file()


def test_revoke(podium: Any, tmp_path: Path) -> None:
    made = make_arena(tmp_path)
    assert podium("arena", "revoke", tmp_path, "Anna") == (0, "", "The link of Anna is revoked; the votes are kept.\n")
    assert not lets_in(tmp_path, made.tokens["Anna"])
    assert podium("arena", "revoke", tmp_path, "Zoe").code == 2


@pytest.mark.parametrize("verb", ["invite", "revoke", "status", "export", "result", "serve"])
def test_a_folder_that_is_no_arena(tmp_path: Path, verb: str) -> None:
    name = ["Anna"] if verb in ("invite", "revoke") else []
    assert main(["arena", verb, str(tmp_path), *name]) == 2


@pytest.mark.parametrize(("verb", "package"), [("init", "PIL"), ("serve", "starlette"), ("serve", "hypercorn")])
def test_what_the_extra_installs_is_asked_for(
    podium: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, verb: str, package: str
) -> None:
    monkeypatch.setitem(sys.modules, package, None)  # as if it were not installed
    sources = ["--ranking", "r", "--submissions", "s", "--cases", "c"] if verb == "init" else []
    ended = podium("arena", verb, tmp_path / "arena", *sources)
    words = f"This command needs {package}: run \"pip install '.[arena]'\" in the folder of Podium's source.\n"
    assert (ended.code, ended.err) == (2, words)


class TestExport:
    def test_every_vote_is_in_it(self, podium: Any, tmp_path: Path) -> None:
        settings = ArenaSettings(matchups_per_rater=20)
        with open_arena(tmp_path / "arena", cases=[f"c{n}" for n in range(9)], settings=settings) as (opened, anna):
            (first,) = vote(opened, anna, "right", comment="=cmd()\nsecond line, with comma")
            voting.undo(opened.store, anna, matchup=first)
            vote(opened, anna, *["both-good"] * 20)
            standing = read_ballots(opened.store)
        output = tmp_path / "out.csv"
        ended = podium("arena", "export", tmp_path / "arena", "--output", output)
        words = f"Wrote 21 votes, including undone votes, practice and repeats, to {output}.\n"
        assert (ended.code, ended.err) == (0, words)
        with output.open(newline="", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        assert list(rows[0]) == list(COLUMNS)
        assert len(rows) == 21
        assert (rows[0]["answer"], rows[0]["undone"]) == ("right", "1")
        assert rows[0]["comment"] == "'=cmd()\nsecond line, with comma"
        assert [row["undone"] for row in rows[1:]] == ["0"] * 20
        assert sum(row["repeat"] == "1" for row in rows) == 1
        assert {row["rater"] for row in rows} == {"Anna"}
        assert [(row["case"], row["left"], row["right"]) for row in rows[1:]] == [
            (ballot.case, ballot.left, ballot.right) for ballot in standing
        ]

    @pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", " =1", "\r=1", "\n@x"])
    def test_no_cell_is_taken_for_a_formula(self, text: str) -> None:
        ballot = Ballot(rater=text, case=text, left=text, right=text, answer="left", cast_at=0.25)
        written = votes_csv([VoteRecord(ballot=ballot, comment=text, is_undone=False, reasons=(), is_practice=False)])
        _, row = csv.reader(io.StringIO(written, newline=""))
        assert [cell for cell in row if cell.strip() and cell.strip()[0] in "=+-@"] == []
        assert row[-1] == "1970-01-01T00:00:00.250+00:00"

    def test_a_place_that_cannot_be_written(self, podium: Any, tmp_path: Path) -> None:
        make_arena(tmp_path / "arena")
        output = tmp_path / "nowhere/votes.csv"
        ended = podium("arena", "export", tmp_path / "arena", "--output", output)
        assert (ended.code, ended.err) == (2, f"{output} cannot be written: No such file or directory.\n")


class TestResult:
    SETTINGS = FEW_REPLICATES.model_copy(update={"min_votes": 20, "min_votes_per_pair": 5, "window": 5})

    def test_the_file_is_deterministic_and_as_its_schema_says(self, podium: Any, tmp_path: Path) -> None:
        made = make_arena(
            tmp_path / "arena", cases=[f"c{n}" for n in range(12)], settings=self.SETTINGS, notes=["Look at this."]
        )
        vote_all(tmp_path / "arena", made.tokens["Anna"], higher_number)
        output = tmp_path / "arena.json"
        written = []
        for _ in range(2):
            ended = podium("arena", "result", "--provisional", tmp_path / "arena", "--output", output)
            assert ended.last_line == f"Wrote the ratings of 3 teams after 28 votes to {output}."
            written.append(output.read_bytes())
        assert written[0] == written[1]
        document = json.loads(written[0])
        jsonschema.Draft202012Validator(class_schema(TypeAdapter(ArenaResult), "arena.json")).validate(document)
        assert document["schema"] == "podium-arena-1"
        assert document["decided_by"] == "elo-averaged"
        assert sorted(document["ratings"], key=document["ratings"].__getitem__) == ["alpha", "beta", "gamma"]
        assert [team["name"] for team in document["teams"]] == ["gamma", "beta", "alpha"]
        assert document["stop_rule"]["holds"] is True
        assert (document["votes"], document["repeats"], document["raters"], document["cases"]) == (28, 2, 1, 12)
        assert document["notes"][-1] == "Look at this."
        assert "Anna" not in written[0].decode()

    @pytest.mark.parametrize(("options", "ranks"), [((), [1, 2, 3]), (("--tied-groups",), [1, 1, 1])])
    def test_tied_groups_share_a_rank(
        self, podium: Any, tmp_path: Path, options: tuple[str, ...], ranks: list[int]
    ) -> None:
        made = make_arena(tmp_path / "arena", settings=self.SETTINGS, cases=["c1", "c2"])
        vote_all(tmp_path / "arena", made.tokens["Anna"], higher_number)
        output = tmp_path / "arena.json"
        assert podium("arena", "result", "--provisional", tmp_path / "arena", "--output", output, *options).code == 0
        document = json.loads(output.read_text())
        assert [team["rank"] for team in document["teams"]] == ranks
        assert {team["group"] for team in document["teams"]} == {1}
        assert document["tied_groups"] is bool(options)

    def test_before_the_stop_rule_holds_it_says_so_loudly(self, podium: Any, tmp_path: Path) -> None:
        make_arena(tmp_path / "arena", settings=self.SETTINGS)
        output = tmp_path / "arena.json"
        ended = podium("arena", "result", tmp_path / "arena", "--by", "elo", "--output", output, "--provisional")
        document = json.loads(output.read_text())
        assert document["decided_by"] == "elo"
        assert set(document["ratings"].values()) == {1000.0}
        assert document["stop_rule"]["holds"] is False
        assert document["notes"][0].startswith("The stop rule does not hold yet: 3 of 3 pairs have fewer than 5 votes;")
        assert document["notes"][0] in ended.err.splitlines()


def test_status(podium: Any, tmp_path: Path) -> None:
    made = make_arena(
        tmp_path,
        cases=[f"c{n}" for n in range(12)],
        raters=("Anna", "Ben", "[red]Carla[/red]"),
        settings=FEW_REPLICATES,
        notes=["'beta' is a word in its own reports."],
    )
    vote_all(tmp_path, made.tokens["Anna"], higher_number)
    vote_all(tmp_path, made.tokens["Ben"], lambda _: "left")
    assert podium("arena", "revoke", tmp_path, "Ben").code == 0
    text = podium("arena", "status", tmp_path).out
    out = text.splitlines()
    assert "Ratings after 56 votes (averaged Elo decides)" in text
    order = [line.split()[1] for line in out if re.match(r" ?[123] +(alpha|beta|gamma) ", line)]
    assert order == ["gamma", "beta", "alpha"]
    assert "The stop rule does not hold yet (the last condition is optional)" in text
    assert re.search(r"^neighbours separated +(yes|no) ", text, re.MULTILINE)
    assert re.search(r"^enough votes +no +Cast: 56 of at least 100 votes\.", text, re.MULTILINE)
    assert re.search(r"^votes per pair +yes ", text, re.MULTILINE)
    assert re.search(r"^Anna +30 of 30 ", text, re.MULTILINE)
    assert re.search(r"^Ben \(link revoked\) +30 of 30 +0 of 30 +30 of 30 +0 of 2 ", text, re.MULTILINE)
    assert re.search(r"^\[red\]Carla\[/red\] +0 of 30 +- ", text, re.MULTILINE)
    assert "Ben always chose the left report (30 of 30)." in out
    assert "'beta' is a word in its own reports." in out


def test_status_of_an_arena_without_votes(podium: Any, tmp_path: Path) -> None:
    make_arena(tmp_path)
    assert "There is no vote yet: every rating has its initial value.\n" in podium("arena", "status", tmp_path).out


def test_commands_work_while_the_server_does(tmp_path: Path) -> None:
    """Twenty raters vote in this process, while others are invited and counted in processes of their own."""
    names = [f"rater {number}" for number in range(20)]
    arena = tmp_path / "arena"
    made = make_arena(
        arena,
        methods=[f"m{n}" for n in range(5)],
        cases=[f"c{n}" for n in range(20)],
        raters=names,
        settings=ArenaSettings(matchups_per_rater=100),
    )
    opened = OpenArena(arena)
    ended = threading.Event()
    outcomes: list[str] = []

    def vote_on(rater: int) -> None:
        while not ended.is_set() and (matchup := voting.next_matchup(opened, rater)) is not None:
            outcomes.append(voting.cast(opened.store, rater, matchup=matchup.key, answer="both-good", comment=""))

    threads = [threading.Thread(target=vote_on, args=(rater_id(opened, token),)) for token in made.tokens.values()]
    for thread in threads:
        thread.start()
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    export = ["export", "--output", str(tmp_path / "votes.csv")]
    for verb, *more in (["invite", "Anna"], ["invite", "Ben"], export, ["revoke", "Ben"]):
        command = [sys.executable, "-m", "podium", "arena", verb, str(arena), *more]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
    ended.set()
    for thread in threads:
        thread.join()
    assert set(outcomes) == {"cast"}
    assert len(read_ballots(opened.store)) == len(outcomes)
    assert [(line.name, line.revoked) for line in read_raters(opened.store)][20:] == [("Anna", False), ("Ben", True)]
    with (tmp_path / "votes.csv").open() as file:
        exported = [(row["rater"], row["case"], row["left"]) for row in csv.DictReader(file)]
    ballots = [(ballot.rater, ballot.case, ballot.left) for ballot in read_ballots(opened.store)]
    assert exported == ballots[: len(exported)]
    opened.close()
