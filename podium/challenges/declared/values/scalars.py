"""Numbers, survival times and texts."""
# ruff: noqa: ARG002  (not every kind needs all arguments of the interface)

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from pydantic import Field

from podium.challenges.declared.files import ExpectedPrediction, Located, cell_number
from podium.challenges.declared.values import LARGEST_VALUE, Compared, Range, Value, ValueSettings, categories_of
from podium.challenges.ground_truth import Description
from podium.challenges.settings import Text
from podium.errors import Refused
from podium.figures import Figures


class NumberSettings(ValueSettings):
    """A finite number. `range` are the values that it may have."""

    sockets = ("Float", "Integer")
    to_fill_in = ('unit = "ml"', "range = [0, 100]")
    words = "a finite number"

    kind: Literal["number"]
    unit: str = ""
    range: Range | None = None


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

    @property
    def reference_table_columns(self) -> Sequence[str]:
        return (self.time_column, self.event_column)


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
        keys = self.settings.reference_table_columns
        row = located.record(keys)
        time, event = (cell_number(row[key], f"{located.label}: {key}") for key in keys)
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
        if "yes" in categories_of(descriptions, f"{self.name}: event"):
            return ()
        return [f"No reference of '{self.name}' has an event: the C-index is undefined."]


def number_within(located: Located, bounds: tuple[float, float] | None) -> float:
    """A finite number, Refused outside of the bounds."""
    number = located.number()
    bounds = bounds or (-LARGEST_VALUE, LARGEST_VALUE)
    if not bounds[0] <= number <= bounds[1]:
        raise Refused(f"'{located.label}' is {number:g}; it must be between {bounds[0]:g} and {bounds[1]:g}.")
    return number


KINDS = {
    "number": (NumberSettings, NumberValue),
    "text": (TextSettings, TextValue),
    "survival": (SurvivalSettings, SurvivalValue),
}
