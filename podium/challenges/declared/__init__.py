"""A challenge from its challenge.toml alone: values, metrics, time; figures, leaderboard and ranking are common to all.

See docs/declared.md for the format and docs/metrics.md for the catalogue.
"""

import hashlib
import traceback
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from pydantic import ValidationError

from podium.challenges.base import Challenge, Kind, Scorer
from podium.challenges.board import NO_RULE, title_of
from podium.challenges.declared.catalogue.base import Declared, DeclaredCase, fitting_values
from podium.challenges.declared.catalogue.own import own_kind
from podium.challenges.declared.format import DeclaredFormat, Sources
from podium.challenges.declared.pictures import DeclaredOverlays, pictures_of
from podium.challenges.declared.settings import (
    OWN_METRICS,
    DeclaredSettings,
    examine,
    fits_submission,
    metric_settings,
    values_of,
)
from podium.challenges.declared.value_settings import MISSING
from podium.challenges.declared.values import AnyValueKind, ClassValue, Compared
from podium.challenges.format import METRICS_CODE
from podium.challenges.settings import CasesSettings
from podium.challenges.time_rule import cohort_times, time_figures, time_given
from podium.errors import ConfigurationError, first_problem
from podium.figures import Figures, put
from podium.metrics.classification import confusion_counts
from podium.metrics.declaration import CaseMetric, Scoreboard
from podium.own_metrics import OwnMetric, declaration_of

# metrics.py in a challenge's folder: the organiser's code, which is trusted as the references are. It is run where
# cases are scored or checked, and nowhere else: everything that reads metrics.json has its declarations from there.


def load_own_metrics(path: Path) -> Sequence[OwnMetric]:
    """The metrics that the file declares, in its order; ConfigurationError where it cannot be run."""
    try:
        source = path.read_bytes()
    except OSError as error:
        raise ConfigurationError(f"{path.name} cannot be read: {error.strerror}.", detail=str(path)) from None
    module = ModuleType("podium_challenge_metrics")
    module.__file__ = str(path)
    try:
        exec(compile(source, str(path), "exec"), module.__dict__)  # noqa: S102  (the organiser's own code)
    except ValidationError as error:
        raise _refusal(path, error, f"a metric is declared wrongly: {first_problem(error)}") from None
    except SyntaxError as error:
        where = f", line {error.lineno}" if error.lineno else ""
        raise ConfigurationError(f"{path.name}{where} is not valid Python: {error.msg}.", detail=str(path)) from None
    except Exception as error:  # whatever the organiser's code raises
        raise _refusal(path, error, f"it raises {type(error).__name__}: {error}") from None
    digest = hashlib.sha256(source).hexdigest()
    declared = [found for thing in vars(module).values() if (found := declaration_of(thing)) is not None]
    if not declared:
        raise ConfigurationError(f"{path.name} declares no metric; decorate its functions.", detail=str(path))
    return [each.model_copy(update={"code": digest}) for each in dict.fromkeys(declared)]


def _refusal(path: Path, error: Exception, words: str) -> ConfigurationError:
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(path)]
    where = f", line {lines[-1]}" if lines else ""
    return ConfigurationError(
        f"{path.name}{where}: {words.removesuffix('.')}.", detail="".join(traceback.format_exception(error))
    )


# A declared challenge's cases and scoreboard, put together from its values and metrics.

_PACKAGES = {
    "labels": ("scipy.ndimage", "scipy.spatial"),
    "detection_map": ("scipy.optimize",),
    "points": ("scipy.spatial",),
    "image": ("scipy.ndimage",),
}
"""What metrics of a kind of value import when they are first used."""


class DeclaredScorer(Scorer[Sources, Sources, Mapping[str, object], DeclaredCase]):
    """Reads both sides of a case; the metrics of challenge.toml compare them."""

    def __init__(self, format: DeclaredFormat, declared: Sequence[Declared]) -> None:  # noqa: A002  (the part's name)
        self._format, self._declared = format, declared

    def import_packages(self) -> None:
        for kind in {value.settings.kind for value in self._format.values.values()}:
            for package in _PACKAGES.get(kind, ()):
                import_module(package)

    def read_reference(self, reference: Sources) -> Mapping[str, object]:
        return self._format.read_reference(reference)

    def compare(self, prediction: Sources, expected: Mapping[str, object]) -> DeclaredCase:
        warnings: list[str] = []
        found = self._format.read(prediction, expected, warnings)
        return DeclaredCase(values=self._compared(found, expected), warnings=warnings)

    def lost(self, reference: Sources, kept: Mapping[str, object] | None) -> DeclaredCase:
        return DeclaredCase(values=self._compared({}, kept or self._format.read_reference(reference)))

    def facts(self, case: DeclaredCase) -> Figures:
        row: dict[str, Any] = {}
        for name, value in self._format.values.items():
            facts = value.facts(case.values[name])
            if facts is not None:
                row[name] = facts
        for declared in self._declared:
            for path, fact in declared.facts.items():
                put(row, path, fact(case))
        return row

    def warnings(self, case: DeclaredCase) -> Sequence[str]:
        return case.warnings

    def _compared(
        self, found: Mapping[str, object], expected: Mapping[str, object]
    ) -> Mapping[str, Compared[Any, Any]]:
        return {name: Compared(prediction=found.get(name), reference=expected[name]) for name in self._format.values}


def declare(settings: DeclaredSettings) -> Sequence[Declared]:
    """What every metric of challenge.toml adds."""
    values = values_of(settings)
    own = [own_kind(each) for each in settings.own_metrics]
    declared = []
    for table in settings.metrics:
        kind, metric = metric_settings(table, values, own)
        chosen, _ = fitting_values(kind, metric, values)
        declared.append(kind.declare(metric, chosen))
    return declared


def scoreboard(settings: DeclaredSettings, declared: Sequence[Declared]) -> Scoreboard[DeclaredCase]:
    """Every figure of the metrics, of the classes and of the time."""
    values = values_of(settings)
    classes = {name: value for name, value in values.items() if isinstance(value, ClassValue)}
    given = time_figures(settings.time) if settings.time is not None else ()
    return Scoreboard(
        metrics=[*(metric for each in declared for metric in each.metrics), *map(_correct, classes.values())],
        cohort_metrics=[metric for each in declared for metric in each.cohort_metrics],
        formulas=[formula for each in declared for formula in each.formulas],
        tables={
            "confusion_matrix" if len(classes) == 1 else f"confusion_matrix.{name}": _confusion(value)
            for name, value in classes.items()
        },
        given=given,
        leaderboard=[
            *(path for each in declared for path in each.columns),
            *(figure.path for figure in given if figure.title),
        ],
    )


def confidential(settings: DeclaredSettings, declared: Sequence[Declared]) -> Sequence[str]:
    """What of a row gives a reference away: facts of values, and right or wrong together with one's own prediction."""
    values = values_of(settings)
    scalar = [name for name, value in values.items() if value.settings.kind not in ("labels", "image")]
    return [*scalar, "facts", *(path for each in declared for path in each.confidential)]


def _correct(value: AnyValueKind) -> CaseMetric[DeclaredCase]:
    """Whether a case's class is right: a per-case figure for ranking, whatever is made of the classes."""

    def of(case: DeclaredCase) -> int:
        compared = case.values[value.name]
        return int(compared.prediction == compared.reference)

    return CaseMetric(
        name=f"{value.name}.correct",
        title=f"{title_of(value.name)} correct",
        direction="higher",
        lowest=0,
        highest=1,
        worst=0,
        of=of,
        mean="",
        std="",
    )


def _confusion(value: ClassValue) -> Any:
    def table(rows: Sequence[Figures]) -> Figures:
        names = list(value.settings.classes)
        counts = confusion_counts(
            truth=[names.index(row[value.name]["reference"]) for row in rows],
            predicted=[
                None if (found := row[value.name]["prediction"]) is None else names.index(found) for row in rows
            ],
            classes=range(len(names)),
        )
        return {
            names[true]: {MISSING if found is None else names[found]: number for found, number in row.items()}
            for true, row in counts.items()
        }

    return table


def build(name: str, cases: CasesSettings, settings: DeclaredSettings) -> Challenge[DeclaredSettings, Sources, Sources]:
    """The challenge under its settings."""
    files = DeclaredFormat(cases, settings)
    declared = declare(settings)
    time = settings.time
    return Challenge(
        name=name,
        kind=DECLARED.name,
        cases=cases,
        settings=settings,
        format=files,
        scorer=DeclaredScorer(files, declared),
        scoreboard=scoreboard(settings, declared),
        ranking=NO_RULE,
        overlays=DeclaredOverlays(files),
        confidential=confidential(settings, declared),
        given=time_given(time) if time is not None else None,
        pictures=pictures_of(settings),
        provisional=("time_score",) if time is not None and time.rule == "cohort" else (),
        cohort_given=(lambda aggregates: cohort_times(time, aggregates)) if time is not None else None,
    )


def load_own_code(folder: Path) -> Mapping[str, Any]:
    """The table that metrics.py in a challenge's folder adds, if there is one."""
    path = folder / METRICS_CODE
    return {OWN_METRICS: load_own_metrics(path)} if path.is_file() else {}


DECLARED: Kind[Any] = Kind(
    name="declared",
    settings_model=DeclaredSettings,
    build=build,
    tables=("values", "metrics", "time", OWN_METRICS),
    own_code=load_own_code,
    code_tables=(OWN_METRICS,),
    examine=examine,
    fits_submission=fits_submission,
    format_settings=None,
)
