"""Writes references, teams and expected figures of all gallery entries, or of those named: `make.py [flare22 ...]`.

The entry `gallery/<name>/` is written by `write(folder)` of the module here that is called `<name>`, with `_` for `-`.
Expected figures are computed by that module: it reads the rules literally and shares no code with `podium/`.
"""

import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
GALLERY = REPOSITORY / "gallery"
if __name__ == "__main__":
    sys.path.insert(0, str(REPOSITORY / "test"))

Write = Callable[[Path], None]


def entries() -> list[str]:
    """The names of all entries: folders with a challenge.toml."""
    return sorted(file.parent.name for file in GALLERY.glob("*/challenge.toml"))


def writer(name: str) -> Write:
    """What writes the entry."""
    write: Write = import_module(f"gallery.{name.replace('-', '_')}").write
    return write


def main(names: Sequence[str]) -> int:
    unknown = sorted(set(names) - set(entries()))
    if unknown:
        print(f"There is no entry {', '.join(unknown)}; choose from: {', '.join(entries())}.", file=sys.stderr)
        return 2
    for name in names or entries():
        writer(name)(GALLERY / name)
        print(f"{name}: written.")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
