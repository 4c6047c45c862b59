"""`podium keys`: the organiser's key for sealed rows."""

import argparse
from pathlib import Path

from podium.cli.arguments import Verbs, add_group, add_verb, end


def add_verbs(verbs: Verbs) -> None:
    tools = add_group(verbs, "keys", "the organiser's key for sealed rows: new")
    new = add_verb(tools, "new", _new, "make a key pair: write the secret key, print the public key")
    new.add_argument("file", type=Path, metavar="FILE", help="where to write the secret key; keep it and back it up")


def _new(options: argparse.Namespace) -> int:
    from podium.platform.sealing import new_key

    public_key = new_key(options.file)
    print(f'[sealed]\npublic_key = "{public_key}"')
    return end(f"Wrote the secret key to {options.file}; the lines above go into challenge.toml.")
