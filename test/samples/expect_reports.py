"""What the reports samples must score, computed by the literal rules from the texts in memory."""

import shutil
from pathlib import Path
from typing import Any

from literal.reports import Row, aggregates

from samples.reports_cases import CASES
from samples.reports_teams import MISSING, NUMBER, Team, teams
from samples.same_bytes import write_json

EXPECTED = Path("test/expected/reports")


def write_expected(root: Path) -> None:
    shutil.rmtree(root / EXPECTED, ignore_errors=True)
    for team in teams().values():
        write_json(root / EXPECTED / f"{team.name}.json", expected_of(team))


def expected_of(team: Team) -> dict[str, Any]:
    rows = {case: row_of(team, case) for case in CASES}
    statuses = [row.status for row in rows.values()]
    return {
        "aggregates": aggregates(list(rows.values())),
        "results": {case: {"status": row.status, "metrics": row.metrics()} for case, row in rows.items()},
        "counts": {
            "expected": len(statuses),
            "scored": statuses.count("scored"),
            "failed": statuses.count("failed"),
            "missing": statuses.count("missing"),
            "unmatched": team.unmatched,
        },
    }


def row_of(team: Team, case: str) -> Row:
    fault = team.faults.get(case)
    status = {NUMBER: "failed", MISSING: "missing"}.get(fault or "", "scored")
    return Row(status, team.answers[case] if fault is None else "", CASES[case].reference)
