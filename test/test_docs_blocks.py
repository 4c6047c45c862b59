"""What the pages tell people to type works as it stands there; what needs Docker is run by container/test_pages.py."""

import json
import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
import yaml
from documented import AT_HAND, blocks, first_toml, project_copy, run_page, write_kidneys
from places import ROOT

from podium import evaluate
from podium.checking import check
from podium.cli import main
from podium.execution.executor import Serial

pytestmark = pytest.mark.slow

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


@pytest.mark.parametrize("page", AT_HAND)
def test_the_commands_of_a_page_run_as_they_stand_there(page: str, tmp_path: Path) -> None:
    run_page(project_copy(tmp_path), page, with_docker=False)


@pytest.mark.parametrize("page", AT_HAND)
def test_every_block_says_what_it_is(page: str) -> None:
    known = {"bash", "text", "toml", "json", "python", "yaml"}
    assert [block.line for block in blocks(ROOT / page) if block.language not in known] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_block_can_be_read(page: Path) -> None:
    for block in blocks(page):
        match block.language:
            case "toml":
                tomllib.loads(block.text)
            case "json":
                json.loads(block.text)
            case "yaml":
                assert list(yaml.safe_load_all(block.text))
            case "python":
                compile(block.text, f"{page.name}, line {block.line}", "exec")


@pytest.mark.parametrize("page", ["README.md", "docs/declared.md"])
def test_a_complete_challenge_passes_check_and_scores_its_references(page: str, tmp_path: Path) -> None:
    write_kidneys(tmp_path / "kidney", first_toml(page))
    checked = check("kidney", tmp_path / "kidney", images=None, executor=Serial())
    assert (checked.errors, checked.warnings) == ([], [])
    scored = evaluate(tmp_path / "kidney/references", ground_truth=tmp_path / "kidney", executor=Serial())
    assert scored.aggregates["dice"]["mean"] == 1
    assert scored.aggregates.get("score", 100) == 100


def test_the_settings_on_the_organisers_page_pass_check(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "ground-truth/lesions", tmp_path / "lesions")
    (tmp_path / "lesions/challenge.toml").write_text(first_toml("docs/organisers.md"), encoding="utf-8")
    assert check("lesions", tmp_path / "lesions", images=None, executor=Serial()).errors == []


def test_the_formulas_of_declared_challenges_pass_check(tmp_path: Path) -> None:
    (formulas,) = [block.text for block in blocks(ROOT / "docs/declared.md") if block.text.startswith("[figures]\n")]
    before, rest = first_toml("docs/declared.md").split("[figures]")
    write_kidneys(tmp_path / "kidney", f"{before}{formulas}{rest[rest.index('[ranking]') :]}")
    assert check("kidney", tmp_path / "kidney", images=None, executor=Serial()).errors == []


@pytest.fixture(scope="module")
def scored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All sample teams of carotid, scored, and the case list."""
    folder = tmp_path_factory.mktemp("carotid")
    for team in (ROOT / "test/submissions/carotid").iterdir():
        output = folder / "results" / team.name
        evaluate(team, ground_truth=ROOT / "ground-truth/carotid", output=output, executor=Serial())
    command = ["manifest", "--ground-truth", str(ROOT / "ground-truth/carotid"), "--output", str(folder / "cases.json")]
    assert main(command) == 0
    return folder


@pytest.mark.parametrize(
    ("page", "columns", "command"),
    [
        ("README.md", 110, "rank results --output ranking"),
        ("docs/ranking.md", 80, "rank results --output ranking"),
        ("docs/participants.md", 80, f"validate {ROOT}/test/submissions/carotid/dropout --cases cases.json"),
    ],
    ids=["README", "ranking", "participants"],
)
def test_the_output_on_a_page_is_what_the_command_prints(page: str, columns: int, command: str, scored: Path) -> None:
    """The table of a page: the text that has a line below its headings."""
    (shown,) = [block.text for block in blocks(ROOT / page) if block.language == "text" and "───" in block.text]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "COLUMNS": str(columns)}
    program = [sys.executable, "-m", "podium", *command.split()]
    done = subprocess.run(program, cwd=scored, env=environment, capture_output=True, text=True, check=False)
    lines = [line.rstrip() for line in done.stdout.splitlines()]
    assert [line for line in shown.splitlines() if line not in lines] == []


def executed(page: str, **known: Any) -> dict[str, Any]:
    """What the Python blocks of a page define, run one after the other."""
    for block in blocks(ROOT / page):
        if block.language == "python":
            exec(compile(block.text, f"{page}, line {block.line}", "exec"), known)
    return known


def test_python_in_the_readme(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, sample in {"my-submission": "test/submissions/carotid/aorta", "ground-truth": "ground-truth"}.items():
        (tmp_path / name).symlink_to(ROOT / sample)
    monkeypatch.chdir(tmp_path)
    assert int(executed("README.md")["result"].aggregates["score"] * 100) == 9165


def test_python_for_participants(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    mask = np.ones((4, 5), np.uint8)
    executed("docs/participants.md", case="csv_0007", long_mask=mask, trans_mask=mask, predicted_class=1)
    with h5py.File(tmp_path / "csv_0007_pred.h5") as file:
        assert {*file} == {"long_mask", "trans_mask", "cls"}


def test_python_from_top_to_bottom(scored: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("test", "ground-truth", "gallery"):
        (tmp_path / name).symlink_to(ROOT / name)
    (tmp_path / "results").symlink_to(scored / "results")
    monkeypatch.chdir(tmp_path)
    with h5py.File(ROOT / "ground-truth/carotid/references/csv_0007_label.h5") as file:
        masks = {f"{view}_mask": file[f"{view}_mask"][()] for view in ("long", "trans")}
    known = executed("docs/python.md", **masks)
    assert (known["report"].ok, known["ranking"].teams[0].name) == (True, "aorta")
    assert {*known["frame"].columns} == {"case", "status", "figure", "region", "value"}
    assert known["true_positive_rate"][-1] == 1


def test_both_forms_of_a_json_table_say_the_same() -> None:
    rows, by_case = [json.loads(block.text) for block in blocks(ROOT / "docs/declared.md") if block.language == "json"]
    assert rows == [{"case": case, **row} for case, row in by_case.items()]
