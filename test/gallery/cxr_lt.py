"""CXR-LT: average precision and AUROC of every finding, threshold by threshold and pair by pair."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from gallery.files import clear, write_expected, write_table

COLUMNS = {
    "atelectasis": "Atelectasis",
    "cardiomegaly": "Cardiomegaly",
    "edema": "Edema",
    "fibrosis": "Fibrosis",
    "hernia": "Hernia",
    "pneumoperitoneum": "Pneumoperitoneum",
    "aorta_calcification": "Calcification of the Aorta",
    "tortuous_aorta": "Tortuous Aorta",
}
SHARES = dict(zip(COLUMNS, (0.5, 0.4, 0.3, 0.2, 0.15, 0.1, 0.2, 0.1), strict=True))
IMAGES = [f"image-{number:02}" for number in range(20)]
NOISE = {"hilum": 0.25, "carina": 0.5}
LEFT_OUT = {"hilum": (), "carina": (3, 11)}
Table = Mapping[str, Mapping[str, float]]  # by finding, then by image


def labels() -> dict[str, dict[str, int]]:
    rng = np.random.default_rng(2024)
    table = {
        name: dict(zip(IMAGES, (rng.random(20) < share).astype(int).tolist(), strict=True))
        for name, share in SHARES.items()
    }
    for number, row in enumerate(table.values()):  # every finding occurs
        row[IMAGES[number]] = 1
    return table


def predictions(team: str) -> dict[str, dict[str, float]]:
    rng = np.random.default_rng([7, len(team)])
    kept = [image for number, image in enumerate(IMAGES) if number not in LEFT_OUT[team]]
    return {
        name: {
            image: round(float(np.clip(0.5 * row[image] + 0.25 + NOISE[team] * rng.normal(), 0.01, 0.99)), 2)
            for image in kept
        }
        for name, row in labels().items()
    }


def scores(truth: Mapping[str, int], found: Mapping[str, float]) -> list[tuple[int, float]]:
    """A missing probability is the worst: below all for a positive image, and 1 for a negative one."""
    return [(label, found.get(image, -1.0 if label else 1.0)) for image, label in truth.items()]


def average_precision(pairs: list[tuple[int, float]]) -> float:
    total, area, recall = sum(label for label, _ in pairs), 0.0, 0.0
    for threshold in sorted({score for _, score in pairs if score >= 0}, reverse=True):
        kept = [label for label, score in pairs if score >= threshold]
        area += (sum(kept) / total - recall) * sum(kept) / len(kept)
        recall = sum(kept) / total
    return area


def auroc(pairs: list[tuple[int, float]]) -> float:
    ill, well = ([score for label, score in pairs if label == wanted] for wanted in (1, 0))
    wins = [(one > other) + 0.5 * (one == other) for one in ill for other in well]
    return sum(wins) / len(wins)


def write(folder: Path) -> None:
    clear(folder)
    truth = labels()
    rows = [{"dicom_id": image, **{COLUMNS[name]: row[image] for name, row in truth.items()}} for image in IMAGES]
    write_table(folder / "references" / "labels.csv", rows)
    for position, team in enumerate(NOISE, start=1):
        found = predictions(team)
        images = [*found["edema"]]
        table = [{"dicom_id": image, **{COLUMNS[name]: row[image] for name, row in found.items()}} for image in images]
        write_table(folder / "teams" / team / "predictions.csv", table)
        figures = {}
        for name, row in truth.items():
            pairs = scores(row, found[name])
            figures |= {f"ap.{name}": average_precision(pairs), f"auroc.{name}": auroc(pairs)}
        for metric in ("ap", "auroc"):
            figures[f"{metric}.mean"] = float(np.mean([figures[f"{metric}.{name}"] for name in COLUMNS]))
        lost = {image: "missing" for image in IMAGES if image not in images}
        write_expected(folder, team, position=position, aggregates=figures, lost=lost)
