"""Writes images for the cases of the reports samples: bite-wings, cone-beam CTs, and scans of both jaws with a
photograph, for the arena to show.

They are plausible pictures, not those of the findings in the texts.
"""

import shutil
from pathlib import Path

import numpy as np
import SimpleITK
from numpy.typing import NDArray

from samples.bite_wing import draw_bite_wing
from samples.jaw_mesh import draw_arch, write_ply
from samples.jaw_volume import SPACING_MM, draw_jaws
from samples.photograph import draw_photograph
from samples.reports_cases import CASES
from samples.same_bytes import write_image

SEED = 20260707
ARENA_CASES = Path("test/arena-cases")
SCANNED = ("B001", "B002")


def write_samples(root: Path) -> None:
    """Everything below `root`, which is laid out like the repository; what stood there before is removed."""
    shutil.rmtree(root / ARENA_CASES, ignore_errors=True)
    for number, case in enumerate(CASES):
        rng = np.random.default_rng([SEED, number])
        if case in SCANNED:
            folder = root / ARENA_CASES / case
            write_image(folder / "front.png", draw_photograph(rng), is_colour=True)
            write_ply(folder / "upper.ply", *draw_arch(rng, "upper"))
            write_ply(folder / "lower.ply", *draw_arch(rng, "lower"))
        elif case.startswith("B"):
            write_image(root / ARENA_CASES / f"{case}.png", draw_bite_wing(rng))
        else:
            write_volume(root / ARENA_CASES / f"{case}.mha", draw_jaws(rng))


def write_volume(path: Path, values: NDArray[np.int16]) -> None:
    image = SimpleITK.GetImageFromArray(values)
    image.SetSpacing(SPACING_MM)
    SimpleITK.WriteImage(image, str(path), useCompression=True, compressionLevel=9)
