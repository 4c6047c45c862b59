"""Commands that prepare a challenge: new, check, figures, manifest, leaderboard, bundle, keys, doctor, completion."""

import json
import os
import platform
import re
import shutil
import sys
import tempfile
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal

from podium import __version__
from podium.cli.arguments import (
    BAKED_GROUND_TRUTH,
    CHALLENGE_VARIABLE,
    CaseOptions,
    ChallengeOptions,
    NoOptions,
    argument,
    flag,
    option,
)
from podium.cli.output import cell, coloured, console, end, say, table
from podium.errors import UsageError
from podium.readers.files import escape_for_display

if TYPE_CHECKING:
    from podium.checking import Checked, EngineComparison
    from podium.metrics.declaration import GivenFigure, Metric

GALLERY = BAKED_GROUND_TRUTH.with_name("gallery")
_TEMPLATE = Path(__file__).with_name("new_challenge.toml")
_TITLE = re.compile(r'^title = ".*"', re.MULTILINE)
_REFERENCE_KEYS = ("reference", "reference_table")
_PACKAGES = ("numpy", "h5py", "SimpleITK", "torch", "monai", "pydantic")
_GIB = 1024**3


@dataclass(kw_only=True)
class NewOptions:
    example: ClassVar = "liver --like panther"

    name: str = argument("NAME", "the name of the challenge and of its folder")
    like: str | None = option("GALLERY", "start from this entry of gallery/ [a template]")
    from_kit: Path | None = option("KIT", "start from the platform's starter kit, a folder or a .zip")
    phase: str | None = option("SLUG", "the phase, where the kit has several")
    output: Path | None = option(
        "DIR",
        "where to create the folder NAME [the working folder's ground-truth, if there is one, else the working folder]",
    )


def new(options: NewOptions) -> int:
    from podium.challenges.ground_truth import CHALLENGE_FILE, REFERENCES, check_name

    if options.from_kit is not None and options.like is not None:
        raise UsageError("Start from a gallery entry or from a starter kit, not from both.")
    if options.from_kit is None and options.phase is not None:
        raise UsageError("--phase chooses a phase of a starter kit: give the kit with --from-kit.")
    root = options.output or (usual if (usual := Path("ground-truth")).is_dir() else Path())
    folder = root / options.name
    check_name(options.name, folder)
    if folder.exists():
        raise UsageError(f"{folder} already exists; nothing was changed. Choose another name.")
    template = _TEMPLATE.read_text(encoding="utf-8") if options.like is None else _entry(options.like)
    if options.from_kit is not None:
        from podium.tools.preparation.starter_kit import kit_challenge, read_kit

        template, unread = kit_challenge(read_kit(options.from_kit, options.phase), template)
        for socket in unread:
            say(f"No kind of value reads the output {socket.words}: it is left out.")
    title = re.sub(r"[._-]+", " ", options.name).capitalize()
    text = _TITLE.sub(f'title = "{title}"', template, count=1)
    names = " and ".join(_reference_names(text))
    try:
        (folder / REFERENCES).mkdir(parents=True)
        (folder / CHALLENGE_FILE).write_text(text, encoding="utf-8")
        beside = [] if options.like is None else _copied_beside(GALLERY / options.like, folder)
        note = f"The references of all cases belong here: {names}. This file is ignored.\n"
        (folder / REFERENCES / "README.md").write_text(note, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{folder} cannot be written: {error.strerror}.") from None
    build = f"./build.sh {options.name}"
    if root.resolve() != BAKED_GROUND_TRUTH:
        build = f"Move the folder into ground-truth/ of the repository, then {build}"
    print(f"1. Fill in {' and '.join([str(folder / CHALLENGE_FILE), *beside])}: comments say what every table is for.")
    print(f"2. Put the references into {folder / REFERENCES}{names and f': {names}'}.")
    print(f"3. podium check {folder}")
    print(f"4. {build}")
    return end(f"Wrote {folder}; the four steps above remain to be done.")


def _entry(name: str) -> str:
    """The challenge.toml of a gallery entry, with a line that says where it comes from."""
    from podium.challenges.ground_truth import CHALLENGE_FILE

    known = {file.parent.name: file for file in sorted(GALLERY.glob(f"*/{CHALLENGE_FILE}"))}
    if not known:
        raise UsageError("There is no gallery here: it is part of the repository, beside ground-truth/.")
    if name not in known:
        raise UsageError(f"The gallery has no entry '{escape_for_display(name)}'; it has: {', '.join(known)}.")
    origin = f"# A copy of gallery/{name}, where all cases are public: decide what per_case may show of yours.\n"
    return origin + known[name].read_text(encoding="utf-8")


def _copied_beside(entry: Path, folder: Path) -> list[str]:
    """Copy an entry's own metrics, and the header of its table of cases; returns the names of these files."""
    copied = [file for file in sorted(entry.iterdir()) if file.suffix in (".py", ".csv")]
    for file in copied:
        text = file.read_text(encoding="utf-8")
        (folder / file.name).write_text(text if file.suffix == ".py" else f"{text.splitlines()[0]}\n", encoding="utf-8")
    return [file.name for file in copied]


def _reference_names(text: str) -> list[str]:
    """What the references of all values are called."""
    tables = tomllib.loads(text).get("values", {})
    values = [tables, *(value for value in tables.values() if isinstance(value, dict))]
    given = [value[key] for value in values for key in _REFERENCE_KEYS if key in value]
    given += [value["table"] for value in values if "table" in value and not {*_REFERENCE_KEYS} & {*value}]
    names = [name for each in given for name in ([each] if isinstance(each, str) else each)]
    return list(dict.fromkeys(name.replace("{case}", "<case>") for name in names))


# `podium check`: an organiser's check before a build.


@dataclass(kw_only=True)
class CheckOptions(CaseOptions):
    example: ClassVar = "ground-truth/carotid"

    folder: Path = argument(
        "FOLDER", "a challenge, or a folder of challenge folders [ground-truth]", BAKED_GROUND_TRUTH
    )
    images: Path | None = option("DIR", "images to compare the references with: size and geometry")
    engines: bool = flag("also run both engines on damaged copies of references and compare them")


def check(options: CheckOptions) -> int:
    from podium import checking
    from podium.challenges.ground_truth import challenge_paths, locate_ground_truth

    if options.images is not None and not options.images.is_dir():
        raise UsageError(f"There is no folder {options.images}.")
    executor = options.executor()
    results = []
    for name, path in challenge_paths(locate_ground_truth(options.folder, beside=BAKED_GROUND_TRUTH)).items():
        results.append(checking.check(name, path, images=options.images, executor=executor))
        _print(results[-1])
        if options.engines and not results[-1].errors:
            _print_engines(checking.compare_engines(name, path, executor=executor))
    errors = sum(len(each.errors) for each in results)
    warnings = sum(len(each.warnings) for each in results)
    found = f"{_count(errors, 'error')} and {_count(warnings, 'warning')}"
    if errors:
        return end(f"Found {found}; fix the errors before you build.", 2)
    return end(f"Found {found}." if warnings else "Nothing is wrong.")


def _print(checked: "Checked") -> None:
    """Print one line per finding, so that the output can be searched."""
    print(checked.name)
    error, warning = coloured("error: ", "red", sys.stdout), coloured("warning: ", "yellow", sys.stdout)
    for kind, lines in ((error, checked.errors), (warning, checked.warnings), ("", checked.statistics)):
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


@dataclass(kw_only=True)
class NamedChallengeOptions(ChallengeOptions):
    challenge: str | None = argument("NAME", "the challenge [the only one]", variable=CHALLENGE_VARIABLE)


def figures(options: NamedChallengeOptions) -> int:
    from podium.challenges import load_challenge

    board = load_challenge(options.folder(), despite_names=True).scoreboard
    of_cases = {metric.name: metric for metric in board.metrics}
    offline = {metric.name: metric for metric in board.offline_metrics} | {each.path: each for each in board.offline}
    tables: dict[str, Mapping[str, Metric | GivenFigure]] = {
        "Figures of all cases, for [figures], [leaderboard] and [ranking] (by and tie_break):": board.names.figures,
        "Figures of single cases, for [case_figures], positions_by_case and podium rank --metric:": of_cases,
        "Figures that offline tools add, for podium rank alone:": offline,
    }
    output, head = console(), ("name", "title", "better", "range", "unit")
    for heading, listed in tables.items():
        if listed:
            rows = [
                (name, each.title, each.direction, f"{each.lowest:g} to {each.highest:g}", each.unit)
                for name, each in listed.items()
            ]
            output.print("", cell(heading), table("", *head, texts=head, rows=rows), sep="\n", soft_wrap=True)
    print("\nA name that ends in .mean may be written without it.")
    if board.groupings:
        print("With groups of cases, groups.<group>.<name> is the figure of one group, <name>.group_mean their mean.")
    return 0


# `podium sockets` and `podium sample`: what a phase needs, and submissions to try it with.


def sockets(options: NamedChallengeOptions) -> int:
    from podium.challenges import load_challenge

    head = ("", "slug", "kind", "relative path")
    rows = [
        ("input" if each.is_input else "output", each.slug, each.kind, each.relative_path)
        for each in load_challenge(options.folder()).sockets()
    ]
    console().print(table("", *head, texts=head, rows=rows))
    return 0


def describe(options: NamedChallengeOptions) -> int:
    from podium.challenges import load_challenge
    from podium.tools.preparation.describe import describe_challenge

    folder = options.folder()
    print(describe_challenge(folder, load_challenge(folder)))
    return 0


@dataclass(kw_only=True)
class SampleOptions(NamedChallengeOptions, CaseOptions):
    example: ClassVar = "liver --output samples"

    output: Path = option("DIR", "where to write the samples, an empty or a new folder", Path("samples"))


def sample(options: SampleOptions) -> int:
    from podium.challenges import load_challenge
    from podium.evaluation import prepare
    from podium.tools.preparation.samples import write_samples

    folder, executor = options.folder(), options.executor()
    written = write_samples(prepare(folder, load_challenge(folder), executor), options.output, executor)
    print(*(options.output / each for each in written), sep="\n")
    return end(f"Wrote {len(written)} submissions; they are made of the references, so they must not be published.")


# `podium manifest`: the public case list.


@dataclass(kw_only=True)
class ManifestOptions(ChallengeOptions, CaseOptions):
    output: Path = option("FILE", "the file to write", Path("cases.json"))


def manifest(options: ManifestOptions) -> int:
    from podium.challenges import load_challenge
    from podium.evaluation import prepare
    from podium.validation import make_manifest, write_manifest

    folder = options.folder()
    task = prepare(folder, load_challenge(folder), options.executor())
    write_manifest(make_manifest(task), options.output)
    return end(f"Wrote {len(task.cases)} cases to {options.output}; it holds no reference value and may be published.")


# `podium leaderboard`: the settings of a phase's leaderboard.


@dataclass(kw_only=True)
class LeaderboardOptions(ChallengeOptions):
    challenge: str | None = argument("CHALLENGE", "one challenge [all]", variable=CHALLENGE_VARIABLE)
    json: bool = flag("for programs: all fields as JSON")


def leaderboard(options: LeaderboardOptions) -> int:
    from podium.challenges import load_challenge, phase_columns
    from podium.challenges.ground_truth import read_challenge_folders
    from podium.platform.leaderboard import phase_settings

    is_one = options.challenge is not None
    chosen = [options.folder()] if is_one else list(read_challenge_folders(options.ground_truth_folder).values())
    settings = {folder.name: phase_settings(phase_columns(folder)) for folder in chosen}
    for folder in chosen:
        if differs := load_challenge(folder).ranking.not_live:
            say(
                f"{folder.name}: the live leaderboard does not show the official order, because {differs}. "
                "Only 'podium rank' gives it."
            )
    if options.json:
        print(json.dumps(settings[chosen[0].name] if is_one else settings, indent=2))
    for name, fields in {} if options.json else settings.items():
        print(f"{name}: enter these values in the phase's settings, field by field.")
        for field, value in fields.items():
            shown = f"\n{json.dumps(value, indent=2)}" if isinstance(value, list) else f" {value or '(empty)'}"
            print(f"{field.replace('_', ' ').capitalize()}:{shown}")
    return 0


# `podium bundle`: competitions for other platforms.


@dataclass(kw_only=True)
class CodabenchOptions(ChallengeOptions):
    example: ClassVar = "carotid --image docker.io/you/podium-codabench-carotid:0.2.0"

    challenge: str = argument("NAME", "the challenge")
    output: Path | None = option("PATH", "an archive, if it ends with .zip, or a folder [NAME-codabench.zip]")
    image: str | None = option(
        "IMAGE", f"the image, as Codabench's worker can pull it [podium-codabench-NAME:{__version__}]"
    )
    start: date | None = option("DATE", "the first day of the phase, as 2026-12-31 [today]", type=date.fromisoformat)


def bundle_codabench(options: CodabenchOptions) -> int:
    from podium.tools.other_platforms.bundle import write_bundle

    folder = options.folder()
    name = folder.name
    output = options.output or Path(f"{name}-codabench.zip")
    image = options.image or f"podium-codabench-{name}:{__version__}"
    files = write_bundle(folder, output, image=image, start=options.start or datetime.now(UTC).date())
    return end(f"Wrote {files} files to {output}; it holds the references, so it must not be published.")


# `podium keys`: the organiser's key for sealed rows.


@dataclass(kw_only=True)
class NewKeyOptions:
    file: Path = argument("FILE", "where to write the secret key; keep it and back it up")


def keys_new(options: NewKeyOptions) -> int:
    from podium.platform.sealing import new_key

    public_key = new_key(options.file)
    print(f'[sealed]\npublic_key = "{public_key}"')
    return end(f"Wrote the secret key to {options.file}; the lines above go into challenge.toml.")


# `podium doctor`: what this machine offers to an evaluation.


def doctor(_: NoOptions) -> int:
    for what, found in _findings():
        print(f"{what + ':':<18} {found}")
    return 0


def _findings() -> Iterator[tuple[str, str]]:
    from importlib.metadata import PackageNotFoundError, version

    from podium.execution.executor import available_workers
    from podium.kernel import Limits, is_linux
    from podium.sandbox.client import started
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
    layers: Sequence[str] = ()
    if is_linux():
        with started(Limits()) as decoder:  # it reports the layers of isolation that really apply
            layers = tuple(decoder.layers)
    complete = "" if len(layers) == len(LAYERS) else " (--isolation full would refuse to run)"
    yield "isolation", (", ".join(layers) or "none") + complete
    for package in _PACKAGES:
        try:
            yield package, version(package)
        except PackageNotFoundError:
            yield package, "not installed"


# `podium completion`: commands and options at the TAB key. The scripts ask Podium, so they are never out of date.


@dataclass(kw_only=True)
class CompletionOptions:
    shell: Literal["bash", "zsh", "fish"] = argument(
        "", "your shell; docs/organisers.md has the line for its start-up file"
    )


def completion(options: CompletionOptions) -> int:
    from argcomplete.shell_integration import shellcode

    if options.shell == "zsh":
        print("autoload -U compinit && compinit -i")
    print(shellcode(["podium"], shell=options.shell))
    return 0
