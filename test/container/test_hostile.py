"""The attacks of test/hostile in the real container, under the platform's limits."""

import json
import shutil
from pathlib import Path

import pytest
from container.engine import UPLOADED_GROUND_TRUTH, evaluate
from container.test_platform_runner import SAMPLES, run_as_platform
from evaluating import evaluate as evaluate_here
from evaluating import read_metrics
from hostile.playing import check_case_attacks, check_job_attacks, write_case_attacks, write_job_attacks
from hostile.whole import WHOLE_ATTACKS, write_whole

pytestmark = pytest.mark.container

NAMED = {"PODIUM_CHALLENGE": "truth"}  # an upload without its folder has no name of its own


@pytest.mark.parametrize(
    ("write", "check"),
    [(write_case_attacks, check_case_attacks), (write_job_attacks, check_job_attacks)],
    ids=["files", "jobs"],
)
def test_every_attack_costs_its_case_alone(write: object, check: object, carotid_image: str, tmp_path: Path) -> None:
    assert callable(write)
    assert callable(check)
    scene = write(tmp_path, hidden=Path(UPLOADED_GROUND_TRUTH) / "references")
    run = evaluate(
        carotid_image, scene.submission, tmp_path / "output", ground_truth=scene.ground_truth, environment=NAMED
    )
    assert run.exit_code == 0, run.stdout + run.stderr
    check(read_metrics(run.output))
    evaluate_here(scene.submission, scene.ground_truth, tmp_path / "native")
    assert run.metrics == (tmp_path / "native/metrics.json").read_bytes(), "not a word depends on where it runs"


def test_attacks_on_a_whole_submission_leave_the_server_as_it_was(invoke_image: str, tmp_path: Path) -> None:
    """One server for all of them, with an honest submission as the last."""
    tasks = tmp_path / "tasks"
    for name, attack in WHOLE_ATTACKS.items():
        write_whole(attack, tasks / name)
    shutil.copytree(SAMPLES / "carotid" / "aorta", tasks / "the_honest")
    found = run_as_platform(invoke_image, tasks, tmp_path / "results", "carotid", method="invoke")
    honest = found.pop("the_honest")
    assert honest["code"] == 201
    assert json.loads(honest["metrics"])["counts"]["scored"] == 12
    for name, run in found.items():
        assert (run["code"], run["metrics"]) == (422, None), name
        assert WHOLE_ATTACKS[name].words in run["stderr"][-1], name
        assert not [word for word in ("/input", "/tmp", "/opt", "csv_0") if word in run["stderr"][-1]], name
