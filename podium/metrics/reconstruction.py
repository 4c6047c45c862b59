"""Freehand reconstruction errors and scores: GPE, GLE, LPE, LLE, as TUS-REC defines them.

A displacement says, in mm, how far a pixel of frame i lies from where it would lie had the probe not moved since the
frame of comparison: the first frame ("global") or the one before ("local"). With S (pixel -> image mm), C (image mm ->
tool) and T_i (tool -> camera):

    G_i = C^-1 T_0^-1 T_i C        L_i = C^-1 T_{i-1}^-1 T_i C        i = 1 .. N-1
    d(x, y) = ((M - I) S (x, y, 0, 1))[:3]     x = 1 .. W, y = 1 .. H

so the field of a transform is affine in (x, y): nine numbers per frame, d = a + b x + c y, and never more than that is
kept of a reference.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

ERRORS = ("gpe", "gle", "lpe", "lle")
"""Global and local error over pixels and over landmarks, mm."""

CATEGORIES: Mapping[str, tuple[str, str]] = {
    "global_score": ("gpe", "gle"),
    "local_score": ("lpe", "lle"),
    "pixel_score": ("gpe", "lpe"),
    "landmark_score": ("gle", "lle"),
}
"""Each category is the mean of two normalised errors."""

STILL_MM = 1e-6
"""A nanometre: less is rounding, not motion. Only asked where the reference itself does not move."""

Matrices = NDArray[np.float64]  # (n, 4, 4)
Coefficients = NDArray[np.float64]  # (n, 3 components, 3): a, b, c of d = a + b x + c y, mm and mm per pixel


def global_transforms(tool_to_camera: Matrices, image_to_tool: NDArray[np.float64]) -> Matrices:
    """G_1 .. G_{N-1}: image mm of a frame -> image mm of the first frame."""
    first = np.broadcast_to(tool_to_camera[0], tool_to_camera[1:].shape)
    return _relative(first, tool_to_camera[1:], image_to_tool)


def local_transforms(tool_to_camera: Matrices, image_to_tool: NDArray[np.float64]) -> Matrices:
    """L_1 .. L_{N-1}: image mm of a frame -> image mm of the frame before it."""
    return _relative(tool_to_camera[:-1], tool_to_camera[1:], image_to_tool)


def _relative(base: Matrices, moved: Matrices, image_to_tool: NDArray[np.float64]) -> Matrices:
    transforms = np.linalg.inv(image_to_tool) @ np.linalg.inv(base) @ moved @ image_to_tool
    # Equal poses give exactly no motion; the product of a matrix and its computed inverse would leave some.
    transforms[(base == moved).all(axis=(1, 2))] = np.eye(4)
    return np.asarray(transforms)


def chained(local: Matrices) -> Matrices:
    """Global transforms from local ones: the running product L_1 L_2 ... L_i."""
    result = np.empty_like(local)
    total = np.eye(4)
    for number, step in enumerate(local):
        total = total @ step
        result[number] = total
    return result


def unchained(global_: Matrices) -> Matrices:
    """Local transforms from global ones, L_i = G_{i-1}^-1 G_i: what `chained` undoes."""
    before = np.concatenate([np.eye(4)[None], global_[:-1]])
    return np.asarray(np.linalg.inv(before) @ global_)


def field_coefficients(transforms: Matrices, pixel_to_mm: NDArray[np.float64]) -> Coefficients:
    """a, b, c of every transform's field: columns 3, 0 and 1 of (M - I) S; column 2 meets a zero."""
    return np.ascontiguousarray(((transforms - np.eye(4)) @ pixel_to_mm)[:, :3, [3, 0, 1]])


def landmark_displacements(coefficients: Coefficients, landmarks: NDArray[np.int64]) -> NDArray[np.float64]:
    """(3, n): the fields at the landmarks, rows (frame from 0, x from 1, y from 1); frame 0 has no field."""
    frames, x, y = landmarks.T
    places = np.stack([np.ones(len(landmarks)), x, y], axis=1)
    return np.asarray(np.einsum("ncj,nj->cn", coefficients[frames - 1], places))


def mean_distance(*, prediction: NDArray[Any], reference: NDArray[np.float64]) -> float:
    """The mean Euclidean distance of two (3, n) sets of vectors, in float64."""
    return float(np.linalg.norm(np.asarray(prediction, dtype=np.float64) - reference, axis=0).mean())


def normalised_error(error: float, *, largest: float) -> float:
    """E* = (E - largest) / (0 - largest) = 1 - E / largest: 1 is perfect, 0 no better than not moving at all.

    `largest` is the error of an all-zero prediction. Where the reference does not move it is 0: then E* is 1 for a
    prediction that does not move either, else 0. Worse than identity is negative here.
    """
    if largest > STILL_MM:
        return 1 - error / largest
    return 1.0 if error <= STILL_MM else 0.0


def clipped(value: float) -> float:
    """Into [0, 1], where the rules say that a normalised error lies."""
    return min(max(value, 0.0), 1.0)


def final_score(normalised: Mapping[str, float]) -> float:
    """0.25 GPE* + 0.25 GLE* + 0.25 LPE* + 0.25 LLE*."""
    return sum(0.25 * normalised[error] for error in ERRORS)


def category_scores(normalised: Mapping[str, float]) -> dict[str, float]:
    """Global, local, pixel and landmark score: the mean of the two E* each, higher is better."""
    return {name: (normalised[one] + normalised[other]) / 2 for name, (one, other) in CATEGORIES.items()}


def category_scores_as_written(normalised: Mapping[str, float]) -> dict[str, float]:
    """0.5 (1 - E*) + 0.5 (1 - E*), as the document has it: lower is better, and its own leaderboards do not use it."""
    return {name: 1 - score for name, score in category_scores(normalised).items()}
