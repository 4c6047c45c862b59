"""Our YAML as the platforms read it: by PyYAML."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podium.tools.platforms.results import to_yaml

yaml = pytest.importorskip("yaml")

TEXT = st.text(st.characters(exclude_categories=("Cs",)))
KEYS = st.one_of(TEXT, st.sampled_from(["no", "Yes", "null", "on", "y", "1", "1e5", "", "score", "a-b", "~"]))
SCALARS = st.one_of(
    TEXT, st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), st.just("no"), st.just("- a")
)
VALUES = st.recursive(
    SCALARS, lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(KEYS, inner, max_size=4))
)


@given(st.dictionaries(KEYS, VALUES, min_size=1, max_size=5))
def test_pyyaml_reads_the_same_values(content: dict[str, Any]) -> None:
    found = yaml.safe_load(to_yaml(content))
    assert repr(found) == repr(content)  # 1, 1.0 and True are equal, and not the same


def test_blocks_are_easy_to_edit() -> None:
    content = {"title": "CSV 2026", "score": 1e-05, "pages": [{"title": "Overview", "index": 0}, "end"], "empty": {}}
    assert to_yaml(content) == (
        'title: "CSV 2026"\nscore: 1.0e-05\npages:\n  - title: "Overview"\n    index: 0\n  - "end"\nempty: {}\n'
    )
