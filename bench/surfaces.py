"""Times Dice, NSD and HD95 of 13 regions of one 3-D label image: Podium, MONAI and surface-distance, and our memory.

    python bench/surfaces.py

Everything is made from one seed. All figures of one row are computed in one run and must agree.
"""

import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from rich import box
from rich.console import Console
from rich.table import Table
from threadpoolctl import threadpool_limits

from podium.metrics.overlap import Region, count_voxels, find_regions
from podium.metrics.surfaces import BoundaryKind, measure_surfaces

SEED = 85
SHAPE = (300, 400, 400)
SMALL = (60, 80, 80)
LARGE = (1024, 512, 512)
SPACING_MM = (1.5, 0.8, 0.8)
TOLERANCE_MM = 2.0
ORGANS = 13
REPEATS = 3
REGIONS = {f"organ {number}": frozenset({number}) for number in range(1, ORGANS + 1)}

Labels = NDArray[np.uint8]
Figures = list[tuple[float, float, float]]


def main() -> None:
    console = Console()
    threadpool_limits(limits=1)
    small, (prediction, reference) = label_pair(SMALL), label_pair(SHAPE)
    table = Table(title=f"Dice, NSD and HD95 of {ORGANS} regions, {SHAPE} voxels, best of {REPEATS}", box=box.SIMPLE)
    for title in ("", "boundary", "CPU seconds", "times podium's", "largest difference of figures"):
        table.add_column(title, justify="right" if title else "left")
    for name, boundary, peer in (("MONAI", "voxels", monai), ("surface-distance", "surface", surface_distance)):
        podium(*small, boundary), peer(*small)  # imports are no part of the time
        ours, found = best(lambda boundary=boundary: podium(prediction, reference, boundary))
        theirs, expected = best(lambda peer=peer: peer(prediction, reference))
        difference = np.abs(np.array(found) - np.array(expected)).max()
        assert difference < 1e-5, f"{name}: figures differ by {difference}"
        relative = (np.abs(np.array(found) - np.array(expected)) / np.array(expected)).max()
        assert relative < 1e-6, f"{name}: figures differ by {relative} of their value"
        table.add_row("podium", boundary, f"{ours:.3f}", "1", "")
        table.add_row(name, boundary, f"{theirs:.3f}", f"{theirs / ours:.1f}", f"{difference:.1e}")
    console.print(table)
    done = subprocess.run([sys.executable, __file__, "memory"], check=True, capture_output=True, text=True)
    console.print(done.stdout.strip())


def best(measured: Callable[[], Figures]) -> tuple[float, Figures]:
    """The shortest CPU time of some runs on one thread, and the figures: other work on the machine does not count."""
    seconds = []
    for _ in range(REPEATS):
        began = time.process_time()
        figures = measured()
        seconds.append(time.process_time() - began)
    return min(seconds), figures


def podium(prediction: Labels, reference: Labels, boundary: BoundaryKind) -> Figures:
    def figures(region: Region) -> Iterator[float | None]:
        found, expected = region.masks()
        yield count_voxels(prediction=found, reference=expected).dice()
        distances = measure_surfaces(prediction=found, reference=expected, spacing=SPACING_MM, boundary=boundary)
        yield distances.nsd(TOLERANCE_MM)
        yield distances.hausdorff()

    regions = find_regions(prediction=prediction, reference=reference, regions=REGIONS)
    return [tuple(figures(region)) for region in regions.values()]


def monai(prediction: Labels, reference: Labels) -> Figures:
    """MONAI's functions for one region after another, on its whole image."""
    import torch
    from monai.metrics import compute_dice, compute_hausdorff_distance, compute_surface_dice

    torch.set_num_threads(1)
    rows = []
    for number in range(1, ORGANS + 1):
        pair = [torch.from_numpy(labels == number)[None, None] for labels in (prediction, reference)]
        options = {"include_background": True, "spacing": SPACING_MM}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)
            nsd = float(compute_surface_dice(*pair, [TOLERANCE_MM], **options))
            hd95 = float(compute_hausdorff_distance(*pair, percentile=95, **options))
        rows.append((float(compute_dice(*(mask.float() for mask in pair))), nsd, hd95))
    return rows


def surface_distance(prediction: Labels, reference: Labels) -> Figures:
    """DeepMind's package for one region after another, which crops by itself."""
    rows = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        import surface_distance as package

        for number in range(1, ORGANS + 1):
            found, expected = prediction == number, reference == number
            distances = package.compute_surface_distances(expected, found, SPACING_MM)
            nsd = package.compute_surface_dice_at_tolerance(distances, TOLERANCE_MM)
            hd95 = package.compute_robust_hausdorff(distances, 95)
            rows.append((float(package.compute_dice_coefficient(expected, found)), float(nsd), float(hd95)))
    return rows


def label_pair(shape: tuple[int, ...]) -> tuple[Labels, Labels]:
    """Ellipsoids of the size of organs that touch, and a prediction that is moved and scaled."""
    rng = np.random.default_rng(SEED)
    prediction, reference = np.full((2, *shape), 0, np.uint8)  # in memory, as images that were read
    for number in range(1, ORGANS + 1):
        centre, radius = rng.uniform(0.2, 0.8, 3) * shape, rng.uniform(0.05, 0.15, 3) * shape
        fill(reference, number, centre, radius)
        fill(prediction, number, centre + rng.normal(0, 1.5, 3), radius * rng.uniform(0.95, 1.05, 3))
    return prediction, reference


def fill(labels: Labels, number: int, centre: NDArray[np.float64], radius: NDArray[np.float64]) -> None:
    """Plane by plane, so that making the images takes less memory than scoring them."""
    inside = [1 - ((np.arange(length) - c) / r) ** 2 for length, c, r in zip(labels.shape, centre, radius, strict=True)]
    for plane in np.flatnonzero(inside[0] >= 0):
        labels[plane][(inside[1] + inside[0][plane] - 1)[:, None] + inside[2] - 1 >= 0] = number


def show_memory() -> None:
    """The most memory of this process, arrays and libraries included, for a whole-body pair."""
    prediction, reference = label_pair(LARGE)
    before = peak_bytes()
    began = time.process_time()
    podium(prediction, reference, "voxels")
    seconds = time.process_time() - began
    print(
        f"{ORGANS} regions of {LARGE} voxels: {seconds:.1f} s, largest process {peak_bytes() / 1e9:.2f} GB, "
        f"of which {before / 1e9:.2f} GB before scoring"
    )


def peak_bytes() -> int:
    """VmHWM: unlike `ru_maxrss` it starts again in a new process."""
    lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))


if __name__ == "__main__":
    if sys.argv[1:] == ["memory"]:
        show_memory()
    else:
        main()
