"""A participant's own check before submitting: every problem at once, without ground truth.

`validate` reads a submission as the evaluation would. A `Manifest` is the public list of cases that it checks against.
"""

import json
import os
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path, PurePosixPath
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from podium.challenges import (
    challenge_class,
    challenge_for_format,
    challenge_from_settings,
    load_challenge,
    published_settings,
)
from podium.challenges.challenge import AnyChallenge
from podium.challenges.ground_truth import CHALLENGE_FILE, read_challenge_folders
from podium.challenges.settings import KIND_NAMES
from podium.errors import UsageError, first_problem, read_given
from podium.evaluation import AnyPath, Task, find_challenge
from podium.execution.executor import Executor, available_workers
from podium.execution.processes import Processes
from podium.packages import preload_readers
from podium.pairing import Unmatched
from podium.platform.metrics_file import html_table, sorted_outside, summarise_warnings
from podium.platform.submission import Submission, SubmissionShape, open_submission, submission_names
from podium.readers.files import escape_for_display
from podium.readers.geometry import Geometry
from podium.sandbox.client import decoders

MISSING = "is missing."
_NUMBER = re.compile(r"\d+")
_UNPACKED_LIMIT_BYTES = 64 * 1024**3  # without a case list the size of the predictions is unknown


class Manifest(BaseModel):
    """A challenge's published rules, the names of its cases, and the shapes and geometries of their arrays: no value of
    a reference. Files of the second version have no geometries."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)  # before: the key "schema_name"

    schema_name: Literal["podium-manifest-2", "podium-manifest-3"] = Field("podium-manifest-3", alias="schema")
    challenge: str
    kind: str
    title: str
    version: str
    submission: SubmissionShape = "any"
    settings: Mapping[str, Any]
    cases: Mapping[str, Mapping[str, tuple[int, ...]]]
    geometries: Mapping[str, Mapping[str, Geometry]] | None = None

    def load_challenge(self) -> AnyChallenge:
        """The challenge under the manifest's settings."""
        return challenge_from_settings(self.challenge, self.kind, dict(self.settings))


def make_manifest(task: Task) -> Manifest:
    """The manifest of a challenge whose ground truth was read."""
    return Manifest(
        challenge=task.challenge.name,
        kind=task.challenge.kind,
        title=task.folder.common.title,
        version=task.folder.common.version,
        submission=task.folder.common.submission,
        settings=published_settings(task.challenge),
        cases={case: task.checked[case].shapes for case in task.cases},
        geometries={case: task.checked[case].geometries for case in task.cases},
    )


def write_manifest(manifest: Manifest, path: Path) -> None:
    """As JSON, the same bytes for the same manifest."""
    content = sorted_outside(manifest.model_dump(mode="json", by_alias=True))
    path.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")


def read_manifest(path: Path) -> Manifest:
    """Raises UsageError where the file is not a manifest of a known kind of challenge."""
    try:
        manifest = Manifest.model_validate_json(read_given(path))
    except ValidationError as error:
        raise UsageError(f"{path} is not a case list made by 'podium manifest': {first_problem(error)}.") from None
    if manifest.kind not in KIND_NAMES:
        raise UsageError(f"{path} is for a challenge of the kind '{manifest.kind}', which is not known here.")
    return manifest


@dataclass(frozen=True, kw_only=True)
class Problem:
    """`where` is a case or a file, `what` a sentence."""

    where: str
    what: str


@dataclass(frozen=True, kw_only=True, repr=False)
class ValidationReport:
    """What was checked, and what is wrong with it.

    Attributes:
        warnings: what is not wrong but may cost points.
        case_warnings: these warnings by case.
        not_checked: what the evaluation checks and could not be checked here.
    """

    challenge: str
    cases: int
    problems: Sequence[Problem]
    warnings: Sequence[str] = ()
    case_warnings: Mapping[str, Sequence[str]] = field(default_factory=dict)
    not_checked: Sequence[str] = ()

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong with what was checked."""
        return not self.problems

    @property
    def verdict(self) -> str:
        """Where there is no problem: "ready", or "ready, with 2 warnings", of which each has a line."""
        count = len(self.warnings) + len(summarise_warnings(self.case_warnings))
        return f"ready{f', with {count} warning' * (count > 0)}{'s' * (count > 1)}"

    def __repr__(self) -> str:
        found = self.verdict if self.ok else f"{len(self.problems)} problems"
        return f"<{self.challenge}: {self.cases} predictions, {found}>"

    def _repr_html_(self) -> str:
        return html_table(repr(self)[1:-1], ["where", "what"], [(each.where, each.what) for each in self.problems])


def validate(
    submission: AnyPath,
    *,
    cases: AnyPath | Manifest | None = None,
    challenge: str | None = None,
    ground_truth: AnyPath | None = None,
    executor: Executor | None = None,
) -> ValidationReport:
    """Check a submission without references, as the evaluation would read it: every problem at once.

    Args:
        submission: a folder or an archive.
        cases: the challenge's public case list, or its file as `podium manifest` writes it. It adds what is missing,
            extra or of a wrong shape.
        challenge: without a case list, which challenge it is; by default what the submission looks like.
        ground_truth: a challenge's folder, or a folder of several. Without a case list, a declared challenge needs its
            challenge.toml; references are not read.
        executor: what works on the cases; by default as many processes as there are cores.
    """
    executor = executor or Processes(workers=available_workers())
    submission = Path(submission)
    manifest = read_manifest(Path(cases)) if isinstance(cases, str | os.PathLike) else cases
    if manifest:
        chosen = manifest.load_challenge()
        limit = chosen.submission_bytes(list(manifest.cases.values()))
    else:
        chosen = _challenge_without_manifest(submission, challenge, Path(ground_truth) if ground_truth else None)
        limit = _UNPACKED_LIMIT_BYTES
    shape = manifest.submission if manifest else "any"
    libraries = chosen.libraries
    with (
        decoders(libraries=libraries, logged=False) as found,
        open_submission(submission, max_bytes=limit, shape=shape) as opened,
    ):
        collected = chosen.pair(opened, manifest.cases.keys() if manifest else None)

        def check(case: str) -> Sequence[str]:
            shapes = manifest.cases[case] if manifest else None
            geometries = (manifest.geometries or {}).get(case, {}) if manifest else {}
            return chosen.check_prediction(collected.predictions[case], shapes, geometries)

        folder_warning = _folder_warning(chosen, opened, expected=manifest.cases if manifest else None)
        predicted = sorted(collected.predictions)
        if found is None:
            preload_readers(libraries)
        chosen.share_cores(workers=executor.workers, cases=len(predicted))
        outcomes = executor.run(predicted, check, label="checking")
    problems = [Problem(where=case, what=outcome.error) for case, outcome in outcomes.items() if outcome.error]
    problems += [Problem(where=case, what=reason) for case, reason in sorted(collected.refused.items())]
    if manifest:
        answered = {*collected.predictions, *collected.refused}
        problems += [Problem(where=case, what=MISSING) for case in sorted(manifest.cases) if case not in answered]
    absent = {problem.where for problem in problems if problem.what == MISSING}
    problems += _misnamed(collected.unmatched, absent)
    if collected.runtime.problem:
        problems.append(Problem(where="time", what=collected.runtime.problem))
    if not collected.predictions and not problems:
        problems.append(Problem(where="submission", what="holds no prediction."))
    return ValidationReport(
        challenge=chosen.name,
        cases=len(collected.predictions),
        problems=problems,
        warnings=[each for each in (collected.runtime.warning, folder_warning, *collected.notes) if each],
        case_warnings={case: outcome.value or () for case, outcome in outcomes.items()},
        not_checked=list(_not_checked(chosen, manifest)),
    )


def _misnamed(unmatched: Sequence[Unmatched], absent: Collection[str]) -> Iterator[Problem]:
    """What belongs to no case, with a hint where its name is that of an absent case in another spelling. Names that
    differ in their numbers alone are one problem."""
    cases = {tuple(word for word, _ in _words(case)): case for case in absent}
    alike: dict[str, list[Unmatched]] = {}
    for each in unmatched:
        alike.setdefault(_NUMBER.sub("#", each.name), []).append(each)
    for pattern, found in alike.items():
        hints = [f"{spelled} -> {case}" for each in found for spelled, case in _meant(each.name, cases)]
        hint = f" Rename as in {hints[0]}." if hints else ""
        reason = found[0].reason.removesuffix(".")
        if len(found) == 1:
            yield Problem(where=found[0].name, what=f"belongs to no case: {reason}.{hint}")
        else:
            what = f"{len(found)} files of this pattern belong to no case: {found[0].name}: {reason}.{hint}"
            yield Problem(where=pattern, what=what)


def _words(name: str) -> Sequence[tuple[str, re.Match[str]]]:
    """Runs of letters and numbers, these without leading zeros, and where each stands."""
    return [(each[0].lstrip("0").casefold(), each) for each in re.finditer(r"\d+|[^\W\d_]+", name)]


def _meant(name: str, cases: Mapping[tuple[str, ...], str]) -> Iterator[tuple[str, str]]:
    """The part of a name that spells a case, and the case."""
    words = _words(name)
    for first, last in combinations(range(len(words) + 1), 2):
        if case := cases.get(tuple(word for word, _ in words[first:last])):
            yield name[words[first][1].start() : words[last - 1][1].end()], case


def _folder_warning(challenge: AnyChallenge, submission: Submission, *, expected: Collection[str] | None) -> str | None:
    """A warning where all files are in one folder and their cases are known by its name alone."""
    names = [file.name for file in submission.files]
    folder = os.path.commonpath([PurePosixPath(name).parent for name in names]) if names else ""
    templates = challenge.layout.files
    for name in names if folder and (expected is None or len(expected) > 1) else ():
        rest = name[len(folder) + 1 :]
        if any(each.match(name) for each in templates) and not any(each.match(rest) for each in templates):
            return (
                f"All files are in the folder '{escape_for_display(folder)}'. The platform removes such a folder from "
                f"an archive, and '{escape_for_display(name)}' then belongs to no case: add a file beside the folder."
            )
    return None


def _not_checked(challenge: AnyChallenge, manifest: Manifest | None) -> Iterator[str]:
    """What only a case list says, or a newer one."""
    if manifest is None:
        yield "which cases are expected"
        if challenge.libraries:
            yield "the sizes of arrays and images"
    if "SimpleITK" in challenge.libraries and (manifest is None or manifest.geometries is None):
        yield "the spacing, origin and direction of images"


def challenges_at_hand(ground_truth: Path | None) -> Mapping[str, AnyChallenge]:
    """Challenges whose predictions can be read without a case list, by name: the kinds in code, and the declared
    challenges whose challenge.toml is in the ground truth; no reference is read."""
    in_code = [kind for kind in KIND_NAMES if challenge_class(kind).without_settings is not None]
    found = {kind: challenge_for_format(kind) for kind in in_code}
    if ground_truth is not None and ground_truth.is_dir():
        for name, folder in read_challenge_folders(ground_truth).items():
            if folder.common.kind not in in_code:
                found[name] = load_challenge(folder)
    return found


def _challenge_without_manifest(submission: Path, named: str | None, ground_truth: Path | None) -> AnyChallenge:
    if named is not None and (os.sep in named or (Path(named) / CHALLENGE_FILE).is_file()):
        return load_challenge(find_challenge(Path(named), None))
    known = challenges_at_hand(ground_truth)
    choices = ", ".join(sorted(known))
    if named is None:
        names = submission_names(submission)
        fitting = [name for name, each in known.items() if each.recognises(names)]
        if len(fitting) != 1:
            raise UsageError(f"Name the challenge with --challenge ({choices}), or give its case list with --cases.")
        named = fitting[0]
    if named not in known:
        raise UsageError(f"There is no challenge '{named}'. Available: {choices}.")
    return known[named]
