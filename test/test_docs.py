"""The docs keep up with the code: links lead somewhere, and no setting, command, path or named test is left behind."""

import re
import runpy
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import h5py
import numpy as np
import pytest
from places import ROOT
from pydantic import BaseModel

from podium import evaluate
from podium.challenges import KINDS
from podium.challenges.board import FigureSettings, LeaderboardSettings, RankingSettings
from podium.challenges.declared import DECLARED
from podium.challenges.declared.catalogue import page
from podium.challenges.declared.catalogue.base import MetricSettings
from podium.challenges.declared.catalogue.regions import RegionSettings
from podium.challenges.declared.settings import TimeSettings
from podium.challenges.declared.value_settings import AnyValue, ValueSettings
from podium.challenges.settings import CasesSettings, Common
from podium.checking import check
from podium.execution.executor import Serial
from podium.tools.arena.settings import ArenaSettings

PAGES = sorted(ROOT / page for page in ("README.md", "CHANGELOG.md", *(ROOT / "docs").glob("*.md")))
LINK = re.compile(r"\[[^\]\n]*\]\(([^)\s]+)\)")
FENCED = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)


def ids(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def links(page: Path) -> list[str]:
    return [link for link in LINK.findall(prose(page)) if "://" not in link]


def prose(page: Path) -> str:
    return FENCED.sub("", page.read_text(encoding="utf-8"))


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as the usual viewers make them."""
    headings = re.findall(r"^#+ (.+)$", prose(page), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_there_are_pages_and_links_to_check() -> None:
    assert {"README.md", "docs/organisers.md", "docs/participants.md"} <= {ids(page) for page in PAGES}
    assert len(links(ROOT / "README.md")) > 5


@pytest.mark.parametrize("page", PAGES, ids=ids)
def test_relative_links_lead_somewhere(page: Path) -> None:
    broken = []
    for link in links(page):
        name, _, anchor = link.partition("#")
        target = (page.parent / name).resolve() if name else page
        if not target.exists() or (anchor and anchor not in anchors(target)):
            broken.append(link)
    assert broken == []


@pytest.mark.parametrize("page", sorted((ROOT / "docs").glob("*.md")), ids=ids)
def test_every_page_can_be_found_from_the_readme(page: Path) -> None:
    assert f"docs/{page.name}" in links(ROOT / "README.md")


def documented(*pages: str) -> set[str]:
    """Everything in code marks on these pages, and the last part of every dotted name."""
    text = "".join((ROOT / "docs" / page).read_text(encoding="utf-8") for page in pages)
    return {part for code in re.findall(r"`([^`\n]+)`", text) for part in (code, code.rsplit(".", 1)[-1])}


def settings(table: dict[str, object], prefix: str = "") -> Iterator[str]:
    for key, value in table.items():
        yield prefix + key
        inner = value[0] if isinstance(value, list) and value and isinstance(value[0], dict) else value
        if isinstance(inner, dict):
            yield from settings(inner, f"{prefix}{key}.")


def content_of(challenge: Path) -> dict[str, Any]:
    return tomllib.loads(challenge.read_text(encoding="utf-8"))


CHALLENGES = {path.parent.name: content_of(path) for path in sorted((ROOT / "ground-truth").glob("*/challenge.toml"))}
IN_CODE = [kind for kind in KINDS if kind != DECLARED.name]


@pytest.mark.parametrize("name", [name for name, content in CHALLENGES.items() if content["kind"] in IN_CODE])
def test_every_setting_is_documented(name: str) -> None:
    """A declared challenge's keys are those of the models below; its other names are its own."""
    content = CHALLENGES[name]
    keys, kind = list(settings(content)), content["kind"]
    known = {kind, "cases", *documented("organisers.md", f"{kind}.md")}
    assert [key for key in keys if not {key, key.rsplit(".", 1)[-1]} & known] == []


def fields(model: type[BaseModel]) -> Iterator[str]:
    """The settings of a table and of the tables in it."""
    for name, field in model.model_fields.items():
        yield name
        if isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel):
            yield from fields(field.annotation)


@pytest.mark.parametrize("kind", IN_CODE)
def test_every_setting_that_there_is_is_documented(kind: str) -> None:
    known = documented("organisers.md", f"{kind}.md")
    models = (Common, CasesSettings, KINDS[kind].settings_model)
    assert [name for model in models for name in fields(model) if name not in {*known, "sockets", "judge"}] == []


@pytest.mark.parametrize("kind", IN_CODE)
def test_every_socket_is_listed(kind: str) -> None:
    defaults = KINDS[kind].settings_model.model_fields["sockets"].default.model_dump()
    assert defaults
    assert {f"{kind}.sockets.{name}" for name in defaults} | set(defaults.values()) <= documented("organisers.md")


@pytest.mark.parametrize("name", [name for name, content in CHALLENGES.items() if content["kind"] == DECLARED.name])
def test_every_socket_of_a_declared_challenge_is_listed(name: str) -> None:
    content = CHALLENGES[name]
    sockets = {
        f"values.{value}.socket": table["socket"] for value, table in content["values"].items() if "socket" in table
    }
    assert sockets
    assert {*sockets, *sockets.values(), content["cases"]["input"]} <= documented("organisers.md")


def rows_of(page: str, heading: str) -> list[list[set[str]]]:
    """The tables between a heading and the next one: what is in code marks in every cell, row by row."""
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    section = re.split(r"^#", text[text.index(f" {heading}\n") :], maxsplit=1, flags=re.MULTILINE)[0]
    lines = [line.replace(r"\|", "") for line in section.splitlines() if line.startswith("| `")]
    return [[set(re.findall(r"`([^`]+)`", cell)) for cell in line.strip("|").split("|")] for line in lines]


def first_cells(heading: str) -> set[str]:
    return {name for row in rows_of("declared.md", heading) for name in row[0]}


@pytest.mark.parametrize(
    ("heading", "model"),
    [
        ("`[cases]`", CasesSettings),
        ("`[values.NAME]`", ValueSettings),
        ("`[[metrics]]`", MetricSettings),
        ("`[time]`", TimeSettings),
        ("`[figures]` and `[case_figures]`", FigureSettings),
        ("`[leaderboard]`", LeaderboardSettings),
        ("`[ranking]`", RankingSettings),
    ],
)
def test_every_key_of_a_declared_challenge_is_documented(heading: str, model: type[BaseModel]) -> None:
    assert first_cells(heading) == set(model.model_fields)


def test_every_kind_of_value_and_its_own_keys_are_documented() -> None:
    models: tuple[type[BaseModel], ...] = get_args(get_args(AnyValue)[0])
    kinds = {kind: model for model in models for kind in get_args(model.model_fields["kind"].annotation)}
    assert first_cells("Kinds of values") == set(kinds)
    shown = {(key, kind) for row in rows_of("declared.md", "Keys of single kinds") for key in row[0] for kind in row[1]}
    common = set(ValueSettings.model_fields)
    assert shown == {(key, kind) for kind, model in kinds.items() for key in set(model.model_fields) - common}


def test_every_metric_and_its_own_keys_are_documented() -> None:
    common = set(MetricSettings.model_fields)
    of_regions = set(RegionSettings.model_fields) - common
    assert first_cells("Metrics of regions") == of_regions
    assert (ROOT / "docs/metrics.md").read_text(encoding="utf-8") == page(), "generate it again: see page.py"


def test_the_first_declared_challenge_of_the_docs_works(tmp_path: Path) -> None:
    """ "Your own challenge in ten minutes", as it is written."""
    text = (ROOT / "docs/declared.md").read_text(encoding="utf-8")
    folder = tmp_path / "kidney"
    (folder / "references").mkdir(parents=True)
    (folder / "challenge.toml").write_text(text.split("```toml\n")[1].split("```")[0], encoding="utf-8")
    for number in range(2):
        volume = np.zeros((4, 6, 8), np.uint8)
        volume[1:3, 1:4, 1 + number : 6], volume[1, 2, 3] = 1, 2
        with h5py.File(folder / f"references/case0{number}.h5", "w") as file:
            file["left_mask"], file["right_mask"], file["grade"] = volume, volume[::-1], number
    checked = check("kidney", folder, images=None, executor=Serial())
    assert (checked.errors, checked.warnings) == ([], [])
    scored = evaluate(folder / "references", ground_truth=folder, executor=Serial())
    assert scored.aggregates["score"] == 100
    assert scored.aggregates["dice"]["left_tumour"]["n"] == 2


def test_the_page_of_the_gallery_is_that_of_the_folders() -> None:
    made = runpy.run_path(str(ROOT / "scripts/docs_site.py"))["gallery_page"]()
    assert (ROOT / "docs/gallery.md").read_text(encoding="utf-8") == made, "run: python scripts/docs_site.py"


def test_every_setting_of_the_arena_is_documented() -> None:
    text = (ROOT / "docs/arena.md").read_text(encoding="utf-8")
    assert [name for name in ArenaSettings.model_fields if f"`{name}`" not in text] == []


def test_the_tree_shows_every_part_of_the_package() -> None:
    package = ROOT / "podium"
    parts = {f"{path.name}/" for path in package.iterdir() if (path / "__init__.py").is_file()}
    parts |= {path.name for path in package.glob("*.py") if not path.stem.startswith("__")}
    page = (ROOT / "docs/contributing.md").read_text(encoding="utf-8")
    tree = page[page.index("\npodium/\n") :].split("```")[0]
    assert set(re.findall(r"^  ([a-z_]+(?:/|\.py))(?=\s)", tree, re.MULTILINE)) == parts


PATH = re.compile(r"`((?:podium|test|bench|readers|platform|arena|metrics|challenges|execution)/[\w/.-]+?)\.?`")


@pytest.mark.parametrize("page", PAGES, ids=ids)
def test_every_named_file_exists(page: Path) -> None:
    """`test/literal/` from the root, `readers/files.py` from podium/; `arena/arena.sqlite` is an organiser's."""
    named = {name for name in PATH.findall(prose(page)) if not name.endswith(".sqlite")}
    roots = (ROOT, ROOT / "podium")
    assert sorted(name for name in named if not any((root / name).exists() for root in roots)) == []


def verbs() -> list[str]:
    command = [sys.executable, "-m", "podium", "--help"]
    shown = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT).stdout
    return re.findall(r"^ {4}([a-z]+)\b", shown, re.MULTILINE)


def test_every_command_is_documented() -> None:
    text = "".join(page.read_text(encoding="utf-8") for page in PAGES if page.name != "CHANGELOG.md")
    assert "evaluate" in verbs()
    assert [verb for verb in verbs() if f"podium {verb}" not in text] == []


@pytest.mark.parametrize("page", PAGES, ids=ids)
def test_every_named_test_exists(page: Path) -> None:
    """`file.py: `test_this`, `test_that`` in a table claims that the tests stand in that file."""
    missing = []
    for file, names in re.findall(r"([\w/]+\.py): ((?:`test_\w+`(?: \([^)]*\))?(?:, )?)+)", prose(page)):
        path = ROOT / "test" / file
        source = path.read_text(encoding="utf-8") if path.exists() else ""
        missing += [f"{file}: {name}" for name in re.findall(r"`(test_\w+)`", names) if f"def {name}(" not in source]
    assert missing == []
