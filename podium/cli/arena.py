"""`podium arena`: blinded comparisons of reports by clinicians, from the ranking to the final order."""

import argparse
import re
import sys
from contextlib import closing
from pathlib import Path

from podium.cli.arena_simulate import add_simulate
from podium.cli.arguments import Verbs, add_group, add_verb, count, positive_int
from podium.errors import UsageError
from podium.extras import require
from podium.readers.names import escape_for_display

_LONGEST_SENTENCE = 1000
_RATINGS = ("elo-averaged", "elo", "bradley-terry")


def add_verbs(verbs: Verbs) -> None:
    arena = add_group(verbs, "arena", "let clinicians compare anonymous reports, and rate the teams by their votes")
    _add_init(arena)
    _add_invite(arena)
    revoke = add_verb(arena, "revoke", _revoke, "revoke a rater's link; the votes are kept")
    _add_known_folder(revoke)
    revoke.add_argument("name", metavar="NAME", help="the name used in the invitation")
    _add_serve(arena)
    _add_known_folder(add_verb(arena, "status", _status, "show ratings, raters and what the stop rule still requires"))
    export = add_verb(arena, "export", _export, "write every vote as a CSV file")
    _add_known_folder(export)
    export.add_argument("--output", type=Path, default=Path("votes.csv"), metavar="FILE", help="[%(default)s]")
    _add_result(arena)
    add_simulate(arena)


def _add_known_folder(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "folder", type=Path, nargs="?", default=Path(), metavar="DIR", help="the arena's folder [the working folder]"
    )


def _add_init(verbs: Verbs) -> None:
    parser = add_verb(verbs, "init", _init, "create an arena from the finalists' reports and the case images")
    parser.add_argument("folder", type=Path, metavar="DIR", help="the folder to create")
    parser.add_argument(
        "--ranking", type=Path, required=True, metavar="FILE", help="the ranking.json that 'podium rank' wrote"
    )
    parser.add_argument(
        "--submissions", type=Path, required=True, metavar="DIR", help="the submission of every team, as DIR/<team>"
    )
    parser.add_argument(
        "--cases", type=Path, required=True, metavar="DIR", help="<case>.png, .jpg, .tif, .mha or .nii.gz, or <case>/"
    )
    parser.add_argument(
        "--top", type=positive_int, metavar="N", help="teams of this rank or better [the ranking's finalists, else 7]"
    )
    parser.add_argument("--seed", type=count, default=0, metavar="N", help="random seed for the pairing [%(default)s]")
    parser.add_argument(
        "--url", default="http://localhost:8000", metavar="URL", help="where raters reach the server [%(default)s]"
    )


def _add_invite(verbs: Verbs) -> None:
    parser = add_verb(verbs, "invite", _invite, "print a personal link, which is shown only once")
    parser.usage = (
        "podium arena invite [-h] [--matchups N] [DIR] NAME\n       podium arena invite [-h] --organiser [DIR]"
    )
    parser.add_argument(
        "words",
        nargs="*",
        metavar="[DIR] NAME",
        help="the arena's folder [the working folder], and the rater; one who is known gets a new link",
    )
    parser.add_argument("--organiser", action="store_true", help="a new link for the organiser instead")
    parser.add_argument(
        "--matchups", type=positive_int, metavar="N", help="number of matchups for the rater [from arena.toml]"
    )


def _add_serve(verbs: Verbs) -> None:
    parser = add_verb(verbs, "serve", _serve, "serve the arena until it is stopped")
    _add_known_folder(parser)
    parser.add_argument("--host", default="127.0.0.1", metavar="ADDRESS", help="address to listen on [%(default)s]")
    parser.add_argument("--port", type=_port, default=8000, metavar="N", help="port to listen on [%(default)s]")
    parser.add_argument("--certificate", type=Path, metavar="FILE", help="certificate for HTTPS, with --key")
    parser.add_argument("--key", type=Path, metavar="FILE", help="the certificate's private key")


def _add_result(verbs: Verbs) -> None:
    parser = add_verb(verbs, "result", _result, "write the ratings for 'podium rank --arena'")
    _add_known_folder(parser)
    parser.add_argument("--output", type=Path, default=Path("arena.json"), metavar="FILE", help="[%(default)s]")
    parser.add_argument(
        "--by", choices=_RATINGS, default="elo-averaged", help="which rating decides the order [%(default)s]"
    )


def _init(options: argparse.Namespace) -> int:
    require("PIL", extra="arena")
    from podium.arena.settings import ArenaSettings
    from podium.arena.setup.new_arena import Sources, init

    if not re.fullmatch(r"https?://[^/?#\s]+/?", options.url):
        raise UsageError("--url must be like https://arena.example.org: http or https, a host, and no path.")
    sources = Sources(ranking=options.ranking, submissions=options.submissions, cases=options.cases, top=options.top)
    made = init(options.folder, sources, ArenaSettings(seed=options.seed, url=options.url))
    for note in made.notes:
        _say(f"Note: {note}")
    teams = f"{len(made.methods)} teams: {', '.join(made.methods)}"
    _say(f"Created {options.folder} with {len(made.cases)} cases and {teams}.")
    _say("The organiser's link, shown only once:")
    print(made.organiser.link, flush=True)
    return 0


def _invite(options: argparse.Namespace) -> int:
    from podium.arena.raters.invitations import invite, invite_organiser
    from podium.arena.settings import read_settings
    from podium.arena.store.database import Store

    folder, name = _folder_and_name(options)
    with closing(Store(folder)) as store:
        settings = read_settings(folder)
        if options.organiser:
            made = invite_organiser(store, settings)
            _say("The organiser's link, shown only once; any older link is revoked:")
        else:
            made = invite(store, settings, name, matchups=options.matchups)
            for remark in made.remarks:
                _say(remark)
            _say(f"The link of {made.name} to {made.total} matchups, shown only once:")
    print(made.link, flush=True)
    return 0


def _folder_and_name(options: argparse.Namespace) -> tuple[Path, str]:
    """Whom to invite, and where: the folder may be left out inside it, and the organiser has no name."""
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
    _say(f"The link of {name} is revoked; the votes are kept.")
    return 0


def _serve(options: argparse.Namespace) -> int:
    require("starlette", "uvicorn", extra="arena")
    from podium.arena.web.serve import serve

    serve(options.folder, host=options.host, port=options.port, certificate=options.certificate, key=options.key)
    return 0


def _status(options: argparse.Namespace) -> int:
    from rich.console import Console

    from podium.arena.desk import Desk
    from podium.arena.status import print_status

    with closing(Desk(options.folder)) as desk:
        print_status(desk, Console())
    return 0


def _export(options: argparse.Namespace) -> int:
    from podium.arena.store.database import Store
    from podium.arena.store.export import votes_csv
    from podium.arena.store.records import votes
    from podium.arena.store.whole_file import write_whole

    with closing(Store(options.folder)) as store:
        cast = votes(store)
    write_whole(options.output, votes_csv(cast))
    _say(f"Wrote {len(cast)} votes, including undone votes and repeats, to {options.output}.")
    return 0


def _result(options: argparse.Namespace) -> int:
    from podium.arena.desk import Desk
    from podium.arena.ratings.result import arena_result, result_to_json
    from podium.arena.store.whole_file import write_whole

    with closing(Desk(options.folder)) as desk:
        found = arena_result(desk.ballots(), desk.methods, desk.settings, notes=desk.notes, by=options.by)
    write_whole(options.output, result_to_json(found))
    for sentence in (*found.disagreements, *found.notes):
        _say(sentence)
    _say(f"Wrote the ratings of {len(found.ratings)} teams after {found.votes} votes to {options.output}.")
    return 0


def _say(sentence: str) -> None:
    """Names of teams and cases come from others' files, so a line is kept to what can be printed."""
    print(escape_for_display(" ".join(sentence.split()), longest=_LONGEST_SENTENCE), file=sys.stderr, flush=True)


def _port(text: str) -> int:
    port = int(text)
    if not 0 <= port <= 65535:
        raise argparse.ArgumentTypeError(f"{text} is not a port")
    return port
