"""Every mistake in a declared challenge.toml gets a sentence with key and line, all of them at once."""

from pathlib import Path

import pytest
from challenges.declared.declaring import HEAD, errors, metric, metrics, value

VALUE = value("organ", "labels", file="{case}.mha", reference="{case}.mha", labels={"liver": 1, "spleen": 2})
METRIC = metric("nsd", tolerance_mm=1.0)
RANKING = metrics(by="nsd")


def test_a_challenge_without_mistakes_has_no_errors(tmp_path: Path) -> None:
    assert errors(tmp_path, VALUE + METRIC + RANKING) == []


def test_problems_of_all_tables_in_one_run_then_those_of_names(tmp_path: Path) -> None:
    toml = (
        '[cases]\ninptu = "x"\n'
        + VALUE
        + '[values.age]\nkind = "nummer"\n'
        + '[[metrics]]\nkind = "nsd"\nof = "organ"\ntolerance_mm = -1.0\n'
        + '[[metrics]]\nkind = "dice"\nof = "organ"\n'
        + '[figures]\nscore = "100 * dice.mean + dcie.mean"\nhalf = "score / 2"\n'
        + '[ranking]\nby = "dcie"\ntie_break = ["dice.livr", "half"]\n'
        + '[leaderboard]\ncolumns = ["spleen"]\n'
    )
    assert [error.removeprefix("challenge.toml, ") for error in errors(tmp_path, toml)] == [
        "line 7: 'cases.inptu' is not a known key; did you mean 'input'?",
        "line 14: 'values.age.kind' is 'nummer', which is not a kind of value; did you mean 'number'?",
        "line 18: 'metrics.0.tolerance_mm' is wrong: input should be greater than or equal to 0.",
    ]
    for wrong, right in (("inptu", "input"), ('[values.age]\nkind = "nummer"\n', ""), ("-1.0", "1.0")):
        toml = toml.replace(wrong, right)
    assert [error.removeprefix("challenge.toml, ") for error in errors(tmp_path, toml)[:4]] == [
        "line 21: 'figures.score' names 'dcie.mean', which does not exist; did you mean 'dice.mean'?",
        "line 24: 'ranking.by' names 'dcie', which does not exist; did you mean 'dice'?",
        "line 25: 'ranking.tie_break' names 'dice.livr', which does not exist; did you mean 'dice.liver'?",
        "line 27: 'leaderboard.columns' names 'spleen', which does not exist; did you mean 'nsd.spleen'?",
    ]


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        (("labels = {", "lables = {"), "'values.organ.lables' is not a known key; did you mean 'labels'?"),
        (('kind = "nsd"', 'kind = "nds"'), "'metrics.0.kind' is 'nds', which is not a metric; did you mean 'nsd'?"),
        (('kind = "nsd"', 'kind = "wer"'), "'metrics.0.kind' is 'wer', which is not a metric; there are: dice, iou"),
        (("tolerance_mm", 'of = "orga"\ntolerance_mm'), "'metrics.0.of' names 'orga', which is not a value; did you"),
        (("values.organ", "values.'or.gan'"), "'values.or.gan' is wrong: a name has letters, digits and _"),
        (("values.organ", "values.''"), "'values.' is wrong: a name has letters, digits and _"),
        (("liver = 1", "liver = -1"), "'values.organ.labels.liver' is wrong: input should be greater than or equal"),
        (("liver = 1", "mean = 1"), "'values.organ' is wrong: a region cannot be called 'mean'"),
        (('"{case}.mha"\nref', '"a.mha"\nref'), "'values.organ.file' is wrong: a file name holds {case} once"),
        (('kind = "labels"\n', ""), "'values.organ.kind' is missing; there are: labels"),
        (
            ("tolerance_mm = 1.0", "tolerances_mm = { liver = 1.0 }"),
            "'metrics.0.tolerances_mm' gives none for 'spleen'",
        ),
        (
            ("tolerance_mm = 1.0", "tolerance_mm = 1.0\ntolerances_mm = { lung = 1.0 }"),
            "'metrics.0.tolerances_mm' names 'lung', which is not a region; there are: liver, spleen",
        ),
        (("tolerance_mm = 1.0", 'tolerance_mm = 1.0\nover = "pooled"'), "'metrics.0.over' cannot be pooled"),
        (
            ("tolerance_mm = 1.0", 'tolerance_mm = 1.0\nboth_empty = "wrost"'),
            "'metrics.0.both_empty' is wrong: input should be a valid number; "
            "or: input should be 'exclude', 'worst' or 'diagonal'",
        ),
        (
            ("[[metrics]]", '[values.os]\nkind = "survival"\ntable = "os.csv"\ncolumn = "risk"\n[[metrics]]'),
            '\'values.os.prediction\' is missing: write "risk" or "time" (risk: higher means an earlier event;',
        ),
        (('by = "nsd"', 'bye = "nsd"'), "'ranking.bye' is not a known key; did you mean 'by'?"),
        (
            ("[ranking]", '[figures]\nscore = { formula = "nsd", direcion = "higher" }\n[ranking]'),
            "'figures.score.direcion' is not a known key; did you mean 'direction'?",
        ),
        (("[ranking]", '[figures]\nscore = "nsd - nsd.n * 0"\n[ranking]'), None),
    ],
)
def test_a_wrong_line_gets_its_sentence(tmp_path: Path, wrong: tuple[str, str], sentence: str | None) -> None:
    toml = VALUE + METRIC + RANKING
    assert wrong[0] in toml
    found = errors(tmp_path, toml.replace(*wrong, 1))
    if sentence is None:
        assert found == []
        return
    assert any(sentence in error for error in found), found
    assert all(error.startswith("challenge.toml, line ") for error in found if "is missing" not in error)


def test_every_wrong_name_of_a_formula_is_named(tmp_path: Path) -> None:
    figures = '[figures]\nscore = "nds.mean + 4 * nsd.livr"\n[ranking]\nby = "score"\n'
    first, second = errors(tmp_path, VALUE + METRIC + figures)
    assert "'nds.mean'" in first
    assert "'nsd.livr'" in second


@pytest.mark.parametrize("shape", ["any", "algorithm"])
def test_jobs_need_the_input_that_names_the_case(tmp_path: Path, shape: str) -> None:
    head = HEAD.replace('"predictions"', f'"{shape}"')
    toml = VALUE.replace("file =", 'socket = "seg"\nfile =') + METRIC + RANKING
    (error,) = errors(tmp_path, toml, head=head)
    assert "'cases.input' is missing: name the input of a job whose image or file name is the case" in error
    assert errors(tmp_path, toml + '[cases]\ninput = "ct"\n', head=head) == []
    assert errors(tmp_path, toml) == []


def test_a_value_must_stand_where_submissions_have_it(tmp_path: Path) -> None:
    toml = VALUE + METRIC + RANKING
    (error,) = errors(tmp_path, toml, head=HEAD.replace('"predictions"', '"algorithm"'))
    assert "'values.organ.socket' is missing: submission = \"algorithm\"" in error
    (error,) = errors(tmp_path, toml.replace('file = "{case}.mha"', 'socket = "seg"'))
    assert "'values.organ.file' is missing: submission = \"predictions\"" in error


AGE = '[values.age]\nkind = "number"\nfile = "{case}.json"\nreference = "{case}.json"\nrange = [0, 100]\n'


def test_names_of_values_are_taken_in_rows(tmp_path: Path) -> None:
    metric = '[[metrics]]\nkind = "mae"\n'
    (error,) = errors(tmp_path, AGE + metric + 'name = "age"\n[ranking]\nby = "age"\n')
    assert "'metrics.0.name' is 'age', which is the name of a value: result rows keep it there" in error
    (error,) = errors(tmp_path, AGE + metric + '[case_figures]\nage = "2 * mae"\n[ranking]\nby = "mae"\n')
    assert "'case_figures.age' is reserved: result rows already use this name" in error
    lesions = VALUE.replace("values.organ", "values.nsd")
    assert errors(tmp_path, lesions + METRIC + RANKING) == []


@pytest.mark.parametrize(("line", "key"), [("failed = 0.5", "failed"), ("prediction_empty = 1.0", "prediction_empty")])
def test_pooled_counts_leave_no_figure_of_a_case(tmp_path: Path, line: str, key: str) -> None:
    metric = f'[[metrics]]\nkind = "dice"\nover = "pooled"\n{line}\n'
    (error,) = errors(tmp_path, VALUE + metric + '[ranking]\nby = "dice.liver"\n')
    assert f"'metrics.0.{key}'" in error
    assert "with pooled counts" in error


def test_a_number_needs_a_range_or_says_what_a_missing_one_is(tmp_path: Path) -> None:
    toml = AGE.replace("range = [0, 100]\n", "") + '[[metrics]]\nkind = "mae"\n[ranking]\nby = "mae"\n'
    (error,) = errors(tmp_path, toml)
    assert "'metrics.0.failed' is missing: mae has no worst value without a range" in error
    assert errors(tmp_path, toml.replace('kind = "mae"', 'kind = "mae"\nfailed = 50')) == []
