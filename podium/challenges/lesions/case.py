"""One case of lesions: the figures of every step, and what they add up to over the interaction."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from podium.challenges.lesions.settings import LesionsSettings
from podium.metrics.area import mean_height, trapezoid_area
from podium.metrics.components import Components, Lesions, count_overlap
from podium.metrics.detection import Detections, match_lesions, telling_pairs, voxel_dice
from podium.metrics.policy import LESION_POLICIES
from podium.readers.images import Geometry

MM3_IN_ML = 1000.0


@dataclass(frozen=True, eq=False)
class LesionReference:
    """A case's truth, read and labelled once for all of its steps."""

    lesions: Lesions
    geometry: Geometry

    @property
    def is_empty(self) -> bool:
        return self.lesions.count == 0

    def ml(self, voxels: int) -> float:
        """So many voxels as a volume, by the reference's own spacing."""
        return voxels * float(np.prod(self.geometry.spacing)) / MM3_IN_ML

    @property
    def total_ml(self) -> float | None:
        """Volume of all lesions, None where there are none: what was not there cannot be missed."""
        return None if self.is_empty else self.ml(self.lesions.total_voxels)

    def describe(self) -> list[dict[str, Any]]:
        """Every lesion's id, size and centroid (voxel index in the order x, y, z)."""
        return [
            {
                "id": int(name),
                "voxels": int(voxels),
                "volume_ml": self.ml(int(voxels)),
                "centroid": [float(place) for place in reversed(centroid)],
            }
            for name, voxels, centroid in zip(
                self.lesions.ids, self.lesions.voxels, self.lesions.centroids(), strict=True
            )
        ]


def score_step(
    step: int, components: Components, reference: LesionReference, settings: LesionsSettings
) -> dict[str, Any]:
    """The figures of one step, and the counts they were made of."""
    overlap = count_overlap(components, reference.lesions)
    detections = match_lesions(overlap, iou_threshold=settings.iou_threshold)
    policies = LESION_POLICIES[settings.empty_reference]
    dice, dmm = voxel_dice(overlap), detections.f1
    if reference.is_empty or components.count == 0:
        empty = {"prediction_empty": components.count == 0, "reference_empty": reference.is_empty}
        dice, dmm = policies["dice"].decide(**empty), policies["dmm"].decide(**empty)
    return {
        "step": step,
        "status": "scored",
        "error": None,
        "dice": dice,
        "dmm": dmm,
        "fpv_ml": reference.ml(overlap.untouched_component_voxels),
        "fnv_ml": None if reference.is_empty else reference.ml(overlap.untouched_lesion_voxels),
        **_counts(detections),
        "components": components.count,
        "voxels": {
            "prediction": overlap.predicted_voxels,
            "reference": reference.lesions.total_voxels,
            "shared": overlap.shared_voxels,
        },
        "pairs": [
            {"lesion": pair.lesion, "component": pair.component, "iou": pair.iou}
            for pair in telling_pairs(overlap, iou_threshold=settings.iou_threshold)
        ],
    }


def failed_step(
    step: int, reference: LesionReference, settings: LesionsSettings, *, status: str, error: str
) -> dict[str, Any]:
    """A step without a usable prediction: nothing was found, so every lesion was missed and none invented."""
    policies = LESION_POLICIES[settings.empty_reference]
    return {
        "step": step,
        "status": status,
        "error": error,
        "dice": policies["dice"].when_failed(reference_empty=reference.is_empty),
        "dmm": policies["dmm"].when_failed(reference_empty=reference.is_empty),
        "fpv_ml": 0.0,
        "fnv_ml": reference.total_ml,
        **_counts(Detections(tp=0, fp=0, fn=reference.lesions.count)),
        "components": 0,
        "voxels": {"prediction": 0, "reference": reference.lesions.total_voxels, "shared": 0},
        "pairs": [],
    }


def case_figures(steps: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Areas under the curves and the last step's figures; null where a step has no value, which all then have."""
    last = steps[-1]
    figures: dict[str, Any] = {"final_fpv_ml": last["fpv_ml"], "final_fnv_ml": last["fnv_ml"]}
    for name in ("dice", "dmm"):
        values = [step[name] for step in steps]
        figures[f"auc_{name}"] = _unless_undefined(trapezoid_area, values)
        figures[f"auc_{name}_normalised"] = _unless_undefined(mean_height, values)
        figures[f"final_{name}"] = last[name]
    return figures


def _unless_undefined(area: Callable[[Sequence[float]], float], values: Sequence[float | None]) -> float | None:
    defined = [value for value in values if value is not None]
    return area(defined) if len(defined) == len(values) else None


def _counts(detections: Detections) -> dict[str, int]:
    return {"tp": detections.tp, "fp": detections.fp, "fn": detections.fn}
