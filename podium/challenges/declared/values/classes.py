"""Classes, probabilities of classes, and probabilities of many findings."""
# ruff: noqa: ARG002  (not every kind needs all arguments of the interface)

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, Self, TypeVar

from pydantic import Field, StrictBool, StrictInt, StrictStr, model_validator

from podium.challenges.declared.files import ExpectedPrediction, Located, cell_number, checked_number
from podium.challenges.declared.values import (
    MISSING,
    RESERVED,
    AnyValueKind,
    Compared,
    PredictionT,
    Value,
    ValueSettings,
    categories_of,
)
from podium.challenges.ground_truth import Description
from podium.challenges.settings import FigureName, Text
from podium.errors import Refused
from podium.figures import Figures
from podium.readers.files import escape_for_display

_SUM_TOLERANCE = 0.01  # of probabilities
ClassTable = Annotated[Mapping[FigureName, StrictInt | StrictStr | StrictBool], Field(min_length=2)]


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

    @property
    def table_columns(self) -> Sequence[str]:
        return [*self.by_name.values()]

    @model_validator(mode="after")
    def _names_are_free(self) -> Self:
        for name in RESERVED.intersection(self.by_name):
            raise ValueError(f"a finding cannot be called '{name}': the name is reserved for figures")
        if len({*self.by_name.values()}) != len(self.columns):
            raise ValueError("columns has the same column twice")
        return self


ClassesT = TypeVar("ClassesT", ClassSettings, ProbabilitySettings)


class _OfClasses(Value[ClassesT, PredictionT, str]):
    """A value whose reference is a class, by name."""

    def read_reference(self, located: Located) -> str:
        return known_class(located, self.settings.class_table)

    def describe(self, reference: str) -> Description:
        return Description(categories={self.name: reference})

    def doubts_about_all(self, descriptions: Sequence[Description]) -> Sequence[str]:
        """Where all references have one class, or none has some class."""
        present = {*categories_of(descriptions, self.name)}
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
                truth = cell_number(row[column], f"{located.label}: {column}")
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
            name for name in self.settings.by_name if len({*categories_of(descriptions, f"{self.name}: {name}")}) < 2
        ]
        return (
            [f"All references agree on {', '.join(alike)}: AUROC is undefined, and left out of means."] if alike else []
        )


def probability_in(value: Any, label: str) -> float:
    """A number between 0 and 1."""
    number = checked_number(value, label=label)
    if not 0 <= number <= 1:
        raise Refused(f"'{label}' is {number:g}; a probability is between 0 and 1.")
    return number


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


KINDS = {
    "class": (ClassSettings, ClassValue),
    "probability": (ProbabilitySettings, ProbabilityValue),
    "findings": (FindingsSettings, FindingsValue),
}
