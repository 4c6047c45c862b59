"""`podium arena`: blinded comparisons of reports by clinicians, from the ranking to the final order."""

import math
import re
import sys
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal

from podium.cli.arguments import (
    Count,
    NoOptions,
    Positive,
    PositiveInt,
    WorkerOptions,
    argument,
    choice,
    flag,
    numeric,
    option,
)
from podium.cli.output import cell, console, say, table
from podium.errors import UsageError, read_given
from podium.packages import require
from podium.tools.arena import standing
from podium.tools.arena.agreement import RaterFigures, rater_figures
from podium.tools.arena.archive import archive_lines, restore, votes_csv, write_whole
from podium.tools.arena.raters import Guest, invite, invite_organiser, links_csv, read_guests, revoke
from podium.tools.arena.settings import ArenaSettings, read_settings
from podium.tools.arena.simulation import Played, Scenario, play, summarise
from podium.tools.arena.store import OpenArena, RaterLine, Store, close_arena, read_ballots, read_raters, read_votes

if TYPE_CHECKING:
    from rich.table import Table


@dataclass(kw_only=True)
class ArenaOptions:
    folder: Path = argument("DIR", "the arena's folder [the working folder]", Path())


@dataclass(kw_only=True)
class InitOptions:
    example: ClassVar = "arena --ranking ranking/ranking.json --submissions submissions --cases images"

    folder: Path = argument("DIR", "the folder to create")
    ranking: Path = option("FILE", "the ranking.json that 'podium rank' wrote")
    submissions: Path = option("DIR", "the submission of every team, as DIR/<team>")
    cases: Path = option("DIR", "<case>.png, .jpg, .tif, .mha, .nii.gz, .stl, .ply, .obj, or <case>/")
    top: PositiveInt | None = option("N", "teams of this rank or better [the ranking's finalists, else 7]")
    seed: Count = option("N", "random seed for the pairing", 0)
    url: str = option("URL", "where raters reach the server", "http://localhost:8000")
    instructions: Path | None = option("FILE", "your own text for the raters, shown before the first matchup")


def arena_init(options: InitOptions) -> int:
    require("PIL", extra="arena")
    from podium.tools.arena.setup import Sources, init

    if not re.fullmatch(r"https?://[^/?#\s]+(/[\w.~-]+)*/?", options.url, re.ASCII):
        raise UsageError("--url must be like https://arena.example.org or https://example.org/arena.")
    try:
        instructions = read_given(options.instructions).decode("utf-8-sig") if options.instructions else ""
    except UnicodeDecodeError:
        raise UsageError(f"{options.instructions} is not UTF-8 text.") from None
    sources = Sources(ranking=options.ranking, submissions=options.submissions, cases=options.cases, top=options.top)
    made = init(options.folder, sources, ArenaSettings(seed=options.seed, url=options.url, instructions=instructions))
    for note in made.notes:
        say(f"Note: {note}")
    teams = f"{len(made.methods)} teams: {', '.join(made.methods)}"
    say(f"Created {options.folder} with {len(made.cases)} cases and {teams}.")
    say("The organiser's link, shown only once:")
    print(made.organiser.link, flush=True)
    return 0


@dataclass(kw_only=True)
class InviteOptions:
    usage: ClassVar = (
        "podium arena invite [-h] [--matchups N] [--language CODE] [DIR] NAME\n"
        "       podium arena invite [-h] [--matchups N] --from FILE [--output FILE] [DIR]\n"
        "       podium arena invite [-h] --organiser [DIR]"
    )
    example: ClassVar = "arena 'Dr Rossi' --language it"

    words: Sequence[str] = argument(
        "[DIR] NAME",
        "the arena's folder [the working folder], and the rater; one who is known gets a new link",
        (),
        nargs="*",
    )
    organiser: bool = flag("a new link for the organiser instead")
    source: Path | None = option("FILE", "many raters: a CSV file with name, e-mail, language", names=["--from"])
    output: Path | None = option("FILE", "where --from writes the links [standard output]")
    language: str | None = option("CODE", "en, it, de, fr, es or zh [the language of the rater's browser]")
    matchups: PositiveInt | None = option("N", "number of matchups for each rater [from arena.toml]")


def arena_invite(options: InviteOptions) -> int:
    from podium.tools.arena.web.site import LANGUAGES

    if options.source:
        return _invite_many(options, options.source)
    folder, name = _folder_and_name(options)
    if options.language is not None and options.language not in LANGUAGES:
        raise UsageError(f"--language must be one of {', '.join(LANGUAGES)}.")
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


def _invite_many(options: InviteOptions, source: Path) -> int:
    from podium.tools.arena.web.site import LANGUAGES

    if options.organiser or options.language or len(options.words) > 1:
        raise UsageError("With --from the file says who is invited: podium arena invite --from FILE [DIR].")
    guests = read_guests(source, languages=LANGUAGES)
    folder = Path(*options.words)
    with closing(Store(folder)) as store:
        settings = read_settings(folder)
        invited = [(guest, invite(store, settings, guest, matchups=options.matchups)) for guest in guests]
    for _, made in invited:
        for remark in made.remarks:
            say(remark)
    say(f"Raters invited: {len(invited)}. Their links are shown only once.")
    if options.output:
        write_whole(options.output, links_csv(invited), private=True)
        say(f"Wrote the links to {options.output}.")
    else:
        print(links_csv(invited), end="", flush=True)
    return 0


def _folder_and_name(options: InviteOptions) -> tuple[Path, str]:
    """Where to invite whom: the folder may be omitted inside it, and the organiser has no name."""
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


@dataclass(kw_only=True)
class RevokeOptions(ArenaOptions):
    name: str = argument("NAME", "the name used in the invitation")


def arena_revoke(options: RevokeOptions) -> int:
    with closing(Store(options.folder)) as store:
        name = revoke(store, options.name)
    say(f"The link of {name} is revoked; the votes are kept.")
    return 0


@dataclass(kw_only=True)
class ServeOptions(ArenaOptions):
    host: str = option("ADDRESS", "address to listen on", "127.0.0.1")
    port: int = option(
        "N", "port to listen on", 8000, type=numeric(int, lambda port: 0 <= port <= 65535, "is not a port")
    )
    certificate: Path | None = option("FILE", "certificate for HTTPS, with --key")
    key: Path | None = option("FILE", "the certificate's private key")


def arena_serve(options: ServeOptions) -> int:
    require("starlette", "hypercorn", extra="arena")
    from podium.tools.arena.web.app import serve

    serve(options.folder, host=options.host, port=options.port, certificate=options.certificate, key=options.key)
    return 0


def arena_status(options: ArenaOptions) -> int:
    """Ratings, what the stop rule still requires, the raters, and all remarks and notes."""
    output = console()
    with closing(OpenArena(options.folder)) as arena:
        ballots = read_ballots(arena.store)
        reached = standing.standing(ballots, arena.methods, arena.settings)
        figures = {each.rater: each for each in rater_figures(ballots, arena.methods)}
        raters, rule = read_raters(arena.store), standing.stop_rule(ballots, reached, arena.settings)
        output.print(
            _ratings(reached),
            table(
                f"The stop rule {'holds' if rule.holds else 'does not hold yet'} (the last condition is optional)",
                *("Condition", "Met", "Explanation"),
                texts=["Condition", "Explanation"],
                rows=[
                    (each.name, "yes" if each.met else "no", each.sentence) for each in (*rule.required, *rule.optional)
                ],
            ),
            _raters(raters, figures),
        )
        remarks = [f"{name} {remark}." for name, each in figures.items() for remark in each.remarks]
        output.print()
        for sentence in dict.fromkeys((*remarks, *reached.disagreements, *reached.notes, *arena.notes)):
            output.print(cell(sentence))
    return 0


def _ratings(reached: standing.Standing) -> "Table":
    """The order within a group is uncertain, so a line is drawn only between groups."""
    title = f"Ratings after {reached.votes} votes ({standing.TITLES[reached.decided_by]} decides)"
    made = table(
        *(title, "#", "Team", "Group", "Averaged\nElo", "Elo", "Bradley-\nTerry", "Interval", "Won", "Tied", "Lost"),
        texts=["Team"],
    )
    for team, following in zip(reached.teams, (*reached.teams[1:], None), strict=True):
        interval = "-" if team.interval is None else "{:.0f} to {:.0f}".format(*team.interval)
        ratings = (f"{rating:.1f}" for rating in (team.elo_averaged, team.elo, team.bradley_terry))
        place = str(team.rank), cell(team.name), str(team.group)
        counts = map(str, (team.wins, team.ties, team.losses))
        is_last_of_group = following is not None and following.group != team.group
        made.add_row(*place, *ratings, interval, *counts, end_section=is_last_of_group)
    return made


def _raters(lines: Sequence[RaterLine], figures: Mapping[str, RaterFigures]) -> "Table":
    made = table(
        "Raters", "Rater", "Done", "Ties", "Left", "Repeats\nalike", "With\nothers", "Last vote\n(UTC)", texts=["Rater"]
    )
    for line in lines:
        figure = figures.get(line.name)
        shares = (figure.ties, figure.left, figure.consistent, figure.agreeing) if figure else ("-",) * 4
        name = f"{line.name} (link revoked)" if line.revoked else line.name
        last = "-" if line.last_vote_at is None else f"{datetime.fromtimestamp(line.last_vote_at, UTC):%d %b %H:%M}"
        made.add_row(cell(name), f"{line.done} of {line.total}", *map(str, shares), last)
    return made


def arena_close(options: ArenaOptions) -> int:
    with closing(Store(options.folder)) as store:
        close_arena(store)
    say("The arena is closed: no further vote counts. 'podium arena result' writes the final ratings.")
    return 0


@dataclass(kw_only=True)
class ResultOptions(ArenaOptions):
    output: Path = option("FILE", "the file to write", Path("arena.json"))
    by: Literal["elo-averaged", "elo", "bradley-terry"] = choice("which rating decides the order", "elo-averaged")
    tied_groups: bool = flag("teams of a group, which the votes do not separate, share its rank")
    provisional: bool = flag("allow it while votes can still be cast")


def arena_result(options: ResultOptions) -> int:
    from podium.tools.ranking.result import json_text

    with closing(OpenArena(options.folder)) as arena:
        closed = arena.is_closed()
        if not closed and not options.provisional:
            raise UsageError(
                "The arena is still open: close it first with 'podium arena close', or ask for --provisional ratings."
            )
        ballots = read_ballots(arena.store)
        found = standing.arena_result(
            *(ballots, arena.methods, arena.settings),
            notes=arena.notes,
            by=options.by,
            tied_groups=options.tied_groups,
            closed=closed,
        )
    write_whole(options.output, json_text(found, indent=2))
    for sentence in (*found.disagreements, *found.notes):
        say(sentence)
    say(f"Wrote the ratings of {len(found.ratings)} teams after {found.votes} votes to {options.output}.")
    return 0


@dataclass(kw_only=True)
class ExportOptions(ArenaOptions):
    output: Path = option("FILE", "the file to write, .csv or .jsonl", Path("votes.csv"))
    without_pictures: bool = flag("leave the image files out of the .jsonl file")


def arena_export(options: ExportOptions) -> int:
    with closing(Store(options.folder)) as store:
        cast = read_votes(store)
    if options.output.suffix == ".jsonl":
        lines = archive_lines(options.folder, with_pictures=not options.without_pictures)
        write_whole(options.output, lines, private=True)
        say(f"Wrote the whole arena with {len(cast)} votes to {options.output}.")
    else:
        write_whole(options.output, votes_csv(cast))
        say(f"Wrote {len(cast)} votes, including undone votes, practice and repeats, to {options.output}.")
    return 0


@dataclass(kw_only=True)
class ImportOptions:
    file: Path = argument("FILE", "the .jsonl file")
    folder: Path = argument("DIR", "the folder to create")


def arena_import(options: ImportOptions) -> int:
    try:
        with options.file.open(encoding="utf-8") as lines:
            restore(options.folder, lines, name=str(options.file))
    except OSError as error:
        raise UsageError(f"{options.file} cannot be read: {error.strerror}.") from None
    with closing(OpenArena(options.folder)) as arena:
        missing = len(arena.missing_pictures())
        say(f"Restored {options.folder} with {len(read_ballots(arena.store))} standing votes and all links.")
        if missing:
            say(f"{missing} files of its pictures are missing: copy the folder 'pictures' of the old arena into it.")
    return 0


def arena_viewer(_: NoOptions) -> int:
    from podium.tools.arena.web.viewer import install_viewer, lock

    fetched = install_viewer()
    for package in (f"{each['package']} {each['version']}" for each in lock().values()):
        say(f"Fetched {package}." if package in fetched else f"{package} is already installed.")
    return 0


_points = numeric(float, lambda points: 0 <= points < math.inf, "is not 0 or more")


@dataclass(kw_only=True)
class ArenaSimulationOptions(WorkerOptions):
    gaps: Sequence[Positive] = option(
        "POINTS",
        "points between neighbouring teams, 400 being odds of 10 to 1; repeat for more rows [25, 50, 100, 200]",
        (25.0, 50.0, 100.0, 200.0),
        names=["--gap"],
    )
    teams: int = option(
        "N", "number of teams", 7, type=numeric(int, lambda teams: teams >= 2, "is less than two teams")
    )
    raters: PositiveInt = option("N", "number of raters", 10)
    cases: PositiveInt = option("N", "number of cases", 40)
    ties: float = option(
        "SHARE",
        "share of ties among the votes",
        0.2,
        type=numeric(float, lambda ties: 0 <= ties < 1, "is not between 0 and 1"),
    )
    case_spread: float = option(
        "POINTS", "standard deviation of a team's strength from case to case [%(default)g]", 100.0, type=_points
    )
    rater_spread: float = option("POINTS", "the same from rater to rater [%(default)g]", 50.0, type=_points)
    arena: Path | None = option("DIR", "use the settings of this arena [the published ones]")
    runs: PositiveInt = option("N", "arenas per row", 200)
    seed: Count = option("N", "random seed", 0)


def arena_simulate(options: ArenaSimulationOptions) -> int:
    settings = read_settings(options.arena) if options.arena else ArenaSettings()
    scenarios = [
        Scenario(
            gap_points=gap,
            teams=options.teams,
            raters=options.raters,
            cases=options.cases,
            tie_share=options.ties,
            case_spread_points=options.case_spread,
            rater_spread_points=options.rater_spread,
            settings=settings,
        )
        for gap in options.gaps
    ]
    played = _play_all(scenarios, runs=options.runs, seed=options.seed, workers=options.workers)
    made = table(
        "",
        *("Gap", "Best is first", "By Elo", "By Bradley-Terry", "Best in first group"),
        *("Votes: median", "90 %", "Never ended", "Kendall's tau"),
    )
    for number, scenario in enumerate(scenarios):
        row = summarise(scenario.gap_points, played[number * options.runs : (number + 1) * options.runs])
        made.add_row(
            f"{row.gap_points:g}",
            *(f"{row.first[by]:.0%}" for by in ("elo-averaged", "elo", "bradley-terry")),
            f"{row.in_first_group:.0%} (of {row.mean_first_group:.1f})",
            *(f"{row.median_votes:.0f}", f"{row.votes_90:.0f}", f"{row.unfinished:.0%}"),
            f"{row.mean_tau:.2f}",
        )
    console().print(made)
    arenas = f"{len(played)} arenas of {options.teams} teams, {options.raters} raters and {options.cases} cases"
    print(f"Played {arenas}; seed {options.seed}.", file=sys.stderr)
    return 0


def _play_all(scenarios: Sequence[Scenario], *, runs: int, seed: int, workers: int) -> list[Played]:
    """Every scenario `runs` times, in that order; which process plays which makes no difference."""
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context

    from podium.execution.executor import show_progress

    every = [scenario for scenario in scenarios for _ in range(runs)]
    seeds = [(seed, run) for _ in scenarios for run in range(runs)]
    progress = show_progress("arenas", len(every))
    played = []
    with ProcessPoolExecutor(workers, mp_context=get_context("fork")) as pool:
        for one in pool.map(play, every, seeds):
            played.append(one)
            progress.advance()
    progress.close()
    return played
