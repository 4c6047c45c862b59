"""From pairs of reports to verdicts: every distinct question once, several at a time, failures contained.

Two stages: split all distinct reports into findings, then ask for every finding whether the other report entails it.
A reference is split once however many teams are judged, and teams that say the same share the verdicts.
"""

import re
import time
import traceback
from collections import deque
from collections.abc import Callable, Hashable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from queue import SimpleQueue
from threading import Thread
from typing import TypeVar

from podium.challenges.reports.judge.asking import CallFailed
from podium.challenges.reports.judge.engine import Engine, Findings, FindingVerdict
from podium.challenges.reports.judge.meter import Meter
from podium.challenges.reports.judge.suspicion import addresses_judge, clean
from podium.challenges.reports.scoring import EMPTY_REPORT
from podium.errors import PodiumError

# For questions under way when a stage is stopped: most have their answer by then and can put their connection away.
_SECONDS_TO_FINISH = 2.0

_TOO_LONG = "The report is longer than {:,} characters: it was not judged and scores 0."

Item = TypeVar("Item", bound=Hashable)
Value = TypeVar("Value")


@dataclass(frozen=True, kw_only=True)
class ReportPair:
    """One case of one team: two texts as they were read."""

    candidate: str
    reference: str


@dataclass(frozen=True, kw_only=True)
class JudgedPair:
    """`None` findings: that report could not be split. `skipped` says why the judge was not asked, where it was not."""

    candidate: Findings | None = None
    reference: Findings | None = None
    candidate_verdicts: tuple[FindingVerdict, ...] = ()
    reference_verdicts: tuple[FindingVerdict, ...] = ()
    addresses_judge: bool = False
    skipped: str | None = None


def judge_pairs(
    pairs: Mapping[Item, ReportPair], *, engine: Engine, meter: Meter, concurrency: int, max_characters: int
) -> dict[Item, JudgedPair]:
    """Every pair judged. A question that fails costs its verdicts; JudgeStopped ends it all, as does any other error.

    The caller has to stop the engine's asker then, or questions under way are waited for.
    """
    skipped = {
        key: _TOO_LONG.format(max_characters) for key, pair in pairs.items() if len(pair.candidate) > max_characters
    }
    cleaned = {key: (clean(pair.candidate), clean(pair.reference)) for key, pair in pairs.items() if key not in skipped}
    skipped |= {key: why for key, texts in cleaned.items() if (why := _reason_to_skip(*texts))}
    asked = {key: texts for key, texts in cleaned.items() if key not in skipped}

    stage = _Stage(meter, concurrency)
    findings = stage.run("splitting reports", [text for texts in asked.values() for text in texts], engine.split)
    questions = [
        question
        for candidate, reference in asked.values()
        for mine, other in ((candidate, reference), (reference, candidate))
        for question in _questions(findings[mine], findings[other])
    ]
    verdicts = stage.run("judging findings", questions, lambda question: engine.judge(*question))

    def settled(mine: Findings | None, other: Findings | None) -> tuple[FindingVerdict, ...]:
        return tuple(
            verdicts[question] or FindingVerdict(finding=question[0], status="failed")
            for question in _questions(mine, other)
        )

    judged = {key: JudgedPair(skipped=why) for key, why in skipped.items()}
    for key, (candidate, reference) in asked.items():
        mine, theirs = findings[candidate], findings[reference]
        judged[key] = JudgedPair(
            candidate=mine,
            reference=theirs,
            candidate_verdicts=settled(mine, theirs),
            reference_verdicts=settled(theirs, mine),
            addresses_judge=addresses_judge(candidate),
        )
    return {key: judged[key] for key in pairs}


def _reason_to_skip(candidate: str, reference: str) -> str | None:
    """Empty reports score 0 and are not put to the judge."""
    if not re.search(r"\w", candidate):
        return EMPTY_REPORT
    if not re.search(r"\w", reference):
        return "The reference is empty: this report was not judged and scores 0."
    return None


def _questions(mine: Findings | None, other: Findings | None) -> list[tuple[str, Findings]]:
    """A report's findings, each with the other report to compare it with; none where either could not be split."""
    return [] if mine is None or other is None else [(phrase, other) for phrase in mine.phrases]


class _Stage:
    def __init__(self, meter: Meter, concurrency: int) -> None:
        self._meter = meter
        self._concurrency = concurrency

    def run(self, label: str, items: Sequence[Item], work: Callable[[Item], Value]) -> dict[Item, Value | None]:
        """`work` of every distinct item, None where its question failed."""
        distinct = list(dict.fromkeys(items))
        self._meter.start(label, len(distinct))

        def attempt(item: Item) -> Value | None:
            try:
                return work(item)
            except CallFailed:
                return None
            except PodiumError:
                raise
            except Exception as error:  # it costs this question and is counted; the log has the details
                self._meter.failed(f"unexpected {type(error).__name__}")
                print(traceback.format_exc(), flush=True)
                return None
            finally:
                self._meter.advance()

        waiting = deque(distinct)
        settled: SimpleQueue[tuple[Item, Value | None, BaseException | None]] = SimpleQueue()

        def serve() -> None:
            with suppress(IndexError):  # nothing is left to do
                while True:
                    item = waiting.popleft()
                    try:
                        settled.put((item, attempt(item), None))
                    except BaseException as error:  # raised again below, where it stops the stage
                        settled.put((item, None, error))

        # Daemons, and not a pool of the standard library's: that one waits for its threads even when we are asked to
        # stop, and a question under way may take minutes.
        threads = [Thread(target=serve, daemon=True) for _ in range(min(self._concurrency, len(distinct)))]
        for thread in threads:
            thread.start()
        found: dict[Item, Value | None] = {}
        try:
            while len(found) < len(distinct):
                item, value, error = settled.get()
                if error is not None:
                    raise error
                found[item] = value
            return found
        finally:
            waiting.clear()
            deadline = time.monotonic() + _SECONDS_TO_FINISH
            for thread in threads:
                thread.join(timeout=max(0.0, deadline - time.monotonic()))
            self._meter.close()
