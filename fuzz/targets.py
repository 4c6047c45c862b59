"""What is fuzzed: one function per kind of hostile bytes. It may return or refuse; anything else is a finding."""

import gzip
import shutil
import socket
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from podium.challenges import load_file
from podium.challenges.settings import ChallengeFile
from podium.errors import PodiumError, Refused, SubmissionError
from podium.formulas import FormulaError, Known, compute, known_of, names_in, parse
from podium.platform.jobs import PREDICTIONS_FILE, read_jobs
from podium.readers.annotations import BOXES, POINTS
from podium.readers.archives import archive_names, extract_archive
from podium.readers.files import SafeFile, list_files
from podium.readers.formats.arrays import NpyFiles, open_npz
from podium.readers.frames import ArraySource
from podium.readers.hdf5 import open_hdf5
from podium.readers.images import read_image
from podium.readers.text import read_json, read_table, read_text
from podium.readers.volumes import read_mask_volume, read_volume
from podium.sandbox.wire import EndedError, Expected, ProtocolError, receive, receive_small_array

MAX_BYTES = 1_000_000
FIELD = (3, 3, 4)  # of the displacement fields among the seeds

Try = Callable[[Path, bytes], None]
Refusal = type[Exception] | tuple[type[Exception], ...]


@dataclass(frozen=True)
class Target:
    """`run` gets an empty folder and the bytes; `refusals` are its expected errors."""

    run: Try
    refusals: Refusal = (Refused, SubmissionError)
    longest: int = 4096  # bytes of an input


def _safe(folder: Path, name: str, content: bytes) -> SafeFile:
    (folder / name).write_bytes(content)
    return SafeFile.inside(folder, name)


def _each(*readings: Callable[[], object]) -> None:
    """All of them, each of which may be refused."""
    for reading in readings:
        try:
            reading()
        except Refused as refusal:
            check_sentence(refusal)


def check_sentence(refusal: Exception) -> None:
    """A refusal is one printable line of bounded length: it may become the last line of stderr."""
    sentence = str(refusal)
    assert sentence.isprintable(), f"not printable: {sentence!r}"
    assert len(sentence) < 3000, f"too long: {sentence!r}"
    if isinstance(refusal, PodiumError):
        assert sentence.endswith((".", "?")), f"not a sentence: {sentence!r}"


def _image(name: str, *, packed: bool = False) -> Try:
    def run(folder: Path, content: bytes) -> None:
        file = _safe(folder, name, gzip.compress(content, 1) if packed else content)
        _each(
            lambda: read_image(file, max_bytes=MAX_BYTES),
            lambda: read_volume(file, max_bytes=MAX_BYTES),
            lambda: read_mask_volume(file, shape=(2, 3, 4), max_bytes=MAX_BYTES),
        )

    return run


def _arrays(source: ArraySource) -> None:
    for name in source.names():
        _each(
            lambda name=name: source.shape(name),
            lambda name=name: source.read(name),
            lambda name=name: _stream(source, name),
        )


def _stream(source: ArraySource, name: str) -> None:
    frames = source.frames(name, shape=FIELD)
    for span in frames.spans():
        for tile in frames.tiles(span):
            assert tile.values.size
    frames.finish()


def _hdf5(folder: Path, content: bytes) -> None:
    with open_hdf5(_safe(folder, "a.h5", content)) as source:
        source.keys()
        _arrays(source)


def _npy(folder: Path, content: bytes) -> None:
    _arrays(NpyFiles({"a": _safe(folder, "a.npy", content)}))


def _npz(folder: Path, content: bytes) -> None:
    with open_npz(_safe(folder, "a.npz", content), max_bytes=MAX_BYTES) as source:
        _arrays(source)


def _table(name: str) -> Try:
    def run(folder: Path, content: bytes) -> None:
        table = read_table(_safe(folder, name, content), columns=("score",), optional=("class",))
        for case in [*table.rows, *table.broken]:
            _each(lambda case=case: _cells(table.row_of(case)))

    return run


def _cells(row: object) -> None:
    _each(lambda: row.number("score"), lambda: row.text("class"), lambda: row.value("class"))  # type: ignore[attr-defined]


def _annotations(name: str) -> Try:
    def run(folder: Path, content: bytes) -> None:
        file = _safe(folder, name, content)
        _each(lambda: POINTS.read(file), lambda: BOXES.read(file))

    return run


def _archive(name: str, *, packed: bool = False) -> Try:
    def run(folder: Path, content: bytes) -> None:
        file = _safe(folder, name, gzip.compress(content, 1) if packed else content)
        out = folder / "out"
        try:
            extract_archive(file, out, max_bytes=MAX_BYTES, max_files=100)
            archive_names(file, max_bytes=MAX_BYTES, max_files=100)
        finally:
            assert sorted(path.name for path in folder.iterdir()) == sorted({name, "out"}), "written elsewhere"
            if out.is_dir():
                assert not list_files(out).refused, "not only regular files"
                assert sum(path.stat().st_size for path in out.rglob("*") if path.is_file()) <= MAX_BYTES, "too much"

    return run


def _predictions(folder: Path, content: bytes) -> None:
    (folder / PREDICTIONS_FILE).write_bytes(content)
    for job in read_jobs(folder):
        for slug in (*job.outputs, "absent"):
            _each(
                lambda job=job, slug=slug: job.output_json(slug),
                lambda job=job, slug=slug: job.output_image(slug),
                lambda job=job, slug=slug: job.output_file(slug, endings=(".h5", ".npy")),
            )


def _challenge(folder: Path, content: bytes) -> None:
    (folder / "challenge.toml").write_bytes(content)
    file = ChallengeFile(folder / "challenge.toml")
    problems = load_file("fuzzed", file).problems
    if problems:
        raise file.refusal(problems)


def _formula(_: Path, content: bytes) -> None:
    node = parse(content.decode("utf-8", "replace"))
    names = set(names_in(node))
    known_of(node, dict.fromkeys(names, Known(lowest=0, highest=1, better=1)))
    for values in (np.array(0.5), np.array([0.0, 1.0, np.nan])):
        compute(node, dict.fromkeys(names, values))


def _wire(_: Path, content: bytes) -> None:
    """What a decoder that was taken over sends to its worker."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.sendall(content)
        theirs.shutdown(socket.SHUT_WR)
        shape, dtype = Expected(max_bytes=MAX_BYTES).check(receive(ours).get("array"))
        receive_small_array(ours, shape, dtype)


TARGETS = {
    "mha": Target(_image("a.mha")),
    "nii": Target(_image("a.nii")),
    "nii-gz": Target(_image("a.nii.gz")),
    "nii-in-gz": Target(_image("a.nii.gz", packed=True)),
    "tiff": Target(_image("a.tif")),
    "png": Target(_image("a.png")),
    "hdf5": Target(_hdf5, longest=16_384),
    "npy": Target(_npy),
    "npz": Target(_npz),
    "csv": Target(_table("a.csv")),
    "json-table": Target(_table("a.json")),
    "json": Target(lambda folder, content: read_json(_safe(folder, "a.json", content))),
    "text": Target(lambda folder, content: read_text(_safe(folder, "a.txt", content), limit_bytes=2000)),
    "annotations": Target(_annotations("a.json")),
    "annotations-csv": Target(_annotations("a.csv")),
    "zip": Target(_archive("a.zip")),
    "tar": Target(_archive("a.tar"), longest=8192),
    "tar-in-gz": Target(_archive("a.tar.gz", packed=True), longest=8192),
    "predictions": Target(_predictions),
    "challenge": Target(_challenge, refusals=PodiumError, longest=8192),
    "formula": Target(_formula, refusals=FormulaError),
    "wire": Target(_wire, refusals=(EndedError, ProtocolError)),
}


def run_once(target: Target, folder: Path, content: bytes) -> None:
    """One input; raises what is a finding and nothing else."""
    folder.mkdir()
    try:
        target.run(folder, content)
    except target.refusals as refusal:
        check_sentence(refusal)
    finally:
        shutil.rmtree(folder)
