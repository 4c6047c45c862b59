"""The `[lesions]` table of challenge.toml: the published rules of autoPET V, their published values as defaults."""

from typing import Annotated, Any, Literal, Self

from pydantic import (
    Field,
    SerializerFunctionWrapHandler,
    StrictBool,
    StrictInt,
    model_serializer,
    model_validator,
)

from podium.challenges.settings import Positive, Settings, Text
from podium.metrics.components import Connectivity


class LesionsSockets(Settings):
    """`[lesions.sockets]`: the slugs of an algorithm's output and of the inputs that tell the step."""

    segmentation: Text = "tumor-lesion-segmentation"
    clicks: Text = "lesion-clicks"
    step: Text = "interaction-step"


_REGIME_OF = {"steps": "simulated", "clinician_auc": "clinician"}  # keys that mean nothing in the other regime


class LesionsSettings(Settings):
    """The `[lesions]` table of challenge.toml.

    regime              simulated: every case has `steps` predictions; clinician: as many as were submitted
    steps               predictions per case, step 0 (no scribbles) included
    clinician_auc       raw: clinicians' cases are ranked by their areas, which grow with the number of corrections;
                        normalised: by the areas divided by that number
    iou_threshold       from this IoU on, a component and a lesion match
    connectivity        6 (faces), 18 (and edges) or 26 (and corners)
    empty_reference     undefined: a case without lesions has no Dice; score: 1 if the prediction is empty too, else 0
    per_component_dice  MONAI's Dice per reference component at the last step: seconds and gigabytes on a whole body
    centroid_radius_mm  where given, evalutils' centroid hits at the last step
    """

    sockets: LesionsSockets = LesionsSockets()
    regime: Literal["simulated", "clinician"] = "simulated"
    steps: Annotated[StrictInt, Field(ge=1, le=1000)] = 6
    clinician_auc: Literal["normalised", "raw"] = "normalised"
    iou_threshold: Annotated[float, Field(strict=True, gt=0, le=1)] = 0.1
    connectivity: Connectivity = 18
    empty_reference: Literal["undefined", "score"] = "undefined"
    per_component_dice: StrictBool = False
    centroid_radius_mm: Positive | None = None

    @model_validator(mode="after")
    def _belongs_to_the_regime(self) -> Self:
        for key, regime in _REGIME_OF.items():
            if self.regime != regime and key in self.model_fields_set:
                raise ValueError(f"'{key}' belongs to the regime '{regime}'")
        return self

    @model_serializer(mode="wrap")
    def _without_what_does_not_belong(self, dump: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """What is written can be read again: defaults of the other regime's keys would be refused."""
        content: dict[str, Any] = dump(self)
        return {key: value for key, value in content.items() if _REGIME_OF.get(key, self.regime) == self.regime}

    @property
    def ranked_suffix(self) -> str:
        """Of the areas that teams are ranked by: the published ones, or their mean heights where cases differ in their
        number of steps (unless the settings say otherwise), or have but one, whose area is 0 whatever it shows."""
        if self.regime == "clinician":
            return "_normalised" if self.clinician_auc == "normalised" else ""
        return "_normalised" if self.steps == 1 else ""
