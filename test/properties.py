"""How many random examples a property test tries."""

import os

from hypothesis import settings

FAST = os.environ.get("PODIUM_FAST_TESTS") == "1"
_MOST_WHEN_FAST = 20

# A busy machine is no failure: no test measures time.
settings.register_profile("podium", deadline=None, max_examples=_MOST_WHEN_FAST if FAST else 100)
settings.load_profile("podium")


def examples(number: int) -> settings:
    """This number of examples; fewer in `./test.sh --fast`."""
    return settings(max_examples=min(number, _MOST_WHEN_FAST) if FAST else number)
