"""The scribble rules, word by word; (x, y, z) order throughout. Nothing is imported from podium."""

import math
import random
from typing import Any

import networkx
import numpy as np
from numpy.typing import NDArray
from skimage.draw import line
from skimage.morphology import skeletonize
from skimage.segmentation import find_boundaries

Pixel = tuple[int, int]
ORDER = [(-1, -1), (-1, 0), (-1, 1), (0, -1), (0, 1), (1, -1), (1, 0), (1, 1)]


def row_major(mask: NDArray[Any]) -> list[Pixel]:
    return [(x, y) for x in range(mask.shape[0]) for y in range(mask.shape[1]) if mask[x, y]]


def pieces(mask: NDArray[Any]) -> list[set[Pixel]]:
    """8-connected pieces in the order of their first pixels."""
    left, found = row_major(mask), []
    while left:
        piece, waiting = {left[0]}, [left[0]]
        while waiting:
            x, y = waiting.pop()
            for dx, dy in ORDER:
                if (x + dx, y + dy) in left and (x + dx, y + dy) not in piece:
                    piece.add((x + dx, y + dy))
                    waiting.append((x + dx, y + dy))
        left = [pixel for pixel in left if pixel not in piece]
        found.append(piece)
    return found


def y_then_x(piece: set[Pixel]) -> tuple[int, int]:
    """Where the piece's first pixel stands when the slice is read along x within y."""
    return min((y, x) for x, y in piece)


def largest(error: NDArray[Any]) -> tuple[set[Pixel], int] | None:
    best: tuple[set[Pixel], int] | None = None
    for z in range(error.shape[2]):
        for piece in sorted(pieces(error[:, :, z]), key=y_then_x):
            if best is None or len(piece) > len(best[0]):
                best = piece, z
    return best


def scribble(error: NDArray[Any], strategy: str) -> list[tuple[int, int, int]]:
    found = largest(error)
    if found is None:
        return []
    component, z = found
    mask = np.zeros(error.shape[:2], bool)
    for pixel in component:
        mask[pixel] = True
    drawn = {"random": by_line, "boundary": by_walk, "centerline": by_skeleton}[strategy](mask)
    return [(x, y, z) for x, y in row_major(mask) if (x, y) in drawn]


def by_line(mask: NDArray[Any]) -> set[Pixel]:
    pixels = row_major(mask)
    if len(pixels) < 2:
        return set(pixels)
    draws = random.Random(42)
    first = pixels[draws.randint(0, len(pixels) - 1)]
    second = pixels[draws.randint(0, len(pixels) - 1)]
    xs, ys = line(*first, *second)
    return {(int(x), int(y)) for x, y in zip(xs, ys, strict=True)}


def by_walk(mask: NDArray[Any]) -> set[Pixel]:
    boundary = row_major(find_boundaries(mask, mode="inner"))
    if not boundary:
        return set(row_major(mask))
    here = boundary[random.Random(42).randint(0, len(boundary) - 1)]
    visited = [here]
    for _ in range(max(2, int(0.2 * len(boundary)))):
        options = [(here[0] + dx, here[1] + dy) for dx, dy in ORDER]
        options = [pixel for pixel in options if pixel in boundary and pixel not in visited]
        if not options:
            break
        here = options[0]
        visited.append(here)
    return set(visited)


def by_skeleton(mask: NDArray[Any]) -> set[Pixel]:
    found = pieces(skeletonize(mask))
    if not found:
        return set(row_major(mask))
    skeleton = sorted(max(found, key=len))
    if len(skeleton) == 1:
        return set(row_major(mask))
    ends, apart = (skeleton[0], skeleton[0]), -1.0
    for one in skeleton:
        for other in skeleton:
            if math.dist(one, other) > apart:
                ends, apart = (one, other), math.dist(one, other)
    graph = networkx.Graph()
    for x, y in skeleton:
        graph.add_node((x, y))
        for dx, dy in ORDER:
            if (x + dx, y + dy) in skeleton:
                graph.add_edge((x, y), (x + dx, y + dy))
    path = networkx.shortest_path(graph, *ends)
    if len(path) > 10:
        path = path[int(0.1 * len(path)) : int(0.9 * len(path))]
    return set(path)


def correction(prediction: NDArray[Any], reference: NDArray[Any], strategy: str) -> tuple[str, list[Any]]:
    background = scribble(prediction & ~reference, strategy)
    foreground = scribble(reference & ~prediction, strategy)
    return ("tumor", foreground) if len(background) <= len(foreground) else ("background", background)
