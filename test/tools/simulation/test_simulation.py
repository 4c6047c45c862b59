"""Driving algorithms: what is written, what happens when steps fail, and going on where a run was stopped."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import tracemalloc
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import SimpleITK
from challenges.lesions_folders import HALF, LESION, NOTHING, run, write, write_ground_truth
from places import ROOT

from podium.cli.main import main
from podium.cli.run import SimulateOptions
from podium.errors import UsageError
from podium.tools.simulation import algorithms
from podium.tools.simulation.algorithms import KEPT_BYTES, Folders, find_algorithm, run_program
from podium.tools.simulation.run import find_cases

pytestmark = pytest.mark.slow

DEMONSTRATION = ROOT / "test/algorithms/threshold/process.py"

ALGORITHM = '''
import json, pathlib, shutil
import numpy as np, SimpleITK

CALLS = []

def answer(input_folder, output_folder):
    """One voxel of the first lesion row more with every scribble seen."""
    points = json.loads((input_folder / "lesion-clicks.json").read_text())["points"]
    CALLS.append(len(points))
    [pet] = (input_folder / "images/pet").glob("*.mha")
    [ct] = (input_folder / "images/ct").glob("*.mha")
    image = SimpleITK.ReadImage(str(pet))
    mask = np.zeros(SimpleITK.GetArrayFromImage(image).shape, np.uint8)
    for click in points:
        x, y, z = click["point"]
        mask[z, y, x] = click["name"] == "tumor"
    if pathlib.Path(__file__).with_name("fail").exists() and len(CALLS) in (1, 3):
        raise ValueError("no idea")
    target = output_folder / "images/tumor-lesion-segmentation/answer.mha"
    target.parent.mkdir(parents=True, exist_ok=True)
    result = SimpleITK.GetImageFromArray(mask)
    result.CopyInformation(image)
    if pathlib.Path(__file__).with_name("ras").exists():
        result = SimpleITK.DICOMOrient(result, "RAS")
    SimpleITK.WriteImage(result, str(target), True)
'''


@pytest.fixture
def folders(tmp_path: Path) -> dict[str, Path]:
    """Two cases: `a` with a lesion, `b` without."""
    for case, reference in (("a", LESION), ("b", NOTHING)):
        write(tmp_path / f"references/{case}.nii.gz", reference)
        for channel in ("_0000", "_0001"):
            write(tmp_path / f"images/{case}{channel}.nii.gz", reference.astype(np.float32))
    return {name: tmp_path / name for name in ("images", "references", "output")}


@pytest.fixture
def algorithm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The module above, freshly imported."""
    (tmp_path / "code").mkdir()
    (tmp_path / "code/growing_answers.py").write_text(ALGORITHM)
    monkeypatch.syspath_prepend(tmp_path / "code")
    sys.modules.pop("growing_answers", None)
    import growing_answers  # type: ignore[import-not-found]

    yield growing_answers
    sys.modules.pop("growing_answers", None)


def arguments(folders: dict[str, Path], spec: str) -> list[str]:
    return ["simulate", "--algorithm", spec, *(f"--{name}={path}" for name, path in folders.items())]


def simulate(folders: dict[str, Path], spec: str = "python:growing_answers:answer", *more: str) -> int:
    return main([*arguments(folders, spec), *more])


def steps_of(folder: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads((folder / "steps.json").read_text())["steps"]
    return found


def points_at(folder: Path, step: int) -> int:
    """How many points the scribbles of a step have."""
    return len(json.loads((folder / f"iter_{step}_scribbles.json").read_text())["points"])


@pytest.mark.parametrize("orientation", ["lps", "ras"])
def test_what_is_written_is_what_the_scorer_reads(
    folders: dict[str, Path], algorithm: Any, tmp_path: Path, orientation: str
) -> None:
    (tmp_path / "code" / orientation).touch()
    assert simulate(folders) == 0
    names = {path.name for path in (folders["output"] / "a").iterdir()}
    assert names == {f"iter_{k}{end}" for k in range(6) for end in (".mha", "_scribbles.json")} | {"steps.json"}
    ground_truth = write_ground_truth(tmp_path / "gt", {"a": LESION, "b": NOTHING}, settings="steps = 6")
    found = run(folders["output"], ground_truth, tmp_path / "scores")
    dice = [step["dice"] for step in found["results"]["a"]["metrics"]["steps"]]
    assert dice[0] == 0.0
    assert all(after > before for before, after in pairwise(dice))
    assert dice == [step["dice"] for step in steps_of(folders["output"] / "a")]
    assert found["counts"]["unmatched"] == 0
    counts = [points_at(folders["output"] / "a", step) for step in range(6)]
    assert counts[0] == 0
    assert counts == sorted(set(counts)) == algorithm.CALLS[:6]  # scribbles accumulate
    # A case without lesions repeats its first step: nothing is there to scribble on.
    assert len(algorithm.CALLS) == 7
    assert [step["status"] for step in steps_of(folders["output"] / "b")] == ["done"] + ["repeated"] * 5
    assert len({(folders["output"] / f"b/iter_{step}.mha").read_bytes() for step in range(6)}) == 1
    assert points_at(folders["output"] / "b", 5) == 0


RECORDED = {  # a: the organisers' form, two scribbles in its second correction; b: what `podium simulate` writes
    "a_0000/iter_1": {"tumor": [[2, 2, 1], [3, 2, 1]], "background": []},
    "a_0000/iter_2": {"tumor": [[2, 2, 1], [3, 2, 1], [2, 3, 2]], "background": [[9, 7, 5]]},
    "b/iter_0": {"points": []},
    "b/iter_1": {"points": [{"point": [1, 1, 1], "name": "background"}]},
}


def write_recorded(folder: Path, recorded: dict[str, Any]) -> Path:
    for name, content in recorded.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / f"{name}_scribbles.json").write_text(json.dumps(content))
    return folder


def test_recorded_scribbles_are_replayed_unchanged(
    folders: dict[str, Path], algorithm: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whatever the algorithm answers, in a case without lesions too, and as many steps as were recorded."""
    replay = write_recorded(tmp_path / "recorded", RECORDED)
    assert simulate(folders, "python:growing_answers:answer", "--replay", str(replay)) == 0
    assert algorithm.CALLS == [0, 2, 4, 0, 1]
    assert [points_at(folders["output"] / "a", step) for step in range(3)] == [0, 2, 4]
    voxels = SimpleITK.GetArrayFromImage(SimpleITK.ReadImage(str(folders["output"] / "a/iter_2.mha")))
    assert {tuple(place) for place in np.argwhere(voxels).tolist()} == {(1, 2, 2), (1, 2, 3), (2, 3, 2)}
    assert [step["status"] for step in steps_of(folders["output"] / "b")] == ["done"] * 2
    assert "b  step 2 of 2  " in capsys.readouterr().err
    # Other recordings are asked again, from the first step that differs.
    one_more = {"tumor": [[2, 2, 1], [3, 2, 1], [2, 3, 2]], "background": [[9, 7, 5], [9, 7, 4]]}
    write_recorded(replay, {"a_0000/iter_2": one_more})
    assert simulate(folders, "python:growing_answers:answer", "--replay", str(replay)) == 0
    assert algorithm.CALLS[5:] == [5]


@pytest.mark.parametrize(
    ("recorded", "words"),
    [
        ({"a/iter_1": {"points": []}}, "--replay: 'b' needs a folder with iter_1_scribbles.json and so on"),
        ({"a/iter_0": {"points": []}, "a/iter_2": {"points": []}}, "--replay: 'a' needs a folder with"),
        (
            {"a/iter_1": {"tumor": [[1, 1, 1]], "background": []}, "a/iter_2": {"points": []}},
            "--replay: step 2 of 'a' lacks points of step 1; they accumulate.",
        ),
        ({"a/iter_1": {"tumor": []}}, "'iter_1_scribbles.json' in 'a' holds no scribbles"),
    ],
)
def test_recordings_that_do_not_fit(
    recorded: dict[str, Any],
    words: str,
    folders: dict[str, Path],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    replay = write_recorded(tmp_path / "recorded", recorded)
    assert simulate(folders, "command:true", "--replay", str(replay)) == 2
    assert capsys.readouterr().err.splitlines()[-1].startswith(words)


@pytest.mark.parametrize("option", ["--steps=3", "--strategy=random"])
def test_recorded_scribbles_decide_steps_and_strategy(
    option: str, folders: dict[str, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    assert simulate(folders, "command:true", "--replay", "recorded", option) == 2
    words = "With --replay the recorded scribbles decide: leave out --steps and --strategy."
    assert capsys.readouterr().err.splitlines()[-1] == words


@pytest.mark.usefixtures("algorithm")
def test_simulated_and_recorded_scribbles_never_mix_in_one_folder(folders: dict[str, Path], tmp_path: Path) -> None:
    replay = write_recorded(tmp_path / "recorded", RECORDED)
    assert simulate(folders, "python:growing_answers:answer", "--replay", str(replay)) == 0
    assert simulate(folders) == 2


def test_a_step_may_take_twenty_minutes() -> None:
    assert SimulateOptions.step_timeout == 1200.0


def test_a_failed_step_is_recorded_and_the_case_goes_on(
    folders: dict[str, Path], algorithm: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Calls 1 and 3 fail: step 1 is then asked without a scribble, since there was nothing to correct."""
    (tmp_path / "code/fail").touch()
    assert simulate(folders, "python:growing_answers:answer", "--strategy", "random") == 0
    steps = steps_of(folders["output"] / "a")
    assert [step["status"] for step in steps] == ["failed", "done", "failed", "done", "done", "done"]
    assert steps[0]["error"] == "The function raised ValueError: no idea."
    assert algorithm.CALLS[0] == algorithm.CALLS[1] == 0
    assert algorithm.CALLS[2] == algorithm.CALLS[3] > 0
    assert not (folders["output"] / "a/iter_0.mha").exists()
    assert "2 steps failed" in capsys.readouterr().err


def test_a_stopped_run_goes_on_at_the_first_missing_step(
    folders: dict[str, Path], algorithm: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    simulate(folders)
    whole = {path.name: path.read_bytes() for path in (folders["output"] / "a").glob("iter_*")}
    for step in (3, 4, 5):
        (folders["output"] / f"a/iter_{step}.mha").unlink()
    calls = len(algorithm.CALLS)
    capsys.readouterr()
    simulate(folders)
    assert len(algorithm.CALLS) - calls == 3
    assert {path.name: path.read_bytes() for path in (folders["output"] / "a").glob("iter_*")} == whole
    assert capsys.readouterr().err.count("(from an earlier run)") == 3 + 6


@pytest.mark.usefixtures("algorithm")
@pytest.mark.parametrize(
    ("spec", "options", "words"),
    [
        ("python:growing_answers:answer", ("--strategy", "random"), "--strategy 'centerline', not 'random'"),
        ("command:true", (), "--algorithm 'python:growing_answers:answer', not 'command:true'"),
    ],
)
def test_two_simulations_never_mix_in_one_folder(
    folders: dict[str, Path], capsys: pytest.CaptureFixture[str], spec: str, options: tuple[str, ...], words: str
) -> None:
    """`a` is the first case, which the dealing gives the centerline."""
    simulate(folders, "python:growing_answers:answer", "--steps", "2")
    before = {path: path.read_bytes() for path in folders["output"].rglob("*") if path.is_file()}
    assert simulate(folders, spec, "--steps", "3", *options) == 2
    assert capsys.readouterr().err.splitlines()[-1] == (
        f"'{folders['output'] / 'a'}' was started with {words}; give another --output."
    )
    assert {path: path.read_bytes() for path in folders["output"].rglob("*") if path.is_file()} == before


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("command:true",), "--images: 'a_0001.nii.gz' cannot be read as an image."),
        (("command:no-such-program",), "The program 'no-such-program' cannot be started: No such file or directory."),
        (("command:true", "--steps", "0"), "--steps and --step-timeout must be positive."),
    ],
)
def test_what_no_step_can_be_run_with(
    words: tuple[str, ...], sentence: str, folders: dict[str, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    if sentence.startswith("--images"):
        (folders["images"] / "a_0001.nii.gz").write_bytes(b"no image")
    assert simulate(folders, *words) == 2
    assert capsys.readouterr().err.splitlines()[-1] == sentence


@pytest.mark.parametrize("request_to_end", [signal.SIGINT, signal.SIGHUP])
def test_a_program_ends_with_the_simulation(
    request_to_end: signal.Signals, folders: dict[str, Path], tmp_path: Path
) -> None:
    """Ctrl-C reaches us alone, since the program has a session of its own: it must not live on, nor its folders."""
    (tmp_path / "temporary").mkdir()
    environment = os.environ | {"TMPDIR": str(tmp_path / "temporary")}
    code = f"import os, time; open('{tmp_path}/pid', 'w').write(str(os.getpid())); time.sleep(600)"
    command = [
        sys.executable,
        "-m",
        "podium",
        *arguments(folders, f'command:{sys.executable} -c "{code}"'),
        "--steps=1",
    ]
    ours = subprocess.Popen(command, stderr=subprocess.DEVNULL, env=environment)
    pid = tmp_path / "pid"
    try:
        while not (pid.is_file() and pid.read_text()):
            assert ours.poll() is None
            time.sleep(0.05)
        ours.send_signal(request_to_end)
        assert ours.wait(timeout=60) == 130
        assert not list((tmp_path / "temporary").iterdir())
        with pytest.raises(ProcessLookupError):
            os.kill(int(pid.read_text()), 0)
    finally:  # where it fails, neither of the two stays behind
        ours.kill()
        ours.wait()
        with suppress(OSError, ValueError):
            os.kill(int(pid.read_text()), signal.SIGKILL)


def test_more_steps_may_be_added_later(folders: dict[str, Path], algorithm: Any) -> None:
    simulate(folders, "python:growing_answers:answer", "--steps", "2")
    simulate(folders, "python:growing_answers:answer", "--steps", "4")
    assert [step["step"] for step in steps_of(folders["output"] / "a")] == [0, 1, 2, 3]
    assert len(algorithm.CALLS) == 5


@pytest.mark.parametrize(
    ("command", "error"),
    [
        ("rm -r {output}/images", "The algorithm must write one .mha image to"),
        ("true", "The algorithm must write one .mha image to"),
        ("sh -c 'echo first >&2; echo out of luck >&2; exit 1'", "The algorithm ended with exit code 1: out of luck."),
        ("sleep 60", "The algorithm took longer than 2 seconds."),
        (
            "cp SMALL {output}/images/tumor-lesion-segmentation/x.mha",
            "'images/tumor-lesion-segmentation/x.mha' is 10 x 8 x 3",
        ),
    ],
)
def test_a_program_without_a_usable_answer_is_a_failed_step(
    command: str, error: str, folders: dict[str, Path], tmp_path: Path
) -> None:
    write(tmp_path / "small.mha", LESION[:3])
    spec = f"command:{command.replace('SMALL', str(tmp_path / 'small.mha'))}"
    assert simulate(folders, spec, "--steps", "1", "--step-timeout", "2") == 0
    assert steps_of(folders["output"] / "a")[0]["error"].startswith(error)


def test_a_program_that_writes_without_end_fills_no_memory(tmp_path: Path) -> None:
    """256 MB in pieces, of which the end is kept."""
    code = "import sys\nfor n in range(4096): sys.stderr.write('x' * 65536)\nsys.exit('\\nout of words')"
    tracemalloc.start()
    try:
        folders = Folders(tmp_path)
        ended, errors = run_program([sys.executable, "-c", code], folders, timeout_seconds=60.0)
        folders.remove()
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert ended == 1
    assert len(errors) == KEPT_BYTES
    assert errors.endswith("\nout of words\n")
    assert most < 50 * KEPT_BYTES


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("open('x', 'wb').write(bytes(2_000_000)); time.sleep(60)", "more than 1,000,000 bytes."),
        ("open('x', 'wb').write(bytes(2_000_000))", "more than 1,000,000 bytes."),
        ("[open(str(n), 'w') for n in range(2000)]", "more than 1,000 files and folders."),
        ("[(os.mkdir('x'), os.chdir('x')) for n in range(3000)]", "more than 1,000 files and folders."),
        ("open(cache + '/x', 'wb').write(bytes(2_000_000)); time.sleep(60)", "more than 1,000,000 bytes to /cache."),
        ("[open(f'{cache}/{n}', 'w') for n in range(2000)]", "more than 1,000 files and folders to /cache."),
    ],
)
def test_a_program_that_fills_the_disk_is_ended(
    folders: dict[str, Path], code: str, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(algorithms, "MOST_OUTPUT_BYTES", 1_000_000)
    code = f"import os, sys, time; os.chdir(sys.argv[1]); cache = sys.argv[2]; {code}"
    assert simulate(folders, f'command:{sys.executable} -c "{code}" {{output}} {{cache}}', "--steps", "1") == 0
    assert steps_of(folders["output"] / "a")[0]["error"] == f"The algorithm wrote {words}"


@pytest.mark.parametrize("background", ["sleep 60", "sleep 60 2>/dev/null", "setsid sleep 60"])
def test_what_a_program_leaves_in_the_background_ends_with_its_step(background: str, tmp_path: Path) -> None:
    """It is killed unless it has left the session, and its open stderr is not waited for: a step took as long as what
    it had left behind."""
    folders = Folders(tmp_path / "cache")
    started = time.monotonic()
    command = ["sh", "-c", f"{background} & echo $! > {tmp_path}/pid; echo done >&2; sleep 0.5"]
    try:
        assert run_program(command, folders, timeout_seconds=20.0) == (0, "done\n")
    finally:
        folders.remove()
        pid = int((tmp_path / "pid").read_text())
        state = Path(f"/proc/{pid}/stat")
        for _ in range(100):  # until whoever inherits it has noticed that it ended
            if not state.exists() or state.read_text().split()[2] == "Z":
                break
            time.sleep(0.02)
        lives = state.exists() and state.read_text().split()[2] != "Z"
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    assert lives == background.startswith("setsid")
    assert time.monotonic() - started < 10


CACHING = """
import pathlib, shutil, sys

source, target, cache, log = map(pathlib.Path, sys.argv[1:])
[pet] = (source / "images/pet").glob("*.mha")
seen = sorted(path.name for path in cache.iterdir())
with log.open("a") as file:
    print(pet.stem, *seen, file=file)
(cache / f"{pet.stem}-{len(seen)}").touch()
if len(seen) == 1:
    sys.exit("This step fails, and what it left stays.")
shutil.copy(pet, target / "images/tumor-lesion-segmentation/answer.mha")
"""


def caching(tmp_path: Path) -> str:
    program = tmp_path / "caching.py"
    program.write_text(CACHING)
    return f"command:{sys.executable} {program} {{input}} {{output}} {{cache}} {tmp_path / 'log'}"


def test_the_cache_lives_through_the_steps_of_one_case(folders: dict[str, Path], tmp_path: Path) -> None:
    write(tmp_path / "references/b.nii.gz", LESION)
    assert simulate(folders, caching(tmp_path), "--steps", "3") == 0
    each = [["{0}"], ["{0}", "{0}-0"], ["{0}", "{0}-0", "{0}-1"]]
    expected = [" ".join(words).format(case) for case in "ab" for words in each]
    assert (tmp_path / "log").read_text().splitlines() == expected
    assert [step["status"] for step in steps_of(folders["output"] / "a")] == ["done", "failed", "done"]
    assert not list(Path(tempfile.gettempdir()).glob("podium-simulate-*/a-0"))


def test_a_case_with_a_cache_begins_again(folders: dict[str, Path], tmp_path: Path) -> None:
    """What its next step would find there is gone."""
    (tmp_path / "references/b.nii.gz").unlink()
    assert simulate(folders, caching(tmp_path), "--steps", "1") == 0
    assert simulate(folders, caching(tmp_path), "--steps", "3") == 0
    assert (tmp_path / "log").read_text().splitlines() == ["a", "a", "a a-0", "a a-0 a-1"]
    assert simulate(folders, caching(tmp_path), "--steps", "3") == 0
    assert len((tmp_path / "log").read_text().splitlines()) == 4


def test_the_input_folder_is_the_platforms(folders: dict[str, Path], tmp_path: Path) -> None:
    """A program that copies its input away and answers nothing."""
    simulate(folders, f"command:cp -r {{input}} {tmp_path}/kept", "--steps", "1")
    kept = tmp_path / "kept"
    files = {path.relative_to(kept).as_posix() for path in kept.rglob("*") if path.is_file()}
    assert {"lesion-clicks.json", "images/ct/a.mha", "images/pet/a.mha"} <= files
    pet = SimpleITK.GetArrayFromImage(SimpleITK.ReadImage(str(kept / "images/pet/a.mha")))
    assert np.array_equal(pet, LESION)


def test_the_demonstration_improves_with_every_step(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folders = {
        "images": ROOT / "test/images/lesions",
        "references": ROOT / "ground-truth/lesions/references",
        "output": tmp_path / "output",
    }
    assert simulate(folders, f"command:{sys.executable} {DEMONSTRATION} {{input}} {{output}}") == 0
    curve = [float(row.split()[1]) for row in capsys.readouterr().out.splitlines()[2:]]
    assert len(curve) == 6
    assert curve == sorted(curve)
    assert curve[0] < 0.5
    assert curve[-1] > 0.9
    found = run(tmp_path / "output", ROOT / "ground-truth/lesions", tmp_path / "scores")
    assert list(found["aggregates"]["dice_by_step"].values()) == pytest.approx(curve, abs=5e-5)


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ("model", "is none of docker:IMAGE"),
        ("docker:", "is none of docker:IMAGE"),
        ("command: ", "is none of docker:IMAGE"),
        ('command:x "', "cannot be split into words"),
        ("python:nowhere:run", "The function 'nowhere:run' cannot be loaded"),
        ("python:json:nothing", "The function 'json:nothing' cannot be loaded"),
        ("python:json:__name__", "is not a function"),
    ],
)
def test_algorithms_that_cannot_be(spec: str, words: str) -> None:
    with pytest.raises(UsageError) as caught:
        find_algorithm(spec)
    assert words in str(caught.value)


def test_folders_that_do_not_fit(folders: dict[str, Path], tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="--images: there is no folder"):
        find_cases(tmp_path / "nowhere", folders["references"])
    (folders["images"] / "a_0001.nii.gz").unlink()
    with pytest.raises(UsageError, match=r"--images: there is no PET of 'a' \(a_0001\.nii\.gz or \.mha\)"):
        find_cases(folders["images"], folders["references"])
    write(folders["references"] / "b.mha", HALF)
    with pytest.raises(UsageError, match="there are two references of 'b'"):
        find_cases(folders["images"], folders["references"])


@pytest.mark.usefixtures("algorithm")
def test_a_step_is_drawn(folders: dict[str, Path], tmp_path: Path) -> None:
    simulate(folders)
    options = ["--images", str(folders["images"]), "--references", str(folders["references"])]
    picture = tmp_path / "picture.png"
    for step in ("0", "2"):
        words = ["a", "--simulation", str(folders["output"]), *options, "--step", step, "--output", str(picture)]
        assert main(["scribbles", "show", *words]) == 0
        pixels = SimpleITK.GetArrayFromImage(SimpleITK.ReadImage(str(picture)))
        assert len(np.unique(pixels.reshape(-1, pixels.shape[-1]), axis=0)) > 10
        picture.unlink()
    assert main(["scribbles", "show", "zz", "--simulation", str(folders["output"]), *options]) == 2
    assert main(["scribbles", "show", "a", "--simulation", str(tmp_path), *options]) == 2
