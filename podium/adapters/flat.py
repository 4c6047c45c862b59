"""The leaderboard's figures under flat names: what platforms without nested figures take."""

import hashlib
import re
from collections import Counter
from collections.abc import Mapping, Sequence

from podium.challenges import challenge_from_settings
from podium.figures import get, holds
from podium.platform.metrics_file import MetricsFile

LONGEST_KEY = 36  # Codabench's limit
_NOT_ALLOWED = re.compile(r"[^A-Za-z0-9_]")  # Synapse's annotations have letters, digits, '_' and '.'


def flat_keys(paths: Sequence[str]) -> Mapping[str, str]:
    """A key for each of these different dotted paths: `dice.long_plaque.mean` is `dice_long_plaque_mean`.

    All keys differ. Where that takes it, or a key would be too long, it ends with a checksum of its path.
    """
    plain = {path: _NOT_ALLOWED.sub("_", path) for path in paths}
    used = Counter(plain.values())
    return {
        path: key if used[key] == 1 and len(key) <= LONGEST_KEY else _marked(key, path) for path, key in plain.items()
    }


def _marked(key: str, path: str) -> str:
    checksum = hashlib.sha256(path.encode()).hexdigest()[:8]
    return f"{key[: LONGEST_KEY - 9]}_{checksum}"


def leaderboard_figures(metrics: MetricsFile) -> Mapping[str, float]:
    """The figures of all columns that `podium leaderboard` lists, by flat key, the score first. `metrics` is what was
    published, so that no more is told here."""
    challenge = challenge_from_settings(metrics.challenge, metrics.kind, dict(metrics.settings))
    keys = flat_keys([column.path for column in challenge.phase_columns()])
    return {key: get(metrics.aggregates, path) for path, key in keys.items() if holds(metrics.aggregates, path)}
