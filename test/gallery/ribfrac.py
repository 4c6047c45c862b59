"""RibFrac: sensitivity at false positives per scan of blocks, point by point along the curve."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from gallery.files import clear, write_expected, write_volume

SHAPE = (6, 24, 48)
SPACING = (0.7, 0.7, 1.2)
LEVELS = {0.5: "at_0_5", 1.0: "at_1", 2.0: "at_2", 4.0: "at_4", 8.0: "at_8"}
Block = tuple[int, int, int, int]  # first y and x, and the length in y and x; all are two slices high
FRACTURES: dict[str, list[Block]] = {
    "RibFrac501": [(2, 2, 4, 4), (2, 6, 4, 4), (12, 30, 3, 5)],  # the first two touch
    "RibFrac502": [(4, 20, 5, 5)],
    "RibFrac503": [],
}
CANDIDATES: dict[str, dict[str, list[tuple[Block, float]]]] = {
    "costa": {
        "RibFrac501": [((2, 2, 4, 3), 0.9), ((12, 31, 3, 5), 0.6), ((20, 2, 2, 2), 0.3)],
        "RibFrac502": [((5, 21, 5, 5), 0.8), ((18, 40, 2, 3), 0.7)],
        "RibFrac503": [((3, 3, 3, 3), 0.2), ((12, 12, 2, 2), 0.1)],
    },
    "sternum": {
        "RibFrac501": [((12, 28, 3, 5), 0.5), ((20, 20, 2, 2), 0.9)],
        "RibFrac503": [((3, 3, 3, 3), 0.8), ((12, 12, 2, 2), 0.4)],
    },
}


def place(block: Block) -> tuple[slice, slice, slice]:
    y, x, height, width = block
    return slice(2, 4), slice(y, y + height), slice(x, x + width)


def drawn(blocks: list[tuple[Block, float]]) -> NDArray[np.float32]:
    found = np.zeros(SHAPE, np.float32)
    for block, value in blocks:
        found[place(block)] = value
    return found


def iou(one: Block, other: Block) -> float:
    first, second = np.zeros(SHAPE, bool), np.zeros(SHAPE, bool)
    first[place(one)] = second[place(other)] = True
    return float((first & second).sum() / (first | second).sum())


def froc(team: str) -> dict[str, float]:
    """Every candidate here touches one fracture at most."""
    hits, false = [], []
    for case, candidates in CANDIDATES[team].items():
        for block, confidence in candidates:
            found = any(iou(block, fracture) > 0.2 for fracture in FRACTURES[case])
            (hits if found else false).append(confidence)
    total = sum(map(len, FRACTURES.values()))
    thresholds = sorted({*hits, *false}, reverse=True)
    rates = [0.0, *(sum(each >= least for each in false) / len(FRACTURES) for least in thresholds)]
    sensitivities = [0.0, *(sum(each >= least for each in hits) / total for least in thresholds)]
    at = {name: float(np.interp(level, rates, sensitivities)) for level, name in LEVELS.items()}
    return {**{f"froc.{name}": value for name, value in at.items()}, "froc.cpm": sum(at.values()) / len(at)}


def write(folder: Path) -> None:
    clear(folder)
    for case, blocks in FRACTURES.items():
        labels = drawn([(block, float(number)) for number, block in enumerate(blocks, start=1)]).astype(np.uint8)
        write_volume(folder / "references" / f"{case}-label.nii.gz", labels, spacing=SPACING)
    for position, (team, answers) in enumerate(CANDIDATES.items(), start=1):
        for case, candidates in answers.items():
            write_volume(folder / "teams" / team / f"{case}-confidence.nii.gz", drawn(candidates), spacing=SPACING)
        lost = {case: "missing" for case in FRACTURES if case not in answers}
        write_expected(folder, team, position=position, aggregates=froc(team), lost=lost)
