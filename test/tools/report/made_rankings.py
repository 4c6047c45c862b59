"""Rankings made up for tests of the report: consistent in shape, their figures chosen or seeded here.

They are built with the classes that `podium rank` fills; nothing of the ranking itself is computed by podium's code.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from podium.metrics.declaration import Direction
from podium.platform.metrics_file import Status
from podium.tools.ranking.result import (
    AggregateColumn,
    CaseMetricResult,
    Difference,
    Matrix,
    Methods,
    Ranking,
    SchemeRanking,
    Significance,
    Stability,
    Taus,
    Team,
    Trouble,
)

GOLDEN_TEAMS = ("B", "C", "A", "D")  # by mean with the missing value at 0, as the worked example of the rules has it
GOLDEN_VALUES: tuple[tuple[float | None, ...], ...] = (
    (0.89, 0.86, 0.90, 0.84, 0.88, 0.86, 0.89, 0.83),
    (0.90, 0.87, 0.93, 0.80, 0.86, 0.84, 0.88, 0.82),
    (0.91, 0.88, 0.93, 0.85, 0.90, 0.87, 0.92, 0.30),
    (0.70, 0.75, None, 0.72, 0.88, 0.70, 0.74, 0.71),
)
GOLDEN_MEANS = (0.86875, 0.8625, 0.82, 0.65)
INTERVAL = (0.61, 0.89)


def golden_ranking(
    names: Sequence[str] = GOLDEN_TEAMS, *, error: str = "There is no prediction for this case."
) -> Ranking:
    """The worked example of four teams and eight cases; p values as printed there (order B, C, A, D)."""
    p = (
        (None, 0.217475, 0.930727, 0.0111271),
        (0.8219196, None, 0.898364, 0.0103531),
        (0.0900972, 0.135091, None, 0.0704970),
        (0.9929623, 0.992926, 0.946552, None),
    )
    # Holm over twelve ordered pairs, by hand: 12 * 0.0103531, then 11 * 0.0111271, then 10 * 0.0704970, ...
    holm: list[list[float | None]] = [[None if value is None else 1.0 for value in row] for row in p]
    holm[1][3] = holm[0][3] = 0.1242372
    holm[2][3], holm[2][0] = 0.704970, 0.8108748
    frequencies = ((0.5, 0.3, 0.2, 0.0), (0.2, 0.5, 0.3, 0.0), (0.3, 0.2, 0.5, 0.0), (0.0, 0.0, 0.0, 1.0))
    return _ranking(
        names,
        GOLDEN_MEANS,
        cases=[f"c{number}" for number in range(1, 9)],
        troubles={3: [Trouble(case="c3", status="missing", error=error)]},
        groups=[(1, None), (1, 0.4), (1, 0.4), (2, None)],
        finalists=2,
        columns=[_column("dice.mean", "Mean Dice", "higher", GOLDEN_MEANS, (0.024, 0.04, 0.21, 0.27))],
        metrics=[_metric("dice", "Dice", GOLDEN_VALUES, GOLDEN_MEANS, (INTERVAL,) * 4)],
        by_scheme={
            "Official": (1, 2, 3, 4),
            "Mean": (1, 2, 3, 4),
            "Median": (2, 3, 1, 4),
            "Rank then mean": (2, 3, 1, 4),
            "Test then rank": (1, 1, 3, 3),
        },
        score_title="Mean Dice",
        stability=_stability(np.array(frequencies), wins=(0.5, 0.2, 0.3, 0.0), replicates=1000, seed=1),
        interval=(-0.01, 0.12),
        ahead=(0.6, 0.7, 1.0),
        tests=[_significance("dice", p, holm)],
        challenge="golden",
        title="Four teams, eight cases",
        version="1.0",
        settings={"tolerance_px": 3.0, "classes": [{"name": "low_risk", "value": 0}], "time": {"rule": "cohort"}},
    )


def large_ranking(*, teams: int, cases: int, metrics: int, seed: int = 7) -> Ranking:
    """This number of teams and cases with seeded figures; the first team is the best, every fifth lost some cases."""
    random = np.random.default_rng(seed)
    names = [f"{('Amber Vessel', 'Gentle Doppler', 'Deft Plaque')[n % 3]} {n}" for n in range(teams)]
    quality = np.linspace(0.88, 0.80, teams)[:, None] + random.normal(0, 0.01, (teams, 1))
    difficulty = random.beta(1.4, 7, (1, cases))
    values = []
    for number in range(metrics):
        noise = random.normal(0, 0.09, (teams, cases))
        figures = np.clip(quality - 0.55 * difficulty * (1.6 - quality) + noise, 0, 1).round(5)
        values.append((30 * (1 - figures)).round(4) if number % 3 == 2 else figures)
    order = np.argsort(-values[0].mean(axis=1))
    draws = random.integers(0, cases, (300, cases))
    drawn = np.stack([values[0][:, draw].mean(axis=1) for draw in draws])
    ranks = 1 + (drawn[:, None, :] > drawn[:, :, None]).sum(axis=2)
    frequencies = np.stack([(ranks == rank).mean(axis=0) for rank in range(1, teams + 1)], axis=1)[order]
    means = values[0].mean(axis=1)[order]
    p = np.clip(random.beta(0.4, 1, (teams, teams)) * (1 - np.sign(means[:, None] - means) * 0.9), 0, 1)
    np.fill_diagonal(p, np.nan)
    titles = ("Official", "Mean then rank", "Median then rank", "Rank then mean", "Rank then median", "Test then rank")
    by_scheme = {}
    for title in titles:
        shaken = -means + (random.normal(0, 0.006, teams) if by_scheme else 0)
        by_scheme[title] = tuple((1 + (shaken[None, :] < shaken[:, None]).sum(axis=1)).tolist())
    declared = []
    for number, figures in enumerate(values):
        title = ("Dice", "NSD", "HD95")[number % 3] + (f" {number}" if number > 2 else "")
        own = figures.mean(axis=1)[order].tolist()
        found = _metric(
            f"metric_{number}", title, _plain(figures[order]), own, tuple((mean - 0.01, mean + 0.01) for mean in own)
        )
        if number % 3 == 2:
            found = replace(found, direction="lower", highest=None, worst=None, unit="mm")
        declared.append(replace(found, in_schemes=number < 2))
    case_names = [f"case_{number:04d}" for number in range(cases)]
    words = "'{}_pred.h5: long_mask' holds the value 7; a mask holds 0/1/2."
    return _ranking(
        names,
        means.tolist(),
        cases=case_names,
        troubles={
            row: [Trouble(case=case, status="failed", error=words.format(case)) for case in case_names[: 1 + row % 4]]
            for row in range(5, teams, 5)
        },
        groups=[(1 + row // 8, 0.3 if row % 8 else None) for row in range(teams)],
        finalists=0,
        columns=[
            replace(
                _column(
                    f"{each.name}.mean", each.title, each.direction, each.means, tuple(np.std(figures, axis=1)[order])
                ),
                headline=number < 4,
            )
            for number, (each, figures) in enumerate(zip(declared, values, strict=True))
        ],
        metrics=declared,
        by_scheme=by_scheme,
        score_title="Score",
        stability=_stability(frequencies, wins=frequencies[:, 0], replicates=300, seed=seed),
        interval=(-0.01, 0.02),
        ahead=(0.8,) * (teams - 1),
        tests=[
            _significance(f"metric_{number}", _plain(p), _plain(np.minimum(1, p * teams / 2)))
            for number in range(min(2, metrics))
        ],
        challenge="made-up",
        title="Plaque segmentation and vulnerability",
        version="2026.1",
        settings={"tolerance_px": 3.0, "weights": {"classification": 0.4, "segmentation": 0.4, "time": 0.2}},
    )


def _ranking(
    names: Sequence[str],
    scores: Sequence[float],
    *,
    cases: Sequence[str],
    troubles: Mapping[int, Sequence[Trouble]],
    groups: Sequence[tuple[int, float | None]],
    finalists: int,
    columns: Sequence[AggregateColumn],
    metrics: Sequence[CaseMetricResult],
    by_scheme: Mapping[str, tuple[int, ...]],
    score_title: str,
    stability: Stability,
    interval: tuple[float, float],
    ahead: Sequence[float],
    tests: Sequence[Significance],
    **about: Any,
) -> Ranking:
    """The teams are in the order of the ranking; `troubles` are by their row."""
    statuses: list[dict[str, Status]] = [
        {each.case: each.status for each in troubles.get(row, ())} for row in range(len(names))
    ]
    return Ranking(
        **about,
        division={},
        deciding_scheme="official",
        teams=tuple(
            Team(
                name=name,
                rank=row + 1,
                score=scores[row],
                score_interval=INTERVAL,
                group=groups[row][0],
                group_p=groups[row][1],
                tied_with=(),
                finalist=row < finalists,
                expected=len(cases),
                scored=len(cases) - len(statuses[row]),
                failed=list(statuses[row].values()).count("failed"),
                missing=list(statuses[row].values()).count("missing"),
                unmatched=0,
                troubles=tuple(troubles.get(row, ())),
            )
            for row, name in enumerate(names)
        ),
        cases=tuple(cases),
        statuses=tuple(tuple(found.get(case, "scored") for case in cases) for found in statuses),
        columns=tuple(columns),
        metrics=tuple(metrics),
        schemes=tuple(
            SchemeRanking(
                scheme=title.lower().replace(" ", "-"),
                title=title,
                words="teams are ranked by the mean over cases",
                score_title=score_title,
                score_direction="higher",
                ranks=ranks,
                scores=tuple(scores),
                score_intervals=(INTERVAL,) * len(names),
                stability=stability,
                why_no_stability=None,
            )
            for title, ranks in by_scheme.items()
        ),
        differences=tuple(
            Difference(
                better=names[row],
                worse=names[row + 1],
                difference=scores[row] - scores[row + 1],
                interval=interval,
                probability_ahead=share,
            )
            for row, share in enumerate(ahead)
        ),
        not_resampled=(),
        arena=None,
        scheme_taus=_plain(np.where(np.eye(len(by_scheme)), 1.0, 0.3333)),
        significance=tuple(tests),
        methods=_METHODS,
        notes=(),
    )


def _column(
    path: str, title: str, direction: Direction, values: Sequence[Any], errors: Sequence[Any]
) -> AggregateColumn:
    return AggregateColumn(
        path=path,
        title=title,
        direction=direction,
        headline=True,
        values=tuple(values),
        errors=tuple(map(float, errors)),
        intervals=(INTERVAL,) * len(values),
    )


def _metric(name: str, title: str, values: Matrix, means: Sequence[Any], intervals: Any) -> CaseMetricResult:
    return CaseMetricResult(
        **{"name": name, "title": title, "direction": "higher", "lowest": 0.0, "highest": 1.0, "worst": 0.0},
        **{"unit": "", "in_schemes": True, "undefined_cases": 0},
        means=tuple(means),
        mean_intervals=intervals,
        values=values,
    )


def _significance(metric: str, p: Sequence[Sequence[Any]], holm: Sequence[Sequence[Any]]) -> Significance:
    significant, after_holm = (
        tuple(tuple(value is not None and value <= 0.05 for value in row) for row in table) for table in (p, holm)
    )
    return Significance(
        metric=metric,
        p=tuple(map(tuple, p)),
        p_holm=tuple(map(tuple, holm)),
        significant=significant,
        significant_holm=after_holm,
    )


def _plain(values: NDArray[np.float64]) -> Matrix:
    """As tuples, None for NaN."""
    return tuple(tuple(None if np.isnan(value) else value for value in row) for row in values.tolist())


def _stability(
    frequencies: NDArray[np.float64], *, wins: Sequence[float] | NDArray[np.float64], replicates: int, seed: int
) -> Stability:
    size = len(frequencies)
    intervals = tuple(
        (int(np.searchsorted(row, 0.025, "right")) + 1, min(size, int(np.searchsorted(row, 0.975 - 1e-12)) + 1))
        for row in np.cumsum(frequencies, axis=1)
    )
    taus = np.clip(1 - np.abs(np.random.default_rng(seed).normal(0, 0.12, replicates)), -1, 1).round(3)
    return Stability(
        replicates=replicates,
        rank_frequencies=tuple(tuple(float(share) for share in row) for row in frequencies),
        rank_intervals=intervals,
        mean_ranks=tuple(float(row @ np.arange(1, size + 1)) for row in frequencies),
        win_probabilities=tuple(float(win) for win in wins),
        taus=Taus(
            values=tuple(float(tau) for tau in taus),
            undefined=0,
            mean=float(taus.mean()),
            median=float(np.median(taus)),
            lower_quartile=float(np.quantile(taus, 0.25)),
            upper_quartile=float(np.quantile(taus, 0.75)),
        ),
    )


_METHODS = Methods(
    **{"podium_version": "9.9.9", "python_version": "3.11.9", "numpy_version": "2.4.6", "scipy_version": "1.17.1"},
    **{"seed": 42, "bootstraps": 1000, "confidence": 0.95, "alpha": 0.05, "quantile": 0.05},
    sentences=(
        "Teams were ranked by their mean over all cases.",
        "Rank uncertainty was estimated by 1,000 bootstrap replicates over cases (seed 42).",
    ),
)
