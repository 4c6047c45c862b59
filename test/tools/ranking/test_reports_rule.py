"""reports: the final score after the judge, seven finalists, and the arena that decides among them."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from challenges.built import reports
from tools.ranking.replicates import resampled

from podium.challenges.reports.format import JudgeSettings, ReportsSettings
from podium.cli.main import main
from podium.metrics.resampling import Resamples
from podium.metrics.text import NgramCounts, bleu_4, bleu_13a, count_ngrams
from podium.platform.jobs import Runtime
from podium.platform.metrics_file import CaseResult
from podium.tools.judge.judging import final_figures, harmonic_mean
from podium.tools.ranking.result import Ranking, ranking_from_json

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
    return {
        "schema": "podium-metrics-2",
        "challenge": "reports",
        "kind": "reports",
        "title": "Reports in small",
        "version": "1",
        "settings": settings.model_dump(mode="json"),
        "aggregates": aggregates(results, settings),
        "counts": {"expected": 2, "scored": 2, "failed": 0, "missing": 0, "unmatched": 0},
        "results": [
            {"case": row.case, "status": row.status, "metrics": row.metrics, "warnings": [], "error": None}
            for row in results
        ],
    }


@pytest.mark.parametrize("captioning", ["leaderboard", "offline"])
@pytest.mark.parametrize("clinical", ["f1_of_means", "mean_of_f1"])
def test_every_replicate_scores_as_the_judged_submission_of_the_drawn_cases_would(
    clinical: Any, captioning: Any
) -> None:
    settings = ReportsSettings(clinical=clinical, captioning=captioning)
    results = rows(("the overjet is increased", "no crossbite here and an open bite"), ((0.75, 0.5), (0.25, 1.0)))
    resamples = Resamples(np.array([[1, 1], [2, 0], [0, 2]], dtype=np.int32))
    found = resampled_final_score([row.metrics for row in results], resamples, settings)
    assert found is not None
    for replicate, counts in enumerate(resamples.counts):
        drawn = [row for row, count in zip(results, counts, strict=True) for _ in range(count)]
        assert found[replicate] == pytest.approx(aggregates(drawn, settings)["score_final"], abs=1e-12)


def test_cases_the_judge_failed_on_are_left_out_and_none_left_is_zero() -> None:
    results = rows(REFERENCE, ((1.0, 0.5), None))
    resamples = Resamples(np.array([[1, 1], [0, 2]], dtype=np.int32))
    found = resampled_final_score([row.metrics for row in results], resamples, ReportsSettings())
    assert found is not None
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


def test_rows_without_counts_cannot_be_drawn_anew() -> None:
    results = rows(REFERENCE, ((1.0, 0.5), None))
    bare = [{"meteor": row.metrics["meteor"], "radfact": row.metrics["radfact"]} for row in results]
    with pytest.raises((KeyError, TypeError, ValueError)):
        resampled_final_score(bare, Resamples.whole(2), ReportsSettings())


SAME_JUDGE = {"base_url": "http://localhost:1", "concurrency": 2, "attempts": 1, "failure_threshold": 0.2}


@pytest.mark.parametrize(
    ("judge", "difference"),
    [
        (SAME_JUDGE, None),
        ({"backoff_seconds": 9.0, "timeout_seconds": 9.0, "price_per_million_prompt_tokens": 9.0}, None),
        ({"model": "judge-2"}, "judge.model = 'judge-2'"),
        ({"report_type": "toothfairy"}, "judge.report_type = 'toothfairy'"),
        ({"remove_normal_findings": True}, "remove_normal_findings = True"),
        ({"max_report_characters": 9}, "judge.max_report_characters = 9.0"),
    ],
)
def test_only_what_can_change_a_verdict_keeps_teams_apart(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], judge: dict[str, Any], difference: str | None
) -> None:
    folder = tmp_path / "teams"
    folder.mkdir()
    half = ((0.5, 0.5), (0.5, 0.5))
    for team, settings in {"a": {}, "b": {}, "c": judge}.items():
        (folder / f"{team}.json").write_text(json.dumps(document(half, **{"model": "judge-1", **settings})))
    code, _ = run(folder)
    assert code == (0 if difference is None else 2)
    if difference is not None:
        assert capfd.readouterr().err.startswith(f"{folder / 'c.json'} was scored with {difference}, but ")


@pytest.fixture
def nine_teams(tmp_path: Path) -> Path:
    """team1 is best, team9 worst: all captions alike, the clinical score decides."""
    folder = tmp_path / "teams"
    folder.mkdir()
    for number in range(1, 10):
        value = 1 - number / 10
        content = document(((value, value), (value, value)))
        (folder / f"team{number}.json").write_text(json.dumps(content))
    return folder


def run(folder: Path, *arguments: str) -> tuple[int, Ranking | None]:
    output = folder.parent / "out"
    code = main(["rank", str(folder), "--output", str(output), "--bootstraps", "20", *arguments])
    written = output / "ranking.json"
    return code, ranking_from_json(written.read_bytes()) if written.exists() else None


def test_the_best_seven_are_marked(nine_teams: Path, capfd: pytest.CaptureFixture[str]) -> None:
    code, ranking = run(nine_teams)
    assert code == 0
    assert ranking is not None
    assert [team.name for team in ranking.teams] == [f"team{number}" for number in range(1, 10)]
    assert [team.finalist for team in ranking.teams] == [True] * 7 + [False] * 2
    assert ranking.deciding.scores[0] == pytest.approx(0.8 * 0.9 + 0.2)
    assert ranking.deciding.stability is not None
    out = capfd.readouterr().out
    assert "team7 *" in out
    assert "team8 *" not in out
    assert "* goes on to the arena" in out


def test_another_order_by_the_lower_bound_is_told_first(nine_teams: Path, capfd: pytest.CaptureFixture[str]) -> None:
    for path in nine_teams.iterdir():
        content = json.loads(path.read_text())
        doubtful = path.stem == "team2"
        figures = content["aggregates"]
        figures["score_final_lower_bound"] = figures["score_final"] - (0.1 if doubtful else 0)
        figures["radfact"] |= {"suspicious_verdicts": 5 * doubtful, "failed_verdicts": 0}
        path.write_text(json.dumps(content))
    _, ranking = run(nine_teams)
    assert ranking is not None
    assert ranking.notes[0].startswith(
        "Warning: the order of the teams depends on doubtful results. By score: 1 team1, 2 team2, 3 team3,"
    )
    assert "By lower bound: 1 team1, 2 team3, 3 team2, 4 team4," in ranking.notes[0]
    columns = {column.path: column.values for column in ranking.columns}
    assert columns["radfact.suspicious_verdicts"][:3] == (0, 5, 0)
    assert ranking.notes[1] == (
        "team2: 5 suspicious verdicts, 0 suspicious findings, 0 failed verdicts; "
        "the lower bound of the score is 0.7400."
    )
    assert "team2: 5 suspicious verdicts" in capfd.readouterr().out


def test_the_arena_decides_among_the_finalists_alone(nine_teams: Path, capfd: pytest.CaptureFixture[str]) -> None:
    arena = nine_teams.parent / "arena.json"
    ratings = {f"team{number}": 1000 + number for number in range(1, 6)} | {"team6": 1200, "team7": 1200}
    arena.write_text(json.dumps({"ratings": ratings}))
    code, ranking = run(nine_teams, "--arena", str(arena))
    assert code == 0
    assert ranking is not None
    assert [(team.name, team.rank) for team in ranking.teams] == [
        ("team6", 1),
        ("team7", 1),
        ("team5", 3),
        ("team4", 4),
        ("team3", 5),
        ("team2", 6),
        ("team1", 7),
        ("team8", 8),
        ("team9", 9),
    ]
    column = next(column for column in ranking.columns if column.path == "arena.rating")
    assert column.values == (1200, 1200, 1005, 1004, 1003, 1002, 1001, None, None)
    assert ranking.deciding.stability is None
    assert any(note.startswith("The official ranking has no intervals. The arena decides") for note in ranking.notes)
    assert any("whose ratings decided among them" in sentence for sentence in ranking.methods.sentences)
    assert "* ordered by the arena's ratings" in capfd.readouterr().out


def test_an_arena_without_a_finalist_is_refused(nine_teams: Path, capfd: pytest.CaptureFixture[str]) -> None:
    arena = nine_teams.parent / "arena.json"
    arena.write_text(json.dumps({"ratings": {f"team{number}": 1000 for number in range(1, 8) if number != 3}}))
    code, _ = run(nine_teams, "--arena", str(arena))
    assert code == 2
    assert capfd.readouterr().err == f"{arena} has no rating for the finalist 'team3'.\n"


def test_an_arena_of_fewer_teams_than_places(nine_teams: Path) -> None:
    arena = nine_teams.parent / "arena.json"
    arena.write_text(json.dumps({"ratings": {f"team{number}": 1000 + number for number in range(1, 6)}}))
    code, ranking = run(nine_teams, "--arena", str(arena))
    assert code == 0
    assert ranking is not None
    assert [team.name for team in ranking.teams] == [f"team{number}" for number in (5, 4, 3, 2, 1, 6, 7, 8, 9)]
    assert [team.rank for team in ranking.teams] == list(range(1, 10))
    assert [team.finalist for team in ranking.teams] == [True] * 5 + [False] * 4
    assert "The arena rated only the best 5 teams; it has 7 places." in ranking.notes


def test_a_tie_at_the_last_place_is_left_to_the_organisers(nine_teams: Path) -> None:
    (nine_teams / "team8.json").write_text((nine_teams / "team7.json").read_text())
    _, ranking = run(nine_teams)
    assert ranking is not None
    assert sum(team.finalist for team in ranking.teams) == 8
    assert "Due to a tie, 8 teams qualify for the arena's 7 places: the organisers must decide." in ranking.notes


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
    arena = nine_teams.parent / "arena.json"
    ratings = {f"team{number}": 1000 - min(number, 7) for number in range(1, 9)}
    arena.write_text(json.dumps({"ratings": {team: each for team, each in ratings.items() if team not in left_out}}))
    code, ranking = run(nine_teams, "--arena", str(arena))
    assert code == 0
    assert ranking is not None
    assert [(team.name, team.rank, team.finalist) for team in ranking.teams[6:]] == last
    assert not any("have to decide" in note for note in ranking.notes)


def test_without_the_judge_there_is_no_official_ranking(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "teams"
    folder.mkdir()
    (folder / "good.json").write_text(json.dumps(document(None)))
    (folder / "bad.json").write_text(json.dumps(document(None, ("nothing", "of note"))))
    code, _ = run(folder)
    assert code == 2
    assert capfd.readouterr().err == (
        f"{folder / 'bad.json'} has no aggregates.score_final, which teams are ranked by. Run 'podium judge' on it "
        "first; '--scheme platform' ranks by what the container knows.\n"
    )
    code, ranking = run(folder, "--scheme", "platform")
    assert code == 0
    assert ranking is not None
    assert [team.name for team in ranking.teams] == ["good", "bad"]
    assert ranking.notes[0].startswith("There are only 2 cases: ")
    assert (
        "This is not the official ranking: the files do not have the figures that the official rule compares."
        in ranking.notes
    )
    assert "official" not in [scheme.scheme for scheme in ranking.schemes]
    assert "The rows do not contain 'radfact.f1', so the general schemes do not use it." in ranking.notes
