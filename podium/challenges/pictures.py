"""What a report draws of one case and of all: data only, so that a challenge knows nothing of pages.

Volumes are turned to LPS before a slice is taken: the patient's right is on the left, the front at the top.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from podium.metrics import Mask
from podium.metrics.declaration import Direction
from podium.metrics.overlap import bounding_box, voxel_ml
from podium.metrics.surfaces import boundary_voxels, nearest_distances
from podium.readers.geometry import Geometry, lps_turn, turned, turned_geometry

Points = Sequence[tuple[float, float]]

SURROUNDINGS_MM = 10.0
_MOST_SHOWN = 6  # structures of a slice; the legend has as many colours
_MOST_ERRORS = 3  # in a caption

# One case: an image, and the outlines of prediction and reference on it.


@dataclass(frozen=True, eq=False, kw_only=True)
class Outlined:
    """One structure in prediction and reference: masks of one shape."""

    prediction: Mask
    reference: Mask

    @property
    def wrong(self) -> Mask:
        return self.prediction ^ self.reference

    @property
    def drawn(self) -> Mask:
        return self.prediction | self.reference


@dataclass(frozen=True, eq=False, kw_only=True)
class LabelledVolume:
    """A whole case, usually 3-D: arrays of one shape (slices, rows, columns), `image` None where the organiser has
    none; `regions` are the label values of every structure."""

    title: str
    image: NDArray[Any] | None
    prediction: NDArray[Any]
    reference: NDArray[Any]
    regions: Mapping[str, Sequence[int]]
    geometry: Geometry | None

    @property
    def spacing(self) -> tuple[float, ...]:
        """In the axes' order; 1 where the format has no unit."""
        return self.geometry.spacing[::-1] if self.geometry else (1.0,) * self.reference.ndim

    @property
    def is_placed(self) -> bool:
        """Whether it is known how the axes lie in the patient."""
        return self.reference.ndim == 3 and bool(self.geometry and self.geometry.direction)

    def in_lps(self) -> "LabelledVolume":
        """Turned, without interpolation, so that columns run to the left, rows to the back and slices up."""
        if not self.is_placed or self.geometry is None or self.geometry.orientation == "LPS":
            return self
        turn = lps_turn(self.geometry)
        return replace(
            self,
            image=None if self.image is None else turned(self.image, turn),
            prediction=turned(self.prediction, turn),
            reference=(reference := turned(self.reference, turn)),
            geometry=turned_geometry(self.geometry, turn, reference.shape),
        )

    def masks(self, name: str) -> Outlined:
        numbers = self.regions[name]
        return Outlined(prediction=np.isin(self.prediction, numbers), reference=np.isin(self.reference, numbers))

    @cached_property
    def surroundings(self) -> NDArray[Any] | None:
        """The image's values in the labelled region and up to `SURROUNDINGS_MM` around it: in the reference, else in
        the prediction, else all."""
        if self.image is None:
            return None
        numbers = [number for each in self.regions.values() for number in each]
        for labels in (self.reference, self.prediction):
            if (mask := np.isin(labels, numbers)).any():
                return surroundings(self.image, mask, self.spacing)
        return self.image


@dataclass(frozen=True, eq=False, kw_only=True)
class Overlay:
    """One view of a case.

    title      what is shown
    caption    what the error is
    image      2-D of any numeric type, None where the organiser has none
    whole      the case that it is a view of, whose grey levels decide its window
    aspect     the height of a pixel over its width
    pixel_mm   the width of a pixel, None where the format has no unit
    letters    the patient's sides at the left, right, upper and lower edge, where they are known
    small      it is one of a row
    """

    title: str
    image: NDArray[Any] | None
    layers: Mapping[str, Outlined]
    whole: LabelledVolume | None = None
    caption: str = ""
    aspect: float = 1.0
    pixel_mm: float | None = None
    letters: str = ""
    small: bool = False


def surroundings(values: NDArray[Any], mask: Mask, spacing: Sequence[float]) -> NDArray[Any]:
    """The values in a mask that is not empty, and in a box of `SURROUNDINGS_MM` around each of its voxels."""
    from scipy.ndimage import maximum_filter  # half a second that other pages do not need

    reach = [max(1, round(SURROUNDINGS_MM / step)) for step in spacing]
    box = bounding_box(mask) or ()
    near = tuple(slice(max(0, side.start - far), side.stop + far) for side, far in zip(box, reach, strict=True))
    found: NDArray[Any] = values[near][maximum_filter(mask[near], size=[2 * far + 1 for far in reach])]
    return found


def slice_overlays(whole: LabelledVolume) -> list[Overlay]:
    """The axial slice with the most error (false positives and false negatives together), else with most reference; a
    2-D image as it is. Where structures overlap there, each has a panel of its own."""
    whole = whole.in_lps()
    masks = {name: whole.masks(name) for name in whole.regions}
    at = None if whole.reference.ndim == 2 else _shown_slice(list(masks.values()))
    place: Any = ... if at is None else at
    layers = {
        name: Outlined(prediction=each.prediction[place], reference=each.reference[place])
        for name, each in masks.items()
    }
    title, letters = whole.title, ""
    if at is not None:
        number, count = (len(whole.reference) - at if whole.is_placed else at + 1), len(whole.reference)
        title += (
            f", axial, slice {number} of {count}, superior to inferior"
            if whole.is_placed
            else (f", slice {number} of {count}")
        )
        letters = "RLAP" if whole.is_placed else ""
    rows, columns = whole.spacing[-2:]
    drawn = sorted((name for name in layers if layers[name].drawn.any()), key=lambda name: -layers[name].wrong.sum())
    overlap = any((layers[one].drawn & layers[other].drawn).any() for one, other in combinations(drawn, 2))
    shown = drawn[:_MOST_SHOWN] or list(layers)[:1]
    panels = [[name] for name in shown] if overlap else [shown]

    def panel(names: Sequence[str]) -> Overlay:
        errors = [largest_error(name, masks[name], at, whole) for name in names if layers[name].wrong.any()]
        words = "; ".join(errors[:_MOST_ERRORS]) or "no error in this picture"
        if len(drawn) > len(shown) and names is panels[-1]:
            words += f"; pictures show {len(shown)} of {len(drawn)} structures, those with the most error"
        return Overlay(
            title=f"{title}, {names[0].replace('_', ' ')}" if overlap else title,
            caption=words,
            image=None if whole.image is None else whole.image[place],
            layers={name: layers[name] for name in names},
            whole=whole,
            aspect=rows / columns,
            pixel_mm=None if whole.geometry is None else columns,
            letters=letters,
        )

    return [panel(names) for names in panels]


def _shown_slice(masks: Sequence[Outlined]) -> int:
    for areas in (
        sum(each.wrong.sum(axis=(1, 2)) for each in masks),
        sum(each.reference.sum(axis=(1, 2)) for each in masks),
    ):
        if np.any(areas):
            return int(np.argmax(areas))
    return len(masks[0].reference) // 2


def largest_error(name: str, masks: Outlined, at: int | None, whole: LabelledVolume) -> str:
    """The connected error that is largest in the slice `at`, in words, with its whole size:
    "false-positive tumour, 4.1 ml, 38 mm from the reference"."""
    from scipy.ndimage import label

    box = bounding_box(masks.drawn) or ()
    prediction, reference = masks.prediction[box], masks.reference[box]
    place: Any = ... if at is None else at - box[0].start
    found = []
    for kind, wrong, other, whose in (
        ("false-positive", prediction & ~reference, reference, "reference"),
        ("false-negative", reference & ~prediction, prediction, "prediction"),
    ):
        components, _ = label(wrong, np.ones((3,) * wrong.ndim))
        sizes = np.bincount(components[place].reshape(-1), minlength=2)[1:]
        largest = int(sizes.argmax()) + 1
        found.append((int(sizes[largest - 1]), kind, components == largest, other, whose))
    _, kind, error, other, whose = max(found, key=lambda each: each[0])
    spacing, count = np.asarray(whole.spacing), int(error.sum())
    has_unit = whole.geometry is not None
    size = f"{count * voxel_ml(whole.spacing):.2g} ml" if has_unit and error.ndim == 3 else f"{count} pixels"
    away = nearest_distances(boundary_voxels(error), boundary_voxels(other), spacing).min()
    where = f"{away:.0f} {'mm' if has_unit else 'pixels'} from the {whose}"
    if away <= np.linalg.norm(spacing):
        where = f"adjoining the {whose}"
    elif not np.isfinite(away):
        where = f"none in the {whose}"
    return f"{kind} {name.replace('_', ' ')}, {size}, {where}"


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
