"""Both jaws in a small cone-beam CT: two arches of teeth in bone, lips and tongue, a vertebra, in rough HU."""

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import gaussian_filter

from samples.speckle import Field, smooth_field

SHAPE = (48, 96, 96)  # slices from low to high, rows from front to back, columns from the patient's right to left
SPACING_MM = (0.9, 0.9, 1.2)
AIR, SOFT_TISSUE, MARROW, CORTEX, PULP, DENTINE, ENAMEL, METAL = -1000, 50, 420, 1300, 180, 1700, 2700, 3000
VALUE_STEP = 50  # coarser than a scanner's: the files stay small
BITE = 23.5  # the slice between the teeth
CROWN, ROOT = 6.5, 14.0  # slices
Arch = tuple[float, float, float]  # half its width, its length, the row of its front


def draw_jaws(rng: np.random.Generator) -> NDArray[np.int16]:
    slices, rows, columns = np.ogrid[: SHAPE[0], : SHAPE[1], : SHAPE[2]]
    x, y = columns - 47.5, rows - 47.5
    arch = rng.uniform(26, 29), rng.uniform(44, 50), rng.uniform(-32, -29)
    beside = distance_from(arch, x, y)
    from_bite = np.abs(slices - BITE)
    volume = np.full(SHAPE, float(AIR))
    paint(volume, (x / 44) ** 2 + ((y - 4) / 45) ** 2 < 1, SOFT_TISSUE)
    paint(volume, (beside < -5) & (from_bite < 4) & (y < 14), AIR)
    tongue = (x / 17) ** 2 + ((y + 2) / 22) ** 2 + ((slices - BITE + 4) / 7) ** 2 < 1
    paint(volume, tongue, SOFT_TISSUE)
    draw_bone(rng, volume, beside=beside, from_bite=from_bite, y=y)
    for jaw in (-1, 1):
        draw_teeth(rng, volume, arch, x, y, toward_root=jaw * (slices - BITE) - 0.6)
    vertebra = (x / 10) ** 2 + ((y - 33) / 7) ** 2
    paint(volume, vertebra < 1, CORTEX)
    paint(volume, vertebra < 0.72, MARROW)
    volume = gaussian_filter(volume, (0.4, 0.6, 0.6)) + 12 * rng.standard_normal(SHAPE)
    paint(volume, x**2 + y**2 > 47.5**2, AIR)  # what the scanner does not see
    return (np.round(volume.clip(AIR, METAL) / VALUE_STEP) * VALUE_STEP).astype(np.int16)


def paint(volume: Field, where: NDArray[np.bool_], value: float) -> None:
    volume[np.broadcast_to(where, SHAPE)] = value


def points_on(arch: Arch, count: int) -> tuple[Field, Field]:
    """Points on the parabola, equally far apart."""
    width, length, front = arch
    fine = np.linspace(-1, 1, 2001)
    x, y = width * fine, front + length * fine**2
    way = np.concatenate([[0], np.cumsum(np.hypot(np.diff(x), np.diff(y)))])
    places = np.linspace(0, way[-1], count)
    return np.interp(places, way, x), np.interp(places, way, y)


def distance_from(arch: Arch, x: Field, y: Field) -> Field:
    """In pixels, negative towards the tongue."""
    width, length, front = arch
    on_x, on_y = points_on(arch, 160)
    nearest: Field = np.hypot(x[..., None] - on_x, y[..., None] - on_y).min(axis=-1)
    return np.where(y > front + length * (x / width) ** 2, -nearest, nearest)


def draw_bone(rng: np.random.Generator, volume: Field, *, beside: Field, from_bite: Field, y: Field) -> None:
    """From the crowns' necks to the lower and the upper end, thicker towards them."""
    crest = CROWN + 1.5 + 0.6 * smooth_field(rng, SHAPE[1:], (9.0, 9.0))
    half = 5.2 + 0.1 * (from_bite - CROWN).clip(0)
    depth = np.minimum(half - np.abs(beside), from_bite - crest)
    bone = (depth > 0) & (y < 22)
    marrow = MARROW + 90 * smooth_field(rng, SHAPE, (1.2, 1.2, 1.2))
    volume[bone] = np.where(depth < 1.4, CORTEX, marrow)[bone]


def draw_teeth(rng: np.random.Generator, volume: Field, arch: Arch, x: Field, y: Field, *, toward_root: Field) -> None:
    """Fourteen a jaw, molars behind; a few are missing, filled, or implants."""
    places = list(zip(*points_on(arch, 16), strict=True))[1:-1]
    crown = (toward_root > 0) & (toward_root < CROWN)
    root = (toward_root >= CROWN) & (toward_root < CROWN + 0.85 * ROOT)
    size = np.where(
        crown, 1 - 0.15 * np.abs(toward_root / CROWN - 0.5), 0.86 - 0.75 * (toward_root - CROWN).clip(0) / ROOT
    )
    for number, (middle_x, middle_y) in enumerate(places):
        distance = np.hypot(x - middle_x, y - middle_y) / (2.1 + 0.24 * abs(number - 6.5))
        chance = rng.random()
        if chance < 0.07:
            continue
        if chance < 0.12:
            paint(volume, (distance < 0.5) & (toward_root > 3) & (toward_root < CROWN + 9), METAL)
            paint(volume, (distance < size) & crown, ENAMEL)
            continue
        paint(volume, (distance < size) & (crown | root), DENTINE)
        paint(volume, (distance < size) & crown & ((distance > size - 0.38) | (toward_root < 1.4)), ENAMEL)
        paint(volume, (distance < 0.24) & (toward_root > 3) & (toward_root < CROWN + 0.7 * ROOT), PULP)
        if chance < 0.24:
            paint(volume, (distance < 0.6) & crown & (toward_root < 2.6), METAL)
