"""The words of the rater's pages, one JSON file per language with the same keys."""

import json
import re
from functools import cache
from importlib.resources import files

ENGLISH = "en"
LANGUAGES = ("en", "it", "de", "fr", "es", "zh")


class Words:
    """The words of one language. In a template: `words("progress", done=3, total=6)`."""

    def __init__(self, code: str) -> None:
        self.code = code
        self._texts: dict[str, str] = json.loads(files(__package__).joinpath(f"{code}.json").read_text("utf-8"))

    def __call__(self, key: str, **values: object) -> str:
        return self._texts[key].format(**values)

    def __contains__(self, key: str) -> bool:
        return key in self._texts

    def or_same(self, text: str) -> str:
        """The translation of what may be the organiser's own wording, which is shown as it is."""
        return self._texts.get(text, text)


@cache
def words_of(code: str) -> Words:
    return Words(code)


def choose(wanted: str, accepted: str) -> Words:
    """The rater's own language, else the first of the header Accept-Language that there is, else English."""
    if wanted in LANGUAGES:
        return words_of(wanted)
    weighted = []
    for place, item in enumerate(accepted.split(",")[:20]):
        found = re.fullmatch(r"\s*([A-Za-z]{2,3})(?:-[\w-]*)?\s*(?:;\s*q\s*=\s*([01](?:\.[0-9]{0,3})?))?\s*", item)
        if found and found[1].lower() in LANGUAGES:
            weighted.append((-float(found[2] or 1), place, found[1].lower()))
    return words_of(min(weighted)[2] if weighted else ENGLISH)
