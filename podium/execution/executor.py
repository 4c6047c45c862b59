"""What an executor is: the same work on every case, wherever it runs, with the same outcomes in the same order."""

import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from podium.errors import MachineError, ReaderDied, Refused, UsageError

Value = TypeVar("Value")
TRIES = 2  # a crash may be another case's doing (memory is shared), so a case is tried again before it is given up


@dataclass(frozen=True, kw_only=True)
class CaseOutcome(Generic[Value]):
    """`value`, or in its place `error`, a sentence for the case's author, and `detail` for the organiser's log;
    `was_killed` where a process ended before there was either, which need not be the case's fault."""

    value: Value | None = None
    error: str | None = None
    detail: str | None = None
    was_killed: bool = False


class Executor(Protocol):
    """Runs work on cases. Which executor runs it changes the time it takes, never a value."""

    @property
    def workers(self) -> int:
        """How many cases are worked on at the same time; where there are fewer cases, one may use several threads."""

    @property
    def is_local(self) -> bool:
        """Whether cases are worked on by this machine, which has its files."""

    @property
    def score_until(self) -> float | None:
        """The moment of `time.monotonic` after which no case is begun to be scored; None where there is none."""

    def run(
        self, cases: Sequence[str], work: Callable[[str], Value], *, label: str
    ) -> Mapping[str, CaseOutcome[Value]]:
        """`work(case)` for every case; outcomes in the order of `cases`. `label` names the work for its progress.

        A case that raises costs that case only. A UsageError or MachineError is raised again: no other case would do
        better.
        """


def attempt(work: Callable[[str], Value], case: str) -> CaseOutcome[Value]:
    """The outcome of one case: its value, or why there is none."""
    try:
        return CaseOutcome(value=work(case))
    except (UsageError, MachineError):
        raise
    except Refused as refusal:
        was_killed = isinstance(refusal, ReaderDied)
        return CaseOutcome(error=str(refusal), detail=refusal.detail, was_killed=was_killed)
    except MemoryError:
        return CaseOutcome(error="Scoring this case needed more memory than there is.", detail=traceback.format_exc())
    except Exception as error:  # whatever went wrong, it costs this case only
        return CaseOutcome(
            error=f"This case could not be scored because of an unexpected {type(error).__name__}.",
            detail=traceback.format_exc(),
        )


def died(cause: str, *, tries: int = TRIES) -> CaseOutcome[Value]:
    """The outcome of a case that ended its process whenever it was tried; `cause` says how the last one ended.

    The sentence has no number of tries: two runs on the same input give the same bytes.
    """
    return CaseOutcome(
        error="Scoring this case ended its process every time, by a crash or because memory ran out.",
        detail=f"the worker died {tries} times, last {cause}",
        was_killed=True,
    )


def took_too_long(limit_seconds: float) -> CaseOutcome[Value]:
    """The outcome of a case past its time limit."""
    return CaseOutcome(error=f"Scoring this case took longer than {limit_seconds:g} seconds.")
