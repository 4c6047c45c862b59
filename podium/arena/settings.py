"""arena.toml: what an organiser may choose, with the published rules as defaults."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

Positive = Annotated[int, Field(ge=1)]


class ArenaSettings(BaseModel):
    """The rules of one arena. `init` writes them; ratings and the stop rule read them.

    seed                of the pairing, the permutations and the bootstrap
    url                 where raters reach the server; invitations are printed with it
    matchups_per_rater  how many a rater is asked for, the repeats among them
    repeat_share        of these, shown again with the sides swapped
    k_factor            of Elo
    permutations        over which the order-free Elo is averaged
    bootstraps          replicates over cases, for the intervals
    min_votes_per_pair, min_votes, window, epsilon_points, vote_budget
                        the stop rule; repeats do not count
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    seed: Annotated[int, Field(ge=0)] = 0
    url: str = "http://localhost:8000"
    matchups_per_rater: Positive = 60
    repeat_share: Annotated[float, Field(ge=0, lt=0.5)] = 0.05
    k_factor: Annotated[float, Field(gt=0)] = 4.0
    permutations: Positive = 1000
    bootstraps: Positive = 1000
    confidence: Annotated[float, Field(gt=0, lt=1)] = 0.95
    min_votes_per_pair: Positive = 10
    min_votes: Positive = 100
    window: Positive = 50
    epsilon_points: Annotated[float, Field(gt=0)] = 10.0
    vote_budget: Positive = 600
