"""The `[reports]` table of challenge.toml: the published rules of ODIN 2026, and how its offline judge is run."""

import math
from typing import Annotated, Literal, Self

from pydantic import Field, StrictBool, StrictInt, model_validator

from podium.challenges.settings import NonNegative, Positive, Settings, Text

ReportType = Literal["general", "toothfairy", "bite2text"]
ClinicalRule = Literal["f1_of_means", "mean_of_f1"]
Count = Annotated[StrictInt, Field(ge=1)]


class FinalWeights(Settings):
    """How the two scores make the final one."""

    clinical: NonNegative = 0.8
    captioning: NonNegative = 0.2

    @model_validator(mode="after")
    def _sum_to_one(self) -> Self:
        total = self.clinical + self.captioning
        if not math.isclose(total, 1.0, abs_tol=1e-9):
            raise ValueError(f"the weights must sum to 1, not {total:g}")
        return self


class JudgeSettings(Settings):
    """`[reports.judge]`: what `podium judge` asks whom, and how patiently. The API key is never a setting.

    What can change no verdict is left out of everything that is published: teams judged at another speed, by another
    address of the same model, or with more failures tolerated may be ranked together.
    """

    model: Text | None = None
    report_type: ReportType = "general"
    remove_normal_findings: StrictBool = False
    max_report_characters: Count = 20_000

    failure_threshold: Annotated[float, Field(strict=True, ge=0, lt=1, exclude=True)] = 0.01
    base_url: Annotated[Text | None, Field(exclude=True)] = None
    concurrency: Annotated[Count, Field(exclude=True)] = 8
    attempts: Annotated[Count, Field(exclude=True)] = 6
    backoff_seconds: Annotated[NonNegative, Field(exclude=True)] = 0.5  # doubled with every further attempt
    timeout_seconds: Annotated[Positive, Field(exclude=True)] = 120.0
    price_per_million_prompt_tokens: Annotated[NonNegative, Field(exclude=True)] = 0.0
    price_per_million_answer_tokens: Annotated[NonNegative, Field(exclude=True)] = 0.0


class ReportsSockets(Settings):
    """`[reports.sockets]`: the slug of an algorithm's output."""

    report: Text = "diagnostic-imaging-report"


class ReportsSettings(Settings):
    """The `[reports]` table of challenge.toml.

    `captioning`: which BLEU and METEOR enter the score, those of the live leaderboard (BLEU-4 and METEOR without
    synonyms), or those of the organisers' offline script (BLEU-13a and METEOR with WordNet).
    `clinical`: the documents leave open whether the harmonic mean is taken of the mean precision and the mean recall
    (`f1_of_means`, as radfact-lite aggregates) or per case (`mean_of_f1`).
    """

    sockets: ReportsSockets = ReportsSockets()
    captioning: Literal["leaderboard", "offline"] = "leaderboard"
    clinical: ClinicalRule = "f1_of_means"
    weights: FinalWeights = FinalWeights()
    judge: JudgeSettings = JudgeSettings()
