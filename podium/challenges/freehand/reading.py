"""Freehand scans: reading references, reading predictions, and the distances between their fields.

A reference, in the layout in which TUS-REC releases it:

    transfs/<subject>/<scan>.h5        "tforms" (N, 4, 4): tool -> camera
    landmark[s]/landmark_<subject>.h5  "<scan>" (n, 3): frame from 0, x and y from 1
    calib_matrix.csv                   a header, four rows S (pixel -> image mm), a header, four rows C (-> tool)
    dataset_keys.h5                    its keys `sub<subject>__<scan>` are the cases; without it every scan is one

A prediction is four sets of displacements, given as arrays or as transforms:

    GP, LP  (N-1, 3, H W)   pixels of every frame but the first, to the first frame / to the previous frame, mm
    GL, LL  (3, n)          landmarks
    global_transforms, local_transforms  (N-1, 4, 4)   in image mm, frame -> first frame / previous frame

Arrays take precedence. Transforms replace all arrays that are not given; one kind of transforms yields the other (as a
running product, or its inverse).
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import PurePosixPath
from typing import Any

import numpy as np
from numpy.typing import NDArray

from podium.challenges.ground_truth import Shapes
from podium.errors import Refused
from podium.figures import LARGEST_FIGURE
from podium.metrics import Floats
from podium.metrics.displacement import (
    Coefficients,
    PixelGrid,
    TileDistance,
    affine_errors,
    chained,
    field_coefficients,
    global_transforms,
    landmark_displacements,
    local_transforms,
    unchained,
)
from podium.platform.jobs import Job
from podium.readers.archives import is_zip
from podium.readers.files import SafeFile, escape_for_display
from podium.readers.formats.arrays import NpyFiles, open_npz
from podium.readers.frames import ArraySource, FieldShape, FrameStream, check_shape
from podium.readers.hdf5 import SIGNATURE, open_hdf5

PIXEL_SETS = {"global": "GP", "local": "LP"}
LANDMARK_SETS = {"global": "GL", "local": "LL"}
TRANSFORM_SETS = {"global": "global_transforms", "local": "local_transforms"}
ARRAYS = (*PIXEL_SETS.values(), *LANDMARK_SETS.values(), *TRANSFORM_SETS.values())
CALIBRATION_FILE = "calib_matrix.csv"

_POSES = "tforms"

_MAX_CALIBRATION_BYTES = 100_000
_SLACK_BYTES = 64 * 1024 * 1024  # headers, chunk indices, landmarks, transforms
_LARGEST_FILE_BYTES = 1 << 40  # where no shape is known in advance
_FRAMES_PER_TASK = 64  # of transforms, for one thread at a time

_LAST_ROW = (0.0, 0.0, 0.0, 1.0)
_LAST_ROW_TOLERANCE = 1e-6  # rounding of an inverse or a product in float32
_SHORTEST_MM, _LONGEST_MM = 1.0, 10_000.0
_RIGID_TOLERANCE = 0.01  # of the entries of R^T R; measured calibrations are rounded


# References


@dataclass(frozen=True)
class FreehandReference:
    """The files of one scan's reference."""

    case: str
    scan: str
    transforms: SafeFile
    landmarks: SafeFile
    calibration: SafeFile


@dataclass(frozen=True, eq=False)
class ReferenceScan:
    """The content of one scan's reference: the fields of its frames, nine numbers each, and its landmarks."""

    tool_to_camera: Floats
    image_to_tool: Floats
    pixel_to_mm: Floats
    landmarks: NDArray[np.int64]
    global_field: Coefficients
    local_field: Coefficients

    @property
    def frames(self) -> int:
        """Number of frames with a displacement: all but the first."""
        return len(self.global_field)


def read_reference_scan(reference: FreehandReference, grid: PixelGrid) -> ReferenceScan:
    """Read and check one scan; raises Refused with a message for the organiser."""
    pixel_to_mm, image_to_tool = _read_calibration(reference.calibration)
    with open_hdf5(reference.transforms) as source:
        poses = source.read(_POSES)
    label = f"'{_POSES}' in '{reference.transforms.name}'"
    if poses.ndim != 3 or poses.shape[1:] != (4, 4):
        raise Refused(f"{label} must be Nx4x4.")
    if len(poses) < 2:
        raise Refused(f"{label} has one frame, and a scan of one frame has no displacement.")
    poses = _checked_transforms(poses, label)
    _check_invertible(poses, label)
    with open_hdf5(reference.landmarks) as source:
        landmarks = source.read(reference.scan)
    landmarks = _checked_landmarks(landmarks, f"'{reference.scan}' in '{reference.landmarks.name}'", len(poses), grid)
    return ReferenceScan(
        tool_to_camera=poses,
        image_to_tool=image_to_tool,
        pixel_to_mm=pixel_to_mm,
        landmarks=landmarks,
        global_field=field_coefficients(global_transforms(poses, image_to_tool), pixel_to_mm),
        local_field=field_coefficients(local_transforms(poses, image_to_tool), pixel_to_mm),
    )


def _read_calibration(file: SafeFile) -> tuple[Floats, Floats]:
    """S (pixel -> image mm) and C (image mm -> tool), each four rows after a header line."""
    text = file.read_bytes(_MAX_CALIBRATION_BYTES).decode("utf-8-sig", "replace")
    lines = [line.strip().strip(",") for line in text.splitlines()]
    lines = [line for line in lines if line]
    if len(lines) != 10:
        raise Refused(f"'{file.name}' must hold a header and four rows, twice; it has {len(lines)} lines.")
    try:
        rows = [[float(value) for value in line.split(",")] for line in (*lines[1:5], *lines[6:])]
        matrices = np.array(rows).reshape(2, 4, 4)
    except ValueError:  # also where a row has more or fewer numbers
        raise Refused(f"'{file.name}' holds a row that is not four numbers.") from None
    checked = _checked_transforms(matrices, f"'{file.name}'")
    _check_invertible(checked[1:], f"'{file.name}'")
    return checked[0], checked[1]


def _checked_transforms(matrices: NDArray[np.generic], label: str) -> Floats:
    """Finite homogeneous transforms in float64, their last row exactly 0, 0, 0, 1."""
    transforms = matrices.astype(np.float64)
    if not np.isfinite(transforms).all():
        number = int(np.argmin(np.isfinite(transforms).all(axis=(1, 2))))
        raise Refused(f"Transform {number + 1} of {label} holds NaN or infinite values.")
    good = (np.abs(transforms[:, 3] - _LAST_ROW) <= _LAST_ROW_TOLERANCE).all(axis=1)
    if not good.all():
        raise Refused(f"The last row of transform {int(np.argmin(good)) + 1} of {label} is not 0, 0, 0, 1.")
    transforms[:, 3] = _LAST_ROW
    return transforms


def _check_invertible(transforms: Floats, label: str) -> None:
    """Refuse a transform with a singular linear part."""
    good = np.linalg.matrix_rank(transforms[:, :3, :3]) == 3
    if not good.all():
        raise Refused(f"Transform {int(np.argmin(good)) + 1} of {label} cannot be inverted.")


def _checked_landmarks(landmarks: NDArray[np.generic], label: str, frames: int, grid: PixelGrid) -> NDArray[np.int64]:
    """Rows (frame, x, y) inside the scan. Other indices would silently wrap around, and frame 0 has no field."""
    if landmarks.ndim != 2 or landmarks.shape[1] != 3:
        raise Refused(f"{label} must have rows of frame, x and y.")
    rows = landmarks.astype(np.float64)
    if not (np.isfinite(rows).all() and (rows == np.round(rows)).all()):
        raise Refused(f"{label} holds landmarks that are not whole numbers.")
    inside = ((rows >= (1, 1, 1)) & (rows <= (frames - 1, grid.width, grid.height))).all(axis=1)
    if not inside.all():
        number = int(np.argmin(inside))
        frame, x, y = rows[number].astype(int)
        raise Refused(
            f"Landmark {number + 1} of {label} (frame {frame}, x {x}, y {y}) is outside frames 1 to {frames - 1}, "
            f"x 1 to {grid.width}, y 1 to {grid.height}."
        )
    return rows.astype(np.int64)


def sample_arrays(scan: ReferenceScan, factor: float) -> dict[str, Floats]:
    """Transforms as a prediction has them, with the translations multiplied."""
    found = {}
    for level, transforms_of in {"global": global_transforms, "local": local_transforms}.items():
        found[TRANSFORM_SETS[level]] = transforms_of(scan.tool_to_camera, scan.image_to_tool)
        found[TRANSFORM_SETS[level]][:, :3, 3] *= factor
    return found


def path_length_mm(scan: ReferenceScan) -> float:
    """Length of the tracked tool's path."""
    places = scan.tool_to_camera[:, :3, 3]
    return float(np.linalg.norm(np.diff(places, axis=0), axis=1).sum())


def doubts_about_path(scan: ReferenceScan) -> Sequence[str]:
    """Lengths that suggest another unit: a scan is several centimetres long."""
    length = path_length_mm(scan)
    if length < _SHORTEST_MM:
        return [f"The path is shorter than {_SHORTEST_MM:g} mm: the transforms may be in metres."]
    if length > _LONGEST_MM:
        return [f"The path is longer than {_LONGEST_MM / 1000:g} m: the transforms may not be in mm."]
    return ()


def doubts_about_calibration(scan: ReferenceScan) -> Sequence[str]:
    """The first matrix should scale pixels to mm, the second should be a rigid transform."""
    first, second = scan.pixel_to_mm, scan.image_to_tool
    if _is_scale(first) and _is_rigid(second):
        return ()
    if _is_rigid(first) and _is_scale(second):
        return [f"The two matrices of {CALIBRATION_FILE} seem swapped: first pixel to mm, then image to tool."]
    doubts = []
    if not _is_scale(first):
        doubts.append(
            f"The first matrix of {CALIBRATION_FILE} is not a scale from pixels to mm (diagonal and positive)."
        )
    if not _is_rigid(second):
        doubts.append(f"The second matrix of {CALIBRATION_FILE} is not a rigid transform (rotation and translation).")
    return doubts


def _is_scale(matrix: Floats) -> bool:
    scale = matrix[:3, :3]
    return bool((np.diag(scale) > 0).all() and np.allclose(scale, np.diag(np.diag(scale)), atol=1e-9))


def _is_rigid(matrix: Floats) -> bool:
    rotation = matrix[:3, :3]
    return bool(np.allclose(rotation.T @ rotation, np.eye(3), atol=_RIGID_TOLERANCE) and np.linalg.det(rotation) > 0)


# Predictions


@dataclass(frozen=True)
class FreehandPrediction:
    """The source of one scan's prediction: one file, .npy files by array name, or a job's output socket."""

    source: SafeFile | Mapping[str, SafeFile] | Job
    runtime_seconds: float | None = None
    socket: str = ""

    @property
    def label(self) -> str:
        """Name of the scan's file or folder in messages."""
        if isinstance(self.source, Job):
            return self.source.label
        if isinstance(self.source, SafeFile):
            return self.source.name
        return f"{PurePosixPath(next(iter(self.source.values())).name).parent}/"


def expected_shapes(scan: ReferenceScan, grid: PixelGrid) -> Shapes:
    """The shapes that the four sets of a prediction must have."""
    fields, landmarks = (scan.frames, 3, grid.pixels), (3, len(scan.landmarks))
    return {"GP": fields, "GL": landmarks, "LP": fields, "LL": landmarks}


@dataclass(frozen=True)
class ScanPrediction:
    """The prediction by level ("global", "local"): fields are streams, everything else has been read."""

    fields: Mapping[str, FrameStream]
    landmarks: Mapping[str, Floats]
    transforms: Mapping[str, Floats]

    def pixels(self, level: str, pixel_to_mm: Floats) -> FrameStream | Coefficients:
        """The predicted field of a level."""
        if level in self.fields:
            return self.fields[level]
        return field_coefficients(self.transforms[level], pixel_to_mm)

    def at_landmarks(self, level: str, landmarks: NDArray[np.int64], pixel_to_mm: Floats) -> Floats:
        """The predicted displacements (3, n) of a level's landmarks."""
        if level in self.landmarks:
            return self.landmarks[level]
        return landmark_displacements(field_coefficients(self.transforms[level], pixel_to_mm), landmarks)


@contextmanager
def open_arrays(prediction: FreehandPrediction, expected: Shapes | None) -> Iterator[ArraySource]:
    """The arrays of a prediction, from any supported container; its content decides, not its name."""
    source = prediction.source
    if isinstance(source, Job):
        source = source.output_file(prediction.socket, endings=(".h5", ".zip", ".npz"))
    if not isinstance(source, SafeFile):
        yield NpyFiles(source)
        return
    start = source.first_bytes(len(SIGNATURE))
    # Both fields in float64, uncompressed.
    limit = 2 * 8 * math.prod(expected["GP"]) + _SLACK_BYTES if expected else _LARGEST_FILE_BYTES
    if start == SIGNATURE:
        with open_hdf5(source, max_bytes=limit) as opened:
            yield opened
    elif is_zip(start):
        with open_npz(source, max_bytes=limit) as packed:
            yield packed
    else:
        raise Refused(f"The content of '{source.name}' is neither HDF5 nor a zip of .npy arrays (.npz).")


def read_scan_prediction(source: ArraySource, expected: Shapes | None, *, name: str) -> ScanPrediction:
    """Find and check all sets; `name` is that of the scan's folder or file."""
    found = [array for array in ARRAYS if source.has(array)]
    _check_complete(found, source, name)
    expected = expected or {"GP": _declared_shape(source, found)}
    frames, _, pixels = expected["GP"]
    transforms = _transforms(source, found, frames)
    fields = {
        level: source.frames(array, shape=(frames, 3, pixels)) for level, array in PIXEL_SETS.items() if array in found
    }
    landmarks = {
        level: _landmarks(source, array, expected.get(array))
        for level, array in LANDMARK_SETS.items()
        if array in found
    }
    return ScanPrediction(fields, landmarks, transforms)


def _check_complete(found: list[str], source: ArraySource, name: str) -> None:
    if any(array in found for array in TRANSFORM_SETS.values()):
        return
    needed = (*PIXEL_SETS.values(), *LANDMARK_SETS.values())
    missing = [array for array in needed if array not in found]
    if not missing:
        return
    has = ", ".join(found or map(escape_for_display, source.names()[:10])) or "no array"
    raise Refused(
        f"'{name}' holds {has}, but not {', '.join(missing)}; send GP, GL, LP and LL, "
        "or global_transforms or local_transforms."
    )


def _declared_shape(source: ArraySource, found: list[str]) -> FieldShape:
    """The shape of the first field, which the others must match if no shape is expected."""
    frames = [source.shape(array)[:1] for array in found if array not in LANDMARK_SETS.values()]
    pixels = [source.shape(array)[2:3] for array in found if array in PIXEL_SETS.values()]
    (count,), (size,) = frames[0] or (1,), (pixels[0] if pixels else ()) or (1,)
    return count, 3, size


def _transforms(source: ArraySource, found: list[str], frames: int) -> dict[str, Floats]:
    """The given transforms, and those derived from them where a set that is not given needs them."""
    given: dict[str, Floats] = {}
    for level, array in TRANSFORM_SETS.items():
        if array in found:
            label = source.label(array)
            check_shape(label, source.shape(array), (frames, 4, 4))
            given[level] = _checked_transforms(source.read(array, shape=(frames, 4, 4)), label)
    for level, other in (("global", "local"), ("local", "global")):
        needed = PIXEL_SETS[level] not in found or LANDMARK_SETS[level] not in found
        if needed and level not in given:
            given[level] = _derived(level, given[other], source.label(TRANSFORM_SETS[other]))
    return given


def _derived(level: str, transforms: Floats, label: str) -> Floats:
    """Global transforms from local ones, or the other way round."""
    if level == "local":
        _check_invertible(transforms, label)
    with np.errstate(all="ignore"):
        derived = chained(transforms) if level == "global" else unchained(transforms)
    if not np.isfinite(derived).all():
        raise Refused(f"The {level} transforms that follow from {label} are too large to be computed.")
    return derived


def _landmarks(source: ArraySource, array: str, expected: tuple[int, ...] | None) -> Floats:
    label, shape = source.label(array), source.shape(array)
    check_shape(label, shape, expected or (3, shape[1] if len(shape) == 2 else 1))
    values: NDArray[Any] = source.read(array, shape=shape)
    if values.dtype.kind not in "fiu":
        raise Refused(f"{label} holds no numbers.")
    check_finite(label, values)
    return values.astype(np.float64)


# Errors. A field is a stream (a prediction given pixel by pixel) or coefficients (transforms, and the identity).


@dataclass(frozen=True)
class ComparedField:
    """A predicted field, streamed or affine, and its reference."""

    prediction: FrameStream | Coefficients
    reference: Coefficients


def refuse_unmeasurable(errors: Iterable[float], label: str) -> None:
    """Refuse errors that are NaN, infinite or beyond what a figure may be."""
    if not all(error <= LARGEST_FIGURE for error in errors):
        raise Refused(f"'{label}' holds displacements too large to be measured.")


def frame_errors(fields: Sequence[ComparedField], grid: PixelGrid, *, threads: int) -> list[Floats]:
    """The mean distance (mm) of every frame of each field; their mean is the field's error.

    Neither the figures nor the error that is raised depend on the number of threads.
    """
    results = [np.zeros(len(field.reference)) for field in fields]
    tasks: list[Callable[[], None]] = []
    for field, result in zip(fields, results, strict=True):
        if isinstance(field.prediction, FrameStream):
            spans = field.prediction.spans()
            tasks += [partial(_stream_errors, field.prediction, span, field.reference, result, grid) for span in spans]
        else:
            difference = field.prediction - field.reference
            for first in range(0, len(difference), _FRAMES_PER_TASK):
                frames = slice(first, first + _FRAMES_PER_TASK)
                tasks.append(partial(_affine_errors, difference, frames, result, grid))
    run_in_order(tasks, threads=threads)
    for field in fields:
        if isinstance(field.prediction, FrameStream):
            field.prediction.finish()
    return results


def _stream_errors(stream: FrameStream, span: range, reference: Coefficients, result: Floats, grid: PixelGrid) -> None:
    distance = TileDistance(grid, reference)
    with np.errstate(all="ignore"):  # once: entering it for every tile takes longer than some steps on a tile
        for tile in stream.tiles(span):
            total = distance.sum(tile.values, frame=tile.frame, start=tile.start)
            if not math.isfinite(total):
                check_finite(stream.label, tile.values, frame=tile.frame, start=tile.start)
                exact = TileDistance(grid, reference, np.float64)
                total = exact.sum(tile.values, frame=tile.frame, start=tile.start)
            result[tile.frame] += total
    result[span.start : span.stop] /= grid.pixels


def _affine_errors(difference: Coefficients, frames: slice, result: Floats, grid: PixelGrid) -> None:
    result[frames] = affine_errors(difference[frames], grid)


def check_finite(label: str, values: NDArray[Any], *, frame: int | None = None, start: int = 0) -> None:
    """Refuse values (component, pixel or landmark) that hold NaN or infinity; the message gives the position."""
    finite = np.isfinite(values)
    if finite.all():
        return
    component, pixel = (int(index) for index in np.argwhere(~finite)[0])
    what = "NaN" if np.isnan(values[component, pixel]) else "an infinite value"
    place = [*([] if frame is None else [frame]), component, start + pixel]
    raise Refused(f"{label} holds {what}, first at {place}.")


def run_in_order(tasks: Sequence[Callable[[], None]], *, threads: int) -> None:
    """Run all tasks, started in order; raise the error of the first failed task in order and start no more."""
    if threads == 1:
        for task in tasks:
            task()
        return
    with ThreadPoolExecutor(threads) as pool:
        for _ in pool.map(lambda task: task(), tasks):
            pass
