"""RARE25: precision where recall is at least 90 %, AUROC and average precision, threshold by threshold."""

from pathlib import Path

import numpy as np

from gallery.cxr_lt import auroc, average_precision, scores
from gallery.files import clear, write_expected, write_table

IMAGES = {f"barrett-{number:03}": int(number % 6 == 0) for number in range(60)}
TEAMS = {"cardia": (0.15, ()), "antrum": (0.35, (6, 17))}  # spread, and images without an answer


def likelihoods(team: str) -> dict[str, float]:
    spread, left_out = TEAMS[team]
    rng = np.random.default_rng(len(team))
    return {
        image: round(float(np.clip(0.35 + 0.3 * label + spread * rng.normal(), 0.01, 0.99)), 3)
        for number, (image, label) in enumerate(IMAGES.items())
        if number not in left_out
    }


def ppv_at_recall(pairs: list[tuple[int, float]], least: float) -> float:
    """0 where no threshold reaches the recall: missing positive images are never found."""
    total, best = sum(label for label, _ in pairs), 0.0
    for threshold in {score for _, score in pairs if score >= 0}:
        kept = [label for label, score in pairs if score >= threshold]
        if sum(kept) / total >= least:
            best = max(best, sum(kept) / len(kept))
    return best


def write(folder: Path) -> None:
    clear(folder)
    write_table(
        folder / "references" / "images.csv", [{"image": each, "neoplasia": label} for each, label in IMAGES.items()]
    )
    for position, team in enumerate(TEAMS, start=1):
        found = likelihoods(team)
        write_table(
            folder / "teams" / team / "predictions.csv", [{"image": each, "likelihood": p} for each, p in found.items()]
        )
        pairs = scores(IMAGES, found)
        figures = {
            "ppv_at_90_recall": ppv_at_recall(pairs, 0.9),
            "auroc": auroc(pairs),
            "auprc": average_precision(pairs),
        }
        lost = {image: "missing" for image in IMAGES if image not in found}
        write_expected(folder, team, position=position, aggregates=figures, lost=lost)
