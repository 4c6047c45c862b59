"""What a ranking says about itself in prose: notes for its organisers, and the methods for a paper."""

import json
import platform
from collections.abc import Iterator, Sequence

import numpy as np
import scipy

from podium import __version__
from podium.challenges.board import Criterion
from podium.platform.jobs import CLOCKS, clock_path
from podium.readers.files import escape_for_display
from podium.tools.ranking.facts import Facts, figure_at
from podium.tools.ranking.official import Official
from podium.tools.ranking.result import FEW_CASES, NARROW_BELOW, Arena, Methods, Ranking
from podium.tools.ranking.schemes import OFFICIAL, RankingOptions
from podium.tools.ranking.statistics import positions
from podium.tools.ranking.wording import MARK, MOST_UNDEFINED, NO_VALUE, confidence_words, count, listed, lost_words

_MANY = 5  # more sentences of one kind are summarised
_RATINGS = {"elo-averaged": "averaged Elo ratings", "elo": "Elo ratings", "bradley-terry": "Bradley-Terry ratings"}
_MISSING = {
    "worst": "A missing value counts as the worst value of its metric; the same cases count for every team.",
    "exclude": "A case without a value from some team was left out of that metric for all teams.",
    "error": "No value is missing.",
}


# Notes: what could not be done, and what an organiser should know before publishing.


def notes(facts: Facts, official: Official | None, ranking: Ranking, options: RankingOptions) -> Iterator[str]:
    """Sentences, the most important first."""
    arena, rule = ranking.arena, official.rule if official else None
    if rule is not None and rule.lower_bound is not None:
        yield from _about_the_lower_bound(facts, rule.criteria[0], rule.lower_bound)
        yield from _about_doubts(facts, rule.doubts, rule.lower_bound)
    if facts.cases and options.bootstraps:
        yield from _about_small_numbers(len(facts.cases), ranking)
        yield from _about_intervals(ranking)
    if official is None and facts.rule is not None:
        yield "This is not the official ranking: the files do not have the figures that the official rule compares."
    if not facts.cases:
        yield (
            "The files contain no per-case rows: teams are ranked by aggregates alone, without bootstrap, tests or "
            "other schemes."
        )
    elif official and ranking.scheme(OFFICIAL).why_no_stability and options.bootstraps:
        yield f"The official ranking has no intervals. {ranking.scheme(OFFICIAL).why_no_stability}"
    if facts.is_adjusted:
        yield "Figures that depend on all teams were recomputed for these teams."
    yield from _about_clocks(facts)
    yield from _about_limits(facts)
    if official and official.rule.finalists is not None:
        yield from _about_the_finalists(official, official.rule.finalists)
    if arena is not None and arena.stop_rule_holds is False:
        yield " ".join(["Warning: the arena's stop rule does not hold.", *arena.stop_rule_missing])
    yield from facts.notes
    yield from _about_lost_cases(ranking)
    if facts.cases:
        yield from _about_metrics(facts)


def _about_the_lower_bound(facts: Facts, criterion: Criterion, path: str) -> Iterator[str]:
    """Both orders where they differ; nothing where a file has no bound, like those of older versions."""
    scores, bounds = ([figure_at(figures, each) for figures in facts.aggregates] for each in (criterion.path, path))
    if None in scores or None in bounds:
        return
    orders = [positions([(np.array([values]), criterion.direction)])[0] for values in (scores, bounds)]
    if not np.array_equal(*orders):
        by_score, by_bound = (
            ", ".join(f"{place:g} {team}" for place, team in sorted(zip(order, facts.teams, strict=True)))
            for order in orders
        )
        yield (
            "Warning: the order of the teams depends on doubtful results. "
            f"By score: {by_score}. By lower bound: {by_bound}."
        )


def _about_doubts(facts: Facts, doubts: Sequence[tuple[str, str]], lower_bound: str) -> Iterator[str]:
    for team, figures in zip(facts.teams, facts.aggregates, strict=True):
        counted = [(figure_at(figures, path) or 0, words) for path, words in doubts]
        bound = figure_at(figures, lower_bound)
        if bound is not None and any(number for number, _ in counted):
            listed = ", ".join(f"{number:,.0f} {words}" for number, words in counted)
            yield f"{team}: {listed}; the lower bound of the score is {bound:.4f}."


def _about_lost_cases(ranking: Ranking) -> Iterator[str]:
    """One sentence per team; a single one for more than five teams."""
    lost = [team for team in ranking.teams if team.failed or team.missing]
    if len(lost) > _MANY:
        shown = ", ".join(f"{team.name} ({team.failed + team.missing})" for team in lost)
        yield (
            f"{len(lost)} teams have failed or missing cases, which count with the worst values (number in brackets): "
            f"{shown}."
        )
        return
    for team in lost:
        words = lost_words(team.failed, team.missing).replace(", ", " and ")
        yield f"{team.name}: {words} of {team.expected} cases, which count with the worst values."


def _about_small_numbers(cases: int, ranking: Ranking) -> Iterator[str]:
    deciding = ranking.deciding
    if cases < FEW_CASES:
        are = "is only 1 case" if cases == 1 else f"are only {cases} cases"
        yield f"There {are}: intervals and probabilities are only rough estimates."
    if cases < NARROW_BELOW:
        yield f"Percentile intervals over fewer than {NARROW_BELOW} cases (here {cases}) are too narrow."
    figures = {
        "score": list(zip(deciding.scores, deciding.score_intervals or (), strict=False)),
        "difference": [(each.difference, each.interval) for each in ranking.differences],
    }
    outside = [
        name
        for name, pairs in figures.items()
        if any(value is not None and ends is not None and not ends[0] <= value <= ends[1] for value, ends in pairs)
    ]
    if outside:
        yield (
            f"An interval does not contain the {' or '.join(outside)} itself: resampling cases shifts positions "
            "towards the middle of the field."
        )


def _about_intervals(ranking: Ranking) -> Iterator[str]:
    columns, deciding = ranking.columns, ranking.deciding
    medians = [each.title for each in columns if each.interval_kind == "binomial"]
    medians += [deciding.score_title] if deciding.interval_kind == "binomial" else []
    if medians:
        yield f"Exact binomial intervals, instead of percentile intervals: {listed(medians)} (medians over cases)."
    undefined = [deciding.undefined_replicates, *(number for each in columns for number in each.undefined)]
    if max(undefined) > MOST_UNDEFINED * ranking.methods.bootstraps:
        yield (
            f"{MARK} More than {MOST_UNDEFINED * 100:g} % of the resamples have no value of the figure and are left "
            "out of its interval, which is therefore unreliable."
        )
    without = [column.title for column in columns if not column.is_given and None in column.values]
    if without:
        yield f"'{NO_VALUE}' means that the figure is undefined for the team's cases: {listed(without)}."


def _about_clocks(facts: Facts) -> Iterator[str]:
    teams = {
        clock: [
            team
            for team, figures in zip(facts.teams, facts.aggregates, strict=True)
            if figure_at(figures, clock_path(clock))
        ]
        for clock in CLOCKS
    }
    if all(teams.values()):
        named = "; ".join(f"{clock}_duration of {', '.join(theirs)}" for clock, theirs in teams.items())
        yield (
            f"Warning: runtimes were measured by different clocks: {named}. exec_duration includes starting the "
            "container, invoke_duration does not, so they are not comparable."
        )


def _about_limits(facts: Facts) -> Iterator[str]:
    for path, limit in (facts.rule.limits if facts.rule is not None else {}).items():
        found = {team: figure_at(figures, path) for team, figures in zip(facts.teams, facts.aggregates, strict=True)}
        if over := [team for team, value in found.items() if value]:
            yield f"Warning: beyond {limit}: {', '.join(over)}."
        if unknown := [team for team, value in found.items() if value is None]:
            yield f"Not known to be within {limit}: {', '.join(unknown)}."


def _about_the_finalists(official: Official, places: int) -> Iterator[str]:
    number = int(np.count_nonzero(official.finalists))
    if official.ratings is None:
        if number > places:
            yield f"Due to a tie, {number} teams qualify for the arena's {places} places: the organisers must decide."
    elif number < min(places, official.finalists.size):
        yield f"The arena rated only the best {number} teams; it has {places} places."


def _about_metrics(facts: Facts) -> Iterator[str]:
    for name in facts.missing_metrics:
        rows = "The rows are anonymous and" if facts.is_anonymous else "The rows"
        yield f"{rows} do not contain '{name}', so the general schemes do not use it."
    absent: dict[str, int] = {}
    for table in facts.in_schemes:
        undefined = int(np.count_nonzero(~table.defined))
        if undefined:
            yield (
                f"No team has a value of '{table.metric.title}' in {undefined} of {len(facts.cases)} cases; the "
                "general schemes leave these out."
            )
        number = int(np.count_nonzero(np.isnan(table.values[:, table.defined])))
        if number:
            absent[table.metric.title] = number
    if len(absent) > _MANY:
        total = sum(absent.values())
        yield f"{total} values are missing in {len(absent)} metrics; each counts as the worst value of its metric."
        return
    for title, number in absent.items():
        values = "1 value is missing; it counts" if number == 1 else f"{number} values are missing; each counts"
        yield f"'{title}': {values} as the worst value."


# The methods, in prose for a paper.


def methods(options: RankingOptions) -> Methods:
    """The versions and settings behind a ranking, still without its sentences."""
    return Methods(
        podium_version=__version__,
        python_version=platform.python_version(),
        numpy_version=np.__version__,
        scipy_version=scipy.__version__,
        seed=options.seed,
        bootstraps=options.bootstraps,
        confidence=options.confidence,
        alpha=options.alpha,
        quantile=options.quantile,
        sentences=(),
    )


def method_sentences(facts: Facts, ranking: Ranking) -> Iterator[str]:
    """The method of a ranking."""
    yield _about_the_data(facts, ranking)
    yield from _about_the_rule(facts, ranking)
    yield _about_missing(facts)
    if ranking.methods.bootstraps and facts.cases:
        yield from _about_the_bootstrap(ranking)
    if facts.in_schemes and len(facts.teams) > 1:
        yield from _about_the_schemes(facts, ranking.methods.alpha)
    yield from _about_the_packages(facts)
    used = ranking.methods
    yield (
        f"Computed with Podium {used.podium_version}, Python {used.python_version}, NumPy {used.numpy_version}, SciPy "
        f"{used.scipy_version}."
    )


def _about_the_data(facts: Facts, ranking: Ranking) -> str:
    parts = [f"version {ranking.version}"] if ranking.version else []
    parts += [f"{name} {value}" for name, value in ranking.division.items()]
    shown = f" ({', '.join(parts)})" if parts else ""
    teams, cases = count(len(facts.teams), "team"), count(ranking.teams[0].expected, "case")
    return f"{teams} took part in {ranking.title}{shown}, evaluated on {cases}."


def _about_the_packages(facts: Facts) -> Iterator[str]:
    """Which package computed which metric, as metrics.json says; nothing where it does not."""
    if len({json.dumps(file.content.computed_by, sort_keys=True) for file in facts.files}) > 1:
        yield "The figures of the teams were not all computed by the same packages: see computed_by in metrics.json."
        return
    packages: dict[str, list[str]] = {}
    for metric, package in facts.files[0].content.computed_by.items():
        packages.setdefault(escape_for_display(package), []).append(escape_for_display(metric))
    parts = [f"{listed(metrics)} by {package}" for package, metrics in packages.items()]
    if parts:
        yield f"Metrics were computed with these packages: {'; '.join(parts)}."


def _about_missing(facts: Facts) -> str:
    if facts.rule is None:
        return _MISSING[str(facts.files[0].content.settings["table"]["missing"])]
    return (
        "A case without a prediction, or with one that could not be read, counts with the worst value of everything "
        "that teams are ranked by; the same cases count for every team."
    )


def _about_the_rule(facts: Facts, ranking: Ranking) -> Iterator[str]:
    rule, deciding, arena = facts.rule, ranking.deciding, ranking.arena
    is_official = deciding.scheme == OFFICIAL
    if rule is None:
        names = listed([table.metric.title for table in facts.in_schemes])
        yield f"For the table shown here, {deciding.words} ({names})."
    else:
        yield f"By the official rule, {rule.words}."
        if not is_official:
            yield f"The table shown here follows another scheme instead: {deciding.words}."
    if is_official and rule is not None and rule.tie_breaks:
        names = ", then ".join(f"{each.direction} {each.title.lower()}" for each in rule.tie_breaks)
        yield f"Teams with equal scores are ordered by {names}; if still equal, they share the smaller position."
    else:
        yield "Teams with equal scores share the smaller position (1, 1, 3)."
    if rule is not None and rule.finalists is not None:
        best = f"The best {rule.finalists} teams by the official rule go on to pairwise comparison by experts"
        yield f"{best}, whose ratings decided among them." if arena else f"{best}."
    if arena is not None:
        yield from _about_the_arena(arena)


def _about_the_arena(arena: Arena) -> Iterator[str]:
    rating = _RATINGS.get(arena.decided_by, "ratings")
    if arena.votes is not None and arena.raters is not None and arena.cases is not None:
        yield f"In this arena {arena.raters} raters gave {arena.votes} votes on {arena.cases} cases."
    has_groups = any(team is not None and team.group is not None for team in arena.teams)
    if has_groups:
        shared = (
            "teams of the same group are nevertheless ordered by their ratings"
            if arena.ties_broken
            else "teams of the same group share the rank"
        )
        yield (
            f"Finalists are ordered by their {rating}; those whose intervals (percentile bootstrap over cases of the "
            f"Bradley-Terry rating) overlap, directly or through other teams, form a group, and {shared}."
        )
    else:
        yield f"Finalists are ordered by their {rating}."
    if arena.stop_rule_holds is not None:
        held = "held" if arena.stop_rule_holds else "did not hold"
        yield f"The arena's stop rule {held} when the ratings were taken."


def _about_the_bootstrap(ranking: Ranking) -> Iterator[str]:
    used = ranking.methods
    confidence = confidence_words(used.confidence)
    yield (
        f"The stability of the ranking was assessed with {used.bootstraps:,} bootstrap replicates over cases, "
        f"drawn with replacement by a PCG64 generator with seed {used.seed}; a case drawn twice counts twice."
    )
    yield (
        f"We report the {confidence} percentile interval of every team's rank, the frequency of every "
        "rank, the probability of winning (a shared first place counting as an equal part of a win), and Kendall's "
        "tau-b of every replicate to the full ranking."
    )
    yield (
        f"Scores, means and differences between neighbours have {confidence} percentile intervals from the same "
        "replicates, the same cases being drawn for both teams; the probability that the better of two neighbours "
        "is ahead is its share of the replicates, an equal rank counting half."
    )
    if ranking.arena is None and ranking.deciding.stability is not None and len(ranking.teams) > 1:
        yield (
            "Teams form a group with the best team from which they do not differ: two-sided paired tests of the score "
            "(the difference over its bootstrap standard error, t distribution with one degree of freedom less than "
            f"there are cases), Holm-adjusted over the comparisons with that team, at a level of {used.alpha:g}; "
            "the best team outside leads the next group."
        )
    if ranking.not_resampled:
        yield f"Not resampled, because each team has only one figure: {', '.join(ranking.not_resampled)}."


def _about_the_schemes(facts: Facts, alpha: float) -> Iterator[str]:
    weighted, teams = len(set(facts.weights)) > 1, len(facts.teams)
    names = listed(
        [
            f"{table.metric.title} (weight {weight:g})" if weighted else table.metric.title
            for table, weight in zip(facts.in_schemes, facts.weights, strict=True)
        ]
    )
    mean = "weighted mean" if weighted else "mean"
    several = f", each metric giving positions whose {mean} is ranked" if len(facts.in_schemes) > 1 else ""
    yield (
        f"For comparison, teams were also ranked by {names}{several}, under the schemes mean-then-rank, "
        "median-then-rank, rank-then-mean, rank-then-median and test-then-rank."
    )
    yield (
        "Pairs of teams were compared with one-sided paired Wilcoxon signed-rank tests (normal approximation with "
        f"continuity correction, zero differences dropped) at a level of {alpha:g}, without adjustment "
        f"in test-then-rank and with Holm's adjustment over all {teams * (teams - 1)} ordered pairs in "
        "the significance map."
    )
