"""RSNA bone age: two tables of ages in months, and the mean of the absolute differences."""

from pathlib import Path

import numpy as np

from gallery.files import clear, write_expected, write_table

REFERENCES = {"1377": 180.0, "1378": 12.0, "1379": 94.0, "1380": 120.0, "1381": 150.0, "1382": 33.5}
OLDEST = 240.0
TEAMS: dict[str, dict[str, object]] = {
    "metacarpal": {"1377": 176.5, "1378": 14.25, "1379": 99.0, "1380": 118.0, "1381": 150.0, "1382": 30.0},
    # 1380 is missing, 1381 is no number and 1382 is older than anyone may be.
    "phalanx": {"1377": 190.0, "1378": 20.0, "1379": 80.0, "1381": "adult", "1382": 400.0},
}


def write(folder: Path) -> None:
    """References, teams and expected figures of the entry."""
    clear(folder)
    write_table(
        folder / "references/bone_ages.csv", [{"id": case, "bone_age": age} for case, age in REFERENCES.items()]
    )
    for position, (team, answers) in enumerate(TEAMS.items(), start=1):
        rows = [{"id": case, "bone_age": age} for case, age in answers.items()]
        write_table(folder / "teams" / team / "predictions.csv", rows)
        lost: dict[str, str] = {}
        cases: dict[str, dict[str, float]] = {}
        for case, reference in REFERENCES.items():
            answer = answers.get(case)
            if isinstance(answer, float) and 0 <= answer <= OLDEST:
                cases[case] = {"mad": abs(answer - reference)}
            else:
                lost[case] = "failed" if case in answers else "missing"
                cases[case] = {"mad": max(reference, OLDEST - reference)}
        errors = [figures["mad"] for figures in cases.values()]
        write_expected(
            folder,
            team,
            position=position,
            aggregates={
                "mad.mean": float(np.mean(errors)),
                "mad.median": float(np.median(errors)),
                "mad.n": len(errors),
            },
            cases=cases,
            lost=lost,
        )
