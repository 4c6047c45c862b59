"""Figures are recomputed, not believed: aggregates that contradict the rows of their own file are refused."""

import math

import numpy as np

from podium.errors import UsageError
from podium.metrics.resampling import Resamples
from podium.ranking.facts import Facts
from podium.ranking.official import figure
from podium.ranking.replicates import replicate_figures

_TOLERANCE = 1e-6  # relative above 1: files may have been written by another version of a numeric library


def refuse_contradictions(facts: Facts) -> None:
    """Raises UsageError, naming file, figure and values, where an aggregate is not what the rows give, or a row has a
    figure outside the range of its metric. What the rows do not tell, as anonymous ones may not, is not checked."""
    for table in facts.tables.values():
        metric = table.metric
        with np.errstate(invalid="ignore"):
            outside = (table.values < metric.lowest) | (table.values > metric.highest)
        for team, case in np.argwhere(outside).tolist():
            raise UsageError(
                f"{facts.labels[team]}: '{metric.name}' of the case '{facts.cases[case]}' is "
                f"{table.values[team, case]:g}, outside {metric.lowest:g} to {metric.highest:g}."
            )
    if not facts.cases:
        return
    for path, values in replicate_figures(facts, Resamples.whole(len(facts.cases))).items():
        for label, aggregates, value in zip(facts.labels, facts.aggregates, values[0].tolist(), strict=True):
            published, expected = figure(aggregates, path), 0.0 if math.isnan(value) else value
            if published is not None and abs(published - expected) > _TOLERANCE * max(1.0, abs(expected)):
                raise UsageError(
                    f"{label} has aggregates.{path} = {published:.10g}, but its own rows give {expected:.10g}: it was "
                    "changed after it was written, or written by another version."
                )
