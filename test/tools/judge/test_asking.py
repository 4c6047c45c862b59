"""The cache of answers, its key, and the form of replies."""

import sqlite3
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from podium.errors import UsageError
from podium.tools.judge.asking import AnswerCache, JudgeReply
from podium.tools.judge.server import REPLIES, parse_reply

MESSAGES = [SimpleNamespace(role="system", content="Split."), SimpleNamespace(role="user", content="Caries.")]
FORMAT = {"json_schema": {"name": "parsed_report", "schema": {"type": "object"}}}
ANSWER = JudgeReply(content={"sentence_list": ["è"]}, day="2026-06-12")


def open_cache(path: Path, *, model: str = "m", engine_version: str = "0.2.0") -> AnswerCache:
    return AnswerCache(path / "answers.sqlite", model=model, engine_version=engine_version)


def test_an_answer_survives_and_the_first_one_stays(tmp_path: Path) -> None:
    cache = open_cache(tmp_path)
    key = cache.key(MESSAGES, FORMAT)
    assert cache.get(key) is None
    cache.put(key, ANSWER)
    cache.put(key, JudgeReply(content={}, day="2027-01-01"))
    cache.close()
    again = open_cache(tmp_path)
    assert again.get(again.key(MESSAGES, FORMAT)) == ANSWER
    again.close()


def test_the_key_covers_model_prompt_text_schema_and_engine(tmp_path: Path) -> None:
    cache = open_cache(tmp_path)
    others = [open_cache(tmp_path, model="n"), open_cache(tmp_path, engine_version="0.1.0")]
    keys = {cache.key(MESSAGES, FORMAT), *(other.key(MESSAGES, FORMAT) for other in others)}
    keys.add(cache.key([SimpleNamespace(role="system", content="Split!"), MESSAGES[1]], FORMAT))
    keys.add(cache.key([MESSAGES[0], SimpleNamespace(role="user", content="Caries")], FORMAT))
    keys.add(cache.key([MESSAGES[0], SimpleNamespace(role="assistant", content="Caries.")], FORMAT))
    keys.add(cache.key(MESSAGES, {"json_schema": {"name": "parsed_report", "schema": {}}}))
    assert len(keys) == 7
    for each in (cache, *others):
        each.close()


def test_a_file_that_is_no_cache_is_named(tmp_path: Path) -> None:
    (tmp_path / "answers.sqlite").write_text("this is a text file, and longer than a header" * 40)
    with pytest.raises(UsageError, match=r"answers\.sqlite cannot be used: file is not a database\."):
        open_cache(tmp_path)


def test_two_processes_may_share_it(tmp_path: Path) -> None:
    cache = open_cache(tmp_path)
    other = sqlite3.connect(tmp_path / "answers.sqlite")
    other.execute("INSERT INTO answers VALUES ('k', '{}', '2026-01-01')")
    other.commit()
    other.close()
    assert cache.get("k") == JudgeReply(content={}, day="2026-01-01")
    cache.close()


def test_replies_are_checked_against_the_schemas_of_the_engine() -> None:
    from radfact_lite import entailment, finding_filter, phrase_parser

    for theirs in (phrase_parser._PARSE_SCHEMA, finding_filter._FILTER_SCHEMA, entailment._ENTAILMENT_SCHEMA):
        schema = theirs["json_schema"]
        assert plain(REPLIES[schema["name"]].model_json_schema()) == schema["schema"]


def plain(schema: Any, definitions: Any = None) -> Any:
    """A JSON Schema without titles, its references resolved."""
    if isinstance(schema, list):
        return [plain(each, definitions) for each in schema]
    if not isinstance(schema, dict):
        return schema
    definitions = definitions or schema.get("$defs", {})
    if "$ref" in schema:
        return plain(definitions[schema["$ref"].rsplit("/", 1)[1]], definitions)
    return {key: plain(value, definitions) for key, value in schema.items() if key not in ("title", "$defs")}


@pytest.mark.parametrize("fence", ["```json\n{}\n```", "```\n{}\n```\n", "~~~~JSON\n{}~~~~", " ```json {} ``` ", "{}"])
def test_replies_may_be_in_code_fences(fence: str) -> None:
    text = fence.replace("{}", '{"phrases": ["One ```x``` two."]}')
    assert parse_reply(text, schema_name="kept_phrases") == {"phrases": ["One ```x``` two."]}


FENCED_WRONGLY = (
    "```",
    "```json",
    "``````",
    '```json\n{"phrases": []}',
    'The report says:\n```json\n{"phrases": []}\n```',
    '```json\n{"phrases": []}\n```\nand\n```json\n{"phrases": ["x"]}\n```',
)


@pytest.mark.parametrize(
    "text",
    [
        None,
        "",
        "no JSON",
        "[]",
        '{"phrases": [1]}',
        '{"phrases": [], "more": 1}',
        '{"phrases": ["\\ud800"]}',
        *FENCED_WRONGLY,
    ],
)
def test_replies_in_another_form_are_refused(text: str | None) -> None:
    with pytest.raises(ValueError, match="validation error"):
        parse_reply(text, schema_name="kept_phrases")
