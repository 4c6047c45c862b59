"""The kinds of values: each reads both sides of a case and says what a row keeps of them.

`Value` is what every kind does; one class per kind follows, and `VALUE_KINDS` lists them.
"""
# ruff: noqa: ARG002  (not every kind needs all arguments of the interface)

import itertools
import math
from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from podium.challenges.declared.files import ExpectedPrediction, Located, annotation_kind, checked_number
from podium.challenges.declared.value_settings import (
    BACKGROUND,
    ClassSettings,
    DetectionMapSettings,
    FindingsSettings,
    ImageSettings,
    LabelsSettings,
    LabelTable,
    LandmarksSettings,
    NumberSettings,
    PointsSettings,
    ProbabilitySettings,
    SurvivalSettings,
    TextSettings,
    ValueSettings,
    as_tuple,
)
from podium.challenges.ground_truth import Description, doubts_about_geometry
from podium.challenges.samples import SampleImage
from podium.errors import Refused
from podium.figures import Figures
from podium.metrics.overlap import damaged_labels, voxel_ml
from podium.metrics.surfaces import diagonal_mm
from podium.own_metrics import KINDS_WITH_FACTS
from podium.readers.files import escape_for_display
from podium.readers.geometry import Geometry

if TYPE_CHECKING:
    from podium.readers.annotations import AnnotationKind, Annotations

SettingsT = TypeVar("SettingsT", bound=ValueSettings)
ClassesT = TypeVar("ClassesT", ClassSettings, ProbabilitySettings)
PredictionT = TypeVar("PredictionT")
ReferenceT = TypeVar("ReferenceT")

LARGEST_VALUE = 1e24  # of a number or a pixel: the square of a difference is then below LARGEST_FIGURE
_EMPTY = "empty"
_VALUES_COUNTED = 4  # one by one: more of them take longer than a table of all
_COUNTED_AT_ONCE = 1 << 18  # bincount turns labels into 64-bit integers first
_SUM_TOLERANCE = 0.01  # of probabilities
_INVENTED = 64  # voxels of every label value in a copy with false positives


@dataclass(kw_only=True)
class Compared(Generic[PredictionT, ReferenceT]):
    """Both sides of one value of one case; without a usable prediction there is none.

    `cache` keeps what several metrics share, such as the distances between two surfaces.
    """

    prediction: PredictionT | None
    reference: ReferenceT
    cache: dict[Any, Any] = field(default_factory=dict)

    @property
    def is_missing(self) -> bool:
        return self.prediction is None

    @property
    def found(self) -> PredictionT:
        """The prediction of a case that has one."""
        assert self.prediction is not None
        return self.prediction


class Value(ABC, Generic[SettingsT, PredictionT, ReferenceT]):
    """One value of a challenge, under its settings."""

    needs_probability = False  # of points and boxes

    def __init__(self, name: str, settings: SettingsT) -> None:
        self.name, self.settings = name, settings

    @property
    def title(self) -> str:
        return self.settings.title or self.name.replace("_", " ")

    def read_reference(self, located: Located) -> ReferenceT:
        """The reference, checked; Refused where it is wrong. By default it is read as a prediction is."""
        return cast(ReferenceT, self.read_prediction(located, ExpectedPrediction()))

    @abstractmethod
    def read_prediction(self, located: Located, expected: ExpectedPrediction) -> PredictionT:
        """The prediction, checked against what it must agree with; Refused where it is wrong."""

    def shape(self, reference: ReferenceT) -> tuple[int, ...] | None:
        """The shape that a prediction must have, if it is an array."""
        return None

    @property
    def fact_paths(self) -> Sequence[str]:
        """Where a row keeps what figures of all cases are computed from."""
        return (self.name,) if self.settings.kind in KINDS_WITH_FACTS else ()

    def singles(self) -> Mapping[str, "AnyValueKind"]:
        """What metrics of classes and probabilities compare: the value itself, or each of its findings by its name."""
        return {"": self}

    def facts(self, compared: Compared[PredictionT, ReferenceT]) -> Figures | None:
        """What a row keeps of the value, so that figures of all cases can be recomputed."""
        return None

    def expanded(self, fact: Any) -> Any:
        """What a row keeps, as metrics take it."""
        return fact

    def answers(self, reference: ReferenceT) -> Sequence[Any]:
        """Predictions that a check compares with the reference: the right one, then wrong ones."""
        return [reference]

    def describe(self, reference: ReferenceT) -> Description:
        """What `podium check` shows of a reference; names begin with the value's."""
        return Description()

    # Samples: predictions as files and sockets have them.

    @property
    def socket_kind(self) -> str:
        """The kind of socket to create for it."""
        return self.settings.sockets[0]

    def written(self, answer: Any) -> Any:
        """A prediction as a `SampleImage` or JSON."""
        return answer

    def rows(self, answer: Any) -> Sequence[Mapping[str, Any]]:
        """The rows of a prediction in a table, without the column of the case."""
        content = self.written(answer)
        cells = content if isinstance(content, list) else [content]
        return [dict(zip(as_tuple(self.settings.column), cells, strict=False))]

    def faults(self, written: Any) -> Mapping[str, Any]:
        """Predictions to be refused, by what is wrong with them."""
        if isinstance(written, SampleImage):
            return {"wrong-size": replace(written, pixels=written.pixels[..., :-1])}
        return {"wrong-type": "not a value"}

    def doubts_about_all(self, descriptions: Sequence[Description]) -> Sequence[str]:
        """What is implausible about the references together."""
        return ()


def _categories(descriptions: Sequence[Description], name: str) -> Sequence[str]:
    """Of the cases that have a reference of the value."""
    return [each.categories[name] for each in descriptions if name in each.categories]


def array_spacing(geometry: Geometry | None, axes: int) -> tuple[float, ...]:
    """In array order (z, y, x) and mm; 1 for every axis where the format has none."""
    return (1.0,) * axes if geometry is None else tuple(reversed(geometry.spacing))[-axes:]


AnyValueKind = Value[Any, Any, Any]


# Label images: regions by name, whichever spelling of the label values a file uses.


@dataclass(frozen=True, eq=False)
class LabelImage:
    """Labels in the first spelling of the settings."""

    labels: NDArray[Any]
    geometry: Geometry | None

    @property
    def spacing(self) -> tuple[float, ...]:
        return array_spacing(self.geometry, self.labels.ndim)

    @property
    def diagonal_mm(self) -> float:
        return diagonal_mm(shape=self.labels.shape, spacing_mm=self.spacing)


class LabelsValue(Value[LabelsSettings, LabelImage, LabelImage]):
    """One label image per case."""

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

    def read_reference(self, located: Located) -> LabelImage:
        labels, geometry = located.labels(ExpectedPrediction())
        if labels.ndim not in (2, 3):
            raise Refused(f"'{located.label}' must have 2 or 3 axes, it has {labels.ndim}.")
        return LabelImage(self._in_first_spelling(labels, located.label, is_reference=True), geometry)

    def read_prediction(self, located: Located, expected: ExpectedPrediction) -> LabelImage:
        labels, geometry = located.labels(expected)
        return LabelImage(self._in_first_spelling(labels, located.label, is_reference=False), geometry)

    def shape(self, reference: LabelImage) -> tuple[int, ...]:
        return reference.labels.shape

    def answers(self, reference: LabelImage) -> Sequence[LabelImage]:
        invented = reference.labels.copy()
        values = sorted({value for region in self.regions.values() for value in region})
        for number, value in enumerate(values):
            size = min(_INVENTED, invented.size // len(values))
            part = invented.reshape(-1)[number * size : (number + 1) * size]
            part[part == 0] = value
        copies = [reference.labels, *damaged_labels(reference.labels), invented]
        return [replace(reference, labels=each) for each in copies]

    def written(self, answer: LabelImage) -> SampleImage:
        return SampleImage(answer.labels, answer.geometry)

    def faults(self, written: SampleImage) -> Mapping[str, SampleImage]:
        unknown = next(value for value in count(1) if not any(value in spelling for spelling in self._spellings))
        wrong = np.where(
            written.pixels == written.pixels.max(), np.array(unknown, np.min_scalar_type(unknown)), written.pixels
        )
        is_error = self.settings.other_labels == "error"
        return {**super().faults(written), **({"wrong-label": replace(written, pixels=wrong)} if is_error else {})}

    def describe(self, reference: LabelImage) -> Description:
        counts = {self._mask(each): int(np.isin(reference.labels, self.regions[each]).sum()) for each in self.regions}
        figures: dict[str, float] = {}
        if reference.geometry is not None and reference.labels.ndim == 3:
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
            if all(each == _EMPTY for each in _categories(descriptions, name))
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

    def answers(self, reference: LabelImage) -> Sequence[LabelImage]:
        copies = [reference.labels, *damaged_labels(reference.labels), np.zeros_like(reference.labels)]
        return [replace(reference, labels=each) for each in copies]

    def describe(self, reference: LabelImage) -> Description:
        present = np.unique(reference.labels)
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


# Continuous images.


@dataclass(frozen=True, eq=False)
class ContinuousImage:
    """Pixels in numpy order."""

    pixels: NDArray[Any]
    geometry: Geometry | None


class ImageValue(Value[ImageSettings, ContinuousImage, ContinuousImage]):
    """One continuous image per case, of the size of the reference."""

    def read_prediction(self, located: Located, expected: ExpectedPrediction) -> ContinuousImage:
        pixels, geometry = located.image(expected)
        return ContinuousImage(self._checked(pixels, located.label), geometry)

    def shape(self, reference: ContinuousImage) -> tuple[int, ...]:
        return reference.pixels.shape

    def answers(self, reference: ContinuousImage) -> Sequence[ContinuousImage]:
        return [reference, replace(reference, pixels=np.roll(reference.pixels, 1, axis=-1))]

    def written(self, answer: ContinuousImage) -> SampleImage:
        return SampleImage(answer.pixels, answer.geometry)

    def describe(self, reference: ContinuousImage) -> Description:
        return Description(
            figures={f"{self.name} (mean)": float(reference.pixels.mean(dtype=np.float64))},
            doubts=doubts_about_geometry(self.name, reference.geometry, self.settings),
        )

    def _checked(self, pixels: NDArray[Any], name: str) -> NDArray[Any]:
        if pixels.dtype.kind not in "buif":
            raise Refused(f"'{name}' holds values of the type '{pixels.dtype}'; pixels are real numbers.")
        if pixels.dtype.kind == "f" and not np.isfinite(pixels).all():
            raise Refused(f"'{name}' holds NaN or infinite values.")
        lowest, highest = self.settings.range or (-LARGEST_VALUE, LARGEST_VALUE)
        found, most = (pixels.min(), pixels.max()) if pixels.size else (lowest, highest)
        if found < lowest or most > highest:
            raise Refused(
                f"'{name}' holds values from {found:g} to {most:g}; they must be between {lowest:g} and {highest:g}."
            )
        return pixels


# Points, boxes and detection maps.


class PointsValue(Value[PointsSettings, "Annotations", "Annotations"]):
    """Points or boxes."""

    def read_reference(self, located: Located) -> "Annotations":
        return self._kept(located.annotations(self.settings))

    def read_prediction(self, located: Located, expected: ExpectedPrediction) -> "Annotations":
        from podium.metrics.detection import falling

        found, most = self._kept(located.annotations(self.settings)), self.settings.max_candidates
        if self.needs_probability and found.probabilities is None and len(found):
            raise Refused(f"The {self.settings.kind} of '{self.name}' have no probability, which is needed here.")
        if len(found) <= most:
            return found
        those = "with the lowest coordinates" if found.probabilities is None else "most confident"
        expected.warnings.append(f"{len(found):,} {self.settings.kind} were found; only the {most:,} {those} count.")
        return found.only(falling(found.probabilities, found.coordinates)[:most].tolist())

    def answers(self, reference: "Annotations") -> Sequence["Annotations"]:
        sure = replace(reference, probabilities=np.ones(len(reference)))
        return [sure, sure.only([])]

    def written(self, answer: "Annotations") -> Mapping[str, Any]:
        return self._written_as.to_json(answer)

    def rows(self, answer: "Annotations") -> Sequence[Mapping[str, Any]]:
        return self._written_as.to_rows(answer)

    def references(self, reference: "Annotations") -> int:
        """How many findings there are."""
        return len(reference)

    def describe(self, reference: "Annotations") -> Description:
        number, most = len(reference), self.settings.max_candidates
        few = (
            f"'{self.name}' has more findings ({number:,}) than max_candidates ({most:,}): no prediction can find all."
        )
        return Description(figures={f"{self.name} (number)": number}, doubts=[few] if number > most else [])

    @property
    def _written_as(self) -> "AnnotationKind":
        return annotation_kind(self.settings)

    def _kept(self, found: "Annotations") -> "Annotations":
        return found if self.settings.names is None else found.named(self.settings.names)


Places = Mapping[str, NDArray[np.float64]]


class LandmarksValue(Value[LandmarksSettings, Places, Places]):
    """Points by name; every name of the reference is expected."""

    def read_reference(self, located: Located) -> Places:
        found = self._by_name(located)
        if not found:
            raise Refused(f"'{located.label}' has no landmark.")
        return found

    def read_prediction(self, located: Located, expected: ExpectedPrediction) -> Places:
        return self._by_name(located)

    def answers(self, reference: Places) -> Sequence[Places]:
        shifted = {name: place + 3.0 for name, place in reference.items()}
        return [reference, shifted, dict([*reference.items()][1:])]

    def written(self, answer: Places) -> Mapping[str, Any]:
        return annotation_kind(self.settings).to_json(self._listed(answer))

    def rows(self, answer: Places) -> Sequence[Mapping[str, Any]]:
        return annotation_kind(self.settings).to_rows(self._listed(answer))

    def _listed(self, answer: Places) -> "Annotations":
        from podium.readers.annotations import Annotations

        return Annotations(np.array([*answer.values()]), None, tuple(answer))

    def describe(self, reference: Places) -> Description:
        return Description(figures={f"{self.name} (landmarks)": len(reference)})

    def _by_name(self, located: Located) -> Places:
        found = located.annotations(self.settings)
        places: dict[str, NDArray[np.float64]] = {}
        for name, place in zip(found.names, found.coordinates, strict=True):
            if name is None:
                raise Refused(f"'{located.label}' has a landmark without a name.")
            if name in places:
                raise Refused(f"'{located.label}' has the landmark '{escape_for_display(name)}' twice.")
            places[name] = place
        return places


class DetectionMapValue(Value[DetectionMapSettings, ContinuousImage, ContinuousImage]):
    """An image of confidences; the reference is a label image."""

    def read_reference(self, located: Located) -> ContinuousImage:
        labels, geometry = located.labels(ExpectedPrediction())
        return ContinuousImage(labels, geometry)

    def read_prediction(self, located: Located, expected: ExpectedPrediction) -> ContinuousImage:
        pixels, geometry = located.image(expected)
        if pixels.dtype.kind not in "buif" or not np.isfinite(pixels).all():
            raise Refused(f"'{located.label}' holds values that are not finite numbers.")
        if pixels.size and pixels.min() < 0:
            raise Refused(f"'{located.label}' holds negative values; confidences start at 0.")
        self._warn_about_many(pixels, expected.warnings)
        return ContinuousImage(pixels, geometry)

    def _warn_about_many(self, confidences: NDArray[Any], warnings: list[str]) -> None:
        from podium.metrics.components import label_components

        most = self.settings.max_candidates
        if np.count_nonzero(confidences) <= most:
            return
        volume = confidences if confidences.ndim == 3 else confidences[None]
        candidates = label_components(volume > 0, connectivity=self.settings.neighbours).count
        if candidates > most:
            warnings.append(f"{candidates:,} candidates were found; only the {most:,} most confident count.")

    def shape(self, reference: ContinuousImage) -> tuple[int, ...]:
        return reference.pixels.shape

    def answers(self, reference: ContinuousImage) -> Sequence[ContinuousImage]:
        found = reference.pixels != 0
        if self.settings.reference_instances:  # a gap keeps findings apart that touch
            from scipy.ndimage import maximum_filter

            found &= maximum_filter(reference.pixels, size=3) == reference.pixels
        return [replace(reference, pixels=found * np.float32(sure)) for sure in (1, 0)]

    def written(self, answer: ContinuousImage) -> SampleImage:
        return SampleImage(answer.pixels, answer.geometry)

    def references(self, reference: ContinuousImage) -> int:
        """How many findings there are."""
        from podium.metrics.components import find_lesions, instances_of

        if self.settings.reference_instances:
            return instances_of(reference.pixels).count
        volume = reference.pixels if reference.pixels.ndim == 3 else reference.pixels[None]
        return find_lesions(volume != 0, connectivity=self.settings.neighbours).count

    def describe(self, reference: ContinuousImage) -> Description:
        return Description(
            figures={f"{self.name} (findings)": self.references(reference)},
            doubts=[*doubts_about_geometry(self.name, reference.geometry, self.settings), *self._doubts(reference)],
        )

    def _doubts(self, reference: ContinuousImage) -> Sequence[str]:
        is_known = self.settings.reference_instances
        labels = [] if is_known else [each for each in np.unique(reference.pixels).tolist() if each]
        apart = [self.references(replace(reference, pixels=reference.pixels == each)) for each in labels]
        if len(labels) < 2 or sum(apart) == self.references(reference):
            return ()
        return [f"Findings of '{self.name}' with different labels touch: voxels that touch are one finding."]


# Values that are a number, a class, a probability, a text or a survival time.


class NumberValue(Value[NumberSettings, float, float]):
    """A finite number."""

    def read_prediction(self, located: Located, expected: ExpectedPrediction) -> float:
        return number_within(located, self.settings.range)

    def facts(self, compared: Compared[float, float]) -> Figures:
        return {"reference": compared.reference, "prediction": compared.prediction}

    def answers(self, reference: float) -> Sequence[float]:
        return [reference, *(self.settings.range or (reference + 1, 0.0))]

    def describe(self, reference: float) -> Description:
        return Description(figures={self.name: reference})


class _OfClasses(Value[ClassesT, PredictionT, str]):
    """A value whose reference is a class, by name."""

    def read_reference(self, located: Located) -> str:
        return known_class(located, self.settings.class_table)

    def describe(self, reference: str) -> Description:
        return Description(categories={self.name: reference})

    def doubts_about_all(self, descriptions: Sequence[Description]) -> Sequence[str]:
        """Where all references have one class, or none has some class."""
        present = {*_categories(descriptions, self.name)}
        if len(present) == 1:
            only = next(iter(present))
            return [f"All references have the class '{only}': figures such as AUROC are undefined."]
        return [f"No reference has the class '{each}'." for each in self.settings.class_table if each not in present]


class ClassValue(_OfClasses[ClassSettings, str]):
    """One of several classes, by name."""

    def read_prediction(self, located: Located, expected: ExpectedPrediction) -> str:
        return known_class(located, self.settings.classes)

    def facts(self, compared: Compared[str, str]) -> Figures:
        return {
            "reference": compared.reference,
            "prediction": compared.prediction,
            "correct": int(compared.prediction == compared.reference),
        }

    @property
    def socket_kind(self) -> str:
        kinds = {type(each) for each in self.settings.classes.values()}
        return {bool: "Bool", int: "Integer"}.get(kinds.pop(), "String") if len(kinds) == 1 else "Anything"

    def written(self, answer: str) -> int | str | bool:
        return self.settings.classes[answer]

    def answers(self, reference: str) -> Sequence[str]:
        names = list(self.settings.classes)
        return [reference, names[(names.index(reference) + 1) % len(names)], reference]


class ProbabilityValue(_OfClasses[ProbabilitySettings, Mapping[str, float]]):
    """A probability for every class; the reference is a class."""

    def read_prediction(self, located: Located, expected: ExpectedPrediction) -> Mapping[str, float]:
        classes = list(self.settings.class_table)
        if self.settings.is_binary:
            positive = probability_in(located.number(), located.label)
            return {name: positive if name == self.settings.positive else 1 - positive for name in classes}
        given = located.numbers()
        if isinstance(given, dict):
            given = [given.get(name) for name in classes]
        if not isinstance(given, list) or len(given) != len(classes):
            raise Refused(f"'{located.label}' must have one probability for each of: {', '.join(classes)}.")
        found = {name: probability_in(each, located.label) for name, each in zip(classes, given, strict=True)}
        if abs(sum(found.values()) - 1) > _SUM_TOLERANCE:
            raise Refused(f"The probabilities of '{located.label}' sum to {sum(found.values()):g}, not to 1.")
        return found

    def facts(self, compared: Compared[Mapping[str, float], str]) -> Figures:
        return {
            "reference": compared.reference,
            "prediction": None if compared.prediction is None else dict(compared.prediction),
        }

    def answers(self, reference: str) -> Sequence[Mapping[str, float]]:
        """A certain one, then less sure ones."""
        names = list(self.settings.class_table)
        rest = len(names) - 1
        return [{name: sure if name == reference else (1 - sure) / rest for name in names} for sure in (1.0, 0.4, 0.6)]

    @property
    def socket_kind(self) -> str:
        return "Float" if self.settings.is_binary else "Anything"

    def written(self, answer: Mapping[str, float]) -> Any:
        return answer[self.settings.positive] if self.settings.positive is not None else [*answer.values()]


class FindingValue(ProbabilityValue):
    """One of several findings. Rows keep `[reference, probability]` of each: there may be many."""

    def __init__(self, name: str, title: str) -> None:
        super().__init__(name, ProbabilitySettings.model_construct(kind="probability", positive=name, title=title))

    def expanded(self, fact: Any) -> Any:
        truth, probability = fact
        absent = f"not_{self.name}"
        found = None if probability is None else {absent: 1 - probability, self.name: probability}
        return {"reference": self.name if truth else absent, "prediction": found}


class FindingsValue(Value[FindingsSettings, Mapping[str, float], Mapping[str, int]]):
    """A probability of every finding; a reference has 1 or 0 of each that was looked for."""

    @property
    def fact_paths(self) -> Sequence[str]:
        return [f"{self.name}.{finding}" for finding in self.settings.by_name]

    def singles(self) -> Mapping[str, AnyValueKind]:
        return {name: FindingValue(name, column) for name, column in self.settings.by_name.items()}

    def read_reference(self, located: Located) -> Mapping[str, int]:
        columns = self.settings.by_name
        row = located.record([*columns.values()], may_lack=not self.settings.is_expected_everywhere)
        found = {}
        for name, column in columns.items():
            if column in row:
                truth = _cell_number(row[column], f"{located.label}: {column}")
                if truth not in (0, 1):
                    raise Refused(f"'{located.label}: {column}' must be 0 or 1.")
                found[name] = int(truth)
        return found

    def read_prediction(self, located: Located, expected: ExpectedPrediction) -> Mapping[str, float]:
        columns = self.settings.by_name
        row = located.record([*columns.values()])
        return {name: probability_in(row[column], f"{located.label}: {column}") for name, column in columns.items()}

    def facts(self, compared: Compared[Mapping[str, float], Mapping[str, int]]) -> Figures:
        found = compared.prediction or {}
        return {
            name: [truth, found.get(name)] if (truth := compared.reference.get(name)) is not None else {}
            for name in self.settings.by_name
        }

    def answers(self, reference: Mapping[str, int]) -> Sequence[Mapping[str, float]]:
        return [
            {name: sure if reference.get(name) else 1 - sure for name in self.settings.by_name}
            for sure in (1.0, 0.4, 0.6)
        ]

    def written(self, answer: Mapping[str, float]) -> Mapping[str, float]:
        return {self.settings.by_name[name]: sure for name, sure in answer.items()}

    def rows(self, answer: Mapping[str, float]) -> Sequence[Mapping[str, Any]]:
        return [self.written(answer)]

    def describe(self, reference: Mapping[str, int]) -> Description:
        words = {0: "no", 1: "yes"}
        return Description(categories={f"{self.name}: {name}": words[each] for name, each in reference.items()})

    def doubts_about_all(self, descriptions: Sequence[Description]) -> Sequence[str]:
        alike = [
            name for name in self.settings.by_name if len({*_categories(descriptions, f"{self.name}: {name}")}) < 2
        ]
        return (
            [f"All references agree on {', '.join(alike)}: AUROC is undefined, and left out of means."] if alike else []
        )


class TextValue(Value[TextSettings, str, str]):
    """UTF-8 text."""

    def read_prediction(self, located: Located, expected: ExpectedPrediction) -> str:
        return located.text()

    def answers(self, reference: str) -> Sequence[str]:
        from podium.metrics.text import damaged_texts

        return damaged_texts(reference)

    def faults(self, written: Any) -> Mapping[str, Any]:
        return {}

    def describe(self, reference: str) -> Description:
        doubts = () if reference.strip() else (f"The text '{self.name}' is empty.",)
        return Description(figures={f"{self.name} (words)": len(reference.split())}, doubts=doubts)


@dataclass(frozen=True)
class SurvivalTime:
    """When a case was last seen, and whether the event happened then."""

    time: float
    event: bool


class SurvivalValue(Value[SurvivalSettings, float, SurvivalTime]):
    """The prediction is a risk, the higher, the earlier the event; or a time, the higher, the later."""

    def read_reference(self, located: Located) -> SurvivalTime:
        keys = (self.settings.time_column, self.settings.event_column)
        row = located.record(keys)
        time, event = (_cell_number(row[key], f"{located.label}: {key}") for key in keys)
        if time < 0 or event not in (0, 1):
            raise Refused(f"'{located.label}' must have a time that is not negative and an event of 0 or 1.")
        return SurvivalTime(time, event == 1)

    def read_prediction(self, located: Located, expected: ExpectedPrediction) -> float:
        return number_within(located, self.settings.range)

    def facts(self, compared: Compared[float, SurvivalTime]) -> Figures:
        return {
            "time": compared.reference.time,
            "event": int(compared.reference.event),
            "prediction": compared.prediction,
        }

    def answers(self, reference: SurvivalTime) -> Sequence[float]:
        """Who was last seen at the time of an event outlived it."""
        time = reference.time if reference.event else math.nextafter(reference.time, math.inf)
        return [time, -time] if self.settings.prediction == "time" else [-time, time]

    def describe(self, reference: SurvivalTime) -> Description:
        return Description(
            categories={f"{self.name}: event": "yes" if reference.event else "no"},
            figures={f"{self.name}: time": reference.time},
        )

    def doubts_about_all(self, descriptions: Sequence[Description]) -> Sequence[str]:
        if "yes" in _categories(descriptions, f"{self.name}: event"):
            return ()
        return [f"No reference of '{self.name}' has an event: the C-index is undefined."]


def number_within(located: Located, bounds: tuple[float, float] | None) -> float:
    """A finite number, Refused outside of the bounds."""
    number = located.number()
    bounds = bounds or (-LARGEST_VALUE, LARGEST_VALUE)
    if not bounds[0] <= number <= bounds[1]:
        raise Refused(f"'{located.label}' is {number:g}; it must be between {bounds[0]:g} and {bounds[1]:g}.")
    return number


def probability_in(value: Any, label: str) -> float:
    """A number between 0 and 1."""
    number = checked_number(value, label=label)
    if not 0 <= number <= 1:
        raise Refused(f"'{label}' is {number:g}; a probability is between 0 and 1.")
    return number


def _cell_number(value: Any, label: str) -> float:
    if isinstance(value, bool):
        return float(value)
    if isinstance(value, str):
        if value.strip().lower() in ("true", "false"):
            return float(value.strip().lower() == "true")
        try:
            value = float(value)
        except ValueError:
            raise Refused(f"'{label}' must be a finite number.") from None
    return checked_number(value, label=label)


def known_class(located: Located, classes: Mapping[str, Any]) -> str:
    """The name of the class that a file gives."""
    label = located.label
    value = located.scalar(texts=[known for known in classes.values() if isinstance(known, str)])
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    for name, known in classes.items():
        if type(known) is type(value) and known == value:
            return name
        if isinstance(known, str) and isinstance(value, int | float) and str(value) == known:
            return name  # JSON such as 3 where the classes are texts
        if isinstance(known, bool) and isinstance(value, str) and value.lower() == str(known).lower():
            return name  # a cell
    allowed = ", ".join(map(str, classes.values()))
    given = escape_for_display(value) if isinstance(value, str) else value
    if isinstance(value, dict | list) or value is None:
        raise Refused(f"'{label}' must be one of the classes {allowed}.")
    raise Refused(f"'{label}' is {given}; the classes are {allowed}.")


VALUE_KINDS: Mapping[str, type[Value[Any, Any, Any]]] = {
    "labels": LabelsValue,
    "instances": InstancesValue,
    "image": ImageValue,
    "number": NumberValue,
    "class": ClassValue,
    "probability": ProbabilityValue,
    "findings": FindingsValue,
    "detection_map": DetectionMapValue,
    "points": PointsValue,
    "boxes": PointsValue,
    "landmarks": LandmarksValue,
    "text": TextValue,
    "survival": SurvivalValue,
}
