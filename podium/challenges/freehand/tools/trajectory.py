"""What a picture of a scan shows: where the corners of its frames lie, and how far off each frame is."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from podium.challenges.freehand.reading import (
    ComparedField,
    ExpectedSizes,
    FreehandPrediction,
    ReferenceScan,
    frame_errors,
    open_arrays,
    read_scan_prediction,
)
from podium.metrics.displacement import Coefficients, PixelGrid
from podium.readers.frames import FrameStream


@dataclass(frozen=True)
class Trajectory:
    """Corners (frames, 4, 3) in mm of the first frame's image system, the first frame among them."""

    reference: NDArray[np.float64]
    predicted: NDArray[np.float64] | None
    errors: Mapping[str, NDArray[np.float64]]  # level -> mean error of every frame but the first, mm
    identity: Mapping[str, NDArray[np.float64]]  # the same for a prediction that moves nothing


def scan_trajectory(
    scan: ReferenceScan, prediction: FreehandPrediction | None, *, grid: PixelGrid, threads: int
) -> Trajectory:
    """Read what a picture needs; without a prediction the reference alone."""
    references = {"global": scan.global_field, "local": scan.local_field}
    identity = _errors({level: np.zeros_like(field) for level, field in references.items()}, references, grid, threads)
    start = _corner_points(grid, scan.pixel_to_mm)
    moved = np.concatenate([np.zeros((1, 4, 3)), _affine_corners(scan.global_field, grid)])
    if prediction is None:
        return Trajectory(start + moved, None, {}, identity)
    expected = ExpectedSizes(scan.frames, grid.pixels, len(scan.landmarks))
    with open_arrays(prediction, expected) as source:
        found = read_scan_prediction(source, expected, name="the prediction")
        fields = {level: found.pixels(level, scan.pixel_to_mm) for level in references}
        errors = _errors(fields, references, grid, threads)
        guessed = np.concatenate([np.zeros((1, 4, 3)), _corners(fields["global"], grid)])
    return Trajectory(start + moved, start + guessed, errors, identity)


def _errors(
    fields: Mapping[str, FrameStream | Coefficients],
    references: Mapping[str, Coefficients],
    grid: PixelGrid,
    threads: int,
) -> dict[str, NDArray[np.float64]]:
    pairs = [ComparedField(fields[level], reference) for level, reference in references.items()]
    return dict(zip(references, frame_errors(pairs, grid, threads=threads), strict=True))


def _corner_pixels(grid: PixelGrid) -> NDArray[np.int64]:
    """(x, y) from 1, around the frame."""
    return np.array([[1, 1], [grid.width, 1], [grid.width, grid.height], [1, grid.height]])


def _corner_points(grid: PixelGrid, pixel_to_mm: NDArray[np.float64]) -> NDArray[np.float64]:
    pixels = _corner_pixels(grid)
    points = np.column_stack([pixels, np.zeros(4), np.ones(4)]) @ pixel_to_mm.T
    return np.asarray(points[:, :3])


def _affine_corners(coefficients: Coefficients, grid: PixelGrid) -> NDArray[np.float64]:
    places = np.column_stack([np.ones(4), _corner_pixels(grid)])
    return np.asarray(np.einsum("fcj,kj->fkc", coefficients, places))


def _corners(field: FrameStream | Coefficients, grid: PixelGrid) -> NDArray[np.float64]:
    """Displacements of the corners of every frame but the first."""
    if not isinstance(field, FrameStream):
        return _affine_corners(field, grid)
    found = np.zeros((field.shape[0], 4, 3))
    flat = [int((y - 1) * grid.width + x - 1) for x, y in _corner_pixels(grid)]
    for span in field.spans():
        for tile in field.tiles(span):
            for corner, pixel in enumerate(flat):
                if tile.start <= pixel < tile.start + tile.values.shape[1]:
                    found[tile.frame, corner] = tile.values[:, pixel - tile.start]
    return found
