"""100 reports for scripts/bench.sh: the samples five times over, and Debian's WordNet where NLTK looks for it."""

import json
import shutil
import sys
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]
SAMPLES = REPOSITORY / "ground-truth/reports"
TEAM = REPOSITORY / "test/submissions/reports/cuspid/texts"
WORDNET = Path("/usr/share/wordnet")
CASES = 100


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
    if not WORDNET.is_dir():
        sys.exit("Comparing with NLTK needs WordNet: apt-get install wordnet-base")
    for path in WORDNET.iterdir():
        if path.is_file():
            shutil.copy(path, corpus)
    (corpus / "lexnames").write_text("".join(f"{number:02d}\tname{number}\t1\n" for number in range(45)))
    (corpus / "index.sense").write_text("")
