"""The command line, with room for whole tables."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from podium.cli.main import main


@pytest.fixture
def podium(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    monkeypatch.setenv("COLUMNS", "200")

    def run(*arguments: object) -> Any:
        capfd.readouterr()
        code = main([str(argument) for argument in arguments])
        return SimpleNamespace(code=code, **capfd.readouterr()._asdict())

    return run
