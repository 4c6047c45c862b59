"""What participants and organisers get nearly right: one hint for every cause, and no more lost than what is wrong."""

import io
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import SimpleITK
from challenges.declared.declaring import (
    errors,
    metric,
    metrics,
    score,
    value,
    write_challenge,
    write_file,
    write_predictions,
)
from evaluating import evaluate, evaluate_command

from podium.challenges import load_challenge
from podium.challenges.declared.settings import DeclaredTables
from podium.checking import check
from podium.cli.main import main
from podium.evaluation import find_challenge, prepare
from podium.execution.executor import Serial
from podium.readers.files import list_files
from podium.readers.formats import format_of
from podium.validation import make_manifest, validate

pytestmark = pytest.mark.usefixtures("in_process")

MASK_VALUE = value("mask", "labels", file="{case}.nii.gz", reference="{case}.nii.gz", labels={"organ": 1})
AGE_VALUE = value("age", "number", range=[0, 100], table="p.csv", column="age")
MASK = MASK_VALUE + metrics("dice")
BOTH = MASK_VALUE + AGE_VALUE + metrics("dice")
AGE_FIRST = AGE_VALUE + MASK
AGES = AGE_VALUE + value("weight", "number", range=[0, 100], table="p.csv", column="weight")
AGES += metric("mae") + metric("rmse", of="age") + metrics(by="mae.age")
CASES = ("case0", "case1", "case2")


def image() -> Any:
    labels = np.zeros((4, 5, 6), np.uint8)
    labels[1:3, 1:3, 1:3] = 1
    return labels


def zipped(**files: bytes) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in files.items():
            archive.writestr(name.replace("_", "."), content)
    return buffer.getvalue()


NEAR: dict[str, tuple[dict[str, Any], str]] = {
    "ending": ({f"{case}.mha": image() for case in CASES}, "it differs from 'case0.nii.gz' in the ending"),
    "letter case": (
        {f"{case.upper()}.nii.gz": image() for case in CASES},
        "it differs from 'case0.nii.gz' in upper and lower case",
    ),
    "suffix": (
        {f"{case}_pred.nii.gz": image() for case in CASES},
        "it differs from 'case0.nii.gz' in what follows the case",
    ),
    "archive": (
        {"all.zip": zipped(a_zip=zipped(case0_nii_gz=b""), b_zip=zipped(), c_zip=zipped())},
        "an archive inside the submission is not opened: put its files there instead",
    ),
    "other archive": ({"a.7z": b"", "b.rar": b"", "c.tar.xz": b""}, "pack the submission as .zip or .tar.gz"),
}


@pytest.mark.parametrize("cause", NEAR)
def test_a_near_miss_has_one_hint_for_its_cause(tmp_path: Path, cause: str, caplog: pytest.LogCaptureFixture) -> None:
    files, hint = NEAR[cause]
    truth = write_challenge(tmp_path / "challenge", MASK, {f"{case}.nii.gz": image() for case in CASES})
    with caplog.at_level("INFO", logger="podium"):
        assert evaluate_command(write_predictions(tmp_path / "team", files), truth, tmp_path / "out") == 1
    lines = [line for line in caplog.messages if line.startswith("unmatched:")]
    assert len(lines) == 3
    assert [hint in line for line in lines].count(True) == 1


@pytest.mark.parametrize("toml", [BOTH, AGE_FIRST], ids=["mask first", "table first"])
@pytest.mark.parametrize("cause", NEAR)
def test_the_log_has_the_hint_where_another_value_is_right(
    tmp_path: Path, cause: str, toml: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """What all cases lack is one line, and the other value is scored."""
    files, hint = NEAR[cause]
    table = {"p.csv": "\n".join(["case,age", *(f"{case},1" for case in CASES)])}
    truth = write_challenge(tmp_path / "challenge", toml, table | {f"{case}.nii.gz": image() for case in CASES})
    assert evaluate_command(write_predictions(tmp_path / "team", table | files), truth, tmp_path / "out") == 0
    printed = capsys.readouterr().out
    assert hint in printed
    assert [line for line in printed.splitlines() if line.startswith("partial:")] == [
        "partial: case0 and 2 more: There is no prediction of the value 'mask'; expected in <case>.nii.gz."
    ]


@pytest.mark.parametrize("toml", [BOTH, AGE_FIRST], ids=["mask first", "table first"])
def test_a_row_of_no_case_is_unmatched_although_other_values_are_files(tmp_path: Path, toml: str) -> None:
    references = {f"{case}.nii.gz": image() for case in CASES[:2]} | {"p.csv": "case,age\ncase0,1\ncase1,1"}
    rows = {"p.csv": "case,age\nCASE0,1\ncase1,1"}
    truth = write_challenge(tmp_path / "challenge", toml + metric("mae"), references)
    team = write_predictions(tmp_path / "team", references | rows)
    assert evaluate(team, truth, tmp_path / "out")["counts"]["unmatched"] == 1
    folder = find_challenge(truth, None)
    manifest = make_manifest(prepare(folder, load_challenge(folder), Serial()))
    report = validate(team, cases=manifest, executor=Serial())
    assert [(each.where, each.what) for each in report.problems] == [
        ("case0", "There is no prediction of the value 'age'; expected in p.csv."),
        (
            "p.csv: CASE0",
            "belongs to no case: it is not an expected case; it differs from 'case0' in upper and lower case.",
        ),
    ]


def ages(**cells: str) -> dict[str, str]:
    return {
        "p.csv": "\n".join([cells.pop("header", "case,age,weight"), *(f"{case},{row}" for case, row in cells.items())])
    }


TRUTH = ages(case0="10,20", case1="30,40")


def test_a_file_name_in_the_column_of_cases_is_the_case(tmp_path: Path) -> None:
    found = score(tmp_path, AGES, TRUTH, {"p.csv": "case,age,weight\ncase0.nii.gz,10,20\ncase1.nii.gz,30,40"})
    assert found["counts"]["scored"] == 2


def test_upper_and_lower_case_in_a_table_has_a_hint(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level("INFO", logger="podium"):
        score(tmp_path, AGES, TRUTH, {"p.csv": "case,age,weight\nCASE0,10,20\ncase1,30,40"})
    assert any("it differs from 'case0' in upper and lower case" in line for line in caplog.messages)


def test_a_wrong_name_of_the_column_of_cases_says_what_to_rename(tmp_path: Path) -> None:
    truth = write_challenge(tmp_path / "challenge", AGES, TRUTH)
    team = write_predictions(tmp_path / "team", ages(header="Case,age,weight", case0="10,20"))
    with pytest.raises(Exception, match="Rename the column 'Case' to 'case'"):
        validate(team, ground_truth=truth, challenge="challenge", executor=Serial())


def test_a_wrong_name_of_a_column_costs_its_value_alone(tmp_path: Path) -> None:
    found = score(tmp_path, AGES, TRUTH, ages(header="case,age,wieght", case0="11,20", case1="30,40"))
    assert found["counts"]["partial"] == 2
    figures = found["aggregates"]["mae"]
    assert figures["age"]["mean"] == 0.5
    assert figures["weight"]["mean"] == 70  # (80 + 60) / 2: the worst within the range
    assert found["results"]["case0"]["missing"] == {
        "weight": "'p.csv' has no column 'weight'; it has 'case', 'age' and 'wieght'. Rename the column 'wieght' to "
        "'weight'."
    }


def test_without_any_value_the_case_fails(tmp_path: Path) -> None:
    truth = write_challenge(tmp_path / "challenge", AGES, TRUTH)
    team = write_predictions(tmp_path / "team", ages(header="case,a,b", case0="11,20", case1="30,40"))
    report = validate(team, ground_truth=truth, challenge="challenge", executor=Serial())
    assert [(problem.where, problem.what.partition(";")[0]) for problem in report.problems] == [
        ("case0", "'p.csv' has no column 'age'"),
        ("case1", "'p.csv' has no column 'age'"),
    ]


def test_a_wrong_name_of_a_column_is_said_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    """Whether it costs a value or every case."""
    truth = write_challenge(tmp_path / "challenge", AGES, TRUTH)
    for code, header in enumerate(("case,age,wieght", "case,aeg,wieght")):
        caplog.clear()
        team = write_predictions(tmp_path / "team", ages(header=header, case0="11,20", case1="30,40"))
        with caplog.at_level("INFO", logger="podium"):
            assert evaluate_command(team, truth, tmp_path / "out") == code
        assert len([line for line in caplog.messages if "Rename the column" in line]) == 1
    assert main(["validate", str(team), "--ground-truth", str(truth), "--challenge", "challenge"]) == 1
    printed = capfd.readouterr()
    assert "case0 and 1 more" in printed.out
    assert printed.err.splitlines()[-1].startswith("Found 1 problem; fix it")


def test_ignore_case_joins_files_and_tables(tmp_path: Path) -> None:
    toml = "[cases]\nignore_case = true\n" + BOTH + metric("mae")
    references = {"Case0.nii.gz": image(), "p.csv": "case,age\ncase0,3"}
    found = score(tmp_path, toml, references, {"CASE0.nii.gz": image(), "p.csv": "case,age\ncAse0,4"})
    assert found["counts"]["expected"] == found["counts"]["scored"] == 1
    assert found["aggregates"]["mae"]["mean"] == 1


# Messages.


def test_a_missing_value_of_a_table_is_said_in_plain_words(tmp_path: Path) -> None:
    toml = BOTH + metric("mae")
    references = {f"{case}.nii.gz": image() for case in CASES} | {"p.csv": "case,age\ncase0,1\ncase1,1\ncase2,1"}
    found = score(
        tmp_path, toml, references, {f"{case}.nii.gz": image() for case in CASES} | {"p.csv": "case,age\ncase1,1"}
    )
    why = "There is no prediction of the value 'age'; expected in p.csv."
    assert found["results"]["case0"]["missing"] == {"age": why}


def test_a_table_of_references_is_named_where_it_is_wrong(tmp_path: Path) -> None:
    toml = BOTH + metric("mae")
    references = {"a.nii.gz": image(), "p.csv": b"case,age\na,\xff\n"}
    assert errors(tmp_path, toml, references=references)[0] == (
        "references/p.csv ('p.csv' is not UTF-8 text; save it as UTF-8): A table of references cannot be read."
    )
    found = errors(tmp_path / "other", toml, references={"a.nii.gz": image(), "p.csv": "case,age\na,x\n"})
    assert found == ["a: 'p.csv', line 2: 'age' holds 'x', which is not a number."]


def test_an_empty_file_is_empty(tmp_path: Path) -> None:
    (tmp_path / "a.nii.gz").write_bytes(b"")
    (file,) = list_files(tmp_path).files
    with pytest.raises(Exception, match=r"'a\.nii\.gz' is empty; send "):
        format_of(file)


# What `podium check` finds.


@pytest.mark.parametrize(
    ("socket", "like"),
    [("Organ Segmentation", "organ-segmentation"), ("images/organ", "images-organ"), ("organ.json", "organ-json")],
)
def test_sockets_are_slugs(socket: str, like: str) -> None:
    tables = {
        "values": {"a": {"kind": "text", "socket": socket, "reference": "{case}.txt"}},
        "metrics": [{"kind": "bleu_4"}],
        "ranking": {"by": "bleu_4"},
    }
    (problem, *_) = DeclaredTables.read(tables)[1]
    assert str(problem) == (
        "'values.a.socket' is wrong: a socket goes by its slug, of lower-case letters, digits and hyphens, such as "
        f"'{like}'"
    )


def test_touching_findings_of_different_labels_are_doubtful(tmp_path: Path) -> None:
    apart, touching = np.zeros((4, 9, 9), np.uint8), np.zeros((4, 9, 9), np.uint8)
    apart[1, 1:3, 1:3], apart[1, 6:8, 6:8] = 1, 2
    touching[1, 1:3, 1:3], touching[1, 3:5, 1:3] = 1, 2
    toml = value("spots", "detection_map", file="{case}.nii.gz", reference="{case}.nii.gz") + metrics("ap")
    folder = write_challenge(tmp_path / "c", toml, {"a.nii.gz": apart, "b.nii.gz": touching}, spacing=(2, 1, 1))
    warnings = check("c", folder, images=None, executor=Serial()).warnings
    assert [line for line in warnings if "touch" in line] == [
        "b: Findings of 'spots' with different labels touch: voxels that touch are one finding."
    ]


def test_the_direction_of_images_is_compared_with_the_references(tmp_path: Path) -> None:
    folder = write_challenge(tmp_path / "c", MASK, {"a.nii.gz": image(), "b.nii.gz": image()}, spacing=(2, 1, 1))
    for case in "ab":
        write_file(tmp_path / "images" / f"{case}.nii.gz", image(), spacing=(2, 1, 1))
    turned = SimpleITK.ReadImage(str(tmp_path / "images" / "b.nii.gz"))
    turned.SetDirection((-1, 0, 0, 0, -1, 0, 0, 0, 1))
    SimpleITK.WriteImage(turned, str(tmp_path / "images" / "b.nii.gz"))
    warnings = check("c", folder, images=tmp_path / "images", executor=Serial()).warnings
    assert [line for line in warnings if "direction" in line] == [
        "b: The direction of an image and of the reference differ: one of them may be flipped, rotated or in another "
        "space."
    ]
