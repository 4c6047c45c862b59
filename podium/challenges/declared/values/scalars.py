"""Values that are a number, a class, a probability, a text or a survival time."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from podium.challenges.declared.located import Located, finite_number
from podium.challenges.declared.value_settings import (
    ClassSettings,
    NumberSettings,
    ProbabilitySettings,
    SurvivalSettings,
    TextSettings,
)
from podium.challenges.declared.values.base import Compared, ExpectedPrediction, Value
from podium.challenges.format import Description
from podium.errors import Refused
from podium.figures import Figures
from podium.readers.files import escape_for_display

_SUM_TOLERANCE = 0.01


class NumberValue(Value[NumberSettings, float, float]):
    """A finite number."""

    def read_reference(self, located: Located) -> float:
        return self._checked(located)

    def read_prediction(self, located: Located, expected: ExpectedPrediction[float]) -> float:  # noqa: ARG002  (the interface)
        return self._checked(located)

    def facts(self, compared: Compared[float, float]) -> Figures:
        return {"reference": compared.reference, "prediction": compared.prediction}

    def describe(self, reference: float) -> Description:
        return Description(shapes={}, figures={self.name: reference})

    def _checked(self, located: Located) -> float:
        return number_within(located, self.settings.range)


class ClassValue(Value[ClassSettings, str, str]):
    """One of several classes, by name."""

    def read_reference(self, located: Located) -> str:
        return known_class(located, self.settings.classes)

    def read_prediction(self, located: Located, expected: ExpectedPrediction[str]) -> str:  # noqa: ARG002  (the interface)
        return known_class(located, self.settings.classes)

    def facts(self, compared: Compared[str, str]) -> Figures:
        return {
            "reference": compared.reference,
            "prediction": compared.prediction,
            "correct": int(compared.prediction == compared.reference),
        }

    def describe(self, reference: str) -> Description:
        return Description(shapes={}, categories={self.name: reference})

    def doubts_about_all(self, descriptions: Sequence[Description]) -> Sequence[str]:
        return doubts_about_classes(self.name, list(self.settings.classes), descriptions)


class ProbabilityValue(Value[ProbabilitySettings, Mapping[str, float], str]):
    """A probability for every class; the reference is a class."""

    def read_reference(self, located: Located) -> str:
        return known_class(located, self.settings.class_table)

    def read_prediction(self, located: Located, expected: ExpectedPrediction[str]) -> Mapping[str, float]:  # noqa: ARG002  (the interface)
        classes = list(self.settings.class_table)
        if self.settings.is_binary:
            positive = self._probability(located.number(), located.label)
            return {name: positive if name == self.settings.positive else 1 - positive for name in classes}
        given = located.numbers()
        if isinstance(given, dict):
            given = [given.get(name) for name in classes]
        if not isinstance(given, list) or len(given) != len(classes):
            raise Refused(f"'{located.label}' must have one probability for each of: {', '.join(classes)}.")
        found = {name: self._probability(each, located.label) for name, each in zip(classes, given, strict=True)}
        if abs(sum(found.values()) - 1) > _SUM_TOLERANCE:
            raise Refused(f"The probabilities of '{located.label}' sum to {sum(found.values()):g}, not to 1.")
        return found

    def facts(self, compared: Compared[Mapping[str, float], str]) -> Figures:
        return {
            "reference": compared.reference,
            "prediction": None if compared.prediction is None else dict(compared.prediction),
        }

    def describe(self, reference: str) -> Description:
        return Description(shapes={}, categories={self.name: reference})

    def doubts_about_all(self, descriptions: Sequence[Description]) -> Sequence[str]:
        return doubts_about_classes(self.name, list(self.settings.class_table), descriptions)

    def _probability(self, value: Any, label: str) -> float:
        number = finite_number(value, label=label)
        if not 0 <= number <= 1:
            raise Refused(f"'{label}' is {number:g}; a probability is between 0 and 1.")
        return number


class TextValue(Value[TextSettings, str, str]):
    """UTF-8 text."""

    def read_reference(self, located: Located) -> str:
        return located.text()

    def read_prediction(self, located: Located, expected: ExpectedPrediction[str]) -> str:  # noqa: ARG002  (the interface)
        return located.text()

    def describe(self, reference: str) -> Description:
        doubts = () if reference.strip() else (f"The text '{self.name}' is empty.",)
        return Description(shapes={}, figures={f"{self.name} (words)": len(reference.split())}, doubts=doubts)


@dataclass(frozen=True)
class SurvivalTime:
    """When a case was last seen, and whether the event happened then."""

    time: float
    event: bool


class SurvivalValue(Value[SurvivalSettings, float, SurvivalTime]):
    """The prediction is a risk: the higher, the earlier the event."""

    def read_reference(self, located: Located) -> SurvivalTime:
        keys = (self.settings.time_column, self.settings.event_column)
        row = located.record(keys)
        time, event = (_cell_number(row[key], f"{located.label}: {key}") for key in keys)
        if time < 0 or event not in (0, 1):
            raise Refused(f"'{located.label}' must have a time that is not negative and an event of 0 or 1.")
        return SurvivalTime(time, event == 1)

    def read_prediction(self, located: Located, expected: ExpectedPrediction[SurvivalTime]) -> float:  # noqa: ARG002  (the interface)
        return number_within(located, self.settings.range)

    def facts(self, compared: Compared[float, SurvivalTime]) -> Figures:
        return {
            "time": compared.reference.time,
            "event": int(compared.reference.event),
            "prediction": compared.prediction,
        }

    def describe(self, reference: SurvivalTime) -> Description:
        return Description(
            shapes={},
            categories={f"{self.name}: event": "yes" if reference.event else "no"},
            figures={f"{self.name}: time": reference.time},
        )

    def doubts_about_all(self, descriptions: Sequence[Description]) -> Sequence[str]:
        if any(each.categories[f"{self.name}: event"] == "yes" for each in descriptions):
            return ()
        return [f"No reference of '{self.name}' has an event: the C-index is undefined."]


def number_within(located: Located, bounds: tuple[float, float] | None) -> float:
    """A finite number, Refused outside of the bounds."""
    number = located.number()
    if bounds is not None and not bounds[0] <= number <= bounds[1]:
        raise Refused(f"'{located.label}' is {number:g}; it must be between {bounds[0]:g} and {bounds[1]:g}.")
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
    return finite_number(value, label=label)


def known_class(located: Located, classes: Mapping[str, Any]) -> str:
    """The name of the class that a file means."""
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


def doubts_about_classes(name: str, classes: Sequence[str], descriptions: Sequence[Description]) -> Sequence[str]:
    """One class only, or classes that no reference has."""
    present = {each.categories[name] for each in descriptions}
    if len(present) == 1:
        only = next(iter(present))
        return [f"All references have the class '{only}': figures such as AUROC are undefined."]
    return [f"No reference has the class '{each}'." for each in classes if each not in present]
