"""What a report draws of one case and of all: data only, so that a challenge knows nothing of pages."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from podium.metrics.declaration import Direction
from podium.readers.geometry import Geometry

Points = Sequence[tuple[float, float]]

# One case: an image, and the outlines of prediction and reference on it.


@dataclass(frozen=True, eq=False, kw_only=True)
class Outlined:
    """One structure in prediction and reference: masks of one shape."""

    prediction: NDArray[np.bool_]
    reference: NDArray[np.bool_]


@dataclass(frozen=True, eq=False, kw_only=True)
class LabelledVolume:
    """All of a 3-D case: arrays of one shape (slices, rows, columns) in the patient's space, `image` None where the
    organiser has none; `regions` are the label values of every structure."""

    title: str
    image: NDArray[Any] | None
    prediction: NDArray[Any]
    reference: NDArray[Any]
    regions: Mapping[str, Sequence[int]]
    geometry: Geometry | None


@dataclass(frozen=True, eq=False, kw_only=True)
class Overlay:
    """One view of a case. `image` is 2-D of any numeric type, None where the organiser has none; `aspect` is the height
    of a pixel over its width, `pixel_mm` its width, None where the format has no unit. `small`: one of a row.
    `volume`: what it is a slice of."""

    title: str
    image: NDArray[Any] | None
    layers: Mapping[str, Outlined]
    aspect: float = 1.0
    pixel_mm: float | None = None
    small: bool = False
    volume: LabelledVolume | None = None


# All cases together.


@dataclass(frozen=True, kw_only=True)
class Diagram:
    """Lines and dots over two axes.

    caption    a sentence on what it shows
    share      both axes run from 0 to 1
    lines      by their names
    dots       one per case
    diagonal   the line on which x = y, for comparison
    levels     horizontal lines by their names
    """

    title: str
    x: str
    y: str
    caption: str
    share: bool = False
    lines: Mapping[str, Points] = field(default_factory=dict)
    dots: Points = ()
    diagonal: bool = False
    levels: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class FigureGrid:
    """Figures by row and column, None where there is none; directions by column."""

    title: str
    corner: str
    rows: Sequence[str]
    columns: Sequence[str]
    values: Sequence[Sequence[float | None]]
    directions: Sequence[Direction]


Picture = Diagram | FigureGrid
