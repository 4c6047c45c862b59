"""Flat names of figures."""

import re

from hypothesis import given
from hypothesis import strategies as st

from podium.tools.platforms.results import flat_keys

PARTS = st.text("ab_-", min_size=1, max_size=20)
PATHS = st.lists(st.lists(PARTS, min_size=1, max_size=4).map(".".join), unique=True, max_size=20)


def test_a_key_is_the_path_with_underscores() -> None:
    assert flat_keys(["score", "dice.long_plaque.mean", "groups.site-a.dice"]) == {
        "score": "score",
        "dice.long_plaque.mean": "dice_long_plaque_mean",
        "groups.site-a.dice": "groups_site_a_dice",
    }


def test_paths_that_would_have_one_key_have_two() -> None:
    keys = flat_keys(["a.b", "a_b", "c"])
    assert len(set(keys.values())) == 3
    assert keys["c"] == "c"
    assert all(key.startswith("a_b_") for path, key in keys.items() if path != "c")


def test_a_long_key_keeps_its_beginning() -> None:
    (key,) = flat_keys(["figure" * 10]).values()
    assert key.startswith("figurefigurefigurefigurefig_")
    assert len(key) == 36


@given(PATHS)
def test_keys_are_allowed_on_codabench_and_synapse_and_differ(paths: list[str]) -> None:
    keys = flat_keys(paths)
    assert list(keys) == paths
    assert len(set(keys.values())) == len(paths)
    assert all(re.fullmatch(r"[A-Za-z0-9_]{1,36}", key) for key in keys.values())
