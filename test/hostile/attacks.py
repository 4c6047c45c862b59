"""Every attack on one case: what it tries, by its row of docs/security.md, and the words that its case fails with.

`play` changes what an honest team submits for the case `case` in `folder`; the reference of the same case is below
`hidden`, as the evaluation sees it. All of them are one submission: each costs its own case and nothing else. Every row
has an attack; the variants of each are refused in the readers' own tests.
"""

import gzip
import json
import os
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from hostile.scene import HIDDEN, NUMBER, SHAPE, points
from readers.made import mha, mha_header, nifti, png

LINKS = "a symbolic link in the submission, or a folder that is one"
OTHER_FILE = "`.mha` whose `ElementDataFile` names another file, a list, or a pattern"
OTHER_READING = (
    "`.mha` header that MetaIO reads differently (`HeaderSize`, a key twice, another case, colons, missing values)"
)
OTHER_FORMAT = "`.mhd`, `.nrrd`, `.nhdr`, `.vtk`, `.gipl`, `.hdr`/`.img`, DICOM"
PAIR = "NIfTI pair, Analyze, NIfTI-2"
HDF5_LINK = "HDF5 external link, soft link, user-defined link, also through a group"
HDF5_STORAGE = "HDF5 external storage, virtual dataset"
HDF5_FILTER = "HDF5 filter plugin"
SHORT = (
    "`.mha`, `.nii`, HDF5, `.npy` or `.npz` data shorter than declared, which ITK accepts silently, and of which HDF5 "
    "and MetaIO return other garbage in every run"
)
PICKLE = "`.npy` or `.npz` with pickled objects"
HUGE = "a header that declares a huge image, dataset or array"
BOMB = "a gzip, zip or deflate bomb"
CHUNKS = "HDF5 with very many or very large chunks"
JSON = "deep or huge JSON, a key twice, `NaN`, numbers of any length"
MANY = "very many points, boxes or components of a detection map"
FIFO = "a FIFO that never ends"
HANG = "a file that makes a library crash or hang"
LABELS = "NaN, infinite, negative or fractional labels, probability maps, RGB masks"
TWO = "two predictions for one case, hoping that the better one counts"
TABLES = (
    "`NaN`, infinity, formulas (`=1+1`) or other scripts' digits in a table, two rows for one case, cells out of place"
)
OVERFLOW = "numbers so large that sums overflow, to stop the evaluation or to be left out of a mean"
COORDINATES = "coordinates or probabilities that are no numbers, out of range, or of a mixed kind"

Play = Callable[[Path, str, Path], None]


@dataclass(frozen=True)
class Attack:
    row: str
    words: str
    play: Play = lambda *_: None
    numbers: list[Any] = field(default_factory=lambda: [NUMBER])
    """The cells of the case in the table."""


def image(content: bytes | Callable[[Path, str], bytes], ending: str = ".mha") -> Play:
    """Another image instead of the honest one."""

    def play(folder: Path, case: str, hidden: Path) -> None:
        (folder / f"{case}.mha").unlink()
        (folder / f"{case}{ending}").write_bytes(content(hidden, case) if callable(content) else content)

    return play


def hdf5(write: Callable[[h5py.File, Path, str], None]) -> Play:
    """Another HDF5 file."""

    def play(folder: Path, case: str, hidden: Path) -> None:
        with h5py.File(folder / f"{case}.h5", "w") as file:
            write(file, hidden, case)

    return play


def other(ending: str, content: bytes) -> Play:
    """Other bytes for the file with this ending."""
    return lambda folder, case, _: (folder / f"{case}{ending}").write_bytes(content) and None


def annotated(*entries: Mapping[str, Any]) -> Play:
    return other(".json", json.dumps(points(entries)).encode())


def linked(folder: Path, case: str, hidden: Path) -> None:
    (folder / f"{case}.mha").unlink()
    (folder / f"{case}.mha").symlink_to(hidden / f"{case}.mha")


def fifo(folder: Path, case: str, _: Path) -> None:
    (folder / f"{case}.mha").unlink()
    os.mkfifo(folder / f"{case}.mha")


def twice(folder: Path, case: str, _: Path) -> None:
    (folder / f"{case}.png").write_bytes(png())


def external_storage(file: h5py.File, hidden: Path, case: str) -> None:
    file.create_dataset("mask", SHAPE, "u1", external=[(str(hidden / f"{case}.mha"), 200, 24)])


def external_link(file: h5py.File, hidden: Path, case: str) -> None:
    file["mask"] = h5py.ExternalLink(str(hidden / f"{case}_array.h5"), "/mask")


def unknown_filter(file: h5py.File, *_: object) -> None:
    properties = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    properties.set_chunk(SHAPE)
    properties.set_filter(32_015, h5py.h5z.FLAG_OPTIONAL, ())
    space = h5py.h5s.create_simple(SHAPE)
    h5py.h5d.create(file.id, b"mask", h5py.h5t.NATIVE_UINT8, space, properties)


def labels(values: Any) -> Play:
    return hdf5(lambda file, *_: file.create_dataset("mask", data=values))


def nifti_with(fields: Mapping[int, tuple[str, float]]) -> bytes:
    content = bytearray(nifti((6, 4)))
    for place, (form, value) in fields.items():
        struct.pack_into(form, content, place, value)
    return bytes(content)


FLOATS = HIDDEN.astype(np.float32)
NRRD = b"NRRD0004\ntype: uint8\ndimension: 2\nsizes: 6 4\nencoding: raw\ndata file: %s\n\n"

CASE_ATTACKS = {
    "link": Attack(LINKS, "is a symbolic link; send the file itself", linked),
    "data_file": Attack(
        OTHER_FILE,
        "points to pixels outside itself",
        image(lambda hidden, case: mha_header({"ElementDataFile": str(hidden / f"{case}.mha")})),
    ),
    "header_size": Attack(OTHER_READING, "has a HeaderSize", image(mha({"HeaderSize": "-1"}))),
    "nrrd": Attack(OTHER_FORMAT, "is not MetaImage", image(lambda hidden, case: NRRD % bytes(hidden / f"{case}.mha"))),
    "nifti_pair": Attack(PAIR, "keeps its pixels in another file", image(nifti((6, 4), magic=b"ni1\0"), ending=".nii")),
    "external_link": Attack(HDF5_LINK, "is an external link", hdf5(external_link)),
    "external_storage": Attack(HDF5_STORAGE, "keeps its values in another file", hdf5(external_storage)),
    "filter": Attack(HDF5_FILTER, "uses the filter 32015", hdf5(unknown_filter)),
    "short_pixels": Attack(SHORT, "is truncated", image(mha(pixels=b"\1"))),
    "pickle": Attack(PICKLE, "is not HDF5", other(".h5", b"\x93NUMPY\x01\0" + b"cos\nsystem\n(S'id'\ntR.")),
    "huge_image": Attack(HUGE, "is 1000000 x 1000000, expected 6 x 4", image(mha({"DimSize": "1000000 1000000"}))),
    "bomb": Attack(
        BOMB,
        "unpacks to more than the 24 bytes",
        image(gzip.compress(nifti((6, 4)) + bytes(20_000_000)), ending=".nii.gz"),
    ),
    "large_chunks": Attack(
        CHUNKS,
        "chunk",
        hdf5(lambda file, *_: file.create_dataset("mask", SHAPE, "u1", maxshape=(None, None), chunks=(4000, 4000))),
    ),
    "deep_json": Attack(JSON, "is nested deeper than 32 levels", other(".json", b"[" * 100_000)),
    "many_points": Attack(MANY, "more than 200,000 entries", annotated(*[{"point": [1, 2, 3]}] * 200_001)),
    "far_point": Attack(COORDINATES, "has a coordinate beyond", annotated({"point": [1e300, 2, 3]})),
    "fifo": Attack(FIFO, "is not a regular file", fifo),
    "endless_search": Attack(
        HANG,
        "The sform of",
        image(nifti_with({254: ("<h", 1), 316: ("<f", float("nan"))}), ending=".nii"),
    ),
    "nan_label": Attack(LABELS, "holds NaN", labels(np.where(FLOATS, np.nan, 0))),
    "unknown_label": Attack(LABELS, "holds the value 7", labels(HIDDEN * 7)),
    "two_images": Attack(TWO, "There are 2 predictions for this case", twice),
    "two_rows": Attack(TABLES, "2 rows for the case", numbers=[NUMBER, NUMBER + 1]),
    "large_number": Attack(OVERFLOW, "it must be between -1e+24 and 1e+24", numbers=["1e308"]),
}
