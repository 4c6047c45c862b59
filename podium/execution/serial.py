"""The serial executor: one case after the other in this process."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass

from podium.execution.executor import CaseOutcome, Value, attempt
from podium.execution.progress import ProgressFactory, no_progress


@dataclass(frozen=True, kw_only=True)
class Serial:
    """For tests, debuggers and use from Python. It has no time limit, and a case that crashes ends this process."""

    progress: ProgressFactory = no_progress

    @property
    def workers(self) -> int:
        return 1

    @property
    def is_local(self) -> bool:
        return True

    @property
    def score_until(self) -> None:
        return None

    def run(
        self, cases: Sequence[str], work: Callable[[str], Value], *, label: str
    ) -> Mapping[str, CaseOutcome[Value]]:
        outcomes: dict[str, CaseOutcome[Value]] = {}
        with closing(self.progress(label, len(cases))) as progress:
            for case in cases:
                outcomes[case] = attempt(work, case)
                progress.advance()
        return outcomes
