"""The summary of all rows' warnings."""

from podium.platform.metrics_file import CaseResult, summarise_warnings


def rows(*warnings: tuple[str, ...]) -> list[CaseResult]:
    return [
        CaseResult(case=f"c{number}", status="scored", metrics={}, warnings=said)
        for number, said in enumerate(warnings)
    ]


def test_equal_warnings_are_counted() -> None:
    said = rows(("steps 6-7 missing",), ("step 7 missing", "It is empty."), ("steps 6-7 missing",), ())
    assert summarise_warnings(said) == [
        "steps 6-7 missing in 2 of 4 cases",
        "step 7 missing in 1 of 4 cases",
        "It is empty in 1 of 4 cases",
    ]


def test_names_and_numbers_of_files_make_no_difference() -> None:
    said = rows(
        ("step 1: 'a/1.mha' has 6 slices, not the image's 7.", "step 2: 'a/2.mha' has 6 slices, not the image's 7."),
        ("step 1: 'it's b\n.mha' has 5 slices, not the image's 7.",),
        ("The spacing of 'c.mha' differs from the image's.",),
    )
    assert summarise_warnings(said) == [
        "in 2 of 3 cases, such as: step 1: 'a/1.mha' has 6 slices, not the image's 7.",
        "The spacing of 'c.mha' differs from the image's in 1 of 3 cases",
    ]


def test_a_warning_takes_one_line() -> None:
    assert summarise_warnings(rows(("'a\nb' is odd.",))) == ["'a\\nb' is odd in 1 of 1 cases"]


def test_no_warning_no_line() -> None:
    assert summarise_warnings(rows((), ())) == []
