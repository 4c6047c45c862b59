"""The committed samples are what the generators write, small, and as varied as they claim to be."""

import gzip
import json
import subprocess
import sys
from pathlib import Path

import h5py
import numpy as np
import pytest
import SimpleITK
from places import ROOT

from samples import carotid, carotid_cases, carotid_teams, expect_carotid

FOLDERS = (*carotid.FOLDERS, expect_carotid.EXPECTED)
AORTA = ROOT / carotid.SUBMISSIONS / "aorta"


def contents(root: Path) -> dict[str, bytes]:
    """Every generated file by name. Archives are compared unpacked: the system's zlib decides how they are packed."""
    found = {}
    for folder in FOLDERS:
        for path in sorted(path for path in (root / folder).rglob("*") if path.is_file()):
            data = path.read_bytes()
            found[path.relative_to(root).as_posix()] = gzip.decompress(data) if path.suffix == ".gz" else data
    return found


def test_regenerating_gives_the_committed_bytes(tmp_path: Path) -> None:
    carotid.write_samples(tmp_path)
    expect_carotid.write_expected(tmp_path)
    committed, regenerated = contents(ROOT), contents(tmp_path)
    assert sorted(committed) == sorted(regenerated)
    assert [name for name in committed if committed[name] != regenerated[name]] == []


def test_all_samples_together_stay_below_five_megabytes() -> None:
    sizes = [path.stat().st_size for folder in FOLDERS for path in (ROOT / folder).rglob("*") if path.is_file()]
    assert 100_000 < sum(sizes) < 5_000_000


def test_make_names_the_samples_it_knows() -> None:
    make = Path(__file__).with_name("make.py")
    run = subprocess.run([sys.executable, make, "aortic"], capture_output=True, text=True, check=False)
    assert run.returncode == 2
    assert run.stderr.startswith("No samples are known for aortic; choose from: arena-cases, carotid")


def references() -> dict[str, dict[str, np.ndarray]]:
    found = {}
    for path in sorted((ROOT / carotid.REFERENCES).glob("*_label.h5")):
        with h5py.File(path) as file:
            found[path.name.removesuffix("_label.h5")] = {name: file[name][()] for name in file}
    return found


def test_references_vary_as_real_ones_do() -> None:
    stored = references()
    assert len(stored) == 12
    masks = [reference[key] for reference in stored.values() for key in ("long_mask", "trans_mask")]
    assert all(mask.ndim == 2 and mask.dtype == np.uint8 for mask in masks)
    spellings = {tuple(np.unique(mask).tolist()) for mask in masks}
    assert spellings == {(0, 1, 2), (0, 128, 255), (0, 2)}
    assert {np.shape(reference["cls"]) for reference in stored.values()} == {(), (1,)}
    assert sorted(int(np.sum(reference["cls"])) for reference in stored.values()) == [0] * 7 + [1] * 5
    assert len({mask.shape for mask in masks}) > 12


def test_one_reference_mixes_both_spellings() -> None:
    """The spelling is a property of a mask, not of a case."""
    mixed = [
        case for case, r in references().items() if (r["long_mask"].max() == 255) != (r["trans_mask"].max() == 255)
    ]
    assert mixed == ["csv_0090", "csv_0128"]


def jobs() -> list[dict]:
    return json.loads((AORTA / "predictions.json").read_text())


def case_of(job: dict) -> str:
    names = {entry["image"]["name"] for entry in job["inputs"]}
    assert len(names) == 1
    return names.pop().removesuffix(".mha")


def test_jobs_come_in_no_order() -> None:
    by_case = [case_of(job) for job in jobs()]
    assert sorted(by_case) == [plan.name for plan in carotid_cases.PLANS]
    assert by_case != sorted(by_case)
    assert [job["pk"] for job in jobs()] != sorted(job["pk"] for job in jobs())


def test_each_job_holds_exactly_one_image_a_socket_and_it_is_the_teams_answer() -> None:
    for job in jobs():
        answer = carotid_teams.teams()["aorta"].answers[case_of(job)]
        for slug, view in (
            ("carotid-longitudinal-segmentation", "long"),
            ("carotid-transverse-segmentation", "trans"),
        ):
            [file] = (AORTA / job["pk"] / "output" / "images" / slug).iterdir()
            assert b"CompressedData = True" in file.read_bytes()[:400]
            assert np.array_equal(SimpleITK.GetArrayFromImage(SimpleITK.ReadImage(str(file))), answer.masks[view])


def test_classes_are_sent_inline_and_as_files_in_both_spellings() -> None:
    seen = []
    for job in jobs():
        [entry] = [output for output in job["outputs"] if output["interface"]["slug"] == "plaque-vulnerability"]
        path = AORTA / job["pk"] / "output" / entry["interface"]["relative_path"]
        inline = entry["file"] is None
        assert path.exists() != inline
        value = entry["value"] if inline else json.loads(path.read_text())
        seen.append((inline, type(value)))
        assert (value["class"] if isinstance(value, dict) else value) == carotid_teams.teams()["aorta"].answers[
            case_of(job)
        ].cls
    assert {pair: seen.count(pair) for pair in set(seen)} == {
        (True, int): 3,
        (True, dict): 3,
        (False, int): 3,
        (False, dict): 3,
    }


def test_durations() -> None:
    """One job falls back on its invoke_duration, one has both; together they are 75 seconds."""
    assert carotid_teams.teams()["aorta"].total_seconds == 75
    exec_missing = [job for job in jobs() if job["exec_duration"] is None]
    assert [job["invoke_duration"] for job in exec_missing] == ["PT6S"]
    assert sum(job["exec_duration"] is not None and job["invoke_duration"] is not None for job in jobs()) == 1


def test_every_fault_of_dropout_is_in_its_file() -> None:
    folder, expected = ROOT / carotid.SUBMISSIONS / "dropout", references()
    assert not (folder / "csv_0019_pred.h5").exists()
    with pytest.raises(OSError, match="truncated file"):
        h5py.File(folder / "csv_0058_pred.h5")
    with h5py.File(folder / "csv_0071_pred.h5") as file:
        assert file["long_mask"].shape != expected["csv_0071"]["long_mask"].shape
    with h5py.File(folder / "csv_0113_pred.h5") as file:
        assert 7 in file["trans_mask"][()]
    with h5py.File(folder / "csv_0144_pred.h5") as file:
        assert np.isnan(file["long_mask"][()]).sum() == 1
    with h5py.File(folder / "csv_0201_pred.h5") as file:
        assert file["cls"][()].tolist() == [3]
    assert (folder / "csv_0999_pred.h5").exists()
    assert "csv_0999" not in expected
    assert sorted(json.loads((folder / "timing.json").read_text())["cases"]) == sorted(expected)


@pytest.mark.parametrize(
    ("team", "counts", "time_score"),
    [
        ("aorta", (12, 12, 0, 0, 0), 87.5),
        ("bifurcation", (12, 12, 0, 0, 0), 50),
        ("carina", (12, 12, 0, 0, 0), 0),
        ("dropout", (12, 6, 5, 1, 1), 100 * (180 - 26.5 - 90) / 120),
    ],
)
def test_expected_counts_and_time_scores(team: str, counts: tuple[int, ...], time_score: float) -> None:
    expected = json.loads((ROOT / expect_carotid.EXPECTED / f"{team}.json").read_text())
    assert tuple(expected["counts"][key] for key in ("expected", "scored", "failed", "missing", "unmatched")) == counts
    assert expected["aggregates"]["time_score"] == pytest.approx(time_score, abs=1e-9)
