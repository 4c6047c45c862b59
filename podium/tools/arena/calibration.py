"""`podium judge calibrate`: compares an arena's votes with the judge's scores of the same reports.

Both together give estimates for every team.
"""

import math
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from podium import __version__
from podium.errors import UsageError, listed
from podium.figures import get, holds
from podium.metrics import Floats
from podium.platform.metrics_file import METRICS_FILE, MetricsFile, read_metrics
from podium.platform.privacy import are_anonymous
from podium.tools.arena.calibration_counts import SeenByBoth, count_clinicians, count_judge_twice, count_votes, measure
from podium.tools.arena.ratings import counted
from podium.tools.arena.store import Ballot, OpenArena, read_ballots, read_reports
from podium.tools.ranking.calibration import Calibration, TeamEstimate
from podium.tools.ranking.result import NARROW_BELOW

_FIGURE = "radfact.f1"
_SAME_JUDGE = ("package_version", "model", "prompt_hash", "remove_normal_findings", "max_report_characters")
FEWEST_CASES = 3  # with votes: one is taken by the mean and one by the weight

Indices = NDArray[np.int64]
Reports = Mapping[tuple[str, str], str]  # by team and case


@dataclass(frozen=True, kw_only=True)
class JudgedScores:
    """`scores[team][case]` are RadFact's F1 of single cases, None where the judge gave no verdict; all teams have the
    same cases, named as by `case_key`."""

    judge: str
    cases: tuple[str, ...]
    scores: Mapping[str, Mapping[str, float | None]]


@dataclass(frozen=True, kw_only=True)
class MeanEstimate:
    """A mean with its interval, which is None where too few cases have votes."""

    value: float
    interval: tuple[float, float] | None
    variance: float


def calibrate(  # noqa: PLR0913  (what `podium judge calibrate` is given)
    arena: Path, judged: Path, *, judged_again: Path | None, confidence: float, replicates: int, seed: int
) -> Calibration:
    """What the votes say about the judge; `judged_again` is another run of it on the same reports, with another cache.

    Raises UsageError if the arena and the files do not belong together.
    """
    with closing(OpenArena(arena)) as opened:
        teams, ballots, closed = opened.methods, read_ballots(opened.store), opened.is_closed()
        reports = read_reports(opened.store)
    votes = counted(ballots)
    if not votes:
        raise UsageError(f"{arena} has no votes yet to compare with the judge.")
    scores = read_judged(judged, teams)
    if unknown := sorted({vote.case for vote in votes if case_key(vote.case) not in scores.cases}):
        raise UsageError(
            f"There are votes on the case '{unknown[0]}' ({len(unknown)} such), which the files in {judged} do not "
            "have: the arena and the judge must have seen the same challenge."
        )
    table = _table(scores, teams)
    seen, unrated = _beside_the_judge(votes, scores, reports)
    counts = [count_votes(seen), count_clinicians(ballots)]
    if judged_again is not None:
        again = read_judged(judged_again, teams)
        if again.cases != scores.cases:
            raise UsageError(f"{judged} and {judged_again} hold different cases.")
        counts.append(count_judge_twice(table, _table(again, teams), scores.cases))
    estimates = _estimates(votes, teams, scores.cases, table, confidence=confidence)
    voted = {vote.case for vote in votes}
    silent = [team for team in teams if team not in {each.name for each in estimates}]
    return Calibration(
        podium_version=__version__,
        judge=scores.judge,
        votes=len(votes),
        raters=len({vote.rater for vote in votes}),
        voted_cases=len(voted),
        cases=len(scores.cases),
        confidence=confidence,
        replicates=replicates,
        seed=seed,
        figures=measure(counts, replicates=replicates, seed=seed, confidence=confidence),
        teams=tuple(sorted(estimates, key=lambda team: (-team.by_both, team.name))),
        notes=tuple(_notes(voted=len(voted), closed=closed, unrated=unrated, silent=silent)),
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
            points=np.array(
                [0.5 if vote.is_tie else (vote.answer == "left") == (vote.left == team) for vote in mine], np.float64
            ),
        )
        ahead = np.nan_to_num(table[:, [number]] - table)  # without a score the judge prefers neither
        by_votes, by_both, weight = prediction_powered(on_team, ahead, confidence=confidence)
        won = ((np.sign(ahead[:, np.unique(on_team.opponent)]) + 1) / 2).mean(axis=1)
        parts = (won - won.mean()) / won.size
        by_judge = _estimate(float(won.mean()), parts, cases=won.size, spent=1, confidence=confidence)
        found.append(
            TeamEstimate(
                name=team,
                votes=len(mine),
                voted_cases=np.unique(on_team.case).size,
                by_votes=by_votes.value,
                by_votes_interval=by_votes.interval,
                by_judge=by_judge.value,
                by_judge_interval=by_judge.interval,
                by_both=by_both.value,
                by_both_interval=by_both.interval,
                weight=weight,
                # How many votes would give an interval of this width without the judge: variance falls with votes.
                worth=len(mine) * by_votes.variance / by_both.variance
                if by_both.interval is not None and by_both.variance
                else None,
            )
        )
    return found


def _notes(*, voted: int, closed: bool, unrated: int, silent: Sequence[str]) -> Iterator[str]:
    if not closed:
        yield "The arena is still open: these figures are provisional."
    if voted < NARROW_BELOW:
        yield (
            f"Votes are on {voted} {'case' if voted == 1 else 'cases'}. Below {NARROW_BELOW} cases, "
            "intervals of agreement and biases miss what is rare."
        )
    if unrated:
        yield (
            f"{unrated} of the votes are on reports of which the judge has no score. Agreement and biases leave them "
            "out; the estimates take them as a judge that prefers neither."
        )
    if silent:
        yield f"Without a vote, and so without an estimate: {listed(silent)}."


# The judge's scores of every team in every case, from the metrics.json files that `podium judge` wrote.


def case_key(name: str) -> str:
    """Cases are compared as the challenge compares them: without regard to upper and lower case."""
    return unicodedata.normalize("NFC", name).casefold()


def read_judged(folder: Path, teams: Sequence[str]) -> JudgedScores:
    """The scores of all teams. Raises UsageError, naming the team, if a file is missing, was not judged, was judged by
    another judge or has other cases."""
    if not folder.is_dir():
        raise UsageError(f"There is no folder {folder} with the files that 'podium judge' wrote.")
    files = {team: _read(folder, team) for team in teams}
    scores = {team: _scores(team, file) for team, file in files.items()}
    first = teams[0]
    for team in teams[1:]:
        for key in _SAME_JUDGE:
            ours, theirs = (files[each].provenance["judge"].get(key) for each in (team, first))
            if ours != theirs:
                raise UsageError(
                    f"'{team}' was judged with {key} = {ours}, but '{first}' with {theirs}: judge both in the same way."
                )
        if scores[team].keys() != scores[first].keys():
            case = min(scores[team].keys() ^ scores[first].keys())
            has, has_not = (team, first) if case in scores[team] else (first, team)
            raise UsageError(f"The judge rated the case '{case}' of '{has}', but not of '{has_not}'.")
    model = str(files[first].provenance["judge"].get("model", ""))
    return JudgedScores(judge=model, cases=tuple(sorted(scores[first])), scores=scores)


def _read(folder: Path, team: str) -> MetricsFile:
    places = (folder / team / METRICS_FILE, folder / f"{team}.json")
    path = next((place for place in places if place.is_file()), None)
    if path is None:
        raise UsageError(f"The arena's team '{team}' has no metrics.json in {folder}.")
    file = read_metrics(path)
    if file.kind != "reports":
        raise UsageError(f"{path} is of the kind '{file.kind}'; a judge rates 'reports' alone.")
    if not isinstance(file.provenance.get("judge"), Mapping):
        raise UsageError(f"{path} has not been judged; run 'podium judge' on it first.")
    if not file.results or are_anonymous([row.case for row in file.results]):
        raise UsageError(
            f"{path} does not name its cases, so votes and verdicts cannot be paired. Run 'podium judge' again with "
            "--per-case full and another --output: the answers are in its cache, so nothing is asked again."
        )
    return file


def _scores(team: str, file: MetricsFile) -> dict[str, float | None]:
    scores: dict[str, float | None] = {}
    for row in file.results:
        value = get(row.metrics, _FIGURE) if holds(row.metrics, _FIGURE) else None
        if value is not None and not (isinstance(value, int | float) and 0 <= value <= 1):
            raise UsageError(f"The score of '{team}' in the case '{row.case}' is not between 0 and 1.")
        scores[case_key(row.case)] = None if value is None else float(value)
    return scores


# Prediction-powered estimates: few votes and many judged cases together.
#
# Source: A. N. Angelopoulos, J. C. Duchi and T. Zrnic, PPI++: Efficient prediction-powered inference,
# arXiv:2311.01453, 2023. Votes on one case share its reports, so variances are sums over cases, not over votes.


@dataclass(frozen=True, kw_only=True)
class VotesOnTeam:
    """The votes on one team, seen from its side.

    case, opponent  [vote]
    points          [vote]: 1 for the team, 0 for its opponent, 0.5 for a tie
    """

    case: Indices
    opponent: Indices
    points: Floats


def prediction_powered(
    votes: VotesOnTeam, judged: Floats, *, confidence: float
) -> tuple[MeanEstimate, MeanEstimate, float]:
    """The mean of a team's points, every opponent counting the same.

    `judged[case, opponent]` is what the judge says of every matchup of every case: any figure that grows with the
    team's chance. With Y the points and f the judge's figure,

        estimate = mean of Y over votes + weight * (mean of f over all matchups - mean of f over votes)

    where means over votes are means of the means per opponent. The weight (lambda of PPI++) is the one with the
    smallest variance; 0 leaves the votes alone.

    Returns the mean by votes alone, the estimate by both, and the weight.
    """
    seen = np.unique(votes.opponent)
    ours, by_case = judged[votes.case, votes.opponent], judged[:, seen].mean(axis=1)
    all_cases = (by_case - by_case.mean()) / by_case.size
    points = _centred(votes, votes.points, cases=len(judged))
    shift = all_cases - _centred(votes, ours, cases=len(judged))
    spread = float(shift @ shift)
    weight = -float(points @ shift) / spread if spread else 0.0
    # A case that helped to choose the weight is closer to it: correct as if each were left out in turn (HC3).
    leverage = np.minimum(shift**2 / spread, 0.5) if spread else np.zeros_like(shift)
    value = _mean_over_opponents(votes, votes.points)
    judge_ahead = float(judged[:, seen].mean()) - _mean_over_opponents(votes, ours)
    cases = np.unique(votes.case).size
    both = (points + weight * shift) / (1 - leverage)
    return (
        _estimate(value, points, cases=cases, spent=1, confidence=confidence),
        _estimate(value + weight * judge_ahead, both, cases=cases, spent=2, confidence=confidence),
        weight,
    )


def _mean_over_opponents(votes: VotesOnTeam, figures: Floats) -> float:
    return float(np.mean([figures[votes.opponent == each].mean() for each in np.unique(votes.opponent)]))


def _centred(votes: VotesOnTeam, figures: Floats, *, cases: int) -> Floats:
    """What every case adds to the error of the mean over opponents.

    A vote's distance to the mean of its opponent's n votes is too short by sqrt(1 - 1/n). The only vote on an opponent
    has no such distance: it is compared with the mean of all.
    """
    opponents = np.unique(votes.opponent)
    overall = _mean_over_opponents(votes, figures)
    parts = np.zeros(cases)
    for opponent in opponents:
        mine = votes.opponent == opponent
        count = int(mine.sum())
        centre = figures[mine].mean() if count > 1 else overall
        longer = math.sqrt(count / (count - 1)) if count > 1 else 1.0
        np.add.at(parts, votes.case[mine], (figures[mine] - centre) * longer / (count * opponents.size))
    return parts


def _estimate(value: float, parts: Floats, *, cases: int, spent: int, confidence: float) -> MeanEstimate:
    """`parts` are the cases' parts of the error; `spent` the degrees of freedom that were used up."""
    from scipy.special import stdtrit

    value = min(1.0, max(0.0, value))  # a mean of points, which a large weight may move out of range
    variance = float(parts @ parts)
    if cases < FEWEST_CASES:
        return MeanEstimate(value=value, interval=None, variance=variance)
    variance *= cases / (cases - 1)
    half = float(stdtrit(cases - spent, (1 + confidence) / 2)) * math.sqrt(variance)
    return MeanEstimate(value=value, interval=(max(0.0, value - half), min(1.0, value + half)), variance=variance)
