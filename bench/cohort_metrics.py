"""Times the figures of a cohort on 10,000 cases and 1,000 bootstrap replicates, beside the field's packages in a loop.

    python bench/cohort_metrics.py

Cases are made on the fly from one seed. The loop writes out the cases of a replicate and calls the package; its time is
scaled up from a few replicates. Both must give the same figures to 1e-9, or the run fails.
"""

import resource
import time
from collections.abc import Callable

import numpy as np
import sklearn.metrics as sk
from rich import box
from rich.console import Console
from rich.table import Table
from scipy import stats
from threadpoolctl import threadpool_limits

from podium.metrics import Floats, classification
from podium.metrics import classification as probability
from podium.metrics import regression as number
from podium.metrics import regression as survival
from podium.metrics.resampling import Resamples

SEED = 20260
CASES, REPLICATES, LOOPED = 10_000, 1_000, 5
Ours = Callable[[Resamples], Floats]
Theirs = Callable[[np.ndarray], float] | None
"""The figure of the cases with these numbers."""


def main() -> None:
    threadpool_limits(limits=1)  # as the command line does
    resamples = Resamples.draw(cases=CASES, replicates=REPLICATES, seed=0)
    table = Table(title=f"{CASES:,} cases, {REPLICATES:,} replicates, one thread", box=box.SIMPLE)
    for heading in ("figure", "seconds", "package in a loop", "times faster"):
        table.add_column(heading, justify="left" if heading == "figure" else "right")
    for family, figures in (("class and probability", classes()), ("number", numbers()), ("survival", survivals())):
        total = 0.0
        for name, (ours, theirs) in figures.items():
            seconds, found = timed(lambda ours=ours: ours(resamples))
            total += seconds
            table.add_row(name, f"{seconds:.2f}", *compared(found, seconds, theirs, resamples))
        table.add_row(f"all of {family}", f"{total:.2f}", "", "", end_section=True)
    console = Console()
    console.print(table)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    console.print(f"Largest memory of the process, imports and the draws included: {peak / 1024:.0f} MiB.")


def compared(found: Floats, seconds: float, theirs: Theirs, resamples: Resamples) -> tuple[str, str]:
    if theirs is None:
        return "-", "-"
    drawn = [np.repeat(np.arange(CASES), counts) for counts in resamples.counts[:LOOPED]]
    looped, expected = timed(lambda: [theirs(cases) for cases in drawn])
    np.testing.assert_allclose(found[:LOOPED], expected, rtol=0, atol=1e-9)
    scaled = looped * REPLICATES / LOOPED
    return f"{scaled:.1f}", f"{scaled / seconds:.0f}"


def timed(work: Callable[[], Floats | list[float]]) -> tuple[float, Floats | list[float]]:
    began = time.perf_counter()
    result = work()
    return time.perf_counter() - began, result


def classes() -> dict[str, tuple[Ours, Theirs]]:
    generator = np.random.default_rng(SEED)
    positive = generator.random(CASES) < 0.2
    # Two decimals: many equal probabilities, as teams hand in.
    risk = np.round(1 / (1 + np.exp(2 - 2 * positive + generator.normal(0, 1, CASES))), 2)
    grade = generator.integers(0, 5, CASES)
    found = np.clip(grade + generator.integers(-1, 2, CASES), 0, 4)
    spread = np.exp(generator.normal(0, 1, (CASES, 5)) + 2 * (grade[:, None] == np.arange(5)))
    shares = spread / spread.sum(axis=1, keepdims=True)

    def binary(ours: Callable[..., Floats], theirs: Callable[..., float] | None) -> tuple[Ours, Theirs]:
        return (
            lambda resamples: ours(prediction=risk, reference=positive, resamples=resamples),
            theirs and (lambda cases: theirs(positive[cases], risk[cases])),
        )

    def graded(ours: Callable[..., Floats], theirs: Callable[..., float]) -> tuple[Ours, Theirs]:
        return (
            lambda resamples: ours(
                classification.confusion(prediction=found, reference=grade, classes=5, resamples=resamples)
            ),
            lambda cases: theirs(grade[cases], found[cases]),
        )

    return {
        "auroc": binary(probability.auroc, sk.roc_auc_score),
        "average_precision": binary(probability.average_precision, sk.average_precision_score),
        "brier": binary(probability.brier, sk.brier_score_loss),
        "log_loss": binary(probability.log_loss, sk.log_loss),
        "ece": binary(probability.ece, None),
        "auroc of 5 classes": (
            lambda resamples: probability.auroc(prediction=shares, reference=grade, resamples=resamples),
            lambda cases: sk.roc_auc_score(grade[cases], shares[cases], multi_class="ovr"),
        ),
        "accuracy": graded(classification.accuracy, sk.accuracy_score),
        "balanced_accuracy": graded(classification.balanced_accuracy, sk.balanced_accuracy_score),
        "f1.macro": graded(classification.f1_macro, lambda y, p: sk.f1_score(y, p, average="macro")),
        "mcc": graded(classification.mcc, sk.matthews_corrcoef),
        "kappa, quadratic": graded(
            lambda counts: classification.kappa(counts, weights="quadratic"),
            lambda y, p: sk.cohen_kappa_score(y, p, weights="quadratic"),
        ),
    }


def numbers() -> dict[str, tuple[Ours, Theirs]]:
    generator = np.random.default_rng(SEED)
    true = np.round(generator.normal(120, 40, CASES))
    found = np.round(true + generator.normal(2, 12, CASES), 1)

    def figure(ours: Callable[..., Floats], theirs: Callable[..., float] | None) -> tuple[Ours, Theirs]:
        return (
            lambda resamples: ours(prediction=found, reference=true, resamples=resamples),
            theirs and (lambda cases: theirs(true[cases], found[cases])),
        )

    return {
        "rmse": figure(number.rmse, sk.root_mean_squared_error),
        "median_absolute_error": figure(number.median_absolute_error, sk.median_absolute_error),
        "bias": figure(number.bias, None),
        "r2": figure(number.r2, sk.r2_score),
        "pearson": figure(number.pearson, lambda y, p: stats.pearsonr(p, y).statistic),
        "spearman": figure(number.spearman, lambda y, p: stats.spearmanr(p, y).statistic),
        "icc": figure(number.icc, None),
        "ccc": figure(number.ccc, None),
    }


def survivals() -> dict[str, tuple[Ours, Theirs]]:
    generator = np.random.default_rng(SEED)
    risks = np.round(generator.normal(0, 1, CASES), 2)
    times = np.ceil(generator.exponential(30 * np.exp(-risks)))
    events = generator.random(CASES) < 0.6

    def literal(cases: np.ndarray) -> float:
        """All pairs at once, in numpy."""
        time, event, risk = times[cases], events[cases], risks[cases]
        right = comparable = 0
        for first in np.flatnonzero(event):
            later = risk[(time > time[first]) | ((time == time[first]) & ~event)]
            comparable += later.size
            right += np.count_nonzero(later < risk[first]) + np.count_nonzero(later == risk[first]) / 2
        return right / comparable

    return {
        "c_index (loop: numpy)": (
            lambda resamples: survival.c_index(prediction=risks, times=times, events=events, resamples=resamples),
            literal,
        )
    }


if __name__ == "__main__":
    main()
