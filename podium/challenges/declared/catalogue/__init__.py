"""The metrics that `[[metrics]]` may name, by kind and by the kind of value that they compare."""

import inspect
import json
from collections.abc import Collection, Iterator, Sequence
from importlib import import_module
from itertools import groupby
from typing import Any

from podium.challenges.declared.catalogue.base import (
    CaseValueMetric,
    CohortValueMetric,
    MetricKind,
    MetricSettings,
    joined_path,
)
from podium.challenges.declared.catalogue.regions import RegionMetric, RegionSettings
from podium.metrics.declaration import Figure
from podium.metrics.engines import engine_named

_MODULES = {
    "labels": "labels",
    "class": "classes",
    "probability": "classes",
    "points": "detections",
    "boxes": "detections",
    "detection_map": "detections",
    "number": "numbers",
    "image": "numbers",
    "text": "numbers",
    "survival": "numbers",
}
"""The module with the metrics of every kind of value."""


def metric_kinds(value_kinds: Collection[str] = tuple(_MODULES)) -> Sequence[MetricKind]:
    """The metrics in the modules of these kinds of values; no other module is imported."""
    modules = dict.fromkeys(module for kind, module in _MODULES.items() if kind in value_kinds)
    return [metric for module in modules for metric in import_module(f"{__name__}.{module}").METRICS]


def metric_names() -> Sequence[str]:
    """Of all metrics, each once; several kinds of values share names such as f1."""
    return list(dict.fromkeys(kind.name for kind in metric_kinds()))


# docs/metrics.md: the catalogue as a page, so that no metric can be there without being documented.
#
# python -c "from podium.challenges.declared.catalogue import page; print(page(), end='')" > docs/metrics.md

_HEAD = """\
# The metrics of `[[metrics]]`

P is the prediction, G the reference. This page is generated from the catalogue in the code.
[declared.md](declared.md#metrics) has the keys that every metric takes. Metrics "per case" publish `.mean`, `.std`,
`.median` and `.n` over the cases. Metrics of "all cases" publish one figure, which is computed again for every
bootstrap replicate. Metrics of labels have a figure for every region, and `<name>.mean` and `<name>.region_mean` over
the regions.

"Empty" is the figure where both sides, only P, or only G are empty; "formula" is what the definition gives there.

A case without a usable prediction gets the worst value, unless `failed` says otherwise: 0 for shares, the diagonal of
the image for distances, for numbers the end of `range` that is further from the reference. For numbers without a
`range`, `failed` is required.

"By" is the package that computes a metric under `engine = "monai"`, the default. Under `engine = "native"` Podium's own
code takes the place of MONAI and scikit-learn and gives the same figures to within 1e-6
([engines](organisers.md#engines)). Bootstrap replicates are always computed by Podium's own code. Surface elements
(`boundary = "surface"`), pooled percentiles (`combine = "pooled"`), pooled counts (`over = "pooled"`) and weighted
kappa with missing answers have one implementation, Podium's. `metrics.json` says under `computed_by` what computed each
metric, with versions. The confusion matrix is that of grand-challenge-metrics, which was called evalutils before its
version 0.6.
"""
_WHEN_ABSENT = {
    "tolerance_mm": "required, unless `tolerance_px` is given, or `tolerances_mm` for every region",
    "tolerance_px": "required, unless there are tolerances in mm",
    "min_predicted_voxels": "that of `min_voxels`",
    "miss_mm": "`lesion_hd95` is not computed",
    "threshold": "`0.5` for the probability of one class; of several classes the most probable counts",
    "positive": "that of the value",
    "match": "`distance` for points, `iou` for boxes and detection maps",
    "radius_mm": "required for points in mm",
    "radius_px": 'required for points with `unit = "index"`',
    "threshold of candidates": "required for boxes; `0.1` for detection maps",
    "probability_threshold": "all candidates count",
    "data_range": "required, unless the value has a `range`",
}
"""What holds where a key is not given that has no default of its own."""


def page() -> str:
    """The whole page."""
    parts = [_HEAD]
    for compares, kinds in groupby(metric_kinds(), key=lambda kind: kind.compares):
        parts.append(f"## {' and '.join(compares)}\n")
        parts.append("| kind | definition | by | figure | of | better | from | to | empty | further keys |")
        parts.append("| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |")
        group = list(kinds)
        parts += [row for kind in group for row in _rows(kind)]
        parts.append("")
        parts += _keys(group)
    return "\n".join(parts).rstrip() + "\n"


def _rows(kind: MetricKind) -> Iterator[str]:
    keys = ", ".join(f"`{name}`" for name in _own_keys(kind.settings_model))
    definition = kind.definition.replace("|", r"\|")
    package = kind.computed_by(kind.settings_model.model_construct(kind=kind.name), engine_named("monai"))
    for number, (name, figure) in enumerate(_figures(kind)):
        cells = [
            f"`{kind.name}`" if number == 0 else "",
            definition if number == 0 else "",
            package if number == 0 else "",
            f"`{joined_path(kind.name, '<region>' * isinstance(kind, RegionMetric), name)}`",
            "all cases" if isinstance(kind, CohortValueMetric) or getattr(kind, "only_pooled", False) else "per case",
            figure.direction,
            f"{figure.lowest:g}",
            f"{figure.highest:g}{' ' + figure.unit if figure.unit else ''}",
            _empty(figure),
            keys if number == 0 else "",
        ]
        yield "| " + " | ".join(cells) + " |"


def _figures(kind: MetricKind) -> Sequence[tuple[str, Figure]]:
    if isinstance(kind, RegionMetric):
        return list(kind.figures.items())
    assert isinstance(kind, CaseValueMetric | CohortValueMetric)
    return [("", kind.figure)]


def _empty(figure: Any) -> str:
    if not hasattr(figure, "both_empty"):
        return ""
    given = (figure.both_empty, figure.prediction_empty, figure.reference_empty)
    return " / ".join(f"{each:g}" if isinstance(each, float) else each for each in given)


def _keys(kinds: Sequence[MetricKind]) -> Iterator[str]:
    """What the keys mean, as the settings' own words say."""
    models = dict.fromkeys(kind.settings_model for kind in kinds if _own_keys(kind.settings_model))
    for model in models:
        named = ", ".join(f"`{kind.name}`" for kind in kinds if kind.settings_model is model)
        yield f"Keys of {named}:\n"
        inherited = [each for each in reversed(model.__mro__) if each.__name__.endswith("Settings")]
        for each in inherited:
            if issubclass(each, MetricSettings) and each not in (MetricSettings, RegionSettings):
                words = inspect.cleandoc(each.__doc__ or "")
                yield f"{words}\n" if words.startswith("`") else f"```text\n{words}\n```\n"
        yield "Defaults:\n\n" + "".join(f"- `{name}`: {_shown(name, model)}\n" for name in _own_keys(model))


def _own_keys(model: type[MetricSettings]) -> Sequence[str]:
    """What a metric's table may hold beside what every metric, or every metric of regions, has."""
    common = RegionSettings if issubclass(model, RegionSettings) else MetricSettings
    return [name for name in model.model_fields if name not in common.model_fields]


def _shown(name: str, model: type[MetricSettings]) -> str:
    field = model.model_fields[name]
    if field.is_required():
        return "required"
    if field.default is None:
        return _WHEN_ABSENT["threshold of candidates" if name == "threshold" and "match" in _own_keys(model) else name]
    return f"`{json.dumps(field.default)}`"
