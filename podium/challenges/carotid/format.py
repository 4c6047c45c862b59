"""Files and jobs of carotid: one .h5 file per case, or two image sockets and a JSON socket."""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from podium.challenges.base import Description, Format, Shapes
from podium.challenges.carotid.settings import CarotidSettings
from podium.challenges.ground_truth import ReferenceProblem
from podium.challenges.settings import CasesSettings
from podium.errors import Refused
from podium.pairing import Candidate, Layout, Pairing, Template
from podium.platform.jobs import Job
from podium.platform.names import normalize_nfc
from podium.platform.runtime import TIMING_FILE, Runtime, job_runtime, timing_file_runtime
from podium.platform.submission import Submission
from podium.readers.files import SafeFile
from podium.readers.hdf5.file import open_hdf5
from podium.readers.images import read_image
from podium.readers.labels import as_integer_labels

VIEWS = {"long": "long_mask", "trans": "trans_mask"}  # view -> its dataset in the .h5 files
STRUCTURES = ("vessel", "plaque")
CLASS_DATASET = "cls"
CASE_INPUT = "carotid-longitudinal-ultrasound"

_REFERENCE_NAME = re.compile(r"(?P<case>[^/]+)_label\.h5")
_BYTES_PER_PIXEL = 8  # a mask saved as float64 or int64 is wasteful but honest
_BYTES_PER_CASE = 1_000_000  # headers, chunk padding, attributes
_PRESENT, _EMPTY = "present", "empty"


@dataclass(frozen=True)
class CarotidPrediction:
    """Where one case's prediction lies: one .h5 file, or the outputs of one job."""

    source: SafeFile | Job


@dataclass(frozen=True)
class CarotidContent:
    """One side of a case, read: a mask for every (view, structure), and the class."""

    masks: Mapping[tuple[str, str], NDArray[np.bool_]]
    risk_class: int

    @property
    def shapes(self) -> Shapes:
        return {dataset: self.masks[view, "plaque"].shape for view, dataset in VIEWS.items()}


class CarotidFormat(Format[CarotidPrediction, SafeFile]):
    """Two views of one plaque, two masks and one class."""

    def __init__(self, cases: CasesSettings, settings: CarotidSettings) -> None:
        self._settings = settings
        self._view_sockets = {"long": settings.sockets.longitudinal, "trans": settings.sockets.transverse}
        self._layout = Layout(
            outputs=(*self._view_sockets.values(), settings.sockets.risk_class),
            inputs=(cases.input or CASE_INPUT,),
            files=tuple(Template(name) for name in ("{case}_pred.h5", "{case}.h5", "{case}_label.h5")),
            beside=(TIMING_FILE,),
            ignored=(".txt", ".md5", ".sha256"),
            ignore_case=bool(cases.ignore_case),
        )

    @property
    def layout(self) -> Layout:
        return self._layout

    def sort_references(self, files: Sequence[SafeFile], problems: list[ReferenceProblem]) -> Mapping[str, SafeFile]:
        references: dict[str, SafeFile] = {}
        for file in files:
            match = _REFERENCE_NAME.fullmatch(file.name)
            if match is None:
                what = "A reference is not named <case>_label.h5."
                problems.append(ReferenceProblem(what=what, where=f"references/{file.name}"))
                continue
            references[normalize_nfc(match["case"])] = file
        return references

    def reference_files(self, reference: SafeFile) -> Sequence[SafeFile]:
        return (reference,)

    def prediction(self, candidates: Sequence[Candidate]) -> CarotidPrediction:
        source = candidates[0].source
        assert isinstance(source, SafeFile | Job)
        return CarotidPrediction(source)

    def runtime(self, submission: Submission, pairing: Pairing) -> Runtime:
        if submission.is_algorithm:
            clock = self._settings.time.clock
            return job_runtime(pairing.jobs, clock=None if clock == "any" else clock)
        return timing_file_runtime(pairing.beside[TIMING_FILE], cases=pairing.candidates.keys())

    def check_reference(self, reference: SafeFile) -> Shapes:
        return self.read_reference(reference).shapes

    def describe_reference(self, reference: SafeFile) -> Description:
        content = self.read_reference(reference)
        names = {risk.value: risk.name for risk in self._settings.classes}
        masks = {_mask_name(*key): _PRESENT if mask.any() else _EMPTY for key, mask in content.masks.items()}
        return Description(shapes=content.shapes, categories={"class": names[content.risk_class], **masks})

    def doubts_about_all(self, descriptions: Sequence[Description]) -> Sequence[str]:
        present = {each.categories["class"] for each in descriptions}
        doubts = [
            f"No reference has the class '{risk.name}'."
            for risk in self._settings.classes
            if risk.name not in present and len(present) > 1
        ]
        if len(present) == 1:
            doubts.append(f"All references have the class '{present.pop()}'.")
        for name in (_mask_name(view, structure) for view in VIEWS for structure in STRUCTURES):
            if all(each.categories[name] == _EMPTY for each in descriptions):
                doubts.append(f"The mask '{name}' is empty in all references.")
        return doubts

    def check_prediction(self, prediction: CarotidPrediction, shapes: Shapes | None) -> None:
        self.read(prediction, shapes)

    def submission_bytes(self, shapes: Sequence[Shapes]) -> int:
        pixels = sum(math.prod(shape) for case in shapes for shape in case.values())
        return pixels * _BYTES_PER_PIXEL + len(shapes) * _BYTES_PER_CASE

    def read_reference(self, reference: SafeFile) -> CarotidContent:
        """A reference's masks and class."""
        return self._read_file(reference, None)

    def read(self, prediction: CarotidPrediction, shapes: Shapes | None) -> CarotidContent:
        """A prediction's masks and class; `shapes` are those the masks must have."""
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
        for view, slug in self._view_sockets.items():
            file = job.output_image(slug)
            image = read_image(file, shape=shapes[VIEWS[view]] if shapes else None)
            masks.update(self._structures(image.array, view=view, name=file.name))
        slug = self._settings.sockets.risk_class
        content = job.output_json(slug)
        name = f"{job.label}: {slug}"
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
        spelling = min(self._settings.label_values, key=lambda candidate: len(present - candidate.values))
        strays = sorted(present - spelling.values)
        if strays:
            spellings = " or ".join("/".join(map(str, sorted(each.values))) for each in self._settings.label_values)
            raise Refused(f"'{name}' holds the value {strays[0]}; a mask holds {spellings}.")
        return {(view, "plaque"): labels == spelling.plaque, (view, "vessel"): labels == spelling.vessel}

    def _known_class(self, value: int, name: str) -> int:
        if value not in self._settings.class_values:
            allowed = ", ".join(map(str, self._settings.class_values))
            raise Refused(f"'{name}' is {value}; the classes are {allowed}.")
        return value


def _mask_name(view: str, structure: str) -> str:
    return f"{view}_{structure}"
