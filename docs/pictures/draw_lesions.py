"""Draws docs/pictures/lesions.png: the mean curves of the two sample teams, and the area that is their score.

    python docs/pictures/draw_lesions.py

The figures come from the expected scores beside the tests.
"""

import json
from pathlib import Path

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

REPOSITORY = Path(__file__).resolve().parents[2]
EXPECTED = REPOSITORY / "test/expected/lesions"
PICTURE = Path(__file__).with_name("lesions.png")

# From the Okabe-Ito palette: told apart with every common kind of colour blindness.
TEAMS = {"ember": ("#D55E00", "o"), "glow": ("#0072B2", "s")}
FIGURES = {"dice": "Dice", "dmm": "DMM"}
INK, QUIET_INK = "#1b1b1b", "#6b6b6b"


def main() -> None:
    mpl.rcParams["font.family"] = "DejaVu Sans"
    figure = Figure(figsize=(11, 4.3), dpi=110, facecolor="white", layout="constrained")
    FigureCanvasAgg(figure)
    panels = figure.subplots(1, 2, sharey=True)
    for axes, (name, title) in zip(panels, FIGURES.items(), strict=True):
        for team in TEAMS:
            expected = json.loads((EXPECTED / f"{team}.json").read_text(encoding="utf-8"))["aggregates"]
            draw_curve(axes, team, expected[f"{name}_by_step"], expected[f"auc_{name}"]["mean"])
        tidy(axes, title)
    figure.savefig(PICTURE, metadata={"Software": None})


def draw_curve(axes: Axes, team: str, curve: dict[str, float], area: float) -> None:
    colour, marker = TEAMS[team]
    steps, values = [int(step) for step in curve], list(curve.values())
    axes.fill_between(steps, values, color=colour, alpha=0.13, linewidth=0)
    axes.plot(steps, values, color=colour, marker=marker, linewidth=2.2, markersize=6)
    axes.annotate(
        f"{team}: area {area:.2f} of 5",
        (steps[-1], values[-1]),
        xytext=(-6, 8),
        textcoords="offset points",
        ha="right",
        color=colour,
        fontsize=11,
        fontweight="bold",
    )


def tidy(axes: Axes, title: str) -> None:
    axes.set_title(f"Mean {title} at every step", loc="left", fontsize=13, color=INK)
    axes.set_xlabel("scribbles seen (step)", color=INK)
    axes.set_ylim(0, 1.12)
    axes.set_xlim(-0.15, 5.25)
    axes.set_yticks([0, 0.25, 0.5, 0.75, 1])
    axes.grid(axis="y", color="#dddddd", linewidth=0.8)
    axes.set_axisbelow(True)
    axes.tick_params(colors=QUIET_INK)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)


if __name__ == "__main__":
    main()
