"""What rows and aggregates say under each `per_case` setting."""

from hypothesis import given
from hypothesis import strategies as st

from podium.figures import without
from podium.platform.metrics_file import CaseResult
from podium.platform.privacy import are_anonymous, pseudonym, published_groups, published_results, rounded_aggregates

RESULTS = [
    CaseResult(case=case, status="scored", metrics={"dice": {"a": 0.5, "b": 1.0}, "true_class": 1})
    for case in ("zeta", "alpha", "mid")
]


def test_only_pseudonyms_are_anonymous_and_they_are_stable_and_keyed() -> None:
    hidden = pseudonym("csv_0007", key=b"key")
    assert are_anonymous([hidden])
    assert not are_anonymous([])
    assert not are_anonymous([hidden, "csv_0007"])
    assert not are_anonymous(["case-1"])
    assert pseudonym("csv_0007", key=b"key") == hidden
    assert hidden not in (pseudonym("csv_0007", key=b"other"), pseudonym("csv_0008", key=b"key"))


def test_full_is_sorted_by_name_and_none_holds_nothing() -> None:
    rows = published_results(RESULTS, per_case="full", key=b"k", confidential=["true_class"])
    assert [row.case for row in rows] == ["alpha", "mid", "zeta"]
    assert rows[0].metrics["true_class"] == 1
    assert published_results(RESULTS, per_case="none", key=b"k", confidential=[]) == []


def test_anonymous_hides_names_order_and_reference_values() -> None:
    rows = published_results(RESULTS, per_case="anonymous", key=b"k", confidential=["true_class", "dice.b"])
    names = [row.case for row in rows]
    assert names == sorted(pseudonym(case, key=b"k") for case in ("zeta", "alpha", "mid"))
    assert all(row.metrics == {"dice": {"a": 0.5}} for row in rows)


def test_aggregates_are_rounded_to_the_decimals_and_counts_stay() -> None:
    aggregates = {"dice": {"mean": 0.123456, "n": 3}, "score": 91.65213, "loss": -0.00001, "known": 1}
    rounded = rounded_aggregates(aggregates, decimals=4)
    assert rounded == {"dice": {"mean": 0.1235, "n": 3}, "score": 91.6521, "loss": 0.0, "known": 1}
    assert str(rounded["loss"]) == "0.0"
    assert isinstance(rounded["dice"]["n"], int)
    assert aggregates["score"] == 91.65213
    assert rounded_aggregates(aggregates, decimals=0)["score"] == 92.0
    assert rounded_aggregates(aggregates, decimals=None) == aggregates


@given(st.lists(st.integers(1, 12), max_size=7))
def test_groups_that_are_not_published_cannot_be_computed_by_subtraction(sizes: list[int]) -> None:
    """As few of the smallest groups are hidden as it takes."""
    named = {str(number): size for number, size in enumerate(sizes)}
    kept = published_groups(named, fewest=5)
    hidden = sorted(named[name] for name in named.keys() - kept)
    assert sorted(hidden) == sorted(sizes)[: len(hidden)]
    allowed = [
        count
        for count in range(len(sizes) + 1)
        if all(size >= 5 for size in sorted(sizes)[count:])
        and (count == len(sizes) or not 0 < sum(sorted(sizes)[:count]) < 5)
    ]
    assert len(hidden) == min(allowed)


def test_without_leaves_the_original_alone() -> None:
    figures = {"a": {"b": 1, "c": 2}, "d": 3}
    assert without(figures, ["a.b", "d"]) == {"a": {"c": 2}}
    assert figures == {"a": {"b": 1, "c": 2}, "d": 3}
    # A path through a list means each of its objects.
    figures = {"steps": [{"dice": 1, "pairs": [1]}, {"dice": 0, "pairs": []}], "lesions": [1], "auc": 2}
    assert without(figures, ["lesions", "steps.pairs"]) == {"steps": [{"dice": 1}, {"dice": 0}], "auc": 2}
