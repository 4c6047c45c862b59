"""reports: the final score after the judge, seven finalists, and the arena that decides among them."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from challenges.built import reports
from tools.ranking.files import said, small_document, write_teams
from tools.ranking.replicates import resampled

from podium.challenges.reports.files import JudgeSettings, ReportsSettings
from podium.cli.main import main
from podium.metrics.aggregation import harmonic_mean
from podium.metrics.resampling import Resamples
from podium.metrics.text import NgramCounts, bleu_4, bleu_13a, count_ngrams
from podium.platform.jobs import Runtime
from podium.platform.metrics_file import CaseResult
from podium.tools.arena.settings import ArenaSettings
from podium.tools.arena.standing import arena_result
from podium.tools.arena.store import Ballot
from podium.tools.judge.judging import final_figures
from podium.tools.ranking.result import Ranking, json_text, ranking_from_json
from podium.tools.report.ranking_report import ranking_report

REFERENCE = ("the overjet is increased and the midline is shifted to the right", "no crossbite and no open bite here")


def resampled_final_score(rows: list[Any], resamples: Resamples, settings: ReportsSettings) -> Any:
    return resampled(reports(settings), rows, {}, resamples)["score_final"]


TeamRadFact = Sequence[tuple[float, float] | None]  # precision and recall of each case, None where the judge failed


def facts(counts: NgramCounts, suffix: str) -> dict[str, Any]:
    return {
        f"ngrams{suffix}": {
            "matches": {str(order): count for order, count in enumerate(counts.matches, start=1)},
            "totals": {str(order): count for order, count in enumerate(counts.totals, start=1)},
        },
        f"tokens{suffix}": {"candidate": counts.candidate_tokens, "reference": counts.reference_tokens},
    }


def rows(reports: Sequence[str], radfact: TeamRadFact | None) -> list[CaseResult]:
    results = []
    for number, (report, reference) in enumerate(zip(reports, REFERENCE, strict=True)):
        counts = count_ngrams(candidate=report.split(), reference=reference.split())
        unsmoothed = count_ngrams(candidate=report.split(), reference=reference.split(), least_total=0)
        quality = len(set(report.split()) & set(reference.split())) / len(set(reference.split()))
        figures: dict[str, Any] = {
            "bleu_4": bleu_4(counts),
            "meteor": quality,
            "captioning": (bleu_4(counts) + quality) / 2,
            "bleu_13a": bleu_13a(unsmoothed),
            "meteor_wordnet": quality**2,
            **facts(counts, ""),
            **facts(unsmoothed, "_13a"),
        }
        if radfact is not None:
            found = radfact[number]
            precision, recall = found or (None, None)
            f1 = None if found is None else harmonic_mean(*found)
            figures["radfact"] = {"precision": precision, "recall": recall, "f1": f1}
        results.append(CaseResult(case=f"B{number:03}", status="scored", metrics=figures))
    return results


def aggregates(results: Sequence[CaseResult], settings: ReportsSettings) -> dict[str, Any]:
    """As the container and then the judge compute them, from whatever rows there are."""
    figures = dict(reports(settings).aggregate(results, Runtime()))
    if "radfact" not in results[0].metrics:
        return figures
    known = [each.metrics["radfact"] for each in results if each.metrics["radfact"]["f1"] is not None]
    means = {
        name: sum(each[name] for each in known) / len(known) if known else 0.0 for name in ("precision", "recall", "f1")
    }
    of_means = harmonic_mean(means["precision"], means["recall"])
    radfact = {
        **means,
        **dict.fromkeys(("f1_of_means", "lower_bound"), of_means),  # no verdict is in doubt
        **dict.fromkeys(("mean_of_f1", "mean_of_f1_lower_bound"), means["f1"]),
    }
    return figures | final_figures(
        radfact, captioning=figures["captioning"], rule=settings.clinical, weights=settings.weights
    )


def document(radfact: TeamRadFact | None, reports: Sequence[str] = REFERENCE, **judge: Any) -> dict[str, Any]:
    removes = judge.pop("remove_normal_findings", False)
    settings = ReportsSettings(remove_normal_findings=removes, judge=JudgeSettings(**judge))
    results = rows(reports, radfact)
    figures = {row.case: row.metrics for row in results}
    return small_document("reports", settings.model_dump(mode="json"), aggregates(results, settings), figures)


@pytest.mark.parametrize("captioning", ["leaderboard", "offline"])
@pytest.mark.parametrize("bleu", ["corpus", "cases"])
@pytest.mark.parametrize("clinical", ["f1_of_means", "mean_of_f1"])
def test_every_replicate_scores_as_the_judged_submission_of_the_drawn_cases_would(
    clinical: Any, bleu: Any, captioning: Any
) -> None:
    settings = ReportsSettings(clinical=clinical, bleu=bleu, captioning=captioning)
    results = rows(("the overjet is increased", "no crossbite here and an open bite"), ((0.75, 0.5), (0.25, 1.0)))
    resamples = Resamples(np.array([[1, 1], [2, 0], [0, 2]], dtype=np.int32))
    found = resampled_final_score([row.metrics for row in results], resamples, settings)
    for replicate, counts in enumerate(resamples.counts):
        drawn = [row for row, count in zip(results, counts, strict=True) for _ in range(count)]
        assert found[replicate] == pytest.approx(aggregates(drawn, settings)["score_final"], abs=1e-12)


def test_cases_the_judge_failed_on_are_left_out_and_none_left_is_zero() -> None:
    results = rows(REFERENCE, ((1.0, 0.5), None))
    resamples = Resamples(np.array([[1, 1], [0, 2]], dtype=np.int32))
    found = resampled_final_score([row.metrics for row in results], resamples, ReportsSettings())
    # Both reports are the references word for word: BLEU-4 and METEOR are 1, so captioning gives 0.2.
    assert found == pytest.approx([0.8 * 2 / 3 + 0.2, 0.2])


def test_the_offline_pair_may_enter_the_final_score() -> None:
    """Both drawn as one corpus, and METEOR with WordNet in place of the leaderboard's."""
    settings = ReportsSettings(captioning="offline")
    found = aggregates(
        rows(("the overjet is increased", "no crossbite and no open"), ((1.0, 1.0), (1.0, 1.0))), settings
    )
    assert found["bleu_13a"] > 0
    assert found["captioning"] == found["score"] == (found["bleu_13a"] + found["meteor_wordnet"]) / 2
    assert found["score_final"] == pytest.approx(0.8 + 0.2 * found["captioning"])


SAME_JUDGE = {"base_url": "http://localhost:1", "concurrency": 2, "attempts": 1, "failure_threshold": 0.2}


@pytest.mark.parametrize(
    ("judge", "difference"),
    [
        (SAME_JUDGE, None),
        ({"attempts": 9, "timeout_seconds": 9.0, "price_per_million_prompt_tokens": 9.0}, None),
        ({"model": "judge-2"}, "judge.model = 'judge-2'"),
        ({"report_type": "toothfairy"}, "judge.report_type = 'toothfairy'"),
        ({"remove_normal_findings": True}, "remove_normal_findings = True"),
        ({"max_report_characters": 9}, "judge.max_report_characters = 9.0"),
    ],
)
def test_only_what_can_change_a_verdict_keeps_teams_apart(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], judge: dict[str, Any], difference: str | None
) -> None:
    half = ((0.5, 0.5), (0.5, 0.5))
    teams = {team: document(half, model="judge-1") for team in "ab"} | {
        "c": document(half, **{"model": "judge-1"} | judge)
    }
    assert run(write_teams(tmp_path / "teams", teams)) == (0 if difference is None else 2)
    if difference is not None:
        path = tmp_path / "teams" / "c" / "metrics.json"
        assert capfd.readouterr().err.startswith(f"{path} was scored with {difference}, but ")


@pytest.fixture
def nine_teams(tmp_path: Path) -> Path:
    """team1 is best, team9 worst: all captions alike, the clinical score decides."""
    (tmp_path / "teams").mkdir()
    for number in range(1, 10):
        pair = (1 - number / 10,) * 2
        (tmp_path / "teams" / f"team{number}.json").write_text(json.dumps(document((pair, pair))))
    return tmp_path / "teams"


@pytest.fixture
def four_teams(nine_teams: Path) -> Path:
    for number in range(5, 10):
        (nine_teams / f"team{number}.json").unlink()
    return nine_teams


def run(folder: Path, *arguments: str) -> int:
    return main(["rank", str(folder), "--output", str(folder.parent / "out"), "--bootstraps", "20", *arguments])


def ranked(folder: Path, *arguments: str) -> Ranking:
    assert run(folder, *arguments) == 0
    return ranking_from_json((folder.parent / "out" / "ranking.json").read_bytes())


def rated(folder: Path, ratings: dict[str, float]) -> Ranking:
    """The ranking with an arena.json of these ratings."""
    arena = folder.parent / "arena.json"
    arena.write_text(json.dumps({"ratings": ratings}))
    return ranked(folder, "--arena", str(arena))


def test_the_best_seven_are_marked(nine_teams: Path, capfd: pytest.CaptureFixture[str]) -> None:
    ranking = ranked(nine_teams)
    assert [team.name for team in ranking.teams] == [f"team{number}" for number in range(1, 10)]
    assert [team.finalist for team in ranking.teams] == [True] * 7 + [False] * 2
    assert ranking.deciding.scores[0] == pytest.approx(0.8 * 0.9 + 0.2)
    assert ranking.deciding.stability is not None
    out = capfd.readouterr().out
    assert "team7 *" in out
    assert "team8 *" not in out
    assert "* goes on to the arena" in out


def test_another_order_by_the_lower_bound_is_noted_first(nine_teams: Path, capfd: pytest.CaptureFixture[str]) -> None:
    for path in nine_teams.iterdir():
        content = json.loads(path.read_text())
        doubtful = path.stem == "team2"
        figures = content["aggregates"]
        figures["score_final_lower_bound"] = figures["score_final"] - (0.1 if doubtful else 0)
        figures["radfact"] |= {"suspicious_verdicts": 5 * doubtful, "failed_verdicts": 0}
        path.write_text(json.dumps(content))
    ranking = ranked(nine_teams)
    assert said(ranking)[0].startswith(
        "Warning: the order of the teams depends on doubtful results. By score: 1 team1, 2 team2, 3 team3,"
    )
    assert "By lower bound: 1 team1, 2 team3, 3 team2, 4 team4," in said(ranking)[0]
    columns = {column.path: column.values for column in ranking.columns}
    assert columns["radfact.suspicious_verdicts"][:3] == (0, 5, 0)
    assert said(ranking)[1] == (
        "team2: 5 suspicious verdicts, 0 suspicious findings, 0 failed verdicts; "
        "the lower bound of the score is 0.7400."
    )
    assert "team2: 5 suspicious verdicts" in capfd.readouterr().out


def test_the_arena_decides_among_the_finalists_alone(nine_teams: Path, capfd: pytest.CaptureFixture[str]) -> None:
    ratings = {f"team{number}": 1000 + number for number in range(1, 6)} | {"team6": 1200, "team7": 1200}
    ranking = rated(nine_teams, ratings)
    assert [team.name for team in ranking.teams] == [f"team{number}" for number in (6, 7, 5, 4, 3, 2, 1, 8, 9)]
    assert [team.rank for team in ranking.teams] == [1, 1, 3, 4, 5, 6, 7, 8, 9]
    column = next(column for column in ranking.columns if column.path == "arena.rating")
    assert column.values == (1200, 1200, 1005, 1004, 1003, 1002, 1001, None, None)
    assert ranking.deciding.stability is None
    assert any(note.startswith("The official ranking has no intervals. The arena decides") for note in said(ranking))
    assert any("whose ratings decided among them" in sentence for sentence in ranking.methods.sentences)
    assert "* ordered by the arena's ratings" in capfd.readouterr().out


def test_an_arena_of_fewer_teams_than_places(nine_teams: Path) -> None:
    ranking = rated(nine_teams, {f"team{number}": 1000 + number for number in range(1, 6)})
    assert [team.name for team in ranking.teams] == [f"team{number}" for number in (5, 4, 3, 2, 1, 6, 7, 8, 9)]
    assert [team.rank for team in ranking.teams] == list(range(1, 10))
    assert [team.finalist for team in ranking.teams] == [True] * 5 + [False] * 4
    assert "The arena rated only the best 5 teams; it has 7 places." in said(ranking)


def test_a_tie_at_the_last_place_is_left_to_the_organisers(nine_teams: Path) -> None:
    (nine_teams / "team8.json").write_text((nine_teams / "team7.json").read_text())
    ranking = ranked(nine_teams)
    assert sum(team.finalist for team in ranking.teams) == 8
    assert "Due to a tie, 8 teams qualify for the arena's 7 places: the organisers must decide." in said(ranking)


@pytest.mark.parametrize(
    ("left_out", "last"),
    [
        ((), [("team7", 7, True), ("team8", 7, True), ("team9", 9, False)]),
        (("team7",), [("team8", 7, True), ("team7", 8, False), ("team9", 9, False)]),
        (("team7", "team8"), [("team7", 7, False), ("team8", 7, False), ("team9", 9, False)]),
    ],
)
def test_organisers_may_take_any_of_those_who_tie_at_the_last_place(
    nine_teams: Path, left_out: tuple[str, ...], last: list[tuple[str, int, bool]]
) -> None:
    """Who was left out comes right behind the finalists."""
    (nine_teams / "team8.json").write_text((nine_teams / "team7.json").read_text())
    ratings = {f"team{number}": 1000 - min(number, 7) for number in range(1, 9)}
    ranking = rated(nine_teams, {team: each for team, each in ratings.items() if team not in left_out})
    assert [(team.name, team.rank, team.finalist) for team in ranking.teams[6:]] == last
    assert not any("must decide" in note for note in said(ranking))


def test_without_the_judge_there_is_no_official_ranking(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    teams = {"good": document(None), "bad": document(None, ("nothing", "of note"))}
    folder = write_teams(tmp_path / "teams", teams)
    assert run(folder) == 2
    assert capfd.readouterr().err.startswith(f"{folder / 'bad' / 'metrics.json'} has no aggregates.score_final, ")
    ranking = ranked(folder, "--scheme", "platform")
    assert [team.name for team in ranking.teams] == ["good", "bad"]
    assert said(ranking)[0].startswith("There are only 2 cases: ")
    assert (
        "This is not the official ranking: the files do not have the figures that the official rule compares."
        in said(ranking)
    )
    assert "official" not in [scheme.scheme for scheme in ranking.schemes]
    assert "The rows do not contain 'radfact.f1', so the general schemes do not use it." in said(ranking)


# What arena.json says beyond the ratings: groups share ranks; votes and the stop rule are reported.


def arena_file(folder: Path, **changes: Any) -> str:
    """team3 alone in the first group, team1 and team2 together in the second, team4 in the third."""
    ratings = {"team1": 1010.0, "team2": 1020.0, "team3": 1200.0, "team4": 800.0}
    groups = {"team3": 1, "team1": 2, "team2": 2, "team4": 3}
    votes = {"votes": 30, "wins": 15, "losses": 10, "ties": 5}
    teams = [
        {"name": name, "rank": groups[name], "group": groups[name], "interval": [rating - 50, rating + 50], **votes}
        | dict.fromkeys(("elo", "elo_averaged", "bradley_terry"), rating)
        for name, rating in ratings.items()
    ]
    content: dict[str, Any] = {
        "ratings": ratings,
        "decided_by": "bradley-terry",
        "teams": teams,
        "votes": 60,
        "raters": 5,
        "cases": 12,
        "stop_rule": {"holds": False, "missing": ["40 more votes are needed."]},
    }
    path = folder.parent / "arena.json"
    path.write_text(json.dumps(content | changes))
    return str(path)


@pytest.mark.parametrize(
    ("options", "in_file", "ranks"),
    [
        ((), False, [1, 2, 3, 4]),
        (("--tied-groups",), False, [1, 2, 2, 4]),
        ((), True, [1, 2, 2, 4]),  # written by `podium arena result --tied-groups`
    ],
)
def test_the_ratings_rank_unless_groups_share_a_rank(
    four_teams: Path, options: Sequence[str], in_file: bool, ranks: list[int]
) -> None:
    ranking = ranked(four_teams, "--arena", arena_file(four_teams, tied_groups=in_file), *options)
    assert [f"{team.name} {team.group}" for team in ranking.teams] == ["team3 1", "team2 2", "team1 2", "team4 3"]
    assert [team.rank for team in ranking.teams] == ranks
    shared = any("form a group and share its rank." in each for each in ranking.methods.sentences)
    assert shared == ranking.arena.tied_groups == (ranks[1] == ranks[2])
    column = next(column for column in ranking.columns if column.path == "arena.rating")
    assert column.intervals == ((1150, 1250), (970, 1070), (960, 1060), (750, 850))
    assert ranking.differences == ()
    assert ranking.deciding.score_intervals is not None, "the official score keeps its interval"


def test_ratings_alone_have_no_groups(four_teams: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = arena_file(four_teams, teams=[])
    assert [team.rank for team in ranked(four_teams, "--arena", path).teams] == [1, 2, 3, 4]
    assert run(four_teams, "--arena", path, "--tied-groups") == 2
    assert capfd.readouterr().err.endswith(f"{path} has no groups, so --tied-groups cannot be used.\n")


def test_votes_and_stop_rule_are_reported(four_teams: Path, capfd: pytest.CaptureFixture[str]) -> None:
    ranking = ranked(four_teams, "--arena", arena_file(four_teams))
    warning = "Warning: the arena's stop rule does not hold. 40 more votes are needed."
    assert warning in said(ranking)
    assert warning in " ".join(capfd.readouterr().out.split())
    text = " ".join(ranking.methods.sentences)
    assert "In this arena 5 raters gave 60 votes on 12 cases." in text
    assert "Finalists are ordered by their Bradley-Terry ratings. Those that the votes do not separate" in text
    assert "The arena's stop rule did not hold when the ratings were taken." in text
    page = ranking_report(ranking).page
    for words in ("Arena\nrating</th>", "5 raters gave 60 votes on 12 cases.", "1150.0 to 1250.0"):
        assert words in page


def test_intervals_belong_to_bradley_terry_alone(four_teams: Path) -> None:
    ranking = ranked(four_teams, "--arena", arena_file(four_teams, decided_by="elo-averaged"))
    assert next(column for column in ranking.columns if column.path == "arena.rating").intervals is None
    assert ranking.arena.teams[0].interval == (1150, 1250)


def test_what_the_arena_writes_is_read(four_teams: Path) -> None:
    """A whole arena.json of the arena's own code; team1 wins every vote."""
    methods = [f"team{number}" for number in range(1, 5)]
    ballots = [
        Ballot(case=f"c{case}", left=left, right=right, answer="left", rater=f"r{case % 3}")
        for case in range(6)
        for left in methods
        for right in methods
        if left < right
    ]
    result = arena_result(ballots, methods, ArenaSettings(), notes=(), by="bradley-terry")
    path = four_teams.parent / "arena.json"
    path.write_text(json_text(result, indent=2))
    ranking = ranked(four_teams, "--arena", str(path))
    assert (ranking.arena.votes, ranking.arena.raters, ranking.arena.cases) == (36, 3, 6)
    assert [team.name for team in ranking.teams] == methods
    assert [team.group for team in ranking.teams] == [team.group for team in result.teams]
