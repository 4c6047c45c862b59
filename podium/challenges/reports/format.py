"""Files and jobs of reports: one text per case, in files of its own, in one table, or in a JSON socket."""

import re
from collections.abc import Collection, Mapping, Sequence
from pathlib import PurePosixPath

from podium.challenges.format import Description, Format, Shapes
from podium.challenges.ground_truth import ReferenceProblem
from podium.challenges.reports.settings import ReportsSettings
from podium.challenges.reports.sources import (
    ALL_IN_CSV,
    ALL_IN_JSON,
    REPORT_LIMIT_BYTES,
    entries_of,
    read_report,
)
from podium.challenges.settings import CasesSettings
from podium.pairing import Candidate, Layout, Source, Template
from podium.platform.runtime import TIMING_FILE
from podium.platform.submission import SubmissionNames
from podium.readers.files import SafeFile

CASE_INPUT = "cbct-image"


class ReportsFormat(Format[Source, SafeFile]):
    """One free-text report per case."""

    def __init__(self, cases: CasesSettings, settings: ReportsSettings) -> None:
        self._socket = settings.sockets.report
        self._layout = Layout(
            outputs=(self._socket,),
            inputs=(cases.input or CASE_INPUT,),
            any_input=cases.input is None,
            files=(Template("{case}.txt"), Template("{case}.json")),
            tables={ALL_IN_JSON: entries_of, ALL_IN_CSV: entries_of},
            beside=(TIMING_FILE,),
            ignored=(".py",),
            ignore_case=cases.ignore_case is not False,
            any_extension=True,
            job_pattern=re.compile(r"job-(?P<case>.+)", re.IGNORECASE),
        )

    @property
    def layout(self) -> Layout:
        return self._layout

    @property
    def libraries(self) -> Collection[str]:
        return ()

    def recognises(self, names: SubmissionNames) -> bool:
        """Texts are common beside other predictions: they tell something where there is nothing else."""
        files = [PurePosixPath(name).name.lower() for name in names.files]
        only_texts = all(name.endswith((".txt", ".json")) for name in files)
        return (
            super().recognises(names)
            or any(name in self._layout.tables for name in files)
            or (only_texts and any(name.endswith(".txt") for name in files))
        )

    def sort_references(self, files: Sequence[SafeFile], problems: list[ReferenceProblem]) -> Mapping[str, SafeFile]:
        references: dict[str, SafeFile] = {}
        for file in files:
            path = PurePosixPath(file.name)
            if path.suffix != ".txt" or len(path.parts) != 1:
                what = "A reference is not named <case>.txt."
                problems.append(ReferenceProblem(what=what, where=f"references/{file.name}"))
                continue
            references[path.stem] = file
        return references

    def reference_files(self, reference: SafeFile) -> Sequence[SafeFile]:
        return (reference,)

    def prediction(self, candidates: Sequence[Candidate]) -> Source:
        source = candidates[0].source
        assert source is not None
        return source

    def read(self, prediction: Source) -> str:
        """The text of a prediction or of a reference."""
        return read_report(prediction, socket=self._socket)

    def check_reference(self, reference: SafeFile) -> Shapes:
        self.read(reference)
        return {}

    def describe_reference(self, reference: SafeFile) -> Description:
        words = len(self.read(reference).split())
        empty = "The reference report is empty: every team scores 0 in this case, whatever it predicts."
        return Description(shapes={}, figures={"words": words}, doubts=() if words else [empty])

    def check_prediction(self, prediction: Source, shapes: Shapes | None) -> None:  # noqa: ARG002  (text has none)
        self.read(prediction)

    def submission_bytes(self, shapes: Sequence[Shapes]) -> int:
        return len(shapes) * REPORT_LIMIT_BYTES + REPORT_LIMIT_BYTES
