"""In words: what could not be done, and what an organiser should know before publishing."""

from collections.abc import Iterator, Sequence

import numpy as np

from podium.challenges.board import Criterion
from podium.platform.jobs import CLOCKS
from podium.platform.runtime import clock_path
from podium.ranking.chances import FEW_CASES, NARROW_BELOW
from podium.ranking.facts import Facts
from podium.ranking.official import Official, figure
from podium.ranking.options import RankingOptions
from podium.ranking.positions import positions
from podium.ranking.result import Arena, SchemeRanking
from podium.ranking.schemes import MEDIAN, RANK_MEDIAN

_MANY = 5  # sentences of one kind that are still read


def notes(  # noqa: PLR0913  (all that can be remarked on)
    facts: Facts,
    *,
    official: Official | None,
    arena: Arena | None,
    deciding: SchemeRanking,
    by_the_rule: SchemeRanking | None,
    options: RankingOptions,
) -> Iterator[str]:
    """Sentences, the most important first; `by_the_rule` is the official ranking where there is one."""
    if official is not None and official.rule.lower_bound is not None:
        yield from _about_the_lower_bound(facts, official.rule.criteria[0], official.rule.lower_bound)
        yield from _about_doubts(facts, official.rule.doubts, official.rule.lower_bound)
    if facts.cases and options.bootstraps:
        yield from _about_small_numbers(len(facts.cases), deciding)
    if official is None and facts.rule is not None:
        yield "This is not the official ranking: the files do not have the figures that the official rule compares."
    if not facts.cases:
        yield (
            "The files hold no single cases: teams are ranked by aggregates alone, without bootstrap, tests or other "
            "schemes."
        )
    elif by_the_rule is not None and by_the_rule.why_no_stability and options.bootstraps:
        yield f"The official ranking has no interval. {by_the_rule.why_no_stability}"
    if facts.is_adjusted:
        yield "Figures that depend on all teams were recomputed for these teams."
    yield from _about_clocks(facts)
    if official and official.rule.finalists is not None:
        yield from _about_the_finalists(official, official.rule.finalists)
    if arena is not None and arena.stop_rule_holds is False:
        yield " ".join(["Warning: the arena's stop rule does not hold.", *arena.stop_rule_missing])
    yield from facts.notes
    yield from _about_lost_cases(facts)
    if facts.cases:
        yield from _about_metrics(facts)


def _about_the_lower_bound(facts: Facts, criterion: Criterion, path: str) -> Iterator[str]:
    """Both orders where they differ; nothing where a file has no bound, as those of older versions."""
    scores, bounds = ([figure(figures, each) for figures in facts.aggregates] for each in (criterion.path, path))
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
        counted = [(figure(figures, path) or 0, words) for path, words in doubts]
        bound = figure(figures, lower_bound)
        if bound is not None and any(number for number, _ in counted):
            listed = ", ".join(f"{number:,.0f} {words}" for number, words in counted)
            yield f"{team}: {listed}; the lower bound of the score is {bound:.4f}."


def _about_lost_cases(facts: Facts) -> Iterator[str]:
    """A sentence per team; one for all where there are many."""
    lost = [file for file in facts.files if file.content.counts.failed or file.content.counts.missing]
    if len(lost) > _MANY:
        shown = ", ".join(f"{file.team} ({file.content.counts.failed + file.content.counts.missing})" for file in lost)
        yield (
            f"{len(lost)} teams have failed or missing cases, counted with the worst values; how many stands in "
            f"brackets: {shown}."
        )
        return
    for file in lost:
        counts = file.content.counts
        words = [
            f"{number} {word}" for word, number in (("failed", counts.failed), ("missing", counts.missing)) if number
        ]
        yield f"{file.team}: {' and '.join(words)} of {counts.expected} cases, counted with the worst values."


def _about_small_numbers(cases: int, deciding: SchemeRanking) -> Iterator[str]:
    if cases < FEW_CASES:
        shown = "1 case" if cases == 1 else f"{cases} cases"
        yield f"There are only {shown}: intervals and probabilities are rough, and none of them is certain."
    if cases < NARROW_BELOW:
        yield f"Percentile intervals over fewer than {NARROW_BELOW} cases (here {cases}) are too narrow."
    elif deciding.scheme in (MEDIAN.name, RANK_MEDIAN.name):
        yield "Percentile intervals of medians are too narrow."
    if any(
        score is not None and interval is not None and not interval[0] <= score <= interval[1]
        for score, interval in zip(deciding.scores, deciding.score_intervals or (), strict=False)
    ):
        yield (
            "An interval of the score does not contain the score itself: drawing cases moves positions to the middle "
            "of the field."
        )


def _about_clocks(facts: Facts) -> Iterator[str]:
    teams = {
        clock: [
            team
            for team, figures in zip(facts.teams, facts.aggregates, strict=True)
            if figure(figures, clock_path(clock))
        ]
        for clock in CLOCKS
    }
    if all(teams.values()):
        named = "; ".join(f"{clock}_duration of {', '.join(theirs)}" for clock, theirs in teams.items())
        yield (
            f"Warning: the times were measured by different clocks: {named}. exec_duration includes starting the "
            "container, invoke_duration does not: comparing them is unfair."
        )


def _about_the_finalists(official: Official, places: int) -> Iterator[str]:
    count = int(np.count_nonzero(official.finalists))
    if official.ratings is None:
        if count > places:
            yield f"A tie brings {count} teams to the arena's {places} places: the organisers have to decide."
    elif count < min(places, official.finalists.size):
        yield f"The arena rated the best {count} teams; it has places for {places}."


def _about_metrics(facts: Facts) -> Iterator[str]:
    for name in facts.missing_metrics:
        rows = "The rows are anonymous and" if facts.is_anonymous else "The rows"
        yield f"{rows} do not hold '{name}', so the general schemes do not use it."
    absent: dict[str, int] = {}
    for table in facts.in_schemes:
        undefined = int(np.count_nonzero(~table.defined))
        if undefined:
            yield (
                f"'{table.metric.title}' exists for no team in {undefined} of {len(facts.cases)} cases; the general "
                "schemes leave these out."
            )
        number = int(np.count_nonzero(np.isnan(table.values[:, table.defined])))
        if number:
            absent[table.metric.title] = number
    if len(absent) > _MANY:
        total = sum(absent.values())
        yield f"Values are missing in {len(absent)} metrics, {total} in all; each counts as its worst value."
        return
    for title, number in absent.items():
        times = "once; it" if number == 1 else f"{number} times; each"
        yield f"'{title}' is missing {times} counts as its worst value."
