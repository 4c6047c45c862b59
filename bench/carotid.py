"""Carotid cases of realistic size, made from one seed: ground truth and one submission."""

from pathlib import Path

import h5py
import numpy as np
from carotid_masks import reference_and_prediction

SEED = 20260
CASES = 300
VIEWS = ("long", "trans")
CHALLENGE = (Path(__file__).resolve().parent.parent / "ground-truth/carotid/challenge.toml").read_text(encoding="utf-8")


def write_cases(folder: Path, cases: int) -> None:
    references, submission = folder / "ground-truth" / "references", folder / "submission"
    references.mkdir(parents=True)
    submission.mkdir()
    (folder / "ground-truth" / "challenge.toml").write_text(CHALLENGE, encoding="utf-8")
    for number in range(cases):
        rng = np.random.default_rng([SEED, number])
        views = {view: reference_and_prediction(rng, view) for view in VIEWS}
        for place, path in enumerate((references / f"c{number}_label.h5", submission / f"c{number}_pred.h5")):
            with h5py.File(path, "w") as file:
                for view, pair in views.items():
                    file.create_dataset(f"{view}_mask", data=pair[place], compression="gzip")
                file["cls"] = number % 2
