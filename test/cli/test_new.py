"""`podium new`: what it writes passes `podium check`, but for the references that only the organiser has."""

import re
import shutil
from pathlib import Path

import numpy as np
import pytest
import SimpleITK as sitk
from evaluating import run_podium
from places import ROOT

from podium import evaluate
from podium.challenges import load_file
from podium.challenges.settings import ChallengeFile
from podium.cli import main
from podium.cli import prepare as new
from podium.execution.executor import Serial

GALLERY = sorted(file.parent.name for file in (ROOT / "gallery").glob("*/challenge.toml"))
SWITCHED_OFF = re.compile(r"^# (?=\[|[a-z_]+ = )", re.MULTILINE)


def problems(file: Path) -> list[str]:
    given = ChallengeFile(file)
    return [str(given.refuse(each.key, each.words)) for each in load_file("new", given).problems]


def errors_of_check(folder: Path, capfd: pytest.CaptureFixture[str]) -> list[str]:
    lines = run_podium(capfd, "check", folder).out.splitlines()
    return [line.removeprefix("  error: ") for line in lines if line.startswith("  error: ")]


def test_the_template_is_right_but_for_the_references(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["new", "liver-final", "--output", str(tmp_path)]) == 0
    printed = capfd.readouterr()
    folder = tmp_path / "liver-final"
    assert f"podium check {folder}" in printed.out
    assert "./build.sh liver-final" in printed.out
    assert printed.err == f"Wrote {folder}; the four steps above remain to be done.\n"
    assert sorted(path.name for path in folder.rglob("*")) == ["README.md", "challenge.toml", "references"]
    assert ChallengeFile(folder / "challenge.toml").common().title == "Liver final"
    assert "<case>.nii.gz" in (folder / "references/README.md").read_text()
    assert errors_of_check(folder, capfd) == ["The ground truth holds no reference."]


def test_every_setting_that_is_switched_off_in_the_template_can_be_switched_on(tmp_path: Path) -> None:
    main(["new", "liver", "--output", str(tmp_path)])
    file = tmp_path / "liver/challenge.toml"
    text, switched = SWITCHED_OFF.subn("", file.read_text())
    assert switched > 30
    file.write_text(text)
    assert problems(file) == []
    for table in ("cases", "values", "metrics", "time", "case_figures", "figures", "leaderboard", "ranking"):
        assert re.search(rf"^\[+{table}[.\]]", text, re.MULTILINE), table


@pytest.mark.parametrize("entry", GALLERY)
def test_a_gallery_entry_is_copied_with_its_comments(
    entry: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert main(["new", "mine", "--like", entry, "--output", str(tmp_path)]) == 0
    copied = (tmp_path / "mine/challenge.toml").read_text().splitlines()
    original = (ROOT / "gallery" / entry / "challenge.toml").read_text().splitlines()
    changed = [line for line, before in zip(copied[1:], original, strict=True) if line != before]
    assert entry in copied[0]
    assert [line.split("#")[0].strip() for line in changed] == ['title = "Mine"']
    assert [path.name for path in (tmp_path / "mine/references").iterdir()] == ["README.md"]
    assert errors_of_check(tmp_path / "mine", capfd) == ["The ground truth holds no reference."]


def test_a_copy_with_the_references_scores_like_the_entry(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    main(["new", "mine", "--like", "bone-age", "--output", str(tmp_path)])
    references = ROOT / "gallery/bone-age/references"
    shutil.copytree(references, tmp_path / "mine/references", dirs_exist_ok=True)
    assert errors_of_check(tmp_path / "mine", capfd) == []


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["existing"], "existing already exists; nothing was changed."),
        (["../Liver"], "it becomes the image's name"),
        (["liver", "--like", "midgo"], "The gallery has no entry 'midgo'; it has: .*midog"),
    ],
)
def test_what_cannot_be_written_changes_nothing(
    words: list[str], sentence: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "inner/existing").mkdir(parents=True)
    assert main(["new", *words, "--output", str(tmp_path / "inner")]) == 2
    assert re.search(sentence, capfd.readouterr().err)
    assert list(tmp_path.rglob("*")) == [tmp_path / "inner", tmp_path / "inner/existing"]


def test_an_install_without_the_repository_has_a_template_and_no_gallery(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(new, "GALLERY", tmp_path / "gallery")
    monkeypatch.setattr(new, "BAKED_GROUND_TRUTH", tmp_path / "site-packages/ground-truth")
    monkeypatch.chdir(tmp_path)
    assert main(["new", "liver", "--like", "midog"]) == 2
    assert "There is no gallery here" in capfd.readouterr().err
    assert main(["new", "liver"]) == 0
    assert "Move the folder into ground-truth/ of the repository" in capfd.readouterr().out
    assert (tmp_path / "liver/challenge.toml").is_file()


def test_the_references_with_the_names_of_the_template_are_a_perfect_submission(tmp_path: Path) -> None:
    main(["new", "liver", "--output", str(tmp_path)])
    file = tmp_path / "liver/challenge.toml"
    text = file.read_text()
    for table in ("[values.risk]", "[values.volume]"):
        start = text.index(f"# {table}")
        end = text.index("\n\n", start)
        text = text[:start] + SWITCHED_OFF.sub("", text[start:end]) + text[end:]
    text = text.replace('# [[metrics]]\n# kind = "f1"', '[[metrics]]\nkind = "f1"')
    text = text.replace('# [[metrics]]\n# kind = "mae"', '[[metrics]]\nkind = "mae"')
    file.write_text(text)
    references = tmp_path / "liver/references"
    for number in range(2):
        volume = np.zeros((4, 6, 8), np.uint8)
        volume[1:3, 1:4, 1 + number : 4], volume[1:3, 1:4, 5:7] = 1, 2
        sitk.WriteImage(sitk.GetImageFromArray(volume), references / f"case_{number}.nii.gz")
    (references / "predictions.csv").write_text("case,risk,volume\ncase_0,0,12.5\ncase_1,1,30\n")
    scored = evaluate(references, ground_truth=tmp_path / "liver", executor=Serial())
    figures = scored.aggregates
    assert (figures["score"], figures["f1"]["macro"], figures["mae"]["mean"]) == (100, 1, 0)
