"""A challenge of freehand ultrasound: files of references, files and jobs of predictions, and the errors of a scan."""

import math
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import ClassVar

import numpy as np

from podium.challenges.board import RankingRule
from podium.challenges.challenge import Challenge
from podium.challenges.freehand.reading import (
    ARRAYS,
    CALIBRATION_FILE,
    PIXEL_SETS,
    ComparedField,
    FreehandPrediction,
    FreehandReference,
    ReferenceScan,
    doubts_about_calibration,
    doubts_about_path,
    expected_shapes,
    frame_errors,
    open_arrays,
    path_length_mm,
    read_reference_scan,
    read_scan_prediction,
    refuse_unmeasurable,
    sample_arrays,
)
from podium.challenges.freehand.scoring import (
    FreehandCase,
    FreehandTables,
    given_figures,
    identity_errors,
    normalised_errors,
    ranking_rule,
    scan_errors,
    scoreboard,
)
from podium.challenges.ground_truth import Collected, Description, Geometries, ReferenceProblem, Shapes, collect
from podium.challenges.samples import CaseSamples, Part, Socket
from podium.errors import Refused
from podium.figures import Figures
from podium.metrics.declaration import Scoreboard
from podium.metrics.displacement import ERRORS, PixelGrid, category_scores_as_written, stretch_means
from podium.pairing import Candidate, Layout, Template, one_prediction, pair
from podium.platform.jobs import RUNTIME_FILE, Job, Runtime, file_runtime, job_runtime, normalize_nfc
from podium.platform.metrics_file import CaseResult
from podium.platform.submission import Submission
from podium.readers.files import SafeFile
from podium.readers.hdf5 import open_hdf5

_KEYS_FILE = "dataset_keys.h5"
_TRANSFORM_FILE = re.compile(r"transfs/(?P<subject>[^/]+)/(?P<scan>[^/]+)\.h5")
_LANDMARK_FILE = re.compile(r"landmarks?/landmark_(?P<subject>[^/]+)\.h5")
_BYTES_PER_VALUE = 8  # a field saved as float64 is wasteful but valid
_BYTES_PER_CASE = 64_000_000  # landmarks, transforms, headers, chunk indices


class FreehandChallenge(Challenge[FreehandTables, FreehandPrediction, FreehandReference, ReferenceScan, FreehandCase]):
    """Four sets of displacements per scan, which are compared as streams."""

    kind = "freehand"
    tables_model = FreehandTables
    without_settings: ClassVar = {"freehand": {"edition": "2024"}}
    prediction_words = "the displacements GP, GL, LP and LL of a scan, or its global or local transforms"
    libraries = ("h5py",)

    def __init__(self, name: str, tables: FreehandTables) -> None:
        super().__init__(name, tables)
        self.settings = tables.freehand
        self.grid = self.settings.grid
        self.layout = Layout(
            outputs=(self.settings.sockets.fields,),
            inputs=self.cases.inputs,
            any_input=self.cases.input is None,
            files=(
                *(Template(f"{{case}}.{ending}") for ending in ("h5", "hdf5", "npz")),
                Template("{case}/{array}.npy", choices=ARRAYS),
            ),
            words="<scan>.h5, <scan>.npz or <scan>/GP.npy, GL.npy, LP.npy, LL.npy",
            beside=(RUNTIME_FILE,),
            ignored=(".txt", ".md5", ".sha256"),
            ignore_case=bool(self.cases.ignore_case),
            distinctive_names=re.compile(rf"{re.escape(RUNTIME_FILE)}|sub[^/]+__[^/]+\.(h5|hdf5|npz)"),
        )

    # References

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

    def read_reference(self, reference: FreehandReference) -> ReferenceScan:
        return read_reference_scan(reference, self.grid)

    def describe_reference(self, content: ReferenceScan) -> Description:
        return Description(
            figures={
                "frames": len(content.tool_to_camera),
                "landmarks": len(content.landmarks),
                "path length (mm)": path_length_mm(content),
            },
            doubts=[*doubts_about_path(content), *doubts_about_calibration(content)],
        )

    def shapes(self, content: ReferenceScan) -> Shapes:
        return expected_shapes(content, self.grid)

    # Predictions

    def pair(self, submission: Submission, cases: Collection[str] | None) -> Collected[FreehandPrediction]:
        """The runtime of each scan is a part of its prediction."""
        pairing = pair(submission, self.layout, cases)
        if submission.is_algorithm:
            runtime = job_runtime(pairing.jobs)
        else:
            times = pairing.beside[RUNTIME_FILE]
            runtime = file_runtime(times, name=RUNTIME_FILE, cases=pairing.candidates.keys())
        found = collect(pairing, self._prediction, runtime)
        seconds = runtime.by_case
        timed = {case: replace(each, runtime_seconds=seconds.get(case)) for case, each in found.predictions.items()}
        return replace(found, predictions=timed)

    def _prediction(self, candidates: Sequence[Candidate]) -> FreehandPrediction:
        candidates = one_prediction(candidates)
        source = candidates[0].source
        if isinstance(source, Job):
            return FreehandPrediction(source, socket=self.settings.sockets.fields)
        if not candidates[0].part:
            assert isinstance(source, SafeFile)
            return FreehandPrediction(source)
        names = {array.lower(): array for array in ARRAYS}
        files = {names[each.part.lower()]: each.source for each in candidates if isinstance(each.source, SafeFile)}
        return FreehandPrediction(files)

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
        with np.errstate(over="ignore", invalid="ignore"), open_arrays(prediction, shapes) as source:
            found = read_scan_prediction(source, shapes, name=prediction.label)
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

    # One case

    def compare(self, prediction: FreehandPrediction, expected: ReferenceScan) -> FreehandCase:
        levels = ("global", "local")
        largest = identity_errors(expected, self.grid, threads=self.threads)
        shapes = self.shapes(expected)
        with (
            np.errstate(over="ignore", invalid="ignore"),  # values too large for float64 are refused below
            open_arrays(prediction, shapes) as source,
        ):
            found = read_scan_prediction(source, shapes, name=prediction.label)
            errors, (global_frames, local_frames) = scan_errors(
                expected,
                self.grid,
                pixels=[found.pixels(level, expected.pixel_to_mm) for level in levels],
                landmarks=[found.at_landmarks(level, expected.landmarks, expected.pixel_to_mm) for level in levels],
                threads=self.threads,
            )
        refuse_unmeasurable(errors.values(), prediction.label)
        by_frame = {"frames": expected.frames, "gpe": stretch_means(global_frames), "lpe": stretch_means(local_frames)}
        return FreehandCase(errors, largest, by_frame, prediction.runtime_seconds)

    def missing_case(self, expected: ReferenceScan) -> FreehandCase:  # noqa: ARG002
        return FreehandCase({}, {})

    def lacks(self, case: FreehandCase, values: Collection[str]) -> bool:  # noqa: ARG002  (a scan is one value)
        return case.is_missing

    def perfect_case(self, expected: ReferenceScan) -> FreehandCase:
        return FreehandCase(dict.fromkeys(ERRORS, 0.0), identity_errors(expected, self.grid, threads=self.threads))

    def samples(self, case: str, expected: ReferenceScan) -> CaseSamples:
        """Transforms; in the damaged ones everything moves too far, or half as far."""
        answers = [sample_arrays(expected, factor) for factor in (1.0, 1.1, 1.25, 0.5)]
        short = {name: each[:-1] for name, each in answers[0].items()}
        parts = [
            [Part(content=each, file=f"{case}.npz", socket=self.output_sockets()[0])] for each in (*answers, short)
        ]
        return CaseSamples(answers=parts[:-1], broken={"wrong-size": parts[-1]})

    def output_sockets(self) -> Sequence[Socket]:
        return [Socket(self.settings.sockets.fields, "ZIP file")]

    def facts(self, case: FreehandCase) -> Figures:
        return {
            "as_written": category_scores_as_written(normalised_errors(case, clip=self.settings.clip)),
            "largest": dict(case.largest) or dict.fromkeys(ERRORS),
            "by_frame": case.by_frame,
            "runtime_seconds": case.runtime_seconds,
        }

    # All cases

    def declare(self) -> Scoreboard[FreehandCase]:
        return scoreboard(self.settings)

    def ranking_rule(self) -> RankingRule:
        return ranking_rule(self.settings)

    def confidential_paths(self) -> Sequence[str]:
        """`largest` and `by_frame` reveal the reference's motion: it is the error of a prediction of zeros. The
        participant controls the runtime, and could use it to mark which scan an anonymous row belongs to."""
        return ("largest", "by_frame", "runtime_seconds")

    def given(self, results: Sequence[CaseResult], runtime: Runtime) -> Mapping[str, float]:
        return given_figures(self.settings, results, runtime)


def _keys(file: SafeFile, problems: list[ReferenceProblem]) -> tuple[str, ...]:
    try:
        with open_hdf5(file) as source:
            return source.keys()
    except Refused as refusal:
        where = f"references/{_KEYS_FILE} ({str(refusal).removesuffix('.')})"
        problems.append(ReferenceProblem(what=f"{_KEYS_FILE} cannot be read.", where=where))
        return ()
