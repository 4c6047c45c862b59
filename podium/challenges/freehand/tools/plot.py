"""A picture of one scan: both trajectories in 3-D, and the error over the frames."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from podium.challenges.freehand.tools.trajectory import Trajectory
from podium.errors import UsageError, missing_packages

# From the Okabe-Ito palette: told apart with every common kind of colour blindness.
REFERENCE, PREDICTED, IDENTITY = "#0072B2", "#D55E00", "#8c8c8c"
INK = "#222222"
MOST_PLANES = 7
TITLES = {"global": "GP error to the first frame", "local": "LP error to the frame before"}


def draw_trajectory(trajectory: Trajectory, *, title: str, path: Path) -> None:
    """Write the picture as PNG."""
    try:
        import matplotlib as mpl
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        raise UsageError(missing_packages("matplotlib", extra="simulate")) from None
    with mpl.rc_context({"font.family": "DejaVu Sans", "font.size": 11, "axes.edgecolor": INK}):
        figure = Figure(figsize=(12, 6), dpi=100, facecolor="white")
        FigureCanvasAgg(figure)
        grid = figure.add_gridspec(
            2, 2, width_ratios=(1.15, 1), left=0.0, right=0.975, top=0.87, bottom=0.1, wspace=0.13, hspace=0.42
        )
        space = figure.add_subplot(grid[:, 0], projection="3d")
        _draw_space(space, trajectory)
        for row, level in enumerate(TITLES):
            _draw_errors(figure.add_subplot(grid[row, 1]), trajectory, level, last=row == len(TITLES) - 1)
        figure.suptitle(title, x=0.02, ha="left", fontsize=14, color=INK)
        handles, labels = space.get_legend_handles_labels()
        figure.legend(handles, labels, loc="upper left", bbox_to_anchor=(0.012, 0.945), ncols=3, frameon=False)
        path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path)


def _draw_space(axes: Any, trajectory: Trajectory) -> None:
    from matplotlib.ticker import MaxNLocator

    shown = np.unique(np.linspace(0, len(trajectory.reference) - 1, MOST_PLANES).round().astype(int))
    paths: list[tuple[NDArray[np.float64], str, str, Any]] = [(trajectory.reference, REFERENCE, "reference", "solid")]
    if trajectory.predicted is not None:
        paths.append((trajectory.predicted, PREDICTED, "prediction", (0, (4, 2))))
    for corners, colour, label, style in paths:
        _draw_path(axes, corners, shown, colour=colour, label=label, style=style)
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
    axes.plot([], [], [], color=IDENTITY, linewidth=1.2, label="not moving at all")


def _draw_path(  # noqa: PLR0913  (a line and its looks)
    axes: Any, corners: NDArray[np.float64], shown: NDArray[np.int64], *, colour: str, label: str, style: Any
) -> None:
    """The way of each corner, and some of the frames as planes."""
    from mpl_toolkits.mplot3d.art3d import Poly3DCollection

    placed = corners[:, :, [0, 2, 1]]
    for corner in range(4):
        x, y, z = placed[:, corner].T
        axes.plot(x, y, z, color=colour, linestyle=style, linewidth=1.4, label=label if corner == 0 else None)
    planes = Poly3DCollection(list(placed[shown]), facecolor=colour, edgecolor=colour, alpha=0.06, linewidth=0.7)
    axes.add_collection3d(planes)


def _draw_errors(axes: Any, trajectory: Trajectory, level: str, *, last: bool) -> None:
    frames = np.arange(1, len(trajectory.reference))
    from matplotlib.ticker import MaxNLocator

    axes.plot(frames, trajectory.identity[level], color=IDENTITY, linewidth=1.2)
    if trajectory.errors:
        errors = trajectory.errors[level]
        axes.plot(frames, errors, color=PREDICTED, linewidth=1.8)
        mean, largest = errors.mean(), trajectory.identity[level].mean()
        words = f"mean {mean:.2f} mm, not moving {largest:.2f} mm"
        axes.text(1, 1.03, words, transform=axes.transAxes, ha="right", va="bottom", fontsize=10, color=INK)
    axes.set_title(TITLES[level], loc="left", fontsize=11, color=INK)
    axes.set_ylabel("mm")
    axes.set_ylim(bottom=0)
    axes.margins(x=0.01)
    axes.grid(color="#e3e3e3", linewidth=0.7)
    axes.spines[["top", "right"]].set_visible(False)
    axes.xaxis.set_major_locator(MaxNLocator(8, integer=True))
    if last:
        axes.set_xlabel("frame")
