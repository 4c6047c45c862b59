"""arena.toml, written by `init` and read by everything else."""

import json
import tomllib
from pathlib import Path

from pydantic import ValidationError

from podium.arena.settings import ArenaSettings
from podium.errors import ConfigurationError
from podium.validation_errors import first_problem

SETTINGS_FILE = "arena.toml"


def write_settings(folder: Path, settings: ArenaSettings) -> None:
    """Every setting on a line: numbers and plain strings are the same in TOML as in JSON."""
    lines = (f"{key} = {json.dumps(value)}\n" for key, value in settings.model_dump().items())
    (folder / SETTINGS_FILE).write_text("".join(lines), encoding="utf-8")


def read_settings(folder: Path) -> ArenaSettings:
    """The arena's settings; mistakes are named by key."""
    path = folder / SETTINGS_FILE
    try:
        return ArenaSettings.model_validate(tomllib.loads(path.read_text(encoding="utf-8")))
    except OSError as error:
        raise ConfigurationError(f"{path} cannot be read: {error.strerror}.") from None
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigurationError(f"{path} is not valid TOML: {error}.") from None
    except ValidationError as error:
        raise ConfigurationError(f"{path}: {first_problem(error)}.") from None
