"""What a run would cost, found by a run that asks no server."""

import json
import re
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from podium.challenges.reports.judge.answers import AnswerCache
from podium.challenges.reports.judge.asking import JudgeReply, Message, ResponseFormat

_CHARACTERS_PER_TOKEN = 4
_SENTENCE_END = re.compile(r"(?<=[.;!?])\s+|\n+")


@dataclass
class CostEstimate:
    """Questions not in the cache, and roughly how many tokens they and their answers take.

    `cost` is in the currency of the price list, None where no price is configured.
    """

    calls: int = 0
    cached: int = 0
    prompt_tokens: int = 0
    answer_tokens: int = 0
    cost: float | None = None


class DryRunAsker:
    """Answers from the cache where that can, else as if every sentence were one finding and nothing entailed."""

    def __init__(self, cache: AnswerCache | None) -> None:
        self.estimate = CostEstimate()
        self._cache = cache
        self._lock = threading.Lock()

    def ask(self, messages: Sequence[Message], response_format: ResponseFormat) -> JudgeReply:
        known = self._cache.get(self._cache.key(messages, response_format)) if self._cache else None
        content = known.content if known else _made_up(messages[-1].content, response_format["json_schema"]["name"])
        with self._lock:
            if known:
                self.estimate.cached += 1
            else:
                self.estimate.calls += 1
                self.estimate.prompt_tokens += sum(len(m.content) for m in messages) // _CHARACTERS_PER_TOKEN
                self.estimate.answer_tokens += len(json.dumps(content)) // _CHARACTERS_PER_TOKEN
        return JudgeReply(content=content, day="")


def _made_up(question: str, schema: str) -> dict[str, Any]:
    match schema:
        case "parsed_report":
            sentences = [part for part in _SENTENCE_END.split(question) if part.strip()]
            return {"sentence_list": [{"orig": sentence, "new": [sentence]} for sentence in sentences]}
        case "kept_phrases":
            return {"phrases": json.loads(question)}
    return {"phrase": json.loads(question)["hypothesis"], "evidence": [], "status": "not_entailment"}
