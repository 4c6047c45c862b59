"""The images under test, built once a session by build.sh itself."""

import os

import pytest
from container.engine import build, why_no_engine


@pytest.fixture(scope="session")
def engine() -> None:
    """Skips where no Docker engine answers; with PODIUM_REQUIRE_CONTAINER=1 that is a failure instead."""
    problem = why_no_engine()
    if problem is None:
        return
    if os.environ.get("PODIUM_REQUIRE_CONTAINER") == "1":
        pytest.fail(f"PODIUM_REQUIRE_CONTAINER=1, but {problem}.")
    pytest.skip(f"{problem}; PODIUM_REQUIRE_CONTAINER=1 would make this a failure.")


@pytest.fixture(scope="session")
def image(engine: None) -> str:  # noqa: ARG001  (there is nothing to build without one)
    """The image that holds every challenge."""
    return build()


@pytest.fixture(scope="session")
def carotid_image(engine: None) -> str:  # noqa: ARG001
    """The image of one challenge alone."""
    return build("carotid")
