"""Rankings made up for tests of the report: consistent in shape, their figures chosen or seeded here.

They are built with the classes that `podium rank` fills; nothing of the ranking itself is computed by podium's code.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from podium.platform.metrics_file import Status
from podium.tools.ranking.result import (
    AggregateColumn,
    CaseMetricResult,
    Difference,
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
    holm[1][3] = 0.1242372
    holm[0][3] = 0.1242372
    holm[2][3] = 0.704970
    holm[2][0] = 0.8108748
    frequencies = ((0.5, 0.3, 0.2, 0.0), (0.2, 0.5, 0.3, 0.0), (0.3, 0.2, 0.5, 0.0), (0.0, 0.0, 0.0, 1.0))
    stability = _stability(np.array(frequencies), wins=(0.5, 0.2, 0.3, 0.0), replicates=1000, seed=1)
    cases = tuple(f"c{number}" for number in range(1, 9))
    statuses: list[list[Status]] = [["scored"] * 8 for _ in names]
    statuses[3][2] = "missing"
    troubles = (Trouble(case="c3", status="missing", error=error),)
    by_scheme: dict[str, tuple[int | None, ...]] = {
        "Official": (1, 2, 3, 4),
        "Mean": (1, 2, 3, 4),
        "Median": (2, 3, 1, 4),
        "Rank then mean": (2, 3, 1, 4),
        "Test then rank": (1, 1, 3, 3),
    }
    return Ranking(
        challenge="golden",
        title="Four teams, eight cases",
        version="1.0",
        division={},
        settings={"tolerance_px": 3.0, "classes": [{"name": "low_risk", "value": 0}], "time": {"rule": "cohort"}},
        deciding_scheme="official",
        teams=tuple(
            Team(
                name=name,
                rank=row + 1,
                score=GOLDEN_MEANS[row],
                score_interval=INTERVAL,
                group=1 if row < 3 else 2,
                group_p=None if row in (0, 3) else 0.4,
                tied_with=(),
                finalist=row < 2,
                expected=8,
                scored=8 - (row == 3),
                failed=0,
                missing=int(row == 3),
                unmatched=0,
                troubles=troubles if row == 3 else (),
            )
            for row, name in enumerate(names)
        ),
        cases=cases,
        statuses=tuple(tuple(row) for row in statuses),
        columns=(
            AggregateColumn(
                path="dice.mean",
                title="Mean Dice",
                direction="higher",
                headline=True,
                values=GOLDEN_MEANS,
                errors=(0.024, 0.04, 0.21, 0.27),
                intervals=(INTERVAL,) * 4,
            ),
        ),
        metrics=(
            CaseMetricResult(
                name="dice",
                title="Dice",
                direction="higher",
                lowest=0.0,
                highest=1.0,
                worst=0.0,
                unit="",
                in_schemes=True,
                undefined_cases=0,
                means=GOLDEN_MEANS,
                mean_intervals=(INTERVAL,) * 4,
                values=GOLDEN_VALUES,
            ),
        ),
        schemes=tuple(
            SchemeRanking(
                scheme="official" if title == "Official" else title.lower().replace(" ", "-"),
                title=title,
                words="Teams were ranked by their mean Dice, higher being better.",
                score_title="Mean Dice",
                score_direction="higher",
                ranks=ranks,
                scores=GOLDEN_MEANS,
                score_intervals=(INTERVAL,) * 4,
                stability=stability,
                why_no_stability=None,
            )
            for title, ranks in by_scheme.items()
        ),
        differences=tuple(
            Difference(
                better=names[row],
                worse=names[row + 1],
                difference=GOLDEN_MEANS[row] - GOLDEN_MEANS[row + 1],
                interval=(-0.01, 0.12),
                probability_ahead=(0.6, 0.7, 1.0)[row],
            )
            for row in range(3)
        ),
        not_resampled=(),
        arena=None,
        scheme_taus=tuple(tuple(1.0 if i == j else 0.3333 for j in range(5)) for i in range(5)),
        significance=(
            Significance(
                metric="dice",
                p=p,
                p_holm=tuple(tuple(row) for row in holm),
                significant=tuple(tuple(v is not None and v <= 0.05 for v in row) for row in p),
                significant_holm=tuple(tuple(v is not None and v <= 0.05 for v in row) for row in holm),
            ),
        ),
        methods=_methods(),
        notes=(),
    )


def large_ranking(*, teams: int, cases: int, metrics: int, seed: int = 7) -> Ranking:
    """This number of teams and cases with seeded figures; the first team is the best, every fifth lost some cases."""
    random = np.random.default_rng(seed)
    names = [
        f"{ADJECTIVES[n % len(ADJECTIVES)]} {NOUNS[(3 * n) % len(NOUNS)]}" + (f" {n}" if n > 9 else "")
        for n in range(teams)
    ]
    quality = np.linspace(0.88, 0.80, teams)[:, None] + random.normal(0, 0.01, (teams, 1))
    difficulty = random.beta(1.4, 7, (1, cases))
    declared = []
    for number in range(metrics):
        noise = random.normal(0, 0.09, (teams, cases))
        values = np.clip(quality - 0.55 * difficulty * (1.6 - quality) + noise, 0, 1).round(5)
        if number % 3 == 2:
            values = (30 * (1 - values)).round(4)
        lower = number % 3 == 2
        declared.append(
            CaseMetricResult(
                name=f"metric_{number}",
                title=("Dice", "NSD", "HD95")[number % 3] + (f" {number}" if number > 2 else ""),
                direction="lower" if lower else "higher",
                lowest=0.0,
                highest=None if lower else 1.0,
                worst=None if lower else 0.0,
                unit="mm" if lower else "",
                in_schemes=number < 2,
                undefined_cases=0,
                means=tuple(values.mean(axis=1).tolist()),
                mean_intervals=tuple((mean - 0.01, mean + 0.01) for mean in values.mean(axis=1).tolist()),
                values=_as_table(values),
            )
        )
    main = np.array(declared[0].values, dtype=np.float64)
    means = main.mean(axis=1)
    order = np.argsort(-means)
    draws = random.integers(0, cases, (300, cases))
    replicate_means = np.stack([main[:, draw].mean(axis=1) for draw in draws])
    ranks = 1 + (replicate_means[:, None, :] > replicate_means[:, :, None]).sum(axis=2)
    frequencies = np.stack([(ranks == rank).mean(axis=0) for rank in range(1, teams + 1)], axis=1)[order]
    p = np.clip(random.beta(0.4, 1, (teams, teams)) * (1 - np.sign(means[order][:, None] - means[order]) * 0.9), 0, 1)
    p_table = tuple(tuple(None if i == j else float(p[i, j]) for j in range(teams)) for i in range(teams))
    holm = np.minimum(1, p * teams / 2)
    holm_table = tuple(tuple(None if i == j else float(holm[i, j]) for j in range(teams)) for i in range(teams))
    stability = _stability(frequencies, wins=frequencies[:, 0], replicates=300, seed=seed)
    titles = ("Official", "Mean then rank", "Median then rank", "Rank then mean", "Rank then median", "Test then rank")
    schemes = []
    for number, title in enumerate(titles):
        shaken = np.sort(-means) + (random.normal(0, 0.006, teams) if number else 0)
        scheme_ranks = 1 + (shaken[None, :] < shaken[:, None]).sum(axis=1)
        schemes.append(
            SchemeRanking(
                scheme="official" if not number else title.lower().replace(" ", "-"),
                title=title,
                words="Teams were ranked by the mean of their cases, higher being better.",
                score_title="Score",
                score_direction="higher",
                ranks=tuple(int(rank) for rank in scheme_ranks),
                scores=tuple(float(value) for value in means[order]),
                score_intervals=(INTERVAL,) * teams,
                stability=stability,
                why_no_stability=None,
            )
        )
    lost = {row: 1 + row % 4 for row in range(0, teams, 5) if row}
    statuses: list[tuple[Status, ...]] = []
    for row in range(teams):
        failed = lost.get(row, 0)
        statuses.append(("failed",) * failed + ("scored",) * (cases - failed))
    case_names = tuple(f"case_{number:04d}" for number in range(cases))
    ordered_metrics = tuple(
        replace(
            metric,
            values=tuple(metric.values[row] for row in order),
            means=tuple(metric.means[row] for row in order),
            mean_intervals=tuple((metric.mean_intervals or ())[row] for row in order),
        )
        for metric in declared
    )
    return Ranking(
        challenge="made-up",
        title="Plaque segmentation and vulnerability",
        version="2026.1",
        division={},
        settings={"tolerance_px": 3.0, "weights": {"classification": 0.4, "segmentation": 0.4, "time": 0.2}},
        deciding_scheme="official",
        teams=tuple(
            Team(
                name=names[row],
                rank=row + 1,
                score=float(means[order][row]),
                score_interval=INTERVAL,
                group=1 + row // 8,
                group_p=0.3 if row % 8 else None,
                tied_with=(),
                finalist=False,
                expected=cases,
                scored=cases - lost.get(row, 0),
                failed=lost.get(row, 0),
                missing=0,
                unmatched=0,
                troubles=tuple(
                    Trouble(
                        case=case_names[case],
                        status="failed",
                        error=f"'{case_names[case]}_pred.h5: long_mask' holds the value 7; a mask holds 0/1/2.",
                    )
                    for case in range(lost.get(row, 0))
                ),
            )
            for row in range(teams)
        ),
        cases=case_names,
        statuses=tuple(statuses),
        columns=tuple(
            AggregateColumn(
                path=f"{metric.name}.mean",
                title=metric.title,
                direction=metric.direction,
                headline=number < 4,
                values=tuple(float(np.mean(row)) for row in np.array(metric.values, dtype=float)),
                intervals=(INTERVAL,) * teams,
                errors=tuple(float(np.std(row)) for row in np.array(metric.values, dtype=float)),
            )
            for number, metric in enumerate(ordered_metrics)
        ),
        metrics=ordered_metrics,
        schemes=tuple(schemes),
        differences=tuple(
            Difference(
                better=names[row],
                worse=names[row + 1],
                difference=float(means[order][row] - means[order][row + 1]),
                interval=(-0.01, 0.02),
                probability_ahead=0.8,
            )
            for row in range(teams - 1)
        ),
        not_resampled=(),
        arena=None,
        scheme_taus=tuple(tuple(1.0 if i == j else 0.9 for j in range(len(titles))) for i in range(len(titles))),
        significance=tuple(
            Significance(
                metric=f"metric_{number}",
                p=p_table,
                p_holm=holm_table,
                significant=tuple(tuple(v is not None and v <= 0.05 for v in row) for row in p_table),
                significant_holm=tuple(tuple(v is not None and v <= 0.05 for v in row) for row in holm_table),
            )
            for number in range(min(2, metrics))
        ),
        methods=_methods(),
        notes=(),
    )


def _stability(
    frequencies: NDArray[np.float64], *, wins: Sequence[float] | NDArray[np.float64], replicates: int, seed: int
) -> Stability:
    cumulative = np.cumsum(frequencies, axis=1)
    size = len(frequencies)
    intervals = tuple(
        (
            int(np.searchsorted(row, 0.025, side="right")) + 1,
            min(size, int(np.searchsorted(row, 0.975 - 1e-12)) + 1),
        )
        for row in cumulative
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


def _methods() -> Methods:
    return Methods(
        podium_version="9.9.9",
        python_version="3.11.9",
        numpy_version="2.4.6",
        scipy_version="1.17.1",
        seed=42,
        bootstraps=1000,
        confidence=0.95,
        alpha=0.05,
        quantile=0.05,
        sentences=(
            "Teams were ranked by their mean over all cases.",
            "Rank uncertainty was estimated by 1,000 bootstrap replicates over cases (seed 42).",
        ),
    )


def _as_table(values: NDArray[np.float64]) -> tuple[tuple[float | None, ...], ...]:
    return tuple(tuple(float(value) for value in row) for row in values)


ADJECTIVES = ("Amber", "Brisk", "Calm", "Deft", "Eager", "Fabled", "Gentle", "Humble", "Inked", "Jolly")
NOUNS = ("Vessel", "Plaque", "Lumen", "Intima", "Probe", "Speckle", "Doppler")
