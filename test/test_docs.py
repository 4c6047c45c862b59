"""The docs keep up with the code: links lead somewhere, and no setting, command, path or named test is left behind."""

import ast
import json
import re
import runpy
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import pytest
from places import ROOT
from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from podium.challenges import challenge_class
from podium.challenges.declared.catalogue.base import MetricSettings
from podium.challenges.declared.catalogue.regions import RegionSettings
from podium.challenges.declared.settings import TimeSettings
from podium.challenges.declared.values import VALUE_KINDS, ValueSettings, value_kind
from podium.challenges.loading import load_tables
from podium.challenges.reports.files import JudgeSettings
from podium.challenges.settings import (
    KIND_NAMES,
    CasesSettings,
    Common,
    FigureSettings,
    LeaderboardSettings,
    RankingSettings,
    Settings,
)
from podium.cli.arguments import EXIT_CODES
from podium.cli.main import COMMANDS, load_command
from podium.tools.arena.settings import ArenaSettings

PAGES = sorted(ROOT / page for page in ("README.md", "CHANGELOG.md", *(ROOT / "docs").glob("*.md")))
LINK = re.compile(r"\[[^\]\n]*\]\(([^)\s]+)\)")
FENCED = re.compile(r"^ *```.*?^ *```$", re.MULTILINE | re.DOTALL)


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


@pytest.mark.parametrize("page", PAGES, ids=ids)
def test_prose_wraps_at_120(page: Path) -> None:
    """Tables, pictures and links that cannot be broken are left out."""
    lines = [line for line in prose(page).splitlines() if len(line) > 120 and not line.lstrip().startswith(("|", "!"))]
    assert [line for line in lines if " " in re.sub(r"`[^`]+`|\]\([^)]*\)", "", line[100:])] == []


def documented(*pages: str) -> set[str]:
    """Everything in code marks on these pages, and the last part of every dotted name."""
    text = "".join((ROOT / "docs" / page).read_text(encoding="utf-8") for page in pages)
    return {part for code in re.findall(r"`([^`\n]+)`", text) for part in (code, code.rsplit(".", 1)[-1])}


IN_CODE = [kind for kind in KIND_NAMES if kind != "declared"]


def own_model(kind: str) -> type[Settings]:
    model = challenge_class(kind).tables_model.model_fields[kind].annotation
    assert isinstance(model, type)
    return model


def fields(model: type[BaseModel]) -> Iterator[str]:
    """The settings of a table and of the tables in it."""
    for name, field in model.model_fields.items():
        yield name
        if isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel):
            yield from fields(field.annotation)


@pytest.mark.parametrize("kind", IN_CODE)
def test_every_setting_is_documented(kind: str) -> None:
    known = documented("organisers.md", f"{kind}.md")
    models = (Common, CasesSettings, own_model(kind))
    assert [name for model in models for name in fields(model) if name not in {*known, "sockets", "judge"}] == []


@pytest.mark.parametrize("kind", IN_CODE)
def test_every_socket_is_listed(kind: str) -> None:
    defaults = own_model(kind).model_fields["sockets"].default.model_dump()
    assert defaults
    assert {f"{kind}.sockets.{name}" for name in defaults} | set(defaults.values()) <= documented("organisers.md")


def test_every_socket_of_carotid_is_listed() -> None:
    content = tomllib.loads((ROOT / "ground-truth/carotid/challenge.toml").read_text(encoding="utf-8"))
    named = {name: value for name, value in content["values"].items() if "socket" in value}
    sockets = {f"values.{name}.socket": value["socket"] for name, value in named.items()}
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
    "Score the time: `[time]`": TimeSettings,
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
        ("lesions.md", "Settings", "", own_model("lesions")),
        ("freehand.md", "Settings", "", own_model("freehand")),
        ("reports.md", "Settings", "reports.", own_model("reports")),
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
    problems = load_tables(
        "x", "declared", {"values": {metrics["of"]: own}, "metrics": [metrics], "ranking": {"by": "x"}}
    ).problems
    assert any(key in str(problem) and ("missing" in str(problem) or "needs" in str(problem)) for problem in problems)


def value_models() -> tuple[type[BaseModel], ...]:
    return tuple(dict.fromkeys(value_kind(kind)[0] for kind in VALUE_KINDS))


def test_every_kind_of_value_and_its_own_keys_are_documented() -> None:
    kinds = {kind: model for model in value_models() for kind in get_args(model.model_fields["kind"].annotation)}
    assert first_cells("Kinds of values") == set(kinds)
    rows = [*table_of("declared.md", "Keys of single kinds")]
    shown = {(key, kind) for row in rows for key in marked(row["key"]) for kind in marked(row["of the kinds"])}
    common = set(ValueSettings.model_fields)
    assert shown == {(key, kind) for kind, model in kinds.items() for key in set(model.model_fields) - common}


def test_every_key_of_metrics_of_regions_is_documented() -> None:
    assert first_cells("Metrics of regions") == set(RegionSettings.model_fields) - set(MetricSettings.model_fields)


def test_generated_pages_are_up_to_date() -> None:
    made = runpy.run_path(str(ROOT / "scripts/docs_site.py"))
    for name in ("gallery", "metrics"):
        page = (ROOT / f"docs/{name}.md").read_text(encoding="utf-8")
        assert page == made[f"{name}_page"](), "run: python scripts/docs_site.py"


def test_every_setting_of_the_arena_is_documented() -> None:
    assert {*ArenaSettings.model_fields} <= documented("arena.md")


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


def test_every_command_is_documented() -> None:
    text = "".join(page.read_text(encoding="utf-8") for page in PAGES if page.name != "CHANGELOG.md")
    commands = {f"podium {name}" for name in COMMANDS}
    assert "podium evaluate" in commands
    assert [command for command in commands if command not in text] == []


def test_every_option_is_documented() -> None:
    text = "".join(page.read_text(encoding="utf-8") for page in PAGES if page.name != "CHANGELOG.md")
    known = {*re.findall(r"--[a-z][a-z_-]*", text), "--help", "--version"}
    found = [(name, each) for name in COMMANDS for each in load_command(name)[1].options if each.startswith("--")]
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


def texts_of_the_code() -> Iterator[str]:
    """Every text in a module, with a mark in place of each value that is put into it, and those of the scripts."""
    for path in (ROOT / "podium").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.JoinedStr):
                yield "".join(str(each.value) if isinstance(each, ast.Constant) else "\0" for each in node.values)
            elif isinstance(node, ast.Constant):
                yield str(node.value)
    for path in (ROOT / "build.sh", ROOT / "scripts/setup-venv.sh"):
        yield re.sub(r'\bdie "', f'"{path.name}: ', path.read_text(encoding="utf-8"))
    yield "podium: command not found"  # the shell's


def test_every_message_of_the_troubleshooting_page_is_in_the_code() -> None:
    texts = "\n".join(texts_of_the_code())
    page = (ROOT / "docs/troubleshooting.md").read_text(encoding="utf-8")
    messages = re.findall(r"^\| `(.+?)` \|", page, re.MULTILINE)
    assert len(messages) > 50
    pattern = {message: re.escape(message).replace(r"\.\.\.", r".*") for message in messages}
    assert [message for message in messages if not re.search(pattern[message], texts)] == []
