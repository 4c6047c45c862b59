"""SynthRAD: a body of water with a bone in it, scored with scikit-image as the organisers do, in double precision."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from skimage.metrics import peak_signal_noise_ratio, structural_similarity

from gallery.ellipsoids import ellipsoid
from gallery.files import clear, means, write_expected, write_volume

Mask = NDArray[np.bool_]
Image = NDArray[np.int16]
LOWEST, HIGHEST = -1024.0, 3000.0
BRIGHTEST = 3500.0  # that an image may have
SHAPE = (10, 20, 24)
SPACING = (1.0, 1.0, 2.5)
EDGE = 3
CASES = ("1BA001", "1BA005", "1PC008")
NOISE = {"collimator": 8.0, "gantry": 60.0}
LOST = {"collimator": {}, "gantry": {"1BA005": "missing", "1PC008": "failed"}}


def write(folder: Path) -> None:
    """References, teams and expected figures of the entry."""
    clear(folder)
    rng = np.random.default_rng(2023)
    references = {case: _scan(number) for number, case in enumerate(CASES)}
    for case, (ct, body) in references.items():
        write_volume(folder / "references" / f"{case}_ct.mha", ct, spacing=SPACING)
        write_volume(folder / "references" / f"{case}_mask.mha", body.astype(np.uint8), spacing=SPACING)
    for position, (team, noise) in enumerate(NOISE.items(), start=1):
        cases: dict[str, dict[str, float]] = {}
        for case, (ct, body) in references.items():
            found = _synthetic(rng, ct, body, noise)
            lost = LOST[team].get(case)
            if lost != "missing":
                sent = found if lost is None else found[1:]  # a slice too few
                write_volume(folder / "teams" / team / f"{case}.mha", sent, spacing=SPACING)
            cases[case] = _figures(found, ct, body) if lost is None else _worst(ct, body)
        write_expected(folder, team, position=position, aggregates=means(cases), cases=cases, lost=LOST[team])


def _scan(number: int) -> tuple[Image, Mask]:
    """Air, a body of soft tissue, a bone in it and a piece of metal that is brighter than the range."""
    body = ellipsoid(SHAPE, (4.5, 9.5, 11.5), (5.5, 8 - number, 10 - number))
    ct = np.where(body, 40, -1000).astype(np.int16)
    ct[ellipsoid(SHAPE, (4.5, 9.5, 11.5), (5, 3, 3))] = 700 + 100 * number
    ct[ellipsoid(SHAPE, (4.5, 9.5, 6.5), (1, 1, 1))] = 3100
    return ct, body


def _synthetic(rng: np.random.Generator, ct: Image, body: Mask, noise: float) -> Image:
    """The scan with noise in the body, and something quite different outside, which does not count."""
    noisy = ct + np.round(rng.normal(0.0, noise, SHAPE))
    return np.where(body, noisy, -200).astype(np.int16)


def _figures(found: Image, ct: Image, body: Mask) -> dict[str, float]:
    prediction, reference = found.astype(np.float64), ct.astype(np.float64)
    span = HIGHEST - LOWEST
    clipped = [np.clip(image, LOWEST, HIGHEST) for image in (reference, prediction)]
    positive = [np.where(body, image, LOWEST) - LOWEST for image in clipped]
    _, similarity = structural_similarity(*positive, data_range=span, full=True)
    inner = tuple(slice(EDGE, size - EDGE) for size in SHAPE)
    return {
        "mae": float(np.abs(prediction[body] - reference[body]).mean()),
        "psnr": float(peak_signal_noise_ratio(clipped[0][body], clipped[1][body], data_range=span)),
        "ssim": float(similarity[inner][body[inner]].mean()),
    }


def _worst(ct: Image, body: Mask) -> dict[str, float]:
    """Of the image that is as far off as it may be, voxel by voxel."""
    reference = ct[body].astype(np.float64)
    furthest = np.maximum(np.abs(reference - LOWEST), np.abs(reference - BRIGHTEST))
    return {"mae": float(furthest.mean()), "psnr": 0.0, "ssim": -1.0}
