"""The JSON that each of radfact-lite's questions asks for; a reply in another form is asked for again.

These are the engine's own response schemas as types: a test compares the two.
"""

import re
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict


class _Reply(BaseModel):
    model_config = ConfigDict(extra="forbid")


class SplitSentence(_Reply):
    orig: str
    new: list[str]


class ParsedReport(_Reply):
    sentence_list: list[SplitSentence]


class KeptPhrases(_Reply):
    phrases: list[str]


class EvidencedPhrase(_Reply):
    phrase: str
    evidence: list[str]
    status: Literal["entailment", "not_entailment"]


REPLIES: dict[str, type[_Reply]] = {
    "parsed_report": ParsedReport,
    "kept_phrases": KeptPhrases,
    "evidenced_phrase": EvidencedPhrase,
}


_FENCE = re.compile(r"(`{3,}|~{3,})[\w-]*")


def parse_reply(text: str | None, *, schema_name: str) -> dict[str, Any]:
    """The content of a reply, also of one in a Markdown code fence.

    Raises ValueError where it is not JSON in the form that was asked for.
    """
    return REPLIES[schema_name].model_validate_json(_without_fence(text or "")).model_dump()


def _without_fence(text: str) -> str:
    """What a code fence around the whole text holds. Text beside a fence stays: it might be a fence of the report's."""
    stripped = text.strip()
    opening = _FENCE.match(stripped)
    if opening and stripped.endswith(opening[1]) and len(stripped) >= opening.end() + len(opening[1]):
        return stripped[opening.end() : -len(opening[1])]
    return text
