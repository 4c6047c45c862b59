"""The rules of lesions, word by word: sets and loops instead of libraries, so that it can be checked by reading.

Nothing is imported from podium: agreement between the two then means something. Arrays are in any axis order; spacing
follows it.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

Voxel = tuple[int, ...]
IOU_THRESHOLD = 0.1


def neighbours(connectivity: int) -> list[Voxel]:
    """6: one index differs by one; 18: one or two; 26: one, two or all three."""
    most = {6: 1, 18: 2, 26: 3}[connectivity]
    return [step for step in product((-1, 0, 1), repeat=3) if 0 < sum(map(abs, step)) <= most]


def voxels_of(mask: NDArray[Any]) -> set[Voxel]:
    return {tuple(int(i) for i in place) for place in np.argwhere(mask)}


def components(mask: NDArray[Any], connectivity: int = 18) -> list[set[Voxel]]:
    """Flood fill from every voxel that no component has yet."""
    left = voxels_of(mask)
    found = []
    for start in sorted(left):
        if start not in left:
            continue
        component, waiting = set(), [start]
        left.discard(start)
        while waiting:
            voxel = waiting.pop()
            component.add(voxel)
            for step in neighbours(connectivity):
                other = tuple(a + b for a, b in zip(voxel, step, strict=True))
                if other in left:
                    left.discard(other)
                    waiting.append(other)
        found.append(component)
    return found


def lesions_of(reference: NDArray[Any], connectivity: int = 18) -> list[set[Voxel]]:
    """The labels of an instance map (more than one non-zero value), else the components."""
    values = [value for value in np.unique(reference) if value != 0]
    if len(values) > 1:
        return [voxels_of(reference == value) for value in values]
    return components(reference, connectivity)


@dataclass(frozen=True)
class Step:
    """The figures of one step; None is undefined."""

    dice: float | None
    dmm: float | None
    tp: int
    fp: int
    fn: int
    fpv_ml: float
    fnv_ml: float | None
    status: str = "scored"
    component_dice: float | None = None

    def metrics(self) -> dict[str, Any]:
        names = ("dice", "dmm", "tp", "fp", "fn", "fpv_ml", "fnv_ml", "status")
        return {name: getattr(self, name) for name in names}


def score_step(
    prediction: NDArray[Any],
    reference: NDArray[Any],
    spacing: Sequence[float],
    *,
    connectivity: int = 18,
    empty_reference: str = "undefined",
) -> Step:
    ml = math.prod(spacing) / 1000
    predicted, lesions = components(prediction, connectivity), lesions_of(reference, connectivity)
    in_prediction, in_reference = voxels_of(prediction), voxels_of(reference)
    found = [g for g in lesions if any(iou(g, p) >= IOU_THRESHOLD for p in predicted)]
    right = [p for p in predicted if any(iou(g, p) >= IOU_THRESHOLD for g in lesions)]
    tp, fn, fp = len(found), len(lesions) - len(found), len(predicted) - len(right)
    fpv = ml * sum(len(p) for p in predicted if not p & in_reference)
    if not in_reference:
        dice = None
        if empty_reference == "score":
            dice = 0.0 if in_prediction else 1.0
        return Step(dice, None, tp, fp, fn, fpv, None)
    return Step(
        dice=2 * len(in_prediction & in_reference) / (len(in_prediction) + len(in_reference)),
        dmm=2 * tp / (2 * tp + fp + fn),
        tp=tp,
        fp=fp,
        fn=fn,
        fpv_ml=fpv,
        fnv_ml=ml * sum(len(g) for g in lesions if not g & in_prediction),
        component_dice=component_dice(in_prediction, components(reference, 26)),
    )


def component_dice(predicted: set[Voxel], lesions: Sequence[set[Voxel]]) -> float:
    """MONAI's Dice per component: every predicted voxel belongs to the lesion with the nearest voxel; of voxels equally
    near, to that of the one with the lowest last index, then the lowest index before it, as SciPy has it."""
    places = sorted((voxel[::-1], number) for number, lesion in enumerate(lesions) for voxel in lesion)
    at = np.array([voxel[::-1] for voxel, _ in places])
    share: list[set[Voxel]] = [set() for _ in lesions]
    for voxel in predicted:
        nearest = int(np.argmin(((at - np.array(voxel)) ** 2).sum(axis=1)))  # of equals the first
        share[places[nearest][1]].add(voxel)
    return mean([2 * len(p & g) / (len(p) + len(g)) for p, g in zip(share, lesions, strict=True)])


def iou(one: set[Voxel], other: set[Voxel]) -> float:
    return len(one & other) / len(one | other)


def lost_step(
    status: str, reference: NDArray[Any], spacing: Sequence[float], *, empty_reference: str = "undefined"
) -> Step:
    """Missing or unreadable: Dice 0, DMM 0, FPV 0, all lesion volume missed; undefined where there is no lesion."""
    lesions = lesions_of(reference)
    if not lesions:
        return Step(0.0 if empty_reference == "score" else None, None, 0, 0, 0, 0.0, None, status)
    missed = math.prod(spacing) / 1000 * int(np.count_nonzero(reference))
    return Step(0.0, 0.0, 0, 0, len(lesions), 0.0, missed, status, 0.0)


@dataclass(frozen=True)
class Row:
    """One case."""

    case: str
    status: str
    steps: Sequence[Step]

    def area(self, name: str) -> float | None:
        """Trapezoids of width 1."""
        values = [getattr(step, name) for step in self.steps]
        if None in values:
            return None
        return sum((values[k] + values[k + 1]) / 2 for k in range(len(values) - 1))

    def normalised(self, name: str) -> float | None:
        area = self.area(name)
        if area is None:
            return None
        return area / (len(self.steps) - 1) if len(self.steps) > 1 else getattr(self.steps[0], name)

    def figures(self) -> dict[str, float | None]:
        last = self.steps[-1]
        return {
            "auc_dice": self.area("dice"),
            "auc_dmm": self.area("dmm"),
            "auc_dice_normalised": self.normalised("dice"),
            "auc_dmm_normalised": self.normalised("dmm"),
            "final_dice": last.dice,
            "final_dmm": last.dmm,
            "final_fpv_ml": last.fpv_ml if last.status == "scored" else None,  # nothing was predicted
            "final_fnv_ml": last.fnv_ml,
            "final_component_dice": last.component_dice,
        }


def aggregates(rows: Sequence[Row], *, group_of: Mapping[str, str]) -> dict[str, Any]:
    figures = summary(rows)
    names = sorted(set(group_of.values()))
    if not names:
        return figures
    figures["groups"] = {name: summary([row for row in rows if group_of[row.case] == name]) for name in names}
    for figure in rows[0].figures():
        means = [group[figure]["mean"] for group in figures["groups"].values() if group[figure]["n"] > 0]
        if means:
            figures[f"{figure}_group_mean"] = mean(means)
    figures["dmm_pooled_group_mean"] = mean(
        [group["dmm_pooled"] for group in figures["groups"].values() if "dmm_pooled" in group]
    )
    return figures


def summary(rows: Sequence[Row]) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for figure in rows[0].figures():
        result[figure] = spread([row.figures()[figure] for row in rows])
    for name in ("dice", "dmm"):
        longest = max(len(row.steps) for row in rows)
        curve = {}
        for k in range(longest):
            values = [getattr(row.steps[k], name) for row in rows if len(row.steps) > k]
            defined = [value for value in values if value is not None]
            if defined:
                curve[str(k)] = mean(defined)
        result[f"{name}_by_step"] = curve
    tp, fp, fn = (sum(getattr(row.steps[-1], name) for row in rows) for name in ("tp", "fp", "fn"))
    if tp + fp + fn:
        result["dmm_pooled"] = 2 * tp / (2 * tp + fp + fn)
    result["final_detections"] = {"tp": tp, "fp": fp, "fn": fn}
    return result


def spread(values: Sequence[float | None]) -> dict[str, float]:
    defined = [value for value in values if value is not None]
    if not defined:
        return {"n": 0}
    middle = mean(defined)
    variance = mean([(value - middle) ** 2 for value in defined])
    return {"mean": middle, "std": math.sqrt(variance), "n": len(defined)}


def mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)
