"""Freehand scans from files to metrics.json, in every form a prediction may come in."""

import json
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from challenges.built import freehand
from challenges.freehand_files import (
    CONFIGURATION,
    SCAN,
    off_by_5_mm,
    reference_sets,
    write_ground_truth,
    write_h5,
    write_job,
    write_npy,
    write_npz,
    write_predictions,
)
from evaluating import evaluate, evaluate_command
from metrics import made as golden
from places import ROOT

from podium.challenges import challenge_for_format, load_challenge
from podium.challenges.freehand.scoring import FreehandSettings
from podium.challenges.ground_truth import ChallengeFolder
from podium.challenges.settings import ChallengeFile
from podium.cli import main
from podium.errors import ConfigurationError
from podium.platform.jobs import Runtime
from podium.platform.metrics_file import CaseResult
from podium.platform.submission import submission_names

pytestmark = pytest.mark.usefixtures("in_process")

NAMES = ("gpe", "gle", "lpe", "lle")
SHUFFLED = {"shuffle": True, "compression": "gzip", "compression_opts": 1}


@pytest.fixture
def truth(tmp_path: Path) -> Path:
    return write_ground_truth(tmp_path / "truth")


@pytest.fixture
def scored(tmp_path: Path, truth: Path) -> Callable[[], dict[str, Any]]:
    """metrics.json of the folder `submission`."""
    return lambda: evaluate(tmp_path / "submission", truth, tmp_path / "output")


def rank_teams(tmp_path: Path, truth: Path, teams: dict[str, tuple[float, float | None]]) -> dict[str, Any]:
    """ranking.json of teams that send the references times a factor, in this time or without a runtime.json."""
    for name, (factor, seconds) in teams.items():
        write_npy(tmp_path / name / SCAN, {array: factor * values for array, values in reference_sets().items()})
        if seconds is not None:
            (tmp_path / name / "runtime.json").write_text(json.dumps({SCAN: seconds}))
        evaluate(tmp_path / name, truth, tmp_path / "teams" / name)
    assert main(["rank", str(tmp_path / "teams"), "--output", str(tmp_path / "ranking")]) == 0
    ranking: dict[str, Any] = json.loads((tmp_path / "ranking/ranking.json").read_text())
    return ranking


@pytest.mark.usefixtures("processes")
def test_threads_and_processes_give_the_same_bytes(tmp_path: Path) -> None:
    submission, truth = ROOT / "test/submissions/freehand/fathom", ROOT / "ground-truth/freehand"
    contents = set()
    for workers in ("1", "2", "4", "16"):
        evaluate(submission, truth, tmp_path / workers, "--workers", workers)
        contents.add((tmp_path / workers / "metrics.json").read_bytes())
    assert len(contents) == 1


FORMS: dict[str, Callable[[Path, Any], Any]] = {
    ".npy": lambda folder, sets: write_npy(folder / SCAN, sets),
    ".npy, one folder too deep": lambda folder, sets: write_npy(folder / "predictions" / SCAN, sets),
    ".npz deflated": lambda folder, sets: write_npz(folder / f"{SCAN}.npz", sets),
    ".npz stored": lambda folder, sets: write_npz(folder / f"{SCAN}.npz", sets, deflated=False),
    ".npz of numpy": lambda folder, sets: np.savez(folder / f"{SCAN}.npz", **sets),
    ".h5 contiguous": lambda folder, sets: write_h5(folder / f"{SCAN}.h5", sets),
    ".h5 recommended": lambda folder, sets: write_h5(folder / f"{SCAN}.h5", sets, chunks=(1, 3, 20), **SHUFFLED),
    ".h5 gzip alone": lambda folder, sets: write_h5(folder / f"{SCAN}.h5", sets, chunks=(2, 3, 20), compression=9),
    ".h5 shuffled alone": lambda folder, sets: write_h5(
        folder / f"{SCAN}.h5", sets, chunks=(2, 2, 7), shuffle=True, compression=None
    ),
    ".h5 odd chunks": lambda folder, sets: write_h5(folder / f"{SCAN}.h5", sets, chunks=(2, 2, 7), **SHUFFLED),
    ".h5 small chunks": lambda folder, sets: write_h5(folder / f"{SCAN}.h5", sets, chunks=(1, 1, 1), **SHUFFLED),
    ".h5 growable": lambda folder, sets: write_h5(
        folder / f"{SCAN}.h5", sets, chunks=(16, 3, 32), maxshape=(None, 3, None), compression="gzip"
    ),
    "tar.gz of .npy": lambda folder, sets: pack(folder, write_npy(folder / SCAN, sets)),
}


def pack(folder: Path, scan: Path) -> None:
    with tarfile.open(folder / "submission.tar.gz", "w:gz") as archive:
        for path in sorted(scan.iterdir()):
            archive.add(path, f"{scan.name}/{path.name}")
            path.unlink()
    scan.rmdir()


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("dtype", ["<f8", "<f4", ">f4", ">f8"])
def test_every_form_of_the_worked_example_scores_the_same(form: str, dtype: str, tmp_path: Path, scored: Any) -> None:
    submission = tmp_path / "submission"
    submission.mkdir()
    FORMS[form](submission, off_by_5_mm(dtype))
    found = scored()
    row = found["results"][SCAN]["metrics"]
    assert {name: row[name] for name in NAMES} == pytest.approx(dict.fromkeys(NAMES, 5.0), abs=1e-5)
    assert row["normalised"] == pytest.approx(golden.NORMALISED_AT_5_MM, abs=1e-5)
    assert row["largest"] == pytest.approx(golden.LARGEST, abs=1e-5)
    assert found["aggregates"]["final_score"] == pytest.approx(golden.FINAL_AT_5_MM, abs=1e-5)
    assert found["aggregates"]["score"] == 0.799


TRANSFORMS = {"global_transforms": golden.GLOBAL, "local_transforms": golden.LOCAL}
ROUGH = golden.LOCAL + np.array([0, 0, 0, 3e-8])[:, None]


@pytest.mark.parametrize(
    "given",
    [
        {"local_transforms": golden.LOCAL},
        {"local_transforms": ROUGH},
        {"global_transforms": golden.GLOBAL},
        TRANSFORMS,
    ],
    ids=["local", "local with a tiny rounding error in the last row", "global", "both"],
)
@pytest.mark.parametrize(("write", "ending"), [(write_h5, ".h5"), (write_npz, ".npz"), (write_npy, "")])
def test_transforms_replace_everything(
    given: dict[str, Any], write: Callable[..., Path], ending: str, tmp_path: Path, scored: Any
) -> None:
    write(tmp_path / "submission" / f"{SCAN}{ending}", given)
    assert scored()["aggregates"]["final_score"] == pytest.approx(1, abs=1e-5)


def test_identity_transforms_score_nothing(tmp_path: Path, scored: Any) -> None:
    write_h5(tmp_path / "submission" / f"{SCAN}.h5", {"local_transforms": np.tile(np.eye(4), (2, 1, 1))})
    found = scored()
    row = found["results"][SCAN]["metrics"]
    assert {name: row[name] for name in NAMES} == pytest.approx(golden.LARGEST, abs=1e-5)
    assert found["aggregates"]["final_score"] == pytest.approx(0, abs=1e-6)


def test_what_is_given_explicitly_wins_over_transforms(tmp_path: Path, scored: Any) -> None:
    sets = off_by_5_mm()
    write_h5(tmp_path / "submission" / f"{SCAN}.h5", {**TRANSFORMS, "GP": sets["GP"], "LL": sets["LL"]})
    row = scored()["results"][SCAN]["metrics"]
    assert {name: row[name] for name in NAMES} == pytest.approx({"gpe": 5, "gle": 0, "lpe": 0, "lle": 5}, abs=1e-5)


def test_pixels_in_the_wrong_order_cost_what_the_worked_example_says(tmp_path: Path, scored: Any) -> None:
    sets = reference_sets() | {"GP": golden.column_major(golden.GP), "LP": golden.column_major(golden.LP)}
    write_npy(tmp_path / "submission" / SCAN, sets)
    row = scored()["results"][SCAN]["metrics"]
    assert {name: row[name] for name in ("gpe", "lpe")} == pytest.approx(golden.COLUMN_MAJOR, abs=1e-5)


@pytest.mark.parametrize(("edition", "expected"), [("2024", 0), ("2025", -1)])
def test_worse_than_identity(edition: str, expected: int, tmp_path: Path) -> None:
    truth = write_ground_truth(tmp_path / "truth", edition=edition)
    write_npy(tmp_path / "submission" / SCAN, {name: -values for name, values in reference_sets().items()})
    found = evaluate(tmp_path / "submission", truth, tmp_path / "output")
    row, total = found["results"][SCAN]["metrics"], found["aggregates"]
    assert row["unclipped"] == pytest.approx(dict.fromkeys(NAMES, -1), abs=1e-5)
    assert row["normalised"] == pytest.approx(dict.fromkeys(NAMES, expected), abs=1e-5)
    assert total["score"] == expected
    assert total["final_score_unclipped"] == pytest.approx(-1, abs=1e-5)
    assert total["global_score"] == pytest.approx(expected, abs=1e-5)
    assert total["as_written"]["global_score"] == pytest.approx(1 - expected, abs=1e-5)


@pytest.mark.parametrize(
    ("table", "problem"),
    [
        ("", 'line 6: \'freehand.edition\' is missing: write "2024" or "2025".'),
        ('edition = "2023"', "line 7: 'freehand.edition' is wrong: input should be '2024' or '2025'."),
        (
            "clip = true",
            'line 7: \'freehand.clip\' is no longer a key: write edition = "2024" for clip = true, or edition = "2025" '
            "for clip = false.",
        ),
        ('edition = "2025"\ntime_limit_hours = 0', "line 8: 'freehand.time_limit_hours' is wrong: "),
    ],
)
def test_the_edition_must_be_named(table: str, problem: str, tmp_path: Path) -> None:
    truth = write_ground_truth(tmp_path / "truth")
    (truth / "challenge.toml").write_text(CONFIGURATION.replace('edition = "2024"', table))
    file = ChallengeFile(truth / "challenge.toml")
    with pytest.raises(ConfigurationError) as error:
        load_challenge(ChallengeFolder(name="freehand", path=truth, file=file, common=file.common()))
    assert str(error.value).startswith(f"challenge.toml, {problem}")


@pytest.mark.parametrize(
    ("seconds", "expected"), [((6.0, 1.2), 0), ((6.0, 1.201), 1), ((6.0, None), None), ((7.3, None), 1)]
)
def test_a_time_limit_for_all_scans(seconds: tuple[float | None, ...], expected: int | None) -> None:
    """Of an unknown runtime only the known part counts: it may be beyond the limit, but is never known to be within."""
    board = freehand(FreehandSettings(edition="2025", time_limit_hours=0.002))
    results = [
        CaseResult(case=each, status="missing", metrics=board.score_missing(None).metrics, error="-") for each in "ab"
    ]
    known = {case: each for case, each in zip("ab", seconds, strict=True) if each is not None}
    assert board.aggregate(results, Runtime(by_case=known)).get("over_time_limit") == expected
    assert "over_time_limit" not in freehand().aggregate(results, Runtime(by_case=known))


def test_teams_beyond_the_time_limit_are_named(tmp_path: Path) -> None:
    truth = write_ground_truth(tmp_path / "truth", extra="time_limit_hours = 0.5\n", edition="2025")
    teams = {"slow": (1.0, 1801.0), "fast": (1.0, 1800.0), "unknown": (1.0, None)}
    ranking = rank_teams(tmp_path, truth, teams)
    assert [note["text"] for note in ranking["notes"] if "time limit" in note["text"]] == [
        "Warning: beyond the time limit of 0.5 h for all cases: slow.",
        "Not known to be within the time limit of 0.5 h for all cases: unknown.",
    ]


def test_a_scan_that_did_not_move(tmp_path: Path) -> None:
    """Whatever the pose: the identity is perfect, anything else worth nothing."""
    pose = np.linalg.inv(golden.IMAGE_TO_TOOL) @ golden.TOOL_TO_CAMERA[1] @ golden.TOOL_TO_CAMERA[2]
    truth = write_ground_truth(tmp_path / "truth", scans={SCAN: np.tile(pose, (3, 1, 1))})
    still, moving = tmp_path / "still", tmp_path / "moving"
    write_h5(still / f"{SCAN}.h5", {"local_transforms": np.tile(np.eye(4), (2, 1, 1))})
    write_npy(moving / SCAN, reference_sets())
    assert evaluate(still, truth, tmp_path / "a")["aggregates"]["score"] == 1
    assert evaluate(moving, truth, tmp_path / "b")["aggregates"]["score"] == 0


def test_two_frames_are_enough(tmp_path: Path) -> None:
    landmarks = golden.LANDMARKS[golden.LANDMARKS[:, 0] == 1]
    truth = write_ground_truth(tmp_path / "truth", scans={SCAN: golden.TOOL_TO_CAMERA[:2]}, landmarks=landmarks)
    sets = {"GP": golden.GP[:1], "LP": golden.LP[:1], "GL": golden.GL[:, [0, 3]], "LL": golden.LL[:, [0, 3]]}
    write_npy(tmp_path / "submission" / SCAN, sets)
    found = evaluate(tmp_path / "submission", truth, tmp_path / "output")
    assert found["aggregates"]["final_score"] == pytest.approx(1, abs=1e-6)


def test_values_beyond_float32_are_measured_all_the_same(tmp_path: Path, scored: Any) -> None:
    sets = reference_sets()
    sets["GP"] = sets["GP"] + np.array([3e25, 4e25, 0])[:, None]
    write_npy(tmp_path / "submission" / SCAN, sets)
    row = scored()["results"][SCAN]["metrics"]
    assert row["gpe"] == pytest.approx(5e25)
    assert row["normalised"]["gpe"] == 0


def test_errors_whose_squares_would_be_no_numbers_cost_their_scan(tmp_path: Path) -> None:
    """A probe that moved by 0.001 mm: standing still gives E* = 0, 8e49 mm would give -8e52."""
    other = "sub051__RH_rotation"
    poses = np.tile(np.eye(4), (3, 1, 1))
    poses[1:, 0, 3] = 0.001
    truth = write_ground_truth(tmp_path / "truth", scans={SCAN: poses, other: poses})
    for scan, distance in ((SCAN, 0.0), (other, 8e49)):
        write_npy(
            tmp_path / "submission" / scan,
            {name: np.full_like(values, distance / 3**0.5) for name, values in reference_sets().items()},
        )
    found = evaluate(tmp_path / "submission", truth, tmp_path / "output")["results"]
    assert found[SCAN]["status"] == "scored"
    assert found[other]["error"] == "The prediction holds numbers so large that a figure is beyond 1e+50."


def test_without_keys_every_scan_is_a_case(tmp_path: Path) -> None:
    scans = {SCAN: golden.TOOL_TO_CAMERA, "sub051__RH_rotation": golden.TOOL_TO_CAMERA}
    truth = write_ground_truth(tmp_path / "truth", scans=scans, keys=False)
    write_npy(tmp_path / "submission" / SCAN, reference_sets())
    found = evaluate(tmp_path / "submission", truth, tmp_path / "output")
    assert {case: row["status"] for case, row in found["results"].items()} == {
        SCAN: "scored",
        "sub051__RH_rotation": "missing",
    }
    assert found["aggregates"]["score"] == 0.5
    assert found["aggregates"]["gpe"]["mean"] == pytest.approx(0, abs=1e-5)
    assert found["aggregates"]["scans"] == {"expected": 2, "scored": 1, "failed": 0, "missing": 1}


# Jobs


def test_jobs_are_paired_by_the_name_of_an_input(tmp_path: Path, truth: Path) -> None:
    folder = tmp_path / "submission"
    jobs = [
        write_job(folder, pk="1", inputs=["landmarks.json", f"{SCAN}.h5"], output="displacement-fields.h5"),
        write_job(folder, pk="2", inputs=["sub099__X.h5"], output="displacement-fields.h5"),
    ]
    write_h5(folder / "1/output/displacement-fields.h5", off_by_5_mm())
    write_predictions(folder, jobs)
    found = evaluate(folder, truth, tmp_path / "output")
    assert found["aggregates"]["score"] == 0.799
    assert found["aggregates"]["runtime_seconds"] == 12
    assert found["counts"]["unmatched"] == 1


def test_a_job_may_send_a_zip_of_arrays(tmp_path: Path, truth: Path) -> None:
    folder = tmp_path / "submission"
    job = write_job(folder, pk="1", inputs=[f"{SCAN}.h5"], output="displacement-fields.zip", seconds=None)
    write_npz(folder / "1/output/displacement-fields.zip", off_by_5_mm(), prefix="fields/")
    write_predictions(folder, [job])
    found = evaluate(folder, truth, tmp_path / "output")
    assert found["aggregates"]["score"] == 0.799
    assert found["aggregates"]["runtime_known"] == 0


# Runtime


def test_the_faster_of_two_equal_teams_ranks_higher_and_no_runtime_outweighs_a_thousandth(
    tmp_path: Path, truth: Path
) -> None:
    ranking = []
    for name, seconds in (("fast", 0.0), ("slow", 300.0), ("unknown", None)):
        write_npy(tmp_path / name / SCAN, off_by_5_mm())
        if seconds is not None:
            (tmp_path / name / "runtime.json").write_text(json.dumps({SCAN: seconds, "other": 1}))
        total = evaluate(tmp_path / name, truth, tmp_path / "output" / name)["aggregates"]
        assert total["score"] == 0.799
        assert (total["runtime_known"], total["runtime_seconds"]) == ((0, 1e9) if seconds is None else (1, seconds))
        ranking.append(total["ranking_score"])
    assert 0.8 > ranking[0] > ranking[1] > ranking[2] == 0.799


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("{}", "runtime.json lacks 1 of the submitted cases: their time is unknown."),
        (f'{{"{SCAN}": -1}}', f"runtime.json: '{SCAN}' must be a number of seconds"),
        ("[1]", 'runtime.json must be {"<case>": seconds}.'),
        (f'{{"{SCAN}": NaN}}', "'runtime.json' holds NaN, which is not a JSON number."),
    ],
)
def test_a_bad_runtime_is_an_unknown_runtime(
    content: str, problem: str, tmp_path: Path, truth: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    write_npy(tmp_path / "submission" / SCAN, reference_sets())
    (tmp_path / "submission/runtime.json").write_text(content)
    found = evaluate(tmp_path / "submission", truth, tmp_path / "output")
    assert found["aggregates"]["runtime_known"] == 0
    assert f"runtime: {problem}" in capfd.readouterr().out


@pytest.mark.parametrize("is_sent", [True, False])
def test_one_scan_without_a_runtime_makes_the_mean_unknown(is_sent: bool, tmp_path: Path) -> None:
    """Whether it was sent or not: the document averages over all scans of the test set."""
    other = "sub051__RH_rotation"
    scans = {SCAN: golden.TOOL_TO_CAMERA, other: golden.TOOL_TO_CAMERA}
    truth = write_ground_truth(tmp_path / "truth", scans=scans, keys=False)
    for scan in (SCAN, other) if is_sent else (SCAN,):
        write_npy(tmp_path / "submission" / scan, reference_sets())
    runtimes = {SCAN: 4.0} if is_sent else {SCAN: 4.0, other: 0.0}
    (tmp_path / "submission/runtime.json").write_text(json.dumps(runtimes))
    total = evaluate(tmp_path / "submission", truth, tmp_path / "output")["aggregates"]
    assert (total["runtime_known"], total["runtime_seconds"]) == (0, 4.0)
    assert total["ranking_score"] == total["score"]


def test_a_runtime_without_a_scored_scan_is_worth_nothing() -> None:
    board = freehand()
    lost = CaseResult(case=SCAN, status="failed", metrics=board.score_missing(None).metrics, error="It is broken.")
    total = board.aggregate([lost], Runtime(by_case={SCAN: 0.0}))
    assert (total["runtime_known"], total["runtime_seconds"], total["ranking_score"]) == (1, 0.0, 0.0)


def test_names_in_capitals(tmp_path: Path, truth: Path) -> None:
    folder = write_npy(tmp_path / "submission" / SCAN, reference_sets())
    for path in sorted(folder.iterdir()):
        path.rename(folder / path.name.swapcase())
    (tmp_path / "submission/Runtime.JSON").write_text(json.dumps({SCAN: 3}))
    found = evaluate(tmp_path / "submission", truth, tmp_path / "output")
    assert found["aggregates"]["score"] == 1
    assert found["aggregates"]["runtime_seconds"] == 3


def test_an_array_in_two_spellings_is_two_predictions(
    tmp_path: Path, truth: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    folder = write_npy(tmp_path / "submission" / SCAN, reference_sets())
    np.save(folder / "gp.npy", golden.GP)
    assert evaluate_command(tmp_path / "submission", truth, tmp_path) == 1
    words = f"There are 2 predictions for this case ('{SCAN}/', '{SCAN}/gp.npy'); send one."
    assert words in capfd.readouterr().err


# Around the evaluation


def test_the_case_list_holds_shapes_and_participants_check_against_it(
    tmp_path: Path, truth: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    cases = tmp_path / "cases.json"
    assert main(["manifest", "--ground-truth", str(truth), "--output", str(cases)]) == 0
    content = json.loads(cases.read_text())
    assert content["cases"] == {SCAN: {"GP": [2, 3, 20], "GL": [3, 4], "LP": [2, 3, 20], "LL": [3, 4]}}
    write_npy(tmp_path / "submission" / SCAN, reference_sets())
    assert main(["validate", str(tmp_path / "submission"), "--cases", str(cases)]) == 0
    np.save(tmp_path / "submission" / SCAN / "LP.npy", golden.LP[:1])
    assert main(["validate", str(tmp_path / "submission"), "--cases", str(cases)]) == 1
    assert "3 x 20, expected" in capfd.readouterr().out


@pytest.mark.parametrize("form", [form for form in FORMS if "tar" not in form])
def test_without_a_case_list_the_sets_are_held_against_each_other(form: str, tmp_path: Path) -> None:
    good, bad = tmp_path / "good", tmp_path / "bad"
    good.mkdir()
    bad.mkdir()
    sets = reference_sets()
    FORMS[form](good, sets)
    assert main(["validate", str(good), "--challenge", "freehand"]) == 0
    sets["LP"][1, 0, 7] = np.inf
    FORMS[form](bad, sets)
    assert main(["validate", str(bad), "--challenge", "freehand"]) == 1


@pytest.mark.parametrize("name", [f"{SCAN}.h5", f"{SCAN}/GP.npy", f"x/{SCAN}.npz", f"{SCAN}.H5", f"{SCAN}/GP.NPY"])
def test_a_freehand_submission_is_recognised_from_outside(name: str, tmp_path: Path) -> None:
    folder = tmp_path / "submission"
    (folder / name).parent.mkdir(parents=True)
    (folder / name).write_bytes(b"")
    with zipfile.ZipFile(tmp_path / "all.zip", "w") as archive:
        archive.write(folder / name, name)
    for submission in (folder, tmp_path / "all.zip"):
        assert challenge_for_format("freehand").recognises(submission_names(submission))


def test_reference_values_stay_out_of_anonymous_rows(tmp_path: Path) -> None:
    truth = write_ground_truth(tmp_path / "truth")
    toml = truth / "challenge.toml"
    toml.write_text(toml.read_text().replace('"full"', '"anonymous"'))
    write_npy(tmp_path / "submission" / SCAN, reference_sets())
    (tmp_path / "submission/runtime.json").write_text(json.dumps({SCAN: 50.1}))  # could be the scan's own number
    found = evaluate(tmp_path / "submission", truth, tmp_path / "output")
    ((case, row),) = found["results"].items()
    assert case.startswith("case-")
    assert "largest" not in row["metrics"]
    assert "runtime_seconds" not in row["metrics"]
    assert found["aggregates"]["runtime_seconds"] == 50.1


def test_teams_equal_to_three_decimals_are_ranked_by_runtime(tmp_path: Path, truth: Path) -> None:
    """slow is better in the fifth decimal, which does not count; unknown comes behind everything known."""
    teams = {"slow": (0.80000, 9.0), "fast": (0.79999, 5.0), "unknown": (0.80001, None)}
    ranking = rank_teams(tmp_path, truth, teams)
    ranks = {team["name"]: team["rank"] for team in ranking["teams"]}
    assert ranks == {"fast": 1, "slow": 2, "unknown": 3}
