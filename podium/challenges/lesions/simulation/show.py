"""One step of a simulated interaction as a picture: slice, reference, prediction, scribble."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from podium.challenges.lesions.simulation.case_run import find_prediction
from podium.challenges.lesions.simulation.clicks import Scribbles, read_scribbles
from podium.challenges.lesions.simulation.images import ImageCase
from podium.errors import SimpleITK as sitk
from podium.errors import UsageError
from podium.readers.files import SafeFile
from podium.readers.volumes import read_label_volume, read_mask_volume

# From the Okabe-Ito palette: told apart with every common kind of colour blindness.
REFERENCE, PREDICTION, TUMOR, BACKGROUND = "#009E73", "#E69F00", "#D55E00", "#56B4E9"
BRIGHTEST_PERCENTILE = 99.7


@dataclass(frozen=True, eq=False)
class Step:
    """What is drawn: arrays in numpy order (z, y, x)."""

    case: str
    number: int
    pet: NDArray[Any]
    spacing: tuple[float, ...]
    reference: NDArray[np.bool_]
    prediction: NDArray[np.bool_] | None
    scribbles: Scribbles
    new: Scribbles


def read_step(case: ImageCase, simulation: Path, number: int) -> Step:
    """The step as `podium simulate` left it."""
    folder = simulation / case.name
    path = folder / f"iter_{number}_scribbles.json"
    if not path.is_file():
        raise UsageError(f"There is no step {number} of '{case.name}' in '{simulation}'.")
    scribbles = read_scribbles(path)
    before = read_scribbles(folder / f"iter_{number - 1}_scribbles.json") if number else Scribbles()
    prediction = find_prediction(folder, number)
    pet = sitk.ReadImage(str(case.pet))
    return Step(
        case=case.name,
        number=number,
        pet=sitk.GetArrayFromImage(pet),
        spacing=pet.GetSpacing(),
        reference=read_label_volume(case.reference).labels != 0,
        prediction=None if prediction is None else _mask(folder, prediction.name),
        scribbles=scribbles,
        new=Scribbles(scribbles.tumor[len(before.tumor) :], scribbles.background[len(before.background) :]),
    )


def _mask(folder: Path, name: str) -> NDArray[np.bool_]:
    return read_mask_volume(SafeFile.inside(folder, name)).labels.view(np.bool_)


def slice_to_show(step: Step) -> int:
    """Where the new scribble lies, else the slice with the most lesion, else the middle."""
    points = (*step.new.tumor, *step.new.background)
    if points:
        return points[0][2]
    if step.reference.any():
        return int(np.count_nonzero(step.reference, axis=(1, 2)).argmax())
    return len(step.reference) // 2


def draw_step(step: Step, path: Path) -> None:
    """Write a PNG: the PET in inverted grey as readers see it, outlines, and the scribbles of this slice."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

    z = slice_to_show(step)
    height, width = step.pet.shape[1] * step.spacing[1], step.pet.shape[2] * step.spacing[0]
    figure = Figure(figsize=(7.2, 7.2 * height / width + 1.3), dpi=140, facecolor="white", layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    axes.imshow(
        step.pet[z], cmap="gray_r", vmin=0, vmax=float(np.percentile(step.pet, BRIGHTEST_PERCENTILE)) or 1.0,
        aspect=step.spacing[1] / step.spacing[0], interpolation="nearest",
    )  # fmt: skip
    _outline(axes, step.reference[z], REFERENCE, "solid")
    if step.prediction is not None:
        _outline(axes, step.prediction[z], PREDICTION, (0, (1.2, 0.8)))
    handles = [
        Line2D([], [], color=REFERENCE, linewidth=2.2, label="reference"),
        Line2D([], [], color=PREDICTION, linewidth=2.2, linestyle="--", label="prediction"),
    ]
    for name, points, colour, marker in (
        ("tumor scribble", step.scribbles.tumor, TUMOR, "o"),
        ("background scribble", step.scribbles.background, BACKGROUND, "s"),
    ):
        here = [(x, y) for x, y, other in points if other == z]
        axes.plot(
            [x for x, _ in here], [y for _, y in here], marker, color=colour, markersize=6,
            markeredgecolor="black", markeredgewidth=0.8,
        )  # fmt: skip
        handles.append(Line2D([], [], linestyle="", marker=marker, color=colour, markeredgecolor="black", label=name))
    axes.set_title(f"{step.case}, step {step.number}, slice z = {z}", loc="left", fontsize=12)
    axes.set_axis_off()
    figure.legend(handles=handles, loc="outside lower left", ncols=2, frameon=False, fontsize=10)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, metadata={"Software": None})


def _outline(axes: Any, mask: NDArray[np.bool_], colour: str, style: Any) -> None:
    """Along the voxels' own edges: a smooth contour would show a shape that is not there."""
    padded = np.pad(mask, 1).astype(np.int8)
    for row, column in np.argwhere(np.diff(padded, axis=0)):
        axes.plot((column - 1.5, column - 0.5), (row - 0.5, row - 0.5), color=colour, linewidth=2.2, linestyle=style)
    for row, column in np.argwhere(np.diff(padded, axis=1)):
        axes.plot((column - 0.5, column - 0.5), (row - 1.5, row - 0.5), color=colour, linewidth=2.2, linestyle=style)
