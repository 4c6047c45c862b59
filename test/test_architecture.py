"""The arrows of the house: who may import whom, and what must stay cheap to import."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parent.parent / "podium"

# folder -> what of ours it may import besides itself
ALLOWED = {
    "metrics": set(),
    "readers": {"podium.contract.errors"},
    "contract": {"podium.readers", "podium.metrics.declaration"},
    "challenges": {"podium.contract", "podium.readers", "podium.metrics"},
    "ranking": {"podium.challenges", "podium.contract", "podium.metrics", "podium.readers.names"},
    "judge": {"podium.contract", "podium.challenges", "podium.evaluation", "podium.metrics"},
    "interaction": {"podium.contract", "podium.metrics", "podium.readers"},
    "report": {
        *("podium.ranking", "podium.challenges", "podium.contract", "podium.metrics", "podium.readers"),
        *("podium.evaluation", "podium.runner", "podium.progress"),
    },
    "arena": {"podium.contract", "podium.challenges", "podium.ranking.result", "podium.readers", "podium.progress"},
}
HEAVY = {"torch", "monai", "sklearn", "nltk", "openai", "radfact_lite", "starlette", "uvicorn", "evalica", "pandas"}


def imports(path: Path) -> set[str]:
    """Every module a file imports, at any depth."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            found.add(str(node.module))
    return found


@pytest.mark.parametrize("folder", ALLOWED)
def test_arrows_point_one_way(folder: str) -> None:
    files = sorted((PACKAGE / folder).rglob("*.py"))
    assert files
    for path in files:
        ours = {name for name in imports(path) if name.split(".")[0] == "podium"}
        allowed = (f"podium.{folder}", *ALLOWED[folder])
        wrong = {name for name in ours - {"podium"} if not name.startswith(allowed)}  # `podium` itself is the version
        assert not wrong, f"{path.relative_to(PACKAGE)} imports {wrong}"


def test_nothing_heavy_is_imported_before_it_is_needed() -> None:
    program = "import sys, podium.cli, podium.evaluation, podium.validation, podium.ranking.rank; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=PACKAGE.parent, check=True, capture_output=True, text=True
    )
    loaded = {name.split(".")[0] for name in done.stdout.split()}
    assert not loaded & HEAVY


def test_no_module_is_called_utils() -> None:
    assert not [path for path in PACKAGE.rglob("*.py") if "util" in path.stem]


def test_reports_open_no_image_but_for_overlays() -> None:
    """Whoever reads metrics.json must not need the images, and a participant's report must not reach a reference."""
    for path in sorted((PACKAGE / "report").rglob("*.py")):
        reaching = {name for name in imports(path) if name.startswith(("podium.readers", "podium.evaluation"))}
        assert not reaching or path.stem == "worst_overlays", f"{path.stem} imports {reaching}"
