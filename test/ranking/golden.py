"""The small table of docs/ranking.md: four teams, eight cases, larger is better, one value missing."""

from podium.metrics.declaration import Metric
from podium.tools.ranking.schemes import CaseTable, case_table

METRIC = Metric(name="m", title="M", direction="higher", lowest=0.0, highest=1.0, worst=0.0)
TEAMS = ("A", "B", "C", "D")
VALUES: list[list[float | None]] = [
    [0.91, 0.88, 0.93, 0.85, 0.90, 0.87, 0.92, 0.30],
    [0.89, 0.86, 0.90, 0.84, 0.88, 0.86, 0.89, 0.83],
    [0.90, 0.87, 0.93, 0.80, 0.86, 0.84, 0.88, 0.82],
    [0.70, 0.75, None, 0.72, 0.88, 0.70, 0.74, 0.71],
]
TABLE: CaseTable = case_table(METRIC, VALUES)
