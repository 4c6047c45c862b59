"""An image that is compared within a mask of the organiser's, which is a reference-only value."""

from pathlib import Path

import numpy as np
import pytest
import SimpleITK
from evaluating import evaluate

from podium.challenges import problems_of_file
from podium.challenges.settings import ChallengeFile
from podium.cli import main

CHALLENGE = """
kind = "declared"
title = "Within"
version = "1"
per_case = "full"
submission = "predictions"
[values.ct]
kind = "image"
file = "{case}.mha"
reference = "{case}_ct.mha"
within = "body"
[values.body]
kind = "labels"
reference = "{case}_mask.mha"
labels = { body = 1 }
[[metrics]]
kind = "mae"
[ranking]
by = "mae"
"""


def write_image(path: Path, values: object, kind: type = np.int16) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    SimpleITK.WriteImage(SimpleITK.GetImageFromArray(np.array(values, dtype=kind)), str(path))


@pytest.fixture
def truth(tmp_path: Path) -> Path:
    folder = tmp_path / "truth"
    write_image(folder / "references/a_ct.mha", [[10, 20], [30, 40]])
    write_image(folder / "references/a_mask.mha", [[1, 1], [0, 0]], np.uint8)
    (folder / "challenge.toml").write_text(CHALLENGE)
    return folder


def problems(folder: Path, text: str) -> list[str]:
    (folder / "challenge.toml").write_text(text)
    file = ChallengeFile(folder / "challenge.toml")
    return [str(file.refuse(each.key, each.words)) for each in problems_of_file("truth", file).problems]


def test_a_team_sends_no_mask_and_pixels_outside_of_it_do_not_count(truth: Path, tmp_path: Path) -> None:
    write_image(tmp_path / "team/a.mha", [[11, 23], [999, 999]])
    metrics = evaluate(tmp_path / "team", truth, tmp_path / "output")
    assert metrics["counts"]["scored"] == 1
    assert metrics["aggregates"]["mae"]["mean"] == 2.0


def test_a_value_that_no_image_is_compared_within_must_be_predicted(truth: Path) -> None:
    found = problems(truth, CHALLENGE.replace('within = "body"\n', ""))
    assert len(found) == 1
    assert "needs a socket, a file or a table: where is the prediction?" in found[0]


def test_no_metric_is_of_the_mask(truth: Path) -> None:
    found = problems(truth, CHALLENGE + '[[metrics]]\nkind = "dice"\nof = "body"\n')
    assert len(found) == 1
    assert "names 'body', which is a reference-only value" in found[0]
    found = problems(truth, CHALLENGE + '[[metrics]]\nkind = "dice"\n')
    assert len(found) == 1
    assert "there is none" in found[0]


def test_a_mask_of_another_size_is_found_before_a_build(truth: Path, capfd: pytest.CaptureFixture[str]) -> None:
    write_image(truth / "references/a_mask.mha", [[1, 1, 0], [0, 0, 0]], np.uint8)
    assert main(["check", str(truth)]) == 2
    assert "The mask 'body' is not of the size of the image 'ct'." in capfd.readouterr().out


def test_a_readme_may_lie_among_the_references(truth: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (truth / "references/README.md").write_text("Where these come from.\n")
    assert main(["check", str(truth)]) == 0
    (truth / "references/notes.md").write_text("Something else.\n")
    assert main(["check", str(truth)]) == 2
    assert "references/notes.md" in capfd.readouterr().out
