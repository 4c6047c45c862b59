"""A zygote that is killed has a spare, and both are gone when the evaluation is over."""

import os
import signal
import time
from pathlib import Path

import numpy as np
import pytest
import SimpleITK as sitk

from podium.errors import MachineError
from podium.readers.files import SafeFile
from podium.readers.images import read_image
from podium.sandbox.decoders import decoders


def children(pid: int) -> list[int]:
    return [int(each) for each in Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split()]


def has_ended(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


def spares(zygotes: list[int]) -> list[int]:
    """Once each zygote has one."""
    while not all(found := [children(zygote) for zygote in zygotes]):
        time.sleep(0.01)
    return [each[0] for each in found]


@pytest.fixture
def file(tmp_path: Path) -> SafeFile:
    sitk.WriteImage(sitk.GetImageFromArray(np.ones((4, 5), np.uint8)), tmp_path / "a.png")
    return SafeFile.inside(tmp_path, "a.png")


def test_a_spare_takes_the_place_of_a_killed_zygote_and_has_one_in_turn(file: SafeFile) -> None:
    before = children(os.getpid())
    seen: list[int] = []
    with decoders():
        generation = [pid for pid in children(os.getpid()) if pid not in before]
        for _ in range(3):
            following = spares(generation)
            seen += [*generation, *following]
            for zygote in generation:
                os.kill(zygote, signal.SIGKILL)
            assert read_image(file).array.shape == (4, 5)
            generation = following
    assert len(set(seen)) == 2 * 4
    while not all(map(has_ended, seen)):  # its files are closed a moment before a process has ended
        time.sleep(0.01)


def test_a_spare_that_is_killed_is_replaced(file: SafeFile) -> None:
    before = children(os.getpid())
    with decoders():
        zygotes = [pid for pid in children(os.getpid()) if pid not in before]
        first = spares(zygotes)
        for spare in first:
            os.kill(spare, signal.SIGKILL)
        while set(first) & set(spares(zygotes)):
            time.sleep(0.01)
        for zygote in zygotes:
            os.kill(zygote, signal.SIGKILL)
        assert read_image(file).array.shape == (4, 5)


def test_where_all_are_killed_the_run_ends_with_a_sentence(file: SafeFile) -> None:
    """No other file would do better: no case is to blame."""
    before = children(os.getpid())
    with decoders():
        zygotes = [pid for pid in children(os.getpid()) if pid not in before]
        both = [*zygotes, *spares(zygotes)]
        for pid in both:  # stopped first, so that none sees another one's end
            os.kill(pid, signal.SIGSTOP)
        for pid in both:
            os.kill(pid, signal.SIGKILL)
        while not all(map(has_ended, both)):
            time.sleep(0.01)
        with pytest.raises(MachineError, match=r"^The processes that read submitted files were killed, perhaps"):
            read_image(file)
