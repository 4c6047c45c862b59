"""`podium arena`: blinded comparisons of reports by clinicians, from the ranking to the final order."""

import argparse
import math
import re
import sys
from collections.abc import Mapping, Sequence
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from podium.cli.arguments import (
    Group,
    Parser,
    Verbs,
    add_group,
    add_verb,
    cell,
    console,
    count,
    number,
    positive_int,
    say,
    table,
)
from podium.errors import UsageError, read_given_text, require

if TYPE_CHECKING:
    from rich.table import Table

    from podium.tools.arena.agreement import RaterFigures
    from podium.tools.arena.simulation import Played, Scenario, SimulationSummary
    from podium.tools.arena.standing import Standing, StopRule
    from podium.tools.arena.store import RaterLine

GROUP: Group = "review"
_RATINGS = ("elo-averaged", "elo", "bradley-terry")
_GAPS = (25.0, 50.0, 100.0, 200.0)


def add_verbs(verbs: Verbs) -> None:
    arena = add_group(verbs, "arena", "let clinicians compare anonymous reports, and rate the teams by their votes")
    _add_init(arena)
    _add_invite(arena)
    revoke = _add_known_folder(add_verb(arena, "revoke", _revoke, "revoke a rater's link; the votes are kept"))
    revoke.add_value("name", "NAME", "the name used in the invitation")
    _add_serve(arena)
    _add_known_folder(add_verb(arena, "status", _status, "show ratings, raters and what the stop rule still requires"))
    _add_known_folder(add_verb(arena, "close", _close, "end the voting for good"))
    _add_result(arena)
    _add_archive(arena)
    add_verb(arena, "viewer", _viewer, "fetch NiiVue, which shows volumes and meshes to raters")
    add_simulate(arena)


def _add_init(verbs: Verbs) -> None:
    parser = add_verb(verbs, "init", _init, "create an arena from finalists' reports and case images")
    parser.add_value("folder", "DIR", "the folder to create")
    parser.add_value("--ranking", "FILE", "the ranking.json that 'podium rank' wrote", required=True)
    parser.add_value("--submissions", "DIR", "the submission of every team, as DIR/<team>", required=True)
    parser.add_value(
        "--cases", "DIR", "<case>.png, .jpg, .tif, .mha, .nii.gz, .stl, .ply, .obj, or <case>/", required=True
    )
    parser.add_value("--top", "N", "teams of this rank or better [the ranking's finalists, else 7]", type=positive_int)
    parser.add_value("--seed", "N", "random seed for the pairing", type=count, default=0)
    parser.add_value("--url", "URL", "where raters reach the server", default="http://localhost:8000")
    parser.add_value("--instructions", "FILE", "your own text for the raters, shown before the first matchup")


def _init(options: argparse.Namespace) -> int:
    require("PIL", extra="arena")
    from podium.tools.arena.settings import ArenaSettings
    from podium.tools.arena.setup import Sources, init

    if not re.fullmatch(r"https?://[^/?#\s]+(/[\w.~-]+)*/?", options.url, re.ASCII):
        raise UsageError("--url must be like https://arena.example.org or https://example.org/arena.")
    instructions = read_given_text(options.instructions) if options.instructions else ""
    sources = Sources(ranking=options.ranking, submissions=options.submissions, cases=options.cases, top=options.top)
    made = init(options.folder, sources, ArenaSettings(seed=options.seed, url=options.url, instructions=instructions))
    for note in made.notes:
        say(f"Note: {note}")
    teams = f"{len(made.methods)} teams: {', '.join(made.methods)}"
    say(f"Created {options.folder} with {len(made.cases)} cases and {teams}.")
    say("The organiser's link, shown only once:")
    print(made.organiser.link, flush=True)
    return 0


def _add_invite(verbs: Verbs) -> None:
    parser = add_verb(verbs, "invite", _invite, "print a personal link, which is shown only once")
    parser.usage = (
        "podium arena invite [-h] [--matchups N] [--language CODE] [DIR] NAME\n"
        "       podium arena invite [-h] [--matchups N] --from FILE [--output FILE] [DIR]\n"
        "       podium arena invite [-h] --organiser [DIR]"
    )
    parser.add_value(
        "words",
        "[DIR] NAME",
        "the arena's folder [the working folder], and the rater; one who is known gets a new link",
        nargs="*",
    )
    parser.add_flag("--organiser", "a new link for the organiser instead")
    parser.add_value("--from", "FILE", "many raters: a CSV file with name, e-mail, language", dest="source")
    parser.add_value("--output", "FILE", "where --from writes the links [standard output]")
    parser.add_value("--language", "CODE", "en, it, de, fr, es or zh [the language of the rater's browser]")
    parser.add_value("--matchups", "N", "number of matchups for each rater [from arena.toml]", type=positive_int)


def _invite(options: argparse.Namespace) -> int:
    from podium.tools.arena.raters import Guest, invite, invite_organiser
    from podium.tools.arena.settings import read_settings
    from podium.tools.arena.store import Store
    from podium.tools.arena.web.site import LANGUAGES

    if options.source:
        return _invite_many(options)
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


def _invite_many(options: argparse.Namespace) -> int:
    from podium.tools.arena.archive import write_whole
    from podium.tools.arena.raters import invite, links_csv, read_guests
    from podium.tools.arena.settings import read_settings
    from podium.tools.arena.store import Store
    from podium.tools.arena.web.site import LANGUAGES

    if options.organiser or options.language or len(options.words) > 1:
        raise UsageError("With --from the file says who is invited: podium arena invite --from FILE [DIR].")
    guests = read_guests(options.source, languages=LANGUAGES)
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


def _folder_and_name(options: argparse.Namespace) -> tuple[Path, str]:
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


def _revoke(options: argparse.Namespace) -> int:
    from podium.tools.arena.raters import revoke
    from podium.tools.arena.store import Store

    with closing(Store(options.folder)) as store:
        name = revoke(store, options.name)
    say(f"The link of {name} is revoked; the votes are kept.")
    return 0


def _add_serve(verbs: Verbs) -> None:
    parser = _add_known_folder(add_verb(verbs, "serve", _serve, "serve the arena until it is stopped"))
    parser.add_value("--host", "ADDRESS", "address to listen on", default="127.0.0.1")
    parser.add_value(
        "--port",
        "N",
        "port to listen on",
        type=number(int, lambda port: 0 <= port <= 65535, "is not a port"),
        default=8000,
    )
    parser.add_value("--certificate", "FILE", "certificate for HTTPS, with --key")
    parser.add_value("--key", "FILE", "the certificate's private key")


def _serve(options: argparse.Namespace) -> int:
    require("starlette", "uvicorn", extra="arena")
    from podium.tools.arena.web.app import serve

    serve(options.folder, host=options.host, port=options.port, certificate=options.certificate, key=options.key)
    return 0


def _status(options: argparse.Namespace) -> int:
    """Ratings, what the stop rule still requires, the raters, and all remarks and notes."""
    from podium.tools.arena.agreement import rater_figures
    from podium.tools.arena.standing import standing, stop_rule
    from podium.tools.arena.store import OpenArena, read_ballots, read_raters

    output = console()
    with closing(OpenArena(options.folder)) as arena:
        ballots = read_ballots(arena.store)
        reached = standing(ballots, arena.methods, arena.settings)
        figures = {each.rater: each for each in rater_figures(ballots, arena.methods)}
        raters = read_raters(arena.store)
        output.print(
            _ratings(reached), _stop_rule(stop_rule(ballots, reached, arena.settings)), _raters(raters, figures)
        )
        remarks = [f"{name} {remark}." for name, each in figures.items() for remark in each.remarks]
        output.print()
        for sentence in dict.fromkeys((*remarks, *reached.disagreements, *reached.notes, *arena.notes)):
            output.print(cell(sentence))
    return 0


def _ratings(reached: "Standing") -> "Table":
    """The order within a tied group is uncertain, so a line is drawn only between groups."""
    from podium.tools.arena.standing import TITLES

    title = f"Ratings after {reached.votes} votes ({TITLES[reached.decided_by]} decides)"
    made = table(
        title, "#", "Team", "Averaged\nElo", "Elo", "Bradley-\nTerry", "Interval", "Won", "Tied", "Lost", texts=["Team"]
    )
    for team, following in zip(reached.teams, (*reached.teams[1:], None), strict=True):
        interval = "-" if team.interval is None else f"{team.interval.low:.0f} to {team.interval.high:.0f}"
        ratings = (f"{rating:.1f}" for rating in (team.elo_averaged, team.elo, team.bradley_terry))
        counts = map(str, (team.wins, team.ties, team.losses))
        is_last_of_group = following is not None and following.group != team.group
        made.add_row(str(team.rank), cell(team.name), *ratings, interval, *counts, end_section=is_last_of_group)
    return made


def _stop_rule(rule: "StopRule") -> "Table":
    holds = "holds" if rule.holds else "does not hold yet"
    return table(
        f"The stop rule {holds}: all of the first {len(rule.required)} and one of the last {len(rule.either)}",
        *("Condition", "Met", "Explanation"),
        texts=["Condition", "Explanation"],
        rows=[(each.name, "yes" if each.met else "no", each.sentence) for each in rule.conditions],
    )


def _raters(lines: "Sequence[RaterLine]", figures: "Mapping[str, RaterFigures]") -> "Table":
    made = table(
        "Raters", "Rater", "Done", "Ties", "Left", "Repeats\nalike", "With\nothers", "Last vote\n(UTC)", texts=["Rater"]
    )
    for line in lines:
        figure = figures.get(line.name)
        shares = (figure.ties, figure.left, figure.consistent, figure.agreeing) if figure else ("-",) * 4
        name = f"{line.name} (link revoked)" if line.revoked else line.name
        made.add_row(cell(name), f"{line.done} of {line.total}", *map(str, shares), _moment(line.last_vote_at))
    return made


def _moment(seconds: float | None) -> str:
    return "-" if seconds is None else datetime.fromtimestamp(seconds, UTC).strftime("%d %b %H:%M")


def _close(options: argparse.Namespace) -> int:
    from podium.tools.arena.store import Store, close_arena

    with closing(Store(options.folder)) as store:
        close_arena(store)
    say("The arena is closed: no further vote counts. 'podium arena result' writes the final ratings.")
    return 0


def _add_result(verbs: Verbs) -> None:
    parser = _add_known_folder(add_verb(verbs, "result", _result, "write the ratings for 'podium rank --arena'"))
    parser.add_value("--output", "FILE", "the file to write", default=Path("arena.json"))
    parser.add_value("--by", _RATINGS, "which rating decides the order", default="elo-averaged")
    parser.add_flag("--provisional", "allow it while votes can still be cast")


def _result(options: argparse.Namespace) -> int:
    from podium.tools.arena.archive import write_whole
    from podium.tools.arena.standing import arena_result, result_to_json
    from podium.tools.arena.store import OpenArena, read_ballots

    with closing(OpenArena(options.folder)) as arena:
        closed = arena.is_closed()
        if not closed and not options.provisional:
            raise UsageError(
                "The arena is still open: close it first with 'podium arena close', or ask for --provisional ratings."
            )
        ballots = read_ballots(arena.store)
        found = arena_result(ballots, arena.methods, arena.settings, notes=arena.notes, by=options.by, closed=closed)
    write_whole(options.output, result_to_json(found))
    for sentence in (*found.disagreements, *found.notes):
        say(sentence)
    say(f"Wrote the ratings of {len(found.ratings)} teams after {found.votes} votes to {options.output}.")
    return 0


def _add_archive(verbs: Verbs) -> None:
    export = add_verb(verbs, "export", _export, "write all votes as CSV, or the whole arena as JSON lines")
    _add_known_folder(export)
    export.add_value("--output", "FILE", "the file to write, .csv or .jsonl", default=Path("votes.csv"))
    export.add_flag("--without-pictures", "leave the image files out of the .jsonl file")
    restore = add_verb(verbs, "import", _import, "restore an arena from the JSON lines of 'export'")
    restore.add_value("file", "FILE", "the .jsonl file")
    restore.add_value("folder", "DIR", "the folder to create")


def _export(options: argparse.Namespace) -> int:
    from podium.tools.arena.archive import archive_lines, votes_csv, write_whole
    from podium.tools.arena.store import Store, read_votes

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


def _import(options: argparse.Namespace) -> int:
    from podium.tools.arena.archive import restore
    from podium.tools.arena.store import OpenArena, read_ballots

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


def _viewer(_options: argparse.Namespace) -> int:
    from podium.tools.arena.web.viewer import install_viewer, lock

    fetched = install_viewer()
    name = f"{lock()['package']} {lock()['version']}"
    say(f"Fetched {name}." if fetched else f"{name} is already installed.")
    return 0


def add_simulate(verbs: Verbs) -> None:
    parser = add_verb(verbs, "simulate", _simulate, "test the stop rule on arenas with known strengths")
    parser.add_value(
        "--gap",
        "POINTS",
        "points between neighbouring teams, 400 being odds of 10 to 1; repeat for more rows [25, 50, 100, 200]",
        dest="gaps",
        type=number(float, lambda points: 0 < points < math.inf, "is not a positive number"),
        action="append",
    )
    parser.add_value(
        "--teams",
        "N",
        "number of teams",
        type=number(int, lambda teams: teams >= 2, "is less than two teams"),
        default=7,
    )
    parser.add_value("--raters", "N", "number of raters", type=positive_int, default=10)
    parser.add_value("--cases", "N", "number of cases", type=positive_int, default=40)
    parser.add_value(
        "--ties",
        "SHARE",
        "share of ties among the votes",
        type=number(float, lambda ties: 0 <= ties < 1, "is not between 0 and 1"),
        default=0.2,
    )
    parser.add_value(
        "--case-spread",
        "POINTS",
        "standard deviation of a team's strength from case to case [%(default)g]",
        type=number(float, lambda points: 0 <= points < math.inf, "is not 0 or more"),
        default=100.0,
    )
    parser.add_value("--arena", "DIR", "use the settings of this arena [the published ones]")
    parser.add_value("--runs", "N", "arenas per row", type=positive_int, default=200)
    parser.add_value("--seed", "N", "random seed", type=count, default=0)
    parser.add_workers()


def _simulate(options: argparse.Namespace) -> int:
    from podium.tools.arena.settings import ArenaSettings, read_settings
    from podium.tools.arena.simulation import Scenario, summarise

    settings = read_settings(options.arena) if options.arena else ArenaSettings()
    scenarios = [
        Scenario(
            gap_points=gap,
            teams=options.teams,
            raters=options.raters,
            cases=options.cases,
            tie_share=options.ties,
            case_spread_points=options.case_spread,
            settings=settings,
        )
        for gap in options.gaps or _GAPS
    ]
    played = _play_all(scenarios, runs=options.runs, seed=options.seed, workers=options.workers)
    summaries = [
        summarise(scenario.gap_points, played[row * options.runs : (row + 1) * options.runs])
        for row, scenario in enumerate(scenarios)
    ]
    _print_table(summaries)
    arenas = f"{len(played)} arenas of {options.teams} teams, {options.raters} raters and {options.cases} cases"
    print(f"Played {arenas}; seed {options.seed}.", file=sys.stderr)
    return 0


def _play_all(scenarios: Sequence["Scenario"], *, runs: int, seed: int, workers: int) -> list["Played"]:
    """Every scenario `runs` times, in that order; which process plays which makes no difference."""
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context

    from podium.execution.executor import show_progress
    from podium.tools.arena.simulation import play

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


def _print_table(summaries: Sequence["SimulationSummary"]) -> None:
    made = table(
        "",
        *("Gap", "Best is first", "By Elo", "By Bradley-Terry", "Best has rank 1", "Best in first group"),
        *("Votes: median", "90 %", "Budget ended it", "Never ended", "Kendall's tau"),
    )
    for row in summaries:
        made.add_row(
            f"{row.gap_points:g}",
            *(f"{row.first[by]:.0%}" for by in ("elo-averaged", "elo", "bradley-terry")),
            f"{row.with_rank_1:.0%} (of {row.mean_teams_of_rank_1:.1f})",
            f"{row.in_first_group:.0%} (of {row.mean_first_group:.1f})",
            *(f"{row.median_votes:.0f}", f"{row.votes_90:.0f}", f"{row.ended_by_budget:.0%}", f"{row.unfinished:.0%}"),
            f"{row.mean_tau:.2f}",
        )
    console().print(made)


def _add_known_folder(parser: Parser) -> Parser:
    parser.add_value("folder", "DIR", "the arena's folder [the working folder]", nargs="?", default=Path())
    return parser
