"""The final table of a ranking's report, the neighbours compared, and what the arena knows."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from podium.tools.ranking.arena import figure_rows, team_rows
from podium.tools.ranking.output import headline_columns
from podium.tools.ranking.result import AggregateColumn, Calibration, Ranking, chance, column_decimals, even_decimals
from podium.tools.report.page import NOTHING, Table, fixed, interval_words, listed, percent
from podium.tools.report.plots.ranks import rank_interval
from podium.tools.report.team_pages import anchor, rank_words


def final_table(ranking: Ranking) -> dict[str, Any]:
    """What the template shows as the final table."""
    columns = headline_columns(ranking)
    score_decimals = column_decimals(team.score for team in ranking.teams)
    decimals = [even_decimals(column.values) for column in columns]
    rows = []
    for row, team in enumerate(ranking.teams):
        cells = [_cell(column, row, places) for column, places in zip(columns, decimals, strict=True)]
        score = {
            "value": fixed(team.score, score_decimals),
            "interval": interval_words(team.score_interval, score_decimals),
        }
        rows.append({**_row(ranking, row), "score": score, "columns": cells})
    return {
        "score_title": ranking.deciding.score_title,
        "has_stability": ranking.deciding.stability is not None,
        "has_groups": any(team.group is not None for team in ranking.teams),
        "interval_title": f"Rank, {percent(ranking.methods.confidence)} interval",
        "column_titles": [column.title for column in columns],
        "rows": rows,
        "hint": _hint(ranking, columns, rows),
        "note": _note(ranking),
    }


def _hint(ranking: Ranking, columns: Sequence[AggregateColumn], rows: Sequence[dict[str, Any]]) -> str:
    """As of a plain table with the same words; an interval of a rank takes its small bar too."""
    titles = ("Rank", "Team", ranking.deciding.score_title, "Group", "interval", "winning")
    figures = [
        [max(cell["value"], cell["interval"], key=len) for cell in (row["score"], *row["columns"])] for row in rows
    ]
    lines = []
    for row, (score, *others) in zip(rows, figures, strict=True):
        drawn = (row.get("interval", "") + " " * 9, row.get("win", ""))
        lines.append((row["rank"], row["name"][:20], score, row["group"], *drawn, *others, row["scored"]))
    return Table(head=(*titles, *(column.title for column in columns), "scored"), rows=lines).hint


def _row(ranking: Ranking, row: int) -> dict[str, Any]:
    team, stability = ranking.teams[row], ranking.deciding.stability
    lost = [f"{number} {what}" for number, what in ((team.failed, "failed"), (team.missing, "missing")) if number]
    shown = {
        "rank": rank_words(team),
        "first": team.rank == 1,
        "group": NOTHING if team.group is None else str(team.group),
        "starts_group": row > 0 and team.group != ranking.teams[row - 1].group,
        "anchor": anchor(row),
        "name": team.name,
        "finalist": team.finalist,
        "scored": f"{team.scored} of {team.expected}",
        "lost": ", ".join(lost),
    }
    if stability is not None:
        low, high = stability.rank_intervals[row]
        shown["interval"] = str(low) if low == high else f"{low} to {high}"
        shown["interval_svg"] = rank_interval(low=low, high=high, rank=team.rank, teams=len(ranking.teams))
        shown["win"] = chance(stability.win_probabilities[row], cases=len(ranking.cases))
    return shown


def _cell(column: AggregateColumn, row: int, decimals: int) -> dict[str, str]:
    value = column.values[row]
    if value is None:
        return {"value": "unknown", "interval": ""}
    interval = column.intervals[row] if column.intervals else None
    spread = column.errors[row] if column.errors is not None and interval is None else None
    words = fixed(value, decimals) + ("" if spread is None else f" ± {fixed(spread, decimals)}")
    return {"value": words, "interval": interval_words(interval, decimals)}


def _note(ranking: Ranking) -> str:
    words = ["Teams of equal rank are marked with =."]
    confidence = percent(ranking.methods.confidence)
    if ranking.deciding.score_intervals is not None or any(column.intervals for column in ranking.columns):
        words.append(f"Below a figure stands its {confidence} interval over cases.")
    if ranking.not_resampled:
        words.append(f"One figure per team, hence without an interval: {listed(list(ranking.not_resampled))}.")
    if any(column.errors and not column.intervals for column in ranking.columns if column.headline):
        words.append("± is the standard deviation over cases.")
    if ranking.differences:
        words.append(
            "A line between two teams separates groups: the teams of a group do not differ significantly from its best "
            "team."
        )
    elif ranking.arena is not None and any(team.group is not None for team in ranking.teams):
        words.append("Groups are the arena's: the votes do not tell their teams apart.")
    if any(team.failed or team.missing for team in ranking.teams):
        words.append("Failed and missing cases count with the worst value of all that teams are ranked by.")
    if ranking.deciding.stability is not None:
        words.append(
            "Interval and chance of winning come from resampling the cases with replacement; a shared first place "
            "is an equal part of a win."
        )
    return " ".join(words)


def differences_table(ranking: Ranking) -> Table | None:
    """Every team and the next one."""
    if not ranking.differences:
        return None
    decimals = column_decimals(team.score for team in ranking.teams)
    groups = {team.name: team for team in ranking.teams}
    rows = []
    for each in ranking.differences:
        same = groups[each.better].group == groups[each.worse].group
        rows.append(
            (
                each.better,
                each.worse,
                fixed(each.difference, decimals),
                interval_words(each.interval, decimals) or NOTHING,
                chance(each.probability_ahead, cases=len(ranking.cases)),
                "same" if same else "different",
            )
        )
    head = (
        "Team",
        "Next team",
        f"Difference in {ranking.deciding.score_title}",
        f"{percent(ranking.methods.confidence)} interval",
        "Probability of being ahead",
        "Groups",
    )
    return Table(head=head, rows=rows, caption="Every team and the next one, over the same resampled cases")


def arena_tables(ranking: Ranking) -> tuple[Sequence[str], Table | None]:
    """Sentences on the arena, and what it knows of every finalist."""
    arena = ranking.arena
    if arena is None:
        return (), None
    words = []
    if arena.votes is not None and arena.raters is not None and arena.cases is not None:
        words.append(f"{arena.raters} raters gave {arena.votes:,} votes on {arena.cases} cases.")
    if arena.stop_rule_holds is not None:
        words.append(
            "The stop rule holds."
            if arena.stop_rule_holds
            else " ".join(["The stop rule does not hold.", *arena.stop_rule_missing])
        )
    finalists = [(team, found) for team, found in zip(ranking.teams, arena.teams, strict=True) if found is not None]
    rows = [
        (
            team.name,
            rank_words(team),
            fixed(found.rating, 1),
            fixed(found.bradley_terry, 1),
            interval_words(found.interval, 1) or NOTHING,
            *(
                NOTHING if number is None else str(number)
                for number in (found.group, found.votes, found.wins, found.losses, found.ties)
            ),
        )
        for team, found in finalists
    ]
    head = ("Team", "Rank", "Rating", "Bradley-Terry", "Its interval", "Group", "Votes", "Wins", "Losses", "Ties")
    return words, Table(head=head, rows=rows, caption="The finalists in the arena")


def calibration_tables(calibration: Calibration) -> list[Table]:
    """Agreement and biases of the judge, and the teams by votes, by the judge and by both."""
    interval = f"{percent(calibration.confidence)} interval"
    return [
        Table(
            head=("Judge and clinicians", "Value", interval, "Of"),
            rows=figure_rows(calibration),
            caption="Agreement and biases",
        ),
        Table(
            head=("Team", "By votes", "By the judge", "By both", "Votes", "Worth votes"),
            rows=team_rows(calibration),
            caption=f"Comparisons won, of 100, with {interval}s",
        ),
    ]


# A challenge's settings as a table of dotted names, so that a reader sees by which rules a figure came about.

_MANY = 5  # numbers of one table, such as a tolerance for every label, that stand in one row


def settings_table(settings: Mapping[str, Any], extra: Mapping[str, str] | None = None) -> Table:
    """Every setting that has a value by its name in challenge.toml, then what else has to be known."""
    rows = [*_leaves(settings, ""), *(extra or {}).items()]
    return Table(head=("Setting", "Value"), rows=rows)


def _leaves(value: Any, name: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping) and len(value) >= _MANY and all(map(_is_number, value.values())):
        yield name, ", ".join(f"{key} {_word(inner)}" for key, inner in value.items())
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _leaves(inner, f"{name}.{key}" if name else str(key))
    elif isinstance(value, list | tuple) and any(isinstance(each, Mapping) for each in value):
        for number, inner in enumerate(value, start=1):
            yield from _leaves(inner, f"{name}[{number}]")
    elif value is not None:
        yield name, _word(value)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _word(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if _is_number(value):
        return f"{value:.6g}"
    if isinstance(value, list | tuple):
        return ", ".join(_word(each) for each in value)
    return str(value)
