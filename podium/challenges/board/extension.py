"""What a kind declares, with the four tables added."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any

from podium.challenges.board.formulas import case_figure, figure, prepare_formula
from podium.challenges.board.problems import BoardProblems
from podium.challenges.board.ranking import RankingTable
from podium.challenges.board.settings import BoardSettings
from podium.challenges.figure_names import known_figures, known_of, resolve, retitled
from podium.challenges.ranking_rule import RankingRule
from podium.errors import ValidationProblem
from podium.metrics.declaration import Scoreboard

_MOST_HEADLINE = 6


@dataclass(frozen=True, kw_only=True)
class Extended:
    """A scoreboard and a ranking with the tables added, and what is wrong with the tables. `confidential` are paths in
    a row that give a reference away: what the kind hides, and the case figures that are made of it."""

    board: Scoreboard[Any]
    ranking: RankingRule
    confidential: Sequence[str]
    problems: Sequence[ValidationProblem]


def extend(
    board: Scoreboard[Any],
    ranking: RankingRule,
    settings: BoardSettings,
    *,
    confidential: Sequence[str] = (),
    excused: Collection[str] = (),
) -> Extended:
    """Add the tables of challenge.toml to what the kind declares. A kind without a rule of its own needs `[ranking]`.
    Figures that are named but absent only because their metric is wrong (`excused`) are no second problem."""
    return _Extension(board, ranking, settings, confidential, excused).result()


class _Extension:
    def __init__(
        self,
        board: Scoreboard[Any],
        ranking: RankingRule,
        settings: BoardSettings,
        confidential: Sequence[str],
        excused: Collection[str],
    ) -> None:
        self._board, self._ranking, self._settings = board, ranking, settings
        self._confidential = list(confidential)
        self._problems = BoardProblems(excused=excused, figures=settings.figures)

    def result(self) -> Extended:
        self._add_case_figures()
        self._add_figures()
        self._add_titles()
        ranking = RankingTable(self._board, self._ranking, self._settings, self._problems).rule()
        self._add_leaderboard(ranking)
        return Extended(
            board=self._board, ranking=ranking, confidential=self._confidential, problems=self._problems.found
        )

    def _add_case_figures(self) -> None:
        for name, given in self._settings.case_figures.items():
            key = ("case_figures", name)
            terms = {metric.name: known_of(metric) for metric in self._board.metrics}
            prepared = prepare_formula(key, given, terms, self._problems)
            if name in terms or any(term.startswith(f"{name}.") for term in terms):
                self._problems.add(key, f"is already the name of a metric; choose another than '{name}'")
            elif prepared is not None:
                metric = case_figure(name, prepared)
                self._board = replace(self._board, metrics=(*self._board.metrics, metric))
                hidden = tuple(f"{path}." for path in self._confidential)
                if any(f"{term}.".startswith(hidden) for term in prepared.names.values()):
                    self._confidential.append(name)

    def _add_figures(self) -> None:
        for name, given in self._settings.figures.items():
            key = ("figures", name)
            terms = dict(known_figures(self._board))
            prepared = prepare_formula(key, given, terms, self._problems)
            if name in terms or any(term.startswith(f"{name}.") for term in terms):
                self._problems.add(key, f"is already the name of a figure; choose another than '{name}'")
            elif prepared is not None:
                formula = figure(name, prepared)
                self._board = replace(self._board, formulas=(*self._board.formulas, formula))

    def _add_titles(self) -> None:
        known = dict(known_figures(self._board))
        titles = {}
        for name, title in self._settings.leaderboard.titles.items():
            path = resolve(name, known)
            if path is None:
                self._problems.unknown(("leaderboard", "titles"), name, known)
            else:
                titles[path] = title
        self._board = retitled(self._board, titles)

    def _add_leaderboard(self, ranking: RankingRule) -> None:
        settings = self._settings.leaderboard
        known = dict(known_figures(self._board))
        if settings.columns is not None:
            paths = []
            for name in settings.columns:
                path = resolve(name, known)
                if path is None:
                    self._problems.unknown(("leaderboard", "columns"), name, known)
                else:
                    paths.append(path)
            # The platform orders teams by its first column, which must not contradict the ranking.
            first = ranking.criteria[:1] if len(ranking.criteria) == 1 and not ranking.by_case else ()
            paths = [*(each.path for each in first), *paths]
        elif self._settings.ranking is not None or self._settings.figures:
            ranked = [each.path for each in (*ranking.criteria, *ranking.tie_breaks) if not ranking.by_case]
            figures = [figure.path for figure in reversed(self._board.formulas) if figure.title]
            paths = [*ranked, *figures, *self._board.leaderboard]
        else:
            return
        criteria = tuple(criterion.path for criterion in ranking.criteria)
        self._board = replace(
            self._board,
            leaderboard=tuple(dict.fromkeys(paths)) or self._board.leaderboard,
            headline=self._headline(criteria) if self._settings.ranking is not None else self._board.headline,
            ranked=criteria if len(criteria) > 1 and not ranking.by_case else self._board.ranked,
        )

    def _headline(self, criteria: Sequence[str]) -> tuple[str, ...]:
        """What teams are ranked by, and the figures that its formulas name, while these fit into a short table."""
        terms = [term for formula in self._board.formulas if formula.path in criteria for term in formula.terms]
        paths = tuple(dict.fromkeys((*criteria, *terms)))
        return paths if len(paths) <= _MOST_HEADLINE else tuple(criteria)
