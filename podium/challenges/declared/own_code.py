"""metrics.py in a challenge's folder: the organiser's code, which is trusted as the references are. It is run where
cases are scored or checked, and nowhere else: everything that reads metrics.json has its declarations from there."""

import hashlib
import traceback
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType

from pydantic import ValidationError

from podium.errors import ConfigurationError, first_problem
from podium.own_metrics import OwnMetric, declaration_of


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
