"""Files and jobs of freehand: one file or folder of arrays per scan, in any of several forms."""

import math
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Annotated

import numpy as np
from pydantic import Field, StrictBool, StrictInt

from podium.challenges.format import Collected, Description, Format, ReferenceProblem, Shapes
from podium.challenges.freehand.reading import (
    ARRAYS,
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
    sort_freehand_references,
)
from podium.challenges.settings import CasesSettings, Settings, Text
from podium.metrics.displacement import PixelGrid
from podium.pairing import Candidate, Layout, Pairing, Template
from podium.platform.jobs import RUNTIME_FILE, Job, Runtime, file_runtime, job_runtime
from podium.platform.submission import Submission
from podium.readers.files import SafeFile

# The `[freehand]` table of challenge.toml: TUS-REC's frame size, and whether scores are held to [0, 1].

Length = Annotated[StrictInt, Field(ge=1, le=10_000)]


class FreehandSockets(Settings):
    """`[freehand.sockets]`: the slug of an algorithm's output."""

    fields: Text = "displacement-fields"


class FreehandSettings(Settings):
    """`frame_size` is (height, width) in pixels. `clip` holds every normalised error to [0, 1], as the document says;
    without it a method worse than identity goes below 0, as on the published leaderboards."""

    sockets: FreehandSockets = FreehandSockets()
    frame_size: tuple[Length, Length] = (480, 640)
    clip: StrictBool = True

    @property
    def grid(self) -> PixelGrid:
        height, width = self.frame_size
        return PixelGrid(height=height, width=width)


_BYTES_PER_VALUE = 8  # a field saved as float64 is wasteful but honest
_BYTES_PER_CASE = 64_000_000  # landmarks, transforms, headers, chunk indices


class FreehandFormat(Format[FreehandPrediction, FreehandReference, ReferenceScan]):
    """Four sets of displacements per scan."""

    def __init__(self, cases: CasesSettings, settings: FreehandSettings) -> None:
        self.grid: PixelGrid = settings.grid
        self._socket = settings.sockets.fields
        self._layout = Layout(
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

    @property
    def layout(self) -> Layout:
        return self._layout

    @property
    def libraries(self) -> Collection[str]:
        return ("h5py",)

    def sort_references(
        self, files: Sequence[SafeFile], problems: list[ReferenceProblem]
    ) -> Mapping[str, FreehandReference]:
        return sort_freehand_references(files, problems)

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
        """Every row keeps how long its scan took."""
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

    def check_prediction(self, prediction: FreehandPrediction, shapes: Shapes | None) -> None:
        expected = ExpectedSizes.of(shapes) if shapes else None
        with open_arrays(prediction, expected) as source:
            found = read_scan_prediction(source, expected, name=prediction.label)
            streams = list(found.fields.values())
            # Where frames are of another size than ours, a frame is one row: that values are finite shows all the same.
            known = not streams or streams[0].shape[2] == self.grid.pixels
            grid = self.grid if known else PixelGrid(height=1, width=streams[0].shape[2])
            frame_errors(
                [ComparedField(stream, np.zeros((stream.shape[0], 3, 3))) for stream in streams], grid, threads=1
            )
