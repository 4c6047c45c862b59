"""A phase with several interfaces: jobs differ in their inputs, and so do their outputs."""

from pathlib import Path
from typing import Any

import pytest
from challenges.declared.declaring import HEAD, errors, metric, metrics, value, write_challenge, write_jobs
from evaluating import evaluate

from podium.checking import check
from podium.execution.executor import Serial
from podium.validation import validate

pytestmark = pytest.mark.usefixtures("in_process")

ALGORITHM = HEAD.replace('submission = "predictions"', 'submission = "algorithm"')
INPUT = '[cases]\ninput = ["ct-image", "mr-image"]\n'
SOME = {"expected": "where_referenced", "positive": "yes"}
RISK = value("risk", "probability", socket="risk", reference_table="t.csv", reference_column="risk", positive="yes")
BLEEDING = value("bleeding", "probability", socket="bleeding", reference_table="t.csv", reference_column="ct", **SOME)
TUMOUR = value("tumour", "probability", socket="tumour", reference_table="t.csv", reference_column="mr", **SOME)
TOML = INPUT + RISK + BLEEDING + TUMOUR + metric("accuracy") + metrics(by="accuracy")
TRUTH = {"t.csv": "case,risk,ct,mr\na,1,1,\nb,0,0,\nc,1,,1\nd,0,,0\n"}
CT, MR = {"risk": 0.9, "bleeding": 0.9}, {"risk": 0.9, "tumour": 0.9}
MODALITY = {"a": "ct-image", "b": "ct-image", "c": "mr-image", "d": "mr-image"}


def scored(tmp_path: Path, jobs: dict[str, Any], toml: str = TOML) -> dict[str, Any]:
    truth = write_challenge(tmp_path / "truth", toml, TRUTH, head=ALGORITHM)
    (tmp_path / "jobs").mkdir()
    return evaluate(write_jobs(tmp_path / "jobs", socket_in=MODALITY, jobs=jobs), truth, tmp_path / "out")


def test_a_job_is_of_the_case_that_the_first_of_the_inputs_names(tmp_path: Path) -> None:
    found = scored(tmp_path, {"a": CT, "b": CT, "c": MR, "d": MR})
    assert found["counts"] == {"expected": 4, "scored": 4, "partial": 0, "failed": 0, "missing": 0, "unmatched": 0}
    assert {name: found["aggregates"]["accuracy"][name] for name in ("risk", "bleeding", "tumour")} == {
        **dict.fromkeys(("risk", "bleeding", "tumour"), 0.5)
    }


def test_an_output_of_its_own_interface_that_a_job_lacks_is_missing(tmp_path: Path) -> None:
    found = scored(tmp_path, {"a": {"risk": 0.9}, "b": CT, "c": MR, "d": MR})
    assert found["results"]["a"]["status"] == "partial"
    assert list(found["results"]["a"]["missing"]) == ["bleeding"]
    assert found["aggregates"]["accuracy"]["bleeding"] == 0.0


def test_validation_and_check_know_several_interfaces(tmp_path: Path) -> None:
    truth = write_challenge(tmp_path / "truth", TOML, TRUTH, head=ALGORITHM)
    (tmp_path / "jobs").mkdir()
    jobs = write_jobs(tmp_path / "jobs", socket_in=MODALITY, jobs={"a": CT, "b": CT, "c": MR, "d": MR})
    assert validate(jobs, ground_truth=truth).ok
    assert check("challenge", truth, images=None, executor=Serial()).errors == []


def test_a_job_of_no_interface_belongs_to_no_case(tmp_path: Path) -> None:
    truth = write_challenge(tmp_path / "truth", TOML, TRUTH, head=ALGORITHM)
    (tmp_path / "jobs").mkdir()
    jobs = write_jobs(tmp_path / "jobs", socket_in=MODALITY | {"d": "pet-image"}, jobs={"a": CT, "c": MR, "d": MR})
    found = evaluate(jobs, truth, tmp_path / "out")
    assert (found["counts"]["scored"], found["counts"]["missing"], found["counts"]["unmatched"]) == (2, 2, 1)


def test_an_empty_list_and_a_name_that_is_no_slug_are_errors(tmp_path: Path) -> None:
    for number, given in enumerate(("[]", '["ct-image", "MR image"]')):
        toml = TOML.replace('["ct-image", "mr-image"]', given)
        assert any("cases.input" in each for each in errors(tmp_path / str(number), toml, references=TRUTH))
