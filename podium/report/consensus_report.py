"""The report of several tasks: the consensus of their rankings."""

import numpy as np

from podium.ranking.chances import chance
from podium.ranking.consensus import Consensus
from podium.report.exhibit import Exhibit, Table
from podium.report.files.writing import FigureNames, Report
from podium.report.page import render
from podium.report.plots.blob import blob_plot
from podium.report.plots.podium_steps import PodiumPlace, podium_steps
from podium.report.plots.scheme_lines import scheme_lines
from podium.report.words import NOTHING, fixed, percent, with_interval


def consensus_report(consensus: Consensus) -> Report:
    """The whole HTML file and its figures."""
    names = FigureNames()
    places = [
        PodiumPlace(rank=rank, team=team, score=f"Mean rank {fixed(mean, 2)}")
        for rank, team, mean in zip(consensus.consensus_ranks, consensus.teams, consensus.mean_ranks, strict=True)
    ]
    podium = names.named(podium_steps(places))
    exhibits = [names.named(each) for each in _exhibits(consensus)]
    page = render(
        "consensus.html.jinja",
        kicker="Consensus ranking",
        heading=consensus.title,
        facts=[("Teams", f"{len(consensus.teams):,}"), ("Tasks", f"{len(consensus.tasks):,}")],
        contents=[("ranking", "Ranking"), ("stability", "How sure?"), ("methods", "Methods")],
        podium=podium,
        ranking=_ranking(consensus),
        kemeny=_kemeny(consensus),
        exhibits=exhibits,
        taus=Table(
            head=("Task", "Kendall's τ-b to the consensus"),
            rows=[
                (task, NOTHING if tau is None else fixed(tau, 2))
                for task, tau in zip(consensus.tasks, consensus.task_taus, strict=True)
            ],
            caption="How near each task is to the consensus",
        ),
        methods=" ".join(consensus.sentences),
    )
    return Report(page=page, exhibits=names.exhibits)


def _ranking(consensus: Consensus) -> Table:
    stable = consensus.stability
    drawn = [f"Rank, {percent(consensus.confidence)} interval", "Chance of winning"] if stable else []
    kemeny = ["Kemeny place"] if consensus.kemeny else []
    rows = []
    for number, team in enumerate(consensus.teams):
        mean = with_interval(consensus.mean_ranks[number], consensus.mean_rank_interval(number), 2)
        cells = [str(consensus.consensus_ranks[number]), team, mean]
        if stable:
            low, high = stable.rank_intervals[number]
            cells.append(str(low) if low == high else f"{low} to {high}")
            cells.append(chance(stable.win_probabilities[number], cases=consensus.cases))
        if consensus.kemeny:
            cells.append(str(consensus.kemeny.index(team) + 1))
        rows.append((*cells, *(str(ranks[number]) for ranks in consensus.ranks)))
    return Table(head=("Rank", "Team", "Mean rank", *drawn, *kemeny, *consensus.tasks), rows=rows)


def _kemeny(consensus: Consensus) -> str:
    if consensus.kemeny is None:
        return ""
    pairs = len(consensus.teams) * (len(consensus.teams) - 1) // 2 * len(consensus.tasks)
    return (
        f"The Kemeny order is {', '.join(consensus.kemeny)}: it contradicts {consensus.kemeny_disagreements} of the "
        f"{pairs} comparisons of two teams in a task, and no order contradicts fewer."
    )


def _exhibits(consensus: Consensus) -> list[Exhibit]:
    exhibits = []
    if consensus.stability is not None:
        exhibits.append(
            blob_plot(
                consensus.teams,
                frequency=np.array(consensus.stability.rank_frequencies, dtype=np.float64),
                intervals=consensus.stability.rank_intervals,
                ranks=consensus.consensus_ranks,
                replicates=consensus.stability.replicates,
                confidence=consensus.confidence,
            )
        )
    ranks = np.array([consensus.consensus_ranks, *consensus.ranks], dtype=np.float64).T
    exhibits.append(scheme_lines(consensus.teams, ["Consensus", *consensus.tasks], ranks=ranks, what="task"))
    return exhibits
