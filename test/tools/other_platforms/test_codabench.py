"""`podium evaluate --platform codabench` and the bundle that makes Codabench run it."""

import json
import re
import shlex
import shutil
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
import yaml
from challenges.carotid_files import configured, write_ground_truth
from evaluating import Ended
from places import ROOT
from tools.other_platforms.running import SAMPLES, column_paths, expected_figures, ground_truth, plain_metrics, sample

from podium.tools.other_platforms.results import to_yaml

pytestmark = pytest.mark.usefixtures("in_process")


def worker_folders(folder: Path, kind: str, submission: Path | None = None) -> tuple[Path, Path]:
    """/app/input and /app/output as the worker makes them, its own file `metadata` beside the submission."""
    shutil.copytree(ground_truth(kind), folder / "input/ref" / kind)
    shutil.copytree(submission or sample(kind), folder / "input/res")
    (folder / "input/res/metadata").write_text("elapsedTime: 1.5\nexitCode: null\n")
    (folder / "output").mkdir()
    return folder / "input", folder / "output"


@pytest.mark.parametrize("kind", SAMPLES)
def test_scores_are_the_leaderboards_figures_of_metrics_json(kind: str, tmp_path: Path, podium: Any) -> None:
    given, output = worker_folders(tmp_path, kind)
    ended = evaluate(podium, given, output)
    assert ended.code == 0
    plain = plain_metrics(kind, tmp_path / "plain")
    assert (output / "metrics.json").read_bytes() == (tmp_path / "plain/metrics.json").read_bytes()
    scores = json.loads((output / "scores.json").read_bytes())
    assert scores == expected_figures(plain, column_paths(kind, podium))
    assert ended.last_line.startswith(f"Scored {plain['counts']['scored']} of {plain['counts']['expected']} cases")


def evaluate(podium: Any, given: Path, output: Path) -> Ended:
    return podium("evaluate", "--platform", "codabench", "--input", given, "--output", output)


class Text(HTMLParser):
    """The texts of a page."""

    def __init__(self, page: Path) -> None:
        super().__init__()
        self.words: list[str] = []
        self.feed(page.read_text())

    def handle_data(self, data: str) -> None:
        self.words.append(data)


def test_a_file_name_that_is_html_is_text_on_the_page(tmp_path: Path, podium: Any) -> None:
    markup = "<img src=x onerror=alert(1)>"
    submission = shutil.copytree(sample("carotid"), tmp_path / "submission")
    [prediction, *_] = sorted(submission.rglob("csv_*_pred.h5"))
    (submission / markup).mkdir()
    shutil.copy(prediction, submission / markup)
    given, output = worker_folders(tmp_path, "carotid", submission)
    assert evaluate(podium, given, output).code == 0
    page = output / "detailed_results.html"
    assert markup not in page.read_text()
    assert any(markup in words for words in Text(page).words), "the sentence names both files"


def test_the_page_shows_what_per_case_allows(tmp_path: Path, podium: Any) -> None:
    given, output = worker_folders(tmp_path, "carotid", sample("carotid", "aorta"))
    settings = given / "ref/carotid/challenge.toml"
    for per_case, is_named in (("anonymous", False), ("full", True)):
        settings.write_text(re.sub("^per_case.*", f'per_case = "{per_case}"', settings.read_text(), flags=re.MULTILINE))
        assert evaluate(podium, given, output).code == 0
        words = Text(output / "detailed_results.html").words
        assert any("this submission" in word for word in words)
        assert any("csv_00" in word for word in words) is is_named
        published = json.loads((output / "metrics.json").read_bytes())
        scores = json.loads((output / "scores.json").read_bytes())
        assert scores == expected_figures(published, column_paths("carotid", podium)), "rounded as metrics.json is"


def test_a_submission_that_cannot_be_scored_leaves_no_scores(tmp_path: Path, podium: Any) -> None:
    given, output = worker_folders(tmp_path, "reports")
    assert evaluate(podium, given, output).code == 0
    shutil.rmtree(given / "res")
    (given / "res").mkdir()
    (given / "res/metadata").write_text("exitCode: null\n")
    ended = evaluate(podium, given, output)
    assert (ended.code, list(output.iterdir())) == (1, [])


# The bundle


@pytest.mark.parametrize("kind", SAMPLES)
def test_codabench_runs_what_the_bundle_says(kind: str, tmp_path: Path, podium: Any) -> None:
    archive = tmp_path / "bundle.zip"
    ended = podium("bundle", "codabench", kind, "--output", archive, "--image", "registry/podium:1")
    assert ended.code == 0
    assert ended.last_line.endswith(f"files to {archive}; it holds the references, so it must not be published.")
    bundle = tmp_path / "bundle"
    shutil.unpack_archive(archive, bundle)
    competition = yaml.safe_load((bundle / "competition.yaml").read_text())
    assert competition["docker_image"] == "registry/podium:1"
    for name in (competition["image"], competition["terms"], *(page["file"] for page in competition["pages"])):
        assert (bundle / name).stat().st_size > 0
    (task,), (phase,) = competition["tasks"], competition["phases"]
    assert phase["tasks"] == [task["index"]]
    assert phase["hide_output"] is True

    given, output = worker_folders(tmp_path, kind)
    shutil.rmtree(given / "ref")
    shutil.copytree(bundle / task["reference_data"], given / "ref")
    program = yaml.safe_load((bundle / task["scoring_program"] / "metadata.yaml").read_text())
    words = shlex.split(program["command"])
    assert words[0] == "podium"
    assert podium(*words[1:], "--input", given, "--output", output).code == 0
    (board,) = competition["leaderboards"]
    scores = json.loads((output / "scores.json").read_bytes())
    assert [column["key"] for column in board["columns"]] == list(scores)
    assert [column["index"] for column in board["columns"]] == list(range(len(scores)))
    settings = json.loads(podium("leaderboard", "--json", kind).out)
    orders = [settings["score_default_sort"], *(column["order"] for column in settings["extra_results_columns"])]
    assert [column["sorting"] for column in board["columns"]] == orders


def test_titles_and_keys_fit_into_codabenchs_fields(tmp_path: Path, podium: Any) -> None:
    name = "structure" * 5
    settings = configured("cases", "groups = '^(?P<group>.)'")
    settings = settings.replace("{ low_risk = 0, high_risk = 1 }", f"{{ {name}a = 0, {name}b = 1 }}")
    settings = re.sub(r"^columns = \[.*?^\]\n", "", settings, flags=re.MULTILINE | re.DOTALL)
    folder = write_ground_truth(tmp_path / "plaques", configuration=settings)
    output = tmp_path / "bundle"
    words = ("bundle", "codabench", "plaques", "--ground-truth", folder, "--output", output, "--start", "2026-12-31")
    assert podium(*words).code == 0
    competition = yaml.safe_load((output / "competition.yaml").read_text())
    columns = competition["leaderboards"][0]["columns"]
    assert max(len(column["title"]) for column in columns) == 36
    assert max(len(column["key"]) for column in columns) == 36
    assert len({column["key"] for column in columns}) == len(columns)
    assert competition["phases"][0]["start"] == "2026-12-31 00:00:00"
    assert competition["docker_image"].startswith("podium-codabench-plaques:")


def test_the_same_content_gives_the_same_archive(tmp_path: Path, podium: Any) -> None:
    for name in ("a.zip", "b.zip"):
        words = ("bundle", "codabench", "reports", "--output", tmp_path / name, "--start", "2026-12-31")
        assert podium(*words).code == 0
    assert (tmp_path / "a.zip").read_bytes() == (tmp_path / "b.zip").read_bytes()
    ended = podium("bundle", "codabench", "reports", "--output", tmp_path / "a.zip")
    assert ended.code == 2
    assert ended.last_line == f"{tmp_path / 'a.zip'} exists; name another file or folder, or remove it."


def test_a_link_is_no_reference(tmp_path: Path, podium: Any) -> None:
    folder = write_ground_truth(tmp_path / "carotid")
    (folder / "references/d_label.h5").symlink_to(ROOT / "README.md")
    ended = podium("bundle", "codabench", "carotid", "--ground-truth", folder, "--output", tmp_path / "b")
    assert ended.code == 2
    assert not (tmp_path / "b").exists()


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--platform", "codabench", "--labels", "x"], "--labels is not an option of --platform codabench."),
        (["--platform=codabench", "--ground-truth=x"], "--ground-truth is not an option of --platform codabench."),
        (["-p", "x"], "--predictions_file is not an option of --platform grand-challenge."),
        (["--validate-only"], "--validate-only is not an option of --platform grand-challenge."),
        (["--platform", "orca", "-p", "x"], "--platform orca needs --groundtruth_folder."),
    ],
)
def test_an_option_of_another_platform_is_not_ignored(arguments: list[str], sentence: str, podium: Any) -> None:
    ended = podium("evaluate", *arguments)
    assert (ended.code, ended.last_line) == (2, sentence)


def test_yaml_is_easy_to_edit_and_keeps_every_value() -> None:
    content = {"title": "no", "score": 1e-05, "pages": [{"title": "Überblick", "index": 0}, "end"], "empty": {}}
    text = to_yaml(content)
    assert text == "title: 'no'\nscore: 1.0e-05\npages:\n- title: Überblick\n  index: 0\n- end\nempty: {}\n"
    assert yaml.safe_load(text) == content
