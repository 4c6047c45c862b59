"""Scribbles in the platform's `lesion-clicks` form: named points in voxels."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from podium.errors import UsageError

Name = Literal["tumor", "background"]
Point = tuple[int, int, int]  # x, y, z


@dataclass(frozen=True)
class Scribbles:
    """All points so far: scribbles accumulate over the steps."""

    tumor: tuple[Point, ...] = ()
    background: tuple[Point, ...] = ()

    def with_points(self, name: Name, points: Sequence[Point]) -> "Scribbles":
        """These and more."""
        if name == "tumor":
            return Scribbles((*self.tumor, *points), self.background)
        return Scribbles(self.tumor, (*self.background, *points))

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
    """What `write_scribbles` wrote; any other content is an error of whoever keeps the folder."""
    try:
        entries = json.loads(path.read_text(encoding="utf-8"))["points"]
        points: dict[str, list[Point]] = {"tumor": [], "background": []}
        for entry in entries:
            x, y, z = (int(place) for place in entry["point"])
            points[entry["name"]].append((x, y, z))
    except (OSError, ValueError, KeyError, TypeError):
        raise UsageError(
            f"'{path.name}' in '{path.parent.name}' holds no scribbles in the lesion-clicks form."
        ) from None
    return Scribbles(tuple(points["tumor"]), tuple(points["background"]))
