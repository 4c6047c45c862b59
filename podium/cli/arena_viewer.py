"""`podium arena viewer`: fetches NiiVue, once per machine."""

import argparse

from podium.cli.arena_words import say
from podium.cli.arguments import Verbs, add_verb


def add_viewer(verbs: Verbs) -> None:
    add_verb(verbs, "viewer", _viewer, "fetch NiiVue, which draws volumes and meshes in the raters' browsers")


def _viewer(_options: argparse.Namespace) -> int:
    from podium.arena.web.viewer_library import install_viewer, lock

    fetched = install_viewer()
    name = f"{lock()['package']} {lock()['version']}"
    say(f"Fetched {name}." if fetched else f"{name} is there already.")
    return 0
