"""Points and boxes: real files of the platform, CSV, and every refusal with its words."""

import json
import math
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from readers.made import refusal, safe

from podium.errors import Refused
from podium.readers import annotations
from podium.readers.annotations import BOXES, POINTS, Annotations
from podium.readers.files import SafeFile
from podium.readers.text import read_table

VERSION = {"major": 1, "minor": 0}
SQUARE = [[0, 0, 0.5], [10, 0, 0.5], [10, 20, 0.5], [0, 20, 0.5]]


def submitted(folder: Path, content: Any, name: str = "a.json") -> SafeFile:
    return safe(folder, name, content if isinstance(content, bytes) else json.dumps(content).encode())


def points(*entries: Any) -> Annotations:
    return POINTS.from_json({"type": "Multiple points", "points": list(entries), "version": VERSION}, name="a.json")


def boxes(*entries: Any) -> Annotations:
    return BOXES.from_json({"type": "Multiple 2D bounding boxes", "boxes": list(entries)}, name="a.json")


def plain(found: Annotations) -> tuple[Any, Any, Any]:
    known = None if found.probabilities is None else found.probabilities.tolist()
    return found.coordinates.tolist(), known, found.names


def test_points_of_the_platform(tmp_path: Path) -> None:
    content = {
        "name": "Points of interest",
        "type": "Multiple points",
        "points": [
            {"name": "mitotic figure", "point": [14.5, 20, 0.5], "probability": 0.92},
            {"type": "Point", "point": [1e1, -5, 0], "probability": 1},
        ],
        "version": VERSION,
    }
    found = POINTS.read(submitted(tmp_path, content))
    assert plain(found) == ([[14.5, 20, 0.5], [10, -5, 0]], [0.92, 1], ("mitotic figure", None))
    assert plain(found.named(["mitotic figure"])) == ([[14.5, 20, 0.5]], [0.92], ("mitotic figure",))
    one = {"version": VERSION, "type": "Point", "name": "test_name", "point": [0, 0, 0], "probability": 0.41}
    assert plain(POINTS.read(submitted(tmp_path, one))) == ([[0, 0, 0]], [0.41], ("test_name",))


def test_boxes_of_the_platform(tmp_path: Path) -> None:
    content = {
        "type": "Multiple 2D bounding boxes",
        "boxes": [{"name": "foo", "corners": SQUARE}, {"corners": SQUARE[::-1]}],
        "version": VERSION,
    }
    box = [[0, 0, 0.5], [10, 20, 0.5]]
    assert plain(BOXES.read(submitted(tmp_path, content))) == ([box, box], None, ("foo", None))
    one = {"version": VERSION, "type": "2D bounding box", "corners": SQUARE, "probability": 0.2}
    assert plain(BOXES.read(submitted(tmp_path, one))) == ([box], [0.2], (None,))


def test_corners_that_were_rounded_and_boxes_in_3d() -> None:
    rounded = boxes({"corners": [[0, 0.004, 1], [10, 0, 1], [10.001, 8, 1], [0.001, 8.003, 1]]})
    assert rounded.coordinates.tolist() == [[[0, 0, 1], [10.001, 8.003, 1]]]
    cube = [[x, y, z] for x in (0, 2) for y in (0, 3) for z in (0, 4)]
    assert boxes({"corners": cube}).coordinates.tolist() == [[[0, 0, 0], [2, 3, 4]]]
    thin = [[0, 0], [500, 0], [500, 1], [0, 1]]
    assert boxes({"corners": thin}).coordinates.tolist() == [[[0, 0], [500, 1]]]


def test_nothing_found_is_an_answer(tmp_path: Path) -> None:
    assert (points().coordinates.shape, len(points()), points().probabilities) == ((0, 3), 0, None)
    assert boxes().coordinates.shape == (0, 2, 3)
    assert len(POINTS.read(submitted(tmp_path, b"x,y,z,probability\n", "a.csv"))) == 0


def test_csv(tmp_path: Path) -> None:
    content = b"name;probability;x;y\r\ncell;0.5;1;2\r\n;0.25;3;4\r\n"
    assert plain(POINTS.read(submitted(tmp_path, content, "a.csv"))) == ([[1, 2], [3, 4]], [0.5, 0.25], ("cell", None))
    content = b"x_min,y_min,z_min,x_max,y_max,z_max\n0,1,2,3,4,5\n"
    assert plain(BOXES.read(submitted(tmp_path, content, "a.csv"))) == ([[[0, 1, 2], [3, 4, 5]]], None, (None,))


def test_rows_of_a_table_of_all_cases(tmp_path: Path) -> None:
    file = submitted(tmp_path, b"case,x,y,z,probability\na,1,2,3,0.5\nb,1,2,3,0.5\na,4,5,6,2\n", "a.csv")
    table = read_table(file, columns=POINTS.columns, optional=POINTS.optional)
    assert plain(POINTS.from_rows(table.rows_of("b"), name="a.csv")) == ([[1, 2, 3]], [0.5], (None,))
    with pytest.raises(Refused, match=r"^'a\.csv', line 4: the probability 2\.0 is not between 0 and 1\.$"):
        POINTS.from_rows(table.rows_of("a"), name="a.csv")


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ([], """'a.json' must be an object with "type": "Multiple points" or "Point"."""),
        ({"points": []}, """'a.json' must be an object with "type": "Multiple points" or "Point"."""),
        (
            {"type": "Multiple polygons", "points": []},
            """'a.json' must be an object with "type": "Multiple points" or "Point".""",
        ),
        ({"type": "Multiple points", "points": {}}, """'a.json' must have a list "points"."""),
        (
            {"type": "Multiple points", "points": [], "version": {"major": 2, "minor": 0}},
            """'a.json' has a "version" that is not known; it must be {"major": 1, "minor": 0}.""",
        ),
        (
            {"type": "Multiple points", "points": [], "version": "1.0"},
            """'a.json' has a "version" that is not known; it must be {"major": 1, "minor": 0}.""",
        ),
        ({"type": "Point"}, """'a.json', point 1 is not an object with "point"."""),
        ({"type": ["Point"]}, """'a.json' must be an object with "type": "Multiple points" or "Point"."""),
    ],
)
def test_what_is_no_list_of_points(tmp_path: Path, content: Any, words: str) -> None:
    assert refusal(POINTS.read, submitted(tmp_path, content)) == words


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        (5, """ is not an object with "point"."""),
        ({"point": [1, 2]}, " has 2 coordinates, but point 1 has 3."),
        ({"point": [1]}, " is not a list of the numbers x, y and z."),
        ({"point": [1, 2, "3"]}, " is not a list of the numbers x, y and z."),
        ({"point": [1, 2, True]}, " is not a list of the numbers x, y and z."),
        ({"point": [1, 2, math.nan]}, " is not a list of the numbers x, y and z."),
        ({"point": [1, 2, 1e10]}, " has a coordinate beyond 1,000,000,000."),
        ({"point": [1, 2, 3], "probability": 1.5}, ": the probability 1.5 is not between 0 and 1."),
        ({"point": [1, 2, 3], "probability": "0.5"}, """: "probability" is not a number."""),
        ({"point": [1, 2, 3], "probability": math.nan}, """: "probability" is not a number."""),
        ({"point": [1, 2, 3], "name": 3}, """: "name" is not a string of at most 1,000 characters."""),
        ({"point": [1, 2, 3], "name": "x" * 1001}, """: "name" is not a string of at most 1,000 characters."""),
        ({"point": [1, 2, 3], "type": "Line"}, """ must have the "type" "Point", or none."""),
        ({"point": [1, 2, 3]}, " has no probability, but point 1 has one."),
    ],
)
def test_what_is_no_point(entry: Any, words: str) -> None:
    assert refusal(points, {"point": [0, 0, 0], "probability": 0.5}, entry) == f"'a.json', point 2{words}"


@pytest.mark.parametrize(
    ("corners", "words"),
    [
        ([[0, 0, 0]] * 3, """: "corners" is not a list of four points."""),
        ("four", """: "corners" is not a list of four points."""),
        ([[0, 0, 0]] * 3 + [[0, 0]], """: the "corners" have different numbers of coordinates."""),
        ([[1, 0, 0], [2, 1, 0], [1, 2, 0], [0, 1, 0]], " is not a box whose sides are parallel to the axes."),
        ([[0, 0, 0], [1, 0, 0], [1, 1, 1], [0, 1, 1]], " is not a box whose sides are parallel to the axes."),
        ([[0, 0, 0], [0, 0, 0], [1, 1, 0], [1, 1, 0]], " is not a box whose sides are parallel to the axes."),
    ],
)
def test_what_is_no_box(corners: Any, words: str) -> None:
    assert refusal(boxes, {"corners": corners}) == f"'a.json', box 1{words}"


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"x,z\n1,2\n", "'a.csv' has no column 'y'; it has 'x' and 'z'."),
        (b"x,y\n1,nan\n", "'a.csv', line 2: 'y' holds 'nan', which is not a finite number."),
        (b"x,y,z\n1,2,3\n1,2,\n", "'a.csv', line 3 has 2 coordinates, but line 2 has 3."),
        (b"x,y,probability\n1,2,\n1,2,0.5\n", "'a.csv', line 2 has no probability, but line 3 has one."),
        (b"x,y\n" + b"1,2\n" * 6, "'a.csv' has more than 5 lines."),
    ],
)
def test_what_is_no_table_of_points(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: bytes, words: str
) -> None:
    monkeypatch.setattr(annotations, "MAX_ANNOTATIONS", 5)
    assert refusal(POINTS.read, submitted(tmp_path, content, "a.csv")) == words


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"x_min,y_min,x_max,y_max\n0,3,1,2\n", "'a.csv', line 2: 'y_min' is larger than 'y_max'."),
        (b"x_min,y_min,x_max,y_max,z_min\n0,0,1,1,0\n", "'a.csv', line 2: 'z_max' is empty."),
    ],
)
def test_what_is_no_table_of_boxes(tmp_path: Path, content: bytes, words: str) -> None:
    assert refusal(BOXES.read, submitted(tmp_path, content, "a.csv")) == words


def test_the_number_of_points_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(annotations, "MAX_ANNOTATIONS", 2)
    with pytest.raises(Refused, match=r"^'a\.json' has more than 2 entries in \"points\"\.$"):
        points(*[{"point": [0, 0, 0]}] * 3)


NUMBERS = st.floats(-1e9, 1e9)


@given(st.lists(st.tuples(NUMBERS, NUMBERS, NUMBERS, st.floats(0, 1), st.none() | st.text(max_size=5)), max_size=5))
def test_points_come_as_they_are_written(entries: list[tuple[float, float, float, float, str | None]]) -> None:
    found = points(
        *(
            {"point": [x, y, z], "probability": p} | ({} if name is None else {"name": name})
            for x, y, z, p, name in entries
        )
    )
    assert found.coordinates.tolist() == [list(each[:3]) for each in entries]
    assert found.names == tuple(each[4] for each in entries)
    assert np.asarray([] if found.probabilities is None else found.probabilities).tolist() == [
        each[3] for each in entries
    ]


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(["point", "corners", "name", "probability", "type"]), inner)
    ),
    max_leaves=10,
)


@given(st.lists(VALUES, max_size=3))
def test_any_values_are_annotations_or_a_refusal(values: list[Any]) -> None:
    for read in (points, boxes):
        with suppress(Refused):
            assert np.isfinite(read(*values).coordinates).all()
