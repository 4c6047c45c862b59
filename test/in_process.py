"""Commands that score cases in the test's own process: without forks a small evaluation takes milliseconds."""

from typing import Any

import pytest

from podium.execution.serial import Serial


def score_in_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """For tests of rules and of what is made of scores; test_runner.py tests the processes."""

    def serial(**_: Any) -> Serial:
        return Serial()

    monkeypatch.setattr("podium.cli.arguments.Processes", serial)
