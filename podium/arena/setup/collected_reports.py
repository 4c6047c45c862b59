"""The reports of one team, from whatever form of submission the challenge takes."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from podium.challenges.reports.challenge import Reports
from podium.challenges.reports.pairing import CaseNames, case_of_job
from podium.challenges.reports.settings import ReportsSettings
from podium.challenges.reports.sources import read_report
from podium.errors import Refused, SubmissionError, UsageError
from podium.platform.submission import Submission, open_submission


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
    challenge = Reports(ReportsSettings())
    texts: dict[str, str] = {}
    problems: dict[str, str] = {}
    try:
        limit = challenge.submission_bytes([{}] * len(cases))
        with open_submission(submission, max_bytes=limit) as opened:
            collected = challenge.collect(_without_other_jobs(opened, cases), cases)
            for case in sorted(cases):
                texts[case] = ""
                if case in collected.refused:
                    problems[case] = collected.refused[case]
                elif case not in collected.predictions:
                    problems[case] = "There is no report of this case."
                else:
                    try:
                        texts[case] = read_report(collected.predictions[case])
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


def _without_other_jobs(submission: Submission, cases: Collection[str]) -> Submission:
    """The challenge takes a job of an unknown case for a fault; an arena may show fewer cases than were scored."""
    names = CaseNames(cases)
    return replace(submission, jobs=tuple(job for job in submission.jobs if case_of_job(job, names) is not None))
