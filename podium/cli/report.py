"""`podium report`: a web page from metrics.json or ranking.json."""

import argparse
import json
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING

from podium.cli.arguments import Verbs, add_verb, chosen_executor, end
from podium.errors import UsageError

if TYPE_CHECKING:
    from podium.ranking.result import Ranking
    from podium.report.files.writing import Report
    from podium.report.overlay_pictures import OverlayPicture
    from podium.report.worst_overlays import OverlaySource


def add_verbs(verbs: Verbs) -> None:
    summary = "make a web page of one submission's metrics.json, or of a ranking.json"
    parser = add_verb(verbs, "report", _report, summary)
    parser.add_argument("file", type=Path, metavar="FILE", help="metrics.json, or ranking.json from 'podium rank'")
    parser.add_argument("--output", type=Path, metavar="FILE", help="the page to write [report.html beside the input]")
    parser.add_argument(
        "--key",
        type=Path,
        metavar="FILE",
        help="the organiser's secret key, which opens the sealed rows of metrics.json",
    )
    overlays = parser.add_argument_group(
        "overlays of the worst cases",
        "For organisers only: they show the hidden reference. All three options are needed.",
    )
    overlays.add_argument("--images", type=Path, metavar="DIR", help="the images that the predictions belong to")
    overlays.add_argument(
        "--submission",
        type=Path,
        metavar="DIR",
        help="the submission; for a ranking a folder with one submission per team",
    )
    overlays.add_argument("--ground-truth", type=Path, metavar="DIR", help="the challenge's folder")


def _report(options: argparse.Namespace) -> int:
    from podium.report.files.writing import REPORT_FILE, Report, write_report

    given = [options.images, options.submission, options.ground_truth]
    if any(given) and not all(given):
        raise UsageError("Overlays need all of --images, --submission and --ground-truth.")
    is_ranking = _is_ranking(options.file)
    if is_ranking and options.key:
        raise UsageError("--key belongs to a metrics.json; give it to 'podium rank'.")
    report = _ranking_page(options) if is_ranking else Report(page=_submission_page(options))
    target = options.output or options.file.parent / REPORT_FILE
    write_report(report, target)
    return end(f"Wrote {target}.")


def _is_ranking(path: Path) -> bool:
    """By content, since files get renamed; whatever else is wrong is said by who reads it."""
    try:
        document = json.loads(path.read_bytes())
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}.") from None
    except (ValueError, RecursionError):
        raise UsageError(f"{path} is neither a metrics.json nor a ranking.json written by Podium.") from None
    return isinstance(document, dict) and str(document.get("schema", "")).startswith("podium-ranking")


def _submission_page(options: argparse.Namespace) -> str:
    from podium.ranking.documents import read_cohorts
    from podium.report.submission_report import submission_report, worst_captions
    from podium.report.worst_overlays import OVERLAYS

    cohort = read_cohorts([options.file], key=options.key)[0]
    file = cohort.files[0]
    overlays: Sequence[OverlayPicture] = ()
    if options.images:
        worst = worst_captions(file, cohort.challenge, most=OVERLAYS)
        with _overlay_source(options, file.content.challenge) as source:
            overlays = source.draw(worst, options.submission, label=str(options.file))
    return submission_report(file, cohort.challenge, overlays)


def _ranking_page(options: argparse.Namespace) -> "Report":
    from podium.ranking.ranking_file import ranking_from_json
    from podium.report.ranking_report import ranking_report

    ranking = ranking_from_json(options.file.read_bytes(), name=str(options.file))
    return ranking_report(ranking, _ranking_overlays(options, ranking) if options.images else None)


def _ranking_overlays(options: argparse.Namespace, ranking: "Ranking") -> Mapping[str, Sequence["OverlayPicture"]]:
    """The teams' worst cases, the best team first, for as long as the page stays small."""
    from podium.report.team_pages import worst_captions
    from podium.report.worst_overlays import MOST_BYTES, OVERLAYS

    found: dict[str, Sequence[OverlayPicture]] = {}
    room = MOST_BYTES
    with _overlay_source(options, ranking.challenge) as source:
        for row, team in enumerate(ranking.teams):
            submission = options.submission / team.name
            if "/" in team.name or not submission.exists():
                raise UsageError(f"There is no submission of the team '{team.name}' in {options.submission}.")
            worst = worst_captions(ranking, row, most=OVERLAYS)
            pictures = source.draw(worst, submission, label=str(options.file))
            room -= sum(picture.size for picture in pictures)
            if room < 0:
                break
            found[team.name] = pictures
    return found


def _overlay_source(options: argparse.Namespace, challenge: str) -> "AbstractContextManager[OverlaySource]":
    from podium.report.worst_overlays import OverlaySource

    return OverlaySource.open(
        ground_truth=options.ground_truth,
        images=options.images,
        challenge=challenge,
        executor=chosen_executor(options),
    )
