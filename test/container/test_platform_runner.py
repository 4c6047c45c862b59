"""The image under the platform's own way of running it: see platform_runner.py."""

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from cli.test_entrypoint import NOISE, Scene
from container.engine import docker
from places import ROOT

pytestmark = pytest.mark.container

SAMPLES = ROOT / "test/submissions"
CHALLENGES = sorted(path.name for path in SAMPLES.iterdir())
SPELLINGS = {"interface": "socket", "socket": "interface"}
ENTRYPOINT = ("python", "/opt/app/evaluate.py")


def other_spelling(job: dict[str, Any]) -> dict[str, Any]:
    """A job as the platform's other generation writes it, with the other duration."""
    turned = {**job, "exec_duration": job["invoke_duration"], "invoke_duration": job["exec_duration"]}
    for side in ("inputs", "outputs"):
        turned[side] = [{SPELLINGS.get(key, key): value for key, value in each.items()} for each in job[side]]
    return turned


def run_as_platform(
    image: str, tasks: Path, results: Path, challenge: str, *options: str, method: str = "exec"
) -> Mapping[str, dict[str, Any]]:
    results.mkdir()
    results.chmod(0o777)
    runner = Path(__file__).with_name("platform_runner.py")
    docker(
        *("run", "--rm", "--network=none", "--user=0", "--entrypoint=python", f"--env=PODIUM_CHALLENGE={challenge}"),
        *options,
        *(f"--volume={runner}:/runner.py:ro", f"--volume={tasks}:/tasks:ro", f"--volume={results}:/results"),
        *(image, "/runner.py", method, "/tasks", "/results", *ENTRYPOINT),
    )
    return {path.stem: json.loads(path.read_text()) for path in sorted(results.iterdir())}


@pytest.mark.parametrize("challenge", CHALLENGES)
def test_every_challenge_runs_as_the_platform_runs_it(challenge: str, image: str, tmp_path: Path) -> None:
    tasks = tmp_path / "tasks"
    for submission in (SAMPLES / challenge).iterdir():
        shutil.copytree(submission, tasks / submission.name)
        if (submission / "predictions.json").is_file():
            turned = tasks / f"{submission.name}-turned"
            shutil.copytree(submission, turned)
            jobs = json.loads((submission / "predictions.json").read_text())
            (turned / "predictions.json").write_text(json.dumps([other_spelling(job) for job in jobs]))
        else:
            shutil.copytree(submission, tasks / f"{submission.name}-turned" / "deep/folder")
            (tasks / f"{submission.name}-turned" / "__MACOSX").mkdir()
    (tasks / "unusable").mkdir()
    (tasks / "unusable" / "preds.zip").write_bytes(b"PK no zip")
    found = run_as_platform(image, tasks, tmp_path / "results", challenge)

    for name, run in found.items():
        assert run["lines"]["stdout"] + run["lines"]["stderr"] <= 400, name
        last = run["stderr"][-1]
        assert last.endswith((".", " -> /output/metrics.json")), "participants are shown a sentence or the result"
        assert run["problems"] == []
        assert not any("/opt/" in line or "Traceback" in line for line in run["stderr"])
        if name == "unusable":
            assert (run["code"], run["metrics"]) == (1, None), "nothing of a failed run is uploaded"
            continue
        assert run["code"] == 0, run["stderr"][-1]
        document = json.loads(run["metrics"])
        assert document["challenge"] == challenge
        team = name.removesuffix("-turned")
        expected = json.loads((ROOT / "test/expected" / challenge / f"{team}.json").read_text())
        assert document["counts"]["scored"] > 0
        assert set(expected["aggregates"]) <= set(document["aggregates"])
        if name.endswith("-turned"):
            original = json.loads(found[team]["metrics"])
            assert document["results"] == original["results"], "neither spelling nor folder matters"
        inputs = [line for line in run["stdout"] if "inputs.json" in line]
        assert inputs == [], "inputs.json is the platform's own file"


def test_the_web_server_makes_of_every_task_what_the_program_makes_of_it(
    carotid_image: str, invoke_image: str, tmp_path: Path
) -> None:
    """The same files, words and log: of two submissions, of an unusable one, and of one after that. Lines of progress
    are left out: only a slow machine prints them."""
    tasks = tmp_path / "tasks"
    for name, team in (("1", "aorta"), ("2", "dropout"), ("4", "aorta")):
        shutil.copytree(SAMPLES / "carotid" / team, tasks / name)
    (tasks / "3").mkdir()
    (tasks / "3" / "preds.zip").write_bytes(b"PK no zip")
    executed = run_as_platform(carotid_image, tasks, tmp_path / "executed", "carotid")
    invoked = run_as_platform(invoke_image, tasks, tmp_path / "invoked", "carotid", method="invoke")
    assert [run.pop("waits") for run in invoked.values()] == [0, 0, 0, 0], "the server answered when it was first asked"
    assert [run.pop("waits") for run in executed.values()] == [0, 0, 0, 0]
    assert [run.pop("code") for run in executed.values()] == [0, 0, 1, 0]
    assert [run.pop("code") for run in invoked.values()] == [201, 201, 422, 201]
    for run in (*executed.values(), *invoked.values()):
        del run["lines"]
        run["stderr"] = [line for line in run["stderr"] if not line.endswith(" left")]
    assert invoked == executed
    assert invoked["1"] == invoked["4"] != invoked["2"]


def test_declared_outputs_are_uploaded_with_metrics_json(image: str, tmp_path: Path) -> None:
    truth = shutil.copytree(ROOT / "ground-truth/carotid", tmp_path / "uploaded/carotid")
    with (truth / "challenge.toml").open("a") as stream:
        stream.write('\n[outputs]\n"result-chart.json" = "chart"\n"cases.csv" = "cases"\n')
    for team in ("aorta", "dropout"):
        shutil.copytree(SAMPLES / "carotid" / team, tmp_path / "tasks" / team)
    volume = f"--volume={tmp_path / 'uploaded'}:/opt/ml/input/data/ground_truth:ro"
    for run in run_as_platform(image, tmp_path / "tasks", tmp_path / "results", "carotid", volume).values():
        assert (run["code"], run["problems"]) == (0, [])
        assert run["other_outputs"] == ["cases.csv", "result-chart.json"]


def test_what_native_libraries_print_is_not_on_the_streams(image: str, tmp_path: Path) -> None:
    """One byte that is not UTF-8 would cost the result: metrics.py writes as a library in C would, in the main process
    and in workers."""
    scene = Scene(tmp_path, imported=NOISE, called=NOISE)
    shutil.copytree(scene.folder / "input", tmp_path / "tasks/1")
    shutil.copytree(scene.folder / "truth", tmp_path / "uploaded/noisy")
    volume = f"--volume={tmp_path / 'uploaded'}:/opt/ml/input/data/ground_truth:ro"
    (run,) = run_as_platform(image, tmp_path / "tasks", tmp_path / "results", "noisy", volume).values()
    assert (run["code"], run["problems"]) == (0, [])
    assert run["stderr"][-1].endswith(" (4 of 4 cases) -> /output/metrics.json")
    assert json.loads(run["metrics"])["counts"]["scored"] == 4
