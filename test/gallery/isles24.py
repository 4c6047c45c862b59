"""ISLES'24: Dice, volume, lesion-wise F1 and number of lesions of blocks, read literally."""

from itertools import product
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from gallery.files import clear, means, write_expected, write_volume

SHAPE = (6, 20, 20)
SPACING = (1.0, 1.0, 2.0)
Block = tuple[int, int, int, int]  # first z, y and x, and the width in y and x; two slices high
INFARCTS: dict[str, list[Block]] = {
    "sub-stroke0001": [(1, 2, 2, 6), (3, 12, 12, 4)],
    "sub-stroke0002": [(2, 5, 5, 8)],
    "sub-stroke0003": [],
}
TEAMS: dict[str, dict[str, list[Block]]] = {
    "penumbra": {
        "sub-stroke0001": [(1, 2, 3, 6), (3, 12, 12, 4)],
        "sub-stroke0002": [(2, 6, 5, 8), (4, 16, 16, 2)],
        "sub-stroke0003": [],
    },
    "core": {"sub-stroke0001": [(1, 5, 5, 6)], "sub-stroke0003": [(1, 1, 1, 3)]},
}


def drawn(blocks: list[Block]) -> NDArray[np.uint8]:
    found = np.zeros(SHAPE, np.uint8)
    for z, y, x, width in blocks:
        found[z : z + 2, y : y + width, x : x + width] = 1
    return found


def figures(found: NDArray[np.uint8], reference: NDArray[np.uint8]) -> dict[str, float | None]:
    (ours, number), (theirs, expected) = (ndimage.label(each, np.ones((3, 3, 3))) for each in (found, reference))
    pairs = product(range(1, number + 1), range(1, expected + 1))
    tp = sum(
        int(((ours == one) & (theirs == other)).sum()) / int(((ours == one) | (theirs == other)).sum()) >= 0.5
        for one, other in pairs
    )
    volumes = int(found.sum()), int(reference.sum())
    return {
        "dice.lesion": 2 * int((found & reference).sum()) / sum(volumes) if sum(volumes) else 1.0,
        "volume_difference_ml.lesion": abs(volumes[0] - volumes[1]) * 0.002,
        "lesions.lesion.f1": 2 * tp / (number + expected) if number + expected else 1.0,
        "count_difference.lesion": abs(number - expected),
    }


def write(folder: Path) -> None:
    clear(folder)
    for case, blocks in INFARCTS.items():
        write_volume(folder / "references" / f"{case}_lesion-msk.nii.gz", drawn(blocks), spacing=SPACING)
    for position, (team, answers) in enumerate(TEAMS.items(), start=1):
        for case, blocks in answers.items():
            write_volume(folder / "teams" / team / f"{case}_lesion-msk.nii.gz", drawn(blocks), spacing=SPACING)
        cases = {case: figures(drawn(answers.get(case, [])), drawn(blocks)) for case, blocks in INFARCTS.items()}
        lost = {case: "missing" for case in INFARCTS if case not in answers}
        for case in lost:
            cases[case]["dice.lesion"] = 0.0
        write_expected(folder, team, position=position, aggregates=means(cases), cases=cases, lost=lost)
