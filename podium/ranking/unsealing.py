"""metrics.json files with sealed rows, opened with the organiser's key: as if every row had been published."""

from collections.abc import Iterator, Mapping
from typing import Any

from podium.errors import UsageError
from podium.figures import Figures, agrees
from podium.platform.metrics_file import CaseResult, MetricsFile
from podium.platform.sealing import Belonging, open_box


def unsealed(content: MetricsFile, *, secret_key: bytes, label: str) -> tuple[MetricsFile, str]:
    """The file with all rows and the exact aggregates, and the digest of its ground truth.

    Raises UsageError where the file has no box, the box cannot be opened or belongs to another file, or the published
    figures are not those of the box. What offline tools have added since stays.
    """
    if content.sealed is None:
        raise UsageError(f"{label} has no sealed rows, so --key opens nothing there.")
    belonging = Belonging(challenge=content.challenge, version=content.version, settings=content.settings)
    found = open_box(content.sealed, belonging=belonging, secret_key=secret_key, label=label)
    wrong = next(_differing(found.aggregates, content.aggregates), None)
    if wrong is not None:
        raise UsageError(f"{label} has another aggregates.{wrong} than its sealed rows: one of the two was exchanged.")
    if len(found.results) != content.counts.expected:
        raise UsageError(f"{label} expects {content.counts.expected} cases, but {len(found.results)} are sealed.")
    added = {row.case: row.metrics for row in content.results}
    rows: list[CaseResult] = [
        row.model_copy(update={"metrics": {**added.get(row.case, {}), **row.metrics}}) for row in found.results
    ]
    aggregates = _merged(content.aggregates, found.aggregates)
    return content.model_copy(update={"results": rows, "aggregates": aggregates}), found.ground_truth


def _differing(inside: Figures, outside: Figures, path: str = "") -> Iterator[str]:
    """The paths of figures that the file has in another way than the box; what tells about few cases is in the box
    alone."""
    for key, value in inside.items():
        if key not in outside:
            continue
        other = outside[key]
        if isinstance(value, Mapping):
            yield from _differing(value, other if isinstance(other, Mapping) else {}, f"{path}{key}.")
        elif not isinstance(other, int | float) or not agrees(float(other), float(value)):
            yield f"{path}{key}"


def _merged(published: Figures, exact: Figures) -> dict[str, Any]:
    merged: dict[str, Any] = dict(published)
    for key, value in exact.items():
        other = merged.get(key)
        merged[key] = _merged(other, value) if isinstance(value, Mapping) and isinstance(other, Mapping) else value
    return merged
