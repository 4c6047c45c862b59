"""Image quality against scikit-image, MONAI and a literal reading of SynthRAD's rules."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from monai.metrics.regression import compute_ms_ssim
from scipy.ndimage import uniform_filter
from skimage.metrics import mean_squared_error, peak_signal_noise_ratio, structural_similarity
from skimage.transform import downscale_local_mean

from podium.metrics import image_quality
from podium.metrics.image_quality import confined, mae, ms_ssim, psnr, rmse, ssim

LOWEST, HIGHEST = -1024.0, 3000.0
RANGE = HIGHEST - LOWEST
WEIGHTS = (0.0448, 0.2856, 0.3001, 0.2363, 0.1333)


def pair(shape: tuple[int, ...], seed: int, noise: float = 200.0) -> tuple[np.ndarray, np.ndarray]:
    """A prediction and a reference as int16, as CT volumes are stored; partly beyond the range."""
    generator = np.random.default_rng(seed)
    reference = uniform_filter(generator.normal(0, 4000, shape), 3)
    prediction = reference + generator.normal(0, noise, shape)
    return prediction.astype(np.int16), reference.astype(np.int16)


def ball(shape: tuple[int, ...]) -> np.ndarray:
    """Touches the border of the image."""
    grid = np.indices(shape)
    centre = np.array(shape).reshape(-1, *[1] * len(shape)) / 2
    return np.asarray(((grid - centre) ** 2).sum(axis=0) < (max(shape) / 2) ** 2)


def cropped(image: np.ndarray) -> np.ndarray:
    return image[(slice(3, -3),) * image.ndim]


SHAPES = st.one_of(st.tuples(*[st.integers(7, 20)] * 2), st.tuples(*[st.integers(7, 12)] * 3))


def test_by_hand() -> None:
    prediction, reference = np.array([[1, 2], [3, 250]], np.uint8), np.array([[0, 4], [3, 255]], np.uint8)
    assert mae(prediction=prediction, reference=reference) == 2.0
    assert rmse(prediction=prediction, reference=reference) == pytest.approx(math.sqrt(30 / 4))
    assert psnr(prediction=prediction, reference=reference, data_range=255) == pytest.approx(
        10 * math.log10(255**2 / 7.5)
    )
    within = np.array([[True, True], [False, False]])
    assert mae(prediction=prediction, reference=reference, within=within) == 1.5
    assert rmse(prediction=prediction, reference=reference, within=within) == pytest.approx(math.sqrt(2.5))


@given(SHAPES, st.integers(0, 99))
def test_errors_are_those_of_scikit_image(shape: tuple[int, ...], seed: int) -> None:
    prediction, reference = pair(shape, seed)
    assert rmse(prediction=prediction, reference=reference) == pytest.approx(
        math.sqrt(mean_squared_error(reference, prediction))
    )
    assert psnr(prediction=prediction, reference=reference, data_range=RANGE) == pytest.approx(
        peak_signal_noise_ratio(reference, prediction, data_range=RANGE), abs=1e-9
    )


@given(SHAPES, st.integers(0, 99), st.booleans())
def test_ssim_is_that_of_scikit_image(shape: tuple[int, ...], seed: int, masked: bool) -> None:
    prediction, reference = (image.astype(np.float64) for image in pair(shape, seed))
    expected, similarities = structural_similarity(reference, prediction, data_range=RANGE, full=True)
    within = np.random.default_rng(seed).random(shape) < 0.5 if masked else None
    if within is not None:
        inside = cropped(similarities)[cropped(within)]
        expected = inside.mean() if inside.size else None
    found = ssim(prediction=prediction, reference=reference, data_range=RANGE, within=within)
    assert found == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("slab_voxels", [1, 500, 1500])
def test_slabs_change_nothing(slab_voxels: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(image_quality, "_SLAB_VOXELS", slab_voxels)
    prediction, reference = pair((30, 9, 12), 1)
    expected = structural_similarity(reference.astype(float), prediction.astype(float), data_range=RANGE)
    assert ssim(prediction=prediction, reference=reference, data_range=RANGE) == pytest.approx(expected, abs=1e-9)


@given(SHAPES, st.integers(0, 99))
def test_ssim_of_synthrad(shape: tuple[int, ...], seed: int) -> None:
    """Both clipped to the range and set to its lowest value outside of the body, then the mean of the map inside."""
    prediction, reference = pair(shape, seed, noise=1500)
    body = ball(shape)
    prepared = []
    for image in (prediction, reference):
        clipped = np.minimum(np.maximum(image.astype(float), LOWEST), HIGHEST)
        prepared.append(np.where(body, clipped, LOWEST) - LOWEST)
    similarities = structural_similarity(prepared[1], prepared[0], data_range=RANGE, full=True)[1]
    found = ssim(
        prediction=confined(prediction, lowest=LOWEST, highest=HIGHEST, within=body),
        reference=confined(reference, lowest=LOWEST, highest=HIGHEST, within=body),
        data_range=RANGE,
        within=body,
    )
    assert found == pytest.approx(cropped(similarities)[cropped(body)].mean(), abs=1e-9)


def test_a_range_above_zero_is_not_shifted() -> None:
    assert confined(np.array([0, 3, 9]), lowest=2, highest=5).tolist() == [2, 3, 5]
    assert confined(np.array([-3, 3, 9]), lowest=-2, highest=5).tolist() == [0, 5, 7]


def monais_ms_ssim(prediction: np.ndarray, reference: np.ndarray, dtype: torch.dtype, k2: float) -> float:
    """MONAI's formula with a uniform window of 7, in any precision; its images are between 0 and 1."""
    axes, figure = prediction.ndim, 1.0
    convolve, pool = (getattr(torch.nn.functional, f"{name}{axes}d") for name in ("conv", "avg_pool"))
    window = torch.full((1, 1, *[7] * axes), 1 / 7**axes, dtype=dtype)
    x, y = (torch.from_numpy(image).to(dtype)[None, None] for image in (prediction, reference))
    for scale, weight in enumerate(WEIGHTS):
        mean_x, mean_y = convolve(x, window), convolve(y, window)
        variances = convolve(x * x, window) - mean_x**2 + convolve(y * y, window) - mean_y**2
        values = (2 * (convolve(x * y, window) - mean_x * mean_y) + k2**2) / (variances + k2**2)
        if scale == 4:
            values = values * (2 * mean_x * mean_y + 0.01**2) / (mean_x**2 + mean_y**2 + 0.01**2)
        figure *= max(values.mean().item(), 0.0) ** weight
        x, y = pool(x, 2), pool(y, 2)
    return figure


@pytest.mark.parametrize("shape", [(112, 131), (115, 113), (112, 112, 113)])
@pytest.mark.parametrize("noise", [200, 1500])
def test_ms_ssim_differs_from_monai_by_covariances_and_precision_alone(shape: tuple[int, ...], noise: float) -> None:
    """MONAI's covariances are of the population: as if C2 were larger by N / (N - 1), so k2 by its root. It computes in
    single precision. Its default window, a Gaussian, is another one."""
    prediction, reference = (
        confined(image, lowest=LOWEST, highest=HIGHEST) / RANGE for image in pair(shape, 3, noise=noise)
    )
    tensors = [torch.from_numpy(image)[None, None] for image in (prediction, reference)]
    windows = {"spatial_dims": len(shape), "kernel_type": "uniform", "kernel_size": 7}
    monais = compute_ms_ssim(*tensors, **windows).item()
    assert monais == pytest.approx(monais_ms_ssim(prediction, reference, torch.float32, 0.03), abs=1e-6)
    found = ms_ssim(prediction=prediction, reference=reference, data_range=1.0)
    of_samples = 0.03 * math.sqrt((7 ** len(shape) - 1) / 7 ** len(shape))
    assert found == pytest.approx(monais_ms_ssim(prediction, reference, torch.float64, of_samples), abs=1e-9)
    assert found == pytest.approx(compute_ms_ssim(*tensors, **windows, k2=of_samples).item(), abs=1e-5)
    assert found < 0.999


def test_the_shift_of_confined_images_changes_ssim() -> None:
    """An error of 200 HU in tissue around 0 HU, as in docs/metrics.md: the luminance of 0 is not that of 1024."""
    prediction, reference = pair((40, 40), 5, noise=10)
    prediction += 200
    clipped = [np.clip(image.astype(float), LOWEST, HIGHEST) for image in (prediction, reference)]
    assert structural_similarity(*clipped, data_range=RANGE) == pytest.approx(0.745, abs=5e-4)
    shifted = [confined(image, lowest=LOWEST, highest=HIGHEST) for image in (prediction, reference)]
    found = ssim(prediction=shifted[0], reference=shifted[1], data_range=RANGE)
    assert found == pytest.approx(0.989, abs=5e-4)


@pytest.mark.parametrize("shape", [(112, 131), (115, 112, 112)])
def test_ms_ssim_is_made_of_the_ssim_of_scikit_image(shape: tuple[int, ...]) -> None:
    """With a huge K1 the luminance is 1 everywhere, so that only contrast and structure are left."""
    prediction, reference = pair(shape, 3)
    x, y, expected = prediction.astype(float), reference.astype(float), 1.0
    for scale, weight in enumerate(WEIGHTS):
        options = {} if scale == 4 else {"K1": 1e6}
        expected *= structural_similarity(x, y, data_range=RANGE, **options) ** weight
        even = tuple(slice(length - length % 2) for length in x.shape)
        x, y = (downscale_local_mean(image[even], (2,) * x.ndim) for image in (x, y))
    everywhere = np.ones(shape, dtype=np.bool_)
    for within in (None, everywhere):
        found = ms_ssim(prediction=prediction, reference=reference, data_range=RANGE, within=within)
        assert found == pytest.approx(expected, abs=1e-9)


def test_ms_ssim_within_a_mask_sees_no_error_far_away() -> None:
    prediction, reference = (np.zeros((256, 256)) for _ in range(2))
    prediction[:128] = 1.0
    within = np.zeros((256, 256), dtype=np.bool_)
    within[240:] = True
    assert ms_ssim(prediction=prediction, reference=reference, data_range=1.0) < 0.8
    # At the last scale the mask would begin at row 15 of 16, in the border that does not count.
    assert ms_ssim(prediction=prediction, reference=reference, data_range=1.0, within=within) is None
    within[190:] = True
    assert ms_ssim(prediction=prediction, reference=reference, data_range=1.0, within=within) == pytest.approx(1.0)


def test_equal_images() -> None:
    _, image = pair((112, 112), 0)
    same = {"prediction": image, "reference": image}
    assert mae(**same) == rmse(**same) == 0.0
    assert psnr(**same, data_range=RANGE) == math.inf
    for figure in (ssim, ms_ssim):
        assert figure(**same, data_range=RANGE) == pytest.approx(1.0)


def test_undefined_without_voxels() -> None:
    _, image = pair((120, 120), 0)
    same = {"prediction": image, "reference": image, "within": np.zeros(image.shape, dtype=np.bool_)}
    assert mae(**same) is rmse(**same) is psnr(**same, data_range=RANGE) is None
    for figure in (ssim, ms_ssim):
        assert figure(**same, data_range=RANGE) is None


def test_undefined_for_images_smaller_than_a_window() -> None:
    _, image = pair((6, 120), 0)
    assert ssim(prediction=image, reference=image, data_range=RANGE) is None
    _, image = pair((111, 120), 0)
    assert ms_ssim(prediction=image, reference=image, data_range=RANGE) is None
