"""The reports of a ranking and of a consensus: podium, table, stability, metric by metric, team by team, methods."""

from collections.abc import Mapping, Sequence

import numpy as np

from podium.tools.ranking.consensus import Consensus
from podium.tools.ranking.output import calibration_sentences, confidence_words, rank_range
from podium.tools.ranking.result import Ranking
from podium.tools.ranking.wording import (
    NOTHING,
    chance,
    column_decimals,
    count,
    figure,
    fixed,
    sentence,
    with_interval,
)
from podium.tools.report.files import FigureNames, Report
from podium.tools.report.metric_section import MOST_DETAILED, CaseValues, case_values, metric_exhibits
from podium.tools.report.overlays import OverlayPicture
from podium.tools.report.page import Exhibit, Table, render
from podium.tools.report.plots.curves import significance_map
from podium.tools.report.plots.podium import MOST_TEAMS, PodiumPlace, podium_plot, podium_steps
from podium.tools.report.plots.ranks import blob_plot, rank_counts, rank_heatmap, scheme_lines, tau_violin
from podium.tools.report.plots.values import is_yes_or_no
from podium.tools.report.tables import (
    arena_tables,
    calibration_tables,
    differences_table,
    final_table,
    settings_table,
    team_pages,
)

REFERENCES = (
    "Wiesenfarth M, Reinke A, Landman BA, et al. Methods and open-source toolkit for analyzing and visualizing "
    "challenge results. Scientific Reports 11, 2369 (2021).",
    "Maier-Hein L, Eisenmann M, Reinke A, et al. Why rankings of biomedical image analysis competitions should be "
    "interpreted with care. Nature Communications 9, 5217 (2018).",
    "Efron B. Bootstrap methods: another look at the jackknife. The Annals of Statistics 7, 1-26 (1979).",
    "Wilcoxon F. Individual comparisons by ranking methods. Biometrics Bulletin 1, 80-83 (1945).",
    "Holm S. A simple sequentially rejective multiple test procedure. Scandinavian Journal of Statistics 6, "
    "65-70 (1979).",
    "Kendall MG. The treatment of ties in ranking problems. Biometrika 33, 239-251 (1945).",
)

CALIBRATION_REFERENCES = (
    "Angelopoulos AN, Duchi JC, Zrnic T. PPI++: Efficient prediction-powered inference. arXiv:2311.01453 (2023).",
)


MOST_UNFOLDED = 12
"""With more teams, the details of each team are folded."""


def ranking_report(ranking: Ranking, overlays: Mapping[str, Sequence[OverlayPicture]] | None = None) -> Report:
    """The whole HTML file and its figures; `overlays` of the worst cases by team, where the organiser gave images."""
    values = case_values(ranking)
    names = FigureNames()
    podium = names.named(podium_steps(places)) if (places := _places(ranking)) else None
    stability_exhibits = [names.named(each) for each in _stability_exhibits(ranking)]
    drawn_metrics = [names.named(each) for each in metric_exhibits(ranking, values)]
    rank_exhibits = [names.named(each) for each in _rank_exhibits(ranking, values)]
    arena_words, arena_table = arena_tables(ranking)
    contents = [
        ("ranking", "Ranking"),
        ("stability", "How certain?"),
        *([("arena", "Arena")] if ranking.arena else []),
        *([("judge", "Judge")] if ranking.calibration else []),
        *([("metrics", "Metrics")] if drawn_metrics else []),
        *([("cases", "Cases")] if rank_exhibits else []),
        ("teams", "Teams"),
        ("methods", "Methods"),
    ]
    page = render(
        "ranking.html.jinja",
        kicker="Ranking",
        heading=ranking.title,
        facts=_facts(ranking),
        contents=contents,
        podium=podium,
        scheme_words=sentence(ranking.deciding.words),
        notes=ranking.notes,
        final=final_table(ranking),
        differences=differences_table(ranking),
        arena_words=arena_words,
        arena=arena_table,
        judge_words=[*calibration_sentences(ranking.calibration), *ranking.calibration.notes]
        if ranking.calibration
        else (),
        judge_tables=calibration_tables(ranking.calibration) if ranking.calibration else (),
        stability_words=_stability_words(ranking),
        stability_exhibits=stability_exhibits,
        scheme_taus=_scheme_taus(ranking),
        metric_exhibits=drawn_metrics,
        rank_words="The ranks of the teams within each case.",
        rank_exhibits=rank_exhibits,
        fold_teams=len(ranking.teams) > MOST_UNFOLDED,
        teams=team_pages(ranking, values, overlays or {}),
        methods=" ".join(ranking.methods.sentences),
        settings=_settings(ranking),
        references=(*REFERENCES, *(CALIBRATION_REFERENCES if ranking.calibration else ())),
    )
    return Report(page=page, exhibits=names.exhibits)


def _names(ranking: Ranking) -> list[str]:
    return [team.name for team in ranking.teams]


def _facts(ranking: Ranking) -> list[tuple[str, str]]:
    cases = len(ranking.cases) or max((team.expected for team in ranking.teams), default=0)
    return [
        *([("Version", ranking.version)] if ranking.version else []),
        *((name.capitalize(), value) for name, value in ranking.division.items()),
        ("Teams", f"{len(ranking.teams):,}"),
        ("Cases", f"{cases:,}"),
        ("Scheme", ranking.deciding.title),
    ]


def _places(ranking: Ranking) -> list[PodiumPlace]:
    """Finalists of the arena are shown with their rating instead of the score."""
    decimals = column_decimals(team.score for team in ranking.teams)
    ratings = ranking.arena.teams if ranking.arena else (None,) * len(ranking.teams)
    return [
        PodiumPlace(
            rank=team.rank,
            team=team.name,
            score=f"{ranking.deciding.score_title} {fixed(team.score, decimals)}"
            if found is None
            else f"Arena rating {fixed(found.rating, 1)}",
        )
        for team, found in zip(ranking.teams, ratings, strict=True)
        if team.rank is not None
    ]


def _stability_words(ranking: Ranking) -> list[str]:
    words = []
    deciding = ranking.deciding
    if deciding.stability is None:
        words.append(sentence(deciding.why_no_stability or "This ranking could not be bootstrapped."))
    else:
        wins = deciding.stability.win_probabilities
        best = max(range(len(wins)), key=lambda row: wins[row])
        taus = deciding.stability.taus
        words.append(
            f"With other cases of the same kind, {ranking.teams[best].name} would have won with a probability of "
            f"{chance(wins[best], cases=len(ranking.cases))}."
        )
        replicates = count(deciding.stability.replicates, "replicate")
        words[0] += (
            f" Over {replicates}, the median Kendall's τ-b to the ranking above is "
            f"{fixed(taus.median, 2)} (quartiles {fixed(taus.lower_quartile, 2)} to {fixed(taus.upper_quartile, 2)})."
            if taus.median is not None
            else f" None of {replicates} has an order that can be compared with the one above."
        )
    for scheme in ranking.schemes:
        if scheme.why_no_stability and scheme is not deciding:
            words.append(f"{scheme.title}: {sentence(scheme.why_no_stability)}")
    return words


def _stability_exhibits(ranking: Ranking) -> list[Exhibit]:
    names = _names(ranking)
    exhibits = []
    stability = ranking.deciding.stability
    if stability is not None:
        exhibits.append(
            blob_plot(
                names,
                frequency=np.array(stability.rank_frequencies, dtype=np.float64),
                intervals=stability.rank_intervals,
                ranks=[team.rank for team in ranking.teams],
                replicates=stability.replicates,
                confidence=ranking.methods.confidence,
            )
        )
    steady = [(scheme.title, scheme.stability) for scheme in ranking.schemes if scheme.stability is not None]
    if steady:
        exhibits.append(
            tau_violin(
                [title for title, _ in steady],
                [np.array(each.taus.values, dtype=np.float64) for _, each in steady],
                replicates=max(each.replicates for _, each in steady),
            )
        )
    titles = {metric.name: metric.title for metric in ranking.metrics}
    exhibits += [
        significance_map(
            titles.get(tests.metric, tests.metric),
            names,
            p=np.array(tests.p, dtype=np.float64),
            p_holm=np.array(tests.p_holm, dtype=np.float64),
            significant=np.array(tests.significant, dtype=np.bool_),
            significant_holm=np.array(tests.significant_holm, dtype=np.bool_),
            alpha=ranking.methods.alpha,
        )
        for tests in ranking.significance[:MOST_DETAILED]
        if len(names) > 1
    ]
    if len(ranking.schemes) > 1:
        ranks = np.array([scheme.ranks for scheme in ranking.schemes], dtype=np.float64).T
        exhibits.append(scheme_lines(names, [scheme.title for scheme in ranking.schemes], ranks=ranks))
    return exhibits


def _scheme_taus(ranking: Ranking) -> Table | None:
    if len(ranking.schemes) < 2 or not ranking.scheme_taus:
        return None
    titles = [scheme.title for scheme in ranking.schemes]
    rows = [
        (title, *(NOTHING if tau is None else fixed(tau, 2) for tau in row))
        for title, row in zip(titles, ranking.scheme_taus, strict=True)
    ]
    return Table(head=("Scheme", *titles), rows=rows, caption="Kendall's τ-b between schemes")


def _rank_exhibits(ranking: Ranking, values: Sequence[CaseValues]) -> list[Exhibit]:
    """Podium plots and heat maps of the metrics that the schemes rank by: all metrics would fill pages."""
    podiums, heat_maps = [], []
    names = _names(ranking)
    for each in [each for each in values if each.in_schemes][:MOST_DETAILED]:
        if len(names) > 1:
            known = each.filled[:, each.defined]
            if len(names) <= MOST_TEAMS and not is_yes_or_no(each.metric, list(known)):
                podiums.append(podium_plot(each.metric, names, known))
            counts = rank_counts(each.ranks[:, each.defined])
            heat_maps.append(rank_heatmap(each.metric.title, names, counts=counts))
    return [*podiums, *heat_maps]


def _settings(ranking: Ranking) -> Table:
    """The settings of the challenge and of the ranking."""
    methods = ranking.methods
    return settings_table(
        ranking.settings,
        {
            "ranking scheme": ranking.deciding.title,
            "bootstrap replicates": figure(methods.bootstraps),
            "seed": str(methods.seed),
            "confidence": confidence_words(methods.confidence),
            "significance level": f"{methods.alpha:g}",
            "quantile of aggregate-then-rank": f"{methods.quantile:g}",
            "Podium": methods.podium_version,
            "Python": methods.python_version,
            "NumPy": methods.numpy_version,
            "SciPy": methods.scipy_version,
        },
    )


# The report of several tasks: the consensus of their rankings.


def consensus_report(consensus: Consensus) -> Report:
    """The whole HTML file and its figures."""
    names = FigureNames()
    places = [
        PodiumPlace(rank=rank, team=team, score=f"Mean rank {fixed(mean, 2)}")
        for rank, team, mean in zip(consensus.consensus_ranks, consensus.teams, consensus.mean_ranks, strict=True)
    ]
    podium = names.named(podium_steps(places))
    exhibits = [names.named(each) for each in _consensus_exhibits(consensus)]
    page = render(
        "consensus.html.jinja",
        kicker="Consensus ranking",
        heading=consensus.title,
        facts=[("Teams", f"{len(consensus.teams):,}"), ("Tasks", f"{len(consensus.tasks):,}")],
        contents=[("ranking", "Ranking"), ("stability", "How certain?"), ("methods", "Methods")],
        podium=podium,
        ranking=_consensus_table(consensus),
        kemeny=_kemeny(consensus),
        exhibits=exhibits,
        taus=Table(
            head=("Task", "Kendall's τ-b to the consensus"),
            rows=[
                (task, NOTHING if tau is None else fixed(tau, 2))
                for task, tau in zip(consensus.tasks, consensus.task_taus, strict=True)
            ],
            caption="Agreement of each task with the consensus",
        ),
        methods=" ".join(consensus.sentences),
    )
    return Report(page=page, exhibits=names.exhibits)


def _consensus_table(consensus: Consensus) -> Table:
    stable = consensus.stability
    drawn = [f"Rank, {confidence_words(consensus.confidence)} interval", "Chance of winning"] if stable else []
    kemeny = ["Kemeny place"] if consensus.kemeny else []
    rows = []
    for number, team in enumerate(consensus.teams):
        mean = with_interval(consensus.mean_ranks[number], consensus.mean_rank_interval(number), 2)
        cells = [str(consensus.consensus_ranks[number]), team, mean]
        if stable:
            cells.append(rank_range(stable.rank_intervals[number], " to "))
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


def _consensus_exhibits(consensus: Consensus) -> list[Exhibit]:
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
