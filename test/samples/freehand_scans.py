"""Four small tracked scans: a line, a C, an S and a turn on the spot, as sonographers sweep a forearm."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np
from literal.freehand import Scan
from numpy.typing import NDArray

SEED = 20_260_419
HEIGHT, WIDTH = 48, 64

# Ten times the pixel size of the real images, which have ten times as many pixels each way.
PIXEL_TO_MM = np.diag([2.29389190673828, 2.20979690551758, 1.0, 1.0])


def rotation(*, about: NDArray[np.float64], degrees: float) -> NDArray[np.float64]:
    """Rodrigues' formula, as a 4x4 matrix."""
    x, y, z = about / np.linalg.norm(about)
    cross = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    angle = np.radians(degrees)
    matrix = np.eye(4)
    matrix[:3, :3] = np.eye(3) + np.sin(angle) * cross + (1 - np.cos(angle)) * cross @ cross
    return matrix


def translation(x: float, y: float, z: float) -> NDArray[np.float64]:
    matrix = np.eye(4)
    matrix[:3, 3] = x, y, z
    return matrix


IMAGE_TO_TOOL = translation(10.4, -71.2, 6.1) @ rotation(about=np.array([0.3, -1.0, 0.2]), degrees=93)
CAMERA = translation(120, -340, 1150) @ rotation(about=np.array([1.0, 2.0, -0.5]), degrees=57)


def line(t: float) -> NDArray[np.float64]:
    """Straight along the arm, out of the image plane."""
    return translation(0, 0, 95 * t)


def c_shape(t: float) -> NDArray[np.float64]:
    """An arc, the probe turning with it."""
    return translation(40 * (1 - np.cos(2.4 * t)), 0, 60 * np.sin(2.4 * t)) @ rotation(
        about=np.array([0.0, 1.0, 0.0]), degrees=35 * t
    )


def s_shape(t: float) -> NDArray[np.float64]:
    """To one side, then to the other."""
    return translation(22 * np.sin(2 * np.pi * t), 3 * t, 110 * t) @ rotation(
        about=np.array([0.1, 1.0, 0.0]), degrees=14 * np.sin(2 * np.pi * t)
    )


def turn(t: float) -> NDArray[np.float64]:
    """About the middle of the image's width, hardly moving on."""
    middle = WIDTH / 2 * PIXEL_TO_MM[0, 0]
    about = rotation(about=np.array([0.0, 1.0, 0.0]), degrees=80 * t)
    return translation(0, 0, 6 * t) @ translation(middle, 0, 0) @ about @ translation(-middle, 0, 0)


@dataclass(frozen=True)
class Plan:
    """How one scan is made; `name` is the case."""

    subject: str
    scan: str
    frames: int
    landmarks: int
    path: Callable[[float], NDArray[np.float64]]

    @property
    def name(self) -> str:
        return f"sub{self.subject}__{self.scan}"


PLANS = (
    Plan("050", "LH_Par_L_DtP", 24, 20, line),
    Plan("050", "RH_Per_C_PtD", 31, 25, c_shape),
    Plan("051", "LH_Par_S_DtP", 40, 30, s_shape),
    Plan("051", "RH_rotation", 20, 20, turn),
)


@cache
def scans() -> dict[str, Scan]:
    """Every scan by the name of its case."""
    return {plan.name: make_scan(plan, np.random.default_rng([SEED, number])) for number, plan in enumerate(PLANS)}


def make_scan(plan: Plan, rng: np.random.Generator) -> Scan:
    """The planned path with the tremor of a hand."""
    times = np.linspace(0, 1, plan.frames)
    tremor = np.cumsum(rng.normal(scale=0.15, size=(plan.frames, 3)), axis=0)
    poses = [
        CAMERA @ plan.path(t) @ translation(*shake) @ np.linalg.inv(IMAGE_TO_TOOL)
        for t, shake in zip(times, tremor, strict=True)
    ]
    landmarks = np.stack(
        [
            rng.integers(1, plan.frames, plan.landmarks),
            rng.integers(1, WIDTH + 1, plan.landmarks),
            rng.integers(1, HEIGHT + 1, plan.landmarks),
        ],
        axis=1,
    )
    landmarks[:4] = [[1, 1, 1], [plan.frames - 1, WIDTH, HEIGHT], [2, WIDTH, 1], [plan.frames - 1, 1, HEIGHT]]
    return Scan(
        tool_to_camera=np.stack(poses),
        landmarks=landmarks,
        pixel_to_mm=PIXEL_TO_MM,
        image_to_tool=IMAGE_TO_TOOL,
        height=HEIGHT,
        width=WIDTH,
    )
