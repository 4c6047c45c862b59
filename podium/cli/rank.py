"""Commands about all teams: `podium rank` and `podium report`."""

import argparse
import json
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from podium.cli.arguments import (
    BAKED_GROUND_TRUTH,
    Count,
    Fraction,
    InnerFraction,
    WorkerOptions,
    argument,
    choice,
    flag,
    numeric,
    option,
)
from podium.cli.output import UNBOUNDED, cell, console, end, table
from podium.errors import UsageError, read_given
from podium.execution.executor import no_progress, show_progress
from podium.figures import LARGEST

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from podium.tools.ranking.documents import Cohort
    from podium.tools.ranking.output import TableColumn
    from podium.tools.ranking.result import Consensus, Ranking
    from podium.tools.ranking.schemes import RankingOptions
    from podium.tools.report.overlays import CasePictures, Window
    from podium.tools.report.page import Report

_TABLES = "tables of scores"
_PICTURES = "pictures of the worst cases"


_finite = numeric(float, lambda value: abs(value) <= LARGEST, "is not a finite number")
_weight = numeric(float, lambda value: 0 < value <= LARGEST, "is not a positive number")


def _assignments(text: str, *, read: Callable[[str], Any]) -> dict[str, Any]:
    """`name=value,...`; a name may hold a `=`, a value does not."""
    found = {}
    for part in text.split(","):
        name, equals, value = part.rpartition("=")
        if not equals or not name.strip():
            raise argparse.ArgumentTypeError(f"'{part}' is not NAME=VALUE")
        found[name.strip()] = read(value.strip())
    return found


class _Merged(argparse.Action):
    """May be given several times: what all of them say counts, and no name may have two values."""

    def __call__(self, parser: argparse.ArgumentParser, namespace: Any, values: Any, option_string: Any = None) -> None:
        before = getattr(namespace, self.dest, {})
        twice = next((name for name in values if before.get(name, values[name]) != values[name]), None)
        if twice is not None:
            name = f"'{twice}'" if twice else "all other metrics"
            parser.error(f"argument {option_string}: {name}: both {before[twice]} and {values[twice]} are given")
        setattr(namespace, self.dest, {**before, **values})


def _directions(text: str) -> dict[str, Any]:
    """`dice=higher,hd95=lower`; one word alone, kept under the empty name, means all other metrics."""
    from podium.tools.ranking.tables import as_direction

    def read(word: str) -> str:
        found = as_direction(word)
        if found is None:
            raise argparse.ArgumentTypeError(f"'{word}' is neither 'higher' nor 'lower'")
        return found

    parts = text.split(",")
    alone = [part.strip() for part in parts if "=" not in part]
    named = [part for part in parts if "=" in part]
    if len(alone) > 1:
        raise argparse.ArgumentTypeError(f"'{alone[0]}' and '{alone[1]}' are both meant for all metrics")
    found = _assignments(",".join(named), read=read) if named else {}
    return {"": read(alone[0]), **found} if alone else found


@dataclass(kw_only=True)
class RankOptions:
    example: ClassVar = "results/ --output ranking"
    sections: ClassVar = {
        _TABLES: "Long: the columns team, case, value and optionally metric, task, group, patient, direction. Wide: "
        "team, case, optionally task, group and patient, and one column per metric."
    }

    paths: Sequence[Path] = argument(
        "TEAM",
        "a team's folder or metrics.json, or a folder of teams or <team>.json; the platform's export of evaluations, "
        "one file or several pages; or one table of scores: .csv, .tsv, .parquet, or - for standard input",
    )
    output: Path = option(
        "DIR", "where to write the results; one folder per regime or task where these are separate", Path("ranking")
    )
    skip_broken: bool = flag("leave out teams without a usable metrics.json instead of stopping")
    per_team: Literal["newest", "best"] | None = choice(
        "which of a team's evaluations counts in the platform's export: the newest, or the one with the best score "
        "[newest]"
    )
    key: Path | None = option("FILE", "the organiser's secret key, which opens sealed rows")
    ground_truth: Path | None = option(
        "DIR",
        "the challenge's folder, whose metrics.py is run: its figures of all cases then have intervals",
    )
    scheme: Literal["official", "aggregate-then-rank", "rank-then-aggregate", "test-then-rank", "platform"] = choice(
        "how to rank: official: the challenge's own rule; aggregate-then-rank: by a statistic over cases "
        "(--statistic); rank-then-aggregate: by a statistic over the ranks in every case (--statistic); "
        "test-then-rank: by significant wins in paired tests (--holm); platform: as the live leaderboard ranks "
        "(--platform-method)",
        "official",
    )
    statistic: Literal["mean", "median", "quantile"] | None = choice(
        "with aggregate-then-rank or rank-then-aggregate [mean]"
    )
    quantile: Fraction | None = option("Q", "with --statistic quantile: which quantile, from the worse end [0.05]")
    holm: bool = flag("with test-then-rank: adjust p values over all ordered pairs")
    platform_method: Literal["absolute", "mean", "median"] | None = choice(
        "with the scheme platform [as in the challenge's phase settings]"
    )
    metrics: Sequence[str] = option(
        "NAME",
        "a per-case metric for the general schemes; may be repeated [those the challenge declares]",
        (),
        names=["--metric"],
    )
    weights: Mapping[str, float] = option(
        "NAME=W,...",
        "weights of the metrics' positions in the general schemes [1 each]",
        dict,
        type=partial(_assignments, read=_weight),
        action=_Merged,
    )
    arena: Path | None = option("FILE", "the arena's ratings, which order the finalists")
    tied_groups: bool = flag("with --arena: teams of a group, which the votes do not separate, share its rank")
    calibration: Path | None = option(
        "FILE", "what 'podium judge calibrate' wrote: the page shows how far the judge agrees with the clinicians"
    )
    direction: Mapping[str, Any] = option(
        "NAME=higher,...",
        "which direction of each metric is better; 'higher' or 'lower' alone means all others; hd95* means all metrics "
        "whose names start with hd95",
        dict,
        section=_TABLES,
        type=_directions,
        action=_Merged,
    )
    worst: Mapping[str, float] = option(
        "NAME=VALUE,...",
        "what a missing value counts as, by metric; hd95* as above",
        dict,
        section=_TABLES,
        type=partial(_assignments, read=_finite),
        action=_Merged,
    )
    missing: Literal["worst", "exclude", "error"] | None = choice(
        "a missing value counts as the worst, excludes its case for all teams, or is an error [worst]", section=_TABLES
    )
    bootstraps: Count | None = option(
        "N",
        "number of bootstrap replicates over cases, 0 for none [1,000; more below 50 cases]",
        names=["--replicates", "--bootstraps"],
    )
    seed: Count = option("N", "random seed for the bootstrap", 0)
    confidence: InnerFraction = option("C", "confidence level of every interval", 0.95)
    alpha: InnerFraction = option("A", "significance level of every test", 0.05)


def rank(options: RankOptions) -> int:
    from podium.tools.ranking.schemes import RankingOptions

    wanted = RankingOptions(
        scheme=_scheme(options),
        metrics=tuple(dict.fromkeys(options.metrics)),
        weights=options.weights,
        bootstraps=options.bootstraps,
        seed=options.seed,
        confidence=options.confidence,
        alpha=options.alpha,
        quantile=options.quantile if options.quantile is not None else RankingOptions.quantile,
        platform_method=options.platform_method,
        arena=options.arena,
        tied_groups=options.tied_groups,
        calibration=options.calibration,
        progress=show_progress,
    )
    with closing(show_progress("reading", 1)):
        cohorts = _cohorts(options)
    rank_cohorts(cohorts, options.output, wanted)
    return 0


def _scheme(options: RankOptions) -> str:
    """The scheme's full name. An option that the scheme does not use is an error."""
    readers = {
        "statistic": ("aggregate-then-rank", "rank-then-aggregate"),
        "holm": ("test-then-rank",),
        "platform_method": ("platform",),
        "arena": ("official",),
    }
    for name, schemes in readers.items():
        if getattr(options, name) and options.scheme not in schemes:
            raise UsageError(f"--{name.replace('_', '-')} belongs to --scheme {' or '.join(schemes)}.")
    if options.quantile is not None and options.statistic != "quantile":
        raise UsageError("--quantile belongs to --statistic quantile.")
    if options.tied_groups and not options.arena:
        raise UsageError("--tied-groups belongs to --arena.")
    if options.scheme == "rank-then-aggregate" and options.statistic == "quantile":
        raise UsageError("--scheme rank-then-aggregate takes --statistic mean or median.")
    scheme = options.scheme.replace("aggregate", options.statistic or "mean")
    return f"{scheme}-holm" if options.holm else scheme


def _cohorts(options: RankOptions) -> "Sequence[Cohort[Any]]":
    from podium.tools.ranking.documents import cohorts_from, with_own_code
    from podium.tools.ranking.tables import TableOptions, is_score_table, read_score_table, table_cohorts

    if not any(is_score_table(path) for path in options.paths):
        for name in ("direction", "worst", "missing"):
            if getattr(options, name):
                raise UsageError(f"--{name} belongs to a table of scores: a challenge declares its own metrics.")
        found = cohorts_from(options.paths, skip_broken=options.skip_broken, key=options.key, per_team=options.per_team)
        return found if options.ground_truth is None else [with_own_code(each, options.ground_truth) for each in found]
    if len(options.paths) > 1:
        raise UsageError("A table of scores is ranked alone: give one table, with all teams in it.")
    for name in ("arena", "calibration", "skip_broken", "key", "per_team", "ground_truth"):
        if getattr(options, name):
            raise UsageError(f"--{name.replace('_', '-')} belongs to metrics.json files, not to a table of scores.")
    wanted = TableOptions(
        directions=options.direction,
        worst=options.worst,
        weights=options.weights,
        missing=options.missing or "worst",
    )
    return table_cohorts(read_score_table(options.paths[0]), wanted)


def rank_cohorts(cohorts: "Sequence[Cohort[Any]]", output: Path, wanted: "RankingOptions") -> None:
    """Rank the teams of every cohort, write the rankings and print them."""
    from podium.tools.ranking.output import write_ranking, written_at_once
    from podium.tools.ranking.rank import consensus, rank_all
    from podium.tools.report.page import REPORT_FILE, write_report
    from podium.tools.report.ranking_report import consensus_report, ranking_report

    drawn = rank_all(cohorts, wanted)
    rankings = [each.ranking for each in drawn]
    are_tasks = len(cohorts) > 1 and cohorts[0].challenge.ranking is None
    agreed = consensus(drawn, wanted) if are_tasks else None
    with written_at_once(output) as building, closing(wanted.progress("writing", 2 * len(rankings))) as progress:
        for ranking, folder in zip(rankings, _folders(building, cohorts), strict=True):
            write_ranking(ranking, folder)
            page = ranking_report(ranking)
            progress.advance()
            write_report(page, folder / REPORT_FILE)
            progress.advance()
        if agreed:
            write_ranking(agreed, building)
            folders = [folder.name for folder in _folders(building, cohorts)]
            write_report(consensus_report(agreed, folders), building / REPORT_FILE)
    output_to, printed = console(), set[str]()
    for ranking, folder in zip(rankings, _folders(output, cohorts), strict=True):
        print_ranking(ranking, output_to, printed)
        output_to.print(cell(f"Written to {folder}; open {folder / REPORT_FILE}."))
    if agreed:
        print_consensus(agreed, output_to)
        output_to.print(cell(f"Written to {output}; open {output / REPORT_FILE}."))


# The tables at the terminal.


def print_ranking(ranking: "Ranking", output: "Console", printed: set[str]) -> None:
    """The final table with as many of its columns as fit, and below it the lines that are not among those `printed`."""
    from rich.measure import Measurement

    from podium.tools.ranking.output import table_columns
    from podium.tools.ranking.prose import sentences
    from podium.tools.ranking.wording import MARK

    division, columns = ", ".join(ranking.division.values()), table_columns(ranking)
    teams = [(team.rank, f"{team.name} *" if team.finalist else team.name) for team in ranking.teams]
    made = partial(_final_table, f"{ranking.title} ({division})" if division else ranking.title, teams)
    unbounded = output.options.update(max_width=UNBOUNDED)
    while columns[-1].is_optional and Measurement.get(output, unbounded, made(columns)).maximum > output.width:
        columns = columns[:-1]
    output.print(made(columns), "")
    scores = tuple(team.score for team in ranking.teams)
    hidden = sum(each.values != scores for each in ranking.columns) - sum(each.is_optional for each in columns)
    is_marked = any(MARK in remark for column in columns for remark in column.remarks)
    for line in sentences("terminal", ranking=ranking, hidden=hidden, is_marked=is_marked):
        if line not in printed:
            output.print(cell(line))
            printed.add(line)


def print_consensus(consensus: "Consensus", output: "Console") -> None:
    """The teams by mean rank over the tasks."""
    from podium.tools.ranking.output import consensus_columns

    teams = list(zip(consensus.consensus_ranks, consensus.teams, strict=True))
    output.print(_final_table(f"{consensus.title}: consensus", teams, consensus_columns(consensus)), "")
    if consensus.kemeny:
        output.print(cell(f"Kemeny order: {', '.join(consensus.kemeny)}."))


def _final_table(title: str, teams: Sequence[tuple[int | None, str]], columns: "Sequence[TableColumn]") -> "Table":
    headings = [each.head if each.is_optional else each.head.replace(" ", "\n", 1) for each in columns]
    made = table(title, "#", "Team", *headings, texts=["Team"])
    made.columns[1].min_width = min(20, max(len(name) for _, name in teams) + 2)
    for number, (rank, name) in enumerate(teams):
        cells = [cell(_terminal_cell(column, number)) for column in columns]
        marks = ["[bold green]{}[/]" if _is_best(column, number) else "{}" for column in columns]
        shown = (mark.format(text) for mark, text in zip(marks, cells, strict=True))
        made.add_row("-" if rank is None else str(rank), cell(name), *shown)
    return made


def _is_best(column: "TableColumn", number: int) -> bool:
    figures = [each for each in column.cells if isinstance(each, float)]
    best = max if column.best == "high" else min
    return bool(column.best and figures) and column.cells[number] == best(figures)


def _terminal_cell(column: "TableColumn", number: int) -> str:
    """The cell; below a figure its interval and a remark."""
    found, interval = column.cells[number], column.interval(number)
    if not isinstance(found, float):
        return column.text(number, nothing="-", dash="-").replace(" (", "\n(")
    # Figures of 0 to 1 need more places than those of 0 to 100.
    places = 2 if max(abs(each) for each in column.cells if isinstance(each, float)) > 10 else 3
    remark = column.remarks[number].replace(" resamples", "\nresamples") if column.remarks else ""
    below = f"[{interval[0]:.{places}f}, {interval[1]:.{places}f}]" if interval else ""
    return "\n".join(filter(None, (f"{found:.{places}f}", below, remark)))


def _folders(output: Path, cohorts: "Sequence[Cohort[Any]]") -> list[Path]:
    """One folder for every part that is ranked on its own; the name of a task may hold anything."""
    if len(cohorts) == 1:
        return [output]
    folders: list[Path] = []
    for number, cohort in enumerate(cohorts, start=1):
        parts = [re.sub(r"[^A-Za-z0-9_-]+", "_", value).strip("_") or "task" for value in cohort.division.values()]
        folder = output.joinpath(*parts) if parts else output / "task"
        folders.append(folder if folder not in folders else folder.with_name(f"{folder.name}_{number}"))
    return folders


# `podium report`: a web page from metrics.json or ranking.json.


@dataclass(kw_only=True)
class ReportOptions:
    sections: ClassVar = {
        _PICTURES: "For organisers only: they show the hidden reference. Without --images they are drawn on black."
    }

    file: Path = argument("FILE", "metrics.json, or ranking.json from 'podium rank', or the folder of one")
    output: Path | None = option("PATH", "the page to write, or a folder for report.html [the folder of the input]")
    key: Path | None = option("FILE", "the organiser's secret key, which opens the sealed rows of metrics.json")
    images: Path | None = option("DIR", "the images that the predictions belong to", section=_PICTURES)
    submission: Path | None = option(
        "DIR", "the submission; for a ranking a folder with one submission per team", section=_PICTURES
    )
    ground_truth: Path | None = option("DIR", "the challenge's folder", section=_PICTURES)
    window: Sequence[str] | None = option(
        "WINDOW",
        "grey levels of the pictures: LEVEL WIDTH, or liver, lung, bone, brain (of CT) or pet (of SUV) [2nd to 98th "
        "percentile around the reference]",
        None,
        section=_PICTURES,
        nargs="+",
        action="store",
    )
    viewer: bool = flag(
        "also show volumes in 3-D, with NiiVue, which 'podium arena viewer' fetches once", section=_PICTURES
    )


def report(options: ReportOptions) -> int:
    from podium.platform.metrics_file import METRICS_FILE
    from podium.tools.report.page import REPORT_FILE, write_report

    needed = {"--submission": options.submission, "--ground-truth": options.ground_truth}
    missing = [name for name, given in needed.items() if given is None]
    if missing and (options.images or options.viewer or options.window or len(missing) < len(needed)):
        are = "is" if len(missing) == 1 else "are"
        raise UsageError(
            f"Pictures of cases need --submission and --ground-truth; {' and '.join(missing)} {are} missing."
        )
    if options.file.is_dir():
        ranking = options.file / "ranking.json"
        options.file = ranking if ranking.is_file() else options.file / METRICS_FILE
    try:
        document = json.loads(read_given(options.file))
    except (ValueError, RecursionError):
        raise UsageError(f"{options.file} is neither a metrics.json nor a ranking.json written by Podium.") from None
    # By content, since files get renamed; the code that reads the file reports what else is wrong.
    is_ranking = isinstance(document, dict) and str(document.get("schema", "")).startswith("podium-ranking")
    if is_ranking and options.key:
        raise UsageError("--key belongs to a metrics.json; give it to 'podium rank'.")
    shown = no_progress if options.submission else show_progress  # overlays show how far they are by themselves
    with closing(shown("writing", 2)) as progress:
        page = _ranking_page(options) if is_ranking else _submission_page(options)
        progress.advance()
        target = options.output or options.file.parent
        if target.is_dir() or not target.suffix:
            target.mkdir(parents=True, exist_ok=True)
            target /= REPORT_FILE
        write_report(page, target)
    return end(f"Wrote {target}.")


def _submission_page(options: ReportOptions) -> "Report":
    from podium.platform.submission import submission_digest
    from podium.tools.ranking.documents import read_cohorts
    from podium.tools.report.submission_report import submission_report, worst_of_submission

    cohort = read_cohorts([options.file], key=options.key)[0]
    file = cohort.files[0]
    if options.submission and file.submission and submission_digest(options.submission) != file.submission:
        raise UsageError(f"The sealed rows of {file.label} belong to another submission than {options.submission}.")
    worst = {file.team: worst_of_submission(file, cohort.challenge)}
    submissions = {file.team: options.submission} if options.submission else {}
    pictures = _pictures(options, file.content.challenge, worst, submissions)
    return submission_report(file, cohort.challenge, pictures)


def _ranking_page(options: ReportOptions) -> "Report":
    from podium.tools.ranking.result import ranking_from_json
    from podium.tools.report.ranking_report import ranking_report
    from podium.tools.report.tables import worst_of_teams

    ranking = ranking_from_json(options.file.read_bytes(), name=str(options.file))
    submissions = {team.name: options.submission / team.name for team in ranking.teams} if options.submission else {}
    for team, submission in submissions.items():
        if "/" in team or not submission.exists():
            raise UsageError(f"There is no submission of the team '{team}' in {options.submission}.")
    return ranking_report(ranking, _pictures(options, ranking.challenge, worst_of_teams(ranking), submissions))


def _window(words: Sequence[str] | None) -> "Window | None":
    from podium.tools.report.overlays import WINDOWS

    if not words or (words[0] in WINDOWS and len(words) == 1):
        return words[0] if words else None
    try:
        level, width = map(float, words)
    except ValueError:
        level, width = 0, 0
    if not (abs(level) <= LARGEST and 0 < width <= LARGEST):
        raise UsageError(f"--window takes LEVEL WIDTH, such as 40 400, or one of {', '.join(WINDOWS)}.")
    return level, width


def _pictures(
    options: ReportOptions, challenge: str, worst: Mapping[str, Mapping[str, str]], submissions: Mapping[str, Path]
) -> "CasePictures | None":
    """Of these cases of every team, the best team first, if the submissions were given."""
    from podium.challenges.ground_truth import locate_ground_truth
    from podium.tools.report.overlays import OverlaySource

    if not submissions or options.ground_truth is None:
        return None
    viewer: Sequence[str] = ()
    if options.viewer:
        from podium.tools.arena.web.viewer import viewer_scripts

        viewer = viewer_scripts()
    with OverlaySource.open(
        window=_window(options.window),
        ground_truth=locate_ground_truth(options.ground_truth, beside=BAKED_GROUND_TRUTH),
        images=options.images,
        challenge=challenge,
        executor=WorkerOptions().executor(),
        viewer=viewer,
    ) as source:
        return source.draw_all(worst, submissions, label=str(options.file))
