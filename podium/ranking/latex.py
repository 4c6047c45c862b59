r"""The final table for a paper: LaTeX with booktabs (`\usepackage{booktabs}`)."""

from collections.abc import Sequence

from podium.ranking.chances import chance
from podium.ranking.decimals import column_decimals, even_decimals, fixed
from podium.ranking.result import AggregateColumn, Interval, Ranking, Row

_ESCAPES = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "τ": r"$\tau$",
    "≤": r"$\leq$",
    "−": "$-$",
    **{character: f"\\{character}" for character in "&%$#_{}"},
}


def latex_escape(text: str) -> str:
    """Text that LaTeX prints as it stands."""
    return "".join(_ESCAPES.get(character, character) for character in text)


def ranking_latex(ranking: Ranking) -> str:
    """Rank, team, score and the headline columns, each with its interval, interval of the rank and group."""
    deciding, stable = ranking.deciding, ranking.deciding.stability
    columns = headline_columns(ranking)
    has_groups = any(team.group is not None for team in ranking.teams)
    confidence = f"{ranking.methods.confidence * 100:g}\\,\\%"
    head = ["Rank", "Team", latex_escape(deciding.score_title), *(latex_escape(column.title) for column in columns)]
    head += [f"Rank, {confidence}", "First"] if stable else []
    head += ["Group"] if has_groups else []
    shown = [_cells(deciding.scores, deciding.score_intervals, column_decimals(deciding.scores))]
    shown += [_cells(column.values, column.intervals, even_decimals(column.values)) for column in columns]
    lines = []
    for number, team in enumerate(ranking.teams):
        cells = ["--" if team.rank is None else str(team.rank), latex_escape(team.name)]
        cells += [column[number] for column in shown]
        if stable:
            low, high = stable.rank_intervals[number]
            win = chance(stable.win_probabilities[number], cases=len(ranking.cases))
            cells += [f"{low}--{high}" if low != high else f"{low}", latex_escape(win)]
        cells += ["--" if team.group is None else str(team.group)] if has_groups else []
        lines.append(" & ".join(cells) + r" \\")
    layout = "rl" + "r" * (len(head) - 2)
    intervals = f" In brackets: {confidence} bootstrap intervals." if deciding.score_intervals else ""
    caption = f"{latex_escape(ranking.title)}: {latex_escape(deciding.words)}.{intervals}"
    return "\n".join(
        [
            "% needs \\usepackage{booktabs}",
            r"\begin{table}",
            rf"\caption{{{caption}}}",
            r"\centering",
            rf"\begin{{tabular}}{{{layout}}}",
            r"\toprule",
            " & ".join(head) + r" \\",
            r"\midrule",
            *lines,
            r"\bottomrule",
            r"\end{tabular}",
            r"\end{table}",
            "",
        ]
    )


def headline_columns(ranking: Ranking) -> list[AggregateColumn]:
    """The short table's columns, without the one that is the score already."""
    scores = tuple(team.score for team in ranking.teams)
    return [column for column in ranking.columns if column.headline and column.values != scores]


def _cells(values: Row, intervals: Sequence[Interval | None] | None, decimals: int) -> list[str]:
    cells = []
    for number, value in enumerate(values):
        interval = intervals[number] if intervals else None
        text = "--" if value is None else latex_escape(fixed(value, decimals))
        if interval is not None:
            low, high = (latex_escape(fixed(end, decimals)) for end in interval)
            text += f" [{low}, {high}]"
        cells.append(text)
    return cells
