"""Memory that runs out by the container's limit: the kernel ends a worker, and only the case that filled it is lost."""

import json
from pathlib import Path

from container.engine import evaluate

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
