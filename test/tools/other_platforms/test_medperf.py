"""`podium evaluate --platform medperf`: the task `evaluate` of a metrics container."""

import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml
from evaluating import Ended
from places import ROOT
from tools.other_platforms.running import SAMPLES, ground_truth, plain_metrics, sample

from podium.errors import ConfigurationError
from podium.tools.other_platforms.results import read_parameters

pytestmark = pytest.mark.usefixtures("in_process")


def run(podium: Any, folder: Path, predictions: Path, labels: Path, parameters: str, *more: str | Path) -> Ended:
    """As MedPerf does, which makes an empty file of results and mounts it."""
    (folder / "parameters.yaml").write_text(parameters)
    (folder / "results.yaml").touch()
    names = ("--predictions", predictions, "--labels", labels)
    files = ("--parameters_file", folder / "parameters.yaml", "--output_path", folder / "results.yaml")
    return podium("evaluate", "--platform", "medperf", *names, *files, *more)


def results(folder: Path) -> dict[str, Any]:
    content: dict[str, Any] = yaml.safe_load((folder / "results.yaml").read_text())
    return content


@pytest.mark.parametrize("kind", SAMPLES)
def test_results_are_the_aggregates_of_metrics_json(kind: str, tmp_path: Path, podium: Any) -> None:
    (tmp_path / "results.yaml").touch()
    inode = (tmp_path / "results.yaml").stat().st_ino
    ended = run(podium, tmp_path, sample(kind), ground_truth(kind) / "references", f"challenge: {kind}\n")
    assert ended.code == 0, ended.err
    assert (tmp_path / "results.yaml").stat().st_ino == inode  # a mounted file cannot be replaced
    assert {path.name for path in tmp_path.iterdir()} == {"parameters.yaml", "results.yaml"}
    plain = plain_metrics(kind, tmp_path / "plain")
    found = results(tmp_path)
    assert found == {name: plain[name] for name in ("challenge", "version", "counts", "aggregates")}


def test_labels_may_bring_their_own_rules_and_results_tell_no_more_than_metrics_json(
    tmp_path: Path, podium: Any
) -> None:
    shutil.copytree(ground_truth("lesions"), tmp_path / "labels")
    settings = tmp_path / "labels/challenge.toml"
    text = settings.read_text().replace("version = ", 'version = "site 7" # ')
    settings.write_text(text.replace('per_case = "full"', 'per_case = "none"'))
    assert run(podium, tmp_path, sample("lesions"), tmp_path / "labels", "challenge: site\n").code == 0
    found = results(tmp_path)
    assert (found["challenge"], found["version"]) == ("site", "site 7")
    final = found["aggregates"]["final_dice"]
    assert final.keys() == {"mean", "n"}
    assert final["mean"] == round(final["mean"], 4)


def test_rules_of_an_image_of_one_challenge_need_no_name(tmp_path: Path, podium: Any) -> None:
    shutil.copytree(ground_truth("reports"), tmp_path / "baked/reports")
    words = (sample("reports"), ground_truth("reports") / "references", "{}\n", "--ground-truth", tmp_path / "baked")
    assert run(podium, tmp_path, *words).code == 0
    assert results(tmp_path)["challenge"] == "reports"


def test_errors(tmp_path: Path, podium: Any) -> None:
    references = ground_truth("reports") / "references"
    ended = run(podium, tmp_path, sample("reports"), references, "", "--ground-truth", ROOT / "ground-truth")
    assert ended.code == 2
    assert ended.last_line.startswith("There are several challenges here")
    ended = run(podium, tmp_path, sample("reports"), tmp_path / "none", "challenge: reports\n")
    assert (ended.code, ended.last_line) == (2, "There are no labels: their folder does not exist.")
    (tmp_path / "empty").mkdir()
    assert run(podium, tmp_path, tmp_path / "empty", references, "challenge: reports\n").code == 1
    assert (tmp_path / "results.yaml").read_text() == ""


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("", None),
        ("{}\n", None),
        ("---\n# rules\nchallenge: carotid-final  # of the image\n\n", "carotid-final"),
        ('challenge: "a.b_c"\n', "a.b_c"),
        ("challenge: 'x'", "x"),
    ],
)
def test_parameters(text: str, name: str | None, tmp_path: Path) -> None:
    (tmp_path / "p.yaml").write_text(text)
    assert read_parameters(tmp_path / "p.yaml") == name
    assert (yaml.safe_load(text) or {}).get("challenge") == name


@pytest.mark.parametrize(
    "text", ["threshold: 0.5\n", "challenge:\n", "challenge: a\nchallenge: b\n", "challenge: [a]\n", "challenge: 'a\n"]
)
def test_parameters_that_would_be_ignored(text: str, tmp_path: Path) -> None:
    (tmp_path / "p.yaml").write_text(text)
    with pytest.raises(ConfigurationError, match="the only key is 'challenge'"):
        read_parameters(tmp_path / "p.yaml")


def test_a_file_of_parameters_that_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "p.yaml").write_bytes(b"\xff\xfe")
    for path in (tmp_path / "p.yaml", tmp_path / "none.yaml"):
        with pytest.raises(ConfigurationError, match="cannot be read"):
            read_parameters(path)
