"""The lesions oracle itself is held against the published figures and against hand calculations."""

import numpy as np
import pytest
from metrics.made import discs

from literal import lesions

UNIT = (1.0, 1.0, 1.0)


@pytest.mark.parametrize(
    ("reference", "prediction", "expected"),
    [
        (
            [(30, 30, 12), (80, 30, 10), (55, 90, 14)],
            [(30, 30, 11), (80, 30, 9), (55, 70, 8)],
            (2, 1, 1, 0.666667, 0.581438, 0.0, 0.0),
        ),
        (
            [(40, 40, 12), (90, 90, 10), (55, 90, 1)],
            [(40, 40, 11), (90, 90, 9), (20, 100, 8)],
            (2, 1, 1, 0.666667, 0.792453, 0.197, 0.005),
        ),
        ([], [(64, 64, 10)], (0, 1, 0, None, None, 0.317, None)),
        ([(50, 50, 18), (100, 90, 10)], [(35, 50, 10), (65, 50, 10), (100, 90, 9)], (2, 0, 0, 1.0, 0.582919, 0.0, 0.0)),
    ],
)
def test_the_published_figures(reference: list, prediction: list, expected: tuple) -> None:
    step = lesions.score_step(discs(*prediction, instances=False), discs(*reference, instances=True), UNIT)
    found = (step.tp, step.fp, step.fn, step.dmm, step.dice, step.fpv_ml, step.fnv_ml)
    for value, wanted in zip(found, expected, strict=True):
        assert value == (None if wanted is None else pytest.approx(wanted, abs=1e-6))


def test_neighbours_are_counted_right() -> None:
    assert [len(lesions.neighbours(connectivity)) for connectivity in (6, 18, 26)] == [6, 18, 26]


def test_a_row_by_hand() -> None:
    """Dice 0, 0.5, 1: area 0.25 + 0.75; a lost step in a volume of two voxels of 2 ml each."""
    reference = np.zeros((1, 1, 4), int)
    reference[0, 0, :2] = 1
    half = np.array([[[0, 1, 1, 0]]])
    spacing = (10.0, 10.0, 20.0)
    steps = [
        lesions.lost_step("missing", reference, spacing),
        lesions.score_step(half, reference, spacing),
        lesions.score_step(reference, reference, spacing),
    ]
    assert steps[0].fnv_ml == 4.0
    row = lesions.Row("a", "scored", steps)
    assert row.area("dice") == 1.0
    assert row.normalised("dice") == 0.5
    assert row.figures()["final_dmm"] == 1.0
    assert lesions.summary([row])["dice_by_step"] == {"0": 0.0, "1": 0.5, "2": 1.0}
