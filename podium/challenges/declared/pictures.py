"""Pictures of a declared challenge: figures by region, curves of probabilities and detections, scatter of numbers; and
of a case the outlines of prediction and reference, for an organiser's report."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any

import numpy as np
from numpy.typing import NDArray

from podium.challenges.board import title_of
from podium.challenges.declared.catalogue.base import ChosenMetric, MetricSettings
from podium.challenges.declared.catalogue.regions import RegionMetric
from podium.challenges.declared.files import HDF5_ENDINGS
from podium.challenges.declared.values import AnyValueKind
from podium.challenges.declared.values.labels import LabelsValue
from podium.challenges.ground_truth import Geometries, Shapes
from podium.challenges.pictures import Diagram, FigureGrid, LabelledVolume, Overlay, Picture, Points, slice_overlays
from podium.challenges.samples import CaseImage
from podium.figures import Figures, get
from podium.metrics import Floats
from podium.metrics.detection import FROC_RATES, Candidates
from podium.platform.jobs import case_of
from podium.readers.files import SafeFile
from podium.readers.geometry import Geometry, Shape, differences
from podium.readers.hdf5 import open_hdf5
from podium.readers.images import Image, read_image

_BINS = 10


def pictures_of(
    values: Mapping[str, AnyValueKind], metrics: Sequence[ChosenMetric], rows: Sequence[Figures], aggregates: Figures
) -> Sequence[Picture]:
    """From the published rows and aggregates: what rows do not show is not drawn."""
    found: list[Picture] = [*_grids(values, metrics, aggregates)]
    for name, value in values.items():
        facts = [fact for row in rows if isinstance(fact := row.get(name), Mapping)]
        usable = [fact for fact in facts if fact.get("prediction") is not None]
        if value.settings.kind in _OF_KIND and len(facts) == len(rows) and len(usable) > 1:
            found += _OF_KIND[value.settings.kind](value, usable)
    return [*found, *_of_detections(metrics, rows)]


# Regions


def _grids(
    values: Mapping[str, AnyValueKind], metrics: Sequence[ChosenMetric], aggregates: Figures
) -> Iterator[FigureGrid]:
    """One grid of regions and metrics for every label image with more than one region."""
    for name, value in values.items():
        if value.settings.kind != "labels" or len(value.settings.regions) < 2:
            continue
        columns, directions, figures = [], [], []
        for kind, metric in ((each.kind, each.settings) for each in metrics):
            if not isinstance(kind, RegionMetric) or "" not in kind.figures:
                continue
            means = [_mean(aggregates, metric, name, region) for region in value.settings.regions]
            if any(mean is not None for mean in means):
                columns.append(metric.title or title_of(metric.own_name))
                directions.append(kind.figures[""].direction)
                figures.append(means)
        if columns:
            yield FigureGrid(
                title=f"Means by region: {value.title}",
                corner="Region",
                rows=[region.replace("_", " ") for region in value.settings.regions],
                columns=columns,
                values=[list(row) for row in zip(*figures, strict=True)],
                directions=directions,
            )


def _mean(aggregates: Figures, metric: MetricSettings, value: str, region: str) -> float | None:
    for path in (f"{value}_{region}.mean", f"{region}.mean", f"{value}_{region}", region):
        try:
            found = get(aggregates, f"{metric.own_name}.{path}")
        except (KeyError, TypeError):
            continue
        if isinstance(found, int | float):
            return float(found)
    return None


# Numbers


def _of_numbers(value: AnyValueKind, facts: Sequence[Figures]) -> Iterator[Diagram]:
    pairs = [(float(fact["reference"]), float(fact["prediction"])) for fact in facts]
    unit = f" ({value.settings.unit})" if value.settings.unit else ""
    yield Diagram(
        title=f"Prediction against reference: {value.title}",
        x=f"Reference{unit}",
        y=f"Prediction{unit}",
        dots=pairs,
        diagonal=True,
        caption=f"{len(pairs)} cases; on the line prediction and reference are equal.",
    )
    differences = np.array([found - expected for expected, found in pairs])
    bias, spread = float(differences.mean()), float(differences.std(ddof=1))
    yield Diagram(
        title=f"Bland-Altman: {value.title}",
        x=f"Mean of prediction and reference{unit}",
        y=f"Prediction - reference{unit}",
        dots=[((expected + found) / 2, found - expected) for expected, found in pairs],
        levels={"bias": bias, "bias + 1.96 SD": bias + 1.96 * spread, "bias - 1.96 SD": bias - 1.96 * spread},
        caption=f"The bias is {bias:.3g}; 95 % of the differences are expected within {1.96 * spread:.3g} of it.",
    )


# Probabilities


def _of_probabilities(value: AnyValueKind, facts: Sequence[Figures]) -> Iterator[Diagram]:
    classes = [value.settings.positive] if value.settings.is_binary else list(value.settings.class_table)
    scored = {}
    for name in classes:
        positive = np.array([fact["reference"] == name for fact in facts])
        if positive.any() and not positive.all():
            scored[name] = np.array([fact["prediction"][name] for fact in facts], dtype=np.float64), positive
    for title, x, y, curve, diagonal, caption in _CURVES if scored else ():
        yield Diagram(
            title=f"{title}: {value.title}",
            x=x,
            y=y,
            share=True,
            lines={name: curve(*each) for name, each in scored.items()},
            diagonal=diagonal,
            caption=f"{len(facts)} cases{caption}",
        )


_OF_KIND = {"number": _of_numbers, "probability": _of_probabilities}


def _along(scores: Floats, positive: Any) -> tuple[Floats, Floats]:
    """True and false positives as the threshold falls, cases of equal score together."""
    order = np.argsort(-scores, kind="stable")
    ends = np.flatnonzero(np.append(np.diff(scores[order]) != 0, True))
    hits = np.cumsum(positive[order])[ends]
    return hits.astype(np.float64), (ends + 1 - hits).astype(np.float64)


def _roc(scores: Floats, positive: Any) -> Points:
    hits, misses = _along(scores, positive)
    return [(0.0, 0.0), *zip(misses / misses[-1], hits / hits[-1], strict=True)]


def _precision_recall(scores: Floats, positive: Any) -> Points:
    hits, misses = _along(scores, positive)
    return list(zip(hits / hits[-1], hits / (hits + misses), strict=True))


def _calibration(scores: Floats, positive: Any) -> Points:
    bins = np.minimum((scores * _BINS).astype(int), _BINS - 1)
    return [(float(scores[bins == each].mean()), float(positive[bins == each].mean())) for each in np.unique(bins)]


_CURVES: Sequence[tuple[str, str, str, Callable[[Floats, Any], Points], bool, str]] = (
    ("ROC", "False positive rate", "True positive rate", _roc, True, "; the dashed line is chance."),
    (
        *("Precision and recall", "Recall", "Precision", _precision_recall),
        *(False, ", the threshold falling from left to right."),
    ),
    (
        *("Calibration", "Mean probability", "Share that is true", _calibration),
        *(True, f" in at most {_BINS} bins; the dashed line is perfect calibration."),
    ),
)
"""Title, axes, points, whether there is a diagonal, and what follows the number of cases."""


# Detections


def _of_detections(metrics: Sequence[ChosenMetric], rows: Sequence[Figures]) -> Iterator[Diagram]:
    """The FROC curve of every metric that keeps candidates with probabilities."""
    for kind, metric in ((each.kind, each.settings) for each in metrics):
        if kind.name not in ("froc", "ap"):
            continue
        try:
            facts = [fact for row in rows if (fact := get(row, f"facts.{metric.own_name}"))]
            candidates = Candidates.of(facts)
        except (KeyError, TypeError):
            continue
        findings = int(candidates.references.sum())
        if not findings or not len(candidates.hit) or not candidates.have_probabilities:
            continue
        hits, misses = _along(candidates.probability, candidates.hit)
        rate = misses / len(rows)
        shown = rate <= FROC_RATES[-1]
        if kind.name == "froc":
            yield Diagram(
                title="FROC",
                x="False positives per case",
                y="Sensitivity",
                lines={"all candidates": [(0.0, 0.0), *zip(rate[shown], hits[shown] / findings, strict=True)]},
                caption=f"{findings} findings in {len(rows)} cases, up to {FROC_RATES[-1]:g} false positives per case.",
            )
        else:
            yield Diagram(
                title="Precision and recall of candidates",
                x="Recall",
                y="Precision",
                share=True,
                lines={"all candidates": list(zip(hits / findings, hits / (hits + misses), strict=True))},
                caption=f"{len(candidates.hit)} candidates and {findings} findings in {len(rows)} cases.",
            )


# Outlines of one case. An image is `<case>.<ending>`, with several label images `<case>_<value>.<ending>`, or
# `<value>_img` in `<case>.h5`. Of a volume, `slice_overlays` draws the slice with the most error.

Values = Mapping[str, AnyValueKind]


def _drawn(values: Values) -> Mapping[str, LabelsValue]:
    return {
        name: value for name, value in values.items() if isinstance(value, LabelsValue) and value.settings.is_predicted
    }


def draw_overlays(
    values: Values, case: str, found: Mapping[str, object], expected: Mapping[str, object], images: Sequence[SafeFile]
) -> Sequence[Overlay]:
    """The views of one case, from both of its sides."""
    overlays: list[Overlay] = []
    for name, value in _drawn(values).items():
        if name not in found or name not in expected:
            continue
        theirs, ours = found[name], expected[name]
        assert isinstance(theirs, CaseImage)
        assert isinstance(ours, CaseImage)
        image = _image(values, images, case=case, value=name, grid=(ours.pixels.shape, ours.geometry))
        overlays += slice_overlays(
            LabelledVolume(
                title=title_of(value.title),
                image=image.array if isinstance(image, Image) else image,
                prediction=theirs.pixels,
                reference=ours.pixels,
                regions=value.regions,
                geometry=ours.geometry,
            )
        )
    return overlays


def differing_images(
    values: Values, case: str, shapes: Shapes, geometries: Geometries, images: Sequence[SafeFile]
) -> Sequence[Sequence[str]]:
    """For every image of a case the parts of its header that differ from the reference's."""
    drawn = [name for name in _drawn(values) if name in shapes]
    found = {
        name: _image(values, images, case=case, value=name, grid=(shapes[name], geometries.get(name))) for name in drawn
    }
    return [
        [*differences(image.geometry if isinstance(image, Image) else None, geometries.get(name))]
        for name, image in found.items()
        if image is not None
    ]


def _image(
    values: Values, images: Sequence[SafeFile], *, case: str, value: str, grid: tuple[Shape, Geometry | None]
) -> Image | NDArray[Any] | None:
    """The image that a value was drawn on, if the organiser's folder has it."""
    names = [f"{case}_{value}", case] if len(_drawn(values)) == 1 else [f"{case}_{value}"]
    for file in images:
        name = PurePosixPath(file.name).name
        if name.lower().endswith(HDF5_ENDINGS):
            if name.rpartition(".")[0] in (case, f"{case}_image"):
                with open_hdf5(file) as source:
                    if source.has(f"{value}_img"):
                        return source.read(f"{value}_img", shape=grid[0])
        elif case_of(name) in names:
            return read_image(file, shape=grid[0], onto=grid[1])
    return None
