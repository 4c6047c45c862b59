"""Counts how often 95 % intervals of rankings contain the truth, and how often equal teams fall into several groups.

    scripts/bench.sh coverage [--data-sets 2000] [--only intervals groups]

Both tables are in docs/ranking.md. Intervals: data sets of independent cases are drawn from a known distribution; each
gets the expanded percentile interval that `podium rank` gives it. Groups: all teams are equally good, so that every
ranking with more than one group is an error; the score is a mean over cases (a studentised bootstrap over all pairs)
or is treated as a formula (Holm's method over all pairs). Everything is drawn from fixed seeds; six minutes of CPU.
"""

import argparse
import math
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

from podium.challenges import load_challenge
from podium.challenges.ground_truth import read_challenge_folders
from podium.figures import put
from podium.metrics import Floats, classification
from podium.metrics.aggregation import CohortValues
from podium.metrics.declaration import Metric
from podium.metrics.resampling import Resamples
from podium.tools.ranking.comparisons import max_t_over_pairs, paired_p_over_pairs, rank_groups
from podium.tools.ranking.schemes import MEAN, RankingOptions, apply_scheme, case_table, enough_replicates
from podium.tools.ranking.statistics import percentile_intervals

CASES, CASES_OF_GROUPS, TEAMS = (8, 12, 20, 50), (12, 20, 50, 200), (2, 4, 6, 10)
AT_ONCE = 25  # data sets that share their draws
OPTIONS = RankingOptions()
METRIC = Metric(name="m", title="M", direction="higher", lowest=-math.inf, highest=math.inf, worst=-math.inf)
CAROTID = Path(__file__).resolve().parents[1] / "ground-truth/carotid"
TIME_SCORE = 70.0

Generator = np.random.Generator
Figures = Callable[[Generator, int, Resamples], Floats]
"""A figure in every replicate of data sets with this many cases: `[replicate, data set]`."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data-sets", type=int, default=2000, metavar="N", help="per cell of a table [%(default)s]")
    tables = {"intervals": coverage_table, "groups": groups_table}
    parser.add_argument("--only", nargs="+", choices=tables, default=list(tables), help="[both tables]")
    options = parser.parse_args()
    threadpool_limits(limits=1)
    for name in options.only:
        began = time.process_time()
        tables[name](options.data_sets)
        print(f"\n{options.data_sets} data sets per cell, {time.process_time() - began:.0f} s of CPU\n", flush=True)


def print_row(cells: Sequence[object]) -> None:
    print(f"| {' | '.join(map(str, cells))} |", flush=True)


# Intervals.


def coverage_table(data_sets: int) -> None:
    figures: dict[str, tuple[Figures, float]] = {
        "mean of Beta(8, 2)": (mean, 0.8),
        "difference of two such means, paired": (difference, 0.02),
        "AUROC of 0.70": (partial(auroc, apart=0.75), math.erfc(-0.75 / 2) / 2),
        "macro F1, 70 % right": (partial(f1, right=0.7), 0.7),
        "score of carotid, 70 % right": (carotid(right=0.7), 40 * 0.7 + 40 * 0.8 + 0.2 * TIME_SCORE),
        "AUROC of 0.81": (partial(auroc, apart=1.25), math.erfc(-1.25 / 2) / 2),
        "macro F1, 80 % right": (partial(f1, right=0.8), 0.8),
        "mean, 10 % of the cases fail with 0": (partial(mean, failing=0.1), 0.72),
    }
    print_row(["figure", *(f"{cases} cases" for cases in CASES)])
    print_row(["---", *("---:" for _ in CASES)])
    for title, (figure, truth) in figures.items():
        print_row([title, *(f"{100 * coverage(figure, truth, cases, data_sets):.1f} %" for cases in CASES)])


def coverage(figure: Figures, truth: float, cases: int, data_sets: int) -> float:
    """The share of data sets whose interval contains the truth; one without an interval does not."""
    inside = []
    for seed in range(math.ceil(data_sets / AT_ONCE)):
        generator = np.random.default_rng([seed, cases])
        replicates = enough_replicates(OPTIONS, cases=cases)
        drawn = figure(generator, cases, Resamples.draw(cases=cases, replicates=replicates, seed=seed))
        for ends in percentile_intervals(drawn, confidence=OPTIONS.confidence, cases=cases):
            inside.append(ends is not None and ends[0] <= truth <= ends[1])
    return float(np.mean(inside[:data_sets]))


def mean(generator: Generator, cases: int, resamples: Resamples, *, failing: float = 0.0) -> Floats:
    values = generator.beta(8, 2, (cases, AT_ONCE)) * (generator.random((cases, AT_ONCE)) >= failing)
    return resamples.mean(values)


def difference(generator: Generator, cases: int, resamples: Resamples) -> Floats:
    """Two teams share the difficulty of the cases."""
    difficulty = generator.beta(8, 2, (2, cases, AT_ONCE))
    own = generator.normal(0, 0.05, (2, cases, AT_ONCE))
    return resamples.mean(0.02 + difficulty[0] + own[0]) - resamples.mean(difficulty[0] + own[1])


def auroc(generator: Generator, cases: int, resamples: Resamples, *, apart: float) -> Floats:
    """Both classes are equally frequent; the scores of each are normal with variance 1, their means so far apart."""
    found = []
    for reference in generator.random((AT_ONCE, cases)) < 0.5:
        scores = generator.normal(apart * reference, 1)
        found.append(classification.auroc(prediction=scores, reference=reference, resamples=resamples))
    return np.stack(found, axis=1)


def predicted_classes(generator: Generator, cases: int, right: float) -> tuple[np.ndarray, np.ndarray]:
    """Truth and prediction of two equally frequent classes."""
    truth = generator.integers(0, 2, cases)
    return truth, np.where(generator.random(cases) < right, truth, 1 - truth)


def f1(generator: Generator, cases: int, resamples: Resamples, *, right: float) -> Floats:
    found = []
    for _ in range(AT_ONCE):
        truth, prediction = predicted_classes(generator, cases, right)
        counts = classification.confusion(prediction=prediction, reference=truth, classes=2, resamples=resamples)
        found.append(classification.f1_macro(counts))
    return np.stack(found, axis=1)


def carotid(*, right: float) -> Figures:
    """The formula of the bundled challenge: macro F1, eight means of Dice and NSD that share a case's quality, and a
    time that is the same in all replicates."""
    (folder,) = read_challenge_folders(CAROTID).values()
    board = load_challenge(folder).scoreboard
    names = [metric.name for metric in board.metrics if metric.name.startswith(("dice.", "nsd."))]
    risks = ("low_risk", "high_risk")

    def figure(generator: Generator, cases: int, resamples: Resamples) -> Floats:
        found = []
        for _ in range(AT_ONCE):
            truth, prediction = predicted_classes(generator, cases, right)
            rows = []
            for case, quality in enumerate(generator.beta(8, 2, cases)):
                true, answer = risks[truth[case]], risks[prediction[case]]
                row = {"risk": {"reference": true, "prediction": answer, "correct": int(true == answer)}}
                for name, noise in zip(names, generator.uniform(-0.05, 0.05, len(names)), strict=True):
                    put(row, name, float(quality + noise))
                rows.append(row)
            found.append(CohortValues(board, rows, resamples, {"time_score": TIME_SCORE})["score"])
        return np.stack(found, axis=1)

    return figure


# Groups.


def groups_table(data_sets: int) -> None:
    print_row(["teams", *(f"{cases} cases" for cases in CASES_OF_GROUPS)])
    print_row(["---:", *("---:" for _ in CASES_OF_GROUPS)])
    for teams in TEAMS:
        shares = [several_groups(teams, cases, data_sets) for cases in CASES_OF_GROUPS]
        print_row([teams, *(f"{100 * means:.1f} %, {100 * formulas:.1f} %" for means, formulas in shares)])


def several_groups(teams: int, cases: int, data_sets: int) -> tuple[float, float]:
    """The shares of rankings of equal teams with more than one group: of means, and of formulas."""
    replicates, found = enough_replicates(OPTIONS, cases=cases), []
    for seed in range(data_sets):
        generator = np.random.default_rng([seed, teams, cases])
        values = generator.beta(8, 2, cases) + generator.normal(0, 0.05, (teams, cases))
        table, draws = (
            case_table(METRIC, values),
            Resamples.draw(cases=cases, replicates=replicates, seed=seed),
        )
        full, drawn = (apply_scheme(MEAN, [table], each, OPTIONS) for each in (Resamples.whole(cases), draws))
        order = np.argsort(-full.scores[0])
        of_pairs = (max_t_over_pairs(values, draws), paired_p_over_pairs(full, drawn, cases=cases))
        groups = (rank_groups(full.scores[0, order], p[np.ix_(order, order)], alpha=OPTIONS.alpha)[0] for p in of_pairs)
        found.append([max(each) > 1 for each in groups])
    means, formulas = np.mean(found, axis=0).tolist()
    return means, formulas


if __name__ == "__main__":
    main()
