"""What the lesions samples must score, computed by the literal rules from the masks in memory.

Neither podium nor any file takes part, so a mistake in reading and one in scoring both show.
"""

import shutil
from pathlib import Path
from typing import Any

from literal.lesions import Row, aggregates, lost_step, score_step

from samples.lesions_cases import GROUPS, Case, cases
from samples.lesions_teams import MISSING, STEPS, Team, teams
from samples.same_bytes import write_json

EXPECTED = Path("test/expected/lesions")


def write_expected(root: Path) -> None:
    shutil.rmtree(root / EXPECTED, ignore_errors=True)
    for team in teams().values():
        write_json(root / EXPECTED / f"{team.name}.json", expected_of(team))


def expected_of(team: Team) -> dict[str, Any]:
    rows = [row_of(team, case) for case in cases()]
    statuses = [row.status for row in rows]
    return {
        "aggregates": aggregates(rows, group_of=GROUPS),
        "results": {row.case: {"status": row.status, "metrics": row.figures()} for row in rows},
        "counts": {
            "expected": len(statuses),
            "scored": statuses.count("scored"),
            "failed": statuses.count("failed"),
            "missing": statuses.count("missing"),
            "unmatched": team.unmatched_files,
        },
    }


def row_of(team: Team, case: Case) -> Row:
    spacing = tuple(reversed(case.plan.spacing))
    faults = [team.faults.get((case.name, step)) for step in range(STEPS)]
    steps = []
    for fault, mask in zip(faults, team.answers[case.name], strict=True):
        if fault is None:
            steps.append(score_step(mask, case.reference, spacing))
        else:
            steps.append(lost_step("missing" if fault == MISSING else "failed", case.reference, spacing))
    status = "scored" if None in faults else "missing" if set(faults) == {MISSING} else "failed"
    return Row(case.name, status, steps)
