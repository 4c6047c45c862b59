"""Pictures of cases: the same patient gives the same picture whatever way the files are stored, and picture and viewer
agree."""

import base64
import gzip
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import SimpleITK
from numpy.typing import NDArray
from tools.report.page_check import write_page

from podium.challenges.pictures import LabelledVolume, slice_overlays
from podium.execution.executor import Serial
from podium.readers.geometry import Geometry
from podium.tools.report.overlays import OverlayPicture, OverlaySource, shown_window

pytestmark = pytest.mark.usefixtures("in_process")

CHALLENGE = """
kind = "declared"
title = "Patient"
version = "1.0"
per_case = "full"
submission = "predictions"

[values.organs]
kind = "labels"
file = "{case}.nii.gz"
reference = "{case}.nii.gz"
labels = { liver = 1, tumour = 2 }

[[metrics]]
kind = "dice"

[ranking]
by = "dice"
"""
SPACING = (1.0, 1.5, 3.0)  # x, y, z of the patient in LPS
ORIENTATIONS = ("LPS", "RAS", "LAS", "RPI", "PIR", "ASL", "SRP", "IAL")


def patient() -> Mapping[str, NDArray[Any]]:
    """12 slices of 20 rows and 16 columns, from below upwards: nothing is symmetric."""
    reference = np.zeros((12, 20, 16), np.uint8)
    reference[3:7, 4:12, 2:8] = 1
    reference[8, 15:18, 10:12] = 2
    prediction = reference.copy()
    prediction[4, 2:4, 2:8] = 1  # in front of the liver
    prediction[8, 3:6, 12:15] = 2  # a tumour that is none: 3 x 3 pixels of 4.5 mm3
    prediction[8, 15:18, 10:12] = 0
    image = np.arange(reference.size, dtype=np.float32).reshape(reference.shape) % 97
    return {"references": reference, "submission": prediction, "images": image}


def stored(array: NDArray[Any], orientation: str, path: Path) -> None:
    image = SimpleITK.GetImageFromArray(array)
    image.SetSpacing(SPACING)
    image.SetOrigin((-30.0, 12.0, 7.0))
    path.parent.mkdir(parents=True, exist_ok=True)
    SimpleITK.WriteImage(SimpleITK.DICOMOrient(image, orientation), str(path))


def pictured(folder: Path, orientations: Sequence[str]) -> OverlayPicture:
    """The patient's picture, with references, submission and image each stored in its own orientation."""
    for (part, array), orientation in zip(patient().items(), orientations, strict=True):
        stored(array, orientation, folder / part / "case.nii.gz")
    (folder / "challenge.toml").write_text(CHALLENGE, encoding="utf-8")
    with OverlaySource.open(
        ground_truth=folder, images=folder / "images", challenge=folder.name, executor=Serial(), viewer=("x",)
    ) as source:
        return source.draw({"case": "Dice 0.5"}, folder / "submission", label="metrics.json")[0]


def test_one_patient_has_one_picture_in_any_orientation(tmp_path: Path) -> None:
    first = pictured(tmp_path / "p0", ("LPS", "LPS", "LPS"))
    for number, orientation in enumerate(ORIENTATIONS):
        others = (orientation, ORIENTATIONS[number - 1], ORIENTATIONS[number - 2])
        found = pictured(tmp_path / f"p{number + 1}", others)
        assert found.views == first.views, orientation
        assert found.volumes[0].keys() == first.volumes[0].keys()
        for name, value in first.volumes[0].items():
            expected = pytest.approx(np.array(value), abs=1e-3) if name == "matrix" else value
            assert (np.array(found.volumes[0][name]) if name == "matrix" else found.volumes[0][name]) == expected


def test_the_picture_shows_the_axial_slice_with_most_error_as_radiologists_look_at_it(tmp_path: Path) -> None:
    picture = pictured(tmp_path / "p", ("PIR", "RAS", "LPS"))
    (view,) = picture.views
    assert view.letters == "RLAP"
    assert view.title == "Organs, axial, slice 4 of 12, superior to inferior", "the fourth from above is index 8"
    assert (view.width, view.height, view.aspect) == (16, 20, 1.5)
    assert dict(view.paths)["false-positive"] == "M12 3h3v1h-3zM12 4h3v1h-3zM12 5h3v1h-3z", "to the left, in front"


def test_picture_and_viewer_show_the_same_slice(tmp_path: Path) -> None:
    picture = pictured(tmp_path / "p", ("RPI", "RAS", "SRP"))
    volume = picture.volumes[0]
    width, height, slices = volume["size"]
    unpacked = np.frombuffer(gzip.decompress(base64.b64decode(volume["labels"])), np.uint8)
    prediction, reference = unpacked.reshape(2, slices, height, width)
    at = int((prediction != reference).sum(axis=(1, 2)).argmax())
    lowest, step, count = volume["axial"]
    assert f"slice {lowest + at * step} of {count}," in picture.views[0].title
    *_, z = np.array(volume["matrix"]) @ [0, 0, at, 1]
    assert z == pytest.approx(7 + 8 * 3.0), "superior, in mm"


def made(reference: NDArray[Any], prediction: NDArray[Any], **changes: Any) -> LabelledVolume:
    geometry = Geometry((1.0, 1.0, 2.0), (0.0, 0.0, 0.0), (1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0))
    return LabelledVolume(
        **{
            "title": "Organs",
            "image": None,
            "prediction": prediction,
            "reference": reference,
            "regions": {"liver": [1], "tumour": [2]},
            "geometry": geometry,
            **changes,
        }
    )


def test_the_caption_says_what_the_error_is() -> None:
    reference = np.zeros((10, 60, 60), np.uint8)
    reference[5, 0:20, 0:20] = 2
    prediction = reference.copy()
    prediction[4:6, 10:20, 57:60] = 2  # 60 voxels of 2 mm3, 57 - 19 mm away
    (overlay,) = slice_overlays(made(reference, prediction))
    assert overlay.caption == "false-positive tumour, 0.12 ml, 38 mm from the reference"
    (overlay,) = slice_overlays(made(reference, np.zeros_like(reference)))
    assert overlay.caption == "false-negative tumour, 0.8 ml, none in the prediction"
    prediction = reference.copy()
    prediction[5, 20:22, 0:20] = 2
    (overlay,) = slice_overlays(made(reference, prediction))
    assert overlay.caption == "false-positive tumour, 0.08 ml, adjoining the reference"
    flat = slice_overlays(made(reference[5], prediction[5], geometry=None))[0]
    assert (flat.title, flat.letters) == ("Organs", "")
    assert flat.caption == "false-positive tumour, 40 pixels, adjoining the reference"


def test_structures_that_overlap_have_a_panel_each() -> None:
    reference = np.zeros((3, 9, 9), np.uint8)
    reference[1, 2:6, 2:6] = 1
    prediction = np.where(reference == 1, 2, 0).astype(np.uint8)
    overlays = slice_overlays(made(reference, prediction))
    assert [list(each.layers) for each in overlays] == [["liver"], ["tumour"]]
    assert [each.title.rpartition(", ")[2] for each in overlays] == ["liver", "tumour"]
    prediction = reference.copy()
    prediction[1, 7:9, 7:9] = 2
    (one,) = slice_overlays(made(reference, prediction))
    assert list(one.layers) == ["tumour", "liver"], "those with the most error first"


def test_of_many_structures_those_with_the_most_error_are_shown() -> None:
    reference = np.zeros((1, 40, 40), np.uint8)
    for number in range(8):
        reference[0, 5 * number : 5 * number + 3, 0:10] = number + 1
    prediction = reference.copy()
    for number in range(8):
        prediction[0, 5 * number, 10 : 12 + number] = number + 1
    regions = {f"r{number}": [number + 1] for number in range(8)}
    (one,) = slice_overlays(made(reference, prediction, regions=regions))
    assert list(one.layers) == [f"r{number}" for number in (7, 6, 5, 4, 3, 2)], "as many as the legend has colours"
    assert one.caption.endswith("; pictures show 6 of 8 structures, those with the most error")


def test_grey_levels_follow_the_reference_and_its_surroundings_not_the_air() -> None:
    image = np.full((40, 100, 100), -1000.0)
    image[:, 40:60, 40:60] = 40.0
    image[18:22, 45:55, 45:55] = 100.0
    reference = np.zeros(image.shape, np.uint8)
    reference[20, 48:52, 48:52] = 1
    volume = made(reference, reference, image=image, geometry=None)
    assert volume.surroundings is not None
    assert set(np.unique(volume.surroundings)) == {-1000.0, 40.0, 100.0}, "up to 10 voxels around"
    near = np.array([40.0, 100.0] * 50)
    assert shown_window(image, near, None) == ((40.0, 100.0), "window 40 to 100")
    assert shown_window(image, near, "liver") == ((-20.0, 140.0), "window liver (level 60, width 160)")
    assert shown_window(image, near, (50.0, 20.0)) == ((40.0, 60.0), "window level 50, width 20")


@pytest.mark.parametrize(("name", "unit"), [("liver", "CT numbers"), ("pet", "SUV")])
def test_a_preset_is_used_where_the_image_has_its_range(name: str, unit: str) -> None:
    image = np.arange(100.0) + (0 if name == "liver" else -50)
    _, words = shown_window(image, None, name)
    assert words.endswith(f": the image has no {unit} for '{name}'")


def test_every_colour_of_a_picture_is_in_its_legend(tmp_path: Path) -> None:
    pictured(tmp_path / "p", ("RAS", "RAS", "RAS"))
    page = write_page(tmp_path / "p/submission", tmp_path / "p", tmp_path, "--images", tmp_path / "p/images")
    text = page.read_text(encoding="utf-8")
    figure = re.findall(r"<figure[^>]*-picture.*?</figure>", text, flags=re.DOTALL)[0]
    legend, _, drawn = figure.partition('<div class="overlays">')
    kinds = set(re.findall(r"false-positive|false-negative|layer-\d", drawn))
    assert len(kinds) == 3
    assert legend.count('<svg class="swatch"') == 3
    assert all(kind in legend for kind in kinds)
    outlines = re.findall(r'<path class="(rim|reference layer-\d)" d="([^"]*)"', drawn)
    assert [path for kind, path in outlines if kind == "rim"] == [path for kind, path in outlines if kind != "rim"], (
        "a light line over a dark one"
    )
    assert re.findall(r"<text [^>]*>(\w)</text>", drawn) == list("RLAP")


def test_pooled_metrics_alone_are_no_reason_for_no_pictures(tmp_path: Path) -> None:
    pictured(tmp_path / "p", ("LPS", "LPS", "LPS"))
    settings = tmp_path / "p/challenge.toml"
    settings.write_text(CHALLENGE.replace('kind = "dice"', 'kind = "dice"\nover = "pooled"'), encoding="utf-8")
    text = write_page(tmp_path / "p/submission", tmp_path / "p", tmp_path).read_text(encoding="utf-8")
    assert "One of the first cases, as no case has a figure of its own" in text
    assert 'class="false-positive" d=' in text


def test_a_page_without_pictures_says_why(tmp_path: Path) -> None:
    pictured(tmp_path / "p", ("LPS", "LPS", "LPS"))
    settings = tmp_path / "p/challenge.toml"
    settings.write_text(CHALLENGE.replace('"full"', '"none"'), encoding="utf-8")
    text = write_page(tmp_path / "p/submission", tmp_path / "p", tmp_path).read_text(encoding="utf-8")
    assert "No pictures: the file has no row of a scored case that lost anything." in text


@pytest.mark.parametrize("words", [["wide"], ["40"], ["40", "0"], ["40", "nan"], ["1", "2", "3"]])
def test_another_window_is_refused(podium: Any, tmp_path: Path, words: Sequence[str]) -> None:
    pictured(tmp_path / "p", ("LPS", "LPS", "LPS"))
    metrics = write_page(tmp_path / "p/submission", tmp_path / "p", tmp_path).with_name("metrics.json")
    places = ("--submission", tmp_path / "p/submission", "--ground-truth", tmp_path / "p")
    ended = podium("report", metrics, "--window", *words, *places)
    assert (ended.code, "--window takes LEVEL WIDTH, such as 40 400, or one of liver" in ended.last_line) == (2, True)
