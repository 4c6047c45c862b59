"""The same participant against any metric of the catalogue: one binary secret per case, such as a region that is there
or not, and a menu of predictions whose effects on the figure differ.

`share_read` is the adaptive attack: each submission asks about a few cases by predictions whose effects halve from one
to the next, all others get the prediction with the least effect, and of all labels of these cases those are guessed
whose figures are nearest to the published ones. Of Brier scores this is the binary number of the labels.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from challenges.declared.test_left_out import NEEDED, SIDES, assembled_board, boxes, points, scored, with_probabilities
from challenges.label_attacks import Labels, names
from numpy.typing import NDArray

from podium.challenges import challenge_from_settings
from podium.challenges.declared.values.scalars import SurvivalTime
from podium.challenges.samples import CaseImage
from podium.figures import leaves
from podium.metrics.aggregation import CohortValues
from podium.metrics.resampling import Resamples
from podium.platform.jobs import Runtime
from podium.platform.metrics_file import CaseResult

Publish = Callable[["Menu", Sequence[CaseResult]], Mapping[str, Any]]
_OTHERS = 4  # how often the labels that are not asked about are drawn


def mask(voxels: int) -> CaseImage:
    return CaseImage((np.arange(64) < voxels).astype(np.uint8).reshape(8, 8), None)


def picture(share: float) -> CaseImage:
    """Noise, large enough for five scales, with this share of a bright square."""
    pixels = np.random.default_rng(0).random((176, 176)) / 2
    pixels[40:120, 40:120] += 0.4 * share
    return CaseImage(pixels, None)


def found(of: Any) -> Sequence[Any]:
    sure = [([], []), *(([5], [share]) for share in (0.1, 0.3, 0.5, 0.9))]
    return [with_probabilities(of(places), shares) for places, shares in (*sure, ([5, 15, 12], [0.8, 0.6, 0.1]))]


def heat(share: float, pixels: int = 2) -> CaseImage:
    values = np.where((np.arange(16) >= 5) & (np.arange(16) < 5 + pixels), share, 0).astype(np.float32)
    return CaseImage(values.reshape(4, 4), None)


def at(place: float) -> NDArray[np.float64]:
    return np.array([place, 5.0])


def classes(share: float) -> dict[str, float]:
    return {"low": share, "mid": 0.02, "high": 0.98 - share}


HALVES = [0.5**power for power in range(1, 8)]
MENUS: Mapping[str, tuple[Sequence[Any], Sequence[Any]]] = {
    "labels": ([mask(0), mask(16)], [mask(size) for size in (0, 1, 2, 4, 8, 16, 20, 26, 32, 40, 50, 64)]),
    "instances": ([mask(0), mask(16)], [mask(size) for size in (0, 4, 16, 26, 40, 64)]),
    "image": ([picture(0), picture(1)], [picture(each) for each in (0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.55, 0.7, 1)]),
    "number": ([1.0, 2.0], [0.0, 1.5, 8.0, *(1.5 + sign * each for sign in (-1, 1) for each in HALVES)]),
    "class": (["low", "high"], ["low", "mid", "high"]),
    "probability": (["low", "high"], [classes(each) for each in (0.1, 0.3, 0.49, 0.5, 0.55, 0.6, 0.7, 0.8, 0.97)]),
    "binary": (["ill", "not_ill"], [{"ill": each, "not_ill": 1 - each} for each in (0.01, 0.99, *HALVES, 0.51, 0.66)]),
    "findings": (
        [{"one": label, "two": 1 - label} for label in (0, 1)],
        [{"one": each, "two": 0.25} for each in (0.01, 0.99, *HALVES, 0.51, 0.66)],
    ),
    "landmarks": (
        [{"a": at(0)}, {"a": at(4)}],
        [{"a": at(2 + sign * 2 * each)} for sign in (-1, 1) for each in (0, 1, *HALVES)],
    ),
    "points": ([points([]), points([5])], found(points)),
    "boxes": ([boxes([]), boxes([5])], found(boxes)),
    "detection_map": ([heat(0), heat(1)], [heat(each) for each in (0, 0.1, 0.3, 0.5, 0.9)] + [heat(0.6, 8)]),
    "text": (["a b c d", "a b c e"], ["a b c d", "d", "e", "a b c d x x", "e x x x x", "e" + " x" * 20, "a a a"]),
    "survival": ([SurvivalTime(3.0, True), SurvivalTime(5.0, True)], [0.0, 1.0, 2.0, 3.0, 4.0]),
}


class Menu:
    """A challenge of one metric with hidden cases, and the rows of every prediction under both labels; the last
    prediction is none."""

    def __init__(self, kind: str, value: str, *, grouped: bool) -> None:
        settings = {"kind": "probability" if value == "binary" else value, **SIDES[value].value}
        settings |= {"reference": settings["file"]} if "file" in settings else {}
        tables: dict[str, Any] = {"engine": "native", "values": {"v": settings}}
        tables["metrics"] = [{"kind": kind, **NEEDED.get(kind, {}), **NEEDED.get(value, {})}]
        if grouped:
            tables["cases"] = {"groups": "^(?P<group>[^-]+)-"}
        self.challenge = challenge_from_settings(
            "t", "declared", {**tables, "ranking": {"by": assembled_board(tables)}}
        )
        references, predictions = MENUS[value]
        self.rows = [[scored(self.challenge, true, each) for true in references] for each in (*predictions, None)]

    def results(self, called: Sequence[str], labels: Labels, chosen: Labels) -> list[CaseResult]:
        return [
            self.rows[each][label].result(name).model_copy(update={"groups": self.challenge.cases.groups_of(name)})
            for name, label, each in zip(called, labels, chosen, strict=True)
        ]

    def values(self, called: Sequence[str], chosen: Labels, worlds: Labels) -> CohortValues:
        """Every figure under each of these label vectors."""
        counts = (worlds[:, :, None] == np.arange(2)).reshape(len(worlds), -1).astype(np.int32)
        rows = [row.metrics for each in chosen for row in self.rows[each]]
        groups = [self.challenge.cases.groups_of(name) for name in called for _ in range(2)]
        return CohortValues(self.challenge.scoreboard, rows, Resamples(np.ascontiguousarray(counts)), {}, groups)

    @cached_property
    def effects(self) -> NDArray[np.float64]:
        """How much the label of a case moves the leaderboard's figure of 40 cases, by its prediction."""
        generator, moves = np.random.default_rng(0), []
        path, called = self.challenge.scoreboard.leaderboard[0], names(40)
        for own in range(len(self.rows)):
            chosen, worlds = generator.integers(0, len(self.rows), 40), generator.integers(0, 2, (100, 40))
            chosen[0] = own
            one, other = (self.values(called, chosen, with_first(worlds, label))[path] for label in (0, 1))
            moves.append(np.abs(one - other)[~np.isnan(one - other)].sum() / 100)
        return np.array(moves)

    @property
    def halving(self) -> list[int]:
        """Predictions whose effects halve, about, from one to the next."""
        picked: list[int] = []
        for each in np.argsort(-self.effects).tolist():
            if not picked or 0 < self.effects[each] <= 0.65 * self.effects[picked[-1]]:
                picked.append(each)
        return picked


def with_first(worlds: Labels, label: int) -> Labels:
    return np.concatenate([np.full((len(worlds), 1), label), worlds[:, 1:]], axis=1)


def exact(menu: Menu, results: Sequence[CaseResult]) -> Mapping[str, Any]:
    return menu.challenge.aggregate(results, Runtime())


def published(menu: Menu, results: Sequence[CaseResult]) -> Mapping[str, Any]:
    return menu.challenge.published(exact(menu, results), results, per_case="none", decimals=4, key=b"secret")


def share_read(
    menu: Menu, publish: Publish, *, cases: int, submissions: int, asked: int, seed: int, group: int | None = None
) -> float:
    """The share of labels that the adaptive attack guesses right."""
    generator, called = np.random.default_rng(seed), names(cases, group=group)
    labels, guessed = (generator.integers(0, 2, cases) for _ in range(2))
    predictions, places = menu.halving, generator.permutation(cases)
    codes = np.arange(2**asked)
    bits = codes[:, None] >> np.arange(asked) & 1
    for first in range(0, min(submissions * asked, cases - asked + 1), asked):
        own = places[first : first + asked]
        chosen = np.full(cases, int(np.argmin(menu.effects)))
        chosen[own] = [predictions[number % len(predictions)] for number in range(asked)]
        answer = dict(leaves(publish(menu, menu.results(called, labels, chosen))))
        misfit = np.zeros(codes.size)
        for _ in range(_OTHERS):
            worlds = np.repeat(generator.integers(0, 2, (1, cases)), codes.size, axis=0)
            worlds[:, own] = bits
            values = menu.values(called, chosen, worlds)
            for path, value in answer.items():
                if path.partition(".")[0] not in ("confusion_matrix", "scored_cases"):
                    figures = np.broadcast_to(values[path], codes.shape)
                    misfit += np.where(np.isnan(figures), 9, np.abs(figures - value) / (np.nanstd(figures) + 1e-12))
        shares = bits[misfit <= misfit.min() + 1e-9].mean(axis=0)
        guessed[own] = np.where(shares == 0.5, guessed[own], shares > 0.5)
    return float((guessed == labels).mean())
