"""A challenge of reports: its files and its scores."""

import re
from collections.abc import Collection, Mapping, Sequence
from pathlib import PurePosixPath

from podium.challenges.board import RankingRule
from podium.challenges.challenge import Challenge
from podium.challenges.ground_truth import Collected, Description, Geometries, ReferenceProblem, Shapes, collect
from podium.challenges.reports.files import (
    ALL_IN_CSV,
    ALL_IN_JSON,
    EMPTY_REPORT,
    MAX_REPORT_BYTES,
    ReportsTables,
    read_report,
    table_entries,
)
from podium.challenges.reports.scoring import ReportsCase, ngram_facts, ranking_rule, scoreboard
from podium.challenges.samples import CaseSamples, Part, Socket
from podium.errors import ConfigurationError
from podium.figures import Figures
from podium.metrics.declaration import Scoreboard
from podium.metrics.text import damaged_texts, tokens_of
from podium.pairing import Layout, Source, Template, only_source, pair
from podium.platform.jobs import TIMING_FILE, Runtime
from podium.platform.metrics_file import CaseResult
from podium.platform.submission import Submission, SubmissionNames
from podium.readers.files import SafeFile
from podium.readers.wordnet import FOLDER_VARIABLE, find_wordnet

_CASE_INPUT = "cbct-image"


class ReportsChallenge(Challenge[ReportsTables, Source, SafeFile, str, ReportsCase]):
    """One free-text report per case; a missing report counts as an empty one."""

    kind = "reports"
    tables_model = ReportsTables
    prediction_words = "the report, as text"

    def __init__(self, name: str, tables: ReportsTables) -> None:
        super().__init__(name, tables)
        self.settings = tables.reports
        self.layout = Layout(
            outputs=(self.settings.sockets.report,),
            inputs=self.cases.inputs or (_CASE_INPUT,),
            any_input=self.cases.input is None,
            files=(Template("{case}.txt"), Template("{case}.json")),
            tables={ALL_IN_JSON: table_entries, ALL_IN_CSV: table_entries},
            beside=(TIMING_FILE,),
            ignored=(".py",),
            ignore_case=self.cases.ignore_case is not False,
            any_extension=True,
            job_pattern=re.compile(r"job-(?P<case>.+)", re.IGNORECASE),
        )

    # References

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

    def read(self, prediction: Source) -> str:
        """The text of a prediction or of a reference."""
        return read_report(prediction, socket=self.settings.sockets.report)

    def read_reference(self, reference: SafeFile) -> str:
        return self.read(reference)

    def shapes(self, content: str) -> Shapes:  # noqa: ARG002  (text has none)
        return {}

    def describe_reference(self, content: str) -> Description:
        words = len(content.split())
        empty = "The reference report is empty: every team scores 0 in this case, whatever it predicts."
        return Description(figures={"words": words}, doubts=() if words else [empty])

    # Predictions

    def recognises(self, names: SubmissionNames) -> bool:
        """Text files often accompany other predictions, so they count only if there are no other files."""
        files = [PurePosixPath(name).name.lower() for name in names.files]
        only_texts = all(name.endswith((".txt", ".json")) for name in files)
        return (
            super().recognises(names)
            or any(name in self.layout.tables for name in files)
            or (only_texts and any(name.endswith(".txt") for name in files))
        )

    def pair(self, submission: Submission, cases: Collection[str] | None) -> Collected[Source]:
        return collect(pair(submission, self.layout, cases), only_source)

    def check_prediction(self, prediction: Source, shapes: Shapes | None, geometries: Geometries) -> Sequence[str]:  # noqa: ARG002  (text has none)
        return () if tokens_of(self.read(prediction)) else (EMPTY_REPORT,)

    def submission_bytes(self, shapes: Sequence[Shapes]) -> int:
        return len(shapes) * MAX_REPORT_BYTES + MAX_REPORT_BYTES

    # One case

    def import_packages(self) -> None:
        if find_wordnet() is None and self.settings.captioning == "offline":
            raise ConfigurationError(
                "'reports.captioning' is \"offline\", which needs WordNet, and WordNet is not installed; install "
                f"Debian's wordnet-base, or name the folder of its files in {FOLDER_VARIABLE}."
            )

    def compare(self, prediction: Source, expected: str) -> ReportsCase:
        return ReportsCase.of(candidate=self.read(prediction), reference=expected)

    def missing_case(self, expected: str) -> ReportsCase:
        return ReportsCase.of(candidate="", reference=expected)

    def perfect_case(self, expected: str) -> ReportsCase:
        return ReportsCase.of(candidate=expected, reference=expected)

    def samples(self, case: str, expected: str) -> CaseSamples:
        def part(text: str) -> Sequence[Part]:
            return [Part(content=text, file=f"{case}.txt", socket=self.output_sockets()[0])]

        return CaseSamples(answers=[part(text) for text in damaged_texts(expected)])

    def output_sockets(self) -> Sequence[Socket]:
        return [Socket(self.settings.sockets.report, "String")]

    def warnings(self, case: ReportsCase) -> Sequence[str]:
        return () if case.candidate else (EMPTY_REPORT,)

    def facts(self, case: ReportsCase) -> Figures:
        return {**ngram_facts(case.counts, ""), **ngram_facts(case.counts_13a, "_13a")}

    # All cases

    def declare(self) -> Scoreboard[ReportsCase]:
        return scoreboard(self.settings)

    def ranking_rule(self) -> RankingRule:
        return ranking_rule(self.settings)

    def confidential_paths(self) -> Sequence[str]:
        """Matches reveal which words of a word list are in a reference; lengths reveal the reference's and so the
        case."""
        return ("ngrams", "tokens", "ngrams_13a", "tokens_13a")

    def given(self, results: Sequence[CaseResult], runtime: Runtime) -> Mapping[str, float]:  # noqa: ARG002
        return {"radfact_known": 0}
