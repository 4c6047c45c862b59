"""Arenas made directly, without a ranking, submissions or images to prepare."""

import gzip
import secrets
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import cache
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from podium.tools.arena import voting
from podium.tools.arena.raters import find_visitor, invite, invite_organiser, open_session
from podium.tools.arena.settings import ArenaSettings, write_settings
from podium.tools.arena.store import PICTURES, VOLUME_FILE, OpenArena, Picture, VoteAnswer, read_ballots, write_contents
from podium.tools.arena.voting import Matchup


@dataclass(frozen=True, kw_only=True)
class MadeArena:
    """`tokens` are the secrets of the raters' links, by name; `organiser` is that of the organiser's."""

    folder: Path
    tokens: Mapping[str, str]
    organiser: str


def make_arena(
    folder: Path,
    *,
    methods: Sequence[str] = ("alpha", "beta", "gamma"),
    cases: Sequence[str] = ("A1", "A2", "A3", "A4"),
    volumes: Sequence[str] = (),
    volume_shape: tuple[int, int, int] = (12, 32, 48),
    raters: Sequence[str] = ("Anna",),
    reports: Mapping[str, Mapping[str, str]] | None = None,
    notes: Sequence[str] = (),
    settings: ArenaSettings | None = None,
    practice: int = 0,
    pictures: Mapping[str, Sequence[Picture]] | None = None,
) -> MadeArena:
    """An arena with a picture for every case (a volume for those in `volumes`) and everybody invited.

    `volume_shape` is slices, rows, columns. Reports are "<case>: findings number <n>." unless given as
    reports[method][case]: they do not name the method.
    """
    folder.mkdir(parents=True, exist_ok=True)
    settings = (settings or ArenaSettings(matchups_per_rater=10)).model_copy(update={"practice_matchups": practice})
    if "votes_per_minute" not in settings.model_fields_set:
        settings = settings.model_copy(update={"votes_per_minute": 100_000})  # tests vote faster than people
    texts = reports or {
        method: {case: f"{case}: findings number {number}." for case in cases} for number, method in enumerate(methods)
    }
    drawn = pictures or {case: [_picture(folder, volume_shape if case in volumes else None)] for case in cases}
    write_settings(folder, settings)
    write_contents(folder, methods=methods, cases=drawn, reports=texts, notes=notes)
    with closing(OpenArena(folder)) as opened:
        tokens = {name: invite(opened.store, settings, name).token for name in raters}
        organiser = invite_organiser(opened.store, settings).token
    return MadeArena(folder=folder, tokens=tokens, organiser=organiser)


@contextmanager
def open_arena(folder: Path, **options: Any) -> Iterator[tuple[OpenArena, int]]:
    """A new arena, and the number of its rater Anna."""
    made = make_arena(folder, **options)
    with closing(OpenArena(folder)) as opened:
        yield opened, rater_id(opened, made.tokens["Anna"])


def rater_id(opened: OpenArena, token: str) -> int:
    """The number of the rater whose link has this token."""
    cookie = open_session(opened.store, token)
    assert cookie is not None
    visitor = find_visitor(opened.store, cookie)
    assert visitor is not None
    return visitor.id


def next_matchup(opened: OpenArena, rater: int) -> Matchup:
    """The rater's next matchup, which there must be."""
    matchup = voting.next_matchup(opened, rater)
    assert matchup is not None
    return matchup


def vote(opened: OpenArena, rater: int, *answers: VoteAnswer, comment: str = "") -> list[str]:
    """Answer the next matchups of the list; gives their keys."""
    keys = []
    for answer in answers:
        keys.append(next_matchup(opened, rater).key)
        assert voting.cast(opened.store, rater, matchup=keys[-1], answer=answer, comment=comment) == "cast"
    return keys


def cast_answers(folder: Path) -> list[str]:
    """The answers of all standing votes."""
    with closing(OpenArena(folder)) as opened:
        return [ballot.answer for ballot in read_ballots(opened.store)]


def shades_of(number: int, rows: int, columns: int) -> np.ndarray:
    """What slice `number` looks like, as bytes; a volume stores 257 times that."""
    row, column = np.mgrid[:rows, :columns]
    return ((row * 5 + column * 3 + number * 20) % 256).astype(np.uint8)


def _picture(folder: Path, shape: tuple[int, int, int] | None) -> Picture:
    is_volume = shape is not None
    slices, height, width = shape or (1, 32, 48)
    picture = Picture(
        key=secrets.token_hex(16),
        is_volume=is_volume,
        slices=slices,
        width=width,
        height=height,
        pixel_aspect=1.5 if is_volume else 1.0,
        value_low=-1000.0 if is_volume else 0.0,
        value_high=2000.0 if is_volume else 255.0,
        window_low=-200.0 if is_volume else 0.0,
        window_high=800.0 if is_volume else 255.0,
    )
    target = folder / PICTURES / picture.key
    target.mkdir(parents=True)
    for number in range(picture.slices):
        (target / f"{number}.png").write_bytes(_encoded(number % 64, height, width))  # it comes again after 64 slices
    if is_volume:
        raw = b"".join((shades_of(n % 64, height, width).astype("<u2") * 257).tobytes() for n in range(slices))
        (target / VOLUME_FILE).write_bytes(gzip.compress(raw, 1, mtime=0))
    return picture


@cache
def _encoded(number: int, rows: int, columns: int) -> bytes:
    written = BytesIO()
    Image.fromarray(shades_of(number, rows, columns)).save(written, format="PNG")
    return written.getvalue()
