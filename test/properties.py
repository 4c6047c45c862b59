"""How many random examples a property test tries: PODIUM_TEST_EXAMPLES at most, which test.sh sets."""

import os

from hypothesis import settings

_MOST = int(os.environ.get("PODIUM_TEST_EXAMPLES", "30"))

# A busy machine is no failure: no test measures time.
settings.register_profile("podium", deadline=None, max_examples=min(100, _MOST))
settings.load_profile("podium")


def examples(number: int) -> settings:
    """This number of examples, or as many as may be tried."""
    return settings(max_examples=min(number, _MOST))
