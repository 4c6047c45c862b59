"""The errors of one scan, by as many threads as the scan may use.

Two kinds of fields: streams (a prediction given pixel by pixel) and coefficients (transforms, and the identity). The
figures do not depend on the number of threads, nor does the error that is reported when there are several.
"""

import math
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from podium.errors import Refused
from podium.metrics.displacement import Coefficients, PixelGrid, TileDistance, affine_errors
from podium.readers.frames import FrameStream, Tile

AFFINE_FRAMES = 64
"""Frames of transforms that one thread does at a time."""


@dataclass(frozen=True)
class Field:
    """A predicted field, streamed or affine, and the reference it is held against."""

    prediction: FrameStream | Coefficients
    reference: Coefficients


def frame_errors(fields: Sequence[Field], grid: PixelGrid, *, threads: int) -> list[NDArray[np.float64]]:
    """For each field the mean distance (mm) of every frame; their mean is the field's error."""
    results = [np.zeros(len(field.reference)) for field in fields]
    work: list[Callable[[], None]] = []
    for field, result in zip(fields, results, strict=True):
        work.extend(_pieces(field, result, grid))
    run_in_order(work, threads=threads)
    for field in fields:
        if isinstance(field.prediction, FrameStream):
            field.prediction.finish()
    return results


def _pieces(field: Field, result: NDArray[np.float64], grid: PixelGrid) -> list[Callable[[], None]]:
    prediction = field.prediction
    if isinstance(prediction, FrameStream):
        return [_stream_piece(prediction, span, field.reference, result, grid) for span in prediction.spans()]
    difference = prediction - field.reference
    starts = range(0, len(difference), AFFINE_FRAMES)
    return [_affine_piece(difference, slice(first, first + AFFINE_FRAMES), result, grid) for first in starts]


def _stream_piece(
    stream: FrameStream, span: range, reference: Coefficients, result: NDArray[np.float64], grid: PixelGrid
) -> Callable[[], None]:
    def work() -> None:
        distance = TileDistance(grid, reference)
        with np.errstate(all="ignore"):  # once: to ask for it at every tile takes longer than some steps on a tile
            for tile in stream.tiles(span):
                total = distance.sum(tile.values, frame=tile.frame, start=tile.start)
                if not math.isfinite(total):
                    check_finite(stream.label, tile)
                    exact = TileDistance(grid, reference, np.float64)
                    total = exact.sum(tile.values, frame=tile.frame, start=tile.start)
                result[tile.frame] += total
        result[span.start : span.stop] /= grid.pixels

    return work


def _affine_piece(
    difference: Coefficients, frames: slice, result: NDArray[np.float64], grid: PixelGrid
) -> Callable[[], None]:
    def work() -> None:
        result[frames] = affine_errors(difference[frames], grid)

    return work


def check_finite(label: str, tile: Tile) -> None:
    """Refuse a tile that holds NaN or infinity, and say where."""
    finite = np.isfinite(tile.values)
    if finite.all():
        return
    component, pixel = (int(index) for index in np.argwhere(~finite)[0])
    what = "NaN" if np.isnan(tile.values[component, pixel]) else "an infinite value"
    raise Refused(f"{label} holds {what}, first at [{tile.frame}, {component}, {tile.start + pixel}].")


def run_in_order(work: Sequence[Callable[[], None]], *, threads: int) -> None:
    """Run all pieces; raise what the first piece in order raised.

    Pieces are begun in order, and after a failure no further one is begun: everything before the failed piece was then
    begun, too, and is finished, so the earliest failure is always found.
    """
    waiting = iter(enumerate(work))
    taking = Lock()
    failures: dict[int, BaseException] = {}

    def serve(_: Any) -> None:
        while True:
            with taking:
                number, piece = next(waiting, (-1, None)) if not failures else (-1, None)
            if piece is None:
                return
            try:
                piece()
            except BaseException as failure:
                failures[number] = failure

    if threads == 1:
        serve(None)
    else:
        with ThreadPoolExecutor(threads) as pool:
            list(pool.map(serve, range(threads)))
    if failures:
        raise failures[min(failures)]
