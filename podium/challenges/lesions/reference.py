"""The reference of a lesions case, read and labelled once for all of its steps."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from podium.metrics.components import Lesions
from podium.readers.images import Geometry

MM3_IN_ML = 1000.0


@dataclass(frozen=True, eq=False)
class LesionReference:
    """A case's lesions and the geometry of its image."""

    lesions: Lesions
    geometry: Geometry

    @property
    def is_empty(self) -> bool:
        return self.lesions.count == 0

    def ml(self, voxels: int) -> float:
        """The volume of this many voxels, by the reference's own spacing."""
        return voxels * float(np.prod(self.geometry.spacing)) / MM3_IN_ML

    @property
    def total_ml(self) -> float | None:
        """Volume of all lesions, None where there are none: what was not there cannot be missed."""
        return None if self.is_empty else self.ml(self.lesions.total_voxels)

    def describe(self) -> list[dict[str, Any]]:
        """Every lesion's id, size and centroid (voxel index in the order x, y, z)."""
        return [
            {
                "id": int(name),
                "voxels": int(voxels),
                "volume_ml": self.ml(int(voxels)),
                "centroid": [float(place) for place in reversed(centroid)],
            }
            for name, voxels, centroid in zip(
                self.lesions.ids, self.lesions.voxels, self.lesions.centroids(), strict=True
            )
        ]

    def mask(self) -> NDArray[np.bool_]:
        """All lesions as one mask."""
        mask = np.zeros(self.lesions.shape, dtype=np.bool_)
        mask.reshape(-1)[self.lesions.places] = True
        return mask
