"""`podium new --from-kit`, on starter kits that the platform's own package generates."""

import json
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
from platform_files import interface, make_kit

from podium.challenges import load_file
from podium.challenges.settings import ChallengeFile
from podium.cli import main

CT = {"slug": "ct", "kind": "Image", "super_kind": "Image", "relative_path": "images/ct"}
MR = {"slug": "mr", "kind": "Image", "super_kind": "Image", "relative_path": "images/mr"}
AGE = {"slug": "age", "kind": "Integer", "super_kind": "Value", "relative_path": "age.json"}
READ = {
    "Segmentation": "labels",
    "Image": "image",
    "Heat Map": "image",
    "Integer": "number",
    "Float": "number",
    "String": "class",
    "Bool": "class",
    "Choice": "class",
    "Point": "points",
    "Multiple points": "points",
    "2D bounding box": "boxes",
    "Multiple 2D bounding boxes": "boxes",
}
NOT_READ = [
    *("Chart", "Distance measurement", "Multiple distance measurements", "Polygon", "Multiple polygons", "Line"),
    *("Multiple lines", "Angle", "Multiple angles", "Ellipse", "Multiple ellipses", "Three-point angle"),
    *("Multiple three-point angles", "Affine transform registration", "Multiple choice", "DICOM Image Set"),
    *("PDF file", "SQREG file", "Thumbnail jpg", "Thumbnail png", "OBJ file", "MP4 file", "CSV file", "ZIP file"),
    *("Newick tree-format file", "BIOM format"),
]
IMAGES = {"Segmentation", "Image", "Heat Map", "DICOM Image Set"}
FILES = {kind for kind in NOT_READ if "file" in kind or "Thumbnail" in kind or kind == "BIOM format"}


def output(kind: str, slug: str = "answer", **more: Any) -> dict[str, Any]:
    if kind in IMAGES:
        place = {"super_kind": "Image", "relative_path": f"images/{slug}"}
    elif kind in FILES:
        place = {"super_kind": "File", "relative_path": f"{slug}.bin"}
    else:
        place = {"super_kind": "Value", "relative_path": f"{slug}.json"}
    return {"slug": slug, "kind": kind, **place, **more}


def new(kit: Path, folder: Path, *more: str) -> Path:
    assert main(["new", "mine", "--from-kit", str(kit), "--output", str(folder), *more]) == 0
    return folder / "mine/challenge.toml"


def missing(file: Path) -> set[str]:
    """The keys that `podium check` calls missing; it finds nothing else wrong."""
    problems = load_file("mine", ChallengeFile(file)).problems
    assert all(problem.words.startswith("is missing") for problem in problems), problems
    return {problem.place for problem in problems}


@pytest.mark.parametrize(("kind", "expected"), READ.items())
def test_an_output_becomes_a_value_of_the_likely_kind(kind: str, expected: str, tmp_path: Path) -> None:
    file = new(make_kit(tmp_path / "kit.zip", interface([AGE, CT], output(kind))), tmp_path)
    content = tomllib.loads(file.read_text())
    assert content["cases"]["input"] == "ct"
    assert (content["values"]["answer"]["kind"], content["values"]["answer"]["socket"]) == (expected, "answer")
    own = {"labels": "labels", "class": "classes", "points": "unit", "boxes": "unit"}.get(expected)
    assert missing(file) == {"metrics", "ranking", *([f"values.answer.{own}"] if own else [])}
    assert own is None or re.search(rf"^# {own} = ", file.read_text(), re.MULTILINE)


@pytest.mark.parametrize("kind", NOT_READ)
def test_an_output_that_no_value_can_read_is_named(
    kind: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    file = new(make_kit(tmp_path / "kit.zip", interface([CT], output(kind, "film"), output("Float", "risk"))), tmp_path)
    assert f"No kind of value reads the output 'film' ({kind}): it is left out." in capfd.readouterr().err
    assert f"'film' ({kind})" in file.read_text()
    assert [*tomllib.loads(file.read_text())["values"]] == ["risk"]


def test_a_string_with_a_long_example_is_a_text(tmp_path: Path) -> None:
    report = "There is a periapical lesion at tooth 36, and the mandibular canal is intact on both sides."
    file = new(make_kit(tmp_path / "kit.zip", interface([CT], output("String", example_value=report))), tmp_path)
    assert tomllib.loads(file.read_text())["values"]["answer"]["kind"] == "text"


def test_of_an_output_of_any_json_the_kind_is_left_to_the_organiser(tmp_path: Path) -> None:
    file = new(make_kit(tmp_path / "kit.zip", interface([CT], output("Anything"))), tmp_path)
    assert '# kind = "number"   # or class, ' in file.read_text()
    assert "values.answer.kind" in missing(file)


def test_metrics_and_ranking_are_comments_until_they_are_chosen(tmp_path: Path) -> None:
    file = new(make_kit(tmp_path / "kit.zip", interface([CT], output("Float", "risk"))), tmp_path)
    assert missing(file) == {"metrics", "ranking"}
    text = file.read_text() + '[[metrics]]\nkind = "mae"\nfailed = 1\n[ranking]\nby = "mae.mean"\n'
    file.write_text(text)
    assert load_file("mine", ChallengeFile(file)).problems == []


def test_a_folder_with_flags_instead_of_kinds_is_read_too(tmp_path: Path) -> None:
    """The spelling of the kits of 2026."""
    folder = tmp_path / "kit/final/example_evaluation_method/test/input"
    folder.mkdir(parents=True)

    def entry(slug: str, path: str, flag: str) -> dict[str, Any]:
        return {"socket": {"slug": slug, "relative_path": path, flag: True}, "file": {"name": "x"}, "value": None}

    outputs = [
        entry("mask", "images/mask", "is_image_kind"),
        entry("risk", "risk.json", "is_json_kind"),
        entry("film", "film.mp4", "is_file_kind"),
    ]
    job = {"pk": "1", "inputs": [entry("ct", "images/ct", "is_image_kind")], "outputs": outputs}
    (folder / "predictions.json").write_text(json.dumps([job]))
    file = new(tmp_path / "kit", tmp_path)
    assert tomllib.loads(file.read_text())["cases"]["input"] == "ct"
    assert {"values.mask.kind", "values.risk.kind"} < missing(file)
    assert '# kind = "labels"   # or ' in file.read_text()
    assert "'film' (file)" in file.read_text()


def test_interfaces_that_share_an_image_name_the_case_by_it(tmp_path: Path) -> None:
    kit = make_kit(
        tmp_path / "kit.zip",
        interface([MR, CT], output("Float", "risk"), output("Segmentation")),
        interface([CT], output("Float", "risk")),
    )
    text = new(kit, tmp_path).read_text()
    content = tomllib.loads(text)
    assert (content["cases"]["input"], {*content["values"]}) == ("ct", {"risk", "answer"})
    assert {name: value.get("expected") for name, value in content["values"].items()} == {
        "risk": None,
        "answer": "where_referenced",
    }


def test_interfaces_without_a_common_image_name_one_each(tmp_path: Path) -> None:
    risk = output("Float", "risk")
    kit = make_kit(tmp_path / "kit.zip", interface([CT, AGE], risk), interface([MR], risk))
    file = new(kit, tmp_path)
    assert tomllib.loads(file.read_text())["cases"]["input"] == ["ct", "mr"]
    assert missing(file) == {"metrics", "ranking"}


def test_inputs_without_a_name_leave_the_case_to_the_organiser(tmp_path: Path) -> None:
    file = new(make_kit(tmp_path / "kit.zip", interface([AGE], output("Float", "risk"))), tmp_path)
    assert '# input = "..."' in file.read_text()
    file.write_text(file.read_text() + '[[metrics]]\nkind = "mae"\nfailed = 1\n[ranking]\nby = "mae.mean"\n')
    assert missing(file) == {"cases.input"}


def test_of_several_phases_one_is_chosen(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    kit = make_kit(tmp_path / "kit.zip", interface([CT], output("Float", "risk")), phases=("debug", "final"))
    assert main(["new", "mine", "--from-kit", str(kit), "--output", str(tmp_path)]) == 2
    assert "choose one with --phase: debug, final." in capfd.readouterr().err
    assert main(["new", "mine", "--from-kit", str(kit), "--phase", "finale", "--output", str(tmp_path)]) == 2
    assert "did you mean 'final'?" in capfd.readouterr().err
    assert new(kit, tmp_path, "--phase", "final").is_file()


def test_what_is_no_kit_changes_nothing(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "text.zip").write_text("no archive")
    (tmp_path / "empty").mkdir()
    broken = tmp_path / "broken/example-evaluation-method/test/input"
    broken.mkdir(parents=True)
    (broken / "predictions.json").write_text('[{"pk": 1}]')
    make_kit(tmp_path / "predictions.zip")
    expected = {
        "predictions.zip": "takes no algorithms: its kit names no sockets",
        "text.zip": "cannot be read as a starter kit",
        "absent.zip": "cannot be read as a starter kit",
        "empty": "is not a starter kit of a phase with algorithms",
        "broken": "is not a list of jobs",
    }
    for name, sentence in expected.items():
        assert main(["new", "mine", "--from-kit", str(tmp_path / name), "--output", str(tmp_path)]) == 2
        assert sentence in capfd.readouterr().err
    assert main(["new", "mine", "--phase", "final", "--output", str(tmp_path)]) == 2
    assert "--phase chooses a phase of a starter kit" in capfd.readouterr().err
    assert not (tmp_path / "mine").exists()
