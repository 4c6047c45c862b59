"""What a ranking says about itself in prose: notes for its organisers, and the methods for a paper.

The words are in templates: every line that is not empty is a sentence, or several that belong together.
"""

import json
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from podium.challenges.board import RankingRule
from podium.errors import listed
from podium.platform.jobs import CLOCKS, clock_path
from podium.readers.files import escape_for_display
from podium.tools.ranking import wording
from podium.tools.ranking.facts import Facts, figure_at
from podium.tools.ranking.official import Official
from podium.tools.ranking.result import NARROW_BELOW, Note, Ranking
from podium.tools.ranking.schemes import OFFICIAL, RankingOptions
from podium.tools.ranking.statistics import MOST_TEAMS, positions

if TYPE_CHECKING:
    from jinja2 import Environment


def sentences(template: str, **content: Any) -> tuple[str, ...]:
    """The lines of a template in podium/tools/ranking/templates."""
    lines = _environment().get_template(f"{template}.jinja").render(content).split("\n")
    return tuple(line for line in lines if line)


def paragraph(template: str, **content: Any) -> str:
    """All lines of a template as one paragraph."""
    return " ".join(sentences(template, **content))


@cache
def _environment() -> "Environment":
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(  # noqa: S701  (plain text: a page escapes it when it shows it)
        loader=PackageLoader("podium.tools.ranking"),
        undefined=StrictUndefined,
        finalize=lambda value: value.replace("\n", " ") if isinstance(value, str) else value,  # a line is a sentence
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    named = {"confidence": wording.confidence_words, "latex": wording.latex_escape, "listed": listed, "zip": zip}
    environment.filters |= {**vars(wording), **named}
    constants = {"MOST_TEAMS": MOST_TEAMS, "NARROW_BELOW": NARROW_BELOW, "OFFICIAL": OFFICIAL}
    environment.globals |= {**vars(wording), **constants}
    return environment


def notes(facts: Facts, official: Official | None, ranking: Ranking, options: RankingOptions) -> tuple[Note, ...]:
    """What could not be done, and what an organiser should know before publishing."""
    found = []

    def note(kind: str, line: str = "", *, caller: Callable[[], str], **numbers: float) -> str:
        text = " ".join(caller().split())
        found.append(Note(kind=kind, line=line or text.removesuffix("."), text=text, numbers=numbers))
        return ""

    deciding, columns = ranking.deciding, ranking.columns
    rule = official.rule if official else None
    by_score, by_lower_bound = _orders(facts, rule) if rule else ("", "")
    titled = [(deciding.score_title, deciding.interval_kind), *((each.title, each.interval_kind) for each in columns)]
    undefined = {each.metric.title: int((~each.defined).sum()) for each in facts.in_schemes}
    missing = {each.metric.title: int(np.isnan(each.values[:, each.defined]).sum()) for each in facts.in_schemes}
    sentences(
        "notes",
        note=note,
        facts=facts,
        ranking=ranking,
        official=official,
        cases=facts.units,
        bootstraps=options.bootstraps,
        by_score=by_score,
        by_lower_bound=by_lower_bound,
        doubtful=_doubtful(facts, rule) if rule else (),
        outside=_outside(ranking),
        **{
            name: [*dict.fromkeys(title for title, found in titled if found == kind)]
            for name, kind in (("medians", "binomial"), ("over_defined_terms", "defined-terms"))
        },
        most_undefined=max([deciding.undefined_replicates, *(each for column in columns for each in column.undefined)]),
        undefined_columns=[each.title for each in columns if not each.is_given and None in each.values],
        why_not_official=ranking.scheme(OFFICIAL).why_no_stability if official else None,
        clocks={clock: _teams_with(facts, clock_path(clock)) for clock in CLOCKS},
        limits=[
            (limit, _teams_with(facts, path), _teams_with(facts, path, unknown=True))
            for path, limit in (facts.rule.limits if facts.rule else {}).items()
        ],
        places=rule.finalists if rule else None,
        is_rated=official is not None and official.ratings is not None,
        finalists=int(np.count_nonzero(official.finalists)) if official else 0,
        incomplete=[team for team in ranking.teams if team.scored < team.expected],
        undefined_cases=[(title, number) for title, number in undefined.items() if number],
        missing_values={title: number for title, number in missing.items() if number},
    )
    return tuple(found)


def _orders(facts: Facts, rule: RankingRule) -> tuple[str, str]:
    """The teams by score and by its lower bound; empty where a file has no bound, like those of older versions."""
    criterion = rule.criteria[0]
    paths = (criterion.path, rule.lower_bound or "")
    scores, bounds = ([figure_at(figures, path) for figures in facts.aggregates] for path in paths)
    if rule.lower_bound is None or None in scores or None in bounds:
        return "", ""
    by_score, by_bound = (
        ", ".join(f"{place:g} {team}" for place, team in sorted(zip(order, facts.teams, strict=True)))
        for order in (positions([(np.array([values]), criterion.direction)])[0] for values in (scores, bounds))
    )
    return by_score, by_bound


def _doubtful(facts: Facts, rule: RankingRule) -> list[tuple[str, list[str], float]]:
    """The teams with doubtful results: how many of which kind, and the lower bound of the score."""
    found = []
    for team, figures in zip(facts.teams, facts.aggregates, strict=True):
        counted = [(figure_at(figures, path) or 0, words) for path, words in rule.doubts]
        bound = figure_at(figures, rule.lower_bound) if rule.lower_bound else None
        if bound is not None and any(number for number, _ in counted):
            found.append((team, [f"{number:,.0f} {words}" for number, words in counted], bound))
    return found


def _outside(ranking: Ranking) -> list[str]:
    """The figures of which at least one is outside of its own interval."""
    deciding = ranking.deciding
    figures = {
        "score": list(zip(deciding.scores, deciding.score_intervals or (), strict=False)),
        "difference": [(each.difference, each.interval) for each in ranking.differences],
    }
    return [
        name
        for name, pairs in figures.items()
        if any(value is not None and ends is not None and not ends[0] <= value <= ends[1] for value, ends in pairs)
    ]


def _teams_with(facts: Facts, path: str, *, unknown: bool = False) -> list[str]:
    """The teams whose figure is not 0; with `unknown`, those without the figure."""
    found = {team: figure_at(figures, path) for team, figures in zip(facts.teams, facts.aggregates, strict=True)}
    return [team for team, value in found.items() if (value is None if unknown else value)]


def method_sentences(facts: Facts, ranking: Ranking) -> tuple[str, ...]:
    """The method of a ranking, for a paper."""
    settings, arena = facts.files[0].content.settings, ranking.arena
    is_weighted = len(set(facts.weights)) > 1
    titles = [each.metric.title for each in facts.in_schemes]
    weighted = [f"{title} (weight {weight:g})" for title, weight in zip(titles, facts.weights, strict=True)]
    return sentences(
        "methods",
        facts=facts,
        ranking=ranking,
        about=[
            *([f"version {ranking.version}"] if ranking.version else []),
            *(f"{name} {value}" for name, value in ranking.division.items()),
        ],
        titles=titles,
        weighted_titles=weighted if is_weighted else titles,
        is_weighted=is_weighted,
        missing="" if facts.rule else settings["table"]["missing"],
        has_arena_groups=any(team is not None and team.group is not None for team in arena.teams) if arena else False,
        packages=_packages(facts),
    )


def _packages(facts: Facts) -> dict[str, list[str]] | None:
    """The metrics that each package computed, as metrics.json says; None where the teams' files differ."""
    if len({json.dumps(file.content.computed_by, sort_keys=True) for file in facts.files}) > 1:
        return None
    packages: dict[str, list[str]] = {}
    for metric, package in facts.files[0].content.computed_by.items():
        packages.setdefault(escape_for_display(package), []).append(escape_for_display(metric))
    return packages
