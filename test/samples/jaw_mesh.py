"""One dental arch as an intra-oral scanner gives it: a strip of gum with teeth on it, as triangles, in mm."""

import struct
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

TEETH, ALONG, ACROSS = 14, 98, 15  # points along the arch, and around the section
GUM_MM, CROWN_MM = 5.0, 8.0


def draw_arch(
    rng: np.random.Generator, jaw: Literal["upper", "lower"]
) -> tuple[NDArray[np.float32], NDArray[np.int32]]:
    """Corners and triangles. x to the patient's left, y to the back, z up; the crowns of the upper jaw point down."""
    along = np.linspace(-1, 1, ALONG)
    width, length = rng.uniform(24, 27), rng.uniform(38, 42)
    middle = np.stack([width * np.sin(along * 1.35) / np.sin(1.35), length * along**2 * 0.9], axis=1)
    forward = np.gradient(middle, axis=0)
    beside = np.stack([-forward[:, 1], forward[:, 0]], axis=1) / np.linalg.norm(forward, axis=1)[:, None]
    place = (along + 1) / 2 * TEETH
    heights = rng.uniform(0.85, 1.1, TEETH)[np.minimum(place.astype(int), TEETH - 1)]
    tooth = np.abs(np.sin(np.pi * place)) ** 0.35 * heights
    section = np.linspace(-1, 1, ACROSS)
    thick = 3.2 + 2.2 * np.abs(along)  # molars are wider
    out = section[None, :] * (thick[:, None] + 1.5 * np.abs(section)[None, :] ** 3)
    crown = np.clip(1 - np.abs(section[None, :]) ** 4 * 1.4, 0, None)
    cusps = 1 - 0.12 * np.cos(3 * np.pi * section)[None, :] * np.abs(along)[:, None]
    up = crown * CROWN_MM * tooth[:, None] * cusps - GUM_MM * np.abs(section)[None, :] ** 6
    flat = middle[:, None, :] + beside[:, None, :] * out[..., None]
    z = up if jaw == "lower" else -up
    corners = np.concatenate([flat, (z + (-9 if jaw == "lower" else 9))[..., None]], axis=2).reshape(-1, 3)
    first = (np.arange(ALONG - 1)[:, None] * ACROSS + np.arange(ACROSS - 1)[None, :]).reshape(-1)
    quads = np.stack([first, first + 1, first + ACROSS + 1, first + ACROSS], axis=1)
    faces = np.concatenate([quads[:, [0, 1, 2]], quads[:, [0, 2, 3]]])
    return np.round(corners, 2).astype(np.float32), faces[:, ::-1].astype(np.int32)


def write_ply(path: Path, corners: NDArray[np.float32], faces: NDArray[np.int32]) -> None:
    header = (
        f"ply\nformat binary_little_endian 1.0\nelement vertex {len(corners)}\nproperty float x\nproperty float y\n"
        f"property float z\nelement face {len(faces)}\nproperty list uchar int vertex_indices\nend_header\n"
    )
    rows = np.empty(len(faces), dtype=[("count", "u1"), ("corners", "<i4", 3)])
    rows["count"], rows["corners"] = 3, faces
    path.write_bytes(header.encode("ascii") + corners.astype("<f4").tobytes() + rows.tobytes())


def write_stl(path: Path, corners: NDArray[np.float32], faces: NDArray[np.int32]) -> None:
    """Binary STL; normals are left to the reader."""
    rows = np.zeros(len(faces), dtype=[("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("spare", "<u2")])
    rows["corners"] = corners[faces]
    path.write_bytes(b"\0" * 80 + struct.pack("<I", len(faces)) + rows.tobytes())
