"""What is wrong with a scan costs that scan; what is wrong with a reference stops everything."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from challenges.freehand_files import SCAN, reference_sets, write_ground_truth, write_h5, write_npy, write_npz
from evaluating import evaluate, evaluate_command
from metrics import made as golden

pytestmark = pytest.mark.usefixtures("in_process")

OTHER = "sub051__RH_rotation"
SHUFFLED = {"shuffle": True, "compression": "gzip", "compression_opts": 1}


@pytest.fixture
def refusal(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> Callable[[Path], str]:
    """Evaluate a folder that holds something wrong for SCAN; the other scan must be scored. What is said about it."""
    truth = write_ground_truth(tmp_path / "truth", scans={SCAN: golden.TOOL_TO_CAMERA, OTHER: golden.TOOL_TO_CAMERA})

    def run(folder: Path) -> str:
        write_h5(folder / f"{OTHER}.h5", {"local_transforms": golden.LOCAL})
        output = tmp_path / "output"
        rows = evaluate(folder, truth, output, "--workers", "4")["results"]
        assert rows[OTHER]["status"] == "scored"
        assert rows[OTHER]["metrics"]["final_score"] == pytest.approx(1, abs=1e-5)
        row = rows[SCAN]
        assert row["status"] == "failed"
        assert row["metrics"]["final_score"] == 0
        assert row["metrics"]["gpe"] is None
        assert str(tmp_path) not in row["error"]
        capfd.readouterr()
        return str(row["error"])

    return run


@pytest.mark.parametrize(("name", "values"), [("GP", golden.GP[:1]), ("LL", golden.LL[:, :1])])
def test_wrong_shapes(name: str, values: Any, tmp_path: Path, refusal: Callable[[Path], str]) -> None:
    write_npy(tmp_path / "submission" / SCAN, reference_sets() | {name: values})
    assert f"'{SCAN}/{name}.npy' is " in refusal(tmp_path / "submission")


@pytest.mark.parametrize(
    ("bad", "what"), [(np.nan, "NaN"), (np.inf, "an infinite value"), (-np.inf, "an infinite value")]
)
@pytest.mark.parametrize(("name", "place"), [("GP", (1, 2, 19)), ("LP", (0, 0, 0)), ("GL", (2, 3)), ("LL", (0, 1))])
def test_a_single_value_that_is_not_finite(  # noqa: PLR0917
    bad: float, what: str, name: str, place: tuple[int, ...], tmp_path: Path, refusal: Callable[[Path], str]
) -> None:
    sets = reference_sets(np.float32)
    sets[name][place] = bad
    write_h5(tmp_path / "submission" / f"{SCAN}.h5", sets, chunks=(1, 3, 20), **SHUFFLED)
    assert refusal(tmp_path / "submission") == f"'{name}' in '{SCAN}.h5' holds {what}, first at {list(place)}."


@pytest.mark.usefixtures("processes")
def test_the_earliest_of_several_faults_is_named_whatever_the_threads(
    tmp_path: Path, refusal: Callable[[Path], str]
) -> None:
    sets = reference_sets()
    sets["GP"][1, 0, 3] = sets["LP"][0, 1, 1] = np.nan
    write_npy(tmp_path / "submission" / SCAN, sets)
    assert {refusal(tmp_path / "submission") for _ in range(5)} == {f"'{SCAN}/GP.npy' holds NaN, first at [1, 0, 3]."}


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (("GP", "GL", "LL"), "holds GP, GL, LL, but not LP;"),
        (("GP",), "holds GP, but not LP, GL, LL;"),
        (("GL", "LL"), "holds GL, LL, but not GP, LP;"),
    ],
)
def test_some_sets_alone(given: tuple[str, ...], words: str, tmp_path: Path, refusal: Callable[[Path], str]) -> None:
    write_npy(tmp_path / "submission" / SCAN, {name: reference_sets()[name] for name in given})
    ending = "send GP, GL, LP and LL, or global_transforms or local_transforms."
    assert refusal(tmp_path / "submission") == f"'{SCAN}/' {words} {ending}"


def test_arrays_of_other_names(tmp_path: Path, refusal: Callable[[Path], str]) -> None:
    write_npz(tmp_path / "submission" / f"{SCAN}.npz", {"gp": golden.GP, "flow": golden.GP})
    words = refusal(tmp_path / "submission")
    assert words.startswith(f"'{SCAN}.npz' holds flow, gp, but not GP, LP, GL, LL;")


def test_an_npz_that_unpacks_to_more_than_a_scan(tmp_path: Path, refusal: Callable[[Path], str]) -> None:
    write_npz(tmp_path / "submission" / f"{SCAN}.npz", reference_sets() | {"more": np.zeros(10_000_000)})
    assert refusal(tmp_path / "submission").startswith(f"'{SCAN}.npz' unpacks to more than ")


def test_two_forms_of_one_scan(tmp_path: Path, refusal: Callable[[Path], str]) -> None:
    write_npy(tmp_path / "submission" / SCAN, reference_sets())
    write_npz(tmp_path / "submission" / f"{SCAN}.npz", reference_sets())
    assert f"('{SCAN}.npz', '{SCAN}/')" in refusal(tmp_path / "submission")


def test_a_file_that_is_neither(tmp_path: Path, refusal: Callable[[Path], str]) -> None:
    folder = tmp_path / "submission"
    folder.mkdir()
    (folder / f"{SCAN}.h5").write_text("hello")
    words = f"The content of '{SCAN}.h5' is neither HDF5 nor a zip of .npy arrays (.npz)."
    assert refusal(folder) == words


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda m: m.__setitem__((1, 0, 3), np.nan), "Transform 2 of {} holds NaN or infinite values."),
        (lambda m: m.__setitem__((0, 2, 2), np.inf), "Transform 1 of {} holds NaN or infinite values."),
        (lambda m: m.__setitem__((1, 3, 3), 2), "The last row of transform 2 of {} is not 0, 0, 0, 1."),
        (lambda m: m.__setitem__((0, 3, 0), 0.01), "The last row of transform 1 of {} is not 0, 0, 0, 1."),
    ],
)
@pytest.mark.parametrize("name", ["global_transforms", "local_transforms"])
def test_transforms_that_are_none(
    spoil: Callable[[Any], None], words: str, name: str, tmp_path: Path, refusal: Callable[[Path], str]
) -> None:
    matrices = golden.LOCAL.copy()
    spoil(matrices)
    write_h5(tmp_path / "submission" / f"{SCAN}.h5", {name: matrices})
    assert refusal(tmp_path / "submission") == words.format(f"'{name}' in '{SCAN}.h5'")


@pytest.mark.parametrize("shape", [(3, 4, 4), (2, 3, 4), (1, 4, 4), (2, 16)])
def test_transforms_of_a_wrong_shape(shape: tuple[int, ...], tmp_path: Path, refusal: Callable[[Path], str]) -> None:
    write_h5(tmp_path / "submission" / f"{SCAN}.h5", {"local_transforms": np.zeros(shape)})
    assert "expected 2 x 4 x 4" in refusal(tmp_path / "submission")


def test_global_transforms_that_cannot_be_undone(tmp_path: Path, refusal: Callable[[Path], str]) -> None:
    flat = golden.GLOBAL.copy()
    flat[0, :3, 2] = 0
    write_h5(tmp_path / "submission" / f"{SCAN}.h5", {"global_transforms": flat})
    words = f"Transform 1 of 'global_transforms' in '{SCAN}.h5' cannot be inverted."
    assert refusal(tmp_path / "submission") == words


@pytest.mark.parametrize(("name", "follows"), [("local_transforms", "global"), ("global_transforms", "local")])
def test_transforms_beyond_all_measure(name: str, follows: str, tmp_path: Path, refusal: Callable[[Path], str]) -> None:
    huge = golden.LOCAL.copy()
    huge[0, :3] *= 1e200 if follows == "global" else 1e-200
    huge[1, :3] *= 1e200
    write_npy(tmp_path / "submission" / SCAN, {name: huge})
    words = f"The {follows} transforms that follow from '{SCAN}/{name}.npy' are too large to be computed."
    assert refusal(tmp_path / "submission") == words


@pytest.mark.parametrize("name", ["GP", "LL", "global_transforms"])
def test_displacements_beyond_all_measure(name: str, tmp_path: Path, refusal: Callable[[Path], str]) -> None:
    sets = reference_sets() | {"global_transforms": golden.GLOBAL}
    if name == "global_transforms":
        del sets["GP"]
    sets[name] = sets[name].copy()
    sets[name][1, 1, ...] = 1e300 if name != "global_transforms" else [0, 0.8, -0.6, 1e300]
    write_npy(tmp_path / "submission" / SCAN, sets)
    assert refusal(tmp_path / "submission") == f"'{SCAN}/' holds displacements too large to be measured."


# The ground truth


def broken(truth: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> tuple[str, str]:
    """The last line a participant reads, and the organiser's log, of an evaluation that must stop."""
    write_npy(tmp_path / "submission" / SCAN, reference_sets())
    output = tmp_path / "output"
    assert evaluate_command(tmp_path / "submission", truth, output) == 2
    assert not (output / "metrics.json").exists()
    out, err = capfd.readouterr()
    assert SCAN not in err
    return err.splitlines()[-1], out


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ([0, 1, 1], "(frame 0, x 1, y 1)"),
        ([3, 1, 1], "(frame 3, x 1, y 1)"),
        ([1, 0, 1], "(frame 1, x 0, y 1)"),
        ([1, 6, 1], "(frame 1, x 6, y 1)"),
        ([1, 1, 5], "(frame 1, x 1, y 5)"),
        ([1, 1, 0], "(frame 1, x 1, y 0)"),
        ([-1, 1, 1], "(frame -1, x 1, y 1)"),
    ],
)
def test_landmarks_outside_the_frames(
    row: list[int], words: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """The organisers' own code would wrap around in silence."""
    truth = write_ground_truth(tmp_path / "truth", landmarks=np.array([*golden.LANDMARKS.tolist(), row]))
    last, log = broken(truth, tmp_path, capfd)
    assert last == "1 of 1 references are broken. The organisers can find details in the log."
    assert f"Landmark 5 of 'LH_Par_L_DtP' in 'landmark/landmark_050.h5' {words} is outside frames 1 to 2" in log


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"landmarks": np.zeros((0, 3), np.int64)}, "'LH_Par_L_DtP' in 'landmark/landmark_050.h5' is empty."),
        ({"scans": {SCAN: golden.TOOL_TO_CAMERA[:1]}}, "a scan of one frame has no displacement"),
    ],
)
def test_a_scan_without_content(
    options: dict[str, Any], words: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert words in broken(write_ground_truth(tmp_path / "truth", **options), tmp_path, capfd)[1]


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda folder: (folder / "calib_matrix.csv").unlink(), "The references do not contain calib_matrix.csv."),
        (lambda folder: shutil.rmtree(folder / "transfs"), "A scan of the ground truth has no transforms."),
        (lambda folder: shutil.rmtree(folder / "landmark"), "A scan of the ground truth has no landmarks."),
        (lambda folder: (folder / "dataset_keys.h5").write_text("x"), "dataset_keys.h5 cannot be read."),
    ],
)
def test_files_that_lack(
    spoil: Callable[[Path], Any], words: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    truth = write_ground_truth(tmp_path / "truth")
    spoil(truth / "references")
    assert broken(truth, tmp_path, capfd)[0] == words


@pytest.mark.parametrize(
    ("replace", "words"),
    [
        (("scale,,,\n", ""), "must hold a header and four rows, twice; it has 9 lines."),
        (("0.5,", "half,"), "holds a row that is not four numbers."),
        (("0.5,", ""), "holds a row that is not four numbers."),
        (("10.0", "nan"), "Transform 2 of 'calib_matrix.csv' holds NaN or infinite values."),
    ],
)
def test_calibrations_that_are_none(
    replace: tuple[str, str], words: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    truth = write_ground_truth(tmp_path / "truth")
    path = truth / "references/calib_matrix.csv"
    path.write_text(path.read_text().replace(*replace))
    assert words in broken(truth, tmp_path, capfd)[1]
