"""The classes of the plots as plain values, for files without the page's stylesheet around them: light colours only."""

import re
from collections.abc import Iterable, Mapping
from functools import cache

from podium.report.page import plot_stylesheet
from podium.report.palette import LIGHT

_RULE = re.compile(r"([^{}]+)\{([^{}]*)\}")
_VARIABLE = re.compile(r"var\(--([a-z0-9-]+)\)")


@cache
def light_stylesheet() -> str:
    """The plots' rules with the colours of light paper put in."""
    return _VARIABLE.sub(lambda match: LIGHT[match[1]], plot_stylesheet())


@cache
def _rules() -> Mapping[str, Mapping[str, str]]:
    """By the last word of a selector, `text` or a class; later rules win, as in a browser."""
    found: dict[str, dict[str, str]] = {}
    for selectors, body in _RULE.findall(light_stylesheet()):
        values = dict(part.split(":", 1) for part in body.strip().split(";") if part)
        for selector in selectors.split(","):
            found.setdefault(selector.strip().split()[-1].removeprefix("."), {}).update(values)
    return found


def style_of(tag: str, classes: Iterable[str]) -> dict[str, str]:
    """Everything the stylesheet says of an element, in the order of the stylesheet."""
    wanted = {tag, *classes}
    style: dict[str, str] = {}
    for name, values in _rules().items():
        if name in wanted:
            style.update(values)
    return style
