"""How probabilities are written: what few cases cannot show is never written as certain."""

FEW_CASES = 10
NARROW_BELOW = 50
"""Percentile intervals over fewer cases are too narrow."""


def chance(share: float, *, cases: int) -> str:
    """A share as a percentage. A share above 0 is never 0 %, one below 1 never 100 %; with fewer than ten cases
    neither is ever written, and the number of cases stands beside it."""
    few = f" (n = {cases} {'case' if cases == 1 else 'cases'})" if cases < FEW_CASES else ""
    if share < 0.005 and (share > 0 or few):
        return f"< 1 %{few}"
    if share > 0.995 and (share < 1 or few):
        return f"> 99 %{few}"
    return f"{100 * share:.0f} %"
