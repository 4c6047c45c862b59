"""What a cohort is ranked by: a challenge, or the columns of a table of scores."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from podium.challenges.board import RankingRule
from podium.figures import Figures
from podium.metrics.declaration import Scoreboard
from podium.platform.privacy import Column


class Rules(Protocol):
    """The part of a challenge that ranking needs."""

    @property
    def name(self) -> str:
        """Of the challenge, for messages."""

    @property
    def scoreboard(self) -> Scoreboard[Any]:
        """The declared figures."""

    @property
    def ranking(self) -> RankingRule | None:
        """The official rule; None where there is none, as for a table of scores."""

    def among(self, aggregates: Mapping[str, Figures]) -> Mapping[str, Figures]:
        """The teams' aggregates again, now that all teams are known."""

    def columns(self) -> Sequence[Column]:
        """The leaderboard, the score first."""

    def offline_columns(self) -> Sequence[Column]:
        """Figures that offline tools add."""
