"""Settings of freehand, and where its scans are found: files of the references, files and jobs of predictions."""

import math
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field, StrictInt

from podium.challenges.format import Collected, Description, Format, Geometries, ReferenceProblem, Shapes
from podium.challenges.freehand.reading import (
    ARRAYS,
    CALIBRATION_FILE,
    PIXEL_SETS,
    ComparedField,
    ExpectedSizes,
    FreehandPrediction,
    FreehandReference,
    ReferenceScan,
    doubts_about_calibration,
    doubts_about_path,
    frame_errors,
    open_arrays,
    path_length_mm,
    read_reference_scan,
    read_scan_prediction,
    refuse_unmeasurable,
)
from podium.challenges.settings import CasesSettings, Positive, Settings, Slug
from podium.errors import Refused
from podium.metrics.displacement import PixelGrid
from podium.pairing import Candidate, Layout, Pairing, Template
from podium.platform.jobs import RUNTIME_FILE, Job, Runtime, file_runtime, job_runtime, normalize_nfc
from podium.platform.submission import Submission
from podium.readers.files import SafeFile
from podium.readers.hdf5 import open_hdf5

_KEYS_FILE = "dataset_keys.h5"
_TRANSFORM_FILE = re.compile(r"transfs/(?P<subject>[^/]+)/(?P<scan>[^/]+)\.h5")
_LANDMARK_FILE = re.compile(r"landmarks?/landmark_(?P<subject>[^/]+)\.h5")
_BYTES_PER_VALUE = 8  # a field saved as float64 is wasteful but valid
_BYTES_PER_CASE = 64_000_000  # landmarks, transforms, headers, chunk indices

Length = Annotated[StrictInt, Field(ge=1, le=10_000)]


class FreehandSockets(Settings):
    """`[freehand.sockets]`: the slug of an algorithm's output."""

    fields: Slug = "displacement-fields"


class FreehandSettings(Settings):
    """The `[freehand]` table of challenge.toml.

    edition           "2024" clips every normalised error to [0, 1]; in "2025" a method worse than the identity baseline
                      scores below 0
    frame_size        (height, width) in pixels
    time_limit_hours  for all scans together: teams beyond it are marked
    """

    retired: ClassVar = {"clip": 'write edition = "2024" for clip = true, or edition = "2025" for clip = false'}

    edition: Literal["2024", "2025"]
    sockets: FreehandSockets = FreehandSockets()
    frame_size: tuple[Length, Length] = (480, 640)
    time_limit_hours: Positive | None = None

    @property
    def clip(self) -> bool:
        return self.edition == "2024"

    @property
    def grid(self) -> PixelGrid:
        height, width = self.frame_size
        return PixelGrid(height=height, width=width)


class FreehandFormat(Format[FreehandPrediction, FreehandReference, ReferenceScan]):
    """Four sets of displacements per scan."""

    libraries = ("h5py",)

    def __init__(self, cases: CasesSettings, settings: FreehandSettings) -> None:
        self.grid: PixelGrid = settings.grid
        self._socket = settings.sockets.fields
        self.layout = Layout(
            outputs=(self._socket,),
            inputs=(cases.input,) if cases.input else (),
            any_input=cases.input is None,
            files=(
                *(Template(f"{{case}}.{ending}") for ending in ("h5", "hdf5", "npz")),
                Template("{case}/{array}.npy", choices=ARRAYS),
            ),
            words="<scan>.h5, <scan>.npz or <scan>/GP.npy, GL.npy, LP.npy, LL.npy",
            beside=(RUNTIME_FILE,),
            ignored=(".txt", ".md5", ".sha256"),
            ignore_case=bool(cases.ignore_case),
            telling=re.compile(rf"{re.escape(RUNTIME_FILE)}|sub[^/]+__[^/]+\.(h5|hdf5|npz)"),
        )

    def sort_references(
        self, files: Sequence[SafeFile], problems: list[ReferenceProblem]
    ) -> Mapping[str, FreehandReference]:
        """The expected cases: the keys in dataset_keys.h5, or without that file every scan with transforms."""
        by_name = {file.name: file for file in files}
        if CALIBRATION_FILE not in by_name:
            what = f"The references do not contain {CALIBRATION_FILE}."
            problems.append(ReferenceProblem(what=what, where="references"))
        transforms = {
            f"sub{match['subject']}__{match['scan']}": (match["subject"], match["scan"], file)
            for name, file in by_name.items()
            if (match := _TRANSFORM_FILE.fullmatch(name))
        }
        landmarks = {
            match["subject"]: file for name, file in by_name.items() if (match := _LANDMARK_FILE.fullmatch(name))
        }
        references = {}
        for case in _keys(by_name[_KEYS_FILE], problems) if _KEYS_FILE in by_name else transforms:
            if case not in transforms:
                what = "A scan of the ground truth has no transforms."
                problems.append(ReferenceProblem(what=what, where=f"{case} (no transfs/ file)"))
                continue
            subject, scan, file = transforms[case]
            if subject not in landmarks:
                what = "A scan of the ground truth has no landmarks."
                problems.append(ReferenceProblem(what=what, where=f"{case} (no landmark_ file)"))
            elif CALIBRATION_FILE in by_name:
                references[normalize_nfc(case)] = FreehandReference(
                    case, scan, file, landmarks[subject], by_name[CALIBRATION_FILE]
                )
        return references

    def reference_files(self, reference: FreehandReference) -> Sequence[SafeFile]:
        return (reference.transforms, reference.landmarks, reference.calibration)

    def prediction(self, candidates: Sequence[Candidate]) -> FreehandPrediction:
        source = candidates[0].source
        if isinstance(source, Job):
            return FreehandPrediction(source, socket=self._socket)
        if not candidates[0].part:
            assert isinstance(source, SafeFile)
            return FreehandPrediction(source)
        names = {array.lower(): array for array in ARRAYS}
        files = {names[each.part.lower()]: each.source for each in candidates if isinstance(each.source, SafeFile)}
        return FreehandPrediction(files)

    def runtime(self, submission: Submission, pairing: Pairing) -> Runtime:
        if not submission.is_algorithm:
            return file_runtime(pairing.beside[RUNTIME_FILE], name=RUNTIME_FILE, cases=pairing.candidates.keys())
        return job_runtime(pairing.jobs)

    def collect(self, submission: Submission, cases: Collection[str] | None) -> Collected[FreehandPrediction]:
        """Adds the runtime of each scan to its prediction."""
        found = super().collect(submission, cases)
        seconds = found.runtime.by_case
        timed = {case: replace(each, runtime_seconds=seconds.get(case)) for case, each in found.predictions.items()}
        return replace(found, predictions=timed)

    def read_reference(self, reference: FreehandReference) -> ReferenceScan:
        return read_reference_scan(reference, self.grid)

    def describe_reference(self, content: ReferenceScan) -> Description:
        return Description(
            shapes=self.shapes(content),
            figures={
                "frames": len(content.tool_to_camera),
                "landmarks": len(content.landmarks),
                "path length (mm)": path_length_mm(content),
            },
            doubts=[*doubts_about_path(content), *doubts_about_calibration(content)],
        )

    def shapes(self, content: ReferenceScan) -> Shapes:
        fields, landmarks = (content.frames, 3, self.grid.pixels), (3, len(content.landmarks))
        return {"GP": fields, "GL": landmarks, "LP": fields, "LL": landmarks}

    def submission_bytes(self, shapes: Sequence[Shapes]) -> int:
        values = sum(math.prod(shape) for case in shapes for shape in case.values())
        return values * _BYTES_PER_VALUE + len(shapes) * _BYTES_PER_CASE

    def check_prediction(
        self,
        prediction: FreehandPrediction,
        shapes: Shapes | None,
        geometries: Geometries,  # noqa: ARG002  (fields have none)
    ) -> Sequence[str]:
        """Compares the fields with no displacement at all: whether they are finite and can be measured. The calibration
        is a part of the references, so a pixel is taken for a millimetre."""
        expected = ExpectedSizes.of(shapes) if shapes else None
        with np.errstate(over="ignore", invalid="ignore"), open_arrays(prediction, expected) as source:
            found = read_scan_prediction(source, expected, name=prediction.label)
            fields = [found.pixels(level, np.eye(4)) for level in PIXEL_SETS]
            streams = list(found.fields.values())
            # A frame of another size counts as one row.
            known = not streams or streams[0].shape[2] == self.grid.pixels
            grid = self.grid if known else PixelGrid(height=1, width=streams[0].shape[2])
            compared = [ComparedField(field, np.zeros((field.shape[0], 3, 3))) for field in fields]
            frames = frame_errors(compared, grid, threads=1)
            landmarks = [np.linalg.norm(each, axis=0) for each in found.landmarks.values()]
            refuse_unmeasurable([float(each.mean()) for each in (*frames, *landmarks) if each.size], prediction.label)
        return ()


def _keys(file: SafeFile, problems: list[ReferenceProblem]) -> tuple[str, ...]:
    try:
        with open_hdf5(file) as source:
            return source.keys()
    except Refused as refusal:
        where = f"references/{_KEYS_FILE} ({str(refusal).removesuffix('.')})"
        problems.append(ReferenceProblem(what=f"{_KEYS_FILE} cannot be read.", where=where))
        return ()
