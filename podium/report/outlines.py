"""The outline of a mask along its pixels' edges, as one SVG path: exact, and dashes run on around it."""

from itertools import groupby

import numpy as np
from numpy.typing import NDArray

_STEPS = {"right": (1, 0), "down": (0, 1), "left": (-1, 0), "up": (0, -1)}
_TURNS: dict[
    str, tuple[str, ...]
] = {  # at a corner where two outlines touch, turn right first: pixels that meet at a corner stay apart
    "right": ("down", "right", "up"),
    "down": ("left", "down", "right"),
    "left": ("up", "left", "down"),
    "up": ("right", "up", "left"),
}
Corner = tuple[int, int]  # x, y


def outline_path(mask: NDArray[np.bool_]) -> str:
    """`M x y h n v n ... z` for every closed outline, holes included; empty for an empty mask."""
    edges = _edges(mask)
    paths = []
    while edges:
        start = min(edges, key=lambda corner: (corner[1], corner[0]))
        paths.append(_path(start, _walk(start, edges)))
    return "".join(paths)


def _edges(mask: NDArray[np.bool_]) -> dict[Corner, set[str]]:
    """Every edge between mask and background, directed so that the mask lies on its right, by its first corner."""
    padded = np.pad(mask, 1).astype(np.int8)
    across, along = np.diff(padded, axis=0)[:, 1:-1], np.diff(padded, axis=1)[1:-1]
    edges: dict[Corner, set[str]] = {}

    def add(places: NDArray[np.bool_], heading: str, shift: Corner) -> None:
        for y, x in np.argwhere(places).tolist():
            edges.setdefault((x + shift[0], y + shift[1]), set()).add(heading)

    add(across == 1, "right", (0, 0))
    add(across == -1, "left", (1, 0))
    add(along == 1, "up", (0, 1))
    add(along == -1, "down", (0, 0))
    return edges


def _walk(start: Corner, edges: dict[Corner, set[str]]) -> list[str]:
    """The headings of one closed outline from `start`, its top left corner; its edges are taken out."""
    headings: list[str] = []
    wanted: tuple[str, ...]
    corner, wanted = start, ("right", "down")  # of a pixel or of a hole; where no corner lies before, only one leads on
    while not headings or corner != start:
        heading = next(each for each in wanted if each in edges[corner])
        edges[corner].discard(heading)
        if not edges[corner]:
            del edges[corner]
        headings.append(heading)
        dx, dy = _STEPS[heading]
        corner, wanted = (corner[0] + dx, corner[1] + dy), _TURNS[heading]
    return headings


def _path(start: Corner, headings: list[str]) -> str:
    runs = []
    for heading, run in groupby(headings):
        length = sum(1 for _ in run)
        dx, dy = _STEPS[heading]
        runs.append(f"h{dx * length}" if dx else f"v{dy * length}")
    return f"M{start[0]} {start[1]}{''.join(runs)}z"
