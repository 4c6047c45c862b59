"""Eight PET/CT-like phantoms, in memory: a body, organs that take up tracer, and lesions that the reference knows.

Arrays are in numpy order (z, y, x); everything is drawn from one seed.
"""

from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import gaussian_filter
from scipy.ndimage import label as label_components

SEED = 20265

Mask = NDArray[np.uint8]


@dataclass(frozen=True)
class Plan:
    """What a case is to look like. `stored` is how its reference is written: binary, or an instance map."""

    name: str
    shape: tuple[int, int, int]
    spacing: tuple[float, float, float]  # x, y, z in mm; exact in single precision, which NIfTI stores
    lesions: int
    stored: str = "binary"
    ending: str = ".nii.gz"
    direction: tuple[float, ...] = (1, 0, 0, 0, 1, 0, 0, 0, 1)


LAS = (-1, 0, 0, 0, -1, 0, 0, 0, 1)
PLANS = (
    Plan("fdg_lmu_003", (30, 36, 40), (4.0, 4.0, 5.0), 2, ending=".mha"),
    Plan("fdg_ukt_001", (32, 40, 40), (4.0, 4.0, 5.0), 5),
    Plan("fdg_ukt_002", (32, 40, 40), (4.0, 4.0, 5.0), 0),
    Plan("fdg_ukt_017", (28, 38, 44), (4.0625, 4.0625, 3.0), 9, direction=LAS),
    Plan("psma_lmu_004", (34, 36, 36), (4.0, 4.0, 3.0), 6, stored="instances"),
    Plan("psma_lmu_021", (48, 56, 60), (4.0625, 4.0625, 3.0), 60),
    Plan("psma_ukt_008", (30, 36, 40), (2.6875, 2.6875, 3.3125), 1, direction=LAS),
    Plan("psma_ukt_011", (32, 36, 36), (4.0, 4.0, 5.0), 4, stored="instances", ending=".mha"),
)
GROUPS = {plan.name: "_".join(plan.name.split("_")[:2]) for plan in PLANS}


@dataclass(frozen=True)
class Case:
    """One phantom. `instances` numbers the lesions; `reference` is what the file holds."""

    plan: Plan
    ct: NDArray[np.int16]
    pet: NDArray[np.float32]
    instances: Mask

    @property
    def name(self) -> str:
        return self.plan.name

    @property
    def mask(self) -> Mask:
        return (self.instances > 0).astype(np.uint8)

    @property
    def reference(self) -> Mask:
        """Instance maps have gaps in their numbering, as those of real readers do."""
        return (self.instances * 3).astype(np.uint8) if self.plan.stored == "instances" else self.mask


@cache
def cases() -> tuple[Case, ...]:
    return tuple(draw_case(plan, np.random.default_rng([SEED, number])) for number, plan in enumerate(PLANS))


def draw_case(plan: Plan, rng: np.random.Generator) -> Case:
    body = body_of(plan.shape)
    organs = organs_of(plan.shape)
    instances = lesions_of(plan, rng, inside=body & ~organs)
    uptake = 0.8 * body + 7.0 * organs
    for number in range(1, int(instances.max()) + 1):
        uptake[instances == number] = rng.uniform(4.0, 9.0)
    pet = gaussian_filter(uptake, 0.6) * (1 + 0.05 * rng.standard_normal(plan.shape))
    ct = np.where(body, 40, -1000) + 20 * rng.integers(-1, 2, plan.shape)
    # Coarse steps: the files stay small.
    return Case(plan, ct.astype(np.int16), (np.round(pet * 8) / 8).clip(0).astype(np.float32), instances)


def ellipsoid(shape: tuple[int, ...], centre: tuple[float, ...], radii: tuple[float, ...]) -> NDArray[np.bool_]:
    axes = np.ogrid[tuple(slice(length) for length in shape)]
    total = sum(((axis - c) / r) ** 2 for axis, c, r in zip(axes, centre, radii, strict=True))
    return np.asarray(total <= 1)


def body_of(shape: tuple[int, int, int]) -> NDArray[np.bool_]:
    depth, height, width = shape
    slice_of_body = ellipsoid((height, width), (height / 2, width / 2), (height * 0.42, width * 0.46))
    return np.broadcast_to(slice_of_body, (depth, height, width)).copy()


def organs_of(shape: tuple[int, int, int]) -> NDArray[np.bool_]:
    """A bladder below and a brain above, both bright: what a threshold takes for lesions."""
    depth, height, width = shape
    bladder = ellipsoid(shape, (3, height * 0.55, width / 2), (3.2, 4.5, 5.0))
    brain = ellipsoid(shape, (depth - 3, height * 0.5, width / 2), (3.5, 6.0, 6.0))
    return bladder | brain


def lesions_of(plan: Plan, rng: np.random.Generator, *, inside: NDArray[np.bool_]) -> Mask:
    """Lesions of one to four voxels' radius that lie inside the body and keep a voxel's distance to each other."""
    instances = np.zeros(plan.shape, np.uint8)
    placed = 0
    while placed < plan.lesions:
        radius = rng.uniform(1.0, 2.0) if plan.lesions > 20 else rng.uniform(1.4, 4.0)
        centre = tuple(float(rng.uniform(2, length - 3)) for length in plan.shape)
        radii = tuple(radius * float(rng.uniform(0.8, 1.25)) for _ in range(3))
        lesion = ellipsoid(plan.shape, centre, radii)
        around = ellipsoid(plan.shape, centre, tuple(r + 2.3 for r in radii))
        if lesion.sum() < 4 or not inside[around].all() or instances[around].any() or pieces(lesion) != 1:
            continue
        placed += 1
        instances[lesion] = placed
    return instances


def pieces(mask: NDArray[np.bool_]) -> int:
    return int(label_components(mask)[1])
