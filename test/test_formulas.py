"""The formulas of challenge.toml: arithmetic as Python does it, on numbers and on replicates; nothing else."""

import math
import re
from collections.abc import Callable
from operator import add, mul, sub, truediv

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from podium.formulas import FormulaError, Known, compute, evaluated, known_of, parse, titled, weighted_sum

VALUES = {"a": 2.0, "b.mean": 3.0, "dice.long_plaque": 0.5, "zero": 0.0}


def value(text: str, values: dict[str, float] | None = None) -> float:
    return float(compute(parse(text), {name: np.asarray(number) for name, number in (values or VALUES).items()})[0])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1 + 2 * 3", 7.0),
        ("(1 + 2) * 3", 9.0),
        ("2 - 3 - 4", -5.0),
        ("2 / 4 / 2", 0.25),
        ("-a ** 2", -4.0),
        ("2 ** 3 ** 2", 512.0),
        ("2 ** -1", 0.5),
        ("1e-3 * .5 + 5.", 5.0005),
        ("0.4 * dice.long_plaque + b.mean", 3.2),
        ("mean(1, 2, 6)", 3.0),
        ("min(a, b.mean)", 2.0),
        ("max(a, b.mean, 1)", 3.0),
        ("clip(5, 0, 1)", 1.0),
        ("sqrt(abs(-16))", 4.0),
        ("log(exp(2))", 2.0),
        ("harmonic(0.5, 1)", 2 / 3),
        ("harmonic(0.5, zero)", 0.0),
    ],
)
def test_arithmetic(text: str, expected: float) -> None:
    assert value(text) == pytest.approx(expected, rel=1e-15)


def test_a_result_that_does_not_exist_is_not_finite_and_no_error() -> None:
    assert math.isnan(value("0 / zero"))
    assert math.isinf(value("1 / zero"))
    assert math.isnan(value("log(-1) + sqrt(-1)"))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "is not valid at its end"),
        ("1 +", "is not valid at its end"),
        ("1 2", "is not valid near '2'"),
        ("(1", "is not valid near '(1': '(' was never closed"),
        ("1) + (2", "is not valid near ') + (2': unmatched ')'"),
        ("* 2", "is not valid near '* 2'"),
        ("a b *\f\n2", "is not valid near 'b *  2'"),
        ("1 // 2", "has '1 // 2', which is neither a number, a name nor an operation"),
        ("1, 2", "has '1, 2', which is neither"),
        ("mean(*a)", "has '*a', which is neither"),
        ("mean(**a)", "has 'mean(**a)', which is neither"),
        ("mean(a)(1)", "has 'mean(a)(1)', which is neither"),
        ("__import__(1)", "calls '__import__', which is not a function"),
        ("a.__class__()", "calls 'a.__class__', which is not a function"),
        ("a[0]", "has '[0]', which is neither"),
        ("a if b else c", "is not valid near 'if b else c'"),
        ("clip(1, 2)", "gives clip 2 arguments; it takes 3"),
        ("mean()", "gives mean 0 arguments; it takes 1"),
        ("lambda: 1", "has ':', which is neither"),
        ("'a'", "which is neither"),
        ("a = 1", "has '=', which is neither"),
        ("a # b", "has '#', which is neither"),
        ("\u00e9", "which is neither"),
        ("2x", "which is neither"),
        ("0x10", "which is neither"),
        ("1_000", "which is neither"),
        ("1" + "+1" * 4000, "is longer than 4,000 characters"),
        ("(" * 300 + "1" + ")" * 300, "too many nested parentheses"),
        ("-" * 3000 + "1", "has more than 200 operations inside each other"),
        (" + ".join(["a"] * 600), "has more than 200 operations inside each other"),
        ("1e400 * f1.macro", "has the number '1e400', which is too large"),
        ("9" * 400, "which is too large"),
        ("1 \x1b[2J", r"has '\x1b[2J', which is neither"),
    ],
)
def test_what_is_no_formula(text: str, words: str) -> None:
    with pytest.raises(FormulaError, match=re.escape(words)):
        parse(text)


def test_a_long_sum_and_words_of_python_are_formulas() -> None:
    assert value(" + ".join(["a"] * 200)) == 400
    assert value("f1.class * groups.2024.mae\n - not", {"f1.class": 2, "groups.2024.mae": 3, "not": 1}) == 5
    assert value("007 + mean(1, 2,)") == 8.5


leaves = st.one_of(
    st.integers(0, 9).map(str), st.floats(0.01, 9, allow_nan=False).map(lambda number: f"{number:.4f}"), st.just("x")
)


def _grown(children: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.one_of(
        st.tuples(children, st.sampled_from(["+", "-", "*", "/"]), children).map(" ".join),
        children.map(lambda inner: f"({inner})"),
        children.map(lambda inner: f"-{inner}"),
        st.tuples(children, children).map(lambda pair: f"max({pair[0]}, {pair[1]})"),
    )


def literal(text: str, x: float) -> float:
    """The value of a formula by its grammar, read from left to right: an independent reading of the text."""
    tokens = re.findall(r"max|x|[\d.]+|[-+*/(),]", text)

    def chain(operators: str, part: Callable[[], float]) -> float:
        found = part()
        while tokens and tokens[0] in operators:
            sign, other = tokens.pop(0), part()
            found = {"+": add, "-": sub, "*": mul, "/": truediv}[sign](found, other)
        return found

    def signed() -> float:
        token = tokens.pop(0)
        if token == "-":
            return -signed()
        if token == "max":
            tokens.pop(0)
        if token in ("(", "max"):
            found = total()
            while tokens.pop(0) == ",":
                found = max(found, total())
            return found
        return x if token == "x" else float(token)

    def total() -> float:
        return chain("+-", lambda: chain("*/", signed))

    return total()


@given(text=st.recursive(leaves, _grown, max_leaves=12))
def test_a_formula_means_what_its_grammar_says(text: str) -> None:
    try:
        expected = literal(text, 1.5)
    except ZeroDivisionError:
        return
    assert value(text, {"x": 1.5}) == expected


@given(text=st.recursive(leaves, _grown, max_leaves=8), numbers=st.lists(st.floats(-3, 3), min_size=1, max_size=5))
def test_replicates_are_the_numbers_one_by_one(text: str, numbers: list[float]) -> None:
    formula = parse(text)
    together = np.broadcast_to(compute(formula, {"x": np.array(numbers)})[0], (len(numbers),))
    single = [float(compute(formula, {"x": np.asarray(number)})[0]) for number in numbers]
    np.testing.assert_array_equal(together, single)


SHARE = Known(lowest=0.0, highest=1.0, better=1)
ERROR = Known(lowest=0.0, better=-1)
TERMS = {"dice": SHARE, "nsd": SHARE, "hd": ERROR, "bias": Known(better=None), "n": Known(lowest=0.0)}


@pytest.mark.parametrize(
    ("text", "better", "lowest", "highest"),
    [
        ("100 * (dice + nsd) / 2", 1, 0.0, 100.0),
        ("1 - dice", -1, 0.0, 1.0),
        ("dice - hd", 1, -math.inf, 1.0),
        ("dice + hd", None, 0.0, math.inf),
        ("1 / (1 + hd)", 1, 0.0, 1.0),
        ("exp(-hd)", 1, 0.0, 1.0),
        ("hd ** 2", -1, 0.0, math.inf),
        ("min(dice, nsd)", 1, 0.0, 1.0),
        ("clip(hd, 0, 374)", -1, 0.0, 374.0),
        ("abs(bias)", None, 0.0, math.inf),
        ("n / 2", 0, 0.0, math.inf),
        ("harmonic(dice, nsd)", 1, 0.0, 1.0),
        ("mean(dice, nsd, 1)", 1, 1 / 3, 1.0),
        ("0.5 * -dice", -1, -0.5, 0.0),
        ("500 ** 500 * dice", 1, 0.0, math.inf),
    ],
)
def test_direction_and_range_follow_from_the_terms(
    text: str, better: int | None, lowest: float, highest: float
) -> None:
    known = known_of(parse(text), TERMS)
    assert (known.better, known.lowest, known.highest) == (better, pytest.approx(lowest), pytest.approx(highest))


@given(
    text=st.recursive(st.sampled_from(["dice", "hd", "2", "0.5"]), _grown, max_leaves=8),
    dice=st.floats(0, 1),
    hd=st.floats(0, 1000),
    rise=st.floats(0, 1),
)
def test_the_range_holds_every_value_and_better_terms_never_make_it_worse(
    text: str, dice: float, hd: float, rise: float
) -> None:
    formula = parse(text)
    known = known_of(formula, TERMS)
    at, after = (
        float(compute(formula, {"dice": np.asarray(one), "hd": np.asarray(other)})[0])
        for one, other in ((dice, hd), (dice + (1 - dice) * rise, hd * (1 - rise)))
    )
    if not (math.isfinite(at) and math.isfinite(after)):
        return
    slack = 1e-9 * max(1.0, abs(at), abs(after))
    assert known.lowest - slack <= at <= known.highest + slack
    if known.better == 1:
        assert after >= at - slack
    if known.better == -1:
        assert after <= at + slack
    if known.better == 0:
        assert after == pytest.approx(at)


# What has no value is NaN and stays so; arithmetic without a result is infinite.

NAN = math.nan


@pytest.mark.parametrize(
    ("text", "plain", "exclude"),
    [
        ("a + none", NAN, NAN),
        ("0 * none", NAN, NAN),
        ("none ** 0", NAN, NAN),
        ("clip(none, 0, 1)", NAN, NAN),
        ("mean(a, none, 4)", NAN, 3.0),
        ("min(a, none)", NAN, 2.0),
        ("max(none, a)", NAN, 2.0),
        ("harmonic(none, zero)", NAN, 0.0),
        ("harmonic(none, 1, 0.5)", NAN, 2 / 3),
        ("mean(none, none)", NAN, NAN),
        ("a + mean(none)", NAN, NAN),
        ("mean(none, min(none, a))", NAN, 2.0),
        ("mean(none + 1, 5)", NAN, 5.0),
        ("mean(0 / zero, 5)", math.inf, math.inf),
        ("clip(0 / zero, 0, 1)", math.inf, math.inf),
        ("0 / zero + none", NAN, NAN),
    ],
)
def test_undefined_terms(text: str, plain: float, exclude: float) -> None:
    values = {name: np.asarray(number) for name, number in (VALUES | {"none": NAN}).items()}
    assert float(evaluated(parse(text), values)) == pytest.approx(plain, nan_ok=True)
    assert float(evaluated(parse(text), values, exclude=True)) == pytest.approx(exclude, nan_ok=True)


@given(st.lists(st.lists(st.one_of(st.just(NAN), st.floats(0.1, 10)), min_size=3, max_size=3), min_size=1, max_size=6))
def test_what_is_left_out_of_replicates_is_left_out_of_numbers(rows: list[list[float]]) -> None:
    table = np.array(rows).T
    names = dict(zip("abc", table, strict=True))
    for function, literal in (("mean", np.mean), ("min", np.min), ("max", np.max)):
        found = evaluated(parse(f"{function}(a, b, c)"), names, exclude=True)
        for value, row in zip(found, rows, strict=True):
            defined = [number for number in row if not math.isnan(number)]
            assert value == pytest.approx(literal(defined) if defined else NAN, nan_ok=True)


@pytest.mark.parametrize(
    ("text", "weights"),
    [
        ("0.4 * dice + nsd.mean * 0.6", {"dice": 0.4, "nsd.mean": 0.6}),
        ("dice + 0.5 * nsd + f1", {"dice": 1.0, "nsd": 0.5, "f1": 1.0}),
        ("dice + dice", {}),
        ("(dice + nsd) / 2", {}),
    ],
)
def test_the_weights_of_a_sum(text: str, weights: dict[str, float]) -> None:
    assert weighted_sum(parse(text)) == weights


def test_a_formula_for_people_has_titles() -> None:
    assert titled("(dice.mean + min(nsd, 1)) / 2", {"dice.mean": "Dice", "nsd": "NSD"}) == "(Dice + min(NSD, 1)) / 2"
