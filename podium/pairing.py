"""Which file or job belongs to which case, for every challenge: by name alone, never by order.

A challenge describes in a `Layout` where its predictions are; `pair` sorts a submission by it. What belongs to no
expected case is unmatched: it is named and counted, and does not stop the run.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import PurePosixPath
from typing import Any

from podium.errors import Refused, SubmissionError, listed
from podium.platform.jobs import Job, case_of, normalize_nfc
from podium.platform.submission import ARCHIVE_ENDINGS, Submission, SubmissionNames
from podium.readers.files import SafeFile, escape_for_display
from podium.readers.formats import IMAGE_ENDINGS

NOT_EXPECTED = "is not an expected case"

_IGNORED = re.compile(r"(readme|license|changelog|requirements).*|.*\.(md|log|pdf)", re.IGNORECASE)
_LONGEST_NAME = 1000
_MOST_EXTENSIONS = 8
_NAMED = 5  # names listed in a message
_OTHER_ARCHIVES = (".7z", ".rar", ".tar.bz2", ".tar.xz", ".tar.zst")


# Where the predictions of a challenge are in a submission: sockets, names of files, and tables of many cases.


@dataclass(frozen=True)
class Template:
    """A file name with its case, such as `{case}_pred.h5`, `{case}/iter_{step}.mha` or `{case}/{array}.npy`.

    `{step}` is a number, `{extension}` anything, and any other placeholder one of `choices`. With `{group}`, as in
    `{group}/{case}.png`, the case is `<group>_<case>`: names may repeat among groups. Everything but the case is
    compared without regard to upper and lower case. A template with a folder fits the last parts of a path:
    predictions may be in deeper folders.
    """

    text: str
    choices: tuple[str, ...] = ()

    @property
    def is_bare(self) -> bool:
        """Whether only the ending distinguishes a file of this name from any other."""
        return self.text.startswith("{case}.")

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        parts = re.split(r"(\{\w+\})", self.text)
        rules = {name: rf"(?P<{name[1:-1]}>(?-i:[^/]+))" for name in ("{case}", "{group}")}
        rules |= {"{step}": r"(?P<part>[0-9]{1,6})", "{extension}": r"[^/]+"}
        any_choice = rf"(?P<part>{'|'.join(map(re.escape, self.choices))})"
        pieces = [rules.get(part, any_choice) if part.startswith("{") else re.escape(part) for part in parts]
        return re.compile("".join(pieces), re.ASCII | re.IGNORECASE)

    def match(self, name: str) -> tuple[str, str] | None:
        """The case and the other placeholder's text ("" without one) of a path that fits."""
        depth = self.text.count("/") + 1
        found = self._pattern.fullmatch("/".join(PurePosixPath(name).parts[-depth:]))
        if found is None:
            return None
        parts = found.groupdict()
        case = f"{parts['group']}_{parts['case']}" if "group" in parts else parts["case"]
        return normalize_nfc(case), parts.get("part") or ""

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
    """Where predictions are in either shape of submission.

    tables        files that hold the predictions of many cases: name -> how its (case, prediction) pairs are read
    any_extension every extension of an input's or file's name may be removed, not only those of known formats
    distinctive_names  other names of files that no other challenge has; templates with more than a case and an ending
                  are such names too
    """

    outputs: tuple[str, ...]  # the output sockets of an algorithm
    inputs: tuple[str, ...]  # the inputs whose name is the case: the first that a job has
    files: tuple[Template, ...]  # names of prediction files; the first that fits and names an expected case counts
    any_input: bool = False  # where those name no expected case, the one case that the job's other inputs name
    tables: Mapping[str, Callable[[SafeFile], Iterator[tuple[str, Entry]]]] = field(default_factory=dict)
    beside: tuple[str, ...] = ()  # files that are read but are not predictions, such as the runtime, by lower-case name
    ignored: tuple[str, ...] = ()  # endings of files that are never predictions
    ignore_case: bool = False  # case names are compared without regard to upper and lower case
    any_extension: bool = False
    suffixes: tuple[str, ...] = ()  # endings that a name may have and the case does not (channels of nnU-Net)
    job_pattern: re.Pattern[str] | None = None  # a job's pk that names the case, as the last resort
    distinctive_names: re.Pattern[str] | None = None
    words: str = ""  # how predictions are named, for messages [from the templates]

    def recognises(self, names: SubmissionNames) -> bool:
        """Whether a submission with these names was made for this layout; bare names do not count."""
        if names.output_sockets & set(self.outputs):
            return True
        templates = [template for template in self.files if not template.is_bare]
        return any(
            any(template.match(name) for template in templates)
            or (
                self.distinctive_names is not None
                and self.distinctive_names.fullmatch(PurePosixPath(name).name.lower()) is not None
            )
            for name in names.files
        )

    def describe(self) -> str:
        """The names that a prediction may have, for messages."""
        return self.words or listed([*map(str, self.files), *self.tables], before_last="or")


# A submission sorted by case, by the layout of its challenge.


@dataclass(frozen=True, kw_only=True)
class Unmatched:
    """A prediction that belongs to no expected case, and why."""

    name: str
    reason: str


@dataclass(frozen=True, kw_only=True)
class Candidate:
    """One file, job or entry of a case."""

    where: str  # what it is a part of, as messages name it: the file itself, or its folder
    label: str
    part: str  # the step, or the name of the array, "" where a case has one file
    source: Source | None  # None where it will not be opened; `refusal` then says why
    refusal: str | None = None


@dataclass
class Pairing:
    """A submission sorted by case, nothing opened yet."""

    candidates: dict[str, list[Candidate]] = field(default_factory=lambda: defaultdict(list))
    unmatched: list[Unmatched] = field(default_factory=list)
    beside: dict[str, list[SafeFile]] = field(default_factory=lambda: defaultdict(list))

    @property
    def jobs(self) -> Mapping[str, Sequence[Job]]:
        """By case."""
        return {
            case: [each.source for each in candidates if isinstance(each.source, Job)]
            for case, candidates in self.candidates.items()
        }


class CaseNames:
    """Finds the case that a name means."""

    def __init__(self, cases: Collection[str] | None, layout: Layout) -> None:
        self._layout = layout
        self._by_key = None if cases is None else {self._key(case): case for case in sorted(cases)}
        self._spelled: dict[str, str] = {}  # where the cases are not known

    @property
    def are_known(self) -> bool:
        return self._by_key is not None

    def find(self, *names: str) -> str | None:
        """The first expected case among the names; where the cases are not known, the shortest name is taken."""
        endings = ("", *self._layout.suffixes)
        stems = [stem for name in names for end in endings if name.endswith(end) and (stem := name.removesuffix(end))]
        if self._by_key is None:
            shortest = min(stems, key=len, default=None)
            if shortest is None or not self._layout.ignore_case:
                return shortest
            return self._spelled.setdefault(shortest.casefold(), shortest)  # as it is first spelled
        return next((self._by_key[key] for stem in stems if (key := self._key(stem)) in self._by_key), None)

    def nearly(self, name: str) -> tuple[str, str] | None:
        """An expected case that a file's name nearly has, and what is different; None where no case is near."""
        stem = case_of(name)
        case = self._by_letters.get(stem.casefold())
        if case is not None:
            return case, "the ending" if stem == case else "upper and lower case"
        longest = max(map(len, self._by_letters), default=0)  # a name may be any number of separators
        parts = [stem[: each.start()].casefold() for each in re.finditer("[._ -]", stem[: longest + 1])]
        begun = [self._by_letters[part] for part in parts if part in self._by_letters]
        return (begun[-1], "what follows the case") if begun else None

    @cached_property
    def _by_letters(self) -> Mapping[str, str]:
        return {case.casefold(): case for case in (self._by_key or {}).values()}

    def of_file(self, name: str) -> str | None:
        """The case that a file's or input's name means, without its extension."""
        if len(name) > _LONGEST_NAME or not name.isprintable():
            return None
        if not self._layout.any_extension or self._by_key is None:
            return self.find(case_of(name))
        # The whole name first, then with fewer and fewer extensions: a case may be called `1.2.840.7`.
        name = name.rsplit("/", 1)[-1].strip()
        stems = [name]
        for _ in range(_MOST_EXTENSIONS):
            stems.append(stems[-1].rpartition(".")[0])
        return self.find(*stems)

    def _key(self, name: str) -> str:
        composed = normalize_nfc(name)
        return composed.casefold() if self._layout.ignore_case else composed


def pair(submission: Submission, layout: Layout, cases: Collection[str] | None) -> Pairing:
    """Sort a submission by case; without a list of cases every name is taken as a case."""
    sorter = _Sorter(layout, cases)
    for job in submission.jobs:
        sorter.add(job, *sorter.case_of_job(job))
    for file in submission.files:
        sorter.add_file(file.name, file, None)
    for name, reason in submission.refused:
        sorter.add_file(name, None, reason)
    return sorter.pairing


class _Sorter:
    def __init__(self, layout: Layout, cases: Collection[str] | None) -> None:
        self.pairing = Pairing()
        self._layout = layout
        self._names = CaseNames(cases, layout)
        self._only = next(iter(cases)) if cases is not None and len(cases) == 1 else ""
        self._hinted: set[str] = set()

    def _hint(self, name: str) -> str:
        """What is probably meant by a name that no case has, said once for every cause."""
        if name.lower().endswith(ARCHIVE_ENDINGS):
            cause, hint = "archive", "; an archive inside the submission is not opened: put its files there instead"
        elif name.lower().endswith(_OTHER_ARCHIVES):
            cause, hint = "archive", "; pack the submission as .zip or .tar.gz"
        elif (near := self._names.nearly(name)) is not None:
            template = next((str(each) for each in self._layout.files if each.is_bare), "<case>")
            if near[1] == "the ending" and not (name.endswith(IMAGE_ENDINGS) and template.endswith(IMAGE_ENDINGS)):
                return ""  # the file of another value
            wanted = template.replace("<case>", near[0])
            cause, hint = near[1], f"; it differs from '{escape_for_display(wanted)}' in {near[1]}"
        else:
            return ""
        is_new = cause not in self._hinted
        self._hinted.add(cause)
        return hint if is_new else ""

    def add_file(self, name: str, file: SafeFile | None, refusal: str | None) -> None:
        layout, last = self._layout, PurePosixPath(name).name
        if file is not None and last.lower() in layout.beside:
            self.pairing.beside[last.lower()].append(file)
        elif file is not None and last.lower() in layout.tables:
            self._add_table(layout.tables[last.lower()], file)
        elif not last.lower().endswith(layout.ignored):
            self._add_prediction(name, file, refusal)

    def _add_prediction(self, name: str, file: SafeFile | None, refusal: str | None) -> None:
        last = PurePosixPath(name).name
        fits = self._fits(name)
        if not fits and self._only:  # the platform removes a folder that all files are in
            fits = self._fits(f"{self._only}/{name}")
        case = self._names.find(*fits)
        if fits and self._layout.any_extension:
            case = self._names.of_file(last)
        if _IGNORED.fullmatch(last) and (case is None or not self._names.are_known):
            return
        if case is None:
            stem = escape_for_display(next(iter(fits), ""))
            reason = f"'{stem}' {NOT_EXPECTED}" if fits else f"it is not named {self._layout.describe()}"
            self._leave_out(name, refusal or reason + self._hint(last))
            return
        fitting = [fit for stem, fit in fits.items() if self._names.find(stem) == case]
        template, part = (fitting or list(fits.values()))[0]
        where = f"{PurePosixPath(name).parent}/" if template.choices else name
        candidate = Candidate(where=where, label=name, part=part, source=file, refusal=refusal)
        self.pairing.candidates[case].append(candidate)

    def _fits(self, name: str) -> Mapping[str, tuple[Template, str]]:
        """By the case that a template finds in the name: the template, and the step or array."""
        return {found[0]: (template, found[1]) for template in self._layout.files if (found := template.match(name))}

    def _add_table(self, read: Callable[[SafeFile], Iterator[tuple[str, Entry]]], file: SafeFile) -> None:
        try:
            for name, entry in read(file):
                case = self._names.of_file(name)
                reason = "" if case is not None else f"it {NOT_EXPECTED}{self._hint(name)}"
                self.add(entry, case, reason)
        except Refused as refusal:
            raise SubmissionError(str(refusal)) from None

    def case_of_job(self, job: Job) -> tuple[str | None, str]:
        """The case, or why there is none."""
        layout, names = self._layout, self._names
        inputs = [job.inputs[slug].name for slug in layout.inputs if slug in job.inputs]
        named = next((name for name in inputs if name), None)
        case = names.of_file(named) if named is not None else None
        if case is None and layout.any_input and not names.are_known:
            case = job.label  # which of its inputs names the case is not known either
        if case is not None:
            return case, ""
        if not layout.any_input:
            slugs = " or ".join(f"'{slug}'" for slug in layout.inputs)
            missing = f"it has no input {slugs} with a name"
            return None, missing if named is None else f"its input '{named}' {NOT_EXPECTED}{self._hint(named)}"
        others = [socket.name for socket in job.inputs.values() if socket.name is not None]
        cases = {case for name in others if (case := names.of_file(name)) is not None}
        if len(cases) == 1:
            return cases.pop(), ""
        if cases:
            return None, "its inputs name more than one case"
        match = layout.job_pattern.fullmatch(job.pk) if layout.job_pattern else None
        if match and (case := names.of_file(match["case"])) is not None:
            return case, ""
        names_given = ", ".join(f"'{name}'" for name in others[:_NAMED]) or "none with a name"
        return None, f"no input is an expected case ({names_given})"

    def add(self, source: Job | Entry, case: str | None, reason: str) -> None:
        if case is None:
            self._leave_out(source.label, reason)
        else:
            candidate = Candidate(where=source.label, label=source.label, part="", source=source)
            self.pairing.candidates[case].append(candidate)

    def _leave_out(self, name: str, reason: str) -> None:
        self.pairing.unmatched.append(Unmatched(name=escape_for_display(name), reason=reason))


def one_prediction(candidates: Sequence[Candidate]) -> list[Candidate]:
    """The parts of a case's only prediction; Refused where one will not be opened or where there are several."""
    for candidate in candidates:
        if candidate.refusal is not None:
            raise Refused(candidate.refusal)
    predictions: list[tuple[str, dict[str, Candidate]]] = []
    for candidate in candidates:
        part = candidate.part.lower()
        fitting = [parts for where, parts in predictions if where == candidate.where and part not in parts]
        if not fitting:
            fitting = [{}]
            is_known = any(where == candidate.where for where, _ in predictions)  # GP.npy and gp.npy in one folder
            predictions.append((candidate.label if is_known else candidate.where, fitting[0]))
        fitting[0][part] = candidate
    if len(predictions) > 1:
        names = ", ".join(f"'{escape_for_display(where)}'" for where, _ in predictions[:_NAMED])
        raise Refused(f"There are {len(predictions)} predictions for this case ({names}); send one.")
    return list(predictions[0][1].values())


def only_source(candidates: Sequence[Candidate]) -> Source:
    """Where a case's only prediction is; Refused as by `one_prediction`."""
    source = one_prediction(candidates)[0].source
    assert source is not None
    return source
