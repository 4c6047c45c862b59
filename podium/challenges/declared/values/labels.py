"""Label images: regions by name, whichever spelling of the label values a file uses."""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from podium.challenges.declared.located import Located
from podium.challenges.declared.value_settings import BACKGROUND, LabelsSettings, LabelTable, label_values
from podium.challenges.declared.values.base import BYTES_PER_FILE, ExpectedPrediction, Value, compare_geometry
from podium.challenges.format import Description
from podium.challenges.geometry import doubts_about_spacing
from podium.errors import Refused
from podium.readers.images import Geometry

_BYTES_PER_PIXEL = 8  # a mask saved as float64 or int64 is wasteful but honest
_PRESENT, _EMPTY = "present", "empty"
_VALUES_COUNTED = 4  # one by one: more of them take longer than a table of all
_COUNTED_AT_ONCE = 1 << 18  # bincount turns labels into 64-bit integers first


@dataclass(frozen=True, eq=False)
class LabelImage:
    """Labels in the first spelling of the settings; `spacing` in array order and mm, None where the format has none."""

    labels: NDArray[Any]
    geometry: Geometry | None

    @property
    def spacing(self) -> tuple[float, ...]:
        """In array order (z, y, x); 1 for every axis where the format has none."""
        if self.geometry is None:
            return (1.0,) * self.labels.ndim
        return tuple(reversed(self.geometry.spacing))[-self.labels.ndim :]

    @property
    def diagonal_mm(self) -> float:
        return math.hypot(*(size * step for size, step in zip(self.labels.shape, self.spacing, strict=True)))


class LabelsValue(Value[LabelsSettings, LabelImage, LabelImage]):
    """One label image per case."""

    def __init__(self, name: str, settings: LabelsSettings) -> None:
        super().__init__(name, settings)
        self.regions: Mapping[str, tuple[int, ...]] = {
            region: label_values(settings.spellings[0][region]) for region in settings.regions
        }
        self._spellings = [_Spelling(table, settings) for table in settings.spellings]

    def read_reference(self, located: Located) -> LabelImage:
        labels, geometry = located.labels(shape=None)
        if labels.ndim not in (2, 3):
            raise Refused(f"'{located.label}' must have 2 or 3 axes, it has {labels.ndim}.")
        return LabelImage(self._in_first_spelling(labels, located.label, is_reference=True), geometry)

    def read_prediction(self, located: Located, expected: ExpectedPrediction[LabelImage]) -> LabelImage:
        labels, geometry = located.labels(shape=expected.shape)
        if expected.reference is not None:
            compare_geometry(located.label, geometry, expected.reference.geometry, self.settings, expected.warnings)
        return LabelImage(self._in_first_spelling(labels, located.label, is_reference=False), geometry)

    def shape(self, reference: LabelImage) -> tuple[int, ...]:
        return reference.labels.shape

    def prediction_bytes(self, shape: tuple[int, ...] | None) -> int:
        return BYTES_PER_FILE + _BYTES_PER_PIXEL * math.prod(shape or ())

    def describe(self, reference: LabelImage) -> Description:
        counts = {region: int(np.isin(reference.labels, values).sum()) for region, values in self.regions.items()}
        named = {f"{self.name}_{region}" if len(self.regions) > 1 else self.name: counts[region] for region in counts}
        figures: dict[str, float] = {}
        doubts: Sequence[str] = ()
        if reference.geometry is not None and reference.labels.ndim == 3:
            voxel_ml = math.prod(reference.spacing) / 1000
            figures = {f"{name} (ml)": count * voxel_ml for name, count in named.items()}
            figures[f"{self.name}: smallest spacing (mm)"] = min(reference.spacing)
            figures[f"{self.name}: largest spacing (mm)"] = max(reference.spacing)
            doubts = doubts_about_spacing(reference.geometry.spacing)
        return Description(
            shapes={self.name: reference.labels.shape},
            categories={name: _PRESENT if count else _EMPTY for name, count in named.items()},
            figures=figures,
            doubts=doubts,
        )

    def doubts_about_all(self, descriptions: Sequence[Description]) -> Sequence[str]:
        names = dict.fromkeys(
            name for each in descriptions for name, state in each.categories.items() if state in (_PRESENT, _EMPTY)
        )
        own = [name for name in names if name == self.name or name.startswith(f"{self.name}_")]
        return [
            f"The mask '{name}' is empty in all references."
            for name in own
            if all(each.categories[name] == _EMPTY for each in descriptions)
        ]

    def _in_first_spelling(self, labels: NDArray[Any], name: str, *, is_reference: bool) -> NDArray[Any]:
        present = _present_labels(labels, self._spellings[0].known)
        allowed = {self.settings.ignore} if is_reference and self.settings.ignore is not None else set()
        spelling = min(self._spellings, key=lambda each: len(present - each.known - allowed))
        strays = sorted(present - spelling.known - allowed)
        if strays and self.settings.other_labels == "error":
            spellings = " or ".join("/".join(map(str, sorted(each.known))) for each in self._spellings)
            raise Refused(f"'{name}' holds the value {strays[0]}; a mask holds {spellings}.")
        return spelling.translated(labels, present)


class _Spelling:
    """One table of label values, and the first spelling's value for each of its own."""

    def __init__(self, table: LabelTable, settings: LabelsSettings) -> None:
        first = _by_value(settings.spellings[0])
        self._translation: dict[int, int] = {}
        for value, regions in _by_value(table).items():
            self._translation[value] = next(other for other, theirs in first.items() if theirs == regions)
        self.known = frozenset(self._translation)

    def translated(self, labels: NDArray[Any], present: set[int]) -> NDArray[Any]:
        changed = {value: to for value, to in self._translation.items() if value in present and value != to}
        if not changed:
            return labels
        result = labels.copy()
        for value, to in changed.items():
            result[labels == value] = to
        return result


def _by_value(table: LabelTable) -> dict[int, frozenset[str]]:
    """The regions that each label value belongs to."""
    found: dict[int, set[str]] = {value: set() for value in label_values(table.get(BACKGROUND, 0))}
    for region, given in table.items():
        for value in label_values(given):
            found.setdefault(value, set()).update({region} - {BACKGROUND})
    return {value: frozenset(regions) for value, regions in found.items()}


def _present_labels(labels: NDArray[Any], likely: Collection[int]) -> set[int]:
    """The values that occur. A few `likely` ones are counted by themselves: mostly that is all of them."""
    found: set[int] = set()
    left = labels.size
    for value in likely if len(likely) <= _VALUES_COUNTED else ():
        count = int(np.count_nonzero(labels == value))
        found |= {value} if count else set()
        left -= count
    if not left:
        return found
    if labels.dtype.itemsize > 2:
        return {int(value) for value in np.unique(labels)}
    flat, counts = labels.reshape(-1), np.zeros(int(np.iinfo(labels.dtype).max) + 1, np.int64)
    for start in range(0, flat.size, _COUNTED_AT_ONCE):
        counts += np.bincount(flat[start : start + _COUNTED_AT_ONCE], minlength=counts.size)
    return {int(value) for value in np.flatnonzero(counts)}
