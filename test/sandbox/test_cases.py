"""One decoder for all files of a case, and never for two cases."""

import contextlib
import os
import time
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from sandbox.hijacking import decoders_with

from podium.errors import Refused
from podium.readers.files import SafeFile, one_case
from podium.readers.hdf5 import open_hdf5
from podium.sandbox import decoder
from podium.sandbox.decoders import Decoders, decoders
from podium.sandbox.lock import LANDLOCK, SECCOMP


def process_of(_: decoder.OpenFile, **__: Any) -> decoder.Answer:
    return os.getpid(), None


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("a.png", "b.png"):
        (tmp_path / name).touch()
    return tmp_path


def pid_for(found: Decoders | None, path: Path) -> int:
    assert found is not None
    with found.session(SafeFile.inside(path.parent, path.name)) as session:
        return int(session.ask("image").value)


def test_files_of_a_case_share_a_decoder_that_ends_with_the_case(folder: Path) -> None:
    with decoders_with(__name__, READERS={"image": process_of}), decoders() as found:
        with one_case():
            first = pid_for(found, folder / "a.png")
            assert pid_for(found, folder / "b.png") == first
        while Path(f"/proc/{first}").exists():
            time.sleep(0.01)
        with one_case():
            assert pid_for(found, folder / "a.png") != first
        assert pid_for(found, folder / "a.png") != pid_for(found, folder / "a.png"), "outside of a case, one per file"


def test_without_seccomp_files_of_a_case_share_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Under Landlock alone a decoder opens its file by name, and its lock names one file."""
    monkeypatch.setattr("podium.sandbox.decoders.available_layers", lambda: [LANDLOCK])
    with decoders_with(__name__, READERS={"image": process_of}), decoders() as found, one_case():
        assert pid_for(found, folder / "a.png") != pid_for(found, folder / "b.png")


def test_two_files_that_are_open_at_the_same_time_have_two_decoders(folder: Path) -> None:
    with decoders_with(__name__, READERS={"image": process_of}), decoders() as found, one_case():
        assert found is not None
        with found.session(SafeFile.inside(folder, "a.png")) as session:
            assert session.ask("image").value != pid_for(found, folder / "b.png")


def test_what_a_file_did_to_the_decoder_costs_the_next_file_no_try(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names: list[str] = []

    def ruined(opened: decoder.OpenFile, **_: Any) -> decoder.Answer:
        names.append(opened.file.name)
        if len(names) > 1:
            os._exit(1)
        return os.getpid(), None

    monkeypatch.setattr("podium.sandbox.decoders._TRIES", 1)
    with decoders_with(__name__, READERS={"image": ruined}), decoders() as found, one_case():
        assert pid_for(found, folder / "a.png") != pid_for(found, folder / "b.png")


def stealing(_: decoder.OpenFile, *, truth: str) -> decoder.Answer:
    """The reference by its name, and whatever is behind any descriptor."""
    found = []
    for number in range(3, 64):
        with contextlib.suppress(OSError):
            found.append(os.pread(number, 100, 0).decode("latin-1"))
    with contextlib.suppress(OSError):
        found.append(Path(truth).read_text(encoding="utf-8"))
    return found, None


@pytest.mark.parametrize("layers", [[LANDLOCK, SECCOMP], [SECCOMP], []])
def test_a_decoder_that_was_given_a_second_file_can_read_no_reference(
    folder: Path, layers: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("podium.sandbox.decoders.available_layers", lambda: layers)
    truth = folder / "truth.txt"
    truth.write_text("the truth", encoding="utf-8")
    with decoders_with(__name__, READERS={"image": stealing}), decoders() as found, one_case():
        assert found is not None
        for name in ("a.png", "b.png"):
            with found.session(SafeFile.inside(folder, name)) as session:
                stolen = session.ask("image", truth=str(truth)).value
                assert ("the truth" in stolen) == (not layers), "it succeeds where nothing prevents it"


def test_a_shared_decoder_reads_the_file_it_was_given_last(tmp_path: Path) -> None:
    for number in range(3):
        with h5py.File(tmp_path / f"{number}.h5", "w") as file:
            file["mask"] = np.full((4, 5), number)
    (tmp_path / "broken.h5").write_bytes((tmp_path / "0.h5").read_bytes()[:600])
    with decoders(), one_case():
        for bad, good in (("broken.h5", 0), ("missing.h5", 1), ("broken.h5", 2), ("missing.h5", 0)):
            with pytest.raises(Refused, match=bad), open_hdf5(SafeFile(tmp_path, bad), max_bytes=10**6) as source:
                source.read("mask")
            with open_hdf5(SafeFile(tmp_path, f"{good}.h5"), max_bytes=10**6) as source:
                assert source.read("mask").tolist() == [[good] * 5] * 4
