"""What the freehand samples must score, computed by the literal rules from the vectors in memory.

Neither podium nor any file takes part, so a mistake in reading and one in scoring both show.
"""

import shutil
from pathlib import Path
from typing import Any

from literal.freehand import Row, Scan, aggregates, lost_scan, score_scan

from samples.freehand_scans import scans
from samples.freehand_teams import MISSING, Team, teams
from samples.same_bytes import write_json

EXPECTED = Path("test/expected/freehand")


def write_expected(root: Path) -> None:
    shutil.rmtree(root / EXPECTED, ignore_errors=True)
    for team in teams().values():
        write_json(root / EXPECTED / f"{team.name}.json", expected_of(team))


def expected_of(team: Team) -> dict[str, Any]:
    rows = {case: row_of(team, case, scan) for case, scan in scans().items()}
    statuses = [row.status for row in rows.values()]
    runtimes = list(team.runtimes.values()) if team.runtimes else []
    return {
        "aggregates": aggregates(list(rows.values()), runtimes=runtimes),
        "results": {case: {"status": row.status, "metrics": row.metrics()} for case, row in rows.items()},
        "counts": {
            "expected": len(statuses),
            "scored": statuses.count("scored"),
            "failed": statuses.count("failed"),
            "missing": statuses.count("missing"),
            "unmatched": team.unmatched_files,
        },
    }


def row_of(team: Team, case: str, scan: Scan) -> Row:
    fault = team.faults.get(case)
    if fault is not None:
        return lost_scan("missing" if fault == MISSING else "failed")
    seconds = team.runtimes[case] if team.runtimes else None
    return score_scan(scan, team.answers[case], runtime_seconds=seconds)
