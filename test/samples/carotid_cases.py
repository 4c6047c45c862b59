"""The twelve carotid cases: what each looks like, its class, and how its reference is stored."""

from dataclasses import dataclass
from functools import cache

import numpy as np
from literal.carotid import Answer
from numpy.typing import NDArray

from samples.carotid_phantom import Plaque, Shape, View, longitudinal_view, transverse_view

SEED = 20260410


@dataclass(frozen=True)
class Plan:
    """One line of the table below. Sizes differ from case to case, as they do in the clinic."""

    name: str
    long_shape: Shape
    trans_shape: Shape
    tilt: float
    plaque: Plaque | None
    cls: int
    grey: tuple[str, ...] = ()  # the views whose mask is stored as 0/128/255 instead of 0/1/2
    cls_shape: tuple[int, ...] = ()  # a scalar, or (1,)


BOTH = ("long", "trans")
PLANS = (
    Plan("csv_0007", (128, 176), (128, 128), 0.07, Plaque("protruding", "far", 0.85, 0.42, 0.18), 1),
    Plan("csv_0019", (112, 160), (120, 136), -0.05, Plaque("flat", "far", 0.42, 0.50, 0.27), 0, (), (1,)),
    Plan("csv_0023", (144, 192), (136, 144), 0.10, Plaque("calcified", "near", 0.66, 0.55, 0.19), 1),
    Plan("csv_0042", (96, 128), (112, 112), 0.03, None, 0),
    Plan("csv_0058", (120, 168), (144, 144), -0.09, Plaque("flat", "near", 0.48, 0.38, 0.24), 0, BOTH),
    Plan("csv_0071", (160, 184), (160, 160), 0.05, Plaque("calcified", "far", 0.62, 0.48, 0.20), 1),
    Plan("csv_0090", (104, 144), (104, 128), 0.08, Plaque("protruding", "near", 0.78, 0.62, 0.16), 1, ("long",), (1,)),
    Plan("csv_0113", (136, 160), (128, 160), -0.06, Plaque("flat", "far", 0.50, 0.60, 0.30), 0),
    Plan("csv_0128", (128, 192), (120, 120), 0.00, Plaque("protruding", "far", 0.62, 0.30, 0.14), 0, ("trans",)),
    Plan("csv_0144", (152, 176), (152, 136), 0.11, Plaque("calcified", "far", 0.55, 0.36, 0.22), 0, (), (1,)),
    Plan("csv_0201", (112, 112), (96, 112), -0.10, Plaque("protruding", "far", 0.90, 0.52, 0.22), 1),
    Plan("csv_0236", (144, 160), (136, 152), 0.04, Plaque("flat", "near", 0.40, 0.46, 0.26), 0, BOTH, (1,)),
)


@dataclass(frozen=True)
class Case:
    """A plan carried out: images and masks (0 background, 1 plaque, 2 vessel)."""

    plan: Plan
    views: dict[str, View]

    @property
    def name(self) -> str:
        return self.plan.name

    @property
    def reference(self) -> Answer:
        return Answer({name: view.mask for name, view in self.views.items()}, self.plan.cls)

    def stored_reference(self) -> dict[str, NDArray[np.generic]]:
        """The datasets of the reference file."""
        masks = {
            f"{name}_mask": in_grey(view.mask) if name in self.plan.grey else view.mask
            for name, view in self.views.items()
        }
        return {**masks, "cls": np.full(self.plan.cls_shape, self.plan.cls, dtype=np.int64)}


def in_grey(mask: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """The other spelling of a mask: 128 for plaque, 255 for vessel."""
    return np.array([0, 128, 255], dtype=np.uint8)[mask]


@cache
def cases() -> tuple[Case, ...]:
    """All cases, each from its own seed: changing one line of the table leaves the others' bytes alone."""
    drawn = []
    for plan in PLANS:
        rng = np.random.default_rng([SEED, int(plan.name.removeprefix("csv_"))])
        views = {
            "long": longitudinal_view(rng, plan.long_shape, tilt=plan.tilt, plaque=plan.plaque),
            "trans": transverse_view(rng, plan.trans_shape, flattening=rng.uniform(0.84, 0.97), plaque=plan.plaque),
        }
        drawn.append(Case(plan, views))
    return tuple(drawn)
