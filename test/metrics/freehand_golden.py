"""The worked example of the freehand rules: H = 4, W = 5, three frames, four landmarks, all by hand."""

import numpy as np

HEIGHT, WIDTH = 4, 5
LAST_ROW = [0, 0, 0, 1]
PIXEL_TO_MM = np.diag([0.5, 0.25, 1, 1])
IMAGE_TO_TOOL = np.array([[0, -1, 0, 10], [1, 0, 0, -20], [0, 0, 1, 5], LAST_ROW], dtype=float)
TOOL_TO_CAMERA = np.array(
    [
        [[1, 0, 0, 100], [0, 0, -1, 50], [0, 1, 0, -30], LAST_ROW],
        [[0.6, -0.8, 0, 101], [0.8, 0.6, 0, 52], [0, 0, 1, -27], LAST_ROW],
        [[0.8, 0, 0.6, 98], [0, 1, 0, 55], [-0.6, 0, 0.8, -25], LAST_ROW],
    ]
)
LANDMARKS = np.array([[1, 2, 3], [2, 5, 1], [2, 1, 4], [1, 5, 4]])
GLOBAL = np.array(
    [
        [[0, 0, 1, 28], [0.8, 0.6, 0, -13], [-0.6, 0.8, 0, -3], LAST_ROW],
        [[0, 0.6, 0.8, 23], [0, 0.8, -0.6, 1], [-1, 0, 0, 10], LAST_ROW],
    ]
)
LOCAL = np.array([GLOBAL[0], [[0.6, 0.64, -0.48, 3.4], [-0.8, 0.48, -0.36, 18.8], [0, 0.6, 0.8, -5], LAST_ROW]])

X = np.tile(np.arange(1, WIDTH + 1), HEIGHT)
Y = np.repeat(np.arange(1, HEIGHT + 1), WIDTH)
FIRST = np.stack([28 - 0.5 * X, -13 + 0.4 * X - 0.1 * Y, -3 - 0.3 * X + 0.2 * Y])
GP = np.stack([FIRST, np.stack([23 - 0.5 * X + 0.15 * Y, 1 - 0.05 * Y, 10 - 0.5 * X])])
LP = np.stack([FIRST, np.stack([3.4 - 0.2 * X + 0.16 * Y, 18.8 - 0.4 * X - 0.13 * Y, -5 + 0.15 * Y])])
GL = np.array([[27, 20.65, 23.1, 25.5], [-12.5, 0.95, 0.8, -11.4], [-3, 7.5, 9.5, -3.7]])
LL = np.array([[27, 2.56, 3.84, 25.5], [-12.5, 16.67, 17.88, -11.4], [-3, -4.85, -4.4, -3.7]])

OFFSET = np.array([3.0, 4.0, 0.0])[:, None]  # a distance of 5 mm everywhere
LARGEST = {"gpe": 26.401923658, "gle": 26.265145253, "lpe": 23.743035742, "lle": 23.609686962}
NORMALISED_AT_5_MM = {"gpe": 0.810619860, "gle": 0.809633644, "lpe": 0.789411933, "lle": 0.788222520}
FINAL_AT_5_MM = 0.799471989
FINAL_WITH_ONLY_GP_OFF = 0.952654965
COLUMN_MAJOR = {"gpe": 1.109706503, "lpe": 0.912790431}


def column_major(fields: np.ndarray) -> np.ndarray:
    """The same vectors with y as the fastest index: the mistake of a reshape in the wrong order."""
    frames = fields.reshape(len(fields), 3, HEIGHT, WIDTH)
    return np.ascontiguousarray(frames.transpose(0, 1, 3, 2)).reshape(len(fields), 3, -1)
