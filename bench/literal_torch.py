"""GPE and LPE as the rules define them, with torch: compute every reference field, subtract, take norms."""

from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray


def pixel_errors(
    poses: NDArray[np.float64],
    *,
    pixel_to_mm: NDArray[np.float64],
    image_to_tool: NDArray[np.float64],
    size: tuple[int, int],
    folder: Path,
) -> tuple[float, float]:
    """GPE and LPE of `GP.npy` and `LP.npy` in `folder`, and the errors of identity that the scores need on the way."""
    height, width = size
    y, x = torch.meshgrid(torch.arange(1, height + 1), torch.arange(1, width + 1), indexing="ij")
    pixels = torch.stack([x.flatten(), y.flatten(), torch.zeros(x.numel()), torch.ones(x.numel())]).float()
    points = torch.from_numpy(pixel_to_mm).float() @ pixels
    to_tool = torch.from_numpy(image_to_tool)
    tool_to_camera = torch.from_numpy(poses)
    found = []
    for name, base in (("GP", tool_to_camera[:1]), ("LP", tool_to_camera[:-1])):
        transforms = torch.linalg.inv(to_tool) @ torch.linalg.inv(base) @ tool_to_camera[1:] @ to_tool
        reference = (transforms.float() @ points - points)[:, :3]
        prediction = torch.from_numpy(np.load(folder / f"{name}.npy"))
        found.append(float(torch.linalg.norm(reference - prediction, dim=1).mean()))
        torch.linalg.norm(reference, dim=1).mean()  # the largest error
    return found[0], found[1]
