"""metrics.json files of made-up teams, as the container would write them for a small carotid challenge."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from challenges.built import carotid, carotid_tables
from challenges.declared.declaring import write_predictions
from evaluating import evaluate
from rich.console import Console

from podium.challenges import published_settings
from podium.challenges.settings import PerCase
from podium.cli.rank import print_ranking
from podium.metrics.declaration import Metric
from podium.platform.jobs import Clock, Runtime
from podium.platform.metrics_file import SCHEMA_NAME, CaseResult, Counts, MetricsFile
from podium.platform.privacy import published_results
from podium.tools.ranking.documents import read_cohorts
from podium.tools.ranking.rank import rank, rank_paths
from podium.tools.ranking.result import Ranking
from podium.tools.ranking.schemes import CaseTable, RankingOptions, case_table

TRUTH = (0, 1, 0, 1, 0, 1)
RISKS = ("low_risk", "high_risk")
CASES = tuple(f"case_{number}" for number in range(len(TRUTH)))


def settings(rule: Any = "fixed", **others: Any) -> dict[str, Any]:
    return carotid_tables(rule=rule, **others)


def carotid_document(
    quality: Sequence[float | None],
    *,
    seconds: float | None = 90.0,
    wrong: Sequence[str] = (),
    configuration: dict[str, Any] | None = None,
    cases: Sequence[str] = CASES,
    version: str = "1.0",
    per_case: PerCase = "full",
    jobs: Mapping[Clock, int] | None = None,
) -> dict[str, Any]:
    """One team: `quality` is what all eight figures of a case are, None for a missing case; `wrong` cases are answered
    with the wrong class, `jobs` are how many each clock measured."""
    challenge = carotid(configuration or settings())
    results = []
    for case, value, truth in zip(cases, quality, TRUTH, strict=True):
        places = [f"{view}_{structure}" for view in ("long", "trans") for structure in ("vessel", "plaque")]
        figures: dict[str, Any] = {
            family: dict.fromkeys(places, 0.0 if value is None else value) for family in ("dice", "nsd")
        }
        for family in figures.values():
            family["mean"] = value or 0.0
        answer = None if value is None else (1 - truth if case in wrong else truth)
        risk = {
            "reference": RISKS[truth],
            "prediction": None if answer is None else RISKS[answer],
            "correct": int(answer == truth),
        }
        figures |= {"segmentation": value or 0.0, "risk": risk}
        missing = {"status": "missing", "error": "There is no prediction for this case."} if value is None else {}
        results.append(CaseResult(case=case, metrics=figures, **({"status": "scored"} | missing)))
    metrics = MetricsFile(
        schema=SCHEMA_NAME,
        challenge="carotid",
        kind="declared",
        title="Carotid in small",
        version=version,
        settings=published_settings(challenge),
        aggregates=challenge.aggregate(results, Runtime(total_seconds=seconds, jobs=jobs or {})),
        counts=Counts.of(results),
        results=results,
    )
    rows = published_results(results, per_case=per_case, key=b"key", confidential=challenge.confidential)
    decimals = None if per_case == "full" else 4
    aggregates = challenge.published(metrics.aggregates, results, per_case=per_case, decimals=decimals, key=b"key")
    return metrics.model_copy(update={"aggregates": aggregates, "results": rows}).document()


def small_document(kind: str, settings: Any, aggregates: Any, rows: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """A metrics.json in which every case is scored; `rows` are the figures by case."""
    return {
        "schema": SCHEMA_NAME,
        **{"challenge": kind, "kind": kind, "title": f"{kind.capitalize()} in small", "version": "1"},
        "settings": settings,
        "aggregates": aggregates,
        "counts": {"expected": len(rows), "scored": len(rows), "partial": 0, "failed": 0, "missing": 0, "unmatched": 0},
        "results": [
            {"case": case, "status": "scored", "metrics": figures, "warnings": [], "error": None}
            for case, figures in rows.items()
        ],
    }


def write_teams(folder: Path, teams: Mapping[str, dict[str, Any]]) -> Path:
    """`<folder>/<team>/metrics.json`."""
    for team, document in teams.items():
        (folder / team).mkdir(parents=True, exist_ok=True)
        (folder / team / "metrics.json").write_text(json.dumps(document), encoding="utf-8")
    return folder


def ranked(folder: Path, teams: Mapping[str, dict[str, Any]], *, bootstraps: int = 40, **options: Any) -> Ranking:
    (cohort,) = read_cohorts([write_teams(folder, teams)])
    return rank(cohort, RankingOptions(bootstraps=bootstraps, **options))


def printed(ranking: Ranking) -> str:
    """The tables on a wide terminal."""
    console = Console(record=True, width=200)
    print_ranking(ranking, console, set())
    return console.export_text()


GOOD = (0.9, 0.8, 0.85, 0.95, 0.7, 0.9)
FAIR = (0.8, 0.7, 0.75, 0.9, 0.72, 0.6)
POOR = (0.5, 0.3, None, 0.39, 0.1, None)


def three_teams(**options: Any) -> dict[str, dict[str, Any]]:
    return {
        "fair": carotid_document(FAIR, seconds=100.0, wrong=("case_0",), **options),
        "good": carotid_document(GOOD, seconds=150.0, **options),
        "poor": carotid_document(POOR, seconds=20.0, wrong=("case_1",), **options),
    }


# The small table of docs/ranking.md: four teams, eight cases, larger is better, one value missing.

METRIC = Metric(name="m", title="M", direction="higher", lowest=0.0, highest=1.0, worst=0.0)
TEAMS = ("A", "B", "C", "D")
VALUES: list[list[float | None]] = [
    [0.91, 0.88, 0.93, 0.85, 0.90, 0.87, 0.92, 0.30],
    [0.89, 0.86, 0.90, 0.84, 0.88, 0.86, 0.89, 0.83],
    [0.90, 0.87, 0.93, 0.80, 0.86, 0.84, 0.88, 0.82],
    [0.70, 0.75, None, 0.72, 0.88, 0.70, 0.74, 0.71],
]
TABLE: CaseTable = case_table(METRIC, VALUES)


def evaluated_and_ranked(root: Path, truth: Path, teams: dict[str, Any], options: RankingOptions) -> Ranking:
    """`teams` are the files of each."""
    for team, files in teams.items():
        evaluate(write_predictions(root / "in" / team, files), truth, root / "out" / team)
    (ranking,) = rank_paths(root / "out", options=options)
    return ranking


def said(ranking: Ranking) -> tuple[str, ...]:
    """The sentences of the notes."""
    return tuple(note.text for note in ranking.notes)
