"""How a team's RadFact figures were computed, for its metrics.json."""

import hashlib
from collections.abc import Sequence
from typing import Any

from podium.challenges.reports.format import ReportsSettings
from podium.challenges.reports.judge.engine import PACKAGE, PINNED_VERSION, prompt_hash
from podium.challenges.reports.judge.figures import CaseFigures


def provenance(settings: ReportsSettings, cases: Sequence[CaseFigures], *, host: str) -> dict[str, Any]:
    """How the figures were computed. The day is that of the newest answer used, so that a second run gives the same."""
    judge = settings.judge
    used = [
        item
        for case in cases
        for item in (
            case.judged.candidate,
            case.judged.reference,
            *case.judged.candidate_verdicts,
            *case.judged.reference_verdicts,
        )
        if item is not None
    ]
    return {
        "package": PACKAGE,
        "package_version": PINNED_VERSION,
        "model": judge.model,
        "server": hashlib.sha256(host.encode()).hexdigest()[:16],
        "report_type": judge.report_type,
        "remove_normal_findings": judge.remove_normal_findings,
        "prompt_hash": prompt_hash(judge.report_type),
        "clinical": settings.clinical,
        "max_report_characters": judge.max_report_characters,
        "date": max((item.day for item in used), default=""),
        "verdicts": sum(case.verdicts for case in cases),
        "failure_threshold": judge.failure_threshold,
        "failed_verdicts": sum(case.failed for case in cases),
    }
