"""What four teams answer, in memory: the masks, the classes, the times, and what is wrong with which case.

The files are written from this and the expected figures are computed from this, by different modules.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache

import numpy as np
from literal.carotid import Answer
from numpy.typing import NDArray
from scipy.ndimage import binary_erosion, map_coordinates

from samples.carotid_cases import SEED, cases
from samples.speckle import smooth_field

Mask = NDArray[np.uint8]


@dataclass(frozen=True)
class Skill:
    """How a team's masks differ from the reference, and which classes it gets wrong."""

    wander_px: float
    shift_px: tuple[float, float] = (0.0, 0.0)
    eroded_by_px: int = 0
    wrong_class: frozenset[str] = frozenset()
    overlooks_plaque: frozenset[tuple[str, str]] = frozenset()  # (case, view)
    invents_plaque: frozenset[tuple[str, str]] = frozenset()


@dataclass(frozen=True)
class Team:
    """`faults` names, by case, what is wrong with its file. `total_seconds` is the time of the other cases."""

    name: str
    answers: Mapping[str, Answer]
    total_seconds: float | None
    faults: Mapping[str, str] = field(default_factory=dict)
    unmatched_files: int = 0


MISSING = "missing"
TRUNCATED = "truncated file"
WRONG_SHAPE = "wrong shape"
UNKNOWN_LABEL = "label 7"
NOT_A_NUMBER = "NaN in a float mask"
UNKNOWN_CLASS = "class 3"

SKILLS = {
    "aorta": Skill(wander_px=1.5, wrong_class=frozenset({"csv_0144"})),
    "bifurcation": Skill(
        wander_px=2.1,
        shift_px=(0.6, -0.8),
        wrong_class=frozenset({"csv_0128", "csv_0201"}),
        invents_plaque=frozenset({("csv_0042", "long")}),
    ),
    "carina": Skill(
        wander_px=2.6,
        shift_px=(2.3, -3.1),
        eroded_by_px=2,
        wrong_class=frozenset({"csv_0007", "csv_0019", "csv_0071", "csv_0113", "csv_0236"}),
        overlooks_plaque=frozenset({("csv_0113", "trans"), ("csv_0236", "long"), ("csv_0236", "trans")}),
    ),
    "dropout": Skill(wander_px=2.0, shift_px=(-0.7, 0.5), wrong_class=frozenset({"csv_0128"})),
}

# Seconds are quarters, so that their sums are exact: 75, 120 and, of all cases of dropout, 54; the baseline is 90.
AORTA_SECONDS = {
    "csv_0007": 6.5,
    "csv_0019": 5.75,
    "csv_0023": 6.25,
    "csv_0042": 5.25,
    "csv_0058": 6.0,
    "csv_0071": 7.5,
    "csv_0090": 5.5,
    "csv_0113": 6.75,
    "csv_0128": 6.0,
    "csv_0144": 7.0,
    "csv_0201": 5.0,
    "csv_0236": 7.5,
}
BIFURCATION_TOTAL_SECONDS = 120.0
DROPOUT_SECONDS = {case: seconds - 1.75 for case, seconds in AORTA_SECONDS.items()}

DROPOUT_FAULTS = {
    "csv_0019": MISSING,
    "csv_0058": TRUNCATED,
    "csv_0071": WRONG_SHAPE,
    "csv_0113": UNKNOWN_LABEL,
    "csv_0144": NOT_A_NUMBER,
    "csv_0201": UNKNOWN_CLASS,
}
DROPOUT_STRAY_CASE = "csv_0999"


@cache
def teams() -> dict[str, Team]:
    seconds = {
        "aorta": sum(AORTA_SECONDS.values()),
        "bifurcation": BIFURCATION_TOTAL_SECONDS,
        "carina": None,
        "dropout": sum(seconds for case, seconds in DROPOUT_SECONDS.items() if case not in DROPOUT_FAULTS),
    }
    return {
        name: Team(
            name,
            answers_of(name, skill),
            seconds[name],
            faults=DROPOUT_FAULTS if name == "dropout" else {},
            unmatched_files=1 if name == "dropout" else 0,
        )
        for name, skill in SKILLS.items()
    }


def answers_of(team: str, skill: Skill) -> dict[str, Answer]:
    """The answer to every case, before any file is broken on purpose."""
    answers = {}
    for number, case in enumerate(cases()):
        rng = np.random.default_rng([SEED, 1 + list(SKILLS).index(team), number])
        masks = {}
        for view, drawn in case.views.items():
            mask = imitation(rng, drawn.mask, skill)
            if (case.name, view) in skill.overlooks_plaque:
                mask[mask == 1] = 2
            if (case.name, view) in skill.invents_plaque:
                mask = with_invented_plaque(mask)
            masks[view] = mask
        right = case.plan.cls
        answers[case.name] = Answer(masks, 1 - right if case.name in skill.wrong_class else right)
    return answers


def imitation(rng: np.random.Generator, mask: Mask, skill: Skill) -> Mask:
    """The mask with contours that wander smoothly, shifted and eroded as the skill says."""
    rows, columns = np.mgrid[: mask.shape[0], : mask.shape[1]].astype(np.float64)
    rows += skill.wander_px * smooth_field(rng, mask.shape, (8.0, 8.0)) - skill.shift_px[0]
    columns += skill.wander_px * smooth_field(rng, mask.shape, (8.0, 8.0)) - skill.shift_px[1]
    moved: Mask = map_coordinates(mask, [rows, columns], order=0, mode="nearest")
    if skill.eroded_by_px:
        kept = np.zeros_like(moved)
        for value in (1, 2):
            kept[binary_erosion(moved == value, iterations=skill.eroded_by_px, border_value=1)] = value
        return kept
    return moved


def with_invented_plaque(mask: Mask) -> Mask:
    """A small plaque on the lower wall in the middle of the image, where there is none."""
    result = mask.copy()
    middle = mask.shape[1] // 2
    for column in range(middle - 9, middle + 10):
        lowest = np.flatnonzero(mask[:, column] == 2).max()
        height = 6 - abs(column - middle) // 2
        result[lowest - height + 1 : lowest + 1, column] = 1
    return result
