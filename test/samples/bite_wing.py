"""A bite-wing radiograph: crowns of both jaws in the middle, roots running out of the picture, bone between them.

Brightness is what absorbs: metal, then enamel, dentine, bone, soft tissue. It is drawn, not simulated.
"""

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import gaussian_filter

from samples.speckle import Field, smooth_field

SHAPE = (320, 480)
CROWN_PX = 78.0
AIR, SOFT_TISSUE, BONE, DENTINE, ENAMEL, METAL = 18.0, 62.0, 104.0, 148.0, 196.0, 250.0
GREY_STEP = 2  # coarser greys than the noise needs: a quarter of the bytes


def draw_bite_wing(rng: np.random.Generator) -> NDArray[np.uint8]:
    rows, columns = np.mgrid[: SHAPE[0], : SHAPE[1]].astype(np.float64)
    tilt, bend = rng.uniform(-0.03, 0.03), rng.uniform(0, 18)
    across = (columns - SHAPE[1] / 2) / (SHAPE[1] / 2)
    bite = SHAPE[0] / 2 + rng.uniform(-12, 12) + tilt * (columns - SHAPE[1] / 2) + bend * across**2
    picture = np.full(SHAPE, AIR)
    for jaw in (-1, 1):
        depth = jaw * (rows - bite) - rng.uniform(2, 4)  # from the biting edge towards the roots
        draw_jaw(rng, picture, depth, columns)
    picture *= 1 - 0.12 * smooth_field(rng, SHAPE, (60.0, 60.0)).clip(-2, 2) / 2
    picture = gaussian_filter(picture, 1.3) + 1.3 * smooth_field(rng, SHAPE, (0.6, 0.6))
    return (np.round(picture.clip(0, 255) / GREY_STEP) * GREY_STEP).clip(0, 255).astype(np.uint8)


def draw_jaw(rng: np.random.Generator, picture: Field, depth: Field, columns: Field) -> None:
    gums = 0.72 * CROWN_PX + 5 * np.cos(columns / 17)
    picture[depth > gums] = SOFT_TISSUE
    crest = CROWN_PX + rng.uniform(6, 20) + 3 * smooth_field(rng, (SHAPE[1],), (30.0,))
    marrow = BONE + 13 * smooth_field(rng, SHAPE, (1.6, 1.6)) + 8 * smooth_field(rng, SHAPE, (6.0, 6.0))
    picture[:] = np.where(depth > crest, marrow, picture)
    picture[(depth > crest) & (depth < crest + 3)] += 26
    edge = rng.uniform(-70, -20)
    while edge < SHAPE[1]:
        width = rng.uniform(94, 122) if edge > 130 else rng.uniform(70, 84)
        if rng.random() > 0.05:
            draw_tooth(rng, picture, depth, columns - (edge + width / 2), half=width / 2, roots=2 if width > 90 else 1)
        edge += width + rng.uniform(0, 3)


def draw_tooth(
    rng: np.random.Generator, picture: Field, depth: Field, sideways: Field, *, half: float, roots: int
) -> None:
    """`sideways` and `depth` are measured from the middle of the biting edge."""
    u = sideways / half
    along = depth / CROWN_PX
    surface = 5 + 3.5 * np.cos((2 * roots) * np.pi * u / 1.6) + 12 * u**4
    profile = np.where(
        along < 1,
        0.86 + 0.14 * np.sin(np.pi * np.clip(along, 0, 1) ** 0.7) - 0.1 * np.clip(along, 0, 1) ** 3,
        0.76 - 0.16 * (along - 1).clip(0),
    )
    inside_px = np.minimum((profile - np.abs(u)) * half, depth - surface)
    if roots == 2:
        inside_px = np.minimum(inside_px, np.where(along > 1.35, np.abs(u) - 0.42 * (along - 1.35), 1) * half)
    inside = inside_px > 0
    # A thin dark gap and a bright line of denser bone follow every root.
    in_bone = along > 1.15
    picture[in_bone & ~inside & (inside_px > -6)] += 16
    picture[in_bone & ~inside & (inside_px > -3)] = SOFT_TISSUE + 10
    shading = 10 * np.sqrt((1 - (u / 1.05) ** 2).clip(0))
    picture[inside] = (DENTINE + shading)[inside]
    thickness = 11 * (1.02 - along).clip(0) ** 0.45
    enamel = inside & (along < 1) & (inside_px < thickness)
    picture[enamel] = (ENAMEL + shading)[enamel]
    draw_pulp(rng, picture, u, along, inside=inside, roots=roots)
    draw_work(rng, picture, u, depth, inside=inside)


def draw_pulp(
    rng: np.random.Generator, picture: Field, u: Field, along: Field, *, inside: NDArray[np.bool_], roots: int
) -> None:
    size = rng.uniform(0.2, 0.3)
    chamber = np.abs((along - 0.72) / 0.26) ** 3 + np.abs(u / (size + 0.12 * (roots - 1))) ** 3 < 1
    courses = (-0.36, 0.36) if roots == 2 else (0.0,)
    canals = [(np.abs(u - place * (0.7 + 0.3 * along)) < 0.055) & (along > 0.75) for place in courses]
    pulp = inside & np.logical_or.reduce([chamber, *canals])
    picture[pulp] -= 46


def draw_work(rng: np.random.Generator, picture: Field, u: Field, depth: Field, *, inside: NDArray[np.bool_]) -> None:
    """A filling, a crown, decay between two teeth, or nothing."""
    chance = rng.random()
    if chance < 0.3:
        place, width, deep = rng.uniform(-0.3, 0.3), rng.uniform(0.3, 0.5), rng.uniform(20, 32)
        picture[inside & (np.abs((u - place) / width) ** 4 + np.abs(depth / deep) ** 4 < 1)] = METAL
    elif chance < 0.38:
        picture[inside & (depth < 0.66 * CROWN_PX)] = METAL
    elif chance < 0.6:
        side = rng.choice((-1, 1))
        decay = np.exp(-(((u - side * 0.95) / 0.2) ** 2) - ((depth - 34) / 9) ** 2)
        picture[inside] -= (85 * decay)[inside]
