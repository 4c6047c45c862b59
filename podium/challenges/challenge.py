"""What a challenge is to the rest of Podium: one class, which every kind of challenge extends.

A challenge knows its files and jobs, compares the prediction and the reference of one case, and declares the figures
that follow: of one case, of all cases, on the leaderboard and in the ranking. What reads a file reads it in full and
raises `Refused` for what the file's author has to fix.
"""
# ruff: noqa: ARG002  (many methods are defaults, which need none of their arguments)

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np

from podium.challenges.board import NO_RULE, RankingRule, complete_board
from podium.challenges.ground_truth import (
    NOTE,
    Collected,
    Description,
    Geometries,
    PredictionT,
    ReferenceProblem,
    Shapes,
    ValuesByCase,
    equal_but_for_letter_case,
    refuse_references,
)
from podium.challenges.pictures import Overlay, Picture
from podium.challenges.samples import Asked, CaseSamples, Socket
from podium.challenges.settings import Tables
from podium.errors import GroundTruthError, ReaderDied, Refused, SubmissionError, UsageError, ValidationProblem
from podium.figures import LARGEST_FIGURE, Figures, numbers
from podium.metrics.aggregation import CohortValues, add_error_bars, add_groups, aggregate, recombined
from podium.metrics.declaration import GROUPS, HALF_WIDTH, Scoreboard
from podium.metrics.engines import OWN
from podium.metrics.resampling import Resamples
from podium.pairing import Layout
from podium.platform.jobs import Runtime
from podium.platform.leaderboard import Column, column, group_columns
from podium.platform.metrics_file import CaseResult, CaseScore
from podium.platform.privacy import Disclosure, PerCase, rounded_aggregates
from podium.platform.submission import Submission, SubmissionNames
from podium.readers.decoding import one_case
from podium.readers.files import SafeFile, list_files

TablesT = TypeVar("TablesT", bound=Tables)
ReferenceT = TypeVar("ReferenceT")  # where one case's reference is
ContentT = TypeVar("ContentT")  # one case's reference, read
CaseT = TypeVar("CaseT")  # one case, compared
_REPLICATES = 1000  # of error bars


class Challenge(ABC, Generic[TablesT, PredictionT, ReferenceT, ContentT, CaseT]):
    """One challenge under its settings; it is complete once `complete` was called.

    name          the name of its folder
    kind          which code scores it
    tables        its settings: the tables of challenge.toml; `settings` are those that are of this kind alone
    layout        where predictions are in a submission
    libraries     the `READER_PACKAGES` that probably read its references and predictions: they are loaded in advance
    threads       how many threads one case may use: more than one only where there are fewer cases than cores
    scoreboard    the declared figures, with those of the tables
    ranking       how teams are ranked
    confidential  dotted paths of per-case figures that give a reference value away: only `per_case = "full"` shows them
    """

    kind: ClassVar[str]
    tables_model: ClassVar[type[Tables]]
    without_settings: ClassVar[Mapping[str, Any] | None] = {}
    """Tables that are enough to read predictions where the real ones are not available; None if that is impossible."""
    prediction_words: ClassVar[str] = ""
    """What a prediction of a kind in code is, for its participants."""
    has_overlays: ClassVar[bool] = False
    """Whether there are pictures of cases, on images that are compared with the references."""

    settings: Any
    layout: Layout
    libraries: Collection[str] = ()
    threads: int = 1
    scoreboard: Scoreboard[CaseT]
    ranking: RankingRule
    confidential: Sequence[str]

    def __init__(self, name: str, tables: TablesT) -> None:
        self.name, self.tables, self.cases = name, tables, tables.cases

    def complete(self) -> Sequence[ValidationProblem]:
        """Add the tables of figures, leaderboard and ranking to what the kind declares; what is wrong with them."""
        declared = replace(self.declare(), groupings=self.cases.groupings)
        self.scoreboard, self.ranking, self.confidential, problems = complete_board(
            declared, self.ranking_rule(), self.tables, confidential=self.confidential_paths()
        )
        return problems

    # References

    @abstractmethod
    def sort_references(self, files: Sequence[SafeFile], problems: list[ReferenceProblem]) -> Mapping[str, ReferenceT]:
        """The reference of every expected case, by case; what is wrong with names and files is added to `problems`."""

    @abstractmethod
    def reference_files(self, reference: ReferenceT) -> Sequence[SafeFile]:
        """The files a reference is made of: their content identifies the ground truth."""

    @abstractmethod
    def read_reference(self, reference: ReferenceT) -> ContentT:
        """Read a reference in full and check it against the settings."""

    @abstractmethod
    def shapes(self, content: ContentT) -> Shapes:
        """The shapes that a prediction's arrays must have."""

    @abstractmethod
    def describe_reference(self, content: ContentT) -> Description:
        """What `podium check` shows of a reference."""

    def geometries(self, content: ContentT) -> Geometries:
        """The geometries that the headers of a prediction's images should have."""
        return {}

    def doubts_about_all(self, descriptions: Sequence[Description]) -> Sequence[str]:
        """Sentences on what is implausible about all references together."""
        return ()

    def reference_digest(self, reference: ReferenceT) -> bytes:
        """A digest of everything that a reference is made of."""
        digest = hashlib.sha256()
        for file in self.reference_files(reference):
            with file.path.open("rb") as stream:
                digest.update(hashlib.file_digest(stream, "sha256").digest())
        return digest.digest()

    def look_for_references(self, folder: Path) -> tuple[Mapping[str, ReferenceT], Sequence[ReferenceProblem]]:
        """The references by case, and everything that is wrong with their names."""
        try:
            listing = list_files(folder, trusted=True)
        except SubmissionError as fault:  # not the participant's: too many, too deep, or no permission
            detail = f"{folder}: {fault}"
            raise GroundTruthError(
                "The references cannot be listed. The organisers can find details in the log.", detail=detail
            ) from None
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

    # Predictions

    @abstractmethod
    def pair(self, submission: Submission, cases: Collection[str] | None) -> Collected[PredictionT]:
        """Pair predictions with cases by name; without a list of cases every name is taken as a case."""

    @abstractmethod
    def check_prediction(self, prediction: PredictionT, shapes: Shapes | None, geometries: Geometries) -> Sequence[str]:
        """Read a prediction as scoring would, without a reference; the warnings that scoring would give. Without
        shapes and geometries, these are not checked."""

    @abstractmethod
    def submission_bytes(self, shapes: Sequence[Shapes]) -> int:
        """An upper bound of the unpacked size of an honest submission for cases of these shapes."""

    def pair_values(self, _predictions: ValuesByCase, _cases: Collection[str]) -> Collected[PredictionT]:
        """Pair predictions that are values in memory, by case and name."""
        raise UsageError("Only declared challenges score values in memory; give evaluate() a folder of predictions.")

    def recognises(self, names: SubmissionNames) -> bool:
        """Whether a submission with these names was made for this challenge."""
        return self.layout.recognises(names)

    # One case. Runs in workers; raises `Refused` for what the prediction's author has to fix.

    def import_packages(self) -> None:
        """Import what scoring needs, once, before workers are forked."""

    @abstractmethod
    def compare(self, prediction: PredictionT, expected: ContentT) -> CaseT:
        """Read a prediction and compare it with the reference, which other predictions will be compared with too: it
        must not change. The declared metrics are functions of the result."""

    @abstractmethod
    def missing_case(self, expected: ContentT) -> CaseT:
        """A case without a usable prediction."""

    @abstractmethod
    def perfect_case(self, expected: ContentT) -> CaseT:
        """A case with nothing wrong: what the best possible submission scores can be computed before there is one."""

    def damaged_cases(self, expected: ContentT) -> Sequence[CaseT]:
        """The reference and copies of it with faults, compared with it: used to exercise metrics."""
        return ()

    # Samples, for trying out a challenge before there is a submission

    @abstractmethod
    def samples(self, case: str, expected: ContentT) -> CaseSamples:
        """Predictions made from the reference of a case."""

    @abstractmethod
    def output_sockets(self) -> Sequence[Socket]:
        """The outputs of an algorithm."""

    def asked(self) -> Sequence[Asked]:
        """What participants predict for every case, for their page."""
        sockets = [socket for socket in self.output_sockets() if not socket.is_input]
        files = self.layout.describe()
        return [Asked(title=each.slug, content=self.prediction_words, files=files, socket=each) for each in sockets]

    def sockets(self) -> Sequence[Socket]:
        """What an algorithm's phase needs: the inputs that are read, the one that names the case first, and outputs."""
        inputs = self.layout.inputs or ("image",)
        return list(dict.fromkeys([*(Socket(slug, "Image", is_input=True) for slug in inputs), *self.output_sockets()]))

    def try_own_metrics(self, references: Iterable[ContentT]) -> Sequence[str]:
        """What the organiser's own metrics raise on references that are compared with copies of themselves."""
        return ()

    def facts(self, case: CaseT) -> Figures:
        """What a row keeps besides the declared metrics, so that everything can be computed again from the rows."""
        return {}

    def refused_values(self, case: CaseT) -> Mapping[str, Refused]:
        """Of a case with several values, those without a usable prediction, and why."""
        return {}

    def lacks(self, case: CaseT, values: Collection[str]) -> bool:
        """Whether one of these values has no usable prediction, so that its figures are those of a missing one."""
        return False

    def has_no_reference(self, case: CaseT, values: Collection[str]) -> bool:
        """Whether the case has no reference of one of these values: nothing is expected then, and nothing counts."""
        return False

    def warnings(self, case: CaseT) -> Sequence[str]:
        """What the prediction's author should know about a case that was scored."""
        return ()

    def share_cores(self, *, workers: int, cases: int) -> None:
        """Divide the cores among the cases; called before workers are forked, so that all of them know."""
        self.threads = max(1, workers // max(1, cases))

    def score(self, prediction: PredictionT, expected: ContentT) -> CaseScore:
        """The row of one case; `expected` is its reference, read."""
        with one_case():
            case = self.compare(prediction, expected)
        score = self.row(case)
        if any(abs(number) > LARGEST_FIGURE for number in numbers(score.metrics)):
            raise Refused(f"The prediction holds numbers so large that a figure is beyond {LARGEST_FIGURE:g}.")
        refused = self.refused_values(case)
        return replace(
            score,
            warnings=tuple(self.warnings(case)),
            missing={name: str(reason) for name, reason in refused.items()},
            was_killed=any(isinstance(reason, ReaderDied) for reason in refused.values()),
        )

    def score_missing(self, expected: ContentT) -> CaseScore:
        """The row of a missing or failed case."""
        return self.row(self.missing_case(expected))

    def row(self, case: CaseT) -> CaseScore:
        """The figures and facts of one case."""
        figures, reasons = self.scoreboard.row(
            case, lacks=partial(self.lacks, case), has_no_reference=partial(self.has_no_reference, case)
        )
        return CaseScore(metrics={**figures, **self.facts(case)}, undefined=reasons)

    # All cases and teams

    @abstractmethod
    def declare(self) -> Scoreboard[CaseT]:
        """The figures of the kind, before the tables of challenge.toml are added."""

    def ranking_rule(self) -> RankingRule:
        """The rule of the kind, which `[ranking]` replaces."""
        return NO_RULE

    def confidential_paths(self) -> Sequence[str]:
        """The parts of a row that reveal a reference."""
        return ()

    def given(self, results: Sequence[CaseResult], runtime: Runtime) -> Mapping[str, float]:
        """Figures that do not come from the rows, from all results and the runtime."""
        return {}

    def cohort_given(self, aggregates: Mapping[str, Figures]) -> Mapping[str, Mapping[str, float]]:
        """The given figures of every team that are final only once the aggregates of all teams are known."""
        return {}

    @property
    def provisional(self) -> Sequence[str]:
        """The paths of the figures of `cohort_given`; formulas of them are provisional too."""
        return ()

    @property
    def computed_by(self) -> Mapping[str, str]:
        """The package that computes each metric."""
        return {}

    def pictures(self, rows: Sequence[Figures], aggregates: Figures) -> Sequence[Picture]:
        """What a report draws of all cases together, from published rows and aggregates."""
        return ()

    def overlays(
        self, case: str, prediction: PredictionT, reference: ReferenceT, images: Sequence[SafeFile]
    ) -> Sequence[Overlay]:
        """The views of one case with the outlines of prediction and reference; `images` are all files of the folder
        the organiser named."""
        return ()

    def check_images(
        self, case: str, shapes: Shapes, geometries: Geometries, images: Sequence[SafeFile]
    ) -> Sequence[Sequence[str]]:
        """For every image of a case the parts of its header that differ from the reference's; Refused where one is
        unreadable or not of the reference's size."""
        return ()

    def aggregate(self, results: Sequence[CaseResult], runtime: Runtime, *, seed: int | None = None) -> Figures:
        """Everything below `aggregates`, from the results and the runtime alone: finite numbers only. Error bars are
        drawn under the seed; without one there are none."""
        given = self.given(results, runtime)
        rows, groups = [each.metrics for each in results], [each.groups for each in results]
        figures = aggregate(self.scoreboard, rows, given, groups)
        if self.cases.groups is not None:
            add_groups(self.scoreboard, rows, groups, figures)
        if seed is not None:
            names = [each.patient or each.case for each in results]  # all rows have a patient, or none
            units, patients = np.unique(names, return_inverse=True)
            resamples = Resamples.draw(cases=len(rows), replicates=_REPLICATES, seed=seed, patients=patients)
            drawn = CohortValues(self.scoreboard, rows, resamples, given, groups)
            add_error_bars(drawn, figures, paths=self._with_error_bars, cases=len(units))
        # metrics.json has at least one figure, also where none has a value, such as a lone AUROC of one class.
        return figures or {"scored_cases": sum(result.status == "scored" for result in results)}

    def packages(self, results: Sequence[CaseResult]) -> Mapping[str, str]:
        """What computed each metric of these results: Podium where a package has no form for missing answers."""
        rows = [result.metrics for result in results]
        figures = [each for each in self.scoreboard.cohort_metrics if each.exact is not None]
        own = {each.path.partition(".")[0] for each in figures if each.exact and each.exact(rows) is None}
        return {metric: OWN if metric in own else package for metric, package in self.computed_by.items()}

    def disclosure(self, cases: Collection[str], *, per_case: PerCase = "none") -> Disclosure:
        """What is published of aggregates over these cases where they are hidden."""
        return Disclosure(
            board=self.scoreboard,
            confidential=self.confidential,
            ranked=self._ranked,
            cases=len(cases),
            groups=[self.cases.groups_of(case) for case in cases],
            hides_rows=per_case == "none",
        )

    def published(
        self, exact: Figures, results: Sequence[CaseResult], *, per_case: PerCase, decimals: int | None, key: bytes
    ) -> Figures:
        """The aggregates of these results as participants see them; `key` is a secret of the ground truth."""
        if per_case == "full":
            return rounded_aggregates(exact, decimals=decimals)
        disclosure = self.disclosure([result.case for result in results], per_case=per_case)
        return disclosure.aggregates(exact, results, decimals=decimals, key=key)

    @property
    def _ranked(self) -> set[str]:
        """The paths of the leaderboard's score and of all that teams are ranked by."""
        rule = self.ranking
        return {self.scoreboard.leaderboard[0], *(each.path for each in (*rule.criteria, *rule.tie_breaks))}

    @property
    def _with_error_bars(self) -> Sequence[str]:
        """The ranked figures that come from the cases, but for those of single groups."""
        resampled = filter(self.scoreboard.is_resampled, sorted(self._ranked))
        return [path for path in resampled if not path.startswith(f"{GROUPS}.")]

    @property
    def figures_in_use(self) -> Sequence[str]:
        """The paths of all figures that challenge.toml shows, ranks by or has in a formula."""
        terms = (term for formula in self.scoreboard.formulas for term in formula.terms)
        return list(dict.fromkeys([*self.scoreboard.leaderboard, *terms, *sorted(self._ranked)]))

    def among(self, aggregates: Mapping[str, Figures]) -> Mapping[str, Figures]:
        """The teams' aggregates, with the figures that depend on all teams computed again."""
        given = self.cohort_given(aggregates)
        if not given:
            return aggregates
        return {team: recombined(self.scoreboard, figures, given[team]) for team, figures in aggregates.items()}

    def columns(self) -> Sequence[Column]:
        """What the leaderboard shows, the score that teams are ranked by first."""
        return [column(self.scoreboard, path) for path in self.scoreboard.leaderboard]

    def phase_columns(self, *, hidden: Collection[str] = ()) -> Sequence[Column]:
        """What a phase can show: the columns of challenge.toml, or the leaderboard and the figures of every class; with
        groups also the means over them. Where `per_case` hides the cases, `hidden` are their names: figures that are
        never published for so few cases are left out.

        A phase knows one team at a time, so the titles of some figures say that they are provisional."""
        board = self.scoreboard
        others = [figure.path for figure in board.cohort_metrics if figure.title]
        others = [] if self.tables.leaderboard.columns is not None else others
        paths = list(dict.fromkeys([*board.leaderboard, *others]))
        bars = {path: path + HALF_WIDTH for path in self._with_error_bars}
        columns = [column(board, path) for path in paths]
        columns = [replace(each, error_path=bars.get(each.path, each.error_path)) for each in columns]
        provisional = set(self.provisional)
        for formula in board.formulas:  # a formula comes after its terms
            provisional |= {formula.path} if provisional.intersection(formula.terms) else set()
        columns = [
            replace(each, title=f"{each.title}, provisional") if each.path in provisional else each for each in columns
        ]
        if self.cases.groups is not None:
            columns += group_columns(board, paths)
        if not hidden:
            return columns
        return self.disclosure(hidden).columns(columns)

    def offline_columns(self) -> Sequence[Column]:
        """Figures below `aggregates` that offline tools add."""
        return [column(self.scoreboard, figure.path) for figure in self.scoreboard.offline]


AnyChallenge = Challenge[Any, Any, Any, Any, Any]
