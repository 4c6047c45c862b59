"""The reports of a ranking and of a consensus: podium, table, stability, metric by metric, team by team, methods."""

from collections import Counter
from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

import numpy as np

from podium.tools.ranking.output import calibration_sentences
from podium.tools.ranking.result import Arena, Consensus, Ranking
from podium.tools.ranking.wording import (
    NOTHING,
    chance,
    column_decimals,
    confidence_words,
    count,
    figure,
    fixed,
    sentence,
)
from podium.tools.report.certainty import blob_plot, intervals, rank_lines, significance_map, tau_violin
from podium.tools.report.exhibits import (
    FIRST_METRIC_COLUMN,
    MOST_DETAILED,
    MOST_TEAMS,
    CaseValues,
    case_rows,
    case_values,
    is_yes_or_no,
    metric_exhibits,
    podium_plot,
    rank_heatmap,
)
from podium.tools.report.overlays import CasePictures
from podium.tools.report.page import REPORT_FILE, Drawings, Exhibit, Report, Section, Table, render
from podium.tools.report.tables import (
    arena_tables,
    calibration_tables,
    consensus_table,
    differences_table,
    final_table,
    settings_table,
    team_pages,
)
from podium.tools.report.vega import Teams

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


_METRIC_WORDS = (
    "In every chart, teams are in the order of the ranking. A failed or missing case has the value that the rules give "
    "it, which is nearly always the worst."
)
_MOST_ON_THE_PODIUM = 5


def ranking_report(ranking: Ranking, pictures: CasePictures | None = None) -> Report:
    """The whole HTML file and its figures; `pictures` of the worst cases, where the organiser gave the submissions."""
    pictures = pictures or CasePictures()
    values = case_values(ranking)
    teams = Teams([team.name for team in ranking.teams], [team.rank for team in ranking.teams])
    figures = Drawings(teams)
    stability = [differences_table(ranking), _scheme_taus(ranking)]
    sections = [
        Section(
            *("ranking", "Ranking", "Ranking"),
            words=[sentence(ranking.deciding.words)],
            notes=ranking.notes,
            final=final_table(ranking),
            exhibits=figures.add_all(_scores(ranking, teams)),
        ),
        Section(
            *("stability", "How certain?", "How certain is this ranking?"),
            words=_stability_words(ranking),
            tables=[table for table in stability if table],
            exhibits=figures.add_all(_stability_exhibits(ranking, teams)),
        ),
    ]
    if arena := ranking.arena:
        words, table = arena_tables(arena, ranking.teams)
        exhibits = figures.add_all(_arena_exhibits(arena, teams))
        sections.append(Section("arena", "Arena", "The arena", words, tables=[table], exhibits=exhibits))
    if judged := ranking.calibration:
        words = [*calibration_sentences(judged), *judged.notes]
        exhibits = figures.add_all(_judge_exhibits(ranking, teams))
        title = "The judge and the clinicians"
        sections.append(Section("judge", "Judge", title, words, tables=calibration_tables(judged), exhibits=exhibits))
    if exhibits := figures.add_all(metric_exhibits(ranking, teams, values)):
        sections.append(Section("metrics", "Metrics", "Metric by metric", [_METRIC_WORDS], exhibits=exhibits))
    if exhibits := figures.add_all(_rank_exhibits(ranking, teams, values)):
        words, metrics = ["The ranks of the teams within each case."], sum(each.in_schemes for each in values)
        if metrics > MOST_DETAILED:
            words.append(f"{MOST_DETAILED} of {metrics} metrics are shown, in the order of the ranking's rule.")
        sections.append(Section("cases", "Cases", "Case by case", words, exhibits=exhibits))
    sections += [
        Section("teams", "Teams", "Team by team", notes=pictures.notes, teams=team_pages(ranking, values, pictures)),
        Section(
            *("methods", "Methods", "Methods"),
            words=[" ".join(ranking.methods.sentences)],
            tables=[_settings(ranking)],
            references=(*REFERENCES, *(CALIBRATION_REFERENCES if ranking.calibration else ())),
        ),
    ]
    about = {"kicker": "Ranking", "heading": ranking.title, "facts": _facts(ranking)}
    return render(figures, pictures.scripts, **about, **_podium(_scored_teams(ranking)), sections=sections)


def _facts(ranking: Ranking) -> list[tuple[str, str]]:
    cases = len(ranking.cases) or max((team.expected for team in ranking.teams), default=0)
    return [
        *([("Version", ranking.version)] if ranking.version else []),
        *((name.capitalize(), value) for name, value in ranking.division.items()),
        ("Teams", f"{len(ranking.teams):,}"),
        ("Cases", f"{cases:,}"),
        ("Scheme", ranking.deciding.title),
    ]


def _scored_teams(ranking: Ranking) -> list[tuple[int, str, str]]:
    """Rank, name and score of every ranked team; of finalists of the arena the rating instead of the score."""
    decimals = column_decimals(team.score for team in ranking.teams)
    ratings = ranking.arena.teams if ranking.arena else (None,) * len(ranking.teams)
    return [
        (
            team.rank,
            team.name,
            f"{ranking.deciding.score_title} {fixed(team.score, decimals)}"
            if found is None
            else f"Arena rating {fixed(found.rating, 1)}",
        )
        for team, found in zip(ranking.teams, ratings, strict=True)
        if team.rank is not None
    ]


def _podium(places: Sequence[tuple[int, str, str]]) -> dict[str, Any]:
    """Ranks 1 to 3 in the order of the ranking, a mark where a rank is shared; ties beyond five places are counted."""
    ranks = Counter(rank for rank, *_ in places)
    winners = [(rank, "=" if ranks[rank] > 1 else "", *said) for rank, *said in places if rank <= 3]
    more = len(winners) - _MOST_ON_THE_PODIUM
    words = f"{count(more, 'further team')} tied on the podium are in the table." if more > 0 else ""
    return {"podium": winners[:_MOST_ON_THE_PODIUM], "more_on_the_podium": words}


def _scores(ranking: Ranking, teams: Teams) -> list[Exhibit]:
    rows = [(row, "", team.score, team.score_interval) for row, team in enumerate(ranking.teams)]
    title = ranking.deciding.score_title
    caption = f"{title} of every team"
    caption += f" with its {confidence_words(ranking.methods.confidence)} interval over cases."
    return intervals(f"Scores: {title}", caption, teams, rows) if ranking.deciding.score_intervals else []


def _arena_exhibits(arena: Arena, teams: Teams) -> list[Exhibit]:
    rows = [(row, "", each.bradley_terry, each.interval) for row, each in enumerate(arena.teams) if each]
    return intervals("Bradley-Terry ratings", "Ratings from the votes, with their intervals.", teams, rows)


def _judge_exhibits(ranking: Ranking, teams: Teams) -> list[Exhibit]:
    rows = []
    numbers = {team.name: row for row, team in enumerate(ranking.teams)}
    for each in ranking.calibration.teams if ranking.calibration else ():
        if each.name in numbers:
            row = numbers[each.name]
            rows += [
                (row, "by votes", each.by_votes, each.by_votes_interval),
                (row, "by the judge", each.by_judge, each.by_judge_interval),
                (row, "by both", each.by_both, each.by_both_interval),
            ]
    caption = (
        "The share of comparisons that each team wins by the clinicians' votes, by the judge, and by both together."
    )
    return intervals("Comparisons won", caption, teams, rows)


def _stability_words(ranking: Ranking) -> list[str]:
    deciding, stability = ranking.deciding, ranking.deciding.stability
    if stability is None:
        words = [sentence(deciding.why_no_stability or "This ranking could not be bootstrapped.")]
    else:
        wins, taus = stability.win_probabilities, stability.taus
        best, replicates = int(np.argmax(wins)), count(stability.replicates, "replicate")
        compared = (
            f"Over {replicates}, the median Kendall's τ-b to the ranking above is "
            f"{fixed(taus.median, 2)} (quartiles {fixed(taus.lower_quartile, 2)} to {fixed(taus.upper_quartile, 2)})."
            if taus.median is not None
            else f"None of {replicates} has an order that can be compared with the one above."
        )
        words = [
            f"With other cases of the same kind, {ranking.teams[best].name} would have won with a probability of "
            f"{chance(wins[best], cases=len(ranking.cases))}. {compared}"
        ]
    for scheme in ranking.schemes:
        if scheme.why_no_stability and scheme is not deciding:
            words.append(f"{scheme.title}: {sentence(scheme.why_no_stability)}")
    if len(ranking.significance) > MOST_DETAILED:
        words.append(
            f"Significance maps: {MOST_DETAILED} of {len(ranking.significance)} are shown; ranking.json has all."
        )
    return words


def _stability_exhibits(ranking: Ranking, teams: Teams) -> list[Exhibit]:
    exhibits = []
    stability = ranking.deciding.stability
    ranks = [team.rank for team in ranking.teams]
    if stability is not None:
        exhibits.append(blob_plot(teams, stability, ranks, confidence=ranking.methods.confidence))
    steady = [(scheme.title, scheme.stability) for scheme in ranking.schemes if scheme.stability is not None]
    if steady:
        taus = [np.array(each.taus.values, dtype=np.float64) for _, each in steady]
        exhibits.append(tau_violin([title for title, _ in steady], taus))
    titles = {metric.name: metric.title for metric in ranking.metrics}
    if len(teams) > 1:
        exhibits += [
            significance_map(titles.get(tests.metric, tests.metric), teams, tests, alpha=ranking.methods.alpha)
            for tests in ranking.significance[:MOST_DETAILED]
        ]
    if len(ranking.schemes) > 1:
        by_scheme = np.array([scheme.ranks for scheme in ranking.schemes], dtype=np.float64).T
        exhibits.append(rank_lines(teams, [scheme.title for scheme in ranking.schemes], by_scheme))
    return exhibits


def _scheme_taus(ranking: Ranking) -> Table | None:
    if len(ranking.schemes) < 2 or not ranking.scheme_taus:
        return None
    titles = [scheme.title for scheme in ranking.schemes]
    rows = [
        (title, *(NOTHING if tau is None else fixed(tau, 2) for tau in row))
        for title, row in zip(titles, ranking.scheme_taus, strict=True)
    ]
    caption = "Kendall's τ-b between the rankings of two schemes on all cases: 1 means the same order"
    return Table(("Scheme", *titles), rows, caption, title="Agreement between schemes")


def _rank_exhibits(ranking: Ranking, teams: Teams, values: Sequence[CaseValues]) -> list[Exhibit]:
    """Podium plots and heat maps of the metrics that the schemes rank by: all metrics would fill pages."""
    podiums, heat_maps = [], []
    shown = [(column, each) for column, each in enumerate(values, FIRST_METRIC_COLUMN) if each.in_schemes]
    for column, each in shown[:MOST_DETAILED] if len(teams) > 1 else ():
        if len(teams) <= MOST_TEAMS and not is_yes_or_no(each.metric, each.filled):
            podiums.append(podium_plot(each, teams, case_rows(ranking, each), column=column))
        heat_maps.append(rank_heatmap(each, teams))
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


def consensus_report(consensus: Consensus, folders: Sequence[str]) -> Report:
    """The whole HTML file and its figures; the page of each task is in one of the `folders`."""
    teams = Teams(consensus.teams, consensus.consensus_ranks)
    figures = Drawings(teams)
    means = [f"Mean rank {fixed(mean, 2)}" for mean in consensus.mean_ranks]
    drawn = []
    if consensus.stability is not None:
        drawn.append(blob_plot(teams, consensus.stability, consensus.consensus_ranks, confidence=consensus.confidence))
    ranks = np.array([consensus.consensus_ranks, *consensus.ranks], dtype=np.float64).T
    drawn.append(rank_lines(teams, ["Consensus", *consensus.tasks], ranks, what="task"))
    taus = {"Task": consensus.tasks, "Kendall's τ-b to the consensus": [fixed(tau, 2) for tau in consensus.task_taus]}
    links = [(task, f"{quote(folder)}/{REPORT_FILE}") for task, folder in zip(consensus.tasks, folders, strict=True)]
    sections = [
        Section(
            *("ranking", "Ranking", "Ranking"),
            words=["Teams are ranked by the mean of their ranks in the tasks.", *_kemeny(consensus)],
            links=links,
            final=consensus_table(consensus),
        ),
        Section(
            *("stability", "How certain?", "How certain is this ranking?"),
            tables=[Table.of(taus, "Agreement of each task with the consensus")],
            exhibits=figures.add_all(drawn),
        ),
        Section("methods", "Methods", "Methods", [" ".join(consensus.sentences)]),
    ]
    facts = [("Teams", f"{len(consensus.teams):,}"), ("Tasks", f"{len(consensus.tasks):,}")]
    podium = _podium(list(zip(consensus.consensus_ranks, consensus.teams, means, strict=True)))
    about = {"kicker": "Consensus ranking", "heading": consensus.title, "facts": facts}
    return render(figures, (), **about, **podium, sections=sections)


def _kemeny(consensus: Consensus) -> list[str]:
    if consensus.kemeny is None:
        return []
    pairs = len(consensus.teams) * (len(consensus.teams) - 1) // 2 * len(consensus.tasks)
    return [
        f"The Kemeny order is {', '.join(consensus.kemeny)}: it contradicts {consensus.kemeny_disagreements} of the "
        f"{pairs} comparisons of two teams in a task, and no order contradicts fewer."
    ]
