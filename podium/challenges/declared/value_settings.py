"""`[values.NAME]`: what is predicted for every case, and its place in files, tables and sockets."""

import re
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal, Self, TypeVar

from pydantic import (
    AfterValidator,
    Field,
    StrictBool,
    StrictInt,
    StrictStr,
    StringConstraints,
    field_validator,
    model_validator,
)

from podium.challenges.settings import FigureName, Finite, Settings, Slug, Text
from podium.readers.geometry import GeometryRule

Texts = Text | Annotated[tuple[Text, ...], Field(min_length=1)]
Label = Annotated[StrictInt, Field(ge=0)]


def _is_a_range(bounds: tuple[float, float]) -> tuple[float, float]:
    if not bounds[0] < bounds[1]:
        raise ValueError("a range is [lowest, highest]")
    return bounds


Range = Annotated[tuple[Finite, Finite], AfterValidator(_is_a_range)]
MaxCandidates = Annotated[StrictInt, Field(gt=0)]  # per case: the most confident count
BACKGROUND = "background"
SettingT = TypeVar("SettingT", str, int)
MEAN = "mean"
RESERVED = {MEAN, "std", "median", "n", "region_mean"}  # places of a metric's own figures


def as_tuple(value: SettingT | tuple[SettingT, ...] | None) -> tuple[SettingT, ...]:
    """One text or number or several, as several."""
    return () if value is None else value if isinstance(value, tuple) else (value,)


class ValueSettings(Settings):
    """What every value has.

    title                    its name in titles of columns and pictures [the value's name]
    socket                   its output in an algorithm submission
    file                     names of its file in a prediction submission; a case has one file of any of them
    table, column            a CSV or JSON table with a row for every case instead, and the column of the value
    case_column              the table's column of cases [case]
    dataset, pointer         its place inside an HDF5 or a JSON file
    reference, reference_*   the same of the reference [the same place as the prediction's]
    optional                 a submission without a prediction of it in any case is not scored by it
    expected                 of which cases: all, or those that have a reference of it
    """

    not_needed: ClassVar[tuple[str, ...]] = ()
    """Of `column` and `reference_column`: where a kind has other keys for the columns of a table."""
    sockets: ClassVar[tuple[str, ...]] = ()
    """The platform's kinds of sockets that hold it, the one to create first."""
    ending: ClassVar[str] = ""
    """Of a file for each case; empty where one table of all cases is usual."""
    to_fill_in: ClassVar[tuple[str, ...]] = ()
    """Lines of challenge.toml that only the organiser can complete."""
    is_image: ClassVar[bool] = False
    words: ClassVar[str] = ""
    """What a prediction is, for participants."""

    kind: str
    title: Text | None = None
    socket: Slug | None = None
    file: Texts | None = None
    table: Text | None = None
    column: Texts | None = None
    case_column: Text = "case"
    dataset: Text | None = None
    pointer: StrictStr | tuple[StrictStr, ...] | None = None
    reference: Texts | None = None
    reference_table: Text | None = None
    reference_column: Texts | None = None
    reference_case_column: Text | None = None
    reference_dataset: Text | None = None
    reference_pointer: StrictStr | tuple[StrictStr, ...] | None = None
    optional: StrictBool = False
    expected: Literal["all", "where_referenced"] = "all"

    @model_validator(mode="before")
    @classmethod
    def _reference_is_in_the_same_table(cls, content: Any) -> Any:
        """References are in a table of the same name, unless the settings name another place."""
        if isinstance(content, dict) and "table" in content and not {"reference", "reference_table"} & {*content}:
            return {**content, "reference_table": content["table"]}
        return content

    @field_validator("file", "reference")
    @classmethod
    def _has_a_case(cls, names: Texts | None) -> Texts | None:
        for name in as_tuple(names):
            found = re.findall(r"\{(\w*)\}", name)
            if {*found} - {"group"} != {"case"} or len({*found}) != len(found):
                words = "a file name holds {case} once, {group} at most once and no other placeholder"
                raise ValueError(f"{words}, '{name}' does not")
        return names

    @field_validator("pointer", "reference_pointer")
    @classmethod
    def _is_a_pointer(cls, pointers: Any) -> Any:
        for pointer in as_tuple(pointers):
            if pointer and not pointer.startswith("/"):
                raise ValueError(f"a JSON pointer is empty or begins with '/', '{pointer}' does not")
        return pointers

    @model_validator(mode="after")
    def _has_a_place(self) -> Self:
        if self.file is not None and self.table is not None:
            raise ValueError("has both a file and a table; keep one of them")
        if (self.reference is None) == (self.reference_table is None):
            raise ValueError("needs either reference or reference_table: where is the reference?")
        for table, column, names in (
            (self.table, self.column, "column"),
            (self.reference_table, self.reference_columns, "reference_column"),
        ):
            if table is not None and not column and names not in self.not_needed:
                raise ValueError(f"has a table but no {names}")
        return self

    @property
    def is_predicted(self) -> bool:
        """False for a mask that an image is compared `within` and only the references have."""
        return self.socket is not None or self.file is not None or self.table is not None

    @property
    def is_expected_everywhere(self) -> bool:
        return self.expected == "all"

    @property
    def reference_columns(self) -> tuple[str, ...]:
        return as_tuple(self.reference_column) or as_tuple(self.column)


LabelTable = Mapping[FigureName, Label | Annotated[tuple[Label, ...], Field(min_length=1)]]


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


LabelRange = Annotated[str, StringConstraints(pattern=r"^[1-9][0-9]{0,4}(-[1-9][0-9]{0,4})?$")]
MOST_INSTANCES = 65_535


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


class ImageSettings(ValueSettings):
    """A continuous image. `range` are the values that its pixels may have; it counts where the reference of the labels
    value `within` is not 0. That value need not be predicted: without socket, file and table it is a mask of the
    organiser's."""

    sockets = ("Image", "Heat Map")
    ending, is_image = ".mha", True
    words = "an image of real numbers, of the size of the reference"

    kind: Literal["image"]
    range: Range | None = None
    within: FigureName | None = None
    geometry: GeometryRule = "warn"


class NumberSettings(ValueSettings):
    """A finite number. `range` are the values that it may have."""

    sockets = ("Float", "Integer")
    to_fill_in = ('unit = "ml"', "range = [0, 100]")
    words = "a finite number"

    kind: Literal["number"]
    unit: str = ""
    range: Range | None = None


ClassValue = StrictInt | StrictStr | StrictBool
ClassTable = Annotated[Mapping[FigureName, ClassValue], Field(min_length=2)]
MISSING = "missing"


def _check_classes(classes: Mapping[str, Any], positive: str | None) -> None:
    if len({(type(value) is bool, value) for value in classes.values()}) != len(classes):
        raise ValueError("two classes have the same value")
    for name in {MISSING, "macro", "micro", "weighted", *RESERVED}.intersection(classes):
        raise ValueError(f"a class cannot be called '{name}': the name is reserved for figures")
    if positive is not None and positive not in classes:
        raise ValueError(f"positive is '{positive}', which is not one of the classes")


class ClassSettings(ValueSettings):
    """One of several classes: `classes` gives the name of each and its value in files. `positive` is the class that
    sensitivity and specificity are of [the last]."""

    sockets = ("String", "Choice", "Bool")
    to_fill_in = ('classes = { low = "low", high = "high" }   # every class, and its value in the files',)
    words = "one of the classes"

    kind: Literal["class"]
    classes: ClassTable
    positive: FigureName | None = None

    @property
    def class_table(self) -> Mapping[str, Any]:
        return self.classes

    @model_validator(mode="after")
    def _classes_differ(self) -> Self:
        _check_classes(self.classes, self.positive)
        return self


class ProbabilitySettings(ValueSettings):
    """The probability of `positive`, or one number for each of `classes`; the reference is a class.

    classes   the value of every class in the reference
    positive  the class whose probability is predicted [the last of two classes; without it one number for each]
    """

    sockets = ("Float",)
    words = "a probability from 0 to 1, or one for each class, which sum to 1"

    kind: Literal["probability"]
    classes: ClassTable | None = None
    positive: FigureName | None = None

    @model_validator(mode="after")
    def _classes_fit(self) -> Self:
        if self.classes is None and self.positive is None:
            raise ValueError("needs classes, positive or both")
        if self.classes is not None:
            _check_classes(self.classes, self.positive)
            if self.positive is not None and len(self.classes) != 2:
                raise ValueError("positive is for two classes")
        return self

    @property
    def class_table(self) -> Mapping[str, Any]:
        """Names and values; without `classes` the reference holds 1 for the positive class and 0 otherwise."""
        if self.classes is not None:
            return self.classes
        assert self.positive is not None
        return {f"not_{self.positive}": 0, self.positive: 1}

    @property
    def is_binary(self) -> bool:
        return self.positive is not None


class FindingsSettings(ValueSettings):
    """The probability of many yes/no findings; the references hold 1 or 0. `columns`: the findings, or the name of each
    with its column or JSON key."""

    not_needed = ("column", "reference_column")
    sockets = ("Anything",)
    to_fill_in = ('columns = ["effusion", "mass"]     # every finding',)
    words = "a probability from 0 to 1 of every finding"

    kind: Literal["findings"]
    columns: (
        Annotated[tuple[FigureName, ...], Field(min_length=2)]
        | Annotated[Mapping[FigureName, Text], Field(min_length=2)]
    )

    @property
    def by_name(self) -> Mapping[str, str]:
        """The column of every finding."""
        return self.columns if isinstance(self.columns, Mapping) else {name: name for name in self.columns}

    @model_validator(mode="after")
    def _names_are_free(self) -> Self:
        for name in RESERVED.intersection(self.by_name):
            raise ValueError(f"a finding cannot be called '{name}': the name is reserved for figures")
        if len({*self.by_name.values()}) != len(self.columns):
            raise ValueError("columns has the same column twice")
        return self


class DetectionMapSettings(ValueSettings):
    """Confidences whose connected components above 0 are candidates; the reference's components are the findings, or
    with `reference_instances` its labels, touching or not."""

    sockets = ("Heat Map",)
    ending, is_image = ".mha", True
    words = "an image of confidences from 0: every connected component above 0 is a candidate"

    kind: Literal["detection_map"]
    connectivity: Literal[1, 2, 3] = 3
    reference_instances: StrictBool = False
    max_candidates: MaxCandidates = 1000
    geometry: GeometryRule = "warn"

    @property
    def neighbours(self) -> Literal[6, 18, 26]:
        from podium.metrics.components import as_connectivity

        return as_connectivity(self.connectivity)


AxisColumns = Annotated[tuple[Text, ...], Field(min_length=2, max_length=3)]


class BoxColumns(Settings):
    """Columns of a table of boxes: the centre and the whole length along x, y and, in 3-D, z."""

    centre: AxisColumns
    size: AxisColumns

    @model_validator(mode="after")
    def _same_axes(self) -> Self:
        if len(self.centre) != len(self.size):
            raise ValueError("centre and size need a column for the same axes")
        return self


class PointsSettings(ValueSettings):
    """Points or boxes. `unit` is that of their coordinates; only those of `names` count [all], and of these the
    `max_candidates` most confident."""

    not_needed: ClassVar = ("column", "reference_column")  # a table has the columns x, y, z and so on

    sockets = ("Multiple points", "Point")
    ending = ".json"
    to_fill_in = ('unit = "mm"   # or "index": of the coordinates',)
    words = "points, in the platform's JSON or a table with x, y and in 3-D z"

    kind: Literal["points", "boxes"]
    unit: Literal["mm", "index"]
    names: tuple[Text, ...] | None = None
    max_candidates: MaxCandidates = 1000


class BoxesSettings(PointsSettings):
    """`box_columns`: of a table with centres and lengths [x_min, y_min, x_max, y_max and in 3-D z_min and z_max]."""

    sockets = ("Multiple 2D bounding boxes", "2D bounding box")
    words = "boxes, in the platform's JSON or a table"

    kind: Literal["boxes"]
    box_columns: BoxColumns | None = None


class LandmarksSettings(ValueSettings):
    """Points with names, each at most once in a case. `unit` is that of their coordinates."""

    not_needed = ("column", "reference_column")
    sockets = ("Multiple points",)
    to_fill_in = ('unit = "mm"',)
    ending = ".json"
    words = "points with names, in the platform's JSON or a table with name, x, y and in 3-D z"

    kind: Literal["landmarks"]
    unit: Literal["mm", "index"]


class TextSettings(ValueSettings):
    """UTF-8 text."""

    sockets = ("String",)
    ending = ".txt"
    words = "text, UTF-8"

    kind: Literal["text"]


class SurvivalSettings(ValueSettings):
    """The prediction is a risk or a time, the reference a time and whether the event happened.

    time_column, event_column   of the reference's table, or the keys of its JSON object [time, event]
    """

    not_needed: ClassVar = ("reference_column",)

    sockets = ("Float",)
    words = "a risk (higher: an earlier event), or a time (higher: a later one)"

    kind: Literal["survival"]
    prediction: Literal["risk", "time"] = Field(description="risk: higher means an earlier event; time: a later one")
    time_column: Text = "time"
    event_column: Text = "event"
    range: Range | None = None


VALUE_MODELS: Mapping[str, type[ValueSettings]] = {
    "labels": LabelsSettings,
    "instances": InstancesSettings,
    "image": ImageSettings,
    "number": NumberSettings,
    "class": ClassSettings,
    "probability": ProbabilitySettings,
    "findings": FindingsSettings,
    "detection_map": DetectionMapSettings,
    "points": PointsSettings,
    "boxes": BoxesSettings,
    "landmarks": LandmarksSettings,
    "text": TextSettings,
    "survival": SurvivalSettings,
}
