"""`podium check`: an organiser's own check before a build."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from podium.cli.arguments import (
    BAKED_GROUND_TRUTH,
    Verbs,
    add_case_timeout,
    add_verb,
    add_workers,
    chosen_executor,
    end,
)

if TYPE_CHECKING:
    from podium.checking import Checked


def add_verbs(verbs: Verbs) -> None:
    parser = add_verb(verbs, "check", _check, "check settings and references of a challenge before a build")
    parser.add_argument(
        "folder",
        type=Path,
        nargs="?",
        default=BAKED_GROUND_TRUTH,
        metavar="FOLDER",
        help="a challenge folder, or a folder of challenge folders [ground-truth]",
    )
    parser.add_argument("--images", type=Path, metavar="DIR", help="images to compare the references' sizes with")
    add_workers(parser)
    add_case_timeout(parser)


def _check(options: argparse.Namespace) -> int:
    from podium.challenges.format import challenge_paths
    from podium.checking import check
    from podium.errors import UsageError

    if options.images is not None and not options.images.is_dir():
        raise UsageError(f"There is no folder {options.images}.")
    executor = chosen_executor(options)
    results = []
    for name, path in challenge_paths(options.folder).items():
        results.append(check(name, path, images=options.images, executor=executor))
        _print(results[-1])
    errors = sum(len(each.errors) for each in results)
    warnings = sum(len(each.warnings) for each in results)
    found = f"{_count(errors, 'error')} and {_count(warnings, 'warning')}"
    if errors:
        return end(f"Found {found}; fix the errors before you build.", 2)
    return end(f"Found {found}." if warnings else "Nothing is wrong.")


def _print(checked: "Checked") -> None:
    """One line for everything found, which can be searched."""
    print(checked.name)
    for kind, lines in (("error: ", checked.errors), ("warning: ", checked.warnings), ("", checked.statistics)):
        for line in lines:
            print(f"  {kind}{line}", flush=True)


def _count(number: int, thing: str) -> str:
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"
