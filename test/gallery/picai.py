"""PI-CAI: AUROC of patients and average precision of lesions, read from its rules."""

from collections.abc import Mapping
from itertools import permutations
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from samples.algorithm_submission import JobFolder, random_id
from samples.same_bytes import write_json
from scipy import ndimage

from gallery.files import clear, write_expected, write_table, write_volume

Lesions = list[tuple[int, float]]  # (whether it is a lesion, confidence); a missed lesion has 0
Block = tuple[slice, slice, slice]
Detections = Mapping[str, list[tuple[Block, float]]]
SHAPE = (8, 20, 20)
SPACING = (0.5, 0.5, 3.0)
LEAST_IOU = 0.1
CONNECTED = np.ones((3, 3, 3))


def block(z: int, y: int, x: int, *, size: tuple[int, int, int] = (2, 4, 4)) -> Block:
    """A box from this corner."""
    return slice(z, z + size[0]), slice(y, y + size[1]), slice(x, x + size[2])


FINDINGS: dict[str, list[Block]] = {
    "10001_1000001": [block(2, 4, 4)],
    "10002_1000002": [block(1, 2, 2), block(4, 12, 12, size=(3, 5, 5))],
    "10003_1000003": [],
    "10004_1000004": [],
    "10005_1000005": [block(3, 8, 8)],
    "10006_1000006": [],
}
YEW: Detections = {
    "10001_1000001": [(block(2, 5, 4), 0.8)],
    "10002_1000002": [
        (block(1, 2, 3), 0.6),
        (block(4, 12, 12, size=(1, 5, 5)), 0.9),
        (block(6, 12, 12), 0.7),  # overlaps the same lesion less: neither right nor wrong
    ],
    "10003_1000003": [(block(2, 2, 2), 0.3)],
    "10004_1000004": [],
    "10005_1000005": [(block(3, 11, 11), 0.6), (block(3, 1, 1), 0.5)],  # the first overlaps too little
    "10006_1000006": [(block(1, 1, 14), 0.6), (block(5, 14, 1), 0.2)],
}
OAK: Detections = {
    "10001_1000001": [(block(2, 4, 4), 0.5)],
    "10003_1000003": [(block(2, 2, 2), 0.7)],
    "10004_1000004": [(block(3, 9, 9), 0.5)],
    "10005_1000005": [(block(3, 8, 9), 0.4)],
    "10006_1000006": [],
}
YEW_LIKELIHOODS = dict(zip(FINDINGS, (0.8, 0.95, 0.3, 0.05, 0.6, 0.6), strict=True))
OAK_LIKELIHOODS = dict(zip(FINDINGS, (0.5, 0.9, 0.7, 0.5, 0.4, 0.1), strict=True))


def drawn(blocks: list[tuple[Block, float]]) -> NDArray[np.float32]:
    found = np.zeros(SHAPE, np.float32)
    for place, value in blocks:
        found[place] = value
    return found


def reference(case: str) -> NDArray[np.uint8]:
    return drawn([(place, 1.0) for place in FINDINGS[case]]).astype(np.uint8)


def lesions(detections: NDArray[np.float32], truth: NDArray[np.uint8]) -> Lesions:
    """Every lesion and every false candidate. Candidates are paired with lesions such that most are paired, and of
    those ways the one with the largest sum of overlaps; a candidate that overlaps enough without being paired is
    neither."""
    candidates, count = ndimage.label(detections > 0, CONNECTED)
    findings, number = ndimage.label(truth, CONNECTED)
    confidences = [float(detections[candidates == one].max()) for one in range(1, count + 1)]
    iou = np.array(
        [
            [overlap(findings == one, candidates == other) for other in range(1, count + 1)]
            for one in range(1, number + 1)
        ]
    ).reshape(number, count)
    iou[iou < LEAST_IOU] = 0
    places = [*range(count), *[-1] * number]  # -1: the lesion is missed
    ways = set(permutations(places, number))
    best = max(
        (way for way in ways if all(one == -1 or iou[row, one] > 0 for row, one in enumerate(way))),
        key=lambda way: (sum(one >= 0 for one in way), sum(iou[row, one] for row, one in enumerate(way) if one >= 0)),
    )
    found = [(1, 0.0 if one == -1 else confidences[one]) for one in best]
    return found + [(0, confidences[one]) for one in range(count) if not iou[:, one].any()]


def overlap(one: NDArray[np.bool_], other: NDArray[np.bool_]) -> float:
    return float((one & other).sum() / (one | other).sum())


def average_precision(found: Lesions) -> float:
    """The sum over falling confidences above 0 of precision times the rise of recall."""
    total = sum(is_lesion for is_lesion, _ in found)
    area = recall = 0.0
    for threshold in sorted({confidence for _, confidence in found if confidence > 0}, reverse=True):
        kept = [is_lesion for is_lesion, confidence in found if confidence >= threshold]
        area += (sum(kept) / total - recall) * sum(kept) / len(kept)
        recall = sum(kept) / total
    return area


def auroc(likelihoods: Mapping[str, float]) -> float:
    """The share of pairs in which the patient with cancer has the higher likelihood; equal ones count half."""
    pairs = [
        (likelihoods[one] > likelihoods[other]) + 0.5 * (likelihoods[one] == likelihoods[other])
        for one in FINDINGS
        for other in FINDINGS
        if FINDINGS[one] and not FINDINGS[other]
    ]
    return sum(pairs) / len(pairs)


def write_jobs(folder: Path, detections: Detections, likelihoods: Mapping[str, float]) -> None:
    """What the platform gives of an algorithm: one job for every case."""
    rng = np.random.default_rng(2022)
    jobs = []
    for case, blocks in detections.items():
        job = JobFolder(folder, random_id(rng), rng)
        path = job.output / "images" / "cspca-detection-map" / f"{random_id(rng)}.mha"
        write_volume(path, drawn(blocks), spacing=SPACING)
        outputs = [
            job.image_entry("cspca-detection-map", path),
            job.output_json_file("cspca-case-level-likelihood", likelihoods[case]),
        ]
        inputs = [job.input_image("transverse-t2-prostate-mri", f"{case}.mha")]
        jobs.append(job.job(inputs=inputs, outputs=outputs))
    write_json(folder / "predictions.json", jobs)


def write_files(folder: Path, detections: Detections, likelihoods: Mapping[str, float]) -> None:
    """The same as files and a table."""
    for case, blocks in detections.items():
        write_volume(folder / f"{case}_detection_map.nii.gz", drawn(blocks), spacing=SPACING)
    rows = [{"case": case, "cspca_case_level_likelihood": value} for case, value in likelihoods.items()]
    write_table(folder / "likelihoods.csv", rows)


def write_expectation(
    folder: Path, team: str, detections: Detections, likelihoods: Mapping[str, float], *, position: int
) -> None:
    lost = [case for case in FINDINGS if case not in detections]
    found: Lesions = []
    for case, findings in FINDINGS.items():
        blocks = detections.get(case)
        found += [(1, 0.0)] * len(findings) if blocks is None else lesions(drawn(blocks), reference(case))
    patients, area = auroc(likelihoods), average_precision(found)
    write_expected(
        folder,
        team,
        position=position,
        lost=dict.fromkeys(lost, "partial"),
        aggregates={"auroc": patients, "ap": area, "score": (patients + area) / 2},
    )


def write(folder: Path) -> None:
    clear(folder)
    rows = [{"case": case, "case_csPCa": "YES" if findings else "NO"} for case, findings in FINDINGS.items()]
    write_table(folder / "references" / "marksheet.csv", rows)
    for case in FINDINGS:
        write_volume(folder / "references" / f"{case}.nii.gz", reference(case), spacing=SPACING)
    write_jobs(folder / "teams" / "yew", YEW, YEW_LIKELIHOODS)
    write_expectation(folder, "yew", YEW, YEW_LIKELIHOODS, position=1)
    write_files(folder / "teams" / "oak", OAK, OAK_LIKELIHOODS)  # without the map of the patient with two lesions
    write_expectation(folder, "oak", OAK, OAK_LIKELIHOODS, position=2)
