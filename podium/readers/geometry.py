"""Where an image is in the patient: the geometry of its header, and whether two grids are in the same place.

A grid whose axes are permuted or flipped is turned without interpolation, as SimpleITK's DICOMOrient does. Messages
state the expected size, spacing, origin and direction: those of the image that was segmented, which participants have.
They name the author's file alone and nothing of the reference's content.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from podium.errors import Refused, listed
from podium.readers.formats.headers import with_crosses

GeometryRule = Literal["warn", "strict", "ignore"]
Shape = tuple[int, ...]
Turn = tuple[tuple[int, bool], ...]  # of every axis of an array: the stored axis, and whether that is flipped

# Relative, as NIfTI stores single precision; in voxels; of a cosine.
_TOLERANCES = {"spacing": 1e-3, "origin": 0.1, "direction": 1e-3}
_TOWARDS = ("RL", "AP", "IS")  # against and along the axes of the patient's space


@dataclass(frozen=True)
class Geometry:
    """Where an image is in space, in SimpleITK's order (x, y, z); spacing and origin in mm. Pictures (PNG, TIFF) have a
    spacing alone: their origin and direction are empty."""

    spacing: tuple[float, ...]
    origin: tuple[float, ...]
    direction: tuple[float, ...]

    @property
    def axes(self) -> NDArray[Any]:
        """The unit vectors along x, y and z, as columns."""
        lengths = (len(self.spacing),) * 2
        return np.reshape(self.direction, lengths) if self.direction else np.eye(*lengths)

    @property
    def orientation(self) -> str:
        """Where x, y and z point to in the patient, to the nearest axis: 'LPS', as SimpleITK writes it."""
        axes = self.axes
        return "".join(_TOWARDS[row][int(axes[row, column] > 0)] for column, row in enumerate(abs(axes).argmax(axis=0)))

    def __str__(self) -> str:
        numbers = [", ".join(f"{number + 0.0:g}" for number in part) for part in (self.origin, self.direction)]
        oblique = 1 - abs(self.axes).max(axis=0).min() > _TOLERANCES["direction"]
        along = f"direction ({numbers[1]})" if oblique else f"orientation {self.orientation}"
        return f"spacing {with_crosses(f'{step:g}' for step in self.spacing)} mm, origin ({numbers[0]}) mm and {along}"


def differences(found: Geometry | None, expected: Geometry | None) -> Mapping[str, str]:
    """The parts of two headers that differ beyond the tolerances, and by how much; nothing where one has none."""
    if not (found and expected and found != expected and 0 < len(found.direction) == len(expected.direction)):
        return {}
    with np.errstate(all="ignore"):  # an untrusted header may hold any finite number
        steps, shift = np.subtract(found.spacing, expected.spacing), np.subtract(found.origin, expected.origin)
        angles = np.degrees(np.arccos(np.clip((found.axes * expected.axes).sum(axis=0), -1, 1)))
        parts = {
            "spacing": (steps / expected.spacing, f"{abs(steps).max():.3g} mm"),
            "origin": (shift @ expected.axes / expected.spacing, f"{np.linalg.norm(shift):.4g} mm"),
            "direction": (found.axes - expected.axes, f"{angles.max():.3g} degrees"),
        }
        return {part: size for part, (apart, size) in parts.items() if not abs(apart).max() <= _TOLERANCES[part]}


def nearest_turn(found: Geometry, axes: NDArray[Any]) -> Turn:
    """What brings the axes of `found` nearest to these: the largest cosine decides first, as in ITK."""
    cosines = (axes.T @ found.axes)[::-1, ::-1]  # arrays have their axes in the order z, y, x
    turn, left = {}, abs(cosines)
    for _ in cosines:
        axis, stored = divmod(int(left.argmax()), len(left))
        turn[axis] = (stored, bool(cosines[axis, stored] < 0))
        left[axis] = left[:, stored] = -1
    return tuple(turn[axis] for axis in sorted(turn))


def lps_turn(found: Geometry) -> Turn:
    """What turns an array to LPS: columns to the left, rows to the back, slices up."""
    return nearest_turn(found, np.eye(3))


def turned(array: NDArray[Any], turn: Turn | None) -> NDArray[Any]:
    """A view of the array with its axes permuted and flipped."""
    if turn is None:
        return array
    flips = tuple(slice(None, None, -1 if is_flipped else None) for _, is_flipped in turn)
    return array.transpose([stored for stored, _ in turn])[flips]


def turned_geometry(found: Geometry, turn: Turn, shape: Shape) -> Geometry:
    """The geometry of an array that has `shape` once it is turned."""
    stored = [len(turn) - 1 - axis for axis, _ in reversed(turn)]  # x, y, z from here on
    is_flipped = np.array([flipped for _, flipped in reversed(turn)])
    spacing, axes = np.array(found.spacing)[stored], found.axes[:, stored]
    origin = found.origin + axes @ (spacing * is_flipped * (np.array(shape[::-1]) - 1))
    direction = np.where(is_flipped, -axes, axes).reshape(-1)
    return Geometry(tuple(spacing.tolist()), tuple(origin.tolist()), tuple(direction.tolist()))


def matching_turn(found: Geometry, expected: Geometry | None, shape: Shape) -> Turn | None:
    """What turns `found` into the grid `expected`, which has `shape`; None where nothing has to be turned, or where no
    turn brings it to the same place."""
    if expected is None or "direction" not in differences(found, expected):
        return None
    turn = nearest_turn(found, expected.axes)
    with np.errstate(all="ignore"):
        return None if differences(turned_geometry(found, turn, shape), expected) else turn


def check_grid(name: str, shape: Shape, found: Geometry, expected: Shape, onto: Geometry | None) -> Turn | None:
    """How an image has to be turned to be on the grid `onto`, None: not at all. Refused where it has another size."""
    turn = matching_turn(found, onto, expected)
    if expected == (shape if turn is None else tuple(shape[stored] for stored, _ in turn)):
        return turn
    advice, is_alike = "", sorted(shape) == sorted(expected)
    if is_alike and (onto is None or all(axis == each[0] for axis, each in enumerate(nearest_turn(found, onto.axes)))):
        order = f"reversed ({', '.join('zyx'[-len(shape) :])})" if shape == expected[::-1] else "in another order"
        advice = f": your axes are {order}: transpose before saving"
    raise Refused(f"'{name}' {_both(shape, found, expected, onto)}{advice}.")


def check_place(
    name: str, found: Geometry, expected: Geometry | None, shape: Shape | None, rule: GeometryRule
) -> list[str]:
    """What the author of an image of the expected shape should know about its header, which may be nothing. Refused
    where the rule is "strict" and the image is in another place."""
    different = differences(found, expected)
    if expected is None or shape is None or rule == "ignore" or not different:
        return []
    if matching_turn(found, expected, shape) is not None:
        brought = f"was brought to the image's, '{expected.orientation}', without interpolation"
        return [f"'{name}' has the orientation '{found.orientation}' and {brought}."]
    subject = f"'{name}'"
    if {*found.spacing} == {1.0} and {*found.origin} == {0.0} and (found.axes == np.eye(len(found.spacing))).all():
        subject += " has lost its header (spacing 1, origin 0, identity): call CopyInformation(image) before saving. It"
    words = listed([f"{part} differs by {size}" for part, size in different.items()])
    both = _both(shape, found, shape, expected)
    if rule == "strict":
        raise Refused(f"{subject} is not in the place of the image: {words}. It {both}.")
    return [f"{subject} is scored by array index although {words}. It {both}."]


def _both(shape: Shape, found: Geometry, expected_shape: Shape, expected: Geometry | None) -> str:
    """Both grids as viewers show them: x by y by z, where arrays have z, y, x."""
    grids = [(shape, found), (expected_shape, expected)]
    is_known = all(each and each.direction for _, each in grids)
    sizes = [f"{with_crosses(size[::-1])}{f' with {each}' if is_known else ''}" for size, each in grids]
    return f"is {sizes[0]}, expected {sizes[1]} ({', '.join('xyz'[: len(expected_shape)])})"
