"""Agreement and biases of the judge, from votes and its scores of the same reports.

They are counted per case, so that the intervals can be drawn over whole cases.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from podium.metrics import Floats
from podium.metrics.resampling import Resamples, percentile_interval
from podium.tools.arena.agreement import first_answers, kappa, preferred, seen_matchup
from podium.tools.arena.store import Ballot
from podium.tools.ranking.calibration import Aspect, Measured

CaseCounts = Mapping[str, Counter[str]]  # by case
Sums = Callable[[str], Floats]  # [replicate]: how often something was counted


@dataclass(frozen=True)
class Question:
    """One figure from counts: the share of `part` in `total`, unless `figure` computes it."""

    aspect: Aspect
    name: str
    title: str
    part: str
    total: str
    figure: Callable[[Sums], Floats] | None = None

    def compute(self, sums: Sums) -> Floats:
        return self.figure(sums) if self.figure else sums(self.part) / sums(self.total)


QUESTIONS = (
    Question(
        "agreement",
        "agreement",
        "The judge prefers the same report as the clinician, or both call it a tie",
        "same",
        "votes",
    ),
    Question("agreement", "agreement_decided", "The same where neither calls it a tie", "same decided", "decided"),
    Question(
        "agreement",
        "kappa",
        "Cohen's kappa of judge and clinician (ties included)",
        "same",
        "votes",
        lambda sums: kappa(*(sums(part) / sums("votes") for part in ("same", "tie", "judge tie"))),
    ),
    Question(
        "agreement",
        "between_raters",
        "For comparison: two clinicians on the same pair of reports give the same answer",
        "same shared",
        "shared",
    ),
    Question("position", "clinicians_left", "Clinicians prefer the report on the left", "left", "clinician decided"),
    Question(
        "position",
        "judge_left",
        "The judge, which sees no sides, prefers the report on the left",
        "judge left",
        "judge decided",
    ),
    Question("length", "clinicians_longer", "Clinicians prefer the longer report", "longer", "uneven"),
    Question("length", "judge_longer", "The judge prefers the longer report", "judge longer", "uneven"),
    Question(
        "length",
        "length_bias",
        "Judge minus clinicians: above 0, the judge favours length more than they do",
        "judge longer",
        "uneven",
        lambda sums: (sums("judge longer") - sums("longer")) / sums("uneven"),
    ),
    Question(
        "repeats", "clinicians_repeats", "Clinicians answer a repeated pair as the first time", "same repeat", "repeats"
    ),
    Question(
        "repeats",
        "judge_repeats",
        "The judge's second run prefers the same report as its first, or calls it a tie again",
        "same twice",
        "judged twice",
    ),
)


@dataclass(frozen=True, kw_only=True)
class SeenByBoth:
    """A vote and the judge's opinion of the same two reports. `judge` and `words` are the left report's score and its
    number of words, minus those of the right report."""

    ballot: Ballot
    judge: float
    words: int


def count_votes(seen: Sequence[SeenByBoth]) -> CaseCounts:
    """Votes that count in the ratings, beside the judge's preference."""
    found: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for each in seen:
        # 1 is left, -1 right, and 0 neither.
        clinician = {"left": 1, "right": -1}.get(each.ballot.answer, 0)
        judge, longer = int(np.sign(each.judge)), int(np.sign(each.words))
        both_decided = bool(clinician and judge)
        is_uneven = both_decided and longer != 0
        found[each.ballot.case].update(
            {
                "votes": 1,
                "same": int(clinician == judge),
                "tie": int(clinician == 0),
                "clinician decided": int(clinician != 0),
                "left": int(clinician > 0),
                "judge tie": int(judge == 0),
                "judge decided": int(judge != 0),
                "judge left": int(judge > 0),
                "decided": int(both_decided),
                "same decided": int(both_decided and clinician == judge),
                "uneven": int(is_uneven),
                "longer": int(is_uneven and clinician == longer),
                "judge longer": int(is_uneven and judge == longer),
            }
        )
    return found


def count_clinicians(ballots: Sequence[Ballot]) -> CaseCounts:
    """Two raters on one matchup, and one rater on a matchup that was repeated."""
    found: defaultdict[str, Counter[str]] = defaultdict(Counter)
    answers = first_answers(ballots)
    for matchup, by_rater in answers.items():
        for one, other in combinations(by_rater.values(), 2):
            found[matchup[0]].update({"shared": 1, "same shared": int(one == other)})
    for ballot in ballots:
        first = answers.get(seen_matchup(ballot), {}).get(ballot.rater)
        if ballot.repeat and ballot.is_judged and first is not None:
            found[ballot.case].update({"repeats": 1, "same repeat": int(first == preferred(ballot))})
    return found


def count_judge_twice(first: Floats, second: Floats, cases: Sequence[str]) -> CaseCounts:
    """Every pair of teams in every case, in two runs of the judge: `[case, team]`, NaN where there is no score."""
    found: dict[str, Counter[str]] = {}
    for case, once, again in zip(cases, first, second, strict=True):
        pairs = [
            (np.sign(once[one] - once[other]), np.sign(again[one] - again[other]))
            for one, other in combinations(range(len(once)), 2)
        ]
        known = [pair for pair in pairs if not np.isnan(pair).any()]
        found[case] = Counter({"judged twice": len(known), "same twice": sum(one == other for one, other in known)})
    return found


def measure(counts: Sequence[CaseCounts], *, replicates: int, seed: int, confidence: float) -> tuple[Measured, ...]:
    """Every figure with a percentile interval over all cases that have any counts."""
    cases = sorted({case for each in counts for case in each})
    table: defaultdict[str, Floats] = defaultdict(lambda: np.zeros(len(cases)))
    place = {case: number for number, case in enumerate(cases)}
    for each in counts:
        for case, by_name in each.items():
            for name, number in by_name.items():
                table[name][place[case]] += number
    drawn = Resamples.draw(cases=len(cases), replicates=replicates, seed=seed)
    return tuple(_measured(question, table, drawn, confidence=confidence) for question in QUESTIONS)


def _measured(question: Question, table: Mapping[str, Floats], drawn: Resamples, *, confidence: float) -> Measured:
    with np.errstate(invalid="ignore", divide="ignore"):  # 0 / 0 in a replicate without any of them
        value = float(question.compute(lambda name: np.array([table[name].sum()]))[0])
        replicates = question.compute(lambda name: drawn.counts @ table[name])
    interval = percentile_interval(replicates[np.isfinite(replicates)], confidence=confidence, cases=drawn.cases)
    totals = table[question.total]
    return Measured(
        aspect=question.aspect,
        name=question.name,
        title=question.title,
        value=value if np.isfinite(value) else None,
        interval=interval if np.count_nonzero(totals) >= 2 else None,
        total=int(totals.sum()),
        is_share=question.figure is None,
    )
