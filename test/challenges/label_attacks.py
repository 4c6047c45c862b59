"""A participant who wants the hidden labels: challenges, submissions and guesses, on figures alone.

`least_squares` is the generic attack on any figure: the figures of random submissions, and the labels most likely given
these. It knows the challenge's code, so it knows how every figure depends on the labels: from label vectors drawn at
random it learns the covariance of labels and figures, which gives the best linear guess. Of accuracies this is least
squares.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from podium.challenges import challenge_from_settings
from podium.challenges.challenge import AnyChallenge
from podium.figures import get, holds, leaves
from podium.metrics.aggregation import CohortValues
from podium.metrics.declaration import HALF_WIDTH
from podium.metrics.resampling import Resamples
from podium.platform.jobs import Runtime
from podium.platform.metrics_file import CaseResult

Labels = NDArray[np.int64]
OF_CLASSES = ("accuracy", "balanced_accuracy", "f1", "sensitivity", "specificity", "mcc", "kappa")
OF_PROBABILITIES = ("auroc", "average_precision", "brier", "log_loss", "ece")
CLASSES = "abcd"
_WORLDS = 2000  # label vectors drawn at random
_KEY = b"secret of the ground truth"


def challenge(kinds: Sequence[str], *, classes: int = 2, grouped: bool = False) -> AnyChallenge:
    """A declared challenge of one value, a probability if one of the metrics needs it, with hidden cases."""
    is_probability = any(kind in OF_PROBABILITIES for kind in kinds)
    names = CLASSES[:classes]
    value: dict[str, Any] = {"table": "p.csv", "column": "p"}
    if is_probability:
        value |= {"kind": "probability", "positive": "b"}
    else:
        value |= {"kind": "class", "classes": {name: number for number, name in enumerate(names)}}
    settings: dict[str, Any] = {
        "values": {"v": value},
        "metrics": [{"kind": kind} | ({"clip": 0.01} if kind == "log_loss" else {}) for kind in kinds],
        "ranking": {"by": kinds[0] + (".macro" if kinds[0] == "f1" else "")},
    }
    if grouped:
        settings["cases"] = {"groups": "^(?P<group>[^-]+)-"}
    return challenge_from_settings("x", "declared", settings)


def names(cases: int, *, group: int | None = None) -> list[str]:
    """The names of the cases, in groups of this size."""
    return [f"g{number // (group or cases):03}-{number:04}" for number in range(cases)]


def facts(challenged: AnyChallenge, label: int, given: Any) -> dict[str, Any]:
    """What a row keeps of a class, of a probability of class b, or of no answer (None)."""
    settings = next(iter(challenged.values.values())).settings  # type: ignore[attr-defined]
    known = list(settings.class_table)
    true, answer = known[label], None if given is None else known[round(given)]
    found: dict[str, Any] = {"reference": true, "prediction": answer, "correct": int(answer == true)}
    if settings.kind == "probability":
        found["prediction"] = None if given is None else {known[0]: 1 - float(given), known[1]: float(given)}
    return {"v": found}


def rows(challenged: AnyChallenge, cases: Sequence[str], labels: Labels, predicted: Sequence[Any]) -> list[CaseResult]:
    """The rows of a submission."""
    return [
        CaseResult(
            case=case,
            status="missing" if given is None else "scored",
            error=None if given is not None else "missing",
            metrics=facts(challenged, label, given),
            groups=challenged.cases.groups_of(case),
        )
        for case, label, given in zip(cases, labels, predicted, strict=True)
    ]


def exact(challenged: AnyChallenge, results: Sequence[CaseResult], key: bytes = _KEY) -> Mapping[str, Any]:
    """Everything, as per_case = \"full\" publishes it."""
    return challenged.aggregate(results, Runtime(), seed=int.from_bytes(key))


def published(challenged: AnyChallenge, results: Sequence[CaseResult], key: bytes = _KEY) -> Mapping[str, Any]:
    """What participants see of a submission with `per_case = "none"`."""
    return challenged.published(exact(challenged, results, key), results, per_case="none", decimals=4, key=key)


def random_submission(challenged: AnyChallenge, cases: int, generator: np.random.Generator, *, sure: bool) -> list[Any]:
    """Classes at random, or probabilities: `sure` of them 0.01 or 0.99, else anything."""
    settings = next(iter(challenged.values.values())).settings  # type: ignore[attr-defined]
    if settings.kind == "class":
        return list(generator.integers(0, len(settings.class_table), cases))
    drawn = generator.random(cases)
    return list(np.where(drawn < 0.5, 0.01, 0.99) if sure else drawn)


def least_squares(
    challenged: AnyChallenge,
    cases: Sequence[str],
    answers: Sequence[tuple[Sequence[Any], Mapping[str, Any]]],
    paths: Sequence[str],
    *,
    generator: np.random.Generator,
    classes: int = 2,
) -> Labels:
    """The labels guessed from submissions and the figures at these paths that they were answered with."""
    number = len(cases)
    worlds = generator.integers(0, classes, (_WORLDS, number))
    held = worlds[:, :, None] == np.arange(classes)
    draws = Resamples(np.ascontiguousarray(held.reshape(_WORLDS, -1).astype(np.int32)))
    groups = [(case.partition("-")[0],) for case in cases for _ in range(classes)]
    columns, observed, noise = [], [], []
    for predicted, found in answers:
        pseudo = [facts(challenged, label, given) for given in predicted for label in range(classes)]
        values = CohortValues(challenged.scoreboard, pseudo, draws, {}, groups)
        for path in paths:
            if not holds(found, path):
                continue
            if path.endswith(HALF_WIDTH):
                column = _half_width(path, pseudo, draws)
            else:
                column = _entry(path, predicted, worlds) if path.startswith("confusion") else values[path]
            if column is None:
                continue
            mean = np.nanmean(column)
            columns.append(np.where(np.isnan(column), mean, column) - mean)
            observed.append(get(found, path) - mean)
            unit = 10.0 ** -max(_decimals(get(other, path)) for _, other in answers if holds(other, path))
            noise.append(unit**2 / 12)
    if not columns:
        return np.asarray(generator.integers(0, classes, number))
    figures = np.stack(columns, axis=1)
    within = figures.T @ figures / _WORLDS + np.diag(np.array(noise) + 1e-12)
    weights = np.linalg.lstsq(within, np.array(observed), rcond=1e-9)[0]
    scores = [
        (held[:, :, each] - held[:, :, each].mean(axis=0)).T @ figures / _WORLDS @ weights for each in range(classes)
    ]
    return np.asarray(np.argmax(scores, axis=0))


def _half_width(path: str, pseudo: Sequence[Mapping[str, Any]], draws: Resamples) -> NDArray[np.float64] | None:
    """What an interval would be without the draws, which are secret: 1.96 standard errors of a mean over cases."""
    if path.startswith("accuracy"):
        values = np.array([row["v"]["correct"] for row in pseudo], dtype=float)
    elif path.startswith("brier"):
        values = np.array([(row["v"]["prediction"]["b"] - (row["v"]["reference"] == "b")) ** 2 for row in pseudo])
    else:
        return None
    variance = draws.mean(values**2) - draws.mean(values) ** 2
    return np.asarray(1.96 * np.sqrt(np.maximum(variance, 0.0) / draws.sizes))


def _entry(path: str, predicted: Sequence[Any], worlds: Labels) -> NDArray[np.float64]:
    _, true, said = path.split(".")
    return np.asarray(
        (worlds == CLASSES.index(true))[:, np.array([CLASSES[each] == said for each in predicted])].sum(axis=1), float
    )


def _decimals(value: float) -> int:
    """The decimals that a number shows; below 0 of a whole number that ends in zeros."""
    if isinstance(value, int):
        text = str(value)
        return len(text.rstrip("0")) - len(text) if value else -9
    return len(repr(value).partition(".")[2]) if value != int(value) else 0


def share_right(
    challenged: AnyChallenge,
    *,
    cases: int,
    submissions: int,
    seeds: Sequence[int],
    publish: Callable[[AnyChallenge, list[CaseResult]], Mapping[str, Any]] = published,
    group: int | None = None,
    sure: bool = True,
    classes: int = 2,
    only: Callable[[str], bool] = lambda _: True,
) -> float:
    """The share of labels that the generic attack guesses right, over some sets of labels."""
    shares = []
    for seed in seeds:
        generator = np.random.default_rng(seed)
        labels = generator.integers(0, classes, cases)
        called = names(cases, group=group)
        answers = []
        for _ in range(submissions):
            predicted = random_submission(challenged, cases, generator, sure=sure)
            answers.append((predicted, publish(challenged, rows(challenged, called, labels, predicted))))
        paths = sorted(
            {path for _, found in answers for path, _ in leaves(found) if only(path) and "missing" not in path}
        )
        paths = [path for path in paths if not path.endswith("_group_mean")]
        guessed = least_squares(challenged, called, answers, paths, generator=generator, classes=classes)
        shares.append(float((guessed == labels).mean()))
    return float(np.mean(shares))
