"""Sample predictions of a declared challenge: every value at its places in files, tables and jobs."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from podium.challenges.declared.value_settings import ValueSettings, as_tuple
from podium.challenges.declared.values import AnyValueKind
from podium.challenges.samples import Asked, CaseSamples, Part, Socket
from podium.challenges.settings import said
from podium.pairing import Template


def samples_of(values: Mapping[str, AnyValueKind], case: str, expected: Mapping[str, Any]) -> CaseSamples:
    """The samples of one case; `values` are those that are predicted."""
    answers = {name: value.answers(expected[name]) for name, value in values.items() if name in expected}
    right = {name: _part(values[name], case, each[0]) for name, each in answers.items()}
    damaged = [
        [_part(values[name], case, each[1 + number % (len(each) - 1)]) for name, each in answers.items()]
        for number in range(max(map(len, answers.values()), default=1) - 1)
    ]
    faults = {name: values[name].faults(part.content) for name, part in right.items()}
    broken = {
        fault: [_with_fault(part, faults[name].get(fault)) for name, part in right.items()]
        for fault in dict.fromkeys(fault for each in faults.values() for fault in each)
    }
    return CaseSamples(answers=[[*right.values()], *damaged], broken=broken)


def _part(value: AnyValueKind, case: str, answer: Any) -> Part:
    settings = value.settings
    files = as_tuple(settings.file)
    group, _, rest = case.partition("_") if files and "{group}" in files[0] else ("", "", case)
    return Part(
        content=value.written(answer),
        socket=socket_of(value) if settings.socket is not None else None,
        file=files[0].replace("{group}", group).replace("{case}", rest) if files else None,
        table=settings.table,
        rows=[{settings.case_column: case, **row} for row in value.rows(answer)],
        pointer=(as_tuple(settings.pointer) or ("",))[0],
        dataset=settings.dataset,
    )


def _with_fault(part: Part, wrong: Any) -> Part:
    """The part with something wrong in it; itself without it."""
    if wrong is None:
        return part
    rows = [
        {name: each if number == 0 else wrong for number, (name, each) in enumerate(row.items())} for row in part.rows
    ]
    return replace(part, content=wrong, rows=rows)


def socket_of(value: AnyValueKind) -> Socket:
    """The output that the value is in an algorithm submission."""
    return Socket(value.settings.socket, value.socket_kind)


def asked_of(value: AnyValueKind) -> Asked:
    """The value for its participants: its keys of challenge.toml, and its place in files."""
    settings = value.settings
    own = settings.model_dump(exclude_unset=True, exclude={*ValueSettings.model_fields})
    files = [f"`{Template(name)!s}`" for name in as_tuple(settings.file)]
    if settings.table is not None:
        columns = ", ".join(f"`{name}`" for name in (settings.case_column, *as_tuple(settings.column)))
        files = [f"`{settings.table}`, columns {columns}"]
    inside = f", dataset `{settings.dataset}`" if settings.dataset is not None and files else ""
    pointers = [f"at `{each}`" if each else "as it is" for each in as_tuple(settings.pointer)]
    in_json = f"in JSON {' or '.join(pointers)}" if pointers else ""
    return Asked(
        title=value.title,
        content="; ".join(filter(None, [settings.words, said(own), in_json, "optional" if settings.optional else ""])),
        files=" or ".join(files) + inside,
        socket=socket_of(value) if settings.socket is not None else None,
    )
