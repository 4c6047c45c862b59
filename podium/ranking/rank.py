"""The main job: a cohort of metrics.json files in, a `Ranking` out."""

import platform as python_platform
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from podium import __version__
from podium.contract.errors import UsageError
from podium.contract.leaderboard import phase_settings
from podium.contract.ranking_rule import RankingRule
from podium.contract.results import Figures
from podium.metrics.declaration import Direction
from podium.metrics.resampling import Resamples
from podium.ranking.arena_ratings import read_ratings
from podium.ranking.cases import CaseTable, case_table
from podium.ranking.documents import Cohort, TeamFile
from podium.ranking.kendall import tau_b
from podium.ranking.methods import MethodFacts, sentences
from podium.ranking.official import apply_rule, decide_by_arena, figure, finalists, rule_figures
from podium.ranking.platform import PlatformMethod, platform_ranking
from podium.ranking.positions import Ranks
from podium.ranking.result import (
    AggregateColumn,
    CaseMetric,
    Methods,
    Ranking,
    Row,
    SchemeRanking,
    Significance,
    Stability,
    Table,
    Team,
    Trouble,
)
from podium.ranking.schemes import SCHEMES, SIDE_BY_SIDE, Outcome, Scheme, SchemeOptions, apply_scheme
from podium.ranking.stability import stability
from podium.ranking.wilcoxon import holm, pairwise_p

OFFICIAL = "official"
PLATFORM = "platform"
CONFIDENCE = 0.95
ALPHA = 0.05

Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class RankingOptions:
    """scheme           what the final table follows: `official`, `platform`, or a general scheme
    metrics          per-case metrics for the general schemes instead of those the challenge declares
    platform_method  instead of what the challenge's phase settings say
    arena            the arena's result, to decide among the finalists
    workers          threads; no figure depends on it
    """

    scheme: str = OFFICIAL
    metrics: tuple[str, ...] = ()
    bootstraps: int = 1000
    seed: int = 0
    quantile: float = 0.05
    platform_method: PlatformMethod | None = None
    arena: Path | None = None
    workers: int = 1


def rank(cohort: Cohort, options: RankingOptions) -> Ranking:
    """Everything about one cohort, its teams in the order of the deciding scheme, equals by name."""
    first = _Work(cohort, options)
    order = sorted(range(len(cohort.files)), key=lambda team: (first.deciding_key(team), cohort.files[team].team))
    return _Work(replace(cohort, files=[cohort.files[team] for team in order]), options).ranking()


class _Work:
    """One cohort in one order of its teams."""

    def __init__(self, cohort: Cohort, options: RankingOptions) -> None:
        self.cohort, self.options = cohort, options
        self.challenge = cohort.challenge
        self.rule: RankingRule = self.challenge.ranking_rule()
        self.teams = [file.team for file in cohort.files]
        self.cases = sorted(cohort.common.results[number].case for number in range(len(cohort.common.results)))
        adjusted = self.challenge.cohort_figures({file.team: file.content.aggregates for file in cohort.files})
        self.aggregates: list[Figures] = [adjusted[team] for team in self.teams]
        self.is_adjusted = any(adjusted[file.team] is not file.content.aggregates for file in cohort.files)
        self.rows = [{row.case: row for row in file.content.results} for file in cohort.files]
        self.tables = self._case_tables() if self.cases else {}
        self.in_schemes = self._chosen_tables()
        self.scheme_options = SchemeOptions(quantile=options.quantile, alpha=ALPHA, workers=options.workers)
        self.whole = Resamples.whole(len(self.cases))
        self.official, self.chosen, self.ratings = self._official()
        if options.scheme in SCHEMES and not self.in_schemes:
            raise UsageError(
                f"The scheme '{options.scheme}' ranks by single cases, and the files hold none of them "
                '(per_case = "none", or figures that are not published).'
            )

    # The data

    def _case_tables(self) -> dict[str, CaseTable]:
        tables = {}
        for metric in self.challenge.metrics:
            rows = [
                [_case_figure(file, team[case].metrics, case, metric.name) for case in self.cases]
                for file, team in zip(self.cohort.files, self.rows, strict=True)
            ]
            if any(value is not None for team in rows for value in team):
                tables[metric.name] = case_table(metric, rows)
        return tables

    def _chosen_tables(self) -> list[CaseTable]:
        declared = [metric.name for metric in self.challenge.metrics]
        for name in self.options.metrics:
            if name not in declared:
                raise UsageError(f"There is no metric '{name}'; there is: {', '.join(declared)}.")
            if name not in self.tables:
                raise UsageError(f"The files hold no single cases of the metric '{name}'.")
        return [self.tables[name] for name in self.options.metrics or self.rule.case_metrics if name in self.tables]

    # The challenge's own rule

    def _official(self) -> tuple[Outcome, NDArray[np.bool_], Floats | None]:
        """The full ranking, who goes to the arena, and the arena's ratings."""
        labels = [file.label for file in self.cohort.files]
        outcome = apply_rule(self.rule, rule_figures(self.rule, self.aggregates, labels))
        chosen = finalists(self.rule, outcome.ranks[0])
        if self.options.arena is None:
            return outcome, chosen, None
        if self.rule.finalists is None:
            raise UsageError(f"The challenge '{self.challenge.name}' has no arena.")
        names = [team for team, is_finalist in zip(self.teams, chosen, strict=True) if is_finalist]
        found = read_ratings(self.options.arena, finalists=names)
        ratings = np.array([found.get(team, np.nan) for team in self.teams])
        decided = decide_by_arena(outcome.ranks[0], chosen, ratings)
        return replace(outcome, ranks=decided[None]), chosen, ratings

    def _official_replicates(self, resamples: Resamples) -> Ranks | None:
        """The rule's ranks in every replicate; None where the rows do not hold what the rule is made of."""
        labels = [file.label for file in self.cohort.files]
        figures = rule_figures(self.rule, self.aggregates, labels)
        by_team = []
        for rows, aggregates in zip(self.rows, self.aggregates, strict=True):
            found = self.challenge.resampled_figures([rows[case].metrics for case in self.cases], aggregates, resamples)
            if found is None:
                return None
            by_team.append(found)
        for path in by_team[0]:
            figures[path] = np.stack([found[path] for found in by_team], axis=1)
        return apply_rule(self.rule, figures).ranks

    # Schemes

    def deciding_key(self, team: int) -> int:
        """For sorting: the rank by the deciding scheme, unranked teams last."""
        rank = self._deciding_ranks()[team]
        return len(self.teams) + 1 if rank is None else rank

    def _deciding_ranks(self) -> Sequence[int | None]:
        match self.options.scheme:
            case "official":
                return [int(rank) for rank in self.official.ranks[0]]
            case "platform":
                return self._platform().ranks
        outcome = apply_scheme(SCHEMES[self.options.scheme], self.in_schemes, self.whole, self.scheme_options)
        return [int(rank) for rank in outcome.ranks[0]]

    def _platform(self) -> SchemeRanking:
        settings = phase_settings(self.challenge.columns())
        columns: list[tuple[str, Direction]] = [
            (settings["score_jsonpath"], _direction(settings["score_default_sort"])),
            *(
                (column["path"], _direction(column["order"]))
                for column in settings["extra_results_columns"]
                if not column["exclude_from_ranking"]
            ),
        ]
        methods: dict[str, PlatformMethod] = {"abs": "absolute", "avg": "mean", "med": "median"}
        method = self.options.platform_method or methods[settings["scoring_method_choice"]]
        # The platform sees what the container wrote, before any cohort quantity.
        places = platform_ranking(
            {
                file.team: [figure({"aggregates": file.content.aggregates}, path) for path, _ in columns]
                for file in self.cohort.files
            },
            [direction for _, direction in columns],
            method,
        )
        shown = ", ".join(path.removeprefix("aggregates.") for path, _ in columns)
        words = {
            "absolute": "by the position in",
            "mean": "by the mean position over",
            "median": "by the median position over",
        }
        return SchemeRanking(
            scheme=PLATFORM,
            title="Live leaderboard",
            words=f"teams are ranked as the platform's live leaderboard ranks them, {words[method]} {shown}",
            score_title="Position" if method == "absolute" else f"{method.capitalize()} position",
            score_direction="lower",
            ranks=tuple(places[team].rank or None for team in self.teams),
            scores=tuple(places[team].score for team in self.teams),
            stability=None,
            why_no_stability="The live leaderboard knows aggregates only, so cases cannot be drawn from it.",
        )

    def _scheme_rankings(self, resamples: Resamples | None) -> list[SchemeRanking]:
        replicated = self._official_replicates(resamples) if resamples else None
        rankings = [
            SchemeRanking(
                scheme=OFFICIAL,
                title="Official",
                words=self.rule.words,
                score_title=self.official.score_title,
                score_direction=self.official.direction,
                ranks=_ranks(self.official),
                scores=_row(self.official.scores[0]),
                stability=self._stability(replicated, self.official),
                why_no_stability=self._why_not(replicated),
            )
        ]
        schemes: list[Scheme] = list(SIDE_BY_SIDE)
        if self.options.scheme in SCHEMES and SCHEMES[self.options.scheme] not in schemes:
            schemes.append(SCHEMES[self.options.scheme])
        for scheme in schemes if self.in_schemes else []:
            full = apply_scheme(scheme, self.in_schemes, self.whole, self.scheme_options)
            again = apply_scheme(scheme, self.in_schemes, resamples, self.scheme_options).ranks if resamples else None
            rankings.append(
                SchemeRanking(
                    scheme=scheme.name,
                    title=scheme.title,
                    words=scheme.words,
                    score_title=full.score_title if scheme.direction is None else scheme.title,
                    score_direction=full.direction,
                    ranks=_ranks(full),
                    scores=_row(full.scores[0]),
                    stability=self._stability(again, full),
                    why_no_stability=self._why_not(again),
                )
            )
        if self.options.scheme == PLATFORM:
            rankings.append(self._platform())
        return rankings

    def _stability(self, replicates: Ranks | None, full: Outcome) -> Stability | None:
        return None if replicates is None else stability(replicates, full.ranks[0], confidence=CONFIDENCE)

    def _why_not(self, replicates: Ranks | None) -> str | None:
        if replicates is not None:
            return None
        if not self.options.bootstraps:
            return "No bootstrap was asked for."
        if not self.cases:
            return "The files hold no single cases, so none can be drawn."
        return (
            "The rows of the files do not hold everything the official score is made of, so it cannot be computed anew."
        )

    # The result

    def ranking(self) -> Ranking:
        options, common = self.options, self.cohort.common
        resamples = (
            Resamples.draw(cases=len(self.cases), replicates=options.bootstraps, seed=options.seed)
            if options.bootstraps and self.cases
            else None
        )
        schemes = self._scheme_rankings(resamples)
        deciding = next(scheme for scheme in schemes if scheme.scheme == options.scheme)
        return Ranking(
            challenge=common.challenge,
            title=common.title,
            version=common.version,
            division=self.cohort.division,
            settings=common.settings,
            deciding_scheme=options.scheme,
            teams=self._team_lines(deciding),
            cases=tuple(self.cases),
            statuses=tuple(tuple(rows[case].status for case in self.cases) for rows in self.rows),
            columns=self._columns(),
            metrics=tuple(self._case_metric(table) for table in self.tables.values()),
            schemes=tuple(schemes),
            scheme_taus=_taus_between(schemes, len(self.teams)),
            significance=tuple(self._significance(table) for table in self.in_schemes),
            methods=self._methods(deciding),
            notes=tuple(self._notes(schemes)),
        )

    def _team_lines(self, deciding: SchemeRanking) -> tuple[Team, ...]:
        lines = []
        for number, (file, rank) in enumerate(zip(self.cohort.files, deciding.ranks, strict=True)):
            others = [
                team
                for team, theirs in zip(self.teams, deciding.ranks, strict=True)
                if rank is not None and theirs == rank and team != file.team
            ]
            counts = file.content.counts
            lines.append(
                Team(
                    name=file.team,
                    rank=rank,
                    score=deciding.scores[number],
                    tied_with=tuple(others),
                    finalist=bool(self.chosen[number]),
                    expected=counts.expected,
                    scored=counts.scored,
                    failed=counts.failed,
                    missing=counts.missing,
                    unmatched=counts.unmatched,
                    troubles=tuple(
                        Trouble(case=case, status=self.rows[number][case].status, error=error)
                        for case in self.cases
                        if (error := self.rows[number][case].error) is not None
                    ),
                )
            )
        return tuple(lines)

    def _columns(self) -> tuple[AggregateColumn, ...]:
        columns = [
            AggregateColumn(
                path=column.path,
                title=column.title,
                direction=column.direction,
                headline=column.headline,
                values=tuple(figure(figures, column.path) for figures in self.aggregates),
                errors=tuple(figure(figures, column.error_path) for figures in self.aggregates)
                if column.error_path
                else None,
            )
            for column in self.challenge.columns()
        ]
        if self.ratings is not None:
            columns.append(
                AggregateColumn(
                    path="arena.rating",
                    title="Arena rating",
                    direction="higher",
                    headline=True,
                    values=_row(self.ratings),
                    errors=None,
                )
            )
        return tuple(column for column in columns if any(value is not None for value in column.values))

    def _case_metric(self, table: CaseTable) -> CaseMetric:
        metric = table.metric
        lowest, highest, worst = _row(np.array([metric.lowest, metric.highest, metric.worst], dtype=np.float64))
        return CaseMetric(
            name=metric.name,
            title=metric.title,
            direction=metric.direction,
            lowest=lowest,
            highest=highest,
            worst=worst,
            unit=metric.unit,
            in_schemes=any(table is each for each in self.in_schemes),
            undefined_cases=int(np.count_nonzero(~table.defined)),
            values=_table(table.values),
        )

    def _significance(self, table: CaseTable) -> Significance:
        p = pairwise_p(table.gains(), self.whole.only(table.defined), workers=self.options.workers)[0]
        adjusted = holm(p)
        with np.errstate(invalid="ignore"):
            return Significance(
                metric=table.metric.name,
                p=_table(p),
                p_holm=_table(adjusted),
                significant=tuple(map(tuple, (p <= ALPHA).tolist())),
                significant_holm=tuple(map(tuple, (adjusted <= ALPHA).tolist())),
            )

    def _methods(self, deciding: SchemeRanking) -> Methods:
        facts = MethodFacts(
            title=self.cohort.common.title,
            teams=len(self.teams),
            cases=len(self.cases) or self.cohort.common.counts.expected,
            rule=self.rule,
            deciding=deciding,
            is_official=deciding.scheme == OFFICIAL,
            metrics=[table.metric for table in self.in_schemes],
            bootstraps=self.options.bootstraps if self.cases else 0,
            seed=self.options.seed,
            confidence=CONFIDENCE,
            alpha=ALPHA,
            versions={
                "Podium": __version__,
                "Python": python_platform.python_version(),
                "NumPy": np.__version__,
                "SciPy": scipy.__version__,
            },
            is_arena_decided=self.ratings is not None,
        )
        return Methods(
            podium_version=__version__,
            python_version=python_platform.python_version(),
            numpy_version=np.__version__,
            scipy_version=scipy.__version__,
            seed=self.options.seed,
            bootstraps=self.options.bootstraps,
            confidence=CONFIDENCE,
            alpha=ALPHA,
            quantile=self.options.quantile,
            sentences=tuple(sentences(facts)),
        )

    def _notes(self, schemes: Sequence[SchemeRanking]) -> list[str]:
        """In words: what could not be done, and what an organiser should know before publishing."""
        notes = []
        if not self.cases:
            notes.append(
                "The files hold no single cases: teams are ranked by aggregates alone, without bootstrap, tests or "
                "other schemes."
            )
        elif schemes[0].why_no_stability and self.options.bootstraps:
            notes.append(f"The official ranking has no interval: {schemes[0].why_no_stability}")
        if self.is_adjusted:
            notes.append("Figures that depend on all teams were recomputed for these teams.")
        for name in self.options.metrics or self.rule.case_metrics:
            if self.cases and name not in self.tables:
                notes.append(f"The rows do not hold '{name}', so the general schemes do without it.")
        for table in self.in_schemes:
            undefined = int(np.count_nonzero(~table.defined))
            if undefined:
                notes.append(
                    f"'{table.metric.title}' exists for no team in {undefined} of {len(self.cases)} cases, which are "
                    "left out of the schemes that rank by it."
                )
            absent = int(np.count_nonzero(np.isnan(table.values[:, table.defined])))
            if absent:
                notes.append(f"{absent} missing values of '{table.metric.title}' count as its worst value.")
        for file in self.cohort.files:
            counts = file.content.counts
            lost = [
                f"{getattr(counts, status)} {status}" for status in ("failed", "missing") if getattr(counts, status)
            ]
            if lost:
                notes.append(
                    f"{file.team}: {' and '.join(lost)} of {counts.expected} cases; they count with the worst values."
                )
        if self.rule.finalists is not None:
            count = int(np.count_nonzero(self.chosen))
            if count > self.rule.finalists:
                notes.append(
                    f"A tie brings {count} teams to the arena's {self.rule.finalists} places: the organisers decide."
                )
        return notes


def _case_figure(file: TeamFile, figures: Any, case: str, path: str) -> float | None:
    value: Any = figures
    for part in path.split("."):
        value = value.get(part) if isinstance(value, dict) else None
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not np.isfinite(value):
        raise UsageError(f"{file.label}: '{path}' of the case '{case}' is not a number.")
    return float(value)


def _direction(order: str) -> Direction:
    return "higher" if order == "desc" else "lower"


def _ranks(outcome: Outcome) -> tuple[int, ...]:
    return tuple(int(rank) for rank in outcome.ranks[0])


def _row(values: Floats) -> Row:
    """Numbers for JSON: what is not finite becomes None."""
    return tuple(value if np.isfinite(value) else None for value in values.tolist())


def _table(values: Floats) -> Table:
    return tuple(_row(row) for row in values)


def _taus_between(schemes: Sequence[SchemeRanking], teams: int) -> Table:
    """Kendall's tau-b between every two schemes; a team that a scheme leaves unranked is behind all others there."""
    ranks = np.array([[rank or teams + 1 for rank in scheme.ranks] for scheme in schemes])
    return tuple(_row(tau_b(ranks, reference)) for reference in ranks)
