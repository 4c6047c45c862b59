"""Simulated scribbles: where a prediction is most wrong, drawn by one of three strategies. Source: autoPET V.

Everything here is in (x, y, z) voxel order, pixels of a slice in row-major order of (x, y), and random draws come from
Python's `random.Random(42)`: the same masks give the same points on any machine.
"""

import json
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from podium.errors import UsageError
from podium.metrics import Mask

Name = Literal["tumor", "background"]
Strategy = Literal["centerline", "random", "boundary"]
Point = tuple[int, int, int]  # x, y, z
Pixel = tuple[int, int]

STRATEGIES: tuple[Strategy, ...] = ("centerline", "random", "boundary")
SEED = 42
BOUNDARY_SHARE = 0.2  # the share of a boundary's pixels that is walked along
TRIMMED_SHARE = 0.1  # the share of a centerline that is cut off at either end ...
TRIMMED_FROM = 10  # ... if it has more pixels than this
NEIGHBOURS = ((-1, -1), (-1, 0), (-1, 1), (0, -1), (0, 1), (1, -1), (1, 0), (1, 1))
_ROWS_AT_ONCE = 512  # of the distance matrix of a skeleton's pixels


@dataclass(frozen=True)
class Scribbles:
    """All points so far, which accumulate over the steps; named points in voxels, the platform's `lesion-clicks`."""

    tumor: tuple[Point, ...] = ()
    background: tuple[Point, ...] = ()

    def with_points(self, name: Name, points: Sequence[Point]) -> "Scribbles":
        """A copy with additional points."""
        return replace(self, **{name: (*getattr(self, name), *points)})

    def document(self) -> dict[str, Any]:
        """The content of `lesion-clicks.json`."""
        named = [("tumor", point) for point in self.tumor] + [("background", point) for point in self.background]
        return {
            "version": {"major": 1, "minor": 0},
            "type": "Multiple points",
            "points": [{"point": list(point), "name": name} for name, point in named],
        }


def write_scribbles(scribbles: Scribbles, path: Path) -> None:
    path.write_text(json.dumps(scribbles.document(), indent=1) + "\n", encoding="utf-8")


def read_scribbles(path: Path) -> Scribbles:
    """Read what `write_scribbles` or the organisers' own loop wrote; raises UsageError for any other content."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        points: dict[str, list[Point]] = {"tumor": [], "background": []}
        if "points" not in content:  # the organisers': {"tumor": [[x, y, z], ...], "background": [...]}
            content = {"points": [{"name": name, "point": point} for name in points for point in content[name]]}
        for entry in content["points"]:
            x, y, z = (int(place) for place in entry["point"])
            points[entry["name"]].append((x, y, z))
    except (OSError, ValueError, KeyError, TypeError):
        raise UsageError(
            f"'{path.name}' in '{path.parent.name}' holds no scribbles in the lesion-clicks format."
        ) from None
    return Scribbles(tuple(points["tumor"]), tuple(points["background"]))


def strategy_of(case_number: int) -> Strategy:
    """A third of the cases for each strategy: the index among the sorted case names, modulo 3."""
    return STRATEGIES[case_number % len(STRATEGIES)]


def correct(*, prediction: Mask, reference: Mask, strategy: Strategy) -> tuple[Name, tuple[Point, ...]]:
    """The next scribble for a prediction and its name; without points if there is nothing to correct.

    A scribble is drawn on both kinds of error, and the longer one is used: `tumor` on missed voxels if that has at
    least as many points, else `background` on false positives.
    """
    background = scribble(prediction & ~reference, strategy)
    tumor = scribble(reference & ~prediction, strategy)
    return ("tumor", tumor) if len(background) <= len(tumor) else ("background", background)


def scribble(error: Mask, strategy: Strategy) -> tuple[Point, ...]:
    """A scribble inside the largest 2-D component of an error map, in row-major order; nothing if there is no error."""
    found = largest_component(error)
    if found is None:
        return ()
    component, z = found
    draw: dict[Strategy, Callable[[Mask], Sequence[Pixel]]] = {
        "centerline": centerline_pixels,
        "random": random_pixels,
        "boundary": boundary_pixels,
    }
    pixels = sorted({pixel for pixel in draw[strategy](component) if component[pixel]})
    return tuple((x, y, z) for x, y in pixels)


def largest_component(error: Mask) -> tuple[Mask, int] | None:
    """The largest 8-connected component of any slice [:, :, z], and its z; the first of equals.

    Within a slice the first is the one whose first pixel comes first in the order (y, x): the organisers' arrays are
    Fortran-ordered.
    """
    best: tuple[Mask, int] | None = None
    largest = 0
    areas = np.count_nonzero(error, axis=(0, 1))
    for z in np.flatnonzero(areas):
        if areas[z] <= largest:
            continue  # even the whole error of this slice would not be larger
        component = _largest_piece(error[:, :, z].T).T
        size = int(np.count_nonzero(component))
        if size > largest:
            best, largest = (component, int(z)), size
    return best


def random_pixels(component: Mask) -> Sequence[Pixel]:
    """The digital line between two random pixels; it may leave the component."""
    from skimage.draw import line

    pixels = _pixels(component)
    if len(pixels) < 2:
        return pixels
    rng = random.Random(SEED)  # noqa: S311  (reproducible on purpose)
    (x0, y0), (x1, y1) = (pixels[rng.randint(0, len(pixels) - 1)] for _ in range(2))
    xs, ys = line(x0, y0, x1, y1)
    return [(int(x), int(y)) for x, y in zip(xs, ys, strict=True)]


def boundary_pixels(component: Mask) -> Sequence[Pixel]:
    """A walk along the inner boundary from a random pixel: always to the first neighbour not yet visited.

    A component that fills its slice has no boundary, and the whole component is the scribble.
    """
    from skimage.segmentation import find_boundaries

    boundary = _pixels(find_boundaries(component, mode="inner"))
    if not boundary:
        return _pixels(component)
    rng = random.Random(SEED)  # noqa: S311
    walk = [boundary[rng.randint(0, len(boundary) - 1)]]
    unvisited = set(boundary) - {walk[0]}
    for _ in range(max(2, int(BOUNDARY_SHARE * len(boundary)))):
        x, y = walk[-1]
        ahead = next(((x + dx, y + dy) for dx, dy in NEIGHBOURS if (x + dx, y + dy) in unvisited), None)
        if ahead is None:
            break
        unvisited.discard(ahead)
        walk.append(ahead)
    return walk


def centerline_pixels(component: Mask) -> Sequence[Pixel]:
    """The path through the skeleton between its two pixels farthest apart, without a tenth at either end."""
    from skimage.morphology import skeletonize

    skeleton = _pixels(_largest_piece(skeletonize(component)))
    if len(skeleton) < 2:
        return _pixels(component)
    path = _shortest_path(skeleton, *_farthest_pair(skeleton))
    if len(path) > TRIMMED_FROM:
        path = path[int(TRIMMED_SHARE * len(path)) : int((1 - TRIMMED_SHARE) * len(path))]
    return path


def _pixels(mask: Mask) -> list[Pixel]:
    return [(int(x), int(y)) for x, y in np.argwhere(mask)]


def _largest_piece(mask: Mask) -> Mask:
    """The largest 8-connected piece of a slice; of equals, the first in row-major order."""
    from scipy.ndimage import label

    labels, count = label(mask, structure=np.ones((3, 3), np.uint8))
    if count < 2:
        return np.asarray(mask, np.bool_)
    sizes = np.bincount(labels.ravel())[1:]
    equals = np.flatnonzero(sizes == sizes.max()) + 1
    first = min(equals, key=lambda number: int((labels.ravel() == number).argmax())) if len(equals) > 1 else equals[0]
    return np.asarray(labels == first, np.bool_)


def _farthest_pair(pixels: Sequence[Pixel]) -> tuple[Pixel, Pixel]:
    """By Euclidean distance; of equals, the first pair in row-major order. Squares of integers are exact."""
    places = np.array(pixels, np.int64)
    best, pair = -1, (0, 0)
    for start in range(0, len(places), _ROWS_AT_ONCE):
        rows = places[start : start + _ROWS_AT_ONCE]
        squared = ((rows[:, None, :] - places[None, :, :]) ** 2).sum(axis=2)
        if squared.max() > best:
            best = int(squared.max())
            row, column = divmod(int(squared.argmax()), len(places))
            pair = (start + row, column)
    return pixels[pair[0]], pixels[pair[1]]


def _shortest_path(pixels: Sequence[Pixel], source: Pixel, target: Pixel) -> list[Pixel]:
    """By networkx; which of several shortest paths it finds depends on the order in which the graph is filled."""
    import networkx

    graph = networkx.Graph()
    inside = set(pixels)
    for x, y in pixels:
        graph.add_node((x, y))
        for dx, dy in NEIGHBOURS:
            if (x + dx, y + dy) in inside:
                graph.add_edge((x, y), (x + dx, y + dy))
    path: list[Pixel] = networkx.shortest_path(graph, source, target)
    return path
