"""RadFact's figures from verdicts, by the published examples and by hand."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from literal.reports import radfact

from podium.challenges.reports.files import FinalWeights
from podium.errors import OrganiserError
from podium.tools.judge.engine import Findings, FindingVerdict, Status
from podium.tools.judge.judging import (
    CaseFigures,
    Doubts,
    JudgedPair,
    case_figures,
    count_doubts,
    final_figures,
    radfact_aggregates,
)
from podium.tools.judge.run import TeamVerdict, order_warning

STATUSES = st.lists(st.sampled_from(["entailed", "not_entailed"]), max_size=6)


def findings(count: int) -> Findings:
    return Findings(phrases=tuple(f"f{number}" for number in range(count)))


def case(candidate: list[Status], reference: list[Status], *, doubted: list[list[bool]] | None = None) -> CaseFigures:
    """`doubted` are the suspicious ones of both."""
    sides = [
        tuple(
            FindingVerdict(finding=f"f{number}", status=status, suspicious=suspicious and status == "entailed")
            for number, (status, suspicious) in enumerate(zip(statuses, doubts, strict=False))
        )
        for statuses, doubts in zip((candidate, reference), doubted or [[False] * 9] * 2, strict=True)
    ]
    return case_figures(
        JudgedPair(
            candidate=findings(len(candidate)),
            reference=findings(len(reference)),
            candidate_verdicts=sides[0],
            reference_verdicts=sides[1],
        )
    )


def statuses(entailed: int, findings: int) -> list[Status]:
    return ["entailed"] * entailed + ["not_entailed"] * (findings - entailed)


def test_golden_figures() -> None:
    """Two cases with (P, R) = (1, 1) and (0.25, 0)."""
    cases = [case(statuses(1, 1), statuses(1, 1)), case(statuses(1, 4), statuses(0, 1))]
    found = radfact_aggregates(cases)
    assert (found["precision"], found["recall"]) == (0.625, 0.5)
    assert found["f1_of_means"] == pytest.approx(0.55555556, abs=5e-9)
    assert found["mean_of_f1"] == 0.5


@pytest.mark.parametrize(("rule", "clinical"), [("f1_of_means", 0.5), ("mean_of_f1", 0.4)])
def test_the_final_score_is_080_clinical_and_020_captioning(rule: str, clinical: float) -> None:
    radfact = {"f1_of_means": 0.5, "mean_of_f1": 0.4, "lower_bound": 0.3, "mean_of_f1_lower_bound": 0.2}
    figures = final_figures(radfact, captioning=0.25, rule=rule, weights=FinalWeights())
    assert figures["clinical"] == clinical
    assert figures["score_final"] == pytest.approx(0.8 * clinical + 0.05, rel=1e-12)
    assert figures["score_final_lower_bound"] == pytest.approx(0.8 * (clinical - 0.2) + 0.05, rel=1e-12)


@given(st.lists(st.tuples(STATUSES, STATUSES), min_size=1, max_size=5))
def test_aggregates_follow_the_literal_reading(cases: list[tuple[list[Status], list[Status]]]) -> None:
    found = radfact_aggregates([case(*each) for each in cases])
    counts = [(mine.count("entailed"), len(mine), theirs.count("entailed"), len(theirs)) for mine, theirs in cases]
    expected = radfact(counts)
    assert {name: found[name] for name in expected} == pytest.approx(expected, rel=1e-12)
    assert found["lower_bound"] == pytest.approx(expected["f1_of_means"], rel=1e-12)


def test_radfact_lites_own_aggregate_is_the_same() -> None:
    from radfact_lite.metric import aggregate_results, sample_result

    counts = [(1, 2, 3, 4), (0, 0, 0, 3), (2, 5, 1, 1)]
    theirs = aggregate_results([sample_result(str(c), c[0], c[2], c[1], c[3]) for c in counts], 0)
    ours = radfact_aggregates([case(statuses(a, b), statuses(c, d)) for a, b, c, d in counts])
    assert ours["f1_of_means"] == pytest.approx(theirs.logical_f1, rel=1e-12)
    assert ours["precision"] == pytest.approx(theirs.logical_precision, rel=1e-12)


def test_a_failed_verdict_is_neither_yes_nor_no() -> None:
    figures = case(["entailed", "failed"], ["failed"])
    assert figures.precision == 1
    assert figures.recall is None
    assert figures.f1 is None
    assert (figures.failed, figures.verdicts) == (2, 3)
    assert radfact_aggregates([figures, case(["entailed"], ["entailed"])])["precision"] == 1
    assert count_doubts([figures]).failure_share == pytest.approx(2 / 3)


def test_a_report_that_could_not_be_split_costs_all_it_was_needed_for() -> None:
    figures = case_figures(JudgedPair(candidate=None, reference=findings(3)))
    assert (figures.failed, figures.verdicts, figures.precision, figures.recall) == (4, 4, None, None)


def test_skipped_cases_score_0_and_count_in_the_means() -> None:
    figures = case_figures(JudgedPair(skipped="The report is empty and scores 0."))
    assert (figures.precision, figures.recall, figures.f1, figures.failed, figures.verdicts) == (0, 0, 0, 0, 0)
    assert radfact_aggregates([figures, case(["entailed"], ["entailed"])])["mean_of_f1"] == 0.5
    assert count_doubts([figures]).failure_share == 0


DOUBTFUL = st.lists(
    st.tuples(st.sampled_from(["entailed", "not_entailed", "failed"]), st.booleans()), min_size=1, max_size=4
)


@given(st.lists(st.tuples(DOUBTFUL, DOUBTFUL), min_size=1, max_size=4), st.sampled_from(["f1_of_means", "mean_of_f1"]))
def test_the_lower_bound_is_the_score_without_doubtful_verdicts_and_never_above_it(
    cases: list[tuple[list[tuple[Status, bool]], list[tuple[Status, bool]]]], rule: str
) -> None:
    found = radfact_aggregates(
        [
            case([s for s, _ in mine], [s for s, _ in theirs], doubted=[[d for _, d in mine], [d for _, d in theirs]])
            for mine, theirs in cases
        ]
    )
    arguments = {"captioning": 0.5, "rule": rule, "weights": FinalWeights()}
    final = final_figures(found, **arguments)
    bound, score = final["score_final_lower_bound"], final["score_final"]
    sound = radfact(
        [
            (mine.count(("entailed", False)), len(mine), theirs.count(("entailed", False)), len(theirs))
            for mine, theirs in cases
        ]
    )
    assert bound == pytest.approx(min(0.8 * sound[rule] + 0.1, score), rel=1e-12)


# What is said of the teams once they are judged.

DOUBTS = Doubts(verdicts=1200, failed=3, suspicious_verdicts=14, suspicious_findings=2)


def teams(**scores: tuple[float, float]) -> list[TeamVerdict]:
    return [TeamVerdict(team=name, score_final=score, lower_bound=bound) for name, (score, bound) in scores.items()]


def test_a_team_with_a_score() -> None:
    outcome = TeamVerdict(team="a\x1b[2J", written=Path("j/a"), score_final=0.75, lower_bound=0.5, doubts=DOUBTS)
    said = str(outcome)
    assert said.endswith(
        ": 0.7500, lower bound 0.5000; 14 suspicious and 3 failed of 1,200 verdicts, 2 suspicious findings; in j/a"
    )
    assert "\x1b" not in said


def test_a_team_without() -> None:
    assert str(TeamVerdict(team="a", problem=OrganiserError("No."), doubts=DOUBTS)) == f"a: No.; {DOUBTS}"


@pytest.mark.parametrize(
    "outcomes",
    [
        [],
        teams(a=(0.9, 0.8), b=(0.7, 0.7)),
        teams(b=(0.7, 0.7), a=(0.9, 0.8)),
        teams(a=(0.9, 0.8), b=(0.9, 0.8)),
        [*teams(a=(0.9, 0.1)), TeamVerdict(team="b", problem=OrganiserError("No."))],
    ],
)
def test_the_same_order_needs_no_words(outcomes: list[TeamVerdict]) -> None:
    assert order_warning(outcomes) is None


@pytest.mark.parametrize(
    ("outcomes", "words"),
    [
        (teams(a=(0.9, 0.6), b=(0.7, 0.7)), "By score: 1 a, 2 b. By lower bound: 1 b, 2 a."),
        (teams(b=(0.9, 0.6), a=(0.9, 0.9)), "By score: 1 a, 1 b. By lower bound: 1 a, 2 b."),
        (teams(a=(0.9, 0.7), b=(0.7, 0.7), c=(0.1, 0)), "By score: 1 a, 2 b, 3 c. By lower bound: 1 a, 1 b, 3 c."),
    ],
)
def test_another_order_is_told(outcomes: list[TeamVerdict], words: str) -> None:
    assert order_warning(outcomes) == (
        f"Warning: the order of the teams depends on suspicious or failed verdicts. {words}"
    )
