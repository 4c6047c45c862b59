"""Times the arena's figures: 1000 bootstrap replicates by our batch solver and by evalica, and the averaged Elo.

    python bench/arena_figures.py [VOTES]

The votes are drawn from one seed. docs/performance.md has figures and how to read them.
"""

import argparse
import time
from collections.abc import Callable

import evalica
import numpy as np

from podium.tools.arena.ratings import averaged_elo, bootstrap_intervals
from podium.tools.arena.settings import ArenaSettings
from podium.tools.arena.standing import standing
from podium.tools.arena.store import Ballot
from podium.tools.arena.web.pages import compute

TEAMS = tuple("ABCDEFG")
CASES = 40
RATERS = 20
WINNER = {"left": evalica.Winner.X, "right": evalica.Winner.Y, "both-good": evalica.Winner.Draw}


def votes(count: int) -> list[Ballot]:
    random = np.random.default_rng(0)
    drawn = []
    for number in range(count):
        left, right = random.choice(len(TEAMS), 2, replace=False)
        kinds = ("both-good", "left", "right")
        wins = 0.8 / (1 + 10 ** ((left - right) / 8))  # 50 points between neighbours
        winner = kinds[int(random.choice(3, p=[0.2, wins, 0.8 - wins]))]
        case = f"case{random.integers(CASES)}"
        rater, names = f"rater {number % RATERS}", {"left": TEAMS[left], "right": TEAMS[right]}
        drawn.append(Ballot(rater=rater, case=case, **names, answer=winner))  # type: ignore[arg-type]
    return drawn


def by_evalica(ballots: list[Ballot], replicates: int) -> None:
    """The same bootstrap with evalica's own function on the votes of every replicate."""
    cases: dict[str, list[Ballot]] = {}
    for ballot in ballots:
        cases.setdefault(ballot.case, []).append(ballot)
    random = np.random.default_rng(0)
    for _ in range(replicates):
        drawn = [ballot for case in random.choice(sorted(cases), len(cases)) for ballot in cases[case]]
        evalica.bradley_terry(
            [ballot.left for ballot in drawn],
            [ballot.right for ballot in drawn],
            [WINNER[ballot.answer] for ballot in drawn],
            tolerance=1e-9,
            limit=10_000,
        )


def seconds(work: Callable[[], object]) -> float:
    """Of CPU, the best of three."""
    taken = []
    for _ in range(3):
        start = time.process_time()
        work()
        taken.append(time.process_time() - start)
    return min(taken)


def main() -> None:
    parser = argparse.ArgumentParser(description="Time the arena's figures.")
    parser.add_argument("votes", metavar="VOTES", type=int, nargs="?", default=1000, help="how many [%(default)s]")
    count = parser.parse_args().votes
    cast, rules = votes(count), ArenaSettings()
    rows = {
        "1000 replicates, our batch solver": lambda: bootstrap_intervals(
            cast, TEAMS, replicates=1000, confidence=0.95, seed=0
        ),
        "1000 replicates, evalica on the votes": lambda: by_evalica(cast, 1000),
        "Elo averaged over 1000 orders": lambda: averaged_elo(cast, TEAMS, k_factor=4, permutations=1000, seed=0),
        "the whole standing": lambda: standing(cast, TEAMS, rules),
        "everything on the organiser's page": lambda: compute(cast, False, TEAMS, rules, ()),
    }
    print(f"{count} votes, {len(TEAMS)} teams, {CASES} cases; seconds of CPU, best of three")
    for name, work in rows.items():
        print(f"{name:40s} {seconds(work):7.3f}")


if __name__ == "__main__":
    main()
