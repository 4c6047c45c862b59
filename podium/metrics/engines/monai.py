"""MONAI's functions for masks, scikit-learn's for classes and probabilities.

MONAI works channel by channel, so that one call for all regions of an image takes as long as one call for each (512 x
512: 6.3 and 6.2 ms); each region is given as a channel of its own, cut to what it covers, and nothing is padded. Most
of the time of a small region is MONAI's own preparation; metadata tracking is disabled.
"""

import gc
import math
import sys
import warnings
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np

from podium.metrics import Floats, Mask
from podium.metrics.classification import MISSING, NEVER_FOUND, Codes, Reference
from podium.metrics.engines import MaskPair, SpacedPair

_MASKS = ("dice", "iou", "nsd", "hd", "hd95", "assd", "masd", "component_dice")
_CLASSES = ("accuracy", "balanced_accuracy", "f1", "sensitivity", "specificity", "mcc", "kappa")
_PROBABILITIES = ("auroc", "average_precision", "brier", "log_loss")
PACKAGES: Mapping[str, str] = {
    **dict.fromkeys(_MASKS, "monai"),
    **dict.fromkeys((*_CLASSES, *_PROBABILITIES), "scikit-learn"),
}


def import_packages(packages: Collection[str]) -> None:
    if "scikit-learn" in packages:
        import_module("sklearn.metrics")
    if "monai" in packages:
        _monai()


@cache
def _monai() -> Any:
    """`monai.metrics`, with one thread: workers fill the cores already."""
    import torch

    torch.set_num_threads(1)
    if find_spec("cucim") is None:
        sys.modules.setdefault("cucim", None)  # type: ignore[arg-type]  # MONAI looks for it at every call
    from monai import metrics
    from monai.data.meta_obj import set_track_meta

    set_track_meta(False)
    gc.freeze()  # modules live until the end: searching them for garbage took a second as Python ended
    return metrics


@contextmanager
def _quietly(*ignored: str) -> Iterator[None]:
    """Without warnings that are of the packages' own making, or say what the declared metric has decided."""
    with warnings.catch_warnings():
        for message in ignored:
            warnings.filterwarnings("ignore", message=message)
        yield


def _channels(pair: MaskPair, kind: Any = np.bool_) -> tuple[Any, Any]:
    """The masks as tensors of one image with one channel."""
    import torch

    prediction, reference = (torch.from_numpy(mask.astype(kind, copy=False))[None, None] for mask in pair.masks())
    return prediction, reference


def dice(pair: MaskPair) -> float:
    """Of a single channel MONAI would make booleans and a quotient in single precision; of two it takes doubles."""
    prediction, reference = _channels(pair)
    two = (side.expand(1, 2, *side.shape[2:]) for side in (prediction, reference.double()))
    return float(_monai().compute_dice(*two, include_background=False))


def iou(pair: MaskPair) -> float:
    return float(_monai().compute_iou(*_channels(pair, np.float64)))


def nsd(pair: SpacedPair, *, tolerance: float, in_mm: bool) -> float:
    spacing = pair.spacing if in_mm else None
    return _of_surfaces("compute_surface_dice", pair, spacing=spacing, class_thresholds=[tolerance])


def hausdorff(pair: SpacedPair, *, percentile: float) -> float:
    """MONAI's boundaries and distances; its percentiles are in single precision: 7.715 of 39,419 voxels, not 7.900."""
    utils = _monai().utils
    edges = utils.get_mask_edges(*pair.masks(), crop=False)
    directed = (utils.get_surface_distance(*sides, spacing=pair.spacing) for sides in (edges, edges[::-1]))
    return max(float(np.percentile(distances.astype(np.float64), percentile)) for distances in directed)


def assd(pair: SpacedPair) -> float:
    return _of_surfaces("compute_average_surface_distance", pair, spacing=pair.spacing, symmetric=True)


def masd(pair: SpacedPair) -> float:
    directed = [
        _of_surfaces("compute_average_surface_distance", pair, spacing=pair.spacing, turned=turned)
        for turned in (False, True)
    ]
    return math.fsum(directed) / 2


def _of_surfaces(function: str, pair: SpacedPair, *, turned: bool = False, **given: Any) -> float:
    masks = _channels(pair)
    with _quietly("monai.metrics.utils get_mask_edges"):
        return float(getattr(_monai(), function)(*(masks[::-1] if turned else masks), include_background=True, **given))


def component_dice(pair: MaskPair) -> float:
    """`DiceMetric(per_component=True)` wants background and foreground as two channels."""
    import torch

    def both(mask: Mask) -> Any:
        return torch.from_numpy(np.stack([~mask, mask])[None].astype(np.float32))

    with _quietly("Voronoi computation is running on CPU"):
        return float(_monai().DiceMetric(per_component=True)(*map(both, pair.masks())))


# Figures of all cases by scikit-learn: all declared classes are its `labels`, and 0 / 0 is 0.


def class_figure(
    metric: str, *, prediction: Codes, reference: Codes, classes: int, part: int | str | None, **options: Any
) -> float | None:
    if not reference.size:
        return None
    import sklearn.metrics as sk

    labels = list(range(classes))
    weights = options.get("weights", "none")
    if metric == "kappa" and weights != "none" and (prediction == MISSING).any():
        return None  # a missing class weighs as the worst one, which no label of scikit-learn's does
    sides = (reference, prediction)
    share: dict[str, Any] = {"zero_division": 0.0}
    others = [label for label in labels if label != part]
    figures: dict[str, Callable[[], Any]] = {
        "accuracy": lambda: sk.accuracy_score(*sides),
        # The classes that occur are the labels: a prediction of another one is wrong, and no class of its own.
        "balanced_accuracy": lambda: sk.recall_score(*sides, labels=np.unique(reference), average="macro", **share),
        "f1": lambda: (
            sk.f1_score(*sides, labels=labels, average=part, **share)
            if isinstance(part, str)
            else sk.f1_score(*sides, labels=[part], average=None, **share)[0]
        ),
        "sensitivity": lambda: sk.recall_score(*sides, labels=[part], average=None, **share)[0],
        "specificity": lambda: sk.recall_score(*(np.isin(side, others) for side in sides), **share),
        "mcc": lambda: sk.matthews_corrcoef(*sides),
        "kappa": lambda: sk.cohen_kappa_score(
            *sides,
            labels=[*labels, MISSING] if (prediction == MISSING).any() else labels,
            weights=None if weights == "none" else weights,
        ),
    }
    with _quietly(".*"):  # undefined figures are decided by `zero_division`, or are NaN
        return float(figures[metric]())


def probability_figure(metric: str, *, prediction: Floats, reference: Reference, **options: Any) -> float | None:
    if metric not in _PROBABILITIES or not len(reference):
        return None
    import sklearn.metrics as sk

    if metric in ("auroc", "average_precision"):
        of = sk.roc_auc_score if metric == "auroc" else _average_precision
        columns: list[tuple[Any, Floats]] = [(reference, prediction)]
        if prediction.ndim == 2:
            columns = [(reference == number, prediction[:, number]) for number in range(prediction.shape[1])]
        if any(not true.any() or (metric == "auroc" and true.all()) for true, _ in columns):
            return math.nan
        return math.fsum(of(true, probability) for true, probability in columns) / len(columns)
    codes = np.asarray(reference, np.int64)
    if metric == "log_loss":  # of the true class alone, since only its probability is clipped
        both = np.stack([1 - prediction, prediction], axis=1) if prediction.ndim == 1 else prediction
        of_truth = np.take_along_axis(both, codes[:, None], axis=1)[:, 0]
        clipped = np.clip(of_truth, options["clip"], 1 - options["clip"])
        return float(sk.log_loss(np.ones(len(codes)), clipped, labels=[0, 1]))
    labels = [0, 1] if prediction.ndim == 1 else list(range(prediction.shape[1]))
    if prediction.ndim == 2 and not np.allclose(prediction.sum(axis=1), 1):
        return None  # the worst probabilities in place of a missing answer are no distribution
    return float(sk.brier_score_loss(codes, prediction, labels=labels))


def _average_precision(true: Any, probability: Floats) -> float:
    """Positive cases that are never found keep the recall below 1."""
    from sklearn.metrics import average_precision_score

    found = probability != NEVER_FOUND
    share = float(true[found].sum() / true.sum())
    return share * average_precision_score(true[found], probability[found]) if share else 0.0
