"""`podium freehand pack` and `plot` from the outside."""

from pathlib import Path

import h5py
import numpy as np
import pytest
from challenges.built import freehand
from challenges.freehand_files import (
    SCAN,
    off_by_5_mm,
    reference_sets,
    write_ground_truth,
    write_h5,
    write_npy,
    write_npz,
)
from evaluating import evaluate
from metrics import made as golden
from PIL import Image
from places import ROOT

from podium.cli import main

pytestmark = pytest.mark.usefixtures("in_process")


def test_plot_is_for_freehand(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["freehand", "plot", "x", "--ground-truth", str(ROOT / "ground-truth/carotid")]) == 2
    assert "holds no challenge of the kind 'freehand' (carotid); name the folder of one." in capfd.readouterr().err


# pack


@pytest.mark.parametrize("form", ["folder", ".npz"])
@pytest.mark.parametrize("dtype", ["<f4", ">f4", "<f8", "<f2"])
def test_packing_keeps_the_values_and_the_score(form: str, dtype: str, tmp_path: Path) -> None:
    truth, folder = write_ground_truth(tmp_path / "truth"), tmp_path / "submission"
    sets = off_by_5_mm(dtype)
    scan = write_npy(folder / SCAN, sets) if form == "folder" else write_npz(folder / f"{SCAN}.npz", sets)
    before = evaluate(folder, truth, tmp_path / "before")["aggregates"]
    assert main(["freehand", "pack", str(scan), "--output", str(tmp_path / "packed")]) == 0
    with h5py.File(tmp_path / "packed" / f"{SCAN}.h5") as file:
        assert sorted(file) == ["GL", "GP", "LL", "LP"]
        for name in ("GP", "LP"):
            assert file[name].chunks == (1, 3, 20)
            assert (file[name].compression, file[name].compression_opts, file[name].shuffle) == ("gzip", 1, True)
            assert file[name].dtype == (np.float16 if dtype == "<f2" else np.float32)
            assert np.array_equal(file[name][()], sets[name].astype(file[name].dtype))
    after = evaluate(tmp_path / "packed", truth, tmp_path / "after")["aggregates"]
    assert after["final_score"] == pytest.approx(before["final_score"], abs=1e-6)


def test_pack_says_how_much_smaller_it_became(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    field = np.zeros((10, 3, 5000), np.float32)
    sets = {"GP": field, "LP": field, "GL": golden.GL, "LL": golden.LL}
    scan = write_npy(tmp_path / SCAN, sets)
    assert main(["freehand", "pack", str(scan)]) == 0
    assert (tmp_path / f"{SCAN}.h5").is_file()
    last = capfd.readouterr().err.splitlines()[-1]
    assert last.startswith("Packed 1 scan, checked and complete: 1.2 MB became 0.0 MB, ")
    assert last.endswith(" times smaller.")


def test_pack_does_not_write_over_anything(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    scan = write_npy(tmp_path / SCAN, reference_sets())
    (tmp_path / f"{SCAN}.h5").write_text("mine")
    assert main(["freehand", "pack", str(scan)]) == 2
    assert "already exists; remove it, or name another folder with --output." in capfd.readouterr().err
    assert (tmp_path / f"{SCAN}.h5").read_text() == "mine"


@pytest.mark.parametrize(("value", "words"), [(np.nan, "holds NaN"), (1e39, "holds an infinite value")])
def test_pack_refuses_what_the_evaluation_would_refuse_and_leaves_nothing(
    value: float, words: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    sets = reference_sets()
    sets["LP"][1, 2, 3] = value  # 1e39 is finite, but float32 cannot hold it
    assert main(["freehand", "pack", str(write_npy(tmp_path / SCAN, sets))]) == 1
    assert f"'{SCAN}/LP.npy' {words}, first at [1, 2, 3]." in capfd.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == [SCAN]


def test_pack_of_something_else(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    packed = write_h5(tmp_path / f"{SCAN}.h5", reference_sets())
    (tmp_path / "empty").mkdir()
    for scan, words in (
        (packed, "is already HDF5; pack the .npy files or the .npz it was made from."),
        (tmp_path / "empty", "holds neither GP.npy nor any other array of a scan."),
        (tmp_path / "absent", "does not exist."),
    ):
        assert main(["freehand", "pack", str(scan), "--output", str(tmp_path / "out")]) == 2
        assert words in capfd.readouterr().err


# plot


@pytest.mark.parametrize("team", [None, "fathom", "gyro"])
def test_plot_draws_a_picture(team: str | None, tmp_path: Path) -> None:
    path = tmp_path / "scan.png"
    submission = () if team is None else ("--input", str(ROOT / "test/submissions/freehand" / team))
    truth = ("--ground-truth", str(ROOT / "ground-truth"))
    assert main(["freehand", "plot", "sub051__LH_Par_S_DtP", *submission, *truth, "--output", str(path)]) == 0
    with Image.open(path) as picture:
        assert picture.size == (1200, 600)
        colours = {colour for count, colour in picture.convert("RGB").getcolors(1 << 20) or [] if count > 20}
    assert (0x00, 0x72, 0xB2) in colours  # the reference
    assert ((0xD5, 0x5E, 0x00) in colours) == (team is not None)  # the prediction


def test_plot_of_a_scan_that_is_not_there(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    truth = write_ground_truth(tmp_path / "truth")
    assert main(["freehand", "plot", "sub001__X", "--ground-truth", str(truth)]) == 2
    assert f"There is no scan 'sub001__X'; there is: {SCAN}." in capfd.readouterr().err
    write_npy(tmp_path / "submission" / "other", reference_sets())
    arguments = ("--ground-truth", str(truth), "--input", str(tmp_path / "submission"))
    assert main(["freehand", "plot", SCAN, *arguments]) == 2
    assert f"The submission holds nothing for the scan '{SCAN}'." in capfd.readouterr().err


def test_the_trajectory_of_the_worked_example(tmp_path: Path) -> None:
    """The corners move by GP at the corners; the same from fields and from transforms."""
    from podium.challenges.freehand.reading import FreehandPrediction, read_reference_scan
    from podium.challenges.freehand.scoring import FreehandSettings
    from podium.readers.files import SafeFile
    from podium.tools.freehand import scan_trajectory

    folder = write_ground_truth(tmp_path / "truth")
    files = freehand(FreehandSettings(edition="2024", frame_size=(4, 5)))
    truth = read_reference_scan(files.find_references(folder / "references")[SCAN], files.grid)
    corners = [0, 4, 19, 15]
    start = np.array([[0.5, 0.25, 0], [2.5, 0.25, 0], [2.5, 1, 0], [0.5, 1, 0]])
    expected = np.stack([start, *(start + field[:, corners].T for field in golden.GP)])
    for name, arrays in (("fields", reference_sets()), ("transforms", {"local_transforms": golden.LOCAL})):
        write_h5(tmp_path / f"{name}.h5", arrays)
        found = scan_trajectory(
            truth, FreehandPrediction(SafeFile.inside(tmp_path, f"{name}.h5")), grid=files.grid, threads=1
        )
        assert found.reference == pytest.approx(expected, abs=1e-9)
        assert found.predicted == pytest.approx(expected, abs=1e-9)
        assert found.errors["global"] == pytest.approx(np.zeros(2), abs=1e-5)
        assert found.identity["global"].mean() == pytest.approx(golden.LARGEST["gpe"], abs=1e-5)
