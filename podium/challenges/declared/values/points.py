"""Points, boxes, and landmarks, which are points with names."""
# ruff: noqa: ARG002  (not every kind needs all arguments of the interface)

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from podium.challenges.declared.files import ExpectedPrediction, Located
from podium.challenges.declared.values import MaxCandidates, Value, ValueSettings
from podium.challenges.ground_truth import Description
from podium.challenges.settings import Settings, Text
from podium.errors import Refused
from podium.readers.annotations import BOXES, POINTS, AnnotationKind, Annotations, boxes_by_centre
from podium.readers.files import escape_for_display

AxisColumns = Annotated[tuple[Text, ...], Field(min_length=2, max_length=3)]
Places = Mapping[str, NDArray[np.float64]]


class BoxColumns(Settings):
    """Columns of a table of boxes: the centre and the whole length along x, y and, in 3-D, z."""

    centre: AxisColumns
    size: AxisColumns

    @model_validator(mode="after")
    def _same_axes(self) -> Self:
        if len(self.centre) != len(self.size):
            raise ValueError("centre and size need a column for the same axes")
        return self


class _CoordinateSettings(ValueSettings):
    """What points, boxes and landmarks share. `unit` is that of their coordinates."""

    not_needed: ClassVar = ("column", "reference_column")  # a table has the columns x, y, z and so on
    ending = ".json"

    unit: Literal["mm", "index"]

    @property
    def written_as(self) -> AnnotationKind:
        return POINTS

    @property
    def table_columns(self) -> Sequence[str]:
        return self.written_as.columns

    @property
    def optional_columns(self) -> Sequence[str]:
        return self.written_as.optional


class PointsSettings(_CoordinateSettings):
    """Points or boxes. `unit` is that of their coordinates; only those of `names` count [all], and of these the
    `max_candidates` most confident."""

    sockets = ("Multiple points", "Point")
    to_fill_in = ('unit = "mm"   # or "index": of the coordinates',)
    words = "points, in the platform's JSON or a table with x, y and in 3-D z"

    kind: Literal["points", "boxes"]
    names: tuple[Text, ...] | None = None
    max_candidates: MaxCandidates = 1000


class BoxesSettings(PointsSettings):
    """`box_columns`: of a table with centres and lengths [x_min, y_min, x_max, y_max and in 3-D z_min and z_max]."""

    sockets = ("Multiple 2D bounding boxes", "2D bounding box")
    words = "boxes, in the platform's JSON or a table"

    kind: Literal["boxes"]
    box_columns: BoxColumns | None = None

    @property
    def written_as(self) -> AnnotationKind:
        return BOXES if self.box_columns is None else boxes_by_centre(self.box_columns.centre, self.box_columns.size)


class LandmarksSettings(_CoordinateSettings):
    """Points with names, each at most once in a case. `unit` is that of their coordinates."""

    sockets = ("Multiple points",)
    to_fill_in = ('unit = "mm"',)
    words = "points with names, in the platform's JSON or a table with name, x, y and in 3-D z"

    kind: Literal["landmarks"]

    @property
    def table_columns(self) -> Sequence[str]:
        return ("name", *self.written_as.columns)


class PointsValue(Value[PointsSettings, Annotations, Annotations]):
    """Points or boxes."""

    def read_reference(self, located: Located) -> Annotations:
        return self._kept(located.annotations(self.settings.written_as))

    def read_prediction(self, located: Located, expected: ExpectedPrediction) -> Annotations:
        from podium.metrics.detection import falling

        found, most = self._kept(located.annotations(self.settings.written_as)), self.settings.max_candidates
        if self.needs_probability and found.probabilities is None and len(found):
            raise Refused(f"The {self.settings.kind} of '{self.name}' have no probability, which is needed here.")
        if len(found) <= most:
            return found
        those = "with the lowest coordinates" if found.probabilities is None else "most confident"
        expected.warnings.append(f"{len(found):,} {self.settings.kind} were found; only the {most:,} {those} count.")
        return found.only(falling(found.probabilities, found.coordinates)[:most].tolist())

    def answers(self, reference: Annotations) -> Sequence[Annotations]:
        sure = replace(reference, probabilities=np.ones(len(reference)))
        return [sure, sure.only([])]

    def written(self, answer: Annotations) -> Mapping[str, Any]:
        return self.settings.written_as.to_json(answer)

    def rows(self, answer: Annotations) -> Sequence[Mapping[str, Any]]:
        return self.settings.written_as.to_rows(answer)

    def references(self, reference: Annotations) -> int:
        """How many findings there are."""
        return len(reference)

    def describe(self, reference: Annotations) -> Description:
        number, most = len(reference), self.settings.max_candidates
        few = (
            f"'{self.name}' has more findings ({number:,}) than max_candidates ({most:,}): no prediction can find all."
        )
        return Description(figures={f"{self.name} (number)": number}, doubts=[few] if number > most else [])

    def _kept(self, found: Annotations) -> Annotations:
        return found if self.settings.names is None else found.named(self.settings.names)


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
        return self.settings.written_as.to_json(self._listed(answer))

    def rows(self, answer: Places) -> Sequence[Mapping[str, Any]]:
        return self.settings.written_as.to_rows(self._listed(answer))

    def _listed(self, answer: Places) -> Annotations:
        return Annotations(np.array([*answer.values()]), None, tuple(answer))

    def describe(self, reference: Places) -> Description:
        return Description(figures={f"{self.name} (landmarks)": len(reference)})

    def _by_name(self, located: Located) -> Places:
        found = located.annotations(self.settings.written_as)
        places: dict[str, NDArray[np.float64]] = {}
        for name, place in zip(found.names, found.coordinates, strict=True):
            if name is None:
                raise Refused(f"'{located.label}' has a landmark without a name.")
            if name in places:
                raise Refused(f"'{located.label}' has the landmark '{escape_for_display(name)}' twice.")
            places[name] = place
        return places


KINDS = {
    "points": (PointsSettings, PointsValue),
    "boxes": (BoxesSettings, PointsValue),
    "landmarks": (LandmarksSettings, LandmarksValue),
}
