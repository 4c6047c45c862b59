"""How large and how deep the code is, as a report: files, lines, importers, and what one run of it enters.

    python scripts/house.py [--walk carotid|rank]

A walk counts what runs of podium/ in the main process of one evaluation or ranking, the command line left out: files,
functions, calls and the deepest stack. --walk lists the files in the order in which they are entered.
"""

import argparse
import ast
import json
import os
import subprocess
import sys
import tempfile
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "podium"
SMALL = 60  # lines, below which a module with one importer should be part of it
OPEN = "open_challenge('ground-truth/carotid')"
CAROTID = "evaluate('test/submissions/carotid/bifurcation', ground_truth='ground-truth/carotid')"

WATCH = """
import json, sys
from podium import evaluate, open_challenge, rank
files, functions, calls, depth, deepest = {}, set(), 0, 0, 0
def watch(frame, event, _):
    global calls, depth, deepest
    code = frame.f_code
    if not code.co_filename.startswith(PACKAGE) or code.co_name.startswith("<"):
        return
    if event == "call":
        files.setdefault(code.co_filename.removeprefix(PACKAGE + "/"), code.co_qualname)
        functions.add((code.co_filename, code.co_qualname))
        calls, depth = calls + 1, depth + 1
        deepest = max(deepest, depth)
    elif event == "return":
        depth -= 1
sys.setprofile(watch)
WORK
sys.setprofile(None)
entered = [f"{path} {function}" for path, function in files.items() if not path.startswith("cli/")]
print(json.dumps({"files": entered, "functions": len(functions), "calls": calls, "deepest": deepest}))
"""


@dataclass(frozen=True)
class Walk:
    """What a piece of work enters; each file with the first function entered there."""

    files: list[str]
    functions: int
    calls: int
    deepest: int


def walk(work: str) -> Walk:
    program = WATCH.replace("WORK", work).replace("PACKAGE", repr(str(PACKAGE)))
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, cwd=ROOT, env=environment, check=True, capture_output=True, text=True)
    return Walk(**json.loads(done.stdout.splitlines()[-1]))


def carotid_walk() -> Walk:
    return walk(CAROTID)


def rank_walk() -> Walk:
    with tempfile.TemporaryDirectory() as folder:
        for team in ("aorta", "bifurcation", "carina"):
            words = ["--input", f"test/submissions/carotid/{team}", "--ground-truth", "ground-truth/carotid"]
            command = [sys.executable, "evaluate.py", *words, "--output", str(Path(folder, team))]
            subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
        return walk(f"rank({folder!r})")


WALKS = {"carotid": carotid_walk, "rank": rank_walk}


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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--walk", choices=WALKS, help="list the files of one walk instead")
    options = parser.parse_args()
    if options.walk:
        print("\n".join(WALKS[options.walk]().files))
        return
    names = modules()
    lines = {name: len(path.read_text(encoding="utf-8").splitlines()) for name, path in names.items()}
    users = importers(names)
    single = [name for name, path in names.items() if len(users[name]) == 1 and path.name != "__init__.py"]
    tests = list((ROOT / "test").rglob("*.py"))
    carotid = carotid_walk()
    figures = {
        "files of podium/": len(names),
        "lines of podium/": sum(lines.values()),
        "longest file": max(lines.values()),
        "modules at the top": sum(not path.stem.startswith("__") for path in PACKAGE.glob("*.py")),
        "packages at the top": len(list(PACKAGE.glob("*/__init__.py"))),
        "deepest folder": max(len(path.relative_to(PACKAGE).parts) - 1 for path in names.values()),
        "modules with one importer": len(single),
        f"of these under {SMALL} lines": sum(lines[name] < SMALL for name in single),
        "carotid evaluation: files": len(carotid.files),
        "carotid evaluation: functions": carotid.functions,
        "carotid evaluation: deepest stack": carotid.deepest,
        "calls to open carotid": walk(OPEN).calls,
        "ranking: files": len(rank_walk().files),
        "files of test/": len(tests),
        "lines of test/": sum(len(path.read_text(encoding="utf-8").splitlines()) for path in tests),
    }
    for what, number in figures.items():
        print(f"{what:<40} {number:>7,}")


if __name__ == "__main__":
    main()
