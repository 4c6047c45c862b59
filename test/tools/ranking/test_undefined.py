"""What has no value is not zero: in formulas, in the replicates of a bootstrap, in groups and in every table."""

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from challenges.declared.declaring import write_challenge
from sklearn.metrics import average_precision_score
from tools.ranking.files import evaluated_and_ranked, printed, said

from podium import rank
from podium.challenges import challenge_from_settings
from podium.challenges.freehand.scoring import FreehandCase
from podium.metrics.aggregation import CohortValues, aggregate
from podium.metrics.declaration import Metric
from podium.metrics.resampling import Resamples, expanded_tail, percentile_interval
from podium.tools.ranking.comparisons import paired_p_over_pairs, rank_groups
from podium.tools.ranking.output import ranking_latex, table_columns
from podium.tools.ranking.result import Ranking, ranking_from_json, ranking_to_json
from podium.tools.ranking.schemes import RankingOptions, SchemeOutcome, case_table, positions_in_cases
from podium.tools.ranking.statistics import median_interval
from podium.tools.ranking.tables import TableOptions
from podium.tools.report.ranking_report import ranking_report
from podium.tools.report.tables import claims_table

pytestmark = pytest.mark.usefixtures("in_process")

FINDINGS = ("effusion", "mass", "hernia")
CASES = 300
HERNIAS = (8, 85, 126)  # of 1,000 draws under seed 0, 32 have none of these three
VALUES = "".join(
    f'[values.{name}]\nkind = "probability"\npositive = "yes"\ntable = "p.csv"\ncolumn = "{name}"\n'
    for name in FINDINGS
)
AP = '[[metrics]]\nkind = "average_precision"\nname = "ap"\nof = ["effusion", "mass", "hernia"]\n'
MEAN = "mean(ap.effusion, ap.mass, ap.hernia)"


def table(values: dict[str, Any], cases: int) -> str:
    lines = [f"c{case:03},{','.join(str(values[name][case]) for name in FINDINGS)}" for case in range(cases)]
    return "\n".join([f"case,{','.join(FINDINGS)}", *lines]) + "\n"


def truth_of(cases: int) -> dict[str, Any]:
    number = np.arange(cases)
    return {"effusion": number % 3 == 0, "mass": number % 10 == 0, "hernia": np.isin(number, HERNIAS)}


def predicted(truth: dict[str, Any], *, noise: float, seed: int) -> dict[str, Any]:
    random = np.random.default_rng(seed)
    return {
        name: np.clip(np.round(np.where(true, 0.7, 0.3) + random.normal(0, noise, true.size), 3), 0, 1)
        for name, true in truth.items()
    }


def ranked(
    root: Path,
    *,
    cases: int,
    formula: str,
    teams: dict[str, dict[str, Any]],
    bootstraps: int,
    truth: dict[str, Any] | None = None,
) -> Ranking:
    truth = {name: true.astype(int) for name, true in (truth or truth_of(cases)).items()}
    toml = f'{VALUES}{AP}[figures]\nmap = {formula}\n[ranking]\nby = "map"\n'
    folder = write_challenge(root / "truth", toml, {"p.csv": table(truth, cases)})
    files = {team: {"p.csv": table(values, cases)} for team, values in teams.items()}
    return evaluated_and_ranked(root, folder, files, RankingOptions(bootstraps=bootstraps))


@pytest.fixture(scope="module")
def rare(tmp_path_factory: pytest.TempPathFactory) -> Ranking:
    """300 cases, three findings, one of them in three cases."""
    truth = truth_of(CASES)
    teams = {team: predicted(truth, noise=noise, seed=1) for team, noise in (("good", 0.1), ("fair", 0.14))}
    formula = f'{{ formula = "{MEAN}", undefined = "exclude" }}'
    return ranked(tmp_path_factory.mktemp("rare"), cases=CASES, formula=formula, teams=teams, bootstraps=1000)


def test_a_resample_without_a_positive_case_is_left_out_of_the_interval_and_counted(rare: Ranking) -> None:
    truth = truth_of(CASES)
    found = predicted(truth, noise=0.14, seed=1)
    literal = []
    for counts in Resamples.draw(cases=CASES, replicates=1000, seed=0).counts:
        if counts[list(HERNIAS)].any():
            literal.append(
                np.mean([average_precision_score(truth[name], found[name], sample_weight=counts) for name in FINDINGS])
            )
    assert len(literal) == 968
    team = next(team for team in rare.teams if team.name == "fair")
    exact = np.mean([average_precision_score(truth[name], found[name]) for name in FINDINGS])
    assert team.score == pytest.approx(exact)
    assert team.score_interval == pytest.approx(tuple(np.quantile(literal, [0.024349, 1 - 0.024349])), abs=1e-5)
    assert 0.4 < team.score_interval[0] < team.score
    assert rare.deciding.undefined_replicates == 32
    assert rare.deciding.stability.replicates == 968
    assert ranking_from_json(ranking_to_json(rare)) == rare


def test_what_is_undefined_is_said_beside_the_interval(rare: Ranking) -> None:
    words = "32 of 1,000 resamples undefined"
    assert table_columns(rare)[0].remarks == [words, words]
    assert f'; {words}"' in ranking_report(rare).page
    assert "32 of 1,000" in printed(rare)
    assert f"({words})" in ranking_latex(rare)
    hernia = next(column for column in rare.columns if column.path == "ap.hernia")
    effusion = next(column for column in rare.columns if column.path == "ap.effusion")
    assert hernia.undefined == (32, 32)
    assert effusion.undefined == (0, 0)
    assert not any("†" in note for note in said(rare))


def test_more_than_five_per_cent_mark_the_interval(tmp_path: Path) -> None:
    """One positive case of 30 is not drawn in 36 % of the resamples."""
    truth = truth_of(30)
    formula = f'{{ formula = "{MEAN}", undefined = "worst" }}'
    teams = {"good": predicted(truth, noise=0.1, seed=1), "fair": predicted(truth, noise=0.2, seed=1)}
    ranking = ranked(tmp_path, cases=30, formula=formula, teams=teams, bootstraps=200)
    assert table_columns(ranking)[0].remarks[0].endswith(" of 200 resamples undefined †")
    assert any(note.startswith("† More than 5 % of the resamples have no value") for note in said(ranking))


def test_where_most_resamples_lack_a_term_the_interval_is_over_those_they_have(tmp_path: Path) -> None:
    """Two findings have a single positive case each: of 200 resamples of 30 cases, 3 in 5 lack one of them."""
    number = np.arange(30)
    truth = {"effusion": number % 3 == 0, "mass": number == 1, "hernia": number == 8}
    teams = {"good": predicted(truth, noise=0.1, seed=1), "fair": predicted(truth, noise=0.3, seed=1)}
    formula = f'{{ formula = "{MEAN}", undefined = "exclude" }}\ntwice = "2 * map"'
    ranking = ranked(tmp_path, cases=30, formula=formula, teams=teams, bootstraps=200, truth=truth)
    literal = []
    for counts in Resamples.draw(cases=30, replicates=200, seed=0).counts:
        terms = [name for name in FINDINGS if counts[truth[name]].any()]
        literal.append(
            np.mean([average_precision_score(truth[name], teams["fair"][name], sample_weight=counts) for name in terms])
        )
    team = next(team for team in ranking.teams if team.name == "fair")
    tail = expanded_tail(0.95, 30)
    assert team.score_interval == pytest.approx(tuple(np.quantile(literal, [tail, 1 - tail])))
    assert (ranking.deciding.undefined_replicates, ranking.deciding.interval_kind) == (0, "defined-terms")
    kinds = {column.path: column.interval_kind for column in ranking.columns}
    assert kinds["twice"] == "defined-terms"
    assert kinds["ap.hernia"] == "percentile"
    assert table_columns(ranking)[0].remarks == ["over the terms of each resample"] * 2
    assert [note.rpartition(": ")[2] for note in said(ranking) if "a term of the formula" in note] == [
        "mAP, Twice and AP, mean."
    ]


def test_the_line_on_the_mark_is_not_printed_where_the_marked_column_is_hidden(tmp_path: Path) -> None:
    truth = truth_of(30)
    teams = {"good": predicted(truth, noise=0.1, seed=1), "fair": predicted(truth, noise=0.2, seed=1)}
    formula = '{ formula = "ap.effusion", undefined = "worst" }\n[leaderboard]\ncolumns = ["map", "ap.hernia"]'
    hidden = ranked(tmp_path, cases=30, formula=formula, teams=teams, bootstraps=200)
    shown = replace(hidden, columns=[replace(column, headline=True) for column in hidden.columns])
    for ranking, marks in ((hidden, 0), (shown, 3)):  # in the cells of both teams and in the line below the table
        assert printed(ranking).count("†") == marks


def test_a_term_without_a_value_is_left_out_or_the_worst(tmp_path: Path) -> None:
    """Nobody has a hernia among the first eight cases: a perfect team has 1 of two terms, or 2 of 3."""
    perfect = {name: true.astype(float) for name, true in truth_of(8).items()}
    scores = {}
    for undefined in ("exclude", "worst"):
        formula = f'{{ formula = "{MEAN}", undefined = "{undefined}" }}'
        root = tmp_path / undefined
        ranking = ranked(root, cases=8, formula=formula, teams={"perfect": perfect}, bootstraps=100)
        scores[undefined] = ranking.teams[0].score
        published = json.loads((root / "out" / "perfect" / "metrics.json").read_text())["aggregates"]
        assert "hernia" not in published["ap"]
    assert scores == {"exclude": 1.0, "worst": pytest.approx(2 / 3)}


LIVER = (
    '[values.v]\nkind = "labels"\nfile = "{case}.mha"\nreference = "{case}.mha"\nlabels = { liver = 1 }\n'
    '[[metrics]]\nkind = "dice"\nboth_empty = "exclude"\n'
    '[[metrics]]\nkind = "nsd"\ntolerance_mm = 0.5\nwhere = "dice.liver >= 0.2"\notherwise = "exclude"\n'
    '[ranking]\nby = "nsd"\n'
)


def test_a_team_without_a_value_is_last_and_in_no_group(tmp_path: Path) -> None:
    """None of its masks meets the condition of the ranked figure."""
    organ = np.zeros((4, 4), np.uint8)
    organ[1:3, 1:3] = 1
    empty = {"e.mha": np.zeros_like(organ)}
    one = {f"{case}.mha": np.roll(organ, shift, axis=1) for shift, case in enumerate("abcd")}
    two = {name: np.roll(organ, 1, axis=0) for name in one}
    folder = write_challenge(tmp_path / "truth", LIVER, {**dict.fromkeys(one, organ), **empty})
    none = {name: np.roll(organ, 2, axis=0) for name in one}
    teams = {"one": one | empty, "two": two | empty, "none": none | empty}
    ranking = evaluated_and_ranked(tmp_path, folder, teams, RankingOptions(bootstraps=50))
    last = ranking.teams[-1]
    assert (last.name, last.rank, last.score, last.group, last.group_p) == ("none", 3, None, None, None)
    assert [team.group for team in ranking.teams[:2]] == [1, 1]
    assert table_columns(ranking)[0].cells[-1] == "no value"
    compared = claims_table(ranking)
    assert compared is not None
    assert compared.rows[-1][-1] == "no value"
    assert any(note.startswith("'no value' means that the figure is undefined") for note in said(ranking))


def test_errors_in_mm_of_few_scans_are_never_zero() -> None:
    """Two scans of 8.32 and 71.38 mm, and two that failed: a resample of these has no error, not a perfect one."""
    board = challenge_from_settings("tus", "freehand", {"freehand": {"edition": "2024"}}).scoreboard
    rows = [{"gpe": value} for value in (8.32, 71.38, None, None)]
    drawn = CohortValues(board, rows, Resamples.draw(cases=4, replicates=500, seed=0), {})["gpe.mean"]
    assert 10 < np.count_nonzero(np.isnan(drawn)) < 70  # 1 in 16
    assert percentile_interval(drawn, confidence=0.95, cases=4) == pytest.approx((8.32, 71.38))
    lost, reasons = board.row(FreehandCase({}, {}), lacks=lambda _: True)
    assert (lost["gpe"], reasons["gpe"]) == (None, "prediction_empty")
    given = {"runtime_known": 0.0, "runtime_seconds": 1.0, "scans.scored": 0.0}
    assert "gpe" not in aggregate(board, [lost, lost], given)


def test_groups_leave_out_teams_without_a_value() -> None:
    scores = np.array([[0.9, 0.8, -np.inf]])
    random = np.random.default_rng(0)
    drawn = np.where(np.isinf(scores), scores, scores + random.normal(0, 0.001, (200, 3)))
    drawn[7] = np.nan  # a replicate without a value is no evidence, and none against it either
    full, replicates = (
        SchemeOutcome(ranks=np.ones(each.shape, np.int64), scores=each, direction="higher", score_title="s")
        for each in (scores, drawn)
    )
    groups, _ = rank_groups(full.scores[0], paired_p_over_pairs(full, replicates, cases=50), alpha=0.05)
    assert groups == (1, 2, None)


def test_an_interval_that_excludes_zero_within_a_group_is_explained(rare: Ranking) -> None:
    one, two = rare.teams
    same = (one, replace(two, group=one.group, group_p=0.061))
    difference = replace(rare.differences[0], interval=(0.01, 0.2))
    assert rare.claims is not None
    shown = claims_table(replace(rare, teams=same, claims=replace(rare.claims, pairs=(difference,))))
    assert shown is not None
    assert shown.rows[0][-1] == "same (p = 0.061)"
    assert "adjusted over all pairs of teams" in shown.caption


# Medians


@pytest.mark.parametrize(("n", "lower", "upper"), [(5, None, None), (6, 1, 6), (10, 2, 9), (20, 6, 15), (50, 18, 33)])
def test_the_exact_interval_of_a_median_is_that_of_the_tables(n: int, lower: int | None, upper: int | None) -> None:
    """Ranks at 95 %, as printed in textbooks: 2 and 9 of 10, 6 and 15 of 20, 18 and 33 of 50."""
    values = np.random.default_rng(n).permutation(np.arange(1.0, n + 1))
    assert median_interval(values, confidence=0.95) == (None if lower is None else (lower, upper))


def test_an_exact_interval_covers_the_median_as_often_as_it_says() -> None:
    random = np.random.default_rng(0)
    hits = 0
    for _ in range(2000):
        low, high = median_interval(random.exponential(size=15), confidence=0.95) or (math.nan, math.nan)
        hits += low <= math.log(2) <= high
    assert 0.95 <= hits / 2000 <= 0.985  # 0.965 for 15 cases


def test_medians_have_exact_intervals_and_the_notes_say_so(tmp_path: Path) -> None:
    random = np.random.default_rng(3)
    lines = [f"{team},c{case},{value:.4f}" for team in "ab" for case, value in enumerate(random.random(20))]
    path = tmp_path / "scores.csv"
    path.write_text("team,case,value\n" + "\n".join(lines) + "\n")
    options = RankingOptions(scheme="median-then-rank", bootstraps=100)
    (ranking,) = rank(path, options=options, table=TableOptions(directions={"value": "higher"}))
    values = sorted(value for value in np.array(ranking.metrics[0].values[0], dtype=float))
    assert ranking.teams[0].score_interval == (values[5], values[14])
    assert ranking.deciding.interval_kind == "binomial"
    assert any(note.startswith("Exact binomial intervals, instead of percentile intervals:") for note in said(ranking))
    assert not any("medians are too narrow" in note for note in said(ranking))


def test_a_team_without_a_rank_comes_last_whatever_its_name(tmp_path: Path) -> None:
    """The correlation of a constant prediction is undefined, and the platform does not rank such a team."""

    def ages(*values: int) -> dict[str, str]:
        return {"p.csv": "case,age\n" + "".join(f"c{number},{age}\n" for number, age in enumerate(values))}

    value = '[values.age]\nkind = "number"\ntable = "p.csv"\ncolumn = "age"\n'
    metric = '[[metrics]]\nkind = "pearson"\nfailed = 5\n[ranking]\nby = "pearson"\n'
    folder = write_challenge(tmp_path / "truth", value + metric, ages(1, 2, 3, 4))
    teams = {"a": ages(5, 5, 5, 5), "b": ages(1, 3, 2, 4), "c": ages(1, 2, 3, 4)}
    ranking = evaluated_and_ranked(tmp_path, folder, teams, RankingOptions(bootstraps=0, scheme="platform"))
    assert [(team.name, team.rank) for team in ranking.teams] == [("c", 1), ("b", 2), ("a", None)]


# Why there is no value, in rankings by case.

SPOTS = (
    '[values.v]\nkind = "labels"\nfile = "{case}.mha"\nreference = "{case}.mha"\nlabels = { spot = 1 }\n'
    '[[metrics]]\nkind = "lesions"\nmatch = "iou"\nthreshold = 0.1\npairing = "any"\nfailed = "empty"\n'
    '[ranking]\nby = ["lesions.spot.f1"]\nmethod = "positions_by_case"\n'
)


@pytest.mark.parametrize("scheme", ["official", "mean-then-rank", "rank-then-mean"])
def test_a_perfect_submission_is_first_where_there_is_nothing_to_find(tmp_path: Path, scheme: str) -> None:
    """The other one has a false positive in the case without a spot, where the F1 of the right answer is excluded."""
    spot, nothing = np.zeros((4, 4), np.uint8), np.zeros((4, 4), np.uint8)
    spot[1:3, 1:3] = 1
    references = {"a.mha": spot, "b.mha": spot, "c.mha": nothing}
    folder = write_challenge(tmp_path / "truth", SPOTS, references)
    teams = {"invents": references | {"c.mha": spot}, "perfect": references}
    ranking = evaluated_and_ranked(tmp_path, folder, teams, RankingOptions(bootstraps=50, scheme=scheme))
    assert (ranking.teams[0].name, ranking.teams[0].rank) == ("perfect", 1)
    assert ranking.teams[1].rank == 2
    row = json.loads((tmp_path / "out/perfect/metrics.json").read_text())["results"][2]
    assert row["undefined"]["lesions.spot.f1"] == "both_empty"
    p = ranking.significance[0].p
    assert p[0][1] < p[1][0]


def test_many_metrics_without_a_value_are_one_note(tmp_path: Path) -> None:
    spot, nothing = np.eye(4, dtype=np.uint8), np.zeros((4, 4), np.uint8)
    references = {"a.mha": spot, "b.mha": nothing, "c.mha": nothing}
    toml = SPOTS.replace('by = ["lesions.spot.f1"]\nmethod = "positions_by_case"', 'by = "lesions.tp"')
    folder = write_challenge(tmp_path / "truth", toml, references)
    ranking = evaluated_and_ranked(tmp_path, folder, {"one": references, "two": references}, RankingOptions())
    (summary,) = [each for each in said(ranking) if each.startswith("No team has a value of ")]
    assert summary.endswith(" metrics in up to 2 of 3 cases; the general schemes leave these out.")


def test_right_answers_share_the_best_place_of_a_case_and_others_without_a_value_the_last() -> None:
    metric = Metric(name="m", title="M", direction="higher", lowest=0.0, highest=1.0, worst=0.0)
    rows = [[None, 0.5, None, None], [0.25, None, 0.5, None], [0.0, None, None, None]]
    reasons = [
        ["both_empty", "", "reference_empty", "both_empty"],
        ["", "condition", "", "both_empty"],
        ["", "both_empty", "", "both_empty"],
    ]
    table = case_table(metric, rows, reasons)
    assert table.defined.tolist() == [True, True, False, False]
    assert positions_in_cases(table).tolist() == [[1, 2], [2, 3], [3, 1]]
    assert table.filled().tolist() == [[1.0, 0.5], [0.25, 0.0], [0.0, 1.0]]
