"""Shapes of displacement fields, and what a wrong one most likely comes from."""

from podium.errors import Refused
from podium.readers.formats.image_header import with_crosses


def check_shape(label: str, found: tuple[int, ...], expected: tuple[int, ...]) -> None:
    """Exactly the expected shape: broadcasting would let a single number pass for a field."""
    if found != expected:
        hint = _hint(found, expected)
        raise Refused(f"{label} is {_size(found)}, expected {_size(expected)}{hint}.")


def _size(shape: tuple[int, ...]) -> str:
    return with_crosses(shape) if shape else "a single number"


def _hint(found: tuple[int, ...], expected: tuple[int, ...]) -> str:
    """What most likely went wrong, where that can be told."""
    if sorted(found) == sorted(expected):
        axes = {3: "(frame, component, pixel)", 2: "(component, landmark)"}.get(len(expected), "of the rules")
        return f"; the axes are {axes}: swap them"
    if found[1:] == expected[1:] and found[:1] == (expected[0] + 1,) and len(found) == 3:
        return "; the first frame has no displacement: leave it out"
    if len(found) == 4 and len(expected) == 3 and (*found[:2], found[2] * found[3]) == expected:
        return "; flatten the rows and columns of each frame, columns fastest"
    return ""
