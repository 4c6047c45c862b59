"""What two teams answer, in memory: six masks per case, and what is wrong with which of them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache

import numpy as np
from scipy.ndimage import binary_dilation, binary_erosion, shift

from samples.lesions_cases import SEED, Case, Mask, cases, organs_of

STEPS = 6

MISSING = "missing"
TRUNCATED = "truncated file"
WRONG_SIZE = "wrong size"
PROBABILITIES = "probability map"
NOT_A_NUMBER = "NaN in a float mask"


@dataclass(frozen=True)
class Skill:
    """Shares of the lesions found before any scribble and gained with each, and what else is segmented."""

    found_first: float
    gained: float
    organs_until: int  # the step from which on no organ is taken for a lesion
    shift_until: int  # the step from which on lesions are no longer shifted by a voxel


@dataclass(frozen=True)
class Team:
    """`faults` names, by (case, step), what is wrong with its file; such a step scores nothing."""

    name: str
    answers: Mapping[str, tuple[Mask, ...]]
    faults: Mapping[tuple[str, int], str] = field(default_factory=dict)
    warned: tuple[tuple[str, int], ...] = ()  # steps whose header lies about the spacing
    unmatched_files: int = 0


SKILLS = {
    "ember": Skill(found_first=0.5, gained=0.12, organs_until=2, shift_until=3),
    "glow": Skill(found_first=0.35, gained=0.08, organs_until=4, shift_until=5),
}

GLOW_FAULTS = {
    ("fdg_ukt_001", 3): MISSING,
    ("fdg_ukt_017", 0): TRUNCATED,
    ("fdg_ukt_017", 5): WRONG_SIZE,
    ("psma_lmu_004", 2): PROBABILITIES,
    ("psma_lmu_004", 4): NOT_A_NUMBER,
    **{("psma_ukt_008", step): MISSING for step in range(STEPS)},
    **{("psma_ukt_011", step): TRUNCATED for step in range(STEPS)},
}
GLOW_WARNED = (("fdg_lmu_003", 1),)


@cache
def teams() -> dict[str, Team]:
    return {
        name: Team(
            name,
            {case.name: answers_of(case, name, number) for number, case in enumerate(cases())},
            faults=GLOW_FAULTS if name == "glow" else {},
            warned=GLOW_WARNED if name == "glow" else (),
            unmatched_files=2 if name == "glow" else 0,
        )
        for name in SKILLS
    }


def answers_of(case: Case, team: str, number: int) -> tuple[Mask, ...]:
    """Six masks, better from step to step: more lesions found, fewer organs taken for one."""
    skill = SKILLS[team]
    rng = np.random.default_rng([SEED, 100 + list(SKILLS).index(team), number])
    count = int(case.instances.max())
    order = rng.permutation(count) + 1
    roughly = rng.random(count + 1)
    masks = []
    for step in range(STEPS):
        found = order[: round(count * min(1.0, skill.found_first + skill.gained * step))]
        mask = np.zeros(case.instances.shape, bool)
        for lesion in found:
            how = roughly[lesion] if step < skill.shift_until or roughly[lesion] > 0.8 else 0.5
            mask |= imitation(case.instances == lesion, how)
        if step < skill.organs_until:
            mask |= organs_of(case.plan.shape)
        masks.append(mask.astype(np.uint8))
    return tuple(masks)


def imitation(lesion: np.ndarray, how: float) -> np.ndarray:
    """Shifted by a voxel, shrunk (to nothing, if it is small), grown, or as it is."""
    if how < 0.3:
        return np.asarray(shift(lesion, (0, 1, 1), order=0))
    if how < 0.45:
        return np.asarray(binary_erosion(lesion))
    if how > 0.8:
        return np.asarray(binary_dilation(lesion))
    return lesion
