"""The `[carotid]` table of challenge.toml: the published rules of CSV 2026, with their published values as defaults."""

import math
from typing import Annotated, Literal, Self

from pydantic import Field, StrictInt, model_validator

from podium.challenges.settings import Name, NonNegative, Positive, Settings, Text


def _check_sum(total: float) -> None:
    if not math.isclose(total, 1.0, abs_tol=1e-9):
        raise ValueError(f"the weights must sum to 1, not {total:g}")


class Weights(Settings):
    """How the three scores make the total."""

    classification: NonNegative = 0.4
    segmentation: NonNegative = 0.4
    time: NonNegative = 0.2

    @model_validator(mode="after")
    def _sum_to_one(self) -> Self:
        _check_sum(self.classification + self.segmentation + self.time)
        return self


class StructureWeights(Settings):
    """How the two structures make a view's score."""

    vessel: NonNegative = 0.4
    plaque: NonNegative = 0.6

    @model_validator(mode="after")
    def _sum_to_one(self) -> Self:
        _check_sum(self.vessel + self.plaque)
        return self


class LabelValues(Settings):
    """One spelling of a mask's values."""

    background: Annotated[StrictInt, Field(ge=0)]
    plaque: Annotated[StrictInt, Field(ge=0)]
    vessel: Annotated[StrictInt, Field(ge=0)]

    @model_validator(mode="after")
    def _differ(self) -> Self:
        if len(self.values) != 3:
            raise ValueError("background, plaque and vessel must have different values")
        return self

    @property
    def values(self) -> frozenset[int]:
        return frozenset((self.background, self.plaque, self.vessel))


class TimeRule(Settings):
    """`fixed`: the ISBI document; `cohort`: the challenge site, final only once all teams' times are known.

    `clock` is the one that counts: jobs that were measured by the other are then an error.
    """

    rule: Literal["fixed", "cohort"] = "fixed"
    baseline_seconds: Positive
    clock: Literal["exec", "invoke", "any"] = "any"


class RiskClass(Settings):
    """A class a case may have, and its name in metrics.json."""

    value: StrictInt
    name: Name


class CarotidSockets(Settings):
    """`[carotid.sockets]`: the slugs of an algorithm's outputs."""

    longitudinal: Text = "carotid-longitudinal-segmentation"
    transverse: Text = "carotid-transverse-segmentation"
    risk_class: Text = "plaque-vulnerability"


class CarotidSettings(Settings):
    """The `[carotid]` table of challenge.toml."""

    sockets: CarotidSockets = CarotidSockets()
    tolerance_px: NonNegative = 3.0
    both_empty: Annotated[NonNegative, Field(le=1)] = 1.0
    classes: Annotated[tuple[RiskClass, ...], Field(min_length=1)] = (
        RiskClass(value=0, name="low_risk"),
        RiskClass(value=1, name="high_risk"),
    )
    label_values: Annotated[tuple[LabelValues, ...], Field(min_length=1)] = (
        LabelValues(background=0, plaque=1, vessel=2),
        LabelValues(background=0, plaque=128, vessel=255),
    )
    weights: Weights = Weights()
    structure_weights: StructureWeights = StructureWeights()
    time: TimeRule

    @model_validator(mode="after")
    def _classes_differ(self) -> Self:
        values = {risk.value for risk in self.classes}
        names = {risk.name for risk in self.classes}
        if not len(values) == len(names) == len(self.classes) or "missing" in names:
            raise ValueError("classes must have different values and names, and none may be called 'missing'")
        return self

    @property
    def class_values(self) -> tuple[int, ...]:
        return tuple(risk.value for risk in self.classes)
