"""An organiser's own check before a build: everything that is wrong with a challenge's folder, at once."""

import hashlib
import logging
import math
import re
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any, get_args

from podium.challenges import load_file
from podium.challenges.board import undecided_formulas
from podium.challenges.challenge import AnyChallenge
from podium.challenges.ground_truth import (
    CHALLENGE_FILE,
    METRICS_CODE,
    NAMED,
    REFERENCES,
    Description,
    check_name,
    equal_but_for_letter_case,
    lines_of,
)
from podium.challenges.settings import ENGINE, ChallengeFile, Common
from podium.errors import ConfigurationError, Refused, ValidationProblem, listed
from podium.evaluation import MISSING, problems_of_cases
from podium.execution.executor import Executor
from podium.figures import Figures, get, holds, put
from podium.metrics.declaration import GivenFigure, Metric
from podium.metrics.engines import EngineName
from podium.packages import preload_readers
from podium.platform.jobs import Runtime
from podium.platform.metrics_file import CaseResult, CaseScore, MetricsFile
from podium.readers.files import list_files
from podium.tools.ranking.documents import Cohort, TeamFile
from podium.tools.ranking.facts import gather_facts
from podium.tools.ranking.official import MissingFigure, official_ranking
from podium.tools.ranking.schemes import RankingOptions

MOST_COMPARED = 10  # references that both engines are compared on, and an organiser's own metrics are tried on
ENGINES = get_args(EngineName)

_INSTANT = 1e-3  # seconds: faster than any limit
_MACRO = ".macro"
_NEARLY = 1e-3  # METEOR of a text and itself is not quite 1
_NAMES_A_TABLE = re.compile(r"'[^']+\.(?:csv|tsv|json)'")
_LEAST_CLIP = 0.01  # of log_loss: one case costs 4.6 at most
_BARE_TABLE = "predictions.csv"  # the platform's name of a submission that is one CSV
_MOST_PLAYED = 6  # references that the ranking rule is tried on


@dataclass(kw_only=True)
class Checked:
    """What was found in one challenge's folder: errors stop a build; people read warnings and statistics."""

    name: str
    errors: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    statistics: list[str] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class _Examined:
    """One reference, read in full; `images` is None where images are not compared."""

    description: Description
    digest: bytes
    images: Sequence[Sequence[str]] | None
    perfect: CaseScore | None  # of a prediction that nothing is wrong with


def check(name: str, path: Path, *, images: Path | None, executor: Executor) -> Checked:
    """Check settings and references of the challenge in `path`; with `images` also sizes against the images."""
    checked = Checked(name=name)
    try:
        file = ChallengeFile(path / CHALLENGE_FILE)
    except ConfigurationError as error:
        checked.errors.append(str(error))
        return checked
    for examine in (partial(check_name, name, path), file.known_kind):
        try:
            examine()
        except ConfigurationError as error:
            checked.errors.append(str(error))
    if checked.errors:
        others = [each for each in file.read_common()[1] if each.key not in (("kind",), ("challenge",))]
        checked.errors += [str(file.refuse(problem.key, problem.words)) for problem in others]
        return checked
    try:
        loaded = load_file(name, file)
    except ConfigurationError as error:  # of the organiser's own code
        checked.errors.append(str(error))
        return checked
    checked.errors += [str(file.refuse(problem.key, problem.words)) for problem in loaded.problems]
    challenge = loaded.challenge
    if challenge is None:
        return checked
    common, _ = file.read_common()
    if common is not None and challenge.tables.sealed.public_key is None:
        disclosure = challenge.disclosure(())
        what = {"none": "all rows", "anonymous": "what teams are ranked by in rows"}.get(common.per_case)
        if what and (common.per_case == "none" or disclosure.revealing.intersection(disclosure.ranked)):
            checked.warnings.append(
                f'per_case = "{common.per_case}" hides {what}, and there is no key in [sealed]: the ranking will have '
                "neither intervals nor tests. Make a key with 'podium keys new', or rank with 'podium batch'."
            )
    if common is not None and common.per_case != "full":
        checked.warnings += _revealing_metrics(challenge)
    if common is not None and common.submission != "algorithm":
        checked.warnings += _renamed_tables(challenge)
    if images is not None and not challenge.has_overlays:
        checked.warnings.append(f"References of the kind '{challenge.kind}' are not compared with images.")
    references = _references(path, common, challenge, checked)
    best = None if loaded.problems or checked.errors else _natively(challenge)
    undecided = _examine(challenge, references, images, executor, checked, best=best)
    checked.errors += [str(file.refuse(problem.key, problem.words)) for problem in undecided]
    if common is not None and common.per_case != "full" and references:
        checked.statistics += challenge.disclosure(references, per_case=common.per_case).sentences()
    return checked


def _revealing_metrics(challenge: AnyChallenge) -> Iterator[str]:
    """Figures that give single cases away although `per_case` hides them."""
    for metric in getattr(challenge.settings, "metrics", ()):
        clip = getattr(metric.settings, "clip", None)
        if metric.kind.name == "log_loss" and clip is not None and clip < _LEAST_CLIP:
            yield (
                f"log_loss with clip = {clip:g} shows single errors in the mean of all cases, which per_case hides: "
                f"give a clip of at least {_LEAST_CLIP:g}."
            )


def _renamed_tables(challenge: AnyChallenge) -> Iterator[str]:
    """A table that may be the whole submission, and has another name on the platform."""
    values = [each for each in getattr(challenge.settings, "values", {}).values() if each.is_predicted]
    places = {each.table or "" for each in values}
    if len(places) == 1 and (name := places.pop().lower()).endswith(".csv") and name != _BARE_TABLE:
        yield (
            f"The platform delivers a bare CSV as '{_BARE_TABLE}', whatever its name was, and '{name}' would not be "
            f'found: write table = "{_BARE_TABLE}", or ask for a .zip file.'
        )


def _references(path: Path, common: Common | None, challenge: AnyChallenge, checked: Checked) -> Mapping[str, Any]:
    """The complete references by case; what is wrong with their names and number is added to `checked`."""
    folder = path / REFERENCES
    if not folder.is_dir():
        checked.errors.append("The ground truth has no folder 'references'.")
        return {}
    references, problems = challenge.look_for_references(folder)
    if not references and not problems:
        checked.errors.append("The ground truth holds no reference.")
    incomplete = {problem.where for problem in problems}
    expected = None if common is None else common.expected_cases
    problems = [*problems, *problems_of_cases(challenge, references, expected=expected)]
    checked.errors += lines_of(problems)
    if not challenge.layout.ignore_case:
        checked.warnings += [
            f"{' and '.join(names)} differ only in upper and lower case."
            for names in equal_but_for_letter_case(references)
        ]
    for case in sorted(references):
        for suffix in challenge.layout.suffixes:
            other = case.removesuffix(suffix)
            if other != case and other in references:
                channel = f"'{suffix}' is a channel of an image"
                checked.errors.append(f"{case} cannot be distinguished from {other}: {channel}.")
            elif other != case:
                checked.warnings.append(f"{case} ends in '{suffix}' like a channel of an image: is it a reference?")
    return {case: reference for case, reference in references.items() if case not in incomplete}


def _examine(  # noqa: PLR0913  (what is examined, and by whom)
    challenge: AnyChallenge,
    references: Mapping[str, Any],
    images: Path | None,
    executor: Executor,
    checked: Checked,
    *,
    best: AnyChallenge | None,
) -> Sequence[ValidationProblem]:
    """Read every reference in full: errors, warnings and statistics go to `checked`; what is wrong with the settings
    for these references is returned. `best` scores a perfect submission, where the settings are right and the packages
    installed."""
    files = list_files(images).files if images is not None else None
    has_own = bool(getattr(challenge.settings, "own_metrics", None))

    def examine(case: str) -> _Examined:
        content = challenge.read_reference(references[case])
        description = challenge.describe_reference(content)
        digest = _digest(challenge, references[case])
        found = None
        if files is not None and challenge.has_overlays:
            geometries = challenge.geometries(content)
            found = challenge.check_images(case, challenge.shapes(content), geometries, files)
        perfect = None
        if best is not None:
            with suppress(ImportError, Refused):  # a package that scoring needs is not installed, or own code fails
                perfect = best.row(best.perfect_case(content))
        return _Examined(description=description, digest=digest, images=found, perfect=perfect)

    preload_readers(challenge.libraries)
    outcomes = executor.run(sorted(references), examine, label="checking references")
    examined: dict[str, _Examined] = {}
    for case, outcome in outcomes.items():
        if outcome.value is not None:
            examined[case] = outcome.value
        else:
            error = str(outcome.error)
            own = challenge.reference_files(references[case])
            named = [file for file in own if file.name in error] or (own if not _NAMES_A_TABLE.match(error) else ())
            where = f"{REFERENCES}/{named[0].name}" if named else case
            checked.errors.append(f"{where}: {outcome.error} {outcome.detail or ''}".rstrip())
    if examined and has_own:
        some = [references[case] for case in sorted(examined)[:MOST_COMPARED]]

        def try_code(_: str) -> Sequence[str]:
            return challenge.try_own_metrics(map(challenge.read_reference, some))

        tried = executor.run([METRICS_CODE], try_code, label="trying own metrics")[METRICS_CODE]
        checked.errors += tried.value if tried.value is not None else [f"{METRICS_CODE}: {tried.error}"]
    checked.warnings += _warnings(examined)
    descriptions = [each.description for each in examined.values()]
    undecided: Sequence[ValidationProblem] = ()
    if descriptions and len(descriptions) == len(references):  # else too little is known of all
        checked.warnings += challenge.doubts_about_all(descriptions)
        perfect = {case: each.perfect for case, each in examined.items() if each.perfect is not None}
        if best is not None and len(perfect) == len(examined):
            undecided = _score_the_best(best, perfect, checked)
        if best is not None and best.ranking.criteria and not checked.errors:
            empty = [case for case, each in perfect.items() if each.undefined]
            logging.disable(logging.INFO)  # figures without a value, of submissions that nobody made
            try:
                checked.warnings += _play(best, references, empty, executor)
            finally:
                logging.disable(logging.NOTSET)
    checked.statistics += [f"cases: {len(references)}", *_statistics(descriptions)]
    if best is not None and len(references) > _MOST_PLAYED:
        checked.statistics.append(f"ranking rule tried on: {_MOST_PLAYED} of {len(references)} cases")
    return undecided


def _natively(challenge: AnyChallenge) -> AnyChallenge:
    """The challenge by Podium's own code, which is faster and needs fewer packages."""
    own = _by_engine(challenge, "native")
    own.scoreboard = replace(own.scoreboard, tables={})
    return own


def _by_engine(challenge: AnyChallenge, engine: EngineName) -> AnyChallenge:
    """The challenge with its figures computed by an engine; itself where none of them is."""
    if not _has_engine(challenge):
        return challenge
    again = type(challenge)(challenge.name, challenge.tables.model_copy(update={ENGINE: engine}))
    again.complete()
    return again


def _has_engine(challenge: AnyChallenge) -> bool:
    return ENGINE in challenge.tables_model.model_fields


def _play(
    challenge: AnyChallenge, references: Mapping[str, Any], empty: Sequence[str], executor: Executor
) -> Iterator[str]:
    """Where, on few references (half of them `empty`) and damaged copies of them, a perfect submission is not first, or
    leaving out a case improves the position."""
    mixed = sorted(references, key=lambda case: (case not in empty[: _MOST_PLAYED // 2], case))[:_MOST_PLAYED]

    def answers(case: str) -> Sequence[CaseScore]:
        content = challenge.read_reference(references[case])
        with suppress(ImportError):
            copies = [challenge.perfect_case(content), *challenge.damaged_cases(content)[1:]]
            return [*map(challenge.row, copies), challenge.score_missing(content)]
        return ()

    outcomes = executor.run(mixed, answers, label="trying the ranking rule")
    scores = {case: outcome.value for case, outcome in outcomes.items() if outcome.value}
    best, lost = dict.fromkeys(scores, 0), -1
    copies = [dict.fromkeys(scores, number) for number in range(1, min(map(len, scores.values()), default=0) - 1)]
    some = sorted(scores)[::2]
    try:
        worse = [*copies, *({**best, case: each[case]} for each in copies for case in some)]
        if any(_is_ahead(challenge, scores, each, best) for each in worse):
            yield "By the ranking rule, a perfect submission is not first: a damaged copy of the references is ahead."
        for each in (best, *copies):
            for case in some:
                if _is_ahead(challenge, scores, {**each, case: lost}, each):
                    yield f"By the ranking rule, a submission can gain by leaving out a case, such as {case}."
                    return
    except MissingFigure:  # of a tool that runs later, such as the judge
        return


def _is_ahead(
    challenge: AnyChallenge, scores: Mapping[str, Sequence[CaseScore]], one: Mapping[str, int], other: Mapping[str, int]
) -> bool:
    """Whether a submission with these answers of every case ranks before another."""
    files: list[TeamFile] = []
    for answers in (one, other):
        lost = {case: number < 0 for case, number in answers.items()}
        results = [
            _grouped(
                challenge,
                scores[case][number].result(case, status="missing", error=MISSING)
                if lost[case]
                else scores[case][number].result(case),
            )
            for case, number in answers.items()
        ]
        runtime = Runtime(by_case={case: _INSTANT for case in answers if not lost[case]})
        parts: dict[str, Any] = {"aggregates": challenge.aggregate(results, runtime), "results": results}
        content = MetricsFile.model_construct(**parts)
        files.append(TeamFile(team=str(len(files)), label="", content=content))
    facts = gather_facts(Cohort(challenge=challenge, division={}, files=files), RankingOptions())
    first, second = official_ranking(facts, RankingOptions()).outcome.ranks[0].tolist()
    return bool(first < second)


def _grouped(challenge: AnyChallenge, row: CaseResult) -> CaseResult:
    return row.model_copy(update={"groups": challenge.cases.groups_of(row.case)})


def _score_the_best(
    challenge: AnyChallenge, rows: Mapping[str, CaseScore], checked: Checked
) -> Sequence[ValidationProblem]:
    """A perfect submission: formulas that do not say what becomes of a term which these references leave without a
    value; and a warning for each other figure that teams are ranked by, formula and mean over classes that is not best.
    """
    results = [_grouped(challenge, row.result(case)) for case, row in rows.items()]
    found = challenge.aggregate(results, Runtime(by_case=dict.fromkeys(rows, _INSTANT)))
    undecided = [*undecided_formulas(challenge.tables.figures, challenge.scoreboard, found)]
    checked.warnings += _doubts_about_the_best(challenge, found, skipped=[each.key[1] for each in undecided])
    return undecided


def _doubts_about_the_best(challenge: AnyChallenge, found: Figures, *, skipped: Collection[Any]) -> Iterator[str]:
    board = challenge.scoreboard
    figures: dict[str, Metric | GivenFigure] = {metric.mean_path: metric for metric in board.metrics}
    figures |= {each.path: each for each in (*board.cohort_metrics, *board.formulas)}
    paths = [*(each.path for each in challenge.ranking.criteria), *challenge.tables.figures]
    paths += [path for path in figures if path.endswith(_MACRO)]
    for path in dict.fromkeys(paths):
        if (figure := figures.get(path)) is None or path in skipped:
            continue
        best = figure.highest if figure.direction == "higher" else figure.lowest
        if not holds(found, path):
            yield f"A perfect submission has no value for '{path}': these references leave it undefined."
        elif math.isfinite(best) and abs(get(found, path) - best) > _NEARLY * max(1.0, abs(best)):
            absent = " A declared class without a case counts 0 in it." if path.endswith(_MACRO) else ""
            score = f"{get(found, path):.4g}"
            yield f"A perfect submission scores {score} in '{path}', not the best value, {best:g}.{absent}"


# The two engines on damaged copies of the references: evidence for a choice.


@dataclass(kw_only=True)
class EngineComparison:
    """One metric by both engines: the largest difference of any of its figures, and the CPU seconds that its figures of
    single cases took each engine."""

    difference: float = 0.0
    seconds: dict[str, float] = field(default_factory=lambda: dict.fromkeys(ENGINES, 0.0))

    @property
    def ratio(self) -> float | None:
        return self.seconds["monai"] / self.seconds["native"] if self.seconds["native"] else None


def compare_engines(name: str, path: Path, *, executor: Executor) -> Mapping[str, EngineComparison]:
    """Every metric that the engines compute differently, on damaged copies of up to `MOST_COMPARED` references; nothing
    where there is none. The challenge must be free of errors."""
    given = load_file(name, ChallengeFile(path / CHALLENGE_FILE)).challenge
    if given is None or not _has_engine(given):
        return {}
    both = {each: _by_engine(given, each) for each in ENGINES}
    references, _ = given.look_for_references(path / REFERENCES)
    preload_readers()
    for challenge in both.values():
        challenge.import_packages()

    def compare(case: str) -> dict[str, list[tuple[dict[str, Any], dict[str, float]]]]:
        expected = given.read_reference(references[case])
        return {
            engine: [_timed_row(challenge, each) for each in challenge.damaged_cases(expected)]
            for engine, challenge in both.items()
        }

    outcomes = executor.run(sorted(references)[:MOST_COMPARED], compare, label="comparing engines")
    found: dict[str, EngineComparison] = {}
    rows: dict[str, list[CaseResult]] = {engine: [] for engine in ENGINES}
    for case, outcome in outcomes.items():
        for engine, scored in (outcome.value or {}).items():
            for number, (row, seconds) in enumerate(scored):
                rows[engine].append(CaseResult(case=f"{case} {number}", status="scored", metrics=row))
                for metric, spent in seconds.items():
                    found.setdefault(metric, EngineComparison()).seconds[engine] += spent
    for one, other in zip(*rows.values(), strict=True):
        _note_differences(found, one.metrics, other.metrics)
    if rows[ENGINES[0]]:
        theirs, ours = (both[engine].aggregate(rows[engine], Runtime()) for engine in ENGINES)
        _note_differences(found, theirs, ours)
    packages = [both[engine].computed_by for engine in ENGINES]
    differ = tuple(metric for metric, package in packages[0].items() if package != packages[1][metric])
    ends = tuple(f"_{metric}" for metric in differ)  # lesions have auc_dice, final_dice, ...
    return {name: each for name, each in found.items() if name in differ or name.endswith(ends)}


def _timed_row(challenge: AnyChallenge, case: Any) -> tuple[dict[str, Any], dict[str, float]]:
    """The row of a case, and the CPU seconds of each metric, by the first part of its name."""
    row: dict[str, Any] = {}
    seconds: dict[str, float] = {}
    for metric in challenge.scoreboard.metrics:
        if metric.compute is not None:
            began = time.process_time()
            value = None if challenge.has_no_reference(case, metric.of) else metric.compute(case)
            put(row, metric.name, None if isinstance(value, str) else value)
            part = metric.name.partition(".")[0]
            seconds[part] = seconds.get(part, 0.0) + time.process_time() - began
    return {**row, **challenge.facts(case)}, seconds


def _note_differences(found: dict[str, EngineComparison], theirs: Figures, ours: Figures, metric: str = "") -> None:
    for key, value in theirs.items():
        name, other = metric or key, ours.get(key)
        if isinstance(value, Mapping) and isinstance(other, Mapping):
            _note_differences(found, value, other, name)
        elif isinstance(value, int | float) and isinstance(other, int | float):
            entry = found.setdefault(name, EngineComparison())
            entry.difference = max(entry.difference, abs(value - other))
        elif value is None and other is not None:
            found.setdefault(name, EngineComparison()).difference = math.inf


def _digest(challenge: AnyChallenge, reference: Any) -> bytes:
    """A digest of the case's own file, which is the first: others may be shared. Rows of a table may be equal."""
    files = challenge.reference_files(reference)
    if not files:
        return b""
    with files[0].path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").digest()


def _warnings(examined: Mapping[str, _Examined]) -> Sequence[str]:
    same: dict[bytes, list[str]] = {}
    doubted: dict[str, list[str]] = {}
    for case, each in examined.items():
        same.setdefault(each.digest, []).append(case)
        for doubt in each.description.doubts:
            doubted.setdefault(doubt, []).append(case)
        if each.images is not None and not each.images:
            doubted.setdefault("There is no image of this case.", []).append(case)
        for parts in dict.fromkeys(map(tuple, each.images or ())):
            if parts:
                differs = f"{' and '.join(parts)} of an image and of the reference differ"
                doubt = f"The {differs}: one of them may be flipped, rotated or in another space."
                doubted.setdefault(doubt, []).append(case)
    warnings = [
        f"{listed(cases, most=NAMED)}: These references have the same content."
        for digest, cases in same.items()
        if digest and len(cases) > 1
    ]
    return warnings + [f"{listed(cases, most=NAMED)}: {doubt}" for doubt, cases in doubted.items()]


def _statistics(descriptions: Sequence[Description]) -> Sequence[str]:
    lines = []
    for name in dict.fromkeys(key for each in descriptions for key in each.categories):
        values = [each.categories[name] for each in descriptions if name in each.categories]
        lines.append(f"{name}: " + ", ".join(f"{values.count(value)} {value}" for value in sorted(set(values))))
    for name in dict.fromkeys(key for each in descriptions for key in each.figures):
        figures = [each.figures[name] for each in descriptions if name in each.figures]
        lines.append(f"{name}: {min(figures):.4g} to {max(figures):.4g}, median {median(figures):.4g}")
    return lines
