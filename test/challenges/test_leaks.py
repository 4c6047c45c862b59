"""What aggregates tell about single cases: attacks that work on exact aggregates and fail on published ones."""

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from challenges.carotid_files import CONFIGURATION, write_case
from challenges.lesions_folders import LESION, NOTHING, block, run, write, write_ground_truth
from challenges.test_board import row
from numpy.typing import NDArray

from podium.challenges import challenge_from_settings
from podium.cli import main
from podium.figures import get
from podium.platform.jobs import Runtime
from podium.platform.metrics_file import CaseResult
from podium.tools.ranking.documents import read_cohorts

pytestmark = pytest.mark.usefixtures("in_process")

PER_CASE = ("anonymous", "none")


def paths(figures: Mapping[str, Any], prefix: str = "") -> Iterator[str]:
    for key, value in figures.items():
        if isinstance(value, Mapping):
            yield from paths(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}"


# Two cases of carotid


AREAS = (610, 1800)
SHAPE = (96, 128)
EVERYWHERE = np.ones(SHAPE, dtype=np.uint8)


def plaque(area: int) -> Any:
    values = np.zeros(SHAPE, dtype=np.uint8)
    values.flat[:area] = 1
    return values


def carotid_figures(folder: Path, per_case: str, *, cases: Mapping[str, int], predicted: int) -> dict[str, Any]:
    """Aggregates of a submission that says plaque everywhere, for the first cases."""
    truth, submission = folder / "carotid", folder / "submission"
    for case, area in cases.items():
        write_case(truth / "references" / f"{case}_label.h5", long_mask=plaque(area))
    for case in list(cases)[:predicted]:
        write_case(submission / f"{case}_pred.h5", long_mask=EVERYWHERE)
    (truth / "challenge.toml").write_text(CONFIGURATION.replace('per_case = "full"', f'per_case = "{per_case}"'))
    return dict(run(submission, truth, folder / "output")["aggregates"])


def areas_of_two(aggregates: Mapping[str, Any], *, cases: int) -> list[int]:
    """Dice of an area A with all N pixels is 2A / (N + A). The sum of two such values and of their squares tell both:
    the others are known to be 0."""
    dice = get(aggregates, "dice.long_plaque")
    total, squares = cases * dice["mean"], cases * (dice["std"] ** 2 + dice["mean"] ** 2)
    half_difference = max(squares / 2 - (total / 2) ** 2, 0.0) ** 0.5
    return [
        round(EVERYWHERE.size * value / (2 - value))
        for value in (total / 2 - half_difference, total / 2 + half_difference)
    ]


TWO = dict(zip("ab", AREAS, strict=True))
TWELVE = TWO | dict.fromkeys("cdefghijkl", 700)  # a participant may submit two of them


@pytest.mark.parametrize("cases", [TWO, TWELVE], ids=["two cases", "two of twelve"])
def test_the_two_case_attack_on_carotid(cases: dict[str, int], tmp_path: Path) -> None:
    exact = carotid_figures(tmp_path / "full", "full", cases=cases, predicted=2)
    assert areas_of_two(exact, cases=len(cases)) == list(AREAS), "the attack works where everything is published"
    for per_case in PER_CASE:
        published = carotid_figures(tmp_path / per_case, per_case, cases=cases, predicted=2)
        with pytest.raises(KeyError, match="std"):
            areas_of_two(published, cases=len(cases))
        assert not [path for path in paths(published) if path.endswith((".std", ".median"))]
        found = published["dice"]["long_plaque"]
        assert found["n"] == len(cases)
        if per_case == "none":
            assert found["mean"] in (0.0, 0.1), "steps of an accuracy: 1 of 2 and 12 cases"
            continue
        assert found["mean"] == round(exact["dice"]["long_plaque"]["mean"], 4)
        possible = smaller_areas(published["dice"]["long_plaque"]["mean"], cases=len(cases))
        assert possible.min() < 20
        assert possible.max() > 1000
        assert possible.size > 100


def smaller_areas(mean: float, *, cases: int) -> NDArray[np.int64]:
    """What the smaller of two areas may be, as far as four decimals of the mean Dice tell."""
    areas = np.arange(EVERYWHERE.size // 2)
    dice = 2 * areas / (EVERYWHERE.size + areas)
    fitting = np.abs(dice[:, None] + dice - cases * mean) <= cases * 0.5e-4
    return np.flatnonzero(np.triu(fitting).any(axis=1))


def test_ten_scored_cases_have_a_spread(tmp_path: Path) -> None:
    ten = carotid_figures(tmp_path / "10", "none", cases=TWELVE, predicted=10)
    assert {"mean", "std", "median", "n"} == set(ten["dice"]["long_plaque"]) == set(ten["segmentation"])
    nine = carotid_figures(tmp_path / "9", "none", cases=TWELVE, predicted=9)
    assert {"mean", "n"} == set(nine["dice"]["long_plaque"]) == set(nine["segmentation"])
    assert ten.keys() - nine.keys() == {"score_ci"}


# A group of one case of lesions


SIZES = {f"fdg_{number}": LESION for number in range(7)} | {"psma_0": block(slice(1, 5), slice(2, 6), slice(2, 7))}
VOLUME = 0.08  # ml: 80 voxels of 1 mm
GROUPED = "steps = 2\n[cases]\ngroups = '^(?P<group>[a-z]+)_'"
ATTACKS: dict[str, Callable[[Mapping[str, Any]], float]] = {
    "the group's own mean": lambda found: found["groups"]["psma"]["final_fnv_ml"]["mean"],
    "all cases less the other group": lambda found: (
        8 * found["final_fnv_ml"]["mean"] - 7 * found["groups"]["fdg"]["final_fnv_ml"]["mean"]
    ),
    "the mean of groups less the other group": lambda found: (
        2 * found["final_fnv_ml_group_mean"] - found["groups"]["fdg"]["final_fnv_ml"]["mean"]
    ),
    "the mean of groups and that of all cases": lambda found: (
        (8 * found["final_fnv_ml"]["mean"] - 7 * 2 * found["final_fnv_ml_group_mean"]) / (1 - 7)
    ),
}


def lesions_figures(folder: Path, per_case: str, references: Mapping[str, Any]) -> dict[str, Any]:
    """Aggregates of a submission that finds nothing: what it misses is the volume of the lesions."""
    for case in references:
        for step in range(2):
            write(folder / "submission" / case / f"iter_{step}.nii.gz", NOTHING)
    truth = write_ground_truth(folder, references, settings=GROUPED, per_case=per_case)
    return dict(run(folder / "submission", truth, folder / "output")["aggregates"])


def test_the_single_case_group_on_lesions(tmp_path: Path) -> None:
    exact = lesions_figures(tmp_path / "full", "full", SIZES)
    for attack in ATTACKS.values():
        assert attack(exact) == pytest.approx(VOLUME, abs=0.0005), "the attack works where everything is published"
    for per_case in PER_CASE:
        published = lesions_figures(tmp_path / per_case, per_case, SIZES)
        for name, attack in ATTACKS.items():
            with pytest.raises(KeyError):
                print(name, attack(published))
        assert not [path for path in paths(published) if "group" in path or "by_step" in path or path.endswith("std")]
        assert published["auc_dice"].keys() == {"mean", "n"}


def test_groups_of_ten_are_published_with_the_means_of_their_cases(tmp_path: Path) -> None:
    references = {f"{group}_{number}": LESION for group in ("fdg", "psma") for number in range(10)}
    found = lesions_figures(tmp_path, "none", references)
    assert found["final_fnv_ml"] == {"mean": 0.028, "n": 20, "std": 0.0}, "0.027 in steps of 0.002"
    for group in ("fdg", "psma"):
        assert found["groups"][group]["final_fnv_ml"] == {"mean": pytest.approx(0.027, abs=0.005), "n": 10, "std": 0.0}
    assert "final_detections" in found
    assert "final_detections" not in found["groups"]["fdg"]
    assert found["final_fnv_ml_group_mean"] == pytest.approx(0.027, abs=0.002)
    assert found["dice_by_step"] == {"0": 0.0, "1": 0.0}


# Figures made of hidden ones, and leaderboards


SPREADS: dict[str, Any] = {
    "lesions": {"empty_reference": "undefined"},
    "cases": {"groups": "^(?P<group>.)"},
    "figures": {
        "spread": {"formula": "auc_dice.std", "direction": "lower", "undefined": "exclude"},
        "twice": {"formula": "2 * spread", "direction": "lower", "undefined": "exclude"},
        "total": {"formula": "auc_dice - auc_dice.std", "direction": "higher", "undefined": "exclude"},
        "half": {"formula": "total / 2", "undefined": "exclude"},
    },
    "ranking": {"by": "total"},
}


def test_a_figure_made_of_a_hidden_one_is_hidden_unless_teams_are_ranked_by_it() -> None:
    """What is made of the ranked figure alone tells no more than that."""
    challenge = challenge_from_settings("pet", "lesions", SPREADS)
    results = [
        row(value).model_copy(update={"case": case, "groups": ("a",)}) for case, value in (("a1", 0.25), ("a2", 0.5))
    ]
    exact = challenge.aggregate(results, Runtime())
    published = challenge.published(exact, results, per_case="none", decimals=None, key=b"key")
    assert {"spread", "twice", "total", "half", "groups"} <= exact.keys()
    assert {"total", "half", "groups"} == {"spread", "twice", "total", "half", "groups"} & published.keys()
    assert "total" not in published["groups"]["a"], "a lone group has what all cases have, but for the ranked figure"
    assert challenge.published(exact, results, per_case="full", decimals=None, key=b"key") == exact


def test_no_column_names_what_is_never_published() -> None:
    challenge = challenge_from_settings("pet", "lesions", SPREADS)
    everything = {column.path: column.error_path for column in challenge.phase_columns()}
    assert everything["spread"] is None
    assert everything["final_dice.mean"] == "final_dice.std"
    assert "final_dice_group_mean" in everything
    nine = {column.path: column.error_path for column in challenge.phase_columns(hidden=[f"a{n}" for n in range(9)])}
    assert everything.keys() - nine.keys() == {"spread", "twice"}
    assert set(nine.values()) == {None}
    many = [*(f"a{n}" for n in range(9)), "b"]
    without_groups = {column.path: column.error_path for column in challenge.phase_columns(hidden=many)}
    assert without_groups == {path: error for path, error in everything.items() if not path.endswith("_group_mean")}


def test_the_leaderboard_counts_the_references(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    for per_case, is_shown in (("full", True), ("none", False)):
        truth = write_ground_truth(tmp_path / per_case, SIZES, settings=GROUPED, per_case=per_case)
        assert main(["leaderboard", "--ground-truth", str(truth)]) == 0
        printed = capfd.readouterr().out
        assert (".std" in printed) is is_shown
        assert ("_group_mean" in printed) is is_shown


# What reads metrics.json


def test_files_without_hidden_figures_are_ranked_reported_and_unsealed(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert main(["keys", "new", str(tmp_path / "organiser.key")]) == 0
    references = dict(SIZES)
    sealed = f"{GROUPED}\n{capfd.readouterr().out}"
    truth = write_ground_truth(tmp_path, references, settings=sealed, per_case="none")
    for team, mask in (("some", LESION), ("nothing", NOTHING)):
        for case, step in ((case, step) for case in references for step in range(2)):
            write(tmp_path / team / case / f"iter_{step}.nii.gz", mask)
        run(tmp_path / team, truth, tmp_path / "results" / team)
    results, out = str(tmp_path / "results"), tmp_path / "ranking"
    assert main(["rank", results, "--output", str(out)]) == 0
    ranking = json.loads((out / "ranking.json").read_text())
    assert [team["name"] for team in ranking["teams"]] == ["some", "nothing"]
    assert {error for column in ranking["columns"] for error in column["errors"] or ()} == {None}
    assert main(["report", f"{results}/some/metrics.json"]) == 0
    (cohort,) = read_cohorts([tmp_path / "results"], key=tmp_path / "organiser.key")
    for file in cohort.files:
        assert len(file.content.results) == len(references)
        assert file.content.aggregates["groups"]["psma"]["final_fnv_ml"]["std"] == 0.0


# Labels from the last digits of log loss

LOG_LOSS = {
    "values": {"ill": {"kind": "probability", "positive": "yes", "table": "p.csv", "column": "p"}},
    "metrics": [{"kind": "log_loss", "clip": 0.01}],
    "figures": {"score": {"formula": "100 - 20 * log_loss"}},
    "ranking": {"by": "score"},
}


@pytest.mark.parametrize("per_case", ["full", "none"])
def test_log_loss_does_not_tell_the_labels_where_cases_are_hidden(per_case: Any) -> None:
    """Cases 0 to 6 are sure of "ill" by shares that double from one to the next, so that the sum of their errors, and
    so every label, can be read from one exact figure; the others say 0.5."""
    challenge = challenge_from_settings("x", "declared", LOG_LOSS)
    generator = np.random.default_rng(7)
    labels = np.where(generator.random(300) < 0.5, "yes", "not_yes")
    weights = 0.04 * 2.0 ** np.arange(7)
    given = np.full(300, 0.5)
    given[:7] = 1 / (1 + np.exp(-weights))  # a wrong label costs its weight more than a right one

    results = [
        CaseResult(
            case=f"c{number:03}",
            status="scored",
            metrics={"ill": {"reference": str(label), "prediction": {"yes": float(p), "not_yes": float(1 - p)}}},
        )
        for number, (label, p) in enumerate(zip(labels, given, strict=True))
    ]
    exact = challenge.aggregate(results, Runtime())
    published = challenge.published(exact, results, per_case=per_case, decimals=4, key=b"key")
    for figure, scale in (("log_loss", 1.0), ("score", -1 / 20)):
        base = np.log1p(np.exp(-weights)).sum() + 293 * np.log(2)
        total = (published[figure] - (100 if figure == "score" else 0)) * scale * 300
        read = round((total - base) / 0.04)
        guessed = ["not_yes" if read >> bit & 1 else "yes" for bit in range(7)]
        assert (guessed == labels[:7].tolist()) is (per_case == "full"), figure


def test_log_loss_that_is_the_same_in_every_case_has_no_more_digits() -> None:
    challenge = challenge_from_settings("x", "declared", LOG_LOSS)
    half = {"yes": 0.5, "not_yes": 0.5}
    results = [
        CaseResult(case=f"c{number}", status="scored", metrics={"ill": {"reference": label, "prediction": half}})
        for number, label in enumerate(["yes", "not_yes"] * 10)
    ]
    exact = challenge.aggregate(results, Runtime())
    assert challenge.published(exact, results, per_case="none", decimals=4, key=b"key")["log_loss"] == 0.7


def test_log_loss_of_groups_and_formulas_of_them_have_few_digits_too() -> None:
    settings = {
        **LOG_LOSS,
        "cases": {"groups": "^(?P<group>.)"},
        "figures": {
            "score": {"formula": "100 - 20 * log_loss.group_mean"},
            "first": {"formula": "1 - groups.a.log_loss"},
        },
    }
    challenge = challenge_from_settings("x", "declared", settings)
    sure = np.random.default_rng(3).uniform(0.02, 0.98, 200)
    results = [
        CaseResult(
            case=f"{'ab'[number % 2]}{number}",
            groups=("ab"[number % 2],),
            status="scored",
            metrics={"ill": {"reference": "yes", "prediction": {"yes": float(p), "not_yes": float(1 - p)}}},
        )
        for number, p in enumerate(sure)
    ]
    exact = challenge.aggregate(results, Runtime())
    published = challenge.published(exact, results, per_case="none", decimals=4, key=b"key")
    for path in ("log_loss", "log_loss_group_mean", "groups.a.log_loss", "first"):
        assert get(published, path) == round(get(exact, path), 1), path
    assert published["score"] == pytest.approx(exact["score"], abs=1.5)  # in steps of 2
    assert published["score"] % 2 == 0
