"""metrics.json: built, checked against its own schema, and written in one step."""

import json
import os
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from podium.errors import UsageError
from podium.platform.results import Evaluation
from podium.readers.names import escape_for_display

SCHEMA_NAME = "podium-metrics-1"
METRICS_FILE = "metrics.json"
_LONGEST_SENTENCE = 1000  # messages quote what was submitted, which may be as long as its author likes


def metrics_document(evaluation: Evaluation, *, rows: list[Any]) -> dict[str, Any]:
    """The content of metrics.json; `rows` are the results as published, the counts those of all cases."""
    return {
        "schema": SCHEMA_NAME,
        "challenge": evaluation.challenge,
        "title": evaluation.title,
        "version": evaluation.version,
        "settings": evaluation.settings,
        "aggregates": evaluation.aggregates,
        "counts": evaluation.counts(),
        "results": [
            {
                "case": row.case,
                "status": row.status,
                "metrics": row.metrics,
                "warnings": [escape_for_display(warning, longest=_LONGEST_SENTENCE) for warning in row.warnings],
                "error": None if row.error is None else escape_for_display(row.error, longest=_LONGEST_SENTENCE),
            }
            for row in rows
        ],
    }


def prepare_output(output: Path) -> None:
    """Make the folder and drop an older metrics.json, which must not pass for this run's; better to fail now than
    after an hour of scoring."""
    try:
        output.mkdir(parents=True, exist_ok=True)
        (output / METRICS_FILE).unlink(missing_ok=True)
        probe = output / f".{METRICS_FILE}.{os.getpid()}"
        probe.touch()
        probe.unlink()
    except OSError as error:
        raise UsageError(f"The output folder cannot be written to: {error.strerror}.", detail=str(output)) from None


def write_metrics(document: dict[str, Any], output: Path) -> Path:
    """Write metrics.json atomically: whoever looks finds the old file, no file, or the whole new one."""
    check_against_schema(document)
    text = json.dumps(document, indent=2, sort_keys=True, allow_nan=False, ensure_ascii=False) + "\n"
    target = output / METRICS_FILE
    temporary = output / f".{METRICS_FILE}.{os.getpid()}"
    try:
        with temporary.open("w", encoding="utf-8") as stream:
            stream.write(text)
            stream.flush()
            os.fsync(stream.fileno())
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)
    return target


def check_against_schema(document: dict[str, Any]) -> None:
    """Raises jsonschema.ValidationError where the document breaks the shipped schema."""
    _validator().validate(document)


def metrics_schema() -> dict[str, Any]:
    """The JSON Schema of metrics.json that is shipped with the package."""
    schema: dict[str, Any] = json.loads(files("podium.platform").joinpath("metrics.schema.json").read_text("utf-8"))
    return schema


@cache
def _validator() -> Any:
    from jsonschema import Draft202012Validator

    return Draft202012Validator(metrics_schema())
