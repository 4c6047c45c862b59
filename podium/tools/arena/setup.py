"""`podium arena init`: the finalists' reports, blinded, and the case images in one folder, created completely or not at
all."""

import re
import secrets
import unicodedata
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from podium.challenges.reports.challenge import ReportsChallenge
from podium.challenges.reports.files import ReportsTables
from podium.errors import Refused, SubmissionError, UsageError, listed, read_given
from podium.execution.executor import show_progress
from podium.platform.submission import open_submission
from podium.tools.arena.images import find_cases, prepare
from podium.tools.arena.raters import Invitation, invite_organiser
from podium.tools.arena.settings import ArenaSettings, write_settings
from podium.tools.arena.store import DATABASE, PICTURES, Picture, Store, clean_text, new_folder, write_contents
from podium.tools.ranking.result import Ranking, ranking_from_json

BEST = 7  # as the rules of the reports challenge say
LONGEST_REPORT = 50_000
CUT_NOTE = "[The report is longer; it was cut here.]"
MASK, SHORTEST_NAME = "[***]", 3
MOST_MARKS = 3  # Vietnamese needs two, pointed Hebrew three
_LOOK_ALIKE = frozenset(("LATIN", "GREEK", "CYRILLIC"))
_WORD = re.compile(r"[^\W\d_]+")
_SPACES = re.compile(" {2,}")
_LINE_START = re.compile(r"\n[\n ]*")
_PLAIN = str.maketrans(
    {each: plain for plain, all_of in {'"': "“”„‟«»", "'": "‘’‚‛‹›", "-": "‐‒–—―−•‣⁃◦▪●■·"}.items() for each in all_of}
)
_LIST_MARK = re.compile(r"^(?:[-*#→⇒➔✓✔☐☑]+ +)+", re.MULTILINE)
_SPACE_BEFORE_MARK = re.compile(r" +(?=[.,;:!?](?:\s|$))")
# What no single character shows; numbers at the start of a line are kept, for they may be those of teeth.
_HABITS = {
    "numbered lines": re.compile(r"^\d+[.):] ", re.MULTILINE),
    "full stops in a row": re.compile(r"\.\."),
    "capital letters throughout": re.compile(r"\A[^a-z]*[A-Z][^a-z]*\Z"),
    "small letters throughout": re.compile(r"\A[^A-Z]*[a-z][^A-Z]*\Z"),
    "Markdown": re.compile(r"\*\*|__|^\|", re.MULTILINE),
}
_some = partial(listed, most=3)  # the first few by name, the others by number


@dataclass(frozen=True, kw_only=True)
class Sources:
    """What an arena is made from. `top` is the last rank that takes part; None leaves it to the ranking."""

    ranking: Path
    submissions: Path
    cases: Path
    top: int | None = None


@dataclass(frozen=True, kw_only=True)
class NewArena:
    """The result of `init`: who takes part, notes for the organiser, and the organiser's link."""

    methods: tuple[str, ...]
    cases: tuple[str, ...]
    notes: tuple[str, ...]
    organiser: Invitation


def init(folder: Path, sources: Sources, settings: ArenaSettings) -> NewArena:
    """Create the arena in `folder`, completely or not at all."""
    folder = folder.resolve()
    if (folder / DATABASE).exists():
        raise UsageError(f"{folder} is already an arena; its votes would be lost.")
    if folder.exists() and not (folder.is_dir() and not any(folder.iterdir())):
        raise UsageError(f"{folder} already exists and is not an empty folder.")
    ranking = ranking_from_json(read_given(sources.ranking), name=str(sources.ranking))
    methods = choose_finalists(ranking, sources.top)
    images = find_cases(sources.cases)
    collected = {
        method: collect_reports(find_submission(sources.submissions, method), cases=images) for method in methods
    }
    texts = {
        method: {case: blind_report(text) for case, text in sent.items()} for method, (sent, _) in collected.items()
    }
    notes: tuple[str, ...] = ()
    marked = [team.name for team in ranking.teams if team.finalist]
    if marked and set(marked) != set(methods):
        beyond = " 'podium rank --arena' accepts no ratings of others." if set(methods) - set(marked) else ""
        notes = (f"The ranking marks different finalists: {listed(marked)}.{beyond}",)
    for method in methods:
        notes += tuple(_notes(method, texts[method], collected[method][1]))
    notes += tuple(_own_characters(texts))
    texts, masked = mask_names(texts)
    notes += tuple(masked)
    try:
        with new_folder(folder) as building:
            write_settings(building, settings)
            write_contents(
                building,
                methods=methods,
                cases=_prepare(images, building / PICTURES),
                reports={
                    method: {case: cut_report(text) for case, text in of_method.items()}
                    for method, of_method in texts.items()
                },
                notes=notes,
            )
            with closing(Store(building)) as store:
                organiser = invite_organiser(store, settings)
    except OSError as error:
        raise UsageError(f"{folder} cannot be created: {error.strerror or error}.") from error
    return NewArena(methods=tuple(methods), cases=tuple(images), notes=notes, organiser=organiser)


def _prepare(images: Mapping[str, Sequence[Path]], target: Path) -> dict[str, list[Picture]]:
    """The pictures of every case, under random names."""
    pictures: dict[str, list[Picture]] = {case: [] for case in images}
    with closing(show_progress("Preparing images", sum(map(len, images.values())))) as progress:
        for case, paths in images.items():
            for path in paths:
                pictures[case].append(prepare(path, target / secrets.token_hex(16)))
                progress.advance()
    return pictures


def _notes(team: str, texts: Mapping[str, str], problems: Mapping[str, str]) -> Iterator[str]:
    empty = [case for case, text in sorted(texts.items()) if not text]
    if empty:
        reason = problems.get(empty[0], "The report contains no visible text.")
        yield f"'{team}': {len(empty)} of {len(texts)} reports will be shown as empty; {empty[0]}: {reason}"
    mixed = {case: words for case, text in sorted(texts.items()) if (words := mixed_script_words(text))}
    if mixed:
        first = next(iter(mixed.values()))[0]
        yield f"'{team}': letters of different alphabets are mixed in words of {_some([*mixed])}, first in '{first}'."
    long = [case for case, text in sorted(texts.items()) if len(text) > LONGEST_REPORT]
    if long:
        yield f"'{team}': reports of {_some(long)} are cut after {LONGEST_REPORT:,} characters."


def _own_characters(texts: Mapping[str, Mapping[str, str]]) -> Iterator[str]:
    """Characters and habits that only one team has, in at least half of its reports: rare punctuation, look-alike
    letters, numbered lines."""
    used = {team: Counter(each for text in of.values() for each in _marks(text)) for team, of in texts.items()}
    for team, counts in used.items():
        others = set().union(*(counts for other, counts in used.items() if other != team))
        own = [
            f"{each!r} ({unicodedata.name(each, 'LINE BREAK')})" if len(each) == 1 else each
            for each, number in sorted(counts.items())
            if each not in others and 2 * number >= len(texts[team])
        ]
        if own:
            yield f"'{team}' alone uses {_some(own)}: raters could recognise it by that."


def _marks(text: str) -> set[str]:
    """What a report could be recognised by, apart from its words."""
    plain = {each for each in text if not (each.isascii() and each.isalnum())}
    return plain | {habit for habit, pattern in _HABITS.items() if pattern.search(text)}


def mask_names(texts: Mapping[str, Mapping[str, str]]) -> tuple[dict[str, dict[str, str]], list[str]]:
    """The reports with `[***]` in place of every team's name, and notes. Upper and lower case, and a space, hyphen or
    the like between words and digits, make no difference.

    A name that two other teams use is an ordinary word, whose loss would damage reports: the organiser is told.
    """
    masked, notes = {team: dict(of_team) for team, of_team in texts.items()}, []
    for name in sorted(texts, key=len, reverse=True):  # "alpha 2" before "alpha"
        parts = re.findall(r"[^\W\d_]+|\d+", name)
        pattern = re.compile(rf"(?<![^\W_]){'[ _.-]?'.join(parts)}(?![^\W_])", re.IGNORECASE)
        naming = {team: [case for case in of if parts and pattern.search(of[case])] for team, of in masked.items()}
        cases = sorted({case for of_team in naming.values() for case in of_team})
        if cases and (len("".join(parts)) < SHORTEST_NAME or sum(map(bool, naming.values())) > 1 + bool(naming[name])):
            words = f"'{name}' is a word of several reports ({_some(cases)}) and is not masked"
            notes.append(f"{words}: correct these reports if it names the team there.")
        elif cases:
            for team, of_team in naming.items():
                masked[team] |= {case: pattern.sub(MASK, masked[team][case]) for case in of_team}
            notes.append(f"'{name}' appears in reports of {_some(cases)} and is shown as {MASK} there.")
    return masked, notes


# The finalists: the best teams of a ranking, and the files of their submissions.


def choose_finalists(ranking: Ranking, top: int | None) -> list[str]:
    """Teams in the order of the ranking: those of rank `top` or better; by default those the ranking marks as
    finalists, else the best seven. All teams that share the last rank take part."""
    marked = [team.name for team in ranking.teams if team.finalist]
    if top is None and marked:
        chosen = marked
    else:
        chosen = [team.name for team in ranking.teams if team.rank is not None and team.rank <= (top or BEST)]
    if len(chosen) < 2:
        raise UsageError(f"An arena compares at least two teams; the ranking gives {len(chosen)}.")
    return chosen


def find_submission(submissions: Path, team: str) -> Path:
    """The folder `<team>`, or an archive such as `<team>.zip`."""
    try:
        found = sorted(path for path in submissions.iterdir() if team in (path.name, path.name.split(".", 1)[0]))
    except OSError as error:
        raise UsageError(f"The submissions in {submissions} cannot be read: {error.strerror}.") from None
    exact = [path for path in found if path.name == team]
    if len(exact or found) > 1:
        names = " and ".join(path.name for path in found)
        raise UsageError(f"{submissions} contains several submissions of '{team}': {names}. Keep only one of them.")
    if not found:
        raise UsageError(f"There is no submission of '{team}' in {submissions}.")
    return (exact or found)[0]


# The reports of one team, from any form of submission that the challenge accepts.


def collect_reports(submission: Path, *, cases: Collection[str]) -> tuple[dict[str, str], dict[str, str]]:
    """A team's reports of `cases`, found by name as the challenge finds them; reports of other cases are ignored.

    Returns the texts by case, and for the organiser why a text is empty, by case. A case without a usable report gets
    an empty one. A submission that cannot be opened, or that has no report of any of these cases, is refused: it is the
    wrong folder, and the arena would consist of empty reports.
    """
    files = ReportsChallenge("reports", ReportsTables())
    texts: dict[str, str] = {}
    problems: dict[str, str] = {}
    try:
        limit = files.submission_bytes([{}] * len(cases))
        with open_submission(submission, max_bytes=limit) as opened:
            collected = files.pair(opened, cases)
            for case in sorted(cases):
                texts[case], problem = "", collected.refused.get(case, "There is no report of this case.")
                if case in collected.predictions:
                    try:
                        texts[case], problem = files.read(collected.predictions[case]), "The report is empty."
                    except Refused as refusal:
                        problem = str(refusal)
                if not texts[case].strip():
                    problems[case] = problem
    except (SubmissionError, Refused) as fault:
        raise UsageError(f"The reports in {submission} cannot be read: {fault}") from None
    if not collected.predictions and not collected.refused:
        raise UsageError(
            f"{submission} contains no report of any of the {len(cases)} cases. The arena compares "
            "texts only, such as reports in <case>.txt, and the names of cases must agree."
        )
    return texts, problems


# Reports as raters see them: nothing in the typography may identify a team.


def blind_report(text: str) -> str:
    """A report as raters see it: cleaned, and in one typography for all teams, so that none is recognised by its style.

    Unicode NFKC (full-width letters, ligatures and the like become plain ones), at most three combining marks on a
    letter, runs of spaces as one, plain quotes, dashes and bullets, neither blank lines nor spaces before a line or a
    full stop. Removing a character may let its neighbours compose, hence NFKC twice.
    """
    plain = unicodedata.normalize("NFKC", clean_text(unicodedata.normalize("NFKC", text)))
    lines = _SPACES.sub(" ", clean_text(_limit_marks(plain))).translate(_PLAIN)
    lines = _LINE_START.sub("\n", lines).strip(" \n")
    return _LIST_MARK.sub("- ", _SPACE_BEFORE_MARK.sub("", lines))


def _limit_marks(text: str) -> str:
    kept, marks = [], 0
    for each in text:
        marks = marks + 1 if unicodedata.combining(each) else 0
        if marks <= MOST_MARKS:
            kept.append(each)
    return "".join(kept)


def mixed_script_words(text: str) -> list[str]:
    """Words that mix alphabets with similar letters, such as a Cyrillic "а" in a Latin word.

    The Greek mu is allowed, since units use it for micro.
    """
    plain = text.replace("\N{GREEK SMALL LETTER MU}", "")
    alphabets = {each: unicodedata.name(each, "").partition(" ")[0] for each in set(plain)}
    return [
        word
        for word in dict.fromkeys(_WORD.findall(text))
        if len({alphabets.get(letter) for letter in word} & _LOOK_ALIKE) > 1
    ]


def cut_report(text: str) -> str:
    """A cleaned report; one that is too long is cut with a visible note."""
    return text if len(text) <= LONGEST_REPORT else f"{text[:LONGEST_REPORT]}\n{CUT_NOTE}"
