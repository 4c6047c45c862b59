"""`podium arena init`: from a ranking, submissions and images to a folder that is whole or not there."""

import json
import os
import re
import shutil
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import SimpleITK as sitk
from places import ROOT
from tools.arena.organiser import CASES, Organiser

from podium.errors import ConfigurationError
from podium.tools.arena.raters import find_visitor, open_session
from podium.tools.arena.settings import read_settings
from podium.tools.arena.setup import mask_names
from podium.tools.arena.store import OpenArena


@pytest.fixture
def organiser(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> Organiser:
    return Organiser(tmp_path, capfd)


@pytest.fixture
def of_nine(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> Organiser:
    return Organiser(tmp_path, capfd, teams=9)


def test_an_arena_is_made(organiser: Organiser) -> None:
    code, out, err = organiser.init("--seed", "7", "--url", "https://arena.example.org")
    assert code == 0
    link = out.splitlines()[-1]
    assert link.startswith("https://arena.example.org/enter/")
    assert err.splitlines()[-2:] == [
        f"Created {organiser.arena} with 2 cases and 3 teams: team1, team2, team3.",
        "The organiser's link, shown only once:",
    ]
    assert "Note:" not in err
    opened = OpenArena(organiser.arena)
    assert opened.methods == ("team1", "team2", "team3")
    assert opened.cases == CASES
    assert opened.notes == ()
    assert (opened.settings.seed, opened.settings.url) == (7, "https://arena.example.org")
    visitor = find_visitor(opened.store, open_session(opened.store, link.rsplit("/", 1)[1]) or "")
    assert visitor is not None
    assert visitor.is_organiser
    opened.close()
    assert organiser.query('SELECT text FROM reports ORDER BY method, "case"')[2:4] == [
        ("Finding 2 of B000.",),
        ("Finding 2 of B001.",),
    ]
    keys = [key for (key,) in organiser.query("SELECT key FROM pictures")]
    assert sorted(path.name for path in (organiser.arena / "pictures").iterdir()) == sorted(map(str, keys))
    assert all((organiser.arena / f"pictures/{key}/0.png").is_file() for key in keys)
    assert stat.S_IMODE(organiser.arena.stat().st_mode) == 0o700  # images of patients
    assert stat.S_IMODE((organiser.arena / "arena.sqlite").stat().st_mode) == 0o600
    assert not [path.name for path in organiser.root.iterdir() if path.name.startswith(".")]


def test_volumes_and_several_images_of_a_case(organiser: Organiser) -> None:
    folder = organiser.images / "B000"
    folder.mkdir()
    (organiser.images / "B000.png").rename(folder / "1.png")
    volume = sitk.GetImageFromArray(np.arange(4 * 6 * 8, dtype=np.int16).reshape(4, 6, 8))
    sitk.WriteImage(volume, folder / "2.nii.gz")
    assert organiser.init().code == 0
    pictures = organiser.query('SELECT is_volume, slices, width, height FROM pictures WHERE "case" = 0 ORDER BY place')
    assert pictures == [(0, 1, 64, 48), (1, 4, 8, 6)]


def test_an_arena_is_never_made_over_another(organiser: Organiser) -> None:
    assert organiser.init().code == 0
    before = (organiser.arena / "arena.sqlite").read_bytes()
    assert organiser.refusal() == f"{organiser.arena} is already an arena; its votes would be lost."
    assert (organiser.arena / "arena.sqlite").read_bytes() == before


def test_an_empty_folder_is_taken_and_no_other(organiser: Organiser) -> None:
    organiser.arena.mkdir()
    (organiser.arena / "thesis.doc").touch()
    assert organiser.refusal() == f"{organiser.arena} already exists and is not an empty folder."
    (organiser.arena / "thesis.doc").unlink()
    assert organiser.init().code == 0


def test_a_failed_init_leaves_nothing(organiser: Organiser) -> None:
    (organiser.images / "B001.png").write_bytes(b"no picture")
    before = sorted(organiser.root.iterdir())
    assert organiser.refusal() == "'B001.png' cannot be read as a PNG, JPEG or TIFF picture."
    assert sorted(organiser.root.iterdir()) == before


@pytest.mark.parametrize("request_to_end", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_init_leaves_nothing(organiser: Organiser, request_to_end: signal.Signals) -> None:
    for number in range(20):
        noise = np.random.default_rng(number).integers(0, 4000, (40, 128, 128)).astype(np.int16)
        sitk.WriteImage(sitk.GetImageFromArray(noise), organiser.images / f"T{number:03}.mha")
    before = sorted(organiser.root.iterdir())
    background = ["env", "--default-signal=INT"]  # tests that run in the background ignore Ctrl-C, and so would init
    command = [*background, sys.executable, "-m", "podium", *organiser.init_words()]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment) as process:
        while process.poll() is None and not list(organiser.root.glob(".arena.*/pictures/*/0.png")):
            time.sleep(0.01)
        process.send_signal(request_to_end)
        _, err = process.communicate()
    assert process.returncode == 130, err
    assert err.splitlines()[-1] == "Stopped on request."
    assert sorted(organiser.root.iterdir()) == before


def test_a_place_that_cannot_be_made(organiser: Organiser) -> None:
    (organiser.root / "file").touch()
    organiser.arena = organiser.root / "file" / "arena"
    assert organiser.refusal() == f"{organiser.arena} cannot be created: File exists."


@pytest.mark.parametrize(
    "url", ["arena.example.org", "ftp://example.org", "https://example.org/a?b", "http://", "https://h/../x y"]
)
def test_only_http_links(url: str, organiser: Organiser) -> None:
    assert (
        organiser.refusal("--url", url) == "--url must be like https://arena.example.org or https://example.org/arena."
    )


class TestWhoComesIn:
    @pytest.mark.parametrize(
        ("options", "last", "warning"),
        [
            ((), 7, None),  # those that the ranking marks
            (("--top", "3"), 3, ""),
            (("--top", "8"), 8, " 'podium rank --arena' accepts no ratings of others."),
        ],
    )
    def test_the_finalists_of_the_ranking_or_the_best_by_rank(
        self, options: tuple[str, ...], last: int, warning: str | None, of_nine: Organiser
    ) -> None:
        assert of_nine.init(*options).code == 0
        assert of_nine.query("SELECT name FROM methods ORDER BY id") == [(f"team{n}",) for n in range(1, last + 1)]
        marked = "team1, team2, team3, team4, team5, team6 and team7"
        note = f"The ranking marks different finalists: {marked}.{warning}"
        assert of_nine.query("SELECT text FROM notes") == ([] if warning is None else [(note,)])

    def test_the_best_seven_of_a_ranking_that_marks_nobody(self, of_nine: Organiser) -> None:
        ranking = json.loads(of_nine.ranking.read_text())
        for team in ranking["teams"]:
            team["finalist"] = False
        ranking["teams"][7]["rank"] = 7  # shares the seventh place
        ranking["teams"][1]["rank"] = None  # unranked
        of_nine.ranking.write_text(json.dumps(ranking))
        assert of_nine.init().code == 0
        expected = [(f"team{n}",) for n in (1, 3, 4, 5, 6, 7, 8)]
        assert of_nine.query("SELECT name FROM methods ORDER BY id") == expected

    def test_one_is_too_few(self, organiser: Organiser) -> None:
        assert organiser.refusal("--top", "1") == "An arena compares at least two teams; the ranking gives 1."

    def test_a_ranking_that_is_none(self, organiser: Organiser) -> None:
        organiser.ranking.write_text("{}")
        assert organiser.refusal().startswith(f"{organiser.ranking} is not a ranking.json written by 'podium rank': ")
        organiser.ranking.unlink()
        assert organiser.refusal() == f"{organiser.ranking} cannot be read: No such file or directory."


class TestSubmissions:
    def test_as_an_archive(self, organiser: Organiser) -> None:
        folder = organiser.submissions / "team1"
        shutil.make_archive(str(folder), "gztar", folder)
        shutil.rmtree(folder)
        assert organiser.init().code == 0
        assert ("Finding 1 of B001.",) in organiser.query("SELECT text FROM reports WHERE method = 0")

    def test_none(self, organiser: Organiser) -> None:
        shutil.rmtree(organiser.submissions / "team2")
        assert organiser.refusal() == f"There is no submission of 'team2' in {organiser.submissions}."
        shutil.rmtree(organiser.submissions)
        sentence = f"The submissions in {organiser.submissions} cannot be read: No such file or directory."
        assert organiser.refusal() == sentence

    def test_several(self, organiser: Organiser) -> None:
        (organiser.submissions / "team2").rename(organiser.submissions / "team2.old")
        (organiser.submissions / "team2.zip").touch()
        assert organiser.refusal() == (
            f"{organiser.submissions} contains several submissions of 'team2': team2.old and team2.zip. "
            "Keep only one of them."
        )
        (organiser.submissions / "team2.old").rename(organiser.submissions / "team2")
        assert organiser.init().code == 0  # the folder has the very name


class TestReports:
    def test_a_missing_one_is_empty_and_said(self, organiser: Organiser) -> None:
        organiser.write_reports("team2", {"B000": "Finding."})
        note = "'team2': 1 of 2 reports will be shown as empty; B001: There is no report of this case."
        assert organiser.notes() == [note]
        assert organiser.query('SELECT text FROM reports WHERE method = 1 ORDER BY "case"') == [("Finding.",), ("",)]
        assert organiser.query("SELECT text FROM notes") == [(note,)]

    def test_one_that_only_seems_to_say_something(self, organiser: Organiser) -> None:
        organiser.write_reports("team2", {"B000": "\u200b\n\u2800", "B001": "Finding."})
        sentence = "B000: The report contains no visible text."
        assert organiser.notes() == [f"'team2': 1 of 2 reports will be shown as empty; {sentence}"]

    def test_names_of_teams_are_masked_and_said(self, organiser: Organiser) -> None:
        organiser.write_reports("team2", {"B000": "By TEAM2.", "B001": "Xteam2 and team22 are other words."})
        organiser.write_reports("team3", {"B000": "Team-2 is another team.", "B001": "te\u200bam3 hides, team_3."})
        notes = [note for note in organiser.notes() if "appears in reports" in note]
        assert notes == [
            "'team2' appears in reports of B000 and is shown as [***] there.",
            "'team3' appears in reports of B001 and is shown as [***] there.",
        ]
        assert organiser.query('SELECT text FROM reports WHERE method > 0 ORDER BY method, "case"') == [
            ("By [***].",),
            ("Xteam2 and team22 are other words.",),
            ("[***] is another team.",),
            ("[***] hides, [***].",),
        ]

    def test_a_name_that_others_use_as_a_word_is_left_and_said(self) -> None:
        """Without this, a team called Molar would take the molars out of everybody's reports."""
        texts = {
            "Molar": {"a": "The molar is sound.", "b": "By Molar."},
            "x": {"a": "A second molar, x.", "b": ""},
            "Deep Tooth 2": {"a": "No molar.", "b": "deeptooth2 and Deep-Tooth 2 said so."},
            "Deep": {"a": "Deep.", "b": "<deep>"},
        }
        masked, notes = mask_names(texts)
        assert masked["Molar"] == texts["Molar"]
        assert masked["x"] == texts["x"]  # too short to be told from a letter
        assert masked["Deep Tooth 2"]["b"] == "[***] and [***] said so."
        assert masked["Deep"] == {"a": "[***].", "b": "<[***]>"}
        assert [note[:30] for note in notes] == [
            "'Deep Tooth 2' appears in repo",
            "'Molar' is a word of several r",
            "'Deep' appears in reports of a",
            "'x' is a word of several repor",
        ]

    def test_characters_that_mark_a_team_are_said(self, organiser: Organiser) -> None:
        """Rare punctuation and letters that look like others: raters could be told to look for them."""
        organiser.write_reports("team1", {"B000": "Finding \u00a6 one.", "B001": "Finding \u00a6 two \u2020."})
        organiser.write_reports("team2", {"B000": "Findıng one~", "B001": "Finding two~"})
        organiser.write_reports("team3", {"B000": "Finding one~", "B001": "Finding two."})
        assert [note for note in organiser.notes() if "alone" in note] == [
            "'team1' alone uses '\u00a6' (BROKEN BAR) and '\u2020' (DAGGER): raters could recognise it by that.",
            "'team2' alone uses '\u0131' (LATIN SMALL LETTER DOTLESS I): raters could recognise it by that.",
        ]

    def test_habits_that_mark_a_team_are_said(self, organiser: Organiser) -> None:
        """Numbers may be those of teeth, and stay; the organiser decides."""
        organiser.write_reports("team1", {"B000": "1. Caries.\n2. Wear.", "B001": "1. Wear.."})
        organiser.write_reports("team2", {"B000": "NO CARIES.\nWEAR.", "B001": "WEAR."})
        organiser.write_reports("team3", {"B000": "caries.", "B001": "Wear."})
        said = [note for note in organiser.notes() if "alone" in note]
        assert [note.removesuffix(": raters could recognise it by that.") for note in said] == [
            "'team1' alone uses full stops in a row and numbered lines",
            "'team2' alone uses capital letters throughout",
            "'team3' alone uses small letters throughout",
        ]

    def test_texts_are_cleaned_and_long_ones_cut(self, organiser: Organiser) -> None:
        organiser.write_reports("team1", {"B000": "One.\r\n\u202etwo\t3 \n", "B001": "x" * 60_000})
        assert "'team1': reports of B001 are cut after 50,000 characters." in organiser.notes()
        first, second = (text for (text,) in organiser.query("SELECT text FROM reports WHERE method = 0"))
        assert first == "One.\ntwo 3"
        assert str(second).endswith("x\n[The report is longer; it was cut here.]")

    def test_only_the_first_cases_are_named(self, organiser: Organiser) -> None:
        for number in range(2, 7):
            shutil.copy(organiser.images / "B000.png", organiser.images / f"B00{number}.png")
        for team in organiser.teams:
            organiser.write_reports(team, {f"B00{number}": f"{team} wrote this." for number in range(7)})
        note = "'team1' appears in reports of B000, B001, B002 and 4 more and is shown as [***] there."
        assert note in organiser.notes()


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("min_votes = 0\n", "'min_votes' is wrong: input should be greater than or equal to 1."),
        ("votes = 3\n", "'votes' is not a known key."),
        ("seed 3\n", "is not valid TOML: Expected '=' after a key in a key/value pair (at line 1, column 6)."),
    ],
)
def test_mistakes_in_arena_toml(tmp_path: Path, text: str, problem: str) -> None:
    (tmp_path / "arena.toml").write_text(text)
    with pytest.raises(ConfigurationError, match=rf"^{tmp_path}/arena\.toml.* {re.escape(problem)}$"):
        read_settings(tmp_path)


def test_no_arena_toml(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"/arena\.toml cannot be read: No such file or directory\.$"):
        read_settings(tmp_path)
