"""cases.csv: facts about cases, by which they are grouped, belong to patients, and exist without a row of their own."""

from pathlib import Path
from typing import Any

import pytest
from challenges.declared.declaring import HEAD, errors, metric, metrics, score, value, write_challenge
from evaluating import evaluate

from podium.challenges.declared.challenge import DeclaredChallenge
from podium.challenges.ground_truth import ChallengeFolder, read_challenge_folder
from podium.challenges.loading import load_challenge
from podium.evaluation import prepare
from podium.execution.executor import Serial
from podium.metrics.resampling import Resamples
from podium.tools.ranking.documents import read_cohorts
from podium.tools.ranking.facts import gather_facts, replicate_figures
from podium.tools.ranking.schemes import RankingOptions

pytestmark = pytest.mark.usefixtures("in_process")

SIZES = value("size", "number", table="p.csv", column="size", range=[0, 100], unit="mm") + metrics("mae")
BY_COLUMNS = '[cases]\ntable = "cases.csv"\ngroups = ["scanner", "sex"]\npatient = "patient"\n'
CASES = "case,patient,scanner,sex\na,p1,GE,F\nb,p1,GE,M\nc,p2,Siemens,F\nd,p3,Siemens,F\n"
TRUE = {"p.csv": "case,size\na,10\nb,20\nc,30\nd,40\n"}
FOUND = {"p.csv": "case,size\na,11\nb,22\nc,33\nd,44\n"}  # errors 1, 2, 3, 4


def scored(tmp_path: Path, cases: str = CASES, toml: str = BY_COLUMNS, **keys: Any) -> dict[str, Any]:
    (tmp_path / "challenge").mkdir(exist_ok=True)
    (tmp_path / "challenge" / "cases.csv").write_text(cases)
    return score(tmp_path, toml + SIZES, TRUE, FOUND, **keys)


def problems(tmp_path: Path, toml: str, cases: str | None = CASES) -> list[str]:
    (tmp_path / "challenge").mkdir(exist_ok=True)
    if cases is not None:
        (tmp_path / "challenge" / "cases.csv").write_text(cases)
    return errors(tmp_path, toml + SIZES, references=TRUE)


def test_every_figure_is_also_given_for_the_groups_of_every_column(tmp_path: Path) -> None:
    aggregates = scored(tmp_path)["aggregates"]
    found = {name: figures["mae"]["mean"] for name, figures in aggregates["groups"].items()}
    assert found == {"scanner_GE": 1.5, "scanner_Siemens": 3.5, "sex_F": (1 + 3 + 4) / 3, "sex_M": 2.0}
    assert "mae_group_mean" not in aggregates, "a mean over groups of several columns means nothing"


def test_one_column_has_a_mean_over_its_groups(tmp_path: Path) -> None:
    toml = BY_COLUMNS.replace('["scanner", "sex"]', '["scanner"]')
    assert scored(tmp_path, toml=toml)["aggregates"]["mae_group_mean"] == 2.5


def test_rows_carry_groups_and_a_hash_of_the_patient(tmp_path: Path) -> None:
    rows = scored(tmp_path)["results"]
    assert rows["b"]["groups"] == ["scanner_GE", "sex_M"]
    patients = [rows[case]["patient"] for case in "abcd"]
    assert patients[0] == patients[1] != patients[2]
    assert len({*patients}) == 3
    assert all(each.startswith("patient-") and "p1" not in each for each in patients)


def test_rows_without_cases_csv_carry_neither(tmp_path: Path) -> None:
    row = score(tmp_path, SIZES, TRUE, FOUND)["results"]["a"]
    assert row.keys().isdisjoint({"groups", "patient"})


def test_anonymous_rows_carry_groups_that_ten_cases_share_with_each_other(tmp_path: Path) -> None:
    names = [f"c{number:02}" for number in range(32)]
    kinds = ["GE,F"] * 12 + ["GE,M"] * 6 + ["Siemens,F"] * 14  # 6 could be told by subtraction: 12 more are hidden
    cases = "case,scanner,sex\n" + "".join(f"{name},{kind}\n" for name, kind in zip(names, kinds, strict=True))
    table = {"p.csv": "case,size\n" + "".join(f"{name},10\n" for name in names)}
    (tmp_path / "challenge").mkdir()
    (tmp_path / "challenge" / "cases.csv").write_text(cases)
    toml = BY_COLUMNS.replace('patient = "patient"\n', "") + SIZES
    found = score(tmp_path, toml, table, table, head=HEAD.replace('"full"', '"anonymous"'))["results"].values()
    shown = [tuple(row.get("groups", ())) for row in found]
    assert sorted(shown) == [()] * 18 + [("scanner_Siemens", "sex_F")] * 14


def test_figures_of_groups_are_resampled_by_the_groups_of_the_rows(tmp_path: Path) -> None:
    toml = '[figures]\ngap = { formula = "groups.scanner_Siemens.mae - groups.scanner_GE.mae", direction = "lower" }\n'
    scored(tmp_path, toml=toml + BY_COLUMNS)
    (cohort,) = read_cohorts([tmp_path / "teams"])
    drawn, _ = replicate_figures(gather_facts(cohort, RankingOptions()), Resamples.whole(4))
    assert drawn["gap"].tolist() == [[2.0]]


def test_a_change_of_cases_csv_changes_the_ground_truth(tmp_path: Path) -> None:
    digests = []
    for cases in (CASES, CASES.replace("p3", "p2")):
        scored(tmp_path, cases)
        digests.append(task_of(read_challenge_folder(tmp_path / "challenge", name="challenge")).digest)
    assert digests[0] != digests[1]


def task_of(folder: ChallengeFolder) -> Any:
    return prepare(folder, load_challenge(folder), Serial())


def test_a_case_without_a_row_of_points_exists_by_cases_csv(tmp_path: Path) -> None:
    toml = '[cases]\ntable = "cases.csv"\n' + value("found", "points", table="p.csv", unit="mm")
    toml += metric("f1", radius_mm=5.0) + '[ranking]\nby = "f1"\n'
    points = {"p.csv": "case,x,y\na,1,1\n"}
    truth = write_challenge(tmp_path / "challenge", toml, points)
    (truth / "cases.csv").write_text("case\na\nb\n")
    (tmp_path / "team").mkdir()
    (tmp_path / "team" / "p.csv").write_text("case,x,y\na,1,1\nb,9,9\n")
    found = evaluate(tmp_path / "team", truth, tmp_path / "out")
    assert found["results"].keys() == {"a", "b"}


def test_facts_of_a_case_have_numbers_as_numbers(tmp_path: Path) -> None:
    scored(tmp_path, CASES.replace("p1", "1.5"))
    challenge = load_challenge(read_challenge_folder(tmp_path / "challenge", name="challenge"))
    assert isinstance(challenge, DeclaredChallenge)
    references = challenge.find_references(tmp_path / "challenge" / "references")
    case = challenge.missing_case(challenge.read_reference(references["a"]))
    assert case.facts == {"patient": 1.5, "scanner": "GE", "sex": "F"}


@pytest.mark.parametrize(
    ("toml", "cases", "words"),
    [
        ('[cases]\ngroups = ["scanner"]\n', CASES, "it names a column, so 'table' must name the file that has it"),
        ('[cases]\ntable = "cases.csv"\n', None, "'cases.table' cannot be read"),
        (BY_COLUMNS, CASES.replace("sex", "gender"), "needs the column 'sex', which cases.csv does not have"),
        (BY_COLUMNS, CASES.replace("case,", "name,"), "needs the column 'case'"),
        (BY_COLUMNS, CASES + "a,p1,GE,F\n", "row 6 that names a case again"),
        (BY_COLUMNS, CASES + "e,p1\n", "row 6 that has 2 cells, but the header has 4"),
        (BY_COLUMNS, CASES.replace("d,p3,Siemens,F\n", ""), "1 case has no row in cases.csv"),
        (BY_COLUMNS, CASES + "e,p1,GE,F\n", "A case has no reference for the value 'size'"),
        (BY_COLUMNS, CASES.replace("p3", ""), "1 case has no patient under 'patient'"),
        (BY_COLUMNS, CASES.replace("a,p1,GE", "a,p1,GE 3T"), "1 case has no valid group under 'groups'"),
    ],
)
def test_a_wrong_cases_csv_is_an_error_of_check(tmp_path: Path, toml: str, cases: str | None, words: str) -> None:
    assert any(words in problem for problem in problems(tmp_path, toml, cases)), problems(tmp_path, toml, cases)


def test_a_patient_may_be_part_of_the_name_of_a_case(tmp_path: Path) -> None:
    toml = "[cases]\npatient = '^(?P<patient>[ab]|.)'\n"
    rows = score(tmp_path, toml + SIZES, TRUE, FOUND)["results"]
    assert len({row["patient"] for row in rows.values()}) == 4
