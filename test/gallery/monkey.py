"""MONKEY: sensitivity at false positives per mm2, point by point along the curve."""

from pathlib import Path

import numpy as np
from samples.same_bytes import write_json

from gallery.files import clear, write_expected

AREA_MM2 = {"A_P000001": 0.012, "B_P000002": 0.018}
LEVELS = (10, 20, 50, 100, 200, 300)
RADIUS_MM = {"lymphocytes": 0.004, "monocytes": 0.01, "inflammatory_cells": 0.0075}
METRICS = {"lymphocytes": "lymphocytes", "monocytes": "monocytes", "inflammatory_cells": "inflammatory"}
Spots = list[tuple[float, float]]
Found = dict[str, list[tuple[float, float, float]]]


def cells(case: str, kind: str) -> Spots:
    """On a grid of 50 um: no two of them are within a margin of one detection."""
    counts = {"lymphocytes": (5, 4), "monocytes": (3, 2), "inflammatory_cells": (8, 6)}[kind]
    start = {"lymphocytes": 1.0, "monocytes": 2.0, "inflammatory_cells": 3.0}[kind]
    number = counts[sorted(AREA_MM2).index(case)]
    return [(round(start + 0.05 * step, 3), 1.0) for step in range(number)]


def detections(case: str, kind: str, *, shift_mm: float, seed: int) -> list[tuple[float, float, float]]:
    """Of every cell, off by a shift that differs from cell to cell, and false ones; the last is the least probable."""
    rng = np.random.default_rng([seed, len(case), sorted(RADIUS_MM).index(kind), sorted(AREA_MM2).index(case)])
    spots = cells(case, kind)
    found = [
        (round(x + shift_mm * (step % 4), 4), y, round(float(rng.uniform(0.4, 0.95)), 3))
        for step, (x, y) in enumerate(spots)
    ]
    false = [(round(5.0 + 0.05 * step, 3), 2.0, round(float(rng.uniform(0.2, 0.8)), 3)) for step in range(6)]
    return [*found, *false, (9.0, 9.0, 0.001)]


def points(spots: list[tuple[float, ...]], name: str) -> dict[str, object]:
    """The platform's JSON."""
    listed = [
        {"name": f"{name} {number}", "point": [spot[0], spot[1], 0.0], **({"probability": spot[2]} if spot[2:] else {})}
        for number, spot in enumerate(spots)
    ]
    return {"name": name, "type": "Multiple points", "points": listed, "version": {"major": 1, "minor": 0}}


def froc(team: dict[str, Found], kind: str) -> dict[str, float]:
    hits: list[float] = []
    false: list[float] = []
    total = 0
    for case in AREA_MM2:
        spots = cells(case, kind)
        total += len(spots)
        for x, y, probability in team.get(case, {}).get(kind, []):
            near = any(np.hypot(x - at, y - other) <= RADIUS_MM[kind] for at, other in spots)
            (hits if near else false).append(probability)
    area = sum(AREA_MM2.values())
    thresholds = sorted({*hits, *false}, reverse=True)
    rates = [0.0, *(sum(each >= least for each in false) / area for least in thresholds)]
    sensitivities = [0.0, *(sum(each >= least for each in hits) / total for least in thresholds)]
    at = [float(np.interp(level, rates, sensitivities)) for level in LEVELS]
    name = f"{METRICS[kind]}_froc"
    return {
        **{f"{name}.at_{level}": value for level, value in zip(LEVELS, at, strict=True)},
        f"{name}.cpm": sum(at) / 6,
    }


def write(folder: Path) -> None:
    clear(folder)
    for case in AREA_MM2:
        for kind in RADIUS_MM:
            write_json(folder / "references" / f"{case}_{kind}.json", points([*cells(case, kind)], kind))
    shifts = {"tubulus": (0.001, list(AREA_MM2)), "banff": (0.0025, ["A_P000001"])}
    for position, (team, (shift, cases)) in enumerate(shifts.items(), start=1):
        found = {
            case: {kind: detections(case, kind, shift_mm=shift, seed=position) for kind in RADIUS_MM} for case in cases
        }
        for case, kinds in found.items():
            for kind, spots in kinds.items():
                write_json(folder / "teams" / team / f"{case}_{kind}.json", points([*spots], kind))
        aggregates = {path: value for kind in RADIUS_MM for path, value in froc(found, kind).items()}
        aggregates["froc_of_classes"] = (aggregates["lymphocytes_froc.cpm"] + aggregates["monocytes_froc.cpm"]) / 2
        lost = {case: "missing" for case in AREA_MM2 if case not in cases}
        write_expected(folder, team, position=position, aggregates=aggregates, lost=lost)
