"""A challenge from its challenge.toml alone: the values of a case are found, read and compared as its tables say."""

import hashlib
import math
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from importlib import import_module
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from podium.challenges.board import title_of
from podium.challenges.challenge import Challenge
from podium.challenges.declared.catalogue.base import NO_REFERENCE, Declared, DeclaredCase, MetricSettings, has_facts
from podium.challenges.declared.files import (
    EMPTY_LISTS,
    EXTRA,
    FACTS,
    ExpectedPrediction,
    Given,
    OpenFiles,
    ReadTable,
    Sources,
    Unanswered,
    cell_value,
    empty_list,
    extra_files,
    is_answer,
    located_prediction,
    located_reference,
    no_rows,
    prediction_reader,
    reader_packages,
    sort_references,
)
from podium.challenges.declared.settings import DeclaredTables
from podium.challenges.declared.values import (
    MISSING,
    AnyValueKind,
    Compared,
    asked_of,
    samples_of,
    socket_of,
    value_kind,
)
from podium.challenges.ground_truth import (
    Collected,
    Description,
    Geometries,
    ReferenceProblem,
    Shapes,
    ValuesByCase,
    collect,
)
from podium.challenges.pictures import Overlay, Picture
from podium.challenges.samples import Asked, CaseSamples, Socket
from podium.challenges.settings import as_tuple
from podium.errors import OwnMetricFailed, ReaderDied, Refused, UsageError, did_you_mean
from podium.figures import Figures, put
from podium.metrics.classification import class_codes, confusion
from podium.metrics.declaration import CaseMetric, Scoreboard
from podium.metrics.engines import engine_named
from podium.metrics.resampling import Resamples
from podium.pairing import NOT_EXPECTED, Entry, Layout, Pairing, Source, Template, Unmatched, only_source, pair
from podium.platform.jobs import TIMING_FILE, Runtime, file_runtime, job_runtime
from podium.platform.metrics_file import CaseResult
from podium.platform.submission import Submission
from podium.readers.files import SafeFile, escape_for_display

if TYPE_CHECKING:
    from podium.challenges.declared.catalogue.own import WholeCaseMetric

_IGNORED = (".txt", ".md5", ".sha256")
_BYTES_PER_FILE = 1_000_000  # headers, padding, attributes, or all of a small file
_BYTES_PER_PIXEL = 8  # a mask saved as float64 or int64 is wasteful but honest
_PACKAGES = {
    "labels": ("scipy.ndimage", "scipy.spatial"),
    "instances": ("scipy.ndimage", "scipy.spatial", "scipy.optimize"),
    "detection_map": ("scipy.optimize",),
    "points": ("scipy.spatial",),
    "image": ("scipy.ndimage",),
}
"""Packages that the metrics of a kind of value import on first use."""


class ReferenceContent(dict[str, object]):
    """The values of a reference, read; `facts`, the case's row of cases.csv; for own metrics also organiser-only files
    and what was prepared."""

    facts: Mapping[str, object] = {}
    extra: Mapping[str, Path] = {}
    prepared: object = None


class DeclaredChallenge(Challenge[DeclaredTables, Sources, Sources, Mapping[str, object], DeclaredCase]):
    """The values of challenge.toml, compared by its metrics."""

    kind = "declared"
    tables_model = DeclaredTables
    without_settings = None
    has_overlays = True

    def __init__(self, name: str, tables: DeclaredTables) -> None:
        super().__init__(name, tables)
        self.settings = tables
        self.engine = engine_named(tables.engine)
        self.values: Mapping[str, AnyValueKind] = {
            name: value_kind(value.kind)[1](name, value) for name, value in tables.values.items()
        }
        self._predicted = {name: value for name, value in self.values.items() if value.settings.is_predicted}
        for metric in tables.metrics:
            for value in metric.compared(self.values).values() if metric.kind.needs_probability else ():
                value.needs_probability = True
        self._declared: Sequence[Declared] = [
            metric.declare(self.values, self.engine, number) for number, metric in enumerate(tables.metrics)
        ]
        values = tables.values.values()
        names = dict.fromkeys(name for value in values for name in as_tuple(value.file))
        files = dict.fromkeys(value.table.lower() for value in values if value.table is not None)
        # Of all values together, to describe what a prediction looks like.
        self.layout = self._layout([Template(name) for name in names], dict.fromkeys(files, no_rows))
        self.libraries = reader_packages(values)

    def _layout(self, templates: Sequence[Template], tables: Mapping[str, ReadTable]) -> Layout:
        values = self.settings.values.values()
        texts = any(str(template).lower().endswith(".txt") for template in templates)
        return Layout(
            outputs=tuple(dict.fromkeys(value.socket for value in values if value.socket is not None)),
            inputs=self.cases.inputs,
            files=tuple(templates),
            tables=tables,
            beside=(TIMING_FILE,) if self.settings.time is not None else (),
            ignored=_IGNORED[1:] if texts else _IGNORED,
            ignore_case=bool(self.cases.ignore_case),
            # The names of tables identify a challenge, unlike `<case>.json`.
            distinctive_names=re.compile("|".join(map(re.escape, tables))) if tables else None,
        )

    # References

    def sort_references(self, files: Sequence[SafeFile], problems: list[ReferenceProblem]) -> Mapping[str, Sources]:
        cases, ignore_case = self.cases.named_cases, bool(self.cases.ignore_case)
        extra, files = extra_files(self.settings.own_metrics, files)
        found = sort_references(self.settings.values, files, problems, ignore_case=ignore_case, cases=cases)
        for name, by_case in extra.items():
            lacking = [case for case in found if case not in by_case]
            what = f"A case has no file '{name}' for the challenge's own metrics."
            problems += [ReferenceProblem(what=what, where=case) for case in lacking]
            found = {case: {**each, EXTRA + name: by_case[case]} for case, each in found.items() if case in by_case}
        if self.cases.table is None:
            return found
        return {case: {**each, FACTS: Given(case, self.cases.facts_of(case))} for case, each in found.items()}

    def reference_files(self, reference: Sources) -> Sequence[SafeFile]:
        return tuple(dict.fromkeys(source for source in reference.values() if isinstance(source, SafeFile)))

    def reference_digest(self, reference: Sources) -> bytes:
        digest = hashlib.sha256(super().reference_digest(reference))
        for source in reference.values():
            if isinstance(source, Entry):
                digest.update(repr([row.cells for row in source.value.rows()]).encode())
        return digest.digest()

    def describe_reference(self, content: Mapping[str, object]) -> Description:
        parts = [self.values[name].describe(each) for name, each in content.items()]
        return Description(
            categories={key: text for part in parts for key, text in part.categories.items()},
            figures={key: number for part in parts for key, number in part.figures.items()},
            doubts=[doubt for part in parts for doubt in part.doubts],
        )

    def doubts_about_all(self, descriptions: Sequence[Description]) -> Sequence[str]:
        return [doubt for value in self.values.values() for doubt in value.doubts_about_all(descriptions)]

    def read_reference(self, reference: Sources) -> Mapping[str, object]:
        """Every value of a reference, checked."""
        with OpenFiles() as files:
            found = {
                name: value.read_reference(located_reference(value.settings, reference[name], files))
                for name, value in self.values.items()
                if name in reference
            }
        for name, image in found.items():
            within = getattr(self.values[name].settings, "within", None)
            if within is not None and within not in found:
                raise Refused(f"There is no mask '{within}', which the image '{name}' is compared within.")
            if within is not None and self.values[name].shape(image) != self.values[within].shape(found[within]):
                raise Refused(f"The mask '{within}' is not of the size of the image '{name}'.")
        content = ReferenceContent(found)
        if isinstance(facts := reference.get(FACTS), Given):
            content.facts = {column: cell_value(text) for column, text in facts.value.items()}
        for column in {getattr(metric.settings, "per", "case") for metric in self.settings.metrics} - {"case"}:
            number = content.facts.get(column)
            if not isinstance(number, int | float) or number <= 0:
                raise Refused(f"cases.csv has no number above 0 of '{column}', which false positives are counted per.")
        content.extra = {
            name.removeprefix(EXTRA): source.path
            for name, source in reference.items()
            if name.startswith(EXTRA) and isinstance(source, SafeFile)
        }
        for own in self.settings.own_metrics[:1]:
            from podium.challenges.declared.catalogue.own import prepare_own

            content.prepared = prepare_own(own, self._case({}, content))
        return content

    def shapes(self, content: Mapping[str, object]) -> Shapes:
        """The shapes that a prediction's arrays must have, by value."""
        found = {name: self.values[name].shape(each) for name, each in content.items()}
        return {name: shape for name, shape in found.items() if shape is not None}

    def geometries(self, content: Mapping[str, object]) -> Geometries:
        found = {name: getattr(each, "geometry", None) for name, each in content.items()}
        return {name: geometry for name, geometry in found.items() if geometry is not None}

    # Predictions

    def pair(self, submission: Submission, cases: Collection[str] | None) -> Collected[Sources]:
        predictions: dict[str, dict[str, Source | Given | Unanswered]] = {}
        pairings: list[Pairing] = []
        notes: list[str] = []
        for names, templates, table in self._groups():
            settings = {name: self.settings.values[name] for name in names}
            tables = {} if table is None else {table.lower(): prediction_reader([*settings.values()])}
            layout = replace(self._layout(templates, tables), words=self.layout.describe())
            pairings.append(pair(submission, layout, cases))
            found = collect(pairings[-1], only_source)
            refused = {case: Unanswered(reason) for case, reason in found.refused.items()}
            for case, source in {**found.predictions, **refused}.items():
                predictions.setdefault(case, {}).update(dict.fromkeys(names, source))
            if any(PurePosixPath(file.name).name.lower() in tables for file in submission.files):
                empty = [case for case in cases or () if case not in pairings[-1].candidates]
                for name in [name for name in names if empty and settings[name].kind in EMPTY_LISTS]:
                    rows = f"{len(empty)} of {len(cases or ())} cases have no row in '{table}'"
                    notes.append(f"{rows}: each counts as an empty list of '{name}'.")
                    for case in empty:
                        predictions.setdefault(case, {})[name] = empty_list(settings[name], case)
        collected = self._collected(predictions, self._says_missing)
        return replace(
            collected,
            unmatched=self._unmatched(pairings),
            notes=[*notes, *collected.notes],
            runtime=self._runtime(submission, pairings),
        )

    def pair_values(self, predictions: ValuesByCase, cases: Collection[str]) -> Collected[Sources]:
        for name in {name for values in predictions.values() for name in values if name not in self._predicted}:
            meant = did_you_mean(name, self._predicted) or f"; there is: {', '.join(self._predicted)}."
            raise UsageError(f"There is no value '{name}' to predict{meant}")
        found: dict[str, Sources] = {
            case: {name: Given(f"{case}: {name}", value) for name, value in values.items()}
            for case, values in predictions.items()
            if case in cases
        }
        strangers = [Unmatched(name=each, reason=f"it {NOT_EXPECTED}") for each in predictions if each not in cases]
        return replace(self._collected(found, "There is no prediction of the value '{}'.".format), unmatched=strangers)

    def _collected(self, found: Mapping[str, Sources], says_missing: Callable[[str], str]) -> Collected[Sources]:
        """The values of every case, those that are missing with the reason; a case without any value is refused, or
        missing too."""
        unanswered = [
            name
            for name, value in self._predicted.items()
            if value.settings.optional
            and not any(name in sources and is_answer(value.settings, sources[name]) for sources in found.values())
        ]
        predictions: dict[str, Sources] = {}
        refused: dict[str, str] = {}
        for case, sources in found.items():
            expected = [name for name in self._predicted if name not in unanswered]
            values = {name: sources.get(name) or Unanswered(says_missing(name)) for name in expected}
            if not all(isinstance(each, Unanswered) for each in values.values()):
                predictions[case] = values
            elif reasons := [each.reason for each in sources.values() if isinstance(each, Unanswered)]:
                refused[case] = reasons[0]
        words = "There is no prediction of the optional value '{}' in any case: its figures have no value."
        return Collected(
            predictions=predictions, refused=refused, unanswered=unanswered, notes=[*map(words.format, unanswered)]
        )

    def _groups(self) -> Sequence[tuple[Sequence[str], Sequence[Template], str | None]]:
        """Values that share their files or their table, with the names of these."""
        groups: dict[tuple[tuple[str, ...], str | None], list[str]] = {}
        for name, value in self._predicted.items():
            groups.setdefault((as_tuple(value.settings.file), value.settings.table), []).append(name)
        return [(names, [Template(each) for each in files], table) for (files, table), names in groups.items()]

    def _unmatched(self, pairings: Sequence[Pairing]) -> Sequence[Unmatched]:
        """What belongs to no value: a file that does not match one value may match another, or be a table of it."""
        every = [each for pairing in pairings for candidates in pairing.candidates.values() for each in candidates]
        matched = {escape_for_display(each.label) for each in every}
        read = {*self.layout.tables, *self.layout.beside}
        found: dict[str, list[Unmatched]] = {}
        for unmatched in (each for pairing in pairings for each in pairing.unmatched):
            if unmatched.name not in matched and PurePosixPath(unmatched.name).name.lower() not in read:
                found.setdefault(unmatched.name, []).append(unmatched)
        # One that is named like a prediction, or nearly, says more than one that is not.
        return [
            max(same, key=lambda each: (NOT_EXPECTED in each.reason, ";" in each.reason)) for same in found.values()
        ]

    def _says_missing(self, name: str) -> str:
        value = self.settings.values[name]
        names = [str(Template(each)) for each in as_tuple(value.file)]
        names += [value.table] if value.table is not None else []
        where = f"; expected in {' or '.join(names)}" if names else ""
        return f"There is no prediction of the value '{name}'{where}."

    def _runtime(self, submission: Submission, pairings: Sequence[Pairing]) -> Runtime:
        """A job holds every value, so the first pairing that has a case has its jobs."""
        rule = self.settings.time
        if rule is None:
            return Runtime()
        together = Pairing()
        for pairing in reversed(pairings):
            together.candidates.update(pairing.candidates)
        if submission.is_algorithm:
            return job_runtime(together.jobs, clock=None if rule.clock == "any" else rule.clock)
        return file_runtime(pairings[0].beside[TIMING_FILE], name=TIMING_FILE, cases=together.candidates.keys())

    def check_prediction(self, prediction: Sources, shapes: Shapes | None, geometries: Geometries) -> Sequence[str]:
        warnings: list[str] = []
        given = {name: source for name, source in prediction.items() if self._may_be_expected(name, source)}
        _, refused = self._read(given, shapes or {}, geometries, warnings)
        if refused:
            raise _together([*refused.values()])
        return warnings

    def _may_be_expected(self, name: str, source: Source | Given | Unanswered) -> bool:
        """Without references it is not known which cases have one: there, no answer is no mistake."""
        settings = self.settings.values[name]
        is_absent = isinstance(source, Unanswered) and source.reason == self._says_missing(name)
        return settings.is_expected_everywhere or not (is_absent or not is_answer(settings, source))

    def read(
        self, prediction: Sources, expected: Mapping[str, object], warnings: list[str]
    ) -> tuple[Mapping[str, object], Mapping[str, Refused]]:
        """The values of a prediction, checked against the reference, and why others are refused; Refused where all
        are."""
        wanted = {name: source for name, source in prediction.items() if name in expected}
        found, refused = self._read(wanted, self.shapes(expected), self.geometries(expected), warnings)
        if not found:
            raise _together([*refused.values()])
        return found, refused

    def _read(
        self, prediction: Sources, shapes: Shapes, geometries: Geometries, warnings: list[str]
    ) -> tuple[Mapping[str, object], Mapping[str, Refused]]:
        found: dict[str, object] = {}
        refused: dict[str, Refused] = {}
        with OpenFiles() as files:
            for name, source in prediction.items():
                value = self._predicted[name]
                wanted = ExpectedPrediction(shape=shapes.get(name), geometry=geometries.get(name), warnings=warnings)
                try:
                    found[name] = value.read_prediction(located_prediction(value.settings, source, files), wanted)
                except Refused as refusal:
                    refused[name] = refusal
        return found, refused

    def submission_bytes(self, shapes: Sequence[Shapes]) -> int:
        arrays = [case.get(name, (0,)) for case in shapes for name in self._predicted]
        return sum(_BYTES_PER_FILE + _BYTES_PER_PIXEL * math.prod(shape) for shape in arrays)

    # One case

    def import_packages(self) -> None:
        for kind in {value.settings.kind for value in self.values.values()}:
            for package in _PACKAGES.get(kind, ()):
                import_module(package)
        self.engine.import_packages({each.package for each in self._declared})

    def compare(self, prediction: Sources, expected: Mapping[str, object]) -> DeclaredCase:
        warnings: list[str] = []
        given, reasons = self.read(prediction, expected, warnings)
        found, refused = {**given}, {**reasons}
        case = self._case(found, expected)
        for kind, settings in self._whole_case_metrics:
            if kind.sees_all(case):
                try:
                    kind.run(settings, case)
                except OwnMetricFailed:
                    raise
                except Refused as refusal:  # the organiser refuses what it sees
                    for name in kind.own.values:
                        refused[name] = refusal
                        del found[name]
                    case = self._case(found, expected)
        if not found:
            raise _together([*refused.values()])
        return replace(case, warnings=warnings, refused=refused)

    @property
    def _whole_case_metrics(self) -> Sequence[tuple["WholeCaseMetric", MetricSettings]]:
        """Few challenges have any, so their code is imported where it is used."""
        if not self.settings.own_metrics:
            return ()
        from podium.challenges.declared.catalogue.own import WholeCaseMetric

        metrics = self.settings.metrics
        return [(each.kind, each.settings) for each in metrics if isinstance(each.kind, WholeCaseMetric)]

    def missing_case(self, expected: Mapping[str, object]) -> DeclaredCase:
        return self._case({}, expected)

    def perfect_case(self, expected: Mapping[str, object]) -> DeclaredCase:
        return self.damaged_cases(expected)[0]

    def damaged_cases(self, expected: Mapping[str, object]) -> Sequence[DeclaredCase]:
        answers = {name: self.values[name].answers(each) for name, each in expected.items()}
        return [
            self._case({name: each[number % len(each)] for name, each in answers.items()}, expected)
            for number in range(max(map(len, answers.values()), default=0))
        ]

    def samples(self, case: str, expected: Mapping[str, object]) -> CaseSamples:
        return samples_of(self._predicted, case, expected)

    def output_sockets(self) -> Sequence[Socket]:
        return [socket_of(value) for value in self._predicted.values() if value.settings.socket is not None]

    def asked(self) -> Sequence[Asked]:
        return [asked_of(value) for value in self._predicted.values()]

    def try_own_metrics(self, references: Iterable[Mapping[str, object]]) -> Sequence[str]:
        """Metrics of all cases also with a case that has no prediction; the first problem of every line."""
        from podium.challenges.declared.catalogue.own import of_facts

        codes = {each.kind: each for each in self.settings.own_metrics}
        pairs = zip(self.settings.metrics, self._declared, strict=True)
        own = [(codes[metric.kind.name], metric, declared) for metric, declared in pairs if metric.kind.name in codes]
        calls: list[Callable[[], object]] = []
        problems: list[str] = []
        rows: list[list[Figures]] = []
        for expected in references:
            copies = self.damaged_cases(expected)
            figures = [
                metric.compute for _, _, declared in own for metric in declared.metrics if metric.compute is not None
            ]
            problems += _refusals([partial(figure, copy) for figure in figures for copy in copies])
            rows.append([self.facts(copy) for copy in (*copies, self.missing_case(expected))])
        *whole, missing = zip(*rows, strict=True)
        for each in (*whole, (missing[0], *whole[0][1:])):
            for code, metric, _ in own:
                for name in metric.compared(self.values) if code.scope == "cohort" and code.compares else ():
                    calls.append(partial(of_facts, code, [row[name] for row in each if row[name] != NO_REFERENCE]))
        problems += _refusals(calls)
        return list({problem.partition(" raises ")[0]: problem for problem in reversed(problems)}.values())

    def facts(self, case: DeclaredCase) -> Figures:
        row: dict[str, Any] = {}
        for name, value in self.values.items():
            compared = case.values.get(name)
            if compared is None:
                for path in value.fact_paths:
                    put(row, path, NO_REFERENCE)
            elif (facts := value.facts(compared)) is not None:
                row[name] = facts
        for declared in self._declared:
            for path, (name, fact) in declared.facts.items():
                put(row, path, fact(case) if name in case.values else NO_REFERENCE)
        return row

    def refused_values(self, case: DeclaredCase) -> Mapping[str, Refused]:
        return case.refused

    def lacks(self, case: DeclaredCase, values: Collection[str]) -> bool:
        return any(case.values[name].is_missing for name in values if name in case.values)

    def has_no_reference(self, case: DeclaredCase, values: Collection[str]) -> bool:
        return not case.values.keys() >= {*values}

    def warnings(self, case: DeclaredCase) -> Sequence[str]:
        return case.warnings

    def _case(self, found: Mapping[str, object], expected: Mapping[str, object]) -> DeclaredCase:
        values = {name: Compared(prediction=found.get(name), reference=each) for name, each in expected.items()}
        about = {name: getattr(expected, name) for name in ("facts", "extra", "prepared") if hasattr(expected, name)}
        return DeclaredCase(values=values, **about)

    # All cases and teams

    def declare(self) -> Scoreboard[DeclaredCase]:
        """Every figure of the metrics, of the classes and of the time."""
        declared, time = self._declared, self.settings.time
        classes = {name: value for name, value in self.values.items() if value.settings.kind == "class"}
        given = time.figures() if time is not None else ()
        return Scoreboard(
            metrics=[*(metric for each in declared for metric in each.metrics), *map(_correct, classes.values())],
            cohort_metrics=[metric for each in declared for metric in each.cohort_metrics],
            formulas=[formula for each in declared for formula in each.formulas],
            tables={
                "confusion_matrix" if len(classes) == 1 else f"confusion_matrix.{name}": partial(_confusion, value)
                for name, value in classes.items()
            },
            facts={
                **{path: name for name, value in self.values.items() for path in value.fact_paths},
                **{path: name for each in declared for path, (name, _) in each.facts.items()},
            },
            given=given,
            leaderboard=[
                *(path for each in declared for path in each.columns),
                *(figure.path for figure in given if figure.title),
            ],
        )

    def confidential_paths(self) -> Sequence[str]:
        """Facts of values, and figures that reveal a reference together with one's own prediction."""
        scalar = [
            name for name, value in self.values.items() if value.settings.kind not in ("labels", "instances", "image")
        ]
        return [*scalar, "facts", *(path for each in self._declared for path in each.confidential)]

    def given(self, results: Sequence[CaseResult], runtime: Runtime) -> Mapping[str, float]:
        return {} if self.settings.time is None else self.settings.time.team_figures(results, runtime)

    def cohort_given(self, aggregates: Mapping[str, Figures]) -> Mapping[str, Mapping[str, float]]:
        return {} if self.settings.time is None else self.settings.time.cohort_figures(aggregates)

    @property
    def provisional(self) -> Sequence[str]:
        return ("time_score",) if self.settings.time is not None and self.settings.time.rule == "cohort" else ()

    @property
    def computed_by(self) -> Mapping[str, str]:
        pairs = zip(self.settings.metrics, self._declared, strict=True)
        return {metric.settings.own_name: declared.package for metric, declared in pairs}

    # Pictures: an evaluation draws nothing, so their code is imported where it is used.

    def pictures(self, rows: Sequence[Figures], aggregates: Figures) -> Sequence[Picture]:
        from podium.challenges.declared.pictures import pictures_of

        return pictures_of(self.values, self.settings.metrics, rows, aggregates)

    def overlays(
        self, case: str, prediction: Sources, reference: Sources, images: Sequence[SafeFile]
    ) -> Sequence[Overlay]:
        from podium.challenges.declared.pictures import draw_overlays

        expected = self.read_reference(reference)
        found, _ = self.read(prediction, expected, [])
        return draw_overlays(self.values, case, found, expected, images)

    def check_images(
        self, case: str, shapes: Shapes, geometries: Geometries, images: Sequence[SafeFile]
    ) -> Sequence[Sequence[str]]:
        from podium.challenges.declared.pictures import differing_images

        return differing_images(self.values, case, shapes, geometries, images)


def _together(refused: Sequence[Refused]) -> Refused:
    """One refusal for several values of a case; where a reader died, the case is tried again."""
    kind = ReaderDied if any(isinstance(each, ReaderDied) for each in refused) else Refused
    detail = next((each.detail for each in refused if each.detail), None)
    return kind(" ".join(dict.fromkeys(map(str, refused))), detail=detail)


def _refusals(calls: Sequence[Callable[[], object]]) -> Iterator[str]:
    for call in calls:
        try:
            call()
        except Refused as refusal:
            yield refusal.detail or str(refusal)


def _correct(value: AnyValueKind) -> CaseMetric[DeclaredCase]:
    """Whether a case's class is right: a per-case figure for ranking, whichever metrics the challenge has."""

    def compute(case: DeclaredCase) -> int:
        compared = case.values[value.name]
        return int(compared.prediction == compared.reference)

    return CaseMetric(
        name=f"{value.name}.correct",
        of=frozenset({value.name}),
        title=f"{title_of(value.name)} correct",
        direction="higher",
        highest=1,
        worst=0,
        compute=compute,
        mean="",
        std="",
    )


def _confusion(value: AnyValueKind, rows: Sequence[Figures]) -> Figures:
    """Numbers of cases by true class, then by predicted class."""
    if not has_facts(rows, value.name):
        return {}
    names = list(value.settings.classes)
    facts = [row[value.name] for row in rows if row[value.name] != NO_REFERENCE]
    predicted, true = (
        class_codes([fact[side] for fact in facts], classes=names) for side in ("prediction", "reference")
    )
    whole = Resamples.whole(len(facts))
    [counts] = confusion(prediction=predicted, reference=true, classes=len(names), resamples=whole)
    return {
        name: dict(zip([*names, MISSING], row, strict=True)) for name, row in zip(names, counts.tolist(), strict=True)
    }
