"""`podium judge calibrate`: a real arena's votes beside a real run of the judge, and what does not belong together."""

import json
import shutil
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from tools.arena.arena_folders import make_arena, rater_id
from tools.judge.conftest import ALPHA, BETA, REFERENCES, edit_metrics, last_error
from tools.judge.conftest import Desk as JudgeDesk

from podium.cli.main import main
from podium.tools.arena import voting
from podium.tools.arena.store import OpenArena

TEXTS = {"alpha": ALPHA, "beta": BETA}


def vote(folder: Path, token: str, wanted: dict[str, str]) -> None:
    """Every matchup of a rater's list; `wanted[case]` is the better team, or an answer."""
    with closing(OpenArena(folder)) as opened:
        rater = rater_id(opened, token)
        while (shown := voting.next_matchup(opened, rater)) is not None:
            case = next(case for case, text in ALPHA.items() if text in (shown.left_report, shown.right_report))
            answer = wanted[case]
            if answer in TEXTS:
                answer = "left" if shown.left_report == TEXTS[answer][case] else "right"
            voting.cast(opened.store, rater, matchup=shown.key, answer=answer, comment="")  # type: ignore[arg-type]


@pytest.fixture
def arena(tmp_path: Path) -> Path:
    """Two raters; the judge prefers alpha in all three cases."""
    made = make_arena(
        tmp_path / "arena", methods=("alpha", "beta"), cases=tuple(REFERENCES), raters=("Anna", "Ben"), reports=TEXTS
    )
    vote(made.folder, made.tokens["Anna"], {"A1": "alpha", "A2": "alpha", "A3": "beta"})
    vote(made.folder, made.tokens["Ben"], {"A1": "alpha", "A2": "both-good", "A3": "cannot-judge"})
    return made.folder


def calibrate(arena: Path, judged: Path, output: Path, *more: str | Path) -> int:
    fixed = ("--arena", arena, "--judged", judged, "--output", output)
    return main(["judge", "calibrate", *map(str, (*fixed, *more))])


def figures(path: Path) -> dict[str, Any]:
    return {figure["name"]: figure for figure in json.loads(path.read_text())["figures"]}


def test_votes_and_verdicts_of_the_same_reports(
    arena: Path, undisturbed: JudgeDesk, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert calibrate(arena, undisturbed.output, tmp_path / "c.json", "--judged-again", undisturbed.output) == 0
    out, err = capfd.readouterr()
    alpha, beta = undisturbed.rows("alpha"), undisturbed.rows("beta")
    for case in REFERENCES:
        assert alpha[case]["metrics"]["radfact"]["f1"] > beta[case]["metrics"]["radfact"]["f1"]
    found = figures(tmp_path / "c.json")
    assert found["agreement"]["total"] == 5  # "cannot judge" is no answer
    assert found["agreement"]["value"] == 3 / 5  # both on A1, Anna on A2
    assert found["between_raters"]["value"] == 1 / 2  # the same on A1, not on A2
    assert found["between_raters"]["total"] == 2
    assert found["judge_repeats"]["value"] == 1.0
    document = json.loads((tmp_path / "c.json").read_text())
    assert (document["votes"], document["raters"], document["voted_cases"], document["cases"]) == (5, 2, 3, 3)
    assert document["judge"] == "judge-1"
    assert [team["name"] for team in document["teams"]] == ["alpha", "beta"]
    assert document["teams"][0]["by_both"] + document["teams"][1]["by_both"] == pytest.approx(1)
    assert "The judge judge-1 and 5 votes of 2 clinicians" in out
    assert "The arena is still open: these figures are provisional." in err
    assert "Below 20 cases" in " ".join(err.split())
    assert calibrate(arena, undisturbed.output, tmp_path / "again.json", "--judged-again", undisturbed.output) == 0
    assert (tmp_path / "again.json").read_bytes() == (tmp_path / "c.json").read_bytes()


def test_the_ranking_and_its_page_show_it(arena: Path, undisturbed: JudgeDesk, tmp_path: Path) -> None:
    calibration, ranking = tmp_path / "calibration.json", tmp_path / "ranking"
    assert calibrate(arena, undisturbed.output, calibration) == 0
    arguments = ["rank", undisturbed.output, "--output", ranking, "--calibration", calibration, "--replicates", "20"]
    assert main([*map(str, arguments)]) == 0
    assert json.loads((ranking / "ranking.json").read_text())["calibration"] == json.loads(calibration.read_text())
    page = (ranking / "report.html").read_text()
    assert "The judge and the clinicians" in page
    assert "The judge prefers the same report as the clinician" in page
    assert "The arena is still open" in page
    assert "arXiv:2311.01453" in page


@pytest.fixture
def judged(undisturbed: JudgeDesk, tmp_path: Path) -> Path:
    """A copy of the judge's results that may be changed."""
    return shutil.copytree(undisturbed.output, tmp_path / "judged")


@pytest.mark.parametrize(
    ("edit", "words"),
    [
        (lambda file: file.pop("provenance"), "has not been judged; run 'podium judge' on it first."),
        (
            lambda file: file["provenance"]["judge"].update(model="judge-2"),
            "'beta' was judged with model = judge-2, but 'alpha' with judge-1: judge both in the same way.",
        ),
        (
            lambda file: file["results"].pop(0),
            "The judge rated the case 'a1' of 'alpha', but not of 'beta'.",
        ),
        (
            lambda file: file["results"].clear(),
            "--per-case full and another --output: the answers are in its cache, so nothing is asked again.",
        ),
        (
            lambda file: file["results"][0]["metrics"]["radfact"].update(f1=7),
            "The score of 'beta' in the case 'A1' is not between 0 and 1.",
        ),
    ],
)
def test_files_that_do_not_belong_together_are_refused(
    arena: Path, judged: Path, tmp_path: Path, *, capfd: pytest.CaptureFixture[str], edit: Any, words: str
) -> None:
    edit_metrics(judged, "beta", edit)
    assert calibrate(arena, judged, tmp_path / "c.json") == 2
    assert words in last_error(capfd)
    assert not (tmp_path / "c.json").exists()


def test_a_team_or_a_case_without_verdicts_is_named(
    arena: Path, judged: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    for team in TEXTS:
        edit_metrics(judged, team, lambda file: file["results"].pop(0))
    assert calibrate(arena, judged, tmp_path / "c.json") == 2
    assert "There are votes on the case 'A1' (1 such), which the files" in last_error(capfd)
    shutil.rmtree(judged / "beta")
    assert calibrate(arena, judged, tmp_path / "c.json") == 2
    assert "The arena's team 'beta' has no metrics.json in" in last_error(capfd)
    assert calibrate(arena, tmp_path / "nowhere", tmp_path / "c.json") == 2
    assert "There is no folder" in last_error(capfd)


def test_a_failed_verdict_leaves_the_vote_out_and_is_said(
    arena: Path, judged: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    edit_metrics(judged, "alpha", lambda file: file["results"][0]["metrics"]["radfact"].update(f1=None))
    assert calibrate(arena, judged, tmp_path / "c.json") == 0
    assert figures(tmp_path / "c.json")["agreement"]["total"] == 3
    assert "2 of the votes are on reports of which the judge has no score." in capfd.readouterr().err


def test_an_arena_without_votes(tmp_path: Path, undisturbed: JudgeDesk, capfd: pytest.CaptureFixture[str]) -> None:
    made = make_arena(tmp_path / "arena", methods=("alpha", "beta"), cases=tuple(REFERENCES), reports=TEXTS)
    assert calibrate(made.folder, undisturbed.output, tmp_path / "c.json") == 2
    assert "has no votes yet to compare with the judge." in last_error(capfd)


def test_a_calibration_of_other_teams_or_another_file_is_refused_by_rank(
    arena: Path, undisturbed: JudgeDesk, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    calibration = tmp_path / "calibration.json"
    assert calibrate(arena, undisturbed.output, calibration) == 0
    document = json.loads(calibration.read_text())
    document["teams"][0]["name"] = "zeta"
    calibration.write_text(json.dumps(document))
    arguments = ["rank", str(undisturbed.output), "--output", str(tmp_path / "r"), "--calibration", str(calibration)]
    assert main(arguments) == 2
    assert "has an estimate for 'zeta', which is not ranked here." in last_error(capfd)
    calibration.write_text("{}")
    assert main(arguments) == 2
    assert "is not a calibration.json written by 'podium judge calibrate'" in last_error(capfd)
