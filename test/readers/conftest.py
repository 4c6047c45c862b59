"""Folders for small tests: pytest's own search for a free name takes longer than most of the tests here."""

from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def free_folders(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    base = tmp_path_factory.mktemp("readers")
    return (base / str(number) for number in count())


@pytest.fixture
def tmp_path(free_folders: Iterator[Path]) -> Path:
    folder = next(free_folders)
    folder.mkdir()
    return folder
