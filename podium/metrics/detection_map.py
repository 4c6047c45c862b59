"""Detection maps: an image of confidences whose connected components are the candidates. Source: picai_eval."""

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from podium.metrics.components import Components, Connectivity, Overlap, count_overlap, find_lesions, label_components
from podium.metrics.detection_facts import case_facts

MAX_CANDIDATES = 1000
"""More are never meant: a map full of specks must not fill metrics.json."""

_AS_3D: dict[int, Connectivity] = {4: 6, 8: 26, 6: 6, 18: 18, 26: 26}
_SLAB_VOXELS = 1 << 22


def match_detection_map(
    *,
    prediction: NDArray[Any],
    reference: NDArray[Any],
    iou_threshold: float = 0.1,
    connectivity: Literal[4, 8, 6, 18, 26] = 26,
    max_candidates: int = MAX_CANDIDATES,
) -> dict[str, object]:
    """The facts of a case: confidences (2-D or 3-D, finite) against a label image of the same shape.

    Every connected component above 0 is a candidate, its highest value its confidence; the `max_candidates` most
    confident count, of equal ones the first in the volume. The findings are the connected components of the reference
    where it is not 0. In 2-D the connectivity is 4 or 8.

    Matching is one to one among the pairs with IoU >= `iou_threshold`, such that the sum of 1 + IoU over the pairs is
    the highest. As in picai_eval, a candidate that overlaps a finding enough but was not matched is neither right nor
    wrong: it stands in no list. `highest` is the highest confidence of all.
    """
    if prediction.ndim == 2:
        prediction, reference = prediction[None], reference[None]
    joined = _AS_3D[connectivity]
    components = label_components(prediction > 0, connectivity=joined)
    lesions = find_lesions(reference != 0, connectivity=joined)
    confidence = _highest_values(components, prediction)
    kept = np.sort(np.argsort(-confidence, kind="stable")[:max_candidates])
    enough = _sufficient_iou(count_overlap(components, lesions), kept, iou_threshold)
    hit = np.zeros(len(kept), np.bool_)
    hit[_best_pairs(enough)] = True
    order = np.argsort(-confidence[kept], kind="stable")
    counted = order[(hit | ~enough.any(axis=0))[order]]
    return case_facts(
        probabilities=confidence[kept][counted].tolist(),
        hits=hit[counted].tolist(),
        references=lesions.count,
        highest=float(confidence.max(initial=0.0)),
    )


def _highest_values(components: Components, values: NDArray[Any]) -> NDArray[np.float64]:
    """The highest value of every component, the first component first; in slabs, since a map may have no background."""
    flat = np.ascontiguousarray(values).reshape(-1)
    highest = np.zeros(components.count + 1)
    for start in range(0, flat.size, _SLAB_VOXELS):
        places = start + np.flatnonzero(flat[start : start + _SLAB_VOXELS] > 0)
        np.maximum.at(highest, components.labels_at(places), flat[places])
    return highest[1:]


def _sufficient_iou(overlap: Overlap, kept: NDArray[np.int64], threshold: float) -> NDArray[np.float64]:
    """`[lesion, kept component]`: the IoU where it is sufficient, else 0."""
    column = np.full(overlap.component_count, -1)
    column[kept] = np.arange(len(kept))
    columns = column[overlap.component - 1]
    enough = (overlap.iou >= threshold) & (columns >= 0)
    table = np.zeros((overlap.lesions.count, len(kept)))
    table[overlap.lesion[enough] - 1, columns[enough]] = overlap.iou[enough]
    return table


def _best_pairs(iou: NDArray[np.float64]) -> NDArray[np.int64]:
    """The components that an optimal one-to-one matching gives a lesion."""
    from scipy.optimize import linear_sum_assignment

    # picai_eval adds 1 to prefer many matches to good ones; the two agree on ties only with the same matrix.
    rows, columns = linear_sum_assignment(np.where(iou > 0, iou + 1, 0), maximize=True)
    return np.asarray(columns[iou[rows, columns] > 0])
