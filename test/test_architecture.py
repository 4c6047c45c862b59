"""The arrows of the house: who may import whom, and what must stay cheap to import."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest
from places import ROOT

PACKAGE = ROOT / "podium"

# Every part of podium/, and what of ours it may import besides itself.
FOUNDATION = {"errors", "figures", "kernel", "metrics", "packages", "readers", "platform"}
CONTAINER = {
    "errors": set(),
    "figures": set(),
    "kernel": set(),
    "own_metrics": {"errors"},
    "packages": {"errors"},
    "metrics": {"figures"},
    "formulas": {"metrics"},
    "readers": {"errors", "kernel", "packages"},
    "sandbox": {"errors", "kernel", "packages", "readers"},
    "platform": {"errors", "figures", "kernel", "packages", "readers", "metrics"},
    "pairing": {"errors", "readers", "platform"},
    "execution": {"errors", "kernel"},
    "challenges": {*FOUNDATION, "pairing", "formulas", "own_metrics"},
    "evaluation": {*FOUNDATION, "challenges", "execution", "sandbox"},
    "validation": {*FOUNDATION, "pairing", "challenges", "execution", "sandbox", "evaluation"},
}
"""What runs in the container. Nothing here may import a tool."""
SCORING = {*FOUNDATION, "challenges", "execution", "sandbox", "evaluation", "validation"}
TOOLS = {
    "tools.ranking": {
        *("errors", "figures", "metrics", "packages", "platform", "challenges"),
        *("readers.files", "readers.text", "execution.executor"),
    },
    "tools.report": {*SCORING, "tools.ranking", "tools.freehand"},
    "tools.arena": {
        *(*SCORING, "tools.ranking.calibration", "tools.ranking.result"),
        *("tools.ranking.statistics", "tools.ranking.wording", "tools.report.page", "tools.report.png"),
    },
    "tools.judge": {*SCORING, "tools.ranking"},
    "tools.simulation": SCORING,
    "tools.freehand": {*FOUNDATION, "challenges"},
    "tools.preparation": SCORING,
    "tools.batch": SCORING,
    "tools.other_platforms": {*SCORING, "tools.ranking.documents", "tools.report"},
}
ALLOWED = {
    **CONTAINER,
    **TOOLS,
    "tools": set(),
    "checking": {*FOUNDATION, "challenges", "execution", "evaluation", "tools.ranking"},
    "cli": {*CONTAINER, *TOOLS, "checking"},
    "__main__": {"cli"},
    "__init__": {"evaluation", "validation", "tools.ranking.rank"},
}
HEAVY = {
    *("torch", "monai", "sklearn", "SimpleITK", "h5py", "cc3d"),
    *("nacl", "nltk", "openai", "radfact_lite", "starlette", "hypercorn", "evalica", "pandas", "distributed", "fsspec"),
}


def imports(path: Path) -> set[str]:
    """Every module a file imports, at any depth; of `from podium import x` also `podium.x`."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            found.add(str(node.module))
            found.update(f"{node.module}.{alias.name}" for alias in node.names if node.module == "podium")
    return found


def our_imports(path: Path) -> set[str]:
    """What of podium/ a file imports, as dotted names below `podium`; the version belongs to everybody."""
    names = {name.removeprefix("podium.") for name in imports(path) if name.startswith("podium.")}
    return names - {"__version__"}


def part_of(module: str) -> str:
    """The part a module belongs to: the longest that its dotted name begins with."""
    fitting = [part for part in ALLOWED if module == part or module.startswith(f"{part}.")]
    return max(fitting, key=len, default=module.split(".", maxsplit=1)[0])


def files_of(part: str) -> list[Path]:
    modules = {path: ".".join(path.relative_to(PACKAGE).with_suffix("").parts) for path in PACKAGE.rglob("*.py")}
    return sorted(path for path, module in modules.items() if part_of(module) == part)


def test_every_part_of_the_package_is_guarded() -> None:
    parts = {path.stem for path in PACKAGE.iterdir() if path.suffix == ".py" or (path / "__init__.py").is_file()}
    assert parts == {part.split(".")[0] for part in ALLOWED}
    assert {path.stem for path in (PACKAGE / "tools").glob("[!_]*")} == {part.split(".")[1] for part in TOOLS}
    assert all(files_of(part) for part in ALLOWED)


@pytest.mark.parametrize("part", ALLOWED)
def test_arrows_point_one_way(part: str) -> None:
    for path in files_of(part):
        allowed = (part, *ALLOWED[part])
        wrong = {
            name
            for name in our_imports(path)
            if not any(name == each or name.startswith(f"{each}.") for each in allowed)
        }
        assert not wrong, f"{path.relative_to(PACKAGE)} imports {wrong}"


def test_the_parts_import_each_other_in_no_circle() -> None:
    arrows = {part: {part_of(name) for path in files_of(part) for name in our_imports(path)} for part in ALLOWED}
    remaining = {part: targets - {part} for part, targets in arrows.items()}
    while free := [part for part, targets in remaining.items() if not targets]:
        for part in free:
            del remaining[part]
        remaining = {part: targets - set(free) for part, targets in remaining.items()}
    assert not remaining


def modules_after(program: str) -> set[str]:
    """Loaded once `program` has run, which may print as it likes."""
    words = [sys.executable, "-c", f"import sys\n{program}\nprint(); print(*sys.modules)"]
    done = subprocess.run(words, cwd=PACKAGE.parent, check=True, capture_output=True, text=True)
    return set(done.stdout.splitlines()[-1].split())


def test_nothing_heavy_is_imported_before_it_is_needed() -> None:
    loaded = modules_after("import podium.cli.main, podium.evaluation, podium.validation, podium.tools.ranking.rank")
    assert not {name.split(".")[0] for name in loaded} & HEAVY


WATCHED = {
    *HEAVY,
    *("numpy", "pydantic", "rich", "scipy", "skimage", "jinja2", "PIL", "matplotlib", "networkx", "trimesh"),
}
RULES = {"numpy", "pydantic"}
MOLAR = "test/submissions/reports/molar"
LIGHT_COMMANDS = {
    "--help": set(),
    "arena --help": set(),
    "arena serve --help": RULES,
    "keys new {out}/key": RULES | {"nacl"},
    "new liver --output {out}": RULES,
    "leaderboard carotid": RULES,
    "leaderboard reports": RULES,
    "check ground-truth/carotid --workers 1": RULES | {"h5py", "scipy"},
    "check ground-truth/reports --workers 1": RULES | {"scipy"},  # it ranks
    "manifest --ground-truth ground-truth/lesions --output {out}/cases.json --workers 1": RULES | {"SimpleITK", "cc3d"},
    f"validate {MOLAR} --challenge reports --workers 1": RULES | {"rich"},
    f"evaluate --ground-truth ground-truth/reports --input {MOLAR} --output {{out}} --workers 1": RULES
    | {"scipy"},  # error bars
    "rank test/expected/carotid --output {out}": RULES | {"scipy"},
    "report {out}/nothing.json": RULES,
    "doctor": {"numpy"},
}
"""Commands and the packages that each may load of those watched: whoever waits for one should not wait for others."""


@pytest.mark.parametrize("command", LIGHT_COMMANDS)
def test_a_command_loads_only_the_packages_it_needs(command: str, tmp_path: Path) -> None:
    words = command.format(out=tmp_path).split()
    loaded = modules_after(f"from podium.cli import main\ntry:\n    main({words})\nexcept SystemExit:\n    pass")
    found = {name.split(".")[0] for name in loaded} & WATCHED
    assert found <= LIGHT_COMMANDS[command]


def test_the_help_imports_no_rules() -> None:
    loaded = modules_after("from podium.cli import main\ntry:\n    main(['--help'])\nexcept SystemExit:\n    pass")
    assert "podium.cli.main" in loaded
    assert not loaded & {"http.server", "importlib.metadata", "podium.challenges", "podium.tools"}


def test_an_evaluation_imports_only_its_own_kind(tmp_path: Path) -> None:
    words = ["evaluate", "--ground-truth", "ground-truth/reports", "--input", "test/submissions/reports/molar"]
    loaded = modules_after(f"from podium.cli import main\nmain({[*words, '--output', str(tmp_path)]})")
    assert "podium.challenges.reports" in loaded
    assert not loaded & {f"podium.challenges.{kind}" for kind in ("declared", "freehand", "lesions")}


def test_no_module_is_called_utils() -> None:
    assert not [path for path in PACKAGE.rglob("*.py") if "util" in path.stem]


def test_no_class_name_is_used_twice() -> None:
    """One concept, one name: a reader who searches for a class finds that class alone."""
    places: dict[str, list[str]] = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                places.setdefault(node.name, []).append(f"{path.name}:{node.lineno}")
    assert {name: found for name, found in places.items() if len(found) > 1} == {}


def test_reports_open_no_image_but_for_overlays() -> None:
    """Whoever reads metrics.json must not need the images, and a participant's report must not reach a reference."""
    for path in sorted((PACKAGE / "tools/report").rglob("*.py")):
        reaching = {name for name in imports(path) if name.startswith(("podium.readers", "podium.evaluation"))}
        assert not reaching or path.stem == "overlays", f"{path.stem} imports {reaching}"


@pytest.mark.parametrize("part", ["execution", "sandbox", "evaluation"])
def test_no_limit_depends_on_the_clock_of_the_day(part: str) -> None:
    """It may be set forward or back while cases run: limits are measured by `time.monotonic`."""
    for path in files_of(part):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        assert not {"datetime", "datetime.datetime"} & imports(path) or path.name == "executor.py", path
        called = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)} & {"time", "time_ns", "now"}
        assert not called, f"{path} asks for the time of the day"
