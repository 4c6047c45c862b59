"""metrics.json: one model that writes, checks and reads it, and from which its JSON Schema is made."""

import json
import math
import os
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from pydantic import ValidationError

import podium.platform
from podium.errors import UsageError
from podium.platform.metrics_file import (
    SCHEMA_NAME,
    CaseResult,
    Counts,
    MetricsFile,
    metrics_schema,
    prepare_output,
    read_metrics,
    summarise_warnings,
    write_metrics,
)

SCHEMA_FILE = Path(podium.platform.__file__).with_name("metrics.schema.json")
VALIDATOR = Draft202012Validator(metrics_schema())


def metrics(**changes: Any) -> MetricsFile:
    results = [
        CaseResult(case="a", status="scored", metrics={"dice": 1.0, "voxels": 3}, warnings=("It is small.",)),
        CaseResult(case="b", status="missing", metrics={"dice": 0.0}, error="There is no prediction for this case."),
        CaseResult(case="c", status="failed", metrics={"dice": None, "by_step": [1, 2]}, error="It is broken."),
        CaseResult(case="d", status="partial", metrics={"dice": 0.5}, missing={"boxes": "There is no prediction."}),
    ]
    made = MetricsFile(
        schema=SCHEMA_NAME,
        challenge="carotid-final",
        kind="declared",
        title="CSV",
        version="1.0",
        settings={"tolerance_px": 3},
        aggregates={"score": 1.5, "cases": 3, "dice": {"mean": 0.5}},
        counts=Counts.of(results, unmatched=2),
        results=results,
    )
    return made.model_copy(update=changes)


def model_accepts(document: Any) -> bool:
    try:
        MetricsFile.model_validate_json(json.dumps(document))
    except ValidationError:
        return False
    return True


# Writing and reading


def test_counts_and_keys(tmp_path: Path) -> None:
    written = json.loads(write_metrics(metrics(), tmp_path).read_text())
    assert written["counts"] == {"expected": 4, "scored": 1, "partial": 1, "failed": 1, "missing": 1, "unmatched": 2}
    assert set(written) == {
        *("schema", "challenge", "kind", "title", "version", "settings", "aggregates", "results", "counts")
    }
    assert written["schema"] == "podium-metrics-3"
    assert (written["challenge"], written["kind"]) == ("carotid-final", "declared")
    assert set(written["results"][0]) == {"case", "status", "metrics", "warnings", "error"}
    assert written["results"][3] == {
        **{"case": "d", "status": "partial", "metrics": {"dice": 0.5}, "warnings": [], "error": None},
        "missing": {"boxes": "There is no prediction."},
    }


def test_what_is_written_is_read_back_to_the_last_digit(tmp_path: Path) -> None:
    made = metrics(provenance={"judge": {"model": "m"}}, aggregates={"third": 1 / 3, "whole": 2, "small": 5e-324})
    found = read_metrics(write_metrics(made, tmp_path))
    assert found.document() == made.document()
    assert isinstance(found.aggregates["whole"], int)
    assert isinstance(found.results[0].metrics["voxels"], int)


def test_every_case_is_one_line() -> None:
    rows = [CaseResult(case=name, status="scored", metrics={"dice": 1.0}) for name in ("a", "b c", '"results": []')]
    lines = metrics(results=rows, counts=Counts.of(rows, unmatched=0)).to_json().splitlines()
    first = lines.index('  "results": [') + 1
    assert [json.loads(line.removesuffix(","))["case"] for line in lines[first : first + 3]] == [
        row.case for row in rows
    ]


def test_written_twice_is_the_same_bytes_and_leaves_nothing_else(tmp_path: Path) -> None:
    written = set()
    for folder in (tmp_path / "one", tmp_path / "two"):
        prepare_output(folder)
        written.add(write_metrics(metrics(), folder).read_bytes())
        assert [path.name for path in folder.iterdir()] == ["metrics.json"]
    assert len(written) == 1


def test_sentences_are_printable_lines_of_limited_length() -> None:
    row = CaseResult(case="a", status="failed", metrics={}, warnings=("a\nb",), error="\x1b" + "x" * 5000)
    [written] = metrics(results=[row]).document()["results"]
    assert written["warnings"] == ["a\\nb"]
    assert written["error"].startswith("\\x1bxxx")
    assert len(written["error"]) < 1010


def test_another_file_is_refused_in_words(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    document = metrics().document()
    document["results"][1]["error"] = None
    path.write_text(json.dumps(document))
    with pytest.raises(UsageError) as refused:
        read_metrics(path)
    assert str(refused.value) == (
        f"{path} is not a metrics.json written by Podium ('results.1' is wrong: a missing case has an error)."
    )


# What is never written


@pytest.mark.parametrize(
    "changes",
    [
        {"aggregates": {}},
        {"aggregates": {"score": None}},
        {"aggregates": {"a.b": 1.0}},
        {"aggregates": {"score": "high"}},
        {"aggregates": {"score": [1.0]}},
        {"aggregates": {"score": True}},
        {"aggregates": {"inner": {"score": math.nan}}},
        {"challenge": ""},
        {"kind": None},
        {"results": [CaseResult(case="a", status="scored", metrics={}).model_copy(update={"error": "but scored"})]},
        {"results": [CaseResult(case="a", status="scored", metrics={"dice": math.nan})]},
        {"results": [CaseResult(case="a", status="scored", metrics={"dice": [math.inf]})]},
        {"settings": {"limit": -math.inf}},
    ],
)
@pytest.mark.filterwarnings("ignore:Pydantic serializer warnings")
def test_what_readers_would_refuse_is_never_written(changes: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"MetricsFile|JSON compliant"):
        write_metrics(metrics(**changes), tmp_path)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("status", "error"), [("scored", "but"), ("partial", "but"), ("failed", None), ("missing", "")]
)
def test_a_row_has_an_error_exactly_when_it_has_no_answers(status: Any, error: str | None) -> None:
    with pytest.raises(ValidationError, match=f"{status} case has "):
        CaseResult(case="a", status=status, metrics={}, error=error)


@pytest.mark.parametrize(("status", "error", "missing"), [("partial", None, {}), ("failed", "why", {"boxes": "why"})])
def test_a_partial_row_and_no_other_has_missing_values(status: Any, error: str | None, missing: dict[str, str]) -> None:
    with pytest.raises(ValidationError, match="a partial case, and no other, has missing values"):
        CaseResult(case="a", status=status, metrics={}, error=error, missing=missing)


# The schema


def test_the_shipped_schema_is_the_models() -> None:
    Draft202012Validator.check_schema(metrics_schema())
    assert json.loads(SCHEMA_FILE.read_text("utf-8")) == metrics_schema(), (
        "python -m podium.platform.metrics_file > podium/platform/metrics.schema.json"
    )


FINITE = st.one_of(st.integers(-9, 9), st.floats(allow_nan=False, allow_infinity=False))
ANYTHING = st.one_of(
    st.none(),
    st.booleans(),
    st.sampled_from(["", "scored", "partial", "failed", "missing", "podium-metrics-3", "carotid", "3"]),
    st.integers(-3, 3),
    st.sampled_from([-0.5, 2.5]),  # 3.0 and 1e300 are integers to JSON Schema and not to the model; Podium writes 3
    st.just([]),
    st.just({}),
    st.just([1]),
    st.just({"a": None}),
    st.just({"a": {"b": 1}}),
)
KEYS = st.sampled_from(["dice", "a.b", "a b", "", "error", "missing", "kind", "Ä", "x-1_Y"])
AGGREGATES = st.recursive(FINITE, lambda inner: st.dictionaries(st.sampled_from(["a", "b_c", "D-1"]), inner))


def places(value: Any) -> list[tuple[Any, Any]]:
    """Every container of a document with each of its keys."""
    keys: Any = ()
    if isinstance(value, dict):
        keys = list(value)
    elif isinstance(value, list):
        keys = range(len(value))
    return [(value, key) for key in keys] + [place for key in keys for place in places(value[key])]


@given(aggregates=AGGREGATES.filter(lambda found: isinstance(found, dict) and found))
def test_schema_and_model_accept_whatever_finite_aggregates(aggregates: Any) -> None:
    document = json.loads(metrics(aggregates=aggregates).to_json())
    assert VALIDATOR.is_valid(document)
    assert MetricsFile.model_validate_json(json.dumps(document)).aggregates == aggregates


@given(data=st.data())
def test_schema_and_model_agree_on_mutated_documents(data: st.DataObject) -> None:
    document = deepcopy(DOCUMENT)
    for _ in range(data.draw(st.integers(1, 2))):
        container, key = data.draw(st.sampled_from(places(document)))
        match data.draw(st.sampled_from(["replace", "delete", "add", "rename"])):
            case "replace":
                container[key] = deepcopy(data.draw(ANYTHING))  # mutated later, and shared by all examples
            case "delete":
                del container[key]
            case "add" if isinstance(container, dict):
                container[data.draw(KEYS)] = deepcopy(data.draw(ANYTHING))
            case "rename" if isinstance(container, dict):
                container[data.draw(KEYS)] = container.pop(key)
        if not document:
            break
    assert VALIDATOR.is_valid(document) == model_accepts(document)


DOCUMENT = json.loads(metrics(provenance={"judge": {"model": "m"}}).to_json())


def test_a_disk_that_is_full_leaves_no_file(tmp_path: Path) -> None:
    (tmp_path / f".metrics.json.{os.uname().nodename[:50]}.{os.getpid()}").symlink_to("/dev/full")
    with pytest.raises(UsageError, match=r"^metrics\.json cannot be written: No space left on device\.$"):
        write_metrics(metrics(), tmp_path)
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(UsageError, match=r"^metrics\.json cannot be written: No such file or directory\.$"):
        write_metrics(metrics(), tmp_path / "gone")


# The summary of all rows' warnings.


SLICES = "has {} slices, not the image's 7."


@pytest.mark.parametrize(
    ("warnings", "lines"),
    [
        (
            [["steps 6-7 missing"], ["step 7 missing", "It is empty."], ["steps 6-7 missing"], []],
            ["in 2 of 4 cases: steps 6-7 missing", "in 1 of 4 cases: step 7 missing", "in 1 of 4 cases: It is empty."],
        ),
        (  # names and numbers of files make no difference
            [
                [f"step 1: 'a/1.mha' {SLICES.format(6)}", f"step 2: 'a/2.mha' {SLICES.format(6)}"],
                [f"step 1: 'it's b\n.mha' {SLICES.format(5)}"],
                ["'c.mha' is off by 12.5 mm.", "'d.mha' is off by -3 mm.", "'e.mha' is off by 1e-05 mm."],
            ],
            [
                f"in 2 of 3 cases, such as: step 1: 'a/1.mha' {SLICES.format(6)}",
                "in 1 of 3 cases, such as: 'c.mha' is off by 12.5 mm.",
            ],
        ),
        ([["'a\nb' is odd."]], ["in 1 of 1 cases: 'a\\nb' is odd."]),
        ([[], []], []),
    ],
)
def test_warnings_of_one_kind_are_counted(warnings: list[list[str]], lines: list[str]) -> None:
    assert summarise_warnings({str(case): given for case, given in enumerate(warnings)}) == lines
