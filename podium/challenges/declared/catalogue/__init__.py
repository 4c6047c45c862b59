"""The metrics that `[[metrics]]` may name, by kind and by the kind of value that they compare."""

from collections.abc import Collection, Sequence
from importlib import import_module

from podium.challenges.declared.catalogue.base import MetricKind

_MODULES = {
    "labels": "labels",
    "instances": "labels",
    "class": "classes",
    "probability": "classes",
    "findings": "classes",
    "points": "detections",
    "boxes": "detections",
    "detection_map": "detections",
    "landmarks": "detections",
    "number": "scalars",
    "image": "images",
    "text": "texts",
    "survival": "scalars",
}
"""The module with the metrics of every kind of value."""


def metric_kinds(value_kinds: Collection[str] = tuple(_MODULES)) -> Sequence[MetricKind]:
    """The metrics in the modules of these kinds of values; no other module is imported."""
    modules = dict.fromkeys(module for kind, module in _MODULES.items() if kind in value_kinds)
    return [metric for module in modules for metric in import_module(f"{__name__}.{module}").METRICS]


def metric_names() -> Sequence[str]:
    """Of all metrics, each once; several kinds of values share names such as f1."""
    return list(dict.fromkeys(kind.name for kind in metric_kinds()))
