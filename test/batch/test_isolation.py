"""Submissions of a batch are decoded as those of an evaluation are: in processes of their own."""

import ctypes
import json
from pathlib import Path
from typing import Any

from sandbox.hijacking import decoders_with

from podium.execution.processes import Processes
from podium.readers.files import is_decoder_installed
from podium.sandbox import decoder
from podium.sandbox.decoders import decoders, ensure_decoders
from podium.tools.batch.run import run_batch

PROJECT = Path(__file__).resolve().parents[2]


def test_a_reader_that_crashes_costs_its_case_alone(tmp_path: Path) -> None:
    real = decoder.READERS["hdf5.read"]

    def crash(opened: decoder.OpenFile, **options: Any) -> decoder.Answer:
        if "csv_0042" in opened.file.name:
            ctypes.string_at(0)
        return real(opened, **options)

    teams = tmp_path / "teams"
    teams.mkdir()
    (teams / "carina").symlink_to(PROJECT / "test/submissions/carotid/carina")
    with decoders_with(__name__, READERS={**decoder.READERS, "hdf5.read": crash}):
        run_batch(
            submissions=teams,
            output=tmp_path / "output",
            ground_truth=PROJECT / "ground-truth/carotid",
            challenge=None,
            executor=lambda progress: Processes(workers=2, progress=progress),
        )
    rows = json.loads((tmp_path / "output/teams/carina/metrics.json").read_bytes())["results"]
    assert [row["case"] for row in rows if row["status"] != "scored"] == ["csv_0042"]


def test_a_process_on_another_machine_has_decoders_of_its_own() -> None:
    with decoders():  # that others were in place before changes nothing
        ensure_decoders("h5py")

    def before_and_after(_: str) -> tuple[bool, bool]:
        before = is_decoder_installed()
        ensure_decoders("h5py")
        return before, is_decoder_installed()

    (outcome,) = Processes(workers=1).run(["a"], before_and_after, label="scoring").values()
    assert outcome.value == (False, True)
