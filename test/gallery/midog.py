"""MIDOG: points in millimetres, matched as the organisers' container does it, counts summed over all images."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from samples.algorithm_submission import JobFolder, random_id
from samples.same_bytes import write_json

from gallery.files import clear, write_expected

Points = NDArray[np.float64]
RADIUS_MM = 7.5e-3
IMAGE, FIGURES_FOUND = "histopathology-region-of-interest-cropout", "mitotic-figures"
FIGURES = {"canine_lymphoma_001": 5, "canine_lymphoma_002": 3, "human_melanoma_003": 4, "human_melanoma_004": 0}
LOST = {"prophase": {}, "telophase": {"canine_lymphoma_002": "missing", "human_melanoma_003": "failed"}}


def write(folder: Path) -> None:
    """References, teams and expected figures of the entry."""
    clear(folder)
    rng = np.random.default_rng(2022)
    references = {case: _apart(rng, number) for case, number in FIGURES.items()}
    for case, points in references.items():
        write_json(folder / "references" / f"{case}.json", _document(points))
    for position, (team, lost) in enumerate(LOST.items(), start=1):
        counts: dict[str, tuple[int, int, int]] = {}
        sent: dict[str, Any] = {}
        for number, (case, expected) in enumerate(references.items()):
            found = _found(rng, expected, extra=number + position - 1, missed=position - 1)
            if case in lost:
                counts[case] = (0, 0, len(expected))
            else:
                counts[case] = _counted(expected, found)
            if lost.get(case) != "missing":
                sent[case] = _document(found, others=_apart(rng, 1), probability=True)
                if case in lost:
                    sent[case]["points"][0]["point"] = "somewhere"
        _write_team(folder / "teams" / team, sent, rng, by_algorithm=not lost)
        aggregates = dict(_figures(list(counts.values())))
        for group in ("canine_lymphoma", "human_melanoma"):
            own = [count for case, count in counts.items() if case.startswith(group)]
            aggregates |= {f"groups.{group}.{name}": figure for name, figure in _figures(own).items()}
        write_expected(folder, team, position=position, aggregates=aggregates, lost=lost)


def _write_team(folder: Path, sent: dict[str, Any], rng: np.random.Generator, *, by_algorithm: bool) -> None:
    """Jobs of an algorithm as the platform gives them, or one file for every image."""
    if not by_algorithm:
        for case, document in sent.items():
            write_json(folder / f"{case}.json", document)
        return
    jobs = []
    for case, document in sent.items():
        job = JobFolder(folder, random_id(rng), rng)
        inputs = [job.input_image(IMAGE, f"{case}.tiff")]
        outputs = [job.output_json_file(FIGURES_FOUND, document)]
        jobs.append(job.job(inputs=inputs, outputs=outputs))
    write_json(folder / "predictions.json", jobs)


def _counted(expected: Points, found: Points) -> tuple[int, int, int]:
    """TP, FP, FN: every reference in turn takes the nearest point within the radius that is still free."""
    used = [False] * len(found)
    hits = 0
    for target in expected:
        distances = [float(np.sqrt(((target - point) ** 2).sum())) for point in found]
        for candidate in sorted(range(len(found)), key=lambda each: distances[each]):
            if distances[candidate] <= RADIUS_MM and not used[candidate]:
                used[candidate] = True
                hits += 1
                break
    return hits, used.count(False), len(expected) - hits


def _figures(counts: Sequence[tuple[int, int, int]]) -> dict[str, float]:
    tp, fp, fn = (sum(each) for each in zip(*counts, strict=True))
    return {"f1": 2 * tp / (2 * tp + fp + fn), "precision": tp / (tp + fp), "recall": tp / (tp + fn)}


def _apart(rng: np.random.Generator, number: int) -> Points:
    """Points on a field of 2 mm, more than 50 micrometres apart: the order of matching decides nothing."""
    points: list[Points] = []
    while len(points) < number:
        point = np.round(np.append(rng.uniform(0.1, 1.9, 2), 0.0), 5)
        if all(np.linalg.norm(point - other) > 0.05 for other in points):
            points.append(point)
    return np.array(points, dtype=np.float64).reshape(-1, 3)


def _found(rng: np.random.Generator, expected: Points, *, extra: int, missed: int) -> Points:
    """Most references, a few micrometres off, one twice; one from just outside of the radius; and points elsewhere."""
    kept = expected[missed:]
    near = kept[1:] + np.append(rng.uniform(-0.004, 0.004, 2), 0.0)
    beside = kept[:1] + np.array([0.0, 0.0076, 0.0])
    elsewhere = _apart(rng, extra) + np.array([3.0, 0.0, 0.0])
    return np.round(np.concatenate([elsewhere, near, near[:1], beside]), 5)


def _document(points: Points, *, others: Points | None = None, probability: bool = False) -> dict[str, Any]:
    """The platform's JSON; `others` are points of another name, which do not count."""
    named = [(point, "mitotic figure") for point in points]
    named += [(point, "non-mitotic figure") for point in (others if others is not None else ())]
    listed: list[dict[str, Any]] = []
    for number, (point, name) in enumerate(named):
        entry: dict[str, Any] = {"name": name, "point": point.tolist()}
        if probability:
            entry["probability"] = round(0.95 - 0.05 * number, 2)
        listed.append(entry)
    return {"name": "Mitotic figures", "type": "Multiple points", "points": listed, "version": {"major": 1, "minor": 0}}
