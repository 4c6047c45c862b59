"""`where` and `otherwise`: figures that count only where a condition on the case's other figures holds."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from challenges.declared.declaring import errors, metric, metrics, score, value

pytestmark = pytest.mark.usefixtures("in_process")

ORGANS = (
    value("organs", "labels", file="{case}.nii.gz", reference="{case}.nii.gz", labels={"liver": 1, "spleen": 2})
    + metric("dice")
    + metric("nsd", tolerance_mm=5, where="dice.{region} >= 0.2", otherwise=0)
    + metrics(by="nsd")
)


def image(liver: int, spleen: int) -> Any:
    """A liver and a spleen of ten voxels each, shifted by this many voxels."""
    labels = np.zeros((4, 10, 40), np.uint8)
    labels[1, 1, liver : liver + 10] = 1
    labels[2, 8, spleen : spleen + 10] = 2
    return labels


def rows(tmp_path: Path, toml: str, **predictions: Any) -> dict[str, Any]:
    references = {f"{case}.nii.gz": image(2, 2) for case in ("a", "b")}
    found = score(tmp_path, toml, references, {f"{case}.nii.gz": each for case, each in predictions.items()})
    return {case: row["metrics"] for case, row in found["results"].items()}


def test_every_region_has_its_own_condition(tmp_path: Path) -> None:
    found = rows(tmp_path, ORGANS, a=image(3, 11), b=image(2, 10))
    assert found["a"]["dice"] == pytest.approx({"liver": 0.9, "spleen": 0.1, "mean": 0.5})
    assert found["a"]["nsd"] == {"liver": 1.0, "spleen": 0.0, "mean": 0.5}  # the mean is of what counts
    assert found["b"]["dice"]["spleen"] == 0.2
    assert found["b"]["nsd"]["spleen"] > 0  # 0.2 is enough


def test_a_missing_case_is_failed_whatever_the_condition_says(tmp_path: Path) -> None:
    toml = ORGANS.replace("otherwise = 0", "otherwise = 0.5")
    found = rows(tmp_path, toml, a=image(3, 11))
    assert found["a"]["nsd"]["spleen"] == 0.5
    assert found["b"]["nsd"] == {"liver": 0.0, "spleen": 0.0, "mean": 0.0}


def test_a_figure_that_is_left_out_is_left_out_of_means(tmp_path: Path) -> None:
    found = rows(tmp_path, ORGANS.replace("otherwise = 0", 'otherwise = "exclude"'), a=image(3, 11), b=image(2, 2))
    assert found["a"]["nsd"] == {"liver": 1.0, "spleen": None, "mean": 1.0}


def test_what_has_no_value_decides_nothing(tmp_path: Path) -> None:
    toml = ORGANS.replace('kind = "dice"', 'kind = "dice"\nboth_empty = "exclude"')
    empty = np.zeros((4, 10, 40), np.uint8)
    found = score(tmp_path, toml, {"a.nii.gz": empty}, {"a.nii.gz": empty})["results"]["a"]["metrics"]
    assert found["nsd"]["liver"] is None


def test_case_figures_have_conditions_too(tmp_path: Path) -> None:
    formula = '{ formula = "nsd.mean", where = "dice > 2 * 0.4", otherwise = 0.25 }'
    toml = ORGANS.replace("[ranking]", f"[case_figures]\nsure = {formula}\n[ranking]")
    found = rows(tmp_path, toml, a=image(3, 11), b=image(2, 2))
    assert (found["a"]["sure"], found["b"]["sure"]) == (0.25, 1.0)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (("{region}", "livr"), "'metrics.1.where' names 'dice.livr', which does not exist; did you mean 'dice.liver'?"),
        (("dice.{region}", "nsd.liver"), "'metrics.1.where' names 'nsd.liver', which does not exist"),
        ((">= 0.2", ">= 0.2 +"), "'metrics.1.where' is not valid at its end"),
        ((">= 0.2", "0.2"), "'metrics.1.where' is not a condition"),
        ((">= 0.2", ">= 0.2 > 0.1"), "'metrics.1.where' is not a condition such as 'dice.liver >= 0.2'"),
        (
            ("otherwise = 0\n", ""),
            "'metrics.1' is wrong: 'where' is a condition, 'otherwise' the figure where it does not hold: give both",
        ),
        (("otherwise = 0", "otherwise = 2"), "'metrics.1.where' has otherwise = 2, outside 0 to 1"),
        (
            ("[ranking]", '[figures]\nx = { formula = "dice", where = "nsd > 1", otherwise = 0 }\n[ranking]'),
            "'figures.x.where' is a condition on single cases: it belongs to [case_figures]",
        ),
        (
            ('kind = "nsd"\ntolerance_mm = 5', 'kind = "volume_rmse_ml"\nname = "nsd"'),
            "'metrics.1.where' is a condition on single cases, and volume_rmse_ml has figures of all cases alone",
        ),
    ],
)
def test_mistakes(tmp_path: Path, change: tuple[str, str], sentence: str) -> None:
    found = errors(tmp_path, ORGANS.replace(*change))
    assert sentence in found[0]
