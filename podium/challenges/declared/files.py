"""Files, tables and sockets of a declared challenge: which of them holds which value of a case, and how it is read."""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from podium.challenges.ground_truth import ReferenceProblem
from podium.challenges.settings import as_tuple
from podium.errors import Refused
from podium.own_metrics import OwnMetric
from podium.pairing import Entry, Source, Template
from podium.platform.jobs import Job, normalize_nfc
from podium.readers.files import SafeFile, escape_for_display
from podium.readers.formats import format_of
from podium.readers.formats.headers import check_expected_shape
from podium.readers.geometry import Geometry, GeometryRule, check_place
from podium.readers.hdf5 import Datasets, open_hdf5
from podium.readers.images import Image, as_integer_labels, read_image
from podium.readers.text import CaseRows, MissingColumn, Row, read_json, read_table, read_text
from podium.readers.volumes import Volume, read_volume

if TYPE_CHECKING:
    from podium.challenges.declared.values import ValueSettings
    from podium.readers.annotations import AnnotationKind, Annotations

HDF5_ENDINGS = (".h5", ".hdf5")
ImageT = TypeVar("ImageT", Image, Volume)
ReadTable = Callable[[SafeFile], Iterator[tuple[str, Entry]]]
EMPTY_LISTS: Mapping[str, Mapping[str, Any]] = {
    "points": {"type": "Multiple points", "points": []},
    "boxes": {"type": "Multiple 2D bounding boxes", "boxes": []},
}
"""Kinds of values of which a case may have any number of rows in a table, also none."""

_IMAGES = ("labels", "instances", "image", "detection_map")  # the kinds of values that are images
_SCALAR_BYTES = 1024
_TEXT_BYTES = 1_000_000
_INTEGER = re.compile(r"[+-]?[0-9]{1,18}", re.ASCII)
_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,4})?", re.ASCII)


@dataclass(frozen=True, eq=False)
class Given:
    """A value in memory, as in a notebook."""

    label: str
    value: Any


@dataclass(frozen=True)
class Unanswered:
    """No usable prediction of a value, and why."""

    reason: str


Sources = Mapping[str, Source | Given | Unanswered]  # of one case: by the name of the value
EXTRA = "extra:"  # and a name: a file among the references that own metrics alone see
FACTS = "cases.csv"  # beside the values of a reference: the case's row of that table


def empty_list(settings: "ValueSettings", case: str) -> Given:
    """What a case without a row in a table of points or boxes has."""
    return Given(f"{settings.table}: {case}", EMPTY_LISTS[settings.kind])


class OpenFiles(ExitStack):
    """HDF5 files of a case: each is opened once, for all values that it holds."""

    def __init__(self) -> None:
        super().__init__()
        self._opened: dict[SafeFile, Datasets] = {}

    def hdf5(self, file: SafeFile) -> Datasets:
        if file not in self._opened:
            self._opened[file] = self.enter_context(open_hdf5(file))
        return self._opened[file]


@dataclass(frozen=True, kw_only=True)
class ExpectedPrediction:
    """What a prediction must agree with, as far as it is known: a participant has no reference. What its author should
    know is added to `warnings`."""

    shape: tuple[int, ...] | None = None
    geometry: Geometry | None = None
    warnings: list[str] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class Located:
    """One side of one value of a case, not yet read: its source, and its place inside the source."""

    source: Source | Given
    files: OpenFiles
    socket: str | None
    dataset: str | None
    pointers: tuple[str, ...]
    columns: tuple[str, ...]
    geometry: GeometryRule = "ignore"

    @property
    def label(self) -> str:
        """The name of the value in messages."""
        match self.source:
            case Job() as job:
                return f"{job.label}: {self.socket}"
            case Entry() | Given() as entry:
                return entry.label
            case file if _is_hdf5(file):
                return f"{file.name}: {self.dataset}"
            case file:
                return file.name

    def labels(self, expected: ExpectedPrediction) -> tuple[NDArray[Any], Geometry | None]:
        """A label image on the expected grid and, where its format has one, the geometry in its header."""
        file = None if isinstance(self.source, Given) else self._image_file()
        if file is not None and not _is_hdf5(file) and len(format_of(file).read_header(file).shape) == 3:
            volume = self._on_grid(read_volume, file, expected)
            return volume.labels, volume.geometry
        pixels, geometry = self.image(expected)
        return as_integer_labels(pixels, name=self.label), geometry

    def image(self, expected: ExpectedPrediction) -> tuple[NDArray[Any], Geometry | None]:
        """A continuous image on the expected grid and, where its format has one, the geometry in its header."""
        if isinstance(self.source, Given):
            found = np.asarray(self.source.value)
            check_expected_shape(f"'{self.source.label}'", found.shape, expected.shape)
            return found, None
        file = self._image_file()
        if _is_hdf5(file):
            return self.files.hdf5(file).read(self._dataset_name(), shape=expected.shape), None
        image = self._on_grid(read_image, file, expected)
        return image.array, image.geometry

    def _on_grid(self, read: Callable[..., ImageT], file: SafeFile, expected: ExpectedPrediction) -> ImageT:
        found: ImageT = read(file, shape=expected.shape, onto=None if self.geometry == "ignore" else expected.geometry)
        place = check_place(self.label, found.geometry, expected.geometry, expected.shape, self.geometry)
        expected.warnings.extend(place)
        return found

    def scalar(self, *, texts: Collection[Any] = ()) -> Any:
        """One number or text: of a JSON value, a dataset with one element, or a cell. A cell that is one of `texts` is
        that text, even if it spells a number."""
        value: Any = self.source.value if isinstance(self.source, Given) else None
        if isinstance(self.source, SafeFile) and _is_hdf5(self.source):
            value = self.files.hdf5(self.source).read(self._dataset_name(), max_bytes=_SCALAR_BYTES)
        if isinstance(value, np.ndarray):
            if value.size != 1:
                raise Refused(f"'{self.label}' must be one number, it has {value.size}.")
            return value.reshape(()).item()
        if isinstance(self.source, Entry):
            value = self._row().value(self.columns[0])
            return value if value in texts else cell_value(value)
        return self.json()

    def number(self) -> float:
        """One finite number."""
        if isinstance(self.source, Entry):
            return self._row().number(self.columns[0])
        return checked_number(self.scalar(), label=self.label)

    def numbers(self) -> Any:
        """Several numbers: a JSON list or object, or the cells of several columns."""
        if isinstance(self.source, Entry):
            row = self._row()
            return [row.number(column) for column in self.columns]
        return self.json()

    def record(self, columns: Sequence[str], *, may_lack: bool = False) -> Mapping[str, Any]:
        """Several named facts: a JSON object, or the cells of these columns; with `may_lack` only those that there
        are."""
        if isinstance(self.source, Entry):
            row = self._row()
            return {column: cell_value(row.value(column)) for column in columns if not may_lack or column in row}
        found = self.json()
        if not isinstance(found, dict):
            raise Refused(f"'{self.label}' must be an object with {' and '.join(columns)}.")
        for column in columns:
            if column not in found and not may_lack:
                raise Refused(f"'{self.label}' has no '{escape_for_display(column)}'.")
        return {column: found[column] for column in columns if not may_lack or found.get(column) is not None}

    def annotations(self, written: "AnnotationKind") -> "Annotations":
        """Points or boxes."""
        if isinstance(self.source, Entry):
            # A case without findings has no row, or one without coordinates.
            rows = [row for row in self.source.value.rows() if any(column in row for column in written.columns)]
            return written.from_rows(rows, name=self.source.label)
        if isinstance(self.source, SafeFile) and self.pointers == ("",):
            return written.read(self.source)
        return written.from_json(self.json(), name=self.label)

    def json(self) -> Any:
        """The content of a JSON file or socket at the first pointer that exists there."""
        match self.source:
            case Job() as job:
                content = job.output_json(self._socket())
            case Entry():
                raise Refused(f"'{self.label}' is a row of a table, not JSON.")
            case Given() as given:
                return given.value.tolist() if isinstance(given.value, np.ndarray | np.generic) else given.value
            case file:
                content = read_json(file)
        for pointer in self.pointers:
            found, value = _at(content, pointer)
            if found and (not isinstance(value, dict) or pointer == self.pointers[-1]):
                return value
        pointers = " or ".join(f"'{pointer}'" for pointer in self.pointers)
        raise Refused(f"'{self.label}' has nothing at {pointers}.")

    def text(self) -> str:
        """A text file, a JSON text or a cell."""
        if isinstance(self.source, SafeFile) and not self.source.name.lower().endswith(".json"):
            return read_text(self.source, limit_bytes=_TEXT_BYTES)
        if isinstance(self.source, Entry):
            return self._row().text(self.columns[0])
        value = self.json()
        if not isinstance(value, str):
            raise Refused(f"'{self.label}' must be text.")
        return value

    def _row(self) -> Row:
        assert isinstance(self.source, Entry)
        row: Row = self.source.value.row()
        return row

    def _image_file(self) -> SafeFile:
        match self.source:
            case Job() as job:
                return job.output_image(self._socket())
            case SafeFile() as file:
                return file
        raise Refused(f"'{self.label}' cannot hold an image.")

    def _dataset_name(self) -> str:
        if self.dataset is None:
            raise Refused(f"'{self.label}' is HDF5, but challenge.toml names no dataset in it.")
        return self.dataset

    def _socket(self) -> str:
        if self.socket is None:
            raise Refused("challenge.toml names no socket for this value.")
        return self.socket


def located_prediction(settings: "ValueSettings", source: Source | Given | Unanswered, files: OpenFiles) -> Located:
    """A value in a prediction; Refused where there is none."""
    if isinstance(source, Unanswered):
        raise Refused(source.reason)
    return Located(
        source=source,
        files=files,
        socket=settings.socket,
        dataset=settings.dataset,
        pointers=_pointers(settings.pointer),
        columns=as_tuple(settings.column),
        geometry=getattr(settings, "geometry", "ignore"),
    )


def located_reference(settings: "ValueSettings", source: Source | Given | Unanswered, files: OpenFiles) -> Located:
    """A value in a reference: at the same place, unless the settings name another."""
    assert not isinstance(source, Unanswered), "a case without one of its references is refused"
    return Located(
        source=source,
        files=files,
        socket=None,
        dataset=settings.reference_dataset or settings.dataset,
        pointers=_pointers(settings.pointer if settings.reference_pointer is None else settings.reference_pointer),
        columns=settings.reference_columns,
    )


def _is_hdf5(file: SafeFile) -> bool:
    return file.name.lower().endswith(HDF5_ENDINGS)


def _pointers(given: str | tuple[str, ...] | None) -> tuple[str, ...]:
    return ("",) if given is None else (given,) if isinstance(given, str) else given


def _at(content: Any, pointer: str) -> tuple[bool, Any]:
    """Whether the content has this JSON pointer (RFC 6901), and what is there."""
    value = content
    for part in pointer.split("/")[1:]:
        key = part.replace("~1", "/").replace("~0", "~")
        if isinstance(value, dict) and key in value:
            value = value[key]
        elif isinstance(value, list) and key.isdecimal() and len(key) < 10 and int(key) < len(value):
            value = value[int(key)]
        else:
            return False, None
    return True, value


def cell_value(value: Any) -> Any:
    """A cell of a CSV table as a number, if its text spells one."""
    if not isinstance(value, str):
        return value
    text = value.strip()
    if _INTEGER.fullmatch(text):
        return int(text)
    return float(text) if _NUMBER.fullmatch(text) else text


def checked_number(value: Any, *, label: str) -> float:
    """A JSON number or a cell as a finite float; Refused where it is not one."""
    if isinstance(value, np.generic):
        value = value.item()
    if not isinstance(value, int | float) or isinstance(value, bool) or not np.isfinite(float(value)):
        raise Refused(f"'{label}' must be a finite number.")
    return float(value)


def cell_number(value: Any, label: str) -> float:
    """A number, or a cell that spells a number or a truth value, as a finite float."""
    if isinstance(value, bool):
        return float(value)
    if isinstance(value, str):
        if value.strip().lower() in ("true", "false"):
            return float(value.strip().lower() == "true")
        try:
            value = float(value)
        except ValueError:
            raise Refused(f"'{label}' must be a finite number.") from None
    return checked_number(value, label=label)


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


def prediction_reader(values: Sequence["ValueSettings"]) -> ReadTable:
    """How the predictions of these values are read from a table."""
    columns = tuple(dict.fromkeys(column for value in values for column in value.table_columns))

    def read(file: SafeFile) -> Iterator[tuple[str, Entry]]:
        case_column, optional = values[0].case_column, _optional(values)
        table = read_table(file, columns=columns, case_column=case_column, optional=optional, lenient=True)
        for case in dict.fromkeys([*table.rows, *table.broken]):
            yield case, _entry(file, table, case)

    return read


def is_answer(settings: "ValueSettings", source: Source | Given | Unanswered) -> bool:
    """Whether there is something where a prediction of the value is expected, usable or not."""
    if isinstance(source, Job):
        return settings.socket in source.outputs
    if isinstance(source, Entry) and settings.kind not in EMPTY_LISTS:
        try:
            return any(column in row for row in source.value.rows() for column in settings.table_columns)
        except MissingColumn:
            return False
        except Refused:
            return True
    return True


def reference_rows(
    file: SafeFile, values: Sequence["ValueSettings"], problems: list[ReferenceProblem]
) -> Iterator[tuple[str, Entry]]:
    """The references of these values in a table, by case; what is wrong with it is added to `problems`."""
    case_column = values[0].reference_case_column or values[0].case_column
    columns = dict.fromkeys(column for value in values for column in value.reference_table_columns)
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


def _has_reference(value: "ValueSettings", entry: Entry) -> bool:
    """Whether a table gives a case's reference of a value: a case of points or boxes may have a row without any."""
    if value.kind in EMPTY_LISTS:
        return True
    try:
        return any(column in row for row in entry.value.rows() for column in value.reference_table_columns)
    except Refused:
        return True  # it is reported where it is read


def _optional(values: Sequence["ValueSettings"]) -> tuple[str, ...]:
    """Columns that a table need not have."""
    return tuple(dict.fromkeys(column for value in values for column in value.optional_columns))


def _entry(file: SafeFile, table: CaseRows, case: str) -> Entry:
    return Entry(label=f"{file.name}: {escape_for_display(case)}", value=TableCase(table=table, case=case))


# Which file or table among the references holds which value of which case.


def sort_references(
    values: Mapping[str, "ValueSettings"],
    files: Sequence[SafeFile],
    problems: list[ReferenceProblem],
    *,
    ignore_case: bool,
    cases: Collection[str] = (),
) -> Mapping[str, Sources]:
    """The references of every case, by the name of the value; what is wrong is added to `problems`. With `ignore_case`
    a case is spelled as the first file that has it. `cases` exist even if no table of references has a row of them."""
    references: dict[str, dict[str, Source | Given]] = {}
    spelled: dict[str, str] = {}

    def as_spelled(case: str, names: Sequence[str]) -> str:
        first = spelled.setdefault(case.casefold(), case) if ignore_case else case
        return case if any(name in references.get(first, ()) for name in names) else first  # two of them: an error

    known: set[SafeFile] = set()
    templates = {name: [Template(each) for each in as_tuple(value.reference)] for name, value in values.items()}
    for file in files:
        for name, written in _values_in(file, templates):
            known.add(file)
            case = as_spelled(written, [name])
            if name in references.setdefault(case, {}):
                what = f"A case has two references for the value '{name}'."
                problems.append(ReferenceProblem(what=what, where=f"references/{file.name}"))
            references[case].setdefault(name, file)
    tables = [value.reference_table for value in values.values()]
    lists: list[str] = []
    for file in sorted((each for each in files if each.name in tables), key=lambda each: tables.index(each.name)):
        names = [name for name, value in values.items() if value.reference_table == file.name]
        known.add(file)
        lists += [name for name in names if values[name].kind in EMPTY_LISTS]
        for written, entry in reference_rows(file, [values[name] for name in names], problems):
            case = as_spelled(written, names)
            given = [
                name for name in names if values[name].is_expected_everywhere or _has_reference(values[name], entry)
            ]
            references.setdefault(case, {}).update(dict.fromkeys(given, entry))
    references = {case: sources for case, sources in references.items() if sources}
    for case in cases:
        references.setdefault(as_spelled(case, ()), {})
    for case, sources in references.items():
        for name in (each for each in lists if values[each].is_expected_everywhere):
            sources.setdefault(name, empty_list(values[name], case))
    expected = [str(Template(each)) for value in values.values() for each in as_tuple(value.reference)]
    expected += [value.reference_table for value in values.values() if value.reference_table is not None]
    named = " or ".join(dict.fromkeys(expected))
    for file in files:
        if file not in known:
            what = f"A reference is not named {named}."
            problems.append(ReferenceProblem(what=what, where=f"references/{file.name}"))
    problems += [
        ReferenceProblem(what=f"A case has no reference for the value '{name}'.", where=case)
        for case, sources in references.items()
        for name, value in values.items()
        if name not in sources and value.is_expected_everywhere
    ]
    problems += [
        ReferenceProblem(what=f"No case has a reference for the value '{name}'.", where="references/")
        for name, value in values.items()
        if references and not value.is_expected_everywhere and not any(name in each for each in references.values())
    ]
    # In the order of the settings, whatever the files are called: their digest depends on it.
    return {case: {name: found[name] for name in values if name in found} for case, found in references.items()}


def extra_files(
    metrics: Sequence[OwnMetric], files: Sequence[SafeFile]
) -> tuple[Mapping[str, Mapping[str, SafeFile]], Sequence[SafeFile]]:
    """The files among the references that own metrics alone see, by name and case; and the other files."""
    templates = {name: Template(text) for each in metrics for name, text in each.extra.items()}
    found: dict[str, dict[str, SafeFile]] = {name: {} for name in templates}
    for file in files:
        for name, template in templates.items():
            if (matched := template.match(file.name)) is not None:
                found[name][matched[0]] = file
    taken = {file for by_case in found.values() for file in by_case.values()}
    return found, [file for file in files if file not in taken]


def _values_in(file: SafeFile, templates: Mapping[str, Sequence[Template]]) -> Iterator[tuple[str, str]]:
    """The values whose reference a file is, each with its case.

    Of one value the first name that matches counts, of several values the longest: `{case}_tumour.mha` is the tumour of
    a case, not the case `{case}.mha` of another value. Templates match the end of a path, since predictions may be in
    subfolders; references must be exactly where the values say.
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


def reader_packages(values: Iterable["ValueSettings"]) -> Collection[str]:
    """By file name: HDF5 has its own library, all other images share one."""
    found = set()
    for value in values:
        names = [*as_tuple(value.file), *as_tuple(value.reference)]
        in_hdf5 = [name for name in names if name.lower().endswith(HDF5_ENDINGS)]
        found |= {"h5py"} if in_hdf5 else set()
        found |= {"SimpleITK"} if value.kind in _IMAGES and (in_hdf5 != names or value.file is None) else set()
    return found


def no_rows(_: SafeFile) -> Iterator[tuple[str, Entry]]:
    """Of a layout that describes names alone."""
    return iter(())
