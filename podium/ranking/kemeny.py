"""The Kemeny order: of all orders of the teams the one that contradicts the given rankings in the fewest pairs.

Found exactly by dynamic programming over sets of teams (Held and Karp's scheme): 2^n sets, hence few teams only.
Source: J. G. Kemeny, Mathematics without numbers, Daedalus 88, 1959.
"""

from dataclasses import dataclass

import numpy as np

from podium.ranking.positions import Ranks

MOST_TEAMS = 12


@dataclass(frozen=True, kw_only=True)
class KemenyOrder:
    """Teams best first, and in how many pairs, counted over all rankings, the order contradicts them."""

    order: tuple[int, ...]
    disagreements: int


def kemeny_order(ranks: Ranks) -> KemenyOrder:
    """`ranks[ranking, team]`, 1 being best; two teams that tie in a ranking contradict no order.

    Of several best orders the one that stands first when teams are compared by their number.
    """
    teams = ranks.shape[1]
    # cost[i][j]: how many rankings have j before i, which placing i before j contradicts
    cost = (ranks[:, :, None] > ranks[:, None, :]).sum(axis=0).tolist()
    everybody = (1 << teams) - 1
    # fewest[rest]: disagreements among the teams of the set `rest` when they are ordered best
    fewest = np.zeros(1 << teams, dtype=np.int64)
    first = [0] * (1 << teams)
    for rest in range(1, everybody + 1):
        members = [team for team in range(teams) if rest >> team & 1]
        best = None
        for team in members:
            found = int(fewest[rest ^ (1 << team)]) + sum(cost[team][other] for other in members if other != team)
            if best is None or found < best:
                best, first[rest] = found, team
        fewest[rest] = best or 0
    order, rest = [], everybody
    while rest:
        order.append(first[rest])
        rest ^= 1 << first[rest]
    return KemenyOrder(order=tuple(order), disagreements=int(fewest[everybody]))
