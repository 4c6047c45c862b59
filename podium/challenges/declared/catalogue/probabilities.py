"""The catalogue of probabilities."""

import math
from collections.abc import Callable
from functools import partial
from typing import Annotated, Any

import numpy as np
from pydantic import Field, StrictInt

from podium.challenges.declared.catalogue.base import Figure, MetricSettings
from podium.challenges.declared.catalogue.cohort import CohortValueMetric, Compute, Facts
from podium.challenges.declared.values import AnyValueKind
from podium.metrics import classification as probability
from podium.metrics.classification import class_codes
from podium.metrics.resampling import Floats, Resamples


class EceSettings(MetricSettings):
    """`bins`: how many equal parts of 0 to 1."""

    bins: Annotated[StrictInt, Field(gt=0)] = 15


def arrays(facts: Facts, settings: MetricSettings, value: AnyValueKind) -> tuple[Floats, Any, Any]:
    """Probabilities `[case]` or `[case, class]`, what is true, and which cases count.

    A missing probability is the worst one, unless `failed` gives a number or leaves the case out.
    """
    classes = list(value.settings.class_table)
    codes = class_codes([fact["reference"] for fact in facts], classes=classes)
    rows = [[_of(fact["prediction"], name) for name in classes] for fact in facts]
    prediction = np.array(rows, dtype=np.float64).reshape(len(facts), len(classes))
    reference: Any = codes
    if value.settings.is_binary:
        positive = classes.index(value.settings.positive)
        prediction, reference = prediction[:, positive], codes == positive
    kept = ~np.isnan(prediction.reshape(len(facts), -1)).any(axis=1)
    if settings.failed == "exclude":
        return prediction[kept], reference[kept], kept
    if isinstance(settings.failed, int | float):
        prediction = np.where(np.isnan(prediction), float(settings.failed), prediction)
    return probability.with_worst(prediction=prediction, reference=reference), reference, np.ones_like(kept)


def _of(prediction: Any, name: str) -> float:
    return math.nan if prediction is None else prediction[name]


def _with(function: Callable[..., Floats], *options: str) -> Callable[[str, MetricSettings, AnyValueKind], Compute]:
    """A function of probabilities and truth, with these options of the metric."""

    def compute(_: str, settings: MetricSettings, value: AnyValueKind) -> Compute:
        def of(facts: Facts, resamples: Resamples) -> Floats:
            prediction, reference, kept = arrays(facts, settings, value)
            more = {option: getattr(settings, option) for option in options}
            return function(prediction=prediction, reference=reference, resamples=resamples.only(kept), **more)

        return of

    return compute


_metric = partial(CohortValueMetric, compares=("probability",))
PROBABILITY_METRICS = (
    _metric(
        name="auroc",
        definition="area under the ROC curve; of several classes the mean of each one against the rest",
        figure=Figure(title="AUROC", direction="higher", highest=1.0),
        compute=_with(probability.auroc),
    ),
    _metric(
        name="average_precision",
        definition="sum over thresholds of the rise of recall times precision",
        figure=Figure(title="AP", direction="higher", highest=1.0),
        compute=_with(probability.average_precision),
    ),
    _metric(
        name="brier",
        definition="mean squared error of the probabilities",
        figure=Figure(title="Brier score", direction="lower", highest=2.0),
        compute=_with(probability.brier),
    ),
    _metric(
        name="log_loss",
        definition="- mean of log p(true class)",
        figure=Figure(title="Log loss", direction="lower"),
        compute=_with(probability.log_loss),
    ),
    _metric(
        name="ece",
        definition="mean over bins of |mean probability - share that is true|, weighted by their cases",
        settings_model=EceSettings,
        figure=Figure(title="ECE", direction="lower", highest=1.0),
        compute=_with(probability.ece, "bins"),
    ),
)
