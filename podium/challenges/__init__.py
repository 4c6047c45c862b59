"""The kinds of challenges, one package each, and how the tables of a challenge.toml become a challenge."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from podium.challenges.base import AnyChallenge, Kind
from podium.challenges.board import BOARD_TABLES, examine_board, extend
from podium.challenges.format import ChallengeFolder
from podium.challenges.settings import (
    CASES,
    SEALED,
    CasesSettings,
    ChallengeFile,
    SealedSettings,
    problems_of,
    unknown_key,
    without_problems,
)
from podium.errors import ConfigurationError, ValidationProblem
from podium.platform.privacy import Column


def _declared() -> Kind[Any]:
    from podium.challenges.declared import DECLARED

    return DECLARED


def _freehand() -> Kind[Any]:
    from podium.challenges.freehand import FREEHAND

    return FREEHAND


def _lesions() -> Kind[Any]:
    from podium.challenges.lesions import LESIONS

    return LESIONS


def _reports() -> Kind[Any]:
    from podium.challenges.reports import REPORTS

    return REPORTS


_LOADERS = {"declared": _declared, "freehand": _freehand, "lesions": _lesions, "reports": _reports}


class _Kinds(Mapping[str, Kind[Any]]):
    """Every kind by its name. One that is not asked for is not imported: each takes a tenth of a second."""

    def __getitem__(self, name: str) -> Kind[Any]:
        return _LOADERS[name]()

    def __iter__(self) -> Iterator[str]:
        return iter(_LOADERS)

    def __len__(self) -> int:
        return len(_LOADERS)

    def __contains__(self, name: object) -> bool:
        return name in _LOADERS  # a mapping would load the kind to see


KINDS: Mapping[str, Kind[Any]] = _Kinds()


@dataclass(frozen=True, kw_only=True)
class Assembled:
    """The challenge that tables describe, and everything that is wrong with them. Wrong tables are replaced by
    defaults, so that what depends on the others can be checked; there is no challenge where that is not possible.
    `code_error` says why the organiser's own code could not be run."""

    challenge: AnyChallenge | None
    problems: Sequence[ValidationProblem]
    code_error: ConfigurationError | None = None


def assemble(name: str, kind_name: str, tables: Mapping[str, Any]) -> Assembled:
    """The challenge of a known kind under the given tables."""
    kind = KINDS[kind_name]
    known = (CASES, SEALED, *BOARD_TABLES, *kind.own_tables)
    problems = [ValidationProblem(key=(key,), words=unknown_key(key, known)) for key in tables if key not in known]
    problems += problems_of(SealedSettings, tables.get(SEALED, {}), (SEALED,))
    cases_problems = problems_of(CasesSettings, tables.get(CASES, {}), (CASES,))
    cases = CasesSettings.model_validate(without_problems(tables.get(CASES, {}), cases_problems, depth=1))
    examined = kind.examined(tables)
    board, board_problems, lost = examine_board(tables)
    problems += [*cases_problems, *examined.problems, *board_problems]
    if examined.settings is None:
        return Assembled(challenge=None, problems=problems)
    challenge = kind.build(name, cases, examined.settings)
    kind_confidential = challenge.confidential
    extended = extend(
        challenge.scoreboard,
        challenge.ranking,
        board,
        confidential=kind_confidential,
        excused=examined.excused | lost,
    )
    challenge = replace(
        challenge,
        board=board,
        scoreboard=extended.board,
        ranking=extended.ranking,
        confidential=extended.confidential,
    )
    taken = [
        ValidationProblem(key=("case_figures", name), words="is the name of something that rows keep; choose another")
        for name in board.case_figures
        if name in kind_confidential
    ]
    return Assembled(challenge=challenge, problems=[*problems, *extended.problems, *taken])


def load_challenge(folder: ChallengeFolder) -> AnyChallenge:
    """The challenge under the settings of its challenge.toml."""
    assembled = _assembled(folder.name, folder.common.kind, folder.file)
    if assembled.code_error is not None:
        raise assembled.code_error
    if assembled.problems or assembled.challenge is None:
        raise folder.file.refusal(assembled.problems)
    return assembled.challenge


def phase_columns(folder: ChallengeFolder) -> Sequence[Column]:
    """What a phase of this challenge can show, given what `per_case` publishes of this number of cases."""
    challenge = load_challenge(folder)
    if folder.common.per_case == "full" or not folder.references.is_dir():
        return challenge.phase_columns()
    references, _ = challenge.format.look_for_references(folder.references)
    return challenge.phase_columns(hidden=references)


def problems_of_file(name: str, file: ChallengeFile) -> Assembled:
    """Everything that is wrong with a challenge.toml; there is no challenge where its kind is not known."""
    try:
        kind = file.known_kind(KINDS)
    except ConfigurationError:
        others = [problem for problem in file.common_problems() if problem.key not in (("kind",), ("challenge",))]
        return Assembled(challenge=None, problems=others)
    assembled = _assembled(name, kind, file)
    return replace(assembled, problems=[*file.common_problems(), *assembled.problems])


def _assembled(name: str, kind_name: str, file: ChallengeFile) -> Assembled:
    """The challenge of a challenge.toml, whose values must stand where its submissions have them."""
    kind, tables = KINDS[kind_name], file.tables()
    problems = [
        ValidationProblem(key=(key,), words="is no table of challenge.toml: it is made from metrics.py")
        for key in kind.code_tables
        if tables.pop(key, None) is not None
    ]
    added, code_error = _own_code(kind, file)
    assembled = assemble(name, kind_name, {**tables, **added})
    if assembled.challenge is not None and kind.fits_submission is not None:
        challenge = assembled.challenge
        problems += kind.fits_submission(challenge.cases, challenge.settings, file.submission)
    if assembled.challenge is not None and assembled.challenge.ranking.by_case and file.per_case == "none":
        words = 'is positions_by_case, which needs the rows of single cases; per_case = "none" publishes none'
        problems.append(ValidationProblem(key=("ranking", "method"), words=words))
    others = [each for each in assembled.problems if code_error is None or each.key[-1] != "kind"]
    return replace(assembled, problems=[*others, *problems], code_error=code_error)


def _own_code(kind: Kind[Any], file: ChallengeFile) -> tuple[Mapping[str, Any], ConfigurationError | None]:
    """The tables that the organiser's code adds, or why it cannot be run."""
    try:
        return (kind.own_code(file.path.parent) if kind.own_code is not None else {}), None
    except ConfigurationError as error:
        return {}, error


def published_settings(challenge: AnyChallenge) -> dict[str, Any]:
    """The settings as metrics.json holds them: the tables of challenge.toml, defaults filled in."""
    board = challenge.board.model_dump(mode="json", exclude_defaults=True)
    own = KINDS[challenge.kind].published(challenge.settings)
    return {CASES: challenge.cases.model_dump(mode="json"), **own, **board}


def challenge_from_settings(name: str, kind: str, settings: Mapping[str, Any]) -> AnyChallenge:
    """The challenge under published settings; raises ConfigurationError where they are not known here."""
    assembled = assemble(name, kind, _with_added_settings(KINDS[kind], settings))
    if assembled.problems or assembled.challenge is None:
        raise ConfigurationError(str(assembled.problems[0]))
    return assembled.challenge


def _with_added_settings(kind: Kind[Any], settings: Mapping[str, Any]) -> Mapping[str, Any]:
    """Offline tools publish tables of their own beside the kind's, such as the judge's: they are settings of the
    kind."""
    if kind.tables:
        return settings
    added = {key: value for key, value in settings.items() if key not in (CASES, kind.name, *BOARD_TABLES)}
    kept = {key: value for key, value in settings.items() if key not in added}
    return {**kept, kind.name: {**settings.get(kind.name, {}), **added}}


def challenge_for_format(kind: str) -> AnyChallenge:
    """A challenge that can read predictions where the real settings are not at hand."""
    return KINDS[kind].challenge(kind, cases={}, own=KINDS[kind].format_settings)
