"""A colour photograph of front teeth between lips, drawn: two rows of crowns, gums and a shadow."""

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import gaussian_filter

ROWS, COLUMNS = 240, 360
LIP, GUM, TOOTH, DARK = (168, 84, 84), (205, 112, 110), (236, 226, 204), (46, 18, 20)


def draw_photograph(rng: np.random.Generator) -> NDArray[np.uint8]:
    row, column = np.mgrid[:ROWS, :COLUMNS]
    picture = np.empty((ROWS, COLUMNS, 3))
    picture[:] = LIP
    x = (column - COLUMNS / 2) / (COLUMNS / 2)
    bite = ROWS / 2 + 8 * x**2
    mouth = (x / 0.94) ** 2 + ((row - bite) / 100) ** 2 < 1
    picture[mouth] = DARK
    picture[mouth & (np.abs(row - bite) > 46)] = GUM
    for jaw, teeth in ((-1, 8), (1, 10)):
        edges = np.linspace(-0.84, 0.84, teeth + 1)
        for left, right in pairwise(edges):
            middle, half = (left + right) / 2, (right - left) / 2 * 0.94
            height = rng.uniform(44, 54) * (1 - 0.35 * middle**2)
            across = (x - middle) / half
            down = (row - bite) * jaw
            crown = (np.abs(across) < 1) & (down > 2) & (down < 3 + height * np.sqrt(np.clip(1 - across**4, 0, 1)))
            shade = (1 - 0.25 * across[crown] ** 2) * rng.uniform(0.93, 1)
            picture[crown & mouth] = (np.array(TOOTH) * shade[:, None])[mouth[crown]]
    smooth = gaussian_filter(picture, (0.9, 0.9, 0)) + rng.normal(0, 1.5, picture.shape)
    return (np.round(smooth.clip(0, 255) / 6) * 6).clip(0, 255).astype(np.uint8)
