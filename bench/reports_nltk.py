"""BLEU-4 and METEOR of a folder of reports with NLTK: written straightforwardly, for scripts/bench.sh."""

import json
import re
import sys
from pathlib import Path

from nltk.translate.bleu_score import SmoothingFunction, corpus_bleu, sentence_bleu
from nltk.translate.meteor_score import single_meteor_score


def tokens(path: Path) -> list[str]:
    return re.findall(r"\w+|[^\w\s]", path.read_text(encoding="utf-8").lower())


folder = Path(sys.argv[1])
smooth = SmoothingFunction().method1
references = [tokens(path) for path in sorted((folder / "truth/references").iterdir())]
candidates = [tokens(path) for path in sorted((folder / "texts").iterdir())]
pairs = list(zip(references, candidates, strict=True))
cases = [sentence_bleu([reference], candidate, smoothing_function=smooth) for reference, candidate in pairs]
meteors = [single_meteor_score(reference, candidate) for reference, candidate in pairs]
figures = {
    "bleu_4": corpus_bleu([[reference] for reference in references], candidates, smoothing_function=smooth),
    "bleu_4_case_mean": sum(cases) / len(cases),
    "meteor_wordnet": sum(meteors) / len(meteors),
}
print(json.dumps(figures))
