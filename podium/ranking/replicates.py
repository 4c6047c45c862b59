"""Every figure of the leaderboard in every replicate of a bootstrap, for all teams."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from podium.figures import Figures, finite_number
from podium.metrics import Floats
from podium.metrics.aggregation import CohortValues
from podium.metrics.declaration import Scoreboard
from podium.metrics.resampling import Resamples
from podium.ranking.facts import Facts


def replicate_figures(facts: Facts, resamples: Resamples) -> dict[str, Floats]:
    """Dotted path to `[replicate, team]`: the criteria of the official rule and every column.

    A path is left out where a row of any team does not hold what the figure is made of, as anonymous rows may not, and
    where the figure does not come from the cases.
    """
    board = facts.challenge.scoreboard
    columns = (*facts.challenge.offline_columns(), *facts.challenge.columns())
    criteria = facts.rule.criteria if facts.rule else ()
    given = {figure.path for figure in board.given}
    paths = dict.fromkeys([*(each.path for each in criteria), *(each.path for each in columns)])
    means = _means(facts, resamples)
    by_team = []
    for number, (rows, aggregates) in enumerate(zip(facts.rows, facts.aggregates, strict=True)):
        known = {path: value for path in given if (value := finite_number(aggregates.get(path))) is not None}
        own = {path: values[:, number] for path, values in means.items()}
        by_team.append(_TeamValues(board, [rows[case].metrics for case in facts.cases], resamples, known, own))
    found = {}
    for path in paths:
        if board.resolved(path) not in given:
            values = _of_all(path, by_team, resamples.replicates)
            if values is not None:
                found[path] = values
    return found


class _TeamValues(CohortValues):
    """The figures of one team, with the means that were computed for all teams at once."""

    def __init__(
        self,
        board: Scoreboard[Any],
        rows: Sequence[Figures],
        resamples: Resamples,
        given: Mapping[str, float],
        means: Mapping[str, Floats],
    ) -> None:
        super().__init__(board, rows, resamples, given)
        self._resolved, self._means = board.resolved, means

    def __getitem__(self, path: str) -> Floats:
        resolved = self._resolved(path)
        return self._means[resolved] if resolved in self._means else super().__getitem__(path)


def _means(facts: Facts, resamples: Resamples) -> dict[str, Floats]:
    """`[replicate, team]` by the path of the mean, where every team has every value: one matrix product instead of one
    per team."""
    return {
        table.metric.mean_path: resamples.mean(table.values.T)
        for table in facts.tables.values()
        if table.metric.mean_path and not np.isnan(table.values).any()
    }


def _of_all(path: str, by_team: Sequence[_TeamValues], replicates: int) -> Floats | None:
    columns = []
    for values in by_team:
        try:
            columns.append(np.broadcast_to(values[path], (replicates,)))
        except (KeyError, TypeError, ValueError):  # a row is any JSON object: what is in it is known only here
            return None
    return np.stack(columns, axis=1)
