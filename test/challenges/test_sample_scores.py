"""The samples of every kind score what the literal reading of the rules says."""

import json
import shutil
from pathlib import Path

import pytest
from evaluating import differences, evaluate
from places import ROOT

from podium.readers.wordnet import find_wordnet

pytestmark = pytest.mark.usefixtures("in_process")

RUNS = [  # engine, workers, and how far a figure may be off
    ("carotid", "monai", "1", 1e-6),  # MONAI's NSD is in single precision
    ("carotid", "native", "1", 1e-9),
    ("freehand", None, "1", 1e-6),
    ("freehand", None, "9", 1e-6),
    ("lesions", "monai", "1", 1e-6),
    ("reports", None, "2", 1e-12),
]
TEAMS = sorted(path for path in (ROOT / "test/submissions").glob("*/*") if path.is_dir())


@pytest.mark.usefixtures("processes")
@pytest.mark.parametrize(
    ("submission", "engine", "workers", "within"),
    [(team, *options) for challenge, *options in RUNS for team in TEAMS if team.parent.name == challenge],
    ids=lambda value: getattr(value, "name", None),
)
def test_samples_score_what_the_literal_reading_says(
    submission: Path, engine: str | None, workers: str, within: float, tmp_path: Path
) -> None:
    name = submission.parent.name
    truth = shutil.copytree(ROOT / "ground-truth" / name, tmp_path / name)
    text = (truth / "challenge.toml").read_text()
    (truth / "challenge.toml").write_text(text.replace('engine = "monai"', f'engine = "{engine}"'))
    found = evaluate(submission, truth, tmp_path / "output", "--workers", workers)
    expected = json.loads((ROOT / f"test/expected/{name}/{submission.name}.json").read_text())
    if find_wordnet() is None:
        assert not [figure for figure in found["aggregates"] if "wordnet" in figure]
        expected["aggregates"] = {key: each for key, each in expected["aggregates"].items() if "wordnet" not in key}
    assert found["results"].keys() == expected["results"].keys()
    assert differences(expected, found, within=within) == []
