"""A vote as the ratings see it: the two methods, the case, the rater and the answer."""

from typing import Literal, NamedTuple, TypeAlias

Answer: TypeAlias = Literal["left", "right", "both-good", "both-bad", "cannot-judge"]
TIES: tuple[Answer, ...] = ("both-good", "both-bad")


class Ballot(NamedTuple):
    """One vote that stands: cast and not undone. A named tuple, since thousands are made for every organiser's page.

    left, right  names of the two methods as they stood on the page
    answer       which is better; both good and both bad are ties; "cannot-judge" enters no rating and is counted
    repeat       the rater had seen this matchup before, with the sides swapped: it measures the rater alone, and
                 neither ratings nor the stop rule count it
    cast_at      seconds since 1970; ballots are always in the order in which they were cast
    """

    rater: str
    case: str
    left: str
    right: str
    answer: Answer
    repeat: bool = False
    cast_at: float = 0.0

    @property
    def is_tie(self) -> bool:
        return self.answer in TIES

    @property
    def is_judged(self) -> bool:
        return self.answer != "cannot-judge"
