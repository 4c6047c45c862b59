"""A challenge's settings as a table of dotted names, so that a reader sees by which rules a figure came about."""

from collections.abc import Iterator, Mapping
from typing import Any

from podium.report.exhibit import Table

_MANY = 5  # numbers of one table, such as a tolerance for every label, that stand in one row


def settings_table(settings: Mapping[str, Any], extra: Mapping[str, str] | None = None) -> Table:
    """Every setting that has a value by its name in challenge.toml, then what else has to be known."""
    rows = [*_leaves(settings, ""), *(extra or {}).items()]
    return Table(head=("Setting", "Value"), rows=rows)


def _leaves(value: Any, name: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping) and len(value) >= _MANY and all(map(_is_number, value.values())):
        yield name, ", ".join(f"{key} {_word(inner)}" for key, inner in value.items())
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _leaves(inner, f"{name}.{key}" if name else str(key))
    elif isinstance(value, list | tuple) and any(isinstance(each, Mapping) for each in value):
        for number, inner in enumerate(value, start=1):
            yield from _leaves(inner, f"{name}[{number}]")
    elif value is not None:
        yield name, _word(value)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _word(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if _is_number(value):
        return f"{value:.6g}"
    if isinstance(value, list | tuple):
        return ", ".join(_word(each) for each in value)
    return str(value)
