"""ranking.json: written, read, checked, and its JSON Schema."""

import json
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from typing import Any

from pydantic import TypeAdapter, ValidationError

from podium.errors import UsageError, first_problem
from podium.ranking.result import Ranking


def ranking_to_json(ranking: Ranking) -> str:
    """The content of ranking.json, the same bytes for the same ranking; NaN and infinity have no place in it.

    One line per field: indented, the tables of single cases would have one line per number.
    """
    document = _adapter().dump_python(ranking, mode="json")
    lines = (
        f"{json.dumps(key)}: "
        + json.dumps(document[key], sort_keys=key != "settings", allow_nan=False, ensure_ascii=False)
        for key in sorted(document)
    )
    return "{\n" + ",\n".join(lines) + "\n}\n"


def ranking_from_json(text: str | bytes, *, name: str = "ranking.json") -> Ranking:
    """The ranking in a ranking.json; `name` stands for the file in error messages."""
    try:
        ranking = _adapter().validate_json(text)
    except ValidationError as error:
        raise UsageError(f"{name} is not a ranking.json written by 'podium rank': {first_problem(error)}.") from None
    problem = next(_contradictions(ranking), None)
    if problem:
        raise UsageError(f"{name} is not a ranking.json written by 'podium rank': {problem}.")
    return ranking


def _contradictions(ranking: Ranking) -> Iterator[str]:
    """What types alone cannot say: tables that do not follow the teams and cases, and ranks that do not exist."""
    teams, cases, schemes = len(ranking.teams), len(ranking.cases), len(ranking.schemes)
    if not teams:
        yield "it has no teams"
    if ranking.deciding_scheme not in [scheme.scheme for scheme in ranking.schemes]:
        yield f"it has no scheme '{ranking.deciding_scheme}'"
    for place, table, shape in _tables(ranking, teams=teams, cases=cases, schemes=schemes):
        if not _has_shape(table, shape):
            yield f"{place} must be {' x '.join(map(str, shape))} ({teams} teams, {cases} cases, {schemes} schemes)"
    ranks = [("teams", team.rank) for team in ranking.teams]
    ranks += [(f"schemes.{number}.ranks", rank) for number, each in enumerate(ranking.schemes) for rank in each.ranks]
    yield from (
        f"{place} has the rank {rank} of {teams}"
        for place, rank in ranks
        if rank is not None and not 1 <= rank <= teams
    )


def _tables(ranking: Ranking, *, teams: int, cases: int, schemes: int) -> Iterator[tuple[str, Any, tuple[int, ...]]]:
    """Every table by its place, with the shape it must have."""
    yield "statuses", ranking.statuses, (teams, cases)
    yield "scheme_taus", ranking.scheme_taus, (schemes, schemes)
    if ranking.arena is not None:
        yield "arena.teams", ranking.arena.teams, (teams,)
    for number, column in enumerate(ranking.columns):
        yield f"columns.{number}.values", column.values, (teams,)
        for name in ("errors", "intervals"):
            if (table := getattr(column, name)) is not None:
                yield f"columns.{number}.{name}", table, (teams,)
    for number, metric in enumerate(ranking.metrics):
        yield f"metrics.{number}.values", metric.values, (teams, cases)
        yield f"metrics.{number}.means", metric.means, (teams,)
        if metric.mean_intervals is not None:
            yield f"metrics.{number}.mean_intervals", metric.mean_intervals, (teams,)
    for number, scheme in enumerate(ranking.schemes):
        yield f"schemes.{number}.ranks", scheme.ranks, (teams,)
        yield f"schemes.{number}.scores", scheme.scores, (teams,)
        if scheme.score_intervals is not None:
            yield f"schemes.{number}.score_intervals", scheme.score_intervals, (teams,)
        if scheme.stability is not None:
            yield f"schemes.{number}.stability.rank_frequencies", scheme.stability.rank_frequencies, (teams, teams)
            for name in ("rank_intervals", "mean_ranks", "win_probabilities"):
                yield f"schemes.{number}.stability.{name}", getattr(scheme.stability, name), (teams,)
    for number, tests in enumerate(ranking.significance):
        for name in ("p", "p_holm", "significant", "significant_holm"):
            yield f"significance.{number}.{name}", getattr(tests, name), (teams, teams)


def _has_shape(table: Any, shape: tuple[int, ...]) -> bool:
    inner = shape[1:]
    return len(table) == shape[0] and (not inner or all(_has_shape(row, inner) for row in table))


def ranking_schema() -> dict[str, Any]:
    """The JSON Schema of ranking.json that is shipped with the package."""
    schema: dict[str, Any] = json.loads(files("podium.ranking").joinpath("ranking.schema.json").read_text("utf-8"))
    return schema


def schema_of_the_classes() -> dict[str, Any]:
    """What the shipped schema has to be, from the classes of `podium.ranking.result`."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **_adapter().json_schema(mode="serialization"),
        "title": "ranking.json as Podium writes it",
    }


@cache
def _adapter() -> TypeAdapter[Ranking]:
    return TypeAdapter(Ranking)
