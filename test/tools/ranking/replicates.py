"""One team's criteria in every replicate, as the ranking draws them."""

from collections.abc import Mapping, Sequence
from typing import Any

from podium.challenges.challenge import AnyChallenge
from podium.metrics import Floats
from podium.metrics.aggregation import CohortValues
from podium.metrics.resampling import Resamples


def resampled(
    challenge: AnyChallenge, rows: Sequence[Any], aggregates: Mapping[str, Any], resamples: Resamples
) -> Mapping[str, Floats]:
    given = {figure.path: aggregates[figure.path] for figure in challenge.scoreboard.given if figure.path in aggregates}
    values = CohortValues(challenge.scoreboard, rows, resamples, given)
    return {criterion.path: values[criterion.path] for criterion in challenge.ranking.criteria}
