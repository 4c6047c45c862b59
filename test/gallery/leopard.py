"""LEOPARD: the censored concordance index of times to recurrence, pair by pair."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
from samples.algorithm_submission import JobFolder, random_id
from samples.same_bytes import write_json

from gallery.files import clear, write_expected, write_table

FOLLOW_UP = {  # years, recurrence
    "case_radboud_0001": (1.2, 1),
    "case_radboud_0002": (9.5, 0),
    "case_radboud_0003": (3.4, 1),
    "case_radboud_0004": (3.4, 1),  # at the same time: not comparable with the one before
    "case_radboud_0005": (6.0, 0),
    "case_radboud_0006": (0.4, 1),
    "case_radboud_0007": (12.1, 0),
    "case_radboud_0008": (7.7, 1),
}
SPOTS = dict(zip(FOLLOW_UP, (2.0, 11.0, 4.5, 3.0, 4.0, 0.5, 9.0, 9.0), strict=True))
CLAWS = {case: 10.0 - years for case, years in SPOTS.items() if case != "case_radboud_0006"}


def concordance(years: Mapping[str, float]) -> float:
    """Comparable: the one with the shorter time had the event. Right: it has the shorter prediction; equal ones count
    half, a missing one is wrong."""
    right = pairs = 0.0
    for one, (time, event) in FOLLOW_UP.items():
        for other, (later, _) in FOLLOW_UP.items():
            if event and time < later:
                pairs += 1
                if one in years and other in years:
                    right += (years[one] < years[other]) + 0.5 * (years[one] == years[other])
    return right / pairs


def write(folder: Path) -> None:
    clear(folder)
    rows = [{"case_id": case, "event": event, "follow_up_years": years} for case, (years, event) in FOLLOW_UP.items()]
    write_table(folder / "references" / "labels.csv", rows)
    rng = np.random.default_rng(2024)
    jobs = []
    for case, years in SPOTS.items():
        job = JobFolder(folder / "teams" / "spots", random_id(rng), rng)
        outputs = [job.output_json_file("overall-survival-years", years)]
        jobs.append(job.job(inputs=[job.input_image("prostatectomy-wsi", f"{case}.tif")], outputs=outputs))
    write_json(folder / "teams" / "spots" / "predictions.json", jobs)
    write_table(
        folder / "teams" / "claws" / "predictions.csv",
        [{"case_id": case, "years": round(years, 1)} for case, years in CLAWS.items()],
    )
    for position, (team, found) in enumerate({"spots": SPOTS, "claws": CLAWS}.items(), start=1):
        lost = {case: "missing" for case in FOLLOW_UP if case not in found}
        write_expected(folder, team, position=position, lost=lost, aggregates={"c_index": concordance(found)})
