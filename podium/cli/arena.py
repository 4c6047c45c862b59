"""`podium arena`: blinded comparisons of reports by clinicians, from the ranking to the final order."""

import argparse
import re
from contextlib import closing
from pathlib import Path

from podium.cli.arena_archive import add_archive
from podium.cli.arena_people import add_people
from podium.cli.arena_simulate import add_simulate
from podium.cli.arena_viewer import add_viewer
from podium.cli.arena_words import add_known_folder, say
from podium.cli.arguments import Verbs, add_group, add_verb, count, positive_int
from podium.errors import UsageError, require

_RATINGS = ("elo-averaged", "elo", "bradley-terry")


def add_verbs(verbs: Verbs) -> None:
    arena = add_group(verbs, "arena", "let clinicians compare anonymous reports, and rate the teams by their votes")
    _add_init(arena)
    add_people(arena)
    _add_serve(arena)
    add_known_folder(add_verb(arena, "status", _status, "show ratings, raters and what the stop rule still requires"))
    add_known_folder(add_verb(arena, "close", _close, "end the voting for good"))
    _add_result(arena)
    add_archive(arena)
    add_viewer(arena)
    add_simulate(arena)


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
        "--cases",
        type=Path,
        required=True,
        metavar="DIR",
        help="<case>.png, .jpg, .tif, .mha, .nii.gz, .stl, .ply, .obj, or <case>/",
    )
    parser.add_argument(
        "--top", type=positive_int, metavar="N", help="teams of this rank or better [the ranking's finalists, else 7]"
    )
    parser.add_argument("--seed", type=count, default=0, metavar="N", help="random seed for the pairing [%(default)s]")
    parser.add_argument(
        "--url", default="http://localhost:8000", metavar="URL", help="where raters reach the server [%(default)s]"
    )
    parser.add_argument(
        "--instructions", type=Path, metavar="FILE", help="your own text for the raters, shown before the first matchup"
    )


def _add_serve(verbs: Verbs) -> None:
    parser = add_verb(verbs, "serve", _serve, "serve the arena until it is stopped")
    add_known_folder(parser)
    parser.add_argument("--host", default="127.0.0.1", metavar="ADDRESS", help="address to listen on [%(default)s]")
    parser.add_argument("--port", type=_port, default=8000, metavar="N", help="port to listen on [%(default)s]")
    parser.add_argument("--certificate", type=Path, metavar="FILE", help="certificate for HTTPS, with --key")
    parser.add_argument("--key", type=Path, metavar="FILE", help="the certificate's private key")


def _add_result(verbs: Verbs) -> None:
    parser = add_verb(verbs, "result", _result, "write the ratings for 'podium rank --arena'")
    add_known_folder(parser)
    parser.add_argument("--output", type=Path, default=Path("arena.json"), metavar="FILE", help="[%(default)s]")
    parser.add_argument(
        "--by", choices=_RATINGS, default="elo-averaged", help="which rating decides the order [%(default)s]"
    )
    parser.add_argument("--provisional", action="store_true", help="while votes can still be cast")


def _init(options: argparse.Namespace) -> int:
    require("PIL", extra="arena")
    from podium.arena.settings import ArenaSettings
    from podium.arena.setup.new_arena import Sources, init

    if not re.fullmatch(r"https?://[^/?#\s]+(/[\w.~-]+)*/?", options.url, re.ASCII):
        raise UsageError("--url must be like https://arena.example.org or https://example.org/arena.")
    instructions = _read_text(options.instructions) if options.instructions else ""
    sources = Sources(ranking=options.ranking, submissions=options.submissions, cases=options.cases, top=options.top)
    made = init(options.folder, sources, ArenaSettings(seed=options.seed, url=options.url, instructions=instructions))
    for note in made.notes:
        say(f"Note: {note}")
    teams = f"{len(made.methods)} teams: {', '.join(made.methods)}"
    say(f"Created {options.folder} with {len(made.cases)} cases and {teams}.")
    say("The organiser's link, shown only once:")
    print(made.organiser.link, flush=True)
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


def _close(options: argparse.Namespace) -> int:
    from podium.arena.store.closing import close_arena
    from podium.arena.store.database import Store

    with closing(Store(options.folder)) as store:
        close_arena(store)
    say("The arena is closed: no further vote counts. 'podium arena result' writes the final ratings.")
    return 0


def _result(options: argparse.Namespace) -> int:
    from podium.arena.desk import Desk
    from podium.arena.ratings.result import arena_result, result_to_json
    from podium.arena.store.whole_file import write_whole

    with closing(Desk(options.folder)) as desk:
        closed = desk.is_closed()
        if not closed and not options.provisional:
            raise UsageError(
                "The arena is still open: close it first with 'podium arena close', or ask for --provisional ratings."
            )
        found = arena_result(
            desk.ballots(), desk.methods, desk.settings, notes=desk.notes, by=options.by, closed=closed
        )
    write_whole(options.output, result_to_json(found))
    for sentence in (*found.disagreements, *found.notes):
        say(sentence)
    say(f"Wrote the ratings of {len(found.ratings)} teams after {found.votes} votes to {options.output}.")
    return 0


def _read_text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}.") from None
    except UnicodeDecodeError:
        raise UsageError(f"{path} is not UTF-8 text.") from None


def _port(text: str) -> int:
    port = int(text)
    if not 0 <= port <= 65535:
        raise argparse.ArgumentTypeError(f"{text} is not a port")
    return port
