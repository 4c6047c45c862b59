"""Measure every part of Podium at realistic size, each beside a peer in the same run where there is one.

    scripts/bench.sh [--only NAME ...] [--runs N] [--workers N] [--json FILE] [--docs]

Files are made on the fly from fixed seeds below TMPDIR (up to 11 GB at a time) and removed afterwards. Podium and its
peer take turns, and the best run of each counts. Figures mean something on an idle machine only: the load is printed.
"""

import argparse
import json
import os
import platform
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from measured import Row
from rich import box
from rich.console import Console
from rich.table import Table
from subjects import SUBJECTS, Plan

from podium import __version__

REPOSITORY = Path(__file__).resolve().parents[1]
PAGE = REPOSITORY / "docs/performance.md"
TABLE_IN_PAGE = re.compile(r"(?<=<!-- bench.sh: begin -->\n).*?(?=<!-- bench.sh: end -->)", re.DOTALL)
TITLES = (
    "what",
    "seconds",
    "of CPU",
    "memory",
    "files",
    "speed",
    "of plain reading",
    "peer",
    "peer, seconds",
    "faster",
)


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="bench.sh", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", nargs="+", choices=SUBJECTS, metavar="NAME", help=f"of: {', '.join(SUBJECTS)}")
    parser.add_argument("--runs", type=int, default=3, metavar="N", help="runs of each, of which the best counts [3]")
    parser.add_argument("--workers", type=int, default=2, metavar="N", help="worker processes [2]")
    parser.add_argument(
        "--json",
        type=Path,
        metavar="FILE",
        help="write the rows here, and keep those of other subjects that are there [print them]",
    )
    parser.add_argument("--docs", action="store_true", help="replace the table of docs/performance.md")
    options = parser.parse_args()
    plan = Plan(runs=options.runs, workers=options.workers)
    machine = this_machine()
    measured: dict[str, list[Row]] = {}
    if options.json is not None and options.json.exists():
        found = json.loads(options.json.read_text(encoding="utf-8"))["measured"]
        measured = {name: [Row(**row) for row in rows] for name, rows in found.items()}
    for name in options.only or SUBJECTS:
        print(f"measuring {name} ...", file=sys.stderr, flush=True)
        measured[name] = list(SUBJECTS[name](plan))
        if options.json is not None:  # after every subject: what was measured is not lost
            options.json.write_text(document(machine, measured), encoding="utf-8")
    rows = [row for name in SUBJECTS for row in measured.get(name, [])]
    Console(width=None if sys.stdout.isatty() else 200).print(shown(rows, machine))
    if options.json is None:
        print(document(machine, measured), end="")
    if options.docs:
        page = TABLE_IN_PAGE.sub(lambda _: markdown(rows, machine), PAGE.read_text(encoding="utf-8"))
        PAGE.write_text(page, encoding="utf-8")
    return 0


def document(machine: Mapping[str, str], measured: Mapping[str, Sequence[Row]]) -> str:
    rows = {name: [asdict(row) for row in found] for name, found in measured.items()}
    return json.dumps({"machine": machine, "measured": rows}, indent=2) + "\n"


def this_machine() -> dict[str, str]:
    processors = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    model = re.search(r"model name\s*: (.*)", processors)
    return {
        "processor": model[1] if model else platform.machine(),
        "cores": str(len(os.sched_getaffinity(0))),
        "memory": f"{memory / 1e9:.0f} GB",
        "system": f"Linux {platform.release().split('-')[0]}",
        "python": platform.python_version(),
        "podium": __version__,
        "load at the start": f"{os.getloadavg()[0]:.1f}",
    }


def shown(rows: Sequence[Row], machine: Mapping[str, str]) -> Table:
    table = Table(title=sentence(machine), title_justify="left", box=box.SIMPLE)
    for title in TITLES:
        table.add_column(title, justify="left" if title in ("what", "peer") else "right")
    for row in rows:
        table.add_row(*cells(row))
    return table


def markdown(rows: Sequence[Row], machine: Mapping[str, str]) -> str:
    lines = [f"Measured with `scripts/bench.sh`: {sentence(machine)}.", "", _line(TITLES)]
    lines.append(_line(["---" if title in ("what", "peer") else "---:" for title in TITLES]))
    lines += [_line(cells(row)) for row in rows]
    return "\n".join(lines) + "\n"


def sentence(machine: Mapping[str, str]) -> str:
    return ", ".join(f"{name} {value}" for name, value in machine.items())


def cells(row: Row) -> list[str]:
    """The cells of a row; a figure that does not exist for it is an empty cell."""
    return [
        f"{row.subject}: {row.what}",
        f"{row.seconds:.2f}",
        _or_empty("{:.2f}", row.cpu_seconds),
        _or_empty("{:.0f} MiB", row.peak_mebibytes),
        _or_empty("{:.3g} GB", row.gigabytes),
        row.speed,
        _or_empty("{:.2f} times", row.of_reading),
        row.peer,
        _or_empty("{:.2f}", row.peer_seconds),
        _or_empty("{:.3g} times", row.times_faster),
    ]


def _or_empty(form: str, value: float | None) -> str:
    return "" if value is None else form.format(value)


def _line(found: Sequence[str]) -> str:
    return "| " + " | ".join(found) + " |"


if __name__ == "__main__":
    raise SystemExit(main())
