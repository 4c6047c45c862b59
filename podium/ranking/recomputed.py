"""Figures are recomputed, not believed: what the rows give replaces what a file says, which must agree with it."""

import math
from copy import deepcopy
from dataclasses import replace
from typing import Any

import numpy as np

from podium.errors import UsageError
from podium.figures import agrees, put
from podium.metrics.resampling import Resamples
from podium.ranking.facts import Facts
from podium.ranking.official import figure
from podium.ranking.replicates import replicate_figures


def with_recomputed_figures(facts: Facts) -> Facts:
    """The facts with every column that the rows give computed again: published figures may be rounded.

    Raises UsageError, naming file, figure and values, where an aggregate is not what the rows give, or a row has a
    figure outside the range of its metric. What the rows do not tell, as anonymous ones may not, is not checked.
    """
    _refuse_out_of_range(facts)
    if not facts.cases:
        return facts
    again: list[dict[str, Any]] = [deepcopy(dict(aggregates)) for aggregates in facts.aggregates]
    for path, values in replicate_figures(facts, Resamples.whole(len(facts.cases))).items():
        for team, expected in enumerate(values[0].tolist()):
            published = figure(facts.aggregates[team], path)
            if published is None or math.isnan(expected):  # undefined over these cases: what then stands is a rule
                continue
            if not agrees(published, expected):
                raise UsageError(
                    f"{facts.labels[team]} has aggregates.{path} = {published:.10g}, but its own rows give "
                    f"{expected:.10g}: it was changed after it was written, or written by another version."
                )
            put(again[team], path, expected)
    return replace(facts, aggregates=again)


def _refuse_out_of_range(facts: Facts) -> None:
    for table in facts.tables.values():
        metric = table.metric
        with np.errstate(invalid="ignore"):
            outside = (table.values < metric.lowest) | (table.values > metric.highest)
        for team, case in np.argwhere(outside).tolist():
            raise UsageError(
                f"{facts.labels[team]}: '{metric.name}' of the case '{facts.cases[case]}' is "
                f"{table.values[team, case]:g}, outside {metric.lowest:g} to {metric.highest:g}."
            )
