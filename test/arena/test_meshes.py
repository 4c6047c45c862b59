"""Intra-oral scans: what is kept of a mesh file, and what is refused."""

import gzip
import struct
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from podium.errors import UsageError
from podium.tools.arena.images import VIEWS, find_cases, part_of, prepare

CORNERS = ((0, 0, 0), (4, 0, 0), (0, 4, 0), (0, 0, 4))
FACES = ((0, 2, 1), (0, 1, 3), (0, 3, 2), (1, 2, 3))


def obj(path: Path) -> Path:
    lines = [f"v {x} {y} {z}" for x, y, z in CORNERS] + [f"f {a + 1} {b + 1} {c + 1}" for a, b, c in FACES]
    path.write_text("# Patient Name\nmtllib ../../secret.mtl\no Mustermann\n" + "\n".join(lines) + "\n")
    return path


def ply(path: Path) -> Path:
    header = "ply\nformat ascii 1.0\ncomment Patient Name\nelement vertex 4\n" + "".join(
        f"property float {axis}\n" for axis in "xyz"
    )
    header += "property uchar red\nproperty uchar green\nproperty uchar blue\n"
    header += "element face 4\nproperty list uchar int vertex_indices\nend_header\n"
    rows = [f"{x} {y} {z} 200 100 50" for x, y, z in CORNERS] + [f"3 {a} {b} {c}" for a, b, c in FACES]
    path.write_text(header + "\n".join(rows) + "\n")
    return path


def stl(path: Path) -> Path:
    rows = b"".join(struct.pack("<12fH", 0, 0, 0, *CORNERS[a], *CORNERS[b], *CORNERS[c], 0) for a, b, c in FACES)
    path.write_bytes(b"Patient Name".ljust(80) + struct.pack("<I", 4) + rows)
    return path


@pytest.mark.parametrize(("write", "name"), [(obj, "x.obj"), (ply, "x.PLY"), (stl, "x.stl")])
def test_corners_and_triangles_and_nothing_else(write: object, name: str, tmp_path: Path) -> None:
    source = write(tmp_path / name)  # type: ignore[operator]
    prepared = prepare(source, tmp_path / "out")
    assert (prepared.slices, prepared.mesh_part) == (VIEWS, "scan")
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == sorted(prepared.files())
    content = gzip.decompress((tmp_path / "out/mesh.mz3.gz").read_bytes())
    magic, kind, faces, corners, skipped = struct.unpack_from("<HHIII", content)
    assert (magic, faces, skipped) == (23117, 4, 0)
    assert kind == (7 if write is ply else 3)
    triangles = np.frombuffer(content, "<i4", 3 * faces, 16).reshape(-1, 3)
    points = np.frombuffer(content, "<f4", 3 * corners, 16 + 12 * faces).reshape(-1, 3)
    found = {tuple(map(tuple, points[triangle].astype(int).tolist())) for triangle in triangles}
    wanted = {tuple(CORNERS[corner] for corner in face) for face in FACES}
    assert found == wanted
    if write is ply:
        assert tuple(content[-4:-1]) == (200, 100, 50)
    assert b"Patient" not in content


def test_the_views_turn_around_it(tmp_path: Path) -> None:
    prepare(stl(tmp_path / "lower.stl"), tmp_path / "out")
    views = [np.asarray(Image.open(tmp_path / f"out/{view}.png")) for view in (0, VIEWS // 4)]
    assert all((view > 0).mean() > 0.05 for view in views)
    assert (views[0] != views[1]).any()


@pytest.mark.parametrize(
    ("name", "part"),
    [
        ("Upper_01.stl", "upper"),
        ("case_maxillary.ply", "upper"),
        ("LOWERJAW.obj", "lower"),
        ("mandible.stl", "lower"),
        ("a.stl", "scan"),
    ],
)
def test_which_jaw_it_is(name: str, part: str) -> None:
    assert part_of(name) == part


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.stl", b""),
        ("a.stl", b"\0" * 80 + struct.pack("<I", 1_000_000)),
        ("a.obj", b"v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 9\n"),
        ("a.obj", b"v 0 0 0\nv 1 0 0\nv 0 nan 0\nf 1 2 3\n"),
        ("a.ply", b"ply\nformat ascii 1.0\nelement vertex 9\n"),
        ("a.obj", b"v 0 0 0\n"),
    ],
)
def test_what_is_no_mesh_is_refused(name: str, content: bytes, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(UsageError, match=f"'{name}' cannot be read as an STL, PLY or OBJ mesh"):
        prepare(tmp_path / name, tmp_path / "out")


def test_a_case_of_two_jaws(tmp_path: Path) -> None:
    (tmp_path / "F001").mkdir()
    stl(tmp_path / "F001" / "upper.stl")
    ply(tmp_path / "F001" / "lower.ply")
    assert [path.name for path in find_cases(tmp_path)["F001"]] == ["lower.ply", "upper.stl"]
