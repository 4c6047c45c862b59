"""The docs keep up with the code: links lead somewhere, and no setting, command, path or named test is left behind."""

import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from pydantic import BaseModel

from podium.arena.settings import ArenaSettings
from podium.challenges import KINDS
from podium.challenges.settings import CasesSettings, Common

REPOSITORY = Path(__file__).resolve().parents[1]
PAGES = sorted(
    REPOSITORY / page for page in ("README.md", "CHANGELOG.md", "bench/results.md", *(REPOSITORY / "docs").glob("*.md"))
)
LINK = re.compile(r"\[[^\]\n]*\]\(([^)\s]+)\)")
FENCED = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)


def ids(path: Path) -> str:
    return path.relative_to(REPOSITORY).as_posix()


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
    assert len(links(REPOSITORY / "README.md")) > 5


@pytest.mark.parametrize("page", PAGES, ids=ids)
def test_relative_links_lead_somewhere(page: Path) -> None:
    broken = []
    for link in links(page):
        name, _, anchor = link.partition("#")
        target = (page.parent / name).resolve() if name else page
        if not target.exists() or (anchor and anchor not in anchors(target)):
            broken.append(link)
    assert broken == []


@pytest.mark.parametrize("page", sorted((REPOSITORY / "docs").glob("*.md")), ids=ids)
def test_every_page_can_be_found_from_the_readme(page: Path) -> None:
    assert f"docs/{page.name}" in links(REPOSITORY / "README.md")


def documented(*pages: str) -> set[str]:
    """Everything in code marks on these pages, and the last part of every dotted name."""
    text = "".join((REPOSITORY / "docs" / page).read_text(encoding="utf-8") for page in pages)
    return {part for code in re.findall(r"`([^`\n]+)`", text) for part in (code, code.rsplit(".", 1)[-1])}


def settings(table: dict[str, object], prefix: str = "") -> Iterator[str]:
    for key, value in table.items():
        yield prefix + key
        inner = value[0] if isinstance(value, list) and value and isinstance(value[0], dict) else value
        if isinstance(inner, dict):
            yield from settings(inner, f"{prefix}{key}.")


CHALLENGES = sorted((REPOSITORY / "ground-truth").glob("*/challenge.toml"))


@pytest.mark.parametrize("file", CHALLENGES, ids=lambda file: file.parent.name)
def test_every_setting_is_documented(file: Path) -> None:
    keys = list(settings(content := tomllib.loads(file.read_text(encoding="utf-8"))))
    kind = content["kind"]
    known = {kind, "cases", *documented("organisers.md", f"{kind}.md")}
    assert [key for key in keys if not {key, key.rsplit(".", 1)[-1]} & known] == []


def fields(model: type[BaseModel]) -> Iterator[str]:
    """The settings of a table and of the tables in it."""
    for name, field in model.model_fields.items():
        yield name
        if isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel):
            yield from fields(field.annotation)


@pytest.mark.parametrize("kind", KINDS)
def test_every_setting_that_there_is_is_documented(kind: str) -> None:
    known = documented("organisers.md", f"{kind}.md")
    models = (Common, CasesSettings, KINDS[kind].settings_model)
    assert [name for model in models for name in fields(model) if name not in {*known, "sockets", "judge"}] == []


@pytest.mark.parametrize("kind", KINDS)
def test_every_socket_is_listed(kind: str) -> None:
    defaults = KINDS[kind].settings_model.model_fields["sockets"].default.model_dump()
    assert defaults
    assert {f"{kind}.sockets.{name}" for name in defaults} | set(defaults.values()) <= documented("organisers.md")


def test_every_setting_of_the_arena_is_documented() -> None:
    text = (REPOSITORY / "docs/arena.md").read_text(encoding="utf-8")
    assert [name for name in ArenaSettings.model_fields if f"`{name}`" not in text] == []


def test_the_readme_shows_every_part_of_the_package() -> None:
    package = REPOSITORY / "podium"
    parts = {f"{path.name}/" for path in package.iterdir() if (path / "__init__.py").is_file()}
    parts |= {path.name for path in package.glob("*.py") if not path.stem.startswith("__")}
    readme = (REPOSITORY / "README.md").read_text(encoding="utf-8")
    tree = readme[readme.index("\npodium/\n") :].split("```")[0]
    assert set(re.findall(r"(?:(?<=  )|(?<= ))[a-z_]+(?:/|\.py)(?=\s)", tree)) == parts


PATH = re.compile(r"`((?:podium|test|bench|readers|platform|arena|metrics|challenges|execution)/[\w/.-]+?)\.?`")


@pytest.mark.parametrize("page", PAGES, ids=ids)
def test_every_named_file_exists(page: Path) -> None:
    """`test/literal/` from the root, `readers/files.py` from podium/; `arena/arena.sqlite` is an organiser's."""
    named = {name for name in PATH.findall(prose(page)) if not name.endswith(".sqlite")}
    roots = (REPOSITORY, REPOSITORY / "podium")
    assert sorted(name for name in named if not any((root / name).exists() for root in roots)) == []


def verbs() -> list[str]:
    command = [sys.executable, "-m", "podium", "--help"]
    shown = subprocess.run(command, capture_output=True, text=True, check=True, cwd=REPOSITORY).stdout
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
        path = REPOSITORY / "test" / file
        source = path.read_text(encoding="utf-8") if path.exists() else ""
        missing += [f"{file}: {name}" for name in re.findall(r"`(test_\w+)`", names) if f"def {name}(" not in source]
    assert missing == []
