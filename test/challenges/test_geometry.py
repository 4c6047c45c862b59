"""The same place in the patient: what headers mean for scores, warnings and the participant's own check."""

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import SimpleITK as sitk
from challenges.declared.declaring import HEAD, metric, metrics, value, write_challenge
from challenges.lesions_folders import CHALLENGE
from evaluating import evaluate
from numpy.typing import NDArray

from podium.challenges import load_challenge
from podium.checking import check
from podium.cli import main
from podium.evaluation import find_challenge, prepare
from podium.execution.executor import Serial
from podium.validation import make_manifest, write_manifest

pytestmark = pytest.mark.usefixtures("in_process")

SHAPE = (6, 8, 40)
CODES = ["".join(letters) for letters in itertools.product("LR", "PA", "SI")]
FILES = {"file": ["{case}.nii.gz", "{case}.mha"], "reference": "{case}.mha"}


def tumour() -> NDArray[np.uint8]:
    """25 voxels long in 40: 14 of them are also in the mirror image, so flipped x and y give a Dice of 14 / 25."""
    mask = np.zeros(SHAPE, np.uint8)
    mask[1:3, 2:6, 2:27] = 1
    return mask


def patient(array: Any, *, origin: tuple[float, ...] = (-50.0, 20.0, -300.0)) -> sitk.Image:
    image = sitk.GetImageFromArray(array)
    image.SetSpacing((0.7, 0.9, 3.0))
    image.SetOrigin(origin)
    return image


def declared(folder: Path, rule: str | None, references: dict[str, sitk.Image]) -> Path:
    geometry = {} if rule is None else {"geometry": rule}
    toml = value("tumour", "labels", labels={"tumour": 1}, **geometry, **FILES)
    truth = write_challenge(folder / "truth", toml + metrics("dice"), {})
    return with_references(truth, references)


def lesions(folder: Path, rule: str | None, references: dict[str, sitk.Image]) -> Path:
    truth = folder / "truth"
    (truth / "references").mkdir(parents=True)
    geometry = "" if rule is None else f'geometry = "{rule}"'
    (truth / "challenge.toml").write_text(
        CHALLENGE.format(per_case="full", settings=f'steps = 1\nempty_reference = "undefined"\n{geometry}')
    )
    return with_references(truth, references)


def with_references(truth: Path, references: dict[str, sitk.Image]) -> Path:
    for case, image in references.items():
        sitk.WriteImage(image, str(truth / "references" / f"{case}.mha"))
    return truth


def submission(folder: Path, kind: str, predictions: dict[str, sitk.Image], ending: str = ".nii.gz") -> Path:
    for case, image in predictions.items():
        path = folder / "team" / (f"{case}/iter_0" if kind == "lesions" else case)
        path.parent.mkdir(parents=True, exist_ok=True)
        sitk.WriteImage(image, f"{path}{ending}")
    return folder / "team"


KINDS = {"declared": declared, "lesions": lesions}


def dice(kind: str, row: dict[str, Any]) -> Any:
    return row["metrics"]["final_dice"] if kind == "lesions" else row["metrics"]["dice"]["tumour"]


def manifest(truth: Path, path: Path) -> Path:
    folder = find_challenge(truth, None)
    write_manifest(make_manifest(prepare(folder, load_challenge(folder), Serial())), path)
    return path


@pytest.mark.parametrize("ending", [".nii.gz", ".mha"])
@pytest.mark.parametrize("kind", KINDS)
def test_one_patient_in_eight_orientations(
    kind: str, ending: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    guess = np.roll(tumour(), 3, axis=2)
    truth = KINDS[kind](tmp_path, None, {code: patient(tumour()) for code in CODES})
    team = submission(tmp_path, kind, {code: sitk.DICOMOrient(patient(guess), code) for code in CODES}, ending)
    found = evaluate(team, truth, tmp_path / "output")
    rows = found["results"]
    assert {row["status"] for row in rows.values()} == {"scored"}
    assert len({str(row["metrics"]) for row in rows.values()}) == 1
    assert dice(kind, rows["RAS"]) == pytest.approx(22 / 25)
    assert [len(rows[code]["warnings"]) for code in CODES] == [code != "LPS" for code in CODES]
    log = capfd.readouterr().out
    assert log.count("without interpolation") == 1
    assert "in 7 of 8 cases, such as: " in log
    cases = manifest(truth, tmp_path / "cases.json")
    assert main(["validate", str(team), "--cases", str(cases)]) == 0
    printed = capfd.readouterr()
    assert printed.out.count("in 7 of 8 cases, such as: ") == 1
    assert printed.err.splitlines()[-1] == "The submission is ready, with 1 warning."


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("rule", "expected"), [(None, 1.0), ("warn", 1.0), ("strict", 1.0), ("ignore", 0.56)])
def test_a_mask_in_ras_is_right(kind: str, rule: str | None, expected: float, tmp_path: Path) -> None:
    truth = KINDS[kind](tmp_path, rule, {"a": patient(tumour())})
    team = submission(tmp_path, kind, {"a": sitk.DICOMOrient(patient(tumour()), "RAS")})
    (row,) = evaluate(team, truth, tmp_path / "output")["results"].values()
    assert dice(kind, row) == pytest.approx(expected)
    assert len(row["warnings"]) == (rule != "ignore")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("rule", [None, "strict", "ignore"])
def test_a_mask_in_another_place(
    kind: str, rule: str | None, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    references = {"a": patient(tumour()), "b": patient(tumour())}
    truth = KINDS[kind](tmp_path, rule, references)
    moved = patient(tumour(), origin=(-37.5, 20.0, -300.0))
    team = submission(tmp_path, kind, {"a": moved, "b": references["b"]})
    rows = evaluate(team, truth, tmp_path / "output")["results"]
    row = rows["a"]
    assert (row["status"], dice(kind, row)) == (("failed", 0.0) if rule == "strict" else ("scored", 1.0))
    told = [*row["warnings"], *filter(None, [row["error"]])]
    assert ["origin differs by 12.5 mm" in each for each in told] == [True] * (rule != "ignore")
    assert rows["b"]["warnings"] == []
    capfd.readouterr()
    code = main(["validate", str(team), "--cases", str(manifest(truth, tmp_path / "cases.json"))])
    last = capfd.readouterr().err.splitlines()[-1]
    ready = "The submission is ready."
    expected = {None: (0, "The submission is ready, with 1 warning."), "ignore": (0, ready)}
    assert (code, last) == expected.get(rule, (1, "Found 1 problem; fix it before you submit."))


def test_an_image_and_a_detection_map_are_turned_too(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    volume = patient(rng.random(SHAPE, np.float32))
    toml = (
        value("ct", "image", file="{case}_ct.mha", reference="{case}_ct.mha")
        + value("found", "detection_map", file="{case}_map.mha", reference="{case}_map.mha")
        + metric("rmse", failed=100)
        + metrics("ap")
    )
    truth = write_challenge(tmp_path / "truth", toml, {})
    with_references(truth, {"a_ct": volume, "a_map": patient(tumour())})
    confidences = sitk.Cast(sitk.DICOMOrient(patient(tumour()), "SAR"), sitk.sitkFloat32)
    predictions = {"a_ct": sitk.DICOMOrient(volume, "IPL"), "a_map": confidences}
    found = evaluate(submission(tmp_path, "declared", predictions, ".mha"), truth, tmp_path / "output")
    assert found["aggregates"]["rmse"]["mean"] == 0.0
    assert found["aggregates"]["ap"] == 1.0
    assert len(found["results"]["a"]["warnings"]) == 2


@pytest.mark.parametrize("ending", [".png", ".tif"])
def test_pictures_are_compared_without_warnings(ending: str, tmp_path: Path) -> None:
    """Also with references that have a place, and with a resolution of their own."""
    array = tumour()[1]
    reference, prediction = sitk.GetImageFromArray(array), sitk.GetImageFromArray(array)
    reference.SetSpacing((0.5, 0.5))
    reference.SetOrigin((3.0, 4.0))
    prediction.SetSpacing((0.1, 0.1))
    toml = value(
        "tumour", "labels", labels={"tumour": 1}, geometry="strict", file=f"{{case}}{ending}", reference="{case}.mha"
    )
    truth = with_references(write_challenge(tmp_path / "truth", toml + metrics("dice"), {}), {"a": reference})
    (row,) = evaluate(submission(tmp_path, "declared", {"a": prediction}, ending), truth, tmp_path / "output")[
        "results"
    ].values()
    assert (row["status"], row["warnings"]) == ("scored", [])


@pytest.mark.parametrize("kind", KINDS)
def test_strict_is_recommended_where_nothing_is_said(kind: str, tmp_path: Path) -> None:
    for rule in (None, "warn", "strict"):
        truth = KINDS[kind](tmp_path / str(rule), rule, {"a": patient(tumour())})
        recommended = [each for each in check("t", truth, images=None, executor=Serial()).warnings if "strict" in each]
        assert len(recommended) == (rule is None)


def test_nothing_is_recommended_for_pictures(tmp_path: Path) -> None:
    toml = value("tumour", "labels", labels={"tumour": 1}, file="{case}.png", reference="{case}.png")
    truth = write_challenge(tmp_path / "truth", toml + metrics("dice"), {"a.png": tumour()[1]}, head=HEAD)
    assert check("t", truth, images=None, executor=Serial()).warnings == []
