"""The table of teams of a page: the best value of every column, colours by rank within it, and intervals as bars."""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import quantiles
from typing import Any

from podium.tools.ranking.output import TableColumn, consensus_columns, table_columns
from podium.tools.ranking.prose import paragraph
from podium.tools.ranking.result import Consensus, Ranking
from podium.tools.ranking.wording import MARK, Interval, confidence_words, fixed, interval_words, on_one_line
from podium.tools.report.tables import anchor, rank_words

HEAT = 6
"""Steps of colour, by rank within a column."""
_SHOWN = 8  # figures that are shown at first, where fewer are headlines
_LONGEST_NAME = 32
_REACH = 1.2  # interquartile ranges beyond which a bar is cut: one very bad team must not shrink all others to dots


@dataclass(frozen=True, kw_only=True)
class FinalCell:
    """`order` is what the column is sorted by, where that is not the text; `kind` are CSS classes, `words` are shown on
    hover; `bar` are the ends of the interval and the value, from 0 to 100 on the column's scale."""

    text: str
    order: str = ""
    kind: str = ""
    words: str = ""
    bar: tuple[float, float, float] | None = None
    plus: str = ""


@dataclass(frozen=True, kw_only=True)
class FinalColumn:
    """`best` is high or low, or empty where neither is better; `is_more` columns are hidden at first."""

    title: str
    kind: str
    best: str
    is_more: bool
    cells: Sequence[FinalCell]


def final_table(ranking: Ranking) -> dict[str, Any]:
    """Every figure of the leaderboard; `files` have the table too."""
    groups = [team.group for team in ranking.teams]
    rows = [
        {
            **_row(rank_words(team), team.name, team.rank),
            "anchor": anchor(number),
            "is_finalist": team.finalist,
            "group": _letters(team.group),
            "bracket": _bracket(groups, number),
        }
        for number, team in enumerate(ranking.teams)
    ]
    note, files = paragraph("table_note", ranking=ranking), {"CSV": "ranking.csv", "LaTeX": "ranking.tex"}
    columns = [each for each in table_columns(ranking, every=True) if each.kind != "group"]
    headlines = sum(each.headline for each in ranking.columns)
    by_cases = f"{ranking.size} cannot separate them after correction"
    same = by_cases if ranking.differences else "the votes do not separate them"
    return {
        **_table(columns, shown=max(headlines, _SHOWN), confidence=ranking.methods.confidence),
        **{"rows": rows, "note": note, "files": files, "same": f"same letter: {same}" if any(groups) else ""},
    }


def consensus_table(consensus: Consensus) -> dict[str, Any]:
    """`final_table` with the columns of `consensus_columns`; teams have no place of their own on the page."""
    ranks = Counter(consensus.consensus_ranks)
    rows = [
        {
            **_row(f"{rank}{'=' if ranks[rank] > 1 else ''}", name, rank),
            **{"anchor": "", "is_finalist": False, "group": "", "bracket": ""},
        }
        for name, rank in zip(consensus.teams, consensus.consensus_ranks, strict=True)
    ]
    note = "Teams of equal rank are marked with =. The last columns are the ranks in the tasks."
    columns = consensus_columns(consensus)
    return {
        **_table(columns, shown=len(columns), confidence=consensus.confidence),
        **{"rows": rows, "note": note, "files": {"CSV": "consensus.csv"}, "same": ""},
    }


def _table(columns: Sequence[TableColumn], *, shown: int, confidence: float) -> dict[str, Any]:
    figures = [each for each in columns if each.kind == "m"]
    made = [_column(each, is_more=each in figures[shown:]) for each in columns]
    has_bars = any(cell.bar for column in made for cell in column.cells)
    return {"columns": made, "has_bars": has_bars, "confidence": confidence_words(confidence)}


def _row(rank: str, name: str, number: int | None) -> dict[str, Any]:
    short = on_one_line(name, _LONGEST_NAME)
    medal = f"medal m{number}" if number in (1, 2, 3) else ""
    return {"rank": rank, "name": name, "short": short, "medal": medal, "order": "" if number is None else number}


def _column(column: TableColumn, *, is_more: bool) -> FinalColumn:
    teams = range(len(column.cells))
    values = [cell if isinstance(cell, int | float) else None for cell in column.cells]
    ranks = [_place(value, values, best=column.best) for value in values]
    known = sum(value is not None for value in values)
    low, span = _scale(values, [column.interval(team) for team in teams], is_cut=column.kind == "m")
    cells = []
    for team, value, rank in zip(teams, values, ranks, strict=True):
        remark = column.remarks[team] if column.remarks else ""
        words = [remark, column.notes[team] if column.notes else ""]
        kinds, bar, plus, order = [column.kind], None, column.spread_text(team).strip(), ""
        cell = column.cells[team]
        if value is None:
            kinds += ["warn"] if remark else ["none"] if cell is None or column.kind in ("m", "score") else []
            order = f"{cell[0] + cell[1] / 1000:g}" if isinstance(cell, tuple) else ""
        else:
            order = f"{value:.9g}"
        if value is not None and rank is not None:
            kinds += ["best"] if rank == 1 and known > 1 else []
            heat = HEAT - math.floor((rank - 1) / max(known - 1, 1) * (HEAT + 0.999))
            kinds += [f"h{heat}"] if column.kind == "m" and heat > 0 and known > 1 else []
            words.insert(0, f"rank {rank} of {known}")
        if value is not None and (ends := column.interval(team)):
            words.insert(0, interval_words(ends, column.decimals))
            places = [round(min(max(100 * (each - low) / span, 0), 100), 1) for each in (*ends, value)]
            bar = places[0], places[1], places[2]
            plus = f"± {fixed((ends[1] - ends[0]) / 2, column.decimals)}"
        text = column.text(team, dash="–") + (f" {MARK}" if MARK in remark else "")
        kind, shown = " ".join(filter(None, kinds)), "; ".join(filter(None, words))
        cells.append(FinalCell(text=text, order=order, kind=kind, words=shown, bar=bar, plus=plus))
    return FinalColumn(title=column.title, kind=column.kind, best=column.best, is_more=is_more, cells=cells)


def _place(value: float | None, values: Sequence[float | None], *, best: str) -> int | None:
    """The position within the column; None without a value, and where neither direction is better."""
    if value is None or not best:
        return None
    sign = 1 if best == "high" else -1
    return 1 + sum(sign * other > sign * value for other in values if other is not None)


def _scale(
    values: Sequence[float | None], intervals: Sequence[Interval | None], *, is_cut: bool
) -> tuple[float, float]:
    """The lowest end of all intervals, and how far it is to the highest."""
    known = [each for each in values if each is not None] + [end for ends in intervals if ends for end in ends]
    low, high = (min(known), max(known)) if known else (0.0, 1.0)
    if is_cut and len(known) > 11:
        first, _, third = quantiles(known, n=4)
        low, high = max(low, first - _REACH * (third - first)), min(high, third + _REACH * (third - first))
    return low, (high - low) or 1.0


def _letters(group: int | None) -> str:
    """1 is A, 27 is AA."""
    letters, left = "", group or 0
    while left:
        left, digit = divmod(left - 1, 26)
        letters = chr(ord("A") + digit) + letters
    return letters


def _bracket(groups: Sequence[int | None], number: int) -> str:
    """The classes of a bracket over neighbours of one group; a group need not be contiguous, so letters tell it too."""
    group, before, after = groups[number], groups[number - 1] if number else None, [*groups[number + 1 :], None][0]
    if group is None or group not in (before, after):
        return ""
    return " ".join(["in", *(["from"] if before != group else []), *(["to"] if after != group else [])])
