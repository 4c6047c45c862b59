"""Intra-oral scans: STL, PLY and OBJ as one plain mesh, and as pictures from all around for browsers without WebGL2."""

import gzip
import math
import struct
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from podium.arena.images.prepared import MESH_FILE, MeshPart, PreparedImage, write_png
from podium.errors import UsageError, require
from podium.metrics import Floats

MESH_ENDINGS = (".stl", ".ply", ".obj")
VIEWS = 24
_SIZE = 400  # of a view, in pixels
_POINTS = 400_000  # drawn per view
_ELEVATION = math.radians(35)
_MOST_BYTES = 1 << 30
_MAGIC, _FACES, _VERTICES, _COLOURS = 23117, 1, 2, 4  # of the format mz3


def prepare_mesh(path: Path, target: Path) -> PreparedImage:
    """Write `mesh.mz3.gz` and the views into the folder `target`: corners, triangles and colours, and nothing else."""
    vertices, faces, colours = _read(path)
    (target / MESH_FILE).write_bytes(gzip.compress(_mz3(vertices, faces, colours), 6, mtime=0))
    points, shades = _surface(vertices, faces)
    for view in range(VIEWS):
        write_png(draw_view(points, shades, 2 * math.pi * view / VIEWS), target / f"{view}.png")
    return PreparedImage(is_volume=False, slices=VIEWS, width=_SIZE, height=_SIZE, mesh_part=part_of(path.name))


def part_of(name: str) -> MeshPart:
    """Which jaw, by the words of a file name."""
    lower = name.lower()
    if any(word in lower for word in ("upper", "maxill")):
        return "upper"
    return "lower" if any(word in lower for word in ("lower", "mandib")) else "scan"


def _read(path: Path) -> tuple[Floats, NDArray[np.int64], NDArray[np.uint8] | None]:
    """Read from memory, so that a file cannot name others; without materials for the same reason."""
    require("trimesh", extra="arena")
    import trimesh  # only `init` needs it

    problem = UsageError(f"'{path.name}' cannot be read as an STL, PLY or OBJ mesh.")
    try:
        if path.stat().st_size > _MOST_BYTES:
            raise UsageError(f"'{path.name}' is larger than {_MOST_BYTES:,} bytes.")
        with path.open("rb") as file, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            mesh: Any = trimesh.load(
                file, file_type=path.suffix[1:].lower(), force="mesh", process=False, skip_materials=True
            )
        vertices, faces = np.asarray(mesh.vertices, dtype=np.float64), np.asarray(mesh.faces, dtype=np.int64)
    except UsageError:
        raise
    except Exception:  # a parser of untrusted files fails in any way
        raise problem from None
    has_triangles = vertices.ndim == faces.ndim == 2 and len(vertices) > 2 and len(faces) > 0
    if not has_triangles or not np.isfinite(vertices).all() or faces.min() < 0 or faces.max() >= len(vertices):
        raise problem
    colours = mesh.visual.vertex_colors if getattr(mesh.visual, "kind", None) == "vertex" else None
    return vertices, faces, None if colours is None else np.asarray(colours, dtype=np.uint8)


def _mz3(vertices: Floats, faces: NDArray[np.int64], colours: NDArray[np.uint8] | None) -> bytes:
    """NiiVue's own format: a header of 16 bytes, triangles, corners and their colours."""
    kind = _FACES | _VERTICES | (0 if colours is None else _COLOURS)
    header = struct.pack("<HHIII", _MAGIC, kind, len(faces), len(vertices), 0)
    body = faces.astype("<i4").tobytes() + vertices.astype("<f4").tobytes()
    return header + body + (b"" if colours is None else colours.tobytes())


def _surface(vertices: Floats, faces: NDArray[np.int64]) -> tuple[Floats, Floats]:
    """Points spread evenly over the triangles, centred and scaled into a unit ball, and the normals there, as three
    rows: the product of a narrow matrix would wait for the threads of a library."""
    corners = vertices[faces]
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    areas = np.linalg.norm(normals, axis=1)
    if not areas.sum():
        raise UsageError("A mesh without any surface cannot be shown.")
    random = np.random.default_rng(0)
    drawn = random.choice(len(faces), size=_POINTS, p=areas / areas.sum())
    first, second = random.random((2, _POINTS, 1))
    outside = first + second > 1
    first, second = np.where(outside, 1 - first, first), np.where(outside, 1 - second, second)
    of_drawn = corners[drawn]
    points = of_drawn[:, 0] + first * (of_drawn[:, 1] - of_drawn[:, 0]) + second * (of_drawn[:, 2] - of_drawn[:, 0])
    middle = (vertices.min(axis=0) + vertices.max(axis=0)) / 2
    radius = np.linalg.norm(vertices - middle, axis=1).max()
    return np.ascontiguousarray(((points - middle) / radius).T), np.ascontiguousarray(
        (normals[drawn] / areas[drawn, None]).T
    )


def draw_view(points: Floats, normals: Floats, azimuth: float) -> NDArray[np.uint8]:
    """The surface as seen from `azimuth` (radians) around z and from a little above, lit from the viewer."""
    along = np.array([[math.cos(azimuth), math.sin(azimuth), 0], [-math.sin(azimuth), math.cos(azimuth), 0], [0, 0, 1]])
    tilt = np.array(
        [[1, 0, 0], [0, math.cos(_ELEVATION), math.sin(_ELEVATION)], [0, -math.sin(_ELEVATION), math.cos(_ELEVATION)]]
    )
    turn = tilt @ along
    seen, facing = np.einsum("ij,jn->in", turn, points), np.abs(np.einsum("j,jn->n", turn[1], normals))
    columns, rows = ((_SIZE - 1) * (0.5 + 0.48 * sign * seen[axis]) for sign, axis in ((1, 0), (-1, 2)))
    nearness = (0x7FFFFF * (1 - seen[1]) / 2).astype(np.uint32)  # all points lie in the unit ball
    shades = (40 + 215 * facing).astype(np.uint32)
    picture = np.zeros(_SIZE * _SIZE, dtype=np.uint32)
    place = rows.astype(np.intp) * _SIZE + columns.astype(np.intp)
    np.maximum.at(picture, place, nearness << 8 | shades)  # of all points on a pixel the nearest, without sorting
    return (picture & 0xFF).astype(np.uint8).reshape(_SIZE, _SIZE)
