"""What empty and failed mean, decided in one place.

Libraries differ here (MONAI: NaN or 0, panoptica: configurable, scikit-learn: a warning), so no metric asks its
library: it asks its policy first.
"""

import math
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Policy:
    """A metric's value where its formula has none; None is undefined: left out of every mean, and counted.

    both_empty        neither the prediction nor the reference has anything of what is compared
    prediction_empty  only the reference has something
    reference_empty   only the prediction has something
    failed            there is no prediction (missing), or none that can be used, and the reference has something
    failed_on_empty   the same, and the reference has nothing
    """

    both_empty: float | None
    prediction_empty: float | None
    reference_empty: float | None
    failed: float | None
    failed_on_empty: float | None

    def applies(self, *, prediction: float, reference: float) -> bool:
        """Whether one of the two sizes (pixels, tokens, lesions) is zero, so that the formula does not decide."""
        return prediction == 0 or reference == 0

    def value(self, *, prediction: float, reference: float) -> float | None:
        """The metric's value where the policy applies."""
        if reference:
            return self.prediction_empty
        return self.reference_empty if prediction else self.both_empty

    def when_failed(self, *, reference: float) -> float | None:
        """The metric's value without a usable prediction; `reference` is the size of the reference."""
        return self.failed if reference else self.failed_on_empty


AGREEMENT = Policy(both_empty=1.0, prediction_empty=0.0, reference_empty=0.0, failed=0.0, failed_on_empty=0.0)
"""Two masks without a pixel agree."""

UNDEFINED_WITHOUT_REFERENCE = Policy(
    both_empty=None, prediction_empty=0.0, reference_empty=None, failed=0.0, failed_on_empty=None
)
"""Where the reference has no lesion there is nothing to find: the figure does not exist."""

RELATIVE_TO_REFERENCE = Policy(
    both_empty=None, prediction_empty=1.0, reference_empty=None, failed=math.inf, failed_on_empty=None
)
"""A difference as a share of the reference, which must have something: all of it is missing, or there is no figure."""


def distance_policy(worst: float) -> Policy:
    """Two masks without a voxel agree, distance 0; where only one has any, or there is no prediction, the worst
    distance, such as the diagonal of the image (`diagonal_mm`)."""
    return Policy(both_empty=0.0, prediction_empty=worst, reference_empty=worst, failed=worst, failed_on_empty=worst)
