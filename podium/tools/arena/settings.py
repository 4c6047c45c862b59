"""arena.toml: what an organiser may choose, with the published rules as defaults. `init` writes the file."""

import json
import tomllib
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from podium.errors import ConfigurationError, first_problem

SETTINGS_FILE = "arena.toml"
AtLeastOne = Annotated[int, Field(ge=1)]
Reason = Annotated[str, Field(min_length=1, max_length=60, pattern=r"^\S.*\S$")]
MOST_REASONS = 8
PresetName = Annotated[str, Field(min_length=1, max_length=40, pattern=r"^[\w -]+$")]
DEFAULT_PRESETS = {"bone": (-500.0, 1300.0), "soft tissue": (-160.0, 240.0)}  # width 1800 at 400, width 400 at 40
DEFAULT_REASONS = ("missed finding", "invented finding", "wrong side", "unclear language")


class ArenaSettings(BaseModel):
    """The rules of one arena. `init` writes them; ratings and the stop rule read them.

    votes_per_minute    of one rater, skips and undos included: a script with a rater's link must not flood the arena
    practice_matchups   shown before the first vote and counted nowhere; taken from matchups that are not in the list
    reasons             tags that a rater may add to an answer
    window_presets      buttons of the viewer: the values shown black and white, such as bone = [-500, 1300]
    instructions        of the organiser, shown before the first matchup; a blank line starts a new paragraph
    min_votes_per_pair, min_votes, window, epsilon_points
                        the stop rule; repeats do not count
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    seed: Annotated[int, Field(ge=0)] = 0  # of the pairing, the permutations and the bootstrap
    url: str = "http://localhost:8000"  # where raters reach the server; invitations are printed with it
    matchups_per_rater: AtLeastOne = 60  # how many a rater is asked for, the repeats among them
    repeat_share: Annotated[float, Field(ge=0, lt=0.5)] = 0.05  # of these, shown again with the sides swapped
    votes_per_minute: AtLeastOne = 30
    practice_matchups: Annotated[int, Field(ge=0, le=10)] = 3
    reasons: Annotated[tuple[Reason, ...], Field(max_length=MOST_REASONS)] = DEFAULT_REASONS
    window_presets: dict[PresetName, tuple[float, float]] = DEFAULT_PRESETS
    instructions: Annotated[str, Field(max_length=10_000)] = ""
    k_factor: Annotated[float, Field(gt=0)] = 4.0  # of Elo
    permutations: AtLeastOne = 4000  # over which the order-free Elo is averaged
    bootstraps: AtLeastOne = 10_000  # replicates over cases and raters, for the intervals
    confidence: Annotated[float, Field(gt=0, lt=1)] = 0.95
    min_votes_per_pair: AtLeastOne = 10
    min_votes: AtLeastOne = 100
    window: AtLeastOne = 50
    epsilon_points: Annotated[float, Field(gt=0)] = 10.0


def write_settings(folder: Path, settings: ArenaSettings) -> None:
    """One setting per line: numbers, strings and lists of them are written the same way in TOML and in JSON."""
    values = dict(settings.model_dump(mode="json"))
    for name, window in values.pop("window_presets").items():
        values[f"window_presets.{json.dumps(name, ensure_ascii=False)}"] = window
    lines = (
        f"{key} = {json.dumps(value, ensure_ascii=False).replace(chr(127), '')}\n" for key, value in values.items()
    )
    (folder / SETTINGS_FILE).write_text("".join(lines), encoding="utf-8")


def read_settings(folder: Path) -> ArenaSettings:
    """The arena's settings; an error message names the key that is wrong."""
    path = folder / SETTINGS_FILE
    try:
        return ArenaSettings.model_validate(tomllib.loads(path.read_text(encoding="utf-8")))
    except OSError as error:
        raise ConfigurationError(f"{path} cannot be read: {error.strerror}.") from None
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigurationError(f"{path} is not valid TOML: {error}.") from None
    except ValidationError as error:
        raise ConfigurationError(f"{path}: {first_problem(error)}.") from None
