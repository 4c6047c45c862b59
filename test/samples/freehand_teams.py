"""Three teams: fathom sends fields, gyro transforms, wander drifts, fails and forgets."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache

import numpy as np
from literal.freehand import Displacements, Scan, at_landmarks, from_transforms, transform
from numpy.typing import NDArray

from samples.freehand_scans import PLANS, SEED, rotation, scans, translation

LINE, C_SHAPE, S_SHAPE, TURN = (plan.name for plan in PLANS)
MISSING, NOT_A_NUMBER = "missing", "not a number"
STRAY_SCAN = "sub099__LH_Par_L_DtP"


@dataclass(frozen=True)
class Team:
    """What a team answers, as its files hold it; `transforms` where it sends those."""

    name: str
    answers: Mapping[str, Displacements]
    transforms: Mapping[str, tuple[NDArray[np.float64], NDArray[np.float64]]] = field(default_factory=dict)
    faults: Mapping[str, str] = field(default_factory=dict)
    runtimes: Mapping[str, float] | None = None
    unmatched_files: int = 0


@cache
def teams() -> dict[str, Team]:
    return {team.name: team for team in (fathom(), gyro(), wander())}


def drifting(
    scan: Scan, *, rng: np.random.Generator, degrees: float, mm: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Local transforms with an error in every step, and the global ones that follow from them."""
    total, locals_, globals_ = np.eye(4), [], []
    for frame in range(1, len(scan.tool_to_camera)):
        error = translation(*rng.normal(scale=mm, size=3)) @ rotation(about=rng.normal(size=3), degrees=degrees)
        step = transform(scan, frame - 1, frame) @ error
        total = total @ step
        locals_.append(step)
        globals_.append(total)
    return np.stack(globals_), np.stack(locals_)


def rounded(moved: Displacements, precision: type, *, sign: int = 1) -> Displacements:
    """What a file of that precision keeps. Steps of 1/32 mm make small files, and are exact in float32."""
    sets = (moved.gp, moved.gl, moved.lp, moved.ll)
    return Displacements(*((sign * np.round(32 * v) / 32).astype(precision).astype(np.float64) for v in sets))


def fathom() -> Team:
    """Fields. On one scan they bend, as no transform can."""
    answers = {}
    for number, (case, scan) in enumerate(scans().items()):
        rng = np.random.default_rng([SEED, 100, number])
        moved = from_transforms(scan, *drifting(scan, rng=rng, degrees=0.08, mm=0.12))
        if case == TURN:
            moved = bent(scan, moved)
        answers[case] = rounded(moved, np.float16 if case in (LINE, TURN) else np.float32)
    return Team("fathom", answers, runtimes={LINE: 2.5, C_SHAPE: 3.25, S_SHAPE: 4.0, TURN: 2.25})


def bent(scan: Scan, moved: Displacements) -> Displacements:
    """A soft wave over the frame, growing from frame to frame."""
    x = np.tile(np.arange(scan.width), scan.height) / scan.width
    y = np.repeat(np.arange(scan.height), scan.width) / scan.height
    wave = np.stack([np.sin(np.pi * x) * np.sin(np.pi * y), np.sin(2 * np.pi * x), np.cos(np.pi * y) * x])
    growth = np.linspace(0.1, 1.5, len(moved.gp))[:, None, None]
    gp, lp = moved.gp + growth * wave, moved.lp + 0.2 * wave
    return replace(moved, gp=gp, lp=lp, gl=at_landmarks(scan, gp), ll=at_landmarks(scan, lp))


def gyro() -> Team:
    """Transforms; two scans have landmarks of their own beside them, which then count."""
    answers, transforms = {}, {}
    for number, (case, scan) in enumerate(scans().items()):
        rng = np.random.default_rng([SEED, 200, number])
        transforms[case] = drifting(scan, rng=rng, degrees=0.25, mm=0.3)
        answers[case] = from_transforms(scan, *transforms[case])
        if case in (S_SHAPE, TURN):
            shift = rng.normal(scale=0.5, size=(3, 1))
            answers[case] = replace(answers[case], ll=answers[case].ll + shift)
        if case == TURN:
            answers[case] = replace(answers[case], gl=answers[case].gl * 0.9)
    return Team(
        "gyro", answers, transforms=transforms, runtimes={LINE: 21.5, C_SHAPE: 33.0, S_SHAPE: 40.25, TURN: 19.25}
    )


def wander() -> Team:
    """Drifts far on one scan, goes backwards on another, sends NaN for the third and nothing for the fourth."""
    answers = {}
    for number, (case, scan) in enumerate(scans().items()):
        rng = np.random.default_rng([SEED, 300, number])
        moved = from_transforms(scan, *drifting(scan, rng=rng, degrees=1.5, mm=0.8))
        answers[case] = rounded(moved, np.float32, sign=-1 if case == C_SHAPE else 1)
    return Team("wander", answers, faults={S_SHAPE: NOT_A_NUMBER, TURN: MISSING}, unmatched_files=1)
