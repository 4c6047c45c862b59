"""Which files are found, and every refusal to mix what does not belong together, in its words."""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from tools.ranking.files import CASES, FAIR, GOOD, carotid_document, settings, three_teams, write_teams

from podium.errors import UsageError
from podium.tools.ranking.documents import read_cohorts, refuse_similar_names


def teams(*paths: Path) -> list[str]:
    (cohort,) = read_cohorts(paths)
    return [file.team for file in cohort.files]


def refusal(*paths: Path) -> str:
    with pytest.raises(UsageError) as refused:
        read_cohorts(paths)
    return str(refused.value)


def test_folders_files_and_folders_of_either(tmp_path: Path) -> None:
    write_teams(tmp_path / "all", three_teams())
    assert teams(tmp_path / "all") == ["fair", "good", "poor"]
    assert teams(tmp_path / "all" / "poor", tmp_path / "all" / "fair" / "metrics.json") == ["fair", "poor"]
    (tmp_path / "loose").mkdir()
    for team, document in three_teams().items():
        (tmp_path / "loose" / f"{team}.json").write_text(json.dumps(document))
    (tmp_path / "loose" / "ranking.json").write_text("{}")
    (tmp_path / "loose" / "readme.txt").write_text("x")
    assert teams(tmp_path / "loose") == ["fair", "good", "poor"]
    assert teams(tmp_path / "loose", tmp_path / "loose" / "good.json") == ["fair", "good", "poor"]


def test_nothing_found(tmp_path: Path) -> None:
    score_first = " 'podium batch' scores the submissions of all teams, and ranks them."
    assert refusal(tmp_path) == f"There is no metrics.json in {tmp_path}.{score_first}"
    (tmp_path / "aorta").mkdir()
    (tmp_path / "aorta/case_1.nii.gz").touch()
    assert refusal(tmp_path) == f"The team 'aorta' has no metrics.json in {tmp_path / 'aorta'}.{score_first}"
    assert refusal(tmp_path / "x.json") == f"{tmp_path / 'x.json'} cannot be read: No such file or directory."


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("[]", ""),
        ("{", ""),
        ('{"schema": "podium-metrics-3"}', " ('challenge' is missing)"),
        ('{"schema": "other-1"}', " ('schema' is wrong: input should be 'podium-metrics-3')"),
    ],
)
def test_what_is_no_metrics_json(tmp_path: Path, content: str, words: str) -> None:
    path = tmp_path / "x.json"
    path.write_text(content)
    assert refusal(path) == f"{path} is not a metrics.json written by Podium{words}."


def test_two_files_of_one_team(tmp_path: Path) -> None:
    write_teams(tmp_path / "one", {"good": carotid_document(GOOD)})
    write_teams(tmp_path / "two", {"good": carotid_document(FAIR)})
    first, second = (tmp_path / half / "good" / "metrics.json" for half in ("one", "two"))
    assert refusal(tmp_path) == f"{first} and {second} are both of the team 'good'."


def test_the_stray_is_named_not_the_majority(tmp_path: Path) -> None:
    """The first file differs from the two that follow: it is the culprit, though it came first."""
    first = carotid_document(GOOD, version="2.0")
    write_teams(tmp_path, {"a": first, "b": carotid_document(GOOD), "c": carotid_document(FAIR)})
    assert refusal(tmp_path) == (
        f"{tmp_path / 'a' / 'metrics.json'} has the version '2.0', but {tmp_path / 'b' / 'metrics.json'} '1.0': "
        "they cannot be ranked together."
    )


def test_the_kind_decides_which_code_ranks(tmp_path: Path) -> None:
    own_name = carotid_document(GOOD) | {"challenge": "carotid-final"}
    write_teams(tmp_path, {"a": own_name})
    assert teams(tmp_path) == ["a"]
    write_teams(tmp_path, {"b": own_name | {"kind": "heart"}, "c": own_name})
    path = tmp_path / "b" / "metrics.json"
    assert refusal(tmp_path).startswith(f"{path} is of the kind 'heart', but ")
    assert refusal(path) == f"{path} is of the kind 'heart', which is not known here."


def test_whole_numbers_are_the_same_setting_as_floats(tmp_path: Path) -> None:
    document = carotid_document(GOOD)
    document["settings"]["metrics"][1]["tolerance_px"] = 3
    write_teams(tmp_path, three_teams() | {"zebra": document})
    assert "zebra" in teams(tmp_path)


ONE = carotid_document(GOOD)
ROWS, COUNTS = ONE["results"], ONE["counts"]
STRANGERS = [{**row, "case": f"case-{number:016x}"} for number, row in enumerate(ROWS)]
BARE = carotid_document(GOOD, per_case="none")
CANNOT = (
    "names its cases, so the rows cannot be paired: they cannot be ranked together. Score both with the same 'per_case'"
)
STRAYS = {  # what is said of the fourth team, and how the other three publish their rows
    "{z} is of the challenge 'heart', but {f} 'carotid'": (ONE | {"challenge": "heart"}, "full"),
    "{z} was scored with metrics.1.tolerance_px = 2.0, but {f} with metrics.1.tolerance_px = 3.0": (
        carotid_document(GOOD, configuration=settings(tolerance_px=2.0)),
        "full",
    ),
    "{f} does not have the case 'x' that {z} has (1 such)": (carotid_document(GOOD, cases=(*CASES[:-1], "x")), "full"),
    "{z} does not have the case 'case_0' that {f} has (1 such)": (ONE | {"results": ROWS[1:]}, "full"),
    "{z} contains no per-case rows, but {f} does": (BARE, "full"),
    f"The rows of {{z}} are anonymous, but {{f}} {CANNOT}": (carotid_document(GOOD, per_case="anonymous"), "full"),
    f"The rows of {{f}} are anonymous, but {{z}} {CANNOT}": (ONE, "anonymous"),
    "The rows of {z} and {f} are anonymous and have no pseudonym in common, so the two were scored against different "
    "references": (ONE | {"results": STRANGERS}, "anonymous"),
    "{z} expects this number of cases: '7', but {f} '6'": (BARE | {"counts": COUNTS | {"expected": 7}}, "none"),
}


@pytest.mark.parametrize("words", STRAYS)
def test_what_does_not_belong_together(tmp_path: Path, words: str) -> None:
    stray, per_case = STRAYS[words]
    write_teams(tmp_path, three_teams(per_case=per_case) | {"zebra": stray})
    zebra, fair = (tmp_path / team / "metrics.json" for team in ("zebra", "fair"))
    together = "" if CANNOT in words else ": they cannot be ranked together"
    assert refusal(tmp_path) == f"{words.format(z=zebra, f=fair)}{together}."


CHANGED = "which is not what its rows give, or no sum: it was changed"
CONTRADICTIONS = {
    "has settings that this version does not know: 'colour' is not a known key": {
        "settings": ONE["settings"] | {"colour": "red"}
    },
    "has the case 'case_0' twice": {"results": [*ROWS, ROWS[0]]},
    f"counts 999 scored, 0 partial, 0 failed and 0 missing of 6 cases, {CHANGED}": {"counts": COUNTS | {"scored": 999}},
    f"counts 5 scored, 0 partial, 1 failed and 0 missing of 6 cases, {CHANGED}": {
        "counts": COUNTS | {"scored": 5, "failed": 1}
    },
}


@pytest.mark.parametrize("words", CONTRADICTIONS)
def test_a_file_that_contradicts_itself(tmp_path: Path, words: str) -> None:
    write_teams(tmp_path, {"a": ONE | CONTRADICTIONS[words]})
    assert refusal(tmp_path) == f"{tmp_path / 'a' / 'metrics.json'} {words}."


@pytest.mark.parametrize(
    "names", [("good", "go od"), ("good", "good\\u200b"), ("team  one", "team one", "team\\xa0one")]
)
def test_team_names_that_look_the_same_are_one_mistake(names: tuple[str, ...]) -> None:
    """Names are escaped when they are read; spaces can be counted."""
    with pytest.raises(UsageError) as refused:
        refuse_similar_names([*names, "other"])
    shown = " and ".join(f"'{name.replace(' ', '␣')}'" for name in names)
    assert str(refused.value).startswith(f"The team names {shown} differ only in spaces (␣) or invisible characters: ")


def test_a_team_name_is_one_printable_line(tmp_path: Path) -> None:
    write_teams(tmp_path, {"a\x1b[31m\nb": carotid_document(GOOD), "c\udcff": carotid_document(FAIR)})
    assert teams(tmp_path) == ["a\\x1b[31m\\nb", "c\\udcff"]


# Teams without a usable metrics.json


@contextmanager
def without_privileges() -> Iterator[Path]:
    """A folder, and the rights of a user who is not root, who may open every folder."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        before = os.geteuid()
        try:
            yield folder
        finally:
            os.seteuid(before)


def test_a_folder_without_permission() -> None:
    with without_privileges() as folder:
        write_teams(folder, three_teams())
        (folder / "locked").mkdir(mode=0o300)
        (folder / "closed").mkdir(mode=0)
        if os.geteuid() == 0:
            os.seteuid(65534)
        words = refusal(folder)
        inner = refusal(folder / "locked")
        (cohort,) = read_cohorts([folder], skip_broken=True)
    said = [f"{folder}/{name} cannot be read: Permission denied." for name in ("closed", "locked")]
    assert words == f"2 files or folders are not results of a team. {' '.join(said)} --skip-broken ranks the others."
    assert inner == said[1]
    assert cohort.notes == [f"Left out: {each}" for each in said]


def test_a_team_without_metrics_json_is_named(tmp_path: Path) -> None:
    write_teams(tmp_path, three_teams())
    (tmp_path / "empty" / "logs").mkdir(parents=True)
    assert refusal(tmp_path) == (
        f"The team 'empty' has no metrics.json in {tmp_path / 'empty'}. --skip-broken ranks the others."
    )
    (tmp_path / "torn").mkdir()
    (tmp_path / "torn" / "metrics.json").write_text("{")
    assert refusal(tmp_path) == (
        f"2 files or folders are not results of a team. The team 'empty' has no metrics.json in {tmp_path / 'empty'}. "
        f"{tmp_path / 'torn' / 'metrics.json'} is not a metrics.json written by Podium. --skip-broken ranks the others."
    )


def test_broken_teams_may_be_left_out_and_are_then_remarked_on(tmp_path: Path) -> None:
    write_teams(tmp_path, three_teams())
    (tmp_path / "em\x1b[31mpty").mkdir()
    (cohort,) = read_cohorts([tmp_path], skip_broken=True)
    assert [file.team for file in cohort.files] == ["fair", "good", "poor"]
    assert len(cohort.notes) == 1
    assert cohort.notes[0].startswith("Left out: The team 'em\\x1b[31mpty' has no metrics.json in ")


def test_names_with_spaces_and_files_that_are_not_of_a_team(tmp_path: Path) -> None:
    """Files that are not JSON are left alone, like hidden ones: macOS puts a `._name` beside every file it copies."""
    documents = three_teams()
    write_teams(tmp_path, {"team a": documents["fair"]})
    (tmp_path / "team b .json").write_text(json.dumps(documents["good"]))
    (tmp_path / "TEAM C.JSON").write_text(json.dumps(documents["poor"]))
    for name in ("notes of mine.txt", "notes", "._team a.json"):
        (tmp_path / name).write_text("x")
    assert teams(tmp_path) == ["TEAM C", "team a", "team b "]
    stray = tmp_path / "my notes.json"
    stray.write_text("{}")
    assert refusal(tmp_path).startswith(f"{stray} is not a metrics.json")
    (tmp_path / "old ones").mkdir()
    assert "The team 'old ones' has no metrics.json" in refusal(tmp_path)


def test_nothing_is_left_to_rank(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(UsageError, match=r"The team 'empty' has no metrics\.json"):
        read_cohorts([tmp_path], skip_broken=True)


def test_results_and_hidden_folders_are_no_teams(tmp_path: Path) -> None:
    write_teams(tmp_path, three_teams())
    for folder, file in (("ranking", "ranking.json"), ("figures", "podium.svg"), (".git", "config")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / file).touch()
    (tmp_path / "consensus.json").touch()
    assert teams(tmp_path) == ["fair", "good", "poor"]
