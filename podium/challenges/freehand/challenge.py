"""TUS-REC: trackerless 3-D freehand ultrasound reconstruction (GPE, GLE, LPE, LLE and their scores).

One case is one scan; see docs/freehand.md for the rules, the files and where the documents contradict each other.
"""

import math
import re
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any, ClassVar

import numpy as np

from podium.challenges.base import Challenge, Collected, Shapes, pair_once
from podium.challenges.freehand.errors import Field, frame_errors
from podium.challenges.freehand.identity import IdentityErrors, compute_identity, read_identity, truth_digest
from podium.challenges.freehand.prediction import (
    ARRAYS,
    FIELDS_SOCKET,
    Expected,
    FreehandPrediction,
    ScanPrediction,
    open_arrays,
    read_answer,
)
from podium.challenges.freehand.reference import FreehandReference, Truth, find_freehand_references, read_truth
from podium.challenges.freehand.runtime import RUNTIME_FILE, job_runtimes, read_runtimes, total_timing
from podium.challenges.freehand.settings import FreehandSettings
from podium.challenges.ranking_rule import Criterion, RankingRule
from podium.challenges.settings import Settings
from podium.errors import Refused
from podium.metrics.averages import mean_and_std, mean_of
from podium.metrics.declaration import Curve, Metric
from podium.metrics.field_errors import PixelGrid
from podium.metrics.policy import POLICIES
from podium.metrics.reconstruction import (
    CATEGORIES,
    ERRORS,
    category_scores,
    category_scores_as_written,
    clipped,
    final_score,
    landmark_displacements,
    mean_distance,
    normalised_error,
)
from podium.metrics.resampling import Floats, Resamples
from podium.metrics.stretches import stretch_means
from podium.platform.jobs import Job
from podium.platform.leaderboard import Column
from podium.platform.names import case_of, is_ignored_file, normalize_nfc
from podium.platform.results import CaseResult, CaseScore, Figures, Unmatched, get, put
from podium.platform.runtime import Timing
from podium.platform.submission import Submission, SubmissionNames
from podium.readers.files import SafeFile
from podium.readers.frames import ArraySource

_FILE_ENDINGS = (".h5", ".hdf5", ".npz")
_ARRAY_FILES = {f"{array}.npy".lower(): array for array in ARRAYS}
_SCAN_FILE = re.compile(r"sub[^/]+__[^/]+\.(h5|hdf5|npz)")
_BYTES_A_VALUE = 8  # a field saved as float64 is wasteful but honest
_BYTES_A_CASE = 64_000_000  # landmarks, transforms, headers, chunk indices

TIE_BREAK_SHARE = 0.0005
"""What the runtime may add to the ranking score: less than half of the third decimal, so it can only break ties."""

_TITLES = {"gpe": "GPE", "gle": "GLE", "lpe": "LPE", "lle": "LLE"}
_GROUPS = {"normalised": "normalised", "unclipped": "unclipped"}
_CATEGORY_TITLES = {
    "global_score": "Global",
    "local_score": "Local",
    "pixel_score": "Pixel",
    "landmark_score": "Landmark",
}


def _declare(*, clip: bool) -> tuple[Metric, ...]:
    """Errors have no worst value: that of a lost scan is null. A score below 0 exists only without clipping."""
    failed = POLICIES["reconstruction"].failed
    lowest = {"normalised": 0.0 if clip else -math.inf, "unclipped": -math.inf}
    errors = [
        Metric(
            name=name, title=_TITLES[name], direction="lower", lowest=0.0, highest=math.inf, worst=math.inf, unit="mm"
        )
        for name in ERRORS
    ]
    scores = {
        "final_score": ("Final score", lowest["normalised"]),
        "final_score_unclipped": ("Final score, unclipped", -math.inf),
        **{name: (f"{title} score", lowest["normalised"]) for name, title in _CATEGORY_TITLES.items()},
        **{
            f"{group}.{name}": (f"{_TITLES[name]} {word}", lowest[group])
            for group, word in _GROUPS.items()
            for name in ERRORS
        },
    }
    return (
        *errors,
        *(
            Metric(name=name, title=title, direction="higher", lowest=low, highest=1.0, worst=failed)
            for name, (title, low) in scores.items()
        ),
    )


_CURVES = tuple(
    Curve(
        name=f"by_frame.{name}",
        title=_TITLES[name],
        along="Frame",
        direction="lower",
        lowest=0.0,
        highest=math.inf,
        unit="mm",
        first=1,
        length="by_frame.frames",
    )
    for name in ("gpe", "lpe")
)


class Freehand(Challenge[FreehandPrediction, FreehandReference]):
    """Freehand ultrasound reconstruction from the images alone."""

    name: ClassVar[str] = "freehand"
    settings_model: ClassVar[type[Settings]] = FreehandSettings
    output_sockets: ClassVar[frozenset[str]] = frozenset((FIELDS_SOCKET,))
    format_settings: ClassVar[Mapping[str, Any]] = {}

    def __init__(self, settings: FreehandSettings) -> None:
        self.settings = settings
        self._metrics = _declare(clip=settings.clip)
        self._stored_identity: Mapping[str, IdentityErrors] = {}

    @property
    def grid(self) -> PixelGrid:
        grid: PixelGrid = self.settings.grid
        return grid

    @classmethod
    def recognises(cls, names: SubmissionNames) -> bool:
        return bool(names.output_sockets & cls.output_sockets) or any(
            name in (*_ARRAY_FILES, RUNTIME_FILE) or _SCAN_FILE.fullmatch(name)
            for name in (PurePosixPath(path).name.lower() for path in names.files)
        )

    @property
    def metrics(self) -> Sequence[Metric]:
        return self._metrics

    @property
    def curves(self) -> Sequence[Curve]:
        return _CURVES

    @property
    def confidential_figures(self) -> Sequence[str]:
        # The error of a prediction that does not move is the reference's own motion, frame by frame in the second.
        # The runtime is a number the participant chose: it would tell him, at no cost, which scan hides behind a row.
        return ("largest", "by_frame", "runtime_seconds")

    @classmethod
    def columns(cls) -> Sequence[Column]:
        return (
            Column(path="score", title="Final score", direction="higher", headline=True),
            *(
                Column(path=name, title=title, direction="higher", headline=True)
                for name, title in _CATEGORY_TITLES.items()
            ),
            Column(path="runtime_seconds", title="Runtime (s)", direction="lower", headline=True),
            Column(path="ranking_score", title="Ranking score", direction="higher"),
            Column(path="final_score_unclipped", title="Final score, unclipped", direction="higher"),
            *(
                Column(path=f"{name}.mean", title=f"{title} (mm)", direction="lower", error_path=f"{name}.std")
                for name, title in _TITLES.items()
            ),
        )

    # Finding and pairing

    def find_references(self, folder: Path) -> Mapping[str, FreehandReference]:
        self._stored_identity = read_identity(folder)
        return find_freehand_references(folder)

    def reference_files(self, reference: FreehandReference) -> Sequence[SafeFile]:
        return (reference.transforms, reference.landmarks, reference.calibration)

    def collect(self, submission: Submission, cases: Collection[str] | None) -> Collected[FreehandPrediction]:
        if submission.is_algorithm:
            return self._collect_jobs(submission, cases)
        return self._collect_files(submission, cases)

    def _collect_jobs(self, submission: Submission, cases: Collection[str] | None) -> Collected[FreehandPrediction]:
        jobs: dict[str, list[Job]] = defaultdict(list)
        unmatched: list[Unmatched] = []
        for job in submission.jobs:
            names = [socket.name for socket in job.inputs.values() if socket.name is not None]
            fitting = sorted({case_of(name) for name in names if cases is None or case_of(name) in cases})
            if len(fitting) == 1:
                jobs[fitting[0]].append(job)
            elif fitting:
                unmatched.append(Unmatched(name=job.label, reason="its inputs name more than one scan"))
            else:
                inputs = ", ".join(f"'{name}'" for name in names[:5]) or "none with a name"
                unmatched.append(Unmatched(name=job.label, reason=f"no input is an expected scan ({inputs})"))
        runtimes, problem = job_runtimes(jobs)
        found = {
            case: [(job.label, FreehandPrediction(job, runtimes.get(case))) for job in together]
            for case, together in jobs.items()
        }
        predictions, refused = pair_once(found)
        return Collected(
            predictions=predictions,
            refused=refused,
            unmatched=unmatched,
            timing=total_timing(runtimes, problem),
        )

    def _collect_files(self, submission: Submission, cases: Collection[str] | None) -> Collected[FreehandPrediction]:
        sources: dict[str, dict[str, SafeFile | dict[str, SafeFile]]] = defaultdict(dict)  # case -> where -> what
        unmatched: list[Unmatched] = []
        runtime_files: list[SafeFile] = []
        for file in submission.files:
            path = PurePosixPath(file.name)
            case = _case_of_file(path)
            array = _ARRAY_FILES.get(path.name.lower())
            if path.name.lower() == RUNTIME_FILE:
                runtime_files.append(file)
            elif case is None:
                if not is_ignored_file(path.name):
                    unmatched.append(Unmatched(name=file.name, reason=_NOT_A_SCAN))
            elif cases is not None and case not in cases:
                unmatched.append(Unmatched(name=file.name, reason=f"'{case}' is no expected scan"))
            elif array is not None:
                folder = sources[case].setdefault(f"{path.parent}/", {})
                assert isinstance(folder, dict), "a file's name never ends in a slash"
                if folder.setdefault(array, file) is not file:  # GP.npy and gp.npy
                    sources[case][file.name] = file
            else:
                sources[case][file.name] = file
        found = {
            case: [(where, FreehandPrediction(what)) for where, what in together.items()]
            for case, together in sources.items()
        }
        paired, refused = pair_once(found)
        for bad in submission.refused:
            case = _case_of_file(PurePosixPath(bad.name))
            if case is None or (cases is not None and case not in cases):
                unmatched.append(Unmatched(name=bad.name, reason=bad.reason))
            else:
                paired.pop(case, None)
                refused[case] = bad.reason
        runtimes, problem = read_runtimes(runtime_files, cases=[*paired, *refused])
        return Collected(
            predictions={
                case: FreehandPrediction(prediction.source, runtimes.get(case)) for case, prediction in paired.items()
            },
            refused=refused,
            unmatched=unmatched,
            timing=total_timing(runtimes, problem),
        )

    # Reading

    def check_reference(self, reference: FreehandReference) -> Shapes:
        truth = read_truth(reference, self.grid)
        fields, landmarks = (truth.frames, 3, self.grid.pixels), (3, len(truth.landmarks))
        return {"GP": fields, "GL": landmarks, "LP": fields, "LL": landmarks}

    def submission_bytes(self, shapes: Sequence[Shapes]) -> int:
        values = sum(math.prod(shape) for case in shapes for shape in case.values())
        return values * _BYTES_A_VALUE + len(shapes) * _BYTES_A_CASE

    def check_prediction(self, prediction: FreehandPrediction, shapes: Shapes | None) -> None:
        expected = Expected.of(shapes) if shapes else None
        with open_arrays(prediction, expected) as source:
            answer = self._answer(source, prediction, expected)
            streams = list(answer.fields.values())
            # Where frames are of another size than ours, a frame is one row: that values are finite shows all the same.
            known = not streams or streams[0].shape[2] == self.grid.pixels
            grid = self.grid if known else PixelGrid(height=1, width=streams[0].shape[2])
            fields = [Field(stream, np.zeros((stream.shape[0], 3, 3))) for stream in streams]
            frame_errors(fields, grid, threads=self.threads)

    def _answer(self, source: ArraySource, prediction: FreehandPrediction, expected: Expected | None) -> ScanPrediction:
        return read_answer(source, expected, name=_shown_source(prediction))

    # Scoring

    def score(self, prediction: FreehandPrediction, reference: FreehandReference) -> CaseScore:
        truth = read_truth(reference, self.grid)
        errors, by_frame = self._errors(prediction, truth)
        largest = self.identity(reference.case, truth).errors
        unclipped = {name: normalised_error(errors[name], largest=largest[name]) for name in ERRORS}
        return CaseScore(
            metrics={
                **errors,
                **self._scores(unclipped),
                "largest": dict(largest),
                "by_frame": {"frames": truth.frames, **by_frame},
                "runtime_seconds": prediction.runtime_seconds,
            }
        )

    def _errors(self, prediction: FreehandPrediction, truth: Truth) -> tuple[dict[str, float], dict[str, list[float]]]:
        """GPE, GLE, LPE and LLE in mm, and how GPE and LPE run over the frames; what is too large for float64 shows at
        the end."""
        with np.errstate(over="ignore", invalid="ignore"):
            errors, by_frame = self._measured(prediction, truth)
        if not all(math.isfinite(error) for error in errors.values()):
            raise Refused(f"'{_shown_source(prediction)}' holds displacements too large to be measured.")
        return errors, by_frame

    def _measured(
        self, prediction: FreehandPrediction, truth: Truth
    ) -> tuple[dict[str, float], dict[str, list[float]]]:
        expected = Expected(truth.frames, self.grid.pixels, len(truth.landmarks))
        with open_arrays(prediction, expected) as source:
            answer = self._answer(source, prediction, expected)
            fields = [
                Field(answer.pixels("global", truth.pixel_to_mm), truth.global_field),
                Field(answer.pixels("local", truth.pixel_to_mm), truth.local_field),
            ]
            frames = [means.tolist() for means in frame_errors(fields, self.grid, threads=self.threads)]
        gpe, lpe = map(mean_of, frames)
        gle, lle = (
            mean_distance(
                prediction=answer.at_landmarks(level, truth.landmarks, truth.pixel_to_mm),
                reference=landmark_displacements(field, truth.landmarks),
            )
            for level, field in (("global", truth.global_field), ("local", truth.local_field))
        )
        errors = {"gpe": gpe, "gle": gle, "lpe": lpe, "lle": lle}
        return errors, {name: stretch_means(means) for name, means in zip(("gpe", "lpe"), frames, strict=True)}

    def identity(self, case: str, truth: Truth) -> IdentityErrors:
        """The errors of a prediction that moves nothing: as stored with the ground truth if that still fits it."""
        stored = self._stored_identity.get(case)
        if stored is not None and stored.digest == truth_digest(truth, self.grid):
            return stored
        return compute_identity(truth, self.grid, threads=self.threads)

    def _scores(self, unclipped: Mapping[str, float]) -> dict[str, Any]:
        normalised = {name: clipped(e) for name, e in unclipped.items()} if self.settings.clip else dict(unclipped)
        return {
            "normalised": normalised,
            "unclipped": dict(unclipped),
            "final_score": final_score(normalised),
            "final_score_unclipped": final_score(unclipped),
            **category_scores(normalised),
            "as_written": category_scores_as_written(normalised),
        }

    def unanswered(self, reference: FreehandReference) -> Figures:  # noqa: ARG002  (every scan is lost alike)
        failed = POLICIES["reconstruction"].failed
        return {
            **dict.fromkeys(ERRORS),
            **self._scores(dict.fromkeys(ERRORS, failed)),
            "largest": dict.fromkeys(ERRORS),
            "by_frame": None,
            "runtime_seconds": None,
        }

    # Adding up

    def aggregate(self, results: Sequence[CaseResult], timing: Timing) -> Figures:
        figures: dict[str, Any] = {}
        as_written = [f"as_written.{name}" for name in CATEGORIES]
        for name in ("final_score", "final_score_unclipped", *CATEGORIES, *as_written):
            put(figures, name, mean_of([get(result.metrics, name) for result in results]))
        for group in _GROUPS:
            for name in ERRORS:
                _put_spread(figures, f"{group}.{name}", [result.metrics[group][name] for result in results])
        scored = [result for result in results if result.status == "scored"]
        for name in ERRORS:
            _put_spread(figures, name, [result.metrics[name] for result in scored])
        counts = {status: sum(each.status == status for each in results) for status in ("scored", "failed", "missing")}
        figures["scans"] = {"expected": len(results), **counts}

        seconds = timing.total_seconds
        submitted = counts["scored"] + counts["failed"]
        runtime = None if seconds is None else seconds / max(1, submitted)
        figures["runtime_known"] = int(runtime is not None)
        figures["runtime_seconds"] = runtime or 0.0
        figures["score"] = round(figures["final_score"], 3)
        figures["ranking_score"] = figures["score"] + (0.0 if runtime is None else TIE_BREAK_SHARE / (1 + runtime))
        return figures

    # Ranking

    def ranking_rule(self) -> RankingRule:
        runtime = Criterion(path="runtime_seconds", title="Mean runtime", direction="lower", known_path="runtime_known")
        return RankingRule(
            words="teams are ranked by the final score, the mean over all scans rounded to 3 decimals",
            criteria=(Criterion(path="final_score", title="Final score", direction="higher", decimals=3),),
            tie_breaks=(runtime,),
            case_metrics=("final_score",),
        )

    def resampled_figures(
        self,
        rows: Sequence[Figures],
        aggregates: Figures,  # noqa: ARG002  (the runtime is one figure and does not depend on the scans drawn)
        resamples: Resamples,
    ) -> Mapping[str, Floats] | None:
        if not all("final_score" in row for row in rows):
            return None
        return {"final_score": resamples.mean([row["final_score"] for row in rows])}


_NOT_A_SCAN = "it is neither <scan>.h5, <scan>.npz nor <scan>/GP.npy, GL.npy, LP.npy, LL.npy"


def _case_of_file(path: PurePosixPath) -> str | None:
    """`<scan>.h5`, `<scan>.npz`, or the folder of GP.npy and its like; None for any other file."""
    if path.name.lower() in _ARRAY_FILES:
        return normalize_nfc(path.parent.name) or None
    ending = next((ending for ending in _FILE_ENDINGS if path.name.lower().endswith(ending)), None)
    return normalize_nfc(path.name[: -len(ending)]) or None if ending else None


def _shown_source(prediction: FreehandPrediction) -> str:
    """How the scan's file or folder is called in messages."""
    if isinstance(prediction.source, Job):
        return prediction.source.label
    if isinstance(prediction.source, SafeFile):
        return prediction.source.name
    return f"{PurePosixPath(next(iter(prediction.source.values())).name).parent}/"


def _put_spread(figures: dict[str, Any], name: str, values: Sequence[float]) -> None:
    """Mean and population standard deviation; 0 where there is nothing, which `scans.scored` then says."""
    mean, std = mean_and_std(values)
    put(figures, f"{name}.mean", mean)
    put(figures, f"{name}.std", std)
