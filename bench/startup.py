"""How long it takes until the work begins: CPU seconds of whole processes, the best of some runs.

    python bench/startup.py [--image IMAGE]

The samples are a few small cases: scoring them is little more than importing packages and starting processes. With
--image the same is measured inside containers, where the bytecode is compiled already.
"""

import argparse
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from rich import box
from rich.console import Console
from rich.table import Table

REPOSITORY = Path(__file__).resolve().parents[1]
SAMPLES = {"reports": "cuspid", "carotid": "aorta", "lesions": "ember", "freehand": "fathom"}
RUNS = 5
IMPORT = """
from pathlib import Path
from podium.evaluation import import_packages
import_packages(Path("ground-truth/{kind}"), challenge=None)
"""
TIMED = """
import resource, subprocess, sys
subprocess.run([sys.executable, *sys.argv[1:]], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(used.ru_utime + used.ru_stime)
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--image", metavar="IMAGE", help="measure inside containers of this image")
    image = parser.parse_args().image
    where = "in the container" if image else "natively"
    table = Table(title=f"Start, {where}, load {os.getloadavg()[0]:.1f}", title_justify="left", box=box.SIMPLE)
    table.add_column("what")
    table.add_column("CPU seconds", justify="right")
    for what, words in commands():
        table.add_row(what, f"{min(cpu_seconds(words, image) for _ in range(RUNS)):.2f}")
    Console().print(table)


def commands() -> Sequence[tuple[str, Sequence[str]]]:
    found = [("podium --help", ["-m", "podium", "--help"])]
    for kind, team in SAMPLES.items():
        found.append((f"imports for {kind}", ["-c", IMPORT.format(kind=kind)]))
        words = ["--input", f"test/submissions/{kind}/{team}", "--ground-truth", f"ground-truth/{kind}"]
        words += ["--output", "/tmp/podium-startup", "--workers", "1"]
        found.append((f"podium evaluate, the sample of {kind}", ["-m", "podium", "evaluate", *words]))
    return found


def cpu_seconds(words: Sequence[str], image: str | None) -> float:
    """Of one process with all that it starts."""
    python: list[str] = [sys.executable]
    if image is not None:
        mount = f"{REPOSITORY / 'test/submissions'}:/opt/app/test/submissions:ro"
        python = ["docker", "run", "--rm", "--network", "none", "--volume", mount, "--entrypoint", "python", image]
    done = subprocess.run([*python, "-c", TIMED, *words], cwd=REPOSITORY, check=True, capture_output=True, text=True)
    return float(done.stdout)


if __name__ == "__main__":
    main()
