"""What the header of an image says about where it lies, and when that deserves a word."""

from collections.abc import Sequence

import numpy as np

from podium.readers.images import Geometry

_SPACING_TOLERANCE = 1e-3  # relative: NIfTI stores single precision
_DIRECTION_TOLERANCE = 1e-3
_ORIGIN_TOLERANCE_MM = 0.1
_SMALLEST_SPACING_MM = 0.01  # no scanner resolves this; a millimetre written in metres is 0.001


def differing_geometry(name: str, found: Geometry | None, expected: Geometry | None) -> str | None:
    """Voxels are compared index by index; a header that says otherwise deserves a word, since something is off."""
    if found is None or expected is None or len(found.spacing) != len(expected.spacing):
        return None
    differing = [
        what
        for what, same in (
            ("spacing", np.allclose(found.spacing, expected.spacing, rtol=_SPACING_TOLERANCE, atol=0)),
            ("direction", np.allclose(found.direction, expected.direction, rtol=0, atol=_DIRECTION_TOLERANCE)),
            ("origin", np.allclose(found.origin, expected.origin, rtol=0, atol=_ORIGIN_TOLERANCE_MM)),
        )
        if not same
    ]
    if not differing:
        return None
    verb = "differs" if len(differing) == 1 else "differ"
    return f"The {' and '.join(differing)} of '{name}' {verb} from the image's; the image's geometry is used."


def doubts_about_spacing(spacing: Sequence[float]) -> Sequence[str]:
    """What is implausible about a reference's spacing."""
    if all(length == 1.0 for length in spacing):
        return ["The spacing is 1 x 1 x 1 mm: it may have been lost in a conversion, and volumes would be wrong."]
    if min(spacing) < _SMALLEST_SPACING_MM:
        return [f"The spacing is below {_SMALLEST_SPACING_MM} mm: it may be in metres, and volumes would be wrong."]
    return ()
