"""Small random volumes with the shapes that break component metrics, and the discs of the published figures."""

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray

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
