"""The votes whose figures the rules give, and random votes."""

from collections.abc import Iterable

from hypothesis import strategies as st

from podium.tools.arena.store import Ballot

GOLDEN = [
    tuple(vote.split())
    for vote in (
        *("A B left", "A C left", "B C left", "B A tie", "C A right", "C B left"),
        *("A D left", "D B right", "C D tie", "B D left", "A B right", "D C left"),
    )
]
TEAMS = ("A", "B", "C", "D")
UNDEFEATED = [("A", "B", "left"), ("C", "A", "right"), ("B", "C", "left")]


def ballots(
    votes: Iterable[tuple[str, ...]], *, rater: str = "anna", cases: int = 3, seconds: float = 10.0
) -> list[Ballot]:
    """One rater, the cases in turn, a vote every ten seconds."""
    return [
        Ballot(
            rater=rater,
            case=f"case{index % cases}",
            left=left,
            right=right,
            answer="both-good" if winner == "tie" else winner,
            cast_at=seconds * index,
        )  # type: ignore[arg-type]
        for index, (left, right, winner) in enumerate(votes)
    ]


def votes(teams: str = "ABCD", *, least: int = 0, most: int = 25) -> st.SearchStrategy[list[tuple[str, str, str]]]:
    pair = st.permutations(teams).map(lambda order: (order[0], order[1]))
    vote = st.tuples(pair, st.sampled_from(("left", "right", "tie"))).map(lambda drawn: (*drawn[0], drawn[1]))
    return st.lists(vote, min_size=least, max_size=most)
