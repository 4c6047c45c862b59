"""From an echogenicity map to something that looks like a B-mode image.

A scanner sees the sum of many scatterers within its pulse: complex Gaussian noise, scaled by how strongly the tissue
scatters and blurred by a pulse that is short along the beam and wide across it. The envelope of that is Rayleigh
speckle; compressed logarithmically it is what hangs on the wall of every vascular clinic.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import gaussian_filter

Field = NDArray[np.float64]

PULSE_SIGMA_PX = (0.75, 1.35)  # along the beam (rows), across it (columns)
DARKEST_DB, BRIGHTEST_DB = -29.0, 13.0
LOSS_OVER_DEPTH_DB = 7.0  # what is left of the attenuation after the scanner's gain compensation


def b_mode(rng: np.random.Generator, *, scatter: Field, reflection: Field, gain_db: Field) -> NDArray[np.uint8]:
    """An 8-bit image from diffuse scatterers, smooth reflectors (walls) and extra gain (shadow, enhancement)."""
    noise = rng.standard_normal(scatter.shape) + 1j * rng.standard_normal(scatter.shape)
    speckle = blurred(scatter * noise.real) + 1j * blurred(scatter * noise.imag)
    # The blur averages the noise away; dividing by its effect on white noise restores the tissue's own level.
    envelope = np.abs(speckle + blurred(reflection)) / np.sqrt(2 * pulse_energy())
    rows = np.linspace(0, 1, scatter.shape[0])[:, None]
    decibel = 20 * np.log10(envelope + 1e-6) + gain_db - LOSS_OVER_DEPTH_DB * rows
    grey = (decibel - DARKEST_DB) / (BRIGHTEST_DB - DARKEST_DB)
    # A slight curve keeps the lumen black without burning the walls out, as scanners' grey maps do.
    return np.round(255 * np.clip(grey, 0, 1) ** 1.35).astype(np.uint8)


def blurred(values: Field) -> Field:
    result: Field = gaussian_filter(values, PULSE_SIGMA_PX, mode="nearest")
    return result


def pulse_energy() -> float:
    """The variance that white noise of variance 1 keeps after the blur."""
    impulse = np.zeros((25, 25))
    impulse[12, 12] = 1
    return float((blurred(impulse) ** 2).sum())


def smooth_field(rng: np.random.Generator, shape: tuple[int, ...], sigma: Sequence[float]) -> Field:
    """Smooth noise of mean 0 and standard deviation 1."""
    field: Field = gaussian_filter(rng.standard_normal(shape), sigma, mode="wrap")
    return (field - field.mean()) / field.std()
