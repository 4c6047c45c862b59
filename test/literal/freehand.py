"""The freehand rules, word by word: every reference field is written out pixel by pixel. Nothing is from podium.

S takes a pixel to image mm, C image mm to the tool, T_i the tool to the camera; x and y count from 1, frames from 0.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

ERRORS = ("gpe", "gle", "lpe", "lle")
CATEGORIES = {
    "global_score": ("gpe", "gle"),
    "local_score": ("lpe", "lle"),
    "pixel_score": ("gpe", "lpe"),
    "landmark_score": ("gle", "lle"),
}


@dataclass(frozen=True)
class Scan:
    """A tracked scan and its landmarks, rows (frame, x, y)."""

    tool_to_camera: NDArray[np.float64]
    landmarks: NDArray[np.int64]
    pixel_to_mm: NDArray[np.float64]
    image_to_tool: NDArray[np.float64]
    height: int
    width: int


@dataclass(frozen=True)
class Displacements:
    """The four sets of vectors a method gives, mm."""

    gp: NDArray[np.float64]
    gl: NDArray[np.float64]
    lp: NDArray[np.float64]
    ll: NDArray[np.float64]


@dataclass(frozen=True)
class Row:
    """One scan's figures; a scan that is missing or failed has no errors and scores 0."""

    status: str
    errors: Mapping[str, float] | None
    unclipped: Mapping[str, float]
    clip: bool = True
    runtime_seconds: float | None = None

    @property
    def normalised(self) -> dict[str, float]:
        return {name: min(max(e, 0.0), 1.0) if self.clip else e for name, e in self.unclipped.items()}

    def metrics(self) -> dict[str, Any]:
        stars = self.normalised
        return {
            **(self.errors or dict.fromkeys(ERRORS)),
            "normalised": stars,
            "unclipped": dict(self.unclipped),
            "final_score": 0.25 * sum(stars.values()),
            "final_score_unclipped": 0.25 * sum(self.unclipped.values()),
            **{name: 0.5 * stars[one] + 0.5 * stars[two] for name, (one, two) in CATEGORIES.items()},
            "as_written": {
                name: 0.5 * (1 - stars[one]) + 0.5 * (1 - stars[two]) for name, (one, two) in CATEGORIES.items()
            },
            "runtime_seconds": self.runtime_seconds,
        }


def transform(scan: Scan, base: int, frame: int) -> NDArray[np.float64]:
    """Image mm of `frame` -> image mm of `base`: C^-1 T_base^-1 T_frame C."""
    t, c = scan.tool_to_camera, scan.image_to_tool
    return np.asarray(np.linalg.inv(c) @ np.linalg.inv(t[base]) @ t[frame] @ c)


def field(scan: Scan, matrix: NDArray[np.float64]) -> NDArray[np.float64]:
    """(3, H W): where the transform takes each pixel, less where that was; row after row."""
    pixels = [(x, y, 0, 1) for y in range(1, scan.height + 1) for x in range(1, scan.width + 1)]
    points = scan.pixel_to_mm @ np.array(pixels).T
    return np.asarray((matrix @ points - points)[:3])


def reference(scan: Scan) -> Displacements:
    frames = range(1, len(scan.tool_to_camera))
    gp = np.stack([field(scan, transform(scan, 0, i)) for i in frames])
    lp = np.stack([field(scan, transform(scan, i - 1, i)) for i in frames])
    return Displacements(gp=gp, gl=at_landmarks(scan, gp), lp=lp, ll=at_landmarks(scan, lp))


def from_transforms(scan: Scan, globals_: Sequence[Any], locals_: Sequence[Any]) -> Displacements:
    """What a method means that gives transforms in place of vectors."""
    gp = np.stack([field(scan, np.asarray(matrix)) for matrix in globals_])
    lp = np.stack([field(scan, np.asarray(matrix)) for matrix in locals_])
    return Displacements(gp=gp, gl=at_landmarks(scan, gp), lp=lp, ll=at_landmarks(scan, lp))


def at_landmarks(scan: Scan, pixels: NDArray[np.float64]) -> NDArray[np.float64]:
    columns = [pixels[frame - 1, :, (y - 1) * scan.width + (x - 1)] for frame, x, y in scan.landmarks]
    return np.stack(columns, axis=1)


def pixel_error(one: NDArray[Any], other: NDArray[Any]) -> float:
    return float(np.mean(np.sqrt(np.sum((one.astype(np.float64) - other) ** 2, axis=1))))


def landmark_error(one: NDArray[Any], other: NDArray[Any]) -> float:
    return float(np.mean(np.sqrt(np.sum((one.astype(np.float64) - other) ** 2, axis=0))))


def errors(prediction: Displacements, truth: Displacements) -> dict[str, float]:
    return {
        "gpe": pixel_error(prediction.gp, truth.gp),
        "gle": landmark_error(prediction.gl, truth.gl),
        "lpe": pixel_error(prediction.lp, truth.lp),
        "lle": landmark_error(prediction.ll, truth.ll),
    }


def largest_errors(truth: Displacements) -> dict[str, float]:
    """Identity transforms move nothing."""
    return errors(Displacements(gp=0 * truth.gp, gl=0 * truth.gl, lp=0 * truth.lp, ll=0 * truth.ll), truth)


def score_scan(
    scan: Scan, prediction: Displacements, *, clip: bool = True, runtime_seconds: float | None = None
) -> Row:
    truth = reference(scan)
    found, largest = errors(prediction, truth), largest_errors(truth)
    stars = {}
    for name in ERRORS:
        if largest[name] == 0:
            stars[name] = 1.0 if found[name] == 0 else 0.0
        else:
            stars[name] = (found[name] - largest[name]) / (0 - largest[name])
    return Row("scored", found, stars, clip, runtime_seconds)


def lost_scan(status: str, runtime_seconds: float | None = None) -> Row:
    return Row(status, None, dict.fromkeys(ERRORS, 0.0), True, runtime_seconds)


def aggregates(rows: Sequence[Row], *, runtimes: Sequence[float]) -> dict[str, Any]:
    """The mean over all expected scans; errors in mm over those that have any. `runtimes` are those that are known."""
    each = [row.metrics() for row in rows]
    final = mean([row["final_score"] for row in each])
    is_known = len(runtimes) == len(rows)
    seconds = mean(runtimes) if runtimes else 1e9
    breaks_ties = is_known and any(row.status == "scored" for row in rows)
    figures: dict[str, Any] = {
        "score": round(final, 3),
        # Half a thousandth at most, less the longer it took: it orders those who are equal to 3 decimals, no others.
        "ranking_score": round(final, 3) + (0.0005 / (1 + seconds) if breaks_ties else 0.0),
        "final_score": final,
        "final_score_unclipped": mean([row["final_score_unclipped"] for row in each]),
        "runtime_seconds": seconds,
        "runtime_known": int(is_known),
        "as_written": {name: mean([row["as_written"][name] for row in each]) for name in CATEGORIES},
        "scans": {
            "expected": len(rows),
            **{status: sum(row.status == status for row in rows) for status in ("scored", "failed", "missing")},
        },
    }
    for name in CATEGORIES:
        figures[name] = mean([row[name] for row in each])
    for name in ERRORS:
        known = [row[name] for row in each if row[name] is not None]
        figures[name] = {"mean": mean(known), "std": deviation(known)}
        for group in ("normalised", "unclipped"):
            values = [row[group][name] for row in each]
            figures.setdefault(group, {})[name] = {"mean": mean(values), "std": deviation(values)}
    return figures


def mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)


def deviation(values: Sequence[float]) -> float:
    centre = mean(values)
    return math.sqrt(mean([(value - centre) ** 2 for value in values]))
