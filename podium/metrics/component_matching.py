"""Which predicted components belong to which lesions of the reference, by one of several published rules."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from podium.metrics.components import Connectivity, Lesions, Overlap, SparseComponents, count_overlap, find_lesions

Match = Literal["iou", "dice", "overlap", "centroid"]
Pairing = Literal["any", "greedy", "optimal"]
Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]
Numbers = NDArray[np.int64]


@dataclass(frozen=True, kw_only=True)
class MatchingRule:
    """What counts as a lesion, and when a predicted component matches one.

    connectivity          of the components on both sides
    min_voxels            smaller components are left out on both sides; a component that matches a lesion that is left
                          out is no false positive
    min_predicted_voxels  the same for the prediction's components, where it differs; 1 for BraTS
    dilate                lesions of the reference that touch when grown by this many voxels (18 neighbours) are one
    match, threshold      "iou" and "dice" of the pair, at least the threshold; "overlap", the component's share of the
                          lesion, at least the threshold, where the lesion is grown by `dilate` first, as in BraTS: a
                          threshold of 0 asks for one shared voxel; "centroid", at most the threshold apart in mm
    pairing               "any": every pair that matches (autoPET, BraTS); "greedy": one to one, best pair first;
                          "optimal": one to one with the largest sum of scores, for centroids the most pairs and then
                          the least sum of distances
    """

    connectivity: Connectivity = 26
    min_voxels: int = 1
    min_predicted_voxels: int | None = None
    dilate: int = 0
    match: Match = "iou"
    threshold: float = 0.5
    pairing: Pairing = "optimal"


@dataclass(frozen=True, eq=False, kw_only=True)
class Pairs:
    """Pairs of a lesion and a component (numbers from 1) with a score, higher is better."""

    lesion: Numbers
    component: Numbers
    score: Floats

    def only(self, kept: NDArray[np.bool_] | Numbers) -> "Pairs":
        return Pairs(lesion=self.lesion[kept], component=self.component[kept], score=self.score[kept])


def merged_lesions(reference: Mask, rule: MatchingRule) -> tuple[Lesions, Lesions]:
    """The lesions of a 3-D mask, and the same lesions grown by `dilate` voxels, numbered alike.

    Grown lesions that touch are one lesion. Growing is by the 18-neighbourhood, within the image.
    """
    if not rule.dilate:
        lesions = find_lesions(reference.view(np.uint8), connectivity=rule.connectivity)
        return lesions, lesions
    from scipy.ndimage import binary_dilation, generate_binary_structure

    grown_mask = binary_dilation(reference, generate_binary_structure(3, 2), iterations=rule.dilate)
    grown = find_lesions(grown_mask.view(np.uint8), connectivity=rule.connectivity)
    places = np.flatnonzero(reference)
    lesion = as_components(grown).labels_at(places)
    voxels = np.bincount(lesion, minlength=grown.count + 1)[1:]
    return Lesions(reference.shape, places, lesion, grown.ids, voxels), grown


def as_components(lesions: Lesions) -> SparseComponents:
    return SparseComponents(lesions.shape, lesions.places, lesions.lesion, lesions.count)


def matching_pairs(
    overlap: Overlap, components: Lesions, *, grown: Lesions, spacing_mm: Floats, rule: MatchingRule
) -> Pairs:
    """Every pair that meets the rule's threshold, before pairing; `overlap` is that of the lesions and `components`."""
    lesions = overlap.lesions
    if rule.match == "centroid":
        return _near_pairs(lesions, components, spacing_mm=spacing_mm, limit_mm=rule.threshold)
    sizes = lesions.voxels[overlap.lesion - 1], components.voxels[overlap.component - 1]
    if rule.match == "iou":
        score = overlap.iou
    elif rule.match == "dice":
        score = 2 * overlap.shared / (sizes[0] + sizes[1])
    else:
        if grown is not lesions:
            overlap = count_overlap(as_components(components), grown)
        score = overlap.shared / lesions.voxels[overlap.lesion - 1]
    pairs = Pairs(lesion=overlap.lesion, component=overlap.component, score=score)
    return pairs.only(pairs.score >= rule.threshold)


def _near_pairs(lesions: Lesions, components: Lesions, *, spacing_mm: Floats, limit_mm: float) -> Pairs:
    """All pairs whose centroids are at most so far apart; the score is minus the distance."""
    if not lesions.count or not components.count:
        nothing = np.zeros(0, np.int64)
        return Pairs(lesion=nothing, component=nothing, score=np.zeros(0))
    from scipy.spatial import cKDTree

    trees = [cKDTree(side.centroids() * spacing_mm) for side in (lesions, components)]
    near = trees[0].sparse_distance_matrix(trees[1], limit_mm, output_type="ndarray")
    return Pairs(lesion=near["i"] + 1, component=near["j"] + 1, score=-near["v"])


def paired(pairs: Pairs, rule: MatchingRule) -> Pairs:
    """What the rule's pairing leaves of the matching pairs; equal scores go to the lower lesion, then component."""
    if rule.pairing == "any":
        return pairs
    order = np.lexsort((pairs.component, pairs.lesion, -pairs.score))
    if rule.pairing == "greedy":
        return pairs.only(_greedy(pairs.only(order), order))
    return pairs.only(_optimal(pairs, worth=pairs.score if rule.match != "centroid" else None))


def _greedy(ordered: Pairs, order: Numbers) -> Numbers:
    taken: tuple[set[int], set[int]] = (set(), set())
    kept = []
    for place, lesion, component in zip(order, ordered.lesion.tolist(), ordered.component.tolist(), strict=True):
        if lesion not in taken[0] and component not in taken[1]:
            taken[0].add(lesion)
            taken[1].add(component)
            kept.append(place)
    return np.array(kept, np.int64)


def _optimal(pairs: Pairs, *, worth: Floats | None) -> Numbers:
    """The one-to-one pairs with the largest sum of worth; without it, the most pairs, and of those the best score.

    Lesions and components that no chain of pairs connects do not compete, so each such group is solved by itself.
    """
    if not len(pairs.score):
        return np.zeros(0, np.int64)
    from scipy.optimize import linear_sum_assignment
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    if worth is None:
        # One more pair is worth more than any difference in scores.
        worth = pairs.score + 1 - len(pairs.score) * min(0.0, float(pairs.score.min()))
    rows, columns = (np.unique(side, return_inverse=True)[1] for side in (pairs.lesion, pairs.component))
    nodes = int(rows.max() + columns.max() + 2)
    links = coo_array((np.ones(len(rows)), (rows, columns + rows.max() + 1)), shape=(nodes, nodes))
    group = connected_components(links, directed=False)[1][rows]
    order = np.argsort(group, kind="stable")
    kept = []
    for members in np.split(order, np.flatnonzero(np.diff(group[order])) + 1):
        row, column = (np.unique(side[members], return_inverse=True)[1] for side in (rows, columns))
        table = np.zeros((row.max() + 1, column.max() + 1))
        table[row, column] = worth[members]
        pair = np.full(table.shape, -1)
        pair[row, column] = members
        solved = pair[linear_sum_assignment(table, maximize=True)]
        kept.append(solved[solved >= 0])
    return np.sort(np.concatenate(kept))
