"""Files, tables and jobs of a declared challenge: which of them holds which value of which case."""

import hashlib
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePosixPath

from podium.challenges.declared.catalogue.base import fitting_values
from podium.challenges.declared.located import HDF5_ENDINGS, Given, OpenFiles, located_prediction, located_reference
from podium.challenges.declared.settings import DeclaredSettings, metrics_of, values_of
from podium.challenges.declared.value_settings import SurvivalSettings, ValueSettings, as_tuple
from podium.challenges.declared.values import ExpectedPrediction
from podium.challenges.format import Collected, Description, Format, Geometries, ReferenceProblem, Shapes, ValuesByCase
from podium.challenges.settings import CasesSettings
from podium.errors import Refused, UsageError, did_you_mean
from podium.pairing import (
    NOT_EXPECTED,
    Candidate,
    Entry,
    Layout,
    Pairing,
    Source,
    Template,
    Unmatched,
    one_prediction,
    pair,
)
from podium.platform.jobs import TIMING_FILE, Runtime, file_runtime, job_runtime, normalize_nfc
from podium.platform.submission import Submission
from podium.readers.annotations import BOX_COLUMNS, BOX_OPTIONAL, POINT_COLUMNS, POINT_OPTIONAL
from podium.readers.files import SafeFile, escape_for_display
from podium.readers.text import CaseRows, MissingColumn, Row, read_table

ReadTable = Callable[[SafeFile], Iterator[tuple[str, Entry]]]
Sources = Mapping[str, Source | Given]  # of one case: by the name of the value
_IMAGES = ("labels", "image", "detection_map")  # the kinds of values that are images
_IGNORED = (".txt", ".md5", ".sha256")


# Tables that hold the values of many cases: which columns are read, and the rows of one case.


@dataclass(frozen=True, kw_only=True)
class TableCase:
    """The rows of one case in a table of many."""

    table: CaseRows
    case: str

    def row(self) -> Row:
        row = self.table.row_of(self.case)
        assert row is not None, "a case without rows has no entry"
        return row

    def rows(self) -> Sequence[Row]:
        return self.table.rows_of(self.case)

    def content(self) -> object:
        """What this case depends on: the other rows of the table do not matter."""
        rows = [(row.line, row.cells) for row in self.table.rows.get(self.case, ())]
        return self.table.label, self.case, rows, self.table.broken.get(self.case)


def prediction_reader(values: Sequence[ValueSettings]) -> ReadTable:
    """How the predictions of these values are read from a table."""
    columns = tuple(dict.fromkeys(column for value in values for column in _columns(value)))

    def read(file: SafeFile) -> Iterator[tuple[str, Entry]]:
        case_column, optional = values[0].case_column, _optional(values)
        table = read_table(file, columns=columns, case_column=case_column, optional=optional, lenient=True)
        for case in dict.fromkeys([*table.rows, *table.broken]):
            yield case, _entry(file, table, case)

    return read


def reference_rows(
    file: SafeFile, values: Sequence[ValueSettings], problems: list[ReferenceProblem]
) -> Iterator[tuple[str, Entry]]:
    """The references of these values in a table, by case; what is wrong with it is added to `problems`."""
    case_column = values[0].reference_case_column or values[0].case_column
    columns = dict.fromkeys(column for value in values for column in _reference_columns(value))
    try:
        table = read_table(file, columns=tuple(columns), case_column=case_column, optional=_optional(values))
    except Refused as refusal:
        where = f"references/{file.name} ({str(refusal).removesuffix('.')})"
        problems.append(ReferenceProblem(what="A table of references cannot be read.", where=where))
        return
    for case, sentence in table.broken.items():
        where = f"{case} ({sentence.removesuffix('.')})"
        problems.append(ReferenceProblem(what="A row of a table of references is broken.", where=where))
    for case in table.rows:
        yield normalize_nfc(case), _entry(file, table, case)


def _columns(value: ValueSettings) -> Sequence[str]:
    if value.kind == "points":
        return POINT_COLUMNS
    return BOX_COLUMNS if value.kind == "boxes" else as_tuple(value.column)


def _reference_columns(value: ValueSettings) -> Sequence[str]:
    if isinstance(value, SurvivalSettings):
        return (value.time_column, value.event_column)
    return _columns(value) if value.kind in ("points", "boxes") else value.reference_columns


def _optional(values: Sequence[ValueSettings]) -> tuple[str, ...]:
    """Columns that a table need not have."""
    optional = {"points": POINT_OPTIONAL, "boxes": BOX_OPTIONAL}
    return tuple(dict.fromkeys(column for value in values for column in optional.get(value.kind, ())))


def _entry(file: SafeFile, table: CaseRows, case: str) -> Entry:
    return Entry(label=f"{file.name}: {escape_for_display(case)}", value=TableCase(table=table, case=case))


# Which file or table among the references holds which value of which case.


def sort_references(
    settings: DeclaredSettings, files: Sequence[SafeFile], problems: list[ReferenceProblem], *, ignore_case: bool
) -> Mapping[str, Mapping[str, Source]]:
    """The references of every case, by the name of the value; what is wrong is added to `problems`. With `ignore_case`
    a case is spelled as the first file that has it."""
    references: dict[str, dict[str, Source]] = {}
    spelled: dict[str, str] = {}

    def as_spelled(case: str, names: Sequence[str]) -> str:
        first = spelled.setdefault(case.casefold(), case) if ignore_case else case
        return case if any(name in references.get(first, ()) for name in names) else first  # two of them: an error

    known: set[SafeFile] = set()
    templates = {
        name: [Template(each) for each in as_tuple(value.reference)] for name, value in settings.values.items()
    }
    for file in files:
        for name, written in _values_in(file, templates):
            known.add(file)
            case = as_spelled(written, [name])
            if name in references.setdefault(case, {}):
                what = f"A case has two references for the value '{name}'."
                problems.append(ReferenceProblem(what=what, where=f"references/{file.name}"))
            references[case].setdefault(name, file)
    for file, names in _reference_tables(settings, files).items():
        known.add(file)
        for written, entry in reference_rows(file, [settings.values[name] for name in names], problems):
            case = as_spelled(written, names)
            references.setdefault(case, {}).update(dict.fromkeys(names, entry))
    values = settings.values.values()
    expected = [str(Template(each)) for value in values for each in as_tuple(value.reference)]
    expected += [value.reference_table for value in values if value.reference_table is not None]
    named = " or ".join(dict.fromkeys(expected))
    for file in files:
        if file not in known:
            what = f"A reference is not named {named}."
            problems.append(ReferenceProblem(what=what, where=f"references/{file.name}"))
    for case, sources in references.items():
        for name in settings.values:
            if name not in sources:
                what = f"A case has no reference for the value '{name}'."
                problems.append(ReferenceProblem(what=what, where=case))
    # In the order of the settings, whatever the files are called: their digest depends on it.
    return {
        case: {name: found[name] for name in settings.values if name in found} for case, found in references.items()
    }


def _values_in(file: SafeFile, templates: Mapping[str, Sequence[Template]]) -> Iterator[tuple[str, str]]:
    """The values whose reference a file is, each with its case.

    Of one value the first name that matches counts, of several values the longest: `{case}_tumour.mha` is the tumour of
    a case, not the case `{case}.mha` of another value. Templates match the end of a path, since predictions may be in
    subfolders; references must be exactly where the settings say.
    """
    fitting: list[tuple[int, str, str]] = []
    for name, choices in templates.items():
        for template in choices:
            found = template.match(file.name) if template.text.count("/") == file.name.count("/") else None
            if found is not None:
                fitting.append((len(template.text), name, found[0]))
                break
    longest = max((length for length, _, _ in fitting), default=0)
    yield from ((name, case) for length, name, case in fitting if length == longest)


def _reference_tables(settings: DeclaredSettings, files: Sequence[SafeFile]) -> Mapping[SafeFile, Sequence[str]]:
    """The tables among the references, with the values that they hold."""
    found: dict[SafeFile, list[str]] = {}
    for name, value in settings.values.items():
        for file in files:
            if value.reference_table is not None and file.name == value.reference_table:
                found.setdefault(file, []).append(name)
    return found


class DeclaredFormat(Format[Sources, Sources, Mapping[str, object]]):
    """Where references and submissions have the values of challenge.toml."""

    def __init__(self, cases: CasesSettings, settings: DeclaredSettings) -> None:
        self._cases, self._settings = cases, settings
        self.values = values_of(settings)
        self._predicted = {name: value for name, value in self.values.items() if value.settings.is_predicted}
        for kind, metric in metrics_of(settings):
            for value in fitting_values(kind, metric, self.values)[0].values() if kind.needs_probability else ():
                value.needs_probability = True
        names = dict.fromkeys(name for value in settings.values.values() for name in as_tuple(value.file))
        tables = dict.fromkeys(value.table for value in settings.values.values() if value.table is not None)
        # Of all values together, to describe what a prediction looks like.
        self.layout = self._layout([Template(name) for name in names], {name.lower(): _no_rows for name in tables})
        self.libraries = _libraries(settings.values.values())

    def _layout(self, templates: Sequence[Template], tables: Mapping[str, ReadTable]) -> Layout:
        values = self._settings.values.values()
        texts = any(str(template).lower().endswith(".txt") for template in templates)
        return Layout(
            outputs=tuple(dict.fromkeys(value.socket for value in values if value.socket is not None)),
            inputs=(self._cases.input,) if self._cases.input is not None else (),
            files=tuple(templates),
            tables=tables,
            beside=(TIMING_FILE,) if self._settings.time is not None else (),
            ignored=_IGNORED[1:] if texts else _IGNORED,
            ignore_case=bool(self._cases.ignore_case),
            # The names of tables identify a challenge, unlike `<case>.json`.
            telling=re.compile("|".join(map(re.escape, tables))) if tables else None,
        )

    # References

    def sort_references(self, files: Sequence[SafeFile], problems: list[ReferenceProblem]) -> Mapping[str, Sources]:
        return sort_references(self._settings, files, problems, ignore_case=bool(self._cases.ignore_case))

    def reference_files(self, reference: Sources) -> Sequence[SafeFile]:
        return tuple(dict.fromkeys(source for source in reference.values() if isinstance(source, SafeFile)))

    def reference_digest(self, reference: Sources) -> bytes:
        digest = hashlib.sha256(super().reference_digest(reference))
        for source in reference.values():
            if isinstance(source, Entry):
                digest.update(repr([row.cells for row in source.value.rows()]).encode())
        return digest.digest()

    def describe_reference(self, content: Mapping[str, object]) -> Description:
        parts = [value.describe(content[name]) for name, value in self.values.items()]
        return Description(
            shapes=self.shapes(content),
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
            }
        self._check_masks(found)
        return found

    def _check_masks(self, contents: Mapping[str, object]) -> None:
        """Refused where an image and the mask that it is compared within differ in size."""
        for name, value in self.values.items():
            within = getattr(value.settings, "within", None)
            if within is not None and value.shape(contents[name]) != self.values[within].shape(contents[within]):
                raise Refused(f"The mask '{within}' is not of the size of the image '{name}'.")

    def shapes(self, content: Mapping[str, object]) -> Shapes:
        """The shapes that a prediction's arrays must have, by value."""
        found = {name: value.shape(content[name]) for name, value in self.values.items()}
        return {name: shape for name, shape in found.items() if shape is not None}

    def geometries(self, content: Mapping[str, object]) -> Geometries:
        found = {name: getattr(each, "geometry", None) for name, each in content.items()}
        return {name: geometry for name, geometry in found.items() if geometry is not None}

    # Predictions

    def collect(self, submission: Submission, cases: Collection[str] | None) -> Collected[Sources]:
        groups = [
            (names, pair(submission, replace(self._layout(templates, tables), words=self.layout.describe()), cases))
            for names, templates, tables in self._groups()
        ]
        predictions: dict[str, dict[str, Source]] = {}
        refused: dict[str, str] = {}
        for names, pairing in groups:
            for case, candidates in pairing.candidates.items():
                try:
                    source = one_prediction(candidates)[0].source
                except Refused as refusal:
                    refused.setdefault(case, str(refusal))
                    continue
                assert source is not None
                predictions.setdefault(case, {}).update(dict.fromkeys(names, source))
        for case, sources in predictions.items():
            missing = [name for name in self._predicted if name not in sources]
            if missing:
                refused.setdefault(case, self._says_missing(missing[0]))
        return Collected(
            predictions={case: sources for case, sources in predictions.items() if case not in refused},
            refused=refused,
            unmatched=self._unmatched([pairing for _, pairing in groups]),
            runtime=self.runtime(submission, _together([pairing for _, pairing in groups])),
        )

    def collect_values(self, predictions: ValuesByCase, cases: Collection[str]) -> Collected[Sources]:
        found: dict[str, Sources] = {}
        refused: dict[str, str] = {}
        for case, values in predictions.items():
            for name in values.keys() - self._predicted.keys():
                meant = did_you_mean(name, self._predicted) or f"; there is: {', '.join(self._predicted)}."
                raise UsageError(f"There is no value '{name}' to predict{meant}")
            missing = [name for name in self._predicted if name not in values]
            if missing and case in cases:
                refused[case] = f"There is no prediction of the value '{missing[0]}'."
            elif case in cases:
                found[case] = {name: Given(f"{case}: {name}", value) for name, value in values.items()}
        strangers = [Unmatched(name=each, reason=f"it {NOT_EXPECTED}") for each in predictions if each not in cases]
        return Collected(predictions=found, refused=refused, unmatched=strangers)

    def _groups(self) -> Sequence[tuple[Sequence[str], Sequence[Template], Mapping[str, ReadTable]]]:
        """Values that share their files or their table, with the names of these."""
        groups: dict[tuple[tuple[str, ...], str | None], list[str]] = {}
        for name, value in self._predicted.items():
            groups.setdefault((as_tuple(value.settings.file), value.settings.table), []).append(name)
        settings = self._settings.values
        return [
            (
                names,
                [Template(each) for each in files],
                {} if table is None else {table.lower(): prediction_reader([settings[name] for name in names])},
            )
            for (files, table), names in groups.items()
        ]

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
        value = self._settings.values[name]
        names = [str(Template(each)) for each in as_tuple(value.file)]
        names += [value.table] if value.table is not None else []
        where = f"; expected in {' or '.join(names)}" if names else ""
        return f"There is no prediction of the value '{name}'{where}."

    def prediction(self, candidates: Sequence[Candidate]) -> Sources:
        raise NotImplementedError("a prediction is made of several groups of candidates: see collect")

    def runtime(self, submission: Submission, pairing: Pairing) -> Runtime:
        rule = self._settings.time
        if rule is None:
            return Runtime()
        if submission.is_algorithm:
            return job_runtime(pairing.jobs, clock=None if rule.clock == "any" else rule.clock)
        return file_runtime(pairing.beside[TIMING_FILE], name=TIMING_FILE, cases=pairing.candidates.keys())

    def check_prediction(self, prediction: Sources, shapes: Shapes | None, geometries: Geometries) -> Sequence[str]:
        warnings: list[str] = []
        self._read(prediction, shapes or {}, geometries, warnings)
        return warnings

    def read(self, prediction: Sources, expected: Mapping[str, object], warnings: list[str]) -> Mapping[str, object]:
        """Every value of a prediction, checked against the reference."""
        return self._read(prediction, self.shapes(expected), self.geometries(expected), warnings)

    def _read(
        self, prediction: Sources, shapes: Shapes, geometries: Geometries, warnings: list[str]
    ) -> Mapping[str, object]:
        found: dict[str, object] = {}
        lost: list[str] = []
        with OpenFiles() as files:
            for name, value in self._predicted.items():
                wanted = ExpectedPrediction(shape=shapes.get(name), geometry=geometries.get(name), warnings=warnings)
                located = located_prediction(value.settings, prediction[name], files)
                try:
                    found[name] = value.read_prediction(located, wanted)
                except MissingColumn as missing:  # costs this value in every case, not the case
                    lost.append(f"{missing} Until then, the value '{name}' is missing.")
        if lost and not found:
            raise Refused(lost[0])
        warnings += dict.fromkeys(lost)
        return found

    def submission_bytes(self, shapes: Sequence[Shapes]) -> int:
        return sum(value.prediction_bytes(case.get(name)) for case in shapes for name, value in self._predicted.items())


def _libraries(values: Iterable[ValueSettings]) -> Collection[str]:
    """By file name: HDF5 has its own library, all other images share one."""
    found = set()
    for value in values:
        names = [*as_tuple(value.file), *as_tuple(value.reference)]
        in_hdf5 = [name for name in names if name.lower().endswith(HDF5_ENDINGS)]
        found |= {"h5py"} if in_hdf5 else set()
        found |= {"SimpleITK"} if value.kind in _IMAGES and (in_hdf5 != names or value.file is None) else set()
    return found


def _together(pairings: Sequence[Pairing]) -> Pairing:
    """Jobs and cases of all pairings: a job holds every value, so the first pairing has them all."""
    together = Pairing(unmatched=pairings[0].unmatched, beside=pairings[0].beside)
    for pairing in reversed(pairings):
        together.candidates.update(pairing.candidates)
    return together


def _no_rows(_: SafeFile) -> Iterator[tuple[str, Entry]]:
    return iter(())
