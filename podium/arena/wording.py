"""Wording shared by several messages of the arena."""

from collections.abc import Sequence


def listed(names: Sequence[str]) -> str:
    """'A', 'A and B', 'A, B and C'."""
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
