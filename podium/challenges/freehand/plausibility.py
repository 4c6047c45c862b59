"""What is allowed in a scan's reference but implausible: lengths in another unit, swapped calibration matrices."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from podium.challenges.freehand.reference import CALIBRATION, ReferenceScan

_SHORTEST_MM, _LONGEST_MM = 1.0, 10_000.0
_TOLERANCE = 0.01  # of the entries of R^T R; measured calibrations are rounded


def path_length_mm(scan: ReferenceScan) -> float:
    """The way of the tracked tool from frame to frame."""
    places = scan.tool_to_camera[:, :3, 3]
    return float(np.linalg.norm(np.diff(places, axis=0), axis=1).sum())


def doubts_about_path(scan: ReferenceScan) -> Sequence[str]:
    """A scan is some centimetres long."""
    length = path_length_mm(scan)
    if length < _SHORTEST_MM:
        return [f"The path is shorter than {_SHORTEST_MM:g} mm: the transforms may be in metres."]
    if length > _LONGEST_MM:
        return [f"The path is longer than {_LONGEST_MM / 1000:g} m: the transforms may not be in mm."]
    return ()


def doubts_about_calibration(scan: ReferenceScan) -> Sequence[str]:
    """The first matrix scales pixels to mm, the second is a rigid transform."""
    first, second = scan.pixel_to_mm, scan.image_to_tool
    if _is_scale(first) and _is_rigid(second):
        return ()
    if _is_rigid(first) and _is_scale(second):
        return [f"The two matrices of {CALIBRATION} seem swapped: first pixel to mm, then image to tool."]
    doubts = []
    if not _is_scale(first):
        doubts.append(f"The first matrix of {CALIBRATION} is no scale from pixels to mm: diagonal and positive.")
    if not _is_rigid(second):
        doubts.append(f"The second matrix of {CALIBRATION} is no rigid transform: rotation and translation.")
    return doubts


def _is_scale(matrix: NDArray[np.float64]) -> bool:
    scale = matrix[:3, :3]
    return bool((np.diag(scale) > 0).all() and np.allclose(scale, np.diag(np.diag(scale)), atol=1e-9))


def _is_rigid(matrix: NDArray[np.float64]) -> bool:
    rotation = matrix[:3, :3]
    return bool(np.allclose(rotation.T @ rotation, np.eye(3), atol=_TOLERANCE) and np.linalg.det(rotation) > 0)
