"""The committed samples are what their generators write, small, and as varied as they claim to be."""

import gzip
import io
import json
import math
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

import h5py
import numpy as np
import pytest
import SimpleITK
from places import ROOT

from samples import arena_cases, carotid, carotid_cases, carotid_teams, freehand, lesions, lesions_cases, reports
from samples.expected import EXPECTED, expect_freehand, write_expected
from samples.freehand_scans import HEIGHT, PLANS, WIDTH, scans
from samples.freehand_teams import C_SHAPE, LINE, S_SHAPE, TURN
from samples.freehand_teams import teams as freehand_teams
from samples.reports_cases import CASES
from samples.reports_teams import INJECTION, WISDOM_INJECTED_CASE
from samples.reports_teams import teams as reports_teams

pytestmark = pytest.mark.slow

AORTA = ROOT / carotid.SUBMISSIONS / "aorta"
MOLAR, CUSPID, WISDOM = (ROOT / reports.SUBMISSIONS / team for team in ("molar", "cuspid", "wisdom"))
ARENA_CASES = ROOT / arena_cases.ARENA_CASES
WRITERS = {"carotid": carotid, "freehand": freehand, "lesions": lesions, "reports": reports}
LARGEST = {"carotid": 5_000_000, "freehand": 3_000_000, "lesions": 2_000_000, "reports": 500_000}


def files_of(root: Path, *folders: Path) -> list[Path]:
    return sorted(path for folder in folders for path in (root / folder).rglob("*") if path.is_file())


def image(packed: bytes) -> object:
    with tempfile.NamedTemporaryFile(suffix=".mha") as file:
        Path(file.name).write_bytes(packed)
        found = SimpleITK.ReadImage(file.name)
    return [found.GetSpacing(), found.GetDirection(), SimpleITK.GetArrayFromImage(found)]


def members(packed: bytes) -> object:
    with zipfile.ZipFile(io.BytesIO(packed)) as archive:
        return {name: content(name, archive.read(name)) for name in archive.namelist()}


def datasets(packed: bytes) -> object:
    with h5py.File(io.BytesIO(packed)) as file:
        return {name: file[name][()] for name in file}


UNPACK = {".gz": gzip.decompress, ".mha": image, ".npz": members, ".zip": members, ".h5": datasets, ".json": json.loads}
UNPACK[".npy"] = lambda packed: np.load(io.BytesIO(packed))


def content(name: str, packed: bytes) -> object:
    """What is in a file; unpacked, since the system's zlib decides how it is packed.

    A file that was cut short on purpose has no content here: where it is cut depends on the packing. One that is
    not what its name says is compared as bytes.
    """
    try:
        return UNPACK.get(Path(name).suffix, bytes)(packed)
    except (EOFError, RuntimeError):
        return None
    except (OSError, ValueError):
        return packed


def alike(first: object, second: object) -> bool:
    """Equal but for the last digits of fractions, in which processors differ (matrix products)."""
    if isinstance(first, dict) and isinstance(second, dict):
        return first.keys() == second.keys() and all(alike(first[key], second[key]) for key in first)
    if isinstance(first, list) and isinstance(second, list):
        return len(first) == len(second) and all(map(alike, first, second))
    if isinstance(first, np.ndarray) and isinstance(second, np.ndarray) and first.dtype.kind == "f":
        same_kind = (first.dtype, first.shape) == (second.dtype, second.shape)
        return same_kind and np.allclose(first, second, rtol=1e-6, atol=1e-5, equal_nan=True)
    if isinstance(first, np.ndarray) and isinstance(second, np.ndarray):
        return first.dtype == second.dtype and np.array_equal(first, second)
    if isinstance(first, float) and isinstance(second, float):
        return math.isclose(first, second, rel_tol=1e-9, abs_tol=1e-12)
    return type(first) is type(second) and bool(first == second)


def contents(root: Path, *folders: Path) -> dict[str, object]:
    return {
        path.relative_to(root).as_posix(): content(path.name, path.read_bytes()) for path in files_of(root, *folders)
    }


def assert_as_committed(regenerated_in: Path, *folders: Path) -> None:
    committed, regenerated = contents(ROOT, *folders), contents(regenerated_in, *folders)
    assert sorted(committed) == sorted(regenerated)
    assert [name for name in committed if not alike(committed[name], regenerated[name])] == []


@pytest.mark.parametrize("challenge", WRITERS)
def test_regenerating_gives_the_committed_content(challenge: str, tmp_path: Path) -> None:
    WRITERS[challenge].write_samples(tmp_path)
    write_expected(tmp_path, challenge)
    assert_as_committed(tmp_path, *WRITERS[challenge].FOLDERS, EXPECTED / challenge)


def test_regenerating_gives_the_committed_arena_cases(tmp_path: Path) -> None:
    arena_cases.write_samples(tmp_path)
    assert_as_committed(tmp_path, arena_cases.ARENA_CASES)


@pytest.mark.parametrize("challenge", WRITERS)
def test_the_samples_are_small(challenge: str) -> None:
    sizes = [path.stat().st_size for path in files_of(ROOT, *WRITERS[challenge].FOLDERS, EXPECTED / challenge)]
    assert 10_000 < sum(sizes) < LARGEST[challenge]


def expected(challenge: str, team: str) -> dict:
    return json.loads((ROOT / EXPECTED / challenge / f"{team}.json").read_text())


@pytest.mark.parametrize(
    ("challenge", "team", "counts"),
    [
        ("carotid", "aorta", (12, 12, 0, 0, 0, 0)),
        ("carotid", "bifurcation", (12, 12, 0, 0, 0, 0)),
        ("carotid", "carina", (12, 12, 0, 0, 0, 0)),
        ("carotid", "dropout", (12, 6, 4, 1, 1, 1)),
        ("freehand", "fathom", (4, 4, 0, 0, 0, 0)),
        ("freehand", "gyro", (4, 4, 0, 0, 0, 0)),
        ("freehand", "wander", (4, 2, 0, 1, 1, 1)),
    ],
)
def test_expected_counts(challenge: str, team: str, counts: tuple[int, ...]) -> None:
    found = expected(challenge, team)["counts"]
    assert tuple(found[key] for key in ("expected", "scored", "partial", "failed", "missing", "unmatched")) == counts


@pytest.mark.parametrize(
    ("team", "time_score"),
    [("aorta", 87.5), ("bifurcation", 50), ("carina", 0), ("dropout", 100 * (180 - 26.5 - 90) / 120)],
)
def test_expected_time_scores(team: str, time_score: float) -> None:
    assert expected("carotid", team)["aggregates"]["time_score"] == pytest.approx(time_score, abs=1e-9)


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


def test_one_scan_is_worse_than_not_moving() -> None:
    row = expect_freehand(freehand_teams()["wander"])["results"][C_SHAPE]["metrics"]
    assert row["final_score_unclipped"] < 0
    assert row["final_score"] == 0


def test_the_phantoms_are_as_planned() -> None:
    assert [int(case.instances.max()) for case in lesions_cases.cases()] == [
        plan.lesions for plan in lesions_cases.PLANS
    ]
    assert sorted(plan.lesions for plan in lesions_cases.PLANS)[0] == 0
    assert sorted(plan.lesions for plan in lesions_cases.PLANS)[-1] == 60
    assert all(
        (np.unique(case.reference)[1:] % 3 == 0).all()
        for case in lesions_cases.cases()
        if case.plan.stored == "instances"
    )


def test_jobs_of_a_case_lie_scattered() -> None:
    jobs = json.loads((ROOT / lesions.SUBMISSIONS / "ember/predictions.json").read_text())
    names = [entry["image"]["name"] for job in jobs for entry in job["inputs"] if entry["interface"]["slug"] == "ct"]
    assert len(jobs) == len(lesions_cases.PLANS) * 6
    assert names != sorted(names)
    assert {name.endswith("_0000.mha") for name in names} == {True, False}


def test_dice_rises_for_both_teams() -> None:
    for team in ("ember", "glow"):
        curve = expected("lesions", team)["aggregates"]["dice_by_step"]
        assert curve["5"] > curve["3"] > curve["0"]


def test_there_are_twenty_reports_of_both_tasks() -> None:
    assert sorted(path.stem for path in (ROOT / reports.REFERENCES).iterdir()) == sorted(CASES)
    assert [sum(case.startswith(letter) for case in CASES) for letter in "BT"] == [10, 10]
    assert any("’" in texts.reference and "è" in texts.reference for texts in CASES.values())


def test_molar_is_an_algorithm_submission_in_no_order() -> None:
    jobs = json.loads((MOLAR / "predictions.json").read_text())
    assert len(jobs) == 20
    names = [job["inputs"][0]["image"]["name"] for job in jobs]
    assert names != sorted(names)
    assert {job["inputs"][0]["interface"]["slug"] for job in jobs} == {"cbct-image", "intra-oral-scan"}
    assert sum(job["pk"].startswith("job-") for job in jobs) == 2
    inline = [job["outputs"][0]["value"] is not None for job in jobs]
    assert (inline.count(True), inline.count(False)) == (10, 10)


def test_cuspid_is_a_folder_of_texts() -> None:
    files = sorted(path.suffix for path in (CUSPID / "texts").iterdir())
    assert (files.count(".txt"), files.count(".json")) == (16, 4)
    assert (CUSPID / "texts/B001.txt").read_bytes().startswith(b"\xef\xbb\xbf")


def test_wisdom_is_one_file_with_gaps_and_an_injection() -> None:
    sent = json.loads((WISDOM / "reports.json").read_text())
    assert sorted(case for case, text in sent.items() if text == "") == ["B004", "B009"]
    assert (sent["T003"], "T006" in sent, "T099" in sent) == (3.14, False, True)
    assert sent[WISDOM_INJECTED_CASE] == INJECTION
    assert "\r\n" in sent["B001"]


def test_paraphrases_score_best() -> None:
    scores = {team: expected("reports", team)["aggregates"]["score"] for team in reports_teams()}
    assert max(scores, key=lambda team: scores[team]) == "molar"
    assert min(scores.values()) > 0.1


def test_every_reported_case_has_its_image() -> None:
    scanned = {f"{case}/{name}" for case in arena_cases.SCANNED for name in ("front.png", "lower.ply", "upper.ply")}
    single = {f"{case}.{'png' if case[0] == 'B' else 'mha'}" for case in CASES if case not in arena_cases.SCANNED}
    assert {path.relative_to(ARENA_CASES).as_posix() for path in files_of(ARENA_CASES, Path())} == scanned | single


def test_they_are_small_and_all_different() -> None:
    files = [path.read_bytes() for path in files_of(ARENA_CASES, Path())]
    assert sum(map(len, files)) < 1_900_000
    assert len(set(files)) == len(files)


def test_volumes_reach_from_air_to_metal() -> None:
    """More greys than a screen has: they are worth a window."""
    image = SimpleITK.ReadImage(str(ARENA_CASES / "T001.mha"))
    assert image.GetSpacing() == (0.9, 0.9, 1.2)
    values = SimpleITK.GetArrayFromImage(image)
    assert (values.shape, values.dtype, values.min(), values.max()) == ((48, 96, 96), np.int16, -1000, 3000)
