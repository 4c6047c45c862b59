"""What an organiser may choose."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from podium.ranking.platform import PlatformMethod

OFFICIAL = "official"
PLATFORM = "platform"


@dataclass(frozen=True, kw_only=True)
class RankingOptions:
    """scheme           what the final table follows: `official`, `platform`, or a general scheme
    metrics          per-case metrics for the general schemes instead of those the challenge declares
    weights          of these metrics' positions where there are several; 1 where not named
    confidence       of every interval
    alpha            the level of every test
    platform_method  instead of what the challenge's phase settings say
    arena            the arena's result, to decide among the finalists
    break_arena_ties order teams of one of the arena's groups by their ratings instead of letting them share the rank
    calibration      of the judge by the arena's votes, for the page
    workers          threads; no figure depends on it
    """

    scheme: str = OFFICIAL
    metrics: tuple[str, ...] = ()
    weights: Mapping[str, float] = field(default_factory=dict)
    bootstraps: int = 1000
    seed: int = 0
    confidence: float = 0.95
    alpha: float = 0.05
    quantile: float = 0.05
    platform_method: PlatformMethod | None = None
    arena: Path | None = None
    break_arena_ties: bool = False
    calibration: Path | None = None
    workers: int = 1
