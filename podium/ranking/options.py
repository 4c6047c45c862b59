"""What an organiser may choose, and what is fixed."""

from dataclasses import dataclass
from pathlib import Path

from podium.ranking.platform import PlatformMethod

OFFICIAL = "official"
PLATFORM = "platform"
CONFIDENCE = 0.95
ALPHA = 0.05


@dataclass(frozen=True, kw_only=True)
class RankingOptions:
    """scheme           what the final table follows: `official`, `platform`, or a general scheme
    metrics          per-case metrics for the general schemes instead of those the challenge declares
    platform_method  instead of what the challenge's phase settings say
    arena            the arena's result, to decide among the finalists
    workers          threads; no figure depends on it
    """

    scheme: str = OFFICIAL
    metrics: tuple[str, ...] = ()
    bootstraps: int = 1000
    seed: int = 0
    quantile: float = 0.05
    platform_method: PlatformMethod | None = None
    arena: Path | None = None
    workers: int = 1
