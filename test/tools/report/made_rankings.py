"""Rankings for tests of the report: tables of scores, ranked as `podium rank` ranks them.

In the worked example, what depends on the draws of a bootstrap is replaced by round figures, which tests quote.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
from tools.ranking.files import TEAMS, VALUES

from podium.tools.ranking.rank import rank
from podium.tools.ranking.result import Ranking, Trouble
from podium.tools.ranking.schemes import RankingOptions
from podium.tools.ranking.tables import ScoreTable, TableOptions, TaskScores, table_cohorts

GOLDEN_TEAMS = ("B", "C", "A", "D")  # by mean with the missing value at 0, as the worked example of the rules has it
GOLDEN_VALUES = [VALUES[TEAMS.index(team)] for team in GOLDEN_TEAMS]
INTERVAL = (0.61, 0.89)


def ranked(names: Sequence[str], cases: Sequence[str], metrics: Mapping[str, Any], options: RankingOptions) -> Ranking:
    """`metrics[title][team][case]`; of those called HD95, lower is better."""
    values = {
        title: {(name, case): rows[team][n] for team, name in enumerate(names) for n, case in enumerate(cases)}
        for title, rows in metrics.items()
    }
    table = ScoreTable(
        name="made-up",
        teams=names,
        metrics=list(metrics),
        directions={title: "lower" if title.startswith("HD95") else "higher" for title in metrics},
        tasks={"": TaskScores(groups=dict.fromkeys(cases, ""), values=values)},
    )
    worst = {title: 0.0 for title, direction in table.directions.items() if direction == "higher"}
    (cohort,) = table_cohorts(table, TableOptions(worst=worst))
    found = rank(cohort, options)
    changed = (
        replace(each, unit="mm") if each.direction == "lower" else replace(each, highest=1.0) for each in found.metrics
    )
    return replace(found, metrics=tuple(changed), version="1.0", notes=())


def golden_ranking(
    names: Sequence[str] = GOLDEN_TEAMS, *, error: str = "There is no prediction for this case."
) -> Ranking:
    """The worked example of four teams and eight cases."""
    cases = [f"c{number}" for number in range(1, 9)]
    ranking = ranked(names, cases, {"Dice": GOLDEN_VALUES}, RankingOptions(bootstraps=1000, seed=42))
    assert ranking.deciding.stability is not None
    stability = replace(
        ranking.deciding.stability,
        rank_frequencies=((0.5, 0.3, 0.2, 0.0), (0.2, 0.5, 0.3, 0.0), (0.3, 0.2, 0.5, 0.0), (0.0, 0.0, 0.0, 1.0)),
        rank_intervals=((1, 3), (1, 3), (1, 3), (4, 4)),
        win_probabilities=(0.5, 0.2, 0.3, 0.0),
    )
    intervals = (INTERVAL,) * 4
    groups = ((1, None), (1, 0.4), (1, 0.4), (2, None))
    versions = {"podium_version": "9.9.9", "python_version": "3.11.9", "numpy_version": "2.4.6"}
    return replace(
        ranking,
        title="Four teams, eight cases",
        settings={"tolerance_px": 3.0, "classes": [{"name": "low_risk", "value": 0}], "time": {"rule": "cohort"}},
        teams=tuple(
            replace(
                team,
                score_interval=INTERVAL,
                group=group,
                group_p=p,
                finalist=number < 2,
                troubles=tuple(replace(each, error=error) for each in team.troubles),
            )
            for number, (team, (group, p)) in enumerate(zip(ranking.teams, groups, strict=True))
        ),
        columns=tuple(replace(each, intervals=intervals) for each in ranking.columns),
        metrics=tuple(replace(each, mean_intervals=intervals) for each in ranking.metrics),
        schemes=tuple(
            replace(each, score_title="Mean Dice", score_intervals=intervals, stability=stability)
            for each in ranking.schemes
        ),
        differences=tuple(
            replace(each, interval=(-0.01, 0.12), probability_ahead=share)
            for each, share in zip(ranking.differences, (0.6, 0.7, 1.0), strict=True)
        ),
        methods=replace(
            ranking.methods,
            **versions,
            scipy_version="1.17.1",
            sentences=(
                "Teams were ranked by their mean over all cases.",
                "Rank uncertainty was estimated by 1,000 bootstrap replicates over cases (seed 42).",
            ),
        ),
    )


@cache
def large_ranking(*, teams: int, cases: int, metrics: int) -> Ranking:
    """Seeded scores of this many teams and cases; the schemes rank by two metrics, and every fifth team lost cases."""
    random = np.random.default_rng(7)
    names = [f"{('Amber Vessel', 'Gentle Doppler', 'Deft Plaque')[n % 3]} {n}" for n in range(teams)]
    quality = np.linspace(0.88, 0.80, teams)[:, None] + random.normal(0, 0.01, (teams, 1))
    difficulty = random.beta(1.4, 7, (1, cases))
    scores = {}
    for number in range(metrics):
        noise = random.normal(0, 0.09, (teams, cases))
        figures = np.clip(quality - 0.55 * difficulty * (1.6 - quality) + noise, 0, 1).round(5)
        title = ("Dice", "NSD", "HD95")[number % 3] + (f" {number}" if number > 2 else "")
        scores[title] = (30 * (1 - figures)).round(4) if title.startswith("HD95") else figures
    case_names = [f"case_{number:04d}" for number in range(cases)]
    options = RankingOptions(bootstraps=30, metrics=tuple(list(scores)[:2]))
    ranking = ranked(names, case_names, {title: rows.tolist() for title, rows in scores.items()}, options)
    words = "'{}_pred.h5: long_mask' holds the value 7; a mask holds 0/1/2."
    changed, statuses = list(ranking.teams), list(ranking.statuses)
    for row in range(5, teams, 5):
        lost = case_names[: 1 + row % 4]
        troubles = tuple(Trouble(case=case, status="failed", error=words.format(case)) for case in lost)
        counts = {"scored": cases - len(lost), "failed": len(lost)}
        changed[row] = replace(changed[row], troubles=troubles, **counts)
        statuses[row] = (*("failed",) * len(lost), *("scored",) * (cases - len(lost)))
    return replace(ranking, teams=tuple(changed), statuses=tuple(statuses))
