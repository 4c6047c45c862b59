"""The metrics that `[[metrics]]` may name, by kind and by the kind of value that they compare."""

from collections.abc import Sequence

from podium.challenges.declared.catalogue.base import MetricKind
from podium.challenges.declared.catalogue.classes import F1
from podium.challenges.declared.catalogue.labels import DICE, NSD

METRIC_KINDS: Sequence[MetricKind] = (DICE, NSD, F1)
NAMES = tuple(dict.fromkeys(kind.name for kind in METRIC_KINDS))


def find_kind(name: str, value_kinds: Sequence[str]) -> MetricKind | None:
    """The metric of this name that compares values of one of these kinds; several kinds share names such as f1."""
    named = [kind for kind in METRIC_KINDS if kind.name == name]
    fitting = [kind for kind in named if set(kind.compares) & set(value_kinds)]
    return next(iter(fitting or named), None)
