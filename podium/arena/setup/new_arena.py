"""A new arena: the finalists' reports and the case images in one folder, created completely or not at all."""

import os
import re
import secrets
import shutil
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import mkdtemp

from podium.arena.images.case_images import find_cases, prepare
from podium.arena.raters.invitations import Invitation, invite_organiser
from podium.arena.settings import ArenaSettings, write_settings
from podium.arena.setup.collected_reports import collect_reports
from podium.arena.setup.finalists import choose_finalists, find_submission, read_ranking
from podium.arena.store.cleaning import LONGEST_REPORT, blind_report, cut_report, mixed_script_words
from podium.arena.store.contents import PICTURES, Contents, Picture, write_contents
from podium.arena.store.database import DATABASE, Store
from podium.arena.wording import listed
from podium.errors import UsageError
from podium.execution.executor import show_progress

_MOST_NAMED = 3


@dataclass(frozen=True, kw_only=True)
class Sources:
    """What an arena is made from. `top` is how many ranks come in; None leaves it to the ranking."""

    ranking: Path
    submissions: Path
    cases: Path
    top: int | None = None


@dataclass(frozen=True, kw_only=True)
class NewArena:
    """What `init` has to say: who takes part, what an organiser should look at, and the organiser's own link."""

    methods: tuple[str, ...]
    cases: tuple[str, ...]
    notes: tuple[str, ...]
    organiser: Invitation


def init(folder: Path, sources: Sources, settings: ArenaSettings) -> NewArena:
    """Build the arena in a temporary folder beside `folder`, then rename it: an interruption leaves nothing."""
    folder = folder.resolve()
    _check_place(folder)
    ranking = read_ranking(sources.ranking)
    methods = choose_finalists(ranking, sources.top)
    images = find_cases(sources.cases)
    collected = {
        method: collect_reports(find_submission(sources.submissions, method), cases=images) for method in methods
    }
    texts = {
        method: {case: blind_report(text) for case, text in reports.texts.items()}
        for method, reports in collected.items()
    }
    notes = tuple(_other_finalists(methods, [team.name for team in ranking.teams if team.finalist]))
    for method in methods:
        notes += tuple(_notes(method, texts[method], collected[method].problems))
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        building = Path(mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
    except OSError as error:
        raise UsageError(f"{folder} cannot be made: {error.strerror}.") from None
    try:
        contents = Contents(
            methods=methods,
            cases=_prepare(images, building / PICTURES),
            reports={
                method: {case: cut_report(text) for case, text in of_method.items()}
                for method, of_method in texts.items()
            },
            notes=notes,
        )
        write_settings(building, settings)
        write_contents(building, contents)
        with closing(Store(building)) as store:
            organiser = invite_organiser(store, settings)
        building.replace(folder)
        _flush(folder.parent)
    except OSError as error:
        raise UsageError(f"{folder} cannot be made: {error.strerror or error}.") from error
    finally:
        shutil.rmtree(building, ignore_errors=True)
    return NewArena(methods=tuple(methods), cases=tuple(images), notes=notes, organiser=organiser)


def _check_place(folder: Path) -> None:
    if (folder / DATABASE).exists():
        raise UsageError(f"{folder} is already an arena; its votes would be lost.")
    if folder.exists() and not (folder.is_dir() and not any(folder.iterdir())):
        raise UsageError(f"{folder} already exists and is not an empty folder.")


def _prepare(images: Mapping[str, Sequence[Path]], target: Path) -> dict[str, list[Picture]]:
    """The pictures of every case, under random names."""
    pictures: dict[str, list[Picture]] = {}
    progress = show_progress("Preparing images", sum(map(len, images.values())))
    try:
        for case, paths in images.items():
            pictures[case] = []
            for path in paths:
                key = secrets.token_hex(16)
                pictures[case].append(Picture(key=key, **asdict(prepare(path, target / key))))
                progress.advance()
    finally:
        progress.close()
    return pictures


def _flush(folder: Path) -> None:
    """So that the renamed folder survives a power cut, as its votes do."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _other_finalists(methods: Sequence[str], marked: Sequence[str]) -> Iterator[str]:
    if marked and set(marked) != set(methods):
        beyond = " 'podium rank --arena' accepts no ratings of others." if set(methods) - set(marked) else ""
        yield f"The ranking marks different finalists: {listed(marked)}.{beyond}"


def _notes(team: str, texts: Mapping[str, str], problems: Mapping[str, str]) -> Iterator[str]:
    empty = [case for case, text in sorted(texts.items()) if not text]
    if empty:
        reason = problems.get(empty[0], "The report contains no visible text.")
        yield f"'{team}': {len(empty)} of {len(texts)} reports will be shown as empty; {empty[0]}: {reason}"
    name = re.compile(rf"(?<!\w){re.escape(team)}(?!\w)", re.IGNORECASE)
    naming = [case for case, text in sorted(texts.items()) if name.search(text)]
    if naming:
        yield f"'{team}' appears in its own reports of {_some(naming)}: raters will see it; nothing is masked."
    mixed = {case: words for case, text in sorted(texts.items()) if (words := mixed_script_words(text))}
    if mixed:
        first = next(iter(mixed.values()))[0]
        yield f"'{team}': letters of different alphabets are mixed in words of {_some(mixed)}, first in '{first}'."
    long = [case for case, text in sorted(texts.items()) if len(text) > LONGEST_REPORT]
    if long:
        yield f"'{team}': reports of {_some(long)} are cut after {LONGEST_REPORT:,} characters."


def _some(cases: Collection[str]) -> str:
    """The first few by name, the others by number."""
    named = list(cases)[:_MOST_NAMED]
    rest = len(cases) - len(named)
    return listed([*named, f"{rest} more"] if rest else named)
