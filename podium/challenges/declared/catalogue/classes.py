"""The catalogue of classes."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from podium.challenges.declared.catalogue.base import Figure
from podium.challenges.declared.catalogue.cohort import CohortValueMetric, Compute, Facts
from podium.challenges.declared.values import AnyValueKind
from podium.metrics.classification import resampled_f1
from podium.metrics.resampling import Floats, Resamples


def _f1_parts(_: Any, value: AnyValueKind) -> Sequence[str]:
    return (*value.settings.classes, "macro")


def _f1(part: str, _: Any, value: AnyValueKind) -> Compute:
    if part != "macro":
        return resampled_f1(part, truth="reference", predicted="prediction")
    each = [resampled_f1(name, truth="reference", predicted="prediction") for name in value.settings.classes]

    def macro(facts: Facts, resamples: Resamples) -> Floats:
        return np.asarray(np.mean([one(facts, resamples) for one in each], axis=0))

    return macro


F1 = CohortValueMetric(
    name="f1",
    compares=("class",),
    definition="2 TP / (2 TP + FP + FN) of every class",
    figure=Figure(title="F1", direction="higher", highest=1.0, worst=0.0),
    parts=_f1_parts,
    compute=_f1,
)
