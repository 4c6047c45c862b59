"""Commands that prepare a challenge: new, check, figures, manifest, leaderboard, bundle, keys, doctor, completion."""

import argparse
import json
import os
import platform
import re
import shutil
import tempfile
import tomllib
from collections.abc import Iterator, Mapping
from datetime import UTC, date, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from podium import __version__
from podium.cli.arguments import (
    BAKED_GROUND_TRUTH,
    Group,
    Verbs,
    add_group,
    add_verb,
    cell,
    chosen_challenge,
    chosen_executor,
    chosen_folder,
    console,
    end,
    ground_truth,
    say,
    subcommands,
    table,
)
from podium.errors import UsageError
from podium.readers.files import escape_for_display

if TYPE_CHECKING:
    from podium.checking import Checked, EngineComparison
    from podium.metrics.declaration import GivenFigure, Metric

GROUP: Group = "prepare"
GALLERY = BAKED_GROUND_TRUTH.with_name("gallery")
_TEMPLATE = Path(__file__).with_name("new_challenge.toml")
_TITLE = re.compile(r'^title = ".*"', re.MULTILINE)
_REFERENCE_KEYS = ("reference", "reference_table")
_PACKAGES = ("numpy", "h5py", "SimpleITK", "torch", "monai", "pydantic")
_GIB = 1024**3
_BASH = """_podium() {
  COMPREPLY=($("$1" completion bash "${COMP_WORDS[*]:0:$((COMP_CWORD + 1))}" 2>/dev/null))
}
complete -o default -F _podium podium"""
_FISH = """function __podium_words
  set -l line (commandline -opc) (commandline -ct)
  set -l found ($line[1] completion fish (string join -- ' ' $line) 2>/dev/null)
  test -n "$found"; and printf '%s\\n' $found; or __fish_complete_path $line[-1]
end
complete -c podium -f -a '(__podium_words)'"""
_ZSH = f"autoload -U compinit bashcompinit && compinit -i && bashcompinit\n{_BASH}"
_SCRIPTS = {"bash": _BASH, "zsh": _ZSH, "fish": _FISH}


def add_verbs(verbs: Verbs) -> None:
    add_new(verbs)
    add_check(verbs)
    add_figures(verbs)
    add_manifest(verbs)
    add_leaderboard(verbs)
    add_bundle(verbs)
    add_keys(verbs)
    add_verb(verbs, "doctor", _doctor, "show what an evaluation would have on this machine")
    add_completion(verbs)


def add_new(verbs: Verbs) -> None:
    parser = add_verb(verbs, "new", _new, "write a commented challenge folder to fill in")
    parser.add_value("name", "NAME", "the name of the challenge and of its folder")
    parser.add_value("--like", "GALLERY", "start from this entry of gallery/ [a template]")
    parser.add_value("--output", "DIR", "where to create the folder NAME [ground-truth]")


def _new(options: argparse.Namespace) -> int:
    from podium.challenges.format import CHALLENGE_FILE, REFERENCES, check_name

    root = options.output or (BAKED_GROUND_TRUTH if BAKED_GROUND_TRUTH.is_dir() else Path("ground-truth"))
    folder = root / options.name
    check_name(options.name, folder)
    if folder.exists():
        raise UsageError(f"{folder} already exists; nothing was changed. Choose another name.")
    template = _TEMPLATE.read_text(encoding="utf-8") if options.like is None else _entry(options.like)
    title = re.sub(r"[._-]+", " ", options.name).capitalize()
    text = _TITLE.sub(f'title = "{title}"', template, count=1)
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
    return end(f"Wrote {folder}; the four steps above remain to be done.")


def _entry(name: str) -> str:
    """The challenge.toml of a gallery entry, with a line that says where it comes from."""
    from podium.challenges.format import CHALLENGE_FILE

    known = {file.parent.name: file for file in sorted(GALLERY.glob(f"*/{CHALLENGE_FILE}"))}
    if not known:
        raise UsageError("There is no gallery here: it is part of the repository, beside ground-truth/.")
    if name not in known:
        raise UsageError(f"The gallery has no entry '{escape_for_display(name)}'; it has: {', '.join(known)}.")
    origin = f"# A copy of gallery/{name}, where all cases are public: decide what per_case may show of yours.\n"
    return origin + known[name].read_text(encoding="utf-8")


def _reference_names(text: str) -> list[str]:
    """What the references of all values are called."""
    tables = tomllib.loads(text)["values"]
    values = [tables, *(value for value in tables.values() if isinstance(value, dict))]
    given = [value[key] for value in values for key in _REFERENCE_KEYS if key in value]
    names = [name for each in given for name in ([each] if isinstance(each, str) else each)]
    return list(dict.fromkeys(name.replace("{case}", "<case>") for name in names))


# `podium check`: an organiser's check before a build.


def add_check(verbs: Verbs) -> None:
    parser = add_verb(verbs, "check", _check, "check a challenge's settings and references before a build")
    parser.add_value(
        "folder",
        "FOLDER",
        "a challenge folder, or a folder of challenge folders [ground-truth]",
        nargs="?",
        default=BAKED_GROUND_TRUTH,
    )
    parser.add_value("--images", "DIR", "images to compare the references with: size and geometry")
    parser.add_flag("--engines", "also run both engines on damaged copies of references and compare them")
    parser.add_workers()
    parser.add_case_timeout()


def _check(options: argparse.Namespace) -> int:
    from podium.challenges.format import challenge_paths
    from podium.checking import check, compare_engines

    if options.images is not None and not options.images.is_dir():
        raise UsageError(f"There is no folder {options.images}.")
    executor = chosen_executor(options)
    results = []
    for name, path in challenge_paths(options.folder).items():
        results.append(check(name, path, images=options.images, executor=executor))
        _print(results[-1])
        if options.engines and not results[-1].errors:
            _print_engines(compare_engines(name, path, executor=executor))
    errors = sum(len(each.errors) for each in results)
    warnings = sum(len(each.warnings) for each in results)
    found = f"{_count(errors, 'error')} and {_count(warnings, 'warning')}"
    if errors:
        return end(f"Found {found}; fix the errors before you build.", 2)
    return end(f"Found {found}." if warnings else "Nothing is wrong.")


def _print(checked: "Checked") -> None:
    """Print one line per finding, so that the output can be searched."""
    print(checked.name)
    for kind, lines in (("error: ", checked.errors), ("warning: ", checked.warnings), ("", checked.statistics)):
        for line in lines:
            print(f"  {kind}{line}", flush=True)


def _print_engines(found: "Mapping[str, EngineComparison]") -> None:
    """Print a table of what both engines give, and what they take."""
    if not found:
        print("  engines: no figure of this challenge is computed by an engine")
        return
    made = table("", "Metric", "Largest difference", "monai, CPU s", "native, CPU s", "Ratio", texts=["Metric"])
    for metric, each in found.items():
        times = [] if each.ratio is None else [each.seconds["monai"], each.seconds["native"]]
        ratio = "" if each.ratio is None else f"{each.ratio:.1f}"
        made.add_row(metric, f"{each.difference:.1e}", *(f"{seconds:.3f}" for seconds in times), ratio)
    console().print(made)


def _count(number: int, thing: str) -> str:
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"


# `podium figures`: the names that challenge.toml and commands may use.


def add_figures(verbs: Verbs) -> None:
    parser = add_verb(verbs, "figures", _figures, "list the figures of a challenge and where each may be used")
    parser.add_value("challenge", "NAME", "the challenge [the only one]", nargs="?")
    parser.add_ground_truth()


def _figures(options: argparse.Namespace) -> int:
    from podium.challenges import load_challenge

    board = load_challenge(chosen_folder(options)).scoreboard
    of_cases = {metric.name: metric for metric in board.metrics}
    offline = {metric.name: metric for metric in board.offline_metrics} | {each.path: each for each in board.offline}
    tables: dict[str, Mapping[str, Metric | GivenFigure]] = {
        "Figures of all cases, for [figures], [leaderboard] and [ranking] (by and tie_break):": board.named,
        "Figures of single cases, for [case_figures], positions_by_case and podium rank --metric:": of_cases,
        "Figures that offline tools add, for podium rank alone:": offline,
    }
    output, head = console(), ("name", "title", "better", "range", "unit")
    for heading, figures in tables.items():
        if figures:
            rows = [
                (name, each.title, each.direction, f"{each.lowest:g} to {each.highest:g}", each.unit)
                for name, each in figures.items()
            ]
            output.print("", cell(heading), table("", *head, texts=head, rows=rows), sep="\n", soft_wrap=True)
    print("\nA name that ends in .mean may be written without it.")
    if board.group_of is not None:
        print("With groups of cases, groups.<group>.<name> is the figure of one group, <name>.group_mean their mean.")
    return 0


# `podium manifest`: the public case list.


def add_manifest(verbs: Verbs) -> None:
    parser = add_verb(verbs, "manifest", _manifest, "write the public case list for 'podium validate'")
    parser.add_value("--output", "FILE", "the file to write", default=Path("cases.json"))
    parser.add_ground_truth()
    parser.add_challenge()
    parser.add_workers()
    parser.add_case_timeout()


def _manifest(options: argparse.Namespace) -> int:
    from podium.challenges import load_challenge
    from podium.evaluation import prepare
    from podium.validation import make_manifest, write_manifest

    folder = chosen_folder(options)
    task = prepare(folder, load_challenge(folder), chosen_executor(options))
    write_manifest(make_manifest(task), options.output)
    return end(f"Wrote {len(task.cases)} cases to {options.output}; it holds no reference value and may be published.")


# `podium leaderboard`: the settings of a phase's leaderboard.


def add_leaderboard(verbs: Verbs) -> None:
    parser = add_verb(verbs, "leaderboard", _leaderboard, "print the phase settings to paste into Grand Challenge")
    parser.add_value("challenge", "CHALLENGE", "one challenge [all]", nargs="?")
    parser.add_ground_truth()


def _leaderboard(options: argparse.Namespace) -> int:
    from podium.challenges import load_challenge, phase_columns
    from podium.challenges.format import read_challenge_folders
    from podium.platform.privacy import phase_settings

    name = chosen_challenge(options)
    chosen = [chosen_folder(options)] if name else list(read_challenge_folders(ground_truth(options)).values())
    settings = {folder.name: phase_settings(phase_columns(folder)) for folder in chosen}
    for folder in chosen:
        if differs := load_challenge(folder).ranking.not_live:
            say(
                f"{folder.name}: the live leaderboard does not show the official order, because {differs}. "
                "Only 'podium rank' gives it."
            )
    print(json.dumps(settings[name] if name else settings, indent=2))
    return 0


# `podium bundle`: competitions for other platforms.


def add_bundle(verbs: Verbs) -> None:
    platforms = add_group(verbs, "bundle", "write the files of a competition for another platform")
    parser = add_verb(platforms, "codabench", _codabench, "write a competition bundle for Codabench")
    parser.add_value("challenge", "NAME", "the challenge")
    parser.add_value("--output", "PATH", "an archive, if it ends with .zip, or a folder [NAME-codabench.zip]")
    parser.add_value(
        "--image", "IMAGE", f"the image, as Codabench's worker can pull it [podium-codabench-NAME:{__version__}]"
    )
    parser.add_value("--start", "DATE", "the first day of the phase, as 2026-12-31 [today]", type=date.fromisoformat)
    parser.add_ground_truth()


def _codabench(options: argparse.Namespace) -> int:
    from podium.tools.platforms.bundle import BundlePlan, write_bundle

    name = options.challenge
    plan = BundlePlan(
        image=options.image or f"podium-codabench-{name}:{__version__}",
        start=options.start or datetime.now(UTC).date(),
    )
    output = options.output or Path(f"{name}-codabench.zip")
    files = write_bundle(chosen_folder(options), plan, output)
    return end(f"Wrote {files} files to {output}; it holds the references, so it must not be published.")


# `podium keys`: the organiser's key for sealed rows.


def add_keys(verbs: Verbs) -> None:
    tools = add_group(verbs, "keys", "make the organiser's key for sealed rows")
    new = add_verb(tools, "new", _new_key, "make a key pair for sealed rows; print the public key")
    new.add_value("file", "FILE", "where to write the secret key; keep it and back it up")


def _new_key(options: argparse.Namespace) -> int:
    from podium.platform.sealing import new_key

    public_key = new_key(options.file)
    print(f'[sealed]\npublic_key = "{public_key}"')
    return end(f"Wrote the secret key to {options.file}; the lines above go into challenge.toml.")


# `podium doctor`: what this machine offers to an evaluation.


def _doctor(_: argparse.Namespace) -> int:
    for what, found in _findings():
        print(f"{what + ':':<18} {found}")
    return 0


def _findings() -> Iterator[tuple[str, str]]:
    from importlib.metadata import PackageNotFoundError, version

    from podium.execution.executor import available_workers
    from podium.sandbox.lock import LAYERS, has_seccomp, landlock_abi

    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    abi = landlock_abi()
    yield "podium", __version__
    yield "python", platform.python_version()
    yield "system", f"{platform.system()} {platform.release()} on {platform.machine()}"
    yield "cores", f"{cores} ({available_workers()} workers by default)"
    yield "memory", f"{memory / _GIB:.1f} GiB"
    yield "temporary files", f"{shutil.disk_usage(tempfile.gettempdir()).free / _GIB:.1f} GiB free"
    yield "Landlock", f"ABI {abi}" if abi else "not available"
    yield "seccomp", "available" if has_seccomp() else "not available"
    in_force = _layers_in_force()
    complete = "" if len(in_force) == len(LAYERS) else " (--isolation full would refuse to run)"
    yield "isolation", (", ".join(in_force) or "none") + complete
    for package in _PACKAGES:
        try:
            yield package, version(package)
        except PackageNotFoundError:
            yield package, "not installed"


def _layers_in_force() -> list[str]:
    """Start a decoder, which reports the layers that are really in force."""
    from podium.kernel import Limits, is_linux
    from podium.sandbox.decoders import started

    if not is_linux():
        return []
    with started(Limits()) as found:
        return list(found.layers)


# `podium completion`: commands and options at the TAB key. The scripts ask Podium, so they never are out of date.


def add_completion(verbs: Verbs) -> None:
    parser = add_verb(verbs, "completion", _completion, "print the script that completes commands in your shell")
    parser.add_value("shell", tuple(_SCRIPTS), "your shell; docs/organisers.md has the line for its start-up file")
    parser.add_argument("line", nargs="?", help=argparse.SUPPRESS)  # what is typed so far


def _completion(options: argparse.Namespace) -> int:
    from podium.cli.main import make_parser

    print(_SCRIPTS[options.shell] if options.line is None else "\n".join(_words(make_parser()[0], options.line)))
    return 0


def _words(parser: argparse.ArgumentParser, line: str) -> list[str]:
    """What the last word of a line may become; nothing where that is a path or a number."""
    _, *before, last = line.split(" ")
    every, command, second = subcommands(parser), "", list[str]()
    assert every is not None
    for word in before:
        name = f"{command} {word}".strip()
        inner = subcommands(parser)
        if (found := (inner and inner.choices.get(word)) or every.choices.get(name)) is not None:
            parser, command = found, name
            second = [verb.partition(" ")[2] for verb in every.choices if verb.startswith(f"{name} ")]
    known = parser._option_string_actions
    option = known.get(before[-1]) if before else None
    if option is not None and option.nargs != 0:
        words = list(option.choices or ())
    elif last.startswith("-"):
        words = [each for each in known if each.startswith("--")]
    else:
        words = [each for action in parser._actions if not action.option_strings for each in action.choices or ()]
        words += second
    return [word for word in words if word.startswith(last) and " " not in word]
