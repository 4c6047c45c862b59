"""The figures of one step of a lesions case, and the counts they were made of."""

from typing import Any

from podium.challenges.lesions.reference import LesionReference
from podium.challenges.lesions.settings import LesionsSettings
from podium.metrics.components import Components, count_overlap
from podium.metrics.declaration import AGREEMENT, UNDEFINED_WITHOUT_REFERENCE
from podium.metrics.lesions import Detections, match_lesions, telling_pairs, voxel_dice

POLICIES = {
    "undefined": {"dice": UNDEFINED_WITHOUT_REFERENCE, "dmm": UNDEFINED_WITHOUT_REFERENCE},
    "score": {"dice": AGREEMENT, "dmm": UNDEFINED_WITHOUT_REFERENCE},
}
"""By the setting `empty_reference`, then by figure. The false negative volume is undefined without lesions in any
case; the false positive volume always has a value, 0 for a failed step: nothing was predicted."""


def score_step(
    step: int, components: Components, reference: LesionReference, settings: LesionsSettings
) -> dict[str, Any]:
    """The figures of one step, and the counts they were made of."""
    overlap = count_overlap(components, reference.lesions)
    detections = match_lesions(overlap, iou_threshold=settings.iou_threshold)
    policies = POLICIES[settings.empty_reference]
    dice, dmm = voxel_dice(overlap), detections.f1
    sizes = {"prediction": components.count, "reference": reference.lesions.count}
    if policies["dice"].applies(**sizes):
        dice, dmm = policies["dice"].value(**sizes), policies["dmm"].value(**sizes)
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
    policies = POLICIES[settings.empty_reference]
    return {
        "step": step,
        "status": status,
        "error": error,
        "dice": policies["dice"].when_failed(reference=reference.lesions.count),
        "dmm": policies["dmm"].when_failed(reference=reference.lesions.count),
        "fpv_ml": 0.0,
        "fnv_ml": reference.total_ml,
        **_counts(Detections(tp=0, fp=0, fn=reference.lesions.count)),
        "components": 0,
        "voxels": {"prediction": 0, "reference": reference.lesions.total_voxels, "shared": 0},
        "pairs": [],
    }


def _counts(detections: Detections) -> dict[str, int]:
    return {"tp": detections.tp, "fp": detections.fp, "fn": detections.fn}
