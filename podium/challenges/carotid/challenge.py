"""CSV 2026: carotid plaque segmentation and vulnerability (Dice, NSD, F1, time).

One case is two views of one plaque, two masks and one class; see docs/carotid.md for the rules and their sources.
"""

import math
import re
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path, PurePosixPath
from typing import Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray

from podium.challenges.base import Challenge, Collected, Shapes, pair_once
from podium.challenges.carotid.settings import CarotidSettings, Weights
from podium.challenges.ground_truth import list_references
from podium.challenges.overlay import Outlined, Overlay
from podium.challenges.ranking_rule import Criterion, RankingRule
from podium.challenges.settings import Settings
from podium.errors import GroundTruthError, Refused
from podium.metrics.averages import mean_and_std, mean_of
from podium.metrics.classification import confusion_counts, f1_by_class
from podium.metrics.crop import crop_to_union
from podium.metrics.declaration import Metric
from podium.metrics.overlap import dice
from podium.metrics.policy import POLICIES
from podium.metrics.resampling import Floats, Resamples
from podium.metrics.surface import surface_dice
from podium.metrics.time_score import cohort_bounds, fixed_bounds, widest_cohort_bounds
from podium.platform.jobs import Job
from podium.platform.leaderboard import Column
from podium.platform.names import case_of, is_ignored_file, normalize_nfc
from podium.platform.results import CaseResult, CaseScore, Figures, Unmatched, get, put
from podium.platform.runtime import TIMING_FILE, Timing, file_timing, job_timing
from podium.platform.submission import Submission, SubmissionNames
from podium.readers.files import SafeFile
from podium.readers.hdf5.file import open_hdf5
from podium.readers.images import read_image
from podium.readers.labels import as_integer_labels

Number = TypeVar("Number", float, Floats)

VIEWS = {"long": "long_mask", "trans": "trans_mask"}  # view -> its dataset in the .h5 files
STRUCTURES = ("vessel", "plaque")
_VIEW_TITLES = {"long": "Longitudinal view", "trans": "Transverse view"}
CLASS_DATASET = "cls"

VIEW_SOCKETS = {"long": "carotid-longitudinal-segmentation", "trans": "carotid-transverse-segmentation"}
CLASS_SOCKET = "plaque-vulnerability"
CASE_SOCKET = "carotid-longitudinal-ultrasound"

_REFERENCE_NAME = re.compile(r"(?P<case>[^/]+)_label\.h5")
_PREDICTION_SUFFIXES = ("_pred", "", "_label")
_BYTES_A_PIXEL = 8  # a mask saved as float64 or int64 is wasteful but honest
_BYTES_A_CASE = 1_000_000  # headers, chunk padding, attributes


@dataclass(frozen=True)
class CarotidPrediction:
    """Where one case's answer lies: one .h5 file, or the outputs of one job."""

    source: SafeFile | Job


@dataclass(frozen=True)
class CarotidContent:
    """One case read: a mask for every (view, structure), and the class."""

    masks: Mapping[tuple[str, str], NDArray[np.bool_]]
    risk_class: int


def _figures(family: str) -> dict[tuple[str, str], str]:
    """The four figures of a family (`dice`, `nsd`) by (view, structure)."""
    return {(view, structure): f"{family}.{view}_{structure}" for view in VIEWS for structure in STRUCTURES}


_DICE = _figures("dice")
_NSD = _figures("nsd")


def _declare() -> tuple[Metric, ...]:
    views = {"long": "longitudinal", "trans": "transverse"}
    families = {"dice": ("Dice", _DICE), "nsd": ("NSD", _NSD)}
    segmentation = [
        Metric(
            name=name,
            title=f"{title} {structure} ({views[view]})",
            direction="higher",
            lowest=0.0,
            highest=1.0,
            worst=POLICIES[family].failed,
        )
        for family, (title, names) in families.items()
        for (view, structure), name in names.items()
    ]
    score = Metric(
        name="segmentation_score", title="Segmentation", direction="higher", lowest=0.0, highest=1.0, worst=0.0
    )
    correct = Metric(name="class_correct", title="Class correct", direction="higher", lowest=0, highest=1, worst=0)
    return (*segmentation, score, correct)


_METRICS = _declare()


class Carotid(Challenge[CarotidPrediction, SafeFile]):
    """Carotid plaque segmentation and vulnerability assessment."""

    name: ClassVar[str] = "carotid"
    settings_model: ClassVar[type[Settings]] = CarotidSettings
    output_sockets: ClassVar[frozenset[str]] = frozenset((*VIEW_SOCKETS.values(), CLASS_SOCKET))
    format_settings: ClassVar[Mapping[str, Any]] = {"time": {"baseline_seconds": 1.0}}

    def __init__(self, settings: CarotidSettings) -> None:
        self.settings = settings

    @classmethod
    def recognises(cls, names: SubmissionNames) -> bool:
        return bool(names.output_sockets & cls.output_sockets) or any(
            name.lower().endswith(("_pred.h5", "_label.h5")) for name in names.files
        )

    @property
    def metrics(self) -> Sequence[Metric]:
        return _METRICS

    @property
    def confidential_figures(self) -> Sequence[str]:
        # Right or wrong, together with one's own answer, is the true class.
        return ("class_correct", "true_class", "predicted_class")

    @classmethod
    def columns(cls) -> Sequence[Column]:
        return (
            Column(path="score", title="Score (0-100)", direction="higher", headline=True),
            Column(path="classification_score", title="Classification", direction="higher", headline=True),
            Column(path="segmentation_score", title="Segmentation", direction="higher", headline=True),
            Column(path="time_score", title="Time", direction="higher", headline=True),
            Column(path="score_without_time", title="Score without time", direction="higher"),
            Column(path="total_seconds", title="Seconds", direction="lower"),
            *(
                Column(
                    path=f"{metric.name}.mean",
                    title=metric.title,
                    direction=metric.direction,
                    error_path=f"{metric.name}.std",
                )
                for metric in _METRICS
                if metric.name.startswith(("dice.", "nsd."))
            ),
        )

    def import_heavy_packages(self) -> None:
        for package in ("monai.metrics.meandice", "monai.metrics.utils", "sklearn.metrics"):
            import_module(package)

    # Finding and pairing

    def find_references(self, folder: Path) -> Mapping[str, SafeFile]:
        references: dict[str, SafeFile] = {}
        for file in list_references(folder):
            match = _REFERENCE_NAME.fullmatch(file.name)
            if match is None:
                raise GroundTruthError("A reference is not named <case>_label.h5.", detail=f"references/{file.name}")
            references[normalize_nfc(match["case"])] = file
        return references

    def reference_files(self, reference: SafeFile) -> Sequence[SafeFile]:
        return (reference,)

    def collect(self, submission: Submission, cases: Collection[str] | None) -> Collected[CarotidPrediction]:
        if submission.is_algorithm:
            return self._collect_jobs(submission, cases)
        return self._collect_files(submission, cases)

    def _collect_jobs(self, submission: Submission, cases: Collection[str] | None) -> Collected[CarotidPrediction]:
        found: dict[str, list[tuple[str, CarotidPrediction]]] = defaultdict(list)
        unmatched: list[Unmatched] = []
        for job in submission.jobs:
            socket = job.inputs.get(CASE_SOCKET)
            if socket is None or socket.name is None:
                unmatched.append(Unmatched(name=job.label, reason=f"it has no input '{CASE_SOCKET}' with a name"))
                continue
            case = case_of(socket.name)
            if cases is None or case in cases:
                found[case].append((job.label, CarotidPrediction(job)))
            else:
                unmatched.append(Unmatched(name=job.label, reason=f"its input '{socket.name}' is no expected case"))
        predictions, refused = pair_once(found)
        return Collected(
            predictions=predictions, refused=refused, unmatched=unmatched, timing=job_timing(submission.jobs)
        )

    def _collect_files(self, submission: Submission, cases: Collection[str] | None) -> Collected[CarotidPrediction]:
        found: dict[str, list[tuple[str, CarotidPrediction]]] = defaultdict(list)
        unmatched: list[Unmatched] = []
        timing_files: list[SafeFile] = []
        for file in submission.files:
            name = PurePosixPath(file.name).name
            case = _case_of_prediction(name, cases)
            if name.lower() == TIMING_FILE:
                timing_files.append(file)
            elif case is not None:
                found[case].append((file.name, CarotidPrediction(file)))
            elif not is_ignored_file(name):
                reason = "it is no expected case" if name.lower().endswith(".h5") else "it is not named <case>_pred.h5"
                unmatched.append(Unmatched(name=file.name, reason=reason))
        predictions, refused = pair_once(found)
        for bad in submission.refused:
            case = _case_of_prediction(PurePosixPath(bad.name).name, cases)
            if case is None:
                unmatched.append(Unmatched(name=bad.name, reason=bad.reason))
            else:
                predictions.pop(case, None)
                refused[case] = bad.reason
        submitted = [*predictions, *refused]
        return Collected(
            predictions=predictions,
            refused=refused,
            unmatched=unmatched,
            timing=file_timing(timing_files, cases=submitted),
        )

    # Reading

    def check_reference(self, reference: SafeFile) -> Shapes:
        answer = self._read_file(reference, None)
        return {dataset: answer.masks[view, "plaque"].shape for view, dataset in VIEWS.items()}

    def check_prediction(self, prediction: CarotidPrediction, shapes: Shapes | None) -> None:
        self._read(prediction, shapes)

    def submission_bytes(self, shapes: Sequence[Shapes]) -> int:
        pixels = sum(math.prod(shape) for case in shapes for shape in case.values())
        return pixels * _BYTES_A_PIXEL + len(shapes) * _BYTES_A_CASE

    def _read(self, prediction: CarotidPrediction, shapes: Shapes | None) -> CarotidContent:
        if isinstance(prediction.source, Job):
            return self._read_job(prediction.source, shapes)
        return self._read_file(prediction.source, shapes)

    def _read_file(self, file: SafeFile, shapes: Shapes | None) -> CarotidContent:
        masks: dict[tuple[str, str], NDArray[np.bool_]] = {}
        with open_hdf5(file) as source:
            for view, dataset in VIEWS.items():
                values = source.read(dataset, shape=shapes[dataset] if shapes else None)
                masks.update(self._structures(values, view=view, name=f"{file.name}: {dataset}"))
            label = source.read(CLASS_DATASET, max_bytes=64)
        if label.size != 1:
            raise Refused(f"'{file.name}: {CLASS_DATASET}' must be one number, it has {label.size}.")
        value = as_integer_labels(label, name=f"{file.name}: {CLASS_DATASET}").item()
        return CarotidContent(masks, self._known_class(int(value), f"{file.name}: {CLASS_DATASET}"))

    def _read_job(self, job: Job, shapes: Shapes | None) -> CarotidContent:
        masks: dict[tuple[str, str], NDArray[np.bool_]] = {}
        for view, slug in VIEW_SOCKETS.items():
            file = job.output_image(slug)
            image = read_image(file, shape=shapes[VIEWS[view]] if shapes else None)
            masks.update(self._structures(image.array, view=view, name=file.name))
        content = job.output_json(CLASS_SOCKET)
        name = f"{job.label}: {CLASS_SOCKET}"
        value = content.get("class") if isinstance(content, dict) else content
        if not isinstance(value, int | float) or value != int(value):
            raise Refused(f"""'{name}' must be an integer or {{"class": integer}}.""")
        return CarotidContent(masks, self._known_class(int(value), name))

    def _structures(self, values: NDArray[Any], *, view: str, name: str) -> dict[tuple[str, str], NDArray[np.bool_]]:
        """A mask's structures, whichever of the configured spellings its values follow."""
        if values.ndim != 2:
            raise Refused(f"'{name}' must have 2 axes, it has {values.ndim}.")
        labels = as_integer_labels(values, name=name)
        present = {int(value) for value in np.unique(labels)}
        spelling = min(self.settings.label_values, key=lambda candidate: len(present - candidate.values))
        strays = sorted(present - spelling.values)
        if strays:
            spellings = " or ".join("/".join(map(str, sorted(each.values))) for each in self.settings.label_values)
            raise Refused(f"'{name}' holds the value {strays[0]}; a mask holds {spellings}.")
        return {(view, "plaque"): labels == spelling.plaque, (view, "vessel"): labels == spelling.vessel}

    def _known_class(self, value: int, name: str) -> int:
        if value not in self.settings.class_values:
            allowed = ", ".join(map(str, self.settings.class_values))
            raise Refused(f"'{name}' is {value}; the classes are {allowed}.")
        return value

    # Scoring

    def score(self, prediction: CarotidPrediction, reference: SafeFile) -> CaseScore:
        truth = self._read_file(reference, None)
        shapes = {dataset: truth.masks[view, "plaque"].shape for view, dataset in VIEWS.items()}
        answer = self._read(prediction, shapes)
        figures: dict[str, Any] = {}
        for place in _DICE:
            predicted, expected = crop_to_union(prediction=answer.masks[place], reference=truth.masks[place])
            put(figures, _DICE[place], dice(prediction=predicted, reference=expected))
            nsd = surface_dice(prediction=predicted, reference=expected, tolerance_px=self.settings.tolerance_px)
            put(figures, _NSD[place], nsd)
        figures["segmentation_score"] = self._segmentation_score(figures, path="{}")
        figures["class_correct"] = int(answer.risk_class == truth.risk_class)
        figures["true_class"] = truth.risk_class
        figures["predicted_class"] = answer.risk_class
        return CaseScore(metrics=figures)

    def unanswered(self, reference: SafeFile) -> Figures:
        return {
            **self.worst_figures(),
            "true_class": self._read_file(reference, None).risk_class,
            "predicted_class": None,
        }

    def _segmentation_score(self, figures: Figures, *, path: str) -> float:
        """Mean over the two views of 0.4 vessel + 0.6 plaque, each the mean of Dice and NSD; `path` wraps the names."""
        weights = {"vessel": self.settings.structure_weights.vessel, "plaque": self.settings.structure_weights.plaque}
        terms = (
            weights[structure] * (get(figures, path.format(_DICE[place])) + get(figures, path.format(_NSD[place]))) / 2
            for place in _DICE
            for structure in place[1:]
        )
        return math.fsum(terms) / len(VIEWS)

    def overlays(
        self, case: str, prediction: CarotidPrediction, reference: SafeFile, images: Sequence[SafeFile]
    ) -> Sequence[Overlay]:
        """Both views; an image is `<case>_long.png` (or another image format) or `long_img` in `<case>.h5`."""
        truth = self._read_file(reference, None)
        shapes = {dataset: truth.masks[view, "plaque"].shape for view, dataset in VIEWS.items()}
        answer = self._read(prediction, shapes)
        return [
            Overlay(
                title=title,
                image=_view_image(images, case=case, view=view, shape=shapes[VIEWS[view]]),
                layers={
                    structure: Outlined(
                        prediction=answer.masks[view, structure], reference=truth.masks[view, structure]
                    )
                    for structure in reversed(STRUCTURES)
                },
            )
            for view, title in _VIEW_TITLES.items()
        ]

    # Adding up

    def aggregate(self, results: Sequence[CaseResult], timing: Timing) -> Figures:
        figures: dict[str, Any] = {}
        for name in (*_DICE.values(), *_NSD.values()):
            mean, std = mean_and_std([get(result.metrics, name) for result in results])
            put(figures, f"{name}.mean", mean)
            put(figures, f"{name}.std", std)
        classification = 100 * self._classify(results, figures)
        segmentation = 100 * self._segmentation_score(figures, path="{}.mean")
        figures["classification_score"] = classification
        figures["segmentation_score"] = segmentation

        seconds = timing.total_seconds
        figures["time_score"] = time_score = 0.0 if seconds is None else self._time_score(seconds)
        figures["time_score_is_provisional"] = int(self.settings.time.rule == "cohort")
        figures["time_known"] = int(seconds is not None)
        figures["total_seconds"] = seconds or 0.0

        weights = self.settings.weights
        without_time = weights.classification * classification + weights.segmentation * segmentation
        share = weights.classification + weights.segmentation
        figures["score"] = self._total(classification, segmentation, time_score)
        figures["score_without_time"] = without_time / share if share else 0.0
        return figures

    # Ranking

    def ranking_rule(self) -> RankingRule:
        return RankingRule(
            words="teams are ranked by the total score 0.4 classification + 0.4 segmentation + 0.2 time"
            if self.settings.weights == Weights()
            else "teams are ranked by the weighted total of classification, segmentation and time",
            criteria=(Criterion(path="score", title="Score (0-100)", direction="higher"),),
            case_metrics=("segmentation_score", "class_correct"),
        )

    def cohort_figures(self, aggregates: Mapping[str, Figures]) -> Mapping[str, Figures]:
        """Under the cohort rule the time score needs all teams' times; a team without a known time keeps 0 and sets no
        bound."""
        times = [figures["total_seconds"] for figures in aggregates.values() if figures["time_known"]]
        if self.settings.time.rule != "cohort" or not times:
            return aggregates
        bounds = cohort_bounds(times, self.settings.time.baseline_seconds)
        again: dict[str, Figures] = {}
        for team, figures in aggregates.items():
            time_score = bounds.score(figures["total_seconds"]) if figures["time_known"] else 0.0
            again[team] = {
                **figures,
                "time_score": time_score,
                "time_score_is_provisional": 0,
                "score": self._total(figures["classification_score"], figures["segmentation_score"], time_score),
            }
        return again

    def resampled_figures(
        self, rows: Sequence[Figures], aggregates: Figures, resamples: Resamples
    ) -> Mapping[str, Floats] | None:
        """The total in every replicate; a submission's time is one figure and does not depend on the cases drawn."""
        needed = ("true_class", "predicted_class", "segmentation_score")
        if not all(part in row for row in rows for part in needed):
            return None
        truth = np.array([row["true_class"] for row in rows])
        predicted = np.array([row["predicted_class"] for row in rows], dtype=object)
        f1 = []
        for label in self.settings.class_values:
            hits = resamples.total((truth == label) & (predicted == label))
            named = resamples.total(truth == label) + resamples.total(predicted == label)  # 2TP + FP + FN
            f1.append(np.divide(2 * hits, named, out=np.zeros_like(hits), where=named > 0))
        classification = 100 * np.mean(f1, axis=0)
        segmentation = 100 * resamples.mean([row["segmentation_score"] for row in rows])
        return {"score": self._total(classification, segmentation, aggregates["time_score"])}

    def _total(self, classification: Number, segmentation: Number, time_score: float) -> Number:
        weights = self.settings.weights
        total: Number = (
            weights.classification * classification + weights.segmentation * segmentation + weights.time * time_score
        )
        return total

    def _classify(self, results: Sequence[CaseResult], figures: dict[str, Any]) -> float:
        """Macro F1, between 0 and 1; F1 a class and the confusion matrix go into `figures`."""
        truth = [result.metrics["true_class"] for result in results]
        predicted = [result.metrics["predicted_class"] for result in results]
        classes = self.settings.class_values
        f1 = f1_by_class(truth=truth, predicted=predicted, classes=classes)
        confusion = confusion_counts(truth=truth, predicted=predicted, classes=classes)
        names = {risk.value: risk.name for risk in self.settings.classes}
        for label, name in names.items():
            put(figures, f"f1.{name}", f1[label])
            for answer, count in confusion[label].items():
                column = "missing" if answer is None else names[answer]
                put(figures, f"confusion_matrix.{name}.{column}", count)
        return mean_of(list(f1.values()))

    def _time_score(self, seconds: float) -> float:
        rule = self.settings.time
        bounds = fixed_bounds if rule.rule == "fixed" else widest_cohort_bounds
        return bounds(rule.baseline_seconds).score(seconds)


def _view_image(images: Sequence[SafeFile], *, case: str, view: str, shape: tuple[int, ...]) -> NDArray[Any] | None:
    """The ultrasound image of one view, if the organiser's folder has it."""
    for file in images:
        name = PurePosixPath(file.name).name
        if case_of(name) == f"{case}_{view}":
            return read_image(file, shape=shape).array
        if name in (f"{case}.h5", f"{case}_image.h5"):
            with open_hdf5(file) as source:
                if source.has(f"{view}_img"):
                    return source.read(f"{view}_img", shape=shape)
    return None


def _case_of_prediction(name: str, cases: Collection[str] | None) -> str | None:
    """`<case>_pred.h5`, `<case>.h5` or `<case>_label.h5`; None for any other file and any other case."""
    if not name.lower().endswith(".h5"):
        return None
    stem = normalize_nfc(name[: -len(".h5")])
    candidates = [stem[: len(stem) - len(suffix)] for suffix in _PREDICTION_SUFFIXES if stem.lower().endswith(suffix)]
    if cases is None:
        return min(candidates, key=len) or None
    return next((case for case in candidates if case in cases), None)
