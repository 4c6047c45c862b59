"""Where the predictions of a challenge stand in a submission: sockets, names of files, and tables of many cases."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import PurePosixPath
from typing import Any

from podium.platform.jobs import Job
from podium.platform.names import normalize_nfc
from podium.platform.submission import SubmissionNames
from podium.readers.files import SafeFile


@dataclass(frozen=True)
class Template:
    """A file name with its case, such as `{case}_pred.h5`, `{case}/iter_{step}.mha` or `{case}/{array}.npy`.

    `{step}` is a number, `{extension}` anything, and any other placeholder one of `choices`. Everything but the case is
    compared without regard to upper and lower case. A template with a folder fits the last parts of a path:
    predictions may lie deeper.
    """

    text: str
    choices: tuple[str, ...] = ()

    @property
    def is_bare(self) -> bool:
        """Whether nothing but the ending tells a file of this name from any other."""
        return self.text.startswith("{case}.")

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        parts = re.split(r"(\{\w+\})", self.text)
        rules = {"{case}": r"(?P<case>(?-i:[^/]+))", "{step}": r"(?P<part>[0-9]{1,6})", "{extension}": r"[^/]+"}
        any_choice = rf"(?P<part>{'|'.join(map(re.escape, self.choices))})"
        pieces = [rules.get(part, any_choice) if part.startswith("{") else re.escape(part) for part in parts]
        return re.compile("".join(pieces), re.ASCII | re.IGNORECASE)

    def match(self, name: str) -> tuple[str, str] | None:
        """The case and the other placeholder's text ("" without one) of a path that fits."""
        depth = self.text.count("/") + 1
        found = self._pattern.fullmatch("/".join(PurePosixPath(name).parts[-depth:]))
        if found is None:
            return None
        return normalize_nfc(found["case"]), found.groupdict().get("part") or ""

    def __str__(self) -> str:
        return re.sub(r"\{(\w+)\}", r"<\1>", self.text)


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One case's prediction inside a file that holds those of many, already in memory."""

    label: str
    value: Any


Source = SafeFile | Job | Entry


@dataclass(frozen=True, kw_only=True)
class Layout:
    """Where predictions stand in either shape of submission.

    outputs       the output sockets of an algorithm
    inputs        the inputs whose name is the case: the first that a job has
    any_input     where those name no expected case, the one case that the job's other inputs name
    files         names of prediction files, the first that fits with an expected case counts
    tables        files that hold the predictions of many cases: name -> how its (case, prediction) pairs are read
    beside        files that are no prediction but are read, such as the runtime, by lower-case name
    ignored       endings of files that are never predictions
    ignore_case   case names are compared without regard to upper and lower case
    any_extension every extension of an input's or file's name may go, not only those of known formats
    suffixes      endings that a name may have where the case has not (channels of nnU-Net)
    job_pattern   a job's pk that names the case, as the last resort
    telling       names of files, beside those of templates with more than a case and an ending, that no other
                  challenge has
    words         how predictions are named, for messages [from the templates]
    """

    outputs: tuple[str, ...]
    inputs: tuple[str, ...]
    files: tuple[Template, ...]
    any_input: bool = False
    tables: Mapping[str, Callable[[SafeFile], Iterator[tuple[str, Entry]]]] = field(default_factory=dict)
    beside: tuple[str, ...] = ()
    ignored: tuple[str, ...] = ()
    ignore_case: bool = False
    any_extension: bool = False
    suffixes: tuple[str, ...] = ()
    job_pattern: re.Pattern[str] | None = None
    telling: re.Pattern[str] | None = None
    words: str = ""

    def recognises(self, names: SubmissionNames) -> bool:
        """Whether a submission that looks like this from outside was made for this layout: no bare names count."""
        if names.output_sockets & set(self.outputs):
            return True
        templates = [template for template in self.files if not template.is_bare]
        return any(
            any(template.match(name) for template in templates)
            or (self.telling is not None and self.telling.fullmatch(PurePosixPath(name).name.lower()) is not None)
            for name in names.files
        )

    def describe(self) -> str:
        """The names that a prediction may have, in words."""
        if self.words:
            return self.words
        names = [str(template) for template in self.files] + [f"in {name}" for name in self.tables]
        return f"{', '.join(names[:-1])} or {names[-1]}" if len(names) > 1 else names[0]
