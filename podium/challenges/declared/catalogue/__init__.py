"""The metrics that `[[metrics]]` may name, by kind and by the kind of value that they compare."""

from collections.abc import Sequence

from podium.challenges.declared.catalogue.base import MetricKind
from podium.challenges.declared.catalogue.classes import CLASS_METRICS
from podium.challenges.declared.catalogue.detections import DETECTION_METRICS
from podium.challenges.declared.catalogue.images import IMAGE_METRICS
from podium.challenges.declared.catalogue.labels import LABEL_METRICS
from podium.challenges.declared.catalogue.lesions import LESIONS_METRIC
from podium.challenges.declared.catalogue.numbers import C_INDEX, NUMBER_METRICS
from podium.challenges.declared.catalogue.probabilities import PROBABILITY_METRICS
from podium.challenges.declared.catalogue.texts import TEXT_METRICS

METRIC_KINDS: Sequence[MetricKind] = (
    *LABEL_METRICS,
    LESIONS_METRIC,
    *CLASS_METRICS,
    *PROBABILITY_METRICS,
    *DETECTION_METRICS,
    *NUMBER_METRICS,
    *IMAGE_METRICS,
    *TEXT_METRICS,
    C_INDEX,
)
NAMES = tuple(dict.fromkeys(kind.name for kind in METRIC_KINDS))
SHARED_NAMES = {kind.name for kind in METRIC_KINDS if sum(other.name == kind.name for other in METRIC_KINDS) > 1}
"""What they mean depends on the value: f1 of classes is another metric than f1 of points."""


def find_kind(name: str, value_kinds: Sequence[str], own: Sequence[MetricKind]) -> MetricKind | None:
    """The metric of this name that compares values of one of these kinds; several kinds share names such as f1. `own`
    are those of the organiser."""
    named = [kind for kind in (*METRIC_KINDS, *own) if kind.name == name]
    fitting = [kind for kind in named if set(kind.compares) & set(value_kinds)]
    return next(iter(fitting or named), None)
