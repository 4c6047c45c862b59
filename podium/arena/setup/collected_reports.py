"""The reports of one team, from whatever form of submission the challenge takes."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

from podium.challenges.reports.format import ReportsFormat, ReportsSettings
from podium.challenges.settings import CasesSettings
from podium.errors import Refused, SubmissionError, UsageError
from podium.platform.submission import open_submission


@dataclass(frozen=True, kw_only=True)
class CollectedReports:
    """One text for every case, as it was sent; "" where there is none to show.

    `problems` tells the organiser why a text is empty, by case, in one sentence each.
    """

    texts: Mapping[str, str]
    problems: Mapping[str, str]


def collect_reports(submission: Path, *, cases: Collection[str]) -> CollectedReports:
    """A team's reports of `cases`, found by name as the challenge finds them; what it sent for others is left aside.

    A case without a usable report gets an empty one. A submission that cannot be opened, or that has no report of any
    of these cases, is another matter: it is the wrong folder, and an arena of empty reports would be built on it.
    """
    files = ReportsFormat(CasesSettings(), ReportsSettings())
    texts: dict[str, str] = {}
    problems: dict[str, str] = {}
    try:
        limit = files.submission_bytes([{}] * len(cases))
        with open_submission(submission, max_bytes=limit) as opened:
            collected = files.collect(opened, cases)
            for case in sorted(cases):
                texts[case] = ""
                if case in collected.refused:
                    problems[case] = collected.refused[case]
                elif case not in collected.predictions:
                    problems[case] = "There is no report of this case."
                else:
                    try:
                        texts[case] = files.read(collected.predictions[case])
                    except Refused as refusal:
                        problems[case] = str(refusal)
                    else:
                        if not texts[case].strip():
                            problems[case] = "The report is empty."
    except (SubmissionError, Refused) as fault:
        raise UsageError(f"The reports in {submission} cannot be read: {fault}") from None
    if not collected.predictions and not collected.refused:
        raise UsageError(f"{submission} contains no report of any of the {len(cases)} cases; their names must agree.")
    return CollectedReports(texts=texts, problems=problems)
