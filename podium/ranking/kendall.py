"""Kendall's tau-b between rankings, many at once."""

import numpy as np
from numpy.typing import NDArray

from podium.metrics import Floats


def tau_b(rankings: NDArray[np.int64], reference: NDArray[np.int64]) -> Floats:
    """(concordant - discordant) / sqrt(pairs untied in one * pairs untied in the other), one ranking per row.

    NaN where either ranking has all teams tied, a single team included: there is no order to agree with.
    """
    first, second = np.triu_indices(reference.shape[-1], k=1)
    ours = np.sign(rankings[..., first] - rankings[..., second]).astype(np.float64)
    theirs = np.sign(reference[..., first] - reference[..., second]).astype(np.float64)
    agreement = (ours * theirs).sum(axis=-1)
    untied = np.abs(ours).sum(axis=-1) * np.abs(theirs).sum(axis=-1)
    with np.errstate(invalid="ignore", divide="ignore"):
        taus: Floats = agreement / np.sqrt(untied)
    return taus
