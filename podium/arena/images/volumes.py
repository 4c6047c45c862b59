"""Volumes as axial slices: the patient's right on the left, the front at the top, from the lowest slice upwards."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from podium.arena.images.dicom import read_dicom
from podium.arena.images.grey_values import ValueRange, count_codes, first_window, stretched
from podium.arena.images.packing import gzip_file, zlib_stream
from podium.arena.images.prepared import PreparedImage, write_png
from podium.errors import Refused, UsageError, require
from podium.errors import SimpleITK as sitk
from podium.png import png_file
from podium.readers.files import SafeFile
from podium.readers.images import Image, read_image

_SHOWN_TOWARDS = ("LR", "PA", "SI")  # of columns, rows and slices; the second letter is the axis turned round


def prepare_volume(path: Path, target: Path) -> PreparedImage:
    """Write the slices of a 3-D scalar image, or the one picture of a 2-D image, into the folder `target`."""
    require("SimpleITK", extra="arena,volumes")
    image = _read(path)
    span = ValueRange.over(image.array)
    if span is None:
        raise UsageError(f"'{path.name}' contains no finite values that could be shown.")
    if image.array.ndim == 2:
        write_png(image.array if image.array.dtype == np.uint8 else stretched(image.array, span), target / "0.png")
        return PreparedImage(is_volume=False, slices=1, width=image.array.shape[1], height=image.array.shape[0])
    volume, (columns_mm, rows_mm, slices_mm) = axial(image)

    # Codes are computed twice, so that beside the volume only a few slices are in memory.
    coded = span.coder(volume.dtype)
    with ThreadPoolExecutor() as threads:  # numpy and the packers let other threads run
        counts = np.zeros(1, np.int64)
        for of_slice in threads.map(lambda values: count_codes(coded(values)), volume):
            counts = counts + of_slice
        window = first_window(counts)
        greys = window.greys()

        def write(number: int) -> None:
            codes = coded(volume[number])
            (target / f"{number}.png").write_bytes(png_file(greys[codes], compress=zlib_stream))
            (target / f"{number}.u16.gz").write_bytes(gzip_file(codes.astype("<u2", copy=False).tobytes()))

        list(threads.map(write, range(len(volume))))
    return PreparedImage(
        is_volume=True,
        slices=volume.shape[0],
        width=volume.shape[2],
        height=volume.shape[1],
        pixel_aspect=rows_mm / columns_mm,
        pixel_mm=columns_mm,
        slice_mm=slices_mm,
        value_low=span.low,
        value_high=span.high,
        window_low=span.value(window.darkest),
        window_high=span.value(window.brightest),
    )


def _read(path: Path) -> Image:
    """With the checks that a submitted image passes: a cut-off file must not be shown as a black half."""
    if path.is_dir():
        return read_dicom(path)
    real = path.resolve()
    try:
        return read_image(SafeFile.inside(real.parent, real.name))
    except Refused as refusal:
        raise UsageError(f"A case's image cannot be used: {refusal}") from None


def axial(image: Image) -> tuple[NDArray[Any], tuple[float, float, float]]:
    """The volume turned to LPS (slices, rows, columns), and the spacing of columns, rows and slices in mm.

    As `SimpleITK.DICOMOrient` turns it, but a view: nothing is copied. An oblique volume is turned to the nearest
    axes, never resampled.
    """
    code = sitk.DICOMOrientImageFilter.GetOrientationFromDirectionCosines(image.direction)
    stored = [next(axis for axis, letter in enumerate(code) if letter in pair) for pair in _SHOWN_TOWARDS]
    steps = [1 if code[axis] == pair[0] else -1 for axis, pair in zip(stored, _SHOWN_TOWARDS, strict=True)]
    turned = image.array.transpose([2 - axis for axis in reversed(stored)])
    columns_mm, rows_mm, slices_mm = (float(image.spacing[axis]) for axis in stored)
    return turned[tuple(slice(None, None, step) for step in reversed(steps))], (columns_mm, rows_mm, slices_mm)
