"""`[ranking]` as the rule that teams are ranked by."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from podium.challenges.board.problems import BoardProblems
from podium.challenges.board.settings import BoardSettings, RankingSettings
from podium.challenges.figure_names import case_metrics_of, known_figures, resolve, shown
from podium.challenges.ranking_rule import NO_RULE, Criterion, RankingRule
from podium.metrics.declaration import Scoreboard


class RankingTable:
    """`[ranking]` above a scoreboard that has every figure; `ranking` is the kind's own rule."""

    def __init__(
        self, board: Scoreboard[Any], ranking: RankingRule, settings: BoardSettings, problems: BoardProblems
    ) -> None:
        self._board, self._ranking, self._settings, self._problems = board, ranking, settings, problems

    def rule(self) -> RankingRule:
        """The rule of the table; the kind's own where there is none, or where it is wrong."""
        settings = self._settings.ranking
        if settings is None:
            if self._ranking is NO_RULE and "ranking" not in self._problems.excused:
                self._problems.add(
                    ("ranking",), 'is missing: say what teams are ranked by, as in [ranking] by = "score"'
                )
            return self._ranking
        names = settings.names
        by_case = settings.method == "positions_by_case"
        criteria = self._criteria(("ranking", "by"), names, by_case=by_case)
        ties = self._criteria(("ranking", "tie_break"), settings.tie_break, by_case=False)
        if len(names) > 1 and settings.method is None:
            self._problems.add(
                ("ranking", "method"),
                'is missing: with several figures say how positions are combined, "mean_of_positions" or '
                '"positions_by_case"',
            )
        if len(names) == 1 and settings.method == "mean_of_positions":
            self._problems.add(("ranking", "method"), "combines the positions in several figures, but 'by' names one")
        if settings.weights is not None and (by_case or len(settings.weights) != len(names)):
            self._problems.add(
                ("ranking", "weights"), "must be one number for each figure of 'by', with mean_of_positions"
            )
        if criteria is None or ties is None:
            return self._ranking
        weights = settings.weights if settings.weights and len(settings.weights) == len(names) else (1.0,) * len(names)
        weighted = [replace(each, weight=weight) for each, weight in zip(criteria, weights, strict=True)]
        rounded = [replace(each, decimals=settings.round) for each in weighted]
        return RankingRule(
            words=_words([self._in_words(each) for each in criteria], settings),
            criteria=tuple(rounded),
            tie_breaks=tuple(ties),
            case_metrics=names if by_case else case_metrics_of(self._board, list(self._settings.case_figures)),
            by_case=by_case,
            finalists=self._ranking.finalists,
            division=self._ranking.division,
        )

    def _in_words(self, criterion: Criterion) -> str:
        """A figure's title and, if it is made of others, its formula."""
        given = self._settings.figures.get(criterion.path)
        formula = given if isinstance(given, str) or given is None else given.formula
        return criterion.title if formula is None else f"{criterion.title} = {formula}"

    def _criteria(self, key: tuple[str, ...], names: Sequence[str], *, by_case: bool) -> Sequence[Criterion] | None:
        known = dict(known_figures(self._board))
        criteria = []
        for name in names:
            path = resolve(name, known)
            if by_case and name not in {metric.name for metric in self._board.metrics}:
                path = None
            if path is None:
                names_known = [metric.name for metric in self._board.metrics] if by_case else known
                self._problems.unknown(key, name, dict.fromkeys(names_known))
                continue
            figure = shown(self._board, path)
            criteria.append(
                Criterion(
                    path=path,
                    title=figure.title,
                    direction=figure.direction,
                    known_path=figure.known or None,
                    absent_is_last=True,
                )
            )
        return criteria if len(criteria) == len(names) else None


def _words(titles: Sequence[str], settings: RankingSettings) -> str:
    listed = f"{', '.join(titles[:-1])} and {titles[-1]}" if len(titles) > 1 else titles[0]
    if settings.method == "positions_by_case":
        return f"teams are ranked by the mean of their positions in every case by {listed}"
    if len(titles) > 1:
        weighted = "weighted mean" if settings.weights else "mean"
        return f"teams are ranked by the {weighted} of their positions in {listed}"
    return f"teams are ranked by {listed}"
