"""Commands about all teams: `podium rank` and `podium report`."""

import argparse
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

from podium.cli.arguments import (
    UNBOUNDED,
    Group,
    Parser,
    Verbs,
    add_verb,
    cell,
    chosen_executor,
    console,
    count,
    end,
    inner_share,
    share,
    table,
)
from podium.errors import UsageError, read_given
from podium.execution.executor import no_progress, show_progress

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from podium.tools.ranking.documents import Cohort
    from podium.tools.ranking.output import TableColumn
    from podium.tools.ranking.result import Consensus, Ranking
    from podium.tools.ranking.schemes import RankingOptions
    from podium.tools.report.overlays import CasePictures
    from podium.tools.report.page import Report

GROUP: Group = "rank"
_SCHEMES = {
    "official": "the challenge's own rule",
    "aggregate-then-rank": "by a statistic over cases (--statistic)",
    "rank-then-aggregate": "by a statistic over the ranks in every case (--statistic)",
    "test-then-rank": "by significant wins in paired tests (--holm)",
    "platform": "as the live leaderboard ranks (--platform-method)",
}


def add_verbs(verbs: Verbs) -> None:
    add_rank(verbs)
    add_report(verbs)


def add_rank(verbs: Verbs) -> None:
    parser = add_verb(verbs, "rank", _rank, "rank the teams and say how certain the ranking is")
    parser.add_value(
        "paths",
        "TEAM",
        "a team's folder or metrics.json, or a folder of teams or <team>.json; or one table of scores: .csv, "
        ".tsv, .parquet, or - for standard input",
        type=Path,
        nargs="+",
    )
    parser.add_value(
        "--output",
        "DIR",
        "where to write the results; one folder per regime or task where these are separate",
        default=Path("ranking"),
    )
    parser.add_flag("--skip-broken", "leave out teams without a usable metrics.json instead of stopping")
    parser.add_value("--key", "FILE", "the organiser's secret key, which opens sealed rows")
    _add_scheme(parser)
    _add_table(parser)
    _add_statistics(parser)


def _add_scheme(parser: Parser) -> None:
    parser.add_argument(
        "--scheme",
        choices=list(_SCHEMES),
        default="official",
        help="how to rank: " + "; ".join(f"{name}: {words}" for name, words in _SCHEMES.items()) + " [%(default)s]",
    )
    parser.add_value(
        "--statistic", ("mean", "median", "quantile"), "with aggregate-then-rank or rank-then-aggregate [mean]"
    )
    parser.add_value(
        "--quantile", "Q", "with --statistic quantile: which quantile, from the worse end [0.05]", type=share
    )
    parser.add_flag("--holm", "with test-then-rank: adjust p values over all ordered pairs")
    parser.add_value(
        "--platform-method",
        ("absolute", "mean", "median"),
        "with the scheme platform [as in the challenge's phase settings]",
    )
    parser.add_value(
        "--metric",
        "NAME",
        "a per-case metric for the general schemes; may be repeated [those the challenge declares]",
        dest="metrics",
        action="append",
        default=[],
    )
    parser.add_value(
        "--weights",
        "NAME=W,...",
        "weights of the metrics' positions in the general schemes [1 each]",
        type=_assignments(_weight),
        action=_Merged,
        default={},
    )
    parser.add_value("--arena", "FILE", "the arena's ratings, which order the finalists")
    parser.add_flag(
        "--break-arena-ties", "with --arena: order teams of one group by their ratings; otherwise they share the rank"
    )
    parser.add_value(
        "--calibration",
        "FILE",
        "what 'podium judge calibrate' wrote: the page shows how far the judge agrees with the clinicians",
    )


def _add_table(parser: Parser) -> None:
    table = parser.add_argument_group(
        "tables of scores",
        "Long: the columns team, case, value and optionally metric, task, group, direction. Wide: team, case, "
        "optionally task and group, and one column per metric.",
    )
    table.add_value(
        "--direction",
        "NAME=higher,...",
        "which direction of each metric is better; 'higher' or 'lower' alone means all others; hd95* means all "
        "metrics whose names start with hd95",
        type=_directions,
        action=_Merged,
    )
    table.add_value(
        "--worst",
        "NAME=VALUE,...",
        "what a missing value counts as, by metric; hd95* as above",
        type=_assignments(_finite),
        action=_Merged,
    )
    table.add_value(
        "--missing",
        ("worst", "exclude", "error"),
        "a missing value counts as the worst, excludes its case for all teams, or is an error [worst]",
    )


def _add_statistics(parser: Parser) -> None:
    parser.add_argument(
        "--replicates",
        "--bootstraps",
        dest="bootstraps",
        type=count,
        default=1000,
        metavar="N",
        help="number of bootstrap replicates over cases, 0 for none [%(default)s]",
    )
    parser.add_value("--seed", "N", "random seed for the bootstrap", type=count, default=0)
    parser.add_value("--confidence", "C", "confidence level of every interval", type=inner_share, default=0.95)
    parser.add_value("--alpha", "A", "significance level of every test", type=inner_share, default=0.05)


def _rank(options: argparse.Namespace) -> int:
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
        break_arena_ties=options.break_arena_ties,
        calibration=options.calibration,
        progress=show_progress,
    )
    with closing(show_progress("reading", 1)):
        cohorts = _cohorts(options)
    rank_cohorts(cohorts, options.output, wanted)
    return 0


def _scheme(options: argparse.Namespace) -> str:
    """The scheme's full name. An option that the scheme does not use is an error."""
    readers = {
        "statistic": ("aggregate-then-rank", "rank-then-aggregate"),
        "holm": ("test-then-rank",),
        "platform_method": ("platform",),
        "arena": ("official",),
    }
    for option, schemes in readers.items():
        if getattr(options, option) and options.scheme not in schemes:
            raise UsageError(f"--{option.replace('_', '-')} belongs to --scheme {' or '.join(schemes)}.")
    if options.quantile is not None and options.statistic != "quantile":
        raise UsageError("--quantile belongs to --statistic quantile.")
    if options.break_arena_ties and not options.arena:
        raise UsageError("--break-arena-ties belongs to --arena.")
    statistic = options.statistic or "mean"
    match options.scheme:
        case "aggregate-then-rank":
            return f"{statistic}-then-rank"
        case "rank-then-aggregate":
            if statistic == "quantile":
                raise UsageError("--scheme rank-then-aggregate takes --statistic mean or median.")
            return f"rank-then-{statistic}"
        case "test-then-rank":
            return "test-then-rank-holm" if options.holm else "test-then-rank"
    return str(options.scheme)


def _cohorts(options: argparse.Namespace) -> "Sequence[Cohort[Any]]":
    from podium.tools.ranking.documents import read_cohorts
    from podium.tools.ranking.tables import TableOptions, is_score_table, read_score_table, table_cohorts

    if not any(is_score_table(path) for path in options.paths):
        for option in ("direction", "worst", "missing"):
            if getattr(options, option):
                raise UsageError(f"--{option} belongs to a table of scores: a challenge declares its own metrics.")
        return read_cohorts(options.paths, skip_broken=options.skip_broken, key=options.key)
    if len(options.paths) > 1:
        raise UsageError("A table of scores is ranked alone: give one table, with all teams in it.")
    for option in ("arena", "calibration", "skip_broken", "key"):
        if getattr(options, option):
            raise UsageError(f"--{option.replace('_', '-')} belongs to metrics.json files, not to a table of scores.")
    wanted = TableOptions(
        directions=options.direction or {},
        worst=options.worst or {},
        weights=options.weights,
        missing=options.missing or "worst",
    )
    return table_cohorts(read_score_table(options.paths[0]), wanted)


def rank_cohorts(cohorts: "Sequence[Cohort[Any]]", output: Path, wanted: "RankingOptions") -> None:
    """Rank the teams of every cohort, write the rankings and print them."""
    from podium.tools.ranking.output import write_consensus, write_ranking, written_at_once
    from podium.tools.ranking.rank import consensus, rank, rank_tasks
    from podium.tools.report.page import REPORT_FILE, write_report
    from podium.tools.report.ranking_report import consensus_report, ranking_report

    are_tasks = len(cohorts) > 1 and cohorts[0].challenge.ranking is None
    drawn = rank_tasks(cohorts, wanted) if are_tasks else None
    rankings = [each.ranking for each in drawn] if drawn else [rank(cohort, wanted) for cohort in cohorts]
    agreed = consensus(drawn, wanted) if drawn else None
    with written_at_once(output) as building, closing(wanted.progress("writing", 2 * len(rankings))) as progress:
        for ranking, folder in zip(rankings, _folders(building, cohorts), strict=True):
            write_ranking(ranking, folder)
            page = ranking_report(ranking)
            progress.advance()
            write_report(page, folder / REPORT_FILE)
            progress.advance()
        if agreed:
            write_consensus(agreed, building)
            folders = [folder.name for folder in _folders(building, cohorts)]
            write_report(consensus_report(agreed, folders), building / REPORT_FILE)
    output_to, said = console(), set[str]()
    for ranking, folder in zip(rankings, _folders(output, cohorts), strict=True):
        print_ranking(ranking, output_to, said)
        output_to.print(cell(f"Written to {folder}."))
    if agreed:
        print_consensus(agreed, output_to)
        output_to.print(cell(f"Written to {output}."))


# The tables at the terminal.


def print_ranking(ranking: "Ranking", output: "Console", said: set[str]) -> None:
    """The final table with as many of its columns as fit, and below it the lines that are not among those `said`."""
    from rich.measure import Measurement

    from podium.tools.ranking.output import table_columns

    columns = table_columns(ranking)
    unbounded = output.options.update(max_width=UNBOUNDED)
    while (
        columns[-1].is_optional
        and Measurement.get(output, unbounded, _final_table(ranking, columns)).maximum > output.width
    ):
        columns = columns[:-1]
    output.print(_final_table(ranking, columns), "")
    for line in _lines_below(ranking, columns):
        if line not in said:
            output.print(cell(line))
            said.add(line)


def _final_table(ranking: "Ranking", columns: "Sequence[TableColumn]") -> "Table":
    division = ", ".join(ranking.division.values())
    headings = [each.head if each.is_optional else each.head.replace(" ", "\n", 1) for each in columns]
    title = f"{ranking.title} ({division})" if division else ranking.title
    made = table(title, "#", "Team", *headings, texts=["Team"])
    made.columns[1].min_width = min(20, max(len(team.name) for team in ranking.teams) + 2)
    for number, team in enumerate(ranking.teams):
        name = team.name + (" *" if team.finalist else "")
        cells = (cell(_terminal_cell(column, number)) for column in columns)
        made.add_row("-" if team.rank is None else str(team.rank), cell(name), *cells)
    return made


def _terminal_cell(column: "TableColumn", number: int) -> str:
    from podium.tools.ranking.output import rank_range

    found = column.cells[number]
    if found is None:
        return "-"
    if isinstance(found, tuple):
        return rank_range(found, "-")
    if isinstance(found, str):
        return found.replace(" (", "\n(")
    # Figures of 0 to 1 need more places than those of 0 to 100.
    largest = max(abs(each) for each in column.cells if isinstance(each, int | float))
    remark = column.remarks[number].replace(" resamples", "\nresamples") if column.remarks else ""
    shown = _figure(found, column.interval(number), places=2 if largest > 10 else 3)
    return f"{shown}\n{remark}" if remark else shown


def _figure(value: float, interval: tuple[float, float] | None, *, places: int) -> str:
    """The figure, and its interval on a second line."""
    below = f"\n[{interval[0]:.{places}f}, {interval[1]:.{places}f}]" if interval else ""
    return f"{value:.{places}f}{below}"


def _lines_below(ranking: "Ranking", columns: "Sequence[TableColumn]") -> "Iterator[str]":
    """Notes first: few cases, doubtful results, teams that are left out; that on a mark only if a column shows it."""
    from podium.tools.ranking.wording import MARK, confidence_words
    from podium.tools.ranking.wording import count as count_words

    is_marked = any(MARK in remark for column in columns for remark in column.remarks)
    yield from (note for note in ranking.notes if is_marked or not note.startswith(MARK))
    scores = tuple(team.score for team in ranking.teams)
    hidden = sum(each.values != scores for each in ranking.columns) - sum(each.is_optional for each in columns)
    if hidden:
        yield f"{count_words(hidden, 'column is', 'columns are')} not shown here; ranking.csv has all columns."
    yield f"Rule: {ranking.deciding.words}."
    if ranking.deciding.score_intervals:
        yield f"Brackets show {confidence_words(ranking.methods.confidence)} intervals over cases."
    if any(team.finalist for team in ranking.teams):
        yield "* ordered by the arena's ratings" if ranking.arena else "* goes on to the arena"
    if ranking.deciding.stability and ranking.deciding.stability.taus.median is not None:
        stable = ranking.deciding.stability
        yield (
            f"The median Kendall's tau between {stable.replicates:,} bootstrap replicates and this order is "
            f"{stable.taus.median:.2f}; '1st' is the probability of winning."
        )
    if ranking.differences:
        yield "Teams in the same group do not differ significantly from the group's best team."


def print_consensus(consensus: "Consensus", output: "Console") -> None:
    """The teams by mean rank over the tasks."""
    from podium.tools.ranking.output import rank_range
    from podium.tools.ranking.wording import confidence_words

    drawn = [f"Rank {confidence_words(consensus.confidence)}"] if consensus.stability else []
    made = table(f"{consensus.title}: consensus", "#", "Team", "Mean rank", *drawn, *consensus.tasks, texts=["Team"])
    for number, team in enumerate(consensus.teams):
        ends = consensus.mean_rank_intervals[number] if consensus.mean_rank_intervals else None
        mean = _figure(consensus.mean_ranks[number], ends, places=3)
        cells = [str(consensus.consensus_ranks[number]), team, mean]
        if consensus.stability:
            cells.append(rank_range(consensus.stability.rank_intervals[number], "-"))
        made.add_row(*map(cell, cells), *(str(ranks[number]) for ranks in consensus.ranks))
    output.print(made, "")
    if consensus.kemeny:
        output.print(cell(f"Kemeny order: {', '.join(consensus.kemeny)}."))


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


def _assignments(read: Callable[[str], Any]) -> Callable[[str], dict[str, Any]]:
    """`name=value,...`; a name may hold a `=`, a value does not."""

    def parse(text: str) -> dict[str, Any]:
        found = {}
        for part in text.split(","):
            name, equals, value = part.rpartition("=")
            if not equals or not name.strip():
                raise argparse.ArgumentTypeError(f"'{part}' is not NAME=VALUE")
            found[name.strip()] = read(value.strip())
        return found

    return parse


class _Merged(argparse.Action):
    """May be given several times: what all of them say counts, and no name may have two values."""

    def __call__(self, parser: argparse.ArgumentParser, namespace: Any, values: Any, option_string: Any = None) -> None:
        before = getattr(namespace, self.dest) or {}
        twice = next((name for name in values if before.get(name, values[name]) != values[name]), None)
        if twice is not None:
            name = f"'{twice}'" if twice else "all other metrics"
            parser.error(f"argument {option_string}: {name}: both {before[twice]} and {values[twice]} are given")
        setattr(namespace, self.dest, {**before, **values})


def _finite(text: str) -> float:
    from podium.figures import finite_number

    try:
        value = finite_number(float(text))
    except ValueError:
        value = None
    if value is None:
        raise argparse.ArgumentTypeError(f"'{text}' is not a finite number")
    return value


def _weight(text: str) -> float:
    value = _finite(text)
    if value <= 0:
        raise argparse.ArgumentTypeError(f"the weight {text} is not positive")
    return value


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
    found = _assignments(read)(",".join(named)) if named else {}
    return {"": read(alone[0]), **found} if alone else found


# `podium report`: a web page from metrics.json or ranking.json.


def add_report(verbs: Verbs) -> None:
    parser = add_verb(verbs, "report", _report, "make a web page of a metrics.json or a ranking.json")
    parser.add_value("file", "FILE", "metrics.json, or ranking.json from 'podium rank'")
    parser.add_value("--output", "PATH", "the page to write, or a folder for report.html [the folder of the input]")
    parser.add_value("--key", "FILE", "the organiser's secret key, which opens the sealed rows of metrics.json")
    overlays = parser.add_argument_group(
        "pictures of the worst cases",
        "For organisers only: they show the hidden reference. Without --images they are drawn on black.",
    )
    overlays.add_value("--images", "DIR", "the images that the predictions belong to")
    overlays.add_value("--submission", "DIR", "the submission; for a ranking a folder with one submission per team")
    overlays.add_value("--ground-truth", "DIR", "the challenge's folder")
    overlays.add_flag("--viewer", "also show volumes in 3-D, with NiiVue, which 'podium arena viewer' fetches once")


def _report(options: argparse.Namespace) -> int:
    from podium.tools.report.page import REPORT_FILE, write_report

    needed = {"--submission": options.submission, "--ground-truth": options.ground_truth}
    missing = [name for name, given in needed.items() if given is None]
    if missing and (options.images or options.viewer or len(missing) < len(needed)):
        are = "is" if len(missing) == 1 else "are"
        raise UsageError(
            f"Pictures of cases need --submission and --ground-truth; {' and '.join(missing)} {are} missing."
        )
    is_ranking = _is_ranking(options.file)
    if is_ranking and options.key:
        raise UsageError("--key belongs to a metrics.json; give it to 'podium rank'.")
    shown = no_progress if options.submission else show_progress  # overlays show how far they are by themselves
    with closing(shown("writing", 2)) as progress:
        report = _ranking_page(options) if is_ranking else _submission_page(options)
        progress.advance()
        target = options.output or options.file.parent
        if target.is_dir() or not target.suffix:
            target.mkdir(parents=True, exist_ok=True)
            target /= REPORT_FILE
        write_report(report, target)
    return end(f"Wrote {target}.")


def _is_ranking(path: Path) -> bool:
    """By content, since files get renamed; the code that reads the file reports what else is wrong."""
    try:
        document = json.loads(read_given(path))
    except (ValueError, RecursionError):
        raise UsageError(f"{path} is neither a metrics.json nor a ranking.json written by Podium.") from None
    return isinstance(document, dict) and str(document.get("schema", "")).startswith("podium-ranking")


def _submission_page(options: argparse.Namespace) -> "Report":
    from podium.tools.ranking.documents import read_cohorts
    from podium.tools.report.submission_report import submission_report, worst_of_submission

    cohort = read_cohorts([options.file], key=options.key)[0]
    file = cohort.files[0]
    worst = {file.team: worst_of_submission(file, cohort.challenge)}
    pictures = _pictures(options, file.content.challenge, worst, {file.team: options.submission})
    return submission_report(file, cohort.challenge, pictures)


def _ranking_page(options: argparse.Namespace) -> "Report":
    from podium.tools.ranking.result import ranking_from_json
    from podium.tools.report.ranking_report import ranking_report
    from podium.tools.report.tables import worst_of_teams

    ranking = ranking_from_json(options.file.read_bytes(), name=str(options.file))
    submissions = {}
    for team in ranking.teams if options.submission else ():
        submissions[team.name] = options.submission / team.name
        if "/" in team.name or not submissions[team.name].exists():
            raise UsageError(f"There is no submission of the team '{team.name}' in {options.submission}.")
    return ranking_report(ranking, _pictures(options, ranking.challenge, worst_of_teams(ranking), submissions))


def _pictures(
    options: argparse.Namespace, challenge: str, worst: Mapping[str, Mapping[str, str]], submissions: Mapping[str, Path]
) -> "CasePictures | None":
    """Of these cases of every team, the best team first, if the submissions were given."""
    from podium.tools.report.overlays import OverlaySource

    if options.submission is None:
        return None
    viewer: Sequence[str] = ()
    if options.viewer:
        from podium.tools.arena.web.viewer import viewer_scripts

        viewer = viewer_scripts()
    with OverlaySource.open(
        ground_truth=options.ground_truth,
        images=options.images,
        challenge=challenge,
        executor=chosen_executor(options),
        viewer=viewer,
    ) as source:
        return source.draw_all(worst, submissions, label=str(options.file))
