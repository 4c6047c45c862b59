"""Tools for freehand scans: pack .npy fields into HDF5 for upload, and draw a scan's trajectories and errors.

The recommended HDF5 has chunks of one frame, shuffled, gzip level 1: fields of a rigid motion become about fifteen
times smaller. Packing checks everything as the evaluation would. Fields of float64 are rounded to float32, in which
they are scored.
"""

import io
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from podium.challenges.freehand.reading import (
    ARRAYS,
    LANDMARK_SETS,
    PIXEL_SETS,
    TRANSFORM_SETS,
    ComparedField,
    FreehandPrediction,
    ReferenceScan,
    check_finite,
    expected_shapes,
    frame_errors,
    open_arrays,
    read_scan_prediction,
    run_in_order,
)
from podium.errors import UsageError
from podium.kernel import whole_file
from podium.metrics import Floats
from podium.metrics.displacement import Coefficients, PixelGrid
from podium.packages import h5py, missing_packages
from podium.readers.files import SafeFile
from podium.readers.frames import FrameStream
from podium.readers.hdf5 import SIGNATURE

_GZIP_LEVEL = 1
_MAX_PLANES = 7  # frames drawn as planes
_TITLES = {"global": "GP error to the first frame", "local": "LP error to the previous frame"}
# From the Okabe-Ito palette, which is distinguishable with every common kind of colour blindness.
_REFERENCE, _PREDICTED, _IDENTITY = "#0072B2", "#D55E00", "#8c8c8c"
_INK = "#222222"


@dataclass(frozen=True)
class Packed:
    """A packed scan and its size before and after."""

    path: Path
    bytes_before: int
    bytes_after: int


def pack_scan(scan: Path, *, output: Path | None, threads: int) -> Packed:
    """Pack a folder of .npy files, or one .npz, into `<scan>.h5` beside it or in the folder `output`."""
    name = scan.name if scan.is_dir() else scan.stem
    target = (output or scan.parent) / f"{name}.h5"
    if target.exists():
        raise UsageError(f"{target} already exists; remove it, or name another folder with --output.")
    prediction, before = _source(scan)
    target.parent.mkdir(parents=True, exist_ok=True)
    with whole_file(target) as unfinished, open_arrays(prediction, None) as source:
        found = read_scan_prediction(source, None, name=scan.name)
        with h5py.File(unfinished, "w") as file:
            for level, stream in found.fields.items():
                _write_field(file, PIXEL_SETS[level], stream, threads=threads)
            for array in (*LANDMARK_SETS.values(), *TRANSFORM_SETS.values()):
                if source.has(array):
                    file.create_dataset(array, data=source.read(array), track_times=False)
    return Packed(target, before, target.stat().st_size)


def _source(scan: Path) -> tuple[FreehandPrediction, int]:
    """The scan's files and their total size in bytes."""
    if scan.is_file():
        file = SafeFile.inside(scan.parent, scan.name)
        if file.first_bytes(len(SIGNATURE)) == SIGNATURE:
            raise UsageError(f"{scan} is already HDF5; pack the .npy files or the .npz it was made from.")
        return FreehandPrediction(file), file.size
    files = {
        array: SafeFile.inside(scan.parent, f"{scan.name}/{array}.npy")
        for array in ARRAYS
        if (scan / f"{array}.npy").exists()
    }
    if not files:
        raise UsageError(f"{scan} holds neither {ARRAYS[0]}.npy nor any other array of a scan.")
    return FreehandPrediction(files), sum(file.size for file in files.values())


def _write_field(file: Any, name: str, stream: FrameStream, *, threads: int) -> None:
    """Write a field frame by frame; threads compress in parallel, which takes most of the time."""
    frames, components, pixels = stream.shape
    dataset = file.create_dataset(
        name,
        (frames, components, pixels),
        np.float16 if stream.dtype == np.float16 else np.float32,
        chunks=(1, components, pixels),
        shuffle=True,
        compression="gzip",
        compression_opts=_GZIP_LEVEL,
        track_times=False,
    )
    writing = Lock()

    def write(span: range) -> None:
        for tile in stream.tiles(span):
            with np.errstate(over="ignore"):
                values: NDArray[Any] = tile.values.astype(dataset.dtype)
            check_finite(stream.label, values, frame=tile.frame, start=tile.start)
            planes = values.reshape(-1).view(np.uint8).reshape(-1, values.itemsize).T
            packed = zlib.compress(planes.tobytes(), _GZIP_LEVEL)
            with writing:
                dataset.id.write_direct_chunk((tile.frame, 0, 0), packed)

    run_in_order([partial(write, span) for span in stream.spans()], threads=threads)
    stream.finish()


@dataclass(frozen=True)
class Trajectory:
    """Corners (frames, 4, 3) of all frames, in mm in the first frame's image coordinates, and errors by level."""

    reference: Floats
    predicted: Floats | None
    errors: Mapping[str, Floats]  # mean error of every frame but the first, mm
    identity: Mapping[str, Floats]  # the same for the identity baseline


def scan_trajectory(
    scan: ReferenceScan, prediction: FreehandPrediction | None, *, grid: PixelGrid, threads: int
) -> Trajectory:
    """What `draw_trajectory` draws; without a prediction, only the reference."""
    references = {"global": scan.global_field, "local": scan.local_field}
    identity = _errors({level: np.zeros_like(field) for level, field in references.items()}, references, grid, threads)
    start = (np.column_stack([_corner_pixels(grid), np.zeros(4), np.ones(4)]) @ scan.pixel_to_mm.T)[:, :3]
    moved = np.concatenate([np.zeros((1, 4, 3)), _affine_corners(scan.global_field, grid)])
    if prediction is None:
        return Trajectory(start + moved, None, {}, identity)
    expected = expected_shapes(scan, grid)
    with open_arrays(prediction, expected) as source:
        found = read_scan_prediction(source, expected, name="the prediction")
        fields = {level: found.pixels(level, scan.pixel_to_mm) for level in references}
        errors = _errors(fields, references, grid, threads)
        predicted = np.concatenate([np.zeros((1, 4, 3)), _corners(fields["global"], grid)])
    return Trajectory(start + moved, start + predicted, errors, identity)


def _errors(
    fields: Mapping[str, FrameStream | Coefficients],
    references: Mapping[str, Coefficients],
    grid: PixelGrid,
    threads: int,
) -> dict[str, Floats]:
    pairs = [ComparedField(fields[level], reference) for level, reference in references.items()]
    return dict(zip(references, frame_errors(pairs, grid, threads=threads), strict=True))


def _corner_pixels(grid: PixelGrid) -> NDArray[np.int64]:
    """(x, y) counted from 1, in order around the frame."""
    return np.array([[1, 1], [grid.width, 1], [grid.width, grid.height], [1, grid.height]])


def _affine_corners(coefficients: Coefficients, grid: PixelGrid) -> Floats:
    places = np.column_stack([np.ones(4), _corner_pixels(grid)])
    return np.asarray(np.einsum("fcj,kj->fkc", coefficients, places))


def _corners(field: FrameStream | Coefficients, grid: PixelGrid) -> Floats:
    """Displacements of the corners of every frame but the first."""
    if not isinstance(field, FrameStream):
        return _affine_corners(field, grid)
    found = np.zeros((field.shape[0], 4, 3))
    flat = [int((y - 1) * grid.width + x - 1) for x, y in _corner_pixels(grid)]
    for span in field.spans():
        for tile in field.tiles(span):
            for corner, pixel in enumerate(flat):
                if tile.start <= pixel < tile.start + tile.values.shape[1]:
                    found[tile.frame, corner] = tile.values[:, pixel - tile.start]
    return found


def draw_trajectory(trajectory: Trajectory, *, title: str) -> bytes:
    """The picture as a PNG file."""
    try:
        import matplotlib as mpl
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        raise UsageError(missing_packages("matplotlib", extra="score,simulate")) from None
    with mpl.rc_context({"font.family": "DejaVu Sans", "font.size": 11, "axes.edgecolor": _INK}):
        figure = Figure(figsize=(12, 6), dpi=100, facecolor="white")
        FigureCanvasAgg(figure)
        grid = figure.add_gridspec(
            2, 2, width_ratios=(1.15, 1), left=0.0, right=0.975, top=0.87, bottom=0.1, wspace=0.13, hspace=0.42
        )
        space = figure.add_subplot(grid[:, 0], projection="3d")
        _draw_space(space, trajectory)
        for row, level in enumerate(_TITLES):
            _draw_errors(figure.add_subplot(grid[row, 1]), trajectory, level, last=row == len(_TITLES) - 1)
        figure.suptitle(title, x=0.02, ha="left", fontsize=14, color=_INK)
        handles, labels = space.get_legend_handles_labels()
        figure.legend(handles, labels, loc="upper left", bbox_to_anchor=(0.012, 0.945), ncols=3, frameon=False)
        figure.savefig(drawn := io.BytesIO())
        return drawn.getvalue()


def _draw_space(axes: Any, trajectory: Trajectory) -> None:
    from matplotlib.ticker import MaxNLocator
    from mpl_toolkits.mplot3d.art3d import Poly3DCollection

    shown = np.unique(np.linspace(0, len(trajectory.reference) - 1, _MAX_PLANES).round().astype(int))
    paths: list[tuple[Floats, str, str, Any]] = [(trajectory.reference, _REFERENCE, "reference", "solid")]
    if trajectory.predicted is not None:
        paths.append((trajectory.predicted, _PREDICTED, "prediction", (0, (4, 2))))
    for corners, colour, label, style in paths:  # the path of each corner, and some of the frames as planes
        placed = corners[:, :, [0, 2, 1]]
        for corner in range(4):
            x, y, z = placed[:, corner].T
            axes.plot(x, y, z, color=colour, linestyle=style, linewidth=1.4, label=label if corner == 0 else None)
        planes = Poly3DCollection(list(placed[shown]), facecolor=colour, edgecolor=colour, alpha=0.06, linewidth=0.7)
        axes.add_collection3d(planes)
    everything = np.concatenate([corners.reshape(-1, 3) for corners, *_ in paths])
    lowest, highest = everything.min(axis=0), everything.max(axis=0)
    middle, reach = (lowest + highest) / 2, max(1.0, float((highest - lowest).max())) / 2
    # The image's depth (y) points down in the picture, as it does in an ultrasound image.
    axes.set(
        xlim=(middle[0] - reach, middle[0] + reach),
        ylim=(middle[2] - reach, middle[2] + reach),
        zlim=(middle[1] + reach, middle[1] - reach),
    )
    axes.set_xlabel("x, width (mm)", labelpad=6)
    axes.set_ylabel("z, sweep (mm)", labelpad=6)
    axes.set_zlabel("y, depth (mm)", labelpad=4)
    axes.set_box_aspect((1, 1, 1), zoom=1.02)
    axes.view_init(elev=22, azim=-52)
    for axis in (axes.xaxis, axes.yaxis, axes.zaxis):
        axis.pane.set_facecolor("#f6f6f6")
        axis.set_major_locator(MaxNLocator(4))
    axes.tick_params(labelsize=9, pad=1)
    axes.plot([], [], [], color=_IDENTITY, linewidth=1.2, label="identity baseline")


def _draw_errors(axes: Any, trajectory: Trajectory, level: str, *, last: bool) -> None:
    from matplotlib.ticker import MaxNLocator

    frames = np.arange(1, len(trajectory.reference))
    axes.plot(frames, trajectory.identity[level], color=_IDENTITY, linewidth=1.2)
    if trajectory.errors:
        errors = trajectory.errors[level]
        axes.plot(frames, errors, color=_PREDICTED, linewidth=1.8)
        mean, largest = errors.mean(), trajectory.identity[level].mean()
        caption = f"mean {mean:.2f} mm, identity {largest:.2f} mm"
        axes.text(1, 1.03, caption, transform=axes.transAxes, ha="right", va="bottom", fontsize=10, color=_INK)
    axes.set_title(_TITLES[level], loc="left", fontsize=11, color=_INK)
    axes.set_ylabel("mm")
    axes.set_ylim(bottom=0)
    axes.margins(x=0.01)
    axes.grid(color="#e3e3e3", linewidth=0.7)
    axes.spines[["top", "right"]].set_visible(False)
    axes.xaxis.set_major_locator(MaxNLocator(8, integer=True))
    if last:
        axes.set_xlabel("frame")
