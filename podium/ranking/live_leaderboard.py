"""The platform's ranking of a cohort, by the phase settings that its challenge would have pasted."""

from podium.metrics.declaration import Direction
from podium.platform.privacy import phase_settings
from podium.ranking.facts import Facts
from podium.ranking.official import figure
from podium.ranking.options import PLATFORM
from podium.ranking.platform import PlatformMethod, platform_ranking
from podium.ranking.result import SchemeRanking

_METHODS: dict[str, PlatformMethod] = {"abs": "absolute", "avg": "mean", "med": "median"}
_WORDS = {
    "absolute": "by the position in",
    "mean": "by the mean position over",
    "median": "by the median position over",
}


def live_leaderboard(facts: Facts, method: PlatformMethod | None) -> SchemeRanking:
    """Figures as the container wrote them: the platform recomputes nothing over a cohort."""
    settings = phase_settings(facts.challenge.columns())
    columns: list[tuple[str, Direction]] = [
        (settings["score_jsonpath"], _direction(settings["score_default_sort"])),
        *(
            (column["path"], _direction(column["order"]))
            for column in settings["extra_results_columns"]
            if not column["exclude_from_ranking"]
        ),
    ]
    method = method or _METHODS[settings["scoring_method_choice"]]
    submissions = {
        file.team: [figure({"aggregates": file.content.aggregates}, path) for path, _ in columns]
        for file in facts.files
    }
    places = platform_ranking(submissions, [direction for _, direction in columns], method)
    shown = ", ".join(path.removeprefix("aggregates.") for path, _ in columns)
    return SchemeRanking(
        scheme=PLATFORM,
        title="Live leaderboard",
        words=f"teams are ranked as the platform's live leaderboard ranks them, {_WORDS[method]} {shown}",
        score_title="Position" if method == "absolute" else f"{method.capitalize()} position",
        score_direction="lower",
        ranks=tuple(places[team].rank or None for team in facts.teams),
        scores=tuple(places[team].score for team in facts.teams),
        score_intervals=None,
        stability=None,
        why_no_stability="The live leaderboard knows aggregates only, so no cases can be drawn for it.",
    )


def _direction(order: str) -> Direction:
    return "higher" if order == "desc" else "lower"
