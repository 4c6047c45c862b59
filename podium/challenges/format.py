"""Which files and jobs a challenge takes, and how they are paired and read."""

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, TypeVar

from podium.challenges.ground_truth import ReferenceProblem, refuse_references
from podium.errors import Refused
from podium.pairing import Candidate, Layout, Pairing, Unmatched, one_prediction, pair
from podium.platform.runtime import Runtime
from podium.platform.submission import Submission, SubmissionNames
from podium.readers.files import SafeFile, list_files

PredictionT = TypeVar("PredictionT")  # where one case's prediction lies, not yet opened
ReferenceT = TypeVar("ReferenceT")  # where one case's reference lies
NOTE = "README.md"  # may lie among the references, for people
Shapes = Mapping[str, tuple[int, ...]]  # of the arrays of one case, by their names: public, it is the images' size


@dataclass(frozen=True, kw_only=True)
class Collected(Generic[PredictionT]):
    """A submission sorted by case, nothing opened yet."""

    predictions: Mapping[str, PredictionT]
    refused: Mapping[str, str] = field(default_factory=dict)  # case -> why its prediction will not be opened
    unmatched: Sequence[Unmatched] = ()
    runtime: Runtime = field(default_factory=Runtime)


@dataclass(frozen=True, kw_only=True)
class Description:
    """What an organiser can judge of one reference.

    categories   counted over the cases
    figures      summarised over the cases by smallest, median and largest
    doubts       what is allowed but implausible: sentences without the case's name, so that equal ones can be counted
    """

    shapes: Shapes
    categories: Mapping[str, str] = field(default_factory=dict)
    figures: Mapping[str, float] = field(default_factory=dict)
    doubts: Sequence[str] = ()


class Format(ABC, Generic[PredictionT, ReferenceT]):
    """Files and jobs. `check_*` read in full and raise `Refused` for what the file's author has to fix."""

    @property
    @abstractmethod
    def layout(self) -> Layout:
        """Where predictions stand in a submission."""

    @property
    @abstractmethod
    def libraries(self) -> Collection[str]:
        """Of `READER_PACKAGES` those that probably read its references and predictions: loaded in advance."""

    @abstractmethod
    def sort_references(self, files: Sequence[SafeFile], problems: list[ReferenceProblem]) -> Mapping[str, ReferenceT]:
        """The reference of every expected case, by case; what is wrong with names and files is added to `problems`."""

    @abstractmethod
    def reference_files(self, reference: ReferenceT) -> Sequence[SafeFile]:
        """The files a reference is made of: their content is the identity of the ground truth."""

    def reference_digest(self, reference: ReferenceT) -> bytes:
        """Of everything that a reference is made of."""
        digest = hashlib.sha256()
        for file in self.reference_files(reference):
            with file.path.open("rb") as stream:
                digest.update(hashlib.file_digest(stream, "sha256").digest())
        return digest.digest()

    @abstractmethod
    def check_reference(self, reference: ReferenceT) -> Shapes:
        """Read a reference in full and check it against the settings; the shapes a prediction must have."""

    def check_and_read(self, reference: ReferenceT) -> tuple[Shapes, Any]:
        """The same, and what the scorer's `read_reference` would give where that is no more work, else None."""
        return self.check_reference(reference), None

    def describe_reference(self, reference: ReferenceT) -> Description:
        """The same, and what `podium check` shows of the reference."""
        return Description(shapes=self.check_reference(reference))

    def doubts_about_all(self, descriptions: Sequence[Description]) -> Sequence[str]:  # noqa: ARG002  (the interface)
        """What is implausible about the references together, in sentences."""
        return ()

    @abstractmethod
    def check_prediction(self, prediction: PredictionT, shapes: Shapes | None) -> None:
        """Read a prediction as scoring would, without a reference."""

    @abstractmethod
    def submission_bytes(self, shapes: Sequence[Shapes]) -> int:
        """An upper bound of what an honest submission for cases of these shapes unpacks to."""

    @abstractmethod
    def prediction(self, candidates: Sequence[Candidate]) -> PredictionT:
        """One case's prediction from the candidates of one prediction; raises Refused where they make none."""

    def look_for_references(self, folder: Path) -> tuple[Mapping[str, ReferenceT], Sequence[ReferenceProblem]]:
        """The references that there are, by case, and everything that is wrong with their names."""
        listing = list_files(folder, trusted=True)
        problems = [
            ReferenceProblem(
                what="A reference is not a regular file.", where=f"references/{name} ({reason.removesuffix('.')})"
            )
            for name, reason in listing.refused
        ]
        files = [file for file in listing.files if file.name != NOTE]
        references = self.sort_references(files, problems)
        if self.layout.ignore_case:
            for names in equal_but_for_letter_case(references):
                what = "Two references have names that differ only in upper and lower case."
                problems.append(ReferenceProblem(what=what, where=" and ".join(names)))
        return references, problems

    def find_references(self, folder: Path) -> Mapping[str, ReferenceT]:
        """The reference of every expected case, by case; GroundTruthError where anything is wrong with their names."""
        references, problems = self.look_for_references(folder)
        refuse_references(problems)
        return references

    def select(self, candidates: Sequence[Candidate]) -> Sequence[Candidate]:
        """The candidates that make a case's prediction; unless a challenge says otherwise, there must be one."""
        return one_prediction(candidates)

    def runtime(self, submission: Submission, pairing: Pairing) -> Runtime:  # noqa: ARG002  (most score no time)
        """How long the submission took."""
        return Runtime()

    def recognises(self, names: SubmissionNames) -> bool:
        """Whether a submission that looks like this from outside was made for this challenge."""
        return self.layout.recognises(names)

    def collect(self, submission: Submission, cases: Collection[str] | None) -> Collected[PredictionT]:
        """Pair predictions with cases by identifier; without a list of cases every identifier is believed."""
        pairing = pair(submission, self.layout, cases)
        predictions: dict[str, PredictionT] = {}
        refused: dict[str, str] = {}
        for case, candidates in pairing.candidates.items():
            try:
                predictions[case] = self.prediction(self.select(candidates))
            except Refused as refusal:
                refused[case] = str(refusal)
        return Collected(
            predictions=predictions,
            refused=refused,
            unmatched=pairing.unmatched,
            runtime=self.runtime(submission, pairing),
        )


def equal_but_for_letter_case(cases: Collection[str]) -> Sequence[Sequence[str]]:
    """The cases, together, whose names differ only in upper and lower case."""
    alike: dict[str, list[str]] = {}
    for case in sorted(cases):
        alike.setdefault(case.casefold(), []).append(case)
    return [names for names in alike.values() if len(names) > 1]
