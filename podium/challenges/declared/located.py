"""The place of one value of one case, and how the value is read from its file, table or socket."""

import re
from collections.abc import Collection, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from podium.challenges.declared.value_settings import ValueSettings, as_tuple
from podium.errors import Refused
from podium.pairing import Entry, Source
from podium.platform.jobs import Job
from podium.readers.annotations import (
    BOX_COLUMNS,
    POINT_COLUMNS,
    Annotations,
    boxes_of_json,
    boxes_of_rows,
    points_of_json,
    points_of_rows,
    read_boxes,
    read_points,
)
from podium.readers.files import SafeFile, escape_for_display
from podium.readers.formats import format_of
from podium.readers.formats.headers import check_expected_shape
from podium.readers.hdf5 import Datasets, open_hdf5
from podium.readers.images import Geometry, as_integer_labels, read_image
from podium.readers.text import Row, read_json, read_text
from podium.readers.volumes import read_label_volume

HDF5_ENDINGS = (".h5", ".hdf5")
_SCALAR_BYTES = 1024
_TEXT_BYTES = 1_000_000
_INTEGER = re.compile(r"[+-]?[0-9]{1,18}", re.ASCII)
_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,4})?", re.ASCII)


@dataclass(frozen=True, eq=False)
class Given:
    """A value in memory, as in a notebook."""

    label: str
    value: Any


class OpenFiles:
    """HDF5 files of a case: each is opened once, for all values that it holds."""

    def __init__(self) -> None:
        self._stack = ExitStack()
        self._opened: dict[SafeFile, Datasets] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def hdf5(self, file: SafeFile) -> Datasets:
        if file not in self._opened:
            self._opened[file] = self._stack.enter_context(open_hdf5(file))
        return self._opened[file]


@dataclass(frozen=True, kw_only=True)
class Located:
    """One side of one value of a case, not yet read: its source, and its place inside the source."""

    source: Source | Given
    files: OpenFiles
    socket: str | None
    dataset: str | None
    pointers: tuple[str, ...]
    columns: tuple[str, ...]

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

    def labels(self, *, shape: tuple[int, ...] | None) -> tuple[NDArray[Any], Geometry | None]:
        """A label image and, where its format has one, its geometry."""
        file = None if isinstance(self.source, Given) else self._image_file()
        if file is None or _is_hdf5(file):
            return as_integer_labels(self.image(shape=shape)[0], name=self.label), None
        if len(format_of(file).read_header(file).shape) == 3:
            volume = read_label_volume(file, shape=shape)
            return volume.labels, volume.geometry
        image = read_image(file, shape=shape)
        return as_integer_labels(image.array, name=file.name), image.geometry

    def image(self, *, shape: tuple[int, ...] | None) -> tuple[NDArray[Any], Geometry | None]:
        """A continuous image and, where its format has one, its geometry."""
        if isinstance(self.source, Given):
            return _array(self.source, shape), None
        file = self._image_file()
        if _is_hdf5(file):
            return self.files.hdf5(file).read(self._dataset_name(), shape=shape), None
        image = read_image(file, shape=shape)
        return image.array, image.geometry

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
            return value if value in texts else _cell(value)
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

    def record(self, columns: Sequence[str]) -> Mapping[str, Any]:
        """Several named facts: a JSON object, or the cells of these columns."""
        if isinstance(self.source, Entry):
            row = self._row()
            return {column: _cell(row.value(column)) for column in columns}
        found = self.json()
        if not isinstance(found, dict):
            raise Refused(f"'{self.label}' must be an object with {' and '.join(columns)}.")
        for column in columns:
            if column not in found:
                raise Refused(f"'{self.label}' has no '{escape_for_display(column)}'.")
        return found

    def annotations(self, kind: str) -> Annotations:
        """Points or boxes."""
        of_json, of_rows, of_file = (
            (points_of_json, points_of_rows, read_points)
            if kind == "points"
            else (boxes_of_json, boxes_of_rows, read_boxes)
        )
        if isinstance(self.source, Entry):
            # A case without findings is a row without coordinates; a case without a row is missing.
            columns = POINT_COLUMNS if kind == "points" else BOX_COLUMNS
            rows = [row for row in self.source.value.rows() if any(column in row for column in columns)]
            return of_rows(rows, name=self.source.label)
        if isinstance(self.source, SafeFile) and self.pointers == ("",):
            return of_file(self.source)
        return of_json(self.json(), name=self.label)

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


def located_prediction(settings: ValueSettings, source: Source | Given, files: OpenFiles) -> Located:
    """A value in a prediction."""
    return Located(
        source=source,
        files=files,
        socket=settings.socket,
        dataset=settings.dataset,
        pointers=_pointers(settings.pointer),
        columns=as_tuple(settings.column),
    )


def located_reference(settings: ValueSettings, source: Source | Given, files: OpenFiles) -> Located:
    """A value in a reference: at the same place, unless the settings name another."""
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


def _array(given: Given, shape: tuple[int, ...] | None) -> NDArray[Any]:
    found = np.asarray(given.value)
    check_expected_shape(f"'{given.label}'", found.shape, shape)
    return found


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


def _cell(value: Any) -> Any:
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
