"""Code that takes over a decoder inside the image, under the platform's limits: with and without Landlock, from a file
of every format. Each attempt fails and costs its case only. See test/sandbox/attacks.py.
"""

import json
import shutil
from pathlib import Path

import pytest
from container.engine import PLATFORM_LIMITS, UPLOADED_GROUND_TRUTH, docker, evaluate
from places import ROOT
from sandbox.attacks import CASES

pytestmark = pytest.mark.container

ATTACKERS = f"--volume={ROOT / 'test/sandbox'}:/attackers:ro"
REFERENCE = "/opt/app/ground-truth/carotid/references/csv_0007_label.h5"
SUBMISSION = ROOT / "test/submissions/carotid/carina"
LAYERS = ("resource limits", "Landlock", "seccomp", "a worker that is closed to others")


def attack(image: str, *arguments: str, options: tuple[str, ...] = ()) -> str:
    started = ("run", "--rm", *PLATFORM_LIMITS, ATTACKERS, "--env=PYTHONPATH=/opt/app", *options)
    return docker(*started, "--entrypoint=python", image, "/attackers/attacks.py", *arguments).stdout


def test_each_layer_refuses_what_it_should_and_nothing_succeeds_without_landlock(carotid_image: str) -> None:
    assert json.loads(attack(carotid_image, "surprises", REFERENCE, "/tmp")) == []


def rows(metrics: bytes) -> dict[str, dict[str, object]]:
    return {row["case"]: row for row in json.loads(metrics)["results"]}


def test_a_decoder_that_is_taken_over_costs_its_case_alone(carotid_image: str, tmp_path: Path) -> None:
    truth = shutil.copytree(ROOT / "ground-truth/carotid", tmp_path / "carotid")
    settings = truth / "challenge.toml"  # without MONAI, whose import takes longer than the evaluation
    settings.write_text(settings.read_text().replace('engine = "monai"', 'engine = "native"'))
    expected = rows(evaluate(carotid_image, SUBMISSION, tmp_path / "honest", ground_truth=truth).metrics)
    for layers in (LAYERS, [layer for layer in LAYERS if layer != "Landlock"]):
        output = tmp_path / str(len(layers))
        output.mkdir()
        output.chmod(0o777)
        volumes = (
            f"--volume={SUBMISSION}:/input:ro",
            f"--volume={output}:/output",
            f"--volume={truth}:{UPLOADED_GROUND_TRUTH}:ro",
        )
        attack(carotid_image, "evaluate", "+".join(layers), options=volumes)
        found = rows((output / "metrics.json").read_bytes())
        for case in CASES:
            assert (expected[case]["status"], found[case]["status"]) == ("scored", "failed")
            assert case in str(found[case]["error"])
        others = expected.keys() - CASES.keys()
        assert {case: found[case] for case in others} == {case: expected[case] for case in others}
