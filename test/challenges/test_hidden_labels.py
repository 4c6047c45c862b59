"""`per_case = "none"` against participants who want the labels: attacks that read exact figures and fail on published
ones. `label_attacks` has the generic one, which bench/hidden_labels.py plays in full; `label_menus` has the adaptive
one against every metric of the catalogue."""

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np
import pytest
from challenges import label_attacks, label_menus
from challenges.declared.test_left_out import KINDS
from challenges.label_attacks import (
    OF_CLASSES,
    OF_PROBABILITIES,
    Labels,
    challenge,
    exact,
    names,
    published,
    rows,
    share_right,
)
from challenges.label_menus import Menu, share_read
from hypothesis import given, settings
from hypothesis import strategies as st

from podium.challenges import challenge_from_settings
from podium.challenges.challenge import AnyChallenge
from podium.figures import get, holds, leaves
from podium.metrics.declaration import HALF_WIDTH
from podium.platform.metrics_file import CaseResult
from podium.platform.privacy import rounded_up_or_down, share_told

Publish = Callable[..., Mapping[str, Any]]


def labels_of(cases: int, *, seed: int = 3) -> Labels:
    return np.random.default_rng(seed).integers(0, 2, cases)


# The three oracles that read every label of small groups.


def halves(size: int) -> Any:
    """Probabilities with 1 - 2p = 2^-i: the sum of squares in a group is a binary number of its labels."""
    return 0.5 - 0.5 ** np.arange(1, size + 1) / 2


def by_binary_number(publish: Publish, labels: Labels, *, group: int | None) -> int:
    """How many labels one submission reads from the Brier score of groups, or of all cases (the first ten)."""
    called = names(labels.size, group=group)
    size = group or 10
    given = np.full(labels.size, 0.5)
    for start in range(0, labels.size if group else 1, size):
        given[start : start + size] = halves(size)
    challenged = challenge(["accuracy", "brier"] if group is None else ["auroc", "brier"], grouped=group is not None)
    found = publish(challenged, rows(challenged, called, labels, given))
    right = 0
    for start in range(0, labels.size if group else 1, size):
        path = f"groups.{called[start].partition('-')[0]}.brier" if group else "brier"
        if not holds(found, path):
            continue
        p, rest = halves(size), 0.25 * (labels.size - size) if not group else 0.0
        total = get(found, path) * (size if group else labels.size) - rest - (p**2).sum()
        code = round(total * 2**size)
        right += sum(((code >> (size - bit - 1)) & 1) == labels[start + bit] for bit in range(size))
    return int(right)


@pytest.mark.parametrize(("cases", "group"), [(120, 6), (200, 10), (120, None), (300, None)])
def test_the_binary_number_of_a_brier_score(cases: int, group: int | None) -> None:
    labels = labels_of(cases)
    asked = cases if group else 10
    assert by_binary_number(exact, labels, group=group) == asked, "the attack reads every label of exact figures"
    assert by_binary_number(published, labels, group=group) <= (0 if group else 0.9 * asked)


@pytest.mark.parametrize(("kind", "group"), [("auroc", 6), ("accuracy", 6), ("auroc", 20), ("accuracy", 20)])
def test_small_groups_tell_nothing_in_a_few_submissions(kind: str, group: int) -> None:
    """AUROC, and confusion matrices and accuracies, of small groups."""
    challenged = challenge([kind], grouped=True)
    shown: dict[str, Any] = {"cases": 120, "submissions": 3 if kind == "auroc" else 6, "seeds": [1], "group": group}
    shown |= {"sure": False, "only": lambda path: "group" in path and "confusion" not in path}
    if group == 6:
        assert share_right(challenged, publish=exact, **shown) > 0.8, "the attack works on exact figures"
    assert share_right(challenged, **shown) < 0.65
    called = names(120, group=group)
    found = exact(challenged, rows(challenged, called, labels_of(120), [0] * 120))
    assert all(holds(each, kind) or kind == "auroc" for each in found["groups"].values())
    assert not [path for path, _ in leaves(published(challenged, rows(challenged, called, labels_of(120), [0] * 120)))
                if path.startswith("groups")]  # fmt: skip


def test_confusion_matrices_are_of_all_cases_alone_and_in_tens() -> None:
    challenged = challenge(["accuracy"], grouped=True)
    called, labels = names(300, group=150), labels_of(300)
    results = rows(challenged, called, labels, 1 - labels[::-1])
    found = published(challenged, results)
    assert "accuracy" in found["groups"]["g000"]
    assert "confusion_matrix" not in found["groups"]["g000"]
    assert "confusion_matrix" in exact(challenged, results)["groups"]["g000"]
    assert all(count % 10 == 0 for path, count in leaves(found) if path.startswith("confusion"))


# One submission: no label is certain.


def probes(cases: int) -> dict[str, list[Any]]:
    """Submissions made to tell the label of the first case."""
    base = [0.5] * cases
    none: list[Any] = [None] * cases
    return {
        "one sure answer": [0.99, *base[1:]],
        "one positive answer": [0.99, *([0.01] * (cases - 1))],
        "one answer": [0.99, *none[1:]],
        "few answers": [*halves(8), *none[8:]],
        "a binary number": [*halves(10), *base[10:]],
        "a boundary": [0.99, *none[: cases * 2 // 15], *base[1 + cases * 2 // 15 :]],
    }


ALL = (*OF_CLASSES, *OF_PROBABILITIES)
RANKED = ALL[0]  # an accuracy by which teams are ranked: one answer alone shows in it


def tells(publish: Publish, predicted: Sequence[Any], kinds: Sequence[str], *, cases: int) -> set[str]:
    """The figures whose every value belongs to one label of the first case alone, whatever the
    others and the organiser's key are."""
    challenged = challenge(kinds)
    seen: dict[str, tuple[set[Any], set[Any]]] = {}
    for world, first in product(range(3), (0, 1)):
        labels = np.random.default_rng(world).permutation(np.arange(cases) % 2)
        labels[0] = first
        challenged_rows = rows(challenged, names(cases), labels, predicted)
        for path, value in leaves(publish(challenged, challenged_rows, bytes([world]))):
            seen.setdefault(path, (set(), set()))[first].add(value)
    return {path for path, (no, yes) in seen.items() if not no & yes}


@pytest.mark.parametrize("cases", [120, 300])
@pytest.mark.parametrize("name", probes(120))
def test_no_label_is_certain_from_one_submission(name: str, cases: int) -> None:
    predicted = probes(cases)[name]
    assert tells(exact, predicted, ALL, cases=cases), "the probe works on exact figures"
    assert tells(published, predicted, ALL, cases=cases) <= {RANKED}


@pytest.mark.parametrize("kind", ["accuracy", "brier", "auroc"])
def test_an_error_bar_tells_no_label(kind: str) -> None:
    for predicted in probes(40).values():
        kinds = dict.fromkeys((kind, "brier"))
        assert not [path for path in tells(published, predicted, [*kinds], cases=40) if path.endswith(HALF_WIDTH)]
    predicted = probes(40)["one answer"]
    assert f"{kind}{HALF_WIDTH}" in tells(exact, predicted, [*kinds], cases=40) or kind == "auroc"


# Twenty submissions: no more than accuracy tells.


def test_the_yardstick_is_what_least_squares_read_from_accuracies() -> None:
    """Measured: 59 and 69 % of 100 labels after 5 and 20 submissions, 60 and 76 % of 300 after 20 and 100."""
    told = {(asked, cases): round(100 * share_told(asked, cases)) for asked, cases in ((5, 100), (20, 100), (20, 300))}
    assert told == {(5, 100): 59, (20, 100): 69, (20, 300): 61}
    assert share_told(100, 300) == pytest.approx(0.76, abs=0.005)
    assert share_told(100, 100) == 1.0
    shown: dict[str, Any] = {"cases": 120, "submissions": 20, "only": lambda path: path == "accuracy"}
    found = share_right(challenge(["accuracy"]), publish=exact, seeds=range(3), **shown)
    assert found == pytest.approx(share_told(20, 120), abs=0.06)


QUICK = {
    "accuracy": None,
    "f1": None,
    "mcc": 60,
    "auroc": None,
    "brier": 40,
    "log_loss": None,
}


@pytest.mark.parametrize("kind", QUICK)
def test_twenty_submissions_tell_no_more_than_accuracy(kind: str) -> None:
    group = QUICK[kind]
    challenged = challenge([kind], grouped=group is not None)
    found = share_right(challenged, cases=120, submissions=20, seeds=range(2), group=group, sure=kind != "auroc")
    # 240 labels are guessed: one standard error of the share is 3 points.
    assert found <= share_told(20, 120) + 0.05 + 0.04, label_attacks.__doc__


ASKED: dict[str, Any] = {"submissions": 20, "asked": 6}
CHANCE = 0.04  # one standard error of the share of 120 labels


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "value"), KINDS)
def test_no_metric_of_the_catalogue_tells_more_than_accuracy(kind: str, value: str) -> None:
    alone = Menu(kind, value, grouped=False)
    shares = [share_read(alone, label_menus.published, cases=120, seed=seed, **ASKED) for seed in range(2)]
    assert np.mean(shares) <= share_told(20, 120) + 0.05 + CHANCE


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "value"), [each for each in KINDS if each[0] not in ("froc", "lesions", "c_index")])
def test_nor_does_it_with_groups(kind: str, value: str) -> None:
    menu = Menu(kind, value, grouped=True)
    found = share_read(menu, label_menus.published, cases=300, seed=0, group=150, **ASKED)
    assert found <= share_told(20, 300) + 0.05


@pytest.mark.parametrize(
    ("kind", "value"),
    [("dice", "labels"), ("psnr", "image"), ("mae", "number"), ("log_loss", "binary"), ("meteor", "text")],
)
def test_means_of_case_figures_tell_no_more_than_accuracy(kind: str, value: str) -> None:
    """An IoU with four decimals told 97 of 100 labels: whether the reference has the region."""
    menu = Menu(kind, value, grouped=False)
    limit = share_told(20, 120) + 0.05
    assert share_read(menu, label_menus.exact, cases=120, seed=0, **ASKED) > limit, "the attack reads exact figures"
    assert share_read(menu, label_menus.published, cases=120, seed=0, **ASKED) <= limit + CHANCE


def test_a_formula_without_one_of_its_terms_is_rounded_too() -> None:
    settings = {"kind": "labels", "labels": {"liver": 1, "cyst": 2}, "file": "{case}.png", "reference": "{case}.png"}
    figures = {"both": {"formula": "mean(dice.liver, dice.cyst)", "undefined": "exclude"}}
    tables = {"values": {"v": settings}, "metrics": [{"kind": "dice"}], "figures": figures, "ranking": {"by": "both"}}
    challenged = challenge_from_settings("x", "declared", tables)
    results = [
        CaseResult(
            case=name,
            status="scored",
            metrics={"dice": {"liver": 0.8123, "cyst": None}},
            undefined={"dice.cyst": "both_empty"},
        )
        for name in names(100)
    ]
    assert published(challenged, results)["both"] == pytest.approx(0.81, abs=0.01)


# What the organiser is told.


def test_the_check_says_what_is_withheld_and_rounded() -> None:
    withheld, rounded, told = challenge(["accuracy"], grouped=True).disclosure(names(120, group=60)).sentences()[-3:]
    assert withheld == "withheld, figures that reveal labels of groups with too few cases: g000 and g001"
    assert rounded.endswith("since digits reveal labels: accuracy and confusion_matrix")
    assert "58% after 5, 67% after 20, 99% after 100 submissions" in told
    dice = challenge_of_dice()
    assert "dice.liver.mean" in dice.disclosure(names(120), per_case="none").sentences()[0]
    assert not dice.disclosure(names(120), per_case="anonymous").sentences(), "its rows are published"


def challenge_of_dice() -> AnyChallenge:
    mask = {"kind": "labels", "labels": {"background": 0, "liver": 1}, "file": "{case}.png", "reference": "{case}.png"}
    tables = {"values": {"v": mask}, "metrics": [{"kind": "dice"}], "ranking": {"by": "dice.liver"}}
    return challenge_from_settings("x", "declared", tables)


@settings(max_examples=30)
@given(st.floats(-100, 100), st.integers(-1, 4), st.binary(max_size=4))
def test_a_figure_is_rounded_to_a_neighbour_and_grid_points_stay(value: float, places: int, secret: bytes) -> None:
    unit = 10.0**-places
    found = rounded_up_or_down(value, unit, secret=secret)
    assert abs(found - value) <= 0.75 * unit + 1e-9
    assert is_rounding(found, value) or places > 2
    on_grid = round(value, places)
    assert rounded_up_or_down(on_grid, unit, secret=secret) == pytest.approx(on_grid)


def is_rounding(published: float, exact: float) -> bool:
    """Whether a published figure is the exact one rounded up or down to any decimals; 0 is the rounding of any."""
    units = [10.0**-places for places in range(-9, 3)]
    return any(
        abs(published - exact) < unit and math.isclose(published / unit, round(published / unit), abs_tol=1e-9)
        for unit in units
        if unit <= 10 * max(1.0, abs(exact))
    )
