"""The ground truth of freehand scans, in the layout TUS-REC releases it in.

transfs/<subject>/<scan>.h5        "tforms" (N, 4, 4): tool -> camera
landmark[s]/landmark_<subject>.h5  "<scan>" (n, 3): frame from 0, x and y from 1
calib_matrix.csv                   a header, four rows S (pixel -> image mm), a header, four rows C (-> tool)
dataset_keys.h5                    its keys `sub<subject>__<scan>` are the cases; without it every scan is one
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from podium.challenges.ground_truth import ReferenceProblem
from podium.errors import Refused
from podium.metrics.displacement import Coefficients, PixelGrid, field_coefficients, global_transforms, local_transforms
from podium.platform.jobs import normalize_nfc
from podium.readers.files import SafeFile
from podium.readers.hdf5 import open_hdf5

CALIBRATION = "calib_matrix.csv"
KEYS = "dataset_keys.h5"
TRANSFORMS = "tforms"
LAST_ROW = (0.0, 0.0, 0.0, 1.0)
LAST_ROW_TOLERANCE = 1e-6  # what an inverse or a product in float32 may leave there
MAX_CALIBRATION_BYTES = 100_000

_TRANSFORM_FILE = re.compile(r"transfs/(?P<subject>[^/]+)/(?P<scan>[^/]+)\.h5")
_LANDMARK_FILE = re.compile(r"landmarks?/landmark_(?P<subject>[^/]+)\.h5")


@dataclass(frozen=True)
class FreehandReference:
    """Where one scan's reference lies."""

    case: str
    scan: str
    transforms: SafeFile
    landmarks: SafeFile
    calibration: SafeFile


@dataclass(frozen=True)
class ReferenceScan:
    """One scan read: the fields of its frames, nine numbers each, and its landmarks."""

    tool_to_camera: NDArray[np.float64]
    image_to_tool: NDArray[np.float64]
    pixel_to_mm: NDArray[np.float64]
    landmarks: NDArray[np.int64]
    global_field: Coefficients
    local_field: Coefficients

    @property
    def frames(self) -> int:
        """Frames that have a displacement: all but the first."""
        return len(self.global_field)


def sort_freehand_references(
    files: Sequence[SafeFile], problems: list[ReferenceProblem]
) -> Mapping[str, FreehandReference]:
    """Every expected case, by the key in dataset_keys.h5, or by its files where there is none."""
    by_name = {file.name: file for file in files}
    if CALIBRATION not in by_name:
        problems.append(ReferenceProblem(what=f"The references lack {CALIBRATION}.", where="references"))
    transforms = {
        f"sub{match['subject']}__{match['scan']}": (match["subject"], match["scan"], file)
        for name, file in by_name.items()
        if (match := _TRANSFORM_FILE.fullmatch(name))
    }
    landmarks = {match["subject"]: file for name, file in by_name.items() if (match := _LANDMARK_FILE.fullmatch(name))}
    references = {}
    for case in _keys(by_name[KEYS], problems) if KEYS in by_name else transforms:
        if case not in transforms:
            what = "A scan of the ground truth has no transforms."
            problems.append(ReferenceProblem(what=what, where=f"{case} (no transfs/ file)"))
            continue
        subject, scan, file = transforms[case]
        if subject not in landmarks:
            what = "A scan of the ground truth has no landmarks."
            problems.append(ReferenceProblem(what=what, where=f"{case} (no landmark_ file)"))
        elif CALIBRATION in by_name:
            references[normalize_nfc(case)] = FreehandReference(
                case, scan, file, landmarks[subject], by_name[CALIBRATION]
            )
    return references


def _keys(file: SafeFile, problems: list[ReferenceProblem]) -> tuple[str, ...]:
    try:
        with open_hdf5(file) as source:
            return source.keys()
    except Refused as refusal:
        problems.append(
            ReferenceProblem(
                what=f"{KEYS} cannot be read.", where=f"references/{KEYS} ({str(refusal).removesuffix('.')})"
            )
        )
        return ()


def read_reference_scan(reference: FreehandReference, grid: PixelGrid) -> ReferenceScan:
    """Read and check one scan; Refused says, to the organiser, what is broken."""
    pixel_to_mm, image_to_tool = read_calibration(reference.calibration)
    with open_hdf5(reference.transforms) as source:
        poses = source.read(TRANSFORMS)
    label = f"'{TRANSFORMS}' in '{reference.transforms.name}'"
    if poses.ndim != 3 or poses.shape[1:] != (4, 4):
        raise Refused(f"{label} must be Nx4x4.")
    if len(poses) < 2:
        raise Refused(f"{label} has one frame, and a scan of one frame has no displacement.")
    poses = checked_transforms(poses, label)
    check_invertible(poses, label)
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


def read_calibration(file: SafeFile) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """S (pixel -> image mm) and C (image mm -> tool), each four rows after a line of words."""
    text = file.read_bytes(MAX_CALIBRATION_BYTES).decode("utf-8-sig", "replace")
    lines = [line.strip().strip(",") for line in text.splitlines()]
    lines = [line for line in lines if line]
    if len(lines) != 10:
        raise Refused(f"'{file.name}' must hold a header and four rows, twice; it has {len(lines)} lines.")
    try:
        matrices = [
            np.array([[float(value) for value in line.split(",")] for line in lines[first : first + 4]])
            for first in (1, 6)
        ]
    except ValueError:
        raise Refused(f"'{file.name}' holds a row that is not four numbers.") from None
    if any(matrix.shape != (4, 4) for matrix in matrices):
        raise Refused(f"'{file.name}' holds a row that is not four numbers.")
    checked = checked_transforms(np.stack(matrices), f"'{file.name}'")
    check_invertible(checked[1:], f"'{file.name}'")
    return checked[0], checked[1]


def checked_transforms(matrices: NDArray[np.generic], label: str) -> NDArray[np.float64]:
    """Finite homogeneous transforms in float64, their last row exactly 0, 0, 0, 1."""
    transforms = matrices.astype(np.float64)
    if not np.isfinite(transforms).all():
        number = int(np.argmin(np.isfinite(transforms).all(axis=(1, 2))))
        raise Refused(f"Transform {number + 1} of {label} holds NaN or infinite values.")
    good = (np.abs(transforms[:, 3] - LAST_ROW) <= LAST_ROW_TOLERANCE).all(axis=1)
    if not good.all():
        raise Refused(f"The last row of transform {int(np.argmin(good)) + 1} of {label} is not 0, 0, 0, 1.")
    transforms[:, 3] = LAST_ROW
    return transforms


def check_invertible(transforms: NDArray[np.float64], label: str) -> None:
    """None of them squeezes space flat."""
    good = np.linalg.matrix_rank(transforms[:, :3, :3]) == 3
    if not good.all():
        raise Refused(f"Transform {int(np.argmin(good)) + 1} of {label} cannot be inverted.")


def _checked_landmarks(landmarks: NDArray[np.generic], label: str, frames: int, grid: PixelGrid) -> NDArray[np.int64]:
    """Rows (frame, x, y) inside the scan. Indices outside would wrap around in silence, and frame 0 has no field."""
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
            f"Landmark {number + 1} of {label} (frame {frame}, x {x}, y {y}) lies outside frames 1 to {frames - 1}, "
            f"x 1 to {grid.width}, y 1 to {grid.height}."
        )
    return rows.astype(np.int64)
