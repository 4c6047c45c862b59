"""What holds for all tests: imports, signals, and how they are divided among processes."""

import signal
import sys
from pathlib import Path

import pytest

# Lets tests import their neighbours as `literal.*` and `samples.*`: `test` is the name of a stdlib package.
sys.path.insert(0, str(Path(__file__).resolve().parent))

# `./test.sh &` and nohup start us with SIGINT ignored, which the programs under test would inherit.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark browser tests by the names of their files, and keep together what is costly to set up.

    With `--dist loadgroup` every group runs in one process: all tests of the container share its images, the tests of
    any other file share its fixtures.
    """
    for item in items:
        if item.path.name.startswith("test_browser_"):
            item.add_marker("browser")
        container = item.get_closest_marker("container") is not None
        item.add_marker(pytest.mark.xdist_group("container" if container else str(item.path)))
