"""Many invitations from a CSV file."""

import csv
from pathlib import Path

import pytest
from arena.arena_folders import make_arena

from podium.cli.main import main


def invite(tmp_path: Path, text: str, *more: str) -> int:
    raters = tmp_path / "raters.csv"
    raters.write_text(text, encoding="utf-8")
    return main(["arena", "invite", "--from", str(raters), *more, str(tmp_path / "arena")])


@pytest.fixture
def arena(tmp_path: Path) -> Path:
    return make_arena(tmp_path / "arena", raters=()).folder


@pytest.mark.usefixtures("arena")
def test_links_with_names(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert invite(tmp_path, "\ufeffname,e-mail,language\nDr Rossi,r@x.example,it\n\n  Anna  Bø ,,\n") == 0
    rows = list(csv.DictReader(capfd.readouterr().out.splitlines()))
    assert [(row["name"], row["e-mail"], row["language"]) for row in rows] == [
        ("Dr Rossi", "r@x.example", "it"),
        ("Anna Bø", "", ""),
    ]
    assert all(row["link"].startswith("http://localhost:8000/enter/") for row in rows)


@pytest.mark.usefixtures("arena")
def test_the_file_of_links_is_the_owners(tmp_path: Path) -> None:
    links = tmp_path / "links.csv"
    assert invite(tmp_path, "name;language\nRossi;it\n", "--output", str(links)) == 0
    assert links.stat().st_mode & 0o777 == 0o600
    assert links.read_text().startswith("name,e-mail,language,link\nRossi,,it,http")


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "the first line must name the columns: name, e-mail, language."),
        ("who\nRossi\n", "the first line must name the columns: name, e-mail, language."),
        ("name\n", "lists no raters."),
        ("name,language\nRossi,it\nBianchi,xx\n", "line 3: the language is one of en, it, de, fr, es, zh."),
        ("name,language\nRossi\n", "line 2: 1 fields instead of 2."),
        ("name\nRossi\nRossi \n", "line 3: 'Rossi' is listed twice."),
        ("name,language\n,it\n", "A rater's name must have 1 to 100 characters."),
    ],
)
def test_one_wrong_line_and_nobody_is_invited(
    text: str, sentence: str, arena: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert invite(tmp_path, text) == 2
    assert capfd.readouterr().err.splitlines()[-1].endswith(sentence)
    assert main(["arena", "revoke", str(arena), "Rossi"]) == 2
    assert "nobody was invited yet" in capfd.readouterr().err
