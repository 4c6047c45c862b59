"""`podium new`: a challenge folder to fill in, from a commented template or from an entry of the gallery."""

import argparse
import re
import tomllib
from pathlib import Path

from podium.cli.arguments import BAKED_GROUND_TRUTH, Verbs, add_verb, end

GALLERY = BAKED_GROUND_TRUTH.with_name("gallery")
_TEMPLATE = Path(__file__).with_name("new_challenge.toml")
_TITLE = re.compile(r'^title = ".*"', re.MULTILINE)
_REFERENCE_KEYS = ("reference", "reference_table")


def add_verbs(verbs: Verbs) -> None:
    parser = add_verb(verbs, "new", _new, "write a commented challenge folder to fill in")
    parser.add_argument("name", metavar="NAME", help="the challenge's name, which is its folder's")
    parser.add_argument("--like", metavar="GALLERY", help="start from this entry of gallery/ [a template]")
    parser.add_argument("--output", type=Path, metavar="DIR", help="where the folder NAME is made [ground-truth]")


def _new(options: argparse.Namespace) -> int:
    from podium.challenges.format import CHALLENGE_FILE, REFERENCES, check_name
    from podium.errors import UsageError

    root = options.output or (BAKED_GROUND_TRUTH if BAKED_GROUND_TRUTH.is_dir() else Path("ground-truth"))
    folder = root / options.name
    check_name(options.name, folder)
    if folder.exists():
        raise UsageError(f"{folder} exists already; nothing is changed. Choose another name.")
    text = _titled(_template() if options.like is None else _entry(options.like), options.name)
    names = " and ".join(_reference_names(text))
    try:
        (folder / REFERENCES).mkdir(parents=True)
        (folder / CHALLENGE_FILE).write_text(text, encoding="utf-8")
        note = f"The references of all cases belong here: {names}. This file is ignored.\n"
        (folder / REFERENCES / "README.md").write_text(note, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{folder} cannot be written: {error.strerror}.") from None
    build = f"./build.sh {options.name}"
    if root.resolve() != BAKED_GROUND_TRUTH:
        build = f"Move the folder into ground-truth/ of the repository, then {build}"
    print(f"1. Fill in {folder / CHALLENGE_FILE}: its comments say what every table is for.")
    print(f"2. Put the references into {folder / REFERENCES}: {names}.")
    print(f"3. podium check {folder}")
    print(f"4. {build}")
    return end(f"Wrote {folder}; the four steps above are what is left to do.")


def _template() -> str:
    return _TEMPLATE.read_text(encoding="utf-8")


def _entry(name: str) -> str:
    """The challenge.toml of a gallery entry, with a line that says where it comes from."""
    from podium.challenges.format import CHALLENGE_FILE
    from podium.errors import UsageError
    from podium.readers.files import escape_for_display

    known = {file.parent.name: file for file in sorted(GALLERY.glob(f"*/{CHALLENGE_FILE}"))}
    if not known:
        raise UsageError("There is no gallery here: it is part of the repository, beside ground-truth/.")
    if name not in known:
        raise UsageError(f"The gallery has no entry '{escape_for_display(name)}'; it has: {', '.join(known)}.")
    origin = f"# A copy of gallery/{name}, where all cases are public: decide what per_case may show of yours.\n"
    return origin + known[name].read_text(encoding="utf-8")


def _titled(text: str, name: str) -> str:
    title = re.sub(r"[._-]+", " ", name).capitalize()
    return _TITLE.sub(f'title = "{title}"', text, count=1)


def _reference_names(text: str) -> list[str]:
    """What the references of all values are called."""
    values = tomllib.loads(text)["values"].values()
    given = [value[key] for value in values for key in _REFERENCE_KEYS if key in value]
    names = [name for each in given for name in ([each] if isinstance(each, str) else each)]
    return list(dict.fromkeys(name.replace("{case}", "<case>") for name in names))
