"""The worked example to 1e-9 in float64 and 1e-5 in float32, and the kernels against a literal reading."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from literal import freehand as literal
from metrics import made as golden
from properties import examples

from podium.metrics import displacement as field_errors
from podium.metrics.displacement import (
    ERRORS,
    PixelGrid,
    TileDistance,
    affine_errors,
    category_scores,
    category_scores_as_written,
    chained,
    clipped,
    field_coefficients,
    final_score,
    gauss_rule,
    global_transforms,
    landmark_displacements,
    local_transforms,
    mean_distance,
    normalised_error,
    stretch_means,
    stretched,
    unchained,
)

GRID = PixelGrid(height=golden.HEIGHT, width=golden.WIDTH)
PRECISIONS = [(np.float64, 1e-9), (np.float32, 1e-5)]
G = field_coefficients(golden.GLOBAL, golden.PIXEL_TO_MM)
L = field_coefficients(golden.LOCAL, golden.PIXEL_TO_MM)


def error(fields: np.ndarray, coefficients: np.ndarray, *, precision: object, tile: int = GRID.pixels) -> float:
    """The mean distance over all frames, summed in tiles of that many pixels."""
    distance = TileDistance(GRID, coefficients, precision)  # type: ignore[arg-type]
    total = 0.0
    for frame, values in enumerate(fields):
        for start in range(0, GRID.pixels, tile):
            total += distance.sum(values[:, start : start + tile], frame=frame, start=start)
    return total / (len(fields) * GRID.pixels)


def errors(gp: np.ndarray, gl: np.ndarray, lp: np.ndarray, ll: np.ndarray, *, precision: object) -> dict[str, float]:
    return {
        "gpe": error(gp, G, precision=precision),
        "gle": mean_distance(prediction=gl, reference=landmark_displacements(G, golden.LANDMARKS)),
        "lpe": error(lp, L, precision=precision),
        "lle": mean_distance(prediction=ll, reference=landmark_displacements(L, golden.LANDMARKS)),
    }


def final(found: dict[str, float]) -> float:
    return final_score({name: normalised_error(found[name], largest=golden.LARGEST[name]) for name in ERRORS})


def test_transforms_of_the_worked_example() -> None:
    assert global_transforms(golden.TOOL_TO_CAMERA, golden.IMAGE_TO_TOOL) == pytest.approx(golden.GLOBAL, abs=1e-12)
    assert local_transforms(golden.TOOL_TO_CAMERA, golden.IMAGE_TO_TOOL) == pytest.approx(golden.LOCAL, abs=1e-12)


def test_the_running_product_of_local_transforms_is_global_and_can_be_undone() -> None:
    assert chained(golden.LOCAL) == pytest.approx(golden.GLOBAL, abs=1e-12)
    assert unchained(golden.GLOBAL) == pytest.approx(golden.LOCAL, abs=1e-12)


def test_landmarks_of_the_worked_example() -> None:
    assert landmark_displacements(G, golden.LANDMARKS) == pytest.approx(golden.GL, abs=1e-12)
    assert landmark_displacements(L, golden.LANDMARKS) == pytest.approx(golden.LL, abs=1e-12)


@pytest.mark.parametrize(("precision", "tolerance"), PRECISIONS)
def test_largest_errors_of_the_worked_example(precision: object, tolerance: float) -> None:
    nothing = errors(0 * golden.GP, 0 * golden.GL, 0 * golden.LP, 0 * golden.LL, precision=precision)
    assert nothing == pytest.approx(golden.LARGEST, abs=tolerance)
    for coefficients, name in ((G, "gpe"), (L, "lpe")):
        assert np.mean(affine_errors(coefficients, GRID)) == pytest.approx(golden.LARGEST[name], abs=1e-9)


@pytest.mark.parametrize(("precision", "tolerance"), PRECISIONS)
def test_an_offset_of_5_mm(precision: object, tolerance: float) -> None:
    sets = [values + golden.OFFSET for values in (golden.GP, golden.GL, golden.LP, golden.LL)]
    found = errors(*sets, precision=precision)
    assert found == pytest.approx(dict.fromkeys(ERRORS, 5.0), abs=tolerance)
    for name in ERRORS:
        star = normalised_error(found[name], largest=golden.LARGEST[name])
        assert star == pytest.approx(golden.NORMALISED_AT_5_MM[name], abs=tolerance)
    assert final(found) == pytest.approx(golden.FINAL_AT_5_MM, abs=tolerance)


@pytest.mark.parametrize(("factor", "expected"), [(0.9, 0.9), (-1, -1), (0, 0), (1, 1)])
@pytest.mark.parametrize(("precision", "tolerance"), PRECISIONS)
def test_scaled_predictions(factor: float, expected: float, precision: object, tolerance: float) -> None:
    sets = [factor * values for values in (golden.GP, golden.GL, golden.LP, golden.LL)]
    assert final(errors(*sets, precision=precision)) == pytest.approx(expected, abs=tolerance)


@pytest.mark.parametrize(("precision", "tolerance"), PRECISIONS)
def test_only_gp_off(precision: object, tolerance: float) -> None:
    found = errors(golden.GP + golden.OFFSET, golden.GL, golden.LP, golden.LL, precision=precision)
    assert final(found) == pytest.approx(golden.FINAL_WITH_ONLY_GP_OFF, abs=tolerance)


@pytest.mark.parametrize(("precision", "tolerance"), PRECISIONS)
def test_column_major_pixels_are_wrong_by_the_worked_figures(precision: object, tolerance: float) -> None:
    """Were x and y swapped in the kernel, these would be 0 and the right order would not."""
    gpe = error(golden.column_major(golden.GP), G, precision=precision)
    lpe = error(golden.column_major(golden.LP), L, precision=precision)
    assert {"gpe": gpe, "lpe": lpe} == pytest.approx(golden.COLUMN_MAJOR, abs=tolerance)


def test_pixels_counted_from_0_are_off_by_one_pixel_in_each_direction() -> None:
    """A field sampled at x-1, y-1 differs from the truth by -(b + c) everywhere."""
    shifted = golden.GP - (G[:, :, 1] + G[:, :, 2])[:, :, None]
    expected = np.linalg.norm(G[:, :, 1] + G[:, :, 2], axis=1).mean()
    assert error(shifted, G, precision=np.float64) == pytest.approx(expected, abs=1e-12)
    assert error(golden.GP, G, precision=np.float64) == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("tile", [1, 3, 5, 7, 10, 20])
def test_the_cut_into_tiles_changes_nothing(tile: int) -> None:
    assert error(golden.GP + golden.OFFSET, G, precision=np.float64, tile=tile) == pytest.approx(5, abs=1e-12)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, ">f4", np.float64, ">f8", np.int16, np.uint8])
def test_any_numeric_type_is_taken_at_its_value(dtype: object) -> None:
    fields = np.arange(2 * 3 * GRID.pixels).reshape(2, 3, -1) % 100
    expected = error(fields.astype(np.float64), G, precision=np.float64)
    assert error(fields.astype(dtype), G, precision=np.float32) == pytest.approx(expected, abs=1e-5)  # type: ignore[call-overload]


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("precision", [np.float32, np.float64])
def test_a_single_bad_value_makes_the_sum_not_finite(bad: float, precision: object) -> None:
    fields = golden.GP.copy()
    fields[1, 2, 19] = bad
    assert not math.isfinite(error(fields, G, precision=precision))


def test_values_too_large_for_float32_are_fine_in_float64() -> None:
    fields = golden.GP + np.array([3e25, 4e25, 0])[:, None]
    assert not math.isfinite(error(fields, G, precision=np.float32))
    assert error(fields, G, precision=np.float64) == pytest.approx(5e25)
    huge = G.copy()
    huge[:, :, 0] += [3e25, 4e25, 0]
    assert affine_errors(huge, GRID) == pytest.approx([5e25, 5e25])


numbers = st.floats(-50, 50, width=32)


@examples(60)
@given(
    height=st.integers(1, 7),
    width=st.integers(1, 7),
    coefficients=st.lists(numbers, min_size=9, max_size=9),
    tile=st.integers(1, 12),
    seed=st.integers(0, 2**32 - 1),
)
def test_the_tiled_kernel_is_the_literal_error_on_random_fields(
    height: int, width: int, coefficients: list[float], tile: int, seed: int
) -> None:
    """Non-rigid predictions against affine references, any cut, both precisions."""
    grid = PixelGrid(height=height, width=width)
    abc = np.array(coefficients).reshape(3, 3)
    prediction = np.random.default_rng(seed).normal(scale=20, size=(3, grid.pixels)).astype(np.float32)
    x, y = np.tile(np.arange(1, width + 1), height), np.repeat(np.arange(1, height + 1), width)
    reference = np.stack([a + b * x + c * y for a, b, c in abc])
    expected = literal.pixel_error(prediction[None], reference[None])
    for precision, tolerance in ((np.float64, 1e-9), (np.float32, 3e-4)):
        distance = TileDistance(grid, abc[None], precision)
        total = sum(
            distance.sum(prediction[:, start : start + tile], frame=0, start=start)
            for start in range(0, grid.pixels, tile)
        )
        assert total / grid.pixels == pytest.approx(expected, abs=tolerance)
        nothing = literal.pixel_error(0 * reference[None], reference[None])
        assert affine_errors(abc[None], grid) == pytest.approx([nothing], abs=1e-9)


@pytest.mark.parametrize("tile_pixels", [1, 7, 14, 20, 50, 1000])
@pytest.mark.parametrize("start", [0, 7, 14, 3])
def test_long_pieces_are_summed_tile_by_tile(tile_pixels: int, start: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whole rows and parts of rows, by tiles of one row, two, or the whole frame."""
    monkeypatch.setattr(field_errors, "TILE_PIXELS", tile_pixels)
    grid = PixelGrid(height=7, width=7)
    random = np.random.default_rng(start)
    abc, prediction = random.normal(size=(3, 3)), random.normal(size=(3, grid.pixels))
    reference = np.stack([a + b * grid.flat_x + c * grid.flat_y for a, b, c in abc])
    expected = np.linalg.norm(prediction - reference, axis=0)[start:].sum()
    found = TileDistance(grid, abc[None], np.float64).sum(prediction[:, start:], frame=0, start=start)
    assert found == pytest.approx(expected, rel=1e-12)


SIZES_MM = {  # of a, b and c, from fields like a forearm's to predictions that are nearly the reference
    "generic": (50, 0.05, 0.05),
    "almost constant": (50, 1e-6, 1e-6),
    "almost equal": (1e-4, 1e-7, 1e-7),
    "only turned": (0, 0.05, 0.05),
}


@examples(60)
@given(
    size=st.sampled_from(list(SIZES_MM)),
    flat=st.booleans(),
    still=st.tuples(st.floats(-200, 840), st.floats(-200, 680)),
    off=st.sampled_from([0, 0.01, 1, 10]),
    seed=st.integers(0, 2**32 - 1),
)
def test_whole_frames_against_the_literal_float64_error(
    size: str, flat: bool, still: tuple[float, float], off: float, seed: int
) -> None:
    """As coefficients, to 1e-10, and pixel by pixel in float32, to 1e-6: also where the field is zero, or nearly so, at
    one place or (`flat`: all vectors are parallel) along a line."""
    grid = PixelGrid(height=480, width=640)
    rng = np.random.default_rng(seed)
    abc = rng.normal(size=(3, 3)) * SIZES_MM[size]
    if flat:
        abc = np.outer(rng.normal(size=3), rng.normal(size=3) * SIZES_MM[size])
    if size == "only turned":
        abc[:, 0] = -abc[:, 1:] @ still + off * rng.normal(size=3)
    places = np.stack([np.ones(grid.pixels), np.tile(np.arange(1, 641), 480), np.repeat(np.arange(1, 481), 640)])
    expected = np.linalg.norm(abc @ places, axis=0).mean()
    assert affine_errors(np.stack([abc, 0 * abc, abc]), grid) == pytest.approx([expected, 0, expected], rel=1e-10)
    streamed = TileDistance(grid, np.stack([0 * abc, abc])).sum(np.zeros((3, grid.pixels), "f4"), frame=1, start=0)
    assert streamed / grid.pixels == pytest.approx(expected, rel=1e-6)


@examples(40)
@given(height=st.integers(1, 200), width=st.integers(1, 200), seed=st.integers(0, 2**32 - 1))
def test_frames_of_any_size_in_blocks(height: int, width: int, seed: int) -> None:
    abc = np.random.default_rng(seed).normal(size=(3, 3)) * [50, 0.5, 0.5]
    x, y = np.arange(1, width + 1), np.arange(1, height + 1)[:, None]
    expected = np.sqrt(sum((a + b * x + c * y) ** 2 for a, b, c in abc)).mean()
    assert affine_errors(abc[None], PixelGrid(height=height, width=width)) == pytest.approx([expected], rel=1e-10)


@pytest.mark.parametrize("count", [1, 2, 7, 8, 9, 80])
def test_the_rule_sums_polynomials_of_degree_15_exactly(count: int) -> None:
    places, weights = gauss_rule(count)
    steps = np.arange(count) - (count - 1) / 2
    for degree in range(16):
        scale = max(1.0, count / 2) ** degree
        assert (places**degree @ weights) / scale == pytest.approx((steps**degree).sum() / scale, abs=1e-11)


@examples(30)
@given(frames=st.integers(2, 4), seed=st.integers(0, 2**32 - 1))
def test_coefficients_are_the_literal_fields_of_random_affine_scans(frames: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    matrices = np.tile(np.eye(4), (frames + 2, 1, 1))
    matrices[:, :3] += rng.uniform(-0.2, 0.2, size=(frames + 2, 3, 4)) * [1, 1, 1, 50]
    scan = literal.Scan(
        tool_to_camera=matrices[2:],
        landmarks=np.stack([rng.integers(1, frames, 5), rng.integers(1, 4, 5), rng.integers(1, 3, 5)], axis=1),
        pixel_to_mm=matrices[0],
        image_to_tool=matrices[1],
        height=2,
        width=3,
    )
    truth = literal.reference(scan)
    grid = PixelGrid(height=2, width=3)
    x, y = np.array([1, 2, 3, 1, 2, 3]), np.array([1, 1, 1, 2, 2, 2])
    for compute, pixels, landmarks, name in (
        (global_transforms, truth.gp, truth.gl, "gpe"),
        (local_transforms, truth.lp, truth.ll, "lpe"),
    ):
        coefficients = field_coefficients(compute(scan.tool_to_camera, scan.image_to_tool), scan.pixel_to_mm)
        fields = np.einsum("fcj,jk->fck", coefficients, np.stack([np.ones(6), x, y]))
        assert fields == pytest.approx(pixels, abs=1e-9)
        assert landmark_displacements(coefficients, scan.landmarks) == pytest.approx(landmarks, abs=1e-9)
        largest = literal.largest_errors(truth)[name]
        assert np.mean(affine_errors(coefficients, grid)) == pytest.approx(largest, abs=1e-9)


@pytest.mark.parametrize(
    ("error_mm", "largest", "expected"),
    [
        (0, 0, 1),
        (0.5, 0, 0),
        (9e-5, 3e-5, 1),
        (2e-4, 9e-5, 0),
        (4e-4, 2e-4, -1),
        (0, 10, 1),
        (10, 10, 0),
        (30, 10, -2),
        (2.5, 10, 0.75),
    ],
)
def test_normalised_error(error_mm: float, largest: float, expected: float) -> None:
    assert normalised_error(error_mm, largest=largest) == expected


def test_equal_poses_are_exactly_no_motion() -> None:
    """The computed inverse of a pose times that pose would be a motion of some 1e-14 mm, and the scan not still."""
    still = np.repeat(golden.TOOL_TO_CAMERA[1:2] + 0.1, 3, axis=0)
    still[:, 3] = [0, 0, 0, 1]
    assert (global_transforms(still, golden.IMAGE_TO_TOOL) == np.eye(4)).all()
    assert (local_transforms(still, golden.IMAGE_TO_TOOL) == np.eye(4)).all()


def test_categories_and_what_the_document_writes() -> None:
    stars = {"gpe": 0.9, "gle": 0.7, "lpe": 0.5, "lle": 0.1}
    expected = {"global_score": 0.8, "local_score": 0.3, "pixel_score": 0.7, "landmark_score": 0.4}
    assert category_scores(stars) == pytest.approx(expected)
    written = {"global_score": 0.2, "local_score": 0.7, "pixel_score": 0.3, "landmark_score": 0.6}
    assert category_scores_as_written(stars) == pytest.approx(written)
    assert final_score(stars) == pytest.approx(0.55)
    assert [clipped(value) for value in (-2, 0, 0.4, 1, 1.5)] == [0, 0, 0.4, 1, 1]


# Long runs in few means.


def test_means_by_hand() -> None:
    assert stretch_means([1, 2, 3, 4, 50], most=3) == [1.5, 3.5, 50]
    assert stretched([1.5, 3.5, 50], length=5) == [1.5, 1.5, 3.5, 3.5, 50]
    assert stretch_means([], most=3) == []
    assert stretched([], length=0) == []


@given(st.integers(1, 10_000))
def test_every_mean_goes_back_to_its_places(length: int) -> None:
    values = [float(number) for number in range(length)]
    means = stretch_means(values)
    assert len(means) <= 100
    again = stretched(means, length=length)
    assert len(again) == length
    size = again.count(again[0])
    # Of 0, 1, 2, ... the mean of a stretch of `size` that starts at s is s + (size - 1) / 2, the last one's less.
    assert all(again[place] == place // size * size + (size - 1) / 2 for place in range(length // size * size))
    assert sum(mean or 0 for mean in again) == pytest.approx(sum(values))


@given(st.lists(st.floats(0, 1e3), min_size=1, max_size=100))
def test_short_runs_stay_as_they_are(values: list[float]) -> None:
    assert stretch_means(values) == values
