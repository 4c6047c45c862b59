"""Counts, FROC, AP and AUROC of detections: worked figures, LUNA16's and scikit-learn's way, and every replicate."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from sklearn.metrics import average_precision_score, roc_auc_score, roc_curve

from podium.metrics import detection as detection_curves
from podium.metrics.detection import (
    FROC_RATES,
    average_precision,
    case_auroc,
    case_facts,
    counted,
    cpm,
    froc,
    lost_facts,
)
from podium.metrics.resampling import Resamples

Facts = dict[str, Any]


def facts(references: int, *candidates: tuple[float, int], highest: float | None = None) -> Facts:
    falling = sorted(candidates, key=lambda each: -each[0])
    top = max((probability for probability, _ in candidates), default=0.0)
    return case_facts(
        probabilities=[probability for probability, _ in falling],
        hits=[bool(hit) for _, hit in falling],
        references=references,
        highest=top if highest is None else highest,
    )


@st.composite
def a_case(draw: st.DrawFn) -> Facts:
    missed = draw(st.integers(0, 2))
    probability = st.sampled_from([0.1, 0.2, 0.5, 0.7, 1.0])
    candidates = draw(st.lists(st.tuples(probability, st.integers(0, 1)), max_size=6))
    return facts(missed + sum(hit for _, hit in candidates), *candidates)


CASES = st.lists(a_case(), min_size=1, max_size=8)
TWO = [facts(2, (0.9, 1), (0.6, 0), (0.3, 1)), facts(1, (0.8, 0)), facts(0, (0.6, 0))]


def whole(cases: list[Facts]) -> Resamples:
    return Resamples.whole(len(cases))


def test_worked_counts() -> None:
    """At 0.6: one of three found, three wrong."""
    values = {
        name: float(counted(name, TWO, whole(TWO), threshold=0.6)[0])  # type: ignore[arg-type]
        for name in ("tp", "fp", "fn", "f1", "precision", "recall")
    }
    assert values == {"tp": 1, "fp": 3, "fn": 2, "f1": 2 / 7, "precision": 1 / 4, "recall": 1 / 3}
    assert counted("tp", TWO, whole(TWO)) == [2]


def test_worked_curves() -> None:
    """Points (FP, TP): (0,1) (1,1) (3,1) (3,2) of 3 cases and 3 findings."""
    assert froc(TWO, whole(TWO), rate=1 / 8) == pytest.approx([1 / 3])
    assert froc(TWO, whole(TWO), rate=1.0) == pytest.approx([2 / 3])  # the upper end of a vertical stretch
    assert cpm(TWO, whole(TWO)) == pytest.approx([(3 * 1 / 3 + 4 * 2 / 3) / 7])
    assert average_precision(TWO, whole(TWO)) == pytest.approx([(1 + 2 / 5) / 3])
    assert case_auroc(TWO, whole(TWO)) == [1.0]


def test_between_two_points_the_froc_curve_is_linear() -> None:
    """Equal probabilities come together: from (0, 0) straight to 4 false positives and 1 finding."""
    case = [facts(1, (0.5, 1), (0.5, 0), (0.5, 0), (0.5, 0), (0.5, 0))]
    assert [float(froc(case, whole(case), rate=rate)[0]) for rate in (0.0, 1.0, 2.0, 4.0, 8.0)] == [0, 0.25, 0.5, 1, 1]


def test_where_a_figure_has_no_value() -> None:
    empty = [facts(0), facts(0, (0.5, 0))]
    for value in (
        froc(empty, whole(empty), rate=1.0),
        cpm(empty, whole(empty)),
        average_precision(empty, whole(empty)),
        case_auroc(empty, whole(empty)),
        counted("recall", empty, whole(empty)),
        counted("precision", empty, whole(empty), threshold=0.9),
    ):
        assert np.isnan(value).all()
    silent = [facts(1), facts(0)]
    assert average_precision(silent, whole(silent)) == cpm(silent, whole(silent)) == [0.0]
    assert case_auroc(silent, whole(silent)) == [0.5]


def test_without_probabilities_only_the_counts_exist() -> None:
    cases = [case_facts(probabilities=None, hits=[True, False], references=2, highest=None), facts(1, (0.9, 1))]
    assert counted("tp", cases, whole(cases), threshold=0.95) == [1]
    assert counted("f1", cases, whole(cases)) == pytest.approx([4 / 6])
    for value in (cpm(cases, whole(cases)), average_precision(cases, whole(cases)), case_auroc(cases, whole(cases))):
        assert np.isnan(value).all()


def test_a_lost_case_misses_everything_and_is_worst_as_a_case() -> None:
    cases = [facts(1, (0.9, 1)), lost_facts(references=2), lost_facts(references=0)]
    assert counted("fn", cases, whole(cases)) == [2]
    assert counted("fp", cases, whole(cases)) == [0]
    assert case_auroc(cases, whole(cases)) == [0.0]


def test_a_candidate_of_probability_0_adds_no_precision_as_in_picai_eval() -> None:
    cases = [facts(2, (0.5, 1), (0.0, 1))]
    assert average_precision(cases, whole(cases)) == [0.5]


def luna16(cases: list[Facts], rates: tuple[float, ...]) -> NDArray[np.float64]:
    """LUNA16's way: scikit-learn's ROC curve of the candidates, in false positives per scan, read by interpolation."""
    hits = [hit for case in cases for hit in case["hits"]]
    scores = [score for case in cases for score in case["probabilities"]]
    false_rate, true_rate, _ = roc_curve(hits, scores)
    false_positives = false_rate * (len(hits) - sum(hits)) / len(cases)
    return np.interp(rates, false_positives, true_rate * sum(hits) / sum(case["references"] for case in cases))


@given(CASES)
def test_froc_agrees_with_luna16(cases: list[Facts]) -> None:
    hits = [hit for case in cases for hit in case["hits"]]
    if not 0 < sum(hits) < len(hits):
        return  # scikit-learn has no ROC curve of one kind
    expected = luna16(cases, FROC_RATES)
    assert [float(froc(cases, whole(cases), rate=rate)[0]) for rate in FROC_RATES] == pytest.approx(expected, abs=1e-12)
    assert cpm(cases, whole(cases)) == pytest.approx([expected.mean()], abs=1e-12)


@given(CASES)
def test_areas_agree_with_scikit_learn(cases: list[Facts]) -> None:
    found = [(hit, score) for case in cases for hit, score in zip(case["hits"], case["probabilities"], strict=True)]
    total = sum(case["references"] for case in cases)
    if any(hit for hit, _ in found):
        share = sum(hit for hit, _ in found) / total  # scikit-learn knows only the findings that were found
        expected = share * average_precision_score([hit for hit, _ in found], [score for _, score in found])
        assert average_precision(cases, whole(cases)) == pytest.approx([expected], abs=1e-12)
    positive = [case["references"] > 0 for case in cases]
    if len(set(positive)) == 2:
        auroc = roc_auc_score(positive, [case["highest"] for case in cases])
        assert case_auroc(cases, whole(cases)) == pytest.approx([auroc], abs=1e-12)


@given(CASES, st.integers(0, 1000), st.sampled_from([1, 7, 1 << 22]))
def test_a_replicate_is_the_figure_of_its_cases(cases: list[Facts], seed: int, block: int) -> None:
    resamples = Resamples.draw(cases=len(cases), replicates=5, seed=seed)
    functions = [
        lambda some, drawn: counted("f1", some, drawn, threshold=0.5),
        lambda some, drawn: counted("precision", some, drawn, threshold=0.2),
        cpm,
        average_precision,
        case_auroc,
    ]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(detection_curves, "_BLOCK", block)
        at_once = [function(cases, resamples) for function in functions]
    for number, counts in enumerate(resamples.counts):
        drawn = [case for case, times in zip(cases, counts, strict=True) for _ in range(times)]
        one_by_one = [function(drawn, whole(drawn))[0] for function in functions]
        assert [values[number] for values in at_once] == pytest.approx(one_by_one, abs=1e-12, nan_ok=True)
