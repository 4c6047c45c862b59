"""What a report's viewer gets of a volume, and when the command refuses to make one."""

import base64
import gzip
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import SimpleITK
from evaluating import evaluate_command
from numpy.typing import NDArray
from places import ROOT
from tools.report.page_check import Page, write_page

from podium.challenges.pictures import LabelledVolume
from podium.execution.executor import Executor, Serial
from podium.readers.geometry import Geometry
from podium.tools.arena.web import viewer
from podium.tools.report import overlays
from podium.tools.report.overlays import OverlaySource, packed_volume

pytestmark = pytest.mark.usefixtures("in_process")

SHAPE = (40, 60, 50)  # slices, rows, columns
OBLIQUE = (0.0, -1.0, 0.0, 0.6, 0.0, 0.8, -0.8, 0.0, 0.6)
GROUND_TRUTH, SUBMISSION = ROOT / "ground-truth/lesions", ROOT / "test/submissions/lesions/ember"


def made(**changes: Any) -> LabelledVolume:
    """Label 1 in a block of the reference, label 2 in another one; the prediction misses the second."""
    reference = np.zeros(SHAPE, np.int32)
    reference[20:24, 30:33, 25:30] = 1
    reference[24:26, 30:33, 25:30] = 2
    return LabelledVolume(
        **{
            "title": "organs",
            "image": np.arange(np.prod(SHAPE), dtype=np.float32).reshape(SHAPE),
            "prediction": np.where(reference == 2, 0, reference),
            "reference": reference,
            "regions": {"first": [1], "both": [1, 2]},
            "geometry": Geometry(spacing=(0.8, 0.9, 2.5), origin=(-10.0, 20.0, 30.0), direction=OBLIQUE),
            **changes,
        }
    )


def unpacked(text: str) -> NDArray[np.uint8]:
    return np.frombuffer(gzip.decompress(base64.b64decode(text)), np.uint8)


def test_the_part_around_the_labels_is_kept_with_both_sides() -> None:
    volume = made()
    packed = packed_volume(volume)
    assert packed["size"] == [29, 27, 30]
    assert packed["part"] == "29 x 27 x 30 of 50 x 60 x 40 voxels around all labels"
    part = np.s_[8:38, 18:45, 13:42]
    codes = unpacked(packed["labels"]).reshape(2, 30, 27, 29)
    for region, numbers in volume.regions.items():
        for side, labels in zip(codes, (volume.prediction, volume.reference), strict=True):
            assert (np.isin(side, packed["regions"][region]) == np.isin(labels[part], numbers)).all(), region
    greys = unpacked(packed["image"]).reshape(30, 27, 29)
    low, high = np.quantile(volume.surroundings, (0.02, 0.98))
    assert packed["window"] == pytest.approx([low, high])
    assert greys[0, 0, 0] == 0
    assert greys[-1, -1, -1] == 255


@pytest.mark.parametrize("voxels", [1_500_000, 4_000])
def test_every_voxel_keeps_its_place_in_the_patient(monkeypatch: pytest.MonkeyPatch, voxels: int) -> None:
    """As SimpleITK places it; NIfTI runs to the right and to the front where ITK runs to the left and to the back."""
    monkeypatch.setattr(overlays, "_MOST_VOXELS", voxels)
    volume = made()
    packed = packed_volume(volume)
    step = [1, 1, 1] if voxels > 4_000 else [3, 3, 1]
    assert ("one of every 3 x 3 x 1" in packed["part"]) == (voxels == 4_000)
    image = SimpleITK.GetImageFromArray(volume.reference)
    image.SetSpacing(volume.geometry.spacing)
    image.SetOrigin(volume.geometry.origin)
    image.SetDirection(volume.geometry.direction)
    for index in ((0, 0, 0), (3, 4, 5), (9, 8, 29)):
        stored = [first + size * each for first, size, each in zip((13, 18, 8), step, index, strict=True)]
        left, back, up = image.TransformIndexToPhysicalPoint(stored)
        assert np.array(packed["matrix"]) @ [*index, 1] == pytest.approx([-left, -back, up], abs=1e-4)


def test_a_large_volume_is_thinned_where_it_is_finest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(overlays, "_MOST_VOXELS", 14_000)
    packed = packed_volume(made(reference=np.ones(SHAPE, np.uint8)))
    assert np.prod(packed["size"]) <= 14_000
    assert packed["size"][2] == 40, "slices are the farthest apart"
    assert packed["part"] == "one of every 3 x 3 x 1"
    assert len(unpacked(packed["labels"])) == 2 * np.prod(packed["size"])


def test_without_labels_image_and_geometry_all_of_it_is_there() -> None:
    nothing = np.zeros(SHAPE, np.uint8)
    packed = packed_volume(made(prediction=nothing, reference=nothing, image=None, geometry=None))
    assert (packed["size"], packed["image"], packed["part"]) == ([50, 60, 40], "", "")
    assert packed["matrix"] == [[-1, 0, 0, 0], [0, -1, 0, 0], [0, 0, 1, 0]]


def source(executor: Executor, *, with_viewer: bool = True) -> Any:
    return OverlaySource.open(
        ground_truth=GROUND_TRUTH,
        images=ROOT / "test/images/lesions",
        challenge="lesions",
        executor=executor,
        viewer=("library", "own") if with_viewer else (),
    )


def test_what_the_viewer_leaves_out_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    cases = sorted(path.name.partition(".")[0] for path in (GROUND_TRUTH / "references").iterdir())[:2]
    worst, submissions = {"ember": dict.fromkeys(cases, "Dice 0")}, {"ember": SUBMISSION}
    with source(Serial()) as opened:
        whole = opened.draw_all(worst, submissions, label="metrics.json")
        first = whole.of("ember")[0].volumes[0]
        monkeypatch.setattr(overlays, "_MOST_IN_VIEWER", len(first["image"]) + len(first["labels"]))
        cut = opened.draw_all(worst, submissions, label="metrics.json")
    assert whole.notes == ["The 3-D viewer shows 2 of 2 pictured cases."]
    assert whole.scripts == ("library", "own")
    assert cut.notes == ["The 3-D viewer shows 1 of 2 pictured cases: more would make the page too large."]
    assert [len(picture.volumes) for picture in cut.of("ember")] == [1, 0]
    assert [replace(picture, volumes=()) for picture in whole.of("ember")] == [
        replace(picture, volumes=()) for picture in cut.of("ember")
    ], "the pictures stay"
    with source(Serial(), with_viewer=False) as opened:
        plain = opened.draw_all(worst, submissions, label="metrics.json")
    assert (plain.notes, plain.scripts, plain.of("ember")[0].volumes) == ([], (), [])


@pytest.fixture
def library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """In place of NiiVue."""
    library = tmp_path / "niivue.js"
    library.write_text("export {};", encoding="utf-8")
    monkeypatch.setattr(viewer, "LIBRARY", library)
    return library


@pytest.mark.usefixtures("library")
def test_the_page_contains_scripts_and_volumes_of_the_worst_cases(tmp_path: Path) -> None:
    page = Page(write_page(SUBMISSION, GROUND_TRUTH, tmp_path, "--viewer").read_text(encoding="utf-8"))
    assert "The 3-D viewer shows 4 of 4 pictured cases." in page.all_words
    assert "window.niivue" in page.scripts[-2]
    assert "const drawVolume" in page.scripts[-1]
    volumes = [each for each in page.specifications if "matrix" in each]
    assert [each["title"] for each in volumes] == ["last step"] * 4
    agreed = 0
    for each in volumes:
        prediction, reference = unpacked(each["labels"]).reshape(2, -1)
        agreed += int((prediction & reference).sum())
    assert agreed > 0


@pytest.mark.usefixtures("library")
def test_a_flat_challenge_says_why_it_has_no_viewer(tmp_path: Path) -> None:
    folders = (ROOT / "test/submissions/carotid/aorta", ROOT / "ground-truth/carotid")
    page = Page(write_page(*folders, tmp_path, "--viewer").read_text(encoding="utf-8"))
    assert "There is no 3-D viewer: these cases are not label volumes." in page.all_words
    assert not any("niivue" in script for script in page.scripts)


def test_what_the_viewer_needs_is_said(podium: Any, library: Path, tmp_path: Path) -> None:
    assert evaluate_command(SUBMISSION, GROUND_TRUTH, tmp_path) == 0
    report = ("report", tmp_path / "metrics.json", "--viewer")
    ended = podium(*report)
    assert ended.code == 2
    assert "--submission" in ended.last_line
    library.unlink()
    ended = podium(*report, "--submission", SUBMISSION, "--ground-truth", GROUND_TRUTH)
    words = "NiiVue, which draws the viewer, is not installed: run 'podium arena viewer' once."
    assert (ended.code, ended.last_line) == (2, words)


def test_the_library_cannot_end_its_element() -> None:
    """The page contains it as text: nothing in it may look like the end of a script."""
    if not viewer.LIBRARY.is_file():
        pytest.skip("NiiVue is not installed")
    assert not re.search(r"</script|<!--", "".join(viewer.viewer_scripts()), flags=re.IGNORECASE)
