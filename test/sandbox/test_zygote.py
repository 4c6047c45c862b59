"""Zygotes: how they start, that they are not the first to be killed, and that the run ends when one is killed."""

import os
import resource
import signal
import time
from pathlib import Path

import numpy as np
import pytest
import SimpleITK as sitk
from sandbox.hijacking import zygotes_running
from sandbox.processes import children, has_ended

from podium.errors import MachineError
from podium.kernel import DECODER_OOM_SCORE
from podium.readers.files import SafeFile
from podium.readers.images import read_image
from podium.sandbox import client
from podium.sandbox.client import decoders
from podium.sandbox.wire import Expected

pytestmark = pytest.mark.slow


@pytest.fixture
def file(tmp_path: Path) -> SafeFile:
    sitk.WriteImage(sitk.GetImageFromArray(np.ones((4, 5), np.uint8)), tmp_path / "a.png")
    return SafeFile.inside(tmp_path, "a.png")


def oom_score(pid: int) -> int:
    return int(Path(f"/proc/{pid}/oom_score_adj").read_text(encoding="ascii"))


def test_where_memory_runs_out_decoders_are_killed_before_their_zygote(file: SafeFile) -> None:
    before = children(os.getpid())
    with decoders(libraries=["SimpleITK"]) as found:
        assert found is not None
        (zygote,) = (pid for pid in children(os.getpid()) if pid not in before)
        with found.session(file) as session:
            session.ask("image", expected=Expected(max_bytes=100), shape=None, max_bytes=100)
            assert oom_score(children(zygote)[-1]) == DECODER_OOM_SCORE
        assert oom_score(zygote) == oom_score(os.getpid()) < DECODER_OOM_SCORE


def test_a_killed_zygote_ends_the_run_with_a_sentence_and_nothing_is_left(file: SafeFile) -> None:
    """No other file would do better: no case is to blame."""
    before = children(os.getpid())
    with decoders():
        assert read_image(file).array.shape == (4, 5)
        zygotes = [pid for pid in children(os.getpid()) if pid not in before]
        for pid in zygotes:
            os.kill(pid, signal.SIGKILL)
        while not all(map(has_ended, zygotes)):
            time.sleep(0.01)
        with pytest.raises(MachineError, match=r"^The processes that read submitted files were killed, perhaps"):
            read_image(file)
    assert children(os.getpid()) == before


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("import os, signal; os.kill(os.getpid(), signal.SIGSTOP)", "do not start; are they stopped?"),
        ("import os; os._exit(1)", "end as soon as they are started."),
    ],
)
def test_a_zygote_that_does_not_start_ends_the_run(code: str, message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "_SECONDS_TO_START", 2.0)
    started = time.monotonic()
    with zygotes_running(code), pytest.raises(MachineError) as caught, decoders():
        pass
    assert str(caught.value) == f"The processes that read submitted files {message}"
    assert time.monotonic() - started < 30


def test_too_few_open_files_are_named() -> None:
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (100, before[1]))
    try:
        with pytest.raises(MachineError, match=r"may open only 100 files at once, and Podium needs 128"), decoders():
            pass
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
