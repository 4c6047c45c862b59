"""Every entry of the gallery is checked, evaluated, validated and ranked, and scores what its rules say."""

import gzip
import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import SimpleITK
from evaluating import evaluate

from gallery.files import PARTS
from gallery.make import GALLERY, entries, writer
from podium.cli import main

pytestmark = pytest.mark.usefixtures("in_process")

LARGEST_ENTRY = 100_000


def _teams() -> list[tuple[str, str]]:
    return [(name, team.name) for name in entries() for team in sorted((GALLERY / name / "teams").glob("*"))]


def _expected(name: str, team: str) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((GALLERY / name / "expected" / f"{team}.json").read_text())
    return content


@pytest.fixture(scope="module")
def scored(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """metrics.json of a team, evaluated once for all tests; the folder that holds it is named like the team."""
    root = tmp_path_factory.mktemp("gallery")

    @cache
    def score(name: str, team: str) -> tuple[Path, dict[str, Any]]:
        folder = root / name / team
        return folder, evaluate(GALLERY / name / "teams" / team, GALLERY / name, folder)

    return score


def differences(figures: Any, expected: dict[str, float | None]) -> dict[str, Any]:
    """The figures that differ from what is expected by more than 1e-9: path -> (found, expected). None is no value."""
    found = {path: at(figures, path) for path in expected}
    return {
        path: (found[path], value)
        for path, value in expected.items()
        if (found[path] is None) != (value is None)
        or (value is not None and found[path] != pytest.approx(value, rel=1e-9, abs=1e-9))
    }


def at(figures: Any, path: str) -> Any:
    """The figure at a dotted path; a path that does not exist is an error."""
    for part in path.split("."):
        figures = figures[part]
    return figures


def test_the_gallery_has_entries() -> None:
    assert len(entries()) >= 1


@pytest.mark.parametrize("name", entries())
def test_nothing_is_wrong_with_an_entry(name: str, capfd: pytest.CaptureFixture[str]) -> None:
    code = main(["check", str(GALLERY / name)])
    printed = capfd.readouterr()
    assert code == 0, printed.out + printed.err
    assert "error: " not in printed.out


@pytest.mark.parametrize("name", entries())
def test_an_entry_is_small_and_has_what_belongs_to_it(name: str) -> None:
    folder = GALLERY / name
    assert {path.name for path in folder.iterdir()} - {"metrics.py", "cases.csv"} == {"challenge.toml", *PARTS}
    assert sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) < LARGEST_ENTRY
    teams = {path.name for path in (folder / "teams").iterdir()}
    assert len(teams) >= 2
    assert {path.stem for path in (folder / "expected").iterdir()} == teams
    lost = [_expected(name, team)["lost"] for team in teams]
    assert any(lost), "no team has a missing or broken case"
    assert not all(lost), "no team is complete"


@pytest.mark.parametrize(("name", "team"), _teams())
def test_a_team_scores_what_the_rules_say(name: str, team: str, scored: Any) -> None:
    expected, (_, metrics) = _expected(name, team), scored(name, team)
    rows = metrics["results"]
    assert {case: row["status"] for case, row in rows.items() if row["status"] != "scored"} == expected["lost"]
    assert expected["aggregates"]
    assert differences(metrics["aggregates"], expected["aggregates"]) == {}
    for case, figures in expected["cases"].items():
        assert differences(rows[case]["metrics"], figures) == {}, case


@pytest.mark.parametrize("name", entries())
def test_validation_finds_the_team_that_is_incomplete(
    name: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    cases = tmp_path / "cases.json"
    assert main(["manifest", "--ground-truth", str(GALLERY / name), "--output", str(cases)]) == 0
    for team in sorted((GALLERY / name / "teams").iterdir()):
        code = main(["validate", str(team), "--cases", str(cases)])
        printed = capfd.readouterr()
        assert code == (1 if _expected(name, team.name)["lost"] else 0), printed.out + printed.err


@pytest.mark.parametrize("name", entries())
def test_the_teams_are_ranked(name: str, scored: Any, tmp_path: Path) -> None:
    teams = [path.name for path in (GALLERY / name / "teams").iterdir()]
    folders = [str(scored(name, team)[0]) for team in teams]
    assert main(["rank", *folders, "--output", str(tmp_path), "--bootstraps", "50"]) == 0
    ranking = json.loads((tmp_path / "ranking.json").read_text())
    positions = {team["name"]: team["rank"] for team in ranking["teams"]}
    assert positions == {team: _expected(name, team)["position"] for team in teams}


def _contents(folder: Path) -> dict[str, Any]:
    """Every generated file by name; packed ones unpacked, because the system's zlib decides how they are packed."""
    found: dict[str, Any] = {}
    for path in sorted(path for part in PARTS for path in (folder / part).rglob("*") if path.is_file()):
        data: Any = path.read_bytes()
        if path.suffix == ".gz":
            data = gzip.decompress(data)
        elif path.suffix == ".mha":
            image = SimpleITK.ReadImage(str(path))
            data = (image.GetSpacing(), SimpleITK.GetArrayFromImage(image).tobytes())
        elif path.suffix == ".json":
            data = json.loads(data)
        found[path.relative_to(folder).as_posix()] = data
    return found


@pytest.mark.filterwarnings("ignore:Please import:DeprecationWarning")  # of surface-distance, about SciPy
@pytest.mark.parametrize("name", entries())
def test_regenerating_gives_the_committed_content(name: str, tmp_path: Path) -> None:
    writer(name)(tmp_path)
    committed, regenerated = _contents(GALLERY / name), _contents(tmp_path)
    assert sorted(committed) == sorted(regenerated)
    for file, content in committed.items():
        if file.startswith("expected/"):
            assert _rounded(regenerated[file]) == _rounded(content), file
        else:
            assert regenerated[file] == content, file


def _rounded(content: Any) -> Any:
    """Figures to 10 digits: the last ones depend on the machine."""
    if isinstance(content, dict):
        return {name: _rounded(inner) for name, inner in content.items()}
    return float(f"{content:.10g}") if isinstance(content, float) else content
