"""How long 100 reports take from process start, WordNet included, beside the same figures computed with NLTK.

    python bench/reports.py [--runs N]

Both read the same files and must agree to 1e-12. The NLTK side needs Debian's wordnet-base.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from whole_run import Measured, measure

REPOSITORY = Path(__file__).resolve().parents[1]
SAMPLES = REPOSITORY / "ground-truth/reports"
TEAM = REPOSITORY / "test/submissions/reports/cuspid/texts"
WORDNET = Path("/usr/share/wordnet")
CASES = 100


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=5, metavar="N", help="runs of each [%(default)s]")
    options = parser.parse_args()
    if not WORDNET.is_dir():
        print("bench/reports.py: Debian's wordnet-base is not installed.", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        write_cases(folder)
        write_nltk_data(folder / "nltk_data")
        podium = [sys.executable, str(REPOSITORY / "evaluate.py"), "--workers", "2", "--input", str(folder / "texts")]
        podium += ["--output", str(folder / "out"), "--ground-truth", str(folder / "truth")]
        nltk = [sys.executable, str(Path(__file__).with_name("reports_nltk.py")), str(folder)]
        os.environ["NLTK_DATA"] = str(folder / "nltk_data")
        subprocess.run(podium, check=True, capture_output=True)  # both read from a warm disk cache
        subprocess.run(nltk, check=True, capture_output=True)
        check_same(folder)
        ours, theirs = [], []
        for _ in range(options.runs):  # in turns, so that a busy moment of the machine falls on both
            ours.append(measure(podium))
            theirs.append(measure(nltk))
    print(
        f"{CASES} reports from process start, WordNet included, {options.runs} runs each, load {os.getloadavg()[0]:.1f}"
    )
    show("podium, 2 workers", ours)
    show("NLTK, 1 process", theirs)
    ratios = sorted(b.cpu_seconds / a.cpu_seconds for a, b in zip(ours, theirs, strict=True))
    print(f"CPU of NLTK / CPU of podium: {ratios[0]:.1f} to {ratios[-1]:.1f}")
    return 0


def show(name: str, runs: list[Measured]) -> None:
    clock = sorted(run.seconds for run in runs)
    cpu = sorted(run.cpu_seconds for run in runs)
    largest = max(run.largest_bytes for run in runs) / 2**20
    print(
        f"{name}: {clock[0]:.2f} to {clock[-1]:.2f} s by the clock, {cpu[0]:.2f} to {cpu[-1]:.2f} s of CPU, "
        f"largest process {largest:.0f} MiB"
    )


def write_cases(folder: Path) -> None:
    """The sample reports of one team, five times over under other names."""
    (folder / "truth/references").mkdir(parents=True)
    (folder / "texts").mkdir()
    shutil.copy(SAMPLES / "challenge.toml", folder / "truth")
    references = sorted((SAMPLES / "references").glob("*.txt"))
    texts = {path.stem.upper(): path for path in TEAM.iterdir()}
    for number in range(CASES):
        reference = references[number % len(references)]
        shutil.copy(reference, folder / f"truth/references/C{number:03d}.txt")
        source = texts[reference.stem]
        content = source.read_text("utf-8-sig")
        text = json.loads(content)["report"] if source.suffix == ".json" else content
        (folder / f"texts/C{number:03d}.txt").write_text(text, encoding="utf-8")


def write_nltk_data(folder: Path) -> None:
    """Debian's files where NLTK looks for them, with the two that Debian leaves out."""
    corpus = folder / "corpora/wordnet"
    corpus.mkdir(parents=True)
    for path in WORDNET.iterdir():
        if path.is_file():
            shutil.copy(path, corpus)
    (corpus / "lexnames").write_text("".join(f"{number:02d}\tname{number}\t1\n" for number in range(45)))
    (corpus / "index.sense").write_text("")


def check_same(folder: Path) -> None:
    ours = json.loads((folder / "out/metrics.json").read_text())["aggregates"]
    theirs = json.loads((folder / "nltk.json").read_text())
    for name, figure in theirs.items():
        assert abs(ours[name] - figure) < 1e-12, f"{name}: {ours[name]} and {figure}"


if __name__ == "__main__":
    raise SystemExit(main())
