"""A challenge from its challenge.toml alone: values, metrics, time; figures, leaderboard and ranking are common to all.

See docs/declared.md for the format and docs/metrics.md for the catalogue.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from importlib import import_module
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
from numpy.typing import NDArray

from podium.challenges.base import Challenge, Kind, LabelledVolume, Outlined, Overlay, Overlays, Picture, Scorer
from podium.challenges.board import NO_RULE, title_of
from podium.challenges.declared.catalogue.base import Declared, DeclaredCase, fitting_values
from podium.challenges.declared.catalogue.own import load_own_metrics, of_facts
from podium.challenges.declared.format import DeclaredFormat, Sources
from podium.challenges.declared.located import HDF5_ENDINGS
from podium.challenges.declared.settings import (
    OWN_METRICS,
    DeclaredSettings,
    examine,
    fits_submission,
    metrics_of,
    values_of,
)
from podium.challenges.declared.value_settings import MISSING
from podium.challenges.declared.values import AnyValueKind, ClassValue, Compared, LabelImage, LabelsValue
from podium.challenges.format import METRICS_CODE, Geometries, Shapes, differing_parts
from podium.challenges.settings import CasesSettings
from podium.errors import Refused
from podium.figures import Figures, put
from podium.metrics.classification import confusion_counts
from podium.metrics.declaration import CaseMetric, Scoreboard
from podium.metrics.engines import engine_named
from podium.platform.jobs import case_of
from podium.readers.files import SafeFile
from podium.readers.hdf5 import open_hdf5
from podium.readers.images import Image, read_image

_PACKAGES = {
    "labels": ("scipy.ndimage", "scipy.spatial"),
    "detection_map": ("scipy.optimize",),
    "points": ("scipy.spatial",),
    "image": ("scipy.ndimage",),
}
"""Packages that the metrics of a kind of value import on first use."""


class DeclaredScorer(Scorer[Sources, Mapping[str, object], DeclaredCase]):
    """Reads both sides of a case; the metrics of challenge.toml compare them."""

    def __init__(self, format: DeclaredFormat, settings: DeclaredSettings, declared: Sequence[Declared]) -> None:  # noqa: A002  (the part's name)
        self._format, self._settings, self._declared = format, settings, declared
        self._engine = engine_named(settings.engine)

    def import_packages(self) -> None:
        for kind in {value.settings.kind for value in self._format.values.values()}:
            for package in _PACKAGES.get(kind, ()):
                import_module(package)
        self._engine.import_packages({each.package for each in self._declared})

    def compare(self, prediction: Sources, expected: Mapping[str, object]) -> DeclaredCase:
        warnings: list[str] = []
        found = self._format.read(prediction, expected, warnings)
        return DeclaredCase(values=self._compared(found, expected), warnings=warnings)

    def score_missing(self, expected: Mapping[str, object]) -> DeclaredCase:
        return DeclaredCase(values=self._compared({}, expected))

    def perfect(self, expected: Mapping[str, object]) -> DeclaredCase:
        return self.damaged(expected)[0]

    def damaged(self, expected: Mapping[str, object]) -> Sequence[DeclaredCase]:
        answers = {name: value.answers(expected[name]) for name, value in self._format.values.items()}
        return [
            DeclaredCase(
                values=self._compared({name: each[number % len(each)] for name, each in answers.items()}, expected)
            )
            for number in range(max(map(len, answers.values()), default=0))
        ]

    def try_own_metrics(self, references: Iterable[Mapping[str, object]]) -> Sequence[str]:
        """Metrics of all cases also with a case that has no prediction; the first problem of every line."""
        codes = {each.kind: each for each in self._settings.own_metrics}
        metrics = zip(metrics_of(self._settings), self._declared, strict=True)
        own = [(codes[kind.name], kind, metric, declared) for (kind, metric), declared in metrics if kind.name in codes]
        calls: list[Callable[[], object]] = []
        problems: list[str] = []
        rows: list[list[Figures]] = []
        for expected in references:
            copies = self.damaged(expected)
            figures = [metric.of for _, _, _, declared in own for metric in declared.metrics if metric.of is not None]
            problems += _refusals([partial(figure, copy) for figure in figures for copy in copies])
            rows.append([self.facts(copy) for copy in (*copies, self.score_missing(expected))])
        *whole, missing = zip(*rows, strict=True)
        for each in (*whole, (missing[0], *whole[0][1:])):
            for code, kind, metric, _ in own:
                for name in fitting_values(kind, metric, self._format.values)[0] if code.scope == "cohort" else ():
                    facts = [row[name] for row in each]
                    used = [fact for fact in facts if metric.failed != "exclude" or fact["prediction"] is not None]
                    calls.append(partial(of_facts, code, used))
        problems += _refusals(calls)
        return list({problem.partition(" raises ")[0]: problem for problem in reversed(problems)}.values())

    def facts(self, case: DeclaredCase) -> Figures:
        values = self._format.values.items()
        row: dict[str, Any] = {
            name: facts for name, value in values if (facts := value.facts(case.values[name])) is not None
        }
        for declared in self._declared:
            for path, fact in declared.facts.items():
                put(row, path, fact(case))
        return row

    def warnings(self, case: DeclaredCase) -> Sequence[str]:
        return case.warnings

    def _compared(
        self, found: Mapping[str, object], expected: Mapping[str, object]
    ) -> Mapping[str, Compared[Any, Any]]:
        return {name: Compared(prediction=found.get(name), reference=expected[name]) for name in self._format.values}


def _refusals(calls: Sequence[Callable[[], object]]) -> Iterator[str]:
    for call in calls:
        try:
            call()
        except Refused as refusal:
            yield refusal.detail or str(refusal)


def declare(settings: DeclaredSettings) -> Sequence[Declared]:
    """What every metric of challenge.toml adds."""
    values = values_of(settings)
    declared = []
    for number, (kind, metric) in enumerate(metrics_of(settings)):
        chosen, _ = fitting_values(kind, metric, values)
        declared.append(kind.gated(kind.declare(metric, chosen, engine_named(settings.engine)), metric, number))
    return declared


def scoreboard(settings: DeclaredSettings, declared: Sequence[Declared]) -> Scoreboard[DeclaredCase]:
    """Every figure of the metrics, of the classes and of the time."""
    values = values_of(settings)
    classes = {name: value for name, value in values.items() if isinstance(value, ClassValue)}
    given = settings.time.figures() if settings.time is not None else ()
    return Scoreboard(
        metrics=[*(metric for each in declared for metric in each.metrics), *map(_correct, classes.values())],
        cohort_metrics=[metric for each in declared for metric in each.cohort_metrics],
        formulas=[formula for each in declared for formula in each.formulas],
        tables={
            "confusion_matrix" if len(classes) == 1 else f"confusion_matrix.{name}": _confusion(value)
            for name, value in classes.items()
        },
        given=given,
        leaderboard=[
            *(path for each in declared for path in each.columns),
            *(figure.path for figure in given if figure.title),
        ],
    )


def confidential(settings: DeclaredSettings, declared: Sequence[Declared]) -> Sequence[str]:
    """The parts of a row that reveal a reference: facts of values, and figures that do so with one's own prediction."""
    values = values_of(settings)
    scalar = [name for name, value in values.items() if value.settings.kind not in ("labels", "image")]
    return [*scalar, "facts", *(path for each in declared for path in each.confidential)]


def _correct(value: AnyValueKind) -> CaseMetric[DeclaredCase]:
    """Whether a case's class is right: a per-case figure for ranking, whichever metrics the challenge has."""

    def of(case: DeclaredCase) -> int:
        compared = case.values[value.name]
        return int(compared.prediction == compared.reference)

    return CaseMetric(
        name=f"{value.name}.correct",
        title=f"{title_of(value.name)} correct",
        direction="higher",
        highest=1,
        worst=0,
        of=of,
        mean="",
        std="",
    )


def _confusion(value: ClassValue) -> Callable[[Sequence[Figures]], Figures]:
    def table(rows: Sequence[Figures]) -> Figures:
        names = list(value.settings.classes)
        counts = confusion_counts(
            truth=[names.index(row[value.name]["reference"]) for row in rows],
            predicted=[
                None if (found := row[value.name]["prediction"]) is None else names.index(found) for row in rows
            ],
            classes=range(len(names)),
        )
        return {
            names[true]: {MISSING if found is None else names[found]: number for found, number in row.items()}
            for true, row in counts.items()
        }

    return table


# Pictures for an organiser's report.


class DeclaredOverlays(Overlays[Sources, Sources]):
    """Outlines of prediction and reference for every label image.

    An image is `<case>.<ending>`, with several label images `<case>_<value>.<ending>`, or `<value>_img` in
    `<case>.h5`. Of a volume the slice with the largest reference is drawn.
    """

    def __init__(self, format: DeclaredFormat) -> None:  # noqa: A002  (the part's name everywhere)
        self._format = format
        self._values = {
            name: value
            for name, value in format.values.items()
            if isinstance(value, LabelsValue) and value.settings.is_predicted
        }

    def draw(self, case: str, prediction: Sources, reference: Sources, images: Sequence[SafeFile]) -> Sequence[Overlay]:
        expected = self._format.read_reference(reference)
        found = self._format.read(prediction, expected, [])
        overlays = []
        for name, value in self._values.items():
            theirs, ours = found[name], expected[name]
            assert isinstance(theirs, LabelImage)
            assert isinstance(ours, LabelImage)
            found_image = self._image(images, case=case, value=name, shape=ours.labels.shape)
            image = found_image.array if isinstance(found_image, Image) else found_image
            numbers = [number for each in value.regions.values() for number in each]
            at = _shown_slice(ours.labels, theirs.labels, numbers)
            shown = ... if at is None else at
            rows, columns = ours.spacing[-2:]
            whole = LabelledVolume(
                title=title_of(value.title),
                image=image,
                prediction=theirs.labels,
                reference=ours.labels,
                regions=value.regions,
                geometry=ours.geometry,
            )
            overlays.append(
                Overlay(
                    title=f"{title_of(value.title)}{'' if at is None else f', slice {at + 1} of {len(ours.labels)}'}",
                    image=None if image is None else image[shown],
                    layers={
                        region: Outlined(
                            prediction=np.isin(theirs.labels[shown], numbers),
                            reference=np.isin(ours.labels[shown], numbers),
                        )
                        for region, numbers in value.regions.items()
                    },
                    aspect=rows / columns,
                    pixel_mm=None if ours.geometry is None else columns,
                    volume=None if at is None else whole,
                )
            )
        return overlays

    def check_images(
        self, case: str, shapes: Shapes, geometries: Geometries, images: Sequence[SafeFile]
    ) -> Sequence[Sequence[str]]:
        found = {name: self._image(images, case=case, value=name, shape=shapes[name]) for name in self._values}
        return [
            differing_parts(image.geometry if isinstance(image, Image) else None, geometries.get(name))
            for name, image in found.items()
            if image is not None
        ]

    def _image(
        self, images: Sequence[SafeFile], *, case: str, value: str, shape: tuple[int, ...]
    ) -> Image | NDArray[Any] | None:
        """The image that a value was drawn on, if the organiser's folder has it."""
        names = [f"{case}_{value}", case] if len(self._values) == 1 else [f"{case}_{value}"]
        for file in images:
            name = PurePosixPath(file.name).name
            if name.lower().endswith(HDF5_ENDINGS):
                if name.rpartition(".")[0] in (case, f"{case}_image"):
                    with open_hdf5(file) as source:
                        if source.has(f"{value}_img"):
                            return source.read(f"{value}_img", shape=shape)
            elif case_of(name) in names:
                return read_image(file, shape=shape)
        return None


def _shown_slice(reference: NDArray[Any], prediction: NDArray[Any], numbers: Sequence[int]) -> int | None:
    """Of a volume, the slice where the reference is largest, else the prediction; None for a picture."""
    if reference.ndim == 2:
        return None
    for labels in (reference, prediction):
        areas = [int(np.count_nonzero(np.isin(part, numbers))) for part in labels]
        if any(areas):
            return areas.index(max(areas))
    return len(reference) // 2


def _pictures(settings: DeclaredSettings, rows: Sequence[Figures], aggregates: Figures) -> Sequence[Picture]:
    from podium.challenges.declared.pictures import pictures_of  # an evaluation draws nothing

    return pictures_of(settings, rows, aggregates)


# The challenge itself.


def build(name: str, cases: CasesSettings, settings: DeclaredSettings) -> Challenge[DeclaredSettings, Sources, Sources]:
    """The challenge that these settings describe."""
    files = DeclaredFormat(cases, settings)
    declared = declare(settings)
    metrics = metrics_of(settings)
    computed_by = {metric.own_name: each.package for (_, metric), each in zip(metrics, declared, strict=True)}
    time = settings.time
    return Challenge(
        name=name,
        kind=DECLARED.name,
        cases=cases,
        settings=settings,
        format=files,
        scorer=DeclaredScorer(files, settings, declared),
        scoreboard=scoreboard(settings, declared),
        ranking=NO_RULE,
        overlays=DeclaredOverlays(files),
        confidential=confidential(settings, declared),
        given=time.team_figures if time is not None else None,
        pictures=lambda rows, aggregates: _pictures(settings, rows, aggregates),
        computed_by=computed_by,
        provisional=("time_score",) if time is not None and time.rule == "cohort" else (),
        cohort_given=time.cohort_figures if time is not None else None,
    )


def load_own_code(folder: Path) -> Mapping[str, Any]:
    """The table that metrics.py in a challenge's folder adds, if there is one."""
    path = folder / METRICS_CODE
    return {OWN_METRICS: load_own_metrics(path)} if path.is_file() else {}


DECLARED: Kind[Any] = Kind(
    name="declared",
    settings_model=DeclaredSettings,
    build=build,
    tables=("values", "metrics", "time", OWN_METRICS),
    own_code=load_own_code,
    code_tables=(OWN_METRICS,),
    examine=examine,
    fits_submission=fits_submission,
    format_settings=None,
)
