"""The platform's export of a phase's evaluations: one metrics.json per evaluation, with who submitted it and when."""

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, AliasPath, BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from podium.challenges.challenge import AnyChallenge
from podium.errors import UsageError, first_problem, listed, read_given
from podium.figures import get, holds, leaves
from podium.platform.metrics_file import MetricsFile, NonEmpty
from podium.readers.files import escape_for_display
from podium.tools.ranking.documents import Cohort, TeamFile, challenge_of, cohorts_of, read_cohorts

PerTeam = Literal["newest", "best"]
_METRICS_SOCKET = "metrics-json-file"
_BEGINNING = re.compile(rb'(?:\xef\xbb\xbf)?\s*(?:\[|\{\s*"count")')  # a metrics.json begins with another key
_NEEDED = ("schema", "settings", "counts", "results")  # of metrics.json
_ORDERED = ("figures", "case_figures")  # settings in which a figure names those before it
_WORD = re.compile(r"[A-Za-z_]\w*")
_SHOWN = 5  # figures of a filtered metrics.json, in a message
Key = int | NonEmpty


Time = Annotated[datetime, AfterValidator(lambda time: time if time.tzinfo else time.replace(tzinfo=UTC))]


class Evaluation(BaseModel):
    """One evaluation of one submission; other fields of the platform are ignored."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    pk: Key
    submission: Annotated[Key, Field(validation_alias=AliasPath("submission", "pk"))]
    submitted: Annotated[Time, Field(validation_alias=AliasPath("submission", "created"))]
    phase: Annotated[Key, Field(validation_alias=AliasPath("submission", "phase", "pk"))]
    phase_title: Annotated[str, Field(validation_alias=AliasPath("submission", "phase", "title"))] = ""
    creator: Annotated[NonEmpty, Field(validation_alias=AliasPath("submission", "creator", "username"))]
    created: Time
    published: bool
    status: str
    outputs: Sequence[Mapping[str, Any]] = ()

    @property
    def team(self) -> str:
        """The creator's name as a printable line."""
        return escape_for_display(self.creator)

    @property
    def label(self) -> str:
        return f"{self.team} (evaluation {escape_for_display(str(self.pk))})"

    @property
    def metrics(self) -> Any:
        """The content of metrics.json as the platform gives it; None where there is none."""
        for output in self.outputs:
            socket = output.get("socket") or output.get("interface")
            if isinstance(socket, Mapping) and socket.get("slug") == _METRICS_SOCKET:
                return output.get("value")
        return None


_ENTRIES = TypeAdapter(list[Evaluation])


def cohorts_from(
    paths: Sequence[Path], *, skip_broken: bool = False, key: Path | None = None, per_team: PerTeam | None = None
) -> list[Cohort[AnyChallenge]]:
    """The teams of these paths: the platform's export of evaluations, or what `read_cohorts` takes.

    Args:
        paths: one file or several pages of an export; or files and folders of teams.
        skip_broken: leave out and name teams without a usable metrics.json.
        key: the organiser's secret key, which opens sealed rows.
        per_team: which of a team's evaluations counts; of an export only [newest].
    """
    pages = [path for path in paths if _is_export(path)]
    if not pages:
        if per_team is not None:
            raise UsageError("--per-team belongs to an export of evaluations: a team has one metrics.json.")
        return read_cohorts(paths, skip_broken=skip_broken, key=key)
    if len(pages) < len(paths):
        others = listed([str(path) for path in paths if path not in pages])
        raise UsageError(f"{pages[0]} is an export of evaluations and is ranked without other files: {others}.")
    usable, notes = _usable(read_evaluations(pages))
    found, broken = _team_files(usable)
    if not found and not broken:
        raise UsageError(" ".join(["No evaluation can be ranked.", *notes]))
    chosen, superseded = _one_per_team(found, by_score=per_team == "best")
    return cohorts_of(chosen, broken, notes=[*notes, *superseded], skip_broken=skip_broken, key=key)


def _is_export(path: Path) -> bool:
    """By its first bytes; files that cannot be read are left to whoever reads them."""
    with suppress(OSError, UsageError):
        return path.suffix.lower() == ".json" and path.is_file() and _BEGINNING.match(read_given(path)) is not None
    return False


def read_evaluations(paths: Iterable[Path]) -> Sequence[Evaluation]:
    """All evaluations of the pages, the oldest first.

    Raises UsageError where a file is no export, a page is missing, or the pages are of several phases.
    """
    found: dict[Key, Evaluation] = {}
    expected = 0
    for path in paths:
        try:
            content = json.loads(read_given(path))
        except (ValueError, RecursionError):
            raise UsageError(f"{path} is not valid JSON.") from None
        is_page = isinstance(content, dict) and isinstance(content.get("count"), int)
        try:
            results = _ENTRIES.validate_python(content.get("results") if is_page else content)
        except ValidationError as error:
            raise UsageError(
                f"{path} is not an export of the platform's evaluations ({first_problem(error)})."
            ) from None
        expected = max(expected, content["count"] if is_page else 0)
        found |= {each.pk: each for each in results}
    if len(found) < expected:
        raise UsageError(
            f"The pages have {len(found)} of {expected} evaluations: give all pages ('next' leads to them)."
        )
    phases = {each.phase: f"'{escape_for_display(each.phase_title or str(each.phase))}'" for each in found.values()}
    if len(phases) > 1:
        raise UsageError(f"The evaluations are of several phases ({listed([*phases.values()])}): export one phase.")
    return sorted(found.values(), key=lambda each: (each.created, str(each.pk)))


def _usable(evaluations: Sequence[Evaluation]) -> tuple[list[Evaluation], list[str]]:
    """Those that succeeded and are published, of each submission the newest, in the order of submission; and sentences
    on the others."""
    left_out: dict[str, list[str]] = defaultdict(list)
    newest: dict[Key, Evaluation] = {}
    for each in evaluations:
        if each.status != "Succeeded":
            left_out["not successful"].append(f"{each.label}: {escape_for_display(each.status)}")
        elif not each.published:
            left_out["not published"].append(each.label)
        else:
            if (before := newest.get(each.submission)) is not None:
                left_out["evaluated again"].append(before.label)
            newest[each.submission] = each
    notes = [f"Left out, {reason}: {listed(names)}." for reason, names in left_out.items()]
    return sorted(newest.values(), key=lambda each: each.submitted), notes


def _team_files(evaluations: Sequence[Evaluation]) -> tuple[list[TeamFile], dict[str, str]]:
    """Each as a team's metrics.json, in the same order; and a sentence on each that has none."""
    found, broken = [], {}
    for each in evaluations:
        label, value = each.label, each.metrics
        try:
            content = MetricsFile.model_validate_json(json.dumps(value))
            settings = {
                name: _in_order(table) if name in _ORDERED and isinstance(table, dict) else table
                for name, table in content.settings.items()
            }
            content = content.model_copy(update={"settings": settings})
            found.append(TeamFile(team=each.team, label=label, content=content))
        except ValidationError as error:
            words = f"{label} has no metrics.json written by Podium ({first_problem(error)})."
            broken[label] = _what_is_missing(label, value) or words
    return found, broken


def _in_order(figures: Mapping[str, Any]) -> dict[str, Any]:
    """Figures after those that they are made of: the platform's database gives the keys of an object in another order.
    Those that name each other in a circle come last: whoever reads the settings refuses them."""
    fields = {name: figure if isinstance(figure, dict) else {"formula": figure} for name, figure in figures.items()}
    texts = {name: f"{each.get('formula')} {each.get('where')}" for name, each in fields.items()}
    left = {name: {*_WORD.findall(text)} - {name} for name, text in texts.items()}
    ordered: list[str] = []
    while ready := [name for name, words in left.items() if words.isdisjoint(left)]:
        ordered += ready
        left = {name: words for name, words in left.items() if name not in ready}
    return {name: figures[name] for name in (*ordered, *left)}


def _what_is_missing(label: str, value: Any) -> str:
    """Of a metrics.json that the platform filtered for participants, which leaves the columns of the leaderboard."""
    figures = value.get("aggregates") if isinstance(value, dict) else None
    if not isinstance(figures, dict) or not (lacking := [key for key in _NEEDED if key not in value]):
        return ""
    shown = listed([f"aggregates.{path}" for path, _ in leaves(figures)], most=_SHOWN)
    return (
        f"{label} holds only {shown}, without {listed(lacking)}: the platform filters metrics.json for participants "
        "(display_all_metrics); export it with an account that administers the challenge."
    )


def _one_per_team(files: Sequence[TeamFile], *, by_score: bool) -> tuple[list[TeamFile], list[str]]:
    """Of every team the last file, or the one with the best score, the last of equals; and a sentence on the others."""
    chosen: dict[str, TeamFile] = {}
    superseded = []
    for file in files:
        before = chosen.get(file.team)
        if before is not None and by_score and _score(before) > _score(file):
            superseded.append(file.label)
        else:
            superseded += [] if before is None else [before.label]
            chosen[file.team] = file
    words = "worse than another of the team" if by_score else "superseded by a newer one"
    return [*chosen.values()], [f"Left out, {words}: {listed(superseded)}."] if superseded else []


def _score(file: TeamFile) -> tuple[bool, float]:
    """The leaderboard's score, such that more is better; a file without one is behind all others."""
    score, aggregates = challenge_of(file).columns()[0], file.content.aggregates
    if not holds(aggregates, score.path):
        return False, 0.0
    value = float(get(aggregates, score.path))
    return True, value if score.direction == "higher" else -value
