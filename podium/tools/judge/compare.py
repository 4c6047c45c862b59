"""`podium judge compare`: the same submissions by different models or settings, on the cases that all judges scored."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from podium import __version__
from podium.challenges.challenge import AnyChallenge
from podium.errors import UsageError
from podium.metrics import Floats
from podium.metrics.resampling import Resamples, percentile_interval
from podium.readers.files import escape_for_display
from podium.tools.ranking.documents import Cohort, TeamFile, read_cohorts
from podium.tools.ranking.facts import figure_at, gather_facts, replicate_figures
from podium.tools.ranking.official import official_replicates
from podium.tools.ranking.result import NARROW_BELOW, plain_row
from podium.tools.ranking.schemes import RankingOptions, SchemeOutcome
from podium.tools.ranking.statistics import tau_b
from podium.tools.ranking.wording import NOTHING, Interval, fixed

_VERDICT = "radfact.f1"
_OF_THE_REPORT = ("bleu_4", "meteor")  # in every row; they do not depend on the judge


@dataclass(frozen=True, kw_only=True)
class JudgePair:
    """A figure of two judges over the common cases, None where it is undefined, with its interval."""

    judges: tuple[str, str]
    value: float | None
    interval: Interval | None

    @classmethod
    def of(
        cls, judges: tuple[str, str], whole: Floats, replicates: Floats, *, confidence: float, cases: int
    ) -> "JudgePair":
        (value,) = plain_row(np.atleast_1d(whole))
        return cls(
            judges=judges, value=value, interval=percentile_interval(replicates, confidence=confidence, cases=cases)
        )

    def __str__(self) -> str:
        ends = f" [{', '.join(fixed(end, 3) for end in self.interval)}]" if self.interval else ""
        return NOTHING if self.value is None else fixed(self.value, 3) + ends


@dataclass(frozen=True, kw_only=True)
class ComparedTeam:
    """Scores and ranks by judge; `differences` are the score of every judge but the first less that of the first."""

    name: str
    scores: Sequence[float]
    ranks: Sequence[int]
    differences: Sequence[JudgePair]


@dataclass(frozen=True, kw_only=True)
class JudgeComparison:
    """The whole result."""

    judges: Mapping[str, Mapping[str, Any]]  # by name: the path, and what `podium judge` noted
    cases: Sequence[str]
    left_out: Sequence[str]
    teams: Sequence[ComparedTeam]  # in the order of the first judge
    taus: Sequence[JudgePair]  # Kendall's tau-b of the orders by every two judges
    warning: str | None  # the orders, where they differ
    notes: Sequence[str]
    confidence: float
    replicates: int
    seed: int
    podium_version: str = __version__

    def to_json(self) -> str:
        """Equal results give equal bytes."""
        return json.dumps(asdict(self), indent=2, allow_nan=False, ensure_ascii=False) + "\n"


def compare_judges(paths: Sequence[Path], *, confidence: float, replicates: int, seed: int) -> JudgeComparison:
    """Each path holds the results of one judge: a folder of teams, or the metrics.json of one team.

    Raises UsageError where they are not of the same submissions, or scores cannot be recomputed from the rows.
    """
    if len(paths) < 2:
        raise UsageError("Give the results of at least two judges.")
    cohorts = [_read(path) for path in paths]
    if all(len(cohort.files) == 1 for cohort in cohorts):  # single files: one submission, whatever they are called
        team = cohorts[0].files[0].team
        cohorts = [replace(cohort, files=[replace(cohort.files[0], team=team)]) for cohort in cohorts]
    for path, cohort in zip(paths[1:], cohorts[1:], strict=True):
        _refuse_other_submissions(paths[0], cohorts[0], path, cohort)
    rows = [row for cohort in cohorts for file in cohort.files for row in file.content.results]
    left_out = {row.case for row in rows if figure_at(row.metrics, _VERDICT) is None}
    cases = sorted({row.case for row in rows} - left_out)
    if not cases:
        raise UsageError("There is no case that all judges scored for all teams.")
    draws = Resamples.draw(cases=len(cases), replicates=replicates, seed=seed)
    whole, drawn = (
        [_outcome(path, cohort, cases, resamples) for path, cohort in zip(paths, cohorts, strict=True)]
        for resamples in (Resamples.whole(len(cases)), draws)
    )
    provenance = [cohort.files[0].content.provenance["judge"] for cohort in cohorts]
    models = [escape_for_display(str(each.get("model"))) for each in provenance]
    names = models if len(set(models)) == len(models) else [escape_for_display(str(path)) for path in paths]
    teams = [
        ComparedTeam(
            name=file.team,
            scores=[float(each.scores[0, number]) for each in whole],
            ranks=[int(each.ranks[0, number]) for each in whole],
            differences=[
                JudgePair.of(
                    (names[0], names[judge]),
                    whole[judge].scores[0, number] - whole[0].scores[0, number],
                    drawn[judge].scores[:, number] - drawn[0].scores[:, number],
                    confidence=confidence,
                    cases=len(cases),
                )
                for judge in range(1, len(names))
            ],
        )
        for number, file in enumerate(cohorts[0].files)
    ]
    return JudgeComparison(
        judges={name: {"path": str(path), **each} for name, path, each in zip(names, paths, provenance, strict=True)},
        cases=cases,
        left_out=sorted(left_out),
        teams=sorted(teams, key=lambda team: (team.ranks[0], team.name)),
        taus=[
            JudgePair.of(
                (names[one], names[other]),
                tau_b(whole[one].ranks[0], whole[other].ranks[0]),
                tau_b(drawn[one].ranks, drawn[other].ranks),
                confidence=confidence,
                cases=len(cases),
            )
            for one, other in combinations(range(len(names)), 2)
        ],
        warning=_warning(names, teams),
        notes=_notes(len(cases), len(left_out)),
        confidence=confidence,
        replicates=replicates,
        seed=seed,
    )


def _read(path: Path) -> Cohort[AnyChallenge]:
    cohort = read_cohorts([path])[0]
    for file in cohort.files:
        if "judge" not in file.content.provenance:
            raise UsageError(f"{file.label} was not judged; run 'podium judge' on it first.")
    return cohort


def _refuse_other_submissions(
    first_path: Path, first: Cohort[AnyChallenge], path: Path, cohort: Cohort[AnyChallenge]
) -> None:
    ours, theirs = ({file.team: file for file in each.files} for each in (first, cohort))
    for mine, others, has, lacks in ((ours, theirs, first_path, path), (theirs, ours, path, first_path)):
        if missing := sorted(mine.keys() - others.keys()):
            raise UsageError(f"{lacks} does not have the team '{missing[0]}' that {has} has.")
    for team, file in theirs.items():
        figures, other = _of_the_reports(ours[team]), _of_the_reports(file)
        for key in sorted(figures.keys() | other.keys()):
            if figures.get(key) != other.get(key):
                case, name = key
                raise UsageError(
                    f"{file.label} is of another submission than {ours[team].label}: '{name}' of the case "
                    f"'{escape_for_display(case)}' differs."
                )


def _of_the_reports(file: TeamFile) -> dict[tuple[str, str], float | None]:
    return {(row.case, name): figure_at(row.metrics, name) for row in file.content.results for name in _OF_THE_REPORT}


def _outcome(path: Path, cohort: Cohort[AnyChallenge], cases: Sequence[str], resamples: Resamples) -> SchemeOutcome:
    """The official rule in every replicate of these cases."""

    def kept(file: TeamFile) -> TeamFile:
        rows = [row for row in file.content.results if row.case in cases]
        return replace(file, content=file.content.model_copy(update={"results": rows}))

    facts = gather_facts(replace(cohort, files=[kept(file) for file in cohort.files]), RankingOptions())
    outcome = official_replicates(facts, cohort.challenge.ranking, replicate_figures(facts, resamples)[0])
    if outcome is None:
        raise UsageError(
            f"{path} does not have rows from which the score can be recomputed. Run 'podium judge' again with "
            "--per-case full and another --output: the answers are in its cache, so nothing is asked again."
        )
    return outcome


def _warning(names: Sequence[str], teams: Sequence[ComparedTeam]) -> str | None:
    orders = [
        ", ".join(f"{rank} {team}" for rank, team in sorted((each.ranks[judge], each.name) for each in teams))
        for judge in range(len(names))
    ]
    words = [f"By {name}: {order}." for name, order in zip(names, orders, strict=True) if order != orders[0]]
    first = ["Warning: the order of the teams depends on the judge.", f"By {names[0]}: {orders[0]}."]
    return " ".join([*first, *words]) if words else None


def _notes(cases: int, left_out: int) -> list[str]:
    notes = []
    if left_out:
        are = "is" if left_out == 1 else "are"
        notes.append(f"{left_out} of {cases + left_out} cases {are} left out: not every judge scored every team there.")
    if cases < NARROW_BELOW:
        notes.append(f"Fewer than {NARROW_BELOW} cases (here {cases}): rare failures may be missing from the sample.")
    return notes
