"""A tiny interactive algorithm: a threshold, then regions grown around scribbles.

    python process.py INPUT OUTPUT

Reads the PET and the scribbles, writes a mask. Bright organs are taken for lesions and faint lesions are overlooked
until a scribble says otherwise.
"""

import array
import json
import sys
from collections.abc import Iterable
from pathlib import Path

THRESHOLD = 4.0  # SUV from which on a voxel is taken for a lesion
GROW_SHARE = 0.45  # of the SUV under a scribble: so far does a region grow
GROW_FLOOR = 1.8  # but never into ordinary tissue
GROW_STEPS = 4  # voxels from the scribble
ORGAN_VOXELS = 150  # a background scribble removes a component as large as this as a whole

TYPES = {"MET_FLOAT": "f", "MET_DOUBLE": "d", "MET_SHORT": "h", "MET_UCHAR": "B"}

Point = tuple[int, int, int]


class Volume:
    """A .mha file without compression: its header, its size (x, y, z) and its values."""

    def __init__(self, path: Path) -> None:
        header, _, pixels = path.read_bytes().partition(b"ElementDataFile = LOCAL\n")
        self.header = dict(line.split(" = ", 1) for line in header.decode("ascii").splitlines())
        self.size = tuple(int(length) for length in self.header["DimSize"].split())
        self.values = array.array(TYPES[self.header["ElementType"]], pixels)

    def index(self, point: Point) -> int:
        x, y, z = point
        return x + self.size[0] * (y + self.size[1] * z)

    def neighbours(self, point: Point) -> Iterable[Point]:
        for axis in range(3):
            for step in (-1, 1):
                other = list(point)
                other[axis] += step
                if 0 <= other[axis] < self.size[axis]:
                    yield other[0], other[1], other[2]

    def grow(self, seeds: Iterable[Point], *, inside: Iterable[int] | set[int], steps: int | None) -> set[int]:
        """Everything connected to the seeds through `inside`, at most this number of steps away."""
        allowed = inside if isinstance(inside, set) else set(inside)
        reached = {self.index(seed) for seed in seeds if self.index(seed) in allowed}
        edge = [seed for seed in seeds if self.index(seed) in allowed]
        while edge and steps != 0:
            ahead = []
            for point in edge:
                for other in self.neighbours(point):
                    place = self.index(other)
                    if place in allowed and place not in reached:
                        reached.add(place)
                        ahead.append(other)
            edge = ahead
            steps = None if steps is None else steps - 1
        return reached


def segment(pet: Volume, tumor: list[Point], background: list[Point]) -> set[int]:
    mask = {place for place, value in enumerate(pet.values) if value >= THRESHOLD}
    for point in background:
        component = pet.grow([point], inside=mask, steps=None)
        mask -= component if len(component) >= ORGAN_VOXELS else {pet.index(point)}
    for point in tumor:
        level = max(GROW_FLOOR, GROW_SHARE * pet.values[pet.index(point)])
        bright = {place for place, value in enumerate(pet.values) if value >= level}
        mask |= pet.grow([point], inside=bright, steps=GROW_STEPS) | {pet.index(point)}
    return mask - {pet.index(point) for point in background}


def main(input_folder: Path, output_folder: Path) -> None:
    [path] = (input_folder / "images/pet").glob("*.mha")
    pet = Volume(path)
    clicks = json.loads((input_folder / "lesion-clicks.json").read_text())["points"]
    points: dict[str, list[Point]] = {"tumor": [], "background": []}
    for click in clicks:
        x, y, z = click["point"]
        points[click["name"]].append((x, y, z))
    mask = segment(pet, points["tumor"], points["background"])
    values = bytearray(len(pet.values))
    for place in mask:
        values[place] = 1
    header = {**pet.header, "ElementType": "MET_UCHAR", "CompressedData": "False"}
    text = "".join(f"{key} = {value}\n" for key, value in header.items()) + "ElementDataFile = LOCAL\n"
    target = output_folder / "images/tumor-lesion-segmentation" / path.name
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(text.encode("ascii") + values)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
