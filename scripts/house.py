"""How large the house is: files, lines, doors and walks, as a report.

    python scripts/house.py [--walk carotid|rank]

A door is a module with exactly one importer. A walk counts the files of podium/ whose functions run in the main process
of one evaluation or ranking, the command line left out; --walk lists them in the order in which they are entered.
"""

import argparse
import ast
import os
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "podium"
SMALL = 60  # lines, below which a module with one importer should be part of it

WATCH = """
import sys
from pathlib import Path
import podium
entered = {}
def watch(frame, event, _):
    code = frame.f_code
    if event == "call" and code.co_filename.startswith(ROOT) and not code.co_name.startswith("<"):
        entered.setdefault(code.co_filename.removeprefix(ROOT + "/"), code.co_qualname)
from podium import evaluate, rank
sys.setprofile(watch)
WORK
sys.setprofile(None)
for path, function in entered.items():
    if not path.startswith("cli/"):
        print(path, function)
"""


def modules() -> dict[str, Path]:
    names = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        name = ".".join(path.relative_to(ROOT).with_suffix("").parts)
        names[name.removesuffix(".__init__")] = path
    return names


def importers(names: dict[str, Path]) -> dict[str, set[str]]:
    found: dict[str, set[str]] = defaultdict(set)
    for name, path in names.items():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                imported = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and node.module:
                imported = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
            else:
                continue
            for each in imported:
                if each in names and each != name:
                    found[each].add(name)
    return found


def walked(work: str) -> list[str]:
    """Each file that `work` enters, with the first function entered there."""
    program = WATCH.replace("WORK", work).replace("ROOT", repr(str(PACKAGE)))
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        check=True,
        capture_output=True,
        text=True,
    )
    return done.stdout.splitlines()


def carotid_walk() -> list[str]:
    return walked("evaluate('test/submissions/carotid/bifurcation', ground_truth='ground-truth/carotid')")


def rank_walk() -> list[str]:
    with tempfile.TemporaryDirectory() as folder:
        for team in ("aorta", "bifurcation", "carina"):
            output = Path(folder, team)
            output.mkdir()
            words = ["--input", f"test/submissions/carotid/{team}", "--ground-truth", "ground-truth/carotid"]
            command = [sys.executable, "evaluate.py", *words, "--output", str(output)]
            subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
        return walked(f"rank({folder!r})")


WALKS = {"carotid": carotid_walk, "rank": rank_walk}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--walk", choices=WALKS, help="list the files of one walk instead")
    options = parser.parse_args()
    if options.walk:
        print("\n".join(WALKS[options.walk]()))
        return
    names = modules()
    lines = {name: len(path.read_text(encoding="utf-8").splitlines()) for name, path in names.items()}
    users = importers(names)
    doors = [name for name, path in names.items() if len(users[name]) == 1 and path.name != "__init__.py"]
    tests = list((ROOT / "test").rglob("*.py"))
    figures = {
        "files of podium/": len(names),
        "lines of podium/": sum(lines.values()),
        "longest file": max(lines.values()),
        "modules at the top": sum(not path.stem.startswith("__") for path in PACKAGE.glob("*.py")),
        "packages at the top": len(list(PACKAGE.glob("*/__init__.py"))),
        "deepest folder": max(len(path.relative_to(PACKAGE).parts) - 1 for path in names.values()),
        "modules with one importer": len(doors),
        f"of these under {SMALL} lines": sum(lines[name] < SMALL for name in doors),
        "files walked by a carotid evaluation": len(carotid_walk()),
        "files walked by a ranking": len(rank_walk()),
        "files of test/": len(tests),
        "lines of test/": sum(len(path.read_text(encoding="utf-8").splitlines()) for path in tests),
    }
    for what, number in figures.items():
        print(f"{what:<40} {number:>7,}")


if __name__ == "__main__":
    main()
