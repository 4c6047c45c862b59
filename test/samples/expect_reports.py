"""What the reports samples must score, computed by the literal rules from the texts in memory."""

import shutil
from pathlib import Path
from typing import Any

from literal.reports import Row, aggregates

from samples.reports_cases import CASES
from samples.reports_teams import MISSING, NUMBER, Team, teams
from samples.same_bytes import write_json

EXPECTED = Path("test/expected/reports")
# Mean and standard deviation of NLTK 3.10.4's `single_meteor_score` over the cases, with Debian's WordNet 3.0. Written
# down, since not every machine that writes the samples has WordNet.
METEOR_WORDNET = {
    "molar": (0.7580152139275429, 0.08443362509288502),
    "cuspid": (0.26040228362577894, 0.1377582354512286),
    "wisdom": (0.3186383798274787, 0.22313096483064399),
}


def write_expected(root: Path) -> None:
    shutil.rmtree(root / EXPECTED, ignore_errors=True)
    for team in teams().values():
        write_json(root / EXPECTED / f"{team.name}.json", expected_of(team))


def expected_of(team: Team) -> dict[str, Any]:
    rows = {case: row_of(team, case) for case in CASES}
    statuses = [row.status for row in rows.values()]
    mean, std = METEOR_WORDNET[team.name]
    return {
        "aggregates": {
            **aggregates(list(rows.values())),
            "meteor_wordnet": mean,
            "meteor_wordnet_std": std,
        },
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
