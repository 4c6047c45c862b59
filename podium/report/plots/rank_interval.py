"""A rank's interval as a small bar inside a table cell; the words beside it say the same."""

from podium.report.svg import element, line, marker

_WIDTH, _HEIGHT = 74.0, 16.0


def rank_interval(*, low: int, high: int, rank: int | None, teams: int) -> str:
    """The interval on a line from rank 1 (left) to the last rank, hidden from screen readers."""

    def place(at: int) -> float:
        return 6 + (_WIDTH - 12) * (at - 1) / max(1, teams - 1)

    middle = _HEIGHT / 2
    return element(
        "svg",
        line(place(1), middle, place(teams), middle, "grid"),
        line(place(low), middle, place(high), middle, "interval"),
        marker(3, place(rank), middle, 3.2, "official") if rank is not None else "",
        viewBox=f"0 0 {_WIDTH:g} {_HEIGHT:g}",
        width=_WIDTH,
        height=_HEIGHT,
        aria_hidden="true",
    )
