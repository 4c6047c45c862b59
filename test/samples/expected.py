"""What the samples must score, computed by the literal rules from the data in memory.

Neither podium nor any file takes part, so a mistake in reading and one in scoring both show.
"""

import shutil
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from literal import carotid, freehand, lesions, reports

from samples import (
    carotid_cases,
    carotid_teams,
    freehand_scans,
    freehand_teams,
    lesions_cases,
    lesions_teams,
    reports_cases,
    reports_teams,
)
from samples.same_bytes import write_json

EXPECTED = Path("test/expected")
TOLERANCE_PX = 3
BASELINE_SECONDS = 90.0
# Mean and standard deviation of NLTK 3.10.4's `single_meteor_score` over the cases, with Debian's WordNet 3.0. Written
# down, since not every machine that writes the samples has WordNet.
METEOR_WORDNET = {
    "molar": (0.7580152139275429, 0.08443362509288502),
    "cuspid": (0.26040228362577894, 0.1377582354512286),
    "wisdom": (0.3186383798274787, 0.22313096483064399),
}


def write_expected(root: Path, challenge: str) -> None:
    teams, expect = CHALLENGES[challenge]
    shutil.rmtree(root / EXPECTED / challenge, ignore_errors=True)
    for team in teams().values():
        write_json(root / EXPECTED / challenge / f"{team.name}.json", expect(team))


def document(aggregates: dict[str, Any], results: Mapping[str, tuple[str, Any]], unmatched: int) -> dict[str, Any]:
    """What is expected of one team; `results` are the status and the metrics of every case."""
    statuses = [status for status, _ in results.values()]
    return {
        "aggregates": aggregates,
        "results": {case: {"status": status, "metrics": metrics} for case, (status, metrics) in results.items()},
        "counts": {
            "expected": len(statuses),
            **{status: statuses.count(status) for status in ("scored", "partial", "failed", "missing")},
            "unmatched": unmatched,
        },
    }


def expect_carotid(team: carotid_teams.Team) -> dict[str, Any]:
    def row_of(case: carotid_cases.Case) -> carotid.Row:
        fault = team.faults.get(case.name)
        if fault in (carotid_teams.MISSING, carotid_teams.TRUNCATED):
            return carotid.worst_case("missing" if fault == carotid_teams.MISSING else "failed", case.reference)
        answer = team.answers[case.name]
        if fault == carotid_teams.UNKNOWN_CLASS:
            answer = replace(answer, cls=None)
        elif fault is not None:
            view = "trans" if fault == carotid_teams.UNKNOWN_LABEL else "long"
            answer = replace(answer, masks={**answer.masks, view: None})
        return carotid.score_case(answer, case.reference, TOLERANCE_PX)

    rows = {case.name: row_of(case) for case in carotid_cases.cases()}
    aggregates = carotid.aggregates(list(rows.values()), total_seconds=team.total_seconds, baseline=BASELINE_SECONDS)
    return document(aggregates, {case: (row.status, row.metrics()) for case, row in rows.items()}, team.unmatched_files)


def expect_freehand(team: freehand_teams.Team) -> dict[str, Any]:
    def row_of(case: str, scan: freehand.Scan) -> freehand.Row:
        fault = team.faults.get(case)
        if fault is not None:
            return freehand.lost_scan("missing" if fault == freehand_teams.MISSING else "failed")
        return freehand.score_scan(
            scan, team.answers[case], runtime_seconds=team.runtimes[case] if team.runtimes else None
        )

    rows = {case: row_of(case, scan) for case, scan in freehand_scans.scans().items()}
    aggregates = freehand.aggregates(list(rows.values()), runtimes=list((team.runtimes or {}).values()))
    return document(aggregates, {case: (row.status, row.metrics()) for case, row in rows.items()}, team.unmatched_files)


def expect_lesions(team: lesions_teams.Team) -> dict[str, Any]:
    missing = lesions_teams.MISSING

    def row_of(case: lesions_cases.Case) -> lesions.Row:
        spacing = tuple(reversed(case.plan.spacing))
        faults = [team.faults.get((case.name, step)) for step in range(lesions_teams.STEPS)]
        steps = [
            lesions.score_step(mask, case.reference, spacing)
            if fault is None
            else lesions.lost_step("missing" if fault == missing else "failed", case.reference, spacing)
            for fault, mask in zip(faults, team.answers[case.name], strict=True)
        ]
        status = "scored" if None in faults else "missing" if set(faults) == {missing} else "failed"
        return lesions.Row(case.name, status, steps)

    rows = [row_of(case) for case in lesions_cases.cases()]
    aggregates = lesions.aggregates(rows, group_of=lesions_cases.GROUPS)
    return document(aggregates, {row.case: (row.status, row.figures()) for row in rows}, team.unmatched_files)


def expect_reports(team: reports_teams.Team) -> dict[str, Any]:
    statuses = {reports_teams.NUMBER: "failed", reports_teams.MISSING: "missing"}

    def row_of(case: str) -> reports.Row:
        fault = team.faults.get(case)
        answer = team.answers[case] if fault is None else ""
        return reports.Row(statuses.get(fault or "", "scored"), answer, reports_cases.CASES[case].reference)

    rows = {case: row_of(case) for case in reports_cases.CASES}
    mean, std = METEOR_WORDNET[team.name]
    aggregates = {**reports.aggregates(list(rows.values())), "meteor_wordnet": mean, "meteor_wordnet_std": std}
    return document(aggregates, {case: (row.status, row.metrics()) for case, row in rows.items()}, team.unmatched)


CHALLENGES: dict[str, tuple[Callable[[], Mapping[str, Any]], Callable[[Any], dict[str, Any]]]] = {
    "carotid": (carotid_teams.teams, expect_carotid),
    "freehand": (freehand_teams.teams, expect_freehand),
    "lesions": (lesions_teams.teams, expect_lesions),
    "reports": (reports_teams.teams, expect_reports),
}
