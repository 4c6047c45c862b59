"""What the carotid samples must score, computed by the literal rules from the masks in memory.

Neither podium nor any file takes part, so a mistake in reading and one in scoring both show.
"""

import shutil
from pathlib import Path
from typing import Any

from literal.carotid import Row, aggregates, score_case, worst_case

from samples.carotid_cases import Case, cases
from samples.carotid_teams import MISSING, Team, teams
from samples.same_bytes import write_json

EXPECTED = Path("test/expected/carotid")
TOLERANCE_PX = 3
BASELINE_SECONDS = 90.0


def write_expected(root: Path) -> None:
    shutil.rmtree(root / EXPECTED, ignore_errors=True)
    for team in teams().values():
        write_json(root / EXPECTED / f"{team.name}.json", expected_of(team))


def expected_of(team: Team) -> dict[str, Any]:
    rows = {case.name: row_of(team, case) for case in cases()}
    statuses = [row.status for row in rows.values()]
    return {
        "aggregates": aggregates(list(rows.values()), total_seconds=team.total_seconds, baseline=BASELINE_SECONDS),
        "results": {case: {"status": row.status, "metrics": row.metrics()} for case, row in rows.items()},
        "counts": {
            "expected": len(statuses),
            "scored": statuses.count("scored"),
            "failed": statuses.count("failed"),
            "missing": statuses.count("missing"),
            "unmatched": team.unmatched_files,
        },
    }


def row_of(team: Team, case: Case) -> Row:
    fault = team.faults.get(case.name)
    if fault is not None:
        return worst_case("missing" if fault == MISSING else "failed", case.reference)
    return score_case(team.answers[case.name], case.reference, TOLERANCE_PX)
