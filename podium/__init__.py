"""Podium: the evaluation container for medical-imaging challenges, and the tools around it.

    from podium import evaluate, rank, validate

    result = evaluate("submission/", ground_truth="ground-truth/carotid")
    result.aggregates["score"]

The three functions do what the commands of the same names do, without printing anything; see podium/api.py.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from podium.api import evaluate, rank, validate

__all__ = ["__version__", "evaluate", "rank", "validate"]
__version__ = "0.2.0"


def __getattr__(name: str) -> Any:
    """Load the functions at their first use: `import podium` itself stays free."""
    if name not in __all__:
        raise AttributeError(f"module 'podium' has no attribute '{name}'")
    from podium import api

    return getattr(api, name)
