"""FROC at own levels, operating points, voxel precision and recall, and quantiles of the figures of cases."""

from pathlib import Path

import numpy as np
import pytest
from challenges.declared.declaring import HEAD, errors, metric, score, value, write_challenge, write_predictions
from evaluating import evaluate

from podium.cli import main

pytestmark = pytest.mark.usefixtures("in_process")

SPOTS = value("spots", "points", table="predictions.csv", unit="mm")
BY_AREA = metric("froc", radius_mm=1.5, levels=[0.5, 2], per="area_mm2", interpolate="steps")


def test_levels_are_per_a_column_of_cases_csv(tmp_path: Path) -> None:
    """2 + 2 mm2. Falling: hit, miss, miss, hit, miss. Up to 0.5 x 4 = 2 misses 2 of 3 are found; so up to 8."""
    toml = '[cases]\ntable = "cases.csv"\n' + SPOTS + BY_AREA + '[ranking]\nby = "froc.cpm"\n'
    truth = {"predictions.csv": "case,x,y\na,0,0\na,9,9\nb,0,0\n"}
    folder = write_challenge(tmp_path / "c", toml, truth)
    (folder / "cases.csv").write_text("case,area_mm2\na,2\nb,2\n")
    rows = "a,0,0,0.9\na,5,5,0.8\nb,5,5,0.7\nb,0,0,0.6\nb,7,7,0.5\n"
    submission = write_predictions(tmp_path / "s", {"predictions.csv": "case,x,y,probability\n" + rows})
    found = evaluate(submission, folder, tmp_path / "out")["aggregates"]["froc"]
    assert [found[name] for name in ("at_0_5", "at_2", "cpm")] == pytest.approx([2 / 3] * 3)


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ({"levels": [1, 2]}, 'has levels, so say how it reads between points: interpolate = "linear" or "steps"'),
        ({"levels": [2, 1], "interpolate": "steps"}, "levels must rise"),
    ],
)
def test_own_levels_rise_and_say_what_is_between_two_points(
    tmp_path: Path, keys: dict[str, object], words: str
) -> None:
    toml = SPOTS + metric("froc", radius_mm=1.5, **keys) + '[ranking]\nby = "froc.cpm"\n'
    assert any(words in each for each in errors(tmp_path, toml))


def test_operating_points_of_a_probability(tmp_path: Path) -> None:
    """Falling: ill 0.9, well 0.8, ill 0.7, well 0.2. Both ill are found with one false positive."""
    toml = value("risk", "probability", table="predictions.csv", column="v", positive="ill")
    for kind in ("ppv_at_recall", "sensitivity_at_specificity", "specificity_at_sensitivity"):
        toml += metric(kind, at=0.9)
    truth = {"predictions.csv": "case,v\na,1\nb,0\nc,1\nd,0\n"}
    found = score(
        tmp_path,
        toml + '[ranking]\nby = "ppv_at_recall"\n',
        truth,
        {"predictions.csv": "case,v\na,0.9\nb,0.8\nc,0.7\nd,0.2\n"},
    )["aggregates"]
    assert found["ppv_at_recall"] == pytest.approx(2 / 3)
    assert (found["sensitivity_at_specificity"], found["specificity_at_sensitivity"]) == (0.5, 0.5)


def test_titles_of_levels_are_numbers_and_names_are_listed_despite_wrong_formulas(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    toml = SPOTS + metric("froc", radius_mm=1.5) + '[figures]\nscore = "froc.at_05 +"\n[ranking]\nby = "score"\n'
    write_challenge(tmp_path / "spots", toml, {})
    assert main(["figures", "spots", "--ground-truth", str(tmp_path)]) == 0
    lines = [line.split(maxsplit=1) for line in capsys.readouterr().out.splitlines() if line.startswith("froc.")]
    titles = {name: rest.partition("  ")[0] for name, rest in lines}
    assert (titles["froc.at_0_5"], titles["froc.cpm"]) == ("Sensitivity at 0.5", "Sensitivity CPM")


def test_operating_points_are_of_one_class(tmp_path: Path) -> None:
    toml = value("risk", "probability", file="{case}.json", reference="{case}.json", classes={"a": 0, "b": 1, "c": 2})
    toml += metric("ppv_at_recall", at=0.9) + '[ranking]\nby = "ppv_at_recall"\n'
    assert any("is for the probability of one class" in each for each in errors(tmp_path, toml))


def test_precision_and_recall_of_voxels_and_quantiles_of_cases(tmp_path: Path) -> None:
    """4 voxels, of which 4, 3, 2 and 1 are found, with one voxel elsewhere; the 70 % quantile lies at 2.1 of 0 to 3."""

    def picture(places: range, stray: int | None = None) -> np.ndarray:  # type: ignore[type-arg]
        labels = np.zeros(16, np.uint8)
        labels[list(places)] = 1
        if stray is not None:
            labels[stray] = 1
        return labels.reshape(4, 4)

    toml = value("mask", "labels", file="{case}.png", reference="{case}.png", labels={"airway": 1})
    toml += metric("precision") + metric("recall") + metric("recall", name="pooled", over="pooled")
    toml += '[figures]\nrobust = "recall.airway.q30"\n[ranking]\nby = ["recall.airway.q70", "robust"]\n'
    toml += 'method = "mean_of_positions"\n'
    truth = {f"{case}.png": picture(range(4)) for case in "abcd"}
    files = {f"{case}.png": picture(range(4 - number), 15) for number, case in enumerate("abcd")}
    found = score(tmp_path, toml, truth, files)["aggregates"]
    assert found["precision"]["airway"]["mean"] == pytest.approx((4 / 5 + 3 / 4 + 2 / 3 + 1 / 2) / 4)
    assert (found["recall"]["airway"]["mean"], found["pooled"]["airway"]) == (0.625, 0.625)
    assert found["recall"]["airway"]["q70"] == pytest.approx(np.quantile([1, 0.75, 0.5, 0.25], 0.7))
    assert found["robust"] == pytest.approx(np.quantile([1, 0.75, 0.5, 0.25], 0.3))


def test_quantiles_of_few_hidden_cases_are_not_published(tmp_path: Path) -> None:
    toml = value("mask", "labels", file="{case}.png", reference="{case}.png", labels={"airway": 1})
    toml += metric("recall") + '[leaderboard]\ncolumns = ["recall.airway.q70"]\n[ranking]\nby = "recall"\n'
    truth = {f"{case}.png": np.eye(4, dtype=np.uint8) for case in "ab"}
    found = score(tmp_path, toml, truth, truth, head=HEAD.replace('"full"', '"anonymous"'))["aggregates"]
    assert "q70" not in found["recall"]["airway"]
