"""The images under test, built once per session by build.sh itself, and what several tests compare with."""

import os
from pathlib import Path

import pytest
from container.engine import build, evaluate, why_no_engine
from places import ROOT


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


@pytest.fixture(scope="session")
def invoke_image(engine: None) -> str:  # noqa: ARG001
    """The image of one challenge as a web server."""
    return build("carotid", "--api", "invoke")


@pytest.fixture(scope="session")
def carotid_submission() -> Path:
    return next(path for path in sorted((ROOT / "test/submissions/carotid").iterdir()) if path.is_dir())


@pytest.fixture(scope="session")
def carotid_metrics(carotid_image: str, carotid_submission: Path, tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """metrics.json of the sample, scored by the image of one challenge with the ground truth inside it."""
    return evaluate(carotid_image, carotid_submission, tmp_path_factory.mktemp("carotid") / "output").metrics
