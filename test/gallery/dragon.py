"""DRAGON: AUROC, linear kappa and the R-SMAPE score of three tasks, read literally."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from gallery.cxr_lt import auroc, scores
from gallery.files import clear, write_expected, write_table

EPSILON = 0.4
PREFIX = {"adhesion": "binary_classification", "prostate_radiology": "multi_class_classification", "psa": "regression"}
TRUE: dict[str, dict[str, float]] = {
    "adhesion": {f"Task001_case{number}": int(number % 3 == 0) for number in range(9)},
    "prostate_radiology": {f"Task010_case{number}": 1 + number % 5 for number in range(10)},
    "psa": {f"Task020_case{number}": round(0.5 + 2.3 * number, 1) for number in range(8)},
}
SPREAD = {"scale": 0.2, "wing": 0.6}
LEFT_OUT = {"scale": (), "wing": ("Task020_case3",)}


def answers(team: str) -> dict[str, dict[str, float]]:
    rng, spread = np.random.default_rng(len(team)), SPREAD[team]
    found: dict[str, dict[str, float]] = {
        "adhesion": {
            case: round(float(np.clip(0.3 + 0.4 * true + spread * rng.normal(), 0.01, 0.99)), 3)
            for case, true in TRUE["adhesion"].items()
        },
        "prostate_radiology": {
            case: int(np.clip(round(true + 2 * spread * rng.normal()), 1, 5))
            for case, true in TRUE["prostate_radiology"].items()
        },
        "psa": {case: round(true * (1 + spread * float(rng.uniform())), 2) for case, true in TRUE["psa"].items()},
    }
    return {
        task: {case: each for case, each in cases.items() if case not in LEFT_OUT[team]}
        for task, cases in found.items()
    }


def kappa(found: Mapping[str, float]) -> float:
    """1 - the observed over the expected distance of the classes."""
    true = TRUE["prostate_radiology"]
    observed = sum(abs(true[case] - found[case]) for case in true)
    expected = sum(abs(one - other) for one in true.values() for other in found.values()) / len(true)
    return 1 - observed / expected


def rsmapes(found: Mapping[str, float]) -> float:
    values = [
        1 - abs(true - found[case]) / (abs(true) + abs(found[case]) + EPSILON) if case in found else 0.0
        for case, true in TRUE["psa"].items()
    ]
    return sum(values) / len(values)


def table(task: str, cases: Mapping[str, float], ending: str = "") -> list[dict[str, object]]:
    return [{"uid": case, f"single_label_{PREFIX[task]}{ending}": each} for case, each in cases.items()]


def write(folder: Path) -> None:
    clear(folder)
    for task, cases in TRUE.items():
        write_table(folder / "references" / f"{task}.csv", table(task, cases, "_target"))
    for position, team in enumerate(SPREAD, start=1):
        found = answers(team)
        for task, cases in found.items():
            write_table(folder / "teams" / team / f"{task}.csv", table(task, cases))
        labels = {case: int(label) for case, label in TRUE["adhesion"].items()}
        figures = {
            "auroc": auroc(scores(labels, found["adhesion"])),
            "kappa": kappa(found["prostate_radiology"]),
            "rsmapes.mean": rsmapes(found["psa"]),
        }
        figures["overall"] = sum(figures.values()) / 3
        lost = dict.fromkeys(LEFT_OUT[team], "missing")
        write_expected(folder, team, position=position, aggregates=figures, lost=lost)
