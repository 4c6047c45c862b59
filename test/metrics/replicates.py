"""Random bootstrap replicates, and the cases a replicate holds, written out as a plain sample."""

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from podium.metrics.resampling import Resamples


@st.composite
def resamples(draw: st.DrawFn, cases: int) -> Resamples:
    """The whole sample, then three replicates; some cases are drawn often, some never."""
    counts = draw(hnp.arrays(np.int32, (3, cases), elements=st.sampled_from([0, 0, 1, 1, 2, 4])))
    return Resamples(np.vstack([np.ones(cases, dtype=np.int32), counts]))


def samples(drawn: Resamples, *values: np.ndarray) -> list[tuple[np.ndarray, ...]]:
    """For every replicate the drawn entries of each array, repeated as often as they were drawn."""
    return [tuple(np.repeat(value, counts, axis=0) for value in values) for counts in drawn.counts]
