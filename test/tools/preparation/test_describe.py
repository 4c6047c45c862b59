"""`podium describe`: the participants' page says what a challenge.toml says, for every challenge there is."""

import re
import tomllib
from pathlib import Path

import pytest
from places import ROOT

from podium.challenges import load_challenge
from podium.challenges.ground_truth import read_challenge_folder
from podium.cli import main

CHALLENGES = sorted(
    file.parent for place in ("ground-truth", "gallery") for file in ROOT.glob(f"{place}/*/challenge.toml")
)


def described(folder: Path, capfd: pytest.CaptureFixture[str]) -> str:
    assert main(["describe", "--ground-truth", str(folder)]) == 0
    return capfd.readouterr().out


@pytest.mark.parametrize("folder", CHALLENGES, ids=lambda path: path.name)
def test_the_page_of_a_challenge_has_its_files_sockets_metrics_formulas_and_ranking(
    folder: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    page = described(folder, capfd)
    content = tomllib.loads((folder / "challenge.toml").read_text())
    challenge = load_challenge(read_challenge_folder(folder, name=folder.name))
    assert page.startswith(f"# {content['title']}\n")
    assert challenge.ranking.words[1:] in page
    assert re.findall(r"\bNone\b|\bTrue\b|\bFalse\b|[{}]", page) == []
    shape = content.get("submission", "any")
    for value in content.get("values", {}).values():
        if not isinstance(value, dict) or not {"socket", "file", "table"} & {*value}:
            continue
        for name in (*value.get("labels", {}), *value.get("classes", {})) if "labels" in value else ():
            assert name in page
        assert shape == "predictions" or f"`{value['socket']}`" in page
        assert shape == "algorithm" or "table" not in value or f"`{value['table']}`" in page
    for metric in content.get("metrics", ()):
        assert f"| `{metric.get('name', metric['kind'])}` |" in page
    for formula in {**content.get("figures", {}), **content.get("case_figures", {})}.values():
        assert f"`{formula['formula'] if isinstance(formula, dict) else formula}`".replace("|", "\\|") in page
    for socket in challenge.output_sockets():
        assert shape == "predictions" or socket.is_input or f"`{socket.slug}` ({socket.kind})" in page
    tables = [line.count("|") - line.count("\\|") for line in page.splitlines() if line.startswith("|")]
    assert {*tables} <= {4, 5, 6, 7}


def test_a_metric_says_what_empty_and_missing_predictions_count(capfd: pytest.CaptureFixture[str]) -> None:
    page = described(ROOT / "gallery/topcow23", capfd)
    row = next(line for line in page.splitlines() if line.startswith("| `component_error`"))
    assert "components of P - components of G" in row
    assert row.endswith("| connectivity = 26 | both = exclude | as an empty prediction |")


def test_a_value_of_several_spellings_in_one_file_is_described(capfd: pytest.CaptureFixture[str]) -> None:
    page = described(ROOT / "ground-truth/carotid", capfd)
    labels = "labels: background = 0, vessel = 2, plaque = 1 or background = 0, vessel = 255, plaque = 128"
    assert f"a label image of the size of the image; {labels}" in page
    assert "`<case>_label.h5`, dataset `long_mask`" in page
    assert "classes: low_risk = 0, high_risk = 1; in JSON as it is or at `/class`" in page
