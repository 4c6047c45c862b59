"""Memory that runs out by the container's limit: the kernel ends a worker, and only the case that filled it is lost."""

import json
from pathlib import Path

import pytest
from challenges.declared.declaring import write_challenge, write_predictions
from cli.test_entrypoint import TOML
from container.engine import PLATFORM_LIMITS, docker, evaluate
from places import ROOT

pytestmark = pytest.mark.container

OWN_METRIC = """\
from podium.own_metrics import metric


@metric(compares="number", direction="higher", lowest=0.0, highest=1.0)
def share(*, prediction, reference):
    filled = [] if prediction != 13 else [bytearray(b"x" * 2**26) for _ in range(64)]
    return min(prediction, reference) / max(prediction, reference) + len(filled)
"""
CASES = "abcdefgh"
AGES = "case,age\n" + "".join(f"{case},40\n" for case in CASES)


def write_truth(folder: Path, code: str, *, by: str) -> Path:
    toml = TOML.replace('kind = "difference"', 'kind = "share"').replace('by = "difference"', f'by = "{by}"')
    write_challenge(folder, toml, {"ages.csv": AGES})
    (folder / "metrics.py").write_text(code, encoding="utf-8")
    return folder


def test_a_case_that_fills_the_memory_of_the_container_is_lost_alone(image: str, tmp_path: Path) -> None:
    truth = write_truth(tmp_path / "ages", OWN_METRIC, by="share.mean")
    submission = write_predictions(tmp_path / "submission", {"ages.csv": AGES.replace("c,40", "c,13")})
    environment = {"PODIUM_CHALLENGE": "ages"}
    run = evaluate(image, submission, tmp_path / "output", ground_truth=truth, environment=environment, memory="700m")
    rows = {row["case"]: row for row in json.loads(run.metrics)["results"]}
    assert {case for case, row in rows.items() if row["status"] == "scored"} == set(CASES) - {"c"}
    words = "Scoring this case crashed or ran out of memory on every attempt."
    assert (rows["c"]["error"], rows["c"]["metrics"]["share"]) == (words, 0)


OF_ALL_CASES = """\
from podium.own_metrics import cohort_metric


@cohort_metric(compares="number", direction="higher", lowest=0.0, highest=1.0)
def share(*, predictions, references):
    filled = [] if 13 not in predictions else [bytearray(b"x" * 2**26) for _ in range(64)]
    return sum(found == true for found, true in zip(predictions, references)) / len(references) + len(filled)
"""


def test_a_team_that_fills_the_memory_of_a_batch_is_lost_alone(image: str, tmp_path: Path) -> None:
    """Not a worker is killed here, but the process that collects the results of a team: honest teams lost theirs."""
    truth, teams, output = tmp_path / "ages", tmp_path / "teams", tmp_path / "output"
    write_truth(truth, OF_ALL_CASES, by="share")
    for team, age in {"early": 40, "filling": 13, "late": 41}.items():
        write_predictions(teams / team, {"ages.csv": AGES.replace("c,40", f"c,{age}")})
    output.mkdir()
    output.chmod(0o777)
    done = docker(
        *("run", "--rm", *PLATFORM_LIMITS, "--memory=700m", "--memory-swap=700m", "--entrypoint=python"),
        f"--volume={ROOT / 'podium'}:/opt/app/podium:ro",  # the image itself has no batch
        *(f"--volume={truth}:/truth/ages:ro", f"--volume={teams}:/teams:ro", f"--volume={output}:/output"),
        *(
            image,
            "-m",
            "podium",
            "batch",
            "/teams",
            "--ground-truth",
            "/truth/ages",
            "--output",
            "/output/all",
            "--allow-missing",
        ),
        check=False,
    )
    assert done.returncode == 1, done.stdout + done.stderr
    assert done.stderr.splitlines()[-1].startswith("2 of 3 teams have scores; ")
    assert "ended by signal SIGKILL, perhaps because memory ran out." in " ".join(done.stdout.replace("│", " ").split())
    found = {path.parent.name: json.loads(path.read_text()) for path in output.glob("all/teams/*/metrics.json")}
    assert {team: file["aggregates"]["share"] for team, file in found.items()} == {"early": 1.0, "late": 7 / 8}
    assert {team["name"] for team in json.loads((output / "all/ranking/ranking.json").read_text())["teams"]} == set(
        found
    )
