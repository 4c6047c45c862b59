"""Draws docs/pictures/carotid.png: one sample case in both views, a team's contours over the reference.

    python docs/pictures/draw_carotid.py

The images and masks come from the sample generator, the figures from the expected scores beside the tests.
"""

import json
import sys
from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from numpy.typing import NDArray
from PIL import Image
from scipy.ndimage import gaussian_filter

REPOSITORY = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPOSITORY / "test"))

from samples.carotid_cases import cases  # noqa: E402  (the line above makes them importable)
from samples.carotid_teams import teams  # noqa: E402

CASE, TEAM = "csv_0071", "bifurcation"
PICTURE = Path(__file__).with_name("carotid.png")
WIDTH_PX, HEIGHT_PX, DPI = 1200, 686, 100

# From the Okabe-Ito palette: told apart with every common kind of colour blindness, and by brightness on speckle.
COLOURS = {"vessel": "#56B4E9", "plaque": "#E69F00"}
VALUES = {"vessel": 2, "plaque": 1}
BACKGROUND, INK, QUIET_INK = "#0b0d10", "#f2f2f2", "#a9b0b8"
TITLES = {"long": "Longitudinal view", "trans": "Transverse view"}


def main() -> None:
    case = next(case for case in cases() if case.name == CASE)
    answer = teams()[TEAM].answers[CASE]
    expected = json.loads((REPOSITORY / "test/expected/carotid" / f"{TEAM}.json").read_text(encoding="utf-8"))
    metrics = expected["results"][CASE]["metrics"]

    mpl.rcParams["font.family"] = "DejaVu Sans"
    figure = Figure(figsize=(WIDTH_PX / DPI, HEIGHT_PX / DPI), dpi=DPI, facecolor=BACKGROUND)
    widths = [view.image.shape[1] / view.image.shape[0] for view in case.views.values()]
    panels = figure.subplots(1, 2, width_ratios=widths)
    figure.subplots_adjust(left=0.015, right=0.985, top=0.93, bottom=0.16, wspace=0.03)
    for axes, (name, view) in zip(panels, case.views.items(), strict=True):
        axes.imshow(view.image, cmap="gray", vmin=0, vmax=255, interpolation="bicubic")
        for structure, value in VALUES.items():
            draw_contour(axes, view.mask == value, COLOURS[structure], "solid")
            draw_contour(axes, answer.masks[name] == value, COLOURS[structure], (0, (2.6, 1.5)))
        axes.set_axis_off()
        axes.set_title(TITLES[name], color=INK, fontsize=14, loc="left", pad=8)
        write_figures(axes, name, metrics)
    add_legend(figure)
    save(figure)


def draw_contour(
    axes: Axes, mask: NDArray[np.bool_], colour: str, style: str | tuple[float, tuple[float, ...]]
) -> None:
    """The outline of a structure, its pixel steps softened for the eye; a dark rim keeps it legible on speckle."""
    padded = gaussian_filter(np.pad(mask, 1).astype(float), 0.7)
    rows, columns = (np.arange(-1, length + 1) for length in mask.shape)
    axes.contour(columns, rows, padded, [0.5], colors="black", linewidths=3.2, alpha=0.45)
    axes.contour(columns, rows, padded, [0.5], colors=colour, linewidths=1.9, linestyles=[style])


def write_figures(axes: Axes, view: str, metrics: dict[str, dict[str, float]]) -> None:
    """Dice and NSD of both structures, in their colours, below the image."""
    for place, structure in ((0.0, "vessel"), (0.5, "plaque")):
        figure = f"{view}_{structure}"
        text = f"{structure.capitalize()}  Dice {metrics['dice'][figure]:.3f}  NSD {metrics['nsd'][figure]:.3f}"
        axes.text(place, -0.03, text, color=COLOURS[structure], fontsize=11.5, va="top", transform=axes.transAxes)


def add_legend(figure: Figure) -> None:
    lines = [
        Line2D([], [], color=INK, linewidth=2, label="reference"),
        Line2D([], [], color=INK, linewidth=2, linestyle=(0, (2.6, 1.5)), label=f"prediction of team {TEAM}"),
    ]
    figure.legend(
        handles=lines,
        loc="lower left",
        bbox_to_anchor=(0.008, 0.005),
        ncols=2,
        frameon=False,
        labelcolor=INK,
        fontsize=11.5,
    )
    caption = f"Synthetic sample {CASE}. NSD at a tolerance of 3 px."
    figure.text(0.985, 0.028, caption, color=QUIET_INK, fontsize=11, ha="right")


def save(figure: Figure) -> None:
    """As a palette image, a third of the size: greys for the speckle, and each hue mixed with black and with grey."""
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    picture = Image.fromarray(np.asarray(canvas.buffer_rgba())[:, :, :3])
    shades = [(level, level, level) for level in range(0, 256, 5)]
    for colour in COLOURS.values():
        hue = np.array(to_rgb(colour)) * 255
        for share in np.linspace(0.15, 1, 12):
            shades += [tuple(np.rint(share * hue + (1 - share) * grey).astype(int).tolist()) for grey in (0, 60, 140)]
    palette = Image.new("P", (1, 1))
    palette.putpalette([channel for shade in shades for channel in shade])
    picture.quantize(palette=palette, dither=Image.Dither.NONE).save(PICTURE, optimize=True)


if __name__ == "__main__":
    main()
