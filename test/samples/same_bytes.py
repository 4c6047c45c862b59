"""Writers whose output depends on the content alone: no clock, no user, no order of a file system."""

import gzip
import io
import json
import tarfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import SimpleITK
from numpy.typing import NDArray


def write_hdf5(path: Path, datasets: Mapping[str, NDArray[Any]]) -> None:
    """Datasets with at least two axes are gzipped, smaller ones stored as they are."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with h5py.File(path, "w", track_order=False) as file:
        for name in sorted(datasets):
            values = datasets[name]
            packed = {"compression": "gzip", "compression_opts": 9, "chunks": values.shape} if values.ndim >= 2 else {}
            file.create_dataset(name, data=values, track_times=False, **packed)


def write_image(path: Path, pixels: NDArray[np.uint8], *, is_colour: bool = False) -> None:
    """The format follows the extension: `.png`, or `.mha` with compressed data."""
    path.parent.mkdir(parents=True, exist_ok=True)
    SimpleITK.WriteImage(
        SimpleITK.GetImageFromArray(pixels, isVector=is_colour), str(path), useCompression=True, compressionLevel=9
    )


def write_json(path: Path, content: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content, indent=2, allow_nan=False) + "\n", encoding="utf-8")


def write_tar_gz(path: Path, folder: Path) -> None:
    """Packs the files below `folder` under that folder's own name, sorted, dated to the epoch and owned by nobody."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for file in sorted(path for path in folder.rglob("*") if path.is_file()):
            member = tarfile.TarInfo(f"{folder.name}/{file.relative_to(folder).as_posix()}")
            member.size = file.stat().st_size
            member.mode = 0o644
            with file.open("rb") as stream:
                archive.addfile(member, stream)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(packed.getvalue(), mtime=0))
