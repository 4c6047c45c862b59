"""Cases of one patient are not independent: what is resampled and tested, what it is worth, and what is said of n."""

from pathlib import Path

import numpy as np
import pytest

from podium.errors import UsageError
from podium.metrics.declaration import Metric
from podium.metrics.resampling import Resamples, percentile_interval
from podium.tools.ranking.comparisons import permutation_p
from podium.tools.ranking.rank import rank
from podium.tools.ranking.result import Ranking
from podium.tools.ranking.schemes import RankingOptions, case_table
from podium.tools.ranking.statistics import pairwise_p
from podium.tools.ranking.tables import TableOptions, read_score_table, table_cohorts
from podium.tools.report.ranking_report import ranking_report

DICE = Metric(name="dice", title="Dice", direction="higher", highest=1.0, worst=0.0)
TWO_EACH = np.repeat(np.arange(16), 2)


def ranked(path: Path, rows: list[str], *, head: str = "team,case,patient,value") -> Ranking:
    path.write_text("\n".join([head, *rows]))
    (cohort,) = table_cohorts(read_score_table(path), TableOptions(directions={"": "higher"}, worst={"": 0.0}))
    return rank(cohort, RankingOptions(bootstraps=200))


def scores(shift: float, *, patients: bool = True) -> list[str]:
    generator = np.random.default_rng(5)
    found = 0.5 + 0.2 * np.repeat(generator.random(16), 2) + 0.05 * generator.random(32)
    return [
        f"{team},c{number:02},{f'p{number // 2}' if patients else ''},{value + more:.6f}"
        for team, more in (("a", shift), ("b", 0.0))
        for number, value in enumerate(found + (0.02 * generator.random(32)))
    ]


def test_a_patient_is_drawn_with_all_cases() -> None:
    drawn = Resamples.draw(cases=32, replicates=50, seed=1, patients=TWO_EACH)
    assert (drawn.counts[:, ::2] == drawn.counts[:, 1::2]).all()
    assert (drawn.sizes == 32).all()
    assert drawn.counts.max() > 1


def test_means_of_patients_and_their_draws() -> None:
    drawn = Resamples(np.array([[2, 2, 1], [0, 0, 3]], np.int32), np.array([0, 0, 1]))
    means, patients = drawn.by_patient(np.array([[1.0, 3.0, 7.0]]))
    assert means.tolist() == [[2.0, 7.0]]
    assert patients.counts.tolist() == [[2, 1], [0, 3]]
    kept, patients = drawn.only(np.array([True, False, True])).by_patient(np.array([[1.0, 7.0]]))
    assert kept.tolist() == [[1.0, 7.0]], "the other case of the first patient has no value"
    assert patients.counts.tolist() == [[2, 1], [0, 3]]


@pytest.mark.parametrize(("is_known", "lowest", "highest"), [(False, 0.0, 0.89), (True, 0.93, 0.97)])
def test_two_correlated_cases_per_patient_cover_the_truth_only_if_patients_are_drawn(
    is_known: bool, lowest: float, highest: float
) -> None:
    """600 data sets of 32 patients with two cases each, correlation 0.8; the true mean is 0."""
    generator = np.random.default_rng(11)
    patients = np.repeat(np.arange(32), 2) if is_known else None
    drawn = Resamples.draw(cases=64, replicates=1000, seed=3, patients=patients)
    shared, own = np.repeat(generator.normal(size=(600, 32)), 2, axis=1), generator.normal(size=(600, 64))
    means = drawn.mean((np.sqrt(0.8) * shared + np.sqrt(0.2) * own).T)
    ends = [percentile_interval(each, confidence=0.95, cases=32 if is_known else 64) for each in means.T]
    covered = np.mean([each is not None and each[0] <= 0 <= each[1] for each in ends])
    assert lowest <= covered <= highest


def test_tests_are_on_the_means_of_patients() -> None:
    """Copies of a case are no evidence: tests of 16 patients with two equal cases are those of 16 cases."""
    values = np.random.default_rng(2).random((3, 16))
    whole = Resamples.whole(32, patients=TWO_EACH)
    doubled = pairwise_p(*whole.by_patient(np.repeat(values, 2, axis=1)))
    np.testing.assert_array_equal(doubled, pairwise_p(values, Resamples.whole(16)))


def test_the_cases_of_a_patient_are_swapped_together() -> None:
    values = np.random.default_rng(2).random((2, 16))
    single = permutation_p([case_table(DICE, values.tolist())], [(0, 1)], Resamples.whole(16), seed=0)
    table = case_table(DICE, np.repeat(values, 2, axis=1).tolist())
    assert permutation_p([table], [(0, 1)], Resamples.whole(32, patients=TWO_EACH), seed=0) == single


def test_a_table_of_scores_may_have_patients(tmp_path: Path) -> None:
    known, unknown = (ranked(tmp_path / f"{each}.csv", scores(0.01, patients=each)) for each in (True, False))
    assert (known.patients, known.size) == (16, "32 cases of 16 patients")
    assert (unknown.patients, unknown.size) == (None, "32 cases")
    wide, narrow = (each.deciding.score_intervals for each in (known, unknown))
    lengths = [ends[0][1] - ends[0][0] for ends in (wide, narrow) if ends and ends[0]]
    assert lengths[0] > 1.2 * lengths[1]
    assert "evaluated on 32 cases of 16 patients" in known.methods.sentences[0]
    assert any("Patients are drawn with all their cases" in each for each in known.methods.sentences)
    assert "32 cases of 16 patients" in " ".join(known.claims.sentences if known.claims else ())
    assert "32 cases of 16 patients" not in " ".join(unknown.methods.sentences)
    assert "32 cases of 16 patients" in ranking_report(known).page


def test_medians_of_patients_have_percentile_intervals(tmp_path: Path) -> None:
    known, unknown = (ranked(tmp_path / f"{each}.csv", scores(0.01, patients=each)) for each in (True, False))
    kinds = [each.scheme("median-then-rank").interval_kind for each in (known, unknown)]
    assert kinds == ["percentile", "binomial"], "the binomial interval needs independent cases"


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        (["a,1,p,0.5", "b,1,q,0.5"], "The case '1' is of the patients 'p' and 'q'"),
        (["a,1,p,0.5", "a,2,,0.5"], "The case '2' has no patient, but others have"),
    ],
)
def test_patients_of_a_table_that_are_not_clear_are_refused(tmp_path: Path, rows: list[str], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        ranked(tmp_path / "scores.csv", rows)


def test_every_group_has_its_figure_with_an_interval_and_the_worst_one_its_gap(tmp_path: Path) -> None:
    rows = [
        f"{team},{group}{number},{group},{0.8 + 0.01 * number - less}"
        for team, less_of in (("a", {"x": 0.0, "y": 0.2}), ("b", {"x": 0.4, "y": 0.1}))
        for group, less in less_of.items()
        for number in range(6)
    ]
    found = ranked(tmp_path / "scores.csv", rows, head="team,case,group,value")
    (table,) = found.groups
    assert (table.column, table.figure, table.groups, table.cases) == ("", "value", ("x", "y"), (6, 6))
    np.testing.assert_allclose(np.array(table.values, float), [[0.825, 0.625], [0.425, 0.725]])
    for values, ends in zip(table.values, table.intervals, strict=True):
        assert all(each is not None and each[0] < value < each[1] for value, each in zip(values, ends, strict=True))
    assert [each and (each.group, round(each.gap, 12)) for each in table.worst] == [("y", 0.1), ("x", 0.15)]
    assert "value by group" in ranking_report(found).page
