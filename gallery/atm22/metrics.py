"""ATM'22: the share of the tree's length and of its branches that is detected."""

import numpy as np
from scipy import ndimage

from podium.own_metrics import case_metric


@case_metric(
    values="airway",
    extra={"branches": "{case}_branches.npy"},  # the number of the branch on its centre line, else 0
    parameters={"detected_from": float},
    direction="higher",
    lowest=0.0,
    highest=1.0,
    figures={"length": {"title": "Tree length detected"}, "branches": {"title": "Branches detected"}},
)
def tree(*, predictions, extra, detected_from):
    line = np.load(extra["branches"])
    components, number = ndimage.label(predictions["airway"], np.ones((3, 3, 3)))
    sizes = np.bincount(components.ravel(), minlength=number + 1)[1:]
    largest = components == 1 + int(np.argmax(sizes)) if number else np.zeros(line.shape, bool)
    branches = range(1, int(line.max()) + 1)
    shares = [largest[line == branch].mean() for branch in branches]
    return {
        "length": float(largest[line > 0].mean()),
        "branches": float(np.mean([share >= detected_from for share in shares])),
    }
