"""metrics.json: schema-checked, finite, sorted, atomic."""

import json
import math
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator, ValidationError

from podium.platform.metrics_file import metrics_document, metrics_schema, prepare_output, write_metrics
from podium.platform.results import CaseResult, Evaluation


def document() -> dict[str, Any]:
    results = [
        CaseResult(case="a", status="scored", metrics={"dice": 1.0}),
        CaseResult(case="b", status="missing", metrics={"dice": 0.0}, error="There is no prediction for this case."),
        CaseResult(case="c", status="failed", metrics={"dice": None}, error="It is broken."),
    ]
    evaluation = Evaluation(
        challenge="carotid",
        title="CSV",
        version="1.0",
        settings={"tolerance_px": 3},
        aggregates={"score": 1.5, "dice": {"mean": 0.5}},
        results=results,
        unmatched=2,
    )
    return metrics_document(evaluation, rows=results)


def test_counts(tmp_path: Path) -> None:
    write_metrics(document(), tmp_path)
    written = json.loads((tmp_path / "metrics.json").read_text())
    assert written["counts"] == {"expected": 3, "scored": 1, "failed": 1, "missing": 1, "unmatched": 2}
    assert set(written) == {"schema", "challenge", "title", "version", "settings", "aggregates", "results", "counts"}


def test_the_shipped_schema_is_a_schema() -> None:
    Draft202012Validator.check_schema(metrics_schema())


def test_written_twice_is_the_same_bytes_and_leaves_nothing_else(tmp_path: Path) -> None:
    for folder in ("one", "two"):
        prepare_output(tmp_path / folder)
    first = write_metrics(document(), tmp_path / "one").read_bytes()
    second = write_metrics(document(), tmp_path / "two").read_bytes()
    assert first == second
    assert [path.name for path in (tmp_path / "one").iterdir()] == ["metrics.json"]


@pytest.mark.parametrize(
    "spoil",
    [
        lambda found: found["aggregates"].update(score=None),
        lambda found: found["aggregates"].update({"a.b": 1.0}),
        lambda found: found["aggregates"].update(score="high"),
        lambda found: found["aggregates"].update(score=[1.0]),
        lambda found: found["results"][0].update(error="but it was scored"),
        lambda found: found["results"][1].update(error=None),
        lambda found: found["results"][0].update(extra=1),
        lambda found: found["counts"].update(expected=-1),
        lambda found: found.pop("version"),
    ],
)
def test_what_breaks_the_schema_is_never_written(spoil: Any, tmp_path: Path) -> None:
    found = document()
    spoil(found)
    with pytest.raises(ValidationError):
        write_metrics(found, tmp_path)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_no_figure_is_ever_nan_or_infinite(value: float, tmp_path: Path) -> None:
    found = document()
    found["results"][0]["metrics"]["dice"] = value
    with pytest.raises(ValueError, match="JSON compliant"):
        write_metrics(found, tmp_path)
    assert not list(tmp_path.iterdir())
