"""What a report draws of one case: an image, and the outlines of prediction and reference on it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False, kw_only=True)
class Outlined:
    """One structure as predicted and as it is, masks of one shape."""

    prediction: NDArray[np.bool_]
    reference: NDArray[np.bool_]


@dataclass(frozen=True, eq=False, kw_only=True)
class Overlay:
    """One view of a case. `image` is 2-D of any numeric type, None where the organiser has none; `aspect` is the height
    of a pixel over its width."""

    title: str
    image: NDArray[Any] | None
    layers: Mapping[str, Outlined]
    aspect: float = 1.0
