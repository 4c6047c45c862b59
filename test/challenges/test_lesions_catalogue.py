"""The catalogue's `lesions`: which settings for empty masks it takes."""

import pytest
from pydantic import ValidationError

from podium.challenges.declared.catalogue.labels import LesionsMetricSettings

RULE = {"kind": "lesions", "match": "iou", "threshold": 0.5, "pairing": "greedy"}


def test_only_a_case_without_lesions_and_false_positives_has_a_value_of_its_own() -> None:
    assert LesionsMetricSettings.model_validate({**RULE, "both_empty": 1.0}).both_empty == 1.0


@pytest.mark.parametrize("key", ["prediction_empty", "reference_empty"])
def test_where_one_side_is_empty_the_formulas_decide(key: str) -> None:
    with pytest.raises(ValidationError, match="takes no prediction_empty or reference_empty"):
        LesionsMetricSettings.model_validate({**RULE, key: 0.0})
