"""Label images: regions by name, whichever spelling of the label values a file uses, and objects by number."""
# ruff: noqa: ARG002  (not every kind needs all arguments of the interface)

import itertools
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from itertools import count
from typing import Annotated, Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, StrictInt, StringConstraints, model_validator

from podium.challenges.declared.files import ExpectedPrediction, Located
from podium.challenges.declared.values import RESERVED, Value, ValueSettings, categories_of
from podium.challenges.ground_truth import Description, doubts_about_geometry
from podium.challenges.samples import CaseImage
from podium.challenges.settings import FigureName, as_tuple
from podium.errors import Refused
from podium.metrics.overlap import damaged_labels, voxel_ml
from podium.readers.geometry import GeometryRule

BACKGROUND = "background"
MOST_INSTANCES = 65_535
_EMPTY = "empty"
_VALUES_COUNTED = 4  # one by one: more of them take longer than a table of all
_COUNTED_AT_ONCE = 1 << 18  # bincount turns labels into 64-bit integers first
_INVENTED = 64  # voxels of every label value in a copy with false positives

Label = Annotated[StrictInt, Field(ge=0)]
LabelTable = Mapping[FigureName, Label | Annotated[tuple[Label, ...], Field(min_length=1)]]
LabelRange = Annotated[str, StringConstraints(pattern=r"^[1-9][0-9]{0,4}(-[1-9][0-9]{0,4})?$")]


class LabelsSettings(ValueSettings):
    """A label image.

    labels        the value of every region, a list for a union; several spellings as a list of tables
    other_labels  what any other value means [an error]
    ignore        a value of the reference whose voxels are left out
    geometry      what a header that differs from the reference's means
    """

    sockets = ("Segmentation",)
    ending, is_image = ".mha", True
    to_fill_in = (
        "labels = { tumour = 1 }   # the name of every region and its value in the image; 0 is the background",
    )
    words = "a label image of the size of the image"

    kind: Literal["labels"]
    labels: LabelTable | Annotated[tuple[LabelTable, ...], Field(min_length=1)]
    other_labels: Literal["error", "background"] = "error"
    ignore: Label | None = None
    geometry: GeometryRule = "warn"

    @property
    def spellings(self) -> tuple[LabelTable, ...]:
        return self.labels if isinstance(self.labels, tuple) else (self.labels,)

    @property
    def regions(self) -> tuple[str, ...]:
        return tuple(name for name in self.spellings[0] if name != BACKGROUND)

    @model_validator(mode="after")
    def _labels_fit(self) -> Self:
        if not self.regions:
            raise ValueError("labels names no region")
        for name in RESERVED.intersection(self.regions):
            raise ValueError(f"a region cannot be called '{name}': the name is reserved for figures")
        for spelling in self.spellings:
            if {*spelling} - {BACKGROUND} != {*self.regions}:
                raise ValueError("every spelling of labels must name the same regions")
            background = set(as_tuple(spelling.get(BACKGROUND, 0)))
            single = [value for name in spelling for value in as_tuple(spelling[name]) if name != BACKGROUND]
            if background & set(single):
                raise ValueError("a region has the value of the background")
            plain = [value for value in spelling.values() if isinstance(value, int)]
            if len(set(plain)) != len(plain):
                raise ValueError("two regions have the same value")
        return self


class InstancesSettings(ValueSettings):
    """A label image in which every label but 0 is one object, touching others or not. `groups`: the labels of each kind
    of object, such as "1-10" [one kind, all]."""

    sockets = ("Segmentation",)
    ending, is_image = ".mha", True
    words = "a label image of the size of the image: every label but 0 is one object"
    other_labels: ClassVar = "error"
    ignore: ClassVar = None

    kind: Literal["instances"]
    groups: Annotated[Mapping[FigureName, LabelRange], Field(min_length=1)] = {"all": f"1-{MOST_INSTANCES}"}
    geometry: GeometryRule = "warn"

    @property
    def spellings(self) -> tuple[LabelTable, ...]:
        ends = {name: [int(end) for end in given.split("-")] for name, given in self.groups.items()}
        return ({name: tuple(range(each[0], each[-1] + 1)) for name, each in ends.items()},)

    @property
    def regions(self) -> tuple[str, ...]:
        return tuple(self.groups)

    @model_validator(mode="after")
    def _groups_differ(self) -> Self:
        labels = [label for group in self.spellings[0].values() for label in as_tuple(group)]
        if not all(self.spellings[0].values()) or max(labels) > MOST_INSTANCES:
            raise ValueError(f'a group is a range of labels up to {MOST_INSTANCES}, such as "1-10"')
        if len({*labels}) != len(labels):
            raise ValueError("two groups have the same label")
        for name in RESERVED.intersection(self.groups):
            raise ValueError(f"a group cannot be called '{name}': the name is reserved for figures")
        return self


class LabelsValue(Value[LabelsSettings, CaseImage, CaseImage]):
    """One label image per case, in the first spelling of the settings."""

    def __init__(self, name: str, settings: LabelsSettings) -> None:
        super().__init__(name, settings)
        self.regions: Mapping[str, tuple[int, ...]] = {
            region: as_tuple(settings.spellings[0][region]) for region in settings.regions
        }
        first = _by_value(settings.spellings[0])
        # Of every spelling the label values, each with that of the first spelling.
        self._spellings = [
            {
                value: next(other for other, theirs in first.items() if theirs == regions)
                for value, regions in _by_value(table).items()
            }
            for table in settings.spellings
        ]

    def read_reference(self, located: Located) -> CaseImage:
        labels, geometry = located.labels(ExpectedPrediction())
        if labels.ndim not in (2, 3):
            raise Refused(f"'{located.label}' must have 2 or 3 axes, it has {labels.ndim}.")
        return CaseImage(self._in_first_spelling(labels, located.label, is_reference=True), geometry)

    def read_prediction(self, located: Located, expected: ExpectedPrediction) -> CaseImage:
        labels, geometry = located.labels(expected)
        return CaseImage(self._in_first_spelling(labels, located.label, is_reference=False), geometry)

    def answers(self, reference: CaseImage) -> Sequence[CaseImage]:
        invented = reference.pixels.copy()
        values = sorted({value for region in self.regions.values() for value in region})
        for number, value in enumerate(values):
            size = min(_INVENTED, invented.size // len(values))
            part = invented.reshape(-1)[number * size : (number + 1) * size]
            part[part == 0] = value
        copies = [reference.pixels, *damaged_labels(reference.pixels), invented]
        return [replace(reference, pixels=each) for each in copies]

    def faults(self, written: CaseImage) -> Mapping[str, CaseImage]:
        unknown = next(value for value in count(1) if not any(value in spelling for spelling in self._spellings))
        wrong = np.where(
            written.pixels == written.pixels.max(), np.array(unknown, np.min_scalar_type(unknown)), written.pixels
        )
        is_error = self.settings.other_labels == "error"
        return {**super().faults(written), **({"wrong-label": replace(written, pixels=wrong)} if is_error else {})}

    def describe(self, reference: CaseImage) -> Description:
        counts = {self._mask(each): int(np.isin(reference.pixels, self.regions[each]).sum()) for each in self.regions}
        figures: dict[str, float] = {}
        if reference.geometry is not None and reference.pixels.ndim == 3:
            figures = {f"{name} (ml)": count * voxel_ml(reference.spacing) for name, count in counts.items()}
            figures[f"{self.name}: smallest spacing (mm)"] = min(reference.spacing)
            figures[f"{self.name}: largest spacing (mm)"] = max(reference.spacing)
        return Description(
            categories={name: "present" if count else _EMPTY for name, count in counts.items()},
            figures=figures,
            doubts=doubts_about_geometry(self.name, reference.geometry, self.settings),
        )

    def doubts_about_all(self, descriptions: Sequence[Description]) -> Sequence[str]:
        return [
            f"The mask '{name}' is empty in all references."
            for name in map(self._mask, self.regions)
            if all(each == _EMPTY for each in categories_of(descriptions, name))
        ]

    def _mask(self, region: str) -> str:
        """The name of a region in what is shown of the references."""
        return f"{self.name}_{region}" if len(self.regions) > 1 else self.name

    def _in_first_spelling(self, labels: NDArray[Any], name: str, *, is_reference: bool) -> NDArray[Any]:
        present = _present_labels(labels, self._spellings[0])
        allowed = {self.settings.ignore} if is_reference and self.settings.ignore is not None else set()
        spelling = min(self._spellings, key=lambda each: len(present - each.keys() - allowed))
        strays = sorted(present - spelling.keys() - allowed)
        if strays and self.settings.other_labels == "error":
            spellings = " or ".join("/".join(map(str, sorted(each))) for each in self._spellings)
            raise Refused(f"'{name}' holds the value {strays[0]}; a mask holds {spellings}.")
        changed = {value: to for value, to in spelling.items() if value in present and value != to}
        result = labels.copy() if changed else labels
        for value, to in changed.items():
            result[labels == value] = to
        return result


class InstancesValue(LabelsValue):
    """A label image in which every label is one object; its regions are the groups of labels."""

    settings: Any  # InstancesSettings, which have what LabelsValue needs of its own

    def answers(self, reference: CaseImage) -> Sequence[CaseImage]:
        copies = [reference.pixels, *damaged_labels(reference.pixels), np.zeros_like(reference.pixels)]
        return [replace(reference, pixels=each) for each in copies]

    def describe(self, reference: CaseImage) -> Description:
        present = np.unique(reference.pixels)
        counts = {name: int(np.isin(present, labels).sum()) for name, labels in self.regions.items()}
        return Description(
            figures={f"{self.name}: {name} (objects)": number for name, number in counts.items()},
            doubts=doubts_about_geometry(self.name, reference.geometry, self.settings),
        )

    def doubts_about_all(self, descriptions: Sequence[Description]) -> Sequence[str]:
        return ()

    def _in_first_spelling(self, labels: NDArray[Any], name: str, *, is_reference: bool) -> NDArray[Any]:
        allowed = {0, *itertools.chain.from_iterable(self.regions.values())}
        strays = sorted({*np.unique(labels).tolist()} - allowed)
        if strays:
            groups = " and ".join(f"{group} {labels}" for group, labels in self.settings.groups.items())
            raise Refused(f"'{name}' holds the value {strays[0]}, which is no object's; the groups are {groups}.")
        return labels.astype(np.uint16)


def _by_value(table: LabelTable) -> dict[int, frozenset[str]]:
    """The regions that each label value belongs to."""
    found: dict[int, set[str]] = {value: set() for value in as_tuple(table.get(BACKGROUND, 0))}
    for region, given in table.items():
        for value in as_tuple(given):
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


KINDS = {"labels": (LabelsSettings, LabelsValue), "instances": (InstancesSettings, InstancesValue)}
