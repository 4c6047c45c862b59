"""From the tables of a challenge.toml, or of metrics.json, to a challenge: three steps, each only if the one before is
clean, and all problems of a step at once.

1. tables       keys, types, ranges, formulas, kinds of values and metrics: `Tables.read`
2. settings     what does not fit together: `Tables.problems`
3. names        what formulas, leaderboard and ranking name: `Challenge.complete`

After the second step there is a challenge, whose references can be read.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from podium.challenges.challenge import AnyChallenge
from podium.challenges.ground_truth import METRICS_CODE, ChallengeFolder
from podium.challenges.settings import CASES, ENGINE, KIND_NAMES, ChallengeFile
from podium.errors import ConfigurationError, ValidationProblem
from podium.platform.leaderboard import Column
from podium.platform.submission import SubmissionShape

OWN_METRICS = "own_metrics"


@dataclass(frozen=True, kw_only=True)
class Loaded:
    """The challenge that tables describe, None where they are wrong, and everything that is wrong with them. Where
    there is a challenge and problems, these are names of figures: it can read references."""

    challenge: AnyChallenge | None
    problems: Sequence[ValidationProblem]


def challenge_class(kind: str) -> type[AnyChallenge]:
    """The class of a kind, which is imported when it is first used: each import takes a tenth of a second."""
    if kind not in KIND_NAMES:
        raise KeyError(kind)
    found: type[AnyChallenge] = getattr(
        import_module(f"podium.challenges.{kind}.challenge"), f"{kind.title()}Challenge"
    )
    return found


def load_tables(
    name: str, kind: str, content: Mapping[str, Any], *, submission: SubmissionShape | None = None
) -> Loaded:
    """The challenge of a known kind under these tables."""
    found = challenge_class(kind)
    tables, problems = found.tables_model.read(content)
    if tables is not None:
        problems = tables.problems(submission)
    if tables is None or problems:
        return Loaded(challenge=None, problems=problems)
    challenge = found(name, tables)
    return Loaded(challenge=challenge, problems=challenge.complete())


def load_file(name: str, file: ChallengeFile, *, without: Collection[Sequence[str | int]] = ()) -> Loaded:
    """The challenge of a challenge.toml, whose kind must be known, without these entries of its tables;
    ConfigurationError where the organiser's own code cannot be run."""
    common, found = file.read_common()
    problems, content = [*found], {**file.tables}
    for table, entry in without:
        content[str(table)] = {key: each for key, each in content[str(table)].items() if key != entry}
    if OWN_METRICS in content:
        words = "is not a table of challenge.toml: metrics.py provides it"
        problems.append(ValidationProblem(key=(OWN_METRICS,), words=words))
        del content[OWN_METRICS]
    kind = file.known_kind()
    content |= challenge_class(kind).tables_model.own_code(file.path.parent / METRICS_CODE)
    loaded = load_tables(name, kind, content, submission=None if common is None else common.submission)
    challenge = loaded.challenge
    if challenge is not None:
        problems += challenge.cases.read_facts(file.path.parent)
    if challenge is not None and challenge.ranking.by_case and common is not None and common.per_case == "none":
        method = challenge.ranking.method
        words = f'is {method}, which needs the rows of single cases; per_case = "none" publishes none'
        problems.append(ValidationProblem(key=("ranking", "method"), words=words))
    return Loaded(challenge=challenge, problems=[*problems, *loaded.problems])


def load_challenge(folder: ChallengeFolder, *, despite_names: bool = False) -> AnyChallenge:
    """The challenge under the settings of its challenge.toml; `despite_names`: also where its formulas are wrong or
    name figures that do not exist, which are then left out."""
    loaded = load_file(folder.name, folder.file)
    if loaded.challenge is None and despite_names:
        wrong = {each.key[:2] for each in loaded.problems if each.key[0] in ("figures", "case_figures")}
        loaded = load_file(folder.name, folder.file, without=wrong)
    if loaded.challenge is None or (loaded.problems and not despite_names):
        raise folder.file.refusal(loaded.problems)
    return loaded.challenge


def phase_columns(folder: ChallengeFolder) -> Sequence[Column]:
    """What a phase of this challenge can show, given what `per_case` publishes for this number of cases."""
    challenge = load_challenge(folder)
    if folder.common.per_case == "full" or not folder.references.is_dir():
        return challenge.phase_columns()
    references, _ = challenge.look_for_references(folder.references)
    return challenge.phase_columns(hidden=references)


def published_settings(challenge: AnyChallenge) -> dict[str, Any]:
    """The settings as metrics.json holds them: the tables of challenge.toml, defaults filled in."""
    tables = challenge.tables.published()
    return {**tables, CASES: {**tables[CASES], "ignore_case": challenge.layout.ignore_case}}


def challenge_from_settings(name: str, kind: str, settings: Mapping[str, Any]) -> AnyChallenge:
    """The challenge under published settings; raises ConfigurationError where they are not known here."""
    loaded = load_tables(name, kind, _with_added_settings(kind, settings))
    if loaded.problems or loaded.challenge is None:
        raise ConfigurationError(str(loaded.problems[0]))
    return loaded.challenge


def _with_added_settings(kind: str, settings: Mapping[str, Any]) -> Mapping[str, Any]:
    """Offline tools publish further tables, such as the judge's: they are read as settings of the kind."""
    known = challenge_class(kind).tables_model.model_fields
    added = {key: value for key, value in settings.items() if key not in known and key != ENGINE}
    if kind not in known or not added:
        return settings
    kept = {key: value for key, value in settings.items() if key not in added}
    return {**kept, kind: {**settings.get(kind, {}), **added}}


def challenge_for_format(kind: str) -> AnyChallenge:
    """A challenge that can read predictions where the real settings are not available."""
    return challenge_from_settings(kind, kind, challenge_class(kind).without_settings or {})
