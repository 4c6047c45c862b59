"""`podium rank` from files to table, ranking.json and ranking.csv."""

import csv
import json
import math
import os
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest
from challenges.built import carotid
from tools.ranking.files import (
    CASES,
    FAIR,
    GOOD,
    POOR,
    carotid_document,
    ranked,
    said,
    settings,
    three_teams,
    write_teams,
)
from tools.ranking.replicates import resampled

from podium.errors import UsageError
from podium.metrics.resampling import Resamples
from podium.platform.jobs import Runtime
from podium.platform.metrics_file import CaseResult
from podium.tools.ranking.output import written_at_once
from podium.tools.ranking.result import Ranking, ranking_from_json, ranking_to_json

TAIL_OF_SIX = 0.002437  # Phi(-sqrt(6 / 5) t), t = 2.570582 of 5 degrees of freedom at 97.5 %


@pytest.fixture(scope="module")
def three(tmp_path_factory: pytest.TempPathFactory) -> Ranking:
    """The ranking of three teams; for reading only."""
    return ranked(tmp_path_factory.mktemp("three"), three_teams())


def rank_teams(podium: Any, root: Path, *arguments: object, **more: Any) -> Any:
    """`podium rank` on three teams and others: how it ended."""
    folder = write_teams(root / "teams", three_teams() | more)
    return podium("rank", folder, "--output", root / "out", "--bootstraps", "20", *arguments)


def names(ranking: Ranking) -> list[str]:
    return [team.name for team in ranking.teams]


# The official ranking of carotid


def test_the_official_order_counts_missing_cases_with_the_worst_values(three: Ranking) -> None:
    assert names(three) == ["good", "fair", "poor"]
    assert [team.rank for team in three.teams] == [1, 2, 3]
    assert three.deciding_scheme == "official"
    poor = three.teams[2]
    assert (poor.expected, poor.scored, poor.failed, poor.missing) == (6, 4, 0, 2)
    assert [(each.case, each.status) for each in poor.troubles] == [("case_2", "missing"), ("case_5", "missing")]
    assert "poor: 2 missing of 6 cases, in which what is missing counts with the worst values." in said(three)
    assert not any("recomputed" in note for note in said(three)), "the fixed rule needs no cohort"
    assert [(each.title, each.weight) for each in three.rule] == [
        *(("Classification", 0.4), ("Segmentation", 0.4), ("Time", 0.2)),
    ]
    # By hand: all eight figures are the case's quality, so the segmentation score is 100 times its mean.
    assert three.columns[2].path == "segmentation_score"
    assert three.columns[2].values[2] == pytest.approx(100 * (0.5 + 0.3 + 0.39 + 0.1) / 6)


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        ((20, 100, 150), (100, 41.666667, 0)),
        ((40, 100, 200), (100, 57.142857, 0)),
        ((20, 100, 200), (100, 53.333333, 0)),
        ((40, 100, 150), (100, 45.454545, 0)),
        ((10, 20, 20), (100, 100, 100)),
        ((180, 200, 250), (0, 0, 0)),
    ],
)
def test_time_scores_are_recomputed_over_the_cohort(
    tmp_path: Path, seconds: tuple[float, ...], expected: tuple[float, ...]
) -> None:
    """The worked figures of the rule: baseline 90 s."""
    teams = {
        f"team{number}": carotid_document(GOOD, seconds=each, configuration=settings("cohort"))
        for number, each in enumerate(seconds)
    }
    ranking = ranked(tmp_path, teams)
    assert names(ranking) == ["team0", "team1", "team2"]
    columns = {column.path: column for column in ranking.columns}
    assert columns["time_score"].values == pytest.approx(expected, abs=5e-7)
    segmentation = 100 * sum(GOOD) / 6
    assert columns["score"].values == pytest.approx([0.4 * 100 + 0.4 * segmentation + 0.2 * each for each in expected])
    assert ranking.deciding.scores == columns["score"].values
    assert "Figures that depend on all teams were recomputed for these teams." in said(ranking)


def test_an_unknown_time_scores_nothing_and_sets_no_bound(tmp_path: Path) -> None:
    times = {"unknown": None, "quick": 40.0, "slow": 150.0}
    teams = {
        team: carotid_document(GOOD, seconds=each, configuration=settings("cohort")) for team, each in times.items()
    }
    ranking = ranked(tmp_path, teams)
    column = next(column for column in ranking.columns if column.path == "time_score")
    assert dict(zip(names(ranking), column.values, strict=True)) == {"quick": 100.0, "slow": 0.0, "unknown": 0.0}
    assert [team.rank for team in ranking.teams] == [1, 2, 2]
    assert ranking.teams[1].tied_with == ("unknown",)


def test_teams_measured_by_different_clocks_are_named(tmp_path: Path) -> None:
    clocks: dict[str, Any] = {"a": {"exec": 6}, "b": {"invoke": 6}, "c": {"exec": 5, "invoke": 1}, "file": {}}
    teams = {team: carotid_document(GOOD, jobs=jobs) for team, jobs in clocks.items()}
    (warning,) = (note for note in said(ranked(tmp_path / "mixed", teams)) if "clock" in note)
    assert "measured by different clocks: exec_duration of a, c; invoke_duration of b, c." in warning
    alike = {team: teams[team] for team in ("a", "file")}
    notes = said(ranked(tmp_path / "alike", alike))
    assert not any("clock" in note for note in notes)
    assert any("advises caution" in note for note in notes)
    by_hand = said(ranked(tmp_path / "by hand", {"file": teams["file"]}))
    assert not any("advises caution" in note for note in by_hand), "the platform measured nothing"


@pytest.mark.parametrize("quality", [GOOD, FAIR, POOR])
@pytest.mark.parametrize("rule", ["fixed", "cohort"])
def test_every_replicate_scores_as_a_submission_of_the_drawn_cases_would(
    quality: tuple[float | None, ...], rule: str
) -> None:
    document = carotid_document(quality, seconds=100.0, wrong=("case_1", "case_4"), configuration=settings(rule))
    results = [CaseResult(**row) for row in document["results"]]
    challenge = carotid(settings(rule))
    rows = [result.metrics for result in results]
    whole = resampled(challenge, rows, document["aggregates"], Resamples.whole(len(rows)))
    assert whole["score"][0] == pytest.approx(document["aggregates"]["score"], abs=1e-12)
    resamples = Resamples.draw(cases=len(results), replicates=20, seed=9)
    found = resampled(challenge, rows, document["aggregates"], resamples)
    for replicate, counts in enumerate(resamples.counts):
        drawn = [result for result, count in zip(results, counts, strict=True) for _ in range(count)]
        figures = challenge.aggregate(drawn, Runtime(total_seconds=100.0))
        # The time is that of the submission, whichever cases are drawn.
        expected = figures["score"] + 0.2 * (document["aggregates"]["time_score"] - figures["time_score"])
        assert found["score"][replicate] == pytest.approx(expected, abs=1e-10)


def test_a_resampled_score_by_hand() -> None:
    """Cases 0, 0, 1 of which case 0 (class 0) is right and case 1 (class 1) is taken for class 0."""
    document = carotid_document(GOOD, seconds=180.0, wrong=("case_1",))
    rows = [row["metrics"] for row in document["results"]]
    resamples = Resamples(np.array([[2, 1, 0, 0, 0, 0]], dtype=np.int32))
    found = resampled(carotid(settings()), rows, document["aggregates"], resamples)
    macro_f1 = (2 * 2 / (2 * 2 + 1) + 0) / 2  # class 0: two hits, one false positive; class 1: one miss
    segmentation = (0.9 + 0.9 + 0.8) / 3
    assert found["score"][0] == pytest.approx(40 * macro_f1 + 40 * segmentation)


# What else the result holds


def test_the_bootstrap_of_the_official_ranking(tmp_path: Path) -> None:
    ranking = ranked(tmp_path, three_teams(), bootstraps=200)
    for scheme in ranking.schemes:
        assert scheme.stability.replicates == 200
        assert np.array(scheme.stability.rank_frequencies).sum(axis=1) == pytest.approx(1)
    official = ranking.scheme("official").stability
    assert official.win_probabilities[0] > official.win_probabilities[1] > 0
    assert official.mean_ranks[0] < official.mean_ranks[1] < official.mean_ranks[2]


def test_five_schemes_stand_beside_the_official_one(three: Ranking) -> None:
    means, ranks = ("mean-then-rank", "median-then-rank"), ("rank-then-mean", "rank-then-median")
    assert [scheme.scheme for scheme in three.schemes] == ["official", *means, *ranks, "test-then-rank"]
    assert np.array(three.scheme_taus, dtype=float).shape == (6, 6)
    assert [entry.metric for entry in three.significance] == ["segmentation", "risk.correct"]
    # good beats poor by .4, .5, .85, .56, .6, .9: W+ = 21 of 21, no ties.
    deviation = math.sqrt(6 * 7 * 13 / 24)
    p = three.significance[0].p[0][2]
    assert p == pytest.approx(0.5 * math.erfc((21 - 10.5 - 0.5) / deviation / math.sqrt(2)))
    assert three.significance[0].significant[0][2]
    assert three.significance[0].p[0][0] is None


def test_single_cases_are_kept_as_they_are(three: Ranking) -> None:
    assert three.cases == CASES
    metric = next(metric for metric in three.metrics if metric.name == "segmentation")
    assert metric.values[0] == GOOD
    assert metric.in_schemes
    assert three.statuses[2] == ("scored", "scored", "missing", "scored", "scored", "missing")


def test_the_method_is_stated(tmp_path: Path) -> None:
    text = " ".join(ranked(tmp_path, three_teams(), bootstraps=1000, seed=7).methods.sentences)
    for words in (
        "3 teams took part in Carotid in small (version 1.0), evaluated on 6 cases.",
        "teams are ranked by Score (0-100) = 0.4 Classification + 0.4 Segmentation + 0.2 Time",
        "1,000 bootstrap replicates over cases, drawn with replacement by a PCG64 generator with seed 7",
        "Segmentation and Risk correct",
        "all 6 ordered pairs",
        "Computed with Podium",
    ):
        assert words in text


# Schemes on request


@pytest.mark.parametrize(
    ("arguments", "scheme"),
    [
        (("--scheme", "aggregate-then-rank"), "mean-then-rank"),
        (("--scheme", "aggregate-then-rank", "--statistic", "median"), "median-then-rank"),
        (("--scheme", "aggregate-then-rank", "--statistic", "quantile", "--quantile", "0.1"), "quantile-then-rank"),
        (("--scheme", "rank-then-aggregate"), "rank-then-mean"),
        (("--scheme", "rank-then-aggregate", "--statistic", "median"), "rank-then-median"),
        (("--scheme", "test-then-rank"), "test-then-rank"),
        (("--scheme", "test-then-rank", "--holm"), "test-then-rank-holm"),
        (("--scheme", "platform"), "platform"),
        (("--scheme", "platform", "--platform-method", "median"), "platform"),
    ],
)
def test_every_scheme_can_decide(podium: Any, tmp_path: Path, arguments: tuple[str, ...], scheme: str) -> None:
    ended = rank_teams(podium, tmp_path, *arguments)
    assert ended.code == 0, ended.err
    ranking = ranking_from_json((tmp_path / "out" / "ranking.json").read_bytes())
    assert ranking.deciding_scheme == scheme
    assert ranking.teams[-1].name == "poor"
    stated = next(each for each in ranking.methods.sentences if "follows another scheme instead: teams are" in each)
    assert ("by the 0.1 quantile of their cases" in stated) == (scheme == "quantile-then-rank")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--statistic", "median"), "--statistic belongs to --scheme aggregate-then-rank or rank-then-aggregate."),
        (("--holm",), "--holm belongs to --scheme test-then-rank."),
        (("--platform-method", "mean"), "--platform-method belongs to --scheme platform."),
        (("--quantile", "0.1"), "--quantile belongs to --statistic quantile."),
        (
            ("--scheme", "rank-then-aggregate", "--statistic", "quantile"),
            "--scheme rank-then-aggregate takes --statistic mean or median.",
        ),
        (("--scheme", "platform", "--arena", "a.json"), "--arena belongs to --scheme official."),
        (("--arena", "a.json"), "The challenge 'carotid' has no arena."),
        (("--metric", "beauty"), "There is no metric 'beauty'; the metrics are: dice.long_vessel, "),
    ],
)
def test_options_that_make_no_sense_are_refused(
    podium: Any, tmp_path: Path, arguments: tuple[str, ...], words: str
) -> None:
    ended = rank_teams(podium, tmp_path, *arguments)
    assert ended.code == 2
    assert ended.last_line.startswith(words)


def test_chosen_metrics_replace_the_declared_ones(tmp_path: Path) -> None:
    ranking = ranked(tmp_path, three_teams(), metrics=("dice.long_plaque",), scheme="mean-then-rank")
    assert ranking.deciding.score_title == "Dice longitudinal plaque"
    assert ranking.deciding.scores[0] == pytest.approx(sum(GOOD) / 6)


# What cannot be done is said


def test_without_single_cases_teams_are_ranked_by_aggregates_alone(tmp_path: Path) -> None:
    """Six hidden cases: scores have steps of 10, in which the first two are equal."""
    ranking = ranked(tmp_path, three_teams(per_case="none"))
    assert [(team.name, team.rank) for team in ranking.teams] == [("fair", 1), ("good", 1), ("poor", 3)]
    assert [scheme.scheme for scheme in ranking.schemes] == ["official"]
    assert ranking.deciding.stability is None
    assert ranking.deciding.why_no_stability == "The files contain no per-case rows, so cases cannot be resampled."
    assert said(ranking)[0] == (
        "The files contain no per-case rows: teams are ranked by aggregates alone, without bootstrap, tests or other "
        "schemes."
    )


def test_a_scheme_by_cases_without_cases(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="'test-then-rank' ranks by per-case values, and the files contain none"):
        ranked(tmp_path, three_teams(per_case="none"), scheme="test-then-rank")


def test_anonymous_rows_lack_the_classes(tmp_path: Path) -> None:
    ranking = ranked(tmp_path, three_teams(per_case="anonymous"))
    assert ranking.deciding.stability is None
    assert ranking.scheme("mean-then-rank").stability is not None
    assert (
        "The official ranking has no intervals. The rows are anonymous and do not contain everything the official "
        "score is computed from, so it cannot be recomputed."
    ) in said(ranking)
    assert "The rows are anonymous and do not contain 'risk.correct', so the general schemes do not use it." in said(
        ranking
    )


def test_no_bootstrap_on_request(tmp_path: Path) -> None:
    ranking = ranked(tmp_path, three_teams(), bootstraps=0)
    assert {scheme.why_no_stability for scheme in ranking.schemes} == {"No bootstrap was requested."}


@pytest.mark.parametrize("value", ["high", True, math.nan, 1e308, 10**400])
def test_a_figure_that_is_no_number(tmp_path: Path, value: Any) -> None:
    document = carotid_document(GOOD)
    document["results"][0]["metrics"]["segmentation"] = value
    with pytest.raises(UsageError, match=r"a/metrics.json: 'segmentation' of the case 'case_0' is not a number\."):
        ranked(tmp_path, {"a": document})


# Odd cohorts


def test_one_team(tmp_path: Path) -> None:
    ranking = ranked(tmp_path, {"alone": carotid_document(GOOD)})
    assert ranking.teams[0].rank == 1
    stability = ranking.deciding.stability
    assert stability.rank_frequencies == ((1.0,),)
    assert stability.taus.undefined == 40
    assert ranking.methods.sentences[0].startswith("1 team took part in ")
    assert not any("Wilcoxon" in sentence for sentence in ranking.methods.sentences), "it is compared with nobody"
    assert ranking_from_json(ranking_to_json(ranking)) == ranking


def test_identical_teams_tie_everywhere(tmp_path: Path) -> None:
    ranking = ranked(tmp_path, {name: carotid_document(FAIR, wrong=("case_3",)) for name in ("b", "a", "c")})
    assert names(ranking) == ["a", "b", "c"]
    for scheme in ranking.schemes:
        assert scheme.ranks == (1, 1, 1)
        assert scheme.stability.rank_frequencies == ((1.0, 0.0, 0.0),) * 3
        assert scheme.stability.win_probabilities == pytest.approx([1 / 3] * 3)
    assert ranking.teams[0].tied_with == ("b", "c")


def test_a_team_that_answered_nothing(tmp_path: Path) -> None:
    teams = three_teams() | {"silent": carotid_document([None] * 6, seconds=None)}
    ranking = ranked(tmp_path, teams)
    assert names(ranking)[-1] == "silent"
    assert ranking_from_json(ranking_to_json(ranking)) == ranking


def test_team_names_change_nothing_but_their_order(tmp_path: Path) -> None:
    plain = ranked(tmp_path / "plain", three_teams())
    renaming = {"good": "z", "fair": "y", "poor": "x"}
    other = ranked(tmp_path / "other", {renaming[team]: document for team, document in three_teams().items()})
    assert names(other) == ["z", "y", "x"]
    assert [scheme.ranks for scheme in other.schemes] == [scheme.ranks for scheme in plain.schemes]
    assert [scheme.stability for scheme in other.schemes] == [scheme.stability for scheme in plain.schemes]


# Output


def test_same_input_same_bytes_and_another_seed_other_replicates(podium: Any, tmp_path: Path) -> None:
    written = []
    for seed in (3, 3, 4):
        assert rank_teams(podium, tmp_path, "--seed", seed).code == 0
        written.append([(tmp_path / "out" / file).read_bytes() for file in ("ranking.json", "ranking.csv")])
    assert written[0] == written[1]
    assert written[0][0] != written[2][0]


def test_ranking_json_follows_the_schema_that_the_module_prints(three: Ranking) -> None:
    text = ranking_to_json(three)
    shown = subprocess.run(
        [sys.executable, "-m", "podium.tools.ranking.result"], capture_output=True, text=True, check=True
    ).stdout
    jsonschema.Draft202012Validator(json.loads(shown)).validate(json.loads(text))
    assert ranking_from_json(text) == three


@pytest.mark.parametrize(
    ("changes", "words"),
    [({"teams": ()}, "it has no teams"), ({"deciding_scheme": "best"}, "it has no scheme 'best'")],
)
def test_a_ranking_json_that_contradicts_itself(three: Ranking, changes: Any, words: str) -> None:
    changed = ranking_to_json(replace(three, **changes))
    with pytest.raises(UsageError, match=f"^r.json is not a ranking.json written by 'podium rank': {words}"):
        ranking_from_json(changed, name="r.json")


def test_the_csv_has_a_line_a_team(podium: Any, tmp_path: Path) -> None:
    assert rank_teams(podium, tmp_path, **{"=SUM(A1)": carotid_document(POOR)}).code == 0
    rows = list(csv.DictReader((tmp_path / "out" / "ranking.csv").read_text(encoding="utf-8").splitlines()))
    assert [row["team"] for row in rows] == ["good", "fair", "poor", "'=SUM(A1)"]
    assert [row["rank"] for row in rows] == ["1", "2", "3", "4"]
    assert float(rows[0]["aggregates.segmentation_score"]) == pytest.approx(100 * sum(GOOD) / 6)
    assert rows[2]["missing"] == "2"
    assert rows[0]["rank.test-then-rank"] in {"1", "2", "3", "4"}


def test_the_table_says_how_many_cases_were_scored(podium: Any, tmp_path: Path) -> None:
    out = rank_teams(podium, tmp_path, **{"[red]x": carotid_document(FAIR)}).out
    assert out.index("good") < out.index("fair") < out.index("poor")
    assert "[red]x" in out
    assert "4/6" in out
    assert "poor: 2 missing of 6 cases" in out
    assert "0.4 Classification" in out


def test_what_cannot_be_written(podium: Any, tmp_path: Path) -> None:
    (tmp_path / "out").touch()
    ended = rank_teams(podium, tmp_path)
    assert (ended.code, ended.err) == (2, f"{tmp_path / 'out'} cannot be written to: Not a directory.\n")


# Figures are recomputed, not believed


def test_aggregates_that_contradict_their_rows_are_refused(tmp_path: Path) -> None:
    teams = three_teams()
    teams["fair"]["aggregates"]["segmentation_score"] += 1.0
    expected = 100 * sum(FAIR) / 6
    with pytest.raises(UsageError) as refused:
        ranked(tmp_path, teams)
    assert str(refused.value) == (
        f"{tmp_path / 'fair' / 'metrics.json'} has aggregates.segmentation_score = {expected + 1:.10g}, but its "
        f"rows give {expected:.10g}: it was changed after it was written, or written by another version."
    )


@pytest.mark.parametrize(
    ("emptied", "words"),
    [
        (
            {"dice": {}},
            ": the case 'case_0' lacks the figure 'dice.long_vessel', which other cases have: it was changed",
        ),
        ({"dice": None}, ": the case 'case_0' lacks the figure 'dice.long_vessel', which"),
        (
            {"risk": {"reference": 1, "prediction": 2, "correct": 1}},
            " has aggregates.score = 100, but its rows are not sufficient, unlike those of other teams: it",
        ),
    ],
)
def test_a_row_without_its_figures_hides_no_forged_score(tmp_path: Path, emptied: dict[str, Any], words: str) -> None:
    """Else nothing could be computed again, the score of 100 would win, and all teams would lose their intervals."""
    teams = three_teams()
    teams["poor"]["aggregates"]["score"] = 100
    teams["poor"]["results"][0]["metrics"] |= emptied
    with pytest.raises(UsageError, match=f"poor/metrics.json{words}"):
        ranked(tmp_path, teams)
    teams["poor"]["results"][0]["metrics"] = {}
    with pytest.raises(UsageError, match=r"poor/metrics.json: the case 'case_0' lacks the figure '.*', which other"):
        ranked(tmp_path, teams)
    for row in teams["poor"]["results"]:
        row["metrics"] = {}
    with pytest.raises(UsageError, match=r"poor/metrics.json has aggregates.* but its rows are not sufficient"):
        ranked(tmp_path, teams)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"time_known": None}, "lacks aggregates.time_known: it was changed after it was written, or written by an"),
        ({"time_known": {}}, "lacks aggregates.time_known: "),
        ({"total_seconds": None}, "lacks aggregates.total_seconds: "),
    ],
)
@pytest.mark.parametrize("rule", ["fixed", "cohort"])
def test_aggregates_that_the_rules_need_are_not_left_out(
    tmp_path: Path, changes: dict[str, Any], words: str, rule: str
) -> None:
    teams = three_teams(configuration=settings(rule))
    figures = {key: value for key, value in (teams["poor"]["aggregates"] | changes).items() if value is not None}
    teams["poor"]["aggregates"] = figures
    with pytest.raises(UsageError, match=f"poor/metrics.json {words}"):
        ranked(tmp_path, teams)


def test_a_time_score_that_is_taken_away_hides_no_forged_score(tmp_path: Path) -> None:
    teams = three_teams()
    teams["poor"]["aggregates"] |= {"time_score": {}, "score": 100.0}
    with pytest.raises(UsageError, match=r"poor/metrics.json has aggregates.score = 100, but its rows are not suff"):
        ranked(tmp_path, teams)


def test_rounded_aggregates_agree_and_the_exact_ones_decide(tmp_path: Path) -> None:
    """Two teams whose published scores are equal to two decimals: their rows tell them apart."""
    near = tuple(value - 1e-5 for value in GOOD)
    teams = {"a": carotid_document(near), "b": carotid_document(GOOD)}
    for document in teams.values():
        figures = document["aggregates"]
        for path in ("score", "segmentation_score", "score_without_time"):
            figures[path] = round(figures[path], 2)
    assert teams["a"]["aggregates"]["score"] == teams["b"]["aggregates"]["score"]
    ranking = ranked(tmp_path, teams)
    assert [(team.name, team.rank) for team in ranking.teams] == [("b", 1), ("a", 2)]
    assert ranking.deciding.scores[1] == pytest.approx(89 - 40 * 1e-5, abs=1e-9)


def test_a_figure_out_of_range_is_refused(tmp_path: Path) -> None:
    teams = three_teams()
    teams["fair"]["results"][2]["metrics"]["dice"]["long_vessel"] = 1.5
    with pytest.raises(UsageError, match=r"fair/.*: 'dice.long_vessel' of the case 'case_2' is 1.5, outside 0 to 1\."):
        ranked(tmp_path, teams)


# Intervals


def test_every_mean_has_an_interval_and_time_has_none(tmp_path: Path) -> None:
    ranking = ranked(tmp_path, three_teams(), bootstraps=200)
    columns = {column.path: column for column in ranking.columns}
    assert ranking.not_resampled == ("Time", "Seconds")
    assert all((column.intervals is None) == (column.title in ranking.not_resampled) for column in columns.values())
    for column in columns.values():
        for value, interval in zip(column.values, column.intervals or (), strict=False):
            assert value is not None
            assert interval[0] - 1e-9 <= value <= interval[1] + 1e-9
    draws = Resamples.draw(cases=6, replicates=200, seed=0).counts
    literal = [100 * float(np.mean(np.repeat(GOOD, times))) for times in draws]
    intervals = columns["segmentation_score"].intervals
    assert intervals[0] == pytest.approx(tuple(np.quantile(literal, [TAIL_OF_SIX, 1 - TAIL_OF_SIX])), rel=1e-4)
    assert ranking.teams[0].score_interval == ranking.deciding.score_intervals[0]  # type: ignore[index]
    assert "Not resampled, because each team has only one figure: Time, Seconds." in ranking.methods.sentences
    dice = next(metric for metric in ranking.metrics if metric.name == "dice.long_plaque")
    assert dice.means[0] == pytest.approx(sum(GOOD) / 6)
    assert 100 * np.array(dice.mean_intervals[0]) == pytest.approx(np.array(intervals[0]))


def test_confidence_and_alpha(tmp_path: Path) -> None:
    teams = three_teams()
    wide, narrow = (ranked(tmp_path, teams, bootstraps=200, confidence=each, alpha=1 - each) for each in (0.99, 0.5))
    assert wide.deciding.score_intervals is not None
    assert narrow.deciding.score_intervals is not None
    for outer, inner in zip(wide.deciding.score_intervals, narrow.deciding.score_intervals, strict=True):
        assert outer[0] <= inner[0] <= inner[1] <= outer[1]
    assert (wide.methods.confidence, wide.methods.alpha) == (0.99, pytest.approx(0.01))
    assert any("99 % percentile interval" in sentence for sentence in wide.methods.sentences)


def test_small_numbers_are_said_first(three: Ranking) -> None:
    first = three.notes[0]
    assert (first.kind, first.line, first.numbers) == ("intervals", "6 cases: read intervals with care", {"cases": 6})
    assert first.text.startswith(
        "There are only 6 cases: intervals and probabilities are only rough estimates. There are fewer than 20 cases: "
        "rare failures may be missing from the sample, and intervals then are too narrow."
    )
    assert [(each.better, each.worse) for each in three.differences] == [("good", "fair"), ("fair", "poor")]
    assert three.teams[0].group == 1


# Nothing of a file reaches a terminal as a command


def test_control_characters_are_printed_as_text(podium: Any, tmp_path: Path) -> None:
    evil = "\x1b]0;owned\x07\x9b31m\u202e"
    teams = {f"t\x1b[2J{number}": document for number, document in enumerate(three_teams().values())}
    for document in teams.values():
        document["title"] = document["version"] = f"Carotid{evil}"
        for row in document["results"]:
            row["error"] = row["error"] and f"broken{evil}"
    ended = podium("rank", write_teams(tmp_path / "teams", teams), "--output", tmp_path / "out", "--replicates", "20")
    assert ended.code == 0
    for text in (ended.out, ended.err, (tmp_path / "out" / "ranking.csv").read_text()):
        assert not [character for character in text if not character.isprintable() and character != "\n"]
    assert "Carotid\\x1b]0;owned\\x07" in ended.out
    assert ranking_from_json((tmp_path / "out" / "ranking.json").read_bytes()).title.isprintable()


def test_a_run_that_is_killed_leaves_no_part_of_a_ranking(tmp_path: Path) -> None:
    """Tables without the page, or the page of another run, would be taken for a ranking."""
    write_teams(tmp_path / "teams", three_teams())
    output = tmp_path / "ranking"
    command = [sys.executable, "-m", "podium", "rank", str(tmp_path / "teams"), "--output", str(output)]
    process = subprocess.Popen([*command, "--bootstraps", "10"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while process.poll() is None and not list(output.rglob("ranking.json")):
        time.sleep(0.001)
    process.kill()
    process.wait()
    found = sorted(path.name for path in output.iterdir() if not path.name.startswith("."))
    complete = ["figures", "ranking.csv", "ranking.json", "ranking.tex", "report.html"]
    assert found in ([], complete)
    assert subprocess.run([*command, "--bootstraps", "10"], capture_output=True, check=True).returncode == 0
    assert sorted(path.name for path in output.iterdir()) == complete  # nothing is left of the run that was killed


def test_the_folder_of_a_run_that_goes_on_is_left_to_it(tmp_path: Path) -> None:
    ended = subprocess.Popen(["true"])
    ended.wait()
    others = [tmp_path / f".unfinished.{os.uname().nodename}.{process}" for process in (os.getppid(), ended.pid)]
    for folder in (*others, tmp_path / ".unfinished.another-machine.1"):
        folder.mkdir()
    with written_at_once(tmp_path):
        pass
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([others[0].name, ".unfinished.another-machine.1"])


@pytest.mark.parametrize(
    ("status", "dice", "given"), [("scored", 0.9, r"0\.9"), ("missing", 0.0, "0"), ("scored", None, "no value")]
)
def test_a_figure_of_a_row_that_was_changed(tmp_path: Path, status: str, dice: float | None, given: str) -> None:
    """It is a formula of other figures of the row, and would win every ranking case by case."""
    teams = three_teams()
    row = teams["good"]["results"][0]
    row["status"], row["error"] = status, "missing" if status == "missing" else None
    row["metrics"] |= {name: dict.fromkeys(row["metrics"][name], dice) for name in ("dice", "nsd")}
    row["metrics"]["segmentation"] = 1.0
    lost = int(status == "missing")
    teams["good"]["counts"] |= {"scored": 6 - lost, "missing": lost}
    words = f"good/metrics.json: 'segmentation' of the case 'case_0' is 1, but .* other figures give {given}:"
    with pytest.raises(UsageError, match=words):
        ranked(tmp_path, teams)


def test_team_names_that_look_the_same_are_refused(tmp_path: Path) -> None:
    teams = three_teams()
    with pytest.raises(UsageError, match=r"The team names .*good"):
        ranked(tmp_path, {"good": teams["good"], "good\u200b": teams["poor"]})
