"""Agreement and biases of the judge, from votes and its scores of the same reports.

They are counted per case, so that the intervals can be drawn over whole cases.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from podium.metrics import Floats
from podium.metrics.resampling import Resamples
from podium.tools.arena.agreement import SeenMatchup, preferred, seen_matchup
from podium.tools.arena.ratings import counted
from podium.tools.arena.store import Ballot
from podium.tools.ranking.result import Aspect, Interval, Measured

CaseCounts = Mapping[str, Counter[str]]  # by case
Sums = Callable[[str], Floats]  # [replicate]: how often something was counted


@dataclass(frozen=True, kw_only=True)
class Question:
    """One figure as a function of counts; `total` names the count it is of."""

    aspect: Aspect
    name: str
    title: str
    total: str
    figure: Callable[[Sums], Floats]
    is_share: bool = True


def _share(part: str, total: str) -> Callable[[Sums], Floats]:
    return lambda sums: sums(part) / sums(total)


def _kappa(sums: Sums) -> Floats:
    """Cohen's kappa of "this one", "the other one" and "tie", with every matchup seen from both sides: with shares t
    and t' of ties, chance agrees in t t' + (1 - t)(1 - t') / 2."""
    ties, judge_ties = sums("tie") / sums("votes"), sums("judge tie") / sums("votes")
    by_chance = ties * judge_ties + (1 - ties) * (1 - judge_ties) / 2
    return (sums("same") / sums("votes") - by_chance) / (1 - by_chance)


QUESTIONS = (
    Question(
        aspect="agreement",
        name="agreement",
        title="The judge prefers the same report as the clinician, or both call it a tie",
        total="votes",
        figure=_share("same", "votes"),
    ),
    Question(
        aspect="agreement",
        name="agreement_decided",
        title="The same where neither calls it a tie",
        total="decided",
        figure=_share("same decided", "decided"),
    ),
    Question(
        aspect="agreement",
        name="kappa",
        title="Cohen's kappa of judge and clinician (ties included)",
        total="votes",
        figure=_kappa,
        is_share=False,
    ),
    Question(
        aspect="agreement",
        name="between_raters",
        title="For comparison: two clinicians on the same pair of reports give the same answer",
        total="shared",
        figure=_share("same shared", "shared"),
    ),
    Question(
        aspect="position",
        name="clinicians_left",
        title="Clinicians prefer the report on the left",
        total="clinician decided",
        figure=_share("left", "clinician decided"),
    ),
    Question(
        aspect="position",
        name="judge_left",
        title="The judge, which sees no sides, prefers the report on the left",
        total="judge decided",
        figure=_share("judge left", "judge decided"),
    ),
    Question(
        aspect="length",
        name="clinicians_longer",
        title="Clinicians prefer the longer report",
        total="uneven",
        figure=_share("longer", "uneven"),
    ),
    Question(
        aspect="length",
        name="judge_longer",
        title="The judge prefers the longer report",
        total="uneven",
        figure=_share("judge longer", "uneven"),
    ),
    Question(
        aspect="length",
        name="length_bias",
        title="Judge minus clinicians: above 0, the judge favours length more than they do",
        total="uneven",
        figure=lambda sums: (sums("judge longer") - sums("longer")) / sums("uneven"),
        is_share=False,
    ),
    Question(
        aspect="repeats",
        name="clinicians_repeats",
        title="Clinicians answer a repeated pair as the first time",
        total="repeats",
        figure=_share("same repeat", "repeats"),
    ),
    Question(
        aspect="repeats",
        name="judge_repeats",
        title="The judge's second run prefers the same report as its first, or calls it a tie again",
        total="judged twice",
        figure=_share("same twice", "judged twice"),
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
        clinician = {"left": 1, "right": -1}.get(each.ballot.answer, 0)
        judge, longer = int(np.sign(each.judge)), int(np.sign(each.words))
        found[each.ballot.case].update(dict.fromkeys(_said(clinician, judge, longer), 1))
    return found


def _said(clinician: int, judge: int, longer: int) -> Iterator[str]:
    """What a vote counts for; 1 is left, -1 right, and 0 neither."""
    yield "votes"
    if clinician == judge:
        yield "same"
    if not clinician:
        yield "tie"
    else:
        yield "clinician decided"
        if clinician > 0:
            yield "left"
    if not judge:
        yield "judge tie"
    else:
        yield "judge decided"
        if judge > 0:
            yield "judge left"
    if clinician and judge:
        yield "decided"
        if clinician == judge:
            yield "same decided"
        if longer:
            yield "uneven"
            if clinician == longer:
                yield "longer"
            if judge == longer:
                yield "judge longer"


def count_clinicians(ballots: Sequence[Ballot]) -> CaseCounts:
    """Two raters on one matchup, and one rater on a matchup that was repeated."""
    found: defaultdict[str, Counter[str]] = defaultdict(Counter)
    answers: defaultdict[SeenMatchup, dict[str, str]] = defaultdict(dict)
    for ballot in counted(ballots):
        answers[seen_matchup(ballot)].setdefault(ballot.rater, preferred(ballot))
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
        value = float(question.figure(lambda name: np.array([table[name].sum()]))[0])
        replicates = question.figure(lambda name: drawn.counts @ table[name])
    return Measured(
        aspect=question.aspect,
        name=question.name,
        title=question.title,
        value=value if np.isfinite(value) else None,
        interval=_interval(replicates[np.isfinite(replicates)], table[question.total], confidence=confidence),
        total=int(table[question.total].sum()),
        is_share=question.is_share,
    )


def _interval(replicates: Floats, totals: Floats, *, confidence: float) -> Interval | None:
    if np.count_nonzero(totals) < 2 or not replicates.size:
        return None
    low, high = np.quantile(replicates, [(1 - confidence) / 2, (1 + confidence) / 2])
    return float(low), float(high)
