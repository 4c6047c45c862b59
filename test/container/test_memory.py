"""Memory that runs out by the container's limit: the kernel ends a worker, and only the case that filled it is lost."""

import json
from pathlib import Path

from container.engine import PLATFORM_LIMITS, docker, evaluate
from places import ROOT

CHALLENGE = """\
kind = "declared"
title = "Ages"
version = "1"
per_case = "full"

[values.age]
kind = "number"
table = "ages.csv"
column = "age"
reference_table = "ages.csv"

[[metrics]]
kind = "share"

[ranking]
by = "share.mean"
"""
OWN_METRIC = """\
from podium.own_metrics import metric


@metric(compares="number", direction="higher", lowest=0.0, highest=1.0)
def share(*, prediction, reference):
    filled = [] if prediction != 13 else [bytearray(b"x" * 2**26) for _ in range(64)]
    return min(prediction, reference) / max(prediction, reference) + len(filled)
"""
CASES = "abcdefgh"


def test_a_case_that_fills_the_memory_of_the_container_is_lost_alone(image: str, tmp_path: Path) -> None:
    truth, submission = tmp_path / "ages", tmp_path / "submission"
    (truth / "references").mkdir(parents=True)
    submission.mkdir()
    (truth / "challenge.toml").write_text(CHALLENGE, encoding="utf-8")
    (truth / "metrics.py").write_text(OWN_METRIC, encoding="utf-8")
    lines = "".join(f"{case},40\n" for case in CASES)
    (truth / "references/ages.csv").write_text(f"case,age\n{lines}", encoding="utf-8")
    (submission / "ages.csv").write_text(f"case,age\n{lines.replace('c,40', 'c,13')}", encoding="utf-8")
    environment = {"PODIUM_CHALLENGE": "ages"}
    run = evaluate(image, submission, tmp_path / "output", ground_truth=truth, environment=environment, memory="700m")
    rows = {row["case"]: row for row in json.loads(run.metrics)["results"]}
    assert {case for case, row in rows.items() if row["status"] == "scored"} == set(CASES) - {"c"}
    words = "Scoring this case ended its process every time, by a crash or because memory ran out."
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
    (truth / "references").mkdir(parents=True)
    (truth / "challenge.toml").write_text(CHALLENGE.replace("share.mean", "share"), encoding="utf-8")
    (truth / "metrics.py").write_text(OF_ALL_CASES, encoding="utf-8")
    lines = "".join(f"{case},40\n" for case in CASES)
    (truth / "references/ages.csv").write_text(f"case,age\n{lines}", encoding="utf-8")
    for team, age in {"early": 40, "filling": 13, "late": 41}.items():
        (teams / team).mkdir(parents=True)
        (teams / team / "ages.csv").write_text(f"case,age\n{lines.replace('c,40', f'c,{age}')}", encoding="utf-8")
    output.mkdir()
    output.chmod(0o777)
    done = docker(
        *("run", "--rm", *PLATFORM_LIMITS, "--memory=700m", "--memory-swap=700m", "--entrypoint=python"),
        f"--volume={ROOT / 'podium'}:/opt/app/podium:ro",  # the image itself has no batch
        *(f"--volume={truth}:/truth/ages:ro", f"--volume={teams}:/teams:ro", f"--volume={output}:/output"),
        *(image, "-m", "podium", "batch", "/teams", "--ground-truth", "/truth/ages", "--output", "/output/all"),
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
