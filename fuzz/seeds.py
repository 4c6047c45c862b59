"""The files that fuzzing starts from: a few hundred bytes each, most of them built by the tests' own helpers."""

import gzip
import io
import json
import struct
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import h5py
import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "test"))

from readers.made import mha, nifti, png, tar_bytes, tiff, zip_bytes  # noqa: E402  # noqa: E402

VOLUME = {"NDims": "3", "DimSize": "4 3 2", "ElementSpacing": "1 1 1", "Offset": "0 0 0"}
VOLUME_AXES = {"TransformMatrix": "1 0 0 0 1 0 0 0 1"}
FIELD = np.arange(36, dtype=np.float32).reshape(3, 3, 4)


def _saved(array: object) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, array)
    return buffer.getvalue()


def _npz(*, compressed: bool) -> bytes:
    buffer = io.BytesIO()
    (np.savez_compressed if compressed else np.savez)(buffer, field=FIELD, landmarks=np.zeros((3, 5)))
    return buffer.getvalue()


def _hdf5(**options: object) -> bytes:
    buffer = io.BytesIO()
    with h5py.File(buffer, "w", libver="latest") as file:
        file.create_dataset("field", data=FIELD, **options)
        file["cls"] = 1
    return buffer.getvalue()


def _job() -> dict[str, object]:
    socket = {"slug": "mask", "relative_path": "images/mask", "is_image_kind": True}
    return {
        "pk": "4f1b",
        "status": "Succeeded",
        "inputs": [{"interface": {"slug": "scan"}, "image": {"pk": "1", "name": "case_1.mha"}}],
        "outputs": [
            {"socket": socket, "value": None, "file": None, "image": {"name": "out"}},
            {"interface": {"slug": "score", "relative_path": "score.json"}, "value": 0.5},
        ],
        "exec_duration": "PT1M3.5S",
        "invoke_duration": None,
    }


def _points() -> dict[str, object]:
    points = [{"name": "a", "point": [1, 2, 3], "probability": 0.5}, {"point": [4, 5.5, 6], "probability": 1}]
    return {"type": "Multiple points", "points": points, "version": {"major": 1, "minor": 0}}


def _boxes() -> dict[str, object]:
    corners = [[0, 0, 0.5], [2, 0, 0.5], [2, 3, 0.5], [0, 3, 0.5]]
    return {"type": "Multiple 2D bounding boxes", "boxes": [{"corners": corners}], "version": {"major": 1, "minor": 0}}


def _message(content: object, data: bytes = b"") -> bytes:
    text = json.dumps(content).encode()
    return struct.pack("!I", len(text)) + text + data


def seeds() -> Mapping[str, Sequence[bytes]]:
    """By target."""
    volumes = [nifti(), nifti(datatype=16, bits=32, pixels=bytes(96)), nifti(order=">")]
    archive = {"a.mha": b"abc" * 20, "b/c.json": b"{}", "d": b""}
    tars = [each[:4096] for each in (tar_bytes(archive), tar_bytes({"long/" + "n" * 120: b"x"}))]  # zeros follow
    table = [b"case,score,class\na,0.5,x\nb,1e-3,y\n", b'\xef\xbb\xbfcase;score\na;1\n"b";2\n']
    challenges = sorted(ROOT.glob("gallery/*/challenge.toml")) + sorted(ROOT.glob("ground-truth/*/challenge.toml"))
    texts = {
        "json": ['{"a": [1, 2.5, -3e8, null, true, "\\u00e9\\ud83d\\ude00"], "b": {}}'],
        "json-table": ['[{"case": "a", "score": 0.5, "class": "x"}]', '{"a": {"score": 1}, "b": [{"score": 2}]}'],
        "text": ["Teeth 1.1 to 1.8 are present.\r\n\tNo caries.\n"],
        "annotations": [json.dumps(_points()), json.dumps(_boxes())],
        "annotations-csv": ["x,y,z,probability,name\n1,2,3,0.5,a\n", "x_min,y_min,x_max,y_max\n1,2,3,4\n"],
        "predictions": [json.dumps([_job()])],
        "formula": ["0.5 * dice.mean + clip(1 - nsd / 2, 0, 1) ** 2", "harmonic(a, max(b, -3e2), exp(log(c)))"],
    }
    return {
        "mha": [mha(), mha({**VOLUME, **VOLUME_AXES}), mha({"CompressedData": "True", "CompressedDataSize": "32"})],
        "nii": volumes,
        "nii-in-gz": volumes,
        "nii-gz": [gzip.compress(volume) for volume in volumes],
        "tiff": [tiff({}), tiff({}, {}), tiff({}, order=">")],
        "png": [png()],
        "hdf5": [_hdf5(), _hdf5(chunks=(1, 3, 4), compression="gzip", shuffle=True), _hdf5(chunks=(2, 2, 2))],
        "npy": [_saved(FIELD), _saved(np.zeros((2, 2), ">i2")), _saved(np.asfortranarray(FIELD))],
        "npz": [_npz(compressed=False), _npz(compressed=True)],
        "csv": table,
        "zip": [zip_bytes(archive), zip_bytes(archive, method=0)],
        "tar": tars,
        "tar-in-gz": tars,
        "challenge": [path.read_bytes() for path in challenges],
        "wire": [_message({"value": 1, "array": {"shape": [2, 3], "dtype": "<f4"}}, bytes(24)), _message({"value": 2})],
        **{target: [text.encode() for text in each] for target, each in texts.items()},
    }
