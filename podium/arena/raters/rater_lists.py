"""raters.csv in, links.csv out: many invitations at once."""

import csv
import io
from collections.abc import Collection, Iterable
from pathlib import Path

from podium.arena.raters.invitations import Guest, Invitation, rater_name
from podium.arena.store.cleaning import clean_name
from podium.errors import UsageError

_COLUMNS = {"name": "name", "e-mail": "email", "email": "email", "language": "language"}


def read_guests(path: Path, *, languages: Collection[str]) -> list[Guest]:
    """The columns name, e-mail and language, the last two optional. One wrong line, and nobody is invited."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}.") from None
    except UnicodeDecodeError:
        raise UsageError(f"{path} is not UTF-8 text.") from None
    header = text.partition("\n")[0]
    rows = csv.reader(io.StringIO(text), delimiter=";" if ";" in header and "," not in header else ",")
    titles = [title.strip().lower() for title in next(rows, [])]
    if "name" not in titles or not set(titles) <= set(_COLUMNS):
        raise UsageError(f"{path}: the first line must name the columns: name, e-mail, language.")
    guests: dict[str, Guest] = {}
    for number, row in enumerate(rows, start=2):
        if not any(map(str.strip, row)):
            continue
        if len(row) != len(titles):
            raise UsageError(f"{path}, line {number}: {len(row)} fields instead of {len(titles)}.")
        guest = Guest(**{_COLUMNS[title]: clean_name(value) for title, value in zip(titles, row, strict=True)})
        if guest.language and guest.language not in languages:
            raise UsageError(f"{path}, line {number}: the language is one of {', '.join(languages)}.")
        if guests.setdefault(rater_name(guest.name), guest) is not guest:
            raise UsageError(f"{path}, line {number}: '{guest.name}' is listed twice.")
    if not guests:
        raise UsageError(f"{path} lists nobody.")
    return list(guests.values())


def links_csv(invited: Iterable[tuple[Guest, Invitation]]) -> str:
    """One line per rater, for a mail merge."""
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(("name", "e-mail", "language", "link"))
    for guest, invitation in invited:
        writer.writerow((invitation.name, guest.email, guest.language, invitation.link))
    return text.getvalue()
