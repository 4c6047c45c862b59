"""A zygote that is killed has spares, and all are gone when the evaluation is over."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import SimpleITK as sitk
from places import ROOT
from sandbox.hijacking import zygotes_running
from sandbox.processes import children

from podium.errors import MachineError
from podium.readers.files import SafeFile
from podium.readers.images import read_image
from podium.sandbox import decoders as sandbox
from podium.sandbox.decoders import decoders


def has_ended(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


def spares(zygote: int) -> list[int]:
    """Once it has both: they are older than its decoders, of which one may just be ending."""
    while len(found := children(zygote)) < 2:
        time.sleep(0.01)
    return found[:2]


def zygotes(before: list[int]) -> list[int]:
    return [pid for pid in children(os.getpid()) if pid not in before]


def next_zygote(members: list[int]) -> int:
    """Which of these has taken the place of a zygote: it has spares in turn."""
    while not (found := [pid for pid in members if not has_ended(pid) and children(pid)]):
        time.sleep(0.01)
    return found[0]


@pytest.fixture
def file(tmp_path: Path) -> SafeFile:
    sitk.WriteImage(sitk.GetImageFromArray(np.ones((4, 5), np.uint8)), tmp_path / "a.png")
    return SafeFile.inside(tmp_path, "a.png")


def test_a_spare_takes_the_place_of_a_killed_zygote_and_has_spares_in_turn(file: SafeFile) -> None:
    before = children(os.getpid())
    with decoders():
        families = [[zygote] for zygote in zygotes(before)]
        for _ in range(3):
            for members in families:
                zygote = next_zygote(members)
                members.extend(spares(zygote))
                os.kill(zygote, signal.SIGKILL)
            assert read_image(file).array.shape == (4, 5)
    seen = [pid for members in families for pid in members]
    while not all(map(has_ended, seen)):  # its files are closed a moment before a process has ended
        time.sleep(0.01)


def test_a_spare_that_is_killed_is_replaced(file: SafeFile) -> None:
    before = children(os.getpid())
    with decoders():
        generation = zygotes(before)
        first = [pid for zygote in generation for pid in spares(zygote)]
        for spare in first:
            os.kill(spare, signal.SIGKILL)
        while set(first) & {pid for zygote in generation for pid in spares(zygote)}:
            time.sleep(0.01)
        for zygote in generation:
            os.kill(zygote, signal.SIGKILL)
        assert read_image(file).array.shape == (4, 5)


def test_where_all_are_killed_the_run_ends_with_a_sentence(file: SafeFile) -> None:
    """No other file would do better: no case is to blame."""
    before = children(os.getpid())
    with decoders():
        generation = zygotes(before)
        all_of_them = generation + [pid for zygote in generation for pid in spares(zygote)]
        for pid in all_of_them:  # stopped first, so that none sees another one's end
            os.kill(pid, signal.SIGSTOP)
        for pid in all_of_them:
            os.kill(pid, signal.SIGKILL)
        while not all(map(has_ended, all_of_them)):
            time.sleep(0.01)
        with pytest.raises(MachineError, match=r"^The processes that read submitted files were killed, perhaps"):
            read_image(file)


def test_a_zygote_that_is_stopped_at_its_start_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sandbox, "_SECONDS_TO_START", 0.2)
    started = time.monotonic()
    stop = zygotes_running("import os, signal; os.kill(os.getpid(), signal.SIGSTOP)")
    with stop, pytest.raises(MachineError) as caught, sandbox.decoders():
        pass
    assert str(caught.value) == "The processes that read submitted files do not start; are they stopped?"
    assert time.monotonic() - started < 30


def test_too_few_open_files_are_named() -> None:
    code = "import sys; from podium.cli import main; sys.exit(main(sys.argv[1:]))"
    limited = f"import resource; resource.setrlimit(resource.RLIMIT_NOFILE, (32, 32)); {code}"
    submission = ROOT / "test/submissions/carotid/aorta"
    done = subprocess.run(
        [sys.executable, "-c", limited, "validate", str(submission), "--challenge", "carotid"],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
    )
    assert done.stderr.splitlines()[-1] == (
        "This process may open only 32 files at once, and Podium needs 128: raise the limit, as with 'ulimit -n 1024'."
    )
