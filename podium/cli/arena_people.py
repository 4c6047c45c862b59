"""`podium arena invite` and `podium arena revoke`."""

import argparse
from contextlib import closing
from pathlib import Path

from podium.cli.arena_words import add_known_folder, say
from podium.cli.arguments import Verbs, add_verb, positive_int
from podium.errors import UsageError


def add_people(verbs: Verbs) -> None:
    _add_invite(verbs)
    revoke = add_verb(verbs, "revoke", _revoke, "revoke a rater's link; the votes are kept")
    add_known_folder(revoke)
    revoke.add_argument("name", metavar="NAME", help="the name used in the invitation")


def _add_invite(verbs: Verbs) -> None:
    parser = add_verb(verbs, "invite", _invite, "print a personal link, which is shown only once")
    parser.usage = (
        "podium arena invite [-h] [--matchups N] [--language CODE] [DIR] NAME\n"
        "       podium arena invite [-h] [--matchups N] --from FILE [--output FILE] [DIR]\n"
        "       podium arena invite [-h] --organiser [DIR]"
    )
    parser.add_argument(
        "words",
        nargs="*",
        metavar="[DIR] NAME",
        help="the arena's folder [the working folder], and the rater; one who is known gets a new link",
    )
    parser.add_argument("--organiser", action="store_true", help="a new link for the organiser instead")
    parser.add_argument(
        "--from", type=Path, dest="source", metavar="FILE", help="many raters: a CSV file with name, e-mail, language"
    )
    parser.add_argument("--output", type=Path, metavar="FILE", help="where --from writes the links [standard output]")
    parser.add_argument("--language", metavar="CODE", help="en, it, de, fr, es or zh [as the rater's browser asks]")
    parser.add_argument(
        "--matchups", type=positive_int, metavar="N", help="number of matchups for each rater [from arena.toml]"
    )


def _invite(options: argparse.Namespace) -> int:
    from podium.arena.raters.invitations import Guest, invite, invite_organiser
    from podium.arena.settings import read_settings
    from podium.arena.store.database import Store

    if options.source:
        return _invite_many(options)
    folder, name = _folder_and_name(options)
    _check_language(options.language)
    with closing(Store(folder)) as store:
        settings = read_settings(folder)
        if options.organiser:
            made = invite_organiser(store, settings)
            say("The organiser's link, shown only once; any older link is revoked:")
        else:
            guest = Guest(name=name, language=options.language or "")
            made = invite(store, settings, guest, matchups=options.matchups)
            for remark in made.remarks:
                say(remark)
            say(f"The link of {made.name} to {made.total} matchups, shown only once:")
    print(made.link, flush=True)
    return 0


def _invite_many(options: argparse.Namespace) -> int:
    from podium.arena.raters.invitations import invite
    from podium.arena.raters.rater_lists import links_csv, read_guests
    from podium.arena.settings import read_settings
    from podium.arena.store.database import Store
    from podium.arena.store.whole_file import write_whole
    from podium.arena.web.languages import LANGUAGES

    if options.organiser or options.language or len(options.words) > 1:
        raise UsageError("With --from the file says who is invited: podium arena invite --from FILE [DIR].")
    guests = read_guests(options.source, languages=LANGUAGES)
    folder = Path(*options.words)
    with closing(Store(folder)) as store:
        settings = read_settings(folder)
        invited = [(guest, invite(store, settings, guest, matchups=options.matchups)) for guest in guests]
    for _, made in invited:
        for remark in made.remarks:
            say(remark)
    say(f"Invited {len(invited)} raters; their links are shown only once.")
    if options.output:
        write_whole(options.output, links_csv(invited), private=True)
        say(f"Wrote the links to {options.output}.")
    else:
        print(links_csv(invited), end="", flush=True)
    return 0


def _check_language(language: str | None) -> None:
    from podium.arena.web.languages import LANGUAGES

    if language is not None and language not in LANGUAGES:
        raise UsageError(f"--language is one of {', '.join(LANGUAGES)}.")


def _folder_and_name(options: argparse.Namespace) -> tuple[Path, str]:
    """Whom to invite, and where: the folder may be left out inside it, and the organiser has no name."""
    if options.output:
        raise UsageError("--output goes with --from.")
    if options.organiser and options.matchups:
        raise UsageError("--matchups is for raters; the organiser has none.")
    folders, names = (options.words, [""]) if options.organiser else (options.words[:-1], options.words[-1:])
    if len(folders) > 1 or not names:
        raise UsageError(
            "Give the name of one rater: podium arena invite [DIR] NAME, with a name of several words in quotes."
        )
    return Path(*folders), names[0]


def _revoke(options: argparse.Namespace) -> int:
    from podium.arena.raters.invitations import revoke
    from podium.arena.store.database import Store

    with closing(Store(options.folder)) as store:
        name = revoke(store, options.name)
    say(f"The link of {name} is revoked; the votes are kept.")
    return 0
