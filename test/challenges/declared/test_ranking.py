"""[ranking] of declared challenges through `podium rank`: by values, by positions, by positions in every case."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from challenges.declared.declaring import HEAD, errors, metric, score, value
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.stats import wilcoxon

from podium import rank
from podium.cli import main
from podium.tools.ranking.result import Ranking
from podium.tools.ranking.schemes import RankingOptions

pytestmark = pytest.mark.usefixtures("in_process")

VALUES = "".join(
    value(name, "number", table="p.csv", column=name, range=[0, 100]) + metric("mae", name=f"{name}_error", of=name)
    for name in ("age", "weight")
)
BY_POSITIONS = '[ranking]\nby = ["age_error", "weight_error"]\nmethod = "positions_by_case"\n'
CASES = ("a", "b", "c")


def table(ages: Any, weights: Any) -> dict[str, str]:
    lines = [f"{case},{age},{weight}" for case, age, weight in zip(CASES, ages, weights, strict=False)]
    return {"p.csv": "\n".join(["case,age,weight", *lines])}


def ranked(
    tmp_path: Path,
    ranking: str,
    answers_of: dict[str, tuple[Any, Any]],
    *,
    ages_of_references: tuple[int, ...] = (0, 0, 0),
    per_case: str = "full",
    bootstraps: int = 50,
) -> Ranking:
    """Where the references are 0, a prediction is its own error."""
    head, truth = HEAD.replace('"full"', f'"{per_case}"'), table(ages_of_references, (0, 0, 0))
    for team, (ages, weights) in answers_of.items():
        score(tmp_path, VALUES + ranking, truth, table(ages, weights), team=team, head=head)
    return rank(tmp_path / "teams", options=RankingOptions(bootstraps=bootstraps))[0]


def places(ranking: Ranking) -> dict[str, int | None]:
    return {team.name: team.rank for team in ranking.teams}


TEAMS = {"one": ((1, 1, 9), (5, 5, 5)), "two": ((2, 2, 2), (4, 4, 4)), "three": ((3, 3, 3), (1, 1, 1))}


def test_by_one_figure(tmp_path: Path) -> None:
    found = ranked(tmp_path, '[ranking]\nby = "age_error"\n', TEAMS)
    assert places(found) == {"two": 1, "three": 2, "one": 3}  # 2, 3, 11/3


def test_by_the_mean_of_positions_with_weights(tmp_path: Path) -> None:
    rule = '[ranking]\nby = ["age_error", "weight_error"]\nmethod = "mean_of_positions"\nweights = [3.0, 1.0]\n'
    found = ranked(tmp_path, rule, TEAMS)
    assert places(found) == {"two": 1, "three": 2, "one": 3}
    assert found.deciding.scores == (1.25, 1.75, 3.0)


def test_by_positions_in_every_case(tmp_path: Path) -> None:
    found = ranked(tmp_path, BY_POSITIONS, TEAMS)
    # ages: one 1 1 3, two 2 2 1, three 3 3 2; weights: one 3 3 3, two 2 2 2, three 1 1 1
    assert dict(zip([team.name for team in found.teams], found.deciding.scores, strict=True)) == pytest.approx(
        {"two": 11 / 6, "three": 11 / 6, "one": 14 / 6}
    )
    assert places(found) == {"three": 1, "two": 1, "one": 3}
    assert found.deciding.stability is not None
    assert sum(found.deciding.stability.win_probabilities) == pytest.approx(1)


def test_the_commands_rank_by_positions_in_every_case(tmp_path: Path) -> None:
    ranked(tmp_path, BY_POSITIONS, TEAMS, bootstraps=0)
    assert main(["rank", str(tmp_path / "teams"), "--output", str(tmp_path / "ranking"), "--bootstraps", "20"]) == 0
    page = tmp_path / "page.html"
    assert main(["report", str(tmp_path / "ranking" / "ranking.json"), "--output", str(page)]) == 0
    assert "the mean of their positions in every case by Age error and Weight error" in page.read_text()
    for folder in (tmp_path / "ranking", tmp_path / "new" / "pages"):  # a folder, as for `podium rank`
        assert main(["report", str(tmp_path / "ranking" / "ranking.json"), "--output", str(folder)]) == 0
        assert (folder / "report.html").is_file()


def test_a_case_without_prediction_has_the_worst_position(tmp_path: Path) -> None:
    rule = '[ranking]\nby = "age_error"\nmethod = "positions_by_case"\n'
    found = ranked(tmp_path, rule, {"all": ((5, 5, 5), (0, 0, 0)), "two": ((1, 1), (0, 0))})
    assert found.deciding.scores == pytest.approx((4 / 3, 5 / 3))
    assert places(found) == {"two": 1, "all": 2}


def test_ties_are_broken_after_positions_by_case(tmp_path: Path) -> None:
    rule = BY_POSITIONS + 'tie_break = ["age_error"]\n'
    assert places(ranked(tmp_path, rule, TEAMS)) == {"two": 1, "three": 2, "one": 3}


def test_rounded_figures_are_equal_and_the_tie_break_decides(tmp_path: Path) -> None:
    teams = {"one": ((1.001,) * 3, (5,) * 3), "two": ((1.002,) * 3, (4,) * 3), "three": ((1.3,) * 3, (0,) * 3)}
    assert places(ranked(tmp_path, '[ranking]\nby = "age_error"\nround = 1\n', teams)) == {
        "one": 1,
        "two": 1,
        "three": 3,
    }
    rule = '[ranking]\nby = "age_error"\nround = 1\ntie_break = ["weight_error"]\n'
    assert places(ranked(tmp_path, rule, teams)) == {"two": 1, "one": 2, "three": 3}


@settings(max_examples=10, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(*[st.integers(0, 4)] * 6), min_size=2, max_size=4))
def test_positions_by_case_read_literally(tmp_path_factory: pytest.TempPathFactory, given_errors: list[Any]) -> None:
    teams = {f"t{number}": (each[:3], each[3:]) for number, each in enumerate(given_errors)}
    found = ranked(tmp_path_factory.mktemp("ranked"), BY_POSITIONS, teams, bootstraps=0)
    expected = {}
    for team in teams:
        mine = []
        for figure in range(2):
            for case in range(3):
                own = teams[team][figure][case]
                mine.append(1 + sum(other[figure][case] < own for other in teams.values()))
        expected[team] = np.mean(mine)
    scores = dict(zip([team.name for team in found.teams], found.deciding.scores, strict=True))
    assert scores == pytest.approx(expected)


def test_positions_by_case_need_published_rows(tmp_path: Path) -> None:
    rule = '[ranking]\nby = "age_error"\nmethod = "positions_by_case"\n'
    head = HEAD.replace('"full"', '"none"')
    (error,) = errors(tmp_path, VALUES + rule, head=head)
    assert "'ranking.method' is positions_by_case, which needs the rows of single cases" in error


def test_positions_by_case_names_figures_of_cases(tmp_path: Path) -> None:
    rule = '[[metrics]]\nkind = "r2"\nof = "age"\n[ranking]\nby = "r2"\nmethod = "positions_by_case"\n'
    (error,) = errors(tmp_path, VALUES + rule)
    assert "'ranking.by' names 'r2', which is a figure of all cases together: here it must be one of" in error


COHORT = '[[metrics]]\nkind = "pearson"\nof = "age"\nfailed = 50\n[ranking]\nby = "pearson"\n'
AGES = {"one": ((1, 2, 9), (0, 0, 0)), "two": ((3, 2, 1), (0, 0, 0)), "flat": ((5, 5, 5), (0, 0, 0))}


def cohort_ranking(tmp_path: Path, per_case: str) -> Ranking:
    return ranked(tmp_path, COHORT, AGES, ages_of_references=(1, 2, 3), per_case=per_case)


def test_a_team_whose_figure_is_undefined_is_last(tmp_path: Path) -> None:
    assert places(cohort_ranking(tmp_path, "full")) == {"one": 1, "two": 2, "flat": 3}


def test_figures_of_all_cases_are_drawn_again_from_full_rows(tmp_path: Path) -> None:
    official = cohort_ranking(tmp_path, "full").scheme("official")
    assert official.stability is not None
    assert official.stability.rank_intervals[2][1] == 3


def test_anonymous_rows_do_not_hold_what_it_takes_and_the_words_say_so(tmp_path: Path) -> None:
    official = cohort_ranking(tmp_path, "anonymous").scheme("official")
    assert official.stability is None
    assert "The rows are anonymous" in (official.why_no_stability or "")


def test_a_list_among_the_figures_gives_one_position(tmp_path: Path) -> None:
    """Positions by age 3, 1, 2 and by weight 3, 2, 1; together 3, 1, 1. With age again: (3 + 3) / 2, (1 + 1) / 2,
    (1 + 2) / 2; without the list, `three` would equal `two`."""
    nested = '[ranking]\nby = [["age_error", "weight_error"], "age_error.median"]\nmethod = "mean_of_positions"\n'
    teams = {"one": ((9, 9, 9), (5, 5, 5)), "two": ((2, 2, 2), (4, 4, 4)), "three": ((3, 3, 3), (1, 1, 1))}
    found = ranked(tmp_path, nested, teams)
    assert {team.name: team.score for team in found.teams} == {"one": 3.0, "two": 1.0, "three": 1.5}
    assert "(Age error and Weight error together) and Age error, median" in found.deciding.words


MANY = tuple(f"{number:02}" for number in range(12))


def compared(tmp_path: Path, ranking: str, errors_of: dict[str, NDArray[np.float64]]) -> Ranking:
    def written(ages: Any) -> dict[str, str]:
        return {
            "p.csv": "\n".join(["case,age,weight", *(f"{case},{age},0" for case, age in zip(MANY, ages, strict=True))])
        }

    for team, ages in errors_of.items():
        score(tmp_path, VALUES + ranking, written([0] * len(MANY)), written(ages), team=team)
    return rank(tmp_path / "teams", options=RankingOptions(bootstraps=50))[0]


def test_significant_wins_by_scipy(tmp_path: Path) -> None:
    generator = np.random.default_rng(4)
    found = {f"t{number}": 20 + 4 * number + generator.normal(size=12) * 3 for number in range(4)}
    ranking = compared(tmp_path, '[ranking]\nby = "age_error"\nmethod = "significant_wins"\nalpha = 0.03\n', found)
    pairs = [(one, other) for one in found for other in found if one != other]
    p = [
        wilcoxon(-found[one], -found[other], alternative="greater", correction=True, method="asymptotic").pvalue
        for one, other in pairs
    ]
    order = np.argsort(p)
    adjusted = np.maximum.accumulate(np.array(p)[order] * (len(p) - np.arange(len(p))))
    wins = dict.fromkeys(found, 0.0)
    for place, value_of in zip(order, adjusted, strict=True):
        wins[pairs[place][0]] += float(value_of <= 0.03) / 3
    assert {team.name: team.score for team in ranking.teams} == wins
    assert sorted(wins.values()) != [0.0] * 4
    assert ranking.deciding.stability is not None, "tests are repeated in every resample"


def test_permutation_groups_teams_that_swaps_do_not_separate(tmp_path: Path) -> None:
    generator = np.random.default_rng(4)
    found = {name: base + generator.normal(size=12) for name, base in (("a", 20.0), ("b", 20.1), ("c", 40.0))}
    ranking = compared(tmp_path, '[ranking]\nby = "age_error"\nmethod = "permutation"\n', found)
    by_case = np.array(list(found.values())).argsort(axis=0).argsort(axis=0) + 1
    assert {team.name: team.score for team in ranking.teams} == dict(zip(found, by_case.mean(axis=1), strict=True))
    assert {team.name: team.group for team in ranking.teams} == {"a": 1, "b": 1, "c": 2}
    assert any("PermRanker" in each for each in ranking.methods.sentences)


@pytest.mark.parametrize(
    ("ranking", "words"),
    [
        ('by = "age_error"\nmethod = "significant_wins"', "'ranking.alpha' is the level of the tests"),
        ('by = "age_error"\nalpha = 0.05', "'ranking.alpha' is the level of the tests"),
        ('by = [["age_error", "weight_error"]]\nmethod = "permutation"', "has a list among its figures"),
        ('by = [["age_error", "weight_error"], "age_error"]', "'ranking.method' is missing"),
    ],
)
def test_keys_of_methods_that_do_not_fit(tmp_path: Path, ranking: str, words: str) -> None:
    found = errors(tmp_path, f"{VALUES}[ranking]\n{ranking}\n", references=table((0, 0, 0), (0, 0, 0)))
    assert any(words in error for error in found), found
