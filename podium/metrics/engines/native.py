"""Podium's own code: counts, boundaries and distances once per region, vectorised figures over cases."""

from collections.abc import Collection, Mapping
from typing import Any

from podium.metrics import lesions
from podium.metrics.engines import MaskPair, SpacedPair

PACKAGES: Mapping[str, str] = {}


def import_packages(packages: Collection[str]) -> None:  # noqa: ARG001  (the interface)
    return


def dice(pair: MaskPair) -> float:
    return pair.counts.dice()


def iou(pair: MaskPair) -> float:
    return pair.counts.iou()


def nsd(pair: SpacedPair, *, tolerance: float, in_mm: bool) -> float:
    return pair.surfaces(boundary="voxels", in_mm=in_mm).nsd(tolerance)


def hausdorff(pair: SpacedPair, *, percentile: float) -> float:
    return pair.surfaces(boundary="voxels", in_mm=True).hausdorff(percentile=percentile)


def assd(pair: SpacedPair) -> float:
    return pair.surfaces(boundary="voxels", in_mm=True).assd()


def masd(pair: SpacedPair) -> float:
    return pair.surfaces(boundary="voxels", in_mm=True).masd()


def component_dice(pair: MaskPair) -> float:
    prediction, reference = pair.masks()
    return lesions.component_dice(prediction=prediction, reference=reference)


def class_figure(metric: str, **_: Any) -> float | None:  # noqa: ARG001  (the interface)
    """Replicate zero of the vectorised code is the figure."""
    return None


def probability_figure(metric: str, **_: Any) -> float | None:  # noqa: ARG001
    return None
