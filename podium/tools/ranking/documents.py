"""The teams' metrics.json files, or the platform's export of evaluations: found, read, unsealed, and checked that they
may be ranked together."""

import json
import os
import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, Generic, Literal, TypeVar, get_args

from pydantic import AfterValidator, AliasPath, BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from podium.challenges import challenge_from_settings
from podium.challenges.challenge import AnyChallenge
from podium.challenges.ground_truth import METRICS_CODE
from podium.challenges.loading import OWN_METRICS
from podium.challenges.settings import KIND_NAMES
from podium.errors import ConfigurationError, UsageError, first_problem, listed, read_given
from podium.figures import Figures, get, holds, leaves
from podium.metrics.declaration import Scoreboard
from podium.platform.leaderboard import Column, column
from podium.platform.metrics_file import METRICS_FILE, Counts, MetricsFile, NonEmpty, Status, read_metrics
from podium.platform.privacy import are_anonymous
from podium.platform.sealing import open_box, read_key
from podium.readers.files import escape_for_display

# Files that may be beside the teams' files and are not a metrics.json.
OUR_FILES = ("ranking.json", "consensus.json", "arena.json", "calibration.json")
OUR_FOLDER = "figures"
_SCORE_FIRST = " 'podium batch' scores the submissions of all teams, and ranks them."
_INVISIBLE = re.compile(r"\s|\\(?:x[0-9a-f]{2}|u[0-9a-f]{4}|U[0-9a-f]{8}|[tnr])")
_METRICS_SOCKET = "metrics-json-file"
_BEGINNING = re.compile(rb'(?:\xef\xbb\xbf)?\s*(?:\[|\{\s*"count")')  # a metrics.json begins with another key
_NEEDED = ("schema", "settings", "counts", "results")  # of metrics.json
_ORDERED = ("figures", "case_figures")  # settings in which a figure names those before it
_WORD = re.compile(r"[A-Za-z_]\w*")
_SHOWN = 5  # figures of a filtered metrics.json, in a message
PerTeam = Literal["newest", "best"]


@dataclass(frozen=True, kw_only=True)
class TableRules:
    """What a table of scores is ranked by instead of a challenge: its columns. There is no official rule."""

    name: str
    scoreboard: Scoreboard[Any]
    ranking: None = None

    def among(self, aggregates: Mapping[str, Figures]) -> Mapping[str, Figures]:
        return aggregates

    def columns(self) -> Sequence[Column]:
        return [column(self.scoreboard, path) for path in self.scoreboard.leaderboard]

    def offline_columns(self) -> Sequence[Column]:
        return ()


Rules = AnyChallenge | TableRules
RulesT = TypeVar("RulesT", bound=Rules)


@dataclass(frozen=True, kw_only=True)
class TeamFile:
    """One team's metrics.json. `label` is its path, for messages; `absent` are, by metric, cases without a value: their
    rows contain the worst value instead."""

    team: str
    label: str
    content: MetricsFile
    absent: Mapping[str, frozenset[str]] = field(default_factory=dict)
    ground_truth: str = ""  # digests, known from sealed rows
    submission: str = ""

    @property
    def cases(self) -> frozenset[str]:
        return frozenset(row.case for row in self.content.results)

    @property
    def patients(self) -> Mapping[str, str] | None:
        """The patient of every case; None where they are not known, or each has a single case."""
        found = {row.case: row.patient for row in self.content.results if row.patient is not None}
        return found if len({*found.values()}) < len(found) == len(self.content.results) else None

    @property
    def units(self) -> int:
        """How many independent units there are: patients, or cases."""
        return len(self.cases if self.patients is None else {*self.patients.values()})


@dataclass(frozen=True, kw_only=True)
class Cohort(Generic[RulesT]):
    """Files that may be ranked together: one challenge, version, settings and set of cases. `notes` are sentences about
    reading them."""

    challenge: RulesT
    division: Mapping[str, str]
    files: Sequence[TeamFile]  # sorted by team
    notes: Sequence[str] = ()


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


def read_cohorts(
    paths: Sequence[Path], *, skip_broken: bool = False, key: Path | None = None
) -> list[Cohort[AnyChallenge]]:
    """The files below `paths`, one cohort per value of the setting that divides the challenge (most have none).

    Raises UsageError, naming the file and the difference, where files do not belong together; and where a team has no
    usable metrics.json, unless `skip_broken`: it is then left out and named in the notes. `key` is the organiser's
    secret key, which opens sealed rows.
    """
    broken: dict[Path, str] = {}
    found = [path for given in paths for path in _find(given, broken)]
    files = list(_read(dict.fromkeys(found), broken))
    if not found and not broken:
        raise UsageError(f"There is no metrics.json in {', '.join(map(str, paths))}.{_SCORE_FIRST}")
    if not files and any(map(os.path.isdir, paths)) and not any("cannot be read" in each for each in broken.values()):
        raise UsageError(_unusable(broken) + _SCORE_FIRST)
    return cohorts_of(files, broken, skip_broken=skip_broken, key=key)


def cohorts_of(
    files: list[TeamFile],
    broken: Mapping[Any, str],
    *,
    notes: Sequence[str] = (),
    skip_broken: bool = False,
    key: Path | None = None,
) -> list[Cohort[AnyChallenge]]:
    """`read_cohorts` of files that are read; `broken` has a sentence on each that could not be."""
    if broken and not (skip_broken and files):
        raise UsageError(_unusable(broken) + (" --skip-broken ranks the others." if files else ""))
    _refuse_equal_boxes(files)
    if key is not None:
        secret_key = read_key(key)
        files = [_unsealed(file, secret_key) for file in files]
    _refuse_difference(files, "is of the challenge", lambda file: f"'{file.content.challenge}'")
    _refuse_difference(files, "is of the kind", lambda file: f"'{file.content.kind}'")
    notes = [*notes, *(f"Left out: {reason}" for reason in broken.values())]
    if key is None and any(file.content.sealed for file in files):
        notes.append("The files contain sealed rows: --key opens them for intervals and tests.")
    first = challenge_of(files[0])
    division = first.ranking.division
    parts: dict[str, list[TeamFile]] = defaultdict(list)
    for file in files:
        challenge = first if file.content.settings == files[0].content.settings else challenge_of(file)
        value = str(getattr(challenge.settings, division)) if division else ""
        team = file.team
        if division and team == value:  # <team>/<regime>/metrics.json or <team>/<regime>.json
            folder = Path(file.label).resolve().parent
            team = escape_for_display((folder.parent if Path(file.label).name == METRICS_FILE else folder).name)
        parts[value].append(replace(file, team=team))
    return [
        _cohort(parts[value], division={division: value} if division else {}, notes=notes)
        for value in sorted(parts, reverse=True)
    ]


def _unusable(broken: Mapping[Any, str]) -> str:
    number = f"{len(broken)} files or folders are not results of a team. " if len(broken) > 1 else ""
    return number + " ".join(broken.values())


def _cohort(files: Sequence[TeamFile], *, division: Mapping[str, str], notes: Sequence[str]) -> Cohort[AnyChallenge]:
    by_team: dict[str, TeamFile] = {}
    for file in files:
        if file.team in by_team:
            raise UsageError(f"{by_team[file.team].label} and {file.label} are both of the team '{file.team}'.")
        by_team[file.team] = file
    refuse_similar_names(by_team)
    _refuse_difference(files, "has the version", lambda file: f"'{file.content.version}'")
    _refuse_settings(files)
    _refuse_difference(files, "was scored against references with the digest", lambda file: f"'{file.ground_truth}'")
    _refuse_cases(files)
    ordered = [by_team[team] for team in sorted(by_team)]
    return Cohort(challenge=challenge_of(files[0]), division=division, files=ordered, notes=notes)


def with_own_code(cohort: Cohort[AnyChallenge], folder: Path) -> Cohort[AnyChallenge]:
    """The cohort with the functions of the metrics.py in a challenge's folder, which is run: nothing else runs it here.
    It must be the one that scored the files."""
    content = cohort.files[0].content
    own = type(cohort.challenge).tables_model.own_code(folder / METRICS_CODE).get(OWN_METRICS, ())
    scored_by = {each["code"] for each in content.settings.get(OWN_METRICS, ())}
    if {each.code for each in own} != scored_by or not own:
        raise UsageError(f"{folder / METRICS_CODE} is not the code that scored {cohort.files[0].label}.")
    settings = {**content.settings, OWN_METRICS: own}
    notes = [*cohort.notes, f"{METRICS_CODE} of {folder} was run for figures of all cases in resamples."]
    return replace(cohort, challenge=challenge_from_settings(content.challenge, content.kind, settings), notes=notes)


def refuse_similar_names(teams: Iterable[str]) -> None:
    """Raises UsageError where names of teams look the same: they differ only in spaces, which the message makes
    visible, or in invisible characters, which names contain escaped."""
    alike: dict[str, list[str]] = defaultdict(list)
    for team in teams:
        alike[_INVISIBLE.sub("", unicodedata.normalize("NFKC", team))].append(f"'{team.replace(' ', '␣')}'")
    for first, *others in alike.values():
        if others:
            raise UsageError(
                f"The team names {first} and {' and '.join(others)} differ only in spaces (␣) or invisible characters: "
                "write them the same way if they are one team, or rename the others."
            )


# Finding and reading files


def _find(path: Path, broken: dict[Path, str]) -> Iterator[Path]:
    """The files that a path refers to: itself, its metrics.json, or all below a folder of teams. The folder of a team
    without any, and one that cannot be opened, is added to `broken`, with a sentence."""
    try:
        if not path.is_dir():
            yield path
        elif (path / METRICS_FILE).is_file():
            yield path / METRICS_FILE
        else:
            entries = sorted(each for each in path.iterdir() if not each.name.startswith("."))
            for entry in entries:
                if entry.is_dir():
                    yield from _of_folder(entry, broken, beside=entries)
                elif entry.suffix.lower() == ".json" and entry.name not in OUR_FILES:
                    yield entry
    except OSError as error:
        broken[path] = f"{path} cannot be read: {error.strerror}."


def _of_folder(folder: Path, broken: dict[Path, str], *, beside: Sequence[Path]) -> Sequence[Path]:
    """The files in a folder among others: that of a team, unless it has results of `podium rank` or their figures."""
    found = list(_find(folder, broken))
    if found or folder in broken:
        return found
    has_results = any((folder / name).exists() for name in OUR_FILES)
    if not has_results and not (folder.name == OUR_FOLDER and any(each.name in OUR_FILES for each in beside)):
        for below in [each for each in broken if folder in each.parents]:
            del broken[below]
        broken[folder] = f"The team '{_team(folder / METRICS_FILE)}' has no metrics.json in {folder}."
    return found


def _read(paths: Iterable[Path], broken: dict[Path, str]) -> Iterator[TeamFile]:
    for path in paths:
        try:
            yield TeamFile(team=_team(path), label=str(path), content=read_metrics(path))
        except UsageError as error:
            broken[path] = str(error)


def _team(path: Path) -> str:
    """The name as a printable line: it may contain anything, and is used in tables, JSON and HTML."""
    return escape_for_display(path.resolve().parent.name if path.name == METRICS_FILE else path.stem)


def challenge_of(file: TeamFile) -> AnyChallenge:
    """The challenge with the settings that the file was scored with."""
    content = file.content
    if content.kind not in KIND_NAMES:
        raise UsageError(f"{file.label} is of the kind '{content.kind}', which is not known here.")
    try:
        return challenge_from_settings(content.challenge, content.kind, dict(content.settings))
    except ConfigurationError as problem:
        raise UsageError(f"{file.label} has settings that this version does not know: {problem}.") from None


# The platform's export of a phase's evaluations: one metrics.json per evaluation, with who submitted it and when.

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


# Sealed rows, opened with the organiser's key: as if every row had been published.


def _unsealed(file: TeamFile, secret_key: bytes) -> TeamFile:
    """The file with all rows, the exact aggregates and the digest of its ground truth.

    Raises UsageError where the file has no sealed rows, they cannot be opened or belong to another file, or the
    published figures are not those that were published.
    """
    content, label, given = file.content, file.label, file.content.aggregates
    if content.sealed is None:
        raise UsageError(f"{label} has no sealed rows, so --key opens nothing there.")
    found = open_box(content, secret_key=secret_key, label=label)
    wrong = next(
        (path for path, value in leaves(found.published) if not holds(given, path) or get(given, path) != value), None
    )
    if wrong is not None:
        raise UsageError(f"{label} has a different aggregates.{wrong} than its sealed rows: one of them was replaced.")
    exact = content.model_copy(update={"results": found.results, "aggregates": found.aggregates})
    return replace(file, content=exact, ground_truth=found.ground_truth, submission=found.submission)


def _refuse_equal_boxes(files: Sequence[TeamFile]) -> None:
    """Two evaluations never give the same box, not even of the same submission."""
    boxes: dict[str, TeamFile] = {}
    for file in files:
        other = boxes.setdefault(file.content.sealed, file) if file.content.sealed else file
        if other is not file:
            raise UsageError(f"{other.label} and {file.label} have the same sealed rows: one of them was copied.")


# Files that do not belong together


def _most(files: Sequence[TeamFile], key: Any) -> TeamFile:
    """The first file of the majority: a file that differs from it is more likely the wrong one."""
    winner = Counter(key(file) for file in files).most_common(1)[0][0]
    return next(file for file in files if key(file) == winner)


def _refuse_difference(files: Sequence[TeamFile], words: str, key: Any) -> None:
    usual = _most(files, key)
    for file in files:
        if key(file) != key(usual):
            raise UsageError(
                f"{file.label} {words} {key(file)}, but {usual.label} {key(usual)}: they cannot be ranked together."
            )


def _refuse_settings(files: Sequence[TeamFile]) -> None:
    flat = {file.label: dict(_flat(file.content.settings)) for file in files}
    for key in sorted({key for settings in flat.values() for key in settings}):
        values = {label: f"with {key} = {settings.get(key, 'nothing')}" for label, settings in flat.items()}
        _refuse_difference(files, "was scored", lambda file, values=values: values[file.label])


def _flat(value: Any, path: str = "") -> Iterator[tuple[str, str]]:
    members = dict(enumerate(value)) if isinstance(value, list) else value
    if isinstance(members, dict) and members:
        for key, member in members.items():
            yield from _flat(member, f"{path}.{key}" if path else key)
    else:
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        yield path, repr(float(value) if is_number else value)  # 3 and 3.0 are one setting; True and 1 are two


def _refuse_cases(files: Sequence[TeamFile]) -> None:
    for file in files:
        twice = [case for case, count in Counter(row.case for row in file.content.results).items() if count > 1]
        if twice:
            raise UsageError(f"{file.label} has the case '{twice[0]}' twice.")
    usual = _most(files, lambda file: file.cases)
    for file in files:
        if file.cases == usual.cases:
            continue
        _refuse_anonymous(file, usual)
        for one, other in ((file, usual), (usual, file)):
            extra = sorted(one.cases - other.cases)
            if extra and not other.cases:
                raise UsageError(
                    f"{other.label} contains no per-case rows, but {one.label} does: they cannot be ranked together."
                )
            if extra:
                raise UsageError(
                    f"{other.label} does not have the case '{extra[0]}' that {one.label} has "
                    f"({len(extra)} such): they cannot be ranked together."
                )
    memberships = [{row.case: (row.groups, row.patient) for row in file.content.results} for file in files]
    for file, found in zip(files, memberships, strict=True):
        if found != memberships[0]:
            words = f"has other groups or patients of its cases than {files[0].label}"
            raise UsageError(f"{file.label} {words}: they cannot be ranked together.")
    _refuse_difference(files, "expects this number of cases:", lambda file: f"'{file.content.counts.expected}'")
    for file in files:
        counts, rows = file.content.counts, file.content.results
        counted = {status: getattr(counts, status) for status in get_args(Status)}
        is_sum = sum(counted.values()) == counts.expected
        if not is_sum or (rows and Counts.of(rows, unmatched=counts.unmatched) != counts):
            raise UsageError(
                f"{file.label} counts {listed([f'{number} {status}' for status, number in counted.items()])} of "
                f"{counts.expected} cases, which is not what its rows give, or no sum: it was changed."
            )


def _refuse_anonymous(file: TeamFile, usual: TeamFile) -> None:
    """Where cases differ because rows are anonymous, naming a missing pseudonym would not explain anything."""
    hidden = [each for each in (file, usual) if are_anonymous(each.cases)]
    if len(hidden) == 2 and not file.cases & usual.cases:
        raise UsageError(
            f"The rows of {file.label} and {usual.label} are anonymous and have no pseudonym in common, so the two "
            "were scored against different references: they cannot be ranked together."
        )
    if len(hidden) == 1 and file.cases and usual.cases:
        named = usual if hidden[0] is file else file
        raise UsageError(
            f"The rows of {hidden[0].label} are anonymous, but {named.label} names its cases, so the rows cannot be "
            "paired: they cannot be ranked together. Score both with the same 'per_case'."
        )
