"""What a challenge is to the rest of Podium: its settings, how a case is found, read, scored, and added up."""

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Generic, TypeVar

from podium.challenges.overlay import Overlay
from podium.challenges.ranking_rule import Criterion, RankingRule
from podium.challenges.settings import Settings
from podium.metrics.declaration import Curve, Metric
from podium.metrics.resampling import Floats, Resamples
from podium.platform.leaderboard import Column
from podium.platform.results import CaseResult, CaseScore, Figures, Unmatched, put
from podium.platform.runtime import Timing
from podium.platform.submission import Submission, SubmissionNames
from podium.readers.files import SafeFile

Prediction = TypeVar("Prediction")  # where one case's answer lies, not yet opened
Reference = TypeVar("Reference")  # where one case's truth lies
Shapes = Mapping[str, tuple[int, ...]]  # of the arrays of one case, by their names: public, it is the images' size


@dataclass(frozen=True, kw_only=True)
class Collected(Generic[Prediction]):
    """A submission sorted by case, nothing opened yet."""

    predictions: Mapping[str, Prediction]
    refused: Mapping[str, str] = field(default_factory=dict)  # case -> why its prediction will not be opened
    unmatched: Sequence[Unmatched] = ()
    timing: Timing = field(default_factory=Timing)


class Challenge(ABC, Generic[Prediction, Reference]):
    """One challenge under one set of settings. Subclasses live in one file each and are listed in the registry.

    `read_*` and `score` run in workers and raise `Refused` for what its author has to mend.
    """

    name: ClassVar[str]
    settings_model: ClassVar[type[Settings]]
    output_sockets: ClassVar[frozenset[str]]
    format_settings: ClassVar[Mapping[str, Any]]  # enough to read predictions where the real settings are not at hand

    threads: int = 1
    """How many threads one case may use: more than one only where there are fewer cases than cores."""

    def __init__(self, settings: Any) -> None:
        self.settings = settings

    def share_cores(self, *, workers: int, cases: int) -> None:
        """Divide the cores among the cases; called before workers are forked, so that all of them know."""
        self.threads = max(1, workers // max(1, cases))

    @classmethod
    @abstractmethod
    def recognises(cls, names: SubmissionNames) -> bool:
        """Whether a submission that looks like this from outside was made for this challenge."""

    @property
    @abstractmethod
    def metrics(self) -> Sequence[Metric]:
        """The declaration of every per-case figure."""

    @property
    def offline_metrics(self) -> Sequence[Metric]:
        """The declaration of every per-case figure that offline tools add to the rows, for ranking."""
        return ()

    @property
    def curves(self) -> Sequence[Curve]:
        """Figures that run along a case, for reports."""
        return ()

    @property
    def confidential_figures(self) -> Sequence[str]:
        """Dotted paths of per-case figures that give a reference value away: only `per_case = "full"` shows them."""
        return ()

    @classmethod
    @abstractmethod
    def columns(cls) -> Sequence[Column]:
        """What the leaderboard shows, the ranking score first."""

    @classmethod
    def offline_columns(cls) -> Sequence[Column]:
        """Figures below `aggregates` that offline tools add: no live leaderboard has them, the final table does."""
        return ()

    def import_heavy_packages(self) -> None:
        """Load what scoring needs, once, before workers are forked."""

    @abstractmethod
    def find_references(self, folder: Path) -> Mapping[str, Reference]:
        """The reference of every expected case, by case."""

    @abstractmethod
    def reference_files(self, reference: Reference) -> Sequence[SafeFile]:
        """The files a reference is made of: their content is the identity of the ground truth."""

    @abstractmethod
    def check_reference(self, reference: Reference) -> Shapes:
        """Read a reference in full and hold it against the settings; the shapes a prediction must have."""

    @abstractmethod
    def submission_bytes(self, shapes: Sequence[Shapes]) -> int:
        """An upper bound of what an honest submission for cases of these shapes unpacks to."""

    @abstractmethod
    def collect(self, submission: Submission, cases: Collection[str] | None) -> Collected[Prediction]:
        """Pair predictions with cases by identifier; without a list of cases every identifier is believed."""

    @abstractmethod
    def check_prediction(self, prediction: Prediction, shapes: Shapes | None) -> None:
        """Read a prediction as scoring would, without a reference."""

    @abstractmethod
    def score(self, prediction: Prediction, reference: Reference) -> CaseScore:
        """The figures of one case."""

    @abstractmethod
    def unanswered(self, reference: Reference) -> Figures:
        """The figures of a missing or failed case: the worst value of all that teams are ranked by."""

    @abstractmethod
    def aggregate(self, results: Sequence[CaseResult], timing: Timing) -> Figures:
        """Everything below `aggregates`, from the results alone: finite numbers only."""

    # Ranking

    def ranking_rule(self) -> RankingRule:
        """How teams are ranked; unless a challenge says otherwise, by the leaderboard's score alone."""
        score = self.columns()[0]
        return RankingRule(
            words=f"teams are ranked by '{score.title}', {score.direction} is better",
            criteria=(Criterion(path=score.path, title=score.title, direction=score.direction),),
            case_metrics=(self.metrics[0].name,),
        )

    def cohort_figures(self, aggregates: Mapping[str, Figures]) -> Mapping[str, Figures]:
        """The teams' aggregates again, now that all teams are known: for figures that depend on the others'."""
        return aggregates

    def resampled_figures(
        self,
        rows: Sequence[Figures],  # noqa: ARG002  (the interface; a challenge that cannot answer needs neither)
        aggregates: Figures,  # noqa: ARG002
        resamples: Resamples,  # noqa: ARG002
    ) -> Mapping[str, Floats] | None:
        """One team's criteria in every replicate of a bootstrap: dotted path to `[replicate]`.

        `rows` are the figures of its cases in the order of `resamples`; `aggregates` are its own after
        `cohort_figures`, for what does not depend on cases. None where the rows do not hold what it takes, as
        anonymous rows may not.
        """
        return None

    # Reports

    def overlays(
        self,
        case: str,  # noqa: ARG002  (the interface; a challenge without pictures needs none of them)
        prediction: Prediction,  # noqa: ARG002
        reference: Reference,  # noqa: ARG002
        images: Sequence[SafeFile],  # noqa: ARG002
    ) -> Sequence[Overlay]:
        """The views of one case with the outlines of prediction and reference, for an organiser's report.

        `images` are all files of the folder the organiser named; nothing where the challenge has no pictures.
        """
        return ()

    def worst_figures(self) -> dict[str, Any]:
        """The declared worst value of every metric."""
        figures: dict[str, Any] = {}
        for metric in self.metrics:
            put(figures, metric.name, metric.worst)
        return figures


def pair_once(found: Mapping[str, Sequence[tuple[str, Prediction]]]) -> tuple[dict[str, Prediction], dict[str, str]]:
    """Cases with exactly one candidate, and a refusal for those with several: choosing one would be a guess."""
    predictions: dict[str, Prediction] = {}
    refused: dict[str, str] = {}
    for case, candidates in found.items():
        if len(candidates) == 1:
            predictions[case] = candidates[0][1]
        else:
            names = ", ".join(f"'{name}'" for name, _ in candidates[:5])
            refused[case] = f"There are {len(candidates)} predictions for this case ({names}); send one."
    return predictions, refused
