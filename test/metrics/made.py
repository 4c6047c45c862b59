"""Random masks of the kinds that break surface metrics, worked examples, and how figures of replicates are compared."""

import math
import warnings
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray

from podium.metrics.resampling import Resamples

Mask = NDArray[np.bool_]


@st.composite
def mask_pairs(draw: st.DrawFn) -> tuple[Mask, Mask]:
    """Two masks of one small shape: empty, full, a point, a line, a block (maybe at the border), a ring or noise."""
    shape = draw(st.tuples(st.integers(1, 14), st.integers(1, 14)))
    return draw(masks(shape)), draw(masks(shape))


@st.composite
def masks(draw: st.DrawFn, shape: tuple[int, int]) -> Mask:
    kind = draw(st.sampled_from(["empty", "full", "point", "line", "block", "ring", "noise"]))
    mask = np.zeros(shape, dtype=bool)
    rows = sorted(draw(st.tuples(st.integers(0, shape[0] - 1), st.integers(0, shape[0] - 1))))
    columns = sorted(draw(st.tuples(st.integers(0, shape[1] - 1), st.integers(0, shape[1] - 1))))
    match kind:
        case "full":
            mask[:] = True
        case "point":
            mask[rows[0], columns[0]] = True
        case "line":
            mask[rows[0], columns[0] : columns[1] + 1] = True
        case "block":
            mask[rows[0] : rows[1] + 1, columns[0] : columns[1] + 1] = True
        case "ring":
            mask[rows[0] : rows[1] + 1, columns[0] : columns[1] + 1] = True
            mask[rows[0] + 1 : rows[1], columns[0] + 1 : columns[1]] = False
        case "noise":
            mask = draw(arrays(bool, shape))
    return mask


# Small random volumes with the shapes that break component metrics, and the discs of the published figures.

Volume = NDArray[np.uint8]


@st.composite
def volumes(draw: st.DrawFn, shape: tuple[int, int, int], *, instances: bool = False) -> Volume:
    """Empty, full, blocks (at the border too), or noise: noise touches at faces, edges and corners alike."""
    kind = draw(st.sampled_from(["empty", "full", "blocks", "noise", "noise"]))
    volume = np.zeros(shape, np.uint8)
    if kind == "full":
        volume[:] = 1
    if kind == "noise":
        density = draw(st.floats(0.05, 0.6))
        draws = draw(arrays(np.float32, shape, elements=st.floats(0, 1, width=32)))
        volume[:] = draws < density
    if kind == "blocks":
        for value in range(1, draw(st.integers(1, 4)) + 1):
            cut = []
            for length in shape:
                ends = sorted(draw(st.tuples(st.integers(0, length - 1), st.integers(0, length - 1))))
                cut.append(slice(ends[0], ends[1] + 1))
            volume[tuple(cut)] = 3 * value if instances else 1
    return volume


@st.composite
def volume_pairs(draw: st.DrawFn) -> tuple[Volume, Volume]:
    """(prediction, reference); the reference is sometimes an instance map with gaps in its numbering."""
    shape = draw(st.tuples(st.integers(1, 7), st.integers(1, 7), st.integers(1, 6)))
    return draw(volumes(shape)), draw(volumes(shape, instances=draw(st.booleans())))


def discs(*centres_and_radii: tuple[int, int, int], instances: bool) -> Volume:
    """(X-cx)² + (Y-cy)² <= r² on a 128 x 128 x 1 grid, X the second axis; numbered from 1 where `instances`."""
    rows, columns = np.ogrid[:128, :128]
    volume = np.zeros((128, 128, 1), np.uint8)
    for number, (cx, cy, radius) in enumerate(centres_and_radii, start=1):
        inside = (columns - cx) ** 2 + (rows - cy) ** 2 <= radius**2
        volume[inside, 0] = number if instances else 1
    return volume


# Random pairs of 2-D and 3-D masks and label images, with spacings.

Labels = NDArray[np.int64]
SIZES = st.sampled_from([0.5, 0.7, 1.0, 1.25, 3.0])


@st.composite
def spaced_pairs(draw: st.DrawFn, *, empty: bool = False) -> tuple[Mask, Mask, tuple[float, ...]]:
    """(prediction, reference, spacing in mm), 2-D or 3-D; both masks have voxels unless `empty`."""
    pairs = st.one_of(mask_pairs(), volume_pairs().map(lambda pair: (pair[0] > 0, pair[1] > 0)))
    if not empty:
        pairs = pairs.filter(lambda pair: bool(pair[0].any() and pair[1].any()))
    prediction, reference = draw(pairs)
    return prediction, reference, draw(st.tuples(*[SIZES] * reference.ndim))


def worked_example() -> tuple[Mask, Mask]:
    """(prediction, reference) of the golden figures, 6x8x8 voxels of (2, 1, 1) mm, z first."""
    reference, prediction = np.zeros((2, 6, 8, 8), np.bool_)
    reference[1:5, 2:6, 2:6] = True
    prediction[1:5, 3:7, 2:6] = True
    return prediction, reference


# Random bootstrap replicates, and the cases a replicate holds, written out as a plain sample.


@st.composite
def resamples(draw: st.DrawFn, cases: int) -> Resamples:
    """The whole sample, then three replicates; some cases are drawn often, some never."""
    counts = draw(hnp.arrays(np.int32, (3, cases), elements=st.sampled_from([0, 0, 1, 1, 2, 4])))
    return Resamples(np.vstack([np.ones(cases, dtype=np.int32), counts]))


def samples(drawn: Resamples, *values: np.ndarray) -> list[tuple[np.ndarray, ...]]:
    """For every replicate the drawn entries of each array, repeated as often as they were drawn."""
    return [tuple(np.repeat(value, counts, axis=0) for value in values) for counts in drawn.counts]


Cases = tuple[np.ndarray, np.ndarray, Resamples]  # reference, prediction and replicates


def assert_like(cases: Cases, ours: Callable[..., np.ndarray], theirs: Callable[..., float], *, within: float) -> None:
    """Every replicate has the figure of its cases written out, NaN without cases."""
    true, found, drawn = cases
    figures = ours(prediction=found, reference=true, resamples=drawn)
    for figure, sample in zip(figures, samples(drawn, true, found), strict=True):
        if sample[0].size == 0:
            assert math.isnan(figure)
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            expected = theirs(*sample)
        assert figure == pytest.approx(expected, rel=within, abs=within, nan_ok=True)


# The worked example of the freehand rules: H = 4, W = 5, three frames, four landmarks, all by hand.

HEIGHT, WIDTH = 4, 5
LAST_ROW = [0, 0, 0, 1]
PIXEL_TO_MM = np.diag([0.5, 0.25, 1, 1])
IMAGE_TO_TOOL = np.array([[0, -1, 0, 10], [1, 0, 0, -20], [0, 0, 1, 5], LAST_ROW], dtype=float)
TOOL_TO_CAMERA = np.array(
    [
        [[1, 0, 0, 100], [0, 0, -1, 50], [0, 1, 0, -30], LAST_ROW],
        [[0.6, -0.8, 0, 101], [0.8, 0.6, 0, 52], [0, 0, 1, -27], LAST_ROW],
        [[0.8, 0, 0.6, 98], [0, 1, 0, 55], [-0.6, 0, 0.8, -25], LAST_ROW],
    ]
)
LANDMARKS = np.array([[1, 2, 3], [2, 5, 1], [2, 1, 4], [1, 5, 4]])
GLOBAL = np.array(
    [
        [[0, 0, 1, 28], [0.8, 0.6, 0, -13], [-0.6, 0.8, 0, -3], LAST_ROW],
        [[0, 0.6, 0.8, 23], [0, 0.8, -0.6, 1], [-1, 0, 0, 10], LAST_ROW],
    ]
)
LOCAL = np.array([GLOBAL[0], [[0.6, 0.64, -0.48, 3.4], [-0.8, 0.48, -0.36, 18.8], [0, 0.6, 0.8, -5], LAST_ROW]])

X = np.tile(np.arange(1, WIDTH + 1), HEIGHT)
Y = np.repeat(np.arange(1, HEIGHT + 1), WIDTH)
FIRST = np.stack([28 - 0.5 * X, -13 + 0.4 * X - 0.1 * Y, -3 - 0.3 * X + 0.2 * Y])
GP = np.stack([FIRST, np.stack([23 - 0.5 * X + 0.15 * Y, 1 - 0.05 * Y, 10 - 0.5 * X])])
LP = np.stack([FIRST, np.stack([3.4 - 0.2 * X + 0.16 * Y, 18.8 - 0.4 * X - 0.13 * Y, -5 + 0.15 * Y])])
GL = np.array([[27, 20.65, 23.1, 25.5], [-12.5, 0.95, 0.8, -11.4], [-3, 7.5, 9.5, -3.7]])
LL = np.array([[27, 2.56, 3.84, 25.5], [-12.5, 16.67, 17.88, -11.4], [-3, -4.85, -4.4, -3.7]])

OFFSET = np.array([3.0, 4.0, 0.0])[:, None]  # a distance of 5 mm everywhere
LARGEST = {"gpe": 26.401923658, "gle": 26.265145253, "lpe": 23.743035742, "lle": 23.609686962}
NORMALISED_AT_5_MM = {"gpe": 0.810619860, "gle": 0.809633644, "lpe": 0.789411933, "lle": 0.788222520}
FINAL_AT_5_MM = 0.799471989
FINAL_WITH_ONLY_GP_OFF = 0.952654965
COLUMN_MAJOR = {"gpe": 1.109706503, "lpe": 0.912790431}


def column_major(fields: np.ndarray) -> np.ndarray:
    """The same vectors with y as the fastest index: the mistake of a reshape in the wrong order."""
    frames = fields.reshape(len(fields), 3, HEIGHT, WIDTH)
    return np.ascontiguousarray(frames.transpose(0, 1, 3, 2)).reshape(len(fields), 3, -1)
