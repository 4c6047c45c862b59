"""LUNA25: AUROC of the malignancy risk of nodules."""

from collections.abc import Mapping
from pathlib import Path

from gallery.files import clear, write_expected, write_table

MALIGNANT = {
    "100012_1": 1,
    "100012_2": 0,
    "100147_1": 0,
    "100158_1": 1,
    "100158_2": 0,
    "100225_1": 0,
    "100225_2": 0,
    "100308_1": 1,
    "100311_1": 0,
    "100399_1": 0,
}
LARCH = {
    "100012_1": 0.93,
    "100012_2": 0.12,
    "100147_1": 0.40,  # equal to a malignant nodule: half a pair
    "100158_1": 0.40,
    "100158_2": 0.02,
    "100225_1": 0.55,
    "100225_2": 0.07,
    "100308_1": 0.71,
    "100311_1": 0.18,
    "100399_1": 0.33,
}
MAPLE = {  # without 100308_1, which is malignant
    "100012_1": 0.80,
    "100012_2": 0.30,
    "100147_1": 0.85,
    "100158_1": 0.60,
    "100158_2": 0.10,
    "100225_1": 0.20,
    "100225_2": 0.62,
    "100311_1": 0.05,
    "100399_1": 0.15,
}


def auroc(risks: Mapping[str, float]) -> float:
    """The share of pairs of a malignant and a benign nodule in which the malignant one has the higher risk; equal risks
    count half. A missing risk is 0 for malignant and 1 for benign nodules."""
    full = {nodule: risks.get(nodule, 0.0 if malignant else 1.0) for nodule, malignant in MALIGNANT.items()}
    pairs = [
        1.0 if full[one] > full[other] else 0.5 if full[one] == full[other] else 0.0
        for one in MALIGNANT
        for other in MALIGNANT
        if MALIGNANT[one] and not MALIGNANT[other]
    ]
    return sum(pairs) / len(pairs)


def write(folder: Path) -> None:
    clear(folder)
    rows = [{"nodule": nodule, "malignant": malignant} for nodule, malignant in MALIGNANT.items()]
    write_table(folder / "references" / "nodules.csv", rows)
    for position, (team, risks) in enumerate({"larch": LARCH, "maple": MAPLE}.items(), start=1):
        rows = [{"nodule": nodule, "risk": risk} for nodule, risk in risks.items()]
        write_table(folder / "teams" / team / "predictions.csv", rows)
        lost = {nodule: "missing" for nodule in MALIGNANT if nodule not in risks}
        write_expected(folder, team, position=position, aggregates={"auroc": auroc(risks)}, lost=lost)
