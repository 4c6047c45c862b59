"""Random masks of the kinds that break surface metrics."""

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray

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
