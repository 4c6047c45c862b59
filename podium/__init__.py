"""Podium: the evaluation container for medical-imaging challenges, and the tools around it.

    from podium import evaluate, open_challenge, rank, validate

    result = evaluate("submission/", ground_truth="ground-truth/carotid")
    result.aggregates["score"]

Three functions do what the commands of the same names do; `open_challenge` scores arrays in memory. They print nothing,
set no signal handler, and raise PodiumError.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from podium.evaluation import evaluate, open_challenge
    from podium.tools.ranking.rank import rank_paths as rank
    from podium.validation import validate

__all__ = ["__version__", "evaluate", "open_challenge", "rank", "validate"]
__version__ = "0.2.0"

_FUNCTIONS = {
    "evaluate": ("podium.evaluation", "evaluate"),
    "open_challenge": ("podium.evaluation", "open_challenge"),
    "rank": ("podium.tools.ranking.rank", "rank_paths"),
    "validate": ("podium.validation", "validate"),
}


def __getattr__(name: str) -> Any:
    """Import a function's module when the function is first used: `import podium` itself imports nothing."""
    if name not in _FUNCTIONS:
        raise AttributeError(f"module 'podium' has no attribute '{name}'")
    module, function = _FUNCTIONS[name]
    return getattr(import_module(module), function)


def __dir__() -> list[str]:
    return __all__
