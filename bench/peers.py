"""The rules, written straightforwardly with the packages of the field; each runs in its own process.


    python bench/peers.py carotid|carotid_monai|lesions|freehand|organs FOLDER

FOLDER has what bench/subjects.py wrote: the ground truth and one submission. The means are printed as JSON.
"""

import json
import sys
from collections.abc import Callable
from multiprocessing import Pool
from pathlib import Path
from statistics import fmean

PROCESSES = 2


def carotid(folder: Path) -> dict[str, float]:
    """h5py and SciPy over the full image, cases dealt to a pool of processes as the platform's template does it."""
    references = sorted((folder / "ground-truth/references").glob("*.h5"))
    with Pool(PROCESSES) as pool:
        rows = pool.map(_carotid_case, references)
    return {name: fmean(row[name] for row in rows) for name in rows[0]}


def _carotid_case(reference: Path) -> dict[str, float]:
    import h5py
    from carotid_masks import PLAQUE, VESSEL
    from literal_scipy import dice_and_nsd

    prediction = reference.parents[2] / "submission" / reference.name.replace("_label", "_pred")
    found = {}
    with h5py.File(reference) as expected, h5py.File(prediction) as guessed:
        for view in ("long", "trans"):
            masks = guessed[f"{view}_mask"][()], expected[f"{view}_mask"][()]
            for structure, value in (("vessel", VESSEL), ("plaque", PLAQUE)):
                pair = [mask == value for mask in masks]
                dice, nsd = dice_and_nsd(prediction=pair[0], reference=pair[1], tolerance_px=3.0)
                found |= {f"dice.{view}_{structure}.mean": dice, f"nsd.{view}_{structure}.mean": nsd}
    return found


def carotid_monai(folder: Path) -> dict[str, float]:
    """h5py, MONAI and scikit-learn over the full image: one-hot masks, one call per view, a pool of two processes."""
    from sklearn.metrics import f1_score

    references = sorted((folder / "ground-truth/references").glob("*.h5"))
    with Pool(PROCESSES) as pool:
        rows = pool.map(_carotid_case_monai, references)
    classes = [row.pop("true") for row in rows], [row.pop("found") for row in rows]
    means = {name: fmean(row[name] for row in rows) for name in rows[0]}
    return {**means, "f1.macro": float(f1_score(*classes, labels=[0, 1], average="macro", zero_division=0))}


def _carotid_case_monai(reference: Path) -> dict[str, float]:
    import warnings

    import h5py
    import torch
    from carotid_masks import PLAQUE, VESSEL
    from monai.metrics import compute_dice, compute_surface_dice
    from monai.networks.utils import one_hot

    torch.set_num_threads(1)
    warnings.filterwarnings("ignore", category=FutureWarning)
    names = {"vessel": VESSEL, "plaque": PLAQUE}
    found = {}
    with (
        h5py.File(reference) as expected,
        h5py.File(reference.parents[2] / "submission" / reference.name.replace("_label", "_pred")) as guessed,
    ):
        for view in ("long", "trans"):
            pair = [
                one_hot(torch.from_numpy(file[f"{view}_mask"][()]).long()[None, None], num_classes=3)
                for file in (guessed, expected)
            ]
            dice = compute_dice(*pair, include_background=False)
            nsd = compute_surface_dice(*pair, class_thresholds=[3.0, 3.0])
            for name, label in names.items():
                found[f"dice.{view}_{name}.mean"] = float(dice[0, label - 1])
                found[f"nsd.{view}_{name}.mean"] = float(nsd[0, label - 1])
        found |= {"true": int(expected["cls"][()]), "found": int(guessed["cls"][()])}
    return found


def lesions(folder: Path) -> dict[str, float]:
    """SimpleITK and one mask after another, step by step."""
    import SimpleITK
    from literal_lesions import score

    rows = []
    for case in sorted((folder / "submission").iterdir()):
        reference = SimpleITK.GetArrayFromImage(
            SimpleITK.ReadImage(str(folder / f"ground-truth/references/{case.name}.nii.gz"))
        )
        for step in sorted(case.iterdir()):
            prediction = SimpleITK.GetArrayFromImage(SimpleITK.ReadImage(str(step)))
            rows.append(score(prediction=prediction, reference=reference))
    return {"final_dice.mean": fmean(row["dice"] for row in rows)}


def freehand(folder: Path) -> dict[str, float]:
    """torch, every field of the reference written out."""
    import h5py
    import torch
    from freehand import HEIGHT, IMAGE_TO_TOOL, PIXEL_TO_MM, SCAN, WIDTH
    from literal_torch import pixel_errors

    torch.set_num_threads(PROCESSES)
    with h5py.File(folder / "ground-truth/references/transfs/050/LH_Par_S_DtP.h5") as file:
        poses = file["tforms"][()]
    calibration = {"pixel_to_mm": PIXEL_TO_MM, "image_to_tool": IMAGE_TO_TOOL}
    gpe, lpe = pixel_errors(poses, **calibration, size=(HEIGHT, WIDTH), folder=folder / "submission" / SCAN)
    return {"gpe.mean": float(gpe), "lpe.mean": float(lpe)}


def organs(folder: Path) -> dict[str, float]:
    """SimpleITK, and MONAI's functions for one organ after another."""
    import SimpleITK
    import torch
    from surfaces import monai

    torch.set_num_threads(PROCESSES)
    paths = folder / "submission/case.nii.gz", folder / "ground-truth/references/case.nii.gz"
    pair = [SimpleITK.GetArrayFromImage(SimpleITK.ReadImage(str(path))) for path in paths]
    rows = monai(*pair)
    return {f"{name}.mean": fmean(row[place] for row in rows) for place, name in enumerate(("dice", "nsd", "hd95"))}


PEERS: dict[str, Callable[[Path], dict[str, float]]] = {
    each.__name__: each for each in (carotid, carotid_monai, lesions, freehand, organs)
}

if __name__ == "__main__":
    print(json.dumps(PEERS[sys.argv[1]](Path(sys.argv[2]))))
