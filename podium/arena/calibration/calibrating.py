"""`podium judge calibrate`: the votes of an arena and the judge's scores of the same reports, compared."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from podium import __version__
from podium.arena.calibration.counts import SeenByBoth, count_clinicians, count_judge_twice, count_votes, measure
from podium.arena.calibration.judged_scores import JudgedScores, case_key, read_judged
from podium.arena.calibration.prediction_powered import (
    MeanEstimate,
    VotesOnTeam,
    mean_over_cases,
    prediction_powered,
)
from podium.arena.desk import Desk
from podium.arena.ratings.ballots import Ballot
from podium.arena.ratings.pair_counts import counted
from podium.arena.store.contents import read_reports
from podium.arena.wording import listed
from podium.errors import UsageError
from podium.metrics import Floats
from podium.ranking.calibration import Calibration, TeamEstimate
from podium.ranking.chances import NARROW_BELOW

Reports = Mapping[tuple[str, str], str]  # by team and case


@dataclass(frozen=True, kw_only=True)
class CalibrationOptions:
    """`judged_again` is another run of the judge on the same reports, with a cache of its own."""

    judged_again: Path | None = None
    confidence: float = 0.95
    replicates: int = 1000
    seed: int = 0


def calibrate(arena: Path, judged: Path, options: CalibrationOptions) -> Calibration:
    """Everything the votes say about the judge. Raises UsageError where the two do not belong together."""
    with closing(Desk(arena)) as desk:
        teams, ballots, closed = desk.methods, desk.ballots(), desk.is_closed()
        reports = read_reports(desk.store)
    votes = counted(ballots)
    if not votes:
        raise UsageError(f"{arena} has no votes yet that could be held against the judge.")
    scores = read_judged(judged, teams)
    _refuse_unknown_cases(votes, scores, judged)
    table = _table(scores, teams)
    seen, unrated = _beside_the_judge(votes, scores, reports)
    counts = [count_votes(seen), count_clinicians(ballots)]
    if options.judged_again is not None:
        again = read_judged(options.judged_again, teams)
        if again.cases != scores.cases:
            raise UsageError(f"{judged} and {options.judged_again} hold different cases.")
        counts.append(count_judge_twice(table, _table(again, teams), scores.cases))
    estimates = _estimates(votes, teams, scores.cases, table, confidence=options.confidence)
    voted = {vote.case for vote in votes}
    silent = [team for team in teams if team not in {each.name for each in estimates}]
    return Calibration(
        podium_version=__version__,
        judge=scores.judge,
        votes=len(votes),
        raters=len({vote.rater for vote in votes}),
        voted_cases=len(voted),
        cases=len(scores.cases),
        confidence=options.confidence,
        replicates=options.replicates,
        seed=options.seed,
        figures=measure(counts, replicates=options.replicates, seed=options.seed, confidence=options.confidence),
        teams=tuple(sorted(estimates, key=lambda team: (-team.by_both, team.name))),
        notes=tuple(_notes(voted=len(voted), closed=closed, unrated=unrated, silent=silent)),
    )


def _refuse_unknown_cases(votes: Sequence[Ballot], scores: JudgedScores, folder: Path) -> None:
    unknown = sorted({vote.case for vote in votes if case_key(vote.case) not in scores.cases})
    if unknown:
        raise UsageError(
            f"There are votes on the case '{unknown[0]}' ({len(unknown)} such), which the files in {folder} do not "
            "have: the arena and the judge must have seen the same challenge."
        )


def _table(scores: JudgedScores, teams: Sequence[str]) -> Floats:
    """`[case, team]`, NaN where the judge gave no score."""
    rows = [[scores.scores[team][case] for team in teams] for case in scores.cases]
    return np.array(rows, dtype=np.float64)


def _beside_the_judge(votes: Sequence[Ballot], scores: JudgedScores, reports: Reports) -> tuple[list[SeenByBoth], int]:
    """The votes with the judge's preference, and how many the judge has no score for."""
    seen = []
    for vote in votes:
        case = case_key(vote.case)
        left, right = scores.scores[vote.left][case], scores.scores[vote.right][case]
        if left is None or right is None:
            continue
        words = [len(reports[team, vote.case].split()) for team in (vote.left, vote.right)]
        seen.append(SeenByBoth(ballot=vote, judge=left - right, words=words[0] - words[1]))
    return seen, len(votes) - len(seen)


def _estimates(
    votes: Sequence[Ballot], teams: Sequence[str], cases: Sequence[str], table: Floats, *, confidence: float
) -> list[TeamEstimate]:
    """Of every team with votes."""
    place = {case: number for number, case in enumerate(cases)}
    found = []
    for number, team in enumerate(teams):
        mine = [vote for vote in votes if team in (vote.left, vote.right)]
        if not mine:
            continue
        on_team = VotesOnTeam(
            case=np.array([place[case_key(vote.case)] for vote in mine]),
            opponent=np.array([teams.index(vote.right if vote.left == team else vote.left) for vote in mine]),
            points=np.array([_points(vote, team) for vote in mine]),
        )
        ahead = np.nan_to_num(table[:, [number]] - table)  # without a score the judge prefers neither
        powered = prediction_powered(on_team, ahead, confidence=confidence)
        won = (np.sign(ahead[:, np.unique(on_team.opponent)]) + 1) / 2
        by_judge = mean_over_cases(won.mean(axis=1), confidence=confidence)
        found.append(
            TeamEstimate(
                name=team,
                votes=len(mine),
                voted_cases=np.unique(on_team.case).size,
                by_votes=powered.by_votes.value,
                by_votes_interval=powered.by_votes.interval,
                by_judge=by_judge.value,
                by_judge_interval=by_judge.interval,
                by_both=powered.by_both.value,
                by_both_interval=powered.by_both.interval,
                weight=powered.weight,
                worth=_worth(powered.by_votes, powered.by_both, len(mine)),
            )
        )
    return found


def _points(vote: Ballot, team: str) -> float:
    if vote.is_tie:
        return 0.5
    return float((vote.answer == "left") == (vote.left == team))


def _worth(by_votes: MeanEstimate, by_both: MeanEstimate, votes: int) -> float | None:
    """How many votes would give an interval of the same width without the judge: variance falls with votes."""
    if by_both.interval is None or not by_both.variance:
        return None
    return votes * by_votes.variance / by_both.variance


def _notes(*, voted: int, closed: bool, unrated: int, silent: Sequence[str]) -> Iterator[str]:
    if not closed:
        yield "The arena is still open: these figures are provisional."
    if voted < NARROW_BELOW:
        yield (
            f"Votes are on {voted} {'case' if voted == 1 else 'cases'}. Intervals of agreement and biases are "
            f"percentiles of the bootstrap, which are too narrow below {NARROW_BELOW} cases."
        )
    if unrated:
        yield (
            f"{unrated} of the votes are on reports of which the judge has no score. Agreement and biases leave them "
            "out; the estimates take them as a judge that prefers neither."
        )
    if silent:
        yield f"Without a vote, and so without an estimate: {listed(silent)}."
