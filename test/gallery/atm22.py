"""ATM'22: tree length and branches along centre lines, with the formulas of the organisers' code."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from gallery.files import clear, means, write_expected, write_volume

SHAPE = (24, 20, 20)
SPACING = (0.7, 0.7, 1.0)
CASES = ("ATM_601", "ATM_602")
# A branch: where it begins, its direction and its length, in voxels along z, y, x
BRANCHES = {
    "ATM_601": [((1, 10, 10), (1, 0, 0), 12), ((13, 10, 10), (1, 1, 0), 6), ((13, 10, 10), (1, -1, 0), 6)],
    "ATM_602": [((2, 9, 9), (1, 0, 0), 10), ((12, 9, 9), (1, 0, 1), 8), ((12, 9, 9), (1, 0, -1), 5)],
}
# Of every branch the part that is found; a part that is cut off at its beginning is another component
FOUND = {"trachea": {"ATM_601": (12, 6, 4), "ATM_602": (10, 7, 5)}, "carina": {"ATM_601": (12, 3, 0)}}


def line(case: str) -> NDArray[np.int64]:
    found = np.zeros(SHAPE, np.int64)
    for number, (start, step, length) in reversed([*enumerate(BRANCHES[case], start=1)]):
        for place in range(length):
            found[tuple(at + place * by for at, by in zip(start, step, strict=True))] = number
    return found


def lumen(case: str, lengths: tuple[int, ...]) -> NDArray[np.uint8]:
    """Every voxel of these parts of the branches and its neighbours in the slice."""
    found = np.zeros(SHAPE, np.uint8)
    for (start, step, _), length in zip(BRANCHES[case], lengths, strict=True):
        for place in range(length):
            z, y, x = (at + place * by for at, by in zip(start, step, strict=True))
            found[z, y - 1 : y + 2, x - 1 : x + 2] = 1
    return found


def figures(found: NDArray[np.uint8], case: str) -> dict[str, float | None]:
    """`found` is in one piece, as the code expects it."""
    branches, reference = line(case), lumen(case, tuple(length for *_, length in BRANCHES[case]))
    total = np.bincount(branches.ravel())[1:]
    kept = np.bincount((branches * found).ravel(), minlength=total.size + 1)[1:]
    both = int((found * reference).sum())
    return {
        "tree.length": float((found * (branches > 0)).sum() / (branches > 0).sum()),
        "tree.branches": float(np.count_nonzero(kept / total >= 0.8) / total.size),
        "dice.airway": 2 * both / (int(found.sum()) + int(reference.sum())),
        "precision.airway": both / int(found.sum()) if found.any() else 0.0,
    }


def write(folder: Path) -> None:
    clear(folder)
    for case in CASES:
        whole = lumen(case, tuple(length for *_, length in BRANCHES[case]))
        write_volume(folder / "references" / f"{case}.nii.gz", whole, spacing=SPACING)
        np.save(folder / "references" / f"{case}_branches.npy", line(case).astype(np.uint8))
    for position, (team, answers) in enumerate(FOUND.items(), start=1):
        cases = {}
        for case in CASES:
            found = lumen(case, answers[case]) if case in answers else np.zeros(SHAPE, np.uint8)
            if case in answers:
                write_volume(folder / "teams" / team / f"{case}.nii.gz", found, spacing=SPACING)
            cases[case] = figures(found, case)
        lost = {case: "missing" for case in CASES if case not in answers}
        aggregates = means(cases)
        parts = [value for value in aggregates.values() if value is not None]
        write_expected(
            folder, team, position=position, aggregates={**aggregates, "score": 25 * sum(parts)}, cases=cases, lost=lost
        )
