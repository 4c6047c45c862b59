"""Points and boxes, in the platform's JSON or in CSV.

JSON (Grand Challenge, version 1): "Multiple points", "Point", "Multiple 2D bounding boxes" and "2D bounding box". A
point is [x, y, z]; a box has its four corners as such points, in any order (eight for a box in 3-D). `probability`
(0 to 1) and `name` are optional; 2-D coordinates [x, y] are accepted too.

CSV: the columns `x`, `y` for points; `x_min`, `y_min`, `x_max`, `y_max` for boxes; with `z`, or `z_min` and `z_max`, in
3-D; `probability` and `name` are optional. `boxes_by_centre` has the columns of centres and sizes instead.

Coordinates stay as they are in the file, in the order x, y, z: only the caller knows whether they are mm or indices.
"""

import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from podium.errors import Refused
from podium.readers.files import SafeFile, escape_for_display
from podium.readers.text import Row, read_json, read_rows

LIMIT_BYTES = 50_000_000
MAX_ANNOTATIONS = 200_000
MAX_CONTAINERS = 6 * MAX_ANNOTATIONS + 100  # a box is an object and a list of four lists
FARTHEST = 1e9  # coordinates beyond this are not in any image, and their squares would overflow
_LONGEST_NAME = 1000
_ROUNDING = 0.01  # of a box's longest side, by which corners may miss each other

Coordinates = list[Any]


@dataclass(frozen=True, eq=False)
class Annotations:
    """Points `[point, axis]` or boxes `[box, (lower corner, upper corner), axis]`, axes in the order x, y, z."""

    coordinates: NDArray[np.float64]
    probabilities: NDArray[np.float64] | None
    names: tuple[str | None, ...]

    def __len__(self) -> int:
        return len(self.names)

    def named(self, names: Collection[str]) -> "Annotations":
        """Those with one of the names."""
        return self.only([place for place, name in enumerate(self.names) if name in names])

    def only(self, kept: Sequence[int]) -> "Annotations":
        """Those with these numbers."""
        kept = list(kept)
        probabilities = None if self.probabilities is None else self.probabilities[kept]
        return Annotations(self.coordinates[kept], probabilities, tuple(self.names[place] for place in kept))


@dataclass(frozen=True)
class AnnotationKind:
    """How points, or boxes, are written."""

    noun: str
    many: str
    one: str
    list_key: str
    key: str
    sides: tuple[int, ...]  # the shape of an array of them after the first axis, in 3-D
    parse: Callable[[Any, str], Coordinates]
    columns: tuple[str, ...]
    optional: tuple[str, ...]
    parse_row: Callable[[Row, str], Coordinates]
    by_centre: bool = False  # whether the columns are centre and size, not the corners

    def read(self, file: SafeFile) -> Annotations:
        """Those of one case, from JSON or CSV."""
        if file.name.lower().endswith(".json"):
            content = read_json(file, limit_bytes=LIMIT_BYTES, max_containers=MAX_CONTAINERS)
            return self.from_json(content, name=file.name)
        rows = read_rows(file, columns=self.columns, optional=self.optional, max_rows=MAX_ANNOTATIONS)
        return self.from_rows(rows, name=file.name)

    def from_json(self, value: Any, *, name: str) -> Annotations:
        """Those in a parsed JSON value; messages call its file `name`."""
        label = f"'{escape_for_display(name)}'"
        kind = value.get("type") if isinstance(value, dict) else None
        if kind not in (self.many, self.one):
            raise Refused(f'{label} must be an object with "type": "{self.many}" or "{self.one}".')
        version = value.get("version", {})
        if not isinstance(version, dict) or version.get("major", 1) != 1:
            raise Refused(f'{label} has a "version" that is not known; it must be {{"major": 1, "minor": 0}}.')
        entries = value.get(self.list_key) if kind == self.many else [value]
        if not isinstance(entries, list):
            raise Refused(f'{label} must have a list "{self.list_key}".')
        if len(entries) > MAX_ANNOTATIONS:
            raise Refused(f'{label} has more than {MAX_ANNOTATIONS:,} entries in "{self.list_key}".')
        places = (f"{label}, {self.noun} {number}" for number in range(1, len(entries) + 1))
        return _together([_json_entry(each, self, place) for each, place in zip(entries, places, strict=True)], self)

    def from_rows(self, rows: Sequence[Row], *, name: str) -> Annotations:
        """Those in the rows of a table, read with `columns` and `optional`."""
        if len(rows) > MAX_ANNOTATIONS:
            raise Refused(f"'{escape_for_display(name)}' has more than {MAX_ANNOTATIONS:,} rows for one case.")
        entries = []
        for row in rows:
            axes = "xyz" if "z" in row or "z_min" in row else "xy"
            probability = row.number("probability") if "probability" in row else None
            label = row.text("name") if "name" in row else None
            entries.append(_Entry(row.place, self.parse_row(row, axes), _share(probability, row.place), label))
        return _together(entries, self)

    def to_json(self, found: Annotations) -> dict[str, Any]:
        """The platform's JSON of several."""
        entries = []
        for place, more in zip(found.coordinates, _more(found), strict=True):
            written = place.tolist() if place.ndim == 1 else [list(each) for each in product(*place.T.tolist())]
            entries.append({self.key: written, **more})
        return {"version": {"major": 1, "minor": 0}, "type": self.many, self.list_key: entries}

    def to_rows(self, found: Annotations) -> Sequence[dict[str, Any]]:
        """The rows of a table; without any, one that has no coordinates."""
        axes = "xyz"[: found.coordinates.shape[-1]]
        columns: Sequence[str] = [*axes]
        places = found.coordinates
        if len(self.sides) > 1:
            columns = self.columns if self.by_centre else [f"{axis}{end}" for end in ("_min", "_max") for axis in axes]
            places = np.stack([places.mean(axis=1), np.ptp(places, axis=1)], axis=1) if self.by_centre else places
        rows = [
            {**dict(zip(columns, place, strict=True)), **more}
            for place, more in zip(places.reshape(len(found), len(columns)).tolist(), _more(found), strict=True)
        ]
        return rows or [dict.fromkeys(columns, "")]


def _more(found: Annotations) -> list[dict[str, Any]]:
    """The probability and the name of each, where it has one."""
    sure = [None] * len(found) if found.probabilities is None else found.probabilities.tolist()
    given = [{"probability": share, "name": name} for share, name in zip(sure, found.names, strict=True)]
    return [{key: each for key, each in more.items() if each is not None} for more in given]


@dataclass(frozen=True)
class _Entry:
    place: str
    coordinates: Coordinates
    probability: float | None
    name: str | None


def _json_entry(value: Any, kind: AnnotationKind, place: str) -> _Entry:
    if not isinstance(value, dict) or kind.key not in value:
        raise Refused(f'{place} is not an object with "{kind.key}".')
    if value.get("type", kind.one) != kind.one:
        raise Refused(f'{place} must have the "type" "{kind.one}", or none.')
    name = value.get("name")
    if name is not None and (not isinstance(name, str) or len(name) > _LONGEST_NAME):
        raise Refused(f'{place}: "name" is not a string of at most {_LONGEST_NAME:,} characters.')
    probability = value.get("probability")
    if probability is not None and not _is_number(probability):
        raise Refused(f'{place}: "probability" is not a number.')
    return _Entry(place, kind.parse(value[kind.key], place), _share(probability, place), name)


def _together(entries: Sequence[_Entry], kind: AnnotationKind) -> Annotations:
    """All entries as arrays; all or none must have a probability, and a z."""
    if not entries:
        return Annotations(np.zeros((0, *kind.sides)), None, ())
    first = entries[0]
    for entry in entries:
        if _axes(entry) != _axes(first):
            raise Refused(f"{entry.place} has {_axes(entry)} coordinates, but {_of(first)} has {_axes(first)}.")
        if (entry.probability is None) != (first.probability is None):
            lacking, other = (entry, first) if entry.probability is None else (first, entry)
            raise Refused(f"{lacking.place} has no probability, but {_of(other)} has one.")
    return Annotations(
        np.array([entry.coordinates for entry in entries], dtype=np.float64),
        None if first.probability is None else np.array([entry.probability for entry in entries], dtype=np.float64),
        tuple(entry.name for entry in entries),
    )


def _axes(entry: _Entry) -> int:
    innermost = entry.coordinates[0]
    return len(innermost) if isinstance(innermost, list) else len(entry.coordinates)


def _of(entry: _Entry) -> str:
    """'point 3', 'line 7'."""
    return entry.place.rpartition(", ")[2]


def _point(value: Any, place: str) -> Coordinates:
    if not isinstance(value, list) or len(value) not in (2, 3) or not all(map(_is_number, value)):
        raise Refused(f"{place} is not a list of the numbers x, y and z.")
    return _numbers(value, place)


def _box(value: Any, place: str) -> Coordinates:
    if not isinstance(value, list) or len(value) not in (4, 8):
        raise Refused(f'{place}: "corners" is not a list of four points.')
    corners = [_point(each, place) for each in value]
    if len({len(corner) for corner in corners}) > 1:
        raise Refused(f'{place}: the "corners" have different numbers of coordinates.')
    ends = [(min(along), max(along)) for along in zip(*corners, strict=True)]
    allowed = _ROUNDING * max(high - low for low, high in ends)
    at_end = [[_end(at, ends[axis], allowed) for axis, at in enumerate(corner)] for corner in corners]
    extended = sum(high - low > allowed for low, high in ends)
    if any(None in corner for corner in at_end) or len(set(map(tuple, at_end))) != 2**extended:
        raise Refused(f"{place} is not a box whose sides are parallel to the axes.")
    return [[low for low, _ in ends], [high for _, high in ends]]


def _end(at: float, ends: tuple[float, float], allowed: float) -> int | None:
    """At which of the two ends of an axis a corner is; a flat axis has one."""
    low, high = ends
    if at - low <= allowed:
        return 0
    return 1 if high - at <= allowed else None


def _numbers(values: Sequence[Any], place: str) -> Coordinates:
    if any(abs(value) > FARTHEST for value in values):
        raise Refused(f"{place} has a coordinate beyond {FARTHEST:,.0f}.")
    return [float(value) for value in values]


def _share(value: float | None, place: str) -> float | None:
    if value is not None and not 0 <= value <= 1:
        raise Refused(f"{place}: the probability {escape_for_display(str(value))} is not between 0 and 1.")
    return None if value is None else float(value)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _row_point(row: Row, axes: str) -> Coordinates:
    return _numbers([row.number(axis) for axis in axes], row.place)


def _row_box(row: Row, axes: str) -> Coordinates:
    lower, upper = (_numbers([row.number(f"{axis}_{end}") for axis in axes], row.place) for end in ("min", "max"))
    for axis, low, high in zip(axes, lower, upper, strict=True):
        if low > high:
            raise Refused(f"{row.place}: '{axis}_min' is larger than '{axis}_max'.")
    return [lower, upper]


POINTS = AnnotationKind(
    *("point", "Multiple points", "Point", "points", "point", (3,)),
    *(_point, ("x", "y"), ("z", "probability", "name"), _row_point),
)
BOXES = AnnotationKind(
    *("box", "Multiple 2D bounding boxes", "2D bounding box", "boxes", "corners", (2, 3)),
    *(_box, ("x_min", "y_min", "x_max", "y_max"), ("z_min", "z_max", "probability", "name"), _row_box),
)


def boxes_by_centre(centre: Sequence[str], size: Sequence[str]) -> AnnotationKind:
    """Boxes whose columns hold the centre and the whole length along every axis, in the order x, y, z."""

    def parse_row(row: Row, _: str) -> Coordinates:
        sizes = [row.number(column) for column in size]
        for column, length in zip(size, sizes, strict=True):
            if length < 0:
                raise Refused(f"{row.place}: '{escape_for_display(column)}' is negative.")
        middle = [row.number(column) for column in centre]
        return [
            _numbers([at + sign * length / 2 for at, length in zip(middle, sizes, strict=True)], row.place)
            for sign in (-1, 1)
        ]

    return replace(
        BOXES, columns=(*centre, *size), optional=("probability", "name"), parse_row=parse_row, by_centre=True
    )
