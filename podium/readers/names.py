"""How a submitted name is shown: the last line of stderr reaches people, so a name must not be able to forge it."""

LONGEST_SHOWN = 200


def escape_for_display(name: str, *, longest: int = LONGEST_SHOWN) -> str:
    """`name` on one printable line: control characters and undecodable bytes escaped, the middle cut when too long."""
    if len(name) > 2 * longest:
        name = name[:longest] + name[-longest:]  # before escaping: a name may have millions of characters
    printable = "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in name)
    if len(printable) <= longest:
        return printable
    return f"{printable[: longest // 2]}...{printable[-longest // 2 :]}"


def is_printable(name: str) -> bool:
    """Whether `name` can be written to a log or to JSON as it is (no control character, no undecodable byte)."""
    return name.isprintable()
