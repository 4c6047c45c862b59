"""A carotid artery with its plaque, drawn twice: along the vessel and across it.

The mask and the image come from the same geometry. Masks are spelt 0 background, 1 plaque, 2 vessel.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from samples.speckle import Field, b_mode, smooth_field

Shape = tuple[int, int]


@dataclass(frozen=True)
class Plaque:
    """`height` is a share of the vessel's radius, `place` and `extent` are shares of the image's width."""

    form: Literal["flat", "protruding", "calcified"]
    wall: Literal["near", "far"]
    height: float
    place: float
    extent: float


@dataclass(frozen=True)
class View:
    image: NDArray[np.uint8]
    mask: NDArray[np.uint8]


ECHO_OF_PLAQUE = {"flat": 0.55, "protruding": 0.34, "calcified": 0.9}


def longitudinal_view(rng: np.random.Generator, shape: Shape, *, tilt: float, plaque: Plaque | None) -> View:
    """The vessel as a tilted band from edge to edge, wider towards the bulb."""
    rows, columns = pixel_grid(shape)
    across = columns / shape[1]
    bulb = 1 / (1 + np.exp(-(across - 0.75) * 12))
    radius = shape[0] * (0.155 + 0.035 * bulb)
    middle = (
        shape[0] * 0.53 + tilt * (columns - shape[1] / 2) + shape[0] * 0.02 * np.sin(across * 5 + rng.uniform(0, 6))
    )
    wobble = smooth_field(rng, (shape[1],), (9.0,)) * 0.5
    near, far = middle - radius + wobble, middle + radius - wobble[::-1]
    inside = (rows >= near) & (rows <= far)
    outside_px = np.maximum(near - rows, rows - far)
    in_plaque = np.zeros(shape, dtype=bool)
    if plaque is not None:
        thickness = radius * plaque_profile(rng, across[0], plaque)
        grown_from = rows - near if plaque.wall == "near" else far - rows
        in_plaque = inside & (grown_from < thickness) & (thickness > 1.5)
    return draw(rng, inside=inside, in_plaque=in_plaque, outside_px=outside_px, facing=np.ones(shape), plaque=plaque)


def transverse_view(rng: np.random.Generator, shape: Shape, *, flattening: float, plaque: Plaque | None) -> View:
    """The vessel as an ellipse, the plaque as a crescent on its near or far wall."""
    rows, columns = pixel_grid(shape)
    half_width = shape[0] * 0.235
    half_height = half_width * flattening
    middle_row = shape[0] * rng.uniform(0.48, 0.56)
    middle_column = shape[1] * rng.uniform(0.45, 0.58)
    down, right = (rows - middle_row) / half_height, (columns - middle_column) / half_width
    angle = np.arctan2(down, right)
    # The wall is no perfect ellipse: a few gentle lobes.
    lobes = 1 + 0.035 * np.cos(3 * angle + rng.uniform(0, 6)) + 0.025 * np.cos(2 * angle + rng.uniform(0, 6))
    distance = np.hypot(down, right) / lobes
    inside = distance <= 1
    outside_px = (distance - 1) * half_height
    in_plaque = np.zeros(shape, dtype=bool)
    if plaque is not None:
        # What is left open is a smaller ellipse, pushed away from the plaque and a little beyond the opposite wall.
        away = (1 if plaque.wall == "near" else -1) * plaque.height * 0.74
        sideways = rng.uniform(-0.2, 0.2) * plaque.height
        turn = np.arctan2(down - away, right - sideways)
        ripple = 1 + 0.04 * np.cos(4 * turn + rng.uniform(0, 6)) + 0.02 * np.cos(7 * turn + rng.uniform(0, 6))
        in_plaque = inside & (np.hypot(down - away, right - sideways) > (1 - 0.14 * plaque.height) * ripple)
    # A wall that stands along the beam sends nothing back: the sides of the ring fade.
    facing = 0.16 + 0.84 * np.abs(np.sin(angle)) ** 2
    return draw(rng, inside=inside, in_plaque=in_plaque, outside_px=outside_px, facing=facing, plaque=plaque)


def pixel_grid(shape: Shape) -> tuple[Field, Field]:
    rows, columns = np.mgrid[: shape[0], : shape[1]].astype(np.float64)
    return rows, columns


def plaque_profile(rng: np.random.Generator, across: Field, plaque: Plaque) -> Field:
    """Height over the wall along the vessel, in radii."""
    offset = (across - plaque.place) / plaque.extent
    steepness = {"flat": 6, "protruding": 2, "calcified": 3}[plaque.form]
    ripple = 1 + 0.12 * smooth_field(rng, across.shape, (7.0,))
    return plaque.height * np.exp(-(np.abs(offset) ** steepness)) * ripple


def draw(
    rng: np.random.Generator,
    *,
    inside: NDArray[np.bool_],
    in_plaque: NDArray[np.bool_],
    outside_px: Field,
    facing: Field,
    plaque: Plaque | None,
) -> View:
    """Image and mask from where the vessel and the plaque are.

    `outside_px` is the distance to the wall (negative inside), `facing` how squarely the wall meets the beam.
    """
    mask = np.where(in_plaque, 1, np.where(inside, 2, 0)).astype(np.uint8)
    scatter, reflection = neck_tissue(rng, inside.shape)
    gain_db = np.zeros(inside.shape)

    # Wall: a dark media between the bright intima and the brighter adventitia.
    brightness = np.exp(0.30 * smooth_field(rng, inside.shape, (3.0, 7.0)))
    media = np.exp(-(((outside_px - 1.4) / 1.1) ** 2))
    scatter *= 1 - 0.8 * media
    adventitia = np.exp(-(((outside_px - 4.2) / 1.6) ** 2)) * facing
    intima = np.exp(-(((outside_px + 0.2) / 0.8) ** 2)) * facing
    reflection += brightness * (0.62 * adventitia + 0.30 * intima * ~in_plaque)
    scatter += 1.6 * adventitia

    # Lumen: blood is nearly silent, with a haze of reverberation under the near wall.
    depth_in_lumen = np.cumsum(inside, axis=0) / max(1, int(inside.sum(axis=0).max()))
    lumen = inside & ~in_plaque
    scatter[lumen] = (0.05 + 0.11 * np.exp(-8 * depth_in_lumen))[lumen]
    reflection[lumen] *= np.where(outside_px[lumen] > -2, 1, 0)
    # What passed through blood was weakened less: a brighter strip behind the vessel.
    gain_db += 3.0 * (np.cumsum(inside, axis=0) > 0) * ~inside

    if plaque is not None and in_plaque.any():
        texture = np.exp(0.45 * smooth_field(rng, inside.shape, (2.0, 3.0)))
        scatter[in_plaque] = (ECHO_OF_PLAQUE[plaque.form] * texture)[in_plaque]
        reflection += 0.16 * cap(in_plaque)
        if plaque.form == "calcified":
            calcified = core(in_plaque)
            scatter[calcified] = 3.2
            gain_db -= acoustic_shadow_db(rng, calcified)
    return View(b_mode(rng, scatter=scatter, reflection=reflection, gain_db=gain_db), mask)


def neck_tissue(rng: np.random.Generator, shape: Shape) -> tuple[Field, Field]:
    """Scatter and reflection of what surrounds the vessel: skin, muscle in layers, fat, thin bright fasciae."""
    rows, columns = pixel_grid(shape)
    layers = smooth_field(rng, shape, (2.2, 26.0))
    patches = smooth_field(rng, shape, (9.0, 14.0))
    scatter = 0.62 * np.exp(0.38 * layers + 0.32 * patches)
    scatter *= np.where(rows < shape[0] * 0.06, 1.8, 1.0)
    reflection = np.zeros(shape)
    slope = rng.uniform(-0.06, 0.06)
    for depth in (0.07, rng.uniform(0.15, 0.2), rng.uniform(0.8, 0.9)):
        line = shape[0] * depth + slope * (columns - shape[1] / 2) + 1.2 * smooth_field(rng, (shape[1],), (16.0,))
        broken = np.clip(0.7 + 0.5 * smooth_field(rng, (shape[1],), (10.0,)), 0, 1.4)
        reflection += 0.32 * broken * np.exp(-(((rows - line) / 0.9) ** 2))
    return scatter, reflection


def cap(in_plaque: NDArray[np.bool_]) -> Field:
    """The upper edge of the plaque, where the beam meets it: its fibrous cap."""
    above = np.vstack([np.zeros((1, in_plaque.shape[1]), dtype=bool), in_plaque[:-1]])
    return (in_plaque & ~above).astype(np.float64)


def core(in_plaque: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """The calcified part: the upper third of the plaque's middle columns."""
    filled_columns = np.flatnonzero(in_plaque.any(axis=0))
    left, right = np.quantile(filled_columns, [0.28, 0.72])
    columns = np.arange(in_plaque.shape[1])[None, :]
    depth = np.cumsum(in_plaque, axis=0)
    return in_plaque & (columns >= left) & (columns <= right) & (depth <= 0.35 * depth.max())


def acoustic_shadow_db(rng: np.random.Generator, calcified: NDArray[np.bool_]) -> Field:
    """Calcium lets little through: below it the image is dark, with soft and uneven sides that drift with depth."""
    rows, columns = pixel_grid(calcified.shape)
    hit = np.flatnonzero(calcified.any(axis=0))
    top = np.where(calcified.any(axis=0), calcified.argmax(axis=0) + calcified.sum(axis=0), np.inf)
    top = np.minimum(top, np.interp(columns[0], hit, top[hit]))
    depth = np.maximum(rows - top, 0)
    drift = 0.03 * depth + 1.4 * smooth_field(rng, (calcified.shape[0], 1), (8.0, 0.0))
    to_edge = np.minimum(columns - hit.min() + drift, hit.max() - columns + drift)
    soft = 1 / (1 + np.exp(-to_edge / (1.6 + 0.04 * depth)))
    uneven = 1 + 0.25 * smooth_field(rng, calcified.shape, (12.0, 3.0))
    return 15.0 * soft * uneven * (1 - np.exp(-depth / 2.5)) * np.exp(-depth / (2.5 * calcified.shape[0]))
