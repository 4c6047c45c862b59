"""What is wrong with the four tables, every fault told once."""

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from podium.challenges.figure_names import MEAN, resolve
from podium.errors import ValidationProblem, did_you_mean
from podium.formulas import Known


class BoardProblems:
    """The problems found so far. `excused` are names that do not exist only because something else is wrong: who names
    them is not wrong too. `figures` are the names in `[figures]`."""

    def __init__(self, *, excused: Collection[str], figures: Collection[str]) -> None:
        self.found: list[ValidationProblem] = []
        self.excused = set(excused)
        self._figures = figures

    def add(self, key: tuple[str, ...], words: str) -> None:
        """Something is wrong at a key of the tables."""
        self.found.append(ValidationProblem(key=key, words=words))
        if key[0] in ("figures", "case_figures"):
            self.excused.add(key[1])  # who names it is not wrong too

    def unknown(self, key: tuple[str, ...], name: str, known: Mapping[str, Any]) -> None:
        """A name at a key means none of the known figures."""
        if name.split(".", maxsplit=1)[0] in self.excused:
            self.excused.add(key[1])
            return
        if name in self._figures and key[0] == "figures":
            advice = "; a figure can only name those before it"
        else:
            means = (path.removesuffix(MEAN) for path in known if path.endswith(MEAN))
            advice = did_you_mean(name, [*known, *means])
        self.add(key, f"names '{name}', which does not exist{advice}")

    def resolved(
        self, key: tuple[str, ...], names: Iterable[str], known: Mapping[str, Known]
    ) -> Mapping[str, str] | None:
        """Every name with the path it means; None where one means nothing."""
        found = {name: resolve(name, known) for name in dict.fromkeys(names)}
        for name, path in found.items():
            if path is None:
                self.unknown(key, name, known)
        return None if None in found.values() else {name: path for name, path in found.items() if path is not None}
