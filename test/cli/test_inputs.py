"""What a name, a path, a folder and a file give, for every command that takes a challenge or a result."""

import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from places import ROOT

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("in_process")]

NAME = "lesions"
FOLDER = ROOT / "ground-truth" / NAME
SUBMISSION = ROOT / "test/submissions" / NAME / "ember"

CHALLENGES: dict[str, Callable[[str], Sequence[object]]] = {
    "evaluate": lambda given: ("evaluate", SUBMISSION, "--challenge", given),
    "evaluate --ground-truth": lambda given: ("evaluate", SUBMISSION, "--ground-truth", given),
    "validate": lambda given: ("validate", SUBMISSION, "--challenge", given),
    "check": lambda given: ("check", given),
    "figures": lambda given: ("figures", given),
    "manifest": lambda given: ("manifest", "--challenge", given),
    "manifest --ground-truth": lambda given: ("manifest", "--ground-truth", given),
    "leaderboard": lambda given: ("leaderboard", given),
    "bundle codabench": lambda given: ("bundle", "codabench", given),
    "batch": lambda given: ("batch", "teams", "--challenge", given, "--output", "all", "--bootstraps", 0),
}
"""Every command that takes a challenge."""


@pytest.fixture(autouse=True)
def workplace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "teams").mkdir()
    shutil.copytree(SUBMISSION, tmp_path / "teams/ember")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("command", CHALLENGES)
def test_a_challenge_is_given_by_name_folder_or_settings_file(podium: Any, command: str) -> None:
    words = CHALLENGES[command]
    ended = []
    for given in (NAME, str(FOLDER), str(FOLDER / "challenge.toml")):
        shutil.rmtree("all", ignore_errors=True)
        Path(f"{NAME}-codabench.zip").unlink(missing_ok=True)
        ended.append(podium(*words(given)))
    assert [each.code for each in ended] == [0, 0, 0], [each.last_line for each in ended]
    assert ended[0].last_line == ended[1].last_line == ended[2].last_line
    assert podium(*words("no-such-challenge")).code == 2


@pytest.fixture
def results(podium: Any, workplace: Path) -> Path:
    """results/<team>/metrics.json and ranking/."""
    for team in ("ember", "other"):
        podium("evaluate", SUBMISSION, "--challenge", NAME, "--output", f"results/{team}")
    podium("rank", "results", "--bootstraps", 0)
    return workplace


def test_a_submission_is_given_alone_or_as_the_platform_does(podium: Any) -> None:
    alone = podium("evaluate", SUBMISSION, "--challenge", NAME)
    assert alone.last_line == "AUC-Dice 2.982 (8 of 8 cases) -> out/metrics.json"
    as_platform = podium("evaluate", "--input", SUBMISSION, "--output", "out", "--challenge", NAME)
    assert as_platform.last_line == alone.last_line
    both = podium("evaluate", SUBMISSION, "--input", SUBMISSION, "--challenge", NAME)
    assert (both.code, both.last_line.startswith("Give the submission either alone")) == (2, True)


@pytest.mark.usefixtures("results")
def test_results_are_given_by_file_or_folder(podium: Any) -> None:
    for given in ("results/ember", "results/ember/metrics.json", "ranking", "ranking/ranking.json"):
        ended = podium("report", given)
        folder = Path(given).parent if given.endswith(".json") else given
        assert (ended.code, ended.last_line) == (0, f"Wrote {folder}/report.html."), given
    for given in (["results"], ["results/ember", "results/other/metrics.json"]):
        ended = podium("rank", *given, "--bootstraps", 0)
        assert (ended.code, "Written to ranking; open ranking/report.html." in ended.out) == (0, True), given
    assert "'podium batch' scores the submissions" in podium("rank", "teams").last_line
    assert podium("report", "teams").code == 2


def test_a_batch_ranks_by_all_rows_whatever_participants_see(podium: Any, workplace: Path) -> None:
    truth = shutil.copytree(FOLDER, workplace / "truth")
    settings = truth / "challenge.toml"
    lines = [line for line in settings.read_text(encoding="utf-8").splitlines() if not line.startswith("per_case")]
    settings.write_text("\n".join(['per_case = "none"', *lines]), encoding="utf-8")
    shutil.copytree(SUBMISSION, workplace / "teams/other")
    ended = podium("batch", "teams", "--ground-truth", truth, "--output", "all", "--bootstraps", 50)
    assert ended.code == 0
    assert "Brackets show 95 % intervals over cases." in ended.out
    assert "organiser/ and ranking/ show single cases whatever per_case says: keep them private." in ended.out
    evaluated = podium("evaluate", "teams/other", "--ground-truth", truth, "--output", "alone")
    assert evaluated.code == 0
    same = Path("all/teams/other/metrics.json").read_bytes()
    assert same == Path("alone/metrics.json").read_bytes(), "participants see what an evaluation shows"


def test_a_hidden_score_is_not_printed(podium: Any, workplace: Path) -> None:
    """The last line has the digits that metrics.json publishes, no more."""
    truth = shutil.copytree(FOLDER, workplace / "truth")
    settings = truth / "challenge.toml"
    settings.write_text("decimals = 1\n" + settings.read_text(encoding="utf-8"), encoding="utf-8")
    ended = podium("evaluate", SUBMISSION, "--ground-truth", truth)
    assert ended.last_line == "AUC-Dice 3 (8 of 8 cases) -> out/metrics.json"
