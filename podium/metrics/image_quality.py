"""Image quality: how far the intensities of two images are apart. 2-D or 3-D, one case at a time.

All functions take `within`: only its voxels count. Without a voxel to count the figure is undefined: None.
"""

import math
from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from podium.metrics import Floats, Mask

Image = NDArray[np.number]

_WINDOW = 7  # voxels of the cube in which means and variances are taken: scikit-image's default
_EDGE = _WINDOW // 2  # voxels at each border whose window leaves the image; they do not count
_K1, _K2 = 0.01, 0.03
_SCALE_WEIGHTS = (0.0448, 0.2856, 0.3001, 0.2363, 0.1333)  # Wang et al. 2003, and MONAI's default
_SLAB_VOXELS = 2**22


def mae(*, prediction: Image, reference: Image, within: Mask | None = None) -> float | None:
    """The mean of |prediction - reference| over the voxels, in the unit of the image; lower is better."""
    errors = _differences(prediction, reference, within)
    return float(np.abs(errors).mean()) if errors.size else None


def rmse(*, prediction: Image, reference: Image, within: Mask | None = None) -> float | None:
    """The root of the mean of (prediction - reference)^2, in the unit of the image; lower is better."""
    errors = _differences(prediction, reference, within)
    return math.sqrt(float(np.square(errors).mean())) if errors.size else None


def psnr(*, prediction: Image, reference: Image, data_range: float, within: Mask | None = None) -> float | None:
    """PSNR = 20 log10(data_range / RMSE) in dB; higher is better, infinite for equal images."""
    error = rmse(prediction=prediction, reference=reference, within=within)
    if error is None:
        return None
    return 20 * math.log10(data_range / error) if error else math.inf


def confined(image: Image, *, lowest: float, highest: float, within: Mask | None = None) -> Floats:
    """An image as SynthRAD prepares it: clipped to the range; outside of `within` the lowest value, so that nothing
    there is seen by the windows of SSIM; shifted to begin at 0 if the range begins below.

    SynthRAD 2023 and 2025 compute PSNR, SSIM and MS-SSIM of such images (data_range = highest - lowest), and the MAE
    of the images as they are.
    """
    clipped = np.clip(np.asarray(image, dtype=np.float64), lowest, highest)
    if within is not None:
        clipped[~within] = lowest
    return clipped - min(lowest, 0.0)


def ssim(*, prediction: Image, reference: Image, data_range: float, within: Mask | None = None) -> float | None:
    """The mean structural similarity; -1 to 1, higher is better.

    SSIM = (2 m_x m_y + C1)(2 s_xy + C2) / ((m_x^2 + m_y^2 + C1)(s_x^2 + s_y^2 + C2)) of each voxel, in a cube of 7
    voxels with equal weights and sample covariances; C1 = (0.01 data_range)^2, C2 = (0.03 data_range)^2. This is
    scikit-image's `structural_similarity` with its defaults; the three voxels at each border do not count. `within`
    takes the mean over its voxels, as SynthRAD does; the windows still see the voxels around (see `confined`). None for
    images of less than 7 voxels along an axis.

    Own code, since MS-SSIM needs the two factors apart and scikit-image holds a dozen copies of a volume: here there
    are as many of a slab only.
    """
    return _mean_map(np.multiply, prediction, reference, data_range, within)


def ms_ssim(*, prediction: Image, reference: Image, data_range: float, within: Mask | None = None) -> float | None:
    """Multi-scale structural similarity (Wang et al. 2003) with the windows of `ssim`; 0 to 1, higher is better.

    Five scales, each the mean of 2 x 2 (x 2) voxels of the one before. The product of the mean contrast-structure
    factors (the second factor of SSIM) of the first four and the mean SSIM of the last, negative ones as 0, to the
    powers 0.0448, 0.2856, 0.3001, 0.2363, 0.1333: MONAI's `compute_ms_ssim` with a uniform kernel of 7 and sample
    covariances. At each scale `within` has every second voxel of the one before. None for images of less than 112
    voxels along an axis, and where `within` has no voxel left at a scale.
    """
    x, y = prediction, reference
    figure = 1.0
    for scale, weight in enumerate(_SCALE_WEIGHTS):
        if scale:
            x, y = _halved(x), _halved(y)
            if within is not None:
                within = within[tuple(slice(0, 2 * length, 2) for length in x.shape)]
        combine = np.multiply if scale == len(_SCALE_WEIGHTS) - 1 else lambda _, structure: structure
        mean = _mean_map(combine, x, y, data_range, within)
        if mean is None:
            return None
        figure *= max(mean, 0.0) ** weight
    return figure


def _differences(prediction: Image, reference: Image, within: Mask | None) -> Floats:
    if within is not None:
        prediction, reference = prediction[within], reference[within]
    return np.subtract(prediction, reference, dtype=np.float64)


def _mean_map(
    combine: Callable[[Floats, Floats], Floats],
    prediction: Image,
    reference: Image,
    data_range: float,
    within: Mask | None,
) -> float | None:
    """The mean of what `combine` makes of the two factors of SSIM, luminance and contrast-structure, over the voxels
    whose window is inside the image."""
    if min(reference.shape) < _WINDOW:
        return None
    total, count = 0.0, 0
    for slab in _slabs(reference.shape):
        inner = tuple(slice(_EDGE, length - _EDGE) for length in reference[slab].shape)
        chosen = None if within is None else within[slab][inner]
        if chosen is not None and not chosen.any():
            continue
        luminance, structure = _factors(prediction[slab], reference[slab], data_range)
        values = combine(luminance[inner], structure[inner])
        if chosen is not None:
            values = values[chosen]
        total += float(values.sum())
        count += values.size
    return total / count if count else None


def _slabs(shape: tuple[int, ...]) -> Iterator[slice]:
    """Slices along the first axis whose inner parts, `_EDGE` apart from their ends, cover that of the image once."""
    step = max(1, _SLAB_VOXELS // math.prod(shape[1:]))
    for start in range(_EDGE, shape[0] - _EDGE, step):
        yield slice(start - _EDGE, min(start + step, shape[0] - _EDGE) + _EDGE)


def _factors(prediction: Image, reference: Image, data_range: float) -> tuple[Floats, Floats]:
    from scipy.ndimage import uniform_filter

    def local_mean(image: Floats) -> Floats:
        return np.asarray(uniform_filter(image, size=_WINDOW))

    x, y = prediction.astype(np.float64), reference.astype(np.float64)
    mean_x, mean_y = local_mean(x), local_mean(y)
    voxels = _WINDOW**x.ndim
    to_sample = voxels / (voxels - 1)
    covariance = to_sample * (local_mean(x * y) - mean_x * mean_y)
    variances = to_sample * (local_mean(x * x + y * y) - mean_x**2 - mean_y**2)
    c1, c2 = (_K1 * data_range) ** 2, (_K2 * data_range) ** 2
    luminance = (2 * mean_x * mean_y + c1) / (mean_x**2 + mean_y**2 + c1)
    return luminance, (2 * covariance + c2) / (variances + c2)


def _halved(image: Image) -> Floats:
    """The mean of 2 x 2 (x 2) voxels; a last odd row is left out."""
    halved = image.astype(np.float64)
    for axis, length in enumerate(image.shape):
        first, second = (np.take(halved, range(start, length - length % 2, 2), axis=axis) for start in (0, 1))
        halved = (first + second) / 2
    return halved
