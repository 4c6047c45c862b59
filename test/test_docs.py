"""The docs keep up with the code: links lead somewhere, and no setting, command, path or named test is left behind."""

import argparse
import ast
import json
import re
import runpy
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import pytest
from places import ROOT
from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from podium.challenges import KINDS
from podium.challenges.base import assemble
from podium.challenges.board import FigureSettings, LeaderboardSettings, RankingSettings
from podium.challenges.declared import DECLARED
from podium.challenges.declared.catalogue.base import MetricSettings
from podium.challenges.declared.catalogue.regions import RegionSettings
from podium.challenges.declared.settings import TimeSettings
from podium.challenges.declared.value_settings import AnyValue, ValueSettings
from podium.challenges.reports.format import JudgeSettings
from podium.challenges.settings import CasesSettings, Common
from podium.cli.arguments import EXIT_CODES
from podium.cli.main import make_parser
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


def test_every_page_can_be_found_from_the_index_and_the_index_from_the_readme() -> None:
    assert "docs/index.md" in links(ROOT / "README.md")
    listed = {link.partition("#")[0] for link in links(ROOT / "docs/index.md")}
    assert {page.name for page in (ROOT / "docs").glob("*.md")} - listed == {"index.md"}


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


def table_of(page: str, heading: str) -> Iterator[dict[str, str]]:
    """The rows of the tables between a heading and the next one, by the words in their heads; "key" is the first."""
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    _, section, *_ = re.split(r"^#+ .+$", text[text.index(f"# {heading}\n") :], maxsplit=2, flags=re.MULTILINE)
    head: list[str] = []
    for line in section.splitlines():
        cells = [cell.strip() for cell in line.replace(r"\|", "").strip("|").split("|")]
        if not line.startswith("|") or not cells[0].startswith("`") or "default" in cells:
            head = ["key", *cells[1:]] if line.startswith("|") and "---" not in line else head
        else:
            yield dict(zip(head, cells, strict=True))


def marked(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)


def first_cells(heading: str) -> set[str]:
    return {name for row in table_of("declared.md", heading) for name in marked(row["key"])}


TABLES = {
    "`[cases]`": CasesSettings,
    "`[values.NAME]`": ValueSettings,
    "`[[metrics]]`": MetricSettings,
    "`[time]`": TimeSettings,
    "`[figures]` and `[case_figures]`": FigureSettings,
    "`[leaderboard]`": LeaderboardSettings,
    "`[ranking]`": RankingSettings,
}


@pytest.mark.parametrize(("heading", "model"), TABLES.items())
def test_every_key_of_a_declared_challenge_is_documented(heading: str, model: type[BaseModel]) -> None:
    assert first_cells(heading) == set(model.model_fields)


def default_problem(field: FieldInfo, row: dict[str, str]) -> str | None:
    """What is wrong with the cell "default" of a key; the elements of a collection may stand in other cells too."""
    cell = row["default"]
    if field.is_required():
        return None if cell == "required" else f"is required, not {cell}"
    if cell == "required":
        return "is not required"
    default = field.default
    if default is None or default is PydanticUndefined or default in ("", (), {}) or isinstance(default, BaseModel):
        return None  # absent, or it depends on other keys: the cell says so in words
    numbers = [float(number.replace(",", "")) for number in re.findall(r"(?<![\w.])-?[\d.,]*\d(?![\w.])", cell)]
    shown = {json.dumps(default), str(default)} & {*marked(cell)}
    if isinstance(default, tuple | dict) and not shown:
        return None if all(str(each) in " ".join(row.values()) for each in default) else f"has {default} by default"
    is_shown = shown or (isinstance(default, int | float) and not isinstance(default, bool) and default in numbers)
    return None if is_shown else f"is {json.dumps(default)} by default, not {cell}"


@pytest.mark.parametrize(
    ("page", "heading", "prefix", "model"),
    [
        *(("declared.md", heading, "", model) for heading, model in TABLES.items()),
        ("declared.md", "Metrics of regions", "", RegionSettings),
        ("organisers.md", "challenge.toml", "", Common),
        ("organisers.md", "Cases", "cases.", CasesSettings),
        ("lesions.md", "Settings", "", KINDS["lesions"].settings_model),
        ("freehand.md", "Settings", "", KINDS["freehand"].settings_model),
        ("reports.md", "Settings", "reports.", KINDS["reports"].settings_model),
        ("reports.md", "Settings", "reports.judge.", JudgeSettings),
        ("arena.md", "Settings", "", ArenaSettings),
    ],
)
def test_documented_defaults_are_those_of_the_code(
    page: str, heading: str, prefix: str, model: type[BaseModel]
) -> None:
    checked, wrong = 0, {}
    for row in table_of(page, heading):
        for key in marked(row["key"]):
            field = model.model_fields.get(key.removeprefix(prefix)) if key.startswith(prefix) else None
            if field is not None:
                checked += 1
                wrong[key] = default_problem(field, row)
    assert checked > 1
    assert {key: problem for key, problem in wrong.items() if problem} == {}


def test_documented_defaults_of_single_kinds_of_values_are_those_of_the_code() -> None:
    models = {kind: model for model in value_models() for kind in get_args(model.model_fields["kind"].annotation)}
    wrong = {}
    for row in table_of("declared.md", "Keys of single kinds"):
        for key in marked(row["key"]):
            fields = [models[kind].model_fields[key] for kind in marked(row["of the kinds"])]
            needed = {field.is_required() for field in fields}
            # Required for some kinds only: the cell says for which.
            problem = default_problem(fields[0], row) if len(needed) == 1 else None
            if len(needed) == 2 and "required for" not in row["default"]:
                problem = f"is required for some kinds, not {row['default']}"
            wrong[key] = problem
    assert {key: problem for key, problem in wrong.items() if problem} == {}


@pytest.mark.parametrize(
    ("metrics", "key"),
    [
        ({"kind": "nsd", "of": "mask"}, "tolerance"),
        ({"kind": "mae", "of": "size"}, "failed"),
        ({"kind": "rmse", "of": "size"}, "failed"),
        ({"kind": "psnr", "of": "picture"}, "data_range"),
        ({"kind": "f1", "of": "spots"}, "radius_mm"),
        ({"kind": "f1", "of": "frames"}, "threshold"),
    ],
)
def test_what_the_page_of_metrics_calls_required_is_required(metrics: dict[str, Any], key: str) -> None:
    places = {"file": "{case}.x", "reference": "{case}.x"}
    values = {
        "mask": {"kind": "labels", "labels": {"a": 1}},
        "size": {"kind": "number"},
        "picture": {"kind": "image"},
        "spots": {"kind": "points", "unit": "mm"},
        "frames": {"kind": "boxes", "unit": "mm"},
    }
    own = {**values[metrics["of"]], **places}
    problems = assemble("x", "declared", {"values": {metrics["of"]: own}, "metrics": [metrics]}).problems
    assert any(key in str(problem) and ("missing" in str(problem) or "needs" in str(problem)) for problem in problems)


def value_models() -> tuple[type[BaseModel], ...]:
    return get_args(get_args(AnyValue)[0])


def test_every_kind_of_value_and_its_own_keys_are_documented() -> None:
    kinds = {kind: model for model in value_models() for kind in get_args(model.model_fields["kind"].annotation)}
    assert first_cells("Kinds of values") == set(kinds)
    rows = [*table_of("declared.md", "Keys of single kinds")]
    shown = {(key, kind) for row in rows for key in marked(row["key"]) for kind in marked(row["of the kinds"])}
    common = set(ValueSettings.model_fields)
    assert shown == {(key, kind) for kind, model in kinds.items() for key in set(model.model_fields) - common}


def test_every_metric_and_its_own_keys_are_documented() -> None:
    common = set(MetricSettings.model_fields)
    of_regions = set(RegionSettings.model_fields) - common
    assert first_cells("Metrics of regions") == of_regions


def test_generated_pages_are_up_to_date() -> None:
    made = runpy.run_path(str(ROOT / "scripts/docs_site.py"))
    for name in ("gallery", "metrics"):
        page = (ROOT / f"docs/{name}.md").read_text(encoding="utf-8")
        assert page == made[f"{name}_page"](), "run: python scripts/docs_site.py"


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
    return re.findall(r"^ {2}([a-z]+(?: [a-z]+)?) {2,}", shown, re.MULTILINE)


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


def options(name: str, parser: argparse.ArgumentParser) -> Iterator[tuple[str, str]]:
    """Every option with the command that has it."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for verb, each in action.choices.items():
                yield from options(f"{name} {verb}", each)
        else:
            yield from ((name, option) for option in action.option_strings if option.startswith("--"))


def test_every_option_is_documented() -> None:
    text = "".join(page.read_text(encoding="utf-8") for page in PAGES if page.name != "CHANGELOG.md")
    known = {*re.findall(r"--[a-z][a-z_-]*", text), "--help", "--version"}
    found = [*options("podium", make_parser()[0])]
    assert len(found) > 50
    assert [f"{name} {option}" for name, option in found if option not in known] == []


def test_every_exit_code_is_documented() -> None:
    page = (ROOT / "docs/organisers.md").read_text(encoding="utf-8")
    listed = re.findall(r"^\| (\d+) \|", page[page.index("### Exit codes") :], re.MULTILINE)
    assert listed == ["0", "1", "2", "130"] == re.findall(r"(\d+):", EXIT_CODES)


def test_every_variable_is_documented() -> None:
    """In the code, the scripts and the tests: what starts with PODIUM_; of the judge's the start is enough."""
    folders = [ROOT / name for name in ("podium", "scripts", "image", "test", "bench", "fuzz")]
    sources = [*ROOT.iterdir(), *(path for folder in folders for path in folder.rglob("*"))]
    kinds = (".py", ".sh", ".yaml", "Dockerfile")
    text = "".join(path.read_text(encoding="utf-8") for path in sources if path.name.endswith(kinds))
    used = {re.sub(r"^PODIUM_JUDGE_\w*", "PODIUM_JUDGE_*", name) for name in re.findall(r"\bPODIUM_[A-Z_]+", text)}
    listed = {*re.findall(r"`(PODIUM_[A-Z_]+\*?)`", (ROOT / "docs/variables.md").read_text(encoding="utf-8"))}
    assert used - {"PODIUM_"} == {name for name in listed if not re.match(r"PODIUM_JUDGE_\w", name)}


def test_every_script_is_listed() -> None:
    scripts = {*ROOT.glob("*.sh"), *(path for path in (ROOT / "scripts").iterdir() if path.suffix in (".sh", ".py"))}
    assert {path.relative_to(ROOT).as_posix() for path in scripts} <= documented("contributing.md")


@pytest.mark.parametrize("page", [page for page in PAGES if page.name != "CHANGELOG.md"], ids=ids)
def test_the_command_has_one_spelling(page: Path) -> None:
    assert re.findall(r"\.venv/bin/(?!activate)\w+|python -m podium\b(?!\.)", page.read_text(encoding="utf-8")) == []


class Templates(ast.NodeVisitor):
    """Every text in a module, with a mark in place of each value that is put into it."""

    def __init__(self) -> None:
        self.found: list[str] = []

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        self.found.append("".join(str(each.value) if isinstance(each, ast.Constant) else "\0" for each in node.values))
        self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> None:
        self.found.append(str(node.value))


def texts_of_the_code() -> list[str]:
    visitor = Templates()
    for path in (ROOT / "podium").rglob("*.py"):
        visitor.visit(ast.parse(path.read_text(encoding="utf-8")))
    scripts = [ROOT / "build.sh", ROOT / "scripts/setup-venv.sh"]
    said = [re.sub(r'\bdie "', f'"{path.name}: ', path.read_text(encoding="utf-8")) for path in scripts]
    return [*visitor.found, *said, "podium: command not found"]  # the last is the shell's


def test_every_message_of_the_troubleshooting_page_is_in_the_code() -> None:
    texts = "\n".join(texts_of_the_code())
    page = (ROOT / "docs/troubleshooting.md").read_text(encoding="utf-8")
    messages = re.findall(r"^\| `(.+?)` \|", page, re.MULTILINE)
    assert len(messages) > 100
    pattern = {message: re.escape(message).replace(r"\.\.\.", r".*") for message in messages}
    assert [message for message in messages if not re.search(pattern[message], texts)] == []
