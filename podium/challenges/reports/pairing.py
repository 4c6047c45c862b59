"""From the names a submission carries to the cases they mean: by name alone, never by order."""

import re
import unicodedata
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from podium.challenges.base import Collected, pair_once
from podium.challenges.reports.sources import ALL_IN_CSV, ALL_IN_JSON, Source, entries_of
from podium.errors import GroundTruthError, Refused, SubmissionError
from podium.platform.jobs import Job
from podium.platform.names import case_of
from podium.platform.results import Unmatched
from podium.platform.runtime import TIMING_FILE
from podium.platform.submission import Submission
from podium.readers.names import escape_for_display, is_printable

CASE_SOCKET = "cbct-image"
_PK_OF_CASE = re.compile(r"job-(?P<case>.+)", re.IGNORECASE)
_NOT_REPORTS = re.compile(r"(readme|license|changelog|requirements).*|.*\.(md|log|pdf|py)", re.IGNORECASE)
_REPORT_ENDINGS = (".txt", ".json")
_JOBS_NAMED = 10
_LONGEST_NAME = 1000
_MOST_EXTENSIONS = 8


class CaseNames:
    """Finds the case that a name means: less any extensions, without regard to upper and lower case."""

    def __init__(self, cases: Collection[str] | None) -> None:
        self._by_key: dict[str, str] | None = None
        if cases is not None:
            self._by_key = {_key(case): case for case in sorted(cases)}

    def case(self, name: str) -> str | None:
        """The case, None if there is no such case; every name is believed where the cases are not known."""
        if len(name) > _LONGEST_NAME:
            return None
        if self._by_key is None:
            return case_of(name) if is_printable(name) else None
        return next((self._by_key[key] for key in _keys(name) if key in self._by_key), None)


def check_distinct(cases: Iterable[str]) -> None:
    """Two references that differ only in the case of their letters could not be told apart in a submission."""
    seen: dict[str, str] = {}
    for case in cases:
        other = seen.setdefault(_key(case), case)
        if other != case:
            raise GroundTruthError(
                "Two references have names that differ only in upper and lower case.", detail=f"{other} and {case}"
            )


def _key(name: str) -> str:
    return unicodedata.normalize("NFC", name).casefold()


def _keys(name: str) -> Iterator[str]:
    """The whole name first, then with one extension less after the other: a case may be called `1.2.840.7`."""
    key = _key(name.rsplit("/", 1)[-1].strip())
    for _ in range(_MOST_EXTENSIONS + 1):
        if key:
            yield key
        key = key.rpartition(".")[0]


def collect_jobs(submission: Submission, cases: Collection[str] | None) -> Collected[Source]:
    """One report a job. A job that belongs to no case stops everything: whose report is missing would be a guess."""
    names = CaseNames(cases)
    found: dict[str, list[tuple[str, Source]]] = defaultdict(list)
    left_over: list[str] = []
    for job in submission.jobs:
        case = case_of_job(job, names)
        if case is None:
            left_over.append(escape_for_display(job.pk))
        else:
            found[case].append((job.label, job))
    if left_over:
        listed = ", ".join(left_over[:_JOBS_NAMED])
        more = f" and {len(left_over) - _JOBS_NAMED} more" if len(left_over) > _JOBS_NAMED else ""
        raise SubmissionError(
            f"{len(left_over)} of {len(submission.jobs)} jobs belong to no expected case, by the name of no input: "
            f"{listed}{more}."
        )
    predictions, refused = pair_once(found)
    return Collected(predictions=predictions, refused=refused)


def case_of_job(job: Job, names: CaseNames) -> str | None:
    """By the input image, else by the one case that the other inputs name, else by a pk of the form `job-<case>`."""
    image = job.inputs.get(CASE_SOCKET)
    if image is not None and image.name is not None and (case := names.case(image.name)) is not None:
        return case
    named = (names.case(socket.name) for socket in job.inputs.values() if socket.name is not None)
    cases = {case for case in named if case is not None}
    if cases:
        return cases.pop() if len(cases) == 1 else None
    match = _PK_OF_CASE.fullmatch(job.pk)
    return names.case(match["case"]) if match else None


@dataclass
class _Found:
    reports: dict[str, list[tuple[str, Source]]] = field(default_factory=lambda: defaultdict(list))
    unmatched: list[Unmatched] = field(default_factory=list)

    def add(self, label: str, case: str | None, source: Source) -> None:
        if case is None:
            self.unmatched.append(Unmatched(name=escape_for_display(label), reason="it is no expected case"))
        else:
            self.reports[case].append((label, source))


def collect_files(submission: Submission, cases: Collection[str] | None) -> Collected[Source]:
    """`<case>.txt`, `<case>.json`, and the entries of `reports.json` and `reports.csv`."""
    names = CaseNames(cases)
    found = _Found()
    for file in submission.files:
        name = PurePosixPath(file.name).name
        if name.lower() in (ALL_IN_JSON, ALL_IN_CSV):
            try:
                for entry_name, entry in entries_of(file):
                    found.add(entry.label, names.case(entry_name), entry)
            except Refused as refusal:
                raise SubmissionError(str(refusal)) from None
        elif name.lower().endswith(_REPORT_ENDINGS):
            case = names.case(name)
            if (case is None or cases is None) and (_NOT_REPORTS.fullmatch(name) or name == TIMING_FILE):
                continue
            found.add(file.name, case, file)
        elif not _NOT_REPORTS.fullmatch(name):
            reason = "a report is <case>.txt, <case>.json, or in reports.json or reports.csv"
            found.unmatched.append(Unmatched(name=file.name, reason=reason))
    predictions, refused = pair_once(found.reports)
    for bad in submission.refused:
        case = names.case(bad.name)
        if case is None:
            found.unmatched.append(Unmatched(name=bad.name, reason=bad.reason))
        else:
            predictions.pop(case, None)
            refused[case] = bad.reason
    return Collected(predictions=predictions, refused=refused, unmatched=found.unmatched)
