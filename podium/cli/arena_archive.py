"""`podium arena export` and `podium arena import`."""

import argparse
from contextlib import closing
from pathlib import Path

from podium.cli.arena_words import add_known_folder, say
from podium.cli.arguments import Verbs, add_verb
from podium.errors import UsageError


def add_archive(verbs: Verbs) -> None:
    export = add_verb(verbs, "export", _export, "write every vote as a CSV file, or the whole arena as JSON lines")
    add_known_folder(export)
    export.add_argument(
        "--output", type=Path, default=Path("votes.csv"), metavar="FILE", help=".csv or .jsonl [%(default)s]"
    )
    export.add_argument("--without-pictures", action="store_true", help="leave the files of the pictures out of .jsonl")
    restore = add_verb(verbs, "import", _import, "restore an arena exactly from what 'export' wrote as JSON lines")
    restore.add_argument("file", type=Path, metavar="FILE", help="the .jsonl file")
    restore.add_argument("folder", type=Path, metavar="DIR", help="the folder to create")


def _export(options: argparse.Namespace) -> int:
    from podium.arena.store.archive import archive_lines
    from podium.arena.store.database import Store
    from podium.arena.store.export import votes_csv
    from podium.arena.store.records import votes
    from podium.arena.store.whole_file import write_whole

    with closing(Store(options.folder)) as store:
        cast = votes(store)
    if options.output.suffix == ".jsonl":
        lines = archive_lines(options.folder, with_pictures=not options.without_pictures)
        write_whole(options.output, lines, private=True)
        say(f"Wrote the whole arena with {len(cast)} votes to {options.output}.")
    else:
        write_whole(options.output, votes_csv(cast))
        say(f"Wrote {len(cast)} votes, including undone votes, practice and repeats, to {options.output}.")
    return 0


def _import(options: argparse.Namespace) -> int:
    from podium.arena.desk import Desk
    from podium.arena.store.archive import restore

    try:
        with options.file.open(encoding="utf-8") as lines:
            restore(options.folder, lines, name=str(options.file))
    except OSError as error:
        raise UsageError(f"{options.file} cannot be read: {error.strerror}.") from None
    with closing(Desk(options.folder)) as desk:
        missing = len(desk.missing_pictures())
        say(f"Restored {options.folder} with {len(desk.ballots())} standing votes and all links.")
        if missing:
            say(f"{missing} files of its pictures are missing: copy the folder 'pictures' of the old arena into it.")
    return 0
