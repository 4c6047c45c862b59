"""docs/notebook.ipynb: it runs, its outputs are those that are committed, and they are small.

python test/test_notebook.py    # writes the outputs again
"""

import os
from pathlib import Path
from typing import Any
from unittest.mock import patch

import nbformat
import pytest
from nbclient import NotebookClient
from places import ROOT

pytestmark = pytest.mark.slow

NOTEBOOK = ROOT / "docs" / "notebook.ipynb"


def executed() -> Any:
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    client = NotebookClient(
        notebook, timeout=300, kernel_name="python3", resources={"metadata": {"path": ROOT / "docs"}}
    )
    with patch.dict(os.environ, PYTHONPATH=str(ROOT)):
        client.execute()
    for cell in notebook.cells:
        cell.metadata = {}
    notebook.metadata = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}
    return notebook


def test_the_notebook_runs_and_shows_what_is_committed() -> None:
    committed = nbformat.read(NOTEBOOK, as_version=4)
    found = executed()
    assert len([cell for cell in found.cells if cell.get("outputs")]) >= 5
    for mine, theirs in zip(found.cells, committed.cells, strict=True):
        assert mine.get("outputs") == theirs.get("outputs"), mine.source


def test_the_notebook_is_small_and_names_no_machine() -> None:
    text = NOTEBOOK.read_text(encoding="utf-8")
    assert len(text) < 60_000
    assert str(ROOT) not in text
    assert not [place for place in ("/home/", "/root/", "/tmp/", "/Users/", str(Path.home())) if place in text]


if __name__ == "__main__":
    nbformat.write(executed(), NOTEBOOK)
