"""In words: what could not be done, and what an organiser should know before publishing."""

from collections.abc import Iterator

import numpy as np

from podium.platform.jobs import CLOCKS
from podium.platform.runtime import clock_path
from podium.ranking.facts import Facts
from podium.ranking.official import Official, figure
from podium.ranking.options import RankingOptions


def notes(
    facts: Facts, official: Official | None, why_no_interval: str | None, options: RankingOptions
) -> Iterator[str]:
    """Sentences, the most important first."""
    if official is None:
        yield "This is not the official ranking: the files do not have the figures that the official rule compares."
    if not facts.cases:
        yield (
            "The files hold no single cases: teams are ranked by aggregates alone, without bootstrap, tests or other "
            "schemes."
        )
    elif why_no_interval and options.bootstraps:
        yield f"The official ranking has no interval. {why_no_interval}"
    if facts.is_adjusted:
        yield "Figures that depend on all teams were recomputed for these teams."
    yield from _about_clocks(facts)
    if official and facts.rule.finalists is not None:
        yield from _about_the_arena(official, facts.rule.finalists)
    for file in facts.files:
        counts = file.content.counts
        lost = [
            f"{number} {word}" for word, number in (("failed", counts.failed), ("missing", counts.missing)) if number
        ]
        if lost:
            yield f"{file.team}: {' and '.join(lost)} of {counts.expected} cases, counted with the worst values."
    if facts.cases:
        yield from _about_metrics(facts)


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


def _about_the_arena(official: Official, places: int) -> Iterator[str]:
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
    for table in facts.in_schemes:
        undefined = int(np.count_nonzero(~table.defined))
        if undefined:
            yield (
                f"'{table.metric.title}' exists for no team in {undefined} of {len(facts.cases)} cases; the general "
                "schemes leave these out."
            )
        absent = int(np.count_nonzero(np.isnan(table.values[:, table.defined])))
        if absent:
            yield f"'{table.metric.title}' is missing {absent} times; each counts as its worst value."
