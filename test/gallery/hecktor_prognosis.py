"""HECKTOR 2025, task 2: Harrell's concordance index of recurrence-free survival, pair by pair."""

from collections.abc import Mapping
from pathlib import Path

from samples.same_bytes import write_json

from gallery.files import clear, write_expected, write_table

ENDPOINTS = {  # days, relapse
    "CHUB-001": (410, 1),
    "CHUB-002": (2200, 0),
    "CHUP-003": (95, 1),
    "CHUS-004": (1310, 1),
    "HGJ-005": (700, 0),
    "MDA-006": (700, 1),  # at the time of a censored patient, who outlived it
    "MDA-007": (1805, 0),
    "USZ-008": (260, 1),
}
ALDER = dict(zip(ENDPOINTS, (1.4, -0.9, 2.2, 0.1, 0.3, 0.3, -1.2, 0.8), strict=True))
HAZEL = {
    "CHUB-001": 0.7,
    "CHUB-002": 0.9,
    "CHUS-004": 0.2,
    "HGJ-005": 0.1,
    "MDA-006": 0.8,
    "MDA-007": 0.3,
    "USZ-008": 0.6,
}


def concordance(risks: Mapping[str, float]) -> float:
    """A pair is comparable where the earlier time is a relapse, or where both times are equal and one is a relapse.
    It is right where the relapse has the higher risk; equal risks count half. A missing patient is always wrong."""
    right = pairs = 0.0
    for one, (time, relapse) in ENDPOINTS.items():
        for other, (later, other_relapse) in ENDPOINTS.items():
            if relapse and (time < later or (time == later and not other_relapse)):
                pairs += 1
                if one in risks and other in risks:
                    right += (risks[one] > risks[other]) + 0.5 * (risks[one] == risks[other])
    return right / pairs


def write(folder: Path) -> None:
    clear(folder)
    rows = [{"PatientID": case, "Relapse": relapse, "RFS": days} for case, (days, relapse) in ENDPOINTS.items()]
    write_table(folder / "references" / "endpoints.csv", rows)
    for position, (team, risks) in enumerate({"alder": ALDER, "hazel": HAZEL}.items(), start=1):
        answers = [{"PatientID": case, "Prediction": risk} for case, risk in risks.items()]
        write_json(folder / "teams" / team / "predictions.json", answers)
        missing = [case for case in ENDPOINTS if case not in risks]
        write_expected(
            folder,
            team,
            position=position,
            lost=dict.fromkeys(missing, "missing"),
            aggregates={"c_index": concordance(risks)},
        )
