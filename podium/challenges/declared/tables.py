"""Tables that hold the values of many cases: which columns are read, and the rows of one case."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from podium.challenges.declared.value_settings import SurvivalSettings, ValueSettings, as_tuple
from podium.challenges.ground_truth import ReferenceProblem
from podium.errors import Refused
from podium.pairing import Entry
from podium.platform.jobs import normalize_nfc
from podium.readers.annotations import BOX_COLUMNS, BOX_OPTIONAL, POINT_COLUMNS, POINT_OPTIONAL
from podium.readers.files import SafeFile, escape_for_display
from podium.readers.tables import CaseRows, Row, read_table

ReadTable = Callable[[SafeFile], Iterator[tuple[str, Entry]]]


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
        """What can make a difference to this case: the other rows of the table cannot."""
        rows = [(row.line, row.cells) for row in self.table.rows.get(self.case, ())]
        return self.table.label, self.case, rows, self.table.broken.get(self.case)


def prediction_reader(values: Sequence[ValueSettings]) -> ReadTable:
    """How the predictions of these values are read from a table."""
    columns = tuple(dict.fromkeys(column for value in values for column in _columns(value)))

    def read(file: SafeFile) -> Iterator[tuple[str, Entry]]:
        table = read_table(file, columns=columns, case_column=values[0].case_column, optional=_optional(values))
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
        problems.append(ReferenceProblem(what="A table of references cannot be read.", where=str(refusal)))
        return
    for case, sentence in table.broken.items():
        problems.append(ReferenceProblem(what="A row of a table of references is broken.", where=f"{case}: {sentence}"))
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
    """Columns that a table may lack."""
    optional = {"points": POINT_OPTIONAL, "boxes": BOX_OPTIONAL}
    return tuple(dict.fromkeys(column for value in values for column in optional.get(value.kind, ())))


def _entry(file: SafeFile, table: CaseRows, case: str) -> Entry:
    return Entry(label=f"{file.name}: {escape_for_display(case)}", value=TableCase(table=table, case=case))
