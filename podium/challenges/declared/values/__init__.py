"""The kinds of values: each reads both sides of a case and says what a row keeps of them.

`ValueSettings` and `Value` are what every kind has. A family of kinds has a module with the settings and the class of
each, which is imported where a challenge has one of them.
"""
# ruff: noqa: ARG002  (not every kind needs all arguments of the interface)

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import import_module
from typing import Annotated, Any, ClassVar, Generic, Literal, Self, TypeVar, cast

from pydantic import AfterValidator, Field, StrictBool, StrictInt, StrictStr, field_validator, model_validator

from podium.challenges.declared.files import ExpectedPrediction, Located
from podium.challenges.ground_truth import Description
from podium.challenges.samples import Asked, CaseImage, CaseSamples, Part, Socket
from podium.challenges.settings import Finite, Settings, Slug, Text, as_tuple, said
from podium.figures import Figures
from podium.own_metrics import KINDS_WITH_FACTS
from podium.pairing import Template

SettingsT = TypeVar("SettingsT", bound="ValueSettings")
PredictionT = TypeVar("PredictionT")
ReferenceT = TypeVar("ReferenceT")

LARGEST_VALUE = 1e24  # of a number or a pixel: the square of a difference is then below LARGEST_FIGURE
Texts = Text | Annotated[tuple[Text, ...], Field(min_length=1)]


def _is_a_range(bounds: tuple[float, float]) -> tuple[float, float]:
    if not bounds[0] < bounds[1]:
        raise ValueError("a range is [lowest, highest]")
    return bounds


Range = Annotated[tuple[Finite, Finite], AfterValidator(_is_a_range)]
MaxCandidates = Annotated[StrictInt, Field(gt=0)]  # per case: the most confident count
MEAN = "mean"
MISSING = "missing"  # a prediction, among the classes
RESERVED = {MEAN, "std", "median", "n", "region_mean"}  # places of a metric's own figures


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
    def table_columns(self) -> Sequence[str]:
        """Of a table of predictions."""
        return as_tuple(self.column)

    @property
    def reference_table_columns(self) -> Sequence[str]:
        return self.reference_columns if self.table_columns == as_tuple(self.column) else self.table_columns

    @property
    def optional_columns(self) -> Sequence[str]:
        """Columns that a table need not have."""
        return ()

    @property
    def reference_columns(self) -> tuple[str, ...]:
        return as_tuple(self.reference_column) or as_tuple(self.column)


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
        return reference.pixels.shape if isinstance(reference, CaseImage) else None

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
        """A prediction as a `CaseImage` or JSON."""
        return answer

    def rows(self, answer: Any) -> Sequence[Mapping[str, Any]]:
        """The rows of a prediction in a table, without the column of the case."""
        content = self.written(answer)
        cells = content if isinstance(content, list) else [content]
        return [dict(zip(as_tuple(self.settings.column), cells, strict=False))]

    def faults(self, written: Any) -> Mapping[str, Any]:
        """Predictions to be refused, by what is wrong with them."""
        if isinstance(written, CaseImage):
            return {"wrong-size": replace(written, pixels=written.pixels[..., :-1])}
        return {"wrong-type": "not a value"}

    def doubts_about_all(self, descriptions: Sequence[Description]) -> Sequence[str]:
        """What is implausible about the references together."""
        return ()


def categories_of(descriptions: Sequence[Description], name: str) -> Sequence[str]:
    """Of the cases that have a reference of the value."""
    return [each.categories[name] for each in descriptions if name in each.categories]


AnyValueKind = Value[Any, Any, Any]


_MODULES = {
    "labels": "labels",
    "instances": "labels",
    "image": "images",
    "number": "scalars",
    "class": "classes",
    "probability": "classes",
    "findings": "classes",
    "detection_map": "images",
    "points": "points",
    "boxes": "points",
    "landmarks": "points",
    "text": "scalars",
    "survival": "scalars",
}
"""The module of every kind of value."""

VALUE_KINDS = tuple(_MODULES)


def value_kind(name: str) -> tuple[type[ValueSettings], type[AnyValueKind]]:
    """The model of the tables of this kind, and the class of its values."""
    found: tuple[type[ValueSettings], type[AnyValueKind]] = import_module(f"{__name__}.{_MODULES[name]}").KINDS[name]
    return found


# Samples: every value at its places in files, tables and jobs.


def samples_of(values: Mapping[str, AnyValueKind], case: str, expected: Mapping[str, Any]) -> CaseSamples:
    """The samples of one case; `values` are those that are predicted."""
    answers = {name: value.answers(expected[name]) for name, value in values.items() if name in expected}
    right = {name: _part(values[name], case, each[0]) for name, each in answers.items()}
    damaged = [
        [_part(values[name], case, each[1 + number % (len(each) - 1)]) for name, each in answers.items()]
        for number in range(max(map(len, answers.values()), default=1) - 1)
    ]
    faults = {name: values[name].faults(part.content) for name, part in right.items()}
    broken = {
        fault: [_with_fault(part, faults[name].get(fault)) for name, part in right.items()]
        for fault in dict.fromkeys(fault for each in faults.values() for fault in each)
    }
    return CaseSamples(answers=[[*right.values()], *damaged], broken=broken)


def _part(value: AnyValueKind, case: str, answer: Any) -> Part:
    settings = value.settings
    files = as_tuple(settings.file)
    group, _, rest = case.partition("_") if files and "{group}" in files[0] else ("", "", case)
    return Part(
        content=value.written(answer),
        socket=socket_of(value) if settings.socket is not None else None,
        file=files[0].replace("{group}", group).replace("{case}", rest) if files else None,
        table=settings.table,
        rows=[{settings.case_column: case, **row} for row in value.rows(answer)],
        pointer=(as_tuple(settings.pointer) or ("",))[0],
        dataset=settings.dataset,
    )


def _with_fault(part: Part, wrong: Any) -> Part:
    """The part with something wrong in it; itself without it."""
    if wrong is None:
        return part
    rows = [
        {name: each if number == 0 else wrong for number, (name, each) in enumerate(row.items())} for row in part.rows
    ]
    return replace(part, content=wrong, rows=rows)


def socket_of(value: AnyValueKind) -> Socket:
    """The output that the value is in an algorithm submission."""
    return Socket(value.settings.socket, value.socket_kind)


def asked_of(value: AnyValueKind) -> Asked:
    """The value for its participants: its keys of challenge.toml, and its place in files."""
    settings = value.settings
    own = settings.model_dump(exclude_unset=True, exclude={*ValueSettings.model_fields})
    files = [f"`{Template(name)!s}`" for name in as_tuple(settings.file)]
    if settings.table is not None:
        columns = ", ".join(f"`{name}`" for name in (settings.case_column, *as_tuple(settings.column)))
        files = [f"`{settings.table}`, columns {columns}"]
    inside = f", dataset `{settings.dataset}`" if settings.dataset is not None and files else ""
    pointers = [f"at `{each}`" if each else "as it is" for each in as_tuple(settings.pointer)]
    in_json = f"in JSON {' or '.join(pointers)}" if pointers else ""
    return Asked(
        title=value.title,
        content="; ".join(filter(None, [settings.words, said(own), in_json, "optional" if settings.optional else ""])),
        files=" or ".join(files) + inside,
        socket=socket_of(value) if settings.socket is not None else None,
    )
