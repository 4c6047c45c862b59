"""Files read by decoders: values and refusals are those of reading here, and one bad file costs itself alone."""

import contextlib
import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
import SimpleITK as sitk
from places import ROOT
from readers.test_frames import gathered
from sandbox.hijacking import decoders_with
from sandbox.processes import children

from podium.cli import main
from podium.errors import Refused, UsageError
from podium.evaluation import evaluate
from podium.execution.executor import Serial
from podium.execution.processes import Processes
from podium.kernel import prctl
from podium.platform.metrics_file import CaseResult
from podium.readers.decoding import one_case
from podium.readers.files import SafeFile
from podium.readers.hdf5 import Datasets, open_hdf5
from podium.readers.images import geometry_of, read_image
from podium.readers.volumes import read_mask_volume, read_volume
from podium.sandbox import server
from podium.sandbox.client import Decoders, decoders
from podium.sandbox.lock import LANDLOCK, SECCOMP, available_layers

pytestmark = pytest.mark.slow

SAMPLES = sorted(
    (kind.name, team.name) for kind in (ROOT / "test" / "submissions").iterdir() for team in kind.iterdir()
)
FIELD = (5, 3, 40)
GET_DUMPABLE = 3


@contextmanager
def decoding_by(reader: Callable[..., server.Content]) -> Iterator[Decoders]:
    """Decoders that read images by `reader`."""
    with decoders_with(__name__, READERS={"image": reader}), decoders() as found:
        assert found is not None
        yield found


def here(file: SafeFile) -> SafeFile:
    """The file as one that is read in this process."""
    return replace(file, trusted=True)


@pytest.mark.parametrize("name", ["a.png", "a.tif", "a.mha", "a.nii", "a.nii.gz"])
def test_images_are_the_same(tmp_path: Path, name: str) -> None:
    values = np.random.default_rng(1).integers(0, 2, (9, 20, 30), np.uint8)
    image = sitk.GetImageFromArray(values[0] if name.endswith((".png", ".tif")) else values)
    image.SetSpacing([0.5, 2.0, 3.0][: image.GetDimension()])
    sitk.WriteImage(image, tmp_path / name)
    file = SafeFile.inside(tmp_path, name)
    with decoders():
        found, expected = read_image(file), read_image(here(file))
        assert found.array.tolist() == expected.array.tolist()
        assert found.geometry == expected.geometry
        found.array[:] = 7  # an array like any other
        if image.GetDimension() == 3:
            for read in (read_mask_volume, read_volume):
                assert read(file).labels.tolist() == read(here(file)).labels.tolist()
                assert read(file).geometry == read(here(file)).geometry


@pytest.mark.parametrize("share", [0.01, 1.0])
def test_images_are_turned_by_the_decoder(tmp_path: Path, share: float) -> None:
    rng = np.random.default_rng(1)
    values = rng.integers(1, 300, (70, 60, 50), np.uint16) * (rng.random((70, 60, 50)) < share)
    image = sitk.GetImageFromArray(values.astype(np.uint16))
    image.SetSpacing((0.5, 2.0, 3.0))
    sitk.WriteImage(sitk.DICOMOrient(image, "SAR"), tmp_path / "a.mha")
    file = SafeFile.inside(tmp_path, "a.mha")
    with decoders():
        found = read_image(file, shape=values.shape, onto=geometry_of(image))
        assert found.geometry == read_image(here(file)).geometry
        assert (found.array == values).all()
        assert (read_volume(file, shape=values.shape, onto=geometry_of(image)).labels == values).all()
        mask = read_mask_volume(file, shape=values.shape, onto=geometry_of(image))
        assert (mask.labels == (values != 0)).all()


def test_arrays_too_large_for_the_channel_are_the_same(tmp_path: Path) -> None:
    values = np.random.default_rng(2).integers(0, 2, (20, 600, 600), np.uint8)
    sitk.WriteImage(sitk.GetImageFromArray(values), tmp_path / "a.mha")
    with decoders():
        found = read_mask_volume(SafeFile.inside(tmp_path, "a.mha"), shape=values.shape).labels
    assert (found == values).all()
    found[0] = 1  # not the decoder's any more


def test_a_large_volume_is_refused_in_the_same_words_half_way(tmp_path: Path) -> None:
    values = np.zeros((20, 600, 600), np.float32)
    values[-1, -1, -1] = 0.5
    sitk.WriteImage(sitk.GetImageFromArray(values), tmp_path / "a.mha")
    with decoders(), pytest.raises(Refused, match="this looks like a probability map"):
        read_mask_volume(SafeFile.inside(tmp_path, "a.mha"), shape=values.shape)


def write_fields(path: Path) -> dict[str, np.ndarray[Any, Any]]:
    values = np.random.default_rng(3).normal(size=FIELD).astype(np.float32)
    chunks = (2, 2, 16)
    with h5py.File(path, "w", userblock_size=512) as file:
        file.create_dataset("plain", data=values)
        file.create_dataset("chunks", data=values, chunks=chunks)
        file.create_dataset("shuffled", data=values, chunks=chunks, compression="gzip", shuffle=True)
        file.create_dataset("big", data=values, chunks=chunks, dtype=">f8")
        partly = file.create_dataset("partly", FIELD, "f4", chunks=chunks, fillvalue=2.5)
        partly[:2] = values[:2]
        file.create_dataset("unwritten", FIELD, "f4", chunks=chunks, fillvalue=1.5)
        file["flags"] = np.array([True, False])
        file["number"] = 3
        file["link"] = h5py.SoftLink("/plain")
    expected = dict.fromkeys(("plain", "chunks", "shuffled", "big"), values)
    rest = np.full(FIELD, np.float32(2.5))
    rest[:2] = values[:2]
    return {**expected, "partly": rest, "unwritten": np.full(FIELD, np.float32(1.5))}


def test_datasets_and_fields_are_the_same(tmp_path: Path) -> None:
    fields = write_fields(tmp_path / "a.h5")
    with decoders(), open_hdf5(SafeFile.inside(tmp_path, "a.h5")) as source:
        for name, values in fields.items():
            assert (source.read(name, shape=FIELD) == values).all()
            assert (gathered(source.frames(name, shape=FIELD)) == values).all()
        assert source.read("flags").tolist() == [True, False]
        assert source.read("number").item() == 3
        assert source.shape("number") == ()
        assert source.names() == tuple(sorted((*fields, "flags", "number")))
        assert set(source.keys()) == {*fields, "flags", "number", "link"}
        assert (source.has("plain"), source.has("nothing")) == (True, False)


def refusals(source: Datasets) -> list[str]:
    found = []
    for ask in (
        lambda: source.read("link"),
        lambda: source.read("nothing"),
        lambda: source.read("plain", shape=(5, 3, 41)),
        lambda: source.read("plain", max_bytes=4),
        lambda: source.frames("plain", shape=(5, 3, 41)),
        lambda: source.shape("link"),
    ):
        with pytest.raises(Refused) as caught:
            ask()
        found.append(str(caught.value))
    return found


def test_refusals_have_the_same_words(tmp_path: Path) -> None:
    write_fields(tmp_path / "a.h5")
    (tmp_path / "b.png").write_bytes(b"no picture")
    file, picture = SafeFile.inside(tmp_path, "a.h5"), SafeFile.inside(tmp_path, "b.png")
    with open_hdf5(file) as source:
        expected = refusals(source)
    with decoders():
        with open_hdf5(file) as source:
            assert refusals(source) == expected
        with pytest.raises(Refused, match=r"^The content of 'b.png' is not PNG"):
            read_image(picture)


def test_a_file_that_becomes_a_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "truth").write_bytes(b"the truth")
    (tmp_path / "a.png").write_bytes(b"mine")
    file = SafeFile.inside(tmp_path, "a.png")
    (tmp_path / "a.png").unlink()
    (tmp_path / "a.png").symlink_to("truth")
    with decoders(), pytest.raises(Refused, match="cannot be opened"):
        read_image(file)


def test_a_decoder_that_dies_is_replaced_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Memory may have run out because of another case."""
    (tmp_path / "a.png").touch()
    died = tmp_path / "died"

    def fragile(_: server.OpenFile, **__: Any) -> server.Content:
        if not died.exists():
            died.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return "alive", None

    monkeypatch.setattr("podium.sandbox.client.available_layers", tuple)
    with decoding_by(fragile) as found, found.session(SafeFile.inside(tmp_path, "a.png")) as session:
        assert session.ask("image").value == "alive"


def test_a_decoder_that_never_ends_is_killed_with_its_session(tmp_path: Path) -> None:
    (tmp_path / "a.png").touch()

    def endless(_: server.OpenFile, *, sleep: bool) -> server.Content:
        while sleep:
            time.sleep(1)
        return os.getpid(), None

    with decoding_by(endless) as found:
        session = found.session(SafeFile.inside(tmp_path, "a.png"))
        pid = session.ask("image", sleep=False).value
        assert Path(f"/proc/{pid}").exists()
        session.close()
        while Path(f"/proc/{pid}").exists():
            time.sleep(0.01)


def test_the_worker_is_closed_to_others_while_there_are_decoders() -> None:
    before = prctl(GET_DUMPABLE)
    with decoders():
        assert prctl(GET_DUMPABLE) == 0
    assert prctl(GET_DUMPABLE) == before == 1


def test_full_isolation_needs_every_layer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("podium.sandbox.client.available_layers", lambda: ["seccomp"])
    with pytest.raises(UsageError, match="it has no Landlock, no resource limits"), decoders("full"):
        pass


def test_the_doctor_names_the_layers_that_apply(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("podium.sandbox.client.available_layers", lambda: ["resource limits"])
    assert main(["doctor"]) == 0
    lines = dict(line.split(":", 1) for line in capsys.readouterr().out.splitlines())
    assert lines["isolation"].strip() == "resource limits (--isolation full would refuse to run)"
    assert {"cores", "memory", "Landlock", "seccomp", "temporary files", "h5py"} <= lines.keys()


@pytest.mark.parametrize(
    ("layers", "missing", "danger"),
    [
        (["resource limits", "seccomp"], "no Landlock", None),
        (["Landlock", "resource limits"], "no seccomp", "slow down this run or change rights of its files here"),
        (["resource limits"], "no Landlock, no seccomp", "read the references here"),
    ],
)
def test_the_log_names_the_layers_and_what_is_open_without_the_others(
    layers: list[str],
    missing: str,
    danger: str | None,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("podium.sandbox.client.available_layers", lambda: layers)
    with caplog.at_level("INFO"), decoders():
        pass
    applied, *others = caplog.messages
    assert set(applied.removeprefix("isolation: submitted files are decoded under ").split(", ")) == set(layers)
    assert others == [
        f"isolation: this system has {missing}",
        *([f"isolation: code that took over a reader could {danger}"] if danger else []),
    ]


def test_a_lock_that_is_weaker_than_the_first_reads_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.png").touch()
    with decoders() as found:
        assert found is not None
        monkeypatch.setattr(found, "layers", [*available_layers(), "one more"])
        with pytest.raises(Refused, match=r"^Reading 'a.png' crashed or ran out of memory on every attempt\.$"):
            read_image(SafeFile.inside(tmp_path, "a.png"))


@pytest.mark.parametrize(("kind", "team"), SAMPLES)
def test_the_samples_score_the_same(kind: str, team: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    submission, truth = ROOT / "test" / "submissions" / kind / team, ROOT / "ground-truth" / kind

    def metrics(name: str) -> bytes:
        evaluate(submission, ground_truth=truth, output=tmp_path / name, executor=Serial())
        return (tmp_path / name / "metrics.json").read_bytes()

    behind = metrics("behind")
    monkeypatch.setattr("podium.evaluation.decoders", lambda *_, **_more: nullcontext())
    assert metrics("here") == behind


def test_a_reader_that_crashes_costs_its_case_alone() -> None:
    submission, truth = ROOT / "test" / "submissions" / "carotid" / "dropout", ROOT / "ground-truth" / "carotid"

    def rows(executor: Serial | Processes) -> dict[str, CaseResult]:
        return {row.case: row for row in evaluate(submission, ground_truth=truth, executor=executor).results}

    expected = rows(Serial())
    real = server.READERS["hdf5.read"]

    def crash(opened: server.OpenFile, **options: Any) -> server.Content:
        if "0042" in opened.file.name:
            os.abort()  # as C++ ends on an error that nobody handles
        return real(opened, **options)

    with decoders_with(__name__, READERS={**server.READERS, "hdf5.read": crash}):
        found = rows(Processes(workers=2))
    failed, before = found.pop("csv_0042"), expected.pop("csv_0042")
    assert (before.status, failed.status) == ("scored", "failed")
    assert str(failed.error).startswith("Reading 'csv_0042_pred.h5'")
    assert found == expected


# One decoder for all files of a case, and never for two cases.


def process_of(_: server.OpenFile, **__: Any) -> server.Content:
    return os.getpid(), None


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two files."""
    for name in ("a.png", "b.png"):
        (tmp_path / name).touch()
    return tmp_path


def pid_for(found: Decoders, path: Path) -> int:
    with found.session(SafeFile.inside(path.parent, path.name)) as session:
        return int(session.ask("image").value)


def test_files_of_a_case_share_a_decoder_that_ends_with_the_case(folder: Path) -> None:
    with decoding_by(process_of) as found:
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
    monkeypatch.setattr("podium.sandbox.client.available_layers", lambda: [LANDLOCK])
    with decoding_by(process_of) as found, one_case():
        assert pid_for(found, folder / "a.png") != pid_for(found, folder / "b.png")


def test_two_files_that_are_open_at_the_same_time_have_two_decoders(folder: Path) -> None:
    with decoding_by(process_of) as found, one_case(), found.session(SafeFile.inside(folder, "a.png")) as session:
        assert session.ask("image").value != pid_for(found, folder / "b.png")


def test_what_a_file_did_to_the_decoder_costs_the_next_file_no_try(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names: list[str] = []

    def ruined(opened: server.OpenFile, **_: Any) -> server.Content:
        names.append(opened.file.name)
        if len(names) > 1:
            os._exit(1)
        return os.getpid(), None

    monkeypatch.setattr("podium.sandbox.client._TRIES", 1)
    with decoding_by(ruined) as found, one_case():
        assert pid_for(found, folder / "a.png") != pid_for(found, folder / "b.png")


def stealing(_: server.OpenFile, *, truth: str) -> server.Content:
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
    monkeypatch.setattr("podium.sandbox.client.available_layers", lambda: layers)
    truth = folder / "truth.txt"
    truth.write_text("the truth", encoding="utf-8")
    with decoding_by(stealing) as found, one_case():
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


# The libraries that read submitted files are loaded before the first file comes, and only those that are expected.

SECONDS = 30.0  # until a program has loaded a library, on any machine


def loaded(pid: int) -> set[str]:
    """Which of the two libraries a process has mapped."""
    mapped = Path(f"/proc/{pid}/maps").read_text(encoding="utf-8")
    return {name for name, part in (("h5py", "/h5py/"), ("SimpleITK", "/SimpleITK/")) if part in mapped}


@pytest.mark.parametrize("libraries", [["h5py"], ["SimpleITK"], ["h5py", "SimpleITK"]], ids="+".join)
def test_what_is_expected_is_loaded_without_a_request(libraries: list[str]) -> None:
    before = children(os.getpid())
    with decoders(libraries=libraries, logged=False):
        zygotes = [pid for pid in children(os.getpid()) if pid not in before]
        end = time.monotonic() + SECONDS
        while {name for pid in zygotes for name in loaded(pid)} < set(libraries) and time.monotonic() < end:
            time.sleep(0.02)
        assert sorted(name for pid in zygotes for name in loaded(pid)) == sorted(libraries)
        # Decoders are forked without Python's own care for threads.
        assert [len(list(Path(f"/proc/{pid}/task").iterdir())) for pid in zygotes] == [1] * len(zygotes)


def test_what_is_not_expected_is_not_loaded() -> None:
    before = children(os.getpid())
    with decoders(libraries=(), logged=False):
        (zygote,) = (pid for pid in children(os.getpid()) if pid not in before)
        time.sleep(1.0)  # several times what loading takes
        assert loaded(zygote) == set()


def test_something_else_is_done_while_the_processes_start() -> None:
    done: list[int] = []
    with decoders(libraries=(), logged=False, meanwhile=lambda: done.append(len(children(os.getpid())))):
        assert done
        assert done[0] >= 1, "they were started already"
