"""Plain objects as YAML, for the few small files that platforms ask for: block style, in the order given.

Readers of YAML 1.1, such as PyYAML, must get the same values: there `1e-05` is a string and `no` is false.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

_PLAIN_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
_NOT_STRINGS = frozenset(("y", "n", "yes", "no", "on", "off", "true", "false", "null"))


def to_yaml(content: Mapping[str, Any]) -> str:
    """Mappings, lists, strings, truth values and finite numbers; the top is a mapping that is not empty."""
    return "".join(f"{line}\n" for line in _lines(content))


def _lines(value: Any) -> list[str]:
    """A block, each line indented as the block's own level."""
    if isinstance(value, Mapping) and value:
        return [line for key, member in value.items() for line in _member(f"{_key(key)}:", member)]
    if _is_list(value) and value:
        return [line for member in value for line in _item(member)]
    return [_scalar(value)]


def _member(head: str, value: Any) -> list[str]:
    lines = _lines(value)
    if (isinstance(value, Mapping) or _is_list(value)) and value:
        return [head, *(f"  {line}" for line in lines)]
    return [f"{head} {lines[0]}"]


def _item(value: Any) -> list[str]:
    first, *others = _lines(value)
    return [f"- {first}", *(f"  {line}" for line in others)]


def _is_list(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str)


def _key(key: str) -> str:
    return key if _PLAIN_KEY.fullmatch(key) and key.lower() not in _NOT_STRINGS else _quoted(key)


def _scalar(value: Any) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case int():
            return str(value)
        case float():
            text = repr(value)
            return text.replace("e", ".0e") if "e" in text and "." not in text else text
        case str():
            return _quoted(value)
        case Mapping():
            return "{}"
    return "[]"


def _quoted(text: str) -> str:
    """In double quotes, whatever is not printable escaped."""
    escaped = ("\\" + c if c in '"\\' else c if c.isprintable() else f"\\U{ord(c):08x}" for c in text)
    return f'"{"".join(escaped)}"'
