"""Lesions found, missed and invented: the Detection-Matching Metric, false volumes, and hits of centroids."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from podium.metrics.components import Overlap


@dataclass(frozen=True, kw_only=True)
class Detections:
    """TP = lesions found, FN = lesions not found, FP = components that match no lesion."""

    tp: int
    fp: int
    fn: int

    @property
    def f1(self) -> float | None:
        """F1 = 2TP / (2TP + FP + FN), between 0 and 1, higher is better; None where there is nothing to count."""
        counted = 2 * self.tp + self.fp + self.fn
        return 2 * self.tp / counted if counted else None

    @property
    def precision(self) -> float | None:
        """TP / (TP + FP); None where nothing is predicted."""
        return self.tp / (self.tp + self.fp) if self.tp + self.fp else None

    @property
    def recall(self) -> float | None:
        """TP / (TP + FN); None where there is nothing to find."""
        return self.tp / (self.tp + self.fn) if self.tp + self.fn else None


def match_lesions(overlap: Overlap, *, iou_threshold: float) -> Detections:
    """A lesion is found if some component has IoU >= threshold with it, a component is right likewise.

    Several components on one lesion are not punished, nor is one component on several lesions: matching is not one to
    one. Source: autoPET V's DMM.
    """
    matched = overlap.iou >= iou_threshold
    found = len(np.unique(overlap.lesion[matched]))
    right = len(np.unique(overlap.component[matched]))
    return Detections(tp=found, fp=overlap.component_count - right, fn=overlap.lesions.count - found)


def voxel_dice(overlap: Overlap) -> float | None:
    """DSC = 2|P∩G| / (|P| + |G|) of the two masks as wholes; None where both are empty."""
    total = overlap.predicted_voxels + overlap.lesions.total_voxels
    return 2 * overlap.shared_voxels / total if total else None


@dataclass(frozen=True, kw_only=True)
class MatchedPair:
    """A lesion (by its id), a component (by its number) and their IoU."""

    lesion: int
    component: int
    iou: float


def telling_pairs(overlap: Overlap, *, iou_threshold: float) -> list[MatchedPair]:
    """Every pair with IoU >= threshold, and for a touched lesion that has none, its best pair: why it was missed.

    At most 1 / threshold components match one lesion, since they do not overlap each other: the list stays short
    however many specks a prediction has.
    """
    order = np.lexsort((overlap.component, -overlap.iou, overlap.lesion))
    lesion, iou = overlap.lesion[order], overlap.iou[order]
    best = np.ones(len(order), np.bool_)
    best[1:] = lesion[1:] != lesion[:-1]
    kept = order[best | (iou >= iou_threshold)]
    ids = overlap.lesions.ids[overlap.lesion[kept] - 1]
    return [
        MatchedPair(lesion=int(name), component=int(component), iou=float(value))
        for name, component, value in zip(ids, overlap.component[kept], overlap.iou[kept], strict=True)
    ]


def centroid_hits(
    *, prediction: Sequence[Sequence[float]], reference: Sequence[Sequence[float]], radius_mm: float
) -> Detections:
    """Centroids (in mm) within a radius of each other, one to one and nearest first. Source: evalutils.

    Descriptive only: two masks whose centroids agree need not overlap.
    """
    from grand_challenge_metrics.scorers import score_detection

    score = score_detection(
        ground_truth=[tuple(point) for point in reference],
        predictions=[tuple(point) for point in prediction],
        radius=radius_mm,
    )
    return Detections(tp=score.true_positives, fp=score.false_positives, fn=score.false_negatives)
