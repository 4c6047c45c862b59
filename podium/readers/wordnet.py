"""WordNet's own database files (Debian: wordnet-base), read word by word.

Loading all of WordNet takes seconds; the index files are sorted, so a word is found by bisection in milliseconds.
Format: the manual page wndb(5WN). What counts as a word's synsets follows NLTK's `wordnet.synsets(word)`.
"""

import mmap
import os
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

DEBIAN_FOLDER = Path("/usr/share/wordnet")
FOLDER_VARIABLE = "PODIUM_WORDNET"

_LOOKUPS_WORTH_A_TABLE = 20_000

# Inflections undone once: suffix -> its replacement, by part of speech (morphy(7WN)).
_ENDINGS: Mapping[str, tuple[tuple[str, str], ...]] = {
    "noun": (
        *(("s", ""), ("ses", "s"), ("ves", "f"), ("xes", "x"), ("zes", "z")),
        *(("ches", "ch"), ("shes", "sh"), ("men", "man"), ("ies", "y")),
    ),
    "verb": (("s", ""), ("ies", "y"), ("es", "e"), ("es", ""), ("ed", "e"), ("ed", ""), ("ing", "e"), ("ing", "")),
    "adj": (("er", ""), ("est", ""), ("er", "e"), ("est", "e")),
    "adv": (),
}


class WordNet:
    """Synonyms of single English words."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._index = {part: _Index(_map(folder / f"index.{part}")) for part in _ENDINGS}
        self._data = {part: _map(folder / f"data.{part}") for part in _ENDINGS}
        self._exceptions = {part: _read_exceptions(folder / f"{part}.exc") for part in _ENDINGS}
        self._known: dict[str, frozenset[str]] = {}

    def __reduce__(self) -> tuple[type["WordNet"], tuple[Path]]:
        """Other machines read their own files, which must be in the same folder there."""
        return WordNet, (self._folder,)

    def synonyms(self, word: str) -> frozenset[str]:
        """The single words of every synset that `word`, or what it is inflected from, belongs to."""
        if word not in self._known:
            self._known[word] = frozenset(self._look_up(word.lower()))
        return self._known[word]

    def _look_up(self, word: str) -> Iterator[str]:
        for part, endings in _ENDINGS.items():
            bases = self._exceptions[part].get(word)
            if bases is None:
                bases = tuple(word[: -len(old)] + new for old, new in endings if word.endswith(old))
            for form in dict.fromkeys((word, *bases)):
                for offset in self._index[part].synset_offsets(form):
                    yield from _single_words(self._data[part], offset)


@cache
def find_wordnet() -> WordNet | None:
    """WordNet where it is installed: the folder named by PODIUM_WORDNET, else Debian's; None where there is none."""
    folder = Path(os.environ.get(FOLDER_VARIABLE) or DEBIAN_FOLDER)
    try:
        return WordNet(folder)
    except OSError:
        return None


def _map(path: Path) -> mmap.mmap:
    with path.open("rb") as stream:
        return mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ)


def _read_exceptions(path: Path) -> dict[str, tuple[str, ...]]:
    """Irregular forms: `mice mouse` on a line."""
    lines = (line.split() for line in path.read_text(encoding="utf-8").splitlines())
    return {words[0]: tuple(words[1:]) for words in lines if words}


class _Index:
    """Where the synsets of a lemma are in the data file.

    A line is `lemma part synset_count pointer_count [pointer...] sense_count tagged_count offset...`, and the lines are
    sorted. A lemma is found by bisection; after very many of them (a report of megabytes) in a table of all.
    """

    def __init__(self, content: mmap.mmap) -> None:
        self._content = content
        self._looked_for = 0
        self._table: dict[bytes, bytes] | None = None

    def synset_offsets(self, lemma: str) -> list[int]:
        """Empty where the lemma has no line."""
        wanted = lemma.encode()
        if not wanted or wanted.startswith(b" ") or b"\n" in wanted:  # the licence at the top is indented
            return []
        self._looked_for += 1
        if self._table is None and self._looked_for > _LOOKUPS_WORTH_A_TABLE:
            lines = self._content[:].splitlines()
            self._table = {line.split(b" ", 1)[0]: line for line in lines if not line.startswith(b" ")}
        line = self._bisect(wanted) if self._table is None else self._table.get(wanted, b"")
        columns = line.split()
        return [int(offset) for offset in columns[-int(columns[2]) :]] if columns else []

    def _bisect(self, wanted: bytes) -> bytes:
        """The line of the lemma, empty if it has none."""
        low, high = 0, len(self._content)
        while low < high:
            start = self._content.rfind(b"\n", low, (low + high) // 2) + 1 or low
            end = self._content.find(b"\n", start)
            end = len(self._content) if end < 0 else end
            line = self._content[start:end]
            found = line.split(b" ", 1)[0]
            if found == wanted:
                return line
            if found < wanted:
                low = end + 1
            else:
                high = start
        return b""


def _single_words(data: mmap.mmap, offset: int) -> Iterator[str]:
    """The words of the synset at `offset`, except those of several words, and without position marks, `(a)`.

    A line is `offset file type word_count word id word id ...`, the count in hexadecimal.
    """
    end = data.find(b"\n", offset)
    columns = data[offset:end].decode().split(" ")
    for number in range(int(columns[3], 16)):
        word = columns[4 + 2 * number]
        if "_" not in word:
            yield word.split("(", 1)[0]
