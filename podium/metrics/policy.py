"""What empty, missing and failed mean, decided in one table.

Libraries answer these questions differently (MONAI: NaN or 0, panoptica: configurable, scikit-learn: a warning), so no
metric here asks its library: it asks this table first.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, kw_only=True)
class Policy:
    """A metric's value where its formula has none.

    both_empty        neither mask has a pixel of the structure
    prediction_empty  only the reference has it
    reference_empty   only the prediction has it
    failed            the submission holds nothing for the case (missing), or nothing usable
    """

    both_empty: float
    prediction_empty: float
    reference_empty: float
    failed: float

    def decide(self, *, prediction: NDArray[np.bool_], reference: NDArray[np.bool_]) -> float | None:
        """The value when a mask is empty, None when both have pixels and the formula applies."""
        return self.decide_lengths(prediction=int(prediction.any()), reference=int(reference.any()))

    def decide_lengths(self, *, prediction: int, reference: int) -> float | None:
        """The same for whatever has a length, a text in tokens for one."""
        match prediction > 0, reference > 0:
            case False, False:
                return self.both_empty
            case False, True:
                return self.prediction_empty
            case True, False:
                return self.reference_empty
        return None


POLICIES = {
    "dice": Policy(both_empty=1.0, prediction_empty=0.0, reference_empty=0.0, failed=0.0),
    "nsd": Policy(both_empty=1.0, prediction_empty=0.0, reference_empty=0.0, failed=0.0),
    # Empty here is a scan, or its reconstruction, that does not move.
    "reconstruction": Policy(both_empty=1.0, prediction_empty=0.0, reference_empty=0.0, failed=0.0),
    **dict.fromkeys(
        ("bleu_4", "meteor", "meteor_wordnet"),
        Policy(both_empty=0.0, prediction_empty=0.0, reference_empty=0.0, failed=0.0),
    ),
}


@dataclass(frozen=True, kw_only=True)
class LesionPolicy:
    """A step's value where its formula has none; None is undefined: left out of every mean, and counted.

    both_empty          neither reference nor prediction has a lesion
    reference_empty     only the prediction has one
    prediction_empty    only the reference has one
    failed              the step is missing, unreadable or breaks the rules, and the reference has lesions
    failed_on_empty     the same, and the reference has none
    """

    both_empty: float | None
    reference_empty: float | None
    prediction_empty: float
    failed: float
    failed_on_empty: float | None

    def decide(self, *, prediction_empty: bool, reference_empty: bool) -> float | None:
        """The value when at least one of them is empty."""
        if not reference_empty:
            return self.prediction_empty
        return self.both_empty if prediction_empty else self.reference_empty

    def when_failed(self, *, reference_empty: bool) -> float | None:
        return self.failed_on_empty if reference_empty else self.failed


UNDEFINED_WITHOUT_LESIONS = LesionPolicy(
    both_empty=None, reference_empty=None, prediction_empty=0.0, failed=0.0, failed_on_empty=None
)
SCORED_WITHOUT_LESIONS = LesionPolicy(
    both_empty=1.0, reference_empty=0.0, prediction_empty=0.0, failed=0.0, failed_on_empty=0.0
)
LESION_POLICIES = {
    "undefined": {"dice": UNDEFINED_WITHOUT_LESIONS, "dmm": UNDEFINED_WITHOUT_LESIONS},
    "score": {"dice": SCORED_WITHOUT_LESIONS, "dmm": UNDEFINED_WITHOUT_LESIONS},
}
"""By the setting `empty_reference`, then by figure. The false negative volume is undefined without lesions in any
case; the false positive volume always has a value, 0 for a failed step: nothing was predicted."""
