"""`validate` says what `evaluate` will say: everything that can be known without the content of a reference."""

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
import SimpleITK
from challenges import freehand_files
from challenges.declared.declaring import HEAD, metric, metrics, value, write_challenge, write_file
from challenges.lesions_folders import LESION, write_ground_truth
from evaluating import read_metrics
from hypothesis import given
from hypothesis import strategies as st
from places import ROOT
from properties import examples

from podium import evaluate, validate
from podium.challenges import load_challenge
from podium.cli import main
from podium.errors import SubmissionError
from podium.evaluation import MISSING, find_challenge, prepare
from podium.execution.executor import Serial
from podium.validation import MISSING as MISSING_CASE
from podium.validation import Manifest, make_manifest, read_manifest, write_manifest

pytestmark = pytest.mark.usefixtures("in_process")

CUBE = np.zeros((4, 5, 6), np.uint8)
CUBE[1:3, 1:4, 2:5] = 1
TURNED = (0.0, 1.0, 0.0, -1.0, 0.0, 0.0, 0.0, 0.0, 1.0)

TABLES = {"table": "predictions.csv", "reference_table": "truth.csv"}
TABLE = (
    value("risk", "probability", positive="yes", classes={"no": 0, "yes": 1}, column="risk", **TABLES)
    + 'reference_column = "class"\n'
    + value("age", "number", column="age", **TABLES)
    + metric("mae", failed=100)
    + metrics("auroc")
)


@dataclass(frozen=True)
class Scene:
    """A challenge, a perfect submission for it, and contents that a file may have instead."""

    truth: Path
    manifest: Manifest
    files: Mapping[str, bytes]
    others: Sequence[bytes]


def _image(folder: Path, array: Any, ending: str = ".nii.gz", **geometry: Sequence[float]) -> bytes:
    image = SimpleITK.GetImageFromArray(array)
    for name, numbers in geometry.items():
        getattr(image, f"Set{name}")(numbers)
    path = folder / f"made{ending}"
    SimpleITK.WriteImage(image, str(path))
    return path.read_bytes()


def _images(folder: Path, array: Any, ending: str) -> list[bytes]:
    """The array under other headers, and other arrays."""
    small, half = array[:-1], array * np.float32(0.5)
    unreal = np.where(array > 0, np.float32(math.nan), 0)
    geometries: list[dict[str, Sequence[float]]] = [
        {"Spacing": (1.0, 1.0, 1.5)},
        {"Origin": (0.0, 0.0, 7.0)},
        {"Direction": TURNED},
        {"Spacing": (2.0, 1.0, 1.0), "Origin": (1.0, 0.0, 0.0)},
    ]
    headers = [_image(folder, array, ending, **each) for each in geometries]
    huge = array.astype(np.float32) * np.float32(1e30)
    contents = (small, half, unreal, array * np.uint8(7), array[0], array.astype(np.float64) * 1e40, huge)
    return [*headers, *(_image(folder, each, ending) for each in contents)]


def _labels(folder: Path, rule: str) -> tuple[Path, dict[str, bytes], list[bytes]]:
    content = _image(folder, CUBE)
    name = "{case}.nii.gz"
    toml = value("liver", "labels", file=name, reference=name, labels={"liver": 1}, geometry=rule) + metrics("dice")
    files = {f"{case}.nii.gz": content for case in "ab"}
    return write_challenge(folder / "truth", toml, files), files, _images(folder, CUBE, ".nii.gz")


def _continuous(folder: Path) -> tuple[Path, dict[str, bytes], list[bytes]]:
    content = _image(folder, CUBE.astype(np.float32), ".mha")
    toml = value("ct", "image", file="{case}.mha", reference="{case}.mha") + metric("rmse", failed=100)
    files = {f"{case}.mha": content for case in "ab"}
    return write_challenge(folder / "truth", toml + metrics(by="rmse"), files), files, _images(folder, CUBE, ".mha")


def _points(folder: Path) -> tuple[Path, dict[str, bytes], list[bytes]]:
    def points(*places: Sequence[float], **more: Any) -> bytes:
        listed = [{"point": list(place), **more} for place in places]
        return json.dumps({"type": "Multiple points", "points": listed}).encode()

    files = {f"{case}.json": points((1, 2, 3), probability=0.5) for case in "ab"}
    toml = value("lesions", "points", file="{case}.json", reference="{case}.json", unit="mm", max_candidates=2)
    truth = write_challenge(folder / "truth", toml + metric("ap", radius_mm=5.0) + metrics(by="ap"), files)
    others = [
        points((1, 2, 3)),
        points(),
        points((1, 2), probability=1),
        points((1, 2, 3), (4, 5, 6), (7, 8, 9), probability=0.1),
        points((1, 2, 3), probability=2),
        b"{}",
        b"[1e999]",
        points((1e300, 0, 0), probability=0.1),
    ]
    return truth, files, others


def _table(folder: Path) -> tuple[Path, dict[str, bytes], list[bytes]]:
    truth = write_challenge(folder / "truth", TABLE, {"truth.csv": "case,class,age\na,0,3\nb,1,4\n"})
    rows = [
        "a,0.5,3\nb,0.1,4",
        "a,0.5,3",
        "a,2,3\nb,0.5,4",
        "a,0.5,\nb,0.5,1e60",
        "a,0.5,3\nb,0.5,1e30",
        "a,1,3\nz,1,3",
    ]
    rows += ["a,0.5,3\na,0.5,4\nb,1,1", "a,x,3\nb,nan,4", "a,1,1e999\nb,1,2", f"a,1,{'9' * 400}\nb,1,2"]
    contents = [f"case,risk,age\n{each}\n".encode() for each in rows]
    return truth, {"predictions.csv": contents[0]}, [*contents[1:], b"case,age\na,1\n", b""]


def _lesions(folder: Path) -> tuple[Path, dict[str, bytes], list[bytes]]:
    truth = write_ground_truth(folder, {"a": LESION, "b": LESION})
    content = _image(folder, LESION)
    files = {f"{case}/iter_{step}.nii.gz": content for case in "ab" for step in range(3)}
    return truth, files, _images(folder, LESION, ".nii.gz")


def _freehand(folder: Path) -> tuple[Path, dict[str, bytes], list[bytes]]:
    truth = freehand_files.write_ground_truth(folder / "truth")
    perfect = freehand_files.reference_sets()

    def fields(**changed: Any) -> bytes:
        return freehand_files.write_h5(folder / "made.h5", {**perfect, **changed}).read_bytes()

    field, landmarks = perfect["GP"], perfect["LL"]
    transforms = np.tile(np.eye(4), (len(field), 1, 1))
    far = np.zeros((4, 4))
    far[0, 3] = 1e60
    others = [
        fields(GP=field[:-1]),
        fields(GP=field * math.nan),
        fields(LP=field * 0 + 1e200),
        fields(LP=field * 0 + 1e60),
        fields(LL=landmarks[:, :0]),
        fields(LL=landmarks * 0 + 1e300),
        freehand_files.write_h5(folder / "made.h5", {"GP": field}).read_bytes(),
        freehand_files.write_h5(folder / "made.h5", {"global_transforms": transforms}).read_bytes(),
        freehand_files.write_h5(folder / "made.h5", {"global_transforms": transforms[:-1]}).read_bytes(),
        freehand_files.write_h5(folder / "made.h5", {"local_transforms": transforms + far}).read_bytes(),
    ]
    runtime = json.dumps({freehand_files.SCAN: 3.0}).encode()
    return truth, {f"{freehand_files.SCAN}.h5": fields(), "runtime.json": runtime}, others


def _reports(folder: Path) -> tuple[Path, dict[str, bytes], list[bytes]]:
    head = HEAD.replace("declared", "reports")
    truth = write_challenge(folder / "truth", "", {"a.txt": "Tooth 46 is missing.", "b.txt": "No bite."}, head=head)
    others = [b"", b"  \n", b"\xff\xfe", b"...", '"\ud800"'.encode("utf-8", "surrogatepass")]
    return truth, {"a.txt": b"Tooth 46 is missing.", "b.txt": b"No bite."}, others


MAKERS: Mapping[str, Callable[[Path], tuple[Path, dict[str, bytes], list[bytes]]]] = {
    "strict labels": lambda folder: _labels(folder, "strict"),
    "labels": lambda folder: _labels(folder, "warn"),
    "labels, any geometry": lambda folder: _labels(folder, "ignore"),
    "images": _continuous,
    "points": _points,
    "table": _table,
    "lesions": _lesions,
    "freehand": _freehand,
    "reports": _reports,
}


@pytest.fixture(scope="module")
def scenes(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Scene]:
    found = {}
    for name, make in MAKERS.items():
        folder = tmp_path_factory.mktemp("scene")
        truth, files, others = make(folder)
        task_folder = find_challenge(truth, None)
        manifest = make_manifest(prepare(task_folder, load_challenge(task_folder), Serial()))
        write_manifest(manifest, folder / "cases.json")
        found[name] = Scene(truth, read_manifest(folder / "cases.json"), files, others)
    return found


def _changed(scene: Scene, draw: Callable[[st.SearchStrategy[Any]], Any]) -> dict[str, bytes]:
    """The perfect submission after up to four changes, one of which may be a change of a single byte."""
    files = dict(scene.files)
    for _ in range(draw(st.integers(1, 4))):
        name = draw(st.sampled_from(sorted(files)))
        match draw(st.sampled_from(["other", "other", "other", "drop", "cut", "flip", "rename", "copy", "stray"])):
            case "other":
                files[name] = draw(st.sampled_from(scene.others))
            case "drop" if len(files) > 1:
                del files[name]
            case "cut":
                files[name] = files[name][: draw(st.integers(0, len(files[name])))]
            case "flip" if files[name]:
                at = draw(st.integers(0, min(len(files[name]), 400) - 1))
                files[name] = (
                    files[name][:at] + bytes([files[name][at] ^ draw(st.integers(1, 255))]) + files[name][at + 1 :]
                )
            case "rename":
                files[draw(st.sampled_from([name.upper(), f"x{name}", f"deep/{name}"]))] = files.pop(name)
            case "copy":
                files[f"second/{name}"] = files[name]
            case "stray":
                files[draw(st.sampled_from(["c.nii.gz", "c.mha", "c.json", "notes.md", "c.bin", "c.txt"]))] = files[
                    name
                ]
    return files


def _reported_by_evaluation(submission: Path, scene: Scene, output: Path) -> str | dict[str, list[str]]:
    """By case its error, why values are missing, or its warnings; a sentence where nothing was scored for another
    reason."""
    try:
        evaluate(submission, ground_truth=scene.truth, output=output, executor=Serial())
    except SubmissionError as error:
        if not (output / "metrics.json").exists():
            return str(error)
    rows = read_metrics(output)["results"]
    lost = {
        case: row["error"] or " ".join(dict.fromkeys(row.get("missing", {}).values())) for case, row in rows.items()
    }
    return {
        case: [MISSING_CASE if lost[case] == MISSING else lost[case]] if lost[case] else row["warnings"]
        for case, row in rows.items()
    }


@examples(60)
@given(data=st.data())
@pytest.mark.parametrize("name", MAKERS)
def test_validate_says_what_evaluate_says(name: str, scenes: Mapping[str, Scene], data: st.DataObject) -> None:
    scene = scenes[name]
    with TemporaryDirectory() as folder:
        submission = Path(folder, "submission")
        for file, content in _changed(scene, data.draw).items():
            write_file(submission / file, content)
        evaluated = _reported_by_evaluation(submission, scene, Path(folder, "output"))
        try:
            report = validate(submission, cases=scene.manifest, executor=Serial())
        except SubmissionError as error:
            refusal: str | None = str(error)
        else:
            refusal = None
    if refusal is not None or isinstance(evaluated, str):
        assert evaluated == refusal if refusal else report.problems
        return
    validated = {case: [*report.case_warnings.get(case, ())] for case in scene.manifest.cases}
    for problem in report.problems:
        validated.setdefault(problem.where, []).append(problem.what)
    for case, sentences in evaluated.items():
        if name == "lesions":  # steps that evaluation warns about are one problem of the case
            told = " ".join(validated[case])
            assert all(sentence in told for sentence in sentences), (sentences, told)
            assert bool(sentences) == bool(told), (sentences, told)
        else:
            assert validated[case] == sentences


def test_another_geometry_is_reported_before_it_is_submitted(
    scenes: Mapping[str, Scene], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    moved = scenes["labels"].others[1]
    for name in ("a.nii.gz", "b.nii.gz"):
        write_file(tmp_path / "team" / name, moved)
    for rule, code in (("labels", 0), ("strict labels", 1), ("labels, any geometry", 0)):
        write_manifest(scenes[rule].manifest, tmp_path / "cases.json")
        assert main(["validate", str(tmp_path / "team"), "--cases", str(tmp_path / "cases.json")]) == code
        printed = " ".join(capfd.readouterr().out.split())
        assert ("origin differs by 7 mm" in printed) == (rule != "labels, any geometry")
        assert ("Warning: in 2 of 2 cases" in printed) == (rule == "labels")


def test_what_cannot_be_checked_is_reported_at_the_end(
    scenes: Mapping[str, Scene], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    scene = scenes["labels"]
    for name, content in scene.files.items():
        write_file(tmp_path / "team" / name, content)
    write_manifest(scene.manifest, tmp_path / "cases.json")
    old = json.loads((tmp_path / "cases.json").read_text())
    del old["geometries"], old["schema"]
    (tmp_path / "old.json").write_text(json.dumps({**old, "schema_name": "podium-manifest-2"}))
    ready, geometry = "The submission is ready.", "the spacing, origin and direction of images"
    sizes = "which cases are expected, the sizes of arrays and images"
    for arguments, last in (
        (["--cases", tmp_path / "cases.json"], ready),
        (["--cases", tmp_path / "old.json"], f"{ready} Not checked: {geometry}."),
        (["--ground-truth", scene.truth, "--challenge", "truth"], f"{ready} Not checked: {sizes}, {geometry}."),
    ):
        assert main(["validate", str(tmp_path / "team"), *map(str, arguments)]) == 0
        assert capfd.readouterr().err.splitlines()[-1] == last


@pytest.mark.parametrize("sample", ["freehand/gyro", "reports/molar"])
def test_jobs_with_several_inputs_need_no_case_list(sample: str, capfd: pytest.CaptureFixture[str]) -> None:
    code = main(["validate", str(ROOT / "test/submissions" / sample), "--challenge", sample.partition("/")[0]])
    assert code == 0, capfd.readouterr().out


# The platform removes a folder that all files of an archive are in.


def test_the_only_case_may_have_lost_its_folder(tmp_path: Path) -> None:
    truth = write_ground_truth(tmp_path, {"a": LESION})
    for step in range(3):
        write_file(tmp_path / "team" / f"iter_{step}.nii.gz", _image(tmp_path, LESION))
    assert evaluate(tmp_path / "team", ground_truth=truth, executor=Serial()).counts.scored == 1
    truth = write_ground_truth(tmp_path / "two", {"a": LESION, "b": LESION})
    with pytest.raises(SubmissionError, match=r"the first is iter_0\.nii\.gz: it is not named <case>/iter"):
        evaluate(tmp_path / "team", ground_truth=truth, executor=Serial())


def test_validate_says_that_the_platform_removes_a_folder(scenes: Mapping[str, Scene], tmp_path: Path) -> None:
    scene = scenes["lesions"]
    for name, content in scene.files.items():
        write_file(tmp_path / "both/deep" / name, content)
        if name.startswith("a/"):
            write_file(tmp_path / "one/deep" / name, content)
    (warning,) = validate(tmp_path / "one", cases=scene.manifest, executor=Serial()).warnings
    assert warning.startswith(
        "All files are in the folder 'deep/a'. The platform removes such a folder from an archive, "
    )
    assert validate(tmp_path / "one", challenge="lesions", executor=Serial()).warnings == [warning]
    assert validate(tmp_path / "both", cases=scene.manifest, executor=Serial()).warnings == []
    (tmp_path / "one/README.md").touch()
    assert validate(tmp_path / "one", cases=scene.manifest, executor=Serial()).warnings == []
    only = scene.manifest.model_copy(update={"cases": {"a": scene.manifest.cases["a"]}})
    (tmp_path / "one/README.md").unlink()
    assert validate(tmp_path / "one", cases=only, executor=Serial()).warnings == []


def numbered(folder: Path, cases: int) -> tuple[Path, Path]:
    """The truth of cases liver_001 and so on, and a case list of it."""
    files = {f"liver_{number:03}.txt": "No finding." for number in range(1, cases + 1)}
    head = HEAD.replace('kind = "declared"', 'kind = "declared"')
    toml = value("report", "text", file="{case}.txt", reference="{case}.txt") + metrics("meteor")
    truth = write_challenge(folder / "truth", toml, files, head=head)
    assert main(["manifest", "--ground-truth", str(truth), "--output", str(folder / "cases.json")]) == 0
    return truth, folder / "cases.json"


def test_files_misnamed_in_the_same_way_are_one_problem_with_one_hint(tmp_path: Path) -> None:
    _, cases = numbered(tmp_path, 12)
    sent = tmp_path / "sent"
    sent.mkdir()
    for number in range(1, 13):
        (sent / f"liver_{number}.txt").write_text("No finding.")
    (sent / "notes-3.txt").write_text("No finding.")
    problems = [each for each in validate(sent, cases=cases, executor=Serial()).problems if each.what != MISSING_CASE]
    assert [each.where for each in problems] == ["liver_#.txt", "notes-3.txt"]
    assert problems[0].what.startswith("12 files of this pattern belong to no case: liver_1.txt: ")
    assert problems[0].what.endswith(" Rename as in liver_1 -> liver_001.")
    assert "Rename" not in problems[1].what


def test_missing_cases_are_named_up_to_fifty(podium: Any, tmp_path: Path) -> None:
    _, cases = numbered(tmp_path, 60)
    (tmp_path / "sent").mkdir()
    (tmp_path / "sent/liver_001.txt").write_text("No finding.")
    ended = podium("validate", tmp_path / "sent", "--cases", cases)
    assert ended.out.count("is missing.") == 50
    assert "9 more cases" in ended.out
    assert ended.last_line.startswith("Found 59 problems")
    everything = podium("validate", tmp_path / "sent", "--cases", cases, "--all")
    assert everything.out.count("is missing.") == 59
