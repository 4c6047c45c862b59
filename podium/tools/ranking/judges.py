"""`podium judge compare`: the same submissions by different models or settings, on the cases that all judges scored."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from pathlib import Path

from pydantic import TypeAdapter

from podium import __version__
from podium.challenges.base import AnyChallenge
from podium.errors import UsageError
from podium.metrics import Floats
from podium.metrics.resampling import Resamples
from podium.platform.metrics_file import MetricsFile
from podium.readers.files import escape_for_display
from podium.tools.ranking.documents import Cohort, TeamFile, read_cohorts
from podium.tools.ranking.facts import figure_at, gather_facts, replicate_figures
from podium.tools.ranking.official import official_replicates
from podium.tools.ranking.result import NARROW_BELOW, Interval, plain_row
from podium.tools.ranking.schemes import RankingOptions, SchemeOutcome
from podium.tools.ranking.statistics import percentile_interval, tau_b
from podium.tools.ranking.wording import NOTHING, fixed

_VERDICT = "radfact.f1"
_CLINICAL = "clinical"
_OF_THE_REPORT = ("bleu_4", "meteor")  # in every row: they do not depend on the judge


@dataclass(frozen=True, kw_only=True)
class JudgeFacts:
    """One judge: its model where all judges have different ones, else the path of its results."""

    name: str
    path: str
    model: str
    report_type: str
    remove_normal_findings: bool | None


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """A figure over the common cases, and its percentile interval over replicates of them."""

    value: float
    interval: Interval | None


@dataclass(frozen=True, kw_only=True)
class ComparedTeam:
    """By judge; `differences` are the scores of every judge but the first less those of the first."""

    name: str
    scores: Sequence[float]
    clinical: Sequence[float]
    ranks: Sequence[int]
    differences: Sequence[Estimate]


@dataclass(frozen=True, kw_only=True)
class Agreement:
    """Kendall's tau-b of the orders by two judges; None where one of them has no order."""

    first: str
    second: str
    tau: float | None
    interval: Interval | None


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """The whole result. `teams` are in the order of the first judge; `warning` gives the orders that differ from it."""

    judges: Sequence[JudgeFacts]
    cases: Sequence[str]
    left_out: Sequence[str]
    teams: Sequence[ComparedTeam]
    agreement: Sequence[Agreement]
    warning: str | None
    confidence: float
    replicates: int
    seed: int
    podium_version: str = __version__
    notes: Sequence[str] = field(default=())

    def to_json(self) -> str:
        """The same bytes for the same result."""
        document = TypeAdapter(Comparison).dump_python(self, mode="json")
        return json.dumps(document, indent=2, sort_keys=True, allow_nan=False, ensure_ascii=False) + "\n"


def compare_judges(paths: Sequence[Path], *, confidence: float, replicates: int, seed: int) -> Comparison:
    """Each path holds the results of one judge: a folder of teams, or the metrics.json of one team.

    Raises UsageError where the paths do not hold the same submissions, or rows from which scores can be recomputed.
    """
    if len(paths) < 2:
        raise UsageError("Give the results of at least two judges.")
    cohorts = [_read(path) for path in paths]
    if all(len(cohort.files) == 1 for cohort in cohorts):  # single files: one submission, whatever they are called
        team = cohorts[0].files[0].team
        cohorts = [replace(cohort, files=[replace(cohort.files[0], team=team)]) for cohort in cohorts]
    for path, cohort in zip(paths[1:], cohorts[1:], strict=True):
        _refuse_other_teams(paths[0], cohorts[0], path, cohort)
    cases = sorted(cohorts[0].files[0].cases)
    rows = [row for cohort in cohorts for file in cohort.files for row in file.content.results]
    left_out = {row.case for row in rows if figure_at(row.metrics, _VERDICT) is None}
    common = [case for case in cases if case not in left_out]
    if not common:
        raise UsageError("There is no case that all judges scored for all teams.")
    whole, drawn = (
        [_outcome(path, _only(cohort, common), resamples) for path, cohort in zip(paths, cohorts, strict=True)]
        for resamples in (
            Resamples.whole(len(common)),
            Resamples.draw(cases=len(common), replicates=replicates, seed=seed),
        )
    )
    judges = _judges(paths, [cohort.common for cohort in cohorts])
    teams = _teams(cohorts[0], whole, drawn, confidence)
    orders = [
        ", ".join(f"{team.ranks[number]} {team.name}" for team in _in_order(teams, number))
        for number in range(len(judges))
    ]
    changed = [f"By {judge.name}: {order}." for judge, order in zip(judges, orders, strict=True) if order != orders[0]]
    return Comparison(
        judges=judges,
        cases=common,
        left_out=sorted(left_out),
        teams=_in_order(teams, 0),
        agreement=[
            Agreement(
                first=judges[one].name,
                second=judges[other].name,
                tau=plain_row(tau_b(whole[one].outcome.ranks, whole[other].outcome.ranks))[0],
                interval=percentile_interval(
                    tau_b(drawn[one].outcome.ranks, drawn[other].outcome.ranks), confidence=confidence
                ),
            )
            for one, other in combinations(range(len(judges)), 2)
        ],
        warning=" ".join(
            ["Warning: the order of the teams depends on the judge.", f"By {judges[0].name}: {orders[0]}.", *changed]
        )
        if changed
        else None,
        confidence=confidence,
        replicates=replicates,
        seed=seed,
        notes=_notes(len(common), len(left_out)),
    )


def _read(path: Path) -> Cohort[AnyChallenge]:
    cohort = read_cohorts([path])[0]
    for file in cohort.files:
        if "judge" not in file.content.provenance:
            raise UsageError(f"{file.label} was not judged; run 'podium judge' on it first.")
    return cohort


def _refuse_other_teams(
    first_path: Path, first: Cohort[AnyChallenge], path: Path, cohort: Cohort[AnyChallenge]
) -> None:
    ours, theirs = ({file.team: file for file in each.files} for each in (first, cohort))
    for mine, others, has, lacks in ((ours, theirs, first_path, path), (theirs, ours, path, first_path)):
        if missing := sorted(mine.keys() - others.keys()):
            raise UsageError(f"{lacks} does not have the team '{missing[0]}' that {has} has.")
    for team, file in theirs.items():
        _refuse_other_reports(ours[team], file)


def _refuse_other_reports(first: TeamFile, file: TeamFile) -> None:
    rows = {row.case: row.metrics for row in first.content.results}
    if rows.keys() != file.cases:
        raise UsageError(f"{file.label} does not have the same cases as {first.label}.")
    for row in file.content.results:
        for name in _OF_THE_REPORT:
            if figure_at(row.metrics, name) != figure_at(rows[row.case], name):
                raise UsageError(
                    f"{file.label} is of another submission than {first.label}: '{name}' of the case "
                    f"'{escape_for_display(row.case)}' differs."
                )


def _only(cohort: Cohort[AnyChallenge], cases: Sequence[str]) -> Cohort[AnyChallenge]:
    def kept(file: TeamFile) -> TeamFile:
        rows = [row for row in file.content.results if row.case in cases]
        return replace(file, content=file.content.model_copy(update={"results": rows}))

    return replace(cohort, files=[kept(file) for file in cohort.files])


@dataclass(frozen=True, kw_only=True)
class _Judged:
    outcome: SchemeOutcome
    clinical: Floats  # [replicate, team]


def _outcome(path: Path, cohort: Cohort[AnyChallenge], resamples: Resamples) -> _Judged:
    """The official rule in every replicate."""
    facts = gather_facts(cohort, RankingOptions())
    figures = replicate_figures(facts, resamples)
    outcome = official_replicates(facts, cohort.challenge.ranking, figures)
    if outcome is None:
        raise UsageError(
            f"{path} does not have rows from which the score can be recomputed. Run 'podium judge' again with "
            "--per-case full and another --output: the answers are in its cache, so nothing is asked again."
        )
    return _Judged(outcome=outcome, clinical=figures[_CLINICAL])


def _teams(
    cohort: Cohort[AnyChallenge], whole: Sequence[_Judged], drawn: Sequence[_Judged], confidence: float
) -> list[ComparedTeam]:
    return [
        ComparedTeam(
            name=file.team,
            scores=[float(each.outcome.scores[0, number]) for each in whole],
            clinical=[float(each.clinical[0, number]) for each in whole],
            ranks=[int(each.outcome.ranks[0, number]) for each in whole],
            differences=[
                Estimate(
                    value=float(each.outcome.scores[0, number] - whole[0].outcome.scores[0, number]),
                    interval=percentile_interval(
                        replicates.outcome.scores[:, number] - drawn[0].outcome.scores[:, number], confidence=confidence
                    ),
                )
                for each, replicates in zip(whole[1:], drawn[1:], strict=True)
            ],
        )
        for number, file in enumerate(cohort.files)
    ]


def _in_order(teams: Sequence[ComparedTeam], judge: int) -> list[ComparedTeam]:
    return sorted(teams, key=lambda team: (team.ranks[judge], team.name))


def _judges(paths: Sequence[Path], files: Sequence[MetricsFile]) -> list[JudgeFacts]:
    facts = [file.provenance["judge"] for file in files]
    models = [escape_for_display(str(each.get("model", ""))) for each in facts]
    names = models if len(set(models)) == len(models) else [escape_for_display(str(path)) for path in paths]
    return [
        JudgeFacts(
            name=name,
            path=str(path),
            model=model,
            report_type=str(each.get("report_type", "")),
            remove_normal_findings=each.get("remove_normal_findings"),
        )
        for name, path, model, each in zip(names, paths, models, facts, strict=True)
    ]


def _notes(cases: int, left_out: int) -> list[str]:
    notes = []
    if left_out:
        are = "is" if left_out == 1 else "are"
        notes.append(f"{left_out} of {cases + left_out} cases {are} left out: not every judge scored every team there.")
    if cases < NARROW_BELOW:
        notes.append(f"Percentile intervals over fewer than {NARROW_BELOW} cases (here {cases}) are too narrow.")
    return notes


def with_interval(value: float | None, interval: Interval | None) -> str:
    """`0.123 [0.012, 0.234]`, for the terminal."""
    if value is None:
        return NOTHING
    return fixed(value, 3) + (f" [{fixed(interval[0], 3)}, {fixed(interval[1], 3)}]" if interval else "")
