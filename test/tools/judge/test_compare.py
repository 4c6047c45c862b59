"""`podium judge compare`: the same submissions judged by different models, with real files of real runs."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from literal.reports import corpus_bleu, meteor, radfact, tokens
from scipy.stats import kendalltau
from tools.judge.conftest import ALPHA, REFERENCES, Desk, edit_metrics, last_error, prepare_environment
from tools.judge.scripted_server import Call, ScriptedServer

from podium.cli.main import main

pytestmark = pytest.mark.usefixtures("in_process")

TEAMS = ("alpha", "beta", "gamma")
GAMMA = {"A1": "No open bite.", "A2": "Deep bite.", "A3": "Mild crowding."}
OF_BETA = ("Mild crowding.", "Severe wear.", "Deep bite.")


def partial(call: Call) -> None:
    """A judge that entails what beta says of A3, and what such a report is asked for; nothing else."""
    pair = json.loads(call.question)
    likes = list(pair["reference"]) == list(OF_BETA) or pair["hypothesis"] in OF_BETA
    call.answer(
        {
            "phrase": pair["hypothesis"],
            "evidence": pair["reference"][:1] if likes else [],
            "status": "entailment" if likes else "not_entailment",
        }
    )


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folders of three judges: an honest one, the same under another name, and one that puts alpha last."""
    root = tmp_path_factory.mktemp("judges")
    for name in ("honest", "again", "partial"):
        server = ScriptedServer()
        desk = Desk(root / name, server.url)
        desk.write_team("gamma", GAMMA)
        if name == "partial":
            server.script(lambda call: call.task == "evidenced_phrase", partial)
        with pytest.MonkeyPatch.context() as monkeypatch:
            prepare_environment(monkeypatch)
            assert desk.run("--model", f"model-{name}", teams=TEAMS) == 0
        server.close()
    return root


def compare(*arguments: str | Path) -> int:
    return main(["judge", "compare", *map(str, arguments)])


def test_rank_agreement_and_differences(judged: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    output = tmp_path / "comparison.json"
    folders = [judged / name / "judged" for name in ("honest", "again", "partial")]
    assert compare(*folders, "--output", output) == 0
    out = capfd.readouterr().out
    found = json.loads(output.read_text())
    assert [judge["model"] for judge in found["judges"].values()] == ["model-honest", "model-again", "model-partial"]
    assert (found["cases"], found["left_out"]) == (["A1", "A2", "A3"], [])
    teams = {team["name"]: team for team in found["teams"]}
    assert teams["alpha"]["ranks"][:2] == [1, 1]
    assert [teams[name]["ranks"][2] for name in TEAMS] == [3, 2, 1]
    for name in TEAMS:
        for number, folder in enumerate(folders):
            written = json.loads((folder / name / "metrics.json").read_text())["aggregates"]["score_final"]
            assert teams[name]["scores"][number] == pytest.approx(written, rel=1e-12)
        again, other = teams[name]["differences"]
        assert (again["value"], again["interval"]) == (0.0, [0.0, 0.0])
        assert other["value"] == pytest.approx(teams[name]["scores"][2] - teams[name]["scores"][0])
        assert other["interval"][0] <= other["value"] <= other["interval"][1]
    taus = {tuple(pair["judges"]): pair["value"] for pair in found["taus"]}
    assert taus["model-honest", "model-again"] == 1.0
    honest, _, partial = zip(*(teams[name]["ranks"] for name in TEAMS), strict=True)
    assert taus["model-honest", "model-partial"] == pytest.approx(kendalltau(honest, partial).statistic)
    first = out.splitlines()[0]
    assert first.startswith("Warning: the order of the teams depends on the judge. By model-honest: 1 alpha, ")
    assert "By model-partial: 1 gamma, 2 beta, 3 alpha." in first
    assert "By model-again" not in first
    assert "alpha" in out
    assert "Kendall" in out


def test_the_same_order_is_no_warning(judged: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    folders = [judged / name / "judged" for name in ("honest", "again")]
    for name in ("one", "two"):
        assert compare(*folders, "--output", tmp_path / name) == 0
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
    assert "Warning" not in capfd.readouterr().out


def without_a_score(folder: Path, team: str, case: str) -> None:
    """As `podium judge` writes a case whose verdicts failed."""

    def clear(content: dict[str, Any]) -> None:
        rows = {row["case"]: row for row in content["results"]}
        rows[case]["metrics"]["radfact"].update(precision=None, recall=None, f1=None)

    edit_metrics(folder, team, clear)


def test_only_cases_that_all_judges_scored_count(
    judged: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    folders = [shutil.copytree(judged / name / "judged", tmp_path / name) for name in ("honest", "partial")]
    without_a_score(folders[1], "gamma", "A2")
    assert compare(*folders, "--output", tmp_path / "comparison.json") == 0
    found = json.loads((tmp_path / "comparison.json").read_text())
    assert (found["cases"], found["left_out"]) == (["A1", "A3"], ["A2"])
    assert "1 of 3 cases is left out" in " ".join(capfd.readouterr().err.split())
    # Alpha with the honest judge, by hand: A1 says both findings, A3 one of one and one of two.
    clinical = radfact([(2, 2, 2, 2), (1, 1, 1, 2)])["f1_of_means"]
    pairs = [(tokens(ALPHA[case]), tokens(REFERENCES[case])) for case in ("A1", "A3")]
    captioning = (corpus_bleu(pairs) + sum(meteor(*pair) for pair in pairs) / 2) / 2
    alpha = next(team for team in found["teams"] if team["name"] == "alpha")
    assert alpha["scores"][0] == pytest.approx(0.8 * clinical + 0.2 * captioning, rel=1e-12)
    for folder in folders:
        for case in REFERENCES:
            without_a_score(folder, "beta", case)
    assert compare(*folders) == 2
    assert capfd.readouterr().err.strip().endswith("There is no case that all judges scored for all teams.")


def test_single_files_are_one_submission(judged: Path, tmp_path: Path) -> None:
    for name in ("honest", "partial"):
        shutil.copy(judged / name / "judged/beta/metrics.json", tmp_path / f"{name}.json")
    assert compare(tmp_path / "honest.json", tmp_path / "partial.json", "--output", tmp_path / "c") == 0
    found = json.loads((tmp_path / "c").read_text())
    assert [team["name"] for team in found["teams"]] == ["honest"]
    assert [pair["value"] for pair in found["taus"]] == [None]  # one team has no order


def test_two_runs_of_one_model_are_named_by_their_folders(judged: Path, tmp_path: Path) -> None:
    for name in ("one", "two"):
        shutil.copytree(judged / "honest/judged", tmp_path / name)
    assert compare(tmp_path / "one", tmp_path / "two", "--output", tmp_path / "c") == 0
    judges = json.loads((tmp_path / "c").read_text())["judges"]
    assert list(judges) == [str(tmp_path / "one"), str(tmp_path / "two")]


def test_what_cannot_be_compared_is_named(judged: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    honest, other = judged / "honest/judged", tmp_path / "other"

    def refusal(*paths: Path) -> str:
        assert compare(*paths) == 2
        return last_error(capfd)

    def copied() -> Path:
        shutil.rmtree(other, ignore_errors=True)
        return shutil.copytree(honest, other)

    assert refusal(honest) == "Give the results of at least two judges."
    shutil.rmtree(copied() / "beta")
    assert refusal(honest, other) == f"{other} does not have the team 'beta' that {honest} has."
    edit_metrics(copied(), "beta", lambda file: file["results"][0]["metrics"].update(meteor=0.1))
    assert refusal(honest, other) == (
        f"{other / 'beta/metrics.json'} is of another submission than {honest / 'beta/metrics.json'}: 'meteor' of the "
        "case 'A1' differs."
    )
    edit_metrics(copied(), "alpha", lambda file: file["provenance"].clear())
    assert refusal(honest, other) == f"{other / 'alpha/metrics.json'} was not judged; run 'podium judge' on it first."


def test_anonymous_rows_cannot_be_compared(desk: Desk, capfd: pytest.CaptureFixture[str]) -> None:
    desk.write_truth(per_case="anonymous")
    assert desk.run() == 0
    capfd.readouterr()
    assert compare(desk.output, desk.output) == 2
    assert "--per-case full" in capfd.readouterr().err
