"""CL-Detection: radial errors of named landmarks, one by one."""

import math
from pathlib import Path

import numpy as np

from gallery.files import clear, means, write_expected, write_table

NAMES = ("sella", "nasion", "orbitale", "porion", "gonion", "menton")
IMAGES = ("ceph-01", "ceph-02", "ceph-03", "ceph-04")
RADII_MM = {2.0: "at_2", 2.5: "at_2_5", 3.0: "at_3", 4.0: "at_4"}
FAILED_MM = 20.0
TEAMS = {"calvaria": (0.8, ()), "mandible": (2.0, ("ceph-03",))}  # spread in mm, and images without any landmark
Places = dict[str, dict[str, tuple[float, float]]]


def landmarks() -> Places:
    rng = np.random.default_rng(38)
    return {
        image: {
            name: (round(float(x), 3), round(float(y), 3))
            for name, (x, y) in zip(NAMES, rng.uniform(10, 200, (6, 2)), strict=True)
        }
        for image in IMAGES
    }


def found_by(team: str) -> Places:
    spread, left_out = TEAMS[team]
    rng = np.random.default_rng(len(team))
    moved = {
        image: {
            name: (round(x + float(rng.normal()) * spread, 3), round(y + float(rng.normal()) * spread, 3))
            for name, (x, y) in places.items()
        }
        for image, places in landmarks().items()
        if image not in left_out
    }
    if team == "mandible":
        del moved["ceph-02"]["porion"]  # one landmark that was not found
    return moved


def rows(places: Places) -> list[dict[str, object]]:
    return [
        {"case": image, "name": name, "x": x, "y": y} for image, each in places.items() for name, (x, y) in each.items()
    ]


def write(folder: Path) -> None:
    clear(folder)
    truth = landmarks()
    write_table(folder / "references" / "landmarks.csv", rows(truth))
    for position, team in enumerate(TEAMS, start=1):
        found = found_by(team)
        write_table(folder / "teams" / team / "predictions.csv", rows(found))
        cases: dict[str, dict[str, float | None]] = {}
        for image, places in truth.items():
            errors = [
                math.dist(found[image][name], place) if name in found.get(image, {}) else math.inf
                for name, place in places.items()
            ]
            cases[image] = {
                "mre": float(np.mean([min(each, FAILED_MM) for each in errors])),
                **{
                    f"sdr.{name}": sum(each <= radius for each in errors) / len(NAMES)
                    for radius, name in RADII_MM.items()
                },
            }
        lost = {image: "missing" for image in IMAGES if image not in found}
        write_expected(folder, team, position=position, aggregates=means(cases), cases=cases, lost=lost)
