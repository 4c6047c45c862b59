"""One class per kind of value."""

from collections.abc import Mapping
from typing import Any

from podium.challenges.declared.value_settings import ValueSettings
from podium.challenges.declared.values.base import AnyValueKind, Compared, Value
from podium.challenges.declared.values.detections import DetectionMapValue, PointsValue
from podium.challenges.declared.values.images import ImageValue
from podium.challenges.declared.values.labels import LabelsValue
from podium.challenges.declared.values.scalars import (
    ClassValue,
    NumberValue,
    ProbabilityValue,
    SurvivalValue,
    TextValue,
)

__all__ = ["KINDS_WITH_FACTS", "VALUE_KINDS", "AnyValueKind", "Compared", "Value", "make_value"]

VALUE_KINDS: Mapping[str, type[Value[Any, Any, Any]]] = {
    "labels": LabelsValue,
    "image": ImageValue,
    "number": NumberValue,
    "class": ClassValue,
    "probability": ProbabilityValue,
    "detection_map": DetectionMapValue,
    "points": PointsValue,
    "boxes": PointsValue,
    "text": TextValue,
    "survival": SurvivalValue,
}
KINDS_WITH_FACTS = ("number", "class", "probability", "survival")
"""Of these a row keeps both sides, under the name of the value."""


def make_value(name: str, settings: ValueSettings) -> AnyValueKind:
    """The value of these settings."""
    return VALUE_KINDS[settings.kind](name, settings)
