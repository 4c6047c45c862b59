"""The catalogue of landmarks: points that are found by their names."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Annotated

import numpy as np
from pydantic import Field

from podium.challenges.declared.catalogue.base import CaseValueMetric, DeclaredCase, MetricSettings, OfCase
from podium.challenges.declared.values import AnyValueKind, Compared, Places
from podium.challenges.settings import Positive
from podium.metrics import Floats
from podium.metrics.declaration import Figure


class DetectionRateSettings(MetricSettings):
    """`radii_mm`: up to which distances a landmark counts as found, in the unit of the value: a figure for each."""

    radii_mm: Annotated[tuple[Positive, ...], Field(min_length=1)]


def _distances(case: DeclaredCase, value: AnyValueKind) -> Floats:
    """Of every landmark of the reference; infinite where its name is missing. Without z on one side, z is left out."""
    compared: Compared[Places, Places] = case.values[value.name]
    distances = []
    for name, place in compared.reference.items():
        found = compared.found.get(name)
        axes = len(place) if found is None else min(len(place), len(found))
        distances.append(np.inf if found is None else float(np.linalg.norm(place[:axes] - found[:axes])))
    return np.array(distances)


def _mean_error(case: DeclaredCase, value: AnyValueKind, settings: MetricSettings) -> float:
    """A landmark is never worse than a missing one."""
    assert isinstance(settings.failed, int | float), "checked: there is no worst value"
    return float(np.minimum(_distances(case, value), settings.failed).mean())


def _detected(case: DeclaredCase, value: AnyValueKind, _: MetricSettings, *, radius: float) -> float:
    return float((_distances(case, value) <= radius).mean())


def _rates(settings: DetectionRateSettings) -> Mapping[str, OfCase]:
    return {f"at_{radius:g}".replace(".", "_"): partial(_detected, radius=radius) for radius in settings.radii_mm}


METRICS: Sequence[CaseValueMetric] = (
    CaseValueMetric(
        name="mre",
        definition="mean radial error: the mean distance of a case's landmarks, each at most `failed`, which is also "
        "that of a missing name",
        compares=("landmarks",),
        figure=Figure(title="MRE", direction="lower"),
        reveals_reference=True,
        compute=_mean_error,
    ),
    CaseValueMetric(
        name="sdr",
        definition="successful detection rate: the share of a case's landmarks at most so far away",
        compares=("landmarks",),
        settings_model=DetectionRateSettings,
        figure=Figure(title="SDR", direction="higher", highest=1.0),
        reveals_reference=True,
        has_unit=False,
        worst=lambda _, __: 0.0,
        several=_rates,
    ),
)
