"""The committed freehand samples are what their generators write, small, and as varied as they claim to be."""

import json
import zipfile
from pathlib import Path

import h5py
import numpy as np
import pytest
from places import ROOT

from samples import expect_freehand, freehand
from samples.freehand_scans import HEIGHT, PLANS, WIDTH, scans
from samples.freehand_teams import C_SHAPE, LINE, S_SHAPE, TURN, teams

FOLDERS = (*freehand.FOLDERS, expect_freehand.EXPECTED)


def contents(root: Path) -> dict[str, object]:
    """Every generated file by name; zip files by their members, since the system's zlib decides how they are packed."""
    found: dict[str, object] = {}
    for folder in FOLDERS:
        for path in sorted(path for path in (root / folder).rglob("*") if path.is_file()):
            name = path.relative_to(root).as_posix()
            if path.suffix in (".npz", ".zip"):
                with zipfile.ZipFile(path) as archive:
                    found[name] = {member: archive.read(member) for member in archive.namelist()}
            else:
                found[name] = path.read_bytes()
    return found


def test_regenerating_gives_the_committed_bytes(tmp_path: Path) -> None:
    freehand.write_samples(tmp_path)
    expect_freehand.write_expected(tmp_path)
    committed, regenerated = contents(ROOT), contents(tmp_path)
    assert sorted(committed) == sorted(regenerated)
    assert [name for name in committed if committed[name] != regenerated[name]] == []


def test_all_samples_together_stay_below_three_megabytes() -> None:
    sizes = [path.stat().st_size for folder in FOLDERS for path in (ROOT / folder).rglob("*") if path.is_file()]
    assert 100_000 < sum(sizes) < 3_000_000


def test_scans_have_the_frames_and_landmarks_they_claim() -> None:
    assert all(20 <= plan.frames <= 40 for plan in PLANS)
    for plan in PLANS:
        scan = scans()[plan.name]
        assert scan.tool_to_camera.shape == (plan.frames, 4, 4)
        assert scan.landmarks.min(axis=0).tolist() == [1, 1, 1]
        assert scan.landmarks.max(axis=0).tolist() == [plan.frames - 1, WIDTH, HEIGHT]


def test_the_teams_between_them_send_every_form() -> None:
    fathom = ROOT / freehand.SUBMISSIONS / "fathom"
    assert sorted(path.name for path in (fathom / TURN).iterdir()) == ["GL.npy", "GP.npy", "LL.npy", "LP.npy"]
    assert np.load(fathom / f"{LINE}.npz")["GP"].dtype == np.float16
    with h5py.File(fathom / f"{C_SHAPE}.h5") as file:
        assert file["GP"].chunks == (1, 3, HEIGHT * WIDTH)
        assert (file["GP"].compression, file["GP"].compression_opts, file["GP"].shuffle) == ("gzip", 1, True)
    with h5py.File(fathom / f"{S_SHAPE}.h5") as file:
        assert file["GP"].chunks == (7, 2, 500)
        assert file["GP"].dtype == ">f4"
    jobs = json.loads((ROOT / freehand.SUBMISSIONS / "gyro/predictions.json").read_text())
    paths = sorted(job["outputs"][0]["interface"]["relative_path"] for job in jobs)
    assert paths == ["displacement-fields.h5"] * 3 + ["displacement-fields.zip"]


@pytest.mark.parametrize(
    ("team", "counts"), [("fathom", (4, 4, 0, 0, 0)), ("gyro", (4, 4, 0, 0, 0)), ("wander", (4, 2, 1, 1, 1))]
)
def test_expected_counts(team: str, counts: tuple[int, ...]) -> None:
    expected = json.loads((ROOT / expect_freehand.EXPECTED / f"{team}.json").read_text())
    assert tuple(expected["counts"][key] for key in ("expected", "scored", "failed", "missing", "unmatched")) == counts


def test_one_scan_is_worse_than_not_moving() -> None:
    row = expect_freehand.expected_of(teams()["wander"])["results"][C_SHAPE]["metrics"]
    assert row["final_score_unclipped"] < 0
    assert row["final_score"] == 0
