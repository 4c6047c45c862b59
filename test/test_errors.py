"""Mistakes in files, in words."""

from typing import Annotated, Any

import pytest
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from podium.errors import all_problems, did_you_mean, first_problem, listed


class Inner(BaseModel):
    model_config = ConfigDict(extra="forbid")

    share: Annotated[float, Field(le=1)]

    @field_validator("share")
    @classmethod
    def _not_a_half(cls, value: float) -> float:
        if value == 0.5:
            raise ValueError("One half is not allowed.")
        return value


class Outer(BaseModel):
    inner: list[Inner]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ({}, "'inner' is missing"),
        ({"inner": [{"share": 1, "colour": 2}]}, "'inner.0.colour' is not a known key"),
        ({"inner": [{"share": 2}]}, "'inner.0.share' is wrong: input should be less than or equal to 1"),
        ({"inner": [{"share": 0.5}]}, "'inner.0.share' is wrong: one half is not allowed"),
        ({"inner": {}}, "'inner' is wrong: it must be a list"),
        ([], "is wrong: it must be a table of keys and values"),
    ],
)
def test_words(content: Any, words: str) -> None:
    with pytest.raises(ValidationError) as raised:
        Outer.model_validate(content)
    assert str(first_problem(raised.value)) == words


def test_all_problems_in_their_order() -> None:
    with pytest.raises(ValidationError) as raised:
        Outer.model_validate({"inner": [{"share": 2}, {"colour": 1}]})
    assert [str(problem) for problem in all_problems(raised.value)] == [
        "'inner.0.share' is wrong: input should be less than or equal to 1",
        "'inner.1.share' is missing",
        "'inner.1.colour' is not a known key",
    ]


def test_lists_of_words() -> None:
    assert [listed([]), listed(["a"]), listed(["a", "b"])] == ["", "a", "a and b"]
    assert [listed(["a", "b", "c"], most=most) for most in (None, 3, 2)] == ["a, b and c"] * 2 + ["a, b and 1 more"]


def test_a_suggestion_is_another_name_than_the_refused_one() -> None:
    assert did_you_mean("dice.liver", ["dice.liver", "dice.river"]) == "; did you mean 'dice.river'?"
    assert did_you_mean("dice.liver", ["dice.liver"]) == ""
