"""The largest errors: those of a prediction that moves nothing, the same for every submission."""

from collections.abc import Mapping

import numpy as np

from podium.challenges.freehand.errors import Field, frame_errors
from podium.challenges.freehand.reference import ReferenceScan
from podium.metrics.aggregation import mean_of
from podium.metrics.displacement import PixelGrid, landmark_displacements, mean_distance


def identity_errors(scan: ReferenceScan, grid: PixelGrid, *, threads: int) -> Mapping[str, float]:
    """GPE, GLE, LPE and LLE in mm of an all-zero prediction."""
    fields = [Field(np.zeros_like(field), field) for field in (scan.global_field, scan.local_field)]
    gpe, lpe = (mean_of(means.tolist()) for means in frame_errors(fields, grid, threads=threads))
    gle, lle = (
        mean_distance(prediction=np.zeros((3, len(scan.landmarks))), reference=vectors)
        for vectors in (
            landmark_displacements(scan.global_field, scan.landmarks),
            landmark_displacements(scan.local_field, scan.landmarks),
        )
    )
    return {"gpe": gpe, "gle": gle, "lpe": lpe, "lle": lle}
